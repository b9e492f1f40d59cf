"""Paths as people have them: homes that are links, odd names, other file systems, many rules."""
import contextlib
import json
import os
import pwd
import shutil
import subprocess
import threading

import pytest

from conftest import USERS, project_of, write
from waiting import wait_for


def entry():
    return pwd.getpwnam(USERS[0])


def own(*paths):
    for path in paths:
        os.chown(path, entry().pw_uid, entry().pw_gid)


def folder(path, mode=0o755):
    os.makedirs(path, exist_ok=True)
    os.chmod(path, mode)
    own(path)
    return path


def fill(path, text='text\n'):
    with open(path, 'w', encoding='utf-8') as f:
        f.write(text)
    own(path)


@contextlib.contextmanager
def mounted(target, *args):
    """In the mount namespace of the tests."""
    subprocess.run(['mount', *args, target], check=True)
    try:
        yield target
    finally:
        subprocess.run(['umount', '-l', target], check=True)


@pytest.fixture
def place():
    """An empty file system of the test's own."""
    with mounted('/mnt', '-t', 'tmpfs', '-o', 'mode=755', 'isod-test'):
        yield '/mnt'


@contextlib.contextmanager
def home_at(path, tmp):
    """The user database says that the first user's HOME is path."""
    with open('/etc/passwd', encoding='utf-8') as f:
        lines = f.read().splitlines()
    fields = [line.split(':') for line in lines]
    text = '\n'.join(':'.join([*f[:5], path, *f[6:]]) if f[0] == USERS[0] else ':'.join(f) for f in fields) + '\n'
    copy = os.path.join(tmp, 'passwd')
    write(copy, text)
    with mounted('/etc/passwd', '--bind', copy):
        assert entry().pw_dir == path
        yield path


def policy_file(path, **filesystem):
    write(path, json.dumps({'sandbox': {'filesystem': filesystem}}))
    return ['--policy', path]


# --- HOME and the project by another name --------------------------------------------------------------------------------------
# link -> what it says, and the real home: the folder above HOME is a link, HOME itself is one, both, one to another file system.
HOMES = [({'home': 'var/home'}, 'var/home/u'), ({'home/u': '/mnt/data/u'}, 'data/u'),
         ({'home': 'var/home', 'var/home/u': '../../nas/u'}, 'nas/u')]


@pytest.mark.parametrize('links, real', HOMES, ids=['above', 'itself', 'both'])
@pytest.mark.parametrize('typed', [True, False], ids=['typed', 'real'])
def test_home_that_is_a_link(isod, place, tmp_path, links, real, typed):
    """Both spellings work inside, pwd is as typed, and rules mean the same in either one."""
    real = os.path.join(place, real)
    folder(os.path.dirname(real))
    folder(real)
    for link, target in links.items():
        os.makedirs(os.path.dirname(os.path.join(place, link)), exist_ok=True)
        os.symlink(target, os.path.join(place, link))
    home = os.path.join(place, 'home/u')
    assert os.path.realpath(home) == real
    project = folder(os.path.join(real, 'proj'))
    for name in ('a', 'b', 'c', 'proj/s1', 'proj/s2', 'proj/s3', 'proj/.env', 'proj/ok', 'other'):
        fill(os.path.join(real, name))
    cwd = os.path.join(home, 'proj') if typed else project
    with home_at(home, tmp_path):
        rules = policy_file(os.path.join(place, 'p.json'), allowRead=['~/a', f'{home}/b', f'{real}/c'],
                            denyRead=['~/proj/s1', f'{home}/proj/s2', f'{real}/proj/s3'])
        script = ('pwd; pwd -P; echo $HOME; cd /; for h in "$HOME" "$1"; do for f in a b c proj/ok; do cat "$h/$f" || echo lost $f; done;'
                  'for f in proj/s1 proj/s2 proj/s3 proj/.env other; do cat "$h/$f" && echo seen $f; done; done; touch "$HOME/new" proj/new')
        r = isod.run('sh', '-c', script, 'sh', real, cwd=cwd, env={'PWD': cwd, 'HOME': home}, options=rules)
    lines = r.text.splitlines()
    assert lines[:3] == [cwd, project, home], r
    assert lines[3:] == ['text'] * 8, r
    assert not os.path.exists(os.path.join(real, 'new')), 'HOME is private'


