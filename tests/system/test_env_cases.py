"""The environment, a sandbox inside the sandbox, links that lead out."""
import os
import pwd
import subprocess

import pytest

from conftest import SECRET_ENV, USERS
from test_terminal import spawn
from varlink import Varlink

STARTERS = {name: 'x' for name in (
    'LD_PRELOAD LD_AUDIT LD_LIBRARY_PATH GCONV_PATH BASH_ENV ENV PROMPT_COMMAND PS4 NODE_OPTIONS PYTHONSTARTUP PYTHONPATH '
    'PERL5OPT RUBYOPT JAVA_TOOL_OPTIONS GIT_SSH_COMMAND GIT_EXTERNAL_DIFF GIT_CONFIG_COUNT EDITOR PAGER LESSOPEN').split()}
STARTERS['SHELLOPTS'] = 'xtrace'
STARTERS['EDITOR'] = 'sh -c "git push"'
STARTERS['PAGER'] = 'sh -c "git push"'
# isoctl itself runs with it all, but the loader's would break the client
CLIENT = {k: v for k, v in STARTERS.items() if k not in ('LD_PRELOAD', 'LD_AUDIT', 'LD_LIBRARY_PATH')}


@pytest.mark.parametrize('terminal', [False, True])
def test_nothing_that_runs_code_or_is_secret(isod, terminal):
    """Cases 145, 146: on the way with descriptors and on the way with a terminal; pid 1 of the session holds none either."""
    script = 'cat /proc/self/environ | tr "\\0" "\\n"; cat /proc/1/environ 2>/dev/null | tr "\\0" "\\n"; echo end'
    env = CLIENT | {'BASH_FUNC_which%%': '() { echo evil; }'}
    if terminal:
        c = spawn(isod, '/bin/sh', '-c', script, env=env)
        out = c.read().decode()
        c.close()
    else:
        out = isod.run('/bin/sh', '-c', script, options=['-q'], env=env).text
    names = {line.split('=', 1)[0] for line in out.splitlines()}
    assert 'HOME' in names and 'end' in names, out
    assert not names & {*STARTERS, *SECRET_ENV, 'BASH_FUNC_which%%', 'which'}, out


