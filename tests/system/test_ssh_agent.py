"""The user's ssh-agent, lent by name: real ssh-agent, sshd, ssh-keygen and git."""
import base64
import json
import os
import pwd
import socket
import subprocess

import pytest

from conftest import PINS, write
from repositories import USER, as_user, git, place, repository  # noqa: F401
from servers import listening
from waiting import wait_for

ALLOWED, OTHER = 'git.example', 'evil.example'
ADDRESS = {ALLOWED: '127.0.0.77', OTHER: '127.0.0.78'}
SSH = ('ssh -o BatchMode=yes -o UserKnownHostsFile=/dev/null -o StrictHostKeyChecking=no -o LogLevel=ERROR '
       '-o IdentityFile=none ')


@pytest.fixture(scope='module')
def keys(root_dir):
    """Key pairs of the user (owned by the user) and of two hosts."""
    d = os.path.join(root_dir, 'agent')
    entry = pwd.getpwnam(USER)
    os.makedirs(d)
    for name in ('lent', 'kept', ALLOWED, OTHER):
        subprocess.run(['ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-C', f'{name}@test', '-f', f'{d}/{name}'], check=True)
    for name in ('lent', 'kept'):
        os.chown(f'{d}/{name}', entry.pw_uid, entry.pw_gid)
    os.chmod(d, 0o755)
    return d


@pytest.fixture(scope='module')
def hosts(keys):
    """The same sshd on two addresses, with a key each; both let both keys in."""
    os.makedirs('/run/sshd', mode=0o755, exist_ok=True)
    with open(f'{keys}/authorized', 'w', encoding='ascii') as f:
        for name in ('lent', 'kept'):
            f.write(public(keys, name) + '\n')
    os.chmod(f'{keys}/authorized', 0o644)
    running = []
    for name, address in ADDRESS.items():
        with open(f'{keys}/{name}.conf', 'w', encoding='ascii') as f:
            f.write(f'ListenAddress {address}\nPort 2222\nHostKey {keys}/{name}\nPidFile none\nStrictModes no\nUsePAM no\n'
                    f'AuthorizedKeysFile {keys}/authorized\nPasswordAuthentication no\n')
        running.append(subprocess.Popen(['/usr/sbin/sshd', '-D', '-e', '-f', f'{keys}/{name}.conf'],
                                        stderr=open(f'{keys}/{name}.log', 'wb')))
        wait_for(lambda a=address: listening(a, 2222), 'sshd listens')
    yield ADDRESS
    for p in running:
        p.terminate()
        p.wait()


@pytest.fixture
def agent(keys, users):
    """The user's own agent with two keys; its socket."""
    d = os.path.join(pwd.getpwnam(USER).pw_dir, '.agent')
    as_user('mkdir', '-p', d, cwd='/')
    path = f'{d}/socket'
    entry = pwd.getpwnam(USER)
    p = subprocess.Popen(['ssh-agent', '-D', '-a', path], user=entry.pw_uid, group=entry.pw_gid, extra_groups=[],
                         stdout=subprocess.DEVNULL)
    wait_for(lambda: os.path.exists(path), 'ssh-agent listens')
    for name in ('lent', 'kept'):
        subprocess.run(['ssh-add', '-q', f'{keys}/{name}'], check=True, env={'SSH_AUTH_SOCK': path, 'PATH': '/usr/bin'},
                       user=entry.pw_uid, group=entry.pw_gid, extra_groups=[])
    yield path
    p.terminate()
    p.wait()
    if os.path.exists(path):
        os.unlink(path)


def public(keys, name):
    with open(f'{keys}/{name}.pub', encoding='ascii') as f:
        return f.read().strip()


def blob(keys, name):
    return base64.b64decode(public(keys, name).split()[1])


def fingerprint(keys, name):
    return subprocess.run(['ssh-keygen', '-lf', f'{keys}/{name}.pub'], check=True, capture_output=True, text=True).stdout.split()[1]


