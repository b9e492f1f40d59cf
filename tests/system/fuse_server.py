"""A small read-only file system over /dev/fuse, for the tests: mounted for one user, without allow_other, so that not even
root may look into it. usage: fuse_server.py TARGET UID GID; says "ready" when it is mounted."""
import ctypes
import os
import stat
import struct
import sys

TEXT = b'text\n'
# inode -> (folder, what is in it)
TREE = {1: {b'f': 2, b'.env': 3, b'sub': 4}, 4: {b'f': 5}}
LOOKUP, FORGET, GETATTR, OPEN, READ, STATFS, RELEASE, FLUSH, INIT, OPENDIR, READDIR, RELEASEDIR, BATCH_FORGET = (
    1, 2, 3, 14, 15, 17, 18, 25, 26, 27, 28, 29, 42)
ENOENT, ENOSYS = 2, 38


def attributes(inode, owner):
    mode = stat.S_IFDIR | 0o755 if inode in TREE else stat.S_IFREG | 0o644
    return struct.pack('<6Q3I7I', inode, 0 if inode in TREE else len(TEXT), 0, 0, 0, 0, 0, 0, 0, mode, 1, *owner, 0, 4096, 0)


def entries(inode):
    out = b''
    for offset, (name, child) in enumerate(sorted(TREE[inode].items()), 1):
        kind = 4 if child in TREE else 8
        out += (struct.pack('<QQII', child, offset, len(name), kind) + name).ljust((24 + len(name) + 7) // 8 * 8, b'\0')
    return out


def answer(opcode, inode, body, owner):
    """The bytes of the reply, or a negative errno."""
    if opcode == INIT:
        return struct.pack('<IIIIHHII', 7, 31, 65536, 0, 12, 10, 65536, 1).ljust(64, b'\0')
    if opcode == GETATTR:
        return struct.pack('<QII', 1, 0, 0) + attributes(inode, owner)
    if opcode == LOOKUP:
        child = TREE.get(inode, {}).get(body.rstrip(b'\0'))
        return -ENOENT if child is None else struct.pack('<QQQQII', child, 0, 1, 1, 0, 0) + attributes(child, owner)
    if opcode in (OPEN, OPENDIR):
        return struct.pack('<QII', 0, 0, 0)
    if opcode == READ:
        offset, size = struct.unpack_from('<QI', body, 8)
        return TEXT[offset:offset + size]
    if opcode == READDIR:
        return entries(inode) if struct.unpack_from('<Q', body, 8)[0] == 0 else b''
    if opcode == STATFS:
        return b''.ljust(80, b'\0')
    return b'' if opcode in (RELEASE, RELEASEDIR, FLUSH) else -ENOSYS


def main():
    target, owner = sys.argv[1], (int(sys.argv[2]), int(sys.argv[3]))
    fd = os.open('/dev/fuse', os.O_RDWR)
    libc = ctypes.CDLL(None, use_errno=True)
    options = f'fd={fd},rootmode=40755,user_id={owner[0]},group_id={owner[1]}'
    if libc.mount(b'isod-test', os.fsencode(target), b'fuse', ctypes.c_ulong(6), options.encode()) != 0:
        sys.exit(os.strerror(ctypes.get_errno()))
    print('ready', flush=True)
    while True:
        try:
            request = os.read(fd, 1 << 17)
        except OSError:
            return  # unmounted
        _, opcode, unique, inode = struct.unpack_from('<IIQQ', request)
        if opcode in (FORGET, BATCH_FORGET):
            continue
        reply = answer(opcode, inode, request[40:], owner)
        error, data = (reply, b'') if isinstance(reply, int) else (0, reply)
        try:
            os.write(fd, struct.pack('<IiQ', 16 + len(data), error, unique) + data)
        except OSError:
            pass  # who asked has gone


main()
