#ifndef ISOD_LINUX_LATE_MAP_H
#define ISOD_LINUX_LATE_MAP_H
/* The late guard's map and iterator by bpf(2) itself: for the programs that link no libbpf. */
#include <stddef.h>
#include <stdint.h>

#include "daemon/linux/late/late_record.h"

/* 0 or -errno; -E2BIG where LATE_SESSIONS are guarded already. The record is in force when this returns. */
int late_map_set(int map, uint32_t session, const struct late_record *record);
/* 0 also where it is not there. */
int late_map_remove(int map, uint32_t session);

/*
 * The addresses of folders that this process has open: for each of the n descriptors fds one in ret. program: the
 * iterator late_folders. 0; -ENOENT where the kernel did not tell one.
 */
int late_map_addresses(int program, const int *fds, size_t n, uint64_t *ret);

/* The ring buffer of refusals, mapped. */
struct late_ring {
	unsigned long *consumed;      /* bytes, ours to write */
	const unsigned char *kernels; /* what the kernel has written: the number of bytes, then those twice in a row */
};

#define LATE_RING_INIT                                                                                                 \
	{                                                                                                              \
		.consumed = NULL                                                                                       \
	}

/* events: the map's descriptor; stays the caller's. 0 or -errno; late_ring_close() in any case. */
int late_ring_open(struct late_ring *ring, int events);
void late_ring_close(struct late_ring *ring);
/* At most max of them, each complete; may be fewer than are there. How many were read. */
unsigned late_ring_read(struct late_ring *ring, unsigned max, void (*each)(void *data, const struct late_refusal *),
			void *data);

/* The key of a process' pid namespace. proc: O_PATH of a procfs; process: its folder there. 0 or -errno. */
int late_map_key(int proc, const char *process, uint32_t *ret);

#endif
