#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#define SEALS (F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

int fd_close(int fd)
{
	int saved = errno;

	if (fd >= 0)
		close(fd);
	errno = saved;
	return -1;
}

int fd_set_cloexec(int fd, bool on)
{
	return fcntl(fd, F_SETFD, on ? FD_CLOEXEC : 0) < 0 ? -errno : 0;
}

int fd_set_nonblock(int fd, bool on)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0)
		return -errno;
	flags = on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK;
	return fcntl(fd, F_SETFL, flags) < 0 ? -errno : 0;
}

ssize_t fd_read_full(int fd, void *data, size_t n)
{
	size_t done = 0;

	while (done < n) {
		ssize_t r = read(fd, (char *)data + done, n - done);

		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return -errno;
		if (r == 0)
			break;
		done += r;
	}
	return done;
}

int fd_write_full(int fd, const void *data, size_t n)
{
	size_t done = 0;

	while (done < n) {
		ssize_t r = write(fd, (const char *)data + done, n - done);

		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return -errno;
		done += r;
	}
	return 0;
}

int fd_sealed_new(const char *name, const void *data, size_t n)
{
	_cleanup_close_ int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int r;

	if (fd < 0)
		return -errno;
	r = fd_write_full(fd, data, n);
	if (r < 0)
		return r;
	if (lseek(fd, 0, SEEK_SET) < 0 || fcntl(fd, F_ADD_SEALS, SEALS) < 0)
		return -errno;
	return take_fd(&fd);
}

int fd_sealed_map(int fd, size_t max, const void **ret, size_t *ret_len)
{
	struct stat st;
	int seals = fcntl(fd, F_GET_SEALS);
	void *map;

	if (seals < 0 || (seals & SEALS) != SEALS)
		return -EPERM;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (st.st_size == 0)
		return -ENODATA;
	if (st.st_size < 0 || (uint64_t)st.st_size > max)
		return -EMSGSIZE;
	map = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	*ret = map;
	*ret_len = st.st_size;
	return 0;
}

int fd_read_file(int fd, size_t max, char **ret, size_t *ret_len)
{
	_cleanup_free_ char *data = NULL;
	size_t len = 0, size = 0;

	for (;;) {
		ssize_t r;

		if (len == size) {
			char *grown;

			if (size > max)
				return -EFBIG;
			size = size ? size * 2 : 4096;
			if (size > max + 1)
				size = max + 1;
			grown = realloc(data, size + 1);
			if (!grown)
				return -ENOMEM;
			data = grown;
		}
		r = fd_read_full(fd, data + len, size - len);
		if (r < 0)
			return r;
		len += r;
		if (len > max)
			return -EFBIG;
		if (len < size)
			break;
	}
	data[len] = '\0';
	*ret = take_ptr(data);
	*ret_len = len;
	return 0;
}

bool fd_is_plain_stream(int fd)
{
	int flags = fcntl(fd, F_GETFL);
	struct statfs fs;
	struct stat st;

	if (flags < 0 || flags & O_PATH || fstat(fd, &st) < 0)
		return false;
	if (S_ISFIFO(st.st_mode))
		return fstatfs(fd, &fs) == 0 && fs.f_type == PIPEFS_MAGIC;
	return S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3);
}

int fd_close_from(int from)
{
	return syscall(SYS_close_range, (unsigned)from, ~0U, 0U) < 0 ? -errno : 0;
}
