"""/etc, /proc, /sys and /dev of the view: what programs need is there on every distribution, what is the host's is not.

A layout of /etc is a copy of this machine's, changed, that only the daemon of the test has over /etc.
"""
import os
import pwd
import re
import shutil
import subprocess

import pytest

from conftest import Isod, PINS, TOP, USERS, write

BOTH = [USERS[0], 'root']
CA = '/etc/ssl/certs/ca-certificates.crt'
ROOT = {'user': 'root', 'cwd': '/srv'}


def where(user):
    return ROOT if user == 'root' else {'user': user}


class Layout:
    """A copy of /etc, and a daemon that has it for its own."""

    def __init__(self, root_dir, name):
        self.etc = os.path.join(root_dir, 'etc-' + name)
        subprocess.run(['cp', '-a', '/etc', self.etc], check=True)
        self.isod = Isod(root_dir, 'layout-' + name, prefix=[
            'unshare', '--mount', '--propagation', 'slave', 'sh', '-c', 'mount --bind "$0" /etc && exec "$@"', self.etc])
        self.isod.policy({'hosts': PINS})

    def path(self, name):
        return os.path.join(self.etc, name)

    def remove(self, name):
        path = self.path(name)
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path)
        elif os.path.lexists(path):
            os.unlink(path)

    def put(self, name, text='x\n', mode=0o644):
        os.makedirs(os.path.dirname(self.path(name)), mode=0o755, exist_ok=True)
        self.remove(name)
        write(self.path(name), text, mode)

    def link(self, name, target):
        os.makedirs(os.path.dirname(self.path(name)), mode=0o755, exist_ok=True)
        self.remove(name)
        os.symlink(target, self.path(name))


@pytest.fixture
def layout(root_dir, request):
    made = Layout(root_dir, str(abs(hash(request.node.nodeid)) % 10**8))
    yield made
    made.isod.stop()
    shutil.rmtree(made.etc)


# --- the resolver's files ---------------------------------------------------------------------------------------------
def resolv_link(target):
    return lambda it: it.link('resolv.conf', target)


def resolv_static(it):
    it.link('resolv.conf', '/etc/static/resolv.conf')
    it.link('static', '/nix/store/none-etc/etc')


def resolv_folder(it):
    it.remove('resolv.conf')
    os.mkdir(it.path('resolv.conf'))


RESOLV = {
    'systemd-resolved': resolv_link('../run/systemd/resolve/stub-resolv.conf'),
    'network-manager': resolv_link('/run/NetworkManager/resolv.conf'),
    'resolvconf': resolv_link('/etc/resolvconf/run/resolv.conf'),
    'wsl': resolv_link('/mnt/wsl/resolv.conf'),
    'nixos': resolv_static,
    'a loop': resolv_link('resolv.conf'),
    'regular': lambda it: it.put('resolv.conf', 'nameserver 192.0.2.1\nsearch corp.example\n'),
    'private': lambda it: it.put('resolv.conf', 'nameserver 192.0.2.1\n', 0o600),
    'missing': lambda it: it.remove('resolv.conf'),
    'a folder': resolv_folder,
}


@pytest.mark.parametrize('kind', RESOLV)
def test_112_resolv_conf(layout, kind):
    RESOLV[kind](layout)
    layout.put('nsswitch.conf', 'passwd: files systemd sss\nhosts: files mdns4_minimal [NOTFOUND=return] resolve [!UNAVAIL=return] dns\n')
    before = os.lstat(layout.path('resolv.conf')) if os.path.lexists(layout.path('resolv.conf')) else None
    layout.isod.start()
    for user in BOTH:
        r = layout.isod.sh('stat -c "%F %a" /etc/resolv.conf; cat /etc/resolv.conf; getent ahosts ok.example | head -1',
                           options=['--allow-domain', 'ok.example'], **where(user))
        lines = r.text.splitlines()
        assert r.rc == 0 and lines[:2] == ['regular file 644', 'nameserver 198.18.0.1'], r
        assert re.match(r'198\.1[89]\.|fd', lines[-1]) and 'corp.example' not in r.text, r
    after = os.lstat(layout.path('resolv.conf')) if os.path.lexists(layout.path('resolv.conf')) else None
    assert before == after


def test_names_are_the_sessions_own(isod):
    r = isod.sh('cat /etc/hostname; hostname; cat /etc/hosts; cat /etc/nsswitch.conf')
    assert r.rc == 0 and r.text.startswith('isod\nisod\n127.0.0.1 localhost isod\n::1 '), r
    assert 'hosts: files dns' in r.text and 'resolve' not in r.text and 'sss' not in r.text, r


