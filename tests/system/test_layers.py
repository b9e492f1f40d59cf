"""isoctl diff, apply, discard over layers of real overlays."""
import json
import os
import pwd
import signal
import stat
import subprocess
import threading

import pytest

from conftest import Isod, USERS, write
from layers import layer, settle, tree
from varlink import Varlink
from waiting import wait_for


def put(path, data, mode=0o644):
    """A file of the user's, in folders of the user's; no other file's times change."""
    entry = pwd.getpwnam(USERS[0])
    folder = os.path.dirname(path)
    if not os.path.isdir(folder):
        os.makedirs(folder)
    while os.stat(folder).st_uid == 0 and entry.pw_dir in folder:
        os.chown(folder, entry.pw_uid, entry.pw_gid)
        folder = os.path.dirname(folder)
    with open(path, 'wb') as f:
        f.write(data if isinstance(data, bytes) else data.encode())
    os.chmod(path, mode)
    os.chown(path, entry.pw_uid, entry.pw_gid)


@pytest.fixture
def files(project):
    """A project of all kinds, older than any session."""
    put(f'{project}/a.txt', 'one\ntwo\nthree\n')
    put(f'{project}/gone.txt', 'bye\n')
    put(f'{project}/run.sh', '#!/bin/sh\n')
    put(f'{project}/bin.dat', b'\0\1\2')
    put(f'{project}/old name.txt', 'the same content\n' * 20)
    put(f'{project}/dir/x', 'x\n')
    put(f'{project}/dir/sub/y', 'y\n')
    put(f'{project}/same.txt', 'untouched\n')
    os.symlink('a.txt', f'{project}/link')
    os.lchown(f'{project}/link', os.stat(project).st_uid, os.stat(project).st_gid)
    settle()
    return project


def diff(isod, session, *args, **kw):
    r = isod.ctl('diff', '--json', session, *args, **kw)
    assert r.rc == 0, r
    return {c['path']: c for c in json.loads(r.out)['changes']}


def kinds(changes):
    return {path: c['kind'] for path, c in changes.items()}


def read(path):
    with open(path, 'rb') as f:
        return f.read()


def test_every_kind_is_told_and_applied(isod, files):
    with layer(isod, files) as l:
        l.sh('''echo TWO >> a.txt; rm gone.txt; chmod 755 run.sh; printf '\\3\\0' > bin.dat; mv 'old name.txt' new-name.txt
                mkdir -p n/m; echo new > n/m/f; ln -s ../a.txt n/inside; rm link; ln -s same.txt link; : > empty
                chmod 600 same.txt; chmod 644 same.txt; cat dir/x > /dev/null''')
    before = tree(files)
    changes = diff(isod, l.id)
    assert kinds(changes) == {
        'a.txt': 'changed', 'gone.txt': 'deleted', 'run.sh': 'mode', 'bin.dat': 'changed', 'new-name.txt': 'renamed',
        'n': 'new', 'n/m': 'new', 'n/m/f': 'new', 'n/inside': 'new', 'link': 'changed', 'empty': 'new'}
    assert changes['new-name.txt']['from'] == 'old name.txt'
    assert (changes['run.sh']['oldMode'], changes['run.sh']['mode']) == (0o644, 0o755)
    assert not [c for c in changes.values() if c['conflict'] or c['leadsOut'] or 'protected' in c]
    assert tree(files) == before, 'diff has changed the project'
    mtime = os.lstat(f'{l.upper}/a.txt').st_mtime_ns
    r = isod.ctl('apply', l.id)
    assert r.rc == 0 and b'12 applied, 0 not' in r.out, r
    assert read(f'{files}/a.txt') == b'one\ntwo\nthree\nTWO\n' and os.stat(f'{files}/a.txt').st_mtime_ns == mtime
    assert not os.path.lexists(f'{files}/gone.txt') and not os.path.lexists(f'{files}/old name.txt')
    assert os.stat(f'{files}/run.sh').st_mode & 0o7777 == 0o755 and read(f'{files}/bin.dat') == b'\3\0'
    assert read(f'{files}/new-name.txt') == b'the same content\n' * 20 and read(f'{files}/n/m/f') == b'new\n'
    assert os.readlink(f'{files}/n/inside') == '../a.txt' and os.readlink(f'{files}/link') == 'same.txt'
    assert os.stat(f'{files}/n/m/f').st_uid == os.stat(files).st_uid
    assert diff(isod, l.id) == {}
    r = isod.ctl('apply', l.id)
    assert r.rc == 0 and b'0 applied, 0 not' in r.out, r


