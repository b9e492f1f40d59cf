#include "client/layer/layer_listing.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "client/escape.h"
#include "client/layer/layer_path.h"
#include "json/write.h"
#include "view/protect.h"

bool layer_listing_is_told(const struct change *c)
{
	return !(c->flags & CHANGE_MOVED_AWAY);
}

enum listing_group layer_listing_group(const struct change *c)
{
	if (c->kind == CHANGE_DELETED)
		return LISTING_DELETED;
	if (c->kind == CHANGE_MODE)
		return LISTING_MODE;
	return c->protection ? LISTING_PROTECTED : LISTING_OTHER;
}

static const char *type_name(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFDIR:
		return "folder";
	case S_IFLNK:
		return "link";
	case S_IFREG:
		return "file";
	case S_IFIFO:
		return "fifo";
	case S_IFSOCK:
		return "socket";
	default:
		return "device";
	}
}

static int append_path(struct buffer *out, const char *path)
{
	return escape_append(out, path, strlen(path));
}

/* Where a link leads is its whole content. NULL. */
static char *target_of(const struct layer *l, const struct change *c)
{
	_cleanup_close_ int fd = -1;
	char target[LIMIT_PATH];
	ssize_t n;

	if (!S_ISLNK(c->mode))
		return NULL;
	fd = layer_path_open(l->upper, c->path, O_PATH);
	n = fd < 0 ? -1 : readlinkat(fd, "", target, sizeof(target) - 1);
	return n < 0 ? NULL : strndup(target, (size_t)n);
}

static int append_notes(struct buffer *out, const struct change *c)
{
	int r = 0;

	if (c->kind == CHANGE_MODE)
		r = buffer_printf(out, " (%04o -> %04o)", c->host.mode & CHANGE_MODE_BITS, c->mode & CHANGE_MODE_BITS);
	else if (c->kind == CHANGE_REPLACED)
		r = buffer_printf(out, " (%s -> %s)", type_name(c->host.mode), type_name(c->mode));
	else if (c->kind == CHANGE_CHANGED && (c->mode & CHANGE_MODE_BITS) != (c->host.mode & CHANGE_MODE_BITS) &&
		 !S_ISLNK(c->mode))
		r = buffer_printf(out, " (%04o -> %04o)", c->host.mode & CHANGE_MODE_BITS, c->mode & CHANGE_MODE_BITS);
	if (r == 0 && c->flags & CHANGE_UNREADABLE)
		r = buffer_append_string(out, " (cannot be read, is not applied)");
	else if (r == 0 && c->kind == CHANGE_SPECIAL)
		r = buffer_printf(out, " (%s, is not applied)", type_name(c->mode));
	if (r == 0 && c->protection)
		r = buffer_printf(out, " [protected: %s]", protect_names[c->protection].name);
	if (r == 0 && c->flags & CHANGE_LEADS_OUT)
		r = buffer_append_string(out, " [may lead out of the project]");
	if (r == 0 && c->flags & CHANGE_CONFLICT)
		r = buffer_append_string(out, " [changed on the host since the session began]");
	return r;
}

int layer_listing_append(struct buffer *out, const struct layer *l, const struct change *c)
{
	mode_t mode = c->kind == CHANGE_DELETED ? c->host.mode : c->mode;
	_cleanup_free_ char *target = target_of(l, c);
	const char *what = c->other ? "renamed" : change_kind_name(c->kind);
	int r = buffer_printf(out, "%s:%*s", what, (int)(sizeof("replaced ") - 1 - strlen(what)), "");

	if (r == 0 && c->other) {
		r = append_path(out, c->other);
		if (r == 0)
			r = buffer_append_string(out, " -> ");
	}
	if (r == 0)
		r = append_path(out, c->path);
	if (r == 0 && S_ISDIR(mode))
		r = buffer_append_string(out, "/");
	if (r == 0 && target) {
		r = buffer_append_string(out, " -> ");
		if (r == 0)
			r = append_path(out, target);
	}
	if (r == 0)
		r = append_notes(out, c);
	return r < 0 ? r : buffer_append_string(out, "\n");
}

