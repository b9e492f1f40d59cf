#include "client/run/run_git_rules.h"

#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "git/git_path.h"
#include "json/write.h"

static const char *const list_keys[RUN_GIT_LISTS] = {
	[RUN_GIT_READ] = "allowRead",
	[RUN_GIT_WRITE] = "allowWrite",
	[RUN_GIT_OVERLAY] = "overlay",
	[RUN_GIT_KEEP] = "denyWrite",
};

void run_git_rules_init(struct run_git_rules *r)
{
	const struct buffer empty = BUFFER_INIT(RUN_GIT_BYTES);

	*r = (struct run_git_rules){ .settings = empty, .notes = empty };
	for (size_t i = 0; i < RUN_GIT_LISTS; i++)
		r->paths[i] = empty;
}

void run_git_rules_done(struct run_git_rules *r)
{
	for (size_t i = 0; i < RUN_GIT_LISTS; i++)
		buffer_done(&r->paths[i]);
	buffer_done(&r->settings);
	buffer_done(&r->notes);
}

static void append(struct run_git_rules *r, struct buffer *b, const char *text)
{
	int error = buffer_append(b, text, strlen(text) + 1);

	if (r->error == 0)
		r->error = error;
}

static bool has(const struct buffer *b, const char *text)
{
	for (size_t at = 0; at < b->len; at += strlen(b->data + at) + 1)
		if (strcmp(b->data + at, text) == 0)
			return true;
	return false;
}

void run_git_rules_add(struct run_git_rules *r, enum run_git_list list, const char *path)
{
	if (!has(&r->paths[list], path))
		append(r, &r->paths[list], path);
}

void run_git_rules_add_below(struct run_git_rules *r, enum run_git_list list, const char *folder, const char *name)
{
	char path[PATH_MAX];

	if (git_path_join(folder, name, path, sizeof(path)) == 0)
		run_git_rules_add(r, list, path);
}

void run_git_rules_set(struct run_git_rules *r, const char *name, const char *value)
{
	append(r, &r->settings, name);
	append(r, &r->settings, value);
	r->n_settings++;
}

void run_git_rules_note(struct run_git_rules *r, const char *format, ...)
{
	char text[2 * PATH_MAX + 512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	append(r, &r->notes, text);
}

/* A rule is a pattern: these bytes stand for themselves only behind a backslash. */
static void write_path(struct json_writer *w, const char *path)
{
	char rule[2 * PATH_MAX];
	size_t n = 0;

	for (; *path && n + 2 < sizeof(rule); path++) {
		if (strchr("*?[\\", *path))
			rule[n++] = '\\';
		rule[n++] = *path;
	}
	json_write_bytes(w, rule, n);
}

static void write_lists(struct json_writer *w, const struct run_git_rules *r)
{
	json_write_key(w, "sandbox");
	json_write_object(w);
	json_write_key(w, "filesystem");
	json_write_object(w);
	for (size_t i = 0; i < RUN_GIT_LISTS; i++) {
		const struct buffer *b = &r->paths[i];

		if (b->len == 0)
			continue;
		json_write_key(w, list_keys[i]);
		json_write_array(w);
		for (size_t at = 0; at < b->len; at += strlen(b->data + at) + 1)
			write_path(w, b->data + at);
		json_write_array_end(w);
	}
	json_write_object_end(w);
	json_write_object_end(w);
}

/* git's documented way of settings by environment: GIT_CONFIG_COUNT, GIT_CONFIG_KEY_0, GIT_CONFIG_VALUE_0, … */
static void write_settings(struct json_writer *w, const struct run_git_rules *r)
{
	const char *at = r->settings.data;
	char name[48], count[16];

	json_write_key(w, "environment");
	json_write_object(w);
	json_write_key(w, "set");
	json_write_object(w);
	snprintf(count, sizeof(count), "%u", r->n_settings);
	json_write_member_string(w, "GIT_CONFIG_COUNT", count);
	for (unsigned i = 0; i < r->n_settings; i++) {
		snprintf(name, sizeof(name), "GIT_CONFIG_KEY_%u", i);
		json_write_member_string(w, name, at);
		at += strlen(at) + 1;
		snprintf(name, sizeof(name), "GIT_CONFIG_VALUE_%u", i);
		json_write_member_string(w, name, at);
		at += strlen(at) + 1;
	}
	json_write_object_end(w);
	json_write_object_end(w);
}

int run_git_rules_write(const struct run_git_rules *r, struct buffer *out)
{
	bool lists = false;
	struct json_writer *w;
	int error;

	if (r->error < 0)
		return r->error;
	for (size_t i = 0; i < RUN_GIT_LISTS; i++)
		lists = lists || r->paths[i].len > 0;
	if (!lists && r->n_settings == 0)
		return 0;
	w = json_write_new(out);
	json_write_object(w);
	if (lists)
		write_lists(w, r);
	if (r->n_settings > 0)
		write_settings(w, r);
	json_write_object_end(w);
	error = json_write_finish(w);
	return error < 0 ? error : 1;
}
