"""Each step of isod-launch fails in turn: the report names it, nothing runs and nothing is left behind.

isod-launch is started under a filter of the test's (denying.py), so that the one system call of that step is refused."""
import os
import pwd
import re
import shlex
import shutil

import pytest

from conftest import BUILD, Isod, SANITIZED, USERS, project_of
from waiting import wait_for

TESTS = os.path.dirname(os.path.abspath(__file__))


def descriptor(name):
    with open(os.path.join(TESTS, '../../daemon/wire/fds.h'), encoding='ascii') as f:
        return re.search(rf'{name} =\s+(\d+),', f.read()).group(1)


# step: what is refused; True: the session has a terminal
FAULTS = {
    'descriptors': ['fcntl:1=1034'],
    'context': ['close_range'],
    'plan': ['mmap:4=3'],
    'filters': ['mmap:4=7'],
    'cgroups': [f'write:0={descriptor("LAUNCH_FD_CGROUP")}'],
    'limits': ['prlimit64:1=7'],
    'open sources': ['openat2'],
    'clone sources': ['open_tree'],
    'etc overlay': ['fsopen'],
    'layers': ['fsconfig:1=0'],
    'scratch folders': ['mkdirat:0=10'],
    'own descriptors': [f'openat:2={os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW:#x}'],
    'namespaces': ['clone3'],
    'life of isod': ['prctl:0=1'],
    'signals': ['setsid'],
    'keyring': ['keyctl'],
    'procfs': ['fsmount:2=14'],
    'loopback': ['ioctl:1=0x8914'],
    'nft ruleset': ['socket:0=16:2=12'],
    'listening sockets': ['listen'],
    'view root': ['move_mount'],
    'covers': ['mkdirat:2=0'],
    'view mounts': ['mknodat:2=0x21b6'],
    'protected files': ['getdents64'],
    'end of covers': ['umount2:1=10'],
    'pivot root': ['pivot_root'],
    'host name': ['sethostname'],
    'terminal': ['ioctl:1=0x40045431'],
    'Landlock rules': ['landlock_add_rule'],
    'fork': ['clone'],
    'rights of pid 1': ['setresuid:0=NET'],
    'loop of pid 1': ['timerfd_create'],
    'program session': ['setpgid'],
    # not in a sanitised launcher: its own runtime asks for limits and ends without them
    **({} if SANITIZED else {'program limits': ['prlimit64:1=4']}),
    'user and group': ['setresuid:0=CALLER'],
    'working directory': ['getcwd'],
    'Landlock': ['landlock_restrict_self'],
}
OPTIONS = {'terminal': ['--tty'], 'program session': ['--tty'], 'layers': ['--overlay']}


@pytest.fixture(scope='module')
def faulty(root_dir, users):
    """A daemon whose isod-launch is a script that a test writes."""
    libexec = os.path.join(root_dir, 'faulty-libexec')
    os.makedirs(libexec)
    for name in ('isod-control', 'isod-session'):
        os.symlink(os.path.join(BUILD, name), os.path.join(libexec, name))
    d = Isod(root_dir, 'faulty', extra=['--libexec', libexec])
    d.launcher = os.path.join(libexec, 'isod-launch')
    set_rules(d, [])
    d.start()
    yield d
    d.stop()


def set_rules(isod, rules):
    launch = os.path.join(BUILD, 'isod-launch')
    command = [launch] if not rules else ['/usr/bin/python3', os.path.join(TESTS, 'denying.py'), *rules, '--', launch]
    with open(isod.launcher + '.new', 'w', encoding='utf-8') as f:
        f.write(f'#!/bin/sh\nexec {shlex.join(command)}\n')
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


def settled(isod):
    wait_for(lambda: len(isod.helpers()) == 1 and not isod.sessions(user='root'), 'only isod-control is left')
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
    set_rules(faulty, rules)
    # Caches that other tests made would be the first to need the scratch folder.
    shutil.rmtree(os.path.join(pwd.getpwnam(USERS[0]).pw_dir, '.m2'), ignore_errors=True)
    mark = os.path.join(project, 'ran')
    r = faulty.sh(f'echo ran > {shlex.quote(mark)}', options=OPTIONS.get(step, []), cwd=project)
    assert r.rc == 125 and not os.path.exists(mark), r
    assert f'({step})' in r.errors or f'"{step}"' in r.errors or f'{step}:' in r.errors, r
    assert settled(faulty) == before


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
