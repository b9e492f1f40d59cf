"""Git as people have it: worktrees, submodules, separate git folders, folders of a repository; real git, real sessions."""
import json
import os
import pwd

import pytest

from conftest import USERS, write
from repositories import USER, WORK, as_user, git, place, repository, state, trust, works


def test_plain_repository(isod, place):
    main = repository(place)
    before = state(main)
    r = works(isod, main)
    assert r.text == 'Ünï Testuni@example.org\n', r
    assert 'git:' not in r.errors, r
    assert state(main) == before
    assert git(main, 'log', '--format=%s', '-1') == 'two\n'
    git(main, 'fsck', '--strict')


def test_nothing_of_the_users_configuration_but_plain_settings_goes_in(isod, place):
    main = repository(place)
    r = works(isod, main, 'git config --show-origin --list; env; cat ~/.gitconfig || true')
    assert 'SECRET' not in r.text and 'helper=store' not in r.text and 'insteadof' not in r.text.lower(), r
    assert 'command line:\tuser.name=Ünï Test' in r.text, r


def test_linked_worktree(isod, place):
    main = repository(place)
    git(main, 'worktree', 'add', '-q', '../wt')
    git(main, 'worktree', 'add', '-q', '../other')
    wt = os.path.join(place, 'wt')
    before = state(wt), state(main), state(os.path.join(place, 'other'))
    r = isod.sh('git status', cwd=wt)
    assert r.rc == 128 and 'isoctl trust' in r.errors and r.errors.count('note: git:') == 1, r
    trust(isod, wt)
    works(isod, wt)
    works(isod, wt, 'git worktree add -q ./inner && cd inner && echo z > z && git add z && git commit -q -m z')
    assert (state(wt).replace('?? inner/\n', ''), state(main), state(os.path.join(place, 'other'))) == before
    git(main, 'fsck', '--strict')
    assert len(git(main, 'worktree', 'list').splitlines()) == 4


ATTACK = '''
tryit() { sh -c "$1" 2>&1 && echo "DONE: $1"; }
g=$(git rev-parse --git-common-dir); p=$(git rev-parse --git-dir)
git config user.name evil && echo DONE config
git config core.fsmonitor /tmp/x && echo DONE fsmonitor
git config core.sshCommand /tmp/x && echo DONE ssh
git config alias.status '!id' && echo DONE alias
tryit "echo id > $g/hooks/pre-commit"; tryit "mv $g/hooks $g/h2"; tryit "rm -rf $g/config"; tryit "mv $g/config $g/c2"
[ ! -e $p/commondir ] || { tryit "echo x >> $p/commondir"; tryit "mv $p/commondir $p/c2"; tryit "rm $p/commondir"; }
for w in $(ls -d $g/worktrees/* 2>/dev/null); do
  [ $(realpath $w) = $(realpath $p) ] || { tryit "echo x > $w/HEAD"; tryit "rm -r $w"; tryit "mv $w $w.2"; tryit "echo > $w/commondir"; }
done
[ ! -e $p/gitdir ] || tryit "echo x > $p/gitdir"; tryit "echo gitdir: /tmp > .git"; tryit "mv .git g2"; tryit "rm -rf .git"
[ -d $g/worktrees ] && tryit "mv $g/worktrees $g/w2"; tryit "mv $p $p.2"
'''


def tree_of(path):
    """Every file's text below path, without what an agent may change."""
    out = {}
    for d, dirs, files in os.walk(path):
        for f in files:
            with open(os.path.join(d, f), 'rb') as stream:
                out[os.path.relpath(os.path.join(d, f), path)] = stream.read()
    return out


def test_nothing_that_the_host_runs_can_be_changed_from_a_worktree(isod, place):
    main = repository(place)
    git(main, 'worktree', 'add', '-q', '../wt')
    git(main, 'worktree', 'add', '-q', '../other')
    wt = os.path.join(place, 'wt')
    trust(isod, wt)
    before = tree_of(os.path.join(main, '.git'))
    r = isod.sh(ATTACK, cwd=wt)
    assert tree_of(os.path.join(main, '.git')) == before, r
    assert 'DONE' not in r.text, r
    assert 'Read-only file system' in r.text + r.errors and 'config' in r.errors, r


