"""The audit log can be trusted: what is done to it behind isod's back is found, and what a crash does is no such thing."""
import json
import os
import signal
import subprocess

import pytest

from conftest import Isod
from waiting import wait_for


@pytest.fixture(scope='module')
def daemon(root_dir):
    d = Isod(root_dir, 'audit')
    d.start()
    yield d
    d.stop()


def folder(d):
    return os.path.join(d.state_dir, 'audit')


def path_of(d, session):
    return os.path.join(folder(d), session + '.jsonl')


def verify(d, *args, user='root'):
    r = d.ctl('log', 'verify', '--json', *(args or ('--all',)), user=user)
    answer = json.loads(r.out)
    assert r.rc == (0 if answer['intact'] else 1), r
    return answer


def states(answer):
    return {(f['session'], f['state'], f['line']) for f in answer['findings']}


def read(path):
    with open(path, 'rb') as f:
        return f.read()


def overwrite(path, data):
    with open(path, 'wb') as f:
        f.write(data)


def test_what_is_done_to_a_file_is_found(daemon):
    assert daemon.sh('curl -s http://evil.example/; exit 3').rc == 3
    session = daemon.last_session()['id']
    path = path_of(daemon, session)
    good = read(path)
    lines = good.splitlines(keepends=True)
    assert [json.loads(line)['seq'] for line in lines] == list(range(1, len(lines) + 1)) and len(lines) >= 3
    assert verify(daemon)['intact'] and verify(daemon, session)['lines'] == len(lines)
    for what, changed in (('edited', good.replace(b'evil.example', b'good.example', 1)), ('cut', b''.join(lines[:-1])),
                          ('cut', lines[0] + b''.join(lines[2:])), ('cut', good[:-4]),
                          ('reordered', lines[0] + lines[2] + lines[1] + b''.join(lines[3:])),
                          ('added', good + b'{'), ('foreign', good + b'{}\n')):
        overwrite(path, changed)
        found = verify(daemon, session)
        assert [f['state'] for f in found['findings']] == [what], (what, found)
        assert not verify(daemon)['intact']
    os.rename(path, path + '.away')
    assert states(verify(daemon)) == {(session, 'missing', 0)}
    os.rename(path + '.away', path)
    overwrite(path, good)
    forged = path_of(daemon, '0' * 12)
    overwrite(forged, good)
    assert states(verify(daemon)) == {('0' * 12, 'unknown', 0)}
    os.unlink(forged)
    assert verify(daemon)['intact']
    # Others see only what is theirs, and find that whole.
    assert verify(daemon, '--all', user='isodtest' + os.environ.get('ISOD_TEST_LANE', '') + '2')['sessions'] == 0


def test_heads_written_down_elsewhere(daemon):
    head = verify(daemon)['head']
    assert daemon.run('true').rc == 0
    assert verify(daemon, '--all', '--head', head)['intact']
    number, _, text = head.partition(':')
    forged = verify(daemon, '--all', '--head', f'{number}:{"0" if text[0] != "0" else "1"}{text[1:]}')
    assert states(forged) == {('', 'anchor', int(number))}
    assert daemon.ctl('log', 'verify', '--all', '--head', 'x').rc == 125


def test_while_sessions_run_and_after_a_kill(daemon):
    p = daemon.popen('run', '--', 'sh', '-c', 'while :; do curl -s http://evil.example/; sleep 0.01; done')
    session = wait_for(lambda: daemon.sessions(), 'it runs')[0]['id']
    for _ in range(5):
        assert verify(daemon)['intact']
    control = daemon.helpers_named('isod-control')[0]
    os.kill(control, signal.SIGKILL)
    wait_for(lambda: [x for x in daemon.helpers_named('isod-control') if x != control], 'isod-control is there again')
    assert verify(daemon)['intact']
    assert daemon.ctl('kill', session, user='root').rc == 0
    p.wait(60)
    assert verify(daemon)['intact']
    events = [json.loads(line)['event'] for line in read(path_of(daemon, session)).splitlines()]
    assert 'log.resumed' in events and events[-1] == 'session.exit', events[-3:]


