"""Bytes and connections that a policy lets a session have: network.budget, network.limits."""
import json
import os
import socket

from conftest import write
from test_reload import session  # noqa: F401  (a fixture)
from waiting import wait_for

PORT = 8178
HOST = f'ok.example:{PORT}'
SEND = '''import socket, sys
s = socket.create_connection(('127.0.0.1', 61080))
s.sendall(b'CONNECT ok.example:%s HTTP/1.1\\r\\n\\r\\n' % sys.argv[1].encode())
print(s.recv(4096).split(b'\\r\\n')[0].decode())
try:
    while True:
        s.sendall(b'x' * 65536)
except OSError:
    print('cut')
'''


def network(allow, **more):
    return {'sandbox': {'network': {'allowedDomains': allow, **more}}}


def received(server):
    c = server.accept()[0]
    c.settimeout(60)
    n = 0
    try:
        while block := c.recv(1 << 20):
            n += len(block)
    except ConnectionResetError:
        pass
    c.close()
    return n


def test_bytes_out(isod, session, project):  # noqa: F811
    """As many bytes leave as the budget has, spliced ones too; show, log and refusals say so; a reload opens it again."""
    limit = 2 << 20
    policy = os.path.join(project, 'p.json')
    budget = {'hosts': [{'host': 'ok.example', 'bytesOut': limit}]}
    write(policy, json.dumps(network([HOST], budget=budget)))
    program = os.path.join(project, 'send.py')
    write(program, SEND)
    s = session('--policy', policy)
    with socket.create_server(('127.0.0.77', PORT)) as server:
        server.settimeout(60)
        s.tell(f'python3 -u {program} {PORT}')
        assert received(server) == limit
        assert (s.line(), s.line()) == ('HTTP/1.1 200 Connection established\n', 'cut\n')

        def shown():
            return json.loads(isod.ctl('show', '--json', s.id).out)['budget']
        wait_for(lambda: shown()[1]['bytesOut']['used'] == limit, 'the usage is shown')
        assert shown()[1] == {'host': 'ok.example', 'bytesOut': {'used': limit, 'limit': limit},
                              'bytesIn': {'used': 0, 'limit': None}}
        assert f'budget     ok.example: out {limit}/{limit} in 0\n' in isod.ctl('show', s.id).text
        event = wait_for(lambda: s.events('budget'), 'the event')
        assert [(e['host'], e['direction'], e['limit']) for e in event] == [('ok.example', 'out', limit)]
        cut = wait_for(lambda: s.events('connection'), 'the event of the connection')[-1]
        assert (cut['verdict'], cut['reason'], cut['bytesUp']) == ('deny', 'budget', limit), cut
        answer = s.sh(f'curl -sS -i http://{HOST}/')
        assert 'HTTP/1.1 403 Forbidden (isod: budget)' in answer and 'X-Isod-Retry: no' in answer, answer
        budget['hosts'][0]['bytesOut'] = limit + 1000
        write(policy, json.dumps(network([HOST], budget=budget)))
        assert s.reload('--policy', policy)['closed'] == 0
        s.tell(f'python3 -u {program} {PORT}')
        assert received(server) == 1000
    assert s.line().startswith('HTTP/1.1 200')


def test_connections(isod, web, session, project):  # noqa: F811
    """A second client of a proxy that has place for one; one that comes too often; a reload lets both in."""
    policy = os.path.join(project, 'p.json')

    def put(**limits):
        write(policy, json.dumps(network(['ok.example'], limits=limits)))
    put(connections=1)
    s = session('--policy', policy)
    s.sh('mkfifo hold')
    s.tell('exec 9<>hold; python3 -c "import socket; s = socket.create_connection((\'127.0.0.1\', 61080)); print(\'open\', '
           'flush=True); open(\'hold\').read(1)" &')
    assert s.line() == 'open\n'
    answer = s.sh('curl -sS -i http://ok.example/hello')
    assert 'HTTP/1.1 503 Service Unavailable (isod: limit)' in answer and 'Retry-After: 1' in answer, answer
    put(newPerSecondPerHost=1)
    s.reload('--policy', policy)
    answers = s.sh('for i in 1 2 3; do curl -sS -o /dev/null -w "%{http_code} " http://ok.example/hello; done')
    assert answers.split()[0] == '200' and '429' in answers, answers
    assert [e['reason'] for e in s.events('connection') if e['verdict'] == 'deny'][:2] == ['limit', 'rate']
    put()
    s.reload('--policy', policy)
    assert s.curl('http://ok.example/hello') == '200'
    s.sh('echo >&9; exec 9>&-; rm hold')
