"""What a program inside does with a file must not hold up pid 1, which opens each file to answer."""
import time

INSIDE = r'''
import fcntl, os, signal, time
signal.signal(signal.SIGIO, lambda *_: None)
fd = os.open("leased", os.O_RDWR | os.O_CREAT, 0o600)
while True:
    # as long as pid 1 has it open, after its answer to the line above
    try:
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_WRLCK)
        break
    except BlockingIOError:
        time.sleep(0.01)
if os.fork() == 0:
    try:
        os.open("leased", os.O_RDONLY | os.O_NONBLOCK)
    except OSError as e:
        print(type(e).__name__, flush=True)
    began = time.monotonic()
    # another open waits for the same pid 1
    os.close(os.open("plain", os.O_RDONLY))
    print("quick" if time.monotonic() - began < 10 else "late", flush=True)
    os._exit(0)
os.wait()
'''


def test_a_lease_holds_up_nobody(isod, project):
    """The kernel gives who has a lease 45 seconds to let go of it (fs.lease-break-time)."""
    began = time.monotonic()
    r = isod.run('sh', '-c', 'echo x > plain; exec python3 -c "$1"', 'sh', INSIDE, cwd=project)
    assert r.rc == 0 and r.text.split()[-1] == 'quick' and len(r.text.split()) == 2, r
    assert time.monotonic() - began < 30, r