def submodules(place):
    """super with libs/sub, and deep in it."""
    git(place, 'clone', '-q', '--bare', repository(place, 'deep-src'), 'deep.git')
    sub = repository(place, 'sub-src')
    git(sub, 'submodule', '-q', 'add', place + '/deep.git', 'deep')
    git(sub, 'commit', '-q', '-m', 'deep')
    main = repository(place)
    git(main, 'submodule', '-q', 'add', sub, 'libs/sub')
    git(main, 'submodule', '-q', 'update', '--init', '--recursive')
    git(main, 'commit', '-q', '-m', 'sub')
    return main


def test_submodules(isod, place):
    main = submodules(place)
    sub, deep = os.path.join(main, 'libs/sub'), os.path.join(main, 'libs/sub/deep')
    r = isod.sh('git status', cwd=sub)
    assert r.rc == 128 and 'isoctl trust' in r.errors, r
    trust(isod, sub)
    assert isod.ctl('trust', '--list').text == main + '/.git\n'
    for path in (deep, sub):
        before = state(path, '--ignore-submodules')
        works(isod, path, WORK.replace('--porcelain', '--porcelain --ignore-submodules'))
        assert state(path, '--ignore-submodules') == before
        r = isod.sh(ATTACK + f'tryit "echo x > {main}/.git/modules/libs/sub/modules/deep/config"', cwd=path)
        assert 'DONE' not in r.text, r
        r = isod.sh(f'ls {main} {main}/.git', cwd=path)
        assert not {'a', 'HEAD', 'config', 'objects'} & set(r.text.split()), r
    # what `git submodule update` would do, which writes the configuration each time
    git(sub, 'commit', '-q', '--allow-empty', '-m', 'ahead')
    r = works(isod, main, 'git submodule -q foreach --recursive \'git checkout -q "$sha1"\'; git submodule status libs/sub')
    assert r.text.startswith(' '), r
    # the whole, with all of its modules
    works(isod, main, 'git submodule status --recursive; cd libs/sub/deep; echo 1 > 1; git add 1; git commit -q -m 1')
    r = isod.sh('for h in .git/modules/libs/sub .git/modules/libs/sub/modules/deep; do echo x > $h/config; echo x > $h/hooks/pre-commit; done',
                cwd=main)
    assert r.errors.count('Read-only file system') == 4, r
    git(main, 'fsck')


def test_a_secret_that_is_committed(isod, place):
    """Masked all the same: what leaves it out works, and what must read or replace it fails and does no harm."""
    main = repository(place, files=('a', '.env'))
    as_user('sh', '-c', 'echo HOSTS OWN > .env; echo 2 > a', cwd=main)
    r = works(isod, main, "git stash push -q -- ':!.env' && cat a && git stash pop -q && cat a && git add -u -- ':!.env' && git commit -qm two")
    assert r.text == 'a\n2\n', r
    note = 'isod: note: git: .env is committed and masked: git stash, rebase and commit -a fail inside, unless allowRead names it\n'
    assert note in r.errors, r
    before = git(main, 'rev-parse', 'HEAD')
    for command in 'git stash', 'git commit -am x', 'git reset --hard', 'git rebase HEAD~1':
        r = isod.sh(command, cwd=main)
        assert r.rc != 0 and b'HOST' not in r.out + r.err, r
    assert git(main, 'rev-parse', 'HEAD') == before and state(main) == ' M .env\n' and git(main, 'stash', 'list') == ''
    with open(main + '/.env', encoding='ascii') as f:
        assert f.read() == 'HOSTS OWN\n'
    git(main, 'checkout', '-q', '.env')
    works(isod, main, 'set -e; echo 3 > a; git stash -q; git stash pop -q; git commit -qam three; git rebase -q -f HEAD~1; git reset -q --hard HEAD~1',
          options=['--allow-read', './.env'])
    git(main, 'update-index', '--index-version', '4')
    assert note in isod.sh('true', cwd=main).errors
    assert 'git:' not in isod.sh('true', cwd=main, options=['--allow-read', './.env']).errors
    git(main, 'update-index', '--skip-worktree', '.env')
    assert 'git:' not in works(isod, main, 'git stash; git commit -qam four --allow-empty; git rebase -q -f HEAD~1; git reset -q --hard').errors


def test_submodule_in_a_worktree(isod, place):
    main = submodules(place)
    git(main, 'worktree', 'add', '-q', '../wt')
    wt = os.path.join(place, 'wt')
    git(wt, 'submodule', '-q', 'update', '--init', '--recursive')
    trust(isod, main)
    for path in (os.path.join(wt, 'libs/sub/deep'), os.path.join(wt, 'libs/sub'), wt):
        works(isod, path, WORK.replace('--porcelain', '--porcelain --ignore-submodules'))
        r = isod.sh(ATTACK, cwd=path)
        assert 'DONE' not in r.text, r