# --- certificates -----------------------------------------------------------------------------------------------------
def bundle():
    with open(CA, encoding='ascii') as f:
        return f.read()


def debian(it):
    return [CA]


def fedora(it):
    it.remove('ssl')
    it.put('pki/ca-trust/extracted/pem/tls-ca-bundle.pem', bundle())
    it.link('pki/tls/certs/ca-bundle.crt', '/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem')
    it.link('pki/tls/cert.pem', '/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem')
    it.link('ssl/certs', '../pki/tls/certs')
    os.makedirs(it.path('pki/tls/private'), 0o755)
    it.put('pki/tls/private/localhost.key', 'SECRET\n')
    return ['/etc/pki/tls/certs/ca-bundle.crt', '/etc/pki/tls/cert.pem', '/etc/ssl/certs/ca-bundle.crt']


def arch(it):
    it.remove('ssl')
    it.put('ca-certificates/extracted/tls-ca-bundle.pem', bundle())
    it.link('ssl/certs/ca-certificates.crt', '../../ca-certificates/extracted/tls-ca-bundle.pem')
    it.link('ssl/cert.pem', '../ca-certificates/extracted/tls-ca-bundle.pem')
    return [CA, '/etc/ssl/cert.pem']


def alpine(it):
    it.remove('ssl/certs')
    it.put('ssl/certs/ca-certificates.crt', bundle())
    it.link('ssl/cert.pem', 'certs/ca-certificates.crt')
    it.link('ssl1.1/cert.pem', '/etc/ssl/cert.pem')
    it.link('ssl1.1/certs', '/etc/ssl/certs')
    return [CA, '/etc/ssl/cert.pem', '/etc/ssl1.1/certs/ca-certificates.crt']


@pytest.fixture
def elsewhere():
    """A tree outside /etc, in memory, at a path that the machine need not have."""
    made = []

    def make(path):
        missing = []
        while not os.path.isdir(path if not missing else os.path.dirname(missing[-1])):
            missing.append(path if not missing else os.path.dirname(missing[-1]))
        for folder in reversed(missing):
            os.mkdir(folder, 0o755)
        subprocess.run(['mount', '-t', 'tmpfs', '-o', 'mode=755', 'isod-test', path], check=True)
        made.append((path, missing))
        return path
    yield make
    for path, missing in made:
        subprocess.run(['umount', path], check=True)
        for folder in missing:
            os.rmdir(folder)


def check_certificates(isod, paths):
    script = ('import ssl, sys\nfor path in sys.argv[1:]:\n c = ssl.create_default_context(cafile=path)\n'
              ' print(path, len(c.get_ca_certs()) > 50)')
    for user in BOTH:
        r = isod.run('/usr/bin/python3', '-c', script, *paths, **where(user))
        assert r.rc == 0 and r.text.splitlines() == [f'{path} True' for path in paths], r


@pytest.mark.parametrize('make', [debian, fedora, arch, alpine], ids=lambda f: f.__name__)
def test_113_certificates(layout, make):
    paths = make(layout)
    layout.isod.start()
    check_certificates(layout.isod, paths)
    r = layout.isod.sh('cat /etc/pki/tls/private/*', **ROOT)
    assert r.rc != 0 and 'SECRET' not in r.text, r


def test_113_certificates_nixos(layout, elsewhere):
    """All of /etc is links to /etc/static, that to the store."""
    store = elsewhere('/nix/store')
    static = store + '/0000-etc/etc'
    os.makedirs(static + '/ssl/certs')
    write(static + '/ssl/certs/ca-certificates.crt', bundle())
    shutil.copytree('/etc', static + '/all', symlinks=True, ignore=lambda d, names: [n for n in names if d != '/etc' or n != 'localtime'])
    layout.link('static', static)
    layout.remove('ssl/certs')
    layout.link('ssl/certs/ca-certificates.crt', '/etc/static/ssl/certs/ca-certificates.crt')
    layout.link('ssl/certs/ca-bundle.crt', '/etc/static/ssl/certs/ca-certificates.crt')
    write(static + '/nsswitch.conf', 'hosts: mymachines dns\n')
    layout.link('nsswitch.conf', '/etc/static/nsswitch.conf')
    layout.isod.start()
    check_certificates(layout.isod, [CA, '/etc/ssl/certs/ca-bundle.crt'])
    r = layout.isod.sh('cat /etc/nsswitch.conf; touch /nix/store/x; realpath /etc/ssl/certs/ca-bundle.crt')
    assert r.text.splitlines()[-1] == static + '/ssl/certs/ca-certificates.crt' and 'mymachines' not in r.text, r
    assert 'Read-only' in r.errors and not os.path.exists('/nix/store/x'), r


