"""Runs a program under a system call filter of the test's: usage denying.py CALL[:ARGUMENT=VALUE]... -- COMMAND...

Each CALL then fails with EPERM, as under the filter of a container or a security module."""
import ctypes
import os
import sys

ALLOW, ERRNO, EQUAL, CTL_NNP = 0x7fff0000, 0x00050000, 4, 3


class Compare(ctypes.Structure):
    _fields_ = [('arg', ctypes.c_uint), ('op', ctypes.c_int), ('a', ctypes.c_uint64), ('b', ctypes.c_uint64)]


def main():
    at = sys.argv.index('--')
    lib = ctypes.CDLL('libseccomp.so.2')
    lib.seccomp_init.restype = ctypes.c_void_p
    f = ctypes.c_void_p(lib.seccomp_init(ALLOW))
    assert lib.seccomp_attr_set(f, CTL_NNP, 0) == 0
    for rule in sys.argv[1:at]:
        name, *conditions = rule.split(':')
        number = lib.seccomp_syscall_resolve_name(name.encode())
        array = (Compare * len(conditions))()
        for i, condition in enumerate(conditions):
            arg, value = condition.split('=')
            array[i] = Compare(int(arg), EQUAL, int(value, 0), 0)
        assert number >= 0 and lib.seccomp_rule_add_array(f, ERRNO | 1, number, len(conditions), array) == 0, rule
    assert lib.seccomp_load(f) == 0
    os.execv(sys.argv[at + 1], sys.argv[at + 1:])


main()