int layer_listing_append_totals(struct buffer *out, const struct changes *c)
{
	size_t counts[CHANGE_KIND_COUNT] = { 0 }, renamed = 0, protected = 0, conflicts = 0;
	const char *separator = "";
	int r = 0;

	for (size_t i = 0; i < c->count; i++) {
		const struct change *x = &c->items[i];

		if (!layer_listing_is_told(x))
			continue;
		if (x->other)
			renamed++;
		else
			counts[x->kind]++;
		protected += x->protection != PROTECT_NONE;
		conflicts += (x->flags & CHANGE_CONFLICT) != 0;
	}
	for (unsigned k = 0; r == 0 && k < CHANGE_KIND_COUNT; k++) {
		if (counts[k] == 0)
			continue;
		r = buffer_printf(out, "%s%zu %s", separator, counts[k], change_kind_name((enum change_kind)k));
		separator = ", ";
	}
	if (r == 0 && renamed) {
		r = buffer_printf(out, "%s%zu renamed", separator, renamed);
		separator = ", ";
	}
	if (r == 0 && !*separator)
		r = buffer_append_string(out, "no changes");
	if (r == 0 && protected)
		r = buffer_printf(out, "; %zu of protected kinds", protected);
	if (r == 0 && conflicts)
		r = buffer_printf(out, "; %zu changed on the host, too", conflicts);
	return r < 0 ? r : buffer_append_string(out, "\n");
}

static void write_change(const struct layer *l, const struct change *c, struct json_writer *w)
{
	_cleanup_free_ char *target = target_of(l, c);
	mode_t mode = c->kind == CHANGE_DELETED ? c->host.mode : c->mode;

	json_write_object(w);
	json_write_key(w, "path");
	json_write_bytes(w, c->path, strlen(c->path));
	json_write_member_string(w, "kind", c->other ? "renamed" : change_kind_name(c->kind));
	json_write_member_string(w, "type", type_name(mode));
	if (c->other) {
		json_write_key(w, "from");
		json_write_bytes(w, c->other, strlen(c->other));
	}
	if (target) {
		json_write_key(w, "target");
		json_write_bytes(w, target, strlen(target));
	}
	if (c->host.exists)
		json_write_member_integer(w, "oldMode", c->host.mode & CHANGE_MODE_BITS);
	if (c->kind != CHANGE_DELETED)
		json_write_member_integer(w, "mode", c->mode & CHANGE_MODE_BITS);
	if (S_ISREG(mode) && c->kind != CHANGE_DELETED)
		json_write_member_integer(w, "size", c->size);
	if (c->protection)
		json_write_member_string(w, "protected", protect_names[c->protection].name);
	json_write_member_bool(w, "leadsOut", c->flags & CHANGE_LEADS_OUT);
	json_write_member_bool(w, "conflict", c->flags & CHANGE_CONFLICT);
	json_write_object_end(w);
}

int layer_listing_append_json(struct buffer *out, const struct layer *l, const struct changes *c)
{
	struct json_writer *w = json_write_new(out);
	int r;

	json_write_object(w);
	json_write_member_string(w, "session", l->id);
	json_write_key(w, "project");
	json_write_bytes(w, l->project, strlen(l->project));
	json_write_member_bool(w, "running", l->running);
	json_write_key(w, "changes");
	json_write_array(w);
	for (unsigned g = 0; g < LISTING_GROUPS; g++)
		for (size_t i = 0; i < c->count; i++)
			if (layer_listing_is_told(&c->items[i]) && layer_listing_group(&c->items[i]) == g)
				write_change(l, &c->items[i], w);
	json_write_array_end(w);
	json_write_object_end(w);
	r = json_write_finish(w);
	return r < 0 ? r : buffer_append_string(out, "\n");
}
