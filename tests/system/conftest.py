"""The whole system on this machine: a real isod with folders of its own, real users, real namespaces, real servers.

ISOD_BUILD names the build folder. Needs root and namespaces of its own: run it by tests/system/run. ISOD_TEST_LANE lets
several runs stand beside each other. Nothing here is skipped: what cannot run is a failure.
"""
import json
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile

import pytest

from servers import web  # noqa: F401  (a fixture for all)
from waiting import wait_for

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get('ISOD_BUILD', os.path.join(TOP, 'build'))
SANITIZED = 'asan' in os.path.basename(BUILD)
LANE = os.environ.get('ISOD_TEST_LANE', '')
USERS = (f'isodtest{LANE}1', f'isodtest{LANE}2')
# What the developer's shell holds and the session must not see.
SECRET_ENV = {'AWS_ACCESS_KEY_ID': 'AKIATEST', 'GH_TOKEN': 'ghtoken', 'ANTHROPIC_API_KEY': 'sk-test', 'MYCORP_PAT': 'pat',
              'DATABASE_URL': 'postgres://u:p@h/d'}


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """A skip, or a failure that was expected, is a failure."""
    report = (yield).get_result()
    if report.skipped:
        report.outcome, report.longrepr = 'failed', f'{item.nodeid} was left out: {report.longrepr}'


class Result:
    def __init__(self, completed):
        self.rc = completed.returncode
        self.out = completed.stdout
        self.err = completed.stderr

    @property
    def text(self):
        return self.out.decode(errors='surrogateescape')

    @property
    def errors(self):
        return self.err.decode(errors='replace')

    def __repr__(self):
        return f'rc={self.rc}\nout={self.out[-3000:]!r}\nerr={self.err[-3000:]!r}'


