/* What is kept of the audit log, and what a full file still says. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "daemon/control/audit/audit_event.h"
#include "daemon/control/session.h"
#include "server.h"

static bool exists(const struct server *s, const char *id)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s.jsonl", s->dir, id);
	return access(path, F_OK) == 0;
}

/* A file of that uid; open it stays where ret is given, else it ends with that size. */
static void make(struct server *s, uint32_t uid, unsigned number, off_t size, struct audit_file *ret)
{
	_cleanup_buffer_ struct buffer line = BUFFER_INIT(1024);
	char id[ISOD_ID_LEN + 1];
	struct audit_file f;

	snprintf(id, sizeof(id), "%012x", number);
	assert_int_equal(audit_open(&s->control.audit, uid, id, &f), 0);
	assert_int_equal(buffer_printf(&line, "{\"uid\":%u}", uid), 0);
	assert_int_equal(audit_append(&s->control.audit, &f, &line), 0);
	if (ret) {
		*ret = f;
		return;
	}
	f.size = size;
	audit_close_now(&s->control.audit, &f, AUDIT_RECORD_REFUSED);
}

/* As after a restart of isod-control. */
static void reopen(struct server *s)
{
	int dir_fd = openat(s->control.audit.dir_fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);

	assert_true(dir_fd >= 0);
	audit_done(&s->control.audit);
	assert_int_equal(audit_begin(&s->control.audit, &s->loop, dir_fd), 0);
	audit_settle(&s->control.audit);
}

static void test_number_of_files(void **state)
{
	struct server *s = *state;
	struct audit_file live;

	make(s, 1000, 0, 0, &live);
	make(s, 1001, 0xfff, 1, NULL);
	for (unsigned i = 1; i < LIMIT_AUDIT_FILES; i++)
		make(s, 1000, i, 1, NULL);
	assert_true(exists(s, "000000000001"));
	make(s, 1000, LIMIT_AUDIT_FILES, 1, NULL);
	assert_false(exists(s, "000000000001"));
	assert_true(exists(s, "000000000002"));
	/* Neither a live one nor those of others. */
	assert_true(exists(s, "000000000000"));
	assert_true(exists(s, "000000000fff"));
	audit_close_now(&s->control.audit, &live, AUDIT_RECORD_REFUSED);
	/* As after a restart: the same files are known again, in the order of their ends. */
	reopen(s);
	make(s, 1001, 0xffe, 1, NULL);
	assert_true(exists(s, "000000000002"));
	make(s, 1000, 0xffd, 1, NULL);
	assert_false(exists(s, "000000000002"));
	assert_true(exists(s, "000000000003"));
	assert_true(exists(s, "000000000fff"));
}

static void test_bytes(void **state)
{
	struct server *s = *state;

	make(s, 1000, 1, 200 << 20, NULL);
	make(s, 1001, 2, 200 << 20, NULL);
	make(s, 1000, 3, 50 << 20, NULL);
	assert_true(exists(s, "000000000001"));
	make(s, 1000, 4, 50 << 20, NULL);
	assert_false(exists(s, "000000000001"));
	assert_true(exists(s, "000000000002") && exists(s, "000000000003") && exists(s, "000000000004"));
}

/* The connections behind the last that had room are counted; the end is written in any case. */
static void test_full_file(void **state)
{
	struct server *s = *state;
	char id[ISOD_ID_LEN + 1];
	_cleanup_close_ int client = -1, helper = server_start_session(s, 1000, "", &client, id), fd = -1;
	struct session *session = registry_find_id(&s->control.registry, id);
	struct session_connection m = { .type = SESSION_CONNECTION, .via = VIA_HTTP, .rule = UINT32_MAX, .count = 5 };
	struct session_status end = { .type = SESSION_EXITED, .kind = EXIT_KIND_CODE };
	char text[4096] = "";

	session->audit.size = LIMIT_AUDIT_FILE;
	for (int i = 0; i < 2; i++)
		assert_int_equal(send(helper, &m, sizeof(m), MSG_NOSIGNAL), sizeof(m));
	assert_int_equal(send(helper, &end, sizeof(end), MSG_NOSIGNAL), sizeof(end));
	{
		struct json_document doc = server_reply(s, client);

		json_document_done(&doc);
	}
	fd = audit_open_for_reading(s->control.audit.dir_fd, id);
	assert_true(fd >= 0 && read(fd, text, sizeof(text) - 1) > 0);
	assert_null(strstr(text, "\"connection\""));
	assert_non_null(strstr(text, "\"count\":10,\"reason\":\"the audit file of the session is full\""));
	assert_non_null(strstr(text, "\"session.exit\""));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_number_of_files, server_setup, server_teardown),
		cmocka_unit_test_setup_teardown(test_bytes, server_setup, server_teardown),
		cmocka_unit_test_setup_teardown(test_full_file, server_setup, server_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