def test_texts_and_order(isod, files):
    with layer(isod, files) as l:
        l.sh('''sed -i s/two/2/ a.txt; rm gone.txt; chmod +x run.sh; mkdir .vscode; echo {} > .vscode/settings.json
                printf 'no end' > new; printf '\\1\\0' > bin.dat; mv 'old name.txt' moved''')
    r = isod.ctl('diff', l.id)
    assert r.rc == 0, r
    lines = r.text.splitlines()
    told = [line.split(':')[0] for line in lines[:8]]
    assert told == ['deleted', 'mode', 'new', 'new', 'changed', 'changed', 'renamed', 'new'], r.text
    assert '[protected: editorSettings]' in lines[2] and lines[6].startswith('renamed:  old name.txt -> moved')
    assert '-two' in lines and '+2' in lines and '--- a/a.txt' in lines and '+++ b/a.txt' in lines
    assert '+no end' in lines and '\\ No newline at end of file' in lines and '+{}' in lines
    assert 'Binary files differ: bin.dat (3 -> 2 bytes)' in lines
    stat_ = isod.ctl('diff', '--stat', l.id).text.splitlines()
    assert stat_ == lines[:9] and '2 of protected kinds' in stat_[8]
    names = isod.ctl('diff', '--name-only', l.id).text.splitlines()
    assert names == ['.vscode', '.vscode/settings.json', 'a.txt', 'bin.dat', 'gone.txt', 'moved', 'new', 'run.sh']
    one = isod.ctl('diff', '--name-only', l.id, 'a.txt', cwd=files)
    assert one.text == 'a.txt\n'
    # the texts are a patch: of a copy without the layer it makes the same
    patch = subprocess.run(['patch', '-p1', '--dry-run', '-d', files], input=r.out, capture_output=True)
    assert patch.returncode == 0 and b'a.txt' in patch.stdout, patch


def test_changed_types_and_opaque_folders(isod, files):
    put(f'{files}/tree/a/b', 'b\n')
    put(f'{files}/tree/c', 'c\n')
    put(f'{files}/again/old', 'old\n')
    put(f'{files}/again/kept', 'kept\n')
    settle()
    with layer(isod, files) as l:
        l.sh('''rm a.txt; mkdir a.txt; echo in > a.txt/f; rm -r tree; echo file > tree; rm -r dir; ln -s again dir
                rm -r again; mkdir again; echo kept > again/kept; echo new > again/new''')
    changes = diff(isod, l.id)
    assert kinds(changes) == {
        'a.txt': 'replaced', 'a.txt/f': 'new', 'tree': 'replaced', 'tree/a': 'deleted', 'tree/a/b': 'deleted',
        'tree/c': 'deleted', 'dir': 'replaced', 'dir/x': 'deleted', 'dir/sub': 'deleted', 'dir/sub/y': 'deleted',
        'again/old': 'deleted', 'again/new': 'new'}
    r = isod.ctl('apply', l.id)
    assert r.rc == 0, r
    assert read(f'{files}/a.txt/f') == b'in\n' and read(f'{files}/tree') == b'file\n'
    assert os.readlink(f'{files}/dir') == 'again' and sorted(os.listdir(f'{files}/again')) == ['kept', 'new']
    assert diff(isod, l.id) == {}


def test_names_of_any_bytes(isod, files):
    names = [b'new\nline', b'\xff\xfe', b'esc\x1b[2J\x1b]0;t\x07', 'bidi\u202e'.encode(), b' ', b'-rf', b'a\\b', b'*', '\u2028'.encode()]
    with layer(isod, files) as l:
        for name in names:
            with open(os.path.join(os.fsencode(l.merged), name), 'wb') as f:
                f.write(b'\x1b[31mred\n')
            os.chown(os.path.join(os.fsencode(l.merged), name), l.entry.pw_uid, l.entry.pw_gid)
    for args in (['--stat'], ['--name-only'], ['--json']):
        r = isod.ctl('diff', *args, l.id)
        assert r.rc == 0 and b'\x1b' not in r.out and b'\x07' not in r.out, r
    assert len(isod.ctl('diff', '--name-only', l.id).out.splitlines()) == len(names)
    told = json.loads(isod.ctl('diff', '--json', l.id).out)['changes']
    assert sorted(c['path'].encode('utf-8', 'surrogateescape') for c in told) == sorted(names)
    # on a terminal the texts cannot act either
    import pexpect
    entry = pwd.getpwnam(USERS[0])
    child = pexpect.spawn('setpriv', ['--reuid', str(entry.pw_uid), '--clear-groups', isod.client, 'diff', l.id], cwd=files,
                          env=isod.environment(USERS[0]), timeout=120)
    shown = child.read()
    child.wait()
    assert b'red' in shown and b'\x1b' not in shown, shown
    assert isod.ctl('apply', l.id).rc == 0
    assert set(names) <= set(os.listdir(os.fsencode(files)))


