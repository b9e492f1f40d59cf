"""Sessions that outlive the daemon: kill -9 of isod-control, whatever they are doing, and nobody notices."""
import hashlib
import os
import pwd
import signal
import subprocess

import pexpect

from conftest import USERS, project_of
from test_survival import alive
from waiting import wait_for


def popen(isod, script, *options, **kw):
    kw.setdefault('stdin', subprocess.PIPE)
    return isod.popen('run', '-q', *options, '--', 'sh', '-c', script, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **kw)


def kill_control(isod):
    old = isod.helpers_named('isod-control')
    assert len(old) == 1, old
    os.kill(old[0], signal.SIGKILL)
    wait_for(lambda: [p for p in isod.helpers_named('isod-control') if p != old[0]], 'a new isod-control')


def end(process, code, errors=b''):
    out, err = process.communicate(timeout=120)
    assert process.returncode == code and err == errors, (process.returncode, out, err)
    return out


def test_control_dies_at_idle(isod):
    """The client, which waits, gets its exit code; the log has one start and one end."""
    p = popen(isod, 'echo up; read x; echo got $x; exit 7', '--name', 'kept')
    assert p.stdout.readline() == b'up\n'
    helpers = isod.helpers_named('isod-session') + isod.helpers_named('isod-launch')
    for _ in range(2):
        kill_control(isod)
        (session,) = isod.sessions()
        assert (session['name'], session['state'], session['argv'][0]) == ('kept', 'running', 'sh'), session
    assert isod.helpers_named('isod-session') + isod.helpers_named('isod-launch') == helpers
    p.stdin.write(b'word\n')
    p.stdin.flush()
    assert end(p, 7) == b'got word\n'
    events = [line['event'] for line in isod.audit(session['id'])]
    assert events.count('session.start') == events.count('session.exit') == 1, events
    assert events.count('session.adopted') == 2 and events[-1] == 'session.exit', events
    assert isod.last_session()['exit'] == 7


def test_exit_while_control_is_away(isod):
    """It ends before there is a new isod-control: the exit code is waiting for it, and what had happened before."""
    p = popen(isod, 'echo up; read x; curl -sS http://evil.example/; exit 9')
    assert p.stdout.readline() == b'up\n'
    (session,) = isod.sessions()
    (control,) = isod.helpers_named('isod-control')
    helpers = isod.helpers_named('isod-session') + isod.helpers_named('isod-launch')
    os.kill(control, signal.SIGSTOP)
    p.stdin.write(b'\n')
    p.stdin.flush()
    wait_for(lambda: not alive(helpers), 'the session has ended')
    os.kill(control, signal.SIGKILL)
    out, _ = p.communicate(timeout=120)
    assert p.returncode == 9, out
    events = isod.audit(session['id'])
    assert [e['event'] for e in events][-3:-1] == ['session.adopted', 'connection'], events
    assert events[-2]['name'] == 'evil.example' and events[-1]['exit'] == 9, events


def test_control_dies_under_a_tunnel(isod, web):
    """Bytes go on through isod-session; a grant and a reloaded rule hold on, and so does what is denied."""
    with open(web.dir + '/www/big', 'rb') as f:
        expected = hashlib.sha256(f.read()).hexdigest()
    p = popen(isod, 'echo up; curl -sS --limit-rate 6M http://ok.example/big | sha256sum; read x; '
              'curl -sS http://two.example/hello; curl -s -o /dev/null -w "%{http_code}\n" http://evil.example/; exit 3',
              '--allow-domain', 'ok.example')
    assert p.stdout.readline() == b'up\n'
    (session,) = isod.sessions()
    assert isod.ctl('grant', session['id'], 'two.example').rc == 0
    kill_control(isod)
    assert [g['host'] for g in isod.sessions()[0]['grants']] == ['two.example']
    # the rules are the same ones still, whatever the administrator's file says by now
    isod.policy({'sandbox': {'network': {'allowedDomains': ['evil.example']}}})
    kill_control(isod)
    p.stdin.write(b'\n')
    p.stdin.flush()
    out = end(p, 3).decode().splitlines()
    assert [out[0].split()[0], *out[1:]] == [expected, 'hello from nginx', '403'], out
    events = [e for e in isod.audit(session['id']) if e['event'] == 'connection']
    assert [(e['name'], e['verdict']) for e in events] == [('ok.example', 'allow'), ('two.example', 'allow'),
                                                           ('evil.example', 'deny')], events
    assert events[0]['bytesDown'] > 16 << 20, events[0]


def test_a_terminal_is_not_disturbed(isod):
    """Its client talks to isod-session. It ends with its client, as ever."""
    entry = pwd.getpwnam(USERS[0])
    c = pexpect.spawn('setpriv', [f'--reuid={entry.pw_uid}', f'--regid={entry.pw_gid}', '--init-groups', isod.client, 'run', '-q',
                                  '--', 'sh', '-c', 'stty -echo; echo up; read x; echo got $x; exit 5'],
                      env=isod.environment(USERS[0]), cwd=project_of(USERS[0]), timeout=60)
    c.expect('up')
    kill_control(isod)
    c.sendline('word')
    c.expect('got word')
    c.expect(pexpect.EOF)
    c.close()
    assert c.exitstatus == 5
    wait_for(lambda: isod.last_session()['state'] == 'ended', 'the session has ended')
    assert isod.last_session()['exit'] == 5


def test_client_that_left_meanwhile(isod):
    """It is hung up as it would have been."""
    p = popen(isod, 'echo up; sleep 4000')
    assert p.stdout.readline() == b'up\n'
    (control,) = isod.helpers_named('isod-control')
    os.kill(control, signal.SIGSTOP)
    p.kill()
    p.wait()
    os.kill(control, signal.SIGKILL)
    wait_for(lambda: isod.last_session()['state'] == 'ended', 'the session has ended')
    assert isod.last_session()['exit'] == 137
