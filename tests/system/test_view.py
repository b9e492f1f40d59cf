"""What rules cover, lock, lay a layer over and let be seen, from inside; tried with and without process.nesting."""
import os
import pwd
import stat
import subprocess
import tempfile

import pytest

from conftest import USERS, write
from waiting import wait_for

USER = pwd.getpwnam(USERS[0])
NESTING = {'process': {'nesting': True}}


def own(path):
    for top, folders, files in os.walk(path):
        for name in [top] + [os.path.join(top, n) for n in folders + files]:
            os.chown(name, USER.pw_uid, USER.pw_gid, follow_symlinks=False)


def tree(project, *names):
    """Each name is a file with its own name in it; one that ends with a slash a folder."""
    for name in names:
        path = os.path.join(project, name)
        os.makedirs(path if name.endswith('/') else os.path.dirname(path), exist_ok=True)
        if not name.endswith('/'):
            write(path, f'content of {name}\n')
    own(project)


def state(project):
    """Everything a start could change on the host."""
    found = []
    for top, folders, files in os.walk(project):
        for name in folders + files:
            st = os.lstat(os.path.join(top, name))
            found.append((os.path.join(top, name), st.st_ino, st.st_mode, st.st_uid, st.st_size, st.st_ctime_ns))
    return sorted(found)


@pytest.fixture(params=['plain', 'nesting'])
def view(request, isod, project):
    """Sets the policy of the administrator: rules of the file system, and nesting where the test runs with it."""
    def set_rules(**filesystem):
        isod.policy({'sandbox': {'filesystem': filesystem}, **(NESTING if request.param == 'nesting' else {})})
    return set_rules


def refused(r, *words):
    return r.rc != 0 and any(w in r.errors for w in words or ('Permission denied', 'Read-only', 'not permitted'))


def test_a_denied_file_is_neither_read_nor_written(isod, project, view):
    tree(project, 'secret', 'open', 'sub/deep/x.secret')
    view(denyRead=['./secret', '**/*.secret'])
    before = state(project)
    for name in ('secret', 'sub/deep/x.secret'):
        assert refused(isod.sh(f'cat {name}', cwd=project)), name
        assert refused(isod.sh(f'echo x > {name}', cwd=project)), name
        assert refused(isod.sh(f'echo x >> {name}; mv {name} other; rm -f {name}', cwd=project),
                       'busy', 'Permission denied', 'not permitted'), name
    assert isod.sh('cat open; ls sub/deep', cwd=project).text == 'content of open\nx.secret\n'
    assert state(project) == before


def test_a_denied_folder_takes_nothing(isod, project, view):
    """Not an empty layer in which writes vanish."""
    tree(project, 'private/a', 'sub/private/b')
    view(denyRead=['**/private'])
    before = state(project)
    for name in ('private', 'sub/private'):
        for script in (f'ls {name}', f'cat {name}/a', f'echo x > {name}/f', f'mkdir {name}/d', f'touch {name}/f', f'cd {name}'):
            assert refused(isod.sh(script, cwd=project), 'Permission denied', 'Read-only', "can't cd"), script
        r = isod.sh(f'echo x > {name}/f; echo $?', cwd=project)
        assert r.text.strip() != '0' and not os.path.exists(os.path.join(project, name, 'f')), r
    assert state(project) == before


def test_what_is_granted_in_a_denied_folder(isod, project, view):
    tree(project, 'private/a', 'private/in/shown', 'private/in/.env', 'private/rw/')
    view(denyRead=['./private'], allowRead=['./private/in'], allowWrite=['./private/rw'])
    assert isod.sh('cat private/in/shown', cwd=project).text == 'content of private/in/shown\n'
    assert refused(isod.sh('cat private/a', cwd=project), 'Permission denied', 'No such file')
    assert refused(isod.sh('touch private/in/new', cwd=project))
    assert refused(isod.sh('cat private/in/.env', cwd=project))
    assert isod.sh('touch private/rw/new', cwd=project).rc == 0 and os.path.exists(os.path.join(project, 'private/rw/new'))


def test_a_read_only_part(isod, project, view):
    tree(project, 'settings/a', 'settings/deep/b', 'one.conf', 'sub/two.conf', 'free')
    view(denyWrite=['./settings', '**/*.conf'])
    before = state(project)
    r = isod.sh('cat settings/a settings/deep/b one.conf sub/two.conf', cwd=project)
    assert r.rc == 0 and r.text.count('content of') == 4, r
    for script in ('touch settings/new', 'echo x > settings/deep/b', 'echo x > one.conf', 'echo x > sub/two.conf', 'rm -r settings/deep'):
        assert refused(isod.sh(script, cwd=project)), script
    for script in ('mv settings s', 'mv one.conf o', 'rm one.conf', 'mv sub/two.conf sub/t'):
        assert refused(isod.sh(script, cwd=project), 'busy', 'not permitted'), script
    assert state(project) == before
    assert isod.sh('echo x > free; touch sub/new', cwd=project).rc == 0


