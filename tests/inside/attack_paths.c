/* Ways around a path: magic links, second names, handles, memory of files; each with the errno that says why not. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/inside/attempt.h"

static char detail[256];

/* A file of the system that everybody may read, and so could give a second name to. */
#define SYSTEM_FILE "/usr/bin/env"
#define SECOND_NAME "isod-second-name"

static const char *magic_links(void)
{
	static const char *const paths[] = {
		"/proc/self/root/root/.ssh",        "/proc/self/cwd/../../../../../../root/.ssh",
		"/proc/thread-self/root/root/.ssh", "/proc/self/root/proc/1/root/root/.ssh",
		"/proc/self/task/../root/boot",     "/proc/self/root/var/lib/isod",
		"/proc/self/root/run/isod",         "/../root/.ssh",
		"/tmp/../../root/.bashrc",          "/dev/fd/../root/root/.ssh",
		"/dev/pts/../../../../root/.ssh",   "/sys/../root/.ssh",
	};

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		if (REFUSED_WITH(ENOENT, open(paths[i], O_RDONLY | O_CLOEXEC)))
			continue;
		snprintf(detail, sizeof(detail), "%s: not ENOENT but %d", paths[i], errno);
		return detail;
	}
	return NULL;
}

/* hidepid lets nobody see it. */
static const char *links_of_pid1(void)
{
	static const char *const paths[] = { "/proc/1/root/etc/shadow", "/proc/1/cwd/.", "/proc/1/mem",
					     "/proc/1/root/../..",      "/proc/1/fd/3",  "/proc/1/task/1/root/." };

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		if (REFUSED_WITH(ENOENT, open(paths[i], O_RDONLY | O_CLOEXEC)) || errno == EACCES)
			continue;
		snprintf(detail, sizeof(detail), "%s was opened, or %d", paths[i], errno);
		return detail;
	}
	return NULL;
}

static const char *below_a_descriptor(void)
{
	for (int fd = 0; fd <= 2; fd++) {
		char path[64];

		snprintf(path, sizeof(path), "/proc/self/fd/%d/../../etc/shadow", fd);
		if (!REFUSED_WITH(ENOTDIR, open(path, O_RDONLY | O_CLOEXEC)))
			return "not ENOTDIR";
	}
	return NULL;
}

static const char *hard_links(void)
{
	static const char *const paths[] = { SYSTEM_FILE, "/etc/passwd", "/proc/self/exe", "/dev/zero",
					     "/proc/version" };
	char path[64];
	int fd;

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		if (REFUSED_WITH(EXDEV, linkat(AT_FDCWD, paths[i], AT_FDCWD, SECOND_NAME, AT_SYMLINK_FOLLOW)))
			continue;
		snprintf(detail, sizeof(detail), "%s: not EXDEV but %d", paths[i], errno);
		return detail;
	}
	fd = open("/etc/passwd", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return "/etc/passwd cannot be read";
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (!REFUSED_WITH(EXDEV, linkat(AT_FDCWD, path, AT_FDCWD, SECOND_NAME, AT_SYMLINK_FOLLOW)))
		return "by descriptor: not EXDEV";
	/* By an empty path it takes a capability, in newer kernels the rights of whoever opened it. */
	if (!REFUSED(linkat(fd, "", AT_FDCWD, SECOND_NAME, AT_EMPTY_PATH)) || (errno != ENOENT && errno != EXDEV))
		return "by an empty path: neither ENOENT nor EXDEV";
	return NULL;
}

static const char *move_system_file(void)
{
	if (!REFUSED(rename(SYSTEM_FILE, SECOND_NAME)) || (errno != EXDEV && errno != EROFS))
		return "neither EXDEV nor EROFS";
	return REFUSED_WITH(EROFS, open("/usr/bin", O_TMPFILE | O_WRONLY, 0600)) ? NULL : "O_TMPFILE: not EROFS";
}

