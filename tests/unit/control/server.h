#ifndef TEST_CONTROL_SERVER_H
#define TEST_CONTROL_SERVER_H
/*
 * A whole isod-control in this process, with the test in the place of isod, of the client and of isod-session.
 * Everything is driven from the test: the loop runs only while something is waited for.
 */
#include <uv.h>

#include "daemon/control/control.h"
#include "daemon/wire/control_wire.h"
#include "daemon/wire/session_wire.h"
#include "json/value.h"

struct server {
	uv_loop_t loop;
	struct control control;
	int isod;     /* the test's end of the channel */
	char dir[64]; /* audit folder */
	char config[64];
	uint64_t connections;
};

int server_setup(void **state);
int server_teardown(void **state);

/* A client of that uid; the descriptor is its end. isod has introduced it. */
int server_connect(struct server *s, uint32_t uid);
void server_send(struct server *s, int client, const char *text, size_t len, const int *fds, size_t n_fds);
/* text is one message without its NUL. */
void server_call(struct server *s, int client, const char *text, const int *fds, size_t n_fds);
/* The next reply; fails the test if none comes. End of file: an empty document (root NULL). */
struct json_document server_reply(struct server *s, int client);
/* The client's connection was closed by the other end. */
void server_expect_closed(struct server *s, int client);
/* Lets the loop do what it can do now. */
void server_turn(struct server *s);

/* The next message to isod; fds has room for FD_PASS_MAX. */
struct control_message server_isod_receive(struct server *s, int *fds, size_t *n_fds);
/* The same, of this type and without descriptors; others are passed over. */
struct control_message server_isod_expect(struct server *s, uint32_t type);
void server_isod_send(struct server *s, const struct control_message *m, int fd);

/* Runs argv {"true"} for uid as far as started; returns the session's end of the helper channel, *ret_client, id. */
int server_start_session(struct server *s, uint32_t uid, const char *more, int *ret_client,
			 char ret_id[ISOD_ID_LEN + 1]);
/* The reply is this error, with a sentence. */
void server_expect_error(struct server *s, int client, const char *name);
/* A Run call; more: further members, beginning with a comma. */
#define SERVER_RUN(more)                                                                                               \
	"{\"method\":\"org.isod.Run\",\"more\":true,\"parameters\":{\"argv\":[\"true\"],\"cwd\":\"/srv/project\","     \
	"\"env\":[],\"named\":[],\"policies\":[]" more "}}"

/* The text of the member, which must be there. */
const char *text_at(const struct json_value *v, const char *a, const char *b);

#endif
