#ifndef ISOD_LATE_TRY_H
#define ISOD_LATE_TRY_H
/*
 * Proves that the programs refuse: that attaching them has succeeded says nothing where "bpf" is no security module in
 * use. A child in a pid namespace of its own tries, on a file system that nobody else sees, before, while and after a
 * record is there for it.
 */
#include "base/error.h"
#include "daemon/late/late_load.h"

/* 0, or -EOPNOTSUPP with *e. */
int late_try(const struct late_loaded *loaded, struct error *e);

#endif