def lend(isod, project, policy, **ssh):
    """A policy file of the user's in which ssh is lent."""
    path = os.path.join(project, f'{policy}.json')
    write(path, json.dumps({'sandbox': {'sshAgent': ssh, 'network': {'allowedDomains': [f'{h}:2222' for h in ADDRESS]}}}),
          owner=pwd.getpwnam(USER))
    return isod.trust(path)


def known(keys, *names):
    """~/.ssh/known_hosts, hashed; removed by the caller's next one."""
    home = pwd.getpwnam(USER).pw_dir
    path = f'{home}/.ssh/known_hosts'
    write(path, ''.join(f'[{n}]:2222 {" ".join(public(keys, n).split()[:2])}\n' for n in names), owner=pwd.getpwnam(USER))
    as_user('ssh-keygen', '-q', '-H', '-f', path, cwd=home)
    os.unlink(path + '.old')


def asked(isod):
    return [e for e in isod.audit(isod.last_session()['id']) if e['event'] == 'ssh-agent']


def login(host, command='id -un', options=''):
    return f'{SSH} {options} -p 2222 {USER}@{host} {command}'


def test_nothing_is_lent_unasked(isod, agent, project):
    for options in ([], ['--env', 'SSH_AUTH_SOCK']):
        r = isod.sh('ls /run/isod; ssh-add -l', cwd=project, options=options, env={'SSH_AUTH_SOCK': agent})
        assert r.rc != 0 and 'SHA256' not in r.text and 'ssh-agent' not in r.text, r


def test_only_named_keys_are_shown(isod, agent, keys, project):
    for name in (fingerprint(keys, 'lent'), 'lent@test'):
        options = lend(isod, project, 'p', keys=[name], gitSignatures=True)
        r = isod.sh('echo $SSH_AUTH_SOCK; ssh-add -l', cwd=project, options=options, env={'SSH_AUTH_SOCK': agent})
        assert r.rc == 0 and r.text.startswith('/run/isod/ssh-agent\n'), r
        assert fingerprint(keys, 'lent') in r.text and fingerprint(keys, 'kept') not in r.text, r
        [line] = asked(isod)
        assert (line['request'], line['verdict'], line['keys']) == ('list', 'allow', 1), line
        assert line['program'] == '/usr/bin/ssh-add' and line['pid'] > 1, line


def test_login_to_a_named_host_only(isod, agent, keys, hosts, project):
    known(keys, ALLOWED, OTHER)
    options = lend(isod, project, 'p', keys=['lent@test'], hosts=[f'{ALLOWED}:2222'])
    r = isod.sh(login(ALLOWED), cwd=project, options=options, env={'SSH_AUTH_SOCK': agent})
    assert r.rc == 0 and r.text == USER + '\n', (r, asked(isod))
    lines = asked(isod)
    sign = [e for e in lines if e['request'] == 'sign'][-1]
    assert (sign['verdict'], sign['for'], sign['key']) == ('allow', f'{ALLOWED}:2222', fingerprint(keys, 'lent')), sign
    bind = [e for e in lines if e['request'] == 'bind'][-1]
    assert (bind['verdict'], bind['hostKey']) == ('allow', fingerprint(keys, ALLOWED)), bind
    assert sign['program'] == '/usr/bin/ssh', sign
    # the other host would take the key, and the network is open to it
    r = isod.sh(login(OTHER), cwd=project, options=options, env={'SSH_AUTH_SOCK': agent})
    assert r.rc == 255 and USER not in r.text, r
    assert {e['reason'] for e in asked(isod) if e['request'] == 'sign'} == {'host-not-named'}, asked(isod)


