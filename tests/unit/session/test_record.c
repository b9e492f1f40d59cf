/* cast and record: what stands in the file, whatever the bytes and however slow the disk. */
#include "daemon/session/record.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/limits.h"
#include "daemon/session/cast.h"
#include "daemon/session/record_mark.h"

#define FFFD "\xef\xbf\xbd"

static const struct {
	const char *in;
	const char *out;
} repairs[] = {
	{ "plain", "plain" },
	{ "\"\\\n\r\t\x1b\x7f\x01", "\\\"\\\\\\n\\r\\t\\u001b\\u007f\\u0001" },
	{ "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z", "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z" },
	{ "\xff|\xc0\xaf|\x80", FFFD "|" FFFD FFFD "|" FFFD },
	{ "\xe2\x82|\xf0\x9f\x98|\xc3|", FFFD "|" FFFD "|" FFFD "|" },
	/* Surrogates, overlong forms, beyond the range: each byte by itself. */
	{ "\xed\xa0\x80", FFFD FFFD FFFD },
	{ "\xe0\x80\x80", FFFD FFFD FFFD },
	{ "\xf0\x80\x80\x80", FFFD FFFD FFFD FFFD },
	{ "\xf4\x90\x80\x80\xf5", FFFD FFFD FFFD FFFD FFFD },
	/* A character that begins where another one was cut off. */
	{ "\xe2\x82\xe2\x82\xac\xf0\xc3\xa9", FFFD "\xe2\x82\xac" FFFD "\xc3\xa9" },
	{ "end\xf0\x9f", "end" FFFD },
};

/* The text of all events in b, without what surrounds it. */
static void text_of(const struct buffer *b, char *ret)
{
	const char *at = b->data, *end = b->data + b->len;

	while (at < end) {
		const char *start = (const char *)memchr(at, '"', (size_t)(end - at)) + 6;
		const char *line = memchr(at, '\n', (size_t)(end - at));

		assert_memory_equal(line - 2, "\"]\n", 3);
		memcpy(ret, start, (size_t)(line - 2 - start));
		ret += line - 2 - start;
		at = line + 1;
	}
	*ret = '\0';
}

/* Whole, and cut in two at every place, and byte by byte. */
static void text_is_repaired(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(repairs); i++) {
		size_t n = strlen(repairs[i].in);

		for (size_t first = 0; first <= n + 1; first++) {
			_cleanup_buffer_ struct buffer b = BUFFER_INIT(1U << 16);
			struct cast_text t = { .n = 0 };
			char got[512];

			if (first <= n) {
				assert_int_equal(cast_append(&b, &t, 1, 'o', repairs[i].in, first), 0);
				assert_int_equal(cast_append(&b, &t, 2, 'o', repairs[i].in + first, n - first), 0);
			}
			for (size_t k = 0; first > n && k < n; k++)
				assert_int_equal(cast_append(&b, &t, k, 'o', repairs[i].in + k, 1), 0);
			assert_int_equal(cast_append_rest(&b, &t, 3, 'o'), 0);
			text_of(&b, got);
			assert_string_equal(got, repairs[i].out);
		}
	}
}

static void lines_have_their_form(void **state)
{
	_cleanup_buffer_ struct buffer b = BUFFER_INIT(1U << 16);
	struct cast_text t = { .n = 0 };
	static const char wanted[] =
		"{\"version\": 2, \"width\": 80, \"height\": 24, \"timestamp\": 1700000000, \"title\": \"t\"}\n"
		"[0.000005, \"o\", \"a\"]\n[12.345678, \"r\", \"132x43\"]\n[13.000000, \"m\", \"x\\\"y\"]\n";

	assert_int_equal(cast_header(&b, 24, 80, 1700000000, "t"), 0);
	assert_int_equal(cast_append(&b, &t, 5, 'o', "a", 1), 0);
	assert_int_equal(cast_append(&b, &t, 6, 'o', "\xe2\x82", 2), 0); /* nothing whole: no line */
	assert_int_equal(cast_resize(&b, 12345678, 43, 132), 0);
	assert_int_equal(cast_marker(&b, 13000000, "x\"y"), 0);
	assert_int_equal(b.len, sizeof(wanted) - 1);
	assert_memory_equal(b.data, wanted, b.len);
	/* No room: nothing of the line, and nothing forgotten. */
	b.max = b.len;
	assert_int_equal(cast_append(&b, &t, 14, 'o', "\xac", 1), -EMSGSIZE);
	assert_int_equal(t.n, 2);
}

struct rig {
	uv_loop_t loop;
	struct record *record;
	int fd; /* to read from */
	bool flushed;
	unsigned told[RECORD_STATE_END];
	int err;
};

static void on_tell(void *data, uint32_t state, int err)
{
	struct rig *r = data;

	assert_in_range(state, 1, RECORD_STATE_END - 1);
	r->told[state]++;
	r->err = err;
}

static void on_flushed(void *data)
{
	((struct rig *)data)->flushed = true;
}

static void open_rig(struct rig *r, int fd, uint64_t max, bool input)
{
	const struct record_options options = { .fd = fd, .max = max, .input = input, .id = "0123", .marker = "first" };

	assert_int_equal(uv_loop_init(&r->loop), 0);
	assert_int_equal(record_open(&r->loop, &options, on_tell, r, &r->record), 0);
}

static void flush(struct rig *r)
{
	r->flushed = false;
	record_flush(r->record, on_flushed, r);
	while (!r->flushed)
		uv_run(&r->loop, UV_RUN_ONCE);
}

static void close_rig(struct rig *r)
{
	record_close(r->record);
	uv_run(&r->loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&r->loop), 0);
}

