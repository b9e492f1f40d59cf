"""What `policy test` and `policy explain` say of paths, against what happens inside a sandbox."""
import json
import os
import pwd
import shlex

import pytest

from conftest import PINS, USERS, write
from varlink import Varlink


@pytest.fixture
def place(project):
    """A project and a folder in HOME with files of every kind; makes them as the user."""
    entry = pwd.getpwnam(USERS[0])
    made = []

    def put(path, text='text\n'):
        folder = os.path.dirname(path)
        os.makedirs(folder, exist_ok=True)
        while folder.startswith(entry.pw_dir + '/'):
            os.chown(folder, entry.pw_uid, entry.pw_gid)
            folder = os.path.dirname(folder)
        write(path, text, owner=entry)
        made.append(path)
        return path
    put.project = project
    put.home = entry.pw_dir
    yield put
    for path in made:
        if os.path.exists(path):
            os.unlink(path)


def policy(isod, put, **filesystem):
    path = put(os.path.join(put.project, 'policy.json'), json.dumps({'sandbox': {'filesystem': filesystem}}))
    return ['--policy', path]


def ask(isod, put, path, option, options=()):
    r = isod.ctl('policy', 'test', option, path, *options, cwd=put.project)
    assert r.rc in (0, 1), r
    assert r.text.startswith('allowed: ' if r.rc == 0 else 'denied: '), r
    return r.rc == 0


def what_happens(isod, put, paths, options):
    """The same by trying, in one sandbox: opening for reading, and for writing without a change."""
    script = ''.join(f'r=-; w=-; {{ head -c1 <{q} >/dev/null; }} 2>/dev/null && r=r; {{ : >>{q}; }} 2>/dev/null && w=w; '
                     f'echo $r$w\n' for q in map(shlex.quote, paths))
    r = isod.run('bash', '-c', script, options=options, cwd=put.project)
    assert r.rc == 0, r
    return dict(zip(paths, r.text.split()))


PROJECT_FILES = ['plain.c', '.env', 'a/b/.env.local', '.env.example', 'tls/server.pem', 'id_rsa', 'id_rsa.pub',
                 'credentials.json', 'credentials.py', '.git/hooks/pre-commit', '.git/config', '.git/HEAD', '.git/index',
                 '.vscode/tasks.json', '.claude/settings.json', '.claude/notes.md', '.mcp.json', '.envrc', '.isod.json',
                 'secret/x', 'secret/open/x', 'fixed/x', 'fixed/free/x', 'src/deep/k.secret', 'with space/[x]*', 'CLAUDE.md']


def test_says_what_happens_inside(isod, place):
    """One evaluator: each verdict about a file that is there is what a program inside meets."""
    files = [place(os.path.join(place.project, f)) for f in PROJECT_FILES]
    files.append(place(os.path.join(place.project, '.npmrc'), '//r.example/:_authToken=abc\n'))
    files.append(place(os.path.join(place.project, 'web/.npmrc'), '//r.example/:_authToken=${TOKEN}\n'))
    files.append(place(os.path.join(place.project, 'tls/server.key'), '-----BEGIN PRIVATE KEY-----\n'))
    files.append(place(os.path.join(place.project, 'slides.key'), 'PK\x03\x04 slides'))
    home = [place(os.path.join(place.home, f)) for f in
            ['granted/x', 'granted/.env', 'granted/w/x', 'not-granted/x', 'layered/x', '.nvm/x', '.m2/repository/x',
             '.m2/settings.xml', '.cargo/credentials.toml', '.cargo/bin/cargo']]
    options = policy(isod, place, allowRead=['~/granted', './secret/open'], allowWrite=['~/granted/w', './fixed/free'],
                     denyRead=['./secret', '**/*.secret', './with space/\\[x\\]\\*'], denyWrite=['./fixed/**'],
                     overlay=['~/layered'])
    files += home
    happened = what_happens(isod, place, files, options)
    for path in files:
        said = ('r' if ask(isod, place, path, '--read', options) else '-') + \
               ('w' if ask(isod, place, path, '--write', options) else '-')
        # An empty HOME of the session's own may be written to: the host's file is not what is written then.
        if path in home and said == '--':
            assert happened[path][0] == '-', (path, said, happened[path])
            continue
        assert said == happened[path], (path, said, happened[path])
    assert {happened[path] for path in files if path not in home} == {'--', 'r-', 'rw'}, happened


