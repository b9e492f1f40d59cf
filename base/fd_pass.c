#include "base/fd_pass.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "base/cleanup.h"

union control {
	struct cmsghdr header;
	char space[CMSG_SPACE(sizeof(int) * FD_PASS_MAX)];
};

ssize_t fd_pass_send(int sock, const void *data, size_t n, const int *fds, size_t n_fds)
{
	union control control = { 0 };
	struct iovec iov = { .iov_base = (void *)data, .iov_len = n };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t r;

	if (n_fds > FD_PASS_MAX)
		return -E2BIG;
	if (n_fds > 0) {
		struct cmsghdr *c;

		msg.msg_control = control.space;
		msg.msg_controllen = CMSG_SPACE(sizeof(int) * n_fds);
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int) * n_fds);
		memcpy(CMSG_DATA(c), fds, sizeof(int) * n_fds);
	}
	do
		r = sendmsg(sock, &msg, MSG_NOSIGNAL);
	while (r < 0 && errno == EINTR);
	return r < 0 ? -errno : r;
}

ssize_t fd_pass_receive(int sock, void *data, size_t n, int *fds, size_t *n_fds)
{
	union control control = { 0 };
	struct iovec iov = { .iov_base = data, .iov_len = n };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.space };
	size_t room = *n_fds < FD_PASS_MAX ? *n_fds : FD_PASS_MAX, got = 0;
	ssize_t r;
	bool extra = false;

	msg.msg_controllen = sizeof(control.space);
	do
		r = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC);
	while (r < 0 && errno == EINTR);
	if (r < 0)
		return -errno;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c)) {
		size_t count;

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < count; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
			if (got < room) {
				fds[got++] = fd;
			} else {
				fd_close(fd);
				extra = true;
			}
		}
	}
	if (msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC))
		extra = true;
	/* An empty packet may bring descriptors, too; to the caller it is the end of the file. */
	while (got > 0 && (extra || r == 0)) {
		got--;
		fds[got] = fd_close(fds[got]);
	}
	if (extra)
		return -EMSGSIZE;
	*n_fds = got;
	return r;
}