/* The whole file as text. */
static char *content(int fd)
{
	char *text = NULL;
	size_t n;

	assert_true(lseek(fd, 0, SEEK_SET) == 0);
	assert_int_equal(fd_read_file(fd, 64U << 20, &text, &n), 0);
	return text;
}

static void what_passes_is_kept(void **state)
{
	struct rig r = { .fd = memfd_create("cast", MFD_CLOEXEC) };
	_cleanup_free_ char *text = NULL;
	const char *at;

	open_rig(&r, dup(r.fd), LIMIT_RECORD_BUILT_IN, false);
	record_size(r.record, 43, 132);
	record_output(r.record, "one\xe2", 4);
	record_input(r.record, "typed", 5);
	record_size(r.record, 43, 132); /* as it was */
	record_size(r.record, 0, 0);
	record_size(r.record, 30, 100);
	record_output(r.record, "\x82\xac", 2);
	record_mark_allowed(r.record, "a.example", 443);
	record_mark_status(r.record, SESSION_EXITED, EXIT_KIND_CODE, 3);
	record_output(r.record, "\xf0", 1);
	flush(&r);
	close_rig(&r);
	text = content(r.fd);
	assert_non_null(strstr(text, "\"width\": 132, \"height\": 43"));
	assert_null(strstr(text, "typed"));
	at = strstr(text, "\"m\", \"first\"");
	assert_non_null(at);
	for (size_t i = 0; i < 5; i++) {
		static const char *const order[] = { "\"o\", \"one\"", "\"r\", \"100x30\"", "\"o\", \"\xe2\x82\xac\"",
						     "\"m\", \"allowed a.example:443\"", "\"m\", \"exited with 3\"" };

		at = strstr(at, order[i]);
		assert_non_null(at);
	}
	assert_non_null(strstr(at, FFFD)); /* the rest of what never came */
	fd_close(r.fd);
}

static void the_file_is_bounded(void **state)
{
	struct rig r = { .fd = memfd_create("cast", MFD_CLOEXEC) };
	_cleanup_free_ char *text = NULL, *block = malloc(100000);
	size_t n;

	memset(block, 'x', 100000);
	open_rig(&r, dup(r.fd), 1U << 20, true);
	for (unsigned i = 0; i < 30; i++) {
		record_output(r.record, block, 100000);
		record_input(r.record, "\x01", 1);
		flush(&r);
	}
	record_marker(r.record, "too late");
	close_rig(&r);
	text = content(r.fd);
	n = strlen(text);
	assert_in_range(n, 900000, 1U << 20);
	assert_non_null(strstr(text + n - 100, "cut here, it may have 1048576 bytes\"]\n"));
	assert_int_equal(r.told[RECORD_CUT], 1);
	assert_int_equal(r.told[RECORD_BEHIND] + r.told[RECORD_FAILED], 0);
	fd_close(r.fd);
}

/* A pipe that is read late stands for the disk: nothing waits, and the gap is told where it is. */
static void a_slow_disk_holds_up_nothing(void **state)
{
	_cleanup_buffer_ struct buffer got = BUFFER_INIT(64U << 20);
	_cleanup_free_ char *block = malloc(10000);
	struct rig r = { .fd = -1 };
	int ends[2], rounds = 0;

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	memset(block, 'y', 10000);
	open_rig(&r, ends[1], LIMIT_RECORD, false);
	for (unsigned i = 0; i < 1000; i++) {
		record_output(r.record, block, 10000);
		uv_run(&r.loop, UV_RUN_NOWAIT);
	}
	assert_int_equal(r.told[RECORD_BEHIND], 1);
	flush(&r); /* comes to its end by time */
	fd_set_nonblock(ends[0], true);
	while ((!got.data || !memmem(got.data, got.len, "last", 4)) && rounds++ < 100000) {
		char part[65536];
		ssize_t n = read(ends[0], part, sizeof(part));

		if (n > 0)
			assert_int_equal(buffer_append(&got, part, (size_t)n), 0);
		uv_run(&r.loop, UV_RUN_NOWAIT);
		if (n < 0)
			usleep(1000);
		if (rounds == 50)
			record_marker(r.record, "last");
	}
	close_rig(&r);
	assert_non_null(memmem(got.data, got.len, "the disk was too slow\"]\n", 24));
	assert_true(got.len < 3 * (size_t)LIMIT_RECORD_BUFFER);
	fd_close(ends[0]);
}

static void a_full_disk_ends_it(void **state)
{
	struct rig r = { .fd = open("/dev/full", O_WRONLY | O_CLOEXEC) };

	open_rig(&r, r.fd, LIMIT_RECORD, false);
	record_output(r.record, "x", 1);
	flush(&r);
	record_output(r.record, "y", 1);
	flush(&r);
	assert_int_equal(r.told[RECORD_FAILED], 1);
	assert_int_equal(r.err, ENOSPC);
	close_rig(&r);
}

static void none_is_no_recording(void **state)
{
	struct rig r = { .flushed = false };

	record_output(NULL, "x", 1);
	record_input(NULL, "x", 1);
	record_size(NULL, 1, 1);
	record_marker(NULL, "x");
	record_mark_connection(NULL, &(struct session_connection){ .via = VIA_HTTP });
	record_flush(NULL, on_flushed, &r);
	assert_true(r.flushed);
	record_close(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_is_repaired),
		cmocka_unit_test(lines_have_their_form),
		cmocka_unit_test(what_passes_is_kept),
		cmocka_unit_test(the_file_is_bounded),
		cmocka_unit_test(a_slow_disk_holds_up_nothing),
		cmocka_unit_test(a_full_disk_ends_it),
		cmocka_unit_test(none_is_no_recording),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
