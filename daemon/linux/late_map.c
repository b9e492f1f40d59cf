#include "daemon/linux/late_map.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>
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
