"""A pty of the session's own: sizes, job control, signals, last output, a terminal left as it was found."""
import os
import pwd
import signal
import subprocess
import termios

import pexpect
import pytest

from conftest import SANITIZED, USERS, descendants, project_of
from waiting import wait_for


SPAWNED = []


@pytest.fixture(autouse=True)
def close_clients(isod):
    """A failed test leaves no client behind that would keep its session."""
    yield
    while SPAWNED:
        SPAWNED.pop().close(force=True)


def spawn(isod, *args, options=(), size=(43, 132), env=None, timeout=120):
    entry = pwd.getpwnam(USERS[0])
    child = pexpect.spawn('setpriv', [f'--reuid={entry.pw_uid}', f'--regid={entry.pw_gid}', '--init-groups', isod.client, 'run', '-q',
                                      *options, '--', *args], cwd=project_of(USERS[0]), env=isod.environment(USERS[0], env),
                          dimensions=size, timeout=timeout, encoding=None)
    child.delaybeforesend = None
    SPAWNED.append(child)
    return child


def finish(child):
    child.expect(pexpect.EOF)
    child.close()
    return child.exitstatus


def test_size_is_right_from_the_start(isod):
    c = spawn(isod, 'stty', 'size')
    c.expect(b'43 132')
    assert finish(c) == 0


def test_it_is_a_terminal_of_its_own(isod):
    c = spawn(isod, 'sh', '-c', 'tty; test -t 0 && test -t 1 && test -t 2 && echo all')
    c.expect(b'/dev/pts/0')
    c.expect(b'all')
    assert finish(c) == 0


WINCH = '''
import signal, os, sys
def h(*_): print("size", *os.get_terminal_size(), flush=True)
signal.signal(signal.SIGWINCH, h)
print("ready", flush=True)
for _ in range(3): signal.pause()
'''


def test_resize_arrives(isod):
    c = spawn(isod, '/usr/bin/python3', '-c', WINCH)
    c.expect(b'ready')
    for rows, columns in ((30, 100), (31, 101), (32, 102)):
        c.setwinsize(rows, columns)
        c.expect(f'size {columns} {rows}'.encode())
    assert finish(c) == 0


def test_ctrl_c_reaches_the_foreground_group_only(isod):
    c = spawn(isod, 'bash', '--norc', '-i')
    c.expect(rb'\$ ')
    # its output, not the echo of the line, says that the job is in the foreground
    c.sendline(b"sh -c 'echo u''p; exec sleep 1000'")
    c.expect(b'\rup\r\n')
    c.sendintr()
    c.expect(rb'\$ ')
    c.sendline(b'echo st=$?.')
    c.expect(b'st=130')
    c.sendline(b'exit 6')
    assert finish(c) == 6


def test_ctrl_z_stops_the_inner_job(isod):
    c = spawn(isod, 'bash', '--norc', '-i')
    c.expect(rb'\$ ')
    c.sendline(b"sh -c 'echo u''p; exec sleep 1000'")
    c.expect(b'\rup\r\n')
    c.send(b'\x1a')
    c.expect(b'Stopped')
    # bash would warn of a stopped job instead of leaving
    c.sendline(b'kill -9 %1; exec true')
    assert finish(c) == 0


def test_a_stopped_program_stops_the_client_and_fg_resumes(isod):
    """The whole way: an outer shell with job control, our client in it, ctrl-Z, fg."""
    entry = pwd.getpwnam(USERS[0])
    env = isod.environment(USERS[0], {'PS1': 'outer> '})
    c = pexpect.spawn('setpriv', [f'--reuid={entry.pw_uid}', f'--regid={entry.pw_gid}', '--init-groups', 'bash', '--norc', '-i'],
                      cwd=project_of(USERS[0]), env=env, timeout=120)
    c.expect('outer> ')
    c.sendline(f'{isod.client} run -q -- cat')
    c.expect('run -q')
    c.sendline('first')
    c.expect('first.*first')
    c.send('\x1a')
    c.expect('Stopped')
    c.expect('outer> ')
    c.sendline('fg')
    c.sendline('second')
    c.expect('second.*second')
    c.send('\x04')
    c.expect('outer> ')
    c.sendline('echo st=$?; exit')
    c.expect('st=0')
    c.expect(pexpect.EOF)


def test_bytes_pass_untouched(isod):
    c = spawn(isod, 'sh', '-c', r'stty raw -echo; printf "READY\033[?1049h\033[6n"; head -c 6 | od -An -tx1; stty sane; printf "\033[?1049l"')
    c.expect(b'READY')
    c.expect(rb'\x1b\[\?1049h\x1b\[6n')
    c.send(b'\x1b[1;1R')
    c.expect(rb'1b 5b 31 3b 31 52')
    assert finish(c) == 0


def test_last_output_is_never_lost(isod):
    for _ in range(10 if SANITIZED else 40):
        c = spawn(isod, 'seq', '1', '3000')
        data = c.read()
        c.close()
        assert c.exitstatus == 0
        assert data.split() == [b'%d' % i for i in range(1, 3001)]


