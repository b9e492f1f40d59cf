#ifndef ISOD_WIRE_LAYER_H
#define ISOD_WIRE_LAYER_H
/*
 * What isod notes beside a layer that outlives its session (PLAN_KEEP), and hands to isod-control as a sealed array.
 * On disk it is read back by later versions: a new form needs a new magic.
 */
#include <stdint.h>

#include "base/limits.h"

#define LAYER_MAGIC 0x3152594cu /* "LYR1" */

struct layer_record {
	uint32_t magic;
	uint32_t uid;
	uint32_t running; /* 0 on disk; in an answer: its session has not ended */
	uint32_t reserved;
	int64_t started_ns; /* before anything ran, by the clock of files: a file changed since has a ctime of this or
			       later */
	char id[ISOD_ID_LEN + 4]; /* of the session, terminated */
	char project[LIMIT_PATH]; /* what the layer lies over: absolute, terminated */
};

#endif
