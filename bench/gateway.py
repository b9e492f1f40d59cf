#!/usr/bin/env python3
"""The gateway beside squid, tinyproxy and haproxy, on one origin, interleaved, as ratios: python3 bench/gateway.py BUILD

haproxy is no forward proxy: it relays one port in TCP mode and judges nothing, the least that a relay costs. What is not
installed is left out. Needs root. Prints one JSON object; nothing here passes or fails.
"""
import json
import os
import pwd
import resource
import shutil
import subprocess
import sys
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else os.path.join(TOP, 'build')
os.environ['ISOD_BUILD'] = BUILD
sys.path.insert(0, os.path.join(TOP, 'tests/system'))
from conftest import Isod, project_of, USERS  # noqa: E402

ROUNDS = int(os.environ.get('ROUNDS', '5'))
IDLE = 1000
ORIGIN = ('127.0.0.77', '18099')

TINYPROXY = """Port 18888
Listen 127.0.0.1
MaxClients 1500
Timeout 600
LogLevel Critical
ConnectPort 18099
"""
SQUID = """http_port 127.0.0.1:18889
pid_filename {d}/squid.pid
cache_log /dev/null
access_log none
cache deny all
coredump_dir {d}
acl there dst 127.0.0.77
acl port port 18099
http_access allow there port
http_access deny all
shutdown_lifetime 1 second
max_filedescriptors 8192
pinger_enable off
"""
HAPROXY = """global
 maxconn 4000
defaults
 mode tcp
 timeout connect 5s
 timeout client 600s
 timeout server 600s
listen relay
 bind 127.0.0.1:18890
 server origin 127.0.0.77:18099
"""


def peers(directory):
    """name: (command, its configuration, how the load goes through it)"""
    conf = {name: os.path.join(directory, name + '.conf') for name in ('tinyproxy', 'squid', 'haproxy')}
    for name, text in (('tinyproxy', TINYPROXY), ('squid', SQUID.format(d=directory)), ('haproxy', HAPROXY)):
        with open(conf[name], 'w', encoding='ascii') as f:
            f.write(text)
    all_ = {'tinyproxy': (['tinyproxy', '-d', '-c', conf['tinyproxy']], ['127.0.0.1', '18888', *ORIGIN]),
            'squid': (['squid', '-N', '-f', conf['squid']], ['127.0.0.1', '18889', *ORIGIN]),
            'haproxy': (['haproxy', '-db', '-f', conf['haproxy']], ['-', '0', '127.0.0.1', '18890'])}
    return {name: peer for name, peer in all_.items() if shutil.which(peer[0][0])}


def rss_kib(pid):
    with open(f'/proc/{pid}/status', encoding='ascii') as f:
        return next(int(line.split()[1]) for line in f if line.startswith('VmRSS:'))


def middle(values):
    return sorted(values)[len(values) // 2]


def run(argv, as_user, key):
    out = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True, **as_user).stdout
    figure = json.loads(out)
    return {k: figure[k] for k in key}


def interleaved(paths, kind, amount, parallel, keys, as_user):
    """All in each round, so that a change of the machine's mood meets all alike; the middle of each figure."""
    seen = {name: [] for name in paths}
    for _ in range(ROUNDS):
        for name, (prefix, where) in paths.items():
            seen[name].append(run([*prefix, kind, amount, parallel, *where], as_user, keys))
    return {name: {k: middle([f[k] for f in figures]) for k in keys} for name, figures in seen.items()}


def ratios(result, key):
    return {f'isod_over_{name}': round(result['isod'][key] / figures[key], 2) for name, figures in result.items()
            if name != 'isod' and figures[key]}


def added(result, key):
    """Microseconds above those of a direct connection."""
    return {name: round(figures[key] - result['direct'][key], 1) for name, figures in result.items() if name != 'direct'}


def idle(isod, paths, pids, as_user):
    kib = {}
    for name, (prefix, where) in paths.items():
        if name == 'direct':
            continue
        before = rss_kib(pids[name]) if name in pids else 0
        known = set(isod.helpers_named('isod-session'))
        p = subprocess.Popen([*prefix, 'hold', '-', str(IDLE), *where], stdin=subprocess.PIPE, stdout=subprocess.PIPE, **as_user)
        if not p.stdout.readline():
            kib[name] = None
        else:
            pid = pids.get(name) or (set(isod.helpers_named('isod-session')) - known).pop()
            # of isod the whole process, which is the session's alone
            kib[name] = rss_kib(pid) - before
        p.communicate()
    return kib


def measure(isod, paths, pids, as_user):
    result = {}
    for parallel in ('1', '100'):
        r = interleaved(paths, 'bulk', '1024' if parallel == '1' else '20', parallel, ['gbit_s'], as_user)
        result[f'bulk_{parallel}'] = {**r, **ratios(r, 'gbit_s')}
    for parallel in ('1', '100'):
        r = interleaved(paths, 'rate', '1', parallel, ['per_second', 'failed'], as_user)
        result[f'new_tunnels_{parallel}'] = {**r, **ratios(r, 'per_second')}
    r = interleaved(paths, 'ping', '1', '1', ['p50_us', 'p99_us'], as_user)
    result['latency'] = {**r, 'added_p50_us': added(r, 'p50_us'), 'added_p99_us': added(r, 'p99_us')}
    result[f'kib_for_{IDLE}_idle_tunnels'] = idle(isod, paths, pids, as_user)
    return result


def main():
    entry = pwd.getpwnam(USERS[0])
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with tempfile.TemporaryDirectory(dir='/var/lib', prefix='isod-bench-') as directory:
        os.chmod(directory, 0o777)
        load = os.path.join(directory, 'load')
        subprocess.run(['gcc', '-O2', '-pthread', '-o', load, os.path.join(TOP, 'bench/load.c')], check=True)
        isod = Isod(directory)
        isod.policy({'hosts': {'ok.example': ['127.0.0.77']},
                     'sandbox': {'network': {'limits': {'newPerSecond': 1000000, 'newPerSecondPerHost': 1000000}}}})
        as_user = {'user': entry.pw_uid, 'group': entry.pw_gid, 'extra_groups': [], 'cwd': project_of(USERS[0]),
                   'env': isod.environment(USERS[0])}
        inside = [isod.client, 'run', '-q', '--allow-read', load, '--allow-domain', f'ok.example:{ORIGIN[1]}', '--', load]
        paths = {'direct': ([load], ['-', '0', *ORIGIN]), 'isod': (inside, ['127.0.0.1', '61080', 'ok.example', ORIGIN[1]])}
        origin = subprocess.Popen([load, 'serve', *ORIGIN], stdout=subprocess.PIPE)
        origin.stdout.readline()
        running = {}
        isod.start()
        try:
            for name, (command, where) in peers(directory).items():
                p = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                running[name] = p
                paths[name] = ([load], where)
                while subprocess.run([load, 'rate', '0.1', '1', *where], stdout=subprocess.PIPE, check=False).stdout.find(b'"failed":0') < 0:
                    assert p.poll() is None, f'{name} does not run'
                    time.sleep(0.1)
            pids = {name: p.pid for name, p in running.items()}
            print(json.dumps(measure(isod, paths, pids, as_user), indent=1))
        finally:
            isod.stop()
            for p in (origin, *running.values()):
                p.terminate()
                p.wait()


main()