@pytest.mark.parametrize('parent', ['/tmp', '/var/tmp'])
def test_project_in_a_shared_temporary_folder(isod, parent):
    """Case 119: the private /tmp lies below the project, not over it. A program there runs, the rest of /tmp is not seen."""
    top = folder(os.path.join(parent, f'isod-test-{USERS[0]}'))
    try:
        project = folder(os.path.join(top, 'proj'))
        agents = folder(os.path.join(top, 'bin'))
        for path in (os.path.join(project, 'agent'), os.path.join(agents, 'agent')):
            write(path, '#!/bin/sh\necho "$0 ran in $PWD"\n', 0o755)
        fill(os.path.join(top, 'other'))
        assert isod.run(project + '/agent', cwd=project).text == f'{project}/agent ran in {project}\n'
        r = isod.run(agents + '/agent', cwd=project, options=['--allow-read', agents])
        assert r.text == f'{agents}/agent ran in {project}\n', r
        r = isod.sh(f'ls -A {parent} {top}; touch made {parent}/private', cwd=project)
        assert r.rc == 0 and sorted(r.text.split()) == sorted([parent + ':', os.path.basename(top), top + ':', 'proj']), r
        assert os.path.exists(project + '/made') and not os.path.exists(parent + '/private')
        r = isod.run(agents + '/agent', cwd=project)
        assert r.rc == 127 and agents + '/agent' in r.errors, r
    finally:
        shutil.rmtree(top)


@pytest.mark.parametrize('cwd, says', [('/', 'whole machine'), (None, '--allow-write'), ('/home', '--allow-write')])
def test_projects_that_are_too_much(isod, cwd, says):
    r = isod.run('true', cwd=cwd or entry().pw_dir)
    assert r.rc == 125 and says in r.errors, r


@pytest.mark.parametrize('name', ['.ssh', '.ssh/keys', '.aws', '.gnupg', '.password-store', 'src/.kube'])
def test_a_folder_of_secrets_as_the_project(isod, name):
    """Only by name, then it is what was asked for."""
    d = os.path.join(entry().pw_dir, name)
    top, there = os.path.join(entry().pw_dir, name.split('/')[0]), os.path.exists(d)
    os.path.exists(d) or folder(d)
    try:
        r = isod.sh('echo x > made', cwd=d)
        assert r.rc == 125 and 'holds secrets' in r.errors and '--allow-write' in r.errors, r
        assert not os.path.exists(d + '/made')
        r = isod.sh('echo x > made', cwd=d, options=['--allow-write', d])
        assert r.rc == 0 and os.path.exists(d + '/made'), r
        os.unlink(d + '/made')
    finally:
        there or shutil.rmtree(d if name.startswith('.ssh') else top)


def test_home_as_the_project(isod):
    """Case 110: only by name, and then what is secret in it stays so."""
    home = entry().pw_dir
    fill(os.path.join(home, '.env'))
    fill(os.path.join(home, '.bashrc'))
    r = isod.sh('cat .aws/credentials .ssh/id_ed25519 .env; echo x >> .bashrc; touch made', cwd=home, options=['--allow-write', home])
    assert 'TOPSECRET' not in r.text and 'KEY' not in r.text and 'text' not in r.text, r
    assert os.path.exists(os.path.join(home, 'made')) and open(os.path.join(home, '.bashrc'), encoding='utf-8').read() == 'text\n', r
    for name in ('made', '.env', '.bashrc'):
        os.unlink(os.path.join(home, name))


def test_settings_of_an_agent_as_the_project(isod):
    d = folder(os.path.join(entry().pw_dir, '.claude'))
    for name in ('notes.md', '.env', 'id_ed25519', 'settings.json'):
        fill(os.path.join(d, name))
    r = isod.sh('cat notes.md; touch made; cat .env id_ed25519; echo x > settings.json', cwd=d)
    assert r.text == 'text\n' and os.path.exists(d + '/made') and 'settings.json' in r.errors, r
    assert open(d + '/settings.json', encoding='utf-8').read() == 'text\n'
    shutil.rmtree(d)


# --- names ----------------------------------------------------------------------------------------------------------------------
NAMES = ['a b', 'a"b', "a'b", 'a\nb', 'a\\b', '-rf', '\u00e9', 'e\u0301', '\uff1a\uff02', b'\xff\xfe', 'x' * 255, '$(id)', 'p[1]*', 'p?', '{a,b}',
         '[!a]', '\\*', '***', '~', '#', '%s', '\t', '\x01\x1b[31m']


