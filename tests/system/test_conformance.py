"""One table of hosts and ports, driven through every way in: the same verdict and reason everywhere."""
import base64
import contextlib
import json
import os
import socket
import subprocess
import threading

import pytest

from conformance import INSIDE, as_input, read
from conftest import Isod

POLICY, LINES, HELLOS = read()
# Allowed on one port at least, so that they are answered in the DNS.
OPEN_NAMES = {line.name for line in LINES if line.reason in ('allowed', 'port') and line.address is None}
OWN = ('10.9.9.9', '10.77.1.1', 'fd00:9::9')


@pytest.fixture(scope='module')
def table(root_dir, web):
    """A daemon with the table's policy; something accepts on port 8443 of every address."""
    for address in OWN:
        subprocess.run(['ip', 'addr', 'add', address + ('/128' if ':' in address else '/32'), 'dev', 'lo'], check=True)
    listener = socket.create_server(('::', 8443), family=socket.AF_INET6, dualstack_ipv6=True, backlog=64)

    def serve():
        with contextlib.suppress(OSError):
            while True:
                c = listener.accept()[0]
                with c, contextlib.suppress(OSError):
                    c.settimeout(20)
                    c.recv(65536)
                    c.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n')
    threading.Thread(target=serve, daemon=True).start()
    d = Isod(root_dir, 'table')
    d.policy(POLICY)
    d.start()
    yield d
    d.stop()
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    for address in OWN:
        subprocess.run(['ip', 'addr', 'del', address + ('/128' if ':' in address else '/32'), 'dev', 'lo'], check=True)


# A head that cannot be read is no CONNECT yet.
VIA = {'connect': ('connect', 'http'), 'http': ('http',), 'socks': ('socks',), 'captured': ('capture',)}


def drive(isod, way, lines, options=()):
    """The answers by number of the line, and the events of the session as (name, port, reason), each as often as it was."""
    items = [{'n': n, 'number': line.number, 'host': base64.b64encode(line.host).decode(), 'authority': base64.b64encode(line.authority).decode(),
              'host_text': line.host.decode('latin1'),
              'say': base64.b64encode(getattr(line, 'say', b'')).decode(), 'name': line.name, 'port': line.port, 'port_text': line.port_text, 'literal': line.address is not None,
              'family': line.address.version if line.address else 0,
              'packed': base64.b64encode(line.address.packed if line.address else b'').decode()} for n, line in enumerate(lines)]
    r = isod.run('/usr/bin/python3', '-c', INSIDE, way, input=as_input(items), options=['-q', *options])
    assert r.rc == 0, r
    answers = dict(json.loads(line) for line in r.text.splitlines())
    assert len(answers) == len(lines)
    events = []
    for e in isod.audit(isod.last_session()['id']):
        if e['event'] == 'connection':
            assert e['via'] in VIA[way.partition('_')[0]], e
            assert (e['verdict'] == 'allow') == (e['reason'] == 'allowed'), e
            events += [(e.get('name', ''), e['port'], e['reason'])] * e.get('count', 1)
    return answers, events


def same(found, expected):
    """Both as sorted lists; what differs is said, and only that."""
    missing, more = list(expected), []
    for e in found:
        if e in missing:
            missing.remove(e)
        else:
            more.append(e)
    assert (missing, more) == ([], [])


def in_a_head(line):
    """Can the host stand in a request line as one word?"""
    return all(c > 0x20 and c != 0x7f for c in line.host)


def event_in_http(line):
    return line.event('bad-http') if in_a_head(line) else ('', 0, 'bad-http')


def spoken(event, at_80='allowed'):
    """The event where what is said is not TLS: refused on port 443, whatever the way in."""
    name, port, reason = event
    return (name, port, {443: 'not-tls', 80: at_80}.get(port, reason)) if reason == 'allowed' else event


def test_connect(table):
    _, events = drive(table, 'connect', LINES)
    same(events, [event_in_http(line) for line in LINES])


def test_absolute_form(table):
    # what separates the parts of a URL separates them
    lines = [line for line in LINES if not set(line.host) & set(b'/?#')]
    assert len(LINES) - len(lines) == 3
    _, events = drive(table, 'http', lines)
    same(events, [spoken(event_in_http(line)) for line in lines])


CODES = {'allowed': 0, 'malformed': 1}


@pytest.mark.parametrize('way', ['socks', 'socks_text'])
def test_socks(table, way):
    lines = [line for line in LINES if line.port is not None]
    answers, events = drive(table, way, lines)
    empty = [line for line in lines if not line.host]
    assert {line.number: answers[line.number] for line in lines} == \
        {line.number: f'reply {CODES.get(line.reason, 2)}' for line in lines}
    assert len(empty) == 1
    same(events, [line.event('bad-socks') for line in lines])


def is_answered_inside(line):
    return line.name == 'localhost' or line.name.endswith('.localhost')


def carried_by_dns(line):
    labels = line.host.removesuffix(b'.').split(b'.')
    return line.address is None and line.port is not None and not is_answered_inside(line) and all(0 < len(label) < 64 for label in labels)


@pytest.mark.parametrize('way', ['dns_udp', 'dns_tcp'])
def test_dns(table, way):
    """Without a port: a name is answered where any port is open."""
    lines = [line for line in LINES if carried_by_dns(line) and line.reason != 'malformed']
    answers, _ = drive(table, way, lines)
    expected = {line.number: 'allowed' if line.name in OPEN_NAMES else line.reason for line in lines}
    assert answers == expected
    assert len(lines) > 40


# The session's own, and what connect(2) does not do.
NOT_CAPTURED = {'0.0.0.0', '127.0.0.1', '127.0.0.77', '::', '::1', '224.0.0.1', '255.255.255.255', 'ff02::1', 'fe80::1', '0.1.2.3', '240.0.0.1'}


def captured_name(line):
    """The kernel unwraps a mapped address."""
    mapped = getattr(line.address, 'ipv4_mapped', None)
    return str(mapped) if mapped else line.name


@pytest.mark.parametrize('way', ['captured_tls', 'captured_http', 'captured_other'])
def test_captured(table, way):
    # port 53 is the resolver's
    lines = [line for line in LINES if line.port and line.port != 53 and (line.address is not None or line.name in OPEN_NAMES) and not is_answered_inside(line)]
    lines = [line for line in lines if str(line.address) not in NOT_CAPTURED and not (line.address and str(line.address).startswith('198.18.'))]
    answers, events = drive(table, way, lines)
    assert {n: a for n, a in answers.items() if a.startswith('no way')} == {}
    expected = [(captured_name(line), line.port, line.reason) for line in lines]
    if way != 'captured_tls':
        expected = [spoken(e, 'bad-http' if way == 'captured_other' else 'allowed') for e in expected]
    same(events, expected)
    assert len(lines) > 60


@pytest.mark.parametrize('way', ['connect', 'socks', 'captured_tls'])
@pytest.mark.parametrize('denied', [False, True])
def test_hellos(table, project, way, denied):
    """By the administrator's policy, and by a file that only says that there is to be no ECH."""
    path = os.path.join(project, 'ech.json')
    with open(path, 'w', encoding='utf-8') as f:
        json.dump({'sandbox': {'network': {'tls': {'ech': 'deny'}}}}, f)
    os.chmod(path, 0o644)
    lines = [line for line in HELLOS if way != 'captured_tls' or line.address is not None or line.name in OPEN_NAMES]
    _, events = drive(table, way, lines, options=['--policy', path] if denied else [])
    same(events, [(line.name, line.port, line.denied if denied else line.reason) for line in lines])
    assert len(lines) > 18
