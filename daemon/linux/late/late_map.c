#include "daemon/linux/late/late_map.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

static int call(int command, union bpf_attr *attr)
{
	long r = syscall(SYS_bpf, command, attr, sizeof(*attr));

	return r < 0 ? -errno : (int)r;
}

int late_map_set(int map, uint32_t session, const struct late_record *record)
{
	union bpf_attr attr = { .map_fd = (uint32_t)map };

	attr.key = (uintptr_t)&session;
	attr.value = (uintptr_t)record;
	return call(BPF_MAP_UPDATE_ELEM, &attr);
}

int late_map_remove(int map, uint32_t session)
{
	union bpf_attr attr = { .map_fd = (uint32_t)map };
	int r;

	attr.key = (uintptr_t)&session;
	r = call(BPF_MAP_DELETE_ELEM, &attr);
	return r == -ENOENT ? 0 : r;
}

/* An iterator over the descriptors of this process alone. */
static int open_iterator(int program)
{
	union bpf_iter_link_info own = { 0 };
	union bpf_attr attr = { 0 };
	_cleanup_close_ int link = -1;

	own.task.pid = (uint32_t)getpid();
	attr.link_create.prog_fd = (uint32_t)program;
	attr.link_create.attach_type = BPF_TRACE_ITER;
	attr.link_create.iter_info = (uintptr_t)&own;
	attr.link_create.iter_info_len = sizeof(own);
	link = call(BPF_LINK_CREATE, &attr);
	if (link < 0)
		return link;
	attr = (union bpf_attr){ 0 };
	attr.iter_create.link_fd = (uint32_t)link;
	return call(BPF_ITER_CREATE, &attr);
}

int late_map_addresses(int program, const int *fds, size_t n, uint64_t *ret)
{
	_cleanup_close_ int iterator = open_iterator(program);
	struct late_folder folders[64];
	ssize_t got;

	if (iterator < 0)
		return iterator;
	memset(ret, 0, n * sizeof(*ret));
	while ((got = read(iterator, folders, sizeof(folders))) > 0)
		for (size_t i = 0; i < (size_t)got / sizeof(folders[0]); i++)
			for (size_t j = 0; j < n; j++)
				if (fds[j] == (int)folders[i].fd)
					ret[j] = folders[i].inode;
	if (got < 0)
		return -errno;
	for (size_t j = 0; j < n; j++)
		if (ret[j] == 0)
			return -ENOENT;
	return 0;
}

static size_t page_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

int late_ring_open(struct late_ring *ring, int events)
{
	size_t page = page_size();
	void *map = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, events, 0);

	*ring = (struct late_ring)LATE_RING_INIT;
	if (map == MAP_FAILED)
		return -errno;
	ring->consumed = map;
	/* Twice, so that what goes over the end can be read in one piece. */
	map = mmap(NULL, page + 2 * (size_t)LATE_RING_BYTES, PROT_READ, MAP_SHARED, events, (off_t)page);
	if (map == MAP_FAILED)
		return -errno;
	ring->kernels = map;
	return 0;
}

void late_ring_close(struct late_ring *ring)
{
	if (ring->consumed)
		munmap(ring->consumed, page_size());
	if (ring->kernels)
		munmap((void *)ring->kernels, page_size() + 2 * (size_t)LATE_RING_BYTES);
	*ring = (struct late_ring)LATE_RING_INIT;
}

unsigned late_ring_read(struct late_ring *ring, unsigned max, void (*each)(void *data, const struct late_refusal *),
			void *data)
{
	unsigned long written = __atomic_load_n((const unsigned long *)ring->kernels, __ATOMIC_ACQUIRE);
	unsigned long at = __atomic_load_n(ring->consumed, __ATOMIC_RELAXED);
	const unsigned char *bytes = ring->kernels + page_size();
	unsigned n = 0;

	for (unsigned i = 0; i < max && at < written; i++) {
		const unsigned char *record = bytes + at % LATE_RING_BYTES;
		uint32_t head = __atomic_load_n((const uint32_t *)record, __ATOMIC_ACQUIRE);
		uint32_t size = head & ~(uint32_t)(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT);

		if (head & BPF_RINGBUF_BUSY_BIT)
			break;
		if (!(head & BPF_RINGBUF_DISCARD_BIT) && size == sizeof(struct late_refusal)) {
			each(data, (const struct late_refusal *)(record + BPF_RINGBUF_HDR_SZ));
			n++;
		}
		at += (size + BPF_RINGBUF_HDR_SZ + 7UL) / 8 * 8;
		__atomic_store_n(ring->consumed, at, __ATOMIC_RELEASE);
	}
	return n;
}

int late_map_key(int proc, const char *process, uint32_t *ret)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "%s/ns/pid", process);
	if (fstatat(proc, path, &st, 0) < 0)
		return -errno;
	*ret = (uint32_t)st.st_ino;
	return 0;
}
