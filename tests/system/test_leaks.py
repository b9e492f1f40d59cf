"""After many sessions, a tenth of them killed, nothing is kept; and nothing is left in the project.

ISOD_LEAK_SESSIONS: how many (60; by hand 1,000).
"""
import os
import pwd
import signal
import subprocess

import pytest

from conftest import USERS, write
from waiting import wait_for

SESSIONS = int(os.environ.get('ISOD_LEAK_SESSIONS', '60'))
LONG = ['sh', '-c', 'echo up; sleep 5000 & exec sleep 4000']


def program(pid):
    try:
        return os.path.basename(os.readlink(f'/proc/{pid}/exe').split(' ')[0])
    except OSError:
        return ''


def descriptors(pid):
    links = []
    for fd in os.listdir(f'/proc/{pid}/fd'):
        try:
            links.append(os.readlink(f'/proc/{pid}/fd/{fd}'))
        except OSError:
            pass
    # the numbers of sockets and pipes differ, their kinds and how many there are do not
    return sorted(link.split(':[')[0] for link in links)


def folders(top):
    return sorted(os.path.relpath(os.path.join(d, n), top) for d, dirs, files in os.walk(top) for n in dirs + files
                  if not os.path.relpath(d, top).startswith('audit'))


def cgroups(tag):
    return sorted(os.path.join(d, n) for d, dirs, _ in os.walk('/sys/fs/cgroup') for n in dirs if n.startswith(f'isod-{tag}-'))


def tag_of(isod):
    """What the control groups of this daemon have in their names, by those of a session that runs."""
    running = [s['id'] for s in isod.sessions() if s['state'] == 'running']
    names = {n for _, dirs, _ in os.walk('/sys/fs/cgroup') for n in dirs if n.startswith('isod-') and n.endswith('-' + running[0])}
    assert len(names) == 1, names
    return names.pop().split('-')[1]


def state(isod, tag):
    control = next(p for p in isod.helpers() if program(p) == 'isod-control')
    with open(f'/proc/{isod.process.pid}/mountinfo', encoding='utf-8') as f:
        mounts = f.read().splitlines()
    return {'mounts': mounts, 'isod': descriptors(isod.process.pid), 'control': descriptors(control), 'run': folders(isod.run_dir),
            'state': folders(isod.state_dir), 'cgroups': cgroups(tag), 'children': sorted(program(p) for p in isod.helpers()),
            'inotify': len([link for link in descriptors(isod.process.pid) if 'inotify' in link])}


def start(isod, cwd, options):
    p = isod.popen('run', '-q', *options, '--', *LONG, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                   stderr=subprocess.DEVNULL)
    assert p.stdout.readline() == b'up\n'
    return p


def kill_client(isod, p):
    p.kill()


def kill_helper(name):
    def kill(isod, p):
        for pid in isod.helpers():
            if program(pid) == name:
                os.kill(pid, signal.SIGKILL)
    return kill


KILLS = [kill_client, kill_helper('isod-session'), kill_helper('isod-launch')]


@pytest.fixture
def busy_project(project):
    """With something of each kind that a start covers, locks and looks for."""
    entry = pwd.getpwnam(USERS[0])
    subprocess.run(['git', 'init', '-q', project], check=True)
    for name in ('.env', 'sub/.env', 'sub/deeper/server.pem', '.vscode/settings.json', '.claude/settings.json', 'denied/x', 'cache/y'):
        os.makedirs(os.path.dirname(os.path.join(project, name)), exist_ok=True)
        write(os.path.join(project, name), 'x\n')
    subprocess.run(['chown', '-R', f'{entry.pw_name}:', project], check=True)
    return project


