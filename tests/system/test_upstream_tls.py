"""A proxy of https://: its certificate is what shows who it is, and TLS around the tunnel changes nothing in it."""
import hashlib
import json
import os
import pwd
import shutil
import socket
import ssl
import subprocess
import threading

import pytest

from conftest import BUILD, USERS, write
from connect_proxy import ConnectProxy
from test_upstream_proxy import ALLOW, NAMES, PASSWORD, WAYS, ca, connections, proxy_value, upstream  # noqa: F401 (a fixture)
from waiting import wait_for

PORT = 3443
# What the certificate is for, and until when; then what the client hears.
CERTIFICATES = {
    'good': ('subjectAltName=IP:127.0.0.88,DNS:localhost', 30),
    'name': ('subjectAltName=DNS:proxy.example', 30),
    'subject': ('subjectAltName=DNS:other.example', 30),
    'expired': ('subjectAltName=IP:127.0.0.88', -1),
}


@pytest.fixture(scope='session')
def certificates(root_dir):
    """A CA of the network's own, and what it, or nobody, has signed. The folder."""
    d = os.path.join(root_dir, 'proxy-tls')
    os.mkdir(d)

    def openssl(*arguments):
        subprocess.run(['openssl', *arguments], cwd=d, check=True, capture_output=True)

    for name in ('ca', 'self'):
        openssl('req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '30', '-subj', f'/CN={name}',
                '-addext', 'subjectAltName=IP:127.0.0.88', '-keyout', f'{name}.key', '-out', f'{name}.pem')
    for name, (alternative, days) in CERTIFICATES.items():
        write(os.path.join(d, 'ext'), alternative)
        openssl('req', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-subj', '/CN=127.0.0.88',
                '-keyout', f'{name}.key', '-out', f'{name}.csr')
        openssl('x509', '-req', '-in', f'{name}.csr', '-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-days', str(days),
                '-extfile', 'ext', '-out', f'{name}.pem')
    return d


@pytest.fixture
def tls_proxy(certificates):
    proxies = []

    def start(name='good', newest=ssl.TLSVersion.TLSv1_3):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = context.maximum_version = newest
        context.set_ciphers('ALL:@SECLEVEL=0')
        context.load_cert_chain(os.path.join(certificates, f'{name}.pem'), os.path.join(certificates, f'{name}.key'))
        proxies.append(ConnectProxy('127.0.0.88', PORT, PASSWORD, NAMES, {'closed.example': b''}, context))
        return proxies[-1]

    yield start
    for p in proxies:
        p.stop()


def secure(isod, certificates, trusted='ca', **members):
    if trusted:
        with open(os.path.join(certificates, f'{trusted}.pem'), encoding='ascii') as f:
            write(os.path.join(isod.config_dir, 'proxy-ca.pem'), f.read(), 0o644)
        members = {'caFile': '/etc/isod/proxy-ca.pem', **members}
    upstream(isod, **{'url': f'https://127.0.0.88:{PORT}', **members})


