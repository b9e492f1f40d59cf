"""Cases of area F (the file view), and each built-in protection by name, by real reads and writes inside a session."""
import json
import os
import pwd
import re
import shutil
import subprocess

import pytest

from conftest import BUILD, TOP, USERS, write

USER = USERS[0]
TOKEN = '-----BEGIN PRIVATE KEY-----\nSECRET\n-----END PRIVATE KEY-----\n//registry.example/:_authToken=npm_SECRETSECRETSECRET\n' \
    'npmAuthToken: SECRETSECRETSECRET\nindex-url = https://user:SECRET@pypi.example/simple\n'


def own(top):
    subprocess.run(['chown', '-hR', f'{USER}:', top], check=True)


def fill(path, text='text\n'):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    write(path, text)


def filesystem(**keys):
    return {'sandbox': {'filesystem': keys}}


@pytest.fixture
def policy(root_dir):
    """Options of `run` for rules given as a policy file."""
    def make(**keys):
        path = os.path.join(root_dir, 'view-policy.json')
        write(path, json.dumps(filesystem(**keys)))
        return ['-q', '--policy', path]
    return make


# --- built-in protections, from the table itself ----------------------------------------------------------------------
def table():
    with open(os.path.join(TOP, 'view/protect.c'), encoding='utf-8') as f:
        text = f.read()
    rows = re.findall(r'\{ (SECRET|RUNS|EXEMPT)((?: [A-Z_]+)?), (PROTECT_\w+), "([^"]+)" \}', text)
    assert len(rows) == text.count(', "/**/') + text.count(', "~/'), 'a row has another form'
    names = dict(re.findall(r'\[(PROTECT_\w+)\] = \{ "(\w*)", (?:true|false) \}', text))
    off = set(re.findall(r'\[(PROTECT_\w+)\] = \{ "\w+", false \}', text))
    return [(kind, how.strip(), names[group], pattern, group not in off) for kind, how, group, pattern in rows]


SWITCHES = sorted({row[2] for row in table()} - {''})  # some exemptions have none
FILE_NAME = re.compile(r'.\.\w+$|config$|gitdir$|commondir$|alternates$|attributes$|config\.worktree$|rc$|Jenkinsfile|_history')


def example(pattern):
    """A path that the pattern stands for, relative to the project or to HOME."""
    path = pattern.removeprefix('~/').removeprefix('/**/').replace('/**/', '/deep/er/')
    return re.sub(r'\[!?(.)[^]]*\]', r'\1', path).replace('?', 'q').replace('*', 'a')


# Reads the places from stdin: [[path, is a folder]]; prints what could be done to each.
TRY = r'''
import errno, json, os, sys
def attempt(f, *a):
    try:
        r = f(*a)
    except OSError as e:
        return errno.errorcode[e.errno]
    return r
def read(p):
    with open(p) as f: return "yes" if "SECRET" in f.read() or True else ""
def add(p):
    with open(p, "a") as f: f.write("x")
    return "yes"
def make(p):
    os.close(os.open(p + "/isod-new", os.O_CREAT | os.O_WRONLY, 0o600)); os.unlink(p + "/isod-new"); return "yes"
def lists(p): os.listdir(p); return "yes"
def move(p): os.rename(p, p + ".isod"); os.rename(p + ".isod", p); return "yes"
def replace(p):
    q = os.path.dirname(p) + "/isod-other"
    os.mkdir(q) if os.path.isdir(p) else open(q, "w").close()
    try: os.rename(q, p) if not os.path.isdir(p) else os.rename(p, q)
    except OSError:
        os.rmdir(q) if os.path.isdir(q) else os.unlink(q)
        raise
    return "yes"
out = {}
for path, folder in json.load(sys.stdin):
    if folder:
        out[path] = [attempt(lists, path), attempt(read, path + "/inner"), attempt(add, path + "/inner"), attempt(make, path), attempt(move, path)]
    else:
        out[path] = [attempt(read, path), attempt(add, path), attempt(move, path), attempt(replace, path)]
json.dump(out, sys.stdout)
'''


