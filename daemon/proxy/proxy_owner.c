#include "daemon/proxy/proxy_owner.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/number.h"
#include "daemon/linux/net/launch_diag.h"
#include "daemon/wire/link_wire.h"

#define SLOT(handle) ((handle) % OWNER_MAX)

/* In the thread */

/* The end of a long path tells more than its beginning. */
static void read_program(int process_fd, char ret[SESSION_PROGRAM_MAX])
{
	char path[4096];
	ssize_t n = readlinkat(process_fd, "exe", path, sizeof(path) - 1);
	size_t cut;

	ret[0] = '\0';
	if (n <= 0)
		return;
	path[n] = '\0';
	cut = (size_t)n < SESSION_PROGRAM_MAX ? 0 : (size_t)n - (SESSION_PROGRAM_MAX - 1);
	snprintf(ret, SESSION_PROGRAM_MAX, "%s", path + cut);
}

/* How many of the searches are for this socket. */
static unsigned match(struct link *l, uint64_t inode, uint32_t pid, int process_fd)
{
	unsigned found = 0;

	for (uint32_t i = 0; i < l->n_searches; i++) {
		struct proxy_search *search = &l->searches[i];

		if (search->inode != inode || inode == 0 || search->pid)
			continue;
		search->pid = pid;
		read_program(process_fd, search->program);
		found++;
	}
	return found;
}

static unsigned look_into(struct link *l, int proc_fd, uint32_t pid)
{
	char name[32], target[64];
	_cleanup_close_ int process_fd = -1;
	unsigned long long inode;
	unsigned found = 0;
	DIR *fds;
	int fd;

	snprintf(name, sizeof(name), "%u", pid);
	process_fd = openat(proc_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	fd = process_fd < 0 ? -1 : openat(process_fd, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	fds = fd < 0 ? NULL : fdopendir(fd);
	if (!fds) {
		fd_close(fd);
		return 0;
	}
	for (const struct dirent *e = readdir(fds); e; e = readdir(fds)) {
		ssize_t n = readlinkat(fd, e->d_name, target, sizeof(target) - 1);

		if (n <= 0)
			continue;
		target[n] = '\0';
		if (sscanf(target, "socket:[%llu]", &inode) == 1)
			found += match(l, inode, pid, process_fd);
	}
	closedir(fds);
	return found;
}

static int is_newer(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? 1 : x > y ? -1 : 0;
}

/* All processes, the ones with the highest number first: a tool that asks for something is mostly young. Heap. */
static uint32_t *list_processes(DIR *proc, size_t *ret_n)
{
	uint32_t *pids = NULL;
	size_t n = 0, room = 0;
	uint64_t pid;

	for (const struct dirent *e = readdir(proc); e; e = readdir(proc)) {
		if (number_parse_u64(e->d_name, UINT32_MAX, &pid) < 0)
			continue;
		if (n == room) {
			uint32_t *more = reallocarray(pids, room += 256, sizeof(*pids));

			if (!more)
				break;
			pids = more;
		}
		pids[n++] = (uint32_t)pid;
	}
	if (n > 0)
		qsort(pids, n, sizeof(*pids), is_newer);
	*ret_n = n;
	return pids;
}

static void look(uv_work_t *work)
{
	struct link *l = work->data;
	_cleanup_free_ uint32_t *pids = NULL;
	unsigned left = 0;
	size_t n = 0;
	DIR *proc;

	/* A socket that has none is gone, and nobody's. */
	for (uint32_t i = 0; i < l->n_searches; i++)
		left += l->searches[i].inode != 0;
	proc = left > 0 ? opendir("/proc") : NULL;
	if (!proc)
		return;
	pids = list_processes(proc, &n);
	for (size_t i = 0; i < n && left > 0; i++)
		left -= look_into(l, dirfd(proc), pids[i]);
	closedir(proc);
}

/* In the loop */

static void start(struct link *l);

static void on_looked(uv_work_t *work, int status)
{
	struct link *l = work->data;

	/* An answer may lead to a question: its search waits until all of this round are answered. */
	for (uint32_t i = 0; i < l->n_searches; i++) {
		const struct proxy_search *search = &l->searches[i];
		struct proxy_question q = l->questions[search->slot];

		l->questions[search->slot].handle = 0;
		l->questions[search->slot].under_way = false;
		if (q.fn)
			q.fn(q.data, search->pid, search->program);
	}
	l->working = false;
	start(l);
}

/* All that wait go together: one look below /proc is the same work for one and for many. */
static void start(struct link *l)
{
	if (l->working)
		return;
	l->n_searches = 0;
	for (uint32_t i = 0; i < OWNER_MAX; i++) {
		struct proxy_question *q = &l->questions[i];

		if (q->handle == 0)
			continue;
		q->under_way = true;
		l->searches[l->n_searches++] = (struct proxy_search){ .inode = q->inode, .slot = i };
	}
	l->working = l->n_searches > 0 && uv_queue_work(l->loop, &l->work, look, on_looked) == 0;
}

void proxy_owner_open(struct link *l, uv_loop_t *loop)
{
	*l = (struct link){ .loop = loop, .diag = launch_diag_open() };
	l->work.data = l;
}

static uint64_t find_inode(const struct link *l, const struct sockaddr *peer, const uint8_t to_address[16],
			   uint16_t to_port, uint32_t handle)
{
	struct link_message m = { .query = handle, .family = peer->sa_family, .to_port = to_port };

	if (peer->sa_family == AF_INET) {
		const struct sockaddr_in *in = (const struct sockaddr_in *)peer;

		m.port = ntohs(in->sin_port);
		memcpy(m.address, &in->sin_addr, 4);
	} else if (peer->sa_family == AF_INET6) {
		const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)peer;

		m.port = ntohs(in6->sin6_port);
		memcpy(m.address, &in6->sin6_addr, 16);
	}
	memcpy(m.to_address, to_address, sizeof(m.to_address));
	return launch_diag_inode(l->diag, &m);
}

uint32_t owner_ask(struct link *l, const struct sockaddr *peer, const uint8_t to_address[16], uint16_t to_port,
		   owner_fn fn, void *data)
{
	struct proxy_question *q = NULL;

	/* Slots that are taken are passed over; past all of them there is no room. */
	for (size_t i = 0; l->diag >= 0 && !q && i < OWNER_MAX; i++) {
		l->last = l->last == UINT32_MAX ? 1 : l->last + 1;
		if (l->questions[SLOT(l->last)].handle == 0)
			q = &l->questions[SLOT(l->last)];
	}
	if (!q)
		return 0;
	*q = (struct proxy_question){ .handle = l->last, .fn = fn, .data = data };
	q->inode = find_inode(l, peer, to_address, to_port, l->last);
	start(l);
	return q->handle;
}

void owner_forget(struct link *l, uint32_t handle)
{
	struct proxy_question *q = &l->questions[SLOT(handle)];

	if (q->handle != handle)
		return;
	q->fn = NULL;
	if (!q->under_way)
		q->handle = 0;
}
