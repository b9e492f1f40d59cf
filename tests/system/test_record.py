"""isoctl run --record and session.record: what the terminal showed and what was decided, on one clock."""
import codecs
import json
import os
import pwd
import re
import stat

import pytest

from conftest import USERS, project_of, write
from test_terminal import close_clients, finish, spawn  # noqa: F401
from waiting import wait_for


def lines_of(path):
    with open(path, 'rb') as f:
        text = f.read()
    assert text.endswith(b'\n')
    return [json.loads(line) for line in text.decode('utf-8', 'strict').splitlines()]


def recording(path):
    """Header and events of a file every line of which is what asciicast v2 says."""
    header, *events = lines_of(path)
    assert header['version'] == 2 and header['width'] > 0 and header['height'] > 0 and header['timestamp'] > 1.7e9
    last = 0.0
    for event in events:
        assert len(event) == 3, event
        at, kind, data = event
        assert at >= last and kind in 'oimr' and isinstance(data, str), event
        last = at
    return header, events


def of_kind(events, kind):
    return [e[2] for e in events if e[1] == kind]


@pytest.fixture
def home(users):
    """Recordings lie outside of the project, as they should."""
    folder = pwd.getpwnam(USERS[0]).pw_dir
    yield folder
    for name in [os.path.join(folder, n) for n in os.listdir(folder) if n.endswith('.cast')]:
        os.unlink(name)
    if os.path.exists(os.path.join(project_of(USERS[0]), '.env')):
        os.unlink(os.path.join(project_of(USERS[0]), '.env'))


# Characters of two to four bytes and bytes that are none, written one byte at a time.
PIECES = 'aé€😀'.encode() + b'\xff|\xe2\x82|\xf0\x9f\x98|\xed\xa0\x80|\xc0\xaf|"\\\x1b[31mred\x1b[0m\x07\x7f'
PROGRAM = f'''
import os, sys, time
for b in {PIECES!r}:
    os.write(1, bytes([b]))
    time.sleep(0.001)
print("\\nsize", *os.get_terminal_size(), flush=True)
sys.stdin.readline()
print("size", *os.get_terminal_size(), flush=True)
os.system("curl -s -o /dev/null http://ok.example/hello; curl -s -o /dev/null http://denied.example/")
print("asked", flush=True)
open(".env", "w").write("X=1"); os.system("cat .env 2>/dev/null")
print("done", flush=True)
sys.exit(3)
'''


def test_a_recording_of_a_terminal(isod, web, home):
    path = os.path.join(home, 'a.cast')
    c = spawn(isod, '/usr/bin/python3', '-c', PROGRAM, options=('--record', path, '--allow-domain', 'ok.example'))
    c.expect(b'size 132 43')
    c.setwinsize(30, 100)
    c.sendline(b'secret typed')
    c.expect(b'size 100 30')
    assert finish(c) == 3
    entry = os.stat(path)
    assert (stat.S_IMODE(entry.st_mode), entry.st_uid) == (0o600, pwd.getpwnam(USERS[0]).pw_uid)
    header, events = recording(path)
    assert (header['width'], header['height']) == (132, 43)
    shown = ''.join(of_kind(events, 'o'))
    assert shown.startswith(codecs.decode(PIECES, 'utf-8', 'replace')), shown[:200]
    assert of_kind(events, 'r') == ['100x30'] and of_kind(events, 'i') == []
    # The marks are where the program was at that time.
    order = [e for e in events if e[1] in 'mr' or 'asked' in e[2] or 'done' in e[2]]
    places = [next((i for i, e in enumerate(order) if what in e[2]), None) for what in
              ('100x30', 'allowed ok.example:80', 'denied denied.example', 'asked', 'done', 'exited with 3')]
    assert None not in places and places == sorted(places), (places, order)
    assert any(re.match(r'closed ok\.example:80 after \d+ ms, \d+ bytes out, \d+ in$', e[2]) for e in order), order
    assert any('.env' in e[2] for e in order if e[1] == 'm'), order


def test_input_is_recorded_by_choice_alone(isod, home):
    path = os.path.join(home, 'i.cast')
    c = spawn(isod, 'sh', '-c', 'echo go; stty -echo; read x; echo end', options=('--record', path, '--record-input'))
    c.expect(b'go')
    c.sendline('pässword'.encode())
    assert finish(c) == 0
    _, events = recording(path)
    assert ''.join(of_kind(events, 'i')) in ('pässword\n', 'pässword\r'), events


@pytest.fixture
def recorded(home):
    """The user's own policy wants recordings, of a MiB."""
    path = os.path.join(home, '.config/isod/policy.json')
    write(path, json.dumps({'session': {'record': True, 'recordSize': '1M'}}), owner=pwd.getpwnam(USERS[0]))
    yield
    os.unlink(path)


def test_a_policy_keeps_recordings_of_its_own_and_bounds_them(isod, home, recorded):
    """session.record without --record; the file ends with the mark that says it is cut, and the log says so."""
    c = spawn(isod, 'sh', '-c', 'echo begun; head -c 3000000 /dev/zero | tr "\\0" x; echo')
    assert finish(c) == 0
    session = isod.last_session()['id']
    path = os.path.join(home, '.local/state/isod/recordings', session + '.cast')
    wait_for(lambda: 'session.exit' in {e['event'] for e in isod.audit(session)}, 'the exit in the log')
    _, events = recording(path)
    assert 900000 < os.path.getsize(path) <= 1 << 20
    assert events[-1][1] == 'm' and 'cut here' in events[-1][2], events[-1]
    assert [e['state'] for e in isod.audit(session) if e['event'] == 'record'] == ['cut']
    assert not [n for n in os.listdir(os.path.dirname(path)) if n.startswith('.new-')]
    r = isod.sh('true', env={'XDG_STATE_HOME': '/proc/none'})
    assert r.rc == 125 and 'none can be made' in r.errors, r


def test_the_administrator_wants_it(isod, home):
    """Nothing starts without; what is no file for appending is refused."""
    isod.policy({'session': {'record': True}})
    r = isod.sh('true')
    assert r.rc == 125 and 'wants sessions recorded' in r.errors and '--record FILE' in r.errors, r
    r = isod.sh('true', options=['--record', os.path.join(home, 'w.cast')])
    assert r.rc == 0, r


def test_without_a_terminal_there_are_marks_alone(isod, home, project):
    path = os.path.join(home, 'm.cast')
    r = isod.sh('echo out; curl -s http://denied.example/; true', options=['--record', path])
    assert r.rc == 0 and 'out' in r.text and 'only what was decided' in r.errors, r
    _, events = recording(path)
    assert of_kind(events, 'o') == [] and 'no terminal' in events[0][2], events
    marks = of_kind(events, 'm')
    assert any(m.startswith('denied denied.example') for m in marks) and marks[-1] == 'exited with 0', marks
    # A name that is taken is not overwritten; one in the project is warned of; a start that fails leaves none.
    r = isod.sh('true', options=['--record', path])
    assert r.rc == 125 and 'not there yet' in r.errors, r
    inside = os.path.join(project, 'p.cast')
    r = isod.sh('true', options=['--record', inside])
    assert r.rc == 0 and 'can change its recording' in r.errors, r
    os.unlink(inside)
    r = isod.run('/nonexistent/program', options=['--record', inside])
    assert r.rc == 127 and not os.path.exists(inside), r