class Places:
    """One place a row, each row of the table in a folder of its own; those of HOME in HOME."""

    def __init__(self, project, home, rows):
        self.rows = []
        for i, (kind, how, switch, pattern, on) in enumerate(rows):
            top = home if pattern.startswith('~/') else os.path.join(project, f'row{i}')
            path = os.path.join(top, example(pattern))
            folder = 'FILE' not in how and 'IF_TOKEN' not in how and not FILE_NAME.search(path)
            if os.path.lexists(path) or any(path.startswith(r[3] + '/') for r in self.rows):
                continue
            fill(path + '/inner' if folder else path, TOKEN)
            self.rows.append((kind, switch, on, path, folder))

    def spec(self):
        return json.dumps([[path, folder] for _, _, _, path, folder in self.rows]).encode()


@pytest.fixture
def own_home(users):
    """HOME of the first user, empty but for what isod's client reads; put back afterwards."""
    home = pwd.getpwnam(USER).pw_dir
    before = set(os.listdir(home))
    away = home + '.away'
    os.rename(home, away)
    os.mkdir(home, 0o700)
    os.makedirs(home + '/work', exist_ok=True)
    own(home)
    yield home
    shutil.rmtree(home)
    os.rename(away, home)
    assert set(os.listdir(home)) == before


def covers(pattern, home, path):
    """Is the pattern about the path, or a folder above it? Another way than the evaluator's."""
    parts = [re.sub(r'\\\[(!?)([^]]*)\]', lambda m: f"[{'^' if m[1] else ''}{m[2]}]", re.escape(part).replace('\\[', '[').replace('\\]', ']'))
             .replace('\\*', '[^/]*') for part in pattern.replace('~', home, 1).split('/')[1:]]
    regex = ''.join('(?:/[^/]+)*' if part == '[^/]*[^/]*' else '/' + part for part in parts)
    return re.match(regex + '(?:/|$)', path) is not None


def judge(kind, folder, result):
    if kind == 'SECRET':
        return 'yes' not in result and result[0] in ('EACCES', 'ENOENT') and \
            set(result) <= {'EACCES', 'EBUSY', 'EROFS', 'ENOENT', 'EXDEV', 'ENOTDIR'}
    if folder:
        return result[:2] == ['yes', 'yes'] and result[2:4] == ['EROFS', 'EROFS'] and result[4] in ('EBUSY', 'EXDEV', 'EROFS')
    return result[:2] == ['yes', 'EROFS'] and all(r in ('EBUSY', 'EXDEV', 'EROFS') for r in result[2:])


def check(places, home, got, on=lambda switch, default: default):
    """What a row promises; a place that another row is about as well is left to that one."""
    wrong = []
    active = [(row[2], row[3]) for row in table() if row[0] != 'EXEMPT' and on(row[2], row[4])]
    for kind, switch, default, path, folder in places.rows:
        if kind != 'EXEMPT' and on(switch, default):
            good = judge(kind, folder, got[path])
        else:
            # moving may be refused for the sake of something above
            good = got[path][0] == 'yes' and set(got[path]) <= {'yes', 'EBUSY', 'EXDEV'} or any(
                covers(pattern, home, path) for other, pattern in active if kind == 'EXEMPT' or other != switch)
        if not good:
            wrong.append((kind, switch, path, got[path]))
    return wrong


def test_the_check_itself():
    assert covers('/**/*[-_]credentials.json', '/h', '/h/jobs/application_default_credentials.json')
    assert covers('~/.config/git', '/h', '/h/.config/git/credentials') and not covers('/**/.env', '/h', '/h/.envx')
    assert covers('/**/.env*', '/h', '/h/a/.env.x') and covers('/**/.git/modules/**/hooks', '/h', '/x/.git/modules/a/b/hooks/z')


@pytest.mark.parametrize('off', [None, *SWITCHES])
def test_each_protection(isod, own_home, policy, off):
    """Masked: EACCES; locked: EROFS, and not moved or replaced. With its switch off: as if it were any file."""
    project = own_home + '/jobs/p'
    places = Places(project, own_home, table())
    assert len(places.rows) > 200
    own(own_home)
    options = policy(allowWrite=['~'], protect={off: False} if off else {}, toolchains=False, caches=False)
    r = isod.run('/usr/bin/python3', '-c', TRY, input=places.spec(), options=options, cwd=project)
    assert r.rc == 0, r
    wrong = check(places, own_home, json.loads(r.out), lambda switch, default: default and switch != off)
    assert not wrong, wrong


