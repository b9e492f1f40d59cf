#!/usr/bin/env python3
"""Figures beside the peers', measured in one run, as ratios: python3 bench/bench.py BUILD [start] [many] [stream] [tunnel] [idle] [plan] [decide]

Prints one JSON object. Needs root (it starts a daemon of its own), bubblewrap, tinyproxy; sandbox-runtime if
SRT names its cli.js. Nothing here passes or fails: numbers are for reading.
"""
import json
import os
import pwd
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


def side_by_side(tool, rounds, at_once, commands, as_user):
    """bench/start.c: interleaved, so that a change of the machine's mood meets all alike."""
    argv = [tool, str(rounds), str(at_once)]
    for command in commands.values():
        argv += [':::', *command]
    out = subprocess.run(argv, check=True, stdout=subprocess.PIPE, **as_user).stdout
    return dict(zip(commands, json.loads(out)))


def commands_of(isod):
    commands = {'exec': ['/bin/true'], 'bwrap': [*BWRAP, '/bin/true'], 'isoctl': [isod.client, 'run', '-q', '--', '/bin/true']}
    if 'SRT' in os.environ:
        commands['srt'] = ['node', os.environ['SRT'], 'true']
    return commands


def start(isod, as_user, tool):
    commands = commands_of(isod)
    result = side_by_side(tool, 150 if 'srt' not in commands else 30, 1, commands, as_user)
    result['isoctl_over_bwrap'] = round(result['isoctl']['median_ms'] / result['bwrap']['median_ms'], 2)
    if 'srt' in result:
        result['srt_over_isoctl'] = round(result['srt']['median_ms'] / result['isoctl']['median_ms'], 1)
    return result


def many(isod, as_user, tool, at_once=8):
    result = side_by_side(tool, 5, at_once, commands_of(isod), as_user)
    result['isoctl_over_bwrap'] = round(result['isoctl']['per_second'] / result['bwrap']['per_second'], 2)
    return result


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


def pss_kib(pid):
    with open(f'/proc/{pid}/smaps_rollup', encoding='ascii') as f:
        return next(int(line.split()[1]) for line in f if line.startswith('Pss:'))


def idle(isod, as_user):
    """What ten sessions that do nothing hold in userspace, without their programs."""
    n = 10
    sessions = [subprocess.Popen([isod.client, 'run', '-q', '--', 'sh', '-c', 'echo; exec cat'], stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, **as_user) for _ in range(n)]
    total = {'isod-session': 0, 'isod-launch': 0}
    for session in sessions:
        session.stdout.readline()
    for pid in isod.helpers():
        with open(f'/proc/{pid}/comm', encoding='ascii') as f:
            name = f.read().strip()
        if name in total:
            total[name] += pss_kib(pid)
    for session in sessions:
        session.communicate()
    return {'sessions': n, 'isod_session_kib': total['isod-session'] // n, 'pid1_kib': total['isod-launch'] // n}


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


def build(directory, name):
    program = os.path.join(directory, name)
    subprocess.run(['gcc', '-O2', '-pthread', '-o', program, os.path.join(TOP, f'bench/{name}.c')], check=True)
    return program


def main():
    entry = pwd.getpwnam(USERS[0])
    wanted = sys.argv[2:] or ['start', 'many', 'stream', 'idle', 'tunnel', 'plan', 'decide']
    with tempfile.TemporaryDirectory(dir='/var/lib', prefix='isod-bench-') as directory:
        os.chmod(directory, 0o755)
        load, tool = (build(directory, name) for name in ('load', 'start'))
        isod = Isod(directory)
        isod.policy({'hosts': {'ok.example': ['127.0.0.77']},
                     'sandbox': {'network': {'limits': {'newPerSecond': 1000000, 'newPerSecondPerHost': 1000000}}}})
        isod.start()
        as_user = {'user': entry.pw_uid, 'group': entry.pw_gid, 'extra_groups': [], 'cwd': project_of(USERS[0]),
                   'env': isod.environment(USERS[0])}
        result = {}
        try:
            if 'start' in wanted:
                result['start'] = start(isod, as_user, tool)
            if 'many' in wanted:
                result['eight_at_once'] = many(isod, as_user, tool)
            if 'stream' in wanted:
                result['stdout'] = stream(isod, as_user)
            if 'idle' in wanted:
                result['idle'] = idle(isod, as_user)
            if 'plan' in wanted:
                result['plan_of_rules'] = json.loads(subprocess.run([os.path.join(BUILD, 'tests/unit/control/bench_plan')], check=True,
                                                                    stdout=subprocess.PIPE).stdout)
            if 'decide' in wanted:
                result['decision'] = json.loads(subprocess.run([os.path.join(BUILD, 'tests/unit/policy/bench_decide')], check=True,
                                                               stdout=subprocess.PIPE).stdout)
            if 'tunnel' in wanted:
                result['tunnel'] = tunnel(isod, as_user, load, directory)
        finally:
            isod.stop()
        print(json.dumps(result, indent=1))


main()