@pytest.mark.parametrize('kind', [('ecdsa', '256'), ('ecdsa', '384'), ('ecdsa', '521'), ('rsa', '3072')])
def test_host_keys_of_each_kind(isod, agent, keys, project, kind):
    """The host's proof is checked with whatever key it has."""
    name = f'{keys}/host-{"-".join(kind)}'
    if not os.path.exists(name):
        subprocess.run(['ssh-keygen', '-q', '-t', kind[0], '-b', kind[1], '-N', '', '-f', name], check=True)
    with open(f'{keys}/authorized', 'w', encoding='ascii') as f:
        f.write(public(keys, 'lent') + '\n' + public(keys, 'kept') + '\n')
    with open(f'{name}.conf', 'w', encoding='ascii') as f:
        f.write(f'ListenAddress {ADDRESS[ALLOWED]}\nPort 2223\nHostKey {name}\nPidFile none\nStrictModes no\nUsePAM no\n'
                f'AuthorizedKeysFile {keys}/authorized\nPasswordAuthentication no\n')
    os.makedirs('/run/sshd', mode=0o755, exist_ok=True)
    server = subprocess.Popen(['/usr/sbin/sshd', '-D', '-e', '-f', f'{name}.conf'], stderr=subprocess.DEVNULL)
    try:
        wait_for(lambda: listening(ADDRESS[ALLOWED], 2223), 'sshd listens')
        key = ' '.join(public(keys, os.path.basename(name)).split()[:2])
        options = lend(isod, project, 'p', keys=['lent@test'], hosts=[f'{ALLOWED}:2223'], hostKeys={f'{ALLOWED}:2223': [key]})
        r = isod.sh(login(ALLOWED).replace('2222', '2223'), cwd=project, options=[*options, '--allow-domain', f'{ALLOWED}:2223'],
                    env={'SSH_AUTH_SOCK': agent})
        assert r.rc == 0 and r.text == USER + '\n', (r, asked(isod))
    finally:
        server.terminate()
        server.wait()


def test_git_over_ssh(isod, agent, keys, hosts, place):
    """clone, signed commit and push, as an agent does it."""
    known(keys, ALLOWED)
    bare = f'{place}/bare.git'
    git(place, 'init', '-q', '--bare', bare)
    as_user('mkdir', f'{place}/work', cwd=place)
    options = lend(isod, place, 'p', keys=['lent@test'], hosts=[f'{ALLOWED}:2222'], gitSignatures=True)
    script = (f'git clone -q ssh://{USER}@{ALLOWED}:2222{bare} c && cd c && git -c gpg.format=ssh -c user.signingkey="{public(keys, "lent")}" '
              'commit -q -S --allow-empty -m one && git push -q origin HEAD:main')
    r = isod.sh(script, cwd=f'{place}/work', options=options, env={'SSH_AUTH_SOCK': agent, 'GIT_SSH_COMMAND': SSH.strip()})
    assert r.rc != 0, r  # GIT_SSH_COMMAND runs code and does not pass by itself
    r = isod.sh(f'export GIT_SSH_COMMAND="{SSH.strip()}"; {script}', cwd=f'{place}/work', options=options, env={'SSH_AUTH_SOCK': agent})
    assert r.rc == 0, (r, asked(isod))
    write(f'{place}/signers', f'uni@example.org {public(keys, "lent")}\n', owner=pwd.getpwnam(USER))
    shown = git(bare, '-c', f'gpg.ssh.allowedSignersFile={place}/signers', 'log', '-1', '--format=%s %G?', 'main')
    assert shown == 'one G\n', shown
    assert {(e['for']) for e in asked(isod) if e['request'] == 'sign'} == {'git', f'{ALLOWED}:2222'}, asked(isod)


def test_host_keys_of_the_policy(isod, agent, keys, hosts, project):
    """Without known_hosts; and the administrator's word on a host is the last one."""
    known(keys)
    short = ' '.join(public(keys, ALLOWED).split()[:2])
    options = lend(isod, project, 'p', keys=['lent@test'], hosts=[f'{ALLOWED}:2222'])
    r = isod.sh(login(ALLOWED), cwd=project, options=options, env={'SSH_AUTH_SOCK': agent})
    assert r.rc == 255 and 'no key of git.example:2222 is known' in r.errors, r
    options = lend(isod, project, 'p', keys=['lent@test'], hosts=[f'{ALLOWED}:2222'], hostKeys={f'{ALLOWED}:2222': [short]})
    r = isod.sh(login(ALLOWED), cwd=project, options=options, env={'SSH_AUTH_SOCK': agent})
    assert r.rc == 0, r
    other = ' '.join(public(keys, OTHER).split()[:2])
    isod.policy({'hosts': PINS, 'sandbox': {'sshAgent': {'hostKeys': {f'{ALLOWED}:2222': [other]}}}})
    r = isod.sh(login(ALLOWED), cwd=project, options=options, env={'SSH_AUTH_SOCK': agent})
    assert r.rc == 255, r
    isod.policy({'hosts': PINS, 'sandbox': {'sshAgent': {'enabled': False}}})
    r = isod.sh('ssh-add -l', cwd=project, options=options, env={'SSH_AUTH_SOCK': agent})
    assert r.rc == 2, r