def test_edits_of_the_host_stay(isod, files):
    """In both orders: before and after the session has taken its copy; of files, of deletions, of new names, of modes."""
    for name in ('early', 'late', 'both-gone', 'host-gone', 'agent-gone', 'mode', 'same', 'fine'):
        put(f'{files}/{name}', 'begin\n')
    put(f'{files}/folder/inner', 'begin\n')
    settle()
    with layer(isod, files) as l:
        settle()
        put(f'{files}/early', 'host\n')
        l.sh('''echo agent >> early; echo agent >> late; rm both-gone agent-gone; echo agent >> host-gone; chmod 700 mode
                echo both > same; echo agent > new; echo agent >> fine; rm -r folder''')
        put(f'{files}/late', 'host\n')
        put(f'{files}/agent-gone', 'host\n')
        put(f'{files}/new', 'host\n')
        put(f'{files}/same', 'both\n')
        put(f'{files}/folder/of-host', 'host\n')
        os.chmod(f'{files}/mode', 0o640)
        os.unlink(f'{files}/both-gone')
        os.unlink(f'{files}/host-gone')
    changes = diff(isod, l.id)
    conflicts = {p for p, c in changes.items() if c['conflict']}
    # what both made alike is no change, what both removed neither
    assert kinds(changes) == {'early': 'changed', 'late': 'changed', 'agent-gone': 'deleted', 'mode': 'mode', 'new': 'changed',
                              'host-gone': 'new', 'fine': 'changed', 'folder': 'deleted', 'folder/inner': 'deleted',
                              'folder/of-host': 'deleted'}, changes
    assert conflicts == {'early', 'late', 'agent-gone', 'mode', 'new', 'folder/of-host'}
    before = {p: read(f'{files}/{p}') for p in ('early', 'late', 'agent-gone', 'new', 'folder/of-host')}
    r = isod.ctl('apply', '--force', l.id)
    assert r.rc == 1 and b'conflict' in r.err, r
    assert {p: read(f'{files}/{p}') for p in before} == before, 'an edit of the host was lost'
    assert os.stat(f'{files}/mode').st_mode & 0o777 == 0o640 and read(f'{files}/fine') == b'begin\nagent\n'
    r = isod.ctl('apply', '--overwrite', l.id)
    assert r.rc == 0, r
    assert read(f'{files}/late') == b'begin\nagent\n' and not os.path.lexists(f'{files}/folder') and diff(isod, l.id) == {}


def test_a_file_that_the_user_removed_stays_removed(isod, files):
    with layer(isod, files) as l:
        l.sh('echo agent >> a.txt')
        settle()
        os.unlink(f'{files}/a.txt')
    changes = diff(isod, l.id)
    assert kinds(changes) == {'a.txt': 'new'} and changes['a.txt']['conflict'], changes
    r = isod.ctl('apply', l.id)
    assert r.rc == 1 and not os.path.lexists(f'{files}/a.txt'), r


def test_protected_kinds_and_links_out_need_force(isod, files):
    put(f'{files}/.git/config', '[core]\n')
    put(f'{files}/.git/hooks/pre-commit', 'old\n', 0o755)
    settle()
    with layer(isod, files) as l:
        l.sh('''echo evil > .git/hooks/post-checkout; echo evil >> .git/hooks/pre-commit; echo evil >> .git/config
                mkdir -p .vscode sub; echo {} > .vscode/tasks.json; echo fine > sub/fine
                ln -s /etc/passwd abs; ln -s ../../out sub/up; ln -s sub/../.. tricky; ln -s ../a.txt sub/inside
                mkdir .GIT; echo evil > .GIT/config''')
    changes = diff(isod, l.id)
    flagged = {p for p, c in changes.items() if 'protected' in c}
    assert {'.git/hooks/post-checkout', '.git/hooks/pre-commit', '.git/config', '.vscode/tasks.json', '.GIT/config'} <= flagged, changes
    assert 'sub/fine' not in flagged
    assert {p for p, c in changes.items() if c['leadsOut']} == {'abs', 'sub/up', 'tricky'}
    r = isod.ctl('apply', l.id)
    assert r.rc == 1 and b'--force' in r.err, r
    assert read(f'{files}/.git/hooks/pre-commit') == b'old\n' and not os.path.lexists(f'{files}/.git/hooks/post-checkout')
    assert read(f'{files}/.git/config') == b'[core]\n' and read(f'{files}/sub/fine') == b'fine\n'
    assert not os.path.lexists(f'{files}/abs') and os.readlink(f'{files}/sub/inside') == '../a.txt'
    assert isod.ctl('apply', '--force', l.id).rc == 0
    assert read(f'{files}/.git/hooks/post-checkout') == b'evil\n' and os.readlink(f'{files}/abs') == '/etc/passwd'