@pytest.mark.timeout(900 + 2 * SESSIONS)
def test_after_many_sessions_nothing_is_kept(own_isod, busy_project):
    def settled():
        # a log is closed once it is on the disk, which takes its time
        return (len(own_isod.helpers()) == 1 and os.listdir(os.path.join(own_isod.state_dir, 'sessions')) == [] and
                not any(link.endswith('.jsonl') for p in own_isod.helpers() for link in descriptors(p)))
    options = ['--allow-read', './cache']
    for kill in KILLS:
        p = start(own_isod, busy_project, options)
        tag = tag_of(own_isod)
        assert cgroups(tag)
        kill(own_isod, p)
        p.wait(120)
        wait_for(settled, 'warm')
    assert own_isod.run('true', options=options, cwd=busy_project).rc == 0
    wait_for(settled, 'idle')
    before = state(own_isod, tag)
    assert before['isod'] and before['mounts'], before
    for i in range(SESSIONS):
        if i % 10 == 9:
            p = start(own_isod, busy_project, options)
            KILLS[i // 10 % len(KILLS)](own_isod, p)
            assert p.wait(120) != 0
        elif i % 10 == 4:
            # one that cannot start
            assert own_isod.run('/no/such/program', options=options, cwd=busy_project).rc != 0
        else:
            assert own_isod.run('true', options=options, cwd=busy_project).rc == 0
    wait_for(settled, 'idle')
    try:
        wait_for(lambda: state(own_isod, tag) == before, 'as before')
    except AssertionError:
        assert state(own_isod, tag) == before


def test_the_count_notices(own_isod, project):
    """What the test above compares does change while a session runs."""
    wait_for(lambda: len(own_isod.helpers()) == 1, 'idle')
    p = start(own_isod, project, [])
    tag = tag_of(own_isod)
    p.kill()
    p.wait()
    wait_for(lambda: len(own_isod.helpers()) == 1, 'idle')
    before = state(own_isod, tag)
    p = start(own_isod, project, [])
    now = state(own_isod, tag)
    assert now['isod'] != before['isod'] and now['state'] != before['state'] and now['children'] != before['children']
    assert now['cgroups'] != before['cgroups'] and now['mounts'] == before['mounts'], (before, now)
    p.kill()
    p.wait()


def tree(top):
    return sorted((os.path.join(d, n), st.st_ino, st.st_mode, st.st_uid, st.st_size, st.st_mtime_ns, st.st_ctime_ns)
                  for d, dirs, files in os.walk(top) for n in dirs + files for st in [os.lstat(os.path.join(d, n))])


def git_status(project):
    return subprocess.run(['git', '-c', 'safe.directory=*', '-C', project, 'status', '--porcelain', '--ignored'], check=True,
                          capture_output=True, text=True, env={**os.environ, 'GIT_OPTIONAL_LOCKS': '0'}).stdout


def snapshot(entry, project):
    return git_status(project), tree(project), sorted(os.listdir(entry.pw_dir)), sorted(os.listdir(os.path.dirname(project)))


COMMANDS = ['true', 'ls -la . .git .git/hooks .vscode; true', 'cat .env sub/.env; true', 'cat tracked', 'touch .env.local .git/hooks/pre-commit; true',
            'mkdir .husky && rmdir .husky; true', 'echo x >> .git/config; true', 'mv .git .git2; true', 'rm -f .env .claude/settings.json; true',
            'git -c core.fsmonitor=false --no-optional-locks status']


@pytest.mark.parametrize('kind', ['clean', 'busy'])
def test_109_no_stub_is_left(own_isod, project, kind, request):
    """50 commands, isod killed in the middle of one: the tree is the same to the inode and the nanosecond."""
    entry = pwd.getpwnam(USERS[0])
    if kind == 'busy':
        request.getfixturevalue('busy_project')
        commands = [c for c in COMMANDS if 'husky' not in c and '.env.local' not in c]
    else:
        commands = [c for c in COMMANDS if 'touch' not in c and 'mkdir' not in c]
    subprocess.run(['git', 'init', '-q', project], check=True)
    write(os.path.join(project, 'tracked'), 'x\n')
    for command in (['add', 'tracked'], ['-c', 'user.name=t', '-c', 'user.email=t@t.example', 'commit', '-qm', 'x']):
        subprocess.run(['git', '-c', 'safe.directory=*', '-C', project, *command], check=True)
    subprocess.run(['chown', '-R', f'{entry.pw_name}:', project], check=True)
    before = snapshot(entry, project)
    for i in range(50):
        if i == 25:
            p = start(own_isod, project, [])
            os.kill(own_isod.process.pid, signal.SIGKILL)
            own_isod.process.wait()
            assert p.wait(120) != 0
            # before anything could put it right
            assert snapshot(entry, project) == before
            own_isod.start()
        r = own_isod.sh(commands[i % len(commands)], cwd=project)
        assert r.rc in (0, 1), r
    wait_for(lambda: len(own_isod.helpers()) == 1, 'idle')
    assert snapshot(entry, project) == before