def test_links_to_secrets(isod, project, view):
    tree(project, 'real', 'target/inner')
    os.symlink('real', os.path.join(project, '.env'))
    os.symlink('/usr/bin/env', os.path.join(project, 'out.secret'))
    os.symlink('target', os.path.join(project, 'hooks'))
    own(project)
    view(denyRead=['**/*.secret'], denyWrite=['./hooks'])
    assert refused(isod.sh('cat .env', cwd=project)) and refused(isod.sh('cat real', cwd=project))
    # A link out of the grants takes nothing from the system.
    assert isod.sh('/usr/bin/env true', cwd=project).rc == 0
    assert refused(isod.sh('touch hooks/x', cwd=project)) and refused(isod.sh('touch target/x', cwd=project))
    assert refused(isod.sh('ln -sfn elsewhere hooks', cwd=project), 'busy', 'not permitted', 'File exists')
    assert os.readlink(os.path.join(project, 'hooks')) == 'target'


NESTED = '''for f in secret private settings; do ! umount $f && ! umount -l $f || exit 1; done
! mount -o remount,bind,rw settings || exit 2
mkdir -p m; ! mount --bind . m || exit 3
mount --rbind . m || exit 4
! cat m/secret && ! ls m/private && ! touch m/settings/x && ! umount m/secret || exit 5
! cat secret && ! ls private && ! touch settings/x && ! mv settings s || exit 6
echo held'''


def test_nesting_takes_no_cover_off(isod, project):
    tree(project, 'secret', 'private/a', 'settings/a')
    isod.policy({'sandbox': {'filesystem': {'denyRead': ['./secret', '**/private'], 'denyWrite': ['./settings']}}, **NESTING})
    write(os.path.join(project, 'try'), NESTED)
    for options in ('-Urm', '-Urmpf --mount-proc'):
        r = isod.sh(f'unshare {options} sh ./try 2>/dev/null', cwd=project)
        assert r.rc == 0 and r.text == 'held\n', r


def test_granted_by_a_pattern(isod, project, view, root_dir):
    place = tempfile.mkdtemp(dir=root_dir)
    tree(place, 'a/src/f', 'b/src/f', 'c/src/f', 'a/other', 'b/src/.env', 'd/')
    os.symlink('/etc', os.path.join(place, 'd/src'))
    view(allowRead=[f'{place}/*/src'], denyRead=[f'{place}/c/src'])
    r = isod.sh(f'cd {place} && find . -type f | sort', cwd=project)
    assert r.text.split() == ['./a/src/f', './b/src/.env', './b/src/f'], r
    assert refused(isod.sh(f'touch {place}/a/src/new', cwd=project))
    assert refused(isod.sh(f'cat {place}/b/src/.env', cwd=project))


def test_a_layer_over_a_cache(isod, project, view):
    cache = os.path.join(USER.pw_dir, 'cache-of-test')
    tree(cache, 'warm', 'old/x')
    try:
        view(overlay=['~/cache-of-test'])
        before = state(cache)
        r = isod.sh('cd ~/cache-of-test && cat warm && echo poison > warm && rm -r old && mkdir new && cat warm', cwd=project)
        assert r.rc == 0 and r.text == 'content of warm\npoison\n', r
        assert state(cache) == before
        assert isod.sh('cat ~/cache-of-test/warm', cwd=project).text == 'content of warm\n'
    finally:
        subprocess.run(['rm', '-rf', cache], check=True)


def test_devices(isod, project, view):
    node = '/dev/dri/isod-test'
    had_folder = os.path.isdir('/dev/dri')
    os.makedirs('/dev/dri', exist_ok=True)
    os.mknod(node, stat.S_IFCHR | 0o666, os.makedev(1, 5))
    os.chmod(node, 0o666)
    try:
        view()
        assert 'No such file' in isod.sh(f'head -c1 {node}', cwd=project).errors
        view(devices=[node])
        r = isod.sh(f'head -c3 {node} | od -An -tx1', cwd=project)
        assert r.text.split() == ['00'] * 3, r
        assert isod.sh(f'echo x > {node}', cwd=project).rc == 0
        assert refused(isod.sh(f'rm {node}', cwd=project), 'busy', 'Read-only', 'Permission denied')
        view(devices=['/dev/dri/isod-absent'])
        r = isod.sh('true', cwd=project)
        assert r.rc == 125 and 'is not a character device' in r.errors, r
    finally:
        os.unlink(node)
        if not had_folder:
            os.rmdir('/dev/dri')