def test_no_forwarding(isod, agent, keys, hosts, project):
    """ssh -A to an allowed host: what the other machine asks over it is refused, and so is its bind."""
    known(keys, ALLOWED)
    options = lend(isod, project, 'p', keys=['lent@test'], hosts=[f'{ALLOWED}:2222'], gitSignatures=True)
    sign = 'echo x > /tmp/f$$; ssh-keygen -Y sign -n git -f %s/lent.pub /tmp/f$$; rm -f /tmp/f$$*' % keys
    r = isod.sh(login(ALLOWED, f'"ssh-add -l; {sign}"', '-A'), cwd=project, options=options, env={'SSH_AUTH_SOCK': agent})
    assert 'BEGIN SSH SIGNATURE' not in r.text, r
    refused = [(e['request'], e['reason']) for e in asked(isod) if e['verdict'] == 'deny']
    assert ('bind', 'forwarded') in refused and ('sign', 'forwarded') in refused, (r, asked(isod))


def test_git_signatures(isod, agent, keys, place):
    main = repository(place)
    git(main, 'config', 'gpg.format', 'ssh')
    git(main, 'config', 'user.signingkey', public(keys, 'lent'))
    lent = lend(isod, place, 'p', keys=['lent@test'], gitSignatures=True)
    r = isod.sh('git commit -q -S --allow-empty -m signed && git tag -s -m t v1', cwd=main, options=lent, env={'SSH_AUTH_SOCK': agent})
    assert r.rc == 0, (r, asked(isod))
    write(f'{place}/signers', f'uni@example.org {public(keys, "lent")}\n', owner=pwd.getpwnam(USER))
    shown = git(main, '-c', f'gpg.ssh.allowedSignersFile={place}/signers', 'log', '-1', '--format=%G?')
    assert shown == 'G\n', shown
    assert {(e['for'], e['verdict']) for e in asked(isod) if e['request'] == 'sign'} == {('git', 'allow')}, asked(isod)
    # any other namespace, a key that is not lent, and a policy that does not say so
    write(f'{main}/lent.pub', public(keys, 'lent') + '\n', owner=pwd.getpwnam(USER))
    r = isod.sh('echo x > f; ssh-keygen -Y sign -n file -f lent.pub f', cwd=main, options=lent, env={'SSH_AUTH_SOCK': agent})
    assert r.rc != 0 and not os.path.exists(f'{main}/f.sig'), r
    assert [e['reason'] for e in asked(isod) if e['request'] == 'sign'] == ['namespace'], asked(isod)
    r = isod.sh(f'git -c user.signingkey="{public(keys, "kept")}" commit -q -S --allow-empty -m x', cwd=main, options=lent, env={'SSH_AUTH_SOCK': agent})
    assert r.rc != 0, r
    hosts_only = lend(isod, place, 'q', keys=['lent@test'], hosts=[ALLOWED])
    r = isod.sh('git commit -q -S --allow-empty -m x', cwd=main, options=hosts_only, env={'SSH_AUTH_SOCK': agent})
    assert r.rc != 0, r
    assert [e['reason'] for e in asked(isod) if e['request'] == 'sign'] == ['namespace'], asked(isod)


RAW = r'''
import os, socket, struct, sys
def s(b): return struct.pack(">I", len(b)) + b
def ask(body, c=None):
    if c is None:
        c = socket.socket(socket.AF_UNIX); c.connect(os.environ["SSH_AUTH_SOCK"])
    c.sendall(s(body))
    head = c.recv(4, socket.MSG_WAITALL)
    return c.recv(struct.unpack(">I", head)[0], socket.MSG_WAITALL) if len(head) == 4 else b""
key = bytes.fromhex(sys.argv[1])
def login(sid, host=b""):
    return s(sid) + b"\x32" + s(b"git") + s(b"ssh-connection") + s(b"publickey") + b"\x01" + s(b"ssh-ed25519") + s(key)
'''


