/* Descriptors: sealed memory that must not be taken on trust, whole reads, closing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "base/fd.h"

static void test_sealed(void **state)
{
	_cleanup_close_ int fd = fd_sealed_new("test", "content", 7);
	const void *map = NULL;
	size_t len = 0;
	char copy[8] = "";

	assert_true(fd >= 0);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(fd_sealed_map(fd, 7, &map, &len), 0);
	assert_int_equal(len, 7);
	assert_memory_equal(map, "content", 7);
	munmap((void *)map, len);
	assert_int_equal(read(fd, copy, 7), 7); /* position 0 */
	assert_string_equal(copy, "content");
	assert_int_equal(write(fd, "x", 1), -1);
	assert_int_equal(errno, EPERM);
	assert_int_equal(ftruncate(fd, 3), -1);
	assert_int_equal(ftruncate(fd, 30), -1);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), -1);
	assert_ptr_equal(mmap(NULL, 7, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
}

/* Each seal matters: without any one of them the sender could change the content after it was checked. */
static void test_sealed_refusals(void **state)
{
	static const int all[] = { F_SEAL_WRITE, F_SEAL_SHRINK, F_SEAL_GROW, F_SEAL_SEAL };
	const void *map = (void *)1;
	size_t len = 1;

	for (int missing = -1; missing < 4; missing++) {
		_cleanup_close_ int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);

		assert_int_equal(write(fd, "content", 7), 7);
		for (int i = 0; i < 4; i++)
			if (i != missing)
				assert_int_equal(fcntl(fd, F_ADD_SEALS, all[i]), 0);
		if (missing < 0) {
			assert_int_equal(fd_sealed_map(fd, 6, &map, &len), -EMSGSIZE);
			continue;
		}
		assert_int_equal(fd_sealed_map(fd, 100, &map, &len), -EPERM);
	}
	assert_ptr_equal(map, (void *)1);
	assert_int_equal(len, 1);
}

static void test_sealed_other_files(void **state)
{
	_cleanup_close_ int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	_cleanup_close_ int empty = fd_sealed_new("empty", NULL, 0);
	_cleanup_close_ int path = open("/proc/self/exe", O_PATH | O_CLOEXEC);
	int pipes[2];
	const void *map;
	size_t len;

	assert_true(empty >= 0);
	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	assert_int_equal(fd_sealed_map(null, 100, &map, &len), -EPERM);
	assert_int_equal(fd_sealed_map(pipes[0], 100, &map, &len), -EPERM);
	assert_int_equal(fd_sealed_map(path, 100, &map, &len), -EPERM);
	assert_int_equal(fd_sealed_map(-1, 100, &map, &len), -EPERM);
	assert_int_equal(fd_sealed_map(empty, 100, &map, &len), -ENODATA);
	fd_close(pipes[0]);
	fd_close(pipes[1]);
}

static void test_read_write_full(void **state)
{
	char data[16] = "";
	int pipes[2];

	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	assert_int_equal(fd_write_full(pipes[1], "abc", 3), 0);
	assert_int_equal(fd_write_full(pipes[1], "defg", 4), 0);
	assert_int_equal(fd_read_full(pipes[0], data, 5), 5);
	assert_string_equal(data, "abcde");
	pipes[1] = fd_close(pipes[1]);
	assert_int_equal(pipes[1], -1);
	assert_int_equal(fd_read_full(pipes[0], data, sizeof(data)), 2); /* end of file */
	assert_int_equal(fd_read_full(pipes[0], data, sizeof(data)), 0);
	assert_int_equal(fd_write_full(pipes[0], "a", 1), -EBADF);
	fd_close(pipes[0]);
	assert_int_equal(fd_read_full(pipes[0], data, 1), -EBADF);
}