def test_a_grant_through_another_users_link(isod, project, root_dir):
    """Whoever owns the link would choose what is granted."""
    other = pwd.getpwnam(USERS[1])
    place = os.path.join(root_dir, 'shared')
    tree(os.path.join(place, 'mine'), 'f')
    link = os.path.join(place, 'link')
    os.symlink('mine', link)
    isod.policy({'sandbox': {'filesystem': {'allowRead': [link]}}})
    os.chown(link, other.pw_uid, other.pw_gid, follow_symlinks=False)
    r = isod.sh('true', cwd=project)
    assert r.rc == 125 and f'belongs to uid {other.pw_uid}' in r.errors, r
    os.chown(link, USER.pw_uid, USER.pw_gid, follow_symlinks=False)
    assert isod.sh(f'cat {link}/f', cwd=project).text == 'content of f\n'


def many(project, n):
    for i in range(n):
        if i % 1000 == 0:
            os.makedirs(os.path.join(project, f's/{i // 1000}'))
        write(os.path.join(project, f's/{i // 1000}/{i}.secret'), 's\n')
    own(project)


def test_many_secrets(isod, project):
    """More than what can be covered: where the session cannot write, opens are refused later, and with nesting, where they
    would not be, nothing starts."""
    many(project, 17000)
    s = os.path.join(project, 's')
    rules = {'filesystem': {'denyRead': ['**/*.secret'], 'allowRead': [s]}}
    isod.policy({'sandbox': rules})
    r = isod.sh('find s -name "*.secret" | wc -l; cat $(find s -name "*.secret") 2>/dev/null | wc -l', cwd=project)
    assert r.text.split() == ['17000', '0'], r
    isod.policy({'sandbox': rules, **NESTING})
    r = isod.sh('echo started', cwd=project)
    assert r.rc == 125 and '16384' in r.errors and r.text == '', r
    isod.policy({'sandbox': {'filesystem': {'denyRead': ['**/*.secret', './s']}}, **NESTING})
    assert isod.sh('! ls s 2>/dev/null && echo started', cwd=project).text == 'started\n'


@pytest.mark.parametrize('n, starts', [(4200, True), (17000, False)])
def test_files_of_one_session_take_nothing_from_the_next(isod, project, n, starts):
    """A program makes as many names as can be covered, so that in the next session nothing is left for the others."""
    for path in ('.git/hooks', '.git/objects', '.git/refs', 'sub/.vscode'):
        os.makedirs(os.path.join(project, path))
    for path in ('.git/config', '.git/HEAD', 'sub/.vscode/settings.json', 'sub/.env'):
        write(os.path.join(project, path), 'as it was\n')
    own(project)
    r = isod.sh(f'for i in $(seq {n}); do : > k$i.pem; done', cwd=project)
    assert r.rc == 0, r
    r = isod.sh('echo evil >> .git/config; echo evil > .git/hooks/pre-commit; echo evil > sub/.vscode/settings.json; '
                'mv sub/.env sub/e; cat sub/e; echo started', cwd=project)
    assert r.text == ('started\n' if starts else ''), r
    assert starts or (r.rc == 125 and 'cannot all be found' in r.errors), r
    for path in ('.git/config', 'sub/.vscode/settings.json', 'sub/.env'):
        with open(os.path.join(project, path), encoding='ascii') as f:
            assert f.read() == 'as it was\n'
    assert os.listdir(os.path.join(project, '.git/hooks')) == []


MOVES = '''
import os
print("up", flush=True)
while True:
    os.rename("one/sub", "two/sub")
    os.rename("two/sub", "one/sub")
'''


def test_another_session_moves_folders(isod, project):
    """What it moves while the start looks around is found all the same: in neither place a secret is left to be renamed."""
    for path in ('one/sub/.git/hooks', 'two'):
        os.makedirs(os.path.join(project, path))
    write(os.path.join(project, 'one/sub/.env'), 'SECRET\n')
    write(os.path.join(project, 'one/sub/.git/config'), 'as it was\n')
    own(project)
    mover = isod.popen('run', '-q', '--', 'python3', '-c', MOVES, cwd=project, stdin=subprocess.DEVNULL,
                       stdout=subprocess.PIPE)
    assert mover.stdout.readline() == b'up\n'
    try:
        for _ in range(12):
            r = isod.sh('for i in $(seq 40); do for d in one two; do '
                        'mv $d/sub/.env $d/e && cat $d/e; echo evil >> $d/sub/.git/config; done; done 2>/dev/null; echo end',
                        options=['-q'], cwd=project)
            assert r.text == 'end\n', r
    finally:
        mover.kill()
        mover.wait(60)
    wait_for(lambda: not [s for s in isod.sessions() if s['state'] != 'ended'], 'the mover ends')
    found = [os.path.join(project, d, 'sub/.git/config') for d in ('one', 'two')]
    with open([path for path in found if os.path.exists(path)][0], encoding='ascii') as f:
        assert f.read() == 'as it was\n'