def raw(isod, project, options, agent, keys, code):
    script = os.path.join(project, 'raw.py')
    write(script, RAW + code, owner=pwd.getpwnam(USER))
    return isod.run('/usr/bin/python3', script, blob(keys, 'lent').hex(), cwd=project, options=options, env={'SSH_AUTH_SOCK': agent})


def test_raw_requests_are_refused(isod, agent, keys, project):
    options = lend(isod, project, 'p', keys=['lent@test'], hosts=[f'{ALLOWED}:2222'], gitSignatures=True)
    r = raw(isod, project, options, agent, keys, r'''
assert ask(b"\x0b")[0] == 12
for data in (b"", b"x" * 32, b"tree 1", login(b"S" * 32), b"SSHSIG" + s(b"git") + s(b"") + s(b"sha512") + s(b"short")):
    assert ask(b"\x0d" + s(key) + s(data) + b"\0" * 4) == b"\x05", data
git = b"SSHSIG" + s(b"git") + s(b"") + s(b"sha512") + s(bytes(64))
assert ask(b"\x0d" + s(key) + s(git) + b"\0" * 4)[0] == 14
assert ask(b"\x0d" + s(key[:-1] + b"\0") + s(git) + b"\0" * 4) == b"\x05"
# add, remove, remove all, lock, unlock, smartcards, other extensions, nonsense
for body in (b"\x11" + s(b"ssh-ed25519"), b"\x12" + s(key), b"\x13", b"\x16" + s(b"pw"), b"\x17" + s(b"pw"), b"\x14", b"\x1a", b"\x1b" + s(b"query"),
             b"\x1b" + s(b"session-bind@openssh.com") + s(b"k") + s(b"i") + s(b"sig") + b"\0", b"\x01", b"\xff", b"\x0d", b"\x0b\0"):
    assert ask(body) == b"\x05", body
# a frame that is too long, or empty, ends the connection
for head in (b"\xff\xff\xff\xff", b"\0\0\0\0"):
    c = socket.socket(socket.AF_UNIX); c.connect(os.environ["SSH_AUTH_SOCK"]); c.sendall(head)
    assert c.recv(1) == b""
''')
    assert r.rc == 0, (r, asked(isod))
    reasons = {e['reason'] for e in asked(isod)}
    assert reasons == {'allowed', 'not-recognised', 'not-bound', 'key-not-named', 'not-served', 'malformed', 'host-not-named'}, reasons
    # the agent's keys are as they were
    entry = pwd.getpwnam(USER)
    listed = subprocess.run(['ssh-add', '-l'], env={'SSH_AUTH_SOCK': agent, 'PATH': '/usr/bin'}, capture_output=True, text=True, check=True,
                            user=entry.pw_uid, group=entry.pw_gid, extra_groups=[]).stdout
    assert listed.count('SHA256') == 2, listed


def test_bind_needs_the_hosts_signature(isod, agent, keys, project):
    """A program that knows the host's key and a session id gets nothing by it; with the host's signature it would."""
    options = lend(isod, project, 'p', keys=['lent@test'], hosts=[ALLOWED],
                   hostKeys={ALLOWED: [' '.join(public(keys, ALLOWED).split()[:2])]})
    r = raw(isod, project, options, agent, keys, f'''
host = bytes.fromhex("{blob(keys, ALLOWED).hex()}")
c = socket.socket(socket.AF_UNIX); c.connect(os.environ["SSH_AUTH_SOCK"])
ask(b"\\x0b", c)
forged = s(b"ssh-ed25519") + s(bytes(64))
assert ask(b"\\x1b" + s(b"session-bind@openssh.com") + s(host) + s(b"S" * 32) + s(forged) + b"\\0", c) == b"\\x05"
assert ask(b"\\x0d" + s(key) + s(login(b"S" * 32)) + b"\\0" * 4, c) == b"\\x05"
''')
    assert r.rc == 0, r
    assert [e['reason'] for e in asked(isod) if e['request'] != 'list'] == ['bad-proof', 'not-bound'], asked(isod)


