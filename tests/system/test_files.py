"""Layer 1, files: what is not named does not exist; the host looks afterwards as before."""
import os
import pwd
import subprocess

import pytest

from conftest import USERS, project_of, write
from waiting import wait_for


def test_home_is_absent(isod):
    home = pwd.getpwnam(USERS[0]).pw_dir
    r = isod.run('cat', home + '/.aws/credentials')
    assert r.rc == 1 and 'TOPSECRET' not in r.text + r.errors and 'No such file' in r.errors, r
    r = isod.sh('ls -A ~; ls -A ~/.ssh')
    assert '.ssh' not in r.text.split() and 'No such file' in r.errors, r


def test_other_homes_are_absent(isod):
    other = pwd.getpwnam(USERS[1]).pw_dir
    assert isod.run('ls', other).rc == 2
    assert isod.sh('ls /root; ls /home').text.split() == [USERS[0]]


def test_home_is_private_writable_and_executable(isod):
    r = isod.sh('cd && printf "#!/bin/sh\\necho ran\\n" > x && chmod +x x && ./x')
    assert r.text == 'ran\n', r
    assert not os.path.exists(os.path.join(pwd.getpwnam(USERS[0]).pw_dir, 'x'))


def test_project_is_writable_as_the_caller(isod, project):
    assert isod.sh('echo x > made; mkdir d; mv made d/; ln d/made hard', cwd=project).rc == 0
    st = os.stat(os.path.join(project, 'd/made'))
    assert st.st_uid == pwd.getpwnam(USERS[0]).pw_uid and st.st_nlink == 2


def test_parents_of_the_project_show_nothing_else(isod, project):
    write(os.path.join(project, '.env'), 'X=1\n', 0o666)
    inner = os.path.join(project, 'a/b')
    os.makedirs(inner)
    subprocess.run(['chown', '-R', f'{USERS[0]}:', project], check=True)
    r = isod.sh('ls -A ..; ls -A ../..; cat ../../.env', cwd=inner)
    assert r.text.split() == ['b', 'a'], r


@pytest.mark.parametrize('path', ['/usr/x', '/etc/x', '/bin/x', '/x', '/opt/x', '/sys/x', '/proc/x', '/dev/x', '/lib/x', '/run/x'])
def test_the_system_is_read_only(isod, path):
    for user, cwd in ((USERS[0], None), ('root', '/srv')):
        assert isod.run('touch', path, user=user, cwd=cwd).rc != 0


@pytest.mark.parametrize('path', ['/etc/shadow', '/etc/gshadow', '/etc/sudoers', '/etc/ssh/ssh_host_ed25519_key', '/etc/isod'])
def test_secret_parts_of_etc_are_absent(isod, path):
    r = isod.run('stat', path, user='root', cwd='/srv')
    assert r.rc == 1 and 'No such file' in r.errors, r


def test_etc_serves_names_users_and_certificates(isod):
    r = isod.sh('cat /etc/resolv.conf; getent passwd root; ls /etc/ssl/certs | head -1; date +%Z; getent hosts localhost')
    assert r.rc == 0 and 'nameserver 198.18.0.1' in r.text and 'root:' in r.text, r


def test_own_pid_namespace(isod):
    r = isod.sh('ls /proc | grep -c "^[0-9]"; echo $$')
    assert int(r.text.split()[0]) < 6, r


def test_devices(isod):
    r = isod.sh('ls /dev | sort | tr "\\n" " "; echo; : > /dev/null; head -c 4 /dev/urandom | wc -c; ls /dev/pts')
    assert r.text.splitlines()[0].split() == sorted(
        ['fd', 'full', 'null', 'ptmx', 'pts', 'random', 'shm', 'stderr', 'stdin', 'stdout', 'tty', 'urandom', 'zero']), r


def test_shared_memory_and_runtime_dir(isod):
    r = isod.run('/usr/bin/python3', '-c', 'import multiprocessing as m, os, stat; m.Lock(); d=os.environ["XDG_RUNTIME_DIR"];'
                 'print(oct(stat.S_IMODE(os.stat(d).st_mode)), os.listdir(d)); print(oct(os.stat("/dev/shm").st_mode))')
    assert r.text == '0o700 []\n0o41777\n', r


@pytest.mark.parametrize('path', ['/proc/sys/kernel/core_pattern', '/proc/sysrq-trigger', '/proc/kcore', '/proc/keys',
                                  '/sys/kernel/uevent_helper', '/proc/sys/kernel/hostname'])
def test_kernel_files(isod, path):
    for user, cwd in ((USERS[0], None), ('root', '/srv')):
        r = isod.sh(f'echo x > {path}', user=user, cwd=cwd)
        assert r.rc != 0, (path, user, r)
    if path in ('/proc/kcore', '/proc/keys'):
        assert isod.sh(f'head -c 16 {path}', user='root', cwd='/srv').out == b''


