"""isod-launch, told that this kernel has the late guard, which it has not: usage late_claim.py COMMAND...

The descriptors of the map and of the iterator stay what they are without it, /dev/null."""
import fcntl
import os
import struct
import sys

CONTEXT = 4         # daemon/wire/fds.h
FLAGS_AT = 6 * 4    # daemon/wire/context.h
HAS_LATE = 1 << 1
SEALS = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE

context = bytearray(os.pread(CONTEXT, 1 << 20, 0))
flags, = struct.unpack_from('I', context, FLAGS_AT)
assert struct.unpack_from('I', context)[0] == len(context) and not flags & HAS_LATE
struct.pack_into('I', context, FLAGS_AT, flags | HAS_LATE)
new = os.memfd_create('context', os.MFD_ALLOW_SEALING)
os.write(new, context)
fcntl.fcntl(new, fcntl.F_ADD_SEALS, SEALS)
os.dup2(new, CONTEXT)
os.execv(sys.argv[1], sys.argv[1:])
