"""Starts that cannot be made: nothing runs, one code, the step and the remedy are said, one line is in the log."""
import json
import os
import subprocess
import threading

import pytest

from conftest import Isod, write

TESTS = os.path.dirname(os.path.abspath(__file__))
PLACEHOLDERS = ('${', '%s', '%d', '%u', '(null)')


def records(isod):
    """Every event of every audit file, as root sees them."""
    folder = os.path.join(isod.state_dir, 'audit')
    found = []
    for name in os.listdir(folder) if os.path.isdir(folder) else []:
        if not name.endswith('.jsonl'):
            continue
        with open(os.path.join(folder, name), encoding='utf-8') as f:
            found += [json.loads(line) for line in f]
    return found


def without(capability):
    return ['setpriv', f'--bounding-set=-{capability}', f'--inh-caps=-{capability}']


def denying(*rules):
    return ['/usr/bin/python3', os.path.join(TESTS, 'denying.py'), *rules, '--']


@pytest.fixture
def daemon(root_dir, request):
    """A daemon under a prefix."""
    made = []

    def start(prefix):
        d = Isod(root_dir, 'start-' + str(abs(hash(request.node.nodeid)) % 10**8), prefix=prefix)
        made.append(d)
        return d.start()

    yield start
    for d in made:
        d.stop()


REFUSED = {
    'no CAP_SYS_ADMIN': (without('sys_admin'), 'capabilities of isod', 'CAP_SYS_ADMIN'),
    'no CAP_NET_ADMIN': (without('net_admin'), 'capabilities of isod', 'CAP_NET_ADMIN'),
    'no CAP_MKNOD': (without('mknod'), 'capabilities of isod', 'CAP_MKNOD'),
    'namespaces': (denying('unshare'), 'namespaces', 'Operation not permitted'),
    'mount calls': (denying('mount_setattr'), 'mount calls', 'Operation not permitted'),
    'propagation': (denying('mount_setattr:2=0x8000'), 'mount propagation', 'Operation not permitted'),
    'overlay': (denying('fsopen'), 'overlayfs', 'Operation not permitted'),
    'loopback': (denying('ioctl:1=0x8914'), 'loopback set-up', 'Operation not permitted'),
    'routes': (denying('socket:0=16:2=0'), 'loopback', 'Operation not permitted'),
    'no nftables': (denying('socket:0=16:2=12'), 'nftables', 'Operation not permitted'),
    'pivot': (denying('pivot_root'), 'pivot root', 'Operation not permitted'),
    'hostname': (denying('sethostname'), 'host name', 'Operation not permitted'),
}


@pytest.mark.parametrize('what', REFUSED)
def test_no_sandbox_no_program(daemon, project, what):
    """Cases 1, 4, 5, 7: isod itself runs, a layer below forbids a part of the sandbox."""
    prefix, step, text = REFUSED[what]
    isod = daemon(prefix)
    mark = os.path.join(project, 'ran')
    r = isod.sh(f'echo ran > {mark}; echo out')
    assert r.rc == 125 and r.out == b'' and not os.path.exists(mark), r
    assert step in r.errors and text in r.errors and 'remedy: ' in r.errors, r
    assert not [p for p in PLACEHOLDERS if p in r.errors], r
    failed = [e for e in records(isod) if e['event'] == 'session.start_failed']
    assert len(failed) == 1 and failed[0]['step'] and text in failed[0]['message'], records(isod)
    assert not [e for e in records(isod) if e['event'] == 'session.exit']


@pytest.mark.parametrize('capability', ['setuid', 'setgid', 'setpcap', 'chown', 'dac_override', 'kill'])
def test_isod_says_which_capability_it_lacks(root_dir, project, capability):
    """Case 1: what isod itself needs is asked for at once, and the client is told that there is no isod."""
    d = Isod(root_dir, f'lacks-{capability}', prefix=without(capability))
    with pytest.raises(AssertionError, match='did not start'):
        d.start()
    assert f'CAP_{capability.upper()}' in d.log() and 'Start isod as root' in d.log(), d.log()
    mark = os.path.join(project, 'ran')
    r = d.sh(f'echo ran > {mark}')
    assert r.rc == 125 and 'remedy: ' in r.errors and not os.path.exists(mark), r


def test_nothing_at_all(root_dir, project):
    """Case 1 as reported: no capability, no new privileges."""
    d = Isod(root_dir, 'bare', prefix=['setpriv', '--bounding-set=-all', '--inh-caps=-all', '--no-new-privs'])
    with pytest.raises(AssertionError, match='did not start'):
        d.start()
    assert 'CAP_SETUID' in d.log() and 'CAP_SETPCAP' in d.log(), d.log()
    mark = os.path.join(project, 'ran')
    r = d.sh(f'echo ran > {mark}')
    assert r.rc == 125 and not os.path.exists(mark), r


def test_isod_as_an_ordinary_user(root_dir):
    d = Isod(root_dir, 'unprivileged', prefix=['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups'])
    with pytest.raises(AssertionError, match='did not start'):
        d.start()
    assert 'must be started by root' in d.log()


def test_source_vanishes_between_planning_and_mounting(isod, project):
    """Case 14: a path that comes and goes is there or absent, never a failed start."""
    entry = os.path.join(project, 'hooks')
    stop = threading.Event()

    def flicker():
        while not stop.is_set():
            os.mkdir(entry)
            write(os.path.join(entry, 'x'), 'x')
            os.unlink(os.path.join(entry, 'x'))
            os.rmdir(entry)

    thread = threading.Thread(target=flicker)
    thread.start()
    try:
        for _ in range(20):
            many = [isod.popen('run', '-q', '--allow-read', entry, '--allow-read', entry + '/x', '--', 'echo', 'up',
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(10)]
            for p in many:
                out, err = p.communicate(timeout=120)
                assert p.returncode == 0 and out == b'up\n', (p.returncode, out, err)
    finally:
        stop.set()
        thread.join()
