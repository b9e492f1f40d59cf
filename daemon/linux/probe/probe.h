#ifndef ISOD_LINUX_PROBE_H
#define ISOD_LINUX_PROBE_H
/*
 * What this kernel gives. Nothing here is guessed from a version where it can be tried: the ruleset is really applied,
 * in a network namespace of its own.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct probe {
	int landlock_abi; /* 0 = none that a session can use */
	/* That namespace, empty but for lo and the ruleset. While one ruleset is there, the kernel need not rewrite its
	 * own code, on every processor, for the first session to begin and the last to end. -1 = none. */
	int network;
	uint32_t late_way;        /* enum late_way (daemon/wire/late.h) */
	uint32_t late_reason;     /* enum late_reason */
	struct error unavailable; /* .code is ERROR_NONE where sessions can be started; else why not */
};

/* Forks: call before the first thread and before the loop. batch: nft_rules_build(). Never fails: a probe that cannot
 * be made is a reason not to start sessions. */
void probe_kernel(const void *batch, size_t len, struct probe *ret);

#endif