def test_tmp_is_private_and_on_disk(isod):
    r = isod.sh('touch /tmp/isod-test-mark /var/tmp/isod-test-mark; stat -f -c %T /tmp; stat -c %a /tmp')
    assert r.rc == 0 and r.text.split()[1] == '1777' and r.text.split()[0] != 'tmpfs', r
    assert not os.path.exists('/tmp/isod-test-mark') and not os.path.exists('/var/tmp/isod-test-mark')


def test_allow_read_and_write(isod, root_dir):
    d = os.path.join(root_dir, 'granted')
    os.makedirs(d, exist_ok=True)
    write(os.path.join(d, 'f'), 'text\n', 0o666)
    os.chmod(d, 0o777)
    assert isod.run('cat', d + '/f').rc == 1
    r = isod.sh(f'cat {d}/f; echo x > {d}/f; touch {d}/new', options=['--allow-read', d])
    assert r.text == 'text\n' and r.rc != 0 and r.errors.count('Read-only') == 2, r
    assert isod.sh(f'echo x > {d}/f && touch {d}/new', options=['--allow-write', d]).rc == 0
    assert os.path.exists(os.path.join(d, 'new'))


def test_allow_read_of_home_parts(isod):
    path = os.path.join(pwd.getpwnam(USERS[0]).pw_dir, '.gitconfig')
    write(path, '[user]\n\tname = T\n', owner=pwd.getpwnam(USERS[0]))
    r = isod.sh('cat ~/.gitconfig; ls -A ~', options=['--allow-read', '~/.gitconfig'])
    os.unlink(path)
    assert 'name = T' in r.text and '.aws' not in r.text, r


def test_a_grant_gives_only_what_the_caller_has(isod, root_dir):
    d = os.path.join(root_dir, 'roots-own')
    os.makedirs(d, exist_ok=True)
    write(os.path.join(d, 'secret'), 'ROOTSECRET\n', 0o600)
    os.chmod(d, 0o700)
    r = isod.sh(f'cat {d}/secret', options=['--allow-read', d])
    assert 'ROOTSECRET' not in r.text
    r = isod.sh(f'cat {d}/secret', options=['--allow-read', d + '/secret'])
    assert 'ROOTSECRET' not in r.text
    r = isod.sh('cat /etc/shadow', options=['--allow-read', '/etc/shadow'])
    assert 'root:' not in r.text


def test_links_to_the_outside_lead_nowhere(isod, project):
    home = pwd.getpwnam(USERS[0]).pw_dir
    os.symlink(home + '/.ssh', os.path.join(project, 'link'))
    r = isod.sh('cat link/id_ed25519; ln -s /proc/self/root' + home + '/.ssh two; cat two/id_ed25519; '
                'cat /proc/1/root' + home + '/.ssh/id_ed25519', cwd=project)
    assert r.rc != 0 and 'KEY' not in r.text, r


def test_nosuid(isod, project):
    copy = os.path.join(project, 'id')
    subprocess.run(['cp', '/usr/bin/id', copy], check=True)
    os.chown(copy, 0, 0)
    os.chmod(copy, 0o4755)
    r = isod.run(copy, '-u')
    assert r.text.strip() == str(pwd.getpwnam(USERS[0]).pw_uid), r


def test_no_trace_on_the_host(isod, project):
    def tree():
        return sorted((os.path.join(d, n), os.lstat(os.path.join(d, n)).st_ino)
                      for d, dirs, files in os.walk(project) for n in dirs + files)
    subprocess.run(['git', 'init', '-q', project], check=True)
    subprocess.run(['chown', '-R', f'{USERS[0]}:', project], check=True)
    before, mounts = tree(), open('/proc/self/mountinfo', encoding='utf-8').read()
    for _ in range(5):
        assert isod.run('true', cwd=project).rc == 0
    assert tree() == before
    assert open('/proc/self/mountinfo', encoding='utf-8').read() == mounts
    state = os.path.join(isod.state_dir, 'sessions')
    wait_for(lambda: os.listdir(state) == [], 'scratch folders are removed')


def test_mounts_below_a_grant_are_read_only_too(isod, root_dir):
    """A recursive bind must not leave a nested mount writable. The mounts live in a namespace of their own."""
    d = os.path.join(root_dir, 'nested')
    os.makedirs(os.path.join(d, 'inner'), exist_ok=True)
    os.chmod(d, 0o777)
    subprocess.run(['mount', '-t', 'tmpfs', '-o', 'mode=777', 'isod-test', d + '/inner'], check=True)
    try:
        r = isod.sh(f'ls {d}/inner && touch {d}/inner/x', options=['--allow-read', d])
        assert r.rc != 0 and 'Read-only' in r.errors, r
    finally:
        subprocess.run(['umount', d + '/inner'], check=True)