@pytest.mark.parametrize('on', ['gitAttributes', 'workflows'])
def test_protections_by_choice(isod, project, policy, on):
    rows = [row for row in table() if row[2] == on]
    places = Places(project, project, rows)
    own(project)
    r = isod.run('/usr/bin/python3', '-c', TRY, input=places.spec(), options=policy(), cwd=project)
    assert set(x for result in json.loads(r.out).values() for x in result) == {'yes'}, r
    r = isod.run('/usr/bin/python3', '-c', TRY, input=places.spec(), options=policy(protect={on: True}), cwd=project)
    wrong = check(places, project, json.loads(r.out), lambda switch, default: default or switch == on)
    assert not wrong, wrong


@pytest.mark.parametrize('name', ['.env.example', '.env.sample', '.env.template', 'id_rsa.pub', 'credentials.py', 'venv/certifi/cacert.pem',
                                  'slides.key', '.npmrc', 'Makefile', '.gitignore', 'settings.json', 'env', '.environment', 'rc', 'pem'])
def test_what_is_no_secret(isod, project, name):
    """Examples to copy, public halves, settings without a token."""
    fill(os.path.join(project, name), 'registry=https://registry.example/\n')
    own(project)
    r = isod.sh(f'cat {name} && echo x >>{name} && mv {name} other && mv other {name}', cwd=project)
    assert r.rc == 0 and r.text == 'registry=https://registry.example/\n', r


def pem(label):
    return f'-----BEGIN {label}-----\n{"MIIBszCCAVmgAwIBAgIUYw0DpoWl0DtfqNFWBLcPyNRtv6UwCgYI" * 2}\n-----END {label}-----\n'


@pytest.mark.parametrize('text, secret', [
    (pem('CERTIFICATE'), False), ('# my CA\n' + pem('CERTIFICATE') * 2, False), (pem('PUBLIC KEY'), False), (pem('X509 CRL'), False),
    (pem('PRIVATE KEY'), True), (pem('RSA PRIVATE KEY'), True), (pem('CERTIFICATE') + pem('EC PRIVATE KEY'), True),
    (pem('EC PRIVATE KEY') + pem('CERTIFICATE'), True), ('', True), ('words\n', True), (pem('CERTIFICATE') * 600, True)],
    ids=['certificate', 'two', 'public key', 'crl', 'key', 'rsa', 'both', 'key first', 'empty', 'words', 'long'])
def test_pem_is_secret_but_where_it_is_public_alone(isod, project, text, secret):
    """Certificates lie in many repositories. In doubt it is a key: empty, without a block, too long to look at."""
    fill(os.path.join(project, 'certs/x.pem'), text)
    os.symlink('x.pem', os.path.join(project, 'certs/key'))
    os.symlink('certs/x.pem', os.path.join(project, 'link.pem'))
    own(project)
    r = isod.sh('cat certs/x.pem && cat link.pem && cat certs/key', cwd=project)
    assert r.text == ('' if secret else text * 3) and (r.rc != 0) == secret, r
    word = isod.ctl('policy', 'test', '--read', 'certs/x.pem', cwd=project)
    assert (word.rc == 1) == secret, word


def test_pem_behind_a_link_that_is_called_so(isod, project):
    """The name by which the rule holds decides how it is looked at."""
    fill(os.path.join(project, 'data'), 'words\n')
    os.symlink('data', os.path.join(project, 'x.pem'))
    own(project)
    assert isod.sh('cat x.pem; cat data', cwd=project).text == ''


# --- rules of the policy ----------------------------------------------------------------------------------------------
def test_the_most_specific_rule_wins(isod, project, root_dir, policy):
    d = os.path.join(root_dir, 'tree')
    shutil.rmtree(d, ignore_errors=True)
    for name in ('f', 'a/f', 'a/b/f', 'a/b/c/f', 'a/b/c/d/f', 'x/keep.txt', 'x/drop.log', 'x/y/drop.log', 'x/y/important.log'):
        fill(os.path.join(d, name))
    subprocess.run(['chmod', '-R', 'a+rwX', d], check=True)
    options = policy(allowRead=[d, f'{d}/a/b', f'{d}/x/y/important.log'], denyRead=[f'{d}/a', f'{d}/a/b/c', f'{d}/x/**/*.log', f'{d}/x/*.log'],
                     allowWrite=[f'{d}/a/b/c/d'], denyWrite=[])
    r = isod.run('sh', '-c', 'cd $0; for f in f a/f a/b/f a/b/c/f a/b/c/d/f x/keep.txt x/drop.log x/y/drop.log x/y/important.log; do '
                 'if cat $f >/dev/null 2>&1; then echo "$f read"; fi; if (: >>$f) 2>/dev/null; then echo "$f written"; fi; done', d, options=options, cwd=project)
    assert r.text.splitlines() == ['f read', 'a/b/f read', 'a/b/c/d/f read', 'a/b/c/d/f written', 'x/keep.txt read'], r


