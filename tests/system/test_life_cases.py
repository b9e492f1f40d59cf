"""A session's life: whole output, codes, stalled clients, nothing left behind, terminals."""
import concurrent.futures
import hashlib
import os
import pty
import signal
import subprocess
import termios
import time

import pytest

from conftest import SANITIZED
from test_terminal import finish, spawn
from waiting import wait_for

SEQ = b''.join(b'%d\n' % i for i in range(1, 100001))


def running(isod):
    return [s for s in isod.sessions() if s['state'] == 'running']


def alive(pattern):
    return subprocess.run(['pgrep', '-f', '--', pattern], capture_output=True, text=True).stdout.split()


def one_pipe(isod):
    r = isod.run('seq', '1', '100000', options=['-q'])
    return r.rc == 0 and r.out == SEQ and r.err == b''


def one_pty(isod):
    c = spawn(isod, 'seq', '1', '100000', timeout=120)
    data = c.read()
    c.close()
    return c.exitstatus == 0 and data.replace(b'\r\n', b'\n') == SEQ


@pytest.mark.parametrize('one', [one_pipe, one_pty])
def test_five_hundred_of_five_hundred(isod, one):
    """Case 163: four at a time, so that the machine is busy."""
    rounds = 40 if SANITIZED else int(os.environ.get('ISOD_TEST_ROUNDS', '100'))
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda _: one(isod), range(rounds)))
    assert results.count(True) == rounds


