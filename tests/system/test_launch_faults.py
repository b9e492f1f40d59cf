"""Each step of isod-launch fails in turn: the report names it, nothing runs and nothing is left behind.

isod-launch is started under a filter of the test's (denying.py), so that the one system call of that step is refused."""
import json
import os
import pwd
import re
import shlex
import shutil
import socket
import subprocess
import tempfile

import pytest

from conftest import BUILD, Isod, SANITIZED, USERS, write
from waiting import wait_for

TESTS = os.path.dirname(os.path.abspath(__file__))


def table_of(source):
    """The names of the steps in a table of isod-launch."""
    with open(os.path.join(TESTS, '../../daemon', source), encoding='ascii') as f:
        return set(re.findall(r'\{ "([^"]+)", \w+ \}', f.read()))


def descriptor(name):
    with open(os.path.join(TESTS, '../../daemon/wire/fds.h'), encoding='ascii') as f:
        return re.search(rf'{name} =\s+(\d+),', f.read()).group(1)


# step: what is refused (denying.py)
FAULTS = {
    'descriptors': ['fcntl:1=1034'],
    'context': ['close_range'],
    'plan': ['mmap:4=3'],
    'filters': ['mmap:4=7'],
    'cgroups': [f'write:0={descriptor("LAUNCH_FD_CGROUP")}'],
    'limits': ['prlimit64:1=7'],
    'published ports': ['listen'],
    # no memory; a sanitizer ends where it gets none
    **({} if SANITIZED else {'rules': ['outer/brk@prlimit64:1=7', 'outer/mmap@prlimit64:1=7']}),
    'open sources': ['openat2'],
    'matches of patterns': ['outer/openat2@setgroups:0=0'],
    'links to grants': ['outer/openat2@setgroups:0=0'],
    'unix sockets': ['socketpair'],
    'clone sources': ['open_tree'],
    'etc overlay': ['fsopen'],
    'layers': ['fsconfig:1=0'],
    'scratch folders': ['mkdirat:0=10'],
    'own descriptors': [f'openat:2={os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW:#x}'],
    'namespaces': ['clone3'],
    'life of isod': ['prctl:0=1'],
    'cgroup namespace': ['unshare'],
    'signals': ['setsid'],
    'keyring': ['keyctl'],
    'procfs': ['fsmount:2=14'],
    'loopback': ['ioctl:1=0x8914'],
    'sysctl': [f'pid1/openat:2={os.O_WRONLY | os.O_CLOEXEC:#x}@ioctl:1=0x8914'],
    'nft ruleset': ['socket:0=16:2=12'],
    'listening sockets': ['listen'],
    'lent ports': ['pid1/listen@sendmsg'],
    'mount namespace': ['pid1/mount_setattr@listen'],
    'view root': ['move_mount'],
    'covers': ['mkdirat:2=0'],
    'view mounts': ['mknodat:2=0x21b6'],
    'names without case': ['pid1/ioctl:1=0x80086601'],
    'late guard': [],
    'protected files': ['getdents64'],
    'pivot root': ['pivot_root'],
    'ssh-agent': ['pid1/bind@pivot_root'],
    'foreign file systems': ['pid1/openat@pivot_root'],
    'read-only view': ['pid1/mount_setattr@pivot_root'],
    'host name': ['sethostname'],
    'terminal': ['ioctl:1=0x40045431'],
    'Landlock rules': ['landlock_add_rule'],
    'bounding set of pid 1': ['prctl:0=24'],
    'fork': ['clone'],
    'kept for later commands': [f'pid1/dup3:1={descriptor("LAUNCH_FD_CONTEXT")}'],
    'late files': ['setresuid:1=0'],
    'bound of the search': ['fanotify_init'],
    'stdio of pid 1': ['pid1/dup2:1=0'],
    'rights of pid 1': ['setresuid:0=NET'],
    'watched folders': ['pid1/sendmsg@setresuid:0=NET'],
    'loop of pid 1': ['timerfd_create'],
    'started': ['pid1/sendmsg@timerfd_create'],
    'program session': ['setpgid'],
    'program null device': [f'program/openat:2={os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW:#x}'],
    'program signals': ['program/rt_sigprocmask:0=2'],
    # not in a sanitised launcher: its own runtime asks for limits and ends without them
    **({} if SANITIZED else {'program limits': ['prlimit64:1=4']}),
    'bounding set': ['program/prctl:0=23'],
    'secure bits': ['program/prctl:0=28'],
    'user and group': ['setresuid:0=CALLER'],
    'capabilities': ['program/capset'],
    'no new privileges': ['program/prctl:0=38'],
    'working directory': ['getcwd'],
    'Landlock': ['landlock_restrict_self'],
    'wait for pid 1': ['program/read:0=4'],
    'seccomp filter': ['program/seccomp:0=1'],
}
# The same for the steps of a command that is added to a session (launch_join.c); its program's side is the table above.
JOIN_FAULTS = {
    'join descriptors': 'fcntl:1=2',
    'join context': 'close_range',
    'join plan': 'mmap:4=3',
    'join filter': 'mmap:4=8',
    'join cgroups': f'write:0={descriptor("LAUNCH_FD_CGROUP")}',
    'join limits': 'prlimit64:1=7',
    'join keyring': 'keyctl',
    'join kept': 'pidfd_getfd',
    'join namespaces': 'setns',
    'join terminal': 'ioctl:1=0x40045431',
    'join signals': 'rt_sigprocmask:0=2',
    'join bounding set': 'prctl:0=24',
    'rights of the watcher': 'setresuid:0=NET',
    'loop of the watcher': 'timerfd_create',
}
OPTIONS = {'published ports': ['--publish', ':8000'], 'terminal': ['--tty'], 'program session': ['--tty'], 'layers': ['--overlay'],
           'links to grants': ['--allow-write', './data'],
           'matches of patterns': ['--allow-read', '/srv/isod-faults*/x']}