def test_deny_beats_allow_at_the_same_depth(isod, project, policy):
    fill(os.path.join(project, 'd/f'))
    fill(os.path.join(project, 'e/f'))
    own(project)
    r = isod.sh('cat d/f; cat e/f && (echo x >>e/f; ls e)', cwd=project, options=policy(
        allowWrite=['./d', './e'], denyRead=['./d'], denyWrite=['./e']))
    assert r.text == 'text\nf\n' and 'Permission denied' in r.errors and 'Read-only' in r.errors, r


def test_an_allowed_file_in_a_denied_folder(isod, project, policy):
    for name in ('secret/a', 'secret/open', 'secret/deep/open', 'secret/deep/b'):
        fill(os.path.join(project, name))
    own(project)
    r = isod.sh('cat secret/open secret/deep/open; cat secret/a; cat secret/deep/b; ls secret; (echo x >secret/new)', cwd=project,
                options=policy(denyRead=['./secret'], allowRead=['./secret/open', './secret/deep/open']))
    assert r.text.startswith('text\ntext\n') and 'a' not in r.text.split()[2:] and 'b' not in r.text.split()[2:], r
    assert not os.path.exists(os.path.join(project, 'secret/new')), r


@pytest.mark.parametrize('rule, denied, open_', [
    ('./**/*.log', ['a.log', 'x/a.log', 'x/y/a.log'], ['a.txt', 'x/log']),
    ('./*.log', ['a.log'], ['x/a.log']), ('./x/**', ['x/a.log', 'x/y/a.log', 'x/log'], ['a.log']), ('./x?/f', ['xa/f', 'xb/f'], ['x/log', 'xab/f']),
    ('./x[ab]/f', ['xa/f', 'xb/f'], ['xc/f']), ('./x[!ab]/f', ['xc/f'], ['xa/f']), ('./**/y', ['x/y/a.log'], ['x/a.log']),
    ('./x\\?/f', ['x?/f'], ['xa/f']), ('./**/.hidden*', ['.hidden', 'x/.hidden.a'], ['x/log'])])
def test_patterns(isod, project, policy, rule, denied, open_):
    for name in denied + open_:
        fill(os.path.join(project, name))
    own(project)
    r = isod.run('sh', '-c', 'for f; do cat "$f" >/dev/null 2>&1 && echo "$f"; done; true', 'sh', *denied, *open_, cwd=project, options=policy(denyRead=[rule]))
    assert r.text.splitlines() == open_, r


# --- 101: links to the outside ----------------------------------------------------------------------------------------
@pytest.mark.parametrize('when', ['before', 'inside'])
def test_101_links_to_the_outside(isod, project, when):
    home = pwd.getpwnam(USER).pw_dir
    links = {'link': home + '/.ssh', 'l1': 'l2', 'l2': 'l3', 'l3': home + '/.ssh', 'proc': '/proc/self/root' + home + '/.ssh', 'cwd': '/proc/self/cwd/../../.ssh',
             'up': '../../.ssh', 'pid1': '/proc/1/root' + home + '/.ssh'}
    make = '; '.join(f'ln -s {target} {name}' for name, target in links.items())
    subprocess.run(['sh', '-c', make if when == 'before' else 'true'], cwd=project, check=True)
    own(project)
    r = isod.sh((make if when == 'inside' else 'true') + '; for l in ' + ' '.join(links) + '; do cat $l/id_ed25519; echo x >$l/id_ed25519; '
                'echo x >$l/new; mkdir $l/d; done; true', cwd=project)
    assert r.text == '' and r.errors.count('No such file') + r.errors.count('denied') + r.errors.count('nonexistent') >= 4 * len(links) - 4, r
    with open(home + '/.ssh/id_ed25519', encoding='ascii') as f:
        assert f.read() == 'KEY\n'
    assert not {'new', 'd'} & set(os.listdir(home + '/.ssh'))