def test_special_files_and_bits_are_not_taken_over(isod, files):
    with layer(isod, files) as l:
        l.sh('mkfifo fifo; cp /bin/true suid; chmod 6755 suid; mkdir sticky; chmod 1777 sticky; echo s > secret; chmod 000 secret')
    r = isod.ctl('apply', l.id)
    assert r.rc == 1 and r.errors.count('not applied') == 2, r
    assert not os.path.lexists(f'{files}/fifo') and not os.path.lexists(f'{files}/secret')
    assert os.stat(f'{files}/suid').st_mode & 0o7777 == 0o755
    assert os.stat(f'{files}/sticky').st_mode & 0o7777 == 0o777


def test_some_paths_only(isod, files):
    with layer(isod, files) as l:
        l.sh('mkdir -p d/e; echo 1 > d/e/f; echo 2 > d/g; echo 3 > h; mv "old name.txt" d/moved; rm gone.txt')
    assert isod.ctl('apply', l.id, 'd/e/f', cwd=files).rc == 0
    assert read(f'{files}/d/e/f') == b'1\n' and os.listdir(f'{files}/d') == ['e'] and os.path.exists(f'{files}/gone.txt')
    assert isod.ctl('apply', l.id, './moved', cwd=f'{files}/d').rc == 0
    assert os.path.exists(f'{files}/d/moved') and not os.path.exists(f'{files}/old name.txt')
    for bad in ('../x', '/etc/passwd', 'nothing'):
        r = isod.ctl('apply', l.id, bad, cwd=files)
        assert r.rc == 1 and r.out == b'', r
    # without a session: the newest over the working directory
    assert isod.ctl('apply', cwd=f'{files}/dir').rc == 0
    assert diff(isod, l.id) == {}


def test_case_140_nothing_is_written_through_links_of_the_project(isod, files, root_dir):
    """The project's folder has become a link to somewhere else: nothing there is touched."""
    outside = os.path.join(root_dir, 'outside')
    put(f'{outside}/x', 'outside\n')
    with layer(isod, files) as l:
        l.sh('echo agent >> dir/x; echo new > dir/new; rm dir/sub/y; echo agent >> a.txt')
    os.rename(f'{files}/dir', f'{files}/elsewhere')
    os.symlink(outside, f'{files}/dir')
    os.unlink(f'{files}/a.txt')
    os.symlink(f'{outside}/x', f'{files}/a.txt')
    r = isod.ctl('apply', '--force', l.id)
    assert r.rc == 1, r
    assert read(f'{outside}/x') == b'outside\n' and os.listdir(outside) == ['x']
    assert os.path.islink(f'{files}/a.txt') and os.path.islink(f'{files}/dir')


def test_swaps_while_it_is_applied(isod, files, root_dir):
    """Somebody turns folders of the project into links and back the whole time: nothing outside is ever written."""
    outside = os.path.join(root_dir, 'swapped')
    put(f'{outside}/in/keep', 'outside\n')
    os.chmod(f'{outside}/in', 0o777)
    for i in range(300):
        put(f'{files}/many/in/{i}', 'begin\n')
    settle()
    with layer(isod, files) as l:
        l.sh('for i in many/in/*; do echo agent >> $i; done; for i in 1 2 3 4 5 6 7 8 9; do echo n > many/in/new$i; done')
    os.symlink(outside, f'{files}/link-to-outside')
    end = threading.Event()

    def swap():
        import ctypes
        libc = ctypes.CDLL(None, use_errno=True)
        a, b = os.fsencode(f'{files}/many'), os.fsencode(f'{files}/link-to-outside')
        while not end.is_set():
            libc.renameat2(-100, a, -100, b, 2)

    swapper = threading.Thread(target=swap)
    swapper.start()
    try:
        for _ in range(5):
            r = isod.ctl('apply', '--overwrite', '--force', l.id)
            assert r.rc in (0, 1), r
    finally:
        end.set()
        swapper.join()
    assert os.listdir(outside) == ['in'] and os.listdir(f'{outside}/in') == ['keep'] and read(f'{outside}/in/keep') == b'outside\n'
    if os.path.islink(f'{files}/many'):
        os.rename(f'{files}/many', f'{files}/x')
        os.rename(f'{files}/link-to-outside', f'{files}/many')
    assert isod.ctl('apply', '--overwrite', '--force', l.id).rc == 0
    assert read(f'{files}/many/in/7') == b'begin\nagent\n' and not [n for n in os.listdir(f'{files}/many/in') if n.startswith('.isod')]