AGENT = os.path.join(pwd.getpwnam(USERS[0]).pw_dir, '.agent-faults')
GPG_HOME = os.path.join(pwd.getpwnam(USERS[0]).pw_dir, '.gnupg-faults')
INPUT = {'program null device': {'stdin': subprocess.DEVNULL}, 'ssh-agent': {'env': {'SSH_AUTH_SOCK': AGENT}}}
# What it takes to put a late guard in force is made by a step before it: to refuse the one alone, the kernel must have the guard.
ELSEWHERE = {'late guard in force', *(['rules', 'program limits'] if SANITIZED else [])}


def many_rules(isod, project):
    policy = os.path.join(project, 'policy.json')
    write(policy, json.dumps({'sandbox': {'filesystem': {'denyRead': [f'./{i}-{"x" * 40}' for i in range(4000)]}}}))
    return ['--policy', policy]


def lent_port(isod, project):
    policy = os.path.join(project, 'policy.json')
    write(policy, json.dumps({'sandbox': {'network': {'hostPorts': [5432]}}}))
    return isod.trust(policy)


def lent_socket(isod, project):
    policy = os.path.join(project, 'policy.json')
    write(policy, json.dumps({'sandbox': {'network': {'allowUnixSockets': ['/run/isod-faults.sock']}}}))
    return isod.trust(policy)


def make_deep_folders(top):
    """A path that no call takes."""
    entry, here = pwd.getpwnam(USERS[0]), os.open(top, os.O_PATH)
    for _ in range(20):
        os.mkdir('d' * 250, dir_fd=here)
        os.chown('d' * 250, entry.pw_uid, entry.pw_gid, dir_fd=here)
        below = os.open('d' * 250, os.O_PATH, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)


def deep_folders(isod, project):
    """Outside of the project, not to be written to: what opens are refused in may be left out by the search."""
    user = pwd.getpwnam(USERS[0])
    deep.append(tempfile.mkdtemp(prefix='deep-', dir=user.pw_dir))
    os.chown(deep[-1], user.pw_uid, user.pw_gid)
    make_deep_folders(deep[-1])
    return ['--allow-read', deep[-1]]


def lent_agent(isod, project, path=AGENT, policy=None):
    """A socket that the kernel takes for the user's, and a policy that lends something of it."""
    listener, entry = socket.socket(socket.AF_UNIX), pwd.getpwnam(USERS[0])
    os.seteuid(entry.pw_uid)
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        if os.path.lexists(path):
            os.unlink(path)
        listener.bind(path)
        listener.listen()
    finally:
        os.seteuid(0)
    agents.append(listener)
    file = os.path.join(project, 'policy.json')
    write(file, json.dumps({'sandbox': policy or {'sshAgent': {'keys': ['me'], 'gitSignatures': True}}}))
    return isod.trust(file)


