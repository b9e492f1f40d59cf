#!/usr/bin/python3
"""What the audit log costs: python3 bench/audit.py BUILD [SESSIONS], as root, by unshare -mn with lo up.

Events a second from isod-session's channel to the file (bench_audit), and then, with a state folder of so many sessions: the
start of isod-control, a listing, searches, and verify."""
import json
import os
import subprocess
import sys
import tempfile
import time

BUILD = os.path.abspath(sys.argv[1])
SESSIONS = int(sys.argv[2]) if len(sys.argv) > 2 else 100000


def timed(what, argv, **kw):
    begin = time.monotonic()
    done = subprocess.run(argv, capture_output=True, check=False, **kw)
    print(f'{what:44} {1000 * (time.monotonic() - begin):9.1f} ms   rc {done.returncode}, {len(done.stdout)} bytes '
          f'{done.stderr.decode()[:200]}', flush=True)
    return done


def main():
    subprocess.run([os.path.join(BUILD, 'tests/unit/control/bench_audit')], check=True)
    with tempfile.TemporaryDirectory(prefix='isod-bench-', dir='/var/lib') as top:
        os.chmod(top, 0o755)
        state, run, config = (os.path.join(top, d) for d in ('state', 'run', 'etc'))
        for d in (state, run, config):
            os.mkdir(d)
        os.mkdir(os.path.join(state, 'audit'))
        subprocess.run([os.path.join(BUILD, 'tests/unit/control/bench_audit'), os.path.join(state, 'audit'), str(SESSIONS)],
                       check=True)
        subprocess.run(['chown', '-R', 'isod:', os.path.join(state, 'audit')], check=True)
        r, w = os.pipe()
        begin = time.monotonic()
        isod = subprocess.Popen([os.path.join(BUILD, 'isod'), '--foreground', '--socket', run + '/isod.sock', '--run-dir', run,
                                 '--state-dir', state, '--config-dir', config, '--libexec', BUILD, '--ready-fd', str(w)],
                                pass_fds=(w,), stderr=subprocess.DEVNULL)
        os.close(w)
        os.read(r, 1)
        ctl = [os.path.join(BUILD, 'isoctl'), '--socket', run + '/isod.sock']
        try:
            done = timed('first answer', [*ctl, 'status'])
            print(f'{"from the start of isod to it":44} {1000 * (time.monotonic() - begin):9.1f} ms')
            timed('sessions --all (first)', [*ctl, 'sessions', '--all', '--json'])
            timed('sessions --all (again)', [*ctl, 'sessions', '--all', '--json'])
            timed('log --host rare.example', [*ctl, 'log', '--host', 'rare.example', '--json'])
            timed('log --denied --since 1h', [*ctl, 'log', '--denied', '--since', '1h', '--json'])
            timed('log --denied', [*ctl, 'log', '--denied', '--json'])
            timed('log --program nosuch', [*ctl, 'log', '--program', 'nosuch', '--json'])
            done = timed('log verify --all', [*ctl, 'log', 'verify', '--all', '--json'])
            print({k: v for k, v in json.loads(done.stdout).items() if k != 'findings'})
            for entry in os.listdir('/proc'):
                if entry.isdigit() and os.path.exists(f'/proc/{entry}/exe') and \
                        os.readlink(f'/proc/{entry}/exe') == os.path.join(BUILD, 'isod-control'):
                    with open(f'/proc/{entry}/status', encoding='ascii') as f:
                        status = dict(line.split(':', 1) for line in f)
                    if int(status['PPid']) == isod.pid:
                        print('isod-control', status['VmRSS'].strip())
        finally:
            isod.terminate()
            isod.wait()


main()
