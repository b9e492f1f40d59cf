#include "daemon/linux/filter/seccomp_export.h"

#include <errno.h>
#include <linux/filter.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "daemon/linux/filter/seccomp_rules.h"

int seccomp_export(void *ctx, struct buffer *ret)
{
	_cleanup_close_ int fd = memfd_create("seccomp", MFD_CLOEXEC);
	_cleanup_free_ char *code = NULL;
	size_t len;
	int r = fd < 0 ? -errno : seccomp_export_bpf(ctx, fd);

	if (r < 0)
		return r;
	if (lseek(fd, 0, SEEK_SET) < 0)
		return -errno;
	r = fd_read_file(fd, SECCOMP_RULES_MAX, &code, &len);
	if (r < 0)
		return r;
	return len == 0 || len % sizeof(struct sock_filter) != 0 ? -EBADMSG : buffer_append(ret, code, len);
}
