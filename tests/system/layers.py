"""Kept layers, made as isod-launch makes them: a real overlay over the project, written by the user."""
import contextlib
import os
import pwd
import secrets
import struct
import subprocess
import time

from conftest import USERS

LAYER_MAGIC = 0x3152594c


class Layer:
    """state/layers/ID of a daemon, over project; until end() the overlay is mounted at .merged."""

    def __init__(self, isod, project, user=USERS[0], started_ns=None):
        self.id = secrets.token_hex(6)
        self.entry = pwd.getpwnam(user)
        self.project = project
        self.top = os.path.join(isod.state_dir, 'layers', self.id)
        self.upper = os.path.join(self.top, 'upper')
        self.merged = os.path.join(self.top, 'merged')
        os.mkdir(self.top, 0o700)
        for d in ('upper', 'work', 'merged'):
            os.mkdir(os.path.join(self.top, d), 0o755)
        os.chown(self.upper, self.entry.pw_uid, self.entry.pw_gid)
        with open(os.path.join(self.top, 'record'), 'wb') as f:
            # by the clock that stamps files, as isod does it
            os.fstat(f.fileno())
            os.fchmod(f.fileno(), 0o600)
            self.started_ns = started_ns or os.fstat(f.fileno()).st_ctime_ns
            f.write(struct.pack('<IIIIq16s4096s', LAYER_MAGIC, self.entry.pw_uid, 0, 0, self.started_ns, self.id.encode(),
                                os.fsencode(project)))
        subprocess.run(['mount', '-t', 'overlay', 'overlay', '-o',
                        f'userxattr,lowerdir={project},upperdir={self.upper},workdir={self.top}/work', self.merged], check=True)
        # folders on the way are root's alone: the user works by a descriptor
        self.fd = os.open(self.merged, os.O_RDONLY | os.O_DIRECTORY)

    def sh(self, script):
        """Runs it in the overlay as the user: what the session's program would do."""
        p = subprocess.run(['sh', '-ec', f'cd /proc/self/fd/{self.fd}; {script}'], user=self.entry.pw_uid, group=self.entry.pw_gid,
                           extra_groups=[], pass_fds=(self.fd,), capture_output=True)
        assert p.returncode == 0, p
        return self

    def end(self):
        os.close(self.fd)
        subprocess.run(['umount', self.merged], check=True)
        os.rmdir(self.merged)
        return self.id


@contextlib.contextmanager
def layer(isod, project, **kw):
    """with layer(...) as l: l.sh(...)    and afterwards l.id is what isoctl is given"""
    made = Layer(isod, project, **kw)
    try:
        yield made
    finally:
        made.end()


def settle():
    """Files made from here on are younger than those before, by the coarse clock of the file system."""
    now = time.clock_gettime_ns(5)
    while time.clock_gettime_ns(5) == now:
        pass


def tree(top):
    """Everything below top: type, mode, content, time of change."""
    found = {}
    for folder, folders, files in os.walk(os.fsencode(top)):
        for name in folders + files:
            path = os.path.join(folder, name)
            st = os.lstat(path)
            if os.path.islink(path):
                content = os.readlink(path)
            elif os.path.isfile(path):
                with open(path, 'rb') as f:
                    content = f.read()
            else:
                content = None
            found[os.path.relpath(path, os.fsencode(top))] = (st.st_mode, content, st.st_mtime_ns, st.st_ctime_ns)
    return found
