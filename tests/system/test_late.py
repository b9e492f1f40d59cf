"""Files that appear while a session runs: cases 103 and 137, who is told, and what happens when a part is killed."""
import json
import os
import pwd
import re
import signal
import subprocess

import pexpect
import pytest

from conftest import BUILD, Isod, PINS, USERS
from waiting import wait_for

PLANTED = ('.claude/settings.json', '.claude/settings.local.json', '.mcp.json', '.codex/config.toml',
           '.gemini/settings.json', '.vscode/tasks.json', '.idea/workspace.xml', '.envrc')
RUNS = ('pyvenv.cfg', 'Makefile')


class Session:
    """`sh` inside, fed a line at a time; a file of the project says that a line is done."""

    def __init__(self, isod, project, *options):
        self.isod, self.project, self.number = isod, project, 0
        self.process = isod.popen('run', *options, '--', 'sh', cwd=project, stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.do(':')

    def do(self, line):
        """Runs it and returns what it wrote to stdout and stderr."""
        self.number += 1
        self.process.stdin.write(f'{{ {line}\n}} 2>&1; echo "end $?" {self.number}\n'.encode())
        self.process.stdin.flush()
        text = b''
        while not text.endswith(f' {self.number}\n'.encode()):
            got = self.process.stdout.readline()
            assert got, (text, self.process.stderr.read())
            text += got
        return text.decode()

    def id(self):
        return next(s['id'] for s in self.isod.sessions() if s['project'] == self.project)

    def end(self):
        """Ends it and returns what isoctl said at the end."""
        self.process.stdin.close()
        out, err = self.process.stdout.read(), self.process.stderr.read()
        assert self.process.wait(120) == 0, (out, err)
        return err.decode()

    def kill(self):
        self.process.kill()
        self.process.wait()
        for f in (self.process.stdin, self.process.stdout, self.process.stderr):
            f.close()


@pytest.fixture
def session(isod, project):
    s = Session(isod, project)
    yield s
    if s.process.poll() is None:
        s.kill()


def as_user(script, cwd):
    entry = pwd.getpwnam(USERS[0])
    subprocess.run(['sh', '-ec', script], cwd=cwd, user=entry.pw_uid, group=entry.pw_gid, extra_groups=[], check=True)


def events(isod, session_id, name):
    return [e for e in isod.audit(session_id) if e['event'] == name]


# --- case 103 -------------------------------------------------------------------------------------------------------

def test_secret_made_on_the_host(isod, session, project):
    """Unreadable from the first moment: made, moved here, replaced, in a folder made later."""
    as_user('mkdir sub; echo SECRET > sub/.env; echo open > sub/plain; mkdir later; echo SECRET > later/.env; '
            'echo SECRET > x; mv x key.pem; echo OPEN > .env.example', project)
    for name in ('sub/.env', 'later/.env', 'key.pem'):
        answer = session.do(f'cat {name}; cp {name} copy; head -c 9 {name} | wc -c; (. ./{name})')
        assert 'SECRET' not in answer, answer
        assert 'Operation not permitted' in answer or 'Permission denied' in answer, answer
    assert 'open' in session.do('cat sub/plain')
    assert 'OPEN' in session.do('cat .env.example')
    as_user('echo SECRET2 > n; mv n sub/.env', project)
    assert 'SECRET' not in session.do('cat sub/.env')
    number = session.id()
    wait_for(lambda: {e['path'] for e in events(isod, number, 'secret.refused')} >=
             {f'{project}/sub/.env', f'{project}/later/.env', f'{project}/key.pem'}, 'refusals are in the log')
    refused = events(isod, number, 'secret.refused')[0]
    assert refused['rule'] == 'dotenv' and refused['by'] == 'session' and refused['pid'] > 1
    assert refused['program'].endswith(('cat', 'sh', 'dash'))
    session.end()


def test_key_written_behind_a_certificate(session, project):
    """What was public a moment ago is looked at again, whether it was there at the start or came later."""
    block = "echo '-----BEGIN %s-----'; echo MIIBSECRET; echo '-----END %s-----'"
    public, private = block % ('CERTIFICATE', 'CERTIFICATE'), block % ('PRIVATE KEY', 'PRIVATE KEY')
    as_user(f'({public}) > a.pem; ({public}) > b.pem', project)
    assert session.do('cat a.pem b.pem').count('MIIBSECRET') == 2
    as_user(f'({private}) >> a.pem; ({private}) > n; mv n b.pem', project)
    answer = session.do('cat a.pem; cat b.pem; (. ./a.pem)')
    assert 'SECRET' not in answer and 'not permitted' in answer, answer
    session.end()


def test_cover_detached_by_the_host(isod, project):
    """An editor saves a file by rename: the cover that was mounted over it is gone, the refusal is not."""
    as_user('echo SECRET1 > .env', project)
    session = Session(isod, project)
    assert 'SECRET' not in session.do('cat .env')
    as_user('echo SECRET2 > .env.new; mv .env.new .env', project)
    assert 'SECRET' not in session.do('cat .env')
    session.end()


def test_folder_moved_out_by_the_host(session, project):
    """Who is in it stays in it, but there no rule of the project's says what is secret: nothing of it can be opened."""
    as_user('mkdir sub; echo PLAIN > sub/plain', project)
    assert 'PLAIN' in session.do('cd sub; cat plain')
    out = project + '-out'
    as_user(f'mv sub {out}; echo SECRET > {out}/.env', project)
    try:
        answer = session.do('cat .env plain; cat < .env; (. ./.env)')
        assert 'SECRET' not in answer and 'PLAIN' not in answer, answer
    finally:
        as_user(f'mv {out} back', project)
    answer = session.do('cat .env; cat plain')
    assert 'SECRET' not in answer and 'PLAIN' in answer, answer
    session.end()


def test_removed_secret_that_has_another_name(session, project):
    """An editor's backup is a second link; the kernel says " (deleted)" after the first name, which is none of the file's."""
    as_user('echo SECRET > .env; ln .env .env.orig; echo PLAIN > "notes (deleted)"; echo SECRET > ".env (deleted)"', project)
    answer = session.do("python3 -c 'import os; f = os.open(\".env\", os.O_PATH); os.unlink(\".env\"); "
                        "print(open(f\"/proc/self/fd/{f}\").read())'; cat notes*")
    assert 'SECRET' not in answer and 'PermissionError' in answer and 'PLAIN' in answer, answer
    session.end()


def test_what_is_no_regular_file_keeps_nobody_waiting(session):
    """A pipe that nobody writes to yet: pid 1, who answers opens, must not open it itself and wait."""
    answer = session.do('mkfifo pipe .env; (cat pipe; cat .env) & echo through > pipe; echo secret > .env; wait; echo > f; cat f; echo on')
    assert 'through' in answer and 'on\n' in answer, answer
    session.end()


def test_secret_renamed_inside_is_told(isod, session, project):
    """It stays a secret (test_late_renamed.py), and is in the log at once."""
    as_user('echo SECRET > .env', project)
    session.do('mv .env harmless')
    number = session.id()
    wait_for(lambda: [e for e in events(isod, number, 'secret.moved') if e['path'] == f'{project}/.env'], 'it is told')
    session.end()


def test_secret_linked_inside_is_told(isod, session, project):
    """So is a second name, whichever of the two is made first."""
    as_user('echo SECRET > .env; mkdir sub; echo SECRET > sub/key.pem', project)
    session.do('ln .env harmless; ln sub/key.pem sub/other; echo > plain; ln plain harmless2; echo > mine; ln mine .env.local; '
               'echo > .env.mine')
    number = session.id()
    wanted = {f'{project}/{n}' for n in ('.env', 'sub/key.pem', '.env.local')}
    wait_for(lambda: {e['path'] for e in events(isod, number, 'secret.moved')} == wanted, 'each is told')
    told = {e['path']: e['rule'] for e in events(isod, number, 'secret.moved')}
    assert told == {f'{project}/.env': 'dotenv', f'{project}/sub/key.pem': 'keys', f'{project}/.env.local': 'dotenv'}
    session.end()


def test_packages_with_such_names_unpack(session):
    """npm, pip and git write files that are called *.pem; nobody inside can read them back."""
    answer = session.do('mkdir a && echo cert > a/test.pem && tar cf t.tar --exclude "*" -T /dev/null; '
                        'echo more >> a/test.pem && echo written; cat a/test.pem')
    assert 'written' in answer and 'cert' not in answer.replace('echo', ''), answer
    session.end()


# --- case 137 -------------------------------------------------------------------------------------------------------

def test_planting_is_told_at_once_and_at_the_end(isod, session, project):
    for name in PLANTED + RUNS:
        session.do(f'mkdir -p "$(dirname {name})"; echo x > {name}')
    session.do('echo x > harmless; mkdir src; echo x > src/main.c')
    number = session.id()
    wanted = {f'{project}/{n}' for n in PLANTED}
    wait_for(lambda: {e['path'] for e in events(isod, number, 'planted')} >= wanted, 'each is in the log')
    for e in events(isod, number, 'planted'):
        assert e['by'] == 'session' and e['rule'] != 'policy', e
    wait_for(lambda: {e['path'] for e in events(isod, number, 'made')} == {f'{project}/{n}' for n in RUNS}, 'so are these')
    said = session.end()
    planted, runs = said.split('isod: made during this run, and run later on the host:\n')[1].split(
        'isod: made during this run; will run on the host when somebody calls it there:\n')
    assert {line.removeprefix('isod:   ') for line in planted.splitlines()} >= set(PLANTED)
    assert {line.removeprefix('isod:   ') for line in runs.splitlines()} == set(RUNS)
    assert 'harmless' not in said and 'main.c' not in said
    shown = isod.ctl('log', number)
    assert re.search(rf' planted session={number} .*path={project}/.envrc rule=direnv by=session pid=', shown.text), shown


def test_planting_is_told_with_a_terminal(isod, project):
    entry = pwd.getpwnam(USERS[0])
    child = pexpect.spawn(isod.client, ['run', '--', 'sh', '-c', r'echo > .envrc; echo > "$(printf ".envrc\n\033]0;x")"; '
                                        'mkdir .vscode; echo > .vscode/tasks.json; echo > Makefile; echo done'],
                          cwd=project, env=isod.environment(USERS[0]), timeout=120, encoding='utf-8',
                          preexec_fn=lambda: (os.setgroups([]), os.setgid(entry.pw_gid), os.setuid(entry.pw_uid)))
    child.expect(pexpect.EOF)
    child.close()
    text = child.before.split('done', 1)[1].replace('\r\n', '\n')
    assert 'isod:   .envrc\n' in text and 'isod:   .vscode/tasks.json\n' in text and 'isod:   Makefile\n' in text, text
    assert '\033]0;x' not in text


def test_quiet(isod, project):
    r = isod.run('sh', '-c', 'echo > .envrc', options=('-q',), cwd=project)
    assert r.rc == 0 and r.errors == '', r


def test_what_exists_is_locked(isod, project):
    for name in PLANTED:
        as_user(f'mkdir -p "$(dirname {name})"; echo old > {name}', project)
    session = Session(isod, project)
    for name in PLANTED:
        answer = session.do(f'echo new > {name}; mv {name} elsewhere; rm -f {name}')
        assert 'end 0' not in answer, (name, answer)
    said = session.end()
    assert 'run later on the host' not in said, said
    for name in PLANTED:
        with open(f'{project}/{name}', encoding='utf-8') as f:
            assert f.read() == 'old\n', name


def test_moved_into_place(isod, session, project):
    session.do('mkdir -p a/hooks; echo x > a/hooks/post-checkout; mkdir b; mv a b/.git; '
               'mkdir c; echo x > c/tasks.json; mv c .vscode; ln -s /bin/sh .envrc; mkdir d; echo x > .mcp.new; mv .mcp.new .mcp.json')
    number = session.id()
    wanted = {f'{project}/{n}' for n in ('b/.git/hooks/post-checkout', '.vscode/tasks.json', '.envrc', '.mcp.json')}
    wait_for(lambda: {e['path'] for e in events(isod, number, 'planted')} >= wanted, 'each is in the log')
    session.end()


def test_repositories_made_inside(isod, project):
    """git on the host takes a .git file's, and a bare repository's, configuration, which names programs."""
    as_user('git init -q --bare old.git', project)
    session = Session(isod, project)
    session.do('mkdir a b c d e; echo "gitdir: ../b" > a/.git; '
               'cd b; mkdir objects refs; echo "ref: refs/heads/x" > HEAD; cd ..; '
               'cd c; echo ../b > commondir; ln -s refs/heads/x HEAD; cd ..; '
               'cd d; echo > HEAD; mkdir objects; cd ..; '
               'mkdir -p e/f/g/h/i/j; cd e/f/g/h/i/j; echo > HEAD; mkdir refs objects; cd -; mv e/f/g/h/i/j moved; '
               'echo > old.git/x; echo "ref: refs/heads/y" > old.git/n; mv old.git/n old.git/HEAD; git init -q --bare new.git')
    said = session.end().split('isod: made during this run, and run later on the host:\n')[1]
    assert set(re.findall('^isod:   (.*)$', said, re.M)) == {'a/.git', 'b/HEAD', 'c/HEAD', 'moved/HEAD', 'new.git/HEAD'}, said


def test_host_makes_and_replaces(isod, project):
    as_user('echo old > .envrc', project)
    session = Session(isod, project)
    assert 'end 0' not in session.do('echo x > .envrc')
    as_user('echo new > n; mv n .envrc; echo all: > Makefile', project)
    number = session.id()
    found = wait_for(lambda: events(isod, number, 'unprotected'), 'it is told')
    assert found[0]['path'] == f'{project}/.envrc' and found[0]['by'] == 'host' and 'anew' in found[0]['advice']
    assert 'new' in session.do('cat .envrc')
    said = session.end()
    assert 'isod:   ' not in said, said
    assert not events(isod, number, 'planted')


# --- parts that are killed, floods ------------------------------------------------------------------------------------

def processes(isod, name):
    found = []
    for pid in isod.helpers():
        try:
            with open(f'/proc/{pid}/comm', encoding='utf-8') as f:
                if f.read().strip() == name:
                    found.append(pid)
        except OSError:
            pass
    return found


@pytest.mark.parametrize('victim', ['isod-launch', 'isod-session'])
def test_killed_while_opens_wait(own_isod, project, victim):
    """Nothing hangs and nothing goes on unguarded: the session ends."""
    isod = own_isod
    session = Session(isod, project)
    session.do('echo > f; for i in 1 2 3 4; do (while :; do read x < f; done) & done')
    (pid,) = processes(isod, victim)
    os.kill(pid, signal.SIGKILL)
    session.process.stdin.close()
    assert session.process.wait(120) != 0
    wait_for(lambda: not [s for s in isod.sessions() if s['state'] != 'ended'], 'the session ends')
    wait_for(lambda: len(isod.helpers()) == 1, 'only isod-control is left')
    as_user('echo SECRET > .env; cat .env >/dev/null', project)


def test_the_host_never_waits_for_pid1(own_isod, project):
    """Marked are the mounts of the session alone: while its opens wait for an answer, the host's go on."""
    session = Session(own_isod, project)
    session.do('echo x > f')
    (pid,) = processes(own_isod, 'isod-launch')
    os.kill(pid, signal.SIGSTOP)
    try:
        session.process.stdin.write(b'cat f; echo went on\n')
        session.process.stdin.flush()
        call = wait_for(lambda: processes(own_isod, 'cat') and open(f"/proc/{processes(own_isod, 'cat')[0]}/syscall",
                                                                      encoding='ascii').read(), 'it opens')
        as_user('cat f; echo y >> f; mkdir d; echo s > d/.env; cat d/.env; mv f g; cp g f; sh -c :', project)
        (waits,) = processes(own_isod, 'cat')
        with open(f'/proc/{waits}/wchan', encoding='ascii') as f:
            assert f.read() in ('fanotify_handle_event', 'fanotify_get_response', '0'), call
    finally:
        os.kill(pid, signal.SIGCONT)
    text = b''
    while not text.endswith(b'went on\n'):
        text += session.process.stdout.readline()
    assert text in (b'x\nwent on\n', b'x\ny\nwent on\n'), text
    session.end()


def test_pid1_holds_nothing_of_the_host(isod, session, project):
    (pid,) = [p for p in processes(isod, 'isod-launch') if os.stat(f'/proc/{p}/root/proc').st_dev != os.stat('/proc').st_dev]
    held = sorted(os.readlink(f'/proc/{pid}/fd/{n}') for n in os.listdir(f'/proc/{pid}/fd'))
    kinds = {re.sub(r'[0-9]+', 'N', h) for h in held}
    assert kinds <= {'/dev/null', '/proc/N/fd', 'socket:[N]', 'anon_inode:[signalfd]', 'anon_inode:[timerfd]',
                     'anon_inode:[fanotify]', 'anon_inode:inotify', 'anon_inode:[landlock-ruleset]', '/memfd:kept (deleted)'}, held
    assert 'anon_inode:[fanotify]' in kinds and len(held) <= 14, held


def test_pid1_cannot_be_stopped_from_inside(session, project):
    session.do('kill -STOP 1; kill -9 1; kill -TERM 1; :')
    as_user('echo SECRET > .env', project)
    answer = session.do('cat .env; echo still here')
    assert 'SECRET' not in answer and 'still here' in answer
    session.end()


def test_flood_of_opens_keeps_the_session_alive(isod, session, project):
    """Signals, the log and the exit go on while every processor opens files."""
    session.do('echo > f; for i in 1 2 3 4 5 6; do (while :; do read x < f; done) & done')
    number = session.id()
    assert isod.ctl('log', number).rc == 0
    as_user('echo SECRET > .env', project)
    assert 'SECRET' not in session.do('cat .env')
    wait_for(lambda: events(isod, number, 'secret.refused'), 'the refusal is told')
    session.end()


def test_flood_of_names(isod, session, project):
    """100,000 ordinary and 20,000 protected names: the log stays small, the count is said, a plant among them is known."""
    session.do('mkdir many && cd many && seq 100000 | xargs touch && cd .. && echo > .envrc && mkdir .vscode && cd .vscode && '
               'seq 20000 | xargs touch && cd ..')
    number = session.id()
    said = session.end()
    log = isod.audit(number)
    assert len(log) < 3000, len(log)
    names = {e['event'] for e in log}
    assert 'late.more' in names, names
    assert any(e.get('path') == f'{project}/.envrc' for e in log if e['event'] == 'planted'), names
    assert 'more made during this run' in said, said


@pytest.mark.parametrize('terminal', [False, True])
def test_flood_of_one_kind_hides_no_other(isod, project, terminal):
    """Files that usually run, plants of one kind and refused secrets, and among the last of them one of another kind."""
    script = ('mkdir .vscode && cd .vscode && seq 3000 | xargs touch && cd .. && '
              'for i in $(seq 400); do mkdir d$i; echo > d$i/Makefile; done; '
              'mkdir -p .claude && echo > .claude/settings.json && echo > .envrc; echo done')
    r = isod.sh(script, options=['--tty'] if terminal else [], cwd=project)
    said = (r.text + r.errors).replace('\r\n', '\n')
    for name in ('.envrc', '.claude/settings.json'):
        assert f'isod:   {name}\n' in said, said
        assert f'{project}/{name}' in {e['path'] for e in isod.audit(isod.last_session()['id']) if e['event'] == 'planted'}
    assert 'more made during this run' in said, said


# --- what is said about it --------------------------------------------------------------------------------------------

def test_status_and_session_say_it(isod, session):
    status = json.loads(isod.ctl('status', '--json').out)
    assert status['late'] == 'refused' and status['lateReason'] is None
    assert 'secret files that appear during a session: refused' in isod.ctl('status').text
    number = session.id()
    wait_for(lambda: next(s for s in isod.sessions() if s['id'] == number)['late'] == 'refused', 'it is known')
    assert 'refused' in isod.ctl('show', number).text
    session.end()


def test_nesting_is_reported_and_may_be_refused(root_dir, project):
    isod = Isod(root_dir, 'nesting-late')
    isod.policy({'hosts': PINS, 'process': {'nesting': True}})
    isod.start()
    try:
        r = isod.sh('echo ran', cwd=project)
        assert r.rc == 0 and 'reported, not refused' in r.errors and 'process.nesting' in r.errors, r
        last = isod.last_session()
        assert [e['late'] for e in events(isod, last['id'], 'late.state')] == ['reported']
        isod.policy({'hosts': PINS, 'process': {'nesting': True}, 'sandbox': {'filesystem': {'lateFiles': 'require'}}})
        r = isod.sh('echo ran', cwd=project)
        assert r.rc == 125 and b'ran' not in r.out and 'process.nesting' in r.errors, r
        isod.policy({'hosts': PINS, 'sandbox': {'filesystem': {'lateFiles': 'require'}}})
        assert isod.sh('echo ran', cwd=project).out == b'ran\n'
    finally:
        isod.stop()


def test_plants_can_be_required_to_be_refused(root_dir, project):
    """Where the kernel lets a protected path be made, nothing starts; where it does not, the policy changes nothing."""
    isod = Isod(root_dir, 'plants')
    isod.start()
    try:
        r = isod.sh('echo > .envrc && echo made; true', cwd=project)
        assert r.rc == 0, r
        made = r.out == b'made\n'
        isod.policy({'sandbox': {'filesystem': {'latePlants': 'require'}}})
        r = isod.sh('echo ran; echo > .envrc && echo made; true', cwd=project)
        if made:
            assert r.rc == 125 and r.out == b'' and 'protected paths cannot be made inside' in r.errors, r
        else:
            assert r.rc == 0 and r.out == b'ran\n', r
        isod.policy({'sandbox': {'filesystem': {'lateFiles': 'require', 'latePlants': 'report'}}})
        assert isod.sh('echo ran', cwd=project).out == b'ran\n'
    finally:
        isod.stop()


def use_up(name, arguments, but=0):
    """A process of the user's that holds all that one user may have of something, but for so many."""
    script = ('import ctypes, os, sys; lib = ctypes.CDLL(None); n = []\n'
              f'while not n or n[-1] >= 0: n.append(lib.{name}({arguments}))\n'
              f'for fd in n[-1 - {but}:-1]: os.close(fd)\nprint(len(n) - 1, flush=True); sys.stdin.read()')
    entry = pwd.getpwnam(USERS[0])
    holder = subprocess.Popen(['/usr/bin/python3', '-c', script], user=entry.pw_uid, group=entry.pw_gid, extra_groups=[],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert int(holder.stdout.readline()) > 0
    return holder


def release(holder):
    holder.stdin.close()
    holder.stdout.close()
    holder.wait()


def test_no_fanotify_group_is_left(root_dir, project):
    """As in the 65th session of a user's: what the policy says counts, and who can still watch does."""
    isod = Isod(root_dir, 'late-groups')
    isod.start()
    held = [use_up('fanotify_init', '0x200, 0')]  # FAN_REPORT_FID: anybody may
    try:
        r = isod.sh('echo > .envrc; echo ran', cwd=project)
        assert r.rc == 0 and r.out == b'ran\n' and 'isod:   .envrc\n' in r.errors, r
        last = isod.last_session()
        assert last['late'] == 'reported' and 'max_user_groups' in last['lateReason'] and last['lacking'] == [], last
        # that of the last session would be free again later
        wait_for(lambda: len(isod.helpers()) == 1, 'nothing of the session is left')
        held.append(use_up('inotify_init1', '0'))
        r = isod.sh('echo > mise.toml; echo ran', cwd=project)
        assert r.rc == 0 and 'isod:   mise.toml\n' not in r.errors and 'isod: Not watched: 1 granted' in r.errors, r
        assert 'Not watched: 1 granted' in isod.last_session()['lacking'][0]
        isod.policy({'sandbox': {'filesystem': {'lateFiles': 'require'}}})
        r = isod.sh('echo ran', cwd=project)
        assert r.rc == 125 and r.out == b'' and 'max_user_groups' in r.errors and 'End sessions' in r.errors, r
        release(held.pop(0))
        r = isod.sh('echo ran', cwd=project)
        assert r.rc == 0 and r.out == b'ran\n' and isod.last_session()['late'] == 'refused', r
    finally:
        for holder in held:
            release(holder)
        isod.stop()


def test_without_fanotify(root_dir, project):
    """A launcher that may not use it: the session says so, and does not start where the policy requires it."""
    libexec = os.path.join(root_dir, 'late-libexec')
    os.makedirs(libexec)
    for name in os.listdir(BUILD):
        if name.startswith('isod-') and os.path.isfile(os.path.join(BUILD, name)) and name != 'isod-launch':
            os.symlink(os.path.join(BUILD, name), os.path.join(libexec, name))
    launcher = os.path.join(libexec, 'isod-launch')
    denying = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'denying.py')
    with open(launcher, 'w', encoding='utf-8') as f:
        f.write(f'#!/bin/sh\nexec /usr/bin/python3 {denying} fanotify_init -- {BUILD}/isod-launch\n')
    os.chmod(launcher, 0o755)
    isod = Isod(root_dir, 'late-denied', extra=['--libexec', libexec])
    isod.start()
    try:
        assert isod.sh('echo ran', cwd=project).out == b'ran\n'
        last = isod.last_session()
        assert last['late'] == 'reported' and last['lateReason'], last
        isod.policy({'sandbox': {'filesystem': {'lateFiles': 'require'}}})
        r = isod.sh('echo ran', cwd=project)
        assert r.rc == 125 and r.out == b'' and 'cannot be read' in r.errors, r
    finally:
        isod.stop()