static const char *reopen_for_writing(void)
{
	int fd = open(SYSTEM_FILE, O_RDONLY | O_CLOEXEC);
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (fd < 0 || !REFUSED(open(path, O_RDWR | O_CLOEXEC)) || (errno != EROFS && errno != EACCES))
		return "by its descriptor: neither EROFS nor EACCES";
	if (!REFUSED(open("/proc/self/exe", O_RDWR | O_CLOEXEC)) ||
	    (errno != EROFS && errno != EACCES && errno != ETXTBSY))
		return "our own program";
	if (!REFUSED(fchmod(fd, 0777)) || (errno != EROFS && errno != EPERM))
		return "its mode";
	return REFUSED(fchown(fd, getuid(), (gid_t)-1)) && (errno == EROFS || errno == EPERM) ? NULL : "its owner";
}

/* The page cache of a file that others run, written through our own memory. */
static const char *write_through_memory(void)
{
	int file = open(SYSTEM_FILE, O_RDONLY | O_CLOEXEC), mem = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	char *map = mmap(NULL, 4096, PROT_READ, MAP_SHARED, file, 0);

	if (file < 0 || map == MAP_FAILED)
		return "the attempt could not be made";
	if (mem >= 0 && !REFUSED_WITH(EIO, pwrite(mem, "isod", 4, (off_t)(uintptr_t)map)))
		return "/proc/self/mem: not EIO";
	if (!REFUSED_WITH(EACCES, mprotect(map, 4096, PROT_READ | PROT_WRITE)))
		return "mprotect: not EACCES";
	return memcmp(map, "isod", 4) != 0 ? NULL : "the file was written";
}

static const char *memory_file(void)
{
	int fd = memfd_create("isod-test", MFD_CLOEXEC);

	/* Running what one has written is allowed; being somebody else by it is not. */
	if (fd < 0)
		return NULL;
	return REFUSED_WITH(EPERM, fchown(fd, getuid() + 1, (gid_t)-1)) ? NULL : "not EPERM";
}

static const char *handles(void)
{
	static const char *const paths[] = { ".", "/", "/usr", "/etc/passwd" };
	struct file_handle *handle = calloc(1, sizeof(*handle) + MAX_HANDLE_SZ);
	int mount_id, at = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (!handle || at < 0)
		return "the attempt could not be made";
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		handle->handle_bytes = MAX_HANDLE_SZ;
		/* Without a handle of its own, the root's of most file systems will do. */
		if (name_to_handle_at(AT_FDCWD, paths[i], handle, &mount_id, 0) < 0) {
			handle->handle_bytes = 8;
			handle->handle_type = 1;
			memcpy(handle->f_handle, (uint32_t[]){ 2, 0 }, 8);
		}
		if (!REFUSED_WITH(EPERM, open_by_handle_at(at, handle, O_RDONLY)))
			return paths[i];
	}
	return NULL;
}

/* A folder moved away below us: the way up must not lead past the view. */
static const char *folder_moved(void)
{
	char path[4096];

	if (mkdir("/tmp/isod-a", 0700) < 0 || mkdir("/tmp/isod-a/b", 0700) < 0 || chdir("/tmp/isod-a/b") < 0 ||
	    rename("/tmp/isod-a/b", "/tmp/isod-b") < 0)
		return "the attempt could not be made";
	for (int i = 0; i < 64; i++)
		if (chdir("..") < 0)
			return "..";
	rmdir("/tmp/isod-b");
	rmdir("/tmp/isod-a");
	if (!getcwd(path, sizeof(path)) || strcmp(path, "/") != 0)
		return "the way up ends elsewhere";
	return REFUSED_WITH(ENOENT, open("root/.ssh", O_RDONLY | O_CLOEXEC)) ? NULL : "root's folder is there";
}

const struct attempt attempts_paths[] = {
	{ "magic-links", magic_links, false },
	{ "links-pid1", links_of_pid1, false },
	{ "below-descriptor", below_a_descriptor, false },
	{ "hard-links", hard_links, false },
	{ "move-system-file", move_system_file, false },
	{ "reopen-for-writing", reopen_for_writing, false },
	{ "write-through-memory", write_through_memory, false },
	{ "memory-file", memory_file, false },
	{ "handles", handles, false },
	{ "folder-moved", folder_moved, false },
	{ NULL, NULL, false },
};
