#ifndef ISOD_LINUX_PROBE_H
#define ISOD_LINUX_PROBE_H
/*
 * What this kernel gives. Nothing here is guessed from a version where it can be tried: the ruleset is really applied,
 * in a network namespace that lives as long as the probe.
 */
#include <stddef.h>

#include "base/error.h"

struct probe {
	int landlock_abi;         /* 0 = none that a session can use */
	struct error unavailable; /* .code is ERROR_NONE where sessions can be started; else why not */
};

/* Forks: call before the first thread and before the loop. batch: nft_rules_build(). Never fails: a probe that cannot
 * be made is a reason not to start sessions. */
void probe_kernel(const void *batch, size_t len, struct probe *ret);

#endif
