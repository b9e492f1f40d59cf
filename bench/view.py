#!/usr/bin/env python3
"""What the file view costs a start: python3 bench/view.py BUILD [rules] [tree] [covers] [calls]

Ratios to a start without rules in an empty project, measured interleaved in one run. Prints one JSON object a kind. Needs root:
it starts a daemon of its own. Nothing here passes or fails: numbers are for reading.
"""
import json
import os
import pwd
import shutil
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else os.path.join(TOP, 'build')
os.environ['ISOD_BUILD'] = BUILD
sys.path.insert(0, os.path.join(TOP, 'tests/system'))
from conftest import Isod, USERS  # noqa: E402

ENTRY = pwd.getpwnam(USERS[0])
# On a busy machine a start of the largest tree or policy takes seconds.
ROUNDS = 5


def as_user(isod, cwd):
    return {'user': ENTRY.pw_uid, 'group': ENTRY.pw_gid, 'extra_groups': [], 'cwd': cwd, 'env': isod.environment(USERS[0])}


def side_by_side(isod, tool, cwd, commands, rounds=ROUNDS):
    argv = [tool, str(rounds), '1']
    for command in commands.values():
        argv += [':::', *command]
    out = subprocess.run(argv, check=True, stdout=subprocess.PIPE, **as_user(isod, cwd)).stdout
    result = dict(zip(commands, json.loads(out)))
    first = next(iter(result.values()))['median_ms']
    return {name: {'median_ms': r['median_ms'], 'ratio': round(r['median_ms'] / first, 2)} for name, r in result.items()}


def own(top):
    subprocess.run(['chown', '-R', f'{USERS[0]}:', top], check=True)


def run(isod, cwd, *options):
    return ['env', '-C', cwd, isod.client, 'run', '-q', *options, '--', '/bin/true']


def policy_file(directory, name, **keys):
    path = os.path.join(directory, name)
    with open(path, 'w', encoding='ascii') as f:
        json.dump({'sandbox': {'filesystem': keys}}, f)
    os.chmod(path, 0o644)
    return ['--policy', path]


def rules(isod, tool, directory, home):
    """Rules of a policy file: denials in the project, of which a tenth are there; and grants, each a mount."""
    project = os.path.join(home, 'rules')
    for i in range(0, 5000, 10):
        os.makedirs(f'{project}/d{i % 100}/{i}', exist_ok=True)
    for i in range(1000):
        os.makedirs(f'{home}/granted/{i}', exist_ok=True)
    own(project)
    own(home + '/granted')
    commands = {'none': run(isod, project)}
    # A call brings at most 256 KiB of policy: 10,000 short ones.
    for n in (10, 1000, 10000):
        commands[f'{n}_denials'] = run(isod, project, *policy_file(directory, f'deny{n}', denyRead=[f'./d{i % 100}/{i}' for i in range(n)]))
    for n in (10, 1000):
        commands[f'{n}_grants'] = run(isod, project, *policy_file(directory, f'allow{n}', allowRead=[f'{home}/granted/{i}' for i in range(n)]))
    commands['10_patterns'] = run(isod, project, *policy_file(directory, 'patterns', denyRead=[f'./**/*.secret{i}' for i in range(10)]))
    return side_by_side(isod, tool, project, commands)


def fill(top, files, per_folder=100):
    for i in range(files):
        if i % per_folder == 0:
            d = os.path.join(top, f'a{i // per_folder // 50}', f'b{i // per_folder % 50}')
            os.makedirs(d)
        os.close(os.open(f'{d}/f{i}', os.O_CREAT | os.O_WRONLY, 0o644))


def tree(isod, tool, directory, home):
    """A project of so many files: nothing walks it without a bound."""
    commands = {}
    for n in (0, 1000, 20000, 200000):
        project = os.path.join(home, f'files{n}')
        os.mkdir(project)
        fill(project, n)
        own(project)
        commands[f'{n}_files'] = run(isod, project)
    off = {name: False for name in ('dotenv', 'keys', 'tokens', 'cloud', 'gitHooks', 'gitConfig', 'agentSettings', 'editorSettings', 'hookManagers',
                                    'direnv', 'devcontainer', 'isod', 'shellRc', 'userGit')}
    commands['200000_files_unprotected'] = run(isod, project, *policy_file(directory, 'off', protect=off))
    return side_by_side(isod, tool, home, commands)


def covers(isod, tool, directory, home):
    """Secrets that are there: each is a mount."""
    commands = {}
    for n in (0, 10, 100, 1000):
        project = os.path.join(home, f'secrets{n}')
        os.mkdir(project)
        for i in range(n):
            os.mkdir(f'{project}/{i}')
            os.close(os.open(f'{project}/{i}/.env', os.O_CREAT | os.O_WRONLY, 0o600))
        own(project)
        commands[f'{n}_secrets'] = run(isod, project)
    return side_by_side(isod, tool, home, commands)


LOOP = '''
import os, sys, time
os.chdir(sys.argv[1])
def best(f, n=20000):
    times = []
    for _ in range(7):
        began = time.perf_counter_ns()
        for _ in range(n):
            f()
        times.append((time.perf_counter_ns() - began) / n)
    return min(times)
def opens():
    os.close(os.open("f", os.O_RDONLY))
print(best(opens), best(lambda: os.stat("f")))
'''


def calls(isod, tool, directory, home):
    """open and stat inside against outside: what the guard of late files costs a call here."""
    project = os.path.join(home, 'calls')
    os.mkdir(project)
    os.close(os.open(project + '/f', os.O_CREAT | os.O_WRONLY, 0o644))
    own(project)
    program = ['/usr/bin/python3', '-c', LOOP, project]

    def measure(command):
        return [float(x) for x in subprocess.run(command, check=True, stdout=subprocess.PIPE, **as_user(isod, project)).stdout.split()]
    outside, inside = [[], []], [[], []]
    for _ in range(3):
        for command, result in ((program, outside), ([isod.client, 'run', '-q', '--', *program], inside)):
            for kind, ns in zip(result, measure(command)):
                kind.append(ns)
    return {name: {'outside_ns': round(min(o)), 'inside_ns': round(min(i)), 'ratio': round(min(i) / min(o), 2)}
            for name, o, i in zip(('open_close', 'stat'), outside, inside)}


KINDS = {'rules': rules, 'tree': tree, 'covers': covers, 'calls': calls}


def main():
    wanted = sys.argv[2:] or list(KINDS)
    with tempfile.TemporaryDirectory(dir='/var/lib', prefix='isod-bench-') as directory:
        os.chmod(directory, 0o755)
        tool = os.path.join(directory, 'start')
        subprocess.run(['gcc', '-O2', '-o', tool, os.path.join(TOP, 'bench/start.c')], check=True)
        home = tempfile.mkdtemp(dir=ENTRY.pw_dir, prefix='bench-')
        os.chmod(home, 0o755)
        isod = Isod(directory)
        isod.start()
        try:
            for name in wanted:
                figures = KINDS[name](isod, tool, directory, home)
                print(json.dumps({name: figures}), flush=True)
        finally:
            isod.stop()
            shutil.rmtree(home)


main()