def test_hostile_layer(isod, files, root_dir):
    """Written past the overlay, as a kernel without it would let a program do."""
    target = os.path.join(root_dir, 'target')
    put(target + '/f', 'outside\n')
    os.chmod(target, 0o777)
    with layer(isod, files) as l:
        pass
    os.symlink(target, f'{l.upper}/dir')
    os.symlink(target, f'{l.upper}/a.txt')
    os.mknod(f'{l.upper}/null', stat.S_IFCHR | 0o666, os.makedev(1, 3))
    os.mknod(f'{l.upper}/nothing', stat.S_IFCHR, os.makedev(0, 0))
    deep = f'{l.upper}/deep'
    fd = os.open(l.upper, os.O_RDONLY)
    for _ in range(300):
        os.mkdir('d', dir_fd=fd)
        inner = os.open('d', os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = inner
    os.close(fd)
    subprocess.run(['chown', '-hR', f'{l.entry.pw_uid}:{l.entry.pw_gid}', l.upper], check=True)
    assert not os.path.exists(deep)
    changes = diff(isod, l.id)
    assert changes['a.txt']['leadsOut'] and changes['null']['kind'] == 'special' and 'nothing' not in changes
    r = isod.ctl('apply', l.id)
    assert r.rc == 1 and os.listdir(target) == ['f'] and read(f'{target}/f') == b'outside\n', r
    assert os.path.isdir(f'{files}/' + '/'.join(['d'] * 300))
    assert not os.path.islink(f'{files}/dir') and not os.path.lexists(f'{files}/null')


def test_five_thousand_files_and_an_end_in_between(isod, files):
    for i in range(200):
        put(f'{files}/old/{i}', f'{i}\n')
    settle()
    with layer(isod, files) as l:
        l.sh('mkdir m; cd m; seq 5000 | xargs touch; for i in $(seq 50); do echo $i > $i; done; cd ..; rm -r old')
    before = tree(files)
    p = isod.popen('apply', l.id, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
    wait_for(lambda: os.path.isdir(f'{files}/m') and len(os.listdir(f'{files}/m')) > 20, 'some are there')
    p.send_signal(signal.SIGKILL)
    p.communicate()
    assert all(tree(files).get(path) == value for path, value in before.items() if not path.startswith(b'old') and value[1] is not None)
    r = isod.ctl('apply', l.id)
    assert r.rc == 0, r
    assert len(os.listdir(f'{files}/m')) == 5000 and not os.path.exists(f'{files}/old') and read(f'{files}/m/50') == b'50\n'
    assert diff(isod, l.id) == {}


def test_one_apply_at_a_time(isod, files):
    """Two would write to the same temporary name: a file could get the other's content."""
    import fcntl
    import socket
    with layer(isod, files) as l:
        l.sh('echo agent > new')
    before = tree(files)
    with Varlink(isod.socket) as v:
        v.send('org.isod.Layer', {'session': l.id, 'ended': True})
        fd, = socket.recv_fds(v.sock, 65536, 4)[1]
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        r = isod.ctl('apply', l.id)
        assert r.rc == 1 and 'by another isoctl' in r.errors, r
        assert tree(files) == before and kinds(diff(isod, l.id)) == {'new': 'new'}
    finally:
        os.close(fd)
    assert isod.ctl('apply', l.id).rc == 0 and read(f'{files}/new') == b'agent\n'


def test_nobody_else_gets_a_layer(isod, files):
    with layer(isod, files) as l:
        l.sh('echo agent >> a.txt')
    for command in ('diff', 'apply', 'discard'):
        r = isod.ctl(command, l.id, user=USERS[1])
        assert r.rc == 1 and 'no layer' in r.errors.lower(), r
    assert json.loads(isod.ctl('diff', '--list', '--json', user=USERS[1]).out) == []
    entry = pwd.getpwnam(USERS[1])
    code = ('import json, socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1])\n'
            's.sendall(json.dumps({"method": sys.argv[2], "parameters": json.loads(sys.argv[3])}).encode() + b"\\0")\n'
            'data, fds, flags, _ = socket.recv_fds(s, 65536, 4); print(len(fds), data.decode().rstrip("\\0"))')
    for method, parameters in (('Layer', {'session': l.id, 'ended': False}), ('Discard', {'session': l.id}),
                               ('Layer', {'session': '../' + l.id[3:], 'ended': False}), ('Layer', {'session': 'f' * 12, 'ended': False})):
        p = subprocess.run(['/usr/bin/python3', '-c', code, isod.socket, 'org.isod.' + method, json.dumps(parameters)],
                           user=entry.pw_uid, group=entry.pw_gid, extra_groups=[], capture_output=True, text=True)
        assert p.stdout.startswith('0 ') and 'NoSuchSession' in p.stdout, p
    # root sees it, and applies nothing of another's
    assert kinds(diff(isod, l.id, user='root')) == {'a.txt': 'changed'}
    r = isod.ctl('apply', l.id, user='root')
    assert r.rc == 1 and 'belongs to uid' in r.errors, r
    assert isod.ctl('discard', l.id).rc == 0


def test_discard_leaves_nothing(isod, files):
    with layer(isod, files) as l:
        l.sh('mkdir -p deep/er; for i in $(seq 300); do echo $i > deep/er/$i; done; chmod 000 deep')
    before = tree(files)
    assert l.id in [x['session'] for x in json.loads(isod.ctl('diff', '--list', '--json').out)]
    r = isod.ctl('discard', l.id)
    assert r.rc == 0 and r.text == l.id + '\n', r
    assert l.id not in isod.ctl('diff', '--list').text
    wait_for(lambda: not [n for n in os.listdir(os.path.join(isod.state_dir, 'layers')) if l.id in n], 'it is gone')
    assert tree(files) == before
    assert isod.ctl('discard', l.id).rc == 1 and isod.ctl('diff', l.id).rc == 1


def test_a_killed_daemon_keeps_layers_and_sweeps_discarded_ones(users, root_dir, files):
    d = Isod(root_dir, 'killed-layers').start()
    try:
        with layer(d, files) as l:
            l.sh('echo agent >> a.txt')
        with layer(d, files, started_ns=1) as old:
            old.sh('echo agent >> a.txt')
        layers = os.path.join(d.state_dir, 'layers')
        os.makedirs(os.path.join(layers, '.gone-' + 'a' * 12, 'upper', 'x'))
        os.makedirs(os.path.join(layers, 'b' * 12, 'upper'))
        d.process.kill()
        d.process.wait()
        d.start()
        # those of a season ago, and what nobody can ask for, are gone
        assert os.listdir(layers) == [l.id]
        assert kinds(diff(d, l.id)) == {'a.txt': 'changed'}
        assert d.ctl('apply', '--discard', l.id).rc == 0 and read(f'{files}/a.txt').endswith(b'agent\n')
        wait_for(lambda: os.listdir(layers) == [], 'it is gone')
    finally:
        d.stop()


def test_layer_call_over_the_socket(isod, files):
    """What a stranger's client does: the descriptor comes with the reply, for reading."""
    import socket
    with layer(isod, files) as l:
        l.sh('echo agent > new')
    with Varlink(isod.socket) as v:
        assert [x['project'] for x in v.call('org.isod.Layers', {})['parameters']['layers'] if x['session'] == l.id] == [files]
        # two at once: each reply brings its own
        for _ in range(2):
            v.send('org.isod.Layer', {'session': l.id, 'ended': True})
        got, data = [], b''
        while data.count(b'\0') < 2:
            piece, fds, flags, _ = socket.recv_fds(v.sock, 65536, 4)
            got += fds
            data += piece
        assert len(got) == 2 and all(os.listdir(fd) == ['new'] for fd in got)
        for fd in got:
            os.close(fd)
        # without a reply there is none to bring it
        v.send('org.isod.Layer', {'session': l.id, 'ended': True}, oneway=True)
        assert 'ready' in v.call('org.isod.Status', {})['parameters']
