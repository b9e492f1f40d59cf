"""isoctl exec: one more command in a session that runs."""
import json
import os
import pwd
import signal
import socket
import subprocess

import pexpect
import pytest

from conftest import USERS
from test_attacker import attacker  # noqa: F401  (a fixture)
from waiting import wait_for

RELAYED = {'stdin': subprocess.DEVNULL, 'stdout': subprocess.PIPE, 'stderr': subprocess.PIPE}

LOOK = ('for f in Uid Gid Groups CapInh CapPrm CapEff CapBnd CapAmb NoNewPrivs Seccomp Seccomp_filters; do grep "^$f:" /proc/$$/status; '
        'done; for n in mnt pid net ipc uts cgroup user; do readlink /proc/$$/ns/$n; done; readlink /proc/$$/root; '
        'sed "s/.*://" /proc/$$/cgroup | sort -u; umask; ulimit -n')


def cmdlines(isod):
    """Of all processes that descend from the daemon, those in sessions too."""
    found = []
    for pid in isod.helpers():
        try:
            with open(f'/proc/{pid}/cmdline', 'rb') as f:
                found.append(f.read().rstrip(b'\0').replace(b'\0', b' ').decode())
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


@pytest.fixture
def held(isod, project):
    """A session that waits, with its id; and its client."""
    options = ['--env', 'MARK=of-the-session', '--allow-domain', 'ok.example']
    p = isod.popen('run', '-q', *options, '--', 'sh', '-c', LOOK + '; echo up; exec sleep 1000', cwd=project, **RELAYED)
    p.looks = ''.join(iter(lambda: p.stdout.readline().decode().replace('up\n', ''), ''))
    p.id = [s for s in isod.sessions() if s['state'] == 'running'][0]['id']
    yield p
    isod.ctl('kill', p.id)
    p.wait(60)
    p.stdout.close()
    p.stderr.close()


def execute(isod, held, script, *args, **kw):
    return isod.ctl('exec', held.id, '--', 'sh', '-c', script, *args, **kw)


def test_same_view_rights_and_output(isod, held, project):
    r = isod.ctl('exec', held.id, '--', 'sh', '-c', 'cat; echo $MARK; pwd; echo err >&2; exit 7', input=b'in\n')
    assert (r.rc, r.err) == (7, b'err\n') and r.text.split() == ['in', 'of-the-session', project], r
    # what it is and where, as the kernel says it
    r = execute(isod, held, LOOK)
    assert r.text == held.looks and 'Seccomp:\t2' in r.text and 'CapEff:\t0000000000000000' in r.text, (r, held.looks)
    r = execute(isod, held, 'cat ~/.aws/credentials; ls /root; echo x > /etc/x; cat /proc/1/environ; ls /proc/1/fd; ls /proc/self/fd')
    assert 'TOPSECRET' not in r.text and r.text.split() == ['0', '1', '2', '3'], r
    assert 'not-listed' in execute(isod, held, 'curl -sS -m 20 http://evil.example/').text
    denied = [e for e in isod.audit(held.id) if e.get('verdict') == 'deny']
    assert denied and denied[0]['name'] == 'evil.example'


def test_attacker_in_an_added_command(isod, attacker):  # noqa: F811
    name = f'isod-attacker-exec-{os.getpid()}'
    p = isod.popen('run', '-q', '--allow-read', attacker, '--', 'sh', '-c', 'echo up; exec sleep 1000', **RELAYED)
    assert p.stdout.readline() == b'up\n'
    session = [s for s in isod.sessions() if s['state'] == 'running'][0]['id']
    with socket.socket(socket.AF_UNIX) as host:
        host.bind('\0' + name)
        host.listen(1)
        r = isod.ctl('exec', session, '--', attacker, name)
    lines = r.text.splitlines()
    assert len([line for line in lines if line.startswith('ok ')]) > 40, r
    assert [line for line in lines if line.startswith('FAIL')] == [] and r.rc == 0, r
    isod.ctl('kill', session)
    p.communicate(timeout=60)


