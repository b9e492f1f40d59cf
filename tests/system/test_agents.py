"""Real agents from npm against a stand-in for the model, run as an ordinary user."""
import os
import pwd
import subprocess

import pytest

import fake_messages
from conftest import USERS, project_of

CACHE = '/var/cache/isod-test/agents'


@pytest.fixture(scope='session')
def claude():
    """The native program of the npm package (tests/run.sh has fetched it): no install script needs to run for it."""
    binary = os.path.join(CACHE, 'node_modules/@anthropic-ai/claude-code-linux-x64/claude')
    assert os.path.exists(binary), 'fetch the agents of tests/system/agents.txt first (./setup test does)'
    for d in (os.path.dirname(CACHE), CACHE):
        os.chmod(d, 0o755)
    return binary


@pytest.fixture
def ask(isod, claude):
    server = fake_messages.serve()
    where = f'model.example:{server.server_port}'

    def ask_claude(prompt, *more):
        r = isod.run(claude, '-p', prompt, '--allowedTools', 'Bash', *more,
                     options=['--allow-read', CACHE, '--allow-domain', where, '--env', 'ANTHROPIC_API_KEY',
                              '--env', f'ANTHROPIC_BASE_URL=http://{where}', '--env', 'CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1'],
                     stdin=subprocess.DEVNULL, timeout=120)
        assert r.rc == 0, r
        return r.text
    ask_claude.server = server
    yield ask_claude
    server.shutdown()


def test_claude_answers(ask):
    assert ask('hello').strip() == 'OK from fake model'
    assert any(p.endswith('/v1/messages') for p in ask.server.seen)


def test_claude_runs_its_shell_tool_inside(ask, isod):
    text = ask('x [[bash:echo v-$((6*7)); id -un; pwd; echo made > by-agent]]')
    assert 'RESULT: v-42' in text and USERS[0] in text and project_of(USERS[0]) in text
    made = os.path.join(project_of(USERS[0]), 'by-agent')
    assert os.stat(made).st_uid == pwd.getpwnam(USERS[0]).pw_uid
    os.unlink(made)


def test_the_three_denials(ask, web):
    text = ask('x [[bash:cat ~/.aws/credentials; echo "key=[$AWS_ACCESS_KEY_ID]"; curl -sS --max-time 10 https://example.com; '
               'curl -sS --noproxy "*" --max-time 10 https://example.com; true]]')
    assert 'No such file' in text and 'TOPSECRET' not in text
    assert 'key=[]' in text
    assert text.count('curl: (') == 2, text