static void test_write_would_block(void **state)
{
	static const char data[1 << 20];
	int pipes[2];

	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	assert_int_equal(fd_set_nonblock(pipes[1], true), 0);
	assert_int_equal(fd_write_full(pipes[1], data, sizeof(data)), -EAGAIN);
	assert_int_equal(fd_set_nonblock(pipes[1], false), 0);
	assert_int_equal(fcntl(pipes[1], F_GETFL) & O_NONBLOCK, 0);
	assert_int_equal(fd_set_cloexec(pipes[1], false), 0);
	assert_int_equal(fcntl(pipes[1], F_GETFD), 0);
	assert_int_equal(fd_set_cloexec(pipes[1], true), 0);
	assert_int_equal(fcntl(pipes[1], F_GETFD), FD_CLOEXEC);
	fd_close(pipes[0]);
	fd_close(pipes[1]);
	assert_int_equal(fd_set_nonblock(pipes[1], true), -EBADF);
	assert_int_equal(fd_set_cloexec(pipes[1], true), -EBADF);
}

/* Around each size at which the reader's memory grows, and around the bound. */
static void test_read_file(void **state)
{
	static const size_t sizes[] = { 0, 1, 4095, 4096, 4097, 8192, 9999, 10000 };
	static char content[10002];

	memset(content, 'c', sizeof(content));
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		_cleanup_close_ int fd = fd_sealed_new("file", content, sizes[i]);
		_cleanup_free_ char *text = NULL;
		size_t len = 99;

		assert_int_equal(fd_read_file(fd, 10000, &text, &len), 0);
		assert_int_equal(len, sizes[i]);
		assert_int_equal(strlen(text), sizes[i]);
	}
	for (size_t n = 10001; n <= 10002; n++) {
		_cleanup_close_ int fd = fd_sealed_new("file", content, n);
		char *text = (char *)1;
		size_t len = 99;

		assert_int_equal(fd_read_file(fd, 10000, &text, &len), -EFBIG);
		assert_ptr_equal(text, (char *)1);
		assert_int_equal(len, 99);
	}
}

static void test_read_file_small_bounds(void **state)
{
	_cleanup_close_ int zero = open("/dev/zero", O_RDONLY | O_CLOEXEC), dir = open("/", O_RDONLY | O_CLOEXEC);
	char *text = NULL;
	size_t len;

	for (size_t max = 0; max < 3; max++) {
		_cleanup_close_ int fd = fd_sealed_new("file", "ab", 2);
		int r = fd_read_file(fd, max, &text, &len);

		assert_int_equal(r, max < 2 ? -EFBIG : 0);
		if (r == 0)
			free(text);
	}
	assert_int_equal(fd_read_file(zero, 100000, &text, &len), -EFBIG); /* ends, though the file does not */
	assert_int_equal(fd_read_file(dir, 100, &text, &len), -EISDIR);
	assert_int_equal(fd_read_file(-1, 100, &text, &len), -EBADF);
}

/* In a child: the test's own descriptors are to live on. */
static void test_close_from(void **state)
{
	int status, pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		int keep = fcntl(0, F_DUPFD, 100), gone = fcntl(0, F_DUPFD, 101), r = fd_close_from(101);

		_exit(r == 0 && fcntl(keep, F_GETFD) >= 0 && fcntl(gone, F_GETFD) < 0 && errno == EBADF ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void test_close_keeps_errno(void **state)
{
	errno = ENOTTY;
	assert_int_equal(fd_close(-1), -1);
	assert_int_equal(fd_close(1000000), -1);
	assert_int_equal(errno, ENOTTY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sealed),
		cmocka_unit_test(test_sealed_refusals),
		cmocka_unit_test(test_sealed_other_files),
		cmocka_unit_test(test_read_write_full),
		cmocka_unit_test(test_write_would_block),
		cmocka_unit_test(test_read_file),
		cmocka_unit_test(test_read_file_small_bounds),
		cmocka_unit_test(test_close_from),
		cmocka_unit_test(test_close_keeps_errno),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
