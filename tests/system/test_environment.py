"""Layer 0: only what is on the list or was named reaches the program."""
import pytest

from conftest import SECRET_ENV, USERS

INJECTION = {
    'LD_AUDIT': '', 'LD_LIBRARY_PATH': '/x', 'GCONV_PATH': '/x', 'BASH_ENV': '/x', 'ENV': '/x', 'PROMPT_COMMAND': 'x',
    'PS4': 'x', 'NODE_OPTIONS': '--require x', 'PYTHONSTARTUP': '/x', 'PYTHONPATH': '/x', 'PERL5OPT': '-x', 'RUBYOPT': '-x',
    'JAVA_TOOL_OPTIONS': '-x', 'GIT_SSH_COMMAND': 'x', 'GIT_EXTERNAL_DIFF': 'x', 'GIT_CONFIG_COUNT': '0', 'LESSOPEN': '|x',
    'BASH_FUNC_which%%': '() { echo evil; }', 'LD_PRELOAD': ''}


def names(result):
    assert result.rc == 0, result
    return {line.split('=', 1)[0] for line in result.text.splitlines() if '=' in line}


def test_nothing_but_the_list(isod):
    got = names(isod.run('env', env=INJECTION | {'EDITOR': 'sh -c "git push"', 'MY_OWN': 'x'}))
    for name in [*SECRET_ENV, *INJECTION, 'MY_OWN', 'EDITOR', 'ISO_SOCKET', 'SSH_AUTH_SOCK', 'DISPLAY']:
        assert name not in got
    assert {'HOME', 'PATH', 'USER', 'TERM', 'LANG', 'PWD', 'HTTPS_PROXY', 'https_proxy'} <= got


def test_no_warning_about_functions(isod):
    r = isod.run('bash', '-c', 'which sh', options=['-q'], env=INJECTION)
    assert r.err == b'' and r.text.strip().endswith('/sh'), r


@pytest.mark.parametrize('variable', ['ISO_ALLOW', 'CLAUDE_ISO_ALLOW'])
@pytest.mark.parametrize('form', ['GH_TOKEN MYCORP_PAT', 'GH_TOKEN,MYCORP_PAT', ' GH_TOKEN , MYCORP_PAT '])
def test_iso_allow(isod, variable, form):
    r = isod.sh('echo $GH_TOKEN $MYCORP_PAT $AWS_ACCESS_KEY_ID', env={variable: form})
    assert r.text == 'ghtoken pat\n', r
    assert 'GH_TOKEN' in r.errors and 'ghtoken' not in r.errors


def test_env_option(isod):
    r = isod.sh('echo $GH_TOKEN $NEW', options=['--env', 'GH_TOKEN', '--env', 'NEW=a=b c'])
    assert r.text == 'ghtoken a=b c\n', r


@pytest.mark.parametrize('bad', [' LD_PRELOAD', 'A B', '', '1A', 'A-B', 'A%%'])
def test_names_that_are_not_names(isod, bad):
    r = isod.run('true', options=['--env', bad + '=x'])
    assert r.rc == 125 and r.out == b'', r


def test_no_socks_and_no_userinfo_in_proxies(isod):
    r = isod.sh('env | grep -i proxy')
    for line in r.text.splitlines():
        name, value = line.split('=', 1)
        assert '@' not in value and 'socks' not in value.lower()
        if not name.lower().startswith('no_'):
            assert value.startswith('http://127.0.0.1:')


def test_the_users_own_proxy_does_not_pass(isod):
    r = isod.sh('echo $HTTPS_PROXY', env={'HTTPS_PROXY': 'https://u:p@corp:3128'})
    assert 'corp' not in r.text


def test_home_pwd_and_passwd_agree(isod):
    r = isod.sh('echo $HOME; getent passwd $(id -u) | cut -d: -f6; cd; pwd; echo $USER', env={'HOME': '/elsewhere', 'USER': 'x'})
    home, entry, physical, user = r.text.split()
    assert home == entry == physical and user == USERS[0]


def test_locale_and_terminal_pass(isod):
    r = isod.sh('echo $TERM $COLORTERM $LANG $LC_TIME $TZ', env={
        'TERM': 'xterm-kitty', 'COLORTERM': 'truecolor', 'LANG': 'C', 'LC_TIME': 'C', 'TZ': 'UTC'})
    assert r.text == 'xterm-kitty truecolor C C UTC\n', r