def test_who_has_finished_writing_is_answered(isod, agent, keys, project):
    """Programs close their side after the request (nc -N); the answer of the user's agent comes all the same."""
    options = lend(isod, project, 'p', keys=['lent@test'], gitSignatures=True)
    r = raw(isod, project, options, agent, keys, r'''
for i in range(20):
    c = socket.socket(socket.AF_UNIX); c.connect(os.environ["SSH_AUTH_SOCK"])
    c.sendall(s(b"\x0b") * 2); c.shutdown(socket.SHUT_WR)
    got = b""
    while d := c.recv(65536): got += d
    n = struct.unpack(">I", got[:4])[0]
    assert got[4] == 12 and got == got[:4 + n] * 2, got
''')
    assert r.rc == 0, r


def test_hostbound(isod, agent, keys, hosts, project):
    """OpenSSH on both ends names the host in what is signed; a program that does not is refused where the policy wants it."""
    known(keys, ALLOWED)
    options = lend(isod, project, 'p', keys=['lent@test'], hosts=[f'{ALLOWED}:2222'], hostbound=True)
    r = isod.sh(login(ALLOWED), cwd=project, options=options, env={'SSH_AUTH_SOCK': agent})
    assert r.rc == 0 and r.text == USER + '\n', (r, asked(isod))
    r = isod.sh(login(ALLOWED, options='-o PubkeyAuthentication=unbound'), cwd=project, options=options, env={'SSH_AUTH_SOCK': agent})
    assert r.rc == 255 and 'not-hostbound' in {e['reason'] for e in asked(isod)}, (r, asked(isod))


def test_flood_is_bounded(isod, agent, keys, project):
    """Many connections, many requests, half frames, nobody who reads: counted in a few lines, others are served."""
    options = lend(isod, project, 'p', keys=['lent@test'], gitSignatures=True)
    r = raw(isod, project, options, agent, keys, r'''
held = []
for i in range(15):
    c = socket.socket(socket.AF_UNIX); c.connect(os.environ["SSH_AUTH_SOCK"]); c.sendall(s(b"x" * 30000)[:-1]); held.append(c)
deaf = held.pop(); deaf.close()
c = socket.socket(socket.AF_UNIX); c.connect(os.environ["SSH_AUTH_SOCK"])
c.sendall(s(b"\x13") * 20000)
got = b""
while len(got) < 5 * 20000:
    got += c.recv(65536)
assert got == s(b"\x05") * 20000
c.setblocking(False)
try:
    while True: c.send(s(b"\x0b") * 1000)
except BlockingIOError: pass
assert ask(b"\x0b")[0] == 12
''')
    assert r.rc == 0, r
    lines = asked(isod)
    assert len(lines) < 100 and sum(e.get('count', 1) for e in lines if e.get('type') == 0x13) == 20000, lines[:20]


def test_ever_new_requests_are_bounded_in_the_log(isod, agent, keys, project):
    """No two in a row are alike, so none stand together: some hundred lines, and the number of the others."""
    options = lend(isod, project, 'p', keys=['lent@test'], gitSignatures=True)
    r = raw(isod, project, options, agent, keys, r'''
c = socket.socket(socket.AF_UNIX); c.connect(os.environ["SSH_AUTH_SOCK"])
for i in range(30):
    c.sendall((s(b"\x13") + s(b"\x14")) * 100)
    assert c.recv(1000, socket.MSG_WAITALL) == s(b"\x05") * 200
''')
    assert r.rc == 0, r
    events = isod.audit(isod.last_session()['id'])
    told = [e for e in events if e['event'] == 'ssh-agent']
    lost = sum(e['count'] for e in events if e['event'] == 'events.lost')
    assert 100 < len(told) < 1000 and sum(e.get('count', 1) for e in told) + lost == 6000, (len(told), lost)


