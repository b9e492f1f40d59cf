"""kill -9 of each process at any time: nothing is opened, nothing is left."""
import os
import signal
import subprocess

import pytest

from conftest import Isod, BUILD, descendants
from waiting import wait_for


def start(isod):
    p = isod.popen('run', '-q', '--', 'sh', '-c', 'echo up; sleep 5000 & exec sleep 4000', stdin=subprocess.DEVNULL,
                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert p.stdout.readline() == b'up\n'
    return p


def alive(pids):
    found = []
    for pid in pids:
        try:
            with open(f'/proc/{pid}/stat', 'rb') as f:
                if f.read().rpartition(b')')[2].split()[0] != b'Z':
                    found.append(pid)
        except OSError:
            pass
    return found


@pytest.mark.parametrize('victim', ['isod', 'isod-session', 'isod-launch'])
def test_kill_9(own_isod, victim):
    p = start(own_isod)
    family = own_isod.helpers()
    if victim == 'isod':
        os.kill(own_isod.process.pid, signal.SIGKILL)
        own_isod.process.wait()
    else:
        targets = own_isod.helpers_named(victim)
        assert len(targets) == 1, targets
        os.kill(targets[0], signal.SIGKILL)
    assert p.wait(120) != 0
    wait_for(lambda: not alive([x for x in family if victim == 'isod' or x not in own_isod.helpers()]), 'all ended')
    if victim == 'isod':
        own_isod.start()
    # and it works again at once
    wait_for(lambda: own_isod.run('true').rc == 0, 'a new session starts')
    wait_for(lambda: os.listdir(os.path.join(own_isod.state_dir, 'sessions')) == [], 'leftovers are swept')


def test_sigterm_ends_everything(own_isod):
    p = start(own_isod)
    family = own_isod.helpers()
    own_isod.stop()
    assert p.wait(120) == 125 or p.returncode == 137
    assert not alive(family)
    assert not os.path.exists(own_isod.socket)


def test_two_isod_on_one_socket(own_isod):
    second = subprocess.run([os.path.join(BUILD, 'isod'), '--foreground', '--socket', own_isod.socket, '--run-dir',
                             own_isod.run_dir, '--state-dir', own_isod.state_dir, '--config-dir', own_isod.config_dir,
                             '--libexec', BUILD], capture_output=True, timeout=120)
    assert second.returncode != 0 and b'nother isod' in second.stderr, second
    assert own_isod.run('true').rc == 0


def test_no_daemon_is_said(root_dir):
    d = Isod(root_dir, 'never-started')
    r = d.run('true')
    assert r.rc == 125 and 'remedy' in r.errors and r.out == b'', r


def fds(pid):
    return len(os.listdir(f'/proc/{pid}/fd'))


def test_no_descriptor_or_memory_is_kept(isod):
    control = isod.helpers_named('isod-control')[0]
    def count():
        return fds(isod.process.pid), fds(control)
    for _ in range(3):
        assert isod.run('true').rc == 0
    wait_for(lambda: len(isod.helpers()) == 1, 'idle')
    before = count()
    for _ in range(30):
        assert isod.run('true').rc == 0
        isod.run('/no/such')
    wait_for(lambda: len(isod.helpers()) == 1, 'idle')
    # fewer: a layer of /etc that was replaced meanwhile has gone
    wait_for(lambda: all(now <= then for now, then in zip(count(), before)), f'descriptors as before {before}')


def test_cgroups_are_removed(isod):
    isod.run('true')
    wait_for(lambda: len(isod.helpers()) == 1, 'idle')
    left = subprocess.run(['find', '/sys/fs/cgroup', '-maxdepth', '3', '-name', 'isod-*', '-path', '*' + isod.last_session()['id'] + '*'],
                          capture_output=True, text=True).stdout
    assert left == ''


def test_pids_limit_holds(isod):
    r = isod.sh('i=0; while [ $i -lt 200 ]; do sleep 30 & i=$((i+1)); done 2>&1 | head -1; echo end', options=['--pids', '50'])
    assert 'ork' in r.text + r.errors, r


def test_memory_limit_holds(isod):
    r = isod.run('/usr/bin/python3', '-c', 'x = bytearray(400 << 20); print("had it")', options=['--memory', '100M'])
    assert r.rc == 137 and 'had it' not in r.text, r