@pytest.mark.parametrize('name', NAMES, ids=[f'{i}' for i in range(len(NAMES))])
def test_names(isod, project, root_dir, name):
    """Case 125, and names whose bytes mean something in a pattern: rules hold in this folder and not in one beside it."""
    d = os.path.join(os.fsencode(project), os.fsencode(name))
    folder(d)
    beside = folder(os.path.join(os.fsencode(project), b'p1x'))
    for path in (d, beside):
        for f in (b'ok', b'secret', b'.env'):
            fill(os.path.join(path, f))
    rules = policy_file(os.path.join(root_dir, 'p.json'), denyRead=['./secret', './*.key'], allowRead=[f'{project}/p1x'])
    fill(os.path.join(d, b'x.key'))
    script = 'pwd; cat ok; cat secret && echo SEEN; cat .env && echo SEEN; cat x.key && echo SEEN; cat ../p1x/secret; touch made'
    r = isod.sh(script, cwd=d, env={'PWD': os.fsdecode(d)}, options=rules)
    assert r.out == d + b'\ntext\ntext\n', r
    assert os.path.exists(os.path.join(d, b'made')) and os.listdir(beside) != [], r
    assert sorted(os.listdir(project)) == sorted({os.fsdecode(os.fsencode(name)), 'p1x'}), 'no folder was made beside it'
    shown = isod.last_session()['project']
    assert isinstance(shown, str) and shown.startswith(project + '/'), shown


def deep(project, n_bytes=None, levels=None, part='d'):
    """Makes and enters a deep folder, as the user; its path."""
    path = project
    while (levels and path.count('/') < levels) or (n_bytes and len(path) < n_bytes):
        n = len(part) if not n_bytes else min(200, n_bytes - len(path) - 1)
        if n_bytes and n_bytes - len(path) - 1 - n == 1:
            n -= 1
        path += '/' + part[0] * n
        os.mkdir(path)
        own(path)
    return path


def test_deep_folders(isod, project):
    d = deep(project, levels=200)
    fill(d + '/.env')
    r = isod.sh('pwd; touch made; cat .env', cwd=d)
    assert r.text == d + '\n' and os.path.exists(d + '/made'), r


def test_secrets_in_deep_folders(isod, project):
    d = deep(project, levels=60)
    fill(d + '/.env')
    r = isod.run('cat', d + '/.env', cwd=project)
    assert r.rc != 0 and r.text == '', r


@pytest.mark.parametrize('n, works', [(4000, True), (4095, None), (4097, None)])
def test_long_paths(isod, project, n, works):
    """Up to Linux's own bound it works; beyond it the error says what is wrong."""
    d = deep(project, n_bytes=min(n, 4000))
    made, rest = d, n - len(d)
    fd = os.open(d, os.O_PATH)
    if rest > 0:
        subprocess.run(['mkdir', 'y' * (rest - 1)], cwd=d, check=True)
        made = d + '/' + 'y' * (rest - 1)
        fd = os.open('y' * (rest - 1), os.O_PATH, dir_fd=fd)
    assert len(made) == n
    p = subprocess.run(['python3', '-c', 'import os, sys; os.fchdir(int(sys.argv[1])); os.environ.pop("PWD", 0);'
                        'os.execv(sys.argv[2], sys.argv[2:])', str(fd), isod.client, 'run', '--', 'pwd', '-P'], pass_fds=(fd,),
                       capture_output=True, env=isod.environment(USERS[0]), user=entry().pw_uid, group=entry().pw_gid, timeout=120)
    os.close(fd)
    if works or p.returncode == 0:
        assert p.returncode == 0 and p.stdout == os.fsencode(made) + b'\n', p
    else:
        assert p.returncode == 125 and b'too long' in p.stderr, p
    subprocess.run(['rm', '-rf', project + '/d'], check=False)


# --- other file systems -----------------------------------------------------------------------------------------------------------
@contextlib.contextmanager
def file_system(kind, place, root_dir):
    top = folder(os.path.join(place, 'fs'))
    image = os.path.join(root_dir, 'image')
    if kind == 'ext4':
        subprocess.run(['truncate', '-s', '64M', image], check=True)
        subprocess.run(['mkfs.ext4', '-q', '-F', image], check=True)
        args = ['-o', 'loop', image]
    elif kind == 'overlay':
        for d in ('lower', 'upper', 'work'):
            folder(os.path.join(place, d))
        args = ['-t', 'overlay', '-o', f'lowerdir={place}/lower,upperdir={place}/upper,workdir={place}/work', 'isod-test']
    else:
        args = ['-t', 'tmpfs', 'isod-test']
    try:
        with mounted(top, *args):
            yield top
    finally:
        if kind == 'ext4':
            os.unlink(image)


