"""isoctl run: exit codes, stdio, arguments, working directories."""
import hashlib
import os
import signal
import subprocess

import pytest

from conftest import SANITIZED, USERS, project_of
from waiting import wait_for


@pytest.mark.parametrize('script,code', [
    ('exit 0', 0), ('exit 1', 1), ('exit 3', 3), ('exit 143', 143), ('exit 255', 255), ('kill -9 $$', 137),
    ('kill -TERM $$', 143), ('kill -ABRT $$', 134), ('kill -HUP $$', 129)])
def test_exit_code(isod, script, code):
    assert isod.sh(script).rc == code


def test_not_found_and_not_executable(isod, project):
    r = isod.run('/no/such/program')
    assert r.rc == 127 and '/no/such/program' in r.errors, r
    assert isod.run('no-such-program').rc == 127
    plain = os.path.join(project, 'plain')
    with open(plain, 'w', encoding='ascii') as f:
        f.write('not a program\n')
    os.chmod(plain, 0o644)
    r = isod.run(plain)
    assert r.rc == 126 and 'plain' in r.errors, r


def test_runs_as_the_caller(isod):
    r = isod.sh('id -un; id -u; pwd')
    assert r.rc == 0, r
    name, _uid, cwd = r.text.split()
    assert name == USERS[0] and cwd == project_of(USERS[0])


def test_root_is_confined_as_well(isod):
    r = isod.sh('id -u; grep -E "^Cap(Prm|Eff|Bnd|Amb|Inh)" /proc/self/status', user='root', cwd='/srv')
    assert r.rc == 0, r
    lines = r.text.splitlines()
    assert lines[0] == '0' and len(lines) == 6
    assert all(line.endswith('0000000000000000') for line in lines[1:]), lines


def test_banner_on_stderr_only_and_quiet(isod):
    r = isod.run('true')
    assert r.rc == 0 and r.out == b'' and b'isod' in r.err, r
    r = isod.run('true', options=['--quiet'])
    assert r.rc == 0 and r.out == b'' and r.err == b'', r


def test_pipes_are_passed_through(isod):
    data = os.urandom(3 << 20)
    r = isod.run('cat', input=data)
    assert r.rc == 0 and r.out == data


def test_stderr_is_apart(isod):
    r = isod.sh('echo out; echo err >&2', )
    assert r.out == b'out\n' and b'err\n' in r.err and b'out' not in r.err, r


def test_half_closed_stdin(isod):
    r = isod.sh('cat; echo after', input=b'x\n')
    assert r.out == b'x\nafter\n', r


def test_dev_null(isod):
    r = isod.sh('cat; readlink /proc/self/fd/0', stdin=subprocess.DEVNULL)
    assert r.rc == 0 and r.text.strip() == '/dev/null', r


def test_files_as_stdio(isod, project):
    source, sink = os.path.join(project, 'in'), os.path.join(project, 'out')
    with open(source, 'wb') as f:
        f.write(b'line\n' * 100000)
    with open(source, 'rb') as i, open(sink, 'wb') as o:
        r = isod.run('cat', stdin=i, stdout=o)
    assert r.rc == 0, r
    with open(sink, 'rb') as f:
        assert f.read() == b'line\n' * 100000


def test_file_stdout_appends_in_place(isod, project):
    sink = os.path.join(project, 'log')
    with open(sink, 'wb') as o:
        o.write(b'before\n')
        o.flush()
        assert isod.run('echo', 'inside', stdout=o).rc == 0
        os.write(o.fileno(), b'after\n')
    with open(sink, 'rb') as f:
        assert f.read() == b'before\ninside\nafter\n'


