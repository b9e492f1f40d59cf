"""Ports of the host's loopback that are lent to a session: these alone, by localhost, and told."""
import json
import os
import socket
import threading

import pytest

from conftest import write
from waiting import wait_for

CLIENT = '''
import socket, sys
for host in sys.argv[2:]:
    try:
        c = socket.create_connection((host, int(sys.argv[1])), 20)
        c.sendall(b'hello'); c.shutdown(socket.SHUT_WR)
        print(host, c.makefile().read())
    except OSError as e:
        print(host, type(e).__name__)
'''


@pytest.fixture(params=['127.0.0.1', '::1'])
def service(request):
    """Something of the host's that listens on its loopback, for one family."""
    s = socket.socket(socket.AF_INET6 if ':' in request.param else socket.AF_INET)
    s.bind((request.param, 0))
    s.listen()

    def serve():
        while True:
            try:
                c, _ = s.accept()
            except OSError:
                return
            with c:
                while d := c.recv(100):
                    c.sendall(d.upper())

    thread = threading.Thread(target=serve)
    thread.start()
    yield s.getsockname()[1]
    s.shutdown(socket.SHUT_RDWR)
    s.close()
    thread.join()


def lend(isod, project, ports, *argv, **network):
    path = os.path.join(project, 'policy.json')
    write(path, json.dumps({'sandbox': {'network': {'hostPorts': ports, **network}}}))
    return isod.run(*argv, options=('-q', *isod.trust(path)), cwd=project)


def test_a_lent_port(isod, project, service):
    r = lend(isod, project, [service], '/usr/bin/python3', '-c', CLIENT, str(service), '127.0.0.1', '::1', 'localhost')
    assert r.text == '127.0.0.1 HELLO\n::1 HELLO\nlocalhost HELLO\n', r
    session = isod.last_session()['id']
    wait_for(lambda: len([e for e in isod.audit(session) if e.get('via') == 'host-port']) == 3, 'they are told')
    for e in [e for e in isod.audit(session) if e.get('via') == 'host-port']:
        assert (e['verdict'], e['name'], e['port'], e['bytesUp'], e['bytesDown']) == ('allow', 'localhost', service, 5, 5), e
        assert 'python3' in e['program'] and e['pid'] > 1, e


def test_nothing_else_of_the_loopback(isod, project, service):
    with socket.socket() as other:
        other.bind(('127.0.0.1', 0))
        other.listen()
        port = other.getsockname()[1]
        r = lend(isod, project, [service], '/usr/bin/python3', '-c', CLIENT, str(port), '127.0.0.1', '::1')
        assert r.text == '127.0.0.1 ConnectionRefusedError\n::1 ConnectionRefusedError\n', r
        # the proxy does not lead there either, nor to the lent one
        for p in (port, service):
            r = lend(isod, project, [service], 'curl', '-sS', '--noproxy', '', '-o', '/dev/null', '-w', '%{http_code}',
                     f'http://127.0.0.1:{p}/')
            assert r.text == '403', r


def test_nobody_listens_on_the_host(isod, project):
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))  # taken, and nobody listens
        port = s.getsockname()[1]
        r = lend(isod, project, [port], '/usr/bin/python3', '-c', CLIENT, str(port), '127.0.0.1')
    # closed or reset, whichever call of the client's meets it
    assert r.text.strip() in ('127.0.0.1', '127.0.0.1 ConnectionResetError', '127.0.0.1 BrokenPipeError', '127.0.0.1 OSError'), r
    wait_for(lambda: [e for e in isod.audit(isod.last_session()['id']) if e.get('reason') == 'unreachable'], 'it is told')


def test_what_cannot_be_meant(isod, project):
    r = lend(isod, project, [8000], 'true', publish=['9000:8000'])
    assert r.rc == 125 and 'Port 8000 of the sandbox is to lead to the host and to be published' in r.errors, r
    r = lend(isod, project, [61443], 'true')
    assert r.rc == 125 and 'belongs to isod' in r.errors, r
    r = lend(isod, project, [22, 80, 443], 'true')  # whatever the number
    assert r.rc == 0, r


def test_a_file_lends_only_once_it_is_trusted(isod, project, service):
    """It may have come with the project: its bytes must be confirmed, and any change ends that. An option says the same."""
    path = os.path.join(project, 'policy.json')
    write(path, json.dumps({'sandbox': {'network': {'hostPorts': [service], 'publish': [':8000']}}}))
    command = ('/usr/bin/python3', '-c', CLIENT, str(service), 'localhost')
    r = isod.run(*command, options=('-q', '--policy', path), cwd=project)
    assert r.rc == 125 and 'cannot lend' in r.errors and 'isoctl trust --policy FILE' in r.errors, r
    isod.trust(path)
    assert path in isod.ctl('trust', '--list').text
    assert isod.run(*command, options=('-q', '--policy', path), cwd=project).text == 'localhost HELLO\n'
    write(path, json.dumps({'sandbox': {'network': {'hostPorts': [service, 22], 'publish': [':8000']}}}))
    r = isod.run(*command, options=('-q', '--policy', path), cwd=project)
    assert r.rc == 125 and 'cannot lend' in r.errors, r
    assert isod.ctl('trust', '--policy', '--remove', path).rc == 0
    assert path not in isod.ctl('trust', '--list').text
    r = isod.run(*command, options=('-q', '--host-port', str(service)), cwd=project)
    assert r.text == 'localhost HELLO\n', r
