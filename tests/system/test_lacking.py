"""What a session does not enforce, where the administrator lets it start nevertheless: said everywhere, once it is so."""
import json
import os
import pwd
import subprocess

from conftest import PINS, USERS
from waiting import wait_for

DEVICES = {'sandbox': {'filesystem': {'devices': ['/dev/dri/isod-no-card'], 'denyRead': ['/proc/version']}}}
MISSING = '/dev/dri/isod-no-card is missing: it is no character device that the user can reach.'
RULE = 'The rule for /proc/version is not enforced: /proc, /sys and /dev are the sandbox\'s own.'


def options(isod, project, document):
    path = os.path.join(project, 'lacking.json')
    with open(path, 'w', encoding='utf-8') as f:
        json.dump(document, f)
    os.chmod(path, 0o644)
    return isod.trust(path)


def test_refused_without_the_administrators_word(isod, project):
    for part in ('devices', 'denyRead'):
        document = {'sandbox': {'filesystem': {part: DEVICES['sandbox']['filesystem'][part]}}}
        r = isod.run('true', options=options(isod, project, document), cwd=project)
        assert r.rc == 125 and ('is not a character device' in r.errors or 'cannot be enforced' in r.errors), r


def test_said_everywhere(isod, project):
    isod.policy({'hosts': PINS, 'degraded': 'allow'})
    policy = options(isod, project, DEVICES)
    r = isod.sh('echo ran', options=policy, cwd=project)
    assert r.rc == 0 and r.out == b'ran\n', r
    assert f'isod: {MISSING}\n' in r.errors and f'isod: {RULE}\n' in r.errors, r
    last = isod.last_session()
    assert sorted(last['lacking']) == [MISSING, RULE], last
    shown = isod.ctl('show', last['id'])
    assert f'lacking    {MISSING}\n' in shown.text, shown
    listed = isod.ctl('sessions', '--all')
    assert f'{last["id"]}: {MISSING}\n' in listed.text, listed
    log = isod.audit(last['id'])
    assert [e['text'] for e in log if e['event'] == 'lacking'] == [RULE, MISSING], log


def shown(isod, number):
    return next(s for s in isod.sessions('--all') if s['id'] == number)


def test_said_while_it_runs_and_after_a_restart(own_isod, project):
    isod = own_isod
    isod.policy({'hosts': PINS, 'degraded': 'allow'})
    process = isod.popen('run', *options(isod, project, DEVICES), '--', 'sh', '-c', 'echo runs; read x', cwd=project,
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout.readline() == b'runs\n'
    (running,) = [s for s in isod.sessions() if s['state'] != 'ended']
    wait_for(lambda: shown(isod, running['id'])['late'] == 'refused', 'its state is known')
    running = shown(isod, running['id'])
    assert sorted(running['lacking']) == [MISSING, RULE], running
    assert f'{running["id"]}: {MISSING}\n' in isod.ctl('sessions').text
    assert f'lacking    {RULE}\n' in isod.ctl('show', running['id']).text
    process.communicate(b'\n')
    wait_for(lambda: shown(isod, running['id'])['state'] == 'ended', 'it ends')
    isod.stop()
    isod.start()
    again = shown(isod, running['id'])
    assert {k: again[k] for k in ('lacking', 'late', 'lateReason')} == {k: running[k] for k in ('lacking', 'late', 'lateReason')}
    assert f'lacking    {RULE}\n' in isod.ctl('show', running['id']).text


def test_said_in_a_terminal(isod, project):
    isod.policy({'hosts': PINS, 'degraded': 'allow'})
    r = isod.sh('echo ran', options=['--tty', *options(isod, project, DEVICES)], cwd=project)
    assert r.rc == 0 and MISSING in r.errors + r.text, r


def test_other_names_of_protected_files(isod, project):
    """What is covered or locked is a name. A file whose names all are needs no word."""
    isod.policy({'hosts': PINS})
    script = ('echo S > .env; ln .env plain; echo x > .envrc; ln .envrc other; echo S > a.pem; ln a.pem b.pem; echo S > .netrc; '
              'mkdir d; for i in 1 2 3 4 5 6 7 8 9; do echo S > d/$i.pem; ln d/$i.pem d/$i; done')
    entry = pwd.getpwnam(USERS[0])
    subprocess.run(['sh', '-ec', script], cwd=project, user=entry.pw_uid, group=entry.pw_gid, extra_groups=[], check=True)
    r = isod.sh('cat plain', cwd=project)
    lacking = isod.last_session()['lacking']
    named = {t.split(' has another name')[0].removeprefix(project + '/') for t in lacking if t.startswith('/')}
    assert r.out == b'S\n' and len(named) == 8 and len(lacking) == 9 and lacking[8].startswith('And 3 other'), (r, lacking)
    assert named <= {'.env', '.envrc', *(f'd/{i}.pem' for i in range(1, 10))}, lacking
    assert 'isod: And 3 other files' in r.errors, r


def test_nothing_is_said_where_nothing_lacks(isod, project):
    isod.policy({'hosts': PINS})
    r = isod.sh('echo ran', cwd=project)
    last = isod.last_session()
    assert last['lacking'] == [] and r.errors.count('isod: ') == r.errors.count('isod: session ') == 1, (last, r)
    assert 'lacking' not in isod.ctl('show', last['id']).text
