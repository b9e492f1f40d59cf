"""The audit log can be trusted: what is done to it behind isod's back is found, and what a crash does is no such thing."""
import json
import os
import signal

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