def test_separate_git_folder(isod, place):
    main = repository(place)
    git(place, 'clone', '-q', '--separate-git-dir', place + '/store', main, 'tree')
    tree, forged = os.path.join(place, 'tree'), os.path.join(place, 'forged')
    assert isod.sh('git status', cwd=tree).rc == 128
    r = trust(isod, tree)
    assert r.text == f'trusted: {place}/store for {tree}\n', r
    before = state(tree)
    works(isod, tree)
    assert state(tree) == before
    r = isod.sh(ATTACK, cwd=tree)
    assert 'DONE' not in r.text, r
    # The store is trusted for that tree alone, and a trusted repository for none that merely names it.
    trust(isod, main)
    as_user('mkdir', forged, cwd=place)
    for target in (place + '/store', main + '/.git'):
        as_user('sh', '-c', 'echo "gitdir: $1" > .git', 'sh', target, cwd=forged)
        r = isod.sh(f'ls {target}', cwd=forged)
        assert r.rc != 0 and 'HEAD' not in r.text and 'isoctl trust' in r.errors, r


def test_a_folder_of_a_repository(isod, place):
    main = repository(place, files=('a', 'apps/one/x', 'apps/two/y'))
    write(main + '/apps/two/.env', 'TOPSECRET\n', owner=pwd.getpwnam(USER))
    one = os.path.join(main, 'apps/one')
    r = isod.sh('git status; ls -a ..', cwd=one)
    assert 'isoctl trust' in r.errors and 'two' not in r.text, r
    trust(isod, one)
    before = state(main)
    works(isod, one)
    assert state(main) == before
    r = isod.sh('cat ../two/y && cat ../two/.env; echo x > ../two/y; rm ../../a', cwd=one)
    assert r.text == 'apps/two/y\n' and r.errors.count('Read-only') == 2, r
    r = isod.sh(ATTACK.replace('tryit "echo gitdir: /tmp > .git"; tryit "mv .git g2"; tryit "rm -rf .git"', ''), cwd=one)
    assert 'DONE' not in r.text, r


def test_borrowed_objects(isod, place):
    store = repository(place, 'store')
    git(place, 'clone', '-q', '--shared', store, 'clone')
    clone = os.path.join(place, 'clone')
    r = isod.sh('git log -1', cwd=clone)
    assert r.rc != 0 and f'isoctl trust {store}/.git' in r.errors, r
    trust(isod, store)
    works(isod, clone)
    r = isod.sh(f'ls {store} {store}/.git; echo x > {store}/.git/objects/x', cwd=clone)
    assert 'HEAD' not in r.text and 'Read-only' in r.errors, r


FORGED = {
    'secrets': 'gitdir: {home}/.ssh\n',
    'home': 'gitdir: {home}\n',
    'not this worktree': 'gitdir: {main}/.git/worktrees/wt\n',
    'no such worktree': 'gitdir: {main}/.git/worktrees/none\n',
    'up and down': 'gitdir: ../../.ssh/../.aws\n',
    'a link': 'gitdir: ../link\n',
    'a loop': 'gitdir: ../loop\n',
    'itself': 'gitdir: .git\n',
    'large': 'gitdir: /' + 'x' * 65536,
    'binary': 'gitdir: \0\x01\x02',
    'empty': '',
    'system': 'gitdir: /etc\n',
    'process': 'gitdir: /proc/self/root{home}/.ssh\n',
    'commondir': 'gitdir: ../with-commondir\n',
    'a folder with a commondir': None,
}


@pytest.mark.parametrize('name', FORGED)
def test_forged_pointers_grant_nothing(isod, place, name):
    home = pwd.getpwnam(USER).pw_dir
    main = repository(place)
    git(main, 'worktree', 'add', '-q', '../wt')
    trust(isod, main)
    as_user('sh', '-c', 'mkdir p with-commondir; ln -s ~/.ssh link; ln -s loop loop; cp -r main/.git/. with-commondir; '
            'echo ~/.ssh > with-commondir/commondir; echo ~/.ssh > with-commondir/gitdir', cwd=place)
    p = os.path.join(place, 'p')
    if FORGED[name] is None:
        as_user('cp', '-r', '../with-commondir', '.git', cwd=p)
    else:
        write(p + '/.git', FORGED[name].format(home=home, main=main), owner=pwd.getpwnam(USER))
    r = isod.sh(f'ls -A {home}; ls -A {home}/.ssh {home}/.aws {main} {place}/link {place}/with-commondir; echo ran', cwd=p)
    shown = r.text.split()
    assert shown[-1] == 'ran' and 'git: nothing is granted' in r.errors, r
    assert not {'.ssh', '.aws', 'id_ed25519', 'credentials', 'HEAD', '.git'} & set(shown), r
    assert trust(isod, p, rc=1).errors.count('cannot be trusted') == 1


