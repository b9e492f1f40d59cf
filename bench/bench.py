#!/usr/bin/env python3
"""Figures beside the peers', measured in one run, as ratios: python3 bench/bench.py BUILD [start] [stream] [tunnel]

Prints one JSON object. Needs root (it starts a daemon of its own), bubblewrap, tinyproxy; sandbox-runtime if
SRT names its cli.js. Nothing here passes or fails: numbers are for reading.
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else os.path.join(TOP, 'build')
os.environ['ISOD_BUILD'] = BUILD
sys.path.insert(0, os.path.join(TOP, 'tests/system'))
from conftest import Isod, project_of, USERS  # noqa: E402

BWRAP = ['bwrap', '--unshare-all', '--die-with-parent', '--new-session', '--ro-bind', '/usr', '/usr', '--symlink', 'usr/bin', '/bin',
         '--symlink', 'usr/lib', '/lib', '--symlink', 'usr/lib64', '/lib64', '--ro-bind', '/etc', '/etc', '--tmpfs', '/tmp', '--tmpfs', '/home',
         '--proc', '/proc', '--dev', '/dev', '--bind', project_of(USERS[0]), project_of(USERS[0]), '--']


def timed(command, rounds, **kw):
    samples = []
    for _ in range(rounds):
        began = time.perf_counter()
        subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **kw)
        samples.append((time.perf_counter() - began) * 1000)
    return samples


def start(isod, as_user):
    """Interleaved, so that a change of the machine's mood meets all alike."""
    commands = {'fork_exec': ['/bin/true'], 'bwrap': [*BWRAP, '/bin/true'],
                'isoctl': [isod.client, 'run', '-q', '--', '/bin/true']}
    srt = os.environ.get('SRT')
    samples = {name: [] for name in commands}
    for _ in range(15):
        for name, command in commands.items():
            samples[name] += timed(command, 10, **as_user)
    result = {name: {'median_ms': round(statistics.median(s), 2), 'min_ms': round(min(s), 2)} for name, s in samples.items()}
    if srt:
        s = timed(['node', srt, 'true'], 10, **as_user)
        result['srt'] = {'median_ms': round(statistics.median(s), 2), 'min_ms': round(min(s), 2)}
        result['srt_over_isoctl'] = round(result['srt']['median_ms'] / result['isoctl']['median_ms'], 1)
    result['isoctl_over_bwrap'] = round(result['isoctl']['median_ms'] / result['bwrap']['median_ms'], 2)
    return result


def many(isod, as_user, at_once=8, total=160):
    def run(command):
        began, running, left = time.perf_counter(), [], total
        failed = 0
        while left or running:
            while left and len(running) < at_once:
                running.append(subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                                **as_user))
                left -= 1
            failed += running.pop(0).wait() != 0
        return round(total / (time.perf_counter() - began), 1), failed
    ours, ours_failed = run([isod.client, 'run', '-q', '--', '/bin/true'])
    theirs, theirs_failed = run([*BWRAP, '/bin/true'])
    return {'isoctl_per_second': ours, 'isoctl_failed': ours_failed, 'bwrap_per_second': theirs, 'bwrap_failed': theirs_failed,
            'isoctl_over_bwrap': round(ours / theirs, 2)}


def stream(isod, as_user):
    size = 4 << 30
    head = ['head', '-c', str(size), '/dev/zero']

    def rate(command):
        began = time.perf_counter()
        a = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, **as_user)
        b = subprocess.Popen(['sh', '-c', 'cat >/dev/null'], stdin=a.stdout)
        a.stdout.close()
        b.wait()
        a.wait()
        return size / (time.perf_counter() - began) / 1e9
    raw = [rate(head) for _ in range(3)]
    ours = [rate([isod.client, 'run', '-q', '--', *head]) for _ in range(3)]
    return {'raw_gb_s': round(max(raw), 2), 'isoctl_gb_s': round(max(ours), 2), 'isoctl_over_raw': round(max(ours) / max(raw), 3)}