@pytest.mark.parametrize('kind', ['ext4', 'overlay', 'tmpfs'])
@pytest.mark.parametrize('overlay', [False, True], ids=['direct', 'overlay'])
def test_projects_on_other_file_systems(isod, place, root_dir, kind, overlay):
    with file_system(kind, place, root_dir) as top:
        project = folder(os.path.join(top, 'proj'))
        folder(project + '/.git/hooks')
        own(project + '/.git')
        fill(project + '/.env')
        fill(project + '/file')
        r = isod.sh('cat file; echo x > file; touch made; rm -f made; cat .env; echo x > .git/hooks/pre-commit; mv .git g; mkdir n; echo end',
                    cwd=project, options=['--overlay'] if overlay else [])
        assert r.rc == 0 and r.text == 'text\nend\n', r
        assert sorted(os.listdir(project)) == sorted(['.git', '.env', 'file'] + ([] if overlay else ['n'])), r
        assert os.listdir(project + '/.git/hooks') == []
        if overlay:
            wait_for(lambda: isod.ctl('discard', cwd=project).rc == 0, 'the layer is discarded')


def test_mounts_below_a_grant(isod, place):
    """Case 128: those that are there are seen, all read-only; those made later do not appear."""
    d = folder(os.path.join(place, 'granted'))
    inner, later = folder(d + '/tmpfs'), folder(d + '/later')
    bound = folder(d + '/bound')
    source = folder(os.path.join(place, 'source'), 0o777)
    folder(source + '/deeper')
    fill(source + '/f')
    os.makedirs(inner, exist_ok=True)
    with mounted(inner, '-t', 'tmpfs', '-o', 'mode=777', 'isod-test'), mounted(bound, '--bind', source):
        with mounted(bound + '/deeper', '-t', 'tmpfs', '-o', 'mode=777', 'isod-test'):
            fill(inner + '/f')
            fill(bound + '/deeper/f')
            script = (f'cat {inner}/f {bound}/f {bound}/deeper/f; for m in {d} {inner} {bound} {bound}/deeper; do touch $m/x && echo WRITTEN; done;'
                      f'echo ready; read line; ls {later}')
            p = isod.popen('run', '-q', '--allow-read', d, '--', 'sh', '-c', script, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE)
            lines = [p.stdout.readline() for _ in range(4)]
            assert lines == [b'text\n'] * 3 + [b'ready\n'], (lines, p.stderr.read() if p.poll() else '')
            with mounted(later, '-t', 'tmpfs', 'isod-test'):
                fill(later + '/f')
                out, err = p.communicate(b'\n', timeout=120)
            assert out == b'' and err.count(b'Read-only') == 4, (out, err)


@contextlib.contextmanager
def fuse_of_the_user(target):
    server = subprocess.Popen(['python3', os.path.join(os.path.dirname(__file__), 'fuse_server.py'), target, str(entry().pw_uid),
                               str(entry().pw_gid)], stdout=subprocess.PIPE)
    try:
        assert server.stdout.readline() == b'ready\n'
        yield target
    finally:
        subprocess.run(['umount', '-l', target], check=False)
        server.kill()
        server.wait()


@pytest.mark.parametrize('where', ['itself', 'below', 'grant'])
def test_a_file_system_that_only_the_user_may_enter(isod, place, where):
    """Case 127: FUSE without allow_other, as sshfs has it. It works with its secrets masked, or the error names it."""
    top = folder(os.path.join(place, 'fuse'))
    with fuse_of_the_user(top):
        cwd = {'itself': top, 'below': top + '/sub', 'grant': None}[where]
        options = ['--allow-read', top] if where == 'grant' else []
        # root cannot change to it: that is for the user's own process
        r = subprocess.run(['env', '-C', cwd or project_of(USERS[0]), isod.client, 'run', *options, '--', 'cat', f'{top}/sub/f', f'{top}/.env'],
                           env=isod.environment(USERS[0]), cwd='/', user=entry().pw_uid, group=entry().pw_gid, extra_groups=[],
                           capture_output=True, text=True, timeout=120)
        assert r.stdout in ('', 'text\n'), r
        if r.returncode == 125:
            assert top in r.stderr and 'allow_other' in r.stderr, r
        else:
            assert r.stdout == 'text\n', r