@pytest.mark.parametrize('fd', [0, 1, 2])
def test_a_file_cannot_be_reopened_from_inside(isod, root_dir, fd):
    """A file given as stdio must not become writable (stdin) or truncatable, seekable (stdout) inside."""
    path = os.path.join(root_dir, f'precious-{fd}')
    with open(path, 'wb') as f:
        f.write(b'precious\n')
    os.chmod(path, 0o666)
    with open(path, 'rb' if fd == 0 else 'ab') as f:
        keyword = {('stdin', 'stdout', 'stderr')[fd]: f}
        isod.sh(f'echo overwritten 1<>/proc/self/fd/{fd}; : > /proc/self/fd/{fd}; true', **keyword)
    with open(path, 'rb') as f:
        assert f.read().startswith(b'precious\n')


def test_early_reader_close_is_sigpipe(isod):
    p = isod.popen('run', '--', 'sh', '-c', 'yes; exit 9', stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                   stderr=subprocess.DEVNULL)
    assert p.stdout.read(2) == b'y\n'
    p.stdout.close()
    # sh survives and sees yes die of SIGPIPE
    assert p.wait(120) == 9


def test_one_gib_through_stdout(isod):
    size = (1 << 28) if SANITIZED else (1 << 30)
    p = isod.popen('run', '-q', '--', 'sh', '-c', f'head -c {size} /dev/zero | tr "\\0" x', stdin=subprocess.DEVNULL,
                   stdout=subprocess.PIPE)
    digest, count = hashlib.sha256(), 0
    while chunk := p.stdout.read(1 << 20):
        digest.update(chunk)
        count += len(chunk)
    assert p.wait(120) == 0 and count == size
    expected = hashlib.sha256()
    for _ in range(size >> 20):
        expected.update(b'x' * (1 << 20))
    assert digest.digest() == expected.digest()


def test_last_output_is_never_lost(isod):
    expected = hashlib.sha256(b''.join(b'%d\n' % i for i in range(1, 20001))).digest()
    for _ in range(20 if SANITIZED else 60):
        r = isod.run('seq', '1', '20000')
        assert r.rc == 0 and hashlib.sha256(r.out).digest() == expected


def test_arguments_are_bytes(isod):
    args = [b'a b', b'', b'\xff\xfe', 'é'.encode(), b'new\nline', b'"\\quote', b'--', b'-x', b'$(id)']
    r = isod.run('printf', '[%s]', *args)
    assert r.rc == 0 and r.out == b''.join(b'[' + a + b']' for a in args), r


@pytest.mark.parametrize('name', [b'a b', b'a"b', b"a'b", b'a\nb', b'a\\b', b'-rf', 'é'.encode(), b'\xff', b'n' * 255])
def test_project_names_are_bytes(isod, project, name):
    import pwd
    d = os.path.join(os.fsencode(project), name)
    os.mkdir(d)
    entry = pwd.getpwnam(USERS[0])
    os.chown(d, entry.pw_uid, entry.pw_gid)
    r = isod.sh('pwd; echo made > made', cwd=d)
    assert r.rc == 0 and r.out == d + b'\n', r
    assert os.path.exists(os.path.join(d, b'made'))


def test_arguments_of_two_mib(isod):
    """execve takes at most 128 KiB an argument: a clear error, and the daemon is well afterwards."""
    r = isod.run('true', 'x' * 131000)
    assert r.rc == 0, r
    many = ['y' * 100000] * 15
    r = isod.run('sh', '-c', 'echo $#', 'sh', *many)
    assert r.rc == 0 and r.text.strip() == '15', r.errors[-500:]


def test_cwd_is_gone(isod, project):
    d = os.path.join(project, 'gone')
    os.mkdir(d)
    p = subprocess.run(['sh', '-c', 'cd "$1" && rmdir "$1" && exec "$2" run -- true', 'sh', d, isod.client],
                       env=isod.environment('root'), capture_output=True)
    assert p.returncode == 125 and b'directory' in p.stderr, p


def test_cwd_through_a_link(isod, project):
    import pwd
    entry = pwd.getpwnam(USERS[0])
    real, link = os.path.join(project, 'real'), os.path.join(project, 'link')
    os.mkdir(real)
    os.chown(real, entry.pw_uid, entry.pw_gid)
    os.symlink('real', link)
    r = isod.sh('pwd; /bin/pwd -P; echo "$PWD"; touch here', cwd=link, env={'PWD': link})
    assert r.rc == 0, r
    logical, physical, variable = r.text.splitlines()
    assert physical == real and logical == link and variable == link
    assert os.path.exists(os.path.join(real, 'here'))


