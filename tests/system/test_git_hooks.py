"""What git on the host runs or reads later: hooks wherever they lie, and configuration that other configuration includes."""
import os
import pwd

import pytest

from conftest import write
from repositories import USER, as_user, git, place, repository, works


def test_hooks_run_inside_and_cannot_be_planted(isod, place):
    main = repository(place)
    write(main + '/.git/hooks/pre-commit', '#!/bin/sh\necho hook ran >&2\n', 0o755, pwd.getpwnam(USER))
    assert 'hook ran' in works(isod, main, 'git commit -q --allow-empty -m x').errors
    # elsewhere in the project, named by the repository
    git(main, 'config', 'core.hooksPath', '.githooks')
    as_user('mkdir', '.githooks', cwd=main)
    write(main + '/.githooks/pre-commit', '#!/bin/sh\necho other ran >&2\n', 0o755, pwd.getpwnam(USER))
    r = works(isod, main, 'git commit -q --allow-empty -m x')
    assert 'other ran' in r.errors, r
    r = isod.sh('echo x > .githooks/pre-commit; echo x > .githooks/post-commit; mv .githooks x; rm -r .githooks', cwd=main)
    assert r.rc != 0 and r.errors.count('Read-only file system') >= 2, r
    assert sorted(os.listdir(main + '/.githooks')) == ['pre-commit']


def test_hooks_of_the_user_run_inside(isod, place):
    main = repository(place)
    as_user('mkdir', 'my-hooks', cwd=place)
    write(place + '/my-hooks/pre-commit', '#!/bin/sh\necho mine ran >&2\n', 0o755, pwd.getpwnam(USER))
    git(main, 'config', '--global', 'core.hooksPath', place + '/my-hooks')
    r = works(isod, main, 'git commit -q --allow-empty -m x')
    assert 'mine ran' in r.errors, r
    r = isod.sh(f'echo x > {place}/my-hooks/pre-commit', cwd=main)
    assert 'Read-only' in r.errors, r
    # what a repository that is not trusted names is not granted, and home never is
    git(main, 'config', '--global', '--unset', 'core.hooksPath')
    for target in (place + '/my-hooks', pwd.getpwnam(USER).pw_dir, pwd.getpwnam(USER).pw_dir + '/.ssh'):
        git(main, 'config', 'core.hooksPath', target)
        r = isod.sh(f'ls -A {target}', cwd=main)
        assert 'id_ed25519' not in r.text and '.ssh' not in r.text and 'pre-commit' not in r.text, r
        assert 'do not run inside' in r.errors, r


def test_configuration_in_the_project_cannot_be_changed(isod, place):
    """A file of the work tree that .git/config includes says what git runs on the host, absent or on another branch, too."""
    main = repository(place, files=('a', '.gitconfig'))
    write(main + '/.gitconfig', '[alias]\n\tx = status\n', owner=pwd.getpwnam(USER))
    git(main, 'commit', '-q', '-a', '-m', 'settings')
    git(main, 'config', 'include.path', '../.gitconfig')
    git(main, 'config', '--add', 'include.path', '../absent')
    git(main, 'config', 'includeIf.onbranch:other.path', '../of-other')
    write(main + '/of-other', '', owner=pwd.getpwnam(USER))
    before = git(main, 'config', '--list', '--includes')
    r = isod.sh('git x; for f in .gitconfig of-other; do echo "[core] fsmonitor = /tmp/x" >> $f; mv $f y; rm $f; done; true', cwd=main)
    assert r.text.startswith('On branch') and r.errors.count('Read-only file system') == 2, r
    assert r.errors.count('Device or resource busy') == 4, r
    assert git(main, 'config', '--list', '--includes') == before
    r = isod.sh('echo "[core] fsmonitor = /tmp/x" > absent', cwd=main)
    assert os.path.exists(main + '/absent') <= ('absent' in r.errors), r
    works(isod, main)


@pytest.mark.parametrize('scope', ['--global', '--local'])
def test_hooks_that_are_switched_off(isod, place, scope):
    main = repository(place)
    write(main + '/.git/hooks/pre-commit', '#!/bin/sh\necho hook ran >&2\n', 0o755, pwd.getpwnam(USER))
    git(main, 'config', scope, 'core.hooksPath', '/dev/null')
    r = works(isod, main, 'git commit -q --allow-empty -m x')
    assert 'hook' not in r.errors, r


def test_a_folder_of_hooks_that_is_the_project_itself(isod, place):
    main = repository(place)
    git(main, 'config', 'core.hooksPath', main)
    write(main + '/pre-commit', '#!/bin/sh\necho hook ran >&2\n', 0o755, pwd.getpwnam(USER))
    r = works(isod, main, 'echo y > y; git add y; git commit -q -m x; echo x > pre-commit || true')
    assert 'hook ran' in r.errors and 'Read-only' in r.errors, r
