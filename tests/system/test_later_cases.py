"""Cases of area G and 103: names that appear while a session runs; files that the host would run later."""
import json
import os
import pwd
import subprocess

import pytest

from conftest import USERS, write
from waiting import wait_for

USER = USERS[0]
# Case 137. The first group cannot be made from inside, or its making is told at once; the second is the program's own business.
PROTECTED = ['.claude/settings.json', '.claude/settings.local.json', '.mcp.json', '.codex/config.toml', '.gemini/settings.json',
             '.vscode/tasks.json', '.idea/workspace.xml', '.envrc', '.husky/pre-commit', '.git/hooks/pre-commit', '.git/config.worktree',
             '.gitmodules', '.devcontainer/devcontainer.json', '.isod.json', '.pre-commit-config.yaml', 'sub/.envrc', '.cursor/mcp.json']


def own(top):
    subprocess.run(['chown', '-hR', f'{USER}:', top], check=True)


def git_status(project):
    return subprocess.run(['git', '-c', 'safe.directory=*', '-C', project, 'status', '--porcelain', '--ignored'], check=True, capture_output=True,
                          text=True, env={**os.environ, 'GIT_OPTIONAL_LOCKS': '0'}).stdout


@pytest.fixture
def repository(project):
    subprocess.run(['git', 'init', '-q', project], check=True)
    os.mkdir(os.path.join(project, 'sub'))
    write(os.path.join(project, 'plain'), 'text\n')
    own(project)
    return project