def test_trust_is_for_one_folder(isod, place):
    main = repository(place)
    git(main, 'worktree', 'add', '-q', '../wt')
    wt = os.path.join(place, 'wt')
    trust(isod, wt)
    works(isod, wt, 'git status')
    listed = json.loads(isod.ctl('trust', '--list', '--json').text)
    assert listed == {'policies': [], 'repositories': [{'path': main + '/.git'}]}, listed
    path = os.path.join(pwd.getpwnam(USER).pw_dir, '.config/isod/trust.json')
    st = os.stat(path)
    assert st.st_mode & 0o777 == 0o600 and st.st_uid == pwd.getpwnam(USER).pw_uid
    # another folder at the same path
    as_user('sh', '-c', 'cp -a main/.git copy && mv main/.git gone && mv copy main/.git', cwd=place)
    assert isod.sh('git status', cwd=wt).rc == 128
    trust(isod, wt)
    works(isod, wt, 'git status')
    trust(isod, wt, '--remove')
    assert isod.sh('git status', cwd=wt).rc == 128
    assert trust(isod, wt, '--remove', rc=1).errors.count('not trusted') == 1
    # a list that others can write to is not believed
    trust(isod, wt)
    os.chmod(path, 0o666)
    r = isod.sh('git status', cwd=wt)
    assert r.rc == 128 and 'not believed' in r.errors, r


def test_what_others_can_write_is_not_trusted(isod, place):
    main = repository(place)
    git(main, 'worktree', 'add', '-q', '../wt')
    wt = os.path.join(place, 'wt')
    trust(isod, wt)
    os.chmod(main + '/.git', 0o777)
    r = isod.sh('git status', cwd=wt)
    assert r.rc == 128 and 'written by other users' in r.errors, r
    os.chmod(main + '/.git', 0o755)
    works(isod, wt, 'git status')
    os.chown(main + '/.git', pwd.getpwnam(USERS[1]).pw_uid, -1)
    r = isod.sh('git status', cwd=wt)
    assert r.rc == 128 and 'another user' in r.errors, r


@pytest.mark.parametrize('form', ['openpgp', 'ssh'])
@pytest.mark.parametrize('scope', ['--global', '--local'])
def test_commits_are_not_signed_inside(isod, place, form, scope):
    main = repository(place)
    for key, value in (('commit.gpgSign', 'true'), ('gpg.format', form), ('user.signingKey', '~/.ssh/id_ed25519')):
        git(main, 'config', scope, key, value)
    r = works(isod, main, 'git commit -q --allow-empty -m x; git log -1 --format=%G?')
    assert r.text == 'N\n' and 'not signed' in r.errors, r
    # somebody who asks for a signature is told at once
    r = isod.sh('git commit -q -S --allow-empty -m x', cwd=main)
    assert r.rc == 128 and ('failed to sign' in r.errors or 'id_ed25519' in r.errors), r


def test_a_tree_of_another_user(isod, place):
    entry, other = pwd.getpwnam(USER), pwd.getpwnam(USERS[1])
    main = repository(place)
    for d, dirs, files in os.walk(main):
        for name in dirs + files:
            os.chown(os.path.join(d, name), other.pw_uid, other.pw_gid)
    os.chown(main, other.pw_uid, other.pw_gid)
    r = works(isod, main, 'git log --format=%s; git config --get-all safe.directory')
    assert r.text == f'first\n{main}\n', r
    # a .git of somebody's in a tree of somebody else's
    os.chown(main, 0, 0)
    r = isod.sh('git log', cwd=main)
    assert r.rc == 128 and 'does not belong' in r.errors, r
    os.chown(main, entry.pw_uid, entry.pw_gid)