agents, deep = [], []
PREPARE = {'rules': many_rules, 'lent ports': lent_port, 'unix sockets': lent_socket, 'ssh-agent': lent_agent, 'bound of the search': deep_folders}
# steps whose fault has a message of its own, and what must be in it
MESSAGES = {
    'rules': 'Cannot allocate memory', 'late guard': 'Invalid argument',
    'bound of the search': 'What the rules protect cannot be looked for (File name too long) in ',
}


def test_each_step_has_its_fault():
    steps = set()
    for name in ('outer', 'init'):
        steps |= table_of(f'launch/launch_{name}.c')
    steps |= table_of('linux/launch/launch_program.c')
    assert len(steps) > 50 and steps - ELSEWHERE == set(FAULTS) - {'namespaces'}


def test_each_step_of_an_added_command_has_its_fault():
    assert table_of('launch/launch_join.c') == set(JOIN_FAULTS)


@pytest.fixture(scope='module')
def faulty(root_dir, users):
    """A daemon whose isod-launch is a script that a test writes."""
    libexec = os.path.join(root_dir, 'faulty-libexec')
    os.makedirs(libexec)
    for name in ('isod-control', 'isod-session', 'isod-session-ssh'):
        os.symlink(os.path.join(BUILD, name), os.path.join(libexec, name))
    d = Isod(root_dir, 'faulty', extra=['--libexec', libexec])
    d.launcher = os.path.join(libexec, 'isod-launch')
    set_rules(d, [])
    d.start()
    yield d
    d.stop()
    for folder in deep:
        shutil.rmtree(folder)