@pytest.mark.parametrize('terminal', [False, True])
def test_a_slow_reader_gets_everything(isod, terminal):
    """Case 163: 50 KB/s, the program has long ended."""
    master = -1
    if terminal:
        master, slave = pty.openpty()
        attributes = termios.tcgetattr(slave)
        attributes[1] &= ~termios.OPOST
        termios.tcsetattr(slave, termios.TCSANOW, attributes)
        p = isod.popen('run', '-q', '--', 'seq', '1', '20000', stdin=slave, stdout=slave, stderr=slave)
        os.close(slave)
        fd = master
    else:
        p = isod.popen('run', '-q', '--', 'seq', '1', '20000', stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        fd = p.stdout.fileno()
    data = b''
    start = time.monotonic()
    while True:
        wait = len(data) / 50000 - (time.monotonic() - start)
        if wait > 0:
            time.sleep(wait)  # the reader's own pace is what is tested
        try:
            more = os.read(fd, 4096)
        except OSError:
            break
        if not more:
            break
        data += more
    assert p.wait(120) == 0
    expected = b''.join(b'%d\n' % i for i in range(1, 20001))
    assert hashlib.sha256(data.replace(b'\r\n', b'\n')).digest() == hashlib.sha256(expected).digest(), len(data)
    if terminal:
        os.close(master)


@pytest.mark.parametrize('terminal', [False, True])
def test_survivors_do_not_hold_the_end_back(isod, terminal):
    """Case 163: a background process keeps the output open."""
    script = '(trap "" HUP TERM; exec setsid sleep 4343) & echo begun; exit 7'
    if terminal:
        c = spawn(isod, 'sh', '-c', script)
        c.expect(b'begun')
        assert finish(c) == 7
    else:
        r = isod.sh(script, timeout=120)
        assert r.rc == 7 and r.out == b'begun\n', r
    wait_for(lambda: not alive('sleep 4343'), 'nothing is left')


def test_out_of_memory_is_a_death_by_signal(isod):
    """Case 164."""
    r = isod.run('/usr/bin/python3', '-c', 'x = bytearray(300 << 20)', options=['--memory', '64M'])
    assert r.rc == 137, r
    end = isod.audit(isod.last_session()['id'])[-1]
    assert end['event'] == 'session.exit' and end['signal'] == 9, end


def test_signal_and_code_are_told_apart(isod):
    """Case 164: a program that exits with 143 was not ended by SIGTERM."""
    isod.sh('exit 143')
    code = isod.audit(isod.last_session()['id'])[-1]
    isod.sh('kill -TERM $$')
    by_signal = isod.audit(isod.last_session()['id'])[-1]
    assert code['exit'] == 143 and not code.get('signal') and by_signal['signal'] == 15, (code, by_signal)


def seconds_of(pids):
    total = 0
    for pid in pids:
        with open(f'/proc/{pid}/stat', 'rb') as f:
            fields = f.read().rpartition(b')')[2].split()
        total += int(fields[11]) + int(fields[12])
    return total / os.sysconf('SC_CLK_TCK')


def test_broken_pipes_downstream(isod):
    """Case 166: a normal member of a pipe; the daemon uses no time afterwards."""
    shell = f'{isod.client} run -q -- yes | head -1; echo "${{PIPESTATUS[0]}}"; {isod.client} sessions --all | true; echo "${{PIPESTATUS[0]}}"'
    p = subprocess.run(['bash', '-c', shell], env=isod.environment('root'), cwd='/srv', capture_output=True, text=True, timeout=120)
    lines = p.stdout.split()
    assert lines[0] == 'y' and lines[1] in ('141', '0') and lines[2] in ('141', '0', '1') and p.stderr == '', p
    follow = f'{isod.client} log -f {isod.last_session(user="root")["id"]} | true; echo "${{PIPESTATUS[0]}}"'
    p = subprocess.run(['bash', '-c', follow], env=isod.environment('root'), cwd='/srv', capture_output=True, text=True, timeout=120)
    assert p.stdout.strip() in ('141', '0', '1') and p.stderr == '', p
    client = isod.popen('run', '-q', '--', 'yes', stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    assert client.stdout.read(100000)
    client.kill()
    client.wait()
    client.stdout.close()
    wait_for(lambda: not running(isod), 'the session hangs up')
    wait_for(lambda: len(isod.helpers()) == 1, 'idle')
    pids = [isod.process.pid, *isod.helpers()]
    before = seconds_of(pids)
    time.sleep(1)  # what is measured is a second of idling
    assert seconds_of(pids) - before < 0.1


@pytest.mark.parametrize('terminal', [False, True])
def test_a_stopped_client_holds_nobody_up(isod, terminal):
    """Case 167: its own output waits; everybody else is served."""
    if terminal:
        c = spawn(isod, 'yes')
        c.expect(b'y')
        pid = c.pid
    else:
        c = isod.popen('run', '-q', '--', 'yes', stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        assert c.stdout.read(2) == b'y\n'
        pid = c.pid
    os.kill(pid, signal.SIGSTOP)
    try:
        session = wait_for(lambda: running(isod), 'it runs')[0]['id']
        for command in (['sessions'], ['show', session], ['log', session], ['status'], ['run', '-q', '--', 'true'], ['kill', session]):
            r = isod.ctl(*command, timeout=120)
            assert r.rc == 0, (command, r)
        wait_for(lambda: not running(isod), 'it is ended though its client is stopped')
    finally:
        os.kill(pid, signal.SIGCONT)
    if terminal:
        c.read()
        c.close(force=True)
    else:
        c.stdout.close()
        c.wait(120)


BACKGROUND = '''setsid sleep 6161 & (setsid sh -c "sleep 6161 & sleep 6161" &) ; (trap "" HUP TERM INT; sleep 6161) &
python3 -c "
import os, time
while True:
    if os.fork() == 0:
        os.setsid()
        if os.fork(): os._exit(0)
        time.sleep(6161)
        os._exit(0)
    os.wait()
    time.sleep(0.002)
" 6161 & echo up; '''


@pytest.mark.parametrize('way', ['exit', 'kill', 'daemon'])
def test_nothing_survives(own_isod, way):
    """Case 170: detached children and a fork loop are gone, whatever ended the session."""
    p = own_isod.popen('run', '-q', '--pids', '500', '--', 'sh', '-c', BACKGROUND + ('exit 0' if way == 'exit' else 'sleep 6161'),
                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert p.stdout.readline() == b'up\n'
    if way != 'exit':
        wait_for(lambda: len(alive('6161')) > 20, 'they have spread')
    if way == 'kill':
        assert own_isod.ctl('kill', running(own_isod)[0]['id']).rc == 0
    elif way == 'daemon':
        own_isod.process.kill()
        own_isod.process.wait()
    p.wait(120)
    wait_for(lambda: not alive('6161'), 'nothing is left')
    if way == 'daemon':
        own_isod.start()
    assert own_isod.run('true').rc == 0


# Small, so that a fork costs little: five workers, each 1,000 double forks, then a look at every process.
FORKS = r'''
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int work(void)
{
	for (int i = 0; i < 1000; i++) {
		int status;
		pid_t pid = fork();

		if (pid == 0)
			_exit(fork() == 0 ? 0 : 3);
		if (pid < 0 || waitpid(pid, &status, 0) != pid || WEXITSTATUS(status) != 3)
			return 1;
	}
	return 0;
}

static int zombies(void)
{
	DIR *proc = opendir("/proc");
	struct dirent *d;
	int n = 0;

	while ((d = readdir(proc))) {
		char path[300], state = 0;
		FILE *f;

		snprintf(path, sizeof(path), "/proc/%s/stat", d->d_name);
		f = atoi(d->d_name) > 0 ? fopen(path, "r") : NULL;
		if (f && fscanf(f, "%*d (%*[^)]) %c", &state) == 1 && state == 'Z')
			n++;
		if (f)
			fclose(f);
	}
	closedir(proc);
	return n;
}

int main(void)
{
	int status, bad = 0, left;

	for (int i = 0; i < 5; i++)
		if (fork() == 0)
			_exit(work());
	while (wait(&status) > 0)
		bad += status != 0;
	for (int i = 0; (left = zombies()) > 0 && i < 1000; i++)
		usleep(10000);
	printf("bad %d zombies %d\n", bad, left);
	return 0;
}
'''


def test_five_thousand_double_forks(isod, project):
    """Case 172: pid 1 reaps, and steals no status from the program; the limit of processes is far below."""
    program = os.path.join(project, 'forks')
    subprocess.run(['cc', '-x', 'c', '-static', '-O1', '-o', program, '-'], input=FORKS.encode(), check=True)
    r = isod.run(program, options=['-q', '--pids', '200'], timeout=600)
    assert r.rc == 0 and r.text == 'bad 0 zombies 0\n', r


def test_a_terminal_without_one(isod):
    """Case 158: no pty unless asked; then 24 by 80."""
    r = isod.sh('tty; stty size', options=['-q'])
    assert b'not a tty' in r.out, r
    r = isod.run('stty', 'size', options=['-q', '--tty'], stdin=subprocess.DEVNULL)
    assert r.rc == 0 and r.out.strip() == b'24 80', r


INTERRUPT = r'''
import os, signal, sys, termios, tty
signal.signal(signal.SIGINT, lambda *_: print("handled", flush=True))
print("cooked", flush=True)
signal.pause()
tty.setraw(0)
print("raw", flush=True)
print("byte", os.read(0, 1).hex(), flush=True)
termios.tcsetattr(0, termios.TCSANOW, termios.tcgetattr(0))
'''


def test_ctrl_c_in_cooked_and_in_raw_mode(isod):
    """Case 160: a signal to the foreground group inside, or the byte; the session lives on either way."""
    c = spawn(isod, '/usr/bin/python3', '-c', INTERRUPT)
    c.expect(b'cooked')
    c.send(b'\x03')
    c.expect(b'handled')
    c.expect(b'raw')
    c.send(b'\x03')
    c.expect(b'byte 03')
    assert finish(c) == 0


MODES = {b'\x1b[?25l': b'\x1b[?25h', b'\x1b[?1000h': b'\x1b[?1000l', b'\x1b[?1006h': b'\x1b[?1006l', b'\x1b[?2004h': b'\x1b[?2004l',
         b'\x1b[?1049h': b'\x1b[?1049l'}


@pytest.mark.parametrize('way', ['killed inside', 'client terminated', 'session killed'])
def test_modes_that_were_switched_on_are_reset(isod, way):
    """Case 175."""
    on = b''.join(MODES).replace(b'\x1b', b'\\033').decode()
    c = spawn(isod, 'sh', '-c', f'printf "{on}up"; ' + ('kill -9 $$' if way == 'killed inside' else 'exec sleep 1000'))
    c.expect(b'up')
    if way == 'client terminated':
        os.kill(c.pid, signal.SIGTERM)
    elif way == 'session killed':
        assert isod.ctl('kill', running(isod)[0]['id']).rc == 0
    rest = c.read()
    after = termios.tcgetattr(c.child_fd)
    c.close()
    assert after[3] & termios.ICANON and after[3] & termios.ECHO
    for off in MODES.values():
        assert off in rest, (off, rest)


def test_what_was_not_switched_on_is_not_touched(isod):
    """Case 175: a plain command's output stays as it is."""
    c = spawn(isod, 'echo', 'plain')
    assert c.read() == b'plain\r\n'
    c.close()
