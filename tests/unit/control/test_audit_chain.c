/* The chain of the audit log: whatever is done to a file is found, and a file that a crash has left goes on. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/log.h"
#include "daemon/control/audit/audit.h"
#include "daemon/control/audit/audit_verify.h"

#define LINES 5
#define ID "0123456789ab"

struct log {
	uv_loop_t loop;
	struct audit audit;
	struct audit_file file;
	char dir[64];
};

static int dir_open(const struct log *l)
{
	int fd = open(l->dir, O_PATH | O_DIRECTORY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static int setup(void **state)
{
	struct log *l = calloc(1, sizeof(*l));

	assert_non_null(l);
	log_open("test", 0);
	strcpy(l->dir, "/tmp/isod-audit-chain.XXXXXX");
	assert_non_null(mkdtemp(l->dir));
	assert_int_equal(uv_loop_init(&l->loop), 0);
	assert_int_equal(audit_begin(&l->audit, &l->loop, dir_open(l)), 0);
	*state = l;
	return 0;
}

/* As a kill -9 would: nothing is told to anybody, what was written stays. */
static void crash(struct log *l)
{
	buffer_done(&l->file.pending);
	l->file.fd = fd_close(l->file.fd);
	audit_done(&l->audit);
}

static void restart(struct log *l)
{
	assert_int_equal(audit_begin(&l->audit, &l->loop, dir_open(l)), 0);
}

static int teardown(void **state)
{
	struct log *l = *state;
	char command[128];

	crash(l);
	uv_run(&l->loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&l->loop), 0);
	snprintf(command, sizeof(command), "rm -rf -- '%s'", l->dir);
	assert_int_equal(system(command), 0);
	free(l);
	return 0;
}

static void add_line(struct log *l, unsigned n)
{
	_cleanup_buffer_ struct buffer line = BUFFER_INIT(1024);

	assert_int_equal(buffer_printf(&line, "{\"time\":\"2026-01-01T00:00:00.000Z\",\"n\":%u}", n), 0);
	assert_int_equal(audit_append(&l->audit, &l->file, &line), 0);
}

/* One that has ended, with LINES lines; its text. */
static size_t make_closed(struct log *l, char **ret)
{
	int fd;
	size_t len;

	assert_int_equal(audit_open(&l->audit, 1000, ID, &l->file), 0);
	l->file.place = audit_live_take(&l->audit.live, ID);
	for (unsigned i = 0; i < LINES; i++)
		add_line(l, i);
	audit_close(&l->audit, &l->file);
	uv_run(&l->loop, UV_RUN_DEFAULT);
	fd = audit_open_for_reading(l->audit.dir_fd, ID);
	assert_int_equal(fd_read_file(fd, 1 << 20, ret, &len), 0);
	fd_close(fd);
	return len;
}