def test_113_certificates_suse(layout, elsewhere):
    made = elsewhere('/var/lib/ca-certificates')
    os.mkdir(made + '/pem')
    write(made + '/ca-bundle.pem', bundle())
    layout.remove('ssl')
    layout.link('ssl/ca-bundle.pem', '/var/lib/ca-certificates/ca-bundle.pem')
    layout.link('ssl/certs', '/var/lib/ca-certificates/pem')
    layout.isod.start()
    check_certificates(layout.isod, ['/etc/ssl/ca-bundle.pem'])
    assert layout.isod.sh('ls /etc/ssl/certs/ && ! touch /etc/ssl/certs/x', **ROOT).rc == 0


def test_113_users_and_time(layout):
    layout.link('localtime', '/usr/share/zoneinfo/Asia/Tokyo')
    layout.isod.start()
    for user in BOTH:
        r = layout.isod.sh('getent passwd $(id -u); getent group $(id -g); date +%Z', **where(user))
        assert r.rc == 0 and r.text.splitlines()[0].split(':')[0] == user and r.text.splitlines()[-1] == 'JST', r


# --- secrets ----------------------------------------------------------------------------------------------------------
def hidden_names():
    with open(os.path.join(TOP, 'view/etc_hidden.c'), encoding='ascii') as f:
        table = f.read().split('etc_hidden_names[] = {')[1].split('};')[0]
    return re.findall(r'"([^"]+)"', table)


PROMISED = ['shadow', 'shadow-', 'gshadow', 'sudoers', 'sudoers.d', 'ssh/ssh_host_ed25519_key', 'ssl/private', 'pki/tls/private',
            'NetworkManager/system-connections', 'wireguard', 'ppp/chap-secrets', 'ipsec.secrets', 'krb5.keytab', 'letsencrypt',
            'docker', 'kubernetes', 'openvpn', 'wpa_supplicant', 'cups/ssl', 'isod', 'crypttab', 'security/opasswd', 'sssd']

READ_ALL = '''
import os, sys
for path in sys.stdin.read().split('\\0'):
    try:
        print("READ", path, open(path).read())
    except OSError as e:
        print(e.errno, path)
    if os.path.lexists(path):
        print("SEEN", path)
'''


def read_all(isod, paths, **kw):
    return isod.run('/usr/bin/python3', '-c', READ_ALL, input='\0'.join(paths).encode(), **kw)


def test_names_promised_are_in_the_list():
    assert set(PROMISED) <= set(hidden_names())


@pytest.mark.parametrize('user', BOTH)
@pytest.mark.parametrize('how', [[], ['--nesting']])
def test_secrets_are_absent(layout, user, how):
    """Whatever their modes are: a file for all, a folder for all with one."""
    names = hidden_names()
    for name in names:
        layout.remove(name)
    for i, name in enumerate(names):
        if not os.path.exists(layout.path(name)):
            layout.put(name if i % 2 else name + '/inner', 'SECRET\n')
    layout.put('some/where/private', 'SECRET\n', 0o600)
    layout.put('some/closed/file', 'SECRET\n')
    os.chmod(layout.path('some/closed'), 0o700)
    layout.put('ssh/ssh_host_new_key', 'SECRET\n')
    layout.isod.start()
    names += ['some/where/private', 'some/closed/file', 'ssh/ssh_host_new_key']
    paths = ['/etc/' + n for n in names] + ['/etc/' + n + '/inner' for n in names]
    r = read_all(layout.isod, paths, options=how, **where(user))
    assert r.rc == 0 and len(r.text.splitlines()) == len(paths) and 'SECRET' not in r.text and 'SEEN' not in r.text, r
    assert {line.split()[0] for line in r.text.splitlines()} <= {'2', '20'}, r


