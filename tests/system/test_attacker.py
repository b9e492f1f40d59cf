"""A program inside that tries what must fail; built from tests/inside/attacker.c."""
import os
import shutil
import socket
import subprocess
import threading

import pytest

from conftest import BUILD, USERS


@pytest.fixture(scope='session')
def attacker(root_dir):
    path = os.path.join(root_dir, 'attacker')
    shutil.copy(os.path.join(BUILD, 'tests/unit/launch/attacker'), path)
    return path


@pytest.mark.parametrize('user', [USERS[0], 'root'])
def test_nothing_gives_way(isod, attacker, user):
    name = f'isod-attacker-probe-{os.getpid()}'
    with socket.socket(socket.AF_UNIX) as host:
        host.bind('\0' + name)
        host.listen(1)
        r = isod.run(attacker, name, options=['--allow-read', attacker], user=user, cwd=None if user != 'root' else '/srv', input=b'')
    lines = r.text.splitlines()
    assert len([line for line in lines if line.startswith('ok ')]) > 40, r
    assert [line for line in lines if line.startswith('FAIL')] == [] and r.rc == 0, r


def test_sources_swapped_during_set_up(isod, project):
    """Two names exchanged while sessions start: never a mount of what lies outside the caller's rights."""
    import ctypes
    import pwd
    libc = ctypes.CDLL(None, use_errno=True)
    entry = pwd.getpwnam(USERS[0])
    a, b = os.path.join(project, 'a'), os.path.join(project, 'b')
    os.mkdir(a)
    with open(a + '/x', 'w', encoding='ascii') as f:
        f.write('mine\n')
    os.symlink('/root', b)
    subprocess.run(['chown', '-hR', f'{USERS[0]}:', project], check=True)
    stop = threading.Event()

    def swap():
        while not stop.is_set():
            libc.renameat2(-100, a.encode(), -100, b.encode(), 2)
    thread = threading.Thread(target=swap)
    thread.start()
    try:
        for _ in range(40):
            r = isod.sh(f'ls -A {a}/ {b}/ 2>/dev/null; cat {a}/.bashrc', options=['-q', '--allow-read', a, '--allow-read', b])
            assert '.bashrc' not in r.text, r
    finally:
        stop.set()
        thread.join()


def test_only_stdio_is_open(isod):
    r = isod.sh('ls /proc/self/fd | tr "\\n" " "; ls -l /proc/1/fd 2>&1 | head -1')
    # hidepid: the processes of other uids are not even seen
    assert r.text.startswith('0 1 2 3 ') and ('denied' in r.text or 'No such file' in r.text), r


def test_binary_of_the_daemon_is_out_of_reach(isod):
    r = isod.sh('for p in /proc/[0-9]*; do readlink $p/exe; done; echo x > /proc/1/exe')
    assert 'isod' not in r.text and r.rc != 0, r


def test_no_trace_of_other_sessions(isod):
    p = isod.popen('run', '-q', '--', 'sh', '-c', 'echo up; exec sleep 1000', stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    assert p.stdout.readline() == b'up\n'
    r = isod.sh('cat /proc/[0-9]*/cmdline | tr "\\0" " "; cat /proc/net/unix | wc -l; ls /run /var/lib')
    assert 'sleep 1000' not in r.text
    s = [s for s in isod.sessions() if s['state'] == 'running'][0]
    isod.ctl('kill', s['id'])
    p.wait(120)


def test_file_given_to_the_caller_by_setgid_group(isod):
    """Supplementary groups are dropped but the project's own."""
    r = isod.sh('id -G')
    assert len(r.text.split()) == 1, r