@pytest.mark.parametrize('path,read,write', [
    ('.', True, True), ('new/file', True, True), ('.git/hooks/new', True, False), ('sub/.env', False, False),
    ('/etc/hostname', True, False),
    ('/etc/shadow', False, False), ('/etc/wireguard/wg0.conf', False, False), ('/etc/ssh/ssh_host_new_key', False, False), ('/usr/bin/env', True, False), ('/tmp/x', False, False), ('/nowhere/x', False, False),
    ('~/.ssh/id_ed25519', False, False), ('~/.bashrc', False, False), ('~/.cache/pip/x', True, True), ('/', False, False)])
def test_paths_that_need_not_exist(isod, place, path, read, write):
    assert ask(isod, place, path, '--read') == read
    assert ask(isod, place, path, '--write') == write


def test_the_path_itself_counts_not_its_spelling(isod, place):
    """A link is followed as far as it leads; ".." is not text."""
    place(os.path.join(place.project, '.git/hooks/x'))
    os.symlink('.git/hooks', os.path.join(place.project, 'link'))
    os.symlink(os.path.join(place.home, '.ssh'), os.path.join(place.project, 'keys'))
    assert not ask(isod, place, 'link/x', '--write')
    assert not ask(isod, place, 'keys/id_ed25519', '--read')
    assert not ask(isod, place, 'link/../hooks/x', '--write')
    assert ask(isod, place, 'link/../index', '--write')
    r = isod.ctl('policy', 'test', '--read', 'no/such/../x', cwd=place.project)
    assert r.rc == 2 and 'leads nowhere' in r.errors, r


def test_verdict_names_rule_and_origin(isod, place):
    options = policy(isod, place, denyRead=['./a/**', '**/b'])
    r = isod.ctl('policy', 'test', '--read', 'a/x', *options, cwd=place.project)
    assert r.rc == 1 and 'by deny-read ./a/**  (sandbox.filesystem.denyRead, file ' in r.text, r
    assert options[1] + ':1)' in r.text, r
    r = isod.ctl('policy', 'test', '--write', 'a/x', '--json', *options, cwd=place.project)
    answer = json.loads(r.out)
    assert r.rc == 1 and answer['access'] == 'denied' and not answer['read'] and not answer['write'], answer
    rule = answer['rules'][0]
    assert rule['state'] == 'decides' and rule['pattern'] == place.project + '/a' and rule['text'] == './a/**', rule
    assert [r['state'] for r in answer['rules']] == ['decides', 'holds'], answer


def test_explain_lists_rules_by_strength(isod, place):
    options = policy(isod, place, allowRead=['./a/b'], denyWrite=['./a'])
    r = isod.ctl('policy', 'explain', 'a/b/.env.example', *options, cwd=place.project)
    assert r.rc == 0, r
    lines = r.text.splitlines()
    assert lines[0] == f'{place.project}/a/b/.env.example: readable'
    assert [line.split()[:3] for line in lines[1:]] == [
        ['holds', 'exempt', '/**/.env*.example'], ['decides', 'allow-read', './a/b'], ['holds', 'deny-write', './a'],
        ['holds', 'allow-write', place.project], ['set-aside', 'deny-read', '/**/.env.*']], r.text


def test_explain_without_a_path(isod, place):
    options = policy(isod, place, denyRead=['**/k'], protect={'dotenv': False}, lateFiles='require')
    r = isod.ctl('policy', 'explain', *options, cwd=place.project)
    assert r.rc == 0, r
    assert f'denyRead: **/k  (file {options[1]}:1)' in r.text and f'protect.dotenv: false  (file {options[1]}:1)' in r.text
    assert 'protect.keys: true  (built-in)' in r.text and 'lateFiles: require' in r.text, r