@pytest.mark.parametrize('user', BOTH)
def test_secrets_that_come_later(layout, user):
    """A package that is installed while a session runs, and before the next one starts."""
    names = hidden_names()
    for name in names:
        layout.remove(name)
    for name in ('NetworkManager', 'ppp', 'cups'):
        layout.remove(name)
    layout.isod.start()
    paths = ['/etc/' + n for n in names] + ['/etc/' + n + '/inner' for n in names] + ['/etc/app/private', '/etc/app/open', '/etc/cups/open']
    running = layout.isod.popen('run', '-q', '--', '/usr/bin/python3', '-c', 'import sys; print("up", flush=True); sys.stdin.readline()\n'
                                + READ_ALL, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **where(user))
    assert running.stdout.readline() == b'up\n'
    for i, name in enumerate(names):
        if not os.path.exists(layout.path(name)):
            layout.put(name if i % 2 else name + '/inner', 'SECRET\n')
    layout.put('app/private', 'SECRET\n', 0o600)
    layout.put('app/open', 'PUBLIC\n')
    layout.put('cups/open', 'PUBLIC\n')
    out = running.communicate(b'\n' + '\0'.join(paths).encode(), timeout=120)[0].decode()
    assert running.returncode == 0 and 'SECRET' not in out, out
    r = read_all(layout.isod, paths, **where(user))
    assert 'SECRET' not in r.text and [line for line in r.text.splitlines() if line.startswith('SEEN')] == [
        'SEEN /etc/app/open', 'SEEN /etc/cups/open'] and r.text.count('PUBLIC') == 2, r
    # A folder of layers that nobody uses any more is not kept.
    assert len(os.listdir(os.path.join(layout.isod.run_dir, 'etc'))) == 1


def test_modes_that_change_later(layout):
    layout.put('app/key', 'SECRET\n')
    layout.isod.start()
    assert layout.isod.run('cat', '/etc/app/key', **ROOT).text == 'SECRET\n'
    os.chmod(layout.path('app/key'), 0o600)
    assert layout.isod.run('cat', '/etc/app/key', **ROOT).rc == 1


# --- /proc, /sys, /dev ------------------------------------------------------------------------------------------------
CLOSED = ['/proc/kcore', '/proc/keys', '/proc/key-users', '/proc/timer_list', '/proc/sched_debug', '/proc/kmsg', '/proc/kallsyms',
          '/proc/kpagecount', '/proc/vmallocinfo', '/proc/latency_stats', '/proc/interrupts', '/proc/iomem', '/proc/slabinfo',
          '/proc/pagetypeinfo', '/proc/acpi/wakeup', '/sys/kernel/debug/x', '/sys/kernel/tracing/trace', '/sys/kernel/security/lsm',
          '/sys/fs/bpf/x', '/sys/firmware/dmi/tables/DMI', '/sys/devices/virtual/dmi/id/product_uuid', '/dev/mem', '/dev/kmsg']
UNWRITABLE = ['/proc/sys/kernel/core_pattern', '/proc/sys/kernel/modprobe', '/proc/sys/kernel/hostname', '/proc/sys/vm/drop_caches',
              '/proc/sys/fs/binfmt_misc/register', '/proc/sys/net/ipv4/ip_forward', '/proc/sysrq-trigger', '/proc/irq/default_smp_affinity',
              '/proc/mtrr', '/proc/bus/pci/00/00.0', '/proc/pressure/memory', '/sys/kernel/uevent_helper', '/sys/power/state',
              '/sys/fs/cgroup/cgroup.procs', '/sys/fs/cgroup/x', '/sys/kernel/mm/transparent_hugepage/enabled', '/sys/module/x',
              '/sys/block/vda/queue/scheduler', '/proc/1/oom_score_adj', '/proc/1/mem']
TOUCH_ALL = '''
import os, sys
closed, unwritable = [a.split(",") for a in sys.argv[1:]]
for path in closed + unwritable:
    for flags in (os.O_WRONLY, os.O_RDWR, os.O_WRONLY | os.O_CREAT, os.O_WRONLY | os.O_TRUNC):
        try:
            fd = os.open(path, flags, 0o600)
        except OSError:
            continue
        print("WRITABLE", path)
        os.close(fd)
for path in closed:
    try:
        if open(path, "rb").read(16):
            print("READ", path)
    except OSError:
        pass
print("done")
'''


@pytest.mark.parametrize('user', BOTH)
@pytest.mark.parametrize('how', [[], ['--nesting']])
def test_124_files_of_the_kernel(isod, user, how):
    closed, unwritable = CLOSED, UNWRITABLE
    if how and user != 'root':
        # Left whole, so that a procfs can be mounted further in: what is open to everybody on the host stays so.
        closed = [p for p in CLOSED if p not in ('/proc/keys', '/proc/key-users', '/proc/kallsyms', '/proc/interrupts', '/proc/iomem')]
        unwritable = [p for p in UNWRITABLE if p != '/proc/pressure/memory']
    r = isod.run('/usr/bin/python3', '-c', TOUCH_ALL, ','.join(closed), ','.join(unwritable), options=how, **where(user))
    assert r.rc == 0 and r.text == 'done\n', r


