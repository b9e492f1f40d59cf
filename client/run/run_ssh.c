#include "client/run/run_ssh.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "json/write.h"
#include "sshagent/ssh_crypto.h"
#include "sshagent/ssh_known_hosts.h"
#include "sshagent/ssh_public_key.h"

/* Tens of thousands of hosts. */
#define KNOWN_HOSTS_MAX (8U << 20)

static int connect_agent(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	const char *path = getenv("SSH_AUTH_SOCK");
	_cleanup_close_ int fd = -1;

	if (!path || !*path || strlen(path) >= sizeof(address.sun_path))
		return -1;
	memcpy(address.sun_path, path, strlen(path));
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return -1;
	return take_fd(&fd);
}

/* "TYPE BASE64" of what stands behind the hosts; 0 where it is no key of a known kind. */
static size_t key_length(struct ssh_span key)
{
	const char *text = (const char *)key.data;
	uint8_t bytes[LIMIT_SSH_KEY];
	size_t len, n = 0;

	if (ssh_public_key_parse(text, key.len, bytes, sizeof(bytes), &len) < 0)
		return 0;
	n += strcspn(text, " \t");
	n += strspn(text + n, " \t");
	return n + strcspn(text + n, " \t\r\n");
}

static bool has_line(const struct buffer *b, const char *text, size_t len)
{
	for (size_t at = 0; at < b->len;) {
		const char *end = memchr(b->data + at, '\n', b->len - at);
		size_t n = (size_t)(end - b->data) - at;

		if (n == len && memcmp(b->data + at, text, n) == 0)
			return true;
		at += n + 1;
	}
	return false;
}

/* All keys of one kind: those that count, or those that are revoked. */
static int collect(const char *text, const char *name, enum ssh_known wanted, const struct buffer *without,
		   struct buffer *ret)
{
	for (const char *line = text; *line;) {
		size_t len = strcspn(line, "\n"), n;
		struct ssh_span key;

		if (ssh_known_hosts_match(line, len, name, ssh_hmac_sha1, &key) == wanted) {
			const char *at = (const char *)key.data;

			n = key_length(key);
			if (n > 0 && !has_line(ret, at, n) && !(without && has_line(without, at, n)) &&
			    (buffer_append(ret, at, n) < 0 || buffer_append(ret, "\n", 1) < 0))
				return -ENOMEM;
		}
		line += len + (line[len] == '\n');
	}
	return 0;
}

int run_ssh_host_keys(const char *const *paths, size_t n, const char *host, struct buffer *ret)
{
	_cleanup_buffer_ struct buffer revoked = BUFFER_INIT(KNOWN_HOSTS_MAX);
	char name[300];
	int r = 0;

	if (!ssh_known_hosts_name(host, name, sizeof(name)))
		return 0;
	/* First what is revoked, in whatever file. */
	for (size_t i = 0; r == 0 && i < 2 * n; i++) {
		_cleanup_close_ int fd = open(paths[i % n], O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
		_cleanup_free_ char *text = NULL;
		size_t len;

		if (fd < 0 || fd_read_file(fd, KNOWN_HOSTS_MAX, &text, &len) < 0)
			continue;
		r = i < n ? collect(text, name, SSH_KNOWN_REVOKED, NULL, &revoked)
			  : collect(text, name, SSH_KNOWN_KEY, &revoked, ret);
	}
	return r;
}

static int keys_of(const char *host, struct buffer *ret)
{
	_cleanup_free_ char *first = NULL, *second = NULL;
	const char *paths[] = { NULL, NULL, "/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2" };

	if (asprintf(&first, "%s/.ssh/known_hosts", policy_texts_home()) < 0) {
		first = NULL;
		return -ENOMEM;
	}
	if (asprintf(&second, "%s2", first) < 0) {
		second = NULL;
		return -ENOMEM;
	}
	paths[0] = first;
	paths[1] = second;
	return run_ssh_host_keys(paths, ARRAY_SIZE(paths), host, ret);
}

static bool is_first(const struct policy_list *list, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (strcmp(list->items[k].text, list->items[i].text) == 0)
			return false;
	return true;
}

static int write_hosts(struct json_writer *w, const struct policy_list *hosts)
{
	for (size_t i = 0; i < hosts->count; i++) {
		_cleanup_buffer_ struct buffer keys = BUFFER_INIT(LIMIT_POLICY_CALL);
		const char *host = hosts->items[i].text;
		int r = is_first(hosts, i) ? keys_of(host, &keys) : 0;

		if (r < 0)
			return r;
		if (keys.len == 0)
			continue;
		json_write_key(w, host);
		json_write_array(w);
		for (size_t at = 0; at < keys.len;) {
			size_t n = (size_t)((char *)memchr(keys.data + at, '\n', keys.len - at) - keys.data) - at;

			json_write_bytes(w, keys.data + at, n);
			at += n + 1;
		}
		json_write_array_end(w);
	}
	return 0;
}

static int write_text(const struct policy *merged, struct buffer *ret)
{
	static const char *const path[] = { "sandbox", "sshAgent", "hostKeys" };
	struct json_writer *w = json_write_new(ret);
	int r, finished;

	if (!w)
		return -ENOMEM;
	json_write_object(w);
	for (size_t i = 0; i < ARRAY_SIZE(path); i++) {
		json_write_key(w, path[i]);
		json_write_object(w);
	}
	r = write_hosts(w, &merged->ssh_hosts);
	for (size_t i = 0; i < ARRAY_SIZE(path) + 1; i++)
		json_write_object_end(w);
	finished = json_write_finish(w);
	return r < 0 ? r : finished;
}

int run_ssh_prepare(struct policy_texts *t, const struct policy *merged, int *ret_fd, struct error *e)
{
	_cleanup_buffer_ struct buffer text = BUFFER_INIT(LIMIT_POLICY_CALL);
	int r;

	*ret_fd = -1;
	if (!policy_lends_ssh(merged))
		return 0;
	*ret_fd = connect_agent();
	if (*ret_fd < 0)
		return 0;
	r = write_text(merged, &text);
	if (r < 0)
		return error_set(e, ERROR_LIMIT, -r, "known_hosts", "Name fewer hosts in sshAgent.",
				 "The keys of the hosts cannot be collected: %s.", strerror(-r));
	r = policy_texts_add_text(t, POLICY_COMMAND_LINE, "known_hosts", text.data, text.len, e);
	if (r == 0) {
		t->owned[t->n_owned++] = text.data;
		text.data = NULL;
	}
	return r;
}