@pytest.mark.parametrize('version', [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_every_way_goes_through_it(isod, web, ca, certificates, tls_proxy, version):  # noqa: F811
    secure(isod, certificates)
    proxy = tls_proxy(newest=version)
    script = '\n'.join(f'curl -sS --max-time 60 --cacert {ca} {" ".join(repr(a) for a in arguments)} || echo FAILED {way}'
                       for way, (arguments, _) in WAYS.items())
    r = isod.sh(script, options=[*ALLOW, '--allow-domain', '192.0.2.7'])
    assert r.out == b'hello from nginx\n' * len(WAYS), (r, proxy.alerts)
    assert proxy.asked == [authority for _, authority in WAYS.values()]
    assert all(proxy_value() in h for h in proxy.headers)
    events = connections(isod)
    assert len(events) == len(WAYS) and all(e['verdict'] == 'allow' and e['bytesDown'] > 17 for e in events), events


REFUSED = {'name': 'IP address mismatch', 'subject': 'IP address mismatch', 'expired': 'certificate has expired',
           'self': 'self'}


@pytest.mark.parametrize('name', [*REFUSED, 'system', 'old'])
def test_who_does_not_show_who_it_is_hears_nothing(isod, certificates, tls_proxy, name):
    """Neither the password nor a name that is asked for."""
    secure(isod, certificates, trusted=None if name == 'system' else 'ca')
    proxy = tls_proxy(name if name in REFUSED else 'good', ssl.TLSVersion.TLSv1_1 if name == 'old' else ssl.TLSVersion.TLSv1_3)
    r = isod.sh('curl -s -i http://git.example/; curl -s -o /dev/null -w "%{http_connect} %header{x-isod-reason}\\n" https://git.example/',
                options=ALLOW)
    what = 'TLS with it fails' if name == 'old' else 'Its certificate is not valid'
    assert '502 Bad Gateway (isod: proxy-unreachable)' in r.text and what in r.text and REFUSED.get(name, '') in r.text, r
    assert [e['reason'] for e in connections(isod)] == ['proxy-unreachable'] * 2
    assert proxy.asked == [] and len(proxy.alerts) == 2, proxy.asked
    assert f'upstream proxy: {what}' in isod.log()


def test_a_proxy_without_tls(isod, certificates):
    secure(isod, certificates)
    heard = []

    def serve(listener):
        client, _ = listener.accept()
        with client:
            heard.append(client.recv(65536))
            client.sendall(b'HTTP/1.1 400 Bad Request\r\n\r\n')
            heard.append(client.recv(65536))

    with socket.create_server(('127.0.0.88', PORT)) as listener:
        server = threading.Thread(target=serve, args=(listener,), daemon=True)
        server.start()
        r = isod.sh('curl -s -i http://git.example/', options=ALLOW)
        server.join(60)
    assert 'isod: proxy-unreachable' in r.text and 'TLS with it fails: ' in r.text, r
    # A hello, an alert or the end, and no question.
    assert heard[0][:1] == b'\x16' and len(heard) == 2 and not [h for h in heard if b'CONNECT' in h or b'Basic' in h], heard


def test_its_answers(isod, certificates, tls_proxy):
    secure(isod, certificates, authFile=None)
    tls_proxy()
    r = isod.sh('curl -s -i http://git.example/', options=ALLOW)
    assert '(isod: proxy-auth)' in r.text and 'The upstream proxy answered 407.' in r.text, r
    secure(isod, certificates)
    r = isod.sh('curl -s -i http://closed.example/', options=['--allow-domain', 'closed.example'])
    assert '(isod: proxy-unreachable)' in r.text and 'certificate' not in r.text, r


BYTES = 24 << 20
# Both ways at once, one end of the client's first; then what has come.
BOTH_WAYS = f'''
import hashlib, socket, threading
s = socket.create_connection(("ssh.example", 22))
assert s.recv(5) == b"hello"
def send():
    for i in range({BYTES} // 65536):
        s.sendall(bytes([i % 251]) * 65536)
    s.shutdown(socket.SHUT_WR)
threading.Thread(target=send).start()
h, n = hashlib.sha256(), 0
while data := s.recv(1 << 20):
    h.update(data)
    n += len(data)
print(n, h.hexdigest())
'''


def echo(listener, got):
    client, _ = listener.accept()
    with client:
        client.sendall(b'hello')
        while data := client.recv(1 << 20):
            got.append(len(data))
            client.sendall(data)
        # Only now, which the client has waited for.
        client.sendall(b'the last words')


def test_both_ways_at_once_and_half_closed(isod, certificates, tls_proxy):
    secure(isod, certificates)
    tls_proxy()
    got = []
    with socket.create_server(('127.0.0.90', 22)) as listener:
        threading.Thread(target=echo, args=(listener, got), daemon=True).start()
        r = isod.run('/usr/bin/python3', '-c', BOTH_WAYS, options=ALLOW)
    expected = hashlib.sha256()
    for i in range(BYTES // 65536):
        expected.update(bytes([i % 251]) * 65536)
    expected.update(b'the last words')
    assert r.text.split() == [str(BYTES + 14), expected.hexdigest()], r
    assert sum(got) == BYTES
    assert [(e['reason'], e['bytesUp'], e['bytesDown']) for e in connections(isod)] == [('allowed', BYTES, BYTES + 19)]


# Ends at once, with all of it on its way.
UPLOAD = '''
import socket
s = socket.create_connection(("ssh.example", 22))
s.recv(5)
s.sendall(b"x" * (1 << 20))
'''


def swallow(listener, got, done):
    client, _ = listener.accept()
    with client:
        client.sendall(b'hello')
        while data := client.recv(1 << 16):
            got.append(len(data))
    done.set()


def test_what_a_program_sent_before_its_end_arrives(isod, certificates, tls_proxy):
    secure(isod, certificates)
    tls_proxy()
    got, done = [], threading.Event()
    with socket.create_server(('127.0.0.90', 22)) as listener:
        threading.Thread(target=swallow, args=(listener, got, done), daemon=True).start()
        r = isod.run('/usr/bin/python3', '-c', UPLOAD, options=ALLOW)
        assert r.rc == 0 and done.wait(60), r
    assert sum(got) == 1 << 20


def test_an_end_that_is_not_its_own_is_no_end(isod, certificates, tls_proxy):
    """A reply without a length ends with the connection: cut by somebody in between it must not look whole."""
    secure(isod, certificates)
    proxy = tls_proxy()
    with socket.create_server(('127.0.0.77', 8088)) as listener:

        def serve():
            for _ in range(2):
                client, _ = listener.accept()
                with client:
                    client.recv(65536)
                    client.sendall(b'HTTP/1.0 200 OK\r\n\r\nhalf')
                    client.shutdown(socket.SHUT_WR)
                    client.recv(1)

        threading.Thread(target=serve, daemon=True).start()
        url, options = 'http://git.example:8088/', ['--allow-domain', 'git.example:8088']
        whole = isod.sh(f'curl -s {url}; echo " $?"', options=options)
        proxy.cut.add('git.example')
        cut = isod.sh(f'curl -s {url}; echo " $?"', options=options)
    assert whole.text == 'half 0\n', whole
    assert not cut.text.endswith(' 0\n'), cut


@pytest.mark.parametrize('spoil, message', [
    (lambda path: os.chmod(path, 0o664), 'can be written by others than root'),
    (lambda path: os.chown(path, 1, 0), 'can be written by others than root'),
    (lambda path: (os.rename(path, path + '.real'), os.symlink(path + '.real', path)), 'is a link'),
    (lambda path: os.unlink(path), 'is not there'),
    (lambda path: write(path, 'nothing\n'), 'has none in it'),
])
def test_a_file_that_cannot_be_trusted_starts_nothing(isod, certificates, spoil, message):
    secure(isod, certificates)
    path = os.path.join(isod.config_dir, 'proxy-ca.pem')
    spoil(path)
    try:
        r = isod.sh('echo RAN')
        assert r.rc != 0 and 'RAN' not in r.text and message in r.errors and 'remedy' in r.errors, r
    finally:
        subprocess.run(['rm', '-f', path, path + '.real'], check=True)


@pytest.fixture
def agent(project):
    """The user's own, with one key; its socket."""
    entry = pwd.getpwnam(USERS[0])
    ids = {'user': entry.pw_uid, 'group': entry.pw_gid, 'extra_groups': []}
    key, path = os.path.join(project, 'key'), os.path.join(project, 'agent')
    subprocess.run(['ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-C', 'lent@test', '-f', key], check=True, **ids)
    with subprocess.Popen(['ssh-agent', '-D', '-a', path], stdout=subprocess.DEVNULL, **ids) as p:
        wait_for(lambda: os.path.exists(path), 'ssh-agent listens')
        subprocess.run(['ssh-add', '-q', key], check=True, env={'SSH_AUTH_SOCK': path, 'PATH': '/usr/bin'}, **ids)
        yield path
        p.terminate()


def test_an_agent_is_lent_as_well(isod, web, project, agent, certificates, tls_proxy):
    """Two services in one program."""
    secure(isod, certificates)
    proxy = tls_proxy()
    policy = os.path.join(project, 'lend.json')
    write(policy, json.dumps({'sandbox': {'sshAgent': {'keys': ['lent@test'], 'gitSignatures': True}}}), owner=pwd.getpwnam(USERS[0]))
    r = isod.sh('ssh-add -l; curl -sS http://git.example/hello', cwd=project, options=[*isod.trust(policy), *ALLOW],
                env={'SSH_AUTH_SOCK': agent})
    assert 'lent@test' in r.text and 'hello from nginx' in r.text and proxy.asked == ['git.example:80'], r


@pytest.mark.parametrize('trust', ['caFile', 'system', 'environment'])
def test_the_gateway_outside_a_session(isod, web, certificates, tls_proxy, root_dir, trust):
    """It, too; and whom the system trusts, from which folder no variable leads away."""
    secure(isod, certificates, trusted='ca' if trust == 'caFile' else None)
    proxy = tls_proxy()
    folder = os.path.join(root_dir, f'trusted-{trust}')
    os.mkdir(folder)
    shutil.copy(os.path.join(certificates, 'ca.pem'), folder)
    subprocess.run(['openssl', 'rehash', folder], check=True)
    system = subprocess.run(['openssl', 'version', '-d'], check=True, capture_output=True, text=True).stdout.split('"')[1] + '/certs'
    environment = {'SSL_CERT_FILE': f'{folder}/ca.pem', 'SSL_CERT_DIR': folder} if trust == 'environment' else {}
    arguments = [os.path.join(BUILD, 'isod-gateway'), '0', f'administrator={isod.config_dir}/policy.json', 'allow=git.example']
    if trust == 'system':
        arguments = ['unshare', '--mount', 'sh', '-c', f'mount --bind {folder} {system} && exec "$@"', 'sh', *arguments]
    with subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True, env={**os.environ, **environment}) as gateway:
        try:
            port = gateway.stderr.readline().partition('"port":')[2].partition(',')[0].strip()
            r = subprocess.run(['curl', '-sS', '-x', f'http://127.0.0.1:{port}', 'http://git.example/hello'], capture_output=True,
                               timeout=60, check=False)
        finally:
            gateway.terminate()
    if trust == 'environment':
        assert b'Its certificate is not valid' in r.stdout and proxy.asked == [], r
    else:
        assert r.stdout == b'hello from nginx\n' and proxy.asked == ['git.example:80'], r