def test_124_the_attempts_are_real():
    """Outside, as root, most of them succeed: it is the view that refuses."""
    here = [p for p in CLOSED if os.path.exists(p) and not os.path.isdir(p)]
    assert len(here) >= 8
    assert os.access('/proc/sys/kernel/core_pattern', os.W_OK) and os.access('/sys/kernel/mm/transparent_hugepage/enabled', os.W_OK)


def test_no_other_process_is_seen(isod):
    marker = subprocess.Popen(['sleep', '987654'])
    try:
        for user in BOTH:
            for how in ([], ['--nesting']):
                r = isod.sh('for p in /proc/[0-9]*; do tr "\\0" " " <$p/cmdline; echo; done; cat /proc/locks /proc/net/unix; '
                            'ls /sys/class/net /sys/fs/cgroup; cat /proc/self/mountinfo', options=how, **where(user))
                assert '987654' not in r.text and 'isod-control' not in r.text, r
                assert r.text.count('\nlo\n') == 1 and 'eth' not in r.text, r
    finally:
        marker.kill()
        marker.wait()


DEV_LIST = r'''
import os, stat
for name in sorted(os.listdir("/dev")):
    st = os.lstat("/dev/" + name)
    kind = {stat.S_IFCHR: "c", stat.S_IFLNK: "l", stat.S_IFDIR: "d"}[stat.S_IFMT(st.st_mode)]
    extra = f"{os.major(st.st_rdev)}:{os.minor(st.st_rdev)}" if kind == "c" else os.readlink("/dev/" + name) if kind == "l" else ""
    print(name, kind, oct(stat.S_IMODE(st.st_mode)) if kind != "l" else "", extra)
'''


@pytest.mark.parametrize('user', BOTH)
def test_122_devices(isod, user):
    r = isod.run('/usr/bin/python3', '-c', DEV_LIST, **where(user))
    assert [line.split() for line in r.text.splitlines()] == [
        ['fd', 'l', '/proc/self/fd'], ['full', 'c', '0o666', '1:7'], ['null', 'c', '0o666', '1:3'], ['ptmx', 'l', 'pts/ptmx'],
        ['pts', 'd', '0o755'], ['random', 'c', '0o666', '1:8'], ['shm', 'd', '0o1777'], ['stderr', 'l', '/proc/self/fd/2'],
        ['stdin', 'l', '/proc/self/fd/0'], ['stdout', 'l', '/proc/self/fd/1'], ['tty', 'c', '0o666', '5:0'],
        ['urandom', 'c', '0o666', '1:9'], ['zero', 'c', '0o666', '1:5']], r
    r = isod.sh('head -c 3 /dev/zero | wc -c; head -c 3 /dev/urandom | wc -c; echo x >/dev/null; echo x >/dev/full; rm /dev/null; '
                'mknod /dev/sda b 8 0; : >/dev/console; touch /dev/new; mv /dev/zero /dev/null', **where(user))
    assert r.text.split() == ['3', '3'] and r.rc != 0, r
    assert isod.run('/usr/bin/python3', '-c', DEV_LIST, **where(user)).text.count('\n') == 13


@pytest.mark.parametrize('user', BOTH)
def test_121_shared_memory(isod, user):
    r = isod.run('/usr/bin/python3', '-c', '''
import ctypes, mmap, multiprocessing, os, stat
from multiprocessing import shared_memory
lock = multiprocessing.Lock()
with lock: pass
multiprocessing.Semaphore(); multiprocessing.Queue().put(1)
m = shared_memory.SharedMemory(create=True, size=500 << 20)
for at in range(0, 500 << 20, 1 << 20): m.buf[at] = 7
print(sum(m.buf[at] for at in range(0, 500 << 20, 1 << 20)))
m.close(); m.unlink()
print(os.listdir("/dev/shm"), oct(stat.S_IMODE(os.stat("/dev/shm").st_mode)))
d = os.environ["XDG_RUNTIME_DIR"]
print(d == f"/run/user/{os.getuid()}", oct(stat.S_IMODE(os.stat(d).st_mode)), os.stat(d).st_uid == os.getuid(), os.listdir(d))
open(d + "/mine", "w").close()
''', **where(user))
    assert r.rc == 0 and r.text.splitlines() == ['3500', '[] 0o1777', 'True 0o700 True []'], r
    assert isod.sh('ls /dev/shm $XDG_RUNTIME_DIR', **where(user)).text.split() == ['/dev/shm:', f'/run/user/{pwd.getpwnam(user).pw_uid}:']