def test_exit_codes_folder_and_signals(isod, held):
    assert execute(isod, held, 'kill -TERM $$').rc == 128 + signal.SIGTERM
    r = isod.ctl('exec', held.id, '--', 'no-such-command')
    assert r.rc == 127 and 'no-such-command' in r.errors, r
    r = isod.ctl('exec', held.id, '--', '/etc/passwd')
    assert r.rc == 126, r
    r = isod.ctl('exec', held.id, '--', '')  # once it ended every session
    assert r.rc == 125 and 'no command' in r.errors, r
    assert isod.ctl('exec', '-C', '/usr/bin', held.id, 'pwd').text == '/usr/bin\n'
    r = isod.ctl('exec', '-C', '/nowhere', held.id, 'pwd')
    assert r.rc == 125 and '/nowhere' in r.errors, r
    p = isod.popen('exec', held.id, '--', 'sh', '-c', 'trap "exit 9" TERM; echo up; while :; do sleep 0.05; done', **RELAYED)
    assert p.stdout.readline() == b'up\n'
    p.send_signal(signal.SIGTERM)  # SIGINT is ignored where the tests run in the background
    assert p.wait(60) == 9
    p.communicate()


def test_log_tells_of_it(isod, held):
    assert execute(isod, held, 'exit 5').rc == 5
    isod.ctl('exec', held.id, '--', 'no-such-command')
    events = {e['event']: e for e in isod.audit(held.id)}
    assert events['exec']['argv'] == ['no-such-command'] and events['exec.exit'] == {**events['exec.exit'], 'exec': 1, 'exit': 5}
    assert events['exec.failed']['exec'] == 2 and events['exec.failed']['step'] == 'exec'


def test_terminal_of_its_own(isod, held):
    entry = pwd.getpwnam(USERS[0])
    environment = {**isod.environment(USERS[0]), 'TERM': 'screen-256color'}
    child = pexpect.spawn('setpriv', ['--reuid', USERS[0], '--regid', str(entry.pw_gid), '--init-groups', isod.client, 'exec', held.id,
                                      '--', 'sh', '-c', 'tty; stty size; echo $TERM; read x; echo got $x; exit 4'],
                          env=environment, cwd='/', timeout=60, dimensions=(31, 97))
    child.expect_exact('/dev/pts/')
    child.expect_exact('31 97')
    child.expect_exact('screen-256color')
    child.sendline('word')
    child.expect_exact('got word')
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 4



def test_ends_with_its_client_and_with_the_session(isod, held):
    first = isod.popen('exec', held.id, '--', 'sleep', '777', **RELAYED)
    second = isod.popen('exec', held.id, '--', 'sleep', '888', **RELAYED)
    wait_for(lambda: {'sleep 777', 'sleep 888'} <= set(cmdlines(isod)), 'both run')
    first.kill()
    first.communicate()
    wait_for(lambda: 'sleep 777' not in cmdlines(isod), 'it is hung up')
    assert isod.ctl('kill', held.id).rc == 0
    out, err = second.communicate(timeout=60)
    assert second.returncode == 125 and b'ended' in err, err
    r = isod.ctl('exec', held.id, 'true')
    assert r.rc == 125 and 'has ended' in r.errors, r


def test_only_its_user(isod, held):
    for user, text in ((USERS[1], 'no such session'), ('root', 'Only the user')):
        r = isod.ctl('exec', held.id, 'true', user=user, cwd='/')
        assert r.rc == 125 and text in r.errors, r
    r = isod.ctl('exec', '0123456789ab', 'true')
    assert r.rc == 125 and 'no such session' in r.errors.lower(), r


def test_limits_hold_for_it(isod):
    p = isod.popen('run', '-q', '--pids', '8', '--', 'sh', '-c', 'echo up; exec sleep 1000', **RELAYED)
    assert p.stdout.readline() == b'up\n'
    session = [s for s in isod.sessions() if s['state'] == 'running'][0]['id']
    r = isod.ctl('exec', session, '--', 'sh', '-c', 'for i in 1 2 3 4 5 6 7 8 9; do sleep 60 & done; wait')
    assert r.rc != 0 and 'fork' in r.errors, r
    isod.ctl('kill', session)
    p.communicate(timeout=60)
    last = json.loads(isod.ctl('show', '--json', session).out)
    assert last['session']['state'] == 'ended'


def test_after_another_isod_control(isod, held):
    """The session is a kept one then, and takes commands as before."""
    [pid] = isod.helpers_named('isod-control')
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: [s for s in isod.helpers_named('isod-control') if s != pid], 'another one')
    r = wait_for(lambda: (x := execute(isod, held, 'pwd; exit 6')).rc == 6 and x, 'the session is adopted')
    assert r.text.strip().startswith('/home'), r
