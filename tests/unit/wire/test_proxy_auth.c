/* The password of the upstream proxy: whose file is taken, and what is sent of it. Needs root, whose file it must be.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "daemon/wire/proxy_auth.h"

static char folder[] = "/tmp/proxy-auth-XXXXXX";
static int folder_fd;

static void put(const char *text, mode_t mode)
{
	int fd;

	unlinkat(folder_fd, "auth", 0);
	fd = openat(folder_fd, "auth", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

static int take(const char *name, char line[LIMIT_PROXY_AUTH + 1], const char *message)
{
	struct error e = ERROR_INIT;
	int r = proxy_auth_read(folder_fd, name, line, &e);

	if (r < 0 && (!message || !strstr(e.message, message) || strstr(e.message, "s3cret")))
		fail_msg("%s | %s", e.message, e.remedy);
	return r;
}

static void lines(void **state)
{
	static const char *const good[] = { "me:s3cret", "me:s3cret\n", "me:s3cret\r\n", "me:\n", "me:a:b c\n" };
	static const char *const bad[] = {
		"", "\n", ":s3cret\n", "s3cret\n", "me:s3cret\nX: y\n", "me:s3\tcret\n", "me:s\x7f\n"
	};
	char line[LIMIT_PROXY_AUTH + 1], text[LIMIT_PROXY_AUTH + 3];

	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		put(good[i], 0600);
		assert_int_equal(take("auth", line, NULL), 0);
		assert_int_equal(strlen(line), strcspn(good[i], "\r\n"));
		assert_memory_equal(line, good[i], strlen(line));
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		put(bad[i], 0600);
		assert_int_equal(take("auth", line, "one line"), -EINVAL);
	}
	memset(text, 'x', sizeof(text));
	text[1] = ':';
	text[LIMIT_PROXY_AUTH] = '\n';
	text[LIMIT_PROXY_AUTH + 1] = '\0';
	put(text, 0400);
	assert_int_equal(take("auth", line, NULL), 0);
	text[LIMIT_PROXY_AUTH] = 'x';
	put(text, 0400);
	assert_int_equal(take("auth", line, "one line"), -EINVAL);
}

static void whose(void **state)
{
	static const mode_t open_modes[] = { 0640, 0604, 0620, 0602, 0610 };
	char line[LIMIT_PROXY_AUTH + 1];

	for (size_t i = 0; i < ARRAY_SIZE(open_modes); i++) {
		put("me:s3cret\n", open_modes[i]);
		assert_int_equal(take("auth", line, "others than root"), -EPERM);
	}
	put("me:s3cret\n", 0600);
	assert_int_equal(fchownat(folder_fd, "auth", 1, 0, 0), 0);
	assert_int_equal(take("auth", line, "others than root"), -EPERM);
	put("me:s3cret\n", 0600);
	assert_int_equal(symlinkat("auth", folder_fd, "link"), 0);
	assert_int_equal(take("link", line, "is a link"), -ELOOP);
	assert_int_equal(mkfifoat(folder_fd, "fifo", 0600), 0);
	assert_int_equal(take("fifo", line, "regular file"), -EINVAL);
	assert_int_equal(take("none", line, "not there"), -ENOENT);
	assert_int_equal(take("../auth", line, "a name"), -EINVAL);
	assert_int_equal(take(".auth", line, "a name"), -EINVAL);
	assert_int_equal(take("", line, "a name"), -EINVAL);
}

static void values(void **state)
{
	static const struct {
		const char *line, *value;
	} cases[] = {
		{ "a:", "Basic YTo=" },
		{ "a:b", "Basic YTpi" },
		{ "a:bc", "Basic YTpiYw==" },
		{ "Aladdin:open sesame", "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==" },
		{ "\xc3\xbc:\xff\xfe", "Basic w7w6//4=" },
	};
	char longest[LIMIT_PROXY_AUTH], value[PROXY_AUTH_VALUE_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(proxy_auth_value(cases[i].line, strlen(cases[i].line), value), 0);
		assert_string_equal(value, cases[i].value);
	}
	assert_int_equal(proxy_auth_value("abc", 3, value), -EINVAL);
	assert_int_equal(proxy_auth_value("", 0, value), -EINVAL);
	assert_int_equal(proxy_auth_value("a:\r\nb", 5, value), -EINVAL);
	memset(longest, ':', sizeof(longest));
	longest[0] = 'a';
	assert_int_equal(proxy_auth_value(longest, sizeof(longest), value), 0);
	assert_int_equal(strlen(value), 6 + (LIMIT_PROXY_AUTH + 2) / 3 * 4);
}

static int setup(void **state)
{
	assert_non_null(mkdtemp(folder));
	folder_fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return folder_fd < 0;
}

static int teardown(void **state)
{
	static const char *const names[] = { "auth", "link", "fifo" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		unlinkat(folder_fd, names[i], 0);
	close(folder_fd);
	return rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines),
		cmocka_unit_test(whose),
		cmocka_unit_test(values),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