def test_an_agent_that_goes(isod, agent, keys, project):
    options = lend(isod, project, 'p', keys=['lent@test'], gitSignatures=True)
    p = isod.popen('run', *options, '--', 'sh', '-c', 'ssh-add -l; read x; ssh-add -l; echo rc=$?; echo alive', cwd=project,
                   env={'SSH_AUTH_SOCK': agent}, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert b'lent@test' in p.stdout.readline()
    entry = pwd.getpwnam(USER)
    pids = subprocess.run(['pgrep', '-u', str(entry.pw_uid), '-f', f'ssh-agent -D -a {agent}'], capture_output=True, text=True, check=True).stdout.split()
    for pid in pids:
        os.kill(int(pid), 9)
    out, _ = p.communicate(b'\n', timeout=60)
    assert p.returncode == 0 and b'alive' in out and b'SHA256' not in out, out
    assert [e['reason'] for e in asked(isod)][-1] == 'agent-failed', asked(isod)


def test_a_client_cannot_lend_what_is_not_its_own(isod, keys, project):
    """isod asks the kernel whose the other end is: a socket of root's is refused, and nothing runs."""
    path = os.path.join(pwd.getpwnam(USER).pw_dir, '.agent-root')
    listener = socket.socket(socket.AF_UNIX)
    if os.path.exists(path):
        os.unlink(path)
    listener.bind(path)
    os.chmod(path, 0o666)
    listener.listen(1)
    options = lend(isod, project, 'p', keys=['lent@test'], gitSignatures=True)
    r = isod.sh('echo ran', cwd=project, options=options, env={'SSH_AUTH_SOCK': path})
    listener.close()
    os.unlink(path)
    assert r.rc == 125 and 'same user' in r.errors and 'ran' not in r.text, r


def test_with_a_terminal(isod, agent, keys, project):
    options = lend(isod, project, 'p', keys=['lent@test'], gitSignatures=True)
    r = isod.sh('ssh-add -l', cwd=project, options=['--tty', *options], env={'SSH_AUTH_SOCK': agent}, stdin=subprocess.DEVNULL)
    assert fingerprint(keys, 'lent') in r.text, r


def test_without_an_agent(isod, keys, project):
    options = lend(isod, project, 'p', keys=['lent@test'], gitSignatures=True)
    r = isod.sh('echo "[$SSH_AUTH_SOCK]"', cwd=project, options=options)
    assert r.rc == 0 and r.text == '[]\n' and 'SSH_AUTH_SOCK leads to none' in r.errors, r


def program(pid):
    try:
        return os.readlink(f'/proc/{pid}/exe')
    except FileNotFoundError:  # it has ended
        return ''


def held(isod):
    return {pid: len(os.listdir(f'/proc/{pid}/fd')) for pid in (isod.process.pid, *isod.helpers())}


def test_nothing_is_left(isod, agent, keys, project):
    """Descriptors of sessions that end, that are refused, and whose filter is killed."""
    options = lend(isod, project, 'p', keys=['lent@test'], gitSignatures=True)
    kept = {'SSH_AUTH_SOCK': agent}
    assert isod.sh('ssh-add -l', cwd=project, options=options, env=kept).rc == 0
    wait_for(lambda: len(isod.helpers()) == 1 and not isod.sessions(user='root'), 'only isod-control is left')
    before = held(isod)
    for _ in range(5):
        assert isod.sh('ssh-add -l', cwd=project, options=options, env=kept).rc == 0
        assert isod.run('/nonexistent', cwd=project, options=options, env=kept).rc == 127
        p = isod.popen('run', *options, '--', 'sh', '-c', 'ssh-add -l; cat', cwd=project, env=kept, stdin=subprocess.PIPE,
                       stdout=subprocess.PIPE)
        assert b'lent@test' in p.stdout.readline()
        os.kill(next(pid for pid in isod.helpers() if program(pid).endswith('/isod-session-ssh')), 9)
        p.communicate(timeout=60)
        assert p.returncode == 125, p.returncode
    wait_for(lambda: len(isod.helpers()) == 1 and not isod.sessions(user='root'), 'only isod-control is left')
    # what the first one left for a moment counts as before; fifteen leaks would be more
    wait_for(lambda: all(n <= before[pid] for pid, n in held(isod).items()), 'nothing is left', 10)
