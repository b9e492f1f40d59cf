"""isoctl run --overlay: the project stays byte for byte what it was until the layer is applied."""
import json
import os
import pwd
import subprocess

import pytest

from conftest import Isod, USERS
from layers import settle, tree

from waiting import wait_for


def as_user(*argv, cwd):
    entry = pwd.getpwnam(USERS[0])
    p = subprocess.run(argv, cwd=cwd, user=entry.pw_uid, group=entry.pw_gid, extra_groups=[], capture_output=True,
                       env={'HOME': entry.pw_dir, 'PATH': '/usr/bin:/bin'})
    assert p.returncode == 0, p
    return p.stdout


@pytest.fixture
def repository(project):
    as_user('sh', '-ec', '''git init -q .; git config user.name n; git config user.email e@x
        printf 'one\\ntwo\\n' > a.txt; echo bye > gone.txt; mkdir src; echo 'int x;' > src/x.c; echo ignored > .gitignore
        echo '#!/bin/sh' > run.sh; git add .; git commit -qm first; echo secret > ignored; echo untracked > u''', cwd=project)
    settle()
    return project


def diff(isod, session, **kw):
    r = isod.ctl('diff', '--json', session, **kw)
    assert r.rc == 0, r
    return {c['path']: c for c in json.loads(r.out)['changes']}


def run(isod, cwd, script, **kw):
    r = isod.sh(script, options=('--overlay', '-q'), cwd=cwd, **kw)
    assert r.rc == 0, r
    return isod.last_session()['id'], r


def status(cwd):
    return as_user('git', '--no-optional-locks', 'status', '--porcelain', '--ignored', cwd=cwd)


def test_nothing_reaches_the_host_before_it_is_applied(isod, repository):
    before, mark = tree(repository), status(repository)
    session, r = run(isod, repository, '''cat a.txt; echo three >> a.txt; rm gone.txt; chmod 755 run.sh; mkdir -p new/sub
        echo n > new/sub/f; mv src/x.c src/y.c; ln -s ../a.txt new/l; cat a.txt''')
    assert r.out == b'one\ntwo\none\ntwo\nthree\n'
    assert tree(repository) == before and status(repository) == mark
    changes = diff(isod, session)
    assert {p: c['kind'] for p, c in changes.items()} == {
        'a.txt': 'changed', 'gone.txt': 'deleted', 'run.sh': 'mode', 'new': 'new', 'new/sub': 'new', 'new/sub/f': 'new',
        'new/l': 'new', 'src/y.c': 'renamed'}, changes
    assert tree(repository) == before
    assert session in [x['session'] for x in json.loads(isod.ctl('diff', '--list', '--json').out)]
    # a second session begins with the host's files again
    _, again = run(isod, repository, 'cat a.txt; ls')
    assert b'three' not in again.out and b'gone.txt' in again.out
    assert isod.ctl('apply', session).rc == 0
    with open(f'{repository}/a.txt', encoding='ascii') as f:
        assert f.read() == 'one\ntwo\nthree\n'
    assert not os.path.exists(f'{repository}/gone.txt') and os.stat(f'{repository}/run.sh').st_mode & 0o777 == 0o755
    assert os.readlink(f'{repository}/new/l') == '../a.txt' and diff(isod, session) == {}
    assert isod.ctl('discard', session).rc == 0


def test_the_user_is_told_where_it_is(isod, repository):
    r = isod.sh('true', options=('--overlay',), cwd=repository)
    session = isod.last_session()['id']
    assert r.rc == 0 and f'isoctl diff|apply|discard {session}' in r.errors, r
    assert 'isoctl diff' not in isod.sh('true', cwd=repository).errors
    r = isod.ctl('diff', session)
    assert (r.rc, r.text) == (0, 'no changes\n'), r


def test_commits_can_be_taken_over(isod, repository):
    session, _ = run(isod, repository, 'git commit -qam nothing --allow-empty; echo more >> a.txt; git commit -qam second; git log --oneline')
    assert b'second' not in as_user('git', 'log', '--oneline', cwd=repository)
    changes = diff(isod, session)
    assert '.git/config' not in changes and not [p for p, c in changes.items() if 'protected' in c], changes
    r = isod.ctl('apply', session)
    assert r.rc == 0, r
    assert b'second' in as_user('git', 'log', '--oneline', cwd=repository)
    as_user('git', 'fsck', '--strict', cwd=repository)
    assert b'a.txt' not in status(repository)