# --- rules ------------------------------------------------------------------------------------------------------------------------
def test_ten_thousand_rules(isod, place):
    """Of the administrator's: more than a call may bring. They hold, and those that change nothing are no mounts."""
    d = folder(os.path.join(place, 'data'))
    names = [f'd{i % 100}/f{i}' for i in range(10000)]
    for i in range(100):
        folder(f'{d}/d{i}')
    for name in ('d7/f7', 'd99/f9999', 'd0/free'):
        fill(f'{d}/{name}')
    isod.policy({'sandbox': {'filesystem': {'allowRead': [d] + [f'{d}/{n}/deeper' for n in names[5000:9000]],
                                            'denyRead': [f'{d}/{n}' for n in names[:5000] + names[9999:]] +
                                            [f'/none/{n}' for n in names[:1000]]}}})
    r = isod.sh(f'cat {d}/d7/f7 {d}/d99/f9999; cat {d}/d0/free; wc -l < /proc/self/mountinfo')
    assert r.rc == 0 and r.text.splitlines()[0] == 'text' and r.errors.count(' denied') == 2, r
    assert int(r.text.splitlines()[1]) < 200, r


def test_a_source_that_vanishes(isod, place):
    """Whenever it goes, it is there or absent; never half of it, never a failed start."""
    d, away = os.path.join(place, 'grant'), os.path.join(place, 'away')
    folder(d)
    fill(d + '/f')
    stop = threading.Event()

    def swap():
        while not stop.is_set():
            os.rename(d, away)
            os.rename(away, d)
    thread = threading.Thread(target=swap)
    thread.start()
    seen = set()
    try:
        for _ in range(60):
            r = isod.run('cat', d + '/f', options=['-q', '--allow-read', d])
            assert (r.rc == 0 and r.text == 'text\n') or (r.rc == 1 and 'No such file' in r.errors), r
            seen.add(r.rc)
    finally:
        stop.set()
        thread.join()
    assert seen == {0, 1}, seen


@pytest.mark.parametrize('how', ['--allow-read', '--allow-write'])
@pytest.mark.parametrize('path', ['/run/docker.sock', '/var/run/docker.sock', '~/.docker/run/docker.sock', '/run/containerd'])
def test_sockets_of_container_engines(isod, how, path):
    """Case 118."""
    r = isod.run('true', options=[how, path])
    assert r.rc == 125 and 'container engine' in r.errors, r


def test_grants_that_are_links(isod, place):
    """Case 130: somebody else's link grants nothing; one's own and root's do."""
    target = folder(os.path.join(place, 'target'))
    fill(target + '/f')
    other = pwd.getpwnam(USERS[1])
    for name, uid in (('mine', entry().pw_uid), ('roots', 0), ('others', other.pw_uid)):
        link = os.path.join(place, name)
        os.symlink(target, link)
        os.lchown(link, uid, uid)
        for path in (link, link + '/f'):
            r = isod.sh(f'cat {link}/f', options=['--allow-read', path])
            if name == 'others':
                assert r.rc == 125 and link in r.errors and 'text' not in r.text, r
            else:
                assert r.text == 'text\n', (name, r)


@pytest.mark.parametrize('how', ['--allow-read', '--allow-write'])
@pytest.mark.parametrize('name', ['data', 'data/f', 'data/*'])
def test_links_that_an_agent_left(isod, place, how, name):
    """Case 130: made in one session, followed by the start of the next one only where that grants nothing."""
    outside = folder(os.path.join(os.path.dirname(place), 'outside'))
    fill(outside + '/f')
    project = folder(os.path.join(place, 'planted'))
    for target, fine in ((outside, False), ('inside', True)):
        assert isod.sh(f'mkdir -p inside; echo text >inside/f; ln -sfn {target} data', cwd=project).rc == 0
        r = isod.sh('cat data/f', options=[how, './' + name], cwd=project)
        if fine:
            assert r.text == 'text\n', r
        else:
            assert r.rc == 125 and f'a link that leads to {outside}' in r.errors and 'Name that path itself' in r.errors, r


def test_the_project_keeps_no_trace_of_odd_names(isod, project):
    before = sorted(os.listdir(project_of(USERS[0])))
    assert isod.run('true', cwd=project).rc == 0
    assert sorted(os.listdir(project_of(USERS[0]))) == before