class Isod:
    """One daemon with its own run, state and configuration folders."""

    def __init__(self, root, name='isod', extra=(), prefix=()):
        self.dir = os.path.join(root, name)
        self.run_dir = os.path.join(self.dir, 'run')
        self.state_dir = os.path.join(self.dir, 'state')
        self.config_dir = os.path.join(self.dir, 'etc')
        self.socket = os.path.join(self.run_dir, 'isod.sock')
        self.log_path = os.path.join(self.dir, 'isod.log')
        self.extra = list(extra)
        self.prefix = list(prefix)
        self.process = None
        for d in (self.dir, self.run_dir, self.state_dir, self.config_dir):
            os.makedirs(d, mode=0o755, exist_ok=True)
        self.client = os.path.join(root, 'isoctl')
        if not os.path.exists(self.client):
            shutil.copy(os.path.join(BUILD, 'isoctl'), self.client)
        self.policy({})

    def policy(self, document):
        """Replaces the administrator's policy (text or object)."""
        path = os.path.join(self.config_dir, 'policy.json')
        text = document if isinstance(document, str) else json.dumps(document)
        with open(path + '.new', 'w', encoding='utf-8') as f:
            f.write(text)
        os.chmod(path + '.new', 0o644)
        os.rename(path + '.new', path)

    def trust(self, path, user=USERS[0]):
        """As the user, who may then name the policy file to lend something. Its options of run."""
        r = self.ctl('trust', '--policy', path, user=user)
        assert r.rc == 0, r
        return ['--policy', path]

    def start(self):
        r, w = os.pipe()
        with open(self.log_path, 'ab') as log:
            self.process = subprocess.Popen(
                [*self.prefix, os.path.join(BUILD, 'isod'), '--foreground', '--socket', self.socket, '--run-dir', self.run_dir,
                 '--state-dir', self.state_dir, '--config-dir', self.config_dir, '--libexec', BUILD,
                 '--ready-fd', str(w), *self.extra],
                pass_fds=(w,), stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        os.close(w)
        ready = os.read(r, 1)
        os.close(r)
        if not ready:
            self.process.wait()
            raise AssertionError('isod did not start:\n' + self.log())
        return self

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(120)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
                raise AssertionError('isod did not end on SIGTERM:\n' + self.log()) from None
        self.process = None

    def log(self):
        with open(self.log_path, encoding='utf-8', errors='replace') as f:
            return f.read()

    # --- the client -------------------------------------------------------------------------------------------------
    def environment(self, user, extra=None):
        entry = pwd.getpwnam(user)
        env = {'HOME': entry.pw_dir, 'USER': user, 'LOGNAME': user, 'SHELL': entry.pw_shell, 'TERM': 'xterm-256color',
               'PATH': '/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin', 'LANG': 'C.UTF-8', 'ISO_SOCKET': self.socket}
        env.update(SECRET_ENV)
        env.update(extra or {})
        return env

    def popen(self, *args, user=USERS[0], cwd=None, env=None, **kw):
        entry = pwd.getpwnam(user)
        ids = {} if user == 'root' else {
            'user': entry.pw_uid, 'group': entry.pw_gid, 'extra_groups': os.getgrouplist(user, entry.pw_gid)}
        return subprocess.Popen([self.client, *args], cwd=cwd or project_of(user), env=self.environment(user, env),
                                **ids, **kw)

    def ctl(self, *args, input=b'', timeout=300, **kw):
        """isoctl ARGS as the user; stdin is a pipe with `input` unless stdin= is given."""
        kw.setdefault('stdout', subprocess.PIPE)
        kw.setdefault('stderr', subprocess.PIPE)
        if 'stdin' not in kw:
            kw['stdin'] = subprocess.PIPE
        else:
            input = None
        process = self.popen(*args, **kw)
        try:
            out, err = process.communicate(input, timeout=timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            raise AssertionError(f'isoctl {args} hangs\nout={out[-2000:]!r}\nerr={err[-2000:]!r}\n{self.log()[-3000:]}') \
                from None
        return Result(subprocess.CompletedProcess(args, process.returncode, out, err))

    def run(self, *args, options=(), **kw):
        """isoctl run -- ARGS"""
        return self.ctl('run', *options, '--', *args, **kw)

    def sh(self, script, **kw):
        return self.run('sh', '-c', script, **kw)

    def sessions(self, *args, user=USERS[0]):
        r = self.ctl('sessions', '--json', *args, user=user)
        assert r.rc == 0, r
        return json.loads(r.out)

    def audit(self, session, user=USERS[0]):
        r = self.ctl('log', '--json', session, user=user)
        assert r.rc == 0, r
        return [json.loads(line) for line in r.out.decode().splitlines()]

    def last_session(self, user=USERS[0]):
        return max(self.sessions('--all', user=user), key=lambda s: s['started'])

    def helpers(self):
        """pids of all our programs that descend from this daemon."""
        return descendants(self.process.pid)

    def helpers_named(self, program):
        """Those of them that run it; some end while they are looked at."""
        found = []
        for pid in self.helpers():
            try:
                if os.readlink(f'/proc/{pid}/exe').endswith('/' + program):
                    found.append(pid)
            except FileNotFoundError:
                continue
        return found


def project_of(user):
    return '/root' if user == 'root' else os.path.join(pwd.getpwnam(user).pw_dir, 'proj')


def descendants(pid):
    children = {}
    for entry in os.listdir('/proc'):
        if entry.isdigit():
            try:
                with open(f'/proc/{entry}/stat', 'rb') as f:
                    stat = f.read()
            except OSError:
                continue
            parent = int(stat.rpartition(b')')[2].split()[1])
            children.setdefault(parent, []).append(int(entry))
    found, todo = [], [pid]
    while todo:
        for child in children.get(todo.pop(), []):
            found.append(child)
            todo.append(child)
    return found


def write(path, text, mode=0o644, owner=None):
    with open(path, 'w', encoding='utf-8') as f:
        f.write(text)
    os.chmod(path, mode)
    if owner:
        os.chown(path, owner.pw_uid, owner.pw_gid)


def pytest_configure():
    """The users: before the test files are read, since some ask for them there."""
    assert os.getuid() == 0, 'the system tests need root'
    with open('/proc/net/dev', encoding='ascii') as f:
        interfaces = [line.split(':')[0].strip() for line in f if ':' in line]
    assert interfaces == ['lo'], 'start the system tests by tests/system/run: they need a network namespace of their own'
    for name in USERS:
        try:
            pwd.getpwnam(name)
        except KeyError:
            # '*' and not '!': sshd takes no key of a locked account
            subprocess.run(['useradd', '-m', '-p', '*', '-s', '/bin/bash', name], check=True)


@pytest.fixture(scope='session', autouse=True)
def users():
    for name in USERS:
        entry = pwd.getpwnam(name)
        for d in ('proj', '.aws', '.ssh', '.config', '.config/isod'):
            os.makedirs(os.path.join(entry.pw_dir, d), exist_ok=True)
        write(os.path.join(entry.pw_dir, '.aws/credentials'), 'aws_secret_access_key=TOPSECRET\n', 0o600)
        write(os.path.join(entry.pw_dir, '.ssh/id_ed25519'), 'KEY\n', 0o600)
        subprocess.run(['chown', '-R', f'{name}:', entry.pw_dir], check=True)
        os.chmod(entry.pw_dir, 0o700)
    yield USERS
    # the users stay: removing them would race with anything of theirs that still runs


@pytest.fixture(scope='session')
def root_dir():
    # not under /tmp: a session's private /tmp would hide it, and users must be able to reach the client
    d = tempfile.mkdtemp(prefix='isod-test-', dir='/var/lib')
    os.chmod(d, 0o755)
    yield d
    shutil.rmtree(d, ignore_errors=True)


PINS = {
    'ok.example': ['127.0.0.77'], 'two.example': ['127.0.0.77'], 'evil.example': ['127.0.0.78'],
    'sub.ok.example': ['127.0.0.77'], 'six.example': ['::1'], 'model.example': ['127.0.0.1'],
    'git.example': ['127.0.0.77'], 'npm.example': ['127.0.0.77'], 'dead.example': ['127.0.0.79'],
}


@pytest.fixture(scope='session')
def shared_isod(root_dir):
    d = Isod(root_dir)
    d.policy({'hosts': PINS})
    d.start()
    yield d
    d.stop()


@pytest.fixture
def isod(shared_isod):
    """The common daemon, whole before and after: same processes, no session, no leaked descriptor or mount."""
    shared_isod.policy({'hosts': PINS})
    pid = shared_isod.process.pid
    yield shared_isod
    assert shared_isod.process.poll() is None, 'isod died:\n' + shared_isod.log()[-4000:]
    assert shared_isod.process.pid == pid
    wait_for(lambda: not [s for s in shared_isod.sessions(user='root') if s['state'] != 'ended'], 'sessions end')
    wait_for(lambda: len(shared_isod.helpers()) <= 1, 'only isod-control is left')


@pytest.fixture
def own_isod(root_dir, request):
    """A daemon for this test alone: it may be killed."""
    d = Isod(root_dir, 'own-' + str(abs(hash(request.node.nodeid)) % 10**8))
    d.policy({'hosts': PINS})
    d.start()
    yield d
    d.stop()


@pytest.fixture
def project(users):
    """An empty folder in the first user's project, removed afterwards."""
    entry = pwd.getpwnam(USERS[0])
    d = tempfile.mkdtemp(dir=project_of(USERS[0]))
    os.chown(d, entry.pw_uid, entry.pw_gid)
    os.chmod(d, 0o755)
    yield d
    shutil.rmtree(d, ignore_errors=True)