class Running:
    """A shell inside, one line at a time."""

    def __init__(self, isod, cwd, options=()):
        self.process = isod.popen('run', *options, '--', 'sh', cwd=cwd, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.do('true')

    def do(self, line):
        self.process.stdin.write(f'{{ {line}\n}} 2>&1; echo "rc=$?"\n'.encode())
        self.process.stdin.flush()
        out = b''
        while not out.endswith(b'\n') or not out.splitlines()[-1].startswith(b'rc='):
            chunk = self.process.stdout.readline()
            assert chunk, (line, out, self.process.stderr.read())
            out += chunk
        return int(out.splitlines()[-1][3:]), b'\n'.join(out.splitlines()[:-1]).decode(errors='replace')

    def end(self):
        self.process.stdin.close()
        self.process.stdin = None
        return self.process.communicate(timeout=120)[1].decode(errors='replace')


@pytest.fixture
def running(isod, repository):
    made = []

    def make(options=()):
        made.append(Running(isod, repository, options))
        return made[-1]
    yield make
    for r in made:
        if r.process.poll() is None:
            r.process.kill()
            r.process.wait()


def options_of(root_dir, **keys):
    path = os.path.join(root_dir, 'later-policy.json')
    write(path, json.dumps({'sandbox': {'filesystem': keys}}))
    return ['--policy', path]


# --- 103 --------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize('how', ['made', 'moved in', 'moved with its folder', 'linked'])
def test_103_secrets_that_the_host_makes_later(isod, running, repository, how):
    """Unreadable from the first moment: checked when it is opened."""
    r = running()
    d = os.path.join(repository, 'sub')
    outside = repository + '.outside'
    os.makedirs(outside + '/dir')
    try:
        write(outside + '/dir/.env', 'SECRET\n')
        if how == 'made':
            write(d + '/.env', 'SECRET\n')
        elif how == 'moved in':
            os.rename(outside + '/dir/.env', d + '/.env')
        elif how == 'linked':
            os.link(outside + '/dir/.env', d + '/.env')
        else:
            os.rename(outside + '/dir', d + '/new')
        name = 'sub/new/.env' if how == 'moved with its folder' else 'sub/.env'
        for line in (f'cat {name}', f'cat /proc/self/cwd/{name}', f'head -c 3 <{name}', f'cp {name} copy && cat copy', f'cd {os.path.dirname(name)}; cat .env; cd - >/dev/null; false',
                     f'/usr/bin/python3 -c "print(open(\\"{name}\\").read())"', f'sh {name}'):
            rc, out = r.do(line)
            assert rc != 0 and 'SECRET' not in out and ('not permitted' in out or 'denied' in out), (line, rc, out)
        assert r.do('cat plain') == (0, 'text')
    finally:
        subprocess.run(['rm', '-rf', outside], check=True)


def test_103_rules_of_the_policy_too(isod, running, repository, root_dir):
    r = running(options_of(root_dir, denyRead=['./**/*.parquet', './data/**', './later']))
    os.makedirs(os.path.join(repository, 'data/x'))
    for name in ('sub/a.parquet', 'data/x/f', 'later'):
        write(os.path.join(repository, name), 'SECRET\n')
        rc, out = r.do(f'cat {name}')
        assert rc != 0 and 'SECRET' not in out, (name, out)


def test_103_is_in_the_log(isod, running, repository):
    r = running()
    write(os.path.join(repository, '.env'), 'SECRET\n')
    assert r.do('cat .env')[0] != 0
    r.end()
    text = json.dumps(isod.audit(isod.last_session()['id']))
    assert '.env' in text, text


# --- 137 --------------------------------------------------------------------------------------------------------------
def told(isod, name):
    return [e for e in isod.audit(isod.last_session()['id']) if name in json.dumps(e)]


@pytest.mark.parametrize('name', PROTECTED)
def test_137_what_runs_later_is_not_planted_unseen(isod, running, repository, name):
    """Refused, or told while it happens and again at the end. What the start found and protected is refused anyway."""
    r = running()
    rc, out = r.do(f'mkdir -p $(dirname {name}) && echo "echo planted" >{name}')
    if rc == 0:
        wait_for(lambda: told(isod, name), f'the log tells of {name}')
        err = r.end()
        assert name in err, err
    else:
        assert 'denied' in out or 'ead-only' in out or 'not permitted' in out, out
        assert not os.path.exists(os.path.join(repository, name))


@pytest.mark.parametrize('how', ['mv', 'ln', 'ln -s', 'mv-folder', 'tmpfile'])
def test_137_by_other_ways(isod, running, repository, how):
    r = running()
    line = {'mv': 'echo x >f && mv f .mcp.json', 'ln': 'echo x >f && ln f .mcp.json', 'ln -s': 'ln -s plain .mcp.json',
            'mv-folder': 'mkdir -p d && echo x >d/tasks.json && mv d .vscode',
            'tmpfile': '/usr/bin/python3 -c "import os; f = os.open(\'.\', os.O_TMPFILE | os.O_WRONLY); '
                       'os.link(f\'/proc/self/fd/{f}\', \'.mcp.json\', follow_symlinks=True)"'}[how]
    name = '.vscode' if how == 'mv-folder' else '.mcp.json'
    rc, _ = r.do(line)
    if rc == 0:
        wait_for(lambda: told(isod, name), f'the log tells of {name}')
        assert name in r.end()
    else:
        assert not os.path.lexists(os.path.join(repository, name))


def test_137_the_rest_is_allowed(isod, running, repository):
    r = running()
    assert r.do('touch Makefile pyvenv.cfg x.py; mkdir -p .venv && echo x >.venv/f') == (0, '')
    assert 'x.py' not in r.end()


def test_nothing_planted_nothing_told(isod, running, repository):
    r = running()
    assert r.do('git -c user.name=t -c user.email=t@t.example add plain && git -c user.name=t -c user.email=t@t.example commit -qm x && '
                'git checkout -qb b && git stash list && git worktree list >/dev/null && git branch -D master 2>/dev/null; git branch') [0] == 0
    err = r.end()
    assert 'planted' not in err and '.git' not in err, err


# --- 139, 140 ---------------------------------------------------------------------------------------------------------
def test_139_change_directory_then_write(isod, repository):
    for name in ('.claude/settings.json', '.git/hooks/pre-commit', '.vscode/tasks.json'):
        os.makedirs(os.path.dirname(os.path.join(repository, name)), exist_ok=True)
        write(os.path.join(repository, name), 'old\n')
    own(repository)
    lines = ['cd .claude && echo x > settings.json', "echo x | sed 'w.claude/settings.json'", 'cd .git/hooks && echo x | tee pre-commit', 'cd .git/hooks && echo x | tee new',
             'cd .git && cd hooks && cp ../HEAD pre-commit', 'sed -i s/o/x/ .vscode/tasks.json', 'dd if=/dev/zero of=.claude/settings.json count=1', 'install plain .git/hooks/pre-commit',
             'ln -sf /dev/null .claude/settings.json', 'rm -rf .git/hooks', 'mv .claude/settings.json x', 'mv .git/hooks y', 'rm -f .vscode/tasks.json', 'truncate -s 0 .claude/settings.json',
             'cd .git/hooks; python3 -c "import os; os.chmod(\'pre-commit\', 0o777)"', 'git config core.fsmonitor x', 'git config --worktree core.editor x', 'mv .git g; mkdir .git']
    for line in lines:
        r = isod.sh(line, cwd=repository)
        assert ('ead-only' in r.errors or 'busy' in r.errors or 'cross-device' in r.errors or 'could not' in r.errors or 'exists' in r.errors), (line, r)
    for name in ('.claude/settings.json', '.git/hooks/pre-commit', '.vscode/tasks.json'):
        with open(os.path.join(repository, name), encoding='ascii') as f:
            assert f.read() == 'old\n'


def test_140_a_link_from_inside_a_writer_outside(isod, repository):
    """Nothing of isod's writes to the project; the log, the report at the end and the trust file least of all through a link."""
    home = pwd.getpwnam(USER).pw_dir
    victim = os.path.join(home, 'victim-140')
    write(victim, 'mine\n', owner=pwd.getpwnam(USER))
    try:
        r = isod.sh(f'for n in notes.md .isod.json .git/isod isod.log core .isod status; do ln -s {victim} $n; done; ls -l >/dev/null', cwd=repository)
        for command in (['sessions', '--all'], ['log', isod.last_session()['id']], ['show', isod.last_session()['id']], ['status']):
            isod.ctl(*command, cwd=repository)
        assert r.rc in (0, 1) and open(victim, encoding='ascii').read() == 'mine\n', r
    finally:
        os.unlink(victim)


# --- no stub ----------------------------------------------------------------------------------------------------------
def test_nothing_is_left_for_what_was_not_there(isod, running, repository):
    before = git_status(repository), sorted(os.listdir(repository)), sorted(os.listdir(repository + '/.git'))
    r = running()
    assert (git_status(repository), sorted(os.listdir(repository)), sorted(os.listdir(repository + '/.git'))) == before
    r.do('ls -la; cat .env .mcp.json; true')
    assert 'planted' not in r.end()
    assert (git_status(repository), sorted(os.listdir(repository)), sorted(os.listdir(repository + '/.git'))) == before
