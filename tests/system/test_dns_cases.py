"""Names and addresses: what the host's resolver answers is checked, once, before anything is dialled."""
import socket
import subprocess

import pytest

from conftest import Isod
from dns_server import resolver
from waiting import wait_for

OWN = ('93.184.216.77', '2a00:1450:4001::77')


@pytest.fixture(scope='module')
def dns(root_dir):
    with resolver(root_dir) as server:
        yield server


@pytest.fixture(scope='module')
def named(root_dir, dns):
    """A daemon whose sessions use the resolver of the tests."""
    d = Isod(root_dir, 'named')
    d.policy({})
    d.start()
    yield d
    d.stop()


PORT = 8080


@pytest.fixture(scope='module')
def listener():
    """Any connection that is made to this machine on PORT (nginx of the other tests has 80) is counted."""
    for address in OWN:
        subprocess.run(['ip', 'addr', 'add', address + ('/128' if ':' in address else '/32'), 'dev', 'lo'], check=True)
    s = socket.create_server(('::', PORT), family=socket.AF_INET6, dualstack_ipv6=True, backlog=64)
    s.setblocking(False)
    yield s
    s.close()
    for address in OWN:
        subprocess.run(['ip', 'addr', 'del', address + ('/128' if ':' in address else '/32'), 'dev', 'lo'], check=True)


def accepted(s):
    n = 0
    while True:
        try:
            s.accept()[0].close()
            n += 1
        except BlockingIOError:
            return n


def get(isod, name, *options):
    return isod.run('curl', '-sS', '-i', '--max-time', '20', f'http://{name}:{PORT}/', options=['-q', '--allow-domain', f'{name}:{PORT}', *options])


def last_connection(isod):
    return [e for e in isod.audit(isod.last_session()['id']) if e['event'] == 'connection'][-1]


SPECIAL = ['::ffff:127.0.0.1', '::ffff:a9fe:a9fe', '::127.0.0.1', '64:ff9b::a00:1', '2002:7f00:1::', '::', '0.0.0.0', 'fc00::1',
           'fe80::1', '100.64.0.1', '198.18.0.1', '192.0.0.1', '224.0.0.1', '255.255.255.255', 'fd00:ec2::254', '127.0.0.1', '::1',
           '10.0.0.5', '172.16.0.1', '192.168.1.1', '169.254.169.254', 'ff02::1', '0.1.2.3', '240.0.0.1', '127.255.255.254', *OWN]


@pytest.mark.parametrize('address', SPECIAL)
def test_special_addresses_as_answers(named, dns, listener, address):
    """Case 86, the host's own global addresses among them."""
    dns.answers['target.test-zone.net'] = [address]
    accepted(listener)
    r = get(named, 'target.test-zone.net')
    assert ' 403 ' in r.text.splitlines()[0] and 'private-address' in r.text, r
    assert accepted(listener) == 0
    entry = last_connection(named)
    assert entry['verdict'] == 'deny' and entry['reason'] == 'private-address', entry


