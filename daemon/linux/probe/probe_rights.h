#ifndef ISOD_LINUX_PROBE_RIGHTS_H
#define ISOD_LINUX_PROBE_RIGHTS_H
/*
 * The capabilities that isod lives on. Asked before anything is tried: the kernel says EPERM for a missing capability,
 * a system call filter and a security module alike, and each has another remedy.
 */
#include "base/error.h"

enum probe_rights {
	PROBE_RIGHTS_START,   /* without these isod itself or isod-control cannot run */
	PROBE_RIGHTS_SESSION, /* without these no session can be made */
};

/* 0, or -EPERM with all that are missing named. */
int probe_rights_check(enum probe_rights need, struct error *e);

#endif
