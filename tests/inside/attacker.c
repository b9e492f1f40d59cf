/*
 * Run inside a session: tries what must fail. One line an attempt: "ok NAME" where it was refused, else
 * "FAIL NAME detail"; exit status 1 where any was possible. Static, so that it needs nothing of the view.
 */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/inside/attempt.h"

static const struct attempt *const tables[] = { attempts_kernel, attempts_files, attempts_processes, attempts_network,
						attempts_paths };

static int report(const char *name, const char *detail)
{
	if (detail)
		printf("FAIL %s %s\n", name, detail);
	else
		printf("ok %s\n", name);
	return detail != NULL;
}

static int run(const struct attempt *a)
{
	char detail[256] = "";
	int pipe_ends[2], status;
	ssize_t n;
	pid_t pid;

	fflush(stdout);
	if (pipe(pipe_ends) < 0 || (pid = fork()) < 0)
		return report(a->name, "the attempt could not be made");
	if (pid == 0) {
		const char *result;

		close(pipe_ends[0]);
		alarm(10);
		result = a->run();
		if (result)
			(void)!write(pipe_ends[1], result, strlen(result));
		_exit(0);
	}
	close(pipe_ends[1]);
	n = read(pipe_ends[0], detail, sizeof(detail) - 1);
	close(pipe_ends[0]);
	if (waitpid(pid, &status, 0) != pid)
		return report(a->name, "the attempt was lost");
	if (n > 0)
		return report(a->name, detail);
	if (WIFSIGNALED(status) && !a->may_die) {
		snprintf(detail, sizeof(detail), "died of signal %d", WTERMSIG(status));
		return report(a->name, detail);
	}
	return report(a->name, NULL);
}

/* Before anything is opened: exactly 0, 1 and 2, and none of them a door. */
static int check_descriptors(void)
{
	static char detail[64];
	DIR *dir = opendir("/proc/self/fd");
	const char *wrong = NULL;

	if (!dir)
		return report("descriptors", "/proc/self/fd cannot be read");
	for (struct dirent *d; (d = readdir(dir));) {
		int fd = atoi(d->d_name);

		if (d->d_name[0] == '.' || fd <= 2 || fd == dirfd(dir))
			continue;
		snprintf(detail, sizeof(detail), "descriptor %d is open", fd);
		wrong = detail;
	}
	closedir(dir);
	for (int fd = 0; fd <= 2 && !wrong; fd++) {
		struct stat st;

		if (fstat(fd, &st) < 0 || S_ISFIFO(st.st_mode))
			continue;
		if (S_ISCHR(st.st_mode) && (st.st_rdev == makedev(1, 3) || isatty(fd)))
			continue;
		snprintf(detail, sizeof(detail), "descriptor %d is of mode %o", fd, st.st_mode);
		wrong = detail;
	}
	return report("descriptors", wrong);
}

static int run_all(const struct attempt *a, int *count)
{
	int failed = 0;

	for (; a->name; a++, (*count)++)
		failed += run(a);
	return failed;
}

/* attacker HOST_SOCKET; or: attacker masked|nested MASKED_FILE LOCKED_FILE LOCKED_FOLDER */
int main(int argc, char **argv)
{
	int failed = check_descriptors(), count = 1;

	if (argc == 5) {
		attempt_masked = argv[2];
		attempt_locked_file = argv[3];
		attempt_locked_folder = argv[4];
		failed += run_all(strcmp(argv[1], "nested") == 0 ? attempts_nested : attempts_masked, &count);
	} else if (argc == 2) {
		attempt_host_socket = argv[1];
		for (size_t t = 0; t < sizeof(tables) / sizeof(tables[0]); t++)
			failed += run_all(tables[t], &count);
	} else {
		failed += report("arguments", "none that mean anything");
	}
	printf("%d attempts, %d possible\n", count, failed);
	return failed > 0;
}
