"""network.tls: ECH and hellos without a name, in what tools and people see of them."""
import base64
import json
import os

from client_hello import client_hello
from conftest import write
from test_reload import session, user_policy  # noqa: F401  (fixtures)

ALERT = '15030300020231'
# Says each of the given hellos on a tunnel of its own: what came first, as hex, and with "hold" the tunnel stays until it ends.
SAY = """import base64, socket, sys
for hello in sys.argv[2:]:
    s = socket.create_connection(('127.0.0.1', 61080)); s.settimeout(60)
    s.sendall(b'CONNECT ok.example:443 HTTP/1.1\\r\\n\\r\\n')
    head = b''
    while not head.endswith(b'\\r\\n\\r\\n'): head += s.recv(1)
    assert b' 200 ' in head, head
    s.sendall(base64.b64decode(hello))
    print(s.recv(7).hex(), flush=True)
    try:
        while sys.argv[1] == 'hold' and s.recv(65536): pass
    except ConnectionResetError: pass
    s.close()
print('over', flush=True)
"""


def network(**tls):
    return json.dumps({'sandbox': {'network': {'tls': tls}}})


def test_ech_and_no_name(isod, web, project, user_policy, session):  # noqa: F811
    """ECH passes beside the right name, until a reload denies it: what is open with it ends, the next one gets an alert."""
    with_ech, unnamed = (base64.b64encode(h).decode() for h in (client_hello('ok.example', True), client_hello()))
    say = os.path.join(project, 'say.py')
    write(say, SAY)
    deny = os.path.join(project, 'deny.json')
    write(deny, network(ech='deny'))
    user_policy(['ok.example'])
    s = session()
    said = s.sh(f'python3 {say} once {with_ech} {unnamed}').split()
    assert said[0].startswith('1603') and said[1:] == [ALERT, 'over'], said
    s.tell(f'python3 {say} hold {with_ech}')
    assert s.line().startswith('1603')
    answer = s.reload('--policy', deny)
    assert (answer['closed'], answer['later']) == (1, False), answer
    assert s.line() == 'over\n'
    assert s.sh(f'python3 {say} once {with_ech}').split() == [ALERT, 'over']
    assert [e['reason'] for e in s.events('connection')] == ['allowed', 'sni-missing', 'ech', 'ech']
    user_policy(['ok.example'], sandbox={'network': {'allowedDomains': ['ok.example'], 'tls': {'noSni': ['ok.example']}}})
    assert s.reload()['digest'] != answer['digest']
    said = s.sh(f'python3 {say} once {unnamed}').split()
    assert said[0].startswith('1603'), said
    tls = json.loads(isod.ctl('show', '--json', s.id).out)['policy']['sandbox']['network']['tls']
    assert tls['ech']['value'] == 'deny' and tls['ech']['from'].startswith('file '), tls
    assert [(h['value'], h['from'].split()[0]) for h in tls['noSni']] == [('ok.example', 'user')], tls
    text = isod.ctl('policy', 'explain', 'ok.example:443', '--policy', deny, cwd=project).text
    assert '  tls.ech: deny  (file ' in text and '  tls.noSni: ok.example  (user ' in text, text
    verdict = json.loads(isod.ctl('policy', 'explain', '--json', 'https://ok.example', cwd=project).out)['verdicts'][0]
    assert verdict['tls'] == {'ech': 'allow', 'noSni': True}, verdict
