#!/usr/bin/env python3
"""What the guard of late files costs a real job: python3 bench/late.py BUILD [ROUNDS]

The same job outside, inside without a rule that could be about a file that appears later (so nothing is asked about
opens), and inside as usual; interleaved. Prints medians and ratios, one JSON object a job. Needs root, gcc, npm and, once,
a registry for npm. Nothing here passes or fails.
"""
import glob
import json
import os
import pwd
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else os.path.join(TOP, 'build')
ROUNDS = int(sys.argv[2]) if len(sys.argv) > 2 else 7
# Of one job: on a busy machine fewer rounds, and an end.
SECONDS = 120
os.environ['ISOD_BUILD'] = BUILD
sys.path.insert(0, os.path.join(TOP, 'tests/system'))
from conftest import Isod, USERS, project_of  # noqa: E402

SECRETS = ('dotenv', 'keys', 'tokens', 'cloud')
PACKAGES = ('express@4', 'eslint@8', 'webpack@5')
OPENS = 'import os\nfor i in range(20000):\n    os.close(os.open("file", os.O_RDONLY))\n'


def make(folder):
    """A copy of isod's own sources that have no library, a Makefile's worth of compiler runs."""
    for room in ('base', 'view', 'daemon/wire'):
        os.makedirs(os.path.join(folder, room))
        for f in glob.glob(os.path.join(TOP, room, '*.[ch]')):
            shutil.copy(f, os.path.join(folder, room))
    return 'for f in base/*.c view/*.c daemon/wire/*.c; do gcc -std=gnu17 -D_GNU_SOURCE -I. -O2 -c "$f" -o "$f.o"; done'


def npm(folder, as_user):
    # The registry of who runs the benchmark: the test's user has no npmrc.
    registry = subprocess.run(['npm', 'config', 'get', 'registry'], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    subprocess.run(['npm', 'install', '--no-audit', '--no-fund', '--cache', './cache', '--registry', registry, *PACKAGES], cwd=folder,
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **as_user)
    return 'npm ci --offline --no-audit --no-fund --cache ./cache >/dev/null 2>&1'


def timed(command, folder, as_user):
    # protected names in packages are locked once they are there, and npm ci removes what is there
    shutil.rmtree(os.path.join(folder, 'node_modules'), ignore_errors=True)
    start = time.monotonic()
    subprocess.run(command, cwd=folder, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, **as_user)
    return time.monotonic() - start


def measure(isod, without, script, folder, as_user):
    ways = {
        'outside': ['sh', '-ec', script],
        'unguarded': [isod.client, 'run', '-q', '--policy', without, '--', 'sh', '-ec', script],
        'guarded': [isod.client, 'run', '-q', '--', 'sh', '-ec', script],
    }
    times = {w: [] for w in ways}
    end = time.monotonic() + SECONDS
    # the first round is not counted
    for n in range(ROUNDS + 1):
        if n > 1 and time.monotonic() > end:
            break
        for way, command in ways.items():
            times[way].append(timed(command, folder, as_user))
    median = {w: statistics.median(t[1:]) for w, t in times.items()}
    fastest = {w: min(t[1:]) for w, t in times.items()}
    return {**{f'{w}_s': round(m, 3) for w, m in median.items()},
            'guarded_over_unguarded': round(median['guarded'] / median['unguarded'], 3),
            'guarded_over_outside': round(median['guarded'] / median['outside'], 3),
            'fastest_guarded_over_unguarded': round(fastest['guarded'] / fastest['unguarded'], 3)}


def main():
    entry = pwd.getpwnam(USERS[0])
    root = tempfile.mkdtemp(prefix='isod-bench-', dir='/var/lib')
    os.chmod(root, 0o755)
    isod = Isod(root)
    isod.start()
    as_user = {'user': entry.pw_uid, 'group': entry.pw_gid, 'extra_groups': [], 'env': isod.environment(USERS[0])}
    folders = {n: tempfile.mkdtemp(dir=project_of(USERS[0])) for n in ('compile', 'npm', 'opens')}
    without = os.path.join(root, 'without.json')
    with open(without, 'w', encoding='utf-8') as f:
        json.dump({'sandbox': {'filesystem': {'protect': {n: False for n in SECRETS}}}}, f)
    try:
        scripts = {'compile': make(folders['compile'])}
        with open(os.path.join(folders['opens'], 'file'), 'w', encoding='utf-8'):
            pass
        with open(os.path.join(folders['opens'], 'opens.py'), 'w', encoding='utf-8') as f:
            f.write(OPENS)
        scripts['opens'] = 'python3 -S opens.py'
        subprocess.run(['chown', '-R', f'{USERS[0]}:', *folders.values()], check=True)
        scripts['npm'] = npm(folders['npm'], as_user)
        for n, s in scripts.items():
            print(json.dumps({n: measure(isod, without, s, folders[n], as_user)}), flush=True)
    finally:
        isod.stop()
        for f in (root, *folders.values()):
            shutil.rmtree(f, ignore_errors=True)


if __name__ == '__main__':
    main()