def test_root_and_home_are_no_projects(isod):
    r = isod.run('true', cwd='/')
    assert r.rc == 125 and 'remedy' in r.errors, r
    r = isod.run('true', cwd=os.path.dirname(project_of(USERS[0])))
    assert r.rc == 125 and 'remedy' in r.errors, r


@pytest.mark.parametrize('base', ['/tmp', '/var/tmp'])
def test_project_below_tmp(isod, base):
    import pwd
    import tempfile
    entry = pwd.getpwnam(USERS[0])
    with tempfile.TemporaryDirectory(dir=base) as outer:
        os.chmod(outer, 0o755)
        d = os.path.join(outer, 'proj')
        os.mkdir(d)
        os.chown(d, entry.pw_uid, entry.pw_gid)
        r = isod.sh(f'pwd; touch made; ls {base} | wc -l; touch {base}/other', cwd=d)
        assert r.rc == 0 and r.text.split() == [d, '1'], r
        assert os.path.exists(os.path.join(d, 'made')) and not os.path.exists(os.path.join(base, 'other'))


def test_iso_symlink_runs_the_program_it_names(isod, root_dir):
    link = os.path.join(root_dir, 'printf-iso')
    if not os.path.lexists(link):
        os.symlink('isoctl', link)
    p = subprocess.run([link, '[%s]', 'a', '-b', '--'], env=isod.environment('root'), cwd='/srv', capture_output=True)
    assert p.returncode == 0 and p.stdout == b'[a][-b][--]', p


def test_signals_are_forwarded_without_a_terminal(isod):
    p = isod.popen('run', '-q', '--', 'sh', '-c', 'trap "echo got; exit 5" TERM; echo up; while :; do sleep 0.1; done',
                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    assert p.stdout.readline() == b'up\n'
    p.send_signal(signal.SIGTERM)
    assert p.stdout.readline() == b'got\n'
    assert p.wait(120) == 5


def test_kill_9_of_the_client_ends_the_session(isod):
    p = isod.popen('run', '-q', '--', 'sh', '-c', 'echo up; exec sleep 1000', stdin=subprocess.DEVNULL,
                   stdout=subprocess.PIPE)
    assert p.stdout.readline() == b'up\n'
    assert [s for s in isod.sessions() if s['state'] == 'running']
    p.kill()
    p.wait()
    wait_for(lambda: not [s for s in isod.sessions() if s['state'] != 'ended'], 'the session hangs up')


def test_background_children_die_with_the_program(isod):
    r = isod.sh('setsid sleep 4242 & (setsid sleep 4242 &) ; sleep 0.1; exit 4')
    assert r.rc == 4
    wait_for(lambda: subprocess.run(['pgrep', '-f', 'sleep 4242'], capture_output=True).returncode == 1, 'no survivors')


def test_five_thousand_orphans_leave_no_zombie(isod):
    r = isod.sh('i=0; while [ $i -lt 500 ]; do (true &) ; i=$((i+1)); done; wait; sleep 0.3; '
                'grep -l "^State:.Z" /proc/[0-9]*/status 2>/dev/null | wc -l')
    assert r.rc == 0 and r.text.strip() == '0', r


def test_time_limit(isod):
    r = isod.run('sleep', '1000', options=['--time', '1s'])
    assert r.rc == 124, r


def test_fifty_at_once_in_one_folder(isod):
    n = 10 if SANITIZED else 50
    processes = [isod.popen('run', '-q', '--', 'sh', '-c', f'echo {i}', stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE) for i in range(n)]
    for i, p in enumerate(processes):
        out, err = p.communicate(timeout=120)
        assert p.returncode == 0 and out == b'%d\n' % i, (p.returncode, out, err)