def test_a_running_session_can_be_looked_at_and_no_more(isod, repository):

    p = isod.popen('run', '-q', '--overlay', '--', 'sh', '-c', 'echo x > made; echo up; exec sleep 1000', cwd=repository,
                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert p.stdout.readline() == b'up\n'
    session = [s for s in isod.sessions() if s['state'] == 'running'][0]['id']
    assert list(diff(isod, session)) == ['made'] and 'running' in isod.ctl('diff', '--list').text
    for command in ('apply', 'discard'):
        r = isod.ctl(command, session)
        assert r.rc == 1 and 'has not ended' in r.errors, r
    assert isod.ctl('kill', session).rc == 0
    p.communicate()
    wait_for(lambda: isod.ctl('apply', session).rc == 0, 'it has ended')
    assert os.path.exists(f'{repository}/made')


def test_edits_of_the_host_while_it_runs(isod, repository):
    p = isod.popen('run', '-q', '--overlay', '--', 'sh', '-c', 'echo agent >> a.txt; echo up; read x; echo agent >> u; echo agent > run.sh',
                   cwd=repository, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert p.stdout.readline() == b'up\n'
    session = [s for s in isod.sessions() if s['state'] == 'running'][0]['id']
    for name in ('a.txt', 'u'):
        with open(f'{repository}/{name}', 'a', encoding='ascii') as f:
            f.write('host\n')
    out, err = p.communicate(b'\n', timeout=120)
    assert p.returncode == 0, (out, err)
    changes = diff(isod, session)
    assert {p for p, c in changes.items() if c['conflict']} == {'a.txt', 'u'} and 'run.sh' in changes, changes
    r = isod.ctl('apply', session)
    assert r.rc == 1 and r.errors.count('conflict: changed on the host') == 2, r
    for name in ('a.txt', 'u'):
        with open(f'{repository}/{name}', encoding='ascii') as f:
            assert f.read().endswith('host\n') and 'agent' not in f.read()
    with open(f'{repository}/run.sh', encoding='ascii') as f:
        assert f.read() == 'agent\n'


def test_a_session_that_never_ran_leaves_no_layer(isod, repository):
    before = isod.ctl('diff', '--list').text
    r = isod.run('/no/such/program', options=('--overlay',), cwd=repository)
    assert r.rc == 127, r
    wait_for(lambda: isod.ctl('diff', '--list').text == before, 'the layer is gone')


def test_the_administrator_can_demand_it(isod, repository):
    isod.policy({'sandbox': {'filesystem': {'overlayProject': True}}})
    before = tree(repository)
    r = isod.sh('echo x > made', cwd=repository)
    assert r.rc == 0 and tree(repository) == before, r
    assert list(diff(isod, isod.last_session()['id'])) == ['made']


def test_kill_of_everything_keeps_the_layer(users, root_dir, repository):
    d = Isod(root_dir, 'killed-overlay').start()
    try:
        before = tree(repository)
        p = d.popen('run', '-q', '--overlay', '--', 'sh', '-c', 'echo x > made; rm gone.txt; echo up; exec sleep 1000', cwd=repository,
                    stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert p.stdout.readline() == b'up\n'
        d.process.kill()
        d.process.wait()
        p.communicate()
        d.start()
        assert tree(repository) == before
        layers = json.loads(d.ctl('diff', '--list', '--json').out)
        assert len(layers) == 1 and not layers[0]['running'] and layers[0]['project'] == repository
        assert {p: c['kind'] for p, c in diff(d, layers[0]['session']).items()} == {'made': 'new', 'gone.txt': 'deleted'}
        assert d.ctl('discard', layers[0]['session']).rc == 0
        wait_for(lambda: os.listdir(os.path.join(d.state_dir, 'layers')) == [], 'nothing is left')
        assert tree(repository) == before
    finally:
        d.stop()


def test_only_so_many_are_kept(users, root_dir, repository):
    d = Isod(root_dir, 'many-layers').start()
    try:
        for i in range(64):
            r = d.run('true', options=('--overlay', '-q'), cwd=repository)
            assert r.rc == 0, r
        r = d.run('true', options=('--overlay', '-q'), cwd=repository)
        assert r.rc == 125 and 'isoctl discard' in r.errors, r
        assert d.run('true', cwd=repository).rc == 0
        assert d.ctl('discard', cwd=repository).rc == 0
        assert d.run('true', options=('--overlay', '-q'), cwd=repository).rc == 0
    finally:
        d.stop()


def test_the_next_command_may_come_at_once(isod, repository):
    """The client knows of the program's end before the daemon has cleared up."""
    for i in range(10):
        r = isod.sh(f'echo {i} > made; seq 200 | (cd /tmp && xargs touch)', options=('--overlay', '-q'), cwd=repository)
        assert r.rc == 0, r
        r = isod.ctl('apply', '--discard', cwd=repository)
        assert r.rc == 0 and r.text.startswith('1 applied'), r
        with open(f'{repository}/made', encoding='ascii') as f:
            assert f.read() == f'{i}\n'
