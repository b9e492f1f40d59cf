"""The user's gpg-agent, by its restricted socket and by keygrip: real gpg, gpg-agent and git."""
import json
import os
import pwd
import shutil
import subprocess

import pytest

from conftest import write
from repositories import USER, as_user, git, place, repository  # noqa: F401
from waiting import wait_for

USER_ID = {'lent': 'Lent <lent@example.org>', 'kept': 'Kept <kept@example.org>'}


def gpg(*args, **more):
    entry = pwd.getpwnam(USER)
    return subprocess.run(['gpg', '--batch', '--no-tty', *args], check=True, capture_output=True, text=True, cwd='/', user=entry.pw_uid,
                          group=entry.pw_gid, extra_groups=[], env={'HOME': entry.pw_dir, 'PATH': '/usr/bin'}, **more).stdout


@pytest.fixture(scope='module')
def keys(users):
    """Two keys of the user's in ~/.gnupg, and its gpg-agent; {name: (fingerprint, keygrip)}."""
    home = f'{pwd.getpwnam(USER).pw_dir}/.gnupg'
    shutil.rmtree(home, ignore_errors=True)
    as_user('mkdir', '-m', '700', home, cwd='/')
    made = {}
    for name, user in USER_ID.items():
        gpg('--pinentry-mode', 'loopback', '--passphrase', '', '--quick-gen-key', user, 'ed25519', 'sign', 'never')
        lines = gpg('--list-secret-keys', '--with-keygrip', '--with-colons', user).splitlines()
        made[name] = tuple(next(x for x in lines if x.startswith(kind)).split(':')[9] for kind in ('fpr', 'grp'))
    yield made
    as_user('gpgconf', '--kill', 'gpg-agent', cwd='/')
    wait_for(lambda: not os.path.exists(f'{home}/S.gpg-agent.extra'), 'gpg-agent has ended')
    shutil.rmtree(home)


def lend(isod, project, *grips, **more):
    path = os.path.join(project, 'gpg.json')
    write(path, json.dumps({'sandbox': {'gpgAgent': {'keys': list(grips), **more}, 'filesystem': {'allowRead': ['~/.gnupg/pubring.kbx']}}}),
          owner=pwd.getpwnam(USER))
    return isod.trust(path)


def asked(isod):
    return [e for e in isod.audit(isod.last_session()['id']) if e['event'] == 'gpg-agent']


def test_git_commits_are_signed(isod, keys, place):
    main = repository(place)
    options = lend(isod, place, keys['lent'][1])
    r = isod.sh(f'git commit -q -S{keys["lent"][0]} --allow-empty -m signed && git tag -u {keys["lent"][0]} -m t v1', cwd=main, options=options)
    assert r.rc == 0 and 'unsafe' not in r.errors, (r, asked(isod))
    shown = git(main, 'log', '-1', '--format=%G? %GF')
    assert shown.split() == ['G', keys['lent'][0]] or shown.split() == ['U', keys['lent'][0]], shown
    signs = [e for e in asked(isod) if e['request'] == 'sign']
    assert sum(e.get('count', 1) for e in signs) == 2, asked(isod)
    assert {(e['verdict'], e['key'], e['program']) for e in signs} == {('allow', keys['lent'][1], '/usr/bin/gpg')}, signs


def test_the_one_public_key_is_imported(isod, keys, place):
    """The other way: nothing of ~/.gnupg is there."""
    main = repository(place)
    write(f'{place}/gpg.json', json.dumps({'sandbox': {'gpgAgent': {'keys': [keys['lent'][1].lower()]}}}), owner=pwd.getpwnam(USER))
    write(f'{main}/key.asc', gpg('--export', '--armor', keys['lent'][0]), owner=pwd.getpwnam(USER))
    r = isod.sh(f'ls -A ~/.gnupg; gpg -q --import key.asc && git commit -q -S{keys["lent"][0]} --allow-empty -m signed && git log -1 --format=%G?',
                cwd=main, options=isod.trust(f'{place}/gpg.json'))
    assert r.rc == 0 and r.text == 'U\n', (r, asked(isod))
    r = isod.sh('git log -1 --format=%G?', cwd=main, options=lend(isod, place, keys['lent'][1]))
    assert r.rc == 0 and r.text == 'U\n', r


def test_only_named_keys(isod, keys, place):
    main = repository(place)
    r = isod.sh(f'git commit -q -S{keys["kept"][0]} --allow-empty -m x', cwd=main, options=lend(isod, place, keys['lent'][1]))
    assert r.rc != 0, r
    assert {(e['verdict'], e['reason'], e.get('key')) for e in asked(isod)} == {('deny', 'key-not-named', keys['kept'][1])}, asked(isod)