# --- 104: rules that match very many files ----------------------------------------------------------------------------
def test_104_a_hundred_thousand_matches(isod, project, policy):
    """One mount for what is denied as a whole; no argument list, no mount a file."""
    for d in range(100):
        os.makedirs(os.path.join(project, f'data/d{d}'))
        for f in range(1000):
            os.close(os.open(os.path.join(project, f'data/d{d}/f{f}.parquet'), os.O_CREAT | os.O_WRONLY, 0o644))
    fill(os.path.join(project, 'other/x.parquet'))
    fill(os.path.join(project, 'other/x.txt'))
    own(project)
    options = policy(denyRead=['./data/**', './**/*.parquet'])
    r = isod.sh('cat data/d7/f7.parquet; cat other/x.parquet; cat other/x.txt; wc -l </proc/self/mountinfo; ls other', cwd=project, options=options)
    lines = r.text.splitlines()
    assert r.errors.count('denied') == 2 and lines[0] == 'text' and int(lines[1]) < 120 and lines[2:] == ['x.parquet', 'x.txt'], r


def test_104_five_hundred_worktrees(isod, project, policy):
    subprocess.run(['git', 'init', '-q', project], check=True)
    for w in range(500):
        fill(os.path.join(project, f'.git/worktrees/w{w}/gitdir'), f'/elsewhere/w{w}/.git\n')
        fill(os.path.join(project, f'.git/worktrees/w{w}/commondir'), '../..\n')
        fill(os.path.join(project, f'wt/w{w}/.git'), f'gitdir: {project}/.git/worktrees/w{w}\n')
        fill(os.path.join(project, f'wt/w{w}/.env'), 'SECRET\n')
    own(project)
    r = isod.sh('cat wt/w*/.env; for w in 0 250 499; do echo x >wt/w$w/.git; echo x >.git/worktrees/w$w/gitdir; mv wt/w$w/.git wt/w$w/old; done; echo end',
                cwd=project, options=['-q'])
    assert r.text == 'end\n' and r.errors.count('ead-only') >= 6, r


def test_more_matches_than_mounts_can_cover(isod, project, policy):
    """Six thousand single files: they are refused all the same, or the start is, with the rule's name."""
    for f in range(6000):
        os.makedirs(os.path.join(project, f'd{f % 60}'), exist_ok=True)
        fill(os.path.join(project, f'd{f % 60}/f{f}.parquet'), 'SECRET\n')
    own(project)
    r = isod.sh('cat */*.parquet 2>/dev/null; echo end', cwd=project, options=policy(denyRead=['./**/*.parquet']))
    assert 'SECRET' not in r.text and (r.text == 'end\n' or (r.rc == 125 and 'remedy' in r.errors)), r


# --- 106, 107, 131: how rules are written -----------------------------------------------------------------------------
@pytest.mark.parametrize('rule, good', [('/home/*/.ssh/**', True), ('~/.ssh', True), ('./x', True), ('/abs/x', True), ('~/a/../b', False), ('x', False),
                                        ('//x', True), ('C:\\x', False), ('C:/x', False), ('', False), ('~other/x', False), ('$HOME/x', False),
                                        ('../x', False), ('./..', False), ('/', False), ('.//x', True), ('./a/./b', True)])
def test_106_forms_of_rules(isod, project, policy, rule, good):
    options = policy(denyRead=[rule])
    r = isod.run('true', options=options, cwd=project)
    assert (r.rc == 0) == good and (good or (r.rc == 125 and 'view-policy.json:1' in r.errors)), r


def test_106_absolute_stays_absolute(isod, own_home, policy):
    for name in ('.ssh/id', 'jobs/p/home/x/.ssh/id'):
        fill(os.path.join(own_home, name))
    own(own_home)
    r = isod.sh('cat ~/.ssh/id; cat home/x/.ssh/id', cwd=own_home + '/jobs/p', options=policy(
        allowRead=['~'], denyRead=['/home/*/.ssh/**'], protect={'keys': False}))
    assert r.text == 'text\n' and 'denied' in r.errors, r


@pytest.mark.parametrize('grant', [True, False])
def test_107_writes_into_what_is_hidden_fail(isod, own_home, policy, grant):
    fill(own_home + '/.ssh/id')
    own(own_home)
    r = isod.sh('echo x > ~/.ssh/f; echo $?', cwd=own_home + '/work', options=policy(allowWrite=['~'] if grant else [], denyRead=['~/.ssh']))
    assert r.text.strip() != '0' and os.listdir(own_home + '/.ssh') == ['id'], r