TINYPROXY = '''Port 18888
Listen 127.0.0.1
MaxClients 600
Timeout 600
LogLevel Critical
ConnectPort 18099
Filter "{dir}/filter"
FilterDefaultDeny Yes
'''


def tunnel(isod, as_user, load, directory):
    with open(os.path.join(directory, 'filter'), 'w', encoding='ascii') as f:
        f.write('^ok\\.example$\n^127\\.0\\.0\\.77$\n')
    with open(os.path.join(directory, 'tinyproxy.conf'), 'w', encoding='ascii') as f:
        f.write(TINYPROXY.format(dir=directory))
    origin = subprocess.Popen([load, 'serve', '127.0.0.77', '18099'], stdout=subprocess.PIPE)
    origin.stdout.readline()
    tiny = subprocess.Popen(['tinyproxy', '-d', '-c', os.path.join(directory, 'tinyproxy.conf')], stdout=subprocess.DEVNULL,
                            stderr=subprocess.DEVNULL)
    inside = [isod.client, 'run', '-q', '--allow-read', load, '--allow-domain', 'ok.example:18099', '--', load]
    paths = {'direct': ([load], ['-', '0', '127.0.0.77', '18099']), 'tinyproxy': ([load], ['127.0.0.1', '18888', '127.0.0.77', '18099']),
             'isod': (inside, ['127.0.0.1', '61080', 'ok.example', '18099'])}
    result = {}
    try:
        # wait until the proxy answers
        while subprocess.run([load, 'rate', '0.1', '1', *paths['tinyproxy'][1]], stdout=subprocess.DEVNULL, check=False).returncode:
            pass
        for kind, amount, parallel in (('rate', '2', '1'), ('rate', '2', '100'), ('ping', '2', '1'), ('bulk', '4096', '1')):
            best = {}
            for _ in range(3):
                for name, (prefix, where) in paths.items():
                    out = subprocess.run([*prefix, kind, amount, parallel, *where], stdin=subprocess.DEVNULL, capture_output=True, check=True,
                                         **as_user).stdout
                    figure = json.loads(out)
                    key = 'gbit_s' if kind == 'bulk' else 'per_second'
                    if name not in best or figure[key] > best[name][key]:
                        best[name] = figure
            label = f'{kind}_c{parallel}'
            result[label] = best
            key = 'gbit_s' if kind == 'bulk' else 'per_second'
            result[label]['isod_over_tinyproxy'] = round(best['isod'][key] / best['tinyproxy'][key], 2)
            result[label]['isod_over_direct'] = round(best['isod'][key] / best['direct'][key], 2)
    finally:
        for p in (origin, tiny):
            p.terminate()
            p.wait()
    return result


def main():
    import pwd
    entry = pwd.getpwnam(USERS[0])
    wanted = sys.argv[2:] or ['start', 'many', 'stream', 'tunnel']
    with tempfile.TemporaryDirectory(dir='/var/lib', prefix='isod-bench-') as directory:
        os.chmod(directory, 0o755)
        load = os.path.join(directory, 'load')
        subprocess.run(['gcc', '-O2', '-pthread', '-o', load, os.path.join(TOP, 'bench/load.c')], check=True)
        isod = Isod(directory)
        isod.policy({'hosts': {'ok.example': ['127.0.0.77']}})
        isod.start()
        as_user = {'user': entry.pw_uid, 'group': entry.pw_gid, 'extra_groups': [], 'cwd': project_of(USERS[0]),
                   'env': isod.environment(USERS[0])}
        result = {}
        try:
            if 'start' in wanted:
                result['start'] = start(isod, as_user)
            if 'many' in wanted:
                result['eight_at_once'] = many(isod, as_user)
            if 'stream' in wanted:
                result['stdout'] = stream(isod, as_user)
            if 'tunnel' in wanted:
                result['tunnel'] = tunnel(isod, as_user, load, directory)
        finally:
            isod.stop()
        print(json.dumps(result, indent=1))


main()