def set_rules(isod, rules, claim=False):
    command = [os.path.join(BUILD, 'isod-launch')]
    if claim:
        command = ['/usr/bin/python3', os.path.join(TESTS, 'late_claim.py'), *command]
    if rules:
        command = ['/usr/bin/python3', os.path.join(TESTS, 'denying.py'), *rules, '--', *command]
    with open(isod.launcher + '.new', 'w', encoding='utf-8') as f:
        f.write(f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n')
    os.chmod(isod.launcher + '.new', 0o755)
    os.rename(isod.launcher + '.new', isod.launcher)


def leaves(tag):
    found = []
    for top, folders, _ in os.walk('/sys/fs/cgroup'):
        found += [os.path.join(top, f) for f in folders if f.startswith(f'isod-{tag}-') and not f.endswith('-daemon')]
    return found


def tag_of(isod):
    """FNV-1a over the path and device of the run folder, as daemon/monitor/place.c makes it."""
    h = 2166136261
    path = os.path.realpath(isod.run_dir)
    for byte in path.encode() + os.stat(path).st_dev.to_bytes(8, 'little'):
        h = (h ^ byte) * 16777619 & 0xffffffff
    return f'{h:08x}'


def traces(isod):
    """Everything that a session could leave: processes, descriptors, mounts, control groups, folders."""
    pid = isod.process.pid
    with open(f'/proc/{pid}/mountinfo', encoding='utf-8') as f:
        mounts = sorted(f)
    return {'processes': len(isod.helpers()), 'descriptors': len(os.listdir(f'/proc/{pid}/fd')), 'mounts': mounts,
            'groups': leaves(tag_of(isod)), 'folders': os.listdir(os.path.join(isod.state_dir, 'sessions'))}


def settled(isod, as_before=None):
    """What is left, once it is as before, or after a minute."""
    wait_for(lambda: len(isod.helpers()) == 1 and not isod.sessions(user='root'), 'only isod-control is left')
    try:
        wait_for(lambda: traces(isod) == (as_before or {**traces(isod), 'groups': [], 'folders': []}), 'nothing is left')
    except AssertionError:
        pass
    return traces(isod)


@pytest.mark.parametrize('step', FAULTS)
def test_a_step_that_fails(faulty, project, step):
    ids = {'NET': pwd.getpwnam('isod-net').pw_uid, 'CALLER': pwd.getpwnam(USERS[0]).pw_uid}
    rules = [r.replace('NET', str(ids['NET'])).replace('CALLER', str(ids['CALLER'])) for r in FAULTS[step]]
    set_rules(faulty, [])
    r = faulty.run('true')
    assert r.rc == 0, r
    before = settled(faulty)
    assert before['groups'] == [] and before['folders'] == [], before
    set_rules(faulty, rules, claim=step == 'late guard')
    # Caches that other tests made would be the first to need the scratch folder.
    shutil.rmtree(os.path.join(pwd.getpwnam(USERS[0]).pw_dir, '.m2'), ignore_errors=True)
    mark = os.path.join(project, 'ran')
    r = faulty.sh(f'echo ran > {shlex.quote(mark)}', options=[*OPTIONS.get(step, []), *PREPARE.get(step, lambda *_: [])(faulty, project)], cwd=project, **INPUT.get(step, {}))
    assert r.rc == 125 and not os.path.exists(mark), r
    assert f'({step})' in r.errors or f'"{step}"' in r.errors or f'{step}:' in r.errors, r
    # of a fault of isod's own there is none
    assert MESSAGES.get(step, '') in r.errors and ('remedy: ' in r.errors) == (step != 'descriptors'), r
    assert settled(faulty, before) == before


def test_steps_of_an_added_command_that_fail(faulty, project):
    set_rules(faulty, [])
    p = faulty.popen('run', '-q', '--', 'sh', '-c', 'echo up; exec sleep 1000', cwd=project, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    assert p.stdout.readline() == b'up\n'
    session, before = faulty.sessions()[0]['id'], traces(faulty)
    mark = os.path.join(project, 'ran')
    for step, rule in JOIN_FAULTS.items():
        set_rules(faulty, [rule.replace('NET', str(pwd.getpwnam('isod-net').pw_uid))])
        r = faulty.ctl('exec', *(['-t'] if step == 'join terminal' else []), session, 'touch', mark)
        assert r.rc == 125 and (f'({step})' in r.errors or f'{step}:' in r.errors), (step, r)
    set_rules(faulty, [])
    assert not os.path.exists(mark)
    wait_for(lambda: traces(faulty) == before, 'nothing is left')
    assert faulty.ctl('exec', session, 'touch', mark).rc == 0 and os.path.exists(mark)
    assert faulty.ctl('kill', session).rc == 0
    p.communicate(timeout=60)


@pytest.mark.parametrize('call', ['bind', 'sendmsg'])
def test_a_gpg_agent_that_cannot_be_lent(faulty, project, call):
    """The step of the ssh-agent makes its socket, too, and hands it over."""
    set_rules(faulty, [])
    before = settled(faulty)
    options = lent_agent(faulty, project, os.path.join(GPG_HOME, 'S.gpg-agent.extra'), {'gpgAgent': {'keys': ['A' * 40]}})
    r = faulty.sh('echo up', options=options, cwd=project, env={'GNUPGHOME': GPG_HOME})
    assert r.rc == 0 and r.text == 'up\n' and 'gpg' not in r.errors.split('network')[-1], r
    set_rules(faulty, [f'pid1/{call}@pivot_root'])
    r = faulty.sh('echo ran', options=options, cwd=project, env={'GNUPGHOME': GPG_HOME})
    assert r.rc == 125 and r.text == '' and 'ssh-agent: ' in r.errors and 'remedy: ' in r.errors, r
    assert call != 'bind' or '"gpgAgent": {"enabled": false}' in r.errors, r
    assert settled(faulty, before) == before


# what is there, the policy, what goes
GOING = {
    'a grant': (['g/x'], {'allowRead': ['./g']}, 'g'),
    'a match': (['m1', 'm2'], {'allowRead': ['./m*']}, 'm1'),
    'a folder that matches': (['m1/x', 'm2/x'], {'allowRead': ['./m*']}, 'm1'),
    'a grant below a match': (['m1/g/x', 'm2/x'], {'allowRead': ['./m*'], 'allowWrite': ['./m1/g']}, 'm1/g'),
    'a match with a grant below': (['m1/g/x', 'm2/x'], {'allowRead': ['./m*'], 'allowWrite': ['./m1/g']}, 'm1'),
    'what is denied': (['d/x', 'e', 'm2'], {'denyRead': ['./d'], 'denyWrite': ['./e']}, 'd e'),
    'what a pattern denies': (['d1/x', 'm2/x'], {'denyRead': ['./d*'], 'denyWrite': ['./*/x']}, 'd1'),
}
MOMENTS = {'before the mounts': 'pid1/mkdirat:2=0', 'after the mounts': 'pid1/getdents64', 'before the program': 'pid1/clone'}


@pytest.mark.parametrize('moment', MOMENTS)
@pytest.mark.parametrize('kind', GOING)
def test_what_goes_meanwhile(faulty, project, kind, moment):
    """What somebody removes on the host while the session starts counts as absent."""
    names, rules, gone = GOING[kind]
    faulty.policy({'sandbox': {'filesystem': rules}})
    for name in names:
        os.makedirs(os.path.dirname(os.path.join(project, name)), exist_ok=True)
        write(os.path.join(project, name), f'text of {name}\n')
    subprocess.run(['chown', '-R', f'{USERS[0]}:', project], check=True)
    set_rules(faulty, [f'{MOMENTS[moment]}!cd {shlex.quote(project)} && rm -r {gone}'])
    r = faulty.sh('cat m2 m2/x 2>/dev/null; ls', cwd=project)
    faulty.policy({})
    assert r.rc == 0 and not any(os.path.exists(os.path.join(project, name)) for name in gone.split()), r
    left = sorted({name.split('/')[0] for name in names} - set(gone.split()))
    assert r.text == ''.join(f'text of {n}\n' for n in names if n.startswith('m2')) + ''.join(f'{n}\n' for n in left), r


@pytest.mark.parametrize('moment', MOMENTS)
def test_a_lock_whose_file_is_replaced_meanwhile(faulty, project, moment):
    """The mount that locked it goes with the old file: it is locked again, or, after the search, told."""
    faulty.policy({'sandbox': {'filesystem': {'denyWrite': ['./deploy.sh']}}})
    write(os.path.join(project, 'deploy.sh'), 'old\n', 0o755)
    write(os.path.join(project, 'new'), 'new\n', 0o755)
    subprocess.run(['chown', '-R', f'{USERS[0]}:', project], check=True)
    set_rules(faulty, [f'{MOMENTS[moment]}!cd {shlex.quote(project)} && mv new deploy.sh'])
    r = faulty.sh('cat deploy.sh; echo evil > deploy.sh', cwd=project)
    faulty.policy({})
    assert r.text == 'new\n', r
    told = [e['path'] for e in faulty.audit(faulty.last_session()['id']) if e['event'] == 'unprotected']
    if moment == 'before the program':
        assert told == [f'{project}/deploy.sh'], (told, r)
    else:
        assert told == [] and 'Read-only file system' in r.errors, (told, r)


def make(project, names, links=()):
    for name in names:
        os.makedirs(os.path.dirname(os.path.join(project, name)), exist_ok=True)
        write(os.path.join(project, name), f'text of {name}\n')
    for name, target in links:
        os.symlink(target, os.path.join(project, name))
    subprocess.run(['chown', '-hR', f'{USERS[0]}:', project], check=True)


def test_a_folder_that_is_moved_after_it_was_read(faulty, project):
    """Judged by the path where it is: a rule about the folders above does not hold where it was read first."""
    make(project, ['a/x/y/deploy.sh', 'kept/file', 'z/1/2/3/4/.envrc'])
    faulty.policy({'sandbox': {'filesystem': {'denyWrite': ['./kept/**/deploy.sh']}}})
    # the first lock of the search is that of the deepest, when all above was read
    set_rules(faulty, [f'pid1/open_tree@getdents64!cd {shlex.quote(project)} && mv a/x kept/x'])
    r = faulty.sh('cat kept/x/y/deploy.sh; echo evil > kept/x/y/deploy.sh; echo evil > z/1/2/3/4/.envrc', cwd=project)
    faulty.policy({})
    assert r.text == 'text of a/x/y/deploy.sh\n' and r.errors.count('Read-only file system') == 2, r


def test_a_grant_below_what_is_locked_late(faulty, project):
    """It is put back as a copy, which is looked through from the beginning: what was found before lies in the mount beneath."""
    make(project, ['p/w1/a/b/c/run', 'p/w1/a/run', 'd/e/file'], [('d/e/lock', '../../p')])
    faulty.policy({'sandbox': {'filesystem': {'denyWrite': ['./**/lo[c]k', './p/*/a/**/run'], 'allowWrite': ['./p/w*']}}})
    set_rules(faulty, [])
    r = faulty.sh('for f in p/x p/w1/a/run p/w1/a/b/c/run p/w1/a/b/c/x; do (echo evil > $f) || echo $f; done', cwd=project)
    faulty.policy({})
    assert r.text.split() == ['p/x', 'p/w1/a/run', 'p/w1/a/b/c/run'], r


def test_a_link_that_locks_the_folders_above(faulty, project):
    """What it leads to is mounted over what is being read, and is read again by its own path."""
    make(project, ['p/q/kept/1/2/3/run', 'p/q/r/file'], [('p/q/r/lock', '../..')])
    faulty.policy({'sandbox': {'filesystem': {'denyRead': ['./p/*/kept/**/run'], 'denyWrite': ['./p/q/r/[l]ock']}}})
    r = faulty.sh('cat p/q/kept/1/2/3/run; cat p/q/r/lock/q/kept/1/2/3/run; stat -c %a p/q/kept/1/2/3/run; echo x > p/q/file', cwd=project)
    faulty.policy({})
    assert r.text == '0\n' and 'Read-only file system' in r.errors, r


@pytest.mark.parametrize('rule', ['./[l]ocked', './none'])
def test_covers_stay_read_only(faulty, project, rule):
    """A cover that holds a grant is read-only, also where it was taken along while what a link leads to was locked above it."""
    os.makedirs(os.path.join(project, 'p/t/d/g'))
    os.symlink('p', os.path.join(project, 'locked'))
    subprocess.run(['chown', '-hR', f'{USERS[0]}:', project], check=True)
    set_rules(faulty, [])
    faulty.policy({'sandbox': {'filesystem': {'denyWrite': [rule], 'allowRead': ['./p/t', './p/t/d/g'], 'denyRead': ['./p/t/d']}}})
    r = faulty.sh(f"grep ' {project}/p/t/d ' /proc/self/mountinfo; touch p/x 2>/dev/null && echo p", cwd=project)
    faulty.policy({})
    lines = r.text.splitlines()
    # locked, or not
    assert (lines and lines.pop() == 'p') if rule == './none' else r.rc == 1, r
    # one of them is what the path leads to, the others are below it
    assert lines and all(' tmpfs ' in line and line.split()[5].split(',')[0] == 'ro' for line in lines), r


def test_the_groups_are_found(faulty):
    """The search for what is left sees it while it is there."""
    set_rules(faulty, [])
    p = faulty.popen('run', '-q', '--', 'cat', stdin=-1, stdout=-1)
    p.stdin.write(b'x')
    p.stdin.flush()
    assert p.stdout.read(1) == b'x'
    now = traces(faulty)
    p.stdin.close()
    assert p.wait(120) == 0
    assert now['groups'] and now['folders'] and now['processes'] > 1, now


def test_umask_and_open_files_as_the_user_has_them(isod, project):
    r = isod.ctl('run', '--', 'sh', '-c', 'umask; ulimit -Sn; touch made; stat -c %a made', cwd=project, umask=0o007)
    assert r.rc == 0, r
    with open(f'/proc/{os.getpid()}/limits', encoding='ascii') as f:
        soft = next(line for line in f if line.startswith('Max open files')).split()[3]
    assert r.text.split() == ['0007', soft, '660'], r


IGNORING = ('import os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN); '
            'signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM]); os.execv(sys.argv[1], sys.argv[1:])')


def test_isod_started_by_a_careless_parent(root_dir, users):
    """SIGCHLD ignored and SIGTERM blocked are inherited over exec: isod reaps and ends all the same."""
    d = Isod(root_dir, 'careless', prefix=['/usr/bin/python3', '-c', IGNORING])
    d.start()
    try:
        for _ in range(10):
            r = d.run('sh', '-c', 'exit 7')
            assert r.rc == 7, r
        # Ends like these are no errors.
        assert '<3>' not in d.log(), d.log()
    finally:
        d.stop()


def test_deep_folders_that_can_be_written_to(faulty, project):
    """A repository that a session moves below them must not lose its locks in the next one: nothing starts."""
    set_rules(faulty, [])
    make_deep_folders(project)
    r = faulty.sh('echo up', cwd=project)
    assert r.rc == 125 and r.out == b'', r
    assert 'protected files: What the rules protect cannot be looked for (File name too long) in ' in r.errors, r