def test_names_of_any_bytes(isod, place):
    name = os.fsdecode(b'a *[b]?\\ \xff\n"x')
    main = repository(place, name)
    git(main, 'worktree', 'add', '-q', '../wt')
    wt = os.path.join(place, 'wt')
    # git writes such a path into its files as it is, and then cannot read it back itself
    r = isod.ctl('trust', wt, cwd=wt)
    assert r.rc == 1, r
    main = repository(place, os.fsdecode(b'a *[b]?\\ \xff"x'))
    git(main, 'worktree', 'add', '-q', '../wt2')
    wt = os.path.join(place, 'wt2')
    trust(isod, wt)
    works(isod, wt)


def test_a_session_leaves_no_trace_in_any_repository(isod, place):
    main = repository(place)
    git(main, 'worktree', 'add', '-q', '../wt')
    wt = os.path.join(place, 'wt')
    trust(isod, wt)

    def tree(path):
        return sorted((os.path.join(d, n), os.lstat(os.path.join(d, n)).st_ino)
                      for d, dirs, files in os.walk(path) for n in dirs + files)
    before = state(main), state(wt), tree(place)
    for path in (main, wt, main + '/sub'):
        for _ in range(3):
            assert isod.run('true', cwd=path).rc == 0
    assert (state(main), state(wt), tree(place)) == before


def test_the_policy_commands_know_of_git(isod, place):
    main = repository(place)
    git(main, 'worktree', 'add', '-q', '../wt')
    wt = os.path.join(place, 'wt')
    assert isod.ctl('policy', 'test', '--write', main + '/.git/index', cwd=wt).rc == 1
    trust(isod, wt)
    assert isod.ctl('policy', 'test', '--write', main + '/.git/refs', cwd=wt).rc == 0
    for path in ('config', 'hooks/pre-commit', 'worktrees/wt/commondir', 'commondir'):
        assert isod.ctl('policy', 'test', '--write', f'{main}/.git/{path}', cwd=wt).rc == 1
    assert f'{main}/.git' in isod.ctl('policy', 'show', cwd=wt).text


def test_what_is_not_there_yet_is_refused_or_told(isod, place):
    """A commondir would lead git on the host to another configuration; a folder of hooks that is named and absent."""
    main = repository(place)
    git(main, 'worktree', 'add', '-q', '../wt')
    git(main, 'config', 'core.hooksPath', 'absent-hooks')
    wt = os.path.join(place, 'wt')
    trust(isod, wt)
    planted = {main: ('.git/commondir', 'absent-hooks/pre-commit'), wt: (main + '/.git/commondir', 'absent-hooks/pre-commit')}
    for path, names in planted.items():
        r = isod.run('sh', '-c', 'mkdir absent-hooks; for f in "$@"; do echo x > "$f"; done; true', 'sh', *names, cwd=path)
        for name in names:
            whole = os.path.join(path, name)
            if os.path.lexists(whole):
                assert f'isod:   {name}\n' in r.errors, (name, r)
                os.unlink(whole)


def test_overlay_keeps_commits_off_the_host(isod, place):
    main = repository(place)
    git(main, 'worktree', 'add', '-q', '../wt')
    wt = os.path.join(place, 'wt')
    trust(isod, wt)
    before = tree_of(main), state(wt)
    for path in (wt, main):
        works(isod, path, options=['--overlay'])
        assert (tree_of(main), state(wt)) == before


def test_very_many_worktrees(isod, place):
    main = repository(place)
    git(main, 'worktree', 'add', '-q', '../wt')
    wt, folder = os.path.join(place, 'wt'), main + '/.git/worktrees'
    trust(isod, wt)
    as_user('sh', '-c', 'for i in $(seq 300); do mkdir $1/w$i; echo ../.. > $1/w$i/commondir; echo /nowhere/w$i/.git > $1/w$i/gitdir; '
            'echo $2 > $1/w$i/HEAD; done', 'sh', folder, git(main, 'rev-parse', 'HEAD').strip(), cwd=place)
    r = works(isod, wt)
    assert 'none can be added' in r.errors, r
    r = isod.sh(ATTACK, cwd=wt)
    assert 'DONE' not in r.text, r
    assert len(os.listdir(folder)) == 301
    works(isod, main, 'git commit -q --allow-empty -m x; git gc -q')
    assert len(os.listdir(folder)) == 301


def test_a_work_tree_elsewhere_is_not_followed(isod, place):
    main = repository(place)
    as_user('mkdir', 'elsewhere', cwd=place)
    git(main, 'config', 'core.worktree', place + '/elsewhere')
    r = isod.sh(f'ls {place}', cwd=main)
    assert r.text == 'main\n' and 'is not in the project' in r.errors, r