@pytest.mark.parametrize('address', OWN)
def test_a_rule_that_names_the_own_address_opens_it(named, dns, listener, address):
    """Case 86: unless the rule names that address. Nobody answers, but the connection is made."""
    dns.answers['target.test-zone.net'] = [address]
    accepted(listener)
    rule = f'[{address}]:{PORT}' if ':' in address else f'{address}:{PORT}'
    p = named.popen('run', '-q', '--allow-domain', f'target.test-zone.net:{PORT}', '--allow-domain', rule, '--', 'curl', '-sS',
                    '--max-time', '20', f'http://target.test-zone.net:{PORT}/', stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_for(lambda: accepted(listener) > 0, 'the own address is dialled')
    p.communicate(timeout=120)


def test_rebinding(named, dns, listener):
    """Case 85: one resolution a connection; the address that was checked is the one that is dialled."""
    turns = iter(['203.0.113.5', '127.0.0.1', '169.254.169.254', '10.0.0.5'] * 50)
    dns.answers['rebind.test-zone.net'] = lambda kind: [next(turns)] if kind == 1 else []
    accepted(listener)
    del dns.queries[:]
    r = named.sh('for i in 1 2 3 4 5 6 7 8; do curl -sS -o /dev/null -w "%{http_code}\\n" --max-time 20 '
                 f'http://rebind.test-zone.net:{PORT}/; done', options=['-q', '--allow-domain', f'rebind.test-zone.net:{PORT}'])
    assert len(r.text.split()) == 8 and set(r.text.split()) <= {'403', '502'} and accepted(listener) == 0, r
    assert [q for q in dns.queries if q == ('rebind.test-zone.net', 1)] == [('rebind.test-zone.net', 1)] * 8, dns.queries
    reasons = [e['reason'] for e in named.audit(named.last_session()['id']) if e['event'] == 'connection']
    assert reasons.count('private-address') >= 6, reasons


def test_mixed_answers_try_the_public_ones_only(named, dns, listener):
    """Case 85: an answer with private addresses among public ones: those are not dialled, whatever their order."""
    accepted(listener)
    for order in (['127.0.0.1', '203.0.113.5'], ['203.0.113.5', '127.0.0.1'], ['::1', '203.0.113.5', '10.0.0.5']):
        dns.answers['mixed.test-zone.net'] = order
        r = get(named, 'mixed.test-zone.net')
        assert ' 40' in r.text.splitlines()[0] or ' 50' in r.text.splitlines()[0], r
        assert accepted(listener) == 0


@pytest.mark.parametrize('address', ['10.0.0.5', '127.0.0.1', '169.254.169.254', '::1', '::ffff:10.0.0.1', *OWN])
def test_an_alias_of_a_private_name(named, dns, listener, address):
    """A CNAME, or a chain of them, to what a private address belongs to: the address decides, whatever name it has."""
    accepted(listener)
    dns.answers['inside.corp.net'] = [address]
    dns.aliases['alias.test-zone.net'], dns.aliases['next.test-zone.net'] = 'next.test-zone.net', 'inside.corp.net'
    for allowed in ([], ['--allow-domain', f'inside.corp.net:{PORT}']):
        r = get(named, 'alias.test-zone.net', *allowed)
        assert ' 403 ' in r.text.splitlines()[0] and 'private-address' in r.text, r
        assert accepted(listener) == 0
    assert ('alias.test-zone.net', 1) in dns.queries


@pytest.fixture
def silent():
    """Addresses that never answer on port 80: their queues are full."""
    subprocess.run(['ip', 'addr', 'add', '203.0.113.0/24', 'dev', 'lo'], check=True)
    addresses, sockets = [f'203.0.113.{n}' for n in range(2, 9)], []
    for address in addresses:
        sockets.append(socket.create_server((address, 80), backlog=0))
        for _ in range(4):
            s = socket.socket()
            s.setblocking(False)
            s.connect_ex((address, 80))
            sockets.append(s)
    yield addresses
    for s in sockets:
        s.close()
    subprocess.run(['ip', 'addr', 'del', '203.0.113.0/24', 'dev', 'lo'], check=True)


def test_every_address_is_tried(named, web, silent):
    """Seven that are silent and one that answers: it is reached, whatever its place."""
    for place, limit in ((1, 2), (3, 4), (7, 14)):
        addresses = silent[:place] + ['127.0.0.77'] + silent[place:]
        named.policy({'hosts': {'many.test-zone.net': addresses}})
        try:
            r = named.run('curl', '-sS', '--max-time', '25', '-w', '%{time_total}', 'http://many.test-zone.net/hello',
                          options=['-q', '--allow-domain', 'many.test-zone.net'])
        finally:
            named.policy({})
        assert r.text.startswith('hello from nginx\n'), r
        assert float(r.text.split()[-1]) < limit, r
        assert last_connection(named)['address'] == '127.0.0.77'


def test_a_denied_name_is_never_asked(named, dns):
    """Cases 47, 92: refused before any query."""
    del dns.queries[:]
    r = named.sh('curl -sS -i --max-time 10 http://secret.evil.test-zone.net/; getent hosts secret.evil.test-zone.net; '
                 'dig +short TXT secret.evil.test-zone.net; curl -sS --noproxy "*" http://secret.evil.test-zone.net/; '
                 'curl -sS https://secret.evil.test-zone.net/', options=['-q', '--allow-domain', 'ok.test-zone.net'])
    assert ' 403 ' in r.text and dns.queries == [], (r, dns.queries)


EMPTY = {
    'empty list': '{"sandbox": {"network": {"allowedDomains": []}}}',
    'no key': '{"sandbox": {"network": {}}}',
    'nothing': '{}',
    'comments only': '{"sandbox": {"network": {"allowedDomains": [ /* ok.test-zone.net */ \n // here\n ]}}}',
}


@pytest.mark.parametrize('form', EMPTY)
def test_an_empty_allow_list_allows_nothing(root_dir, named, dns, listener, form):
    """Case 83."""
    dns.answers['ok.test-zone.net'] = [OWN[0]]
    accepted(listener)
    named.policy(EMPTY[form])
    del dns.queries[:]
    try:
        r = named.sh(f'curl -sS -i --max-time 10 http://ok.test-zone.net:{PORT}/; curl -sS --noproxy "*" http://ok.test-zone.net:{PORT}/; '
                     f'curl -sS --noproxy "*" http://93.184.216.77:{PORT}/')
    finally:
        named.policy({})
    assert 'network: none' in r.errors and ' 403 ' in r.text and dns.queries == [] and accepted(listener) == 0, r


def test_blank_entries_are_refused(named):
    """Case 83: a list with only blank strings is an error, not an open door."""
    named.policy({'sandbox': {'network': {'allowedDomains': ['', '  ']}}})
    try:
        r = named.run('true')
    finally:
        named.policy({})
    assert r.rc == 125 and 'allowedDomains' in r.errors and 'policy.json' in r.errors, r


def asked(dns, name):
    return dns.queries.count((name, 1))


def test_answers_are_kept_as_long_as_they_say_and_judged_each_time(named, dns, listener):
    dns.answers.update({'kept.example': ['10.0.0.5'], 'brief.example': ['10.0.0.5'], 'late.example': None})
    dns.ttls['kept.example'] = 60
    names = ('kept.example', 'brief.example', 'late.example')
    before = len(dns.queries)
    r = named.run('sh', '-c', f'for n in {" ".join(names * 2)}; do curl -s -o /dev/null -w "%{{http_code}} " http://$n:{PORT}/; done',
                  options=['-q', *(o for n in names for o in ('--allow-domain', f'{n}:{PORT}'))])
    assert r.text.split() == ['403', '403', '502'] * 2, r
    del dns.queries[:before]
    assert [asked(dns, n) for n in names] == [1, 2, 1]
    reasons = [e['reason'] for e in named.audit(named.last_session()['id']) if e['event'] == 'connection' and e['name'] == 'kept.example']
    assert reasons == ['private-address'] * 2


@pytest.mark.parametrize('prefix, reason', [('2a00:64::c000:aa', 'private-address'), (None, 'unreachable')])
def test_what_the_network_translates_to_a_private_address(named, dns, listener, prefix, reason):
    """10.0.0.5 behind a prefix of the network's own; where no such prefix is known it is an address like others."""
    dns.answers.update({'behind.example': ['2a00:64::a00:5'], 'ipv4only.arpa': [prefix] if prefix else []})
    get(named, 'behind.example')
    assert last_connection(named)['reason'] == reason
