"""A secret that appears while a session runs stays one under every name that it is given inside."""
import os

import pytest

from conftest import Isod
from test_late import Session, as_user, events, release, use_up
from waiting import wait_for

# Moves and opens as fast as it can while the host puts secrets there; says what it has read.
RACE = r'''
import os, threading
over = threading.Event()
def move():
    n = 0
    while not over.is_set():
        try:
            os.rename(".env", f"x{n % 64}"); n += 1
        except OSError:
            pass
    print("moved", n)
def read():
    got = refused = 0
    while not over.is_set():
        for n in range(64):
            try:
                with open(f"x{n}", "rb") as f:
                    got += b"SECRET" in f.read()
            except PermissionError:
                refused += 1
            except OSError:
                pass
    print("got", got, "refused", refused > 0)
threads = [threading.Thread(target=f) for f in (move, read, read)]
[t.start() for t in threads]
open("racing", "w").close()
while not os.path.exists("over"):
    pass
over.set()
[t.join() for t in threads]
'''
EXCHANGE = ("python3 -c 'import ctypes; print(\"exchanged\", ctypes.CDLL(None).renameat2(-100, b\"%s\", -100, b\"%s\", 2))'")
REOPEN = ("python3 -c 'import os; f = os.open(\"%s\", os.O_PATH); os.rename(\"%s\", \"%s\"); "
          "print(open(f\"/proc/self/fd/{f}\").read())'")


@pytest.fixture
def session(isod, project):
    s = Session(isod, project)
    yield s
    if s.process.poll() is None:
        s.kill()


def test_by_every_way(session, project):
    as_user('for n in a b c d e f; do mkdir $n; echo SECRET > $n/.env; done; echo SECRET > .env; mkdir .ssh; echo SECRET > .ssh/k;'
            'echo -----BEGIN PRIVATE KEY----- > a.pem; (echo -----BEGIN CERTIFICATE-----; echo MIIB; echo -----END CERTIFICATE-----) > b.pem; '
            'mkdir -p 1/2/3/4/5/6; echo PLAIN > plain; echo SECRET > n; mv n .npmrc.tmp; echo //r/:_authToken=SECRET > .npmrc', project)
    session.do('mv a/.env a/x; ln b/.env b/x; ' + EXCHANGE % ('c/.env', 'plain') + '; mv d d2; mv d2/.env d2/x; mv .ssh s; '
               'mv a.pem p1; mv b.pem p2; mv .npmrc n1; mv .env ~/../tmp/x 2>&1; mv e/.env node_modules 2>&1; cp -l f/.env f/x; rm f/.env')
    answer = session.do('cat a/x b/x plain d2/x s/k p1 n1 node_modules f/x; cp a/x y; cat y; tar cf - a/x | tar xOf -; '
                        + REOPEN % ('a/x', 'a/x', 'a/z') + '; cat a/z p2 c/.env; head -c 9 < b/x; (. ./plain)')
    assert 'SECRET' not in answer and 'PRIVATE' not in answer, answer
    assert answer.count('not permitted') + answer.count('denied') >= 9, answer
    assert 'CERTIFICATE' in answer, answer
    session.end()


def test_what_is_made_here_and_filled_by_the_host(session, project):
    session.do('umask 0; touch .env; echo > x; mv x key.pem; mkdir -m 777 sub; touch sub/.env')
    as_user('chmod 666 .env sub/.env 2>/dev/null || true; echo SECRET >> .env; echo SECRET >> sub/.env', project)
    answer = session.do('mv .env a; ln sub/.env b; cat a b')
    assert 'SECRET' not in answer and answer.count('not permitted') == 2, answer
    session.end()


def test_other_files_of_the_host_are_read_after_renames(session, project):
    as_user('echo SECRET > .env; echo PLAIN > plain; echo EXAMPLE > .env.example', project)
    answer = session.do('mv .env x; rm x; echo new > x; mv plain y; ln y z; mv .env.example e; cat x y z e')
    assert [w for w in ('new', 'PLAIN', 'EXAMPLE') if w not in answer] == [], answer
    session.end()


def test_required_and_one_group_is_left(root_dir, project):
    """That of the opens alone would refuse names, and not the files that had them."""
    isod = Isod(root_dir, 'late-one-group')
    isod.start()
    held = use_up('fanotify_init', '0x200, 0', 1)
    try:
        r = isod.sh('echo ran', cwd=project)
        assert r.rc == 0 and isod.last_session()['late'] == 'refused', r
        wait_for(lambda: len(isod.helpers()) == 1, 'nothing of the session is left')
        isod.policy({'sandbox': {'filesystem': {'lateFiles': 'require'}}})
        r = isod.sh('echo ran', cwd=project)
        assert r.rc == 125 and r.out == b'' and 'no fanotify group left' in r.errors and 'End sessions' in r.errors, r
    finally:
        release(held)
        isod.stop()


def test_faster_than_the_guard(isod, session, project):
    """The move comes after the news of the name, in the kernel's own order: however fast, nothing is read."""
    with open(f'{project}/race.py', 'w', encoding='utf-8') as f:
        f.write(RACE)
    os.chmod(f'{project}/race.py', 0o644)
    session.process.stdin.write(b'timeout 100 python3 race.py; echo ended\n')
    session.process.stdin.flush()
    wait_for(lambda: os.path.exists(f'{project}/racing'), 'it is at work')
    as_user('i=0; while [ $i -lt 400 ]; do echo SECRET > n; mv n .env; i=$((i + 1)); done; sleep 0.2; : > over', project)
    text = b''
    while not text.endswith(b'ended\n'):
        text += session.process.stdout.readline()
    words = text.decode().split()
    assert words.count('got') == 2 and [words[i + 1] for i, w in enumerate(words) if w == 'got'] == ['0', '0'], text
    assert int(words[words.index('moved') + 1]) > 10 and 'True' in words, text
    number = session.id()
    wait_for(lambda: events(isod, number, 'secret.refused'), 'it is told')
    session.end()