def test_half_a_line_of_a_crash_is_no_forgery(daemon):
    p = daemon.popen('run', '--', 'sleep', '60')
    session = wait_for(lambda: daemon.sessions(), 'it runs')[0]['id']
    control = daemon.helpers_named('isod-control')[0]
    # Both at once: one alone would write down how the session ends.
    os.kill(control, signal.SIGSTOP)
    os.kill(daemon.process.pid, signal.SIGKILL)
    os.kill(control, signal.SIGKILL)
    daemon.process.wait()
    p.wait(60)
    with open(path_of(daemon, session), 'ab') as f:
        f.write(b'{"time":"20')
    daemon.start()
    assert verify(daemon)['intact']
    last = json.loads(read(path_of(daemon, session)).splitlines()[-1])
    assert last['event'] == 'log.resumed' and last['cutBytes'] == 11 and last['missingLines'] == 0 and last['intact']


def test_questions_to_all_sessions(daemon):
    daemon.sh('curl -s http://evil.example/; curl -s http://sub.evil.example/')
    one = daemon.last_session()['id']
    other = 'isodtest' + os.environ.get('ISOD_TEST_LANE', '') + '2'
    assert daemon.sh('curl -s http://evil.example/ || true', user=other).rc == 0

    def ask(*args, user=None):
        kw = {'user': user} if user else {}
        r = daemon.ctl('log', '--json', *args, **kw)
        assert r.rc == 0, r
        return [json.loads(line) for line in r.out.decode().splitlines()]

    mine = ask('--host', 'sub.evil.example')
    assert {e['session'] for e in mine} == {one} and all(e['name'] == 'sub.evil.example' for e in mine) and mine
    below = {e['name'] for e in ask('--host', '*.example', '--denied', '--since', '1h')}
    assert below == {'evil.example', 'sub.evil.example'}
    assert len({e['uid'] for e in ask('--host', 'evil.example')}) == 1
    assert len({e['uid'] for e in ask('--host', 'evil.example', user='root')}) == 2
    assert {os.path.basename(e['program']) for e in ask('--program', 'curl')} == {'curl'}
    assert not ask('--program', 'nosuch') and not ask('--host', 'nosuch.example') and not ask('--until', '1d')
    times = [e['time'] for e in ask('--since', '2020-01-01')]
    assert times and min(times) > '2020'
    # Of one session alone, too.
    assert [e['event'] for e in daemon_events(daemon, one, '--program', 'nosuch')] == []
    for bad in (['--since', 'yesterday'], ['--follow', '--denied'], []):
        assert daemon.ctl('log', *bad).rc == 2


def daemon_events(d, session, *args):
    r = d.ctl('log', '--json', session, *args)
    assert r.rc == 0, r
    return [json.loads(line) for line in r.out.decode().splitlines()]


def test_full_disk(root_dir):
    """Nothing starts that cannot be written down; what runs goes on, and what could not be written is counted."""
    d = Isod(root_dir, 'full')
    os.makedirs(folder(d), exist_ok=True)
    # In the tests' own mount namespace.
    subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=512k', 'tmpfs', folder(d)], check=True)
    try:
        d.start()
        p = d.popen('run', '-q', '--', 'sh', '-c', 'echo up; read x; for i in $(seq 40); do curl -s http://evil$i.example/ >/dev/null; done; echo done; '
                    'read x; curl -s http://last.example/ >/dev/null; exit 4', stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert p.stdout.readline() == b'up\n'
        session = d.sessions()[0]['id']
        ballast = os.path.join(folder(d), 'ballast')
        with open(ballast, 'wb', buffering=0) as f, pytest.raises(OSError):
            while True:
                f.write(bytes(512))
        r = d.run('true')
        assert r.rc == 125 and 'audit log' in r.errors, r
        p.stdin.write(b'\n')
        p.stdin.flush()
        assert p.stdout.readline() == b'done\n'
        os.unlink(ballast)
        p.stdin.write(b'\n')
        p.stdin.close()
        assert p.wait(60) == 4
        events = daemon_events(d, session)
        assert events[-1]['event'] == 'session.exit' and events[-2]['name'] == 'last.example', events[-3:]
        told = [e for e in events if e['event'] == 'events.lost']
        written = [e for e in events if e.get('name', '').startswith('evil')]
        assert len(told) == 1 and told[0]['count'] + len(written) == 40, (told, len(written))
        assert d.run('true').rc == 0
        assert verify(d)['intact']
    finally:
        d.stop()
        subprocess.run(['umount', folder(d)], check=True)
