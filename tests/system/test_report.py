"""isoctl replay and isoctl report: what was kept of a session, shown again."""
import html.parser
import json
import os
import re

import pexpect

from conftest import USERS, project_of
from test_record import home  # noqa: F401
from test_terminal import close_clients, finish, spawn  # noqa: F401

HOSTILE = '<script>alert(1)</script>"\'>&\x1b[2J'


def replay(isod, *args):
    r = isod.ctl('replay', *args)
    return r.rc, r.out, r.errors


def test_replay(isod, home):
    """All of it, from a denial on, by keys; of a foreign file only what a terminal may be told."""
    path = os.path.join(home, 'r.cast')
    c = spawn(isod, 'sh', '-c', 'echo one; curl -s http://a.example/; echo two; sleep 0.3; curl -s http://b.example/; echo three; sleep 30 & exit 0',
              options=('--record', path))
    assert finish(c) == 0
    rc, out, _ = replay(isod, '--speed', '100', path)
    assert rc == 0 and re.search(rb'one\r\n.*two\r\n.*three\r\n', out, re.S), out
    rc, out, _ = replay(isod, '--markers', path)
    denied = [line.split()[2] for line in out.decode().splitlines() if ' denied ' in line]
    assert rc == 0 and len(denied) >= 2 and denied[0].startswith('a.example') and denied[-1].startswith('b.example'), out
    assert replay(isod, '--at', str(len(denied)), '--idle-limit', '0.1', path)[0] == 0
    rc, _, errors = replay(isod, '--at', '99', path)
    assert rc == 1 and f'has {len(denied)} denials' in errors, errors
    foreign = os.path.join(home, 'foreign.cast')
    with open(foreign, 'w', encoding='utf-8') as f:
        f.write('{"version": 2, "width": 80, "height": 24}\n')
        f.write(json.dumps([0, 'o', 'a\x1b]52;c;AAAA\x07b\x1b[6nc']) + '\n')
        f.write(json.dumps([600, 'o', 'end']) + '\n' + '[601, "o", "cut o')
    os.chmod(foreign, 0o644)
    player = pexpect.spawn(isod.client, ['replay', foreign], timeout=60, encoding=None)
    player.expect_exact(b'abc')
    player.send(b'q')
    assert finish(player) == 0
    player = pexpect.spawn(isod.client, ['replay', foreign], timeout=60, encoding=None)
    player.expect_exact(b'abc')
    for key in (b' ', b'.'):
        player.send(key)
    player.expect_exact(b'end')
    assert finish(player) == 0
    for text in ('', '{}\n', '{"version": 1, "width": 80, "height": 24}\n', '{"version": 2, "width": 80, "height": 24}\n[1]\n', 'x' * (2 << 20)):
        with open(foreign, 'w', encoding='utf-8') as f:
            f.write(text)
        rc, _, errors = replay(isod, foreign)
        assert rc == 1 and 'recording' in errors, (text[:60], errors)


class Page(html.parser.HTMLParser):
    """Tags, attributes and text; refuses what a page that runs and loads nothing cannot have."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.texts = set(), []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        for name, value in attrs:
            assert not name.startswith('on') and name not in ('src', 'href', 'style', 'srcdoc', 'action'), (tag, name, value)

    def handle_data(self, data):
        self.texts.append(data)


def test_report(isod, web, home):
    script = (f'curl -s -o /dev/null http://ok.example/hello; curl -s http://denied.example/; mkdir -p made; echo x > "made/Makefile"; '
              f'echo y > .envrc; : {chr(39) + HOSTILE.replace(chr(39), "") + chr(39)}')
    r = isod.sh(script, options=['--allow-domain', 'ok.example'])
    assert r.rc == 0, r
    session = isod.last_session()['id']
    path = os.path.join(home, 'report.html')
    r = isod.ctl('report', session, '-o', path)
    assert r.rc == 0, r
    with open(path, encoding='utf-8') as f:
        text = f.read()
    os.unlink(path)
    page = Page(text)
    assert page.tags <= {'html', 'head', 'meta', 'title', 'style', 'body', 'h1', 'h2', 'table', 'tr', 'th', 'td', 'code', 'p', 'svg',
                         'rect', 'text', 'details', 'summary', 'pre'}, page.tags
    assert "default-src 'none'" in text and 'http' not in re.sub('http-equiv', '', text.split('<body>')[0]) and '\x1b' not in text
    shown = ''.join(page.texts)
    assert 'ok.example:80' in shown and 'denied.example' in shown and 'not-listed' in shown and '<script>alert(1)</script>' in shown
    assert '.envrc' in shown and 'session ' + session in shown.replace('Session', 'session'), shown[:2000]
    facts = json.loads(isod.ctl('report', '--json', session).text)
    hosts = {h['host']: h for h in facts['hosts']}
    assert hosts['ok.example:80']['allowed'] == 1 and hosts['ok.example:80']['bytesIn'] > 0, hosts
    assert [i['text'] for i in facts['refusals']['items'] if 'denied.example' in i['text']], facts['refusals']
    assert sum(a + d for a, d in facts['timeline']['bins']) >= 2 and facts['exit']['exit'] == 0, facts
    assert isod.ctl('report', 'nosuchsession').rc == 1
    for name in ('.envrc', 'made/Makefile'):
        if os.path.exists(os.path.join(project_of(USERS[0]), name)):
            os.unlink(os.path.join(project_of(USERS[0]), name))
