/* Certificates for the upstream proxy: whose file is taken. Needs root, whose file it must be. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "daemon/wire/proxy_ca.h"

#define BEGIN "-----BEGIN CERTIFICATE-----\n"

static char folder[] = "/tmp/proxy-ca-XXXXXX";
static int folder_fd;

static void put(const char *text, size_t len, mode_t mode)
{
	int fd;

	unlinkat(folder_fd, "ca", 0);
	fd = openat(folder_fd, "ca", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, len), len);
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

static void refused(const char *name, int err, const char *message)
{
	struct error e = ERROR_INIT;
	char *text = NULL;
	size_t len;

	assert_int_equal(proxy_ca_read(folder_fd, name, &text, &len, &e), -err);
	assert_null(text);
	assert_non_null(strstr(e.message, message));
}

static void content(void **state)
{
	static char large[LIMIT_PROXY_CA + 1];
	struct error e = ERROR_INIT;
	char *text;
	size_t len;

	put("first\n" BEGIN, sizeof("first\n" BEGIN) - 1, 0644);
	assert_int_equal(proxy_ca_read(folder_fd, "ca", &text, &len, &e), 0);
	assert_int_equal(len, sizeof("first\n" BEGIN) - 1);
	assert_string_equal(text, "first\n" BEGIN);
	free(text);
	memset(large, '\n', sizeof(large));
	memcpy(large, BEGIN, sizeof(BEGIN) - 1);
	put(large, LIMIT_PROXY_CA, 0444);
	assert_int_equal(proxy_ca_read(folder_fd, "ca", &text, &len, &e), 0);
	assert_int_equal(len, LIMIT_PROXY_CA);
	free(text);
	put(large, sizeof(large), 0644);
	refused("ca", EFBIG, "cannot be read");
	put("", 0, 0644);
	refused("ca", EINVAL, "has none in it");
	put("-----BEGIN PRIVATE KEY-----\n", 28, 0644);
	refused("ca", EINVAL, "has none in it");
}

static void whose_file(void **state)
{
	static const mode_t modes[] = { 0664, 0646, 0622 };

	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		put(BEGIN, sizeof(BEGIN) - 1, modes[i]);
		refused("ca", EPERM, "by others than root");
	}
	put(BEGIN, sizeof(BEGIN) - 1, 0644);
	assert_int_equal(fchownat(folder_fd, "ca", 1, 0, 0), 0);
	refused("ca", EPERM, "by others than root");
	assert_int_equal(symlinkat("ca", folder_fd, "link"), 0);
	refused("link", ELOOP, "is a link");
	assert_int_equal(mkdirat(folder_fd, "folder", 0700), 0);
	refused("folder", EINVAL, "is no regular file");
	/* Nobody writes into it: opening must not wait for one. */
	assert_int_equal(mkfifoat(folder_fd, "pipe", 0600), 0);
	refused("pipe", EINVAL, "is no regular file");
	refused("none", ENOENT, "is not there");
	refused("../ca", EINVAL, "a name that is none");
	refused("", EINVAL, "a name that is none");
}

static int make_folder(void **state)
{
	if (!mkdtemp(folder))
		return -1;
	folder_fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return folder_fd < 0 ? -1 : 0;
}

static int remove_folder(void **state)
{
	static const char *const files[] = { "ca", "link", "pipe" };

	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		unlinkat(folder_fd, files[i], 0);
	unlinkat(folder_fd, "folder", AT_REMOVEDIR);
	return rmdir(folder);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(content),
		cmocka_unit_test(whose_file),
	};

	if (geteuid() != 0)
		return 77;
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
