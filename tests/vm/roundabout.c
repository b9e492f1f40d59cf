/*
 * Roundabout ways to a file or a name, for tests/vm: roundabout WAY PATH [OTHER]. Exit status 0: it worked; 13: EACCES;
 * 3: another error, told; 2: no such way.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define EXCHANGE 2 /* RENAME_EXCHANGE */

static int reopen(const char *path, const char *other)
{
	char link[64];
	int fd = open(path, O_PATH);

	if (fd < 0)
		return -1;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	return open(link, O_RDONLY);
}

static int exchange(const char *path, const char *other)
{
	return (int)syscall(SYS_renameat2, AT_FDCWD, path, AT_FDCWD, other, EXCHANGE);
}

static int nameless(const char *path, const char *other)
{
	char link[64];
	int fd = open(".", O_TMPFILE | O_RDWR, 0600);

	if (fd < 0)
		return -1;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	return linkat(AT_FDCWD, link, AT_FDCWD, path, AT_SYMLINK_FOLLOW);
}

static int make_node(const char *path, const char *other)
{
	return mknod(path, S_IFREG | 0600, 0);
}

static int cut(const char *path, const char *other)
{
	return truncate(path, 0);
}

static int open_cutting(const char *path, const char *other)
{
	return open(path, O_RDONLY | O_TRUNC);
}

static int create(const char *path, const char *other)
{
	return open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
}

static int read_it(const char *path, const char *other)
{
	return open(path, O_RDONLY);
}

static int read_write(const char *path, const char *other)
{
	return open(path, O_RDWR);
}

static int move(const char *path, const char *other)
{
	return rename(path, other);
}

static int second_name(const char *path, const char *other)
{
	return link(path, other);
}

static int make_symlink(const char *path, const char *other)
{
	return symlink(other, path);
}

static int make_folder(const char *path, const char *other)
{
	return mkdir(path, 0700);
}

static int make_fifo(const char *path, const char *other)
{
	return mkfifo(path, 0600);
}

static int delete (const char *path, const char *other)
{
	return unlink(path);
}

static int ring(const char *path, const char *other)
{
	char parameters[120] = { 0 }; /* struct io_uring_params */

	return (int)syscall(SYS_io_uring_setup, 4, parameters);
}

/* Prints how long an open and a close take, in nanoseconds: the least of some rounds. */
static int clock_opens(const char *path, const char *other)
{
	long least = -1;

	for (int round = 0; round < 10; round++) {
		struct timespec from, to;
		long took;

		clock_gettime(CLOCK_MONOTONIC, &from);
		for (int i = 0; i < 2000; i++) {
			int fd = open(path, O_RDONLY);

			if (fd < 0)
				return -1;
			close(fd);
		}
		clock_gettime(CLOCK_MONOTONIC, &to);
		took = (to.tv_sec - from.tv_sec) * 1000000000 + to.tv_nsec - from.tv_nsec;
		if (least < 0 || took < least)
			least = took;
	}
	printf("%ld\n", least / 2000);
	return 0;
}

/* Below more folders than the guard climbs. */
static int deep(const char *path, const char *other)
{
	for (int i = 0; i < 300; i++)
		if ((mkdir("deep", 0700) < 0 && errno != EEXIST) || chdir("deep") < 0)
			return -1;
	return create(path, other);
}

static const struct {
	const char *name;
	int (*go)(const char *path, const char *other);
} ways[] = {
	{ "reopen", reopen },      { "exchange", exchange }, { "nameless", nameless },
	{ "node", make_node },     { "cut", cut },           { "open-cutting", open_cutting },
	{ "create", create },      { "read", read_it },      { "read-write", read_write },
	{ "move", move },          { "link", second_name },  { "symlink", make_symlink },
	{ "folder", make_folder }, { "fifo", make_fifo },    { "delete", delete },
	{ "ring", ring },          { "deep", deep },         { "clock", clock_opens },
};

int main(int argc, char *argv[])
{
	if (argc < 3)
		return 2;
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		if (strcmp(ways[i].name, argv[1]) != 0)
			continue;
		if (ways[i].go(argv[2], argc > 3 ? argv[3] : "") >= 0)
			return 0;
		if (errno == EACCES)
			return EACCES;
		fprintf(stderr, "%s %s: %s\n", argv[1], argv[2], strerror(errno));
		return 3;
	}
	return 2;
}