def termios_of(child):
    return termios.tcgetattr(child.child_fd)


@pytest.mark.parametrize('way', ['exit', 'signal', 'term', 'killed-inside'])
def test_terminal_is_restored(isod, way):
    """The client's own terminal, kept open by an outer sleep so that it can be looked at afterwards."""
    inside = {'exit': 'exit 0', 'killed-inside': 'kill -9 $$'}.get(way, 'printf "\\033[?25l\\033[?1000h"; echo up; exec sleep 1000')
    c = spawn(isod, 'sh', '-c', f'echo begin; {inside}')
    before = None
    master_attributes = termios.tcgetattr(c.child_fd)
    c.expect(b'begin')
    if way in ('signal', 'term'):
        c.expect(b'up')
        os.kill(c.pid, signal.SIGTERM if way == 'term' else signal.SIGHUP)
    rest = c.read()
    after = termios.tcgetattr(c.child_fd)
    c.close()
    assert after[3] & termios.ICANON and after[3] & termios.ECHO and after[0] & termios.ICRNL
    if way == 'term':
        assert b'\x1b[?25h' in rest and b'\x1b[?1000l' in rest


def test_kill_9_of_the_client_hangs_up(isod):
    c = spawn(isod, 'sh', '-c', 'echo up; exec sleep 1000')
    c.expect(b'up')
    os.kill(c.pid, signal.SIGKILL)
    c.close()
    wait_for(lambda: not [s for s in isod.sessions() if s['state'] != 'ended'], 'the session hangs up')


def test_terminal_is_restored_after_kill_9_of_the_client(isod):
    """Under a script, which is no shell with job control that would put its terminal back by itself."""
    entry = pwd.getpwnam(USERS[0])
    inside = r'printf "\033[?25l\033[?1000hup"; exec sleep 1000'
    c = pexpect.spawn('setpriv', [f'--reuid={entry.pw_uid}', f'--regid={entry.pw_gid}', '--init-groups', 'sh', '-c',
                                  '"$0" run -q -- sh -c "$1"; echo st=$?; read x; echo "got $x"', isod.client, inside],
                      cwd=project_of(USERS[0]), env=isod.environment(USERS[0]), timeout=120)
    SPAWNED.append(c)
    c.expect(b'up')
    assert not termios.tcgetattr(c.child_fd)[3] & termios.ICANON
    client = [p for p in descendants(c.pid) if os.readlink(f'/proc/{p}/exe').endswith('/isoctl')][0]
    os.kill(client, signal.SIGKILL)
    wait_for(lambda: termios.tcgetattr(c.child_fd)[3] & termios.ICANON and termios.tcgetattr(c.child_fd)[3] & termios.ECHO, 'it is restored')
    c.expect(rb'\x1b\[\?1000l')
    c.sendline('line')
    c.expect(b'got line')
    c.expect(pexpect.EOF)
    c.close()


def test_exit_codes_through_a_pty(isod):
    for script, code in (('exit 3', 3), ('kill -TERM $$', 143), ('kill -9 $$', 137)):
        c = spawn(isod, 'sh', '-c', script)
        assert finish(c) == code
    c = spawn(isod, '/no/such')
    assert finish(c) == 127


def test_an_end_by_force_through_a_pty(isod, project):
    c = spawn(isod, 'sh', '-c', 'echo up; exec sleep 1000')
    c.expect(b'up')
    s = [s for s in isod.sessions() if s['state'] == 'running'][0]
    assert isod.ctl('kill', s['id']).rc == 0
    assert finish(c) == 137
    limit = os.path.join(project, 'limit.json')
    with open(limit, 'w', encoding='ascii') as f:
        f.write('{"limits": {"wall": "1s"}}')
    c = spawn(isod, 'sh', '-c', 'echo up; exec sleep 1000', options=['--policy', limit])
    c.expect(b'up')
    assert finish(c) == 124
    end = isod.audit(isod.last_session()['id'])[-1]
    assert end['event'] == 'session.exit' and end['exit'] == 124 and end['cause'] == 'time', end


def test_end_of_file_key(isod):
    c = spawn(isod, 'cat')
    c.sendline(b'line')
    c.expect(b'line.*line')
    c.send(b'\x04')
    assert finish(c) == 0


def test_stalled_terminal_freezes_nobody_else(isod):
    c = spawn(isod, 'yes')
    c.expect(b'y')
    for _ in range(3):
        assert isod.sessions()
    s = [s for s in isod.sessions() if s['state'] == 'running'][0]
    assert isod.ctl('kill', s['id']).rc == 0
    c.close(force=True)


def test_tui_program(isod):
    """A full-screen program: alternate screen on, quit, off."""
    c = spawn(isod, 'less', '/etc/passwd', env={'TERM': 'xterm'})
    c.expect(b'root:')
    c.send(b'q')
    assert finish(c) == 0
