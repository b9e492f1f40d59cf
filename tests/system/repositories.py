"""Repositories as people have them, made by git itself as the test user, and what an agent does in one all day."""
import os
import pwd
import shutil
import subprocess
import tempfile

import pytest

from conftest import USERS, write

USER = USERS[0]


def as_user(*argv, cwd, user=USER, check=True, **kw):
    entry = pwd.getpwnam(user)
    r = subprocess.run(argv, cwd=cwd, user=entry.pw_uid, group=entry.pw_gid, extra_groups=[], check=False,
                       env={'HOME': entry.pw_dir, 'PATH': '/usr/bin:/bin', 'LANG': 'C.UTF-8', 'USER': user},
                       capture_output=True, umask=0o022, **kw)
    assert not check or r.returncode == 0, (argv, r)
    return r.stdout.decode(errors='surrogateescape')


def git(cwd, *args, **kw):
    return as_user('git', '-c', 'protocol.file.allow=always', *args, cwd=cwd, **kw)


def state(path, *more):
    return git(path, '--no-optional-locks', 'status', '--porcelain', '--ignored', *more)


@pytest.fixture
def place(users):
    """An empty folder below the user's home, with a configuration of git's of his own; nothing is trusted."""
    entry = pwd.getpwnam(USER)
    d = tempfile.mkdtemp(prefix='git-', dir=entry.pw_dir)
    os.chown(d, entry.pw_uid, entry.pw_gid)
    os.chmod(d, 0o755)
    config, trust = os.path.join(entry.pw_dir, '.gitconfig'), os.path.join(entry.pw_dir, '.config/isod/trust.json')
    write(config, '[user]\n\tname = Ünï Test\n\temail = uni@example.org\n[init]\n\tdefaultBranch = main\n'
          '[credential]\n\thelper = store\n[url "https://u:SECRET@git.example/"]\n\tinsteadOf = x:\n', owner=entry)
    yield d
    for path in (config, trust):
        if os.path.exists(path):
            os.unlink(path)
    shutil.rmtree(d, ignore_errors=True)


def repository(place, name='main', files=('a', 'sub/b')):
    path = os.path.join(place, name)
    git(place, 'init', '-q', path)
    for f in files:
        as_user('sh', '-c', 'mkdir -p "$(dirname "$1")"; echo "$1" > "$1"', 'sh', f, cwd=path)
    git(path, 'add', '.')
    git(path, 'commit', '-q', '-m', 'first')
    return path


def trust(isod, path, *args, rc=0):
    r = isod.ctl('trust', *args, path, cwd=path if os.path.isdir(path) else None)
    assert r.rc == rc, r
    return r


# What an agent does all day.
WORK = '''set -e
echo new > new; git add new; git commit -q -m one
git checkout -q -b side; echo x >> new; git commit -q -a -m two
git stash list; echo y >> new; git stash -q; git stash pop -q; git checkout -q -- new
git checkout -q -; git merge -q side; git tag -a -m t v1; git rebase -q -f HEAD~1
git log --format=%an%ae -1; git status --porcelain; git gc -q
'''


def works(isod, path, script=WORK, **kw):
    r = isod.sh(script, cwd=path, **kw)
    assert r.rc == 0, r
    return r