static void replace(const struct log *l, const char *name, const char *text, size_t len)
{
	_cleanup_close_ int fd = openat(l->audit.dir_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(fd_write_full(fd, text, len), 0);
}

/* The first finding about all that there is; "" where there is none. */
static const char *verify(const struct log *l)
{
	const struct audit_index *ix = &l->audit.index;
	struct audit_verify v = { .dir_fd = openat(ix->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC),
				  .index_fd = fcntl(ix->fd, F_DUPFD_CLOEXEC, 3),
				  .count = ix->count,
				  .number = ix->number,
				  .strangers = true };
	const char *state;

	memcpy(v.head, ix->head, sizeof(v.head));
	v.subjects = calloc(ix->n_entries + 1, sizeof(*v.subjects));
	for (size_t i = 0; i < ix->n_entries; i++) {
		if (ix->entries[i].flags & AUDIT_ENTRY_REMOVED)
			continue;
		audit_index_id(&ix->entries[i], v.subjects[v.n_subjects].id);
		v.subjects[v.n_subjects++].place = ix->entries[i].place;
	}
	audit_verify_run(&v);
	assert_int_equal(v.error, 0);
	state = v.n_findings > 0 ? v.findings[0].state : "";
	audit_verify_done(&v);
	return state;
}

static void test_every_byte_and_every_cut(void **state)
{
	struct log *l = *state;
	_cleanup_free_ char *text = NULL;
	size_t len = make_closed(l, &text);

	assert_string_equal(verify(l), "");
	for (size_t i = 0; i < len; i++) {
		text[i] ^= 1;
		replace(l, ID AUDIT_SUFFIX, text, len);
		assert_string_not_equal(verify(l), "");
		text[i] ^= 1;
	}
	for (size_t i = 0; i < len; i++) {
		replace(l, ID AUDIT_SUFFIX, text, i);
		assert_string_equal(verify(l), "cut");
	}
	replace(l, ID AUDIT_SUFFIX, text, len);
	assert_string_equal(verify(l), "");
}

static void test_lines_moved(void **state)
{
	struct log *l = *state;
	_cleanup_free_ char *text = NULL;
	size_t len = make_closed(l, &text), begin[LINES + 1] = { 0 };

	for (size_t i = 0, n = 0; i < len; i++)
		if (text[i] == '\n')
			begin[++n] = i + 1;
	for (size_t a = 0; a < LINES; a++) {
		char changed[8192];
		size_t n = begin[a], size = begin[a + 1] - begin[a];

		memcpy(changed, text, n);
		/* Without line a. */
		memcpy(changed + n, text + begin[a + 1], len - begin[a + 1]);
		replace(l, ID AUDIT_SUFFIX, changed, len - size);
		assert_string_equal(verify(l), "cut");
		/* Twice. */
		memcpy(changed, text, begin[a + 1]);
		memcpy(changed + begin[a + 1], text + begin[a], len - begin[a]);
		replace(l, ID AUDIT_SUFFIX, changed, len + size);
		assert_string_equal(verify(l), "reordered");
		/* Behind the next. */
		if (a + 1 == LINES)
			break;
		n = begin[a + 2] - begin[a + 1];
		memcpy(changed, text, len);
		memcpy(changed + begin[a], text + begin[a + 1], n);
		memcpy(changed + begin[a] + n, text + begin[a], size);
		replace(l, ID AUDIT_SUFFIX, changed, len);
		assert_string_equal(verify(l), "reordered");
	}
}

/* Nothing but the index says that there was a file, or that there was none. */
static void test_whole_files(void **state)
{
	struct log *l = *state;
	_cleanup_free_ char *text = NULL;
	size_t len = make_closed(l, &text);
	struct audit_file other;
	_cleanup_buffer_ struct buffer line = BUFFER_INIT(1024);

	assert_int_equal(audit_remove(l->audit.dir_fd, ID), 0);
	assert_string_equal(verify(l), "missing");
	replace(l, ID AUDIT_SUFFIX, text, len);
	replace(l, "ffffffffffff.jsonl", text, len);
	assert_string_equal(verify(l), "unknown");
	assert_int_equal(audit_remove(l->audit.dir_fd, "ffffffffffff"), 0);
	/* The same lines do not fit another session's place. */
	assert_int_equal(audit_open(&l->audit, 1000, "00000000000a", &other), 0);
	assert_int_equal(buffer_append_string(&line, "{\"n\":0}"), 0);
	assert_int_equal(audit_append(&l->audit, &other, &line), 0);
	audit_close_now(&l->audit, &other, AUDIT_RECORD_REFUSED);
	assert_string_equal(verify(l), "");
	replace(l, "00000000000a.jsonl", text, len);
	assert_string_equal(verify(l), "edited");
}

/* Wherever a crash stops the writing of a line, the next run goes on, and nothing looks forged. */
static void test_resume_at_every_cut(void **state)
{
	struct log *l = *state;
	_cleanup_free_ char *text = NULL;
	struct stat st;
	size_t len, last;

	assert_int_equal(audit_open(&l->audit, 1000, ID, &l->file), 0);
	for (unsigned i = 0; i < LINES; i++)
		add_line(l, i);
	assert_int_equal(fstat(l->file.fd, &st), 0);
	len = (size_t)st.st_size;
	text = calloc(1, len);
	last = len / LINES * (LINES - 1);
	{
		_cleanup_close_ int fd = audit_open_for_reading(l->audit.dir_fd, ID);

		assert_int_equal(fd_read_full(fd, text, len), len);
	}
	for (size_t cut = last; cut <= len; cut++) {
		/* Each time as it was before the first restart. */
		assert_int_equal(unlinkat(l->audit.dir_fd, "live", 0), 0);
		crash(l);
		restart(l);
		replace(l, ID AUDIT_SUFFIX, text, cut);
		assert_int_equal(audit_resume(&l->audit, 1000, ID, &l->file), 0);
		assert_int_equal(l->file.record_flags, AUDIT_RECORD_RECOVERED);
		/* Those before, and the one that tells of it. */
		assert_int_equal(l->file.written.seq, (cut == len ? LINES : LINES - 1) + 1);
	}
	add_line(l, 99);
	audit_close(&l->audit, &l->file);
	uv_run(&l->loop, UV_RUN_DEFAULT);
	assert_string_equal(verify(l), "");
}

/* What the heads kept apart know cannot be cut off before the next start. */
static void test_cut_after_a_crash(void **state)
{
	struct log *l = *state;
	struct stat st;

	assert_int_equal(audit_open(&l->audit, 1000, ID, &l->file), 0);
	l->file.place = audit_live_take(&l->audit.live, ID);
	for (unsigned i = 0; i < LINES; i++)
		add_line(l, i);
	assert_int_equal(fstat(l->file.fd, &st), 0);
	crash(l);
	{
		char path[128];

		snprintf(path, sizeof(path), "%s/" ID AUDIT_SUFFIX, l->dir);
		assert_int_equal(truncate(path, st.st_size / LINES * 3), 0);
	}
	restart(l);
	audit_settle(&l->audit);
	uv_run(&l->loop, UV_RUN_DEFAULT);
	assert_string_equal(verify(l), "cut");
}

static void test_index_at_every_byte(void **state)
{
	struct log *l = *state;
	_cleanup_free_ char *text = NULL, *index = NULL;
	size_t size;

	make_closed(l, &text);
	assert_int_equal(fd_read_file(l->audit.index.fd, 1 << 20, &index, &size), 0);
	assert_int_equal(size, 4 * AUDIT_RECORD_SIZE);
	for (size_t i = 0; i < size; i += 3) {
		index[i] ^= 4;
		replace(l, "index.00000001", index, size);
		assert_string_equal(verify(l), "index");
		index[i] ^= 4;
	}
	/* Half a record is what a crash leaves; a whole one less is what somebody has taken away. */
	for (size_t cut = 1; cut < AUDIT_RECORD_SIZE; cut += 51) {
		crash(l);
		{
			char path[128];
			_cleanup_close_ int fd = -1;

			snprintf(path, sizeof(path), "%s/index.00000001", l->dir);
			fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
			assert_int_equal(fd_write_full(fd, index, size), 0);
			assert_int_equal(fd_write_full(fd, index, cut), 0);
		}
		restart(l);
		assert_false(l->audit.index.broken);
		assert_string_equal(verify(l), "");
	}
}

static void test_compaction(void **state)
{
	struct log *l = *state;
	_cleanup_free_ char *text = NULL;
	struct audit_record r = { .kind = AUDIT_RECORD_CLOSE, .uid = 1000 };
	uint64_t number;

	make_closed(l, &text);
	for (unsigned i = 0; i < 3000; i++) {
		snprintf(r.id, sizeof(r.id), "%012x", i);
		r.kind = AUDIT_RECORD_CLOSE;
		assert_int_equal(audit_index_add(&l->audit.index, &r), 0);
		r.kind = AUDIT_RECORD_REMOVED;
		assert_int_equal(audit_index_add(&l->audit.index, &r), 0);
	}
	number = l->audit.index.number;
	audit_index_compact_if_due(&l->audit.index);
	assert_int_equal(l->audit.index.count, 3);
	assert_int_equal(l->audit.index.generation, 2);
	assert_int_equal(l->audit.index.number, number + 3);
	assert_string_equal(verify(l), "");
	/* A copy that was not completed counts for nothing. */
	{
		_cleanup_free_ char *index = NULL;
		size_t size;

		assert_int_equal(lseek(l->audit.index.fd, 0, SEEK_SET), 0);
		assert_int_equal(fd_read_file(l->audit.index.fd, 1 << 20, &index, &size), 0);
		replace(l, "index.00000003", index, 2 * (size_t)AUDIT_RECORD_SIZE);
	}
	crash(l);
	restart(l);
	assert_int_equal(l->audit.index.generation, 2);
	assert_int_equal(faccessat(l->audit.dir_fd, "index.00000003", F_OK, 0), -1);
	assert_string_equal(verify(l), "");
	assert_non_null(audit_index_find(&l->audit.index, ID));
	assert_null(audit_index_find(&l->audit.index, "000000000007"));
}

static void test_marks(void **state)
{
	uint8_t marks[AUDIT_MARKS_SIZE] = { 0 };
	unsigned wrong = 0;

	audit_marks_add(marks, "evil.example");
	audit_marks_add_program(marks, "/usr/bin/curl");
	assert_true(audit_marks_may_have(marks, "evil.example") && audit_marks_may_have(marks, "curl"));
	assert_true(audit_marks_may_have(marks, "/usr/bin/curl"));
	for (unsigned i = 0; i < 1000; i++) {
		char word[32];

		snprintf(word, sizeof(word), "host%u.example", i);
		wrong += audit_marks_may_have(marks, word);
	}
	assert_in_range(wrong, 0, 20);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_every_byte_and_every_cut, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lines_moved, setup, teardown),
		cmocka_unit_test_setup_teardown(test_whole_files, setup, teardown),
		cmocka_unit_test_setup_teardown(test_resume_at_every_cut, setup, teardown),
		cmocka_unit_test_setup_teardown(test_cut_after_a_crash, setup, teardown),
		cmocka_unit_test_setup_teardown(test_index_at_every_byte, setup, teardown),
		cmocka_unit_test_setup_teardown(test_compaction, setup, teardown),
		cmocka_unit_test(test_marks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
