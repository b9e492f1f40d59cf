#!/usr/bin/env python3
"""What the file view costs a start, as ratios to a start in an empty project: python3 bench/view.py BUILD

Prints one JSON object: starts with 10, 1,000 and 10,000 rules, and in projects of many files. Needs root and the users
of the system tests. Nothing here passes or fails: numbers are for reading.
"""
import json
import os
import pwd
import statistics
import subprocess
import sys
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
os.environ['ISOD_BUILD'] = os.path.abspath(sys.argv[1])
sys.path.insert(0, os.path.join(TOP, 'tests/system'))
from conftest import Isod, USERS  # noqa: E402

ROUNDS = 5


def files(folder, count, name, per_folder=200):
    """count files in folders of per_folder, three levels deep."""
    for i in range(0, count, per_folder):
        d = os.path.join(folder, f'a{i // per_folder // 100}/b{i // per_folder}/c')
        os.makedirs(d)
        for j in range(i, min(i + per_folder, count)):
            os.close(os.open(os.path.join(d, name % j), os.O_CREAT | os.O_WRONLY, 0o644))


def flat(folder, count, name):
    os.makedirs(folder, exist_ok=True)
    for i in range(count):
        os.close(os.open(os.path.join(folder, name % i), os.O_CREAT | os.O_WRONLY, 0o644))


def rules(count):
    def make(project):
        flat(project, count, 'f%d')
        return {'denyRead': [os.path.join(project, f'f{i}') for i in range(0, count, 2)],
                'denyWrite': [os.path.join(project, f'f{i}') for i in range(1, count, 2)]}
    return make


def many_files(count):
    def make(project):
        files(project, count, 'file%d.c')
        return {}
    return make


def secrets(project):
    """Each of 3,000 files is covered by itself."""
    files(project, 3000, '.env.%d', 10)
    return {}


def data(project):
    """100,000 matching files below one folder."""
    flat(os.path.join(project, 'data'), 100000, 'f%d.parquet')
    return {'denyRead': ['./data/**', '**/*.parquet']}


CASES = {'empty': lambda project: {}, 'rules_10': rules(10), 'rules_1000': rules(1000), 'rules_10000': rules(10000),
         'files_20000': many_files(20000), 'files_200000': many_files(200000), 'secrets_3000': secrets, 'data_100000': data}


def once(isod, project, as_user):
    began = time.perf_counter()
    p = subprocess.run([isod.client, 'run', '-q', '--', '/bin/true'], cwd=project, stdin=subprocess.DEVNULL, capture_output=True,
                       check=False, **as_user)
    took = (time.perf_counter() - began) * 1000
    if p.returncode:
        raise SystemExit(p.stderr.decode())
    return took


def main():
    entry = pwd.getpwnam(USERS[0])
    with tempfile.TemporaryDirectory(dir='/var/lib', prefix='isod-bench-') as directory:
        os.chmod(directory, 0o755)
        isod = Isod(directory).start()
        as_user = {'user': entry.pw_uid, 'group': entry.pw_gid, 'extra_groups': [], 'env': isod.environment(USERS[0])}
        runs = {}
        try:
            for name, make in CASES.items():
                project = os.path.join(directory, name)
                os.makedirs(project)
                filesystem = make(project)
                subprocess.run(['chown', '-R', f'{entry.pw_uid}:{entry.pw_gid}', project], check=True)
                runs[name] = (project, {'sandbox': {'filesystem': filesystem}})
            took = {name: [] for name in runs}
            # interleaved, so that a change of the machine's mood meets all alike
            for _ in range(ROUNDS):
                for name, (project, policy) in runs.items():
                    isod.policy(policy)
                    took[name].append(once(isod, project, as_user))
        finally:
            isod.stop()
        median = {name: statistics.median(t) for name, t in took.items()}
        print(json.dumps({name: {'median_ms': round(ms, 1), 'over_empty': round(ms / median['empty'], 2)} for name, ms in median.items()},
                         indent=1))


main()