def test_switches(isod, place):
    env = place(os.path.join(place.project, '.env'))
    assert not ask(isod, place, env, '--read')
    off = policy(isod, place, protect={'dotenv': False})
    assert ask(isod, place, env, '--read', off)
    # What the administrator has switched on stays on.
    isod.policy({'hosts': PINS, 'sandbox': {'filesystem': {'protect': {'dotenv': True}}}})
    assert not ask(isod, place, env, '--read', off)
    isod.policy({'hosts': PINS})


def test_home_of_the_other_user_is_not_told(isod, place):
    """The daemon opens nothing for an answer: it is about rules, whoever asks."""
    other = pwd.getpwnam(USERS[1]).pw_dir
    assert not ask(isod, place, f'{other}/.ssh/id_ed25519', '--read')
    assert not ask(isod, place, f'{other}/.ssh/no-such-key', '--read')


@pytest.mark.parametrize('text,message', [
    ('{"sandbox": {"filesystem": {"denyRead": ["C:\\\\x"]}}}', 'relative'),
    ('{"sandbox": {"filesystem": {"allowRead": ["/**"]}}}', 'whole machine'),
    ('{"sandbox": {"filesystem": {"devices": ["/dev/sda"]}}}', 'not a device'),
    ('{"sandbox": {"filesystem": {"protect": {"nothing": true}}}}', 'no protection'),
    ('{"degraded": "allow"}', 'Only the administrator')])
def test_refused(isod, place, text, message):
    path = place(os.path.join(place.project, 'p.json'), text)
    assert isod.ctl('trust', '--policy', path).rc == 0
    for r in (isod.run('true', options=['--policy', path], cwd=place.project),
              isod.ctl('policy', 'test', '--read', 'x', '--policy', path, cwd=place.project)):
        assert r.rc in (2, 125) and message in r.errors and path + ':1' in r.errors, r


@pytest.mark.parametrize('args', [[], ['--read', 'x', '--write', 'y'], ['x'], ['--read', '']])
def test_wrong_questions(isod, place, args):
    assert isod.ctl('policy', 'test', *args, cwd=place.project).rc == 2


@pytest.mark.parametrize('parameters,error', [
    ({'path': 'x'}, 'Invalid'), ({'path': '/a/../b'}, 'Invalid'), ({'path': '/a', 'kind': 'socket'}, 'Invalid'),
    ({'path': '/' + 'a' * 5000}, 'Invalid'), ({'path': '/a', 'cwd': '/'}, 'Refused'), ({'path': '/a', 'cwd': 'x'}, 'Invalid'),
    ({'path': '/a', 'policies': [{'layer': 'administrator', 'path': '', 'text': '{}'}]}, 'Invalid')])
def test_calls_that_are_refused(isod, parameters, error):
    with Varlink(isod.socket) as link:
        reply = link.call('org.isod.PolicyTest', {'policies': [], 'cwd': '/srv', **parameters})
        assert reply['error'] == 'org.isod.' + error and reply['parameters']['message'].endswith('.'), reply
        assert link.call('org.isod.PolicyTest', {'policies': [], 'cwd': '/srv', 'path': '/srv/x'})['parameters']['write']


def test_patterns_that_would_take_minutes(isod):
    """isod-control has one thread for all: such rules are refused, in a start as in a question."""
    deep = '/srv' + '/x' * 1900
    rules = json.dumps({'sandbox': {'filesystem': {'denyRead': ['**/a/**/?'] * 10000, 'allowRead': [deep]}}})
    policies = [{'layer': 'file', 'path': '/p', 'text': rules}]
    easy = [{'layer': 'file', 'path': '/p', 'text': rules.replace(deep, '/srv/x')}]
    with Varlink(isod.socket) as link:
        reply = link.call('org.isod.PolicyTest', {'policies': policies, 'cwd': '/srv', 'path': '/srv/x'})
        assert reply['error'] == 'org.isod.LimitExceeded' and 'take too long' in reply['parameters']['message'], reply
        reply = link.call('org.isod.PolicyTest', {'policies': easy, 'cwd': '/srv', 'path': deep})
        assert reply['error'] == 'org.isod.LimitExceeded' and 'take too long' in reply['parameters']['message'], reply
        assert link.call('org.isod.PolicyTest', {'policies': easy, 'cwd': '/srv', 'path': '/srv/y'})['parameters']['write']