def test_nothing_is_lent_unasked(isod, keys, project):
    grip = keys['lent'][1]
    for options in ([], lend(isod, project), lend(isod, project, grip)):
        if options and grip in open(options[1], encoding='ascii').read():
            isod.policy({'sandbox': {'gpgAgent': {'enabled': False}}})
        r = isod.sh('ls /run/isod/gpg-agent /run/user/$(id -u)/gnupg', cwd=project, options=options)
        assert r.rc != 0 and 'S.gpg-agent' not in r.text, r


RAW = r'''
import os, socket, sys
def talk(*lines, half=False):
    c = socket.socket(socket.AF_UNIX); c.connect(f"/run/user/{os.getuid()}/gnupg/S.gpg-agent")
    c.sendall("".join(x + "\n" for x in lines).encode())
    if half: c.shutdown(socket.SHUT_WR)
    got = b""
    try:
        while d := c.recv(65536): got += d
    except ConnectionResetError: pass  # it was closed with something unread
    return got.decode("latin1").split("\n")[1:-1]
'''


def raw(isod, project, options, script, *args):
    return isod.run('/usr/bin/python3', '-c', RAW + script, *args, cwd=project, options=options)


def test_what_is_never_served(isod, keys, project):
    lent, kept = keys['lent'][1], keys['kept'][1]
    script = '''
for line in sys.argv[1:]: print(line.split()[0], talk(line, "BYE")[0].split()[:2])
'''
    lines = [f'READKEY {lent}', 'KILLAGENT', 'RELOADAGENT', 'PKDECRYPT', f'SETKEY {lent}', 'GENKEY', f'PASSWD {lent}', f'EXPORT_KEY {lent}',
             f'DELETE_KEY {lent}', 'GETINFO pid', 'HAVEKEY --list', f'KEYINFO {lent}', 'SETHASH --inquire', 'PKSIGN --x', f'SIGKEY {kept}']
    r = raw(isod, project, lend(isod, project, lent), script, *lines)
    assert r.rc == 0, r
    codes = dict(x.split(' ', 1) for x in r.text.splitlines())
    assert codes.pop('SIGKEY') == "['ERR', '67108881']", r
    assert set(codes.values()) == {"['ERR', '67109115']"} and len(codes) == len(lines) - 1, r
    assert {e['reason'] for e in asked(isod)} == {'not-served', 'key-not-named'}, asked(isod)
    assert 'KILLAGENT' in {e.get('command') for e in asked(isod)}, asked(isod)
    # the agent is still there, and signs
    r = isod.sh(f'echo x | gpg -q --batch -u {keys["lent"][0]} --detach-sign | wc -c', cwd=project, options=lend(isod, project, lent))
    assert r.rc == 0 and int(r.text) > 50, r


def test_lines_of_a_program(isod, keys, project):
    """Bound of a line; a program that has finished writing has its answer all the same; connections do not share what they chose."""
    lent = keys['lent'][1]
    script = '''
lent = sys.argv[1]
print(talk("SIGKEY " + lent, "SETHASH 8 " + "00" * 32, "PKSIGN", half=True)[-2][:9])
print(talk("SETHASH 8 " + "00" * 32, "PKSIGN", half=True)[-1].split()[:2])
print(talk("SIGKEY " + lent, "SETHASH 2 " + "00" * 20, "PKSIGN", half=True))
print(len(talk("x" * 2000)))
'''
    r = raw(isod, project, lend(isod, project, lent), script, lent)
    assert r.rc == 0 and r.text.splitlines() == ['D (7:sig-', "['ERR', '67108992']", "['OK', 'ERR 67108869 <isod>', 'ERR 67108992 <isod>']", '0'], r
    assert [e['reason'] for e in asked(isod)] == ['allowed', 'nothing-chosen', 'weak-hash', 'nothing-chosen', 'malformed'], asked(isod)


def test_never_the_raw_socket(isod, keys, project):
    """What stands at the place of the restricted socket is asked whether it is one."""
    entry, home = pwd.getpwnam(USER), f'{pwd.getpwnam(USER).pw_dir}/.gnupg'
    os.rename(f'{home}/S.gpg-agent.extra', f'{home}/kept.extra')
    os.symlink('S.gpg-agent', f'{home}/S.gpg-agent.extra')
    os.lchown(f'{home}/S.gpg-agent.extra', entry.pw_uid, entry.pw_gid)
    try:
        r = isod.sh(f'echo x | gpg -q --batch -u {keys["lent"][0]} --detach-sign', cwd=project, options=lend(isod, project, keys['lent'][1]))
        assert r.rc != 0, r
        assert {(e['verdict'], e['reason']) for e in asked(isod)} == {('deny', 'not-restricted')}, asked(isod)
    finally:
        os.rename(f'{home}/kept.extra', f'{home}/S.gpg-agent.extra')


def test_without_an_agent(isod, keys, project):
    r = isod.sh('echo ran; ls -a /run/isod 2>&1', cwd=project, options=lend(isod, project, keys['lent'][1]), env={'GNUPGHOME': '/nonexistent'})
    assert 'ran' in r.text and 'gpg-agent' not in r.text and 'gpgconf --launch gpg-agent' in r.errors, r
