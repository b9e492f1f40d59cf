#include "server.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fd.h"
#include "base/fd_pass.h"
#include "base/log.h"

/* Milliseconds that anything may take, sanitizers on a loaded machine included. */
#define PATIENCE 20000

static void remove_folder(const char *path)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf -- '%s'", path);
	assert_int_equal(system(command), 0);
}

int server_setup(void **state)
{
	struct server *s = calloc(1, sizeof(*s));
	struct control_message hello = { .type = CONTROL_HELLO };
	int pair[2], audit, config;

	assert_non_null(s);
	log_open("test", LOG_LEVEL_ERROR);
	strcpy(s->dir, "/tmp/isod-control-audit.XXXXXX");
	strcpy(s->config, "/tmp/isod-control-config.XXXXXX");
	assert_non_null(mkdtemp(s->dir));
	assert_non_null(mkdtemp(s->config));
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
	audit = open(s->dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	config = open(s->config, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(audit >= 0 && config >= 0);
	assert_int_equal(uv_loop_init(&s->loop), 0);
	assert_int_equal(control_open(&s->control, &s->loop, pair[0], audit, config), 0);
	s->isod = pair[1];
	server_isod_send(s, &hello, -1);
	server_turn(s);
	*state = s;
	return 0;
}

int server_teardown(void **state)
{
	struct server *s = *state;

	control_close(&s->control);
	uv_run(&s->loop, UV_RUN_DEFAULT);
	control_done(&s->control);
	assert_int_equal(uv_loop_close(&s->loop), 0);
	close(s->isod);
	remove_folder(s->dir);
	remove_folder(s->config);
	free(s);
	return 0;
}

void server_turn(struct server *s)
{
	for (int i = 0; i < 20; i++)
		uv_run(&s->loop, UV_RUN_NOWAIT);
}

/* Runs the loop until fd can be read. */
static void wait_for(struct server *s, int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	for (int i = 0; i < PATIENCE; i++) {
		uv_run(&s->loop, UV_RUN_NOWAIT);
		if (poll(&p, 1, 1) > 0)
			return;
	}
	fail_msg("nothing came within %d ms", PATIENCE);
}

int server_connect(struct server *s, uint32_t uid)
{
	struct control_message m = {
		.type = CONTROL_PEER, .connection = ++s->connections, .uid = uid, .gid = uid, .pid = 4242
	};
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
	server_isod_send(s, &m, pair[0]);
	close(pair[0]);
	server_turn(s);
	return pair[1];
}

void server_send(struct server *s, int client, const char *text, size_t len, const int *fds, size_t n_fds)
{
	while (len > 0) {
		ssize_t n = fd_pass_send(client, text, len, fds, n_fds);

		if (n == -EAGAIN) {
			server_turn(s);
			continue;
		}
		/* The other end may have had enough already. */
		if (n < 0)
			return;
		text += n;
		len -= (size_t)n;
		n_fds = 0;
	}
}

void server_call(struct server *s, int client, const char *text, const int *fds, size_t n_fds)
{
	server_send(s, client, text, strlen(text) + 1, fds, n_fds);
}

struct json_document server_reply(struct server *s, int client)
{
	struct json_document doc = JSON_DOCUMENT_INIT;
	static char text[8 << 20];
	size_t len = 0;
	const char *end = NULL;

	/* No further than to its end: another one may follow. */
	while (!end && len < sizeof(text)) {
		ssize_t n;

		wait_for(s, client);
		n = recv(client, text + len, sizeof(text) - len, MSG_PEEK);
		end = n > 0 ? memchr(text + len, '\0', (size_t)n) : NULL;
		if (end)
			n = end + 1 - (text + len);
		if (n <= 0 || read(client, text + len, (size_t)n) != n)
			return doc;
		len += (size_t)n;
	}
	assert_int_equal(json_read(text, len - 1, 0, &doc, NULL), 0);
	return doc;
}

void server_expect_error(struct server *s, int client, const char *name)
{
	_cleanup_json_ struct json_document doc = server_reply(s, client);

	assert_non_null(doc.root);
	assert_string_equal(text_at(doc.root, "error", NULL), name);
	/* Every error of ours has a sentence. */
	if (strncmp(name, "org.isod.", 9) == 0)
		assert_true(strlen(text_at(doc.root, "parameters", "message")) > 20);
}

void server_expect_closed(struct server *s, int client)
{
	char byte;

	do
		wait_for(s, client);
	while (read(client, &byte, 1) == 1);
}

struct control_message server_isod_receive(struct server *s, int *fds, size_t *n_fds)
{
	struct control_message m;

	wait_for(s, s->isod);
	*n_fds = FD_PASS_MAX;
	assert_int_equal(fd_pass_receive(s->isod, &m, sizeof(m), fds, n_fds), sizeof(m));
	return m;
}

struct control_message server_isod_expect(struct server *s, uint32_t type)
{
	for (;;) {
		int fds[FD_PASS_MAX];
		size_t n_fds;
		struct control_message m = server_isod_receive(s, fds, &n_fds);

		while (n_fds > 0)
			close(fds[--n_fds]);
		if (m.type == type)
			return m;
	}
}

void server_isod_send(struct server *s, const struct control_message *m, int fd)
{
	assert_true(fd_pass_send(s->isod, m, sizeof(*m), &fd, fd >= 0) > 0);
}

int server_start_session(struct server *s, uint32_t uid, const char *more, int *ret_client,
			 char ret_id[ISOD_ID_LEN + 1])
{
	struct control_message started = { .type = CONTROL_SESSION_STARTED }, m;
	char call[2048];
	int fds[3], pair[2];
	struct json_document doc;

	*ret_client = server_connect(s, uid);
	for (int i = 0; i < 3; i++)
		assert_true((fds[i] = open("/dev/null", O_RDWR | O_CLOEXEC)) >= 0);
	snprintf(call, sizeof(call),
		 "{\"method\":\"org.isod.Run\",\"more\":true,\"parameters\":{\"argv\":[\"true\",\"a\\nb\"],"
		 "\"cwd\":\"/srv/project\",\"env\":[],\"named\":[],\"policies\":[]%s}}",
		 more);
	server_call(s, *ret_client, call, fds, 3);
	for (int i = 0; i < 3; i++)
		close(fds[i]);
	m = server_isod_expect(s, CONTROL_START);
	assert_int_equal(m.uid, uid);
	memcpy(ret_id, m.id, ISOD_ID_LEN + 1);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	memcpy(started.id, m.id, sizeof(started.id));
	server_isod_send(s, &started, pair[0]);
	close(pair[0]);
	doc = server_reply(s, *ret_client);
	assert_non_null(doc.root);
	assert_string_equal(text_at(doc.root, "parameters", "event"), "started");
	json_document_done(&doc);
	return pair[1];
}

const char *text_at(const struct json_value *v, const char *a, const char *b)
{
	v = json_get(v, a);
	if (b)
		v = json_get(v, b);
	assert_non_null(v);
	assert_int_equal(v->type, JSON_STRING);
	return v->string.data;
}