@pytest.mark.parametrize('option', ['/', '/proc', '/sys', '/dev', '/run', '/run/user/0', '/run/isod', '/proc/self/cwd', '/dev/shm'])
@pytest.mark.parametrize('how', ['--allow-read', '--allow-write'])
def test_131_no_rule_widens_the_view_by_accident(isod, project, how, option):
    """One that is refused stops the start: nothing else of the list counts then, and no parent is handed out for it."""
    r = isod.sh('echo ran', options=[how, './a', how, option], cwd=project)
    assert r.rc == 125 and 'ran' not in r.text, r


# --- 115: trees of package managers -----------------------------------------------------------------------------------
def test_115_nix_store(isod, project):
    made = not os.path.isdir('/nix')
    os.makedirs('/nix/store', exist_ok=True)
    subprocess.run(['mount', '-t', 'tmpfs', 'isod-test', '/nix/store'], check=True)
    try:
        fill('/nix/store/0-lib/lib/data', 'library\n')
        fill('/nix/store/1-tool/bin/tool', '#!/bin/sh\ncat "$(dirname "$(realpath "$0")")/../../0-lib/lib/data"\n')
        os.chmod('/nix/store/1-tool/bin/tool', 0o755)
        os.symlink('/nix/store/1-tool/bin/tool', os.path.join(project, 'tool'))
        os.symlink('/nix/store/1-tool', '/run/current-system')
        r = isod.sh('./tool && realpath ./tool && stat -c %F /nix /nix/store; touch /nix/store/x; rm /nix/store/1-tool/bin/tool', cwd=project)
        assert r.text == 'library\n/nix/store/1-tool/bin/tool\ndirectory\ndirectory\n' and r.errors.count('Read-only') == 2, r
        # where NixOS has its programs
        r = isod.sh('ls /run/current-system/bin; touch /run/current-system/x; ls /run', cwd=project)
        assert r.text.split() == ['tool', 'current-system', 'user'] and 'Read-only' in r.errors, r
    finally:
        if os.path.islink('/run/current-system'):
            os.unlink('/run/current-system')
        subprocess.run(['umount', '/nix/store'], check=True)
        if made:
            os.rmdir('/nix/store')
            os.rmdir('/nix')


# --- what is masked and locked, attacked from inside ------------------------------------------------------------------
@pytest.mark.parametrize('user', [USER, 'root'])
@pytest.mark.parametrize('how', ['masked', 'nested'])
def test_attacks_on_what_is_masked(isod, project, root_dir, policy, user, how):
    attacker = os.path.join(root_dir, 'attacker-masked')
    shutil.copy(os.path.join(BUILD, 'tests/unit/launch/attacker'), attacker)
    for name in ('sub/.env', '.git/config', '.git/hooks/pre-commit', '.git/HEAD'):
        fill(os.path.join(project, name), 'SECRET\n')
    if user == USER:
        own(project)
    else:
        subprocess.run(['chown', '-hR', 'root:', project], check=True)
    options = [*policy(allowRead=[attacker]), *(['--nesting'] if how == 'nested' else [])]
    r = isod.run(attacker, how, 'sub/.env', '.git/config', '.git/hooks', options=options, cwd=project, user=user, input=b'')
    lines = r.text.splitlines()
    assert len([line for line in lines if line.startswith('ok ')]) >= 6, r
    assert [line for line in lines if line.startswith('FAIL')] == [] and r.rc == 0, r


def test_attacks_on_nothing_succeed(isod, project, root_dir, policy):
    """The control: without protections most of them are possible."""
    attacker = os.path.join(root_dir, 'attacker-masked')
    shutil.copy(os.path.join(BUILD, 'tests/unit/launch/attacker'), attacker)
    for name in ('sub/.env', '.git/config', '.git/hooks/pre-commit'):
        fill(os.path.join(project, name), 'SECRET\n')
    own(project)
    off = {row[2]: False for row in table() if row[2]}
    r = isod.run(attacker, 'masked', 'sub/.env', '.git/config', '.git/hooks', options=policy(allowRead=[attacker], protect=off), cwd=project, input=b'')
    assert len([line for line in r.text.splitlines() if line.startswith('FAIL')]) >= 7, r