def test_helpers_hold_no_environment_of_a_client(isod):
    """Case 146: every process of ours, while a session runs."""
    p = isod.popen('run', '-q', '--', 'sh', '-c', 'echo up; read x', env=CLIENT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert p.stdout.readline() == b'up\n'
    for pid in isod.helpers():
        if os.path.realpath(f'/proc/{pid}/exe').startswith('/usr/bin'):
            continue
        with open(f'/proc/{pid}/environ', 'rb') as f:
            held = f.read()
        assert not [v for v in SECRET_ENV.values() if v.encode() in held], (pid, held)
    p.stdin.close()
    assert p.wait(120) is not None
    p.stdout.close()


def run_raw(isod, *pairs):
    with open('/dev/null', 'r+b') as null, Varlink(isod.socket) as v:
        call = {'argv': ['true'], 'cwd': '/srv', 'env': [{'name': n, 'value': x} for n, x in pairs], 'named': [], 'policies': []}
        return v.call('org.isod.Run', call, fds=[null.fileno()] * 3, more=True)


@pytest.mark.parametrize('name', [' LD_PRELOAD', 'A B', '', 'A%%', 'BASH_FUNC_x%%', '1A', 'A=B', 'A\x00B', 'K\n'])
def test_names_that_are_not_names_on_the_socket(isod, name):
    """Case 149: refused with the place, never trimmed."""
    reply = run_raw(isod, ('TERM', 'x'), (name, 'x'))
    assert reply['error'].startswith('org.isod.') and 'message' in reply['parameters'], reply
    assert '\x00' in name or '1' in reply['parameters']['message'], reply


def test_a_variable_given_twice(isod):
    """Case 149: neither the first nor the last wins."""
    reply = run_raw(isod, ('PATH', '/a'), ('PATH', '/b'))
    assert reply['error'] == 'org.isod.Invalid' and 'PATH' in reply['parameters']['message'], reply


def test_a_nul_in_a_value(isod):
    """Case 149."""
    reply = run_raw(isod, ('TERM', 'x\x00y'))
    assert reply['error'].startswith('org.isod.'), reply
    assert isod.run('true').rc == 0


def test_a_sandbox_inside(isod):
    """Case 11, 2: with nesting an inner sandbox works, without it is refused in words, and the outer one is as it was."""
    inner = ['bwrap', '--ro-bind', '/', '/', '--proc', '/proc', '--dev', '/dev', '--unshare-all', 'echo', 'inner']
    r = isod.run(*inner, options=['-q', '--nesting'])
    assert r.rc == 0 and r.out == b'inner\n', r
    r = isod.run(*inner, options=['-q'])
    assert r.rc != 0 and r.out == b'' and ('not permitted' in r.errors or 'namespace' in r.errors), r
    r = isod.run('unshare', '-Ur', 'true', options=['-q'])
    assert r.rc != 0 and 'unshare' in r.errors, r
    assert isod.run('unshare', '-Ur', 'true', options=['-q', '--nesting']).rc == 0


def test_nesting_reaches_no_more(isod, project):
    """Case 11: root of an inner user namespace sees no more of the host."""
    script = ('cat ~/.ssh/id_ed25519 ~/.aws/credentials /etc/shadow; mount -t tmpfs none /mnt; umount -l /usr; cat /etc/shadow; '
              'mount -o remount,rw,bind / ; touch /usr/x; ip link; cat /proc/1/environ; true')
    r = isod.run('unshare', '-Urmn', 'sh', '-c', script, options=['-q', '--nesting'])
    for secret in ('KEY', 'TOPSECRET', 'root:', *SECRET_ENV.values()):
        assert secret not in r.text.replace('root:x', 'root:') or secret == 'root:' and 'root:$' not in r.text, r
    assert not os.path.exists('/usr/x')


def test_links_that_lead_out_are_not_followed_by_isod(isod, project):
    """Case 140: the session plants links wherever isod writes or removes something of the session's."""
    entry = pwd.getpwnam(USERS[0])
    bashrc = os.path.join(entry.pw_dir, '.bashrc')
    precious = os.path.join(entry.pw_dir, 'precious')
    os.makedirs(precious, exist_ok=True)
    with open(os.path.join(precious, 'file'), 'w', encoding='ascii') as f:
        f.write('precious\n')
    with open(bashrc, 'ab'):  # not every user has one
        pass
    with open(bashrc, 'rb') as f:
        before = f.read()
    script = (f'ln -s {bashrc} notes.md; for d in /tmp /var/tmp ~ "$XDG_RUNTIME_DIR" /dev/shm; do ln -s {precious} "$d/out"; '
              f'ln -s {bashrc} "$d/rc"; mkdir -p "$d/sub"; ln -s {precious} "$d/sub/out"; done; echo x > /tmp/rc; rm -rf /var/tmp/sub; '
              f'ln -s {precious} /var/tmp/sub; echo done')
    r = isod.sh(script, cwd=project, options=['-q'])
    assert 'done' in r.text, r
    with open(bashrc, 'rb') as f:
        assert f.read() == before
    with open(os.path.join(precious, 'file'), encoding='ascii') as f:
        assert f.read() == 'precious\n'
    assert sorted(os.listdir(project)) == ['notes.md'] and os.path.islink(os.path.join(project, 'notes.md'))
    # the next session in the same folder, with the link in it
    assert isod.run('true', cwd=project, options=['-q']).rc == 0
    with open(bashrc, 'rb') as f:
        assert f.read() == before


def test_no_stub_is_left_in_a_project(isod, project):
    """Case 10: three runs in a clean repository."""
    def git(*args):
        return subprocess.run(['git', '-c', 'safe.directory=*', *args], cwd=project, capture_output=True, text=True, check=True,
                              env={'PATH': os.environ['PATH'], 'HOME': '/nonexistent'}).stdout
    git('init', '-q')
    subprocess.run(['chown', '-R', f'{USERS[0]}:', project], check=True)
    for _ in range(3):
        assert isod.run('true', cwd=project, options=['-q']).rc == 0
    assert git('status', '--porcelain') == '' and os.listdir(project) == ['.git']
