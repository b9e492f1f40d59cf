#include "daemon/control/audit/history.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "daemon/control/control.h"
#include "daemon/control/registry.h"
#include "daemon/control/session.h"
#include "daemon/control/audit/timestamp.h"
#include "json/bytes.h"
#include "json/value.h"

/* An audit line is far below this: arguments are cut in it. */
#define LINE_MAX_BYTES (128 << 10)

/* The first line of text, or with last the last whole one. NULL where there is none. */
static const char *line_of(const char *text, size_t len, bool last, size_t *ret_len)
{
	const char *end = last ? memrchr(text, '\n', len) : memchr(text, '\n', len);
	const char *begin = text;

	if (!end)
		return NULL;
	if (last && end > text) {
		const char *before = memrchr(text, '\n', (size_t)(end - text));

		begin = before ? before + 1 : text;
	}
	*ret_len = (size_t)(end - begin);
	return begin;
}

static int read_line(int fd, bool last, struct json_document *ret)
{
	_cleanup_free_ char *text = malloc(LINE_MAX_BYTES);
	struct stat st;
	const char *line;
	size_t len;
	ssize_t n;

	if (!text || fstat(fd, &st) < 0)
		return -1;
	n = pread(fd, text, LINE_MAX_BYTES, last && st.st_size > LINE_MAX_BYTES ? st.st_size - LINE_MAX_BYTES : 0);
	line = n > 0 ? line_of(text, (size_t)n, last, &len) : NULL;
	return line ? json_read(line, len, 0, ret, NULL) : -1;
}

static const char *text_member(const struct json_value *v, const char *name)
{
	const struct json_value *member = json_get(v, name);

	return member && member->type == JSON_STRING ? member->string.data : "";
}

static int64_t number_member(const struct json_value *v, const char *name, int64_t otherwise)
{
	const struct json_value *member = json_get(v, name);

	return member && member->type == JSON_INTEGER ? member->integer : otherwise;
}

static char *bytes_member(const struct json_value *member)
{
	char *text;

	if (!member || member->type != JSON_STRING)
		return NULL;
	text = malloc(member->string.len + 1);
	if (text && json_bytes_decode(member->string.data, member->string.len, text) < 0) {
		free(text);
		return NULL;
	}
	return text;
}

static void take_argv(struct session *s, const struct json_value *argv)
{
	for (size_t i = 0; argv && argv->type == JSON_ARRAY && i < argv->array.count; i++) {
		_cleanup_free_ char *text = bytes_member(&argv->array.items[i]);

		if (text)
			string_list_add(&s->argv, text);
	}
}

static int take_start(struct session *s, const struct json_value *v)
{
	int64_t uid = number_member(v, "uid", -1);

	if (strcmp(text_member(v, "event"), "session.start") != 0 || uid < 0 || uid > UINT32_MAX ||
	    timestamp_parse(text_member(v, "time"), &s->started) < 0)
		return -1;
	s->uid = (uint32_t)uid;
	strncpy(s->name, text_member(v, "name"), sizeof(s->name) - 1);
	strncpy(s->digest, text_member(v, "policy"), sizeof(s->digest) - 1);
	s->project = bytes_member(json_get(v, "project"));
	take_argv(s, json_get(v, "argv"));
	return 0;
}

/* False: it is about something else. */
static bool take_late(struct session *s, const struct json_value *v)
{
	const char *event = text_member(v, "event");

	if (strcmp(event, "late.state") == 0) {
		late_restore_state(&s->late, text_member(v, "late"), text_member(v, "reason"));
	} else if (strcmp(event, "lacking") == 0) {
		_cleanup_free_ char *text = bytes_member(json_get(v, "text"));

		if (text)
			late_add_lacking(&s->late, text);
	} else {
		return false;
	}
	return true;
}

/* What follows the start at once: what the session lacks. Ends with the first line that is about something else. */
static void take_lacking(struct session *s, int fd)
{
	_cleanup_free_ char *text = malloc(LINE_MAX_BYTES);
	ssize_t n = text ? pread(fd, text, LINE_MAX_BYTES, 0) : -1;
	const char *at = text, *end;
	bool is_about = true;

	for (bool first = true; n > 0 && is_about && (end = memchr(at, '\n', (size_t)(text + n - at))); first = false) {
		_cleanup_json_ struct json_document line = JSON_DOCUMENT_INIT;

		if (!first)
			is_about = json_read(at, (size_t)(end - at), 0, &line, NULL) == 0 && take_late(s, line.root);
		at = end + 1;
	}
}

/* Events that were on their way may stand behind session.exit; without one the exit status is not known. */
static int take_end(struct session *s, const struct json_value *v)
{
	const char *event = text_member(v, "event");
	int64_t signal = number_member(v, "signal", 0);

	if (strcmp(event, "session.start_failed") == 0)
		return -1;
	s->exit_kind = EXIT_KIND_LOST;
	if (timestamp_parse(text_member(v, "time"), &s->ended) < 0)
		s->ended = s->started;
	if (strcmp(event, "session.exit") != 0)
		return 0;
	if (signal > 0 && signal <= 64) {
		s->exit_kind = EXIT_KIND_SIGNAL;
		s->exit_value = (int32_t)signal;
	} else if (strcmp(text_member(v, "cause"), "time") == 0) {
		s->exit_kind = EXIT_KIND_TIME;
	} else if (strcmp(text_member(v, "cause"), "lost") != 0) {
		s->exit_kind = EXIT_KIND_CODE;
		s->exit_value = (int32_t)number_member(v, "exit", 0) & 0xff;
	}
	return 0;
}

struct session *history_read(struct control *control, const char *id)
{
	_cleanup_json_ struct json_document first = JSON_DOCUMENT_INIT, last = JSON_DOCUMENT_INIT;
	_cleanup_close_ int fd = audit_open_for_reading(control->audit.dir_fd, id);
	struct session *s;

	if (fd < 0 || read_line(fd, false, &first) < 0 || read_line(fd, true, &last) < 0)
		return NULL;
	s = session_new_from_history(control, id);
	if (!s)
		return NULL;
	if (take_start(s, first.root) < 0 || take_end(s, last.root) < 0) {
		session_release(s);
		return NULL;
	}
	take_lacking(s, fd);
	return s;
}
