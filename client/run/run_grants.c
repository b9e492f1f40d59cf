#include "client/run/run_grants.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/limits.h"
#include "view/path_pattern.h"

#define NOTES_MAX 8

struct lists {
	const char *home;
	const char *project;
	struct buffer *notes;
	unsigned missing;
};

static bool is_below(const char *path, const char *folder)
{
	size_t len = strlen(folder);

	return strncmp(path, folder, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

/* What cannot be told (a folder that this user may not look into) is not said to be missing. In the
 * project, rules are about what is made there later, too. */
static bool is_missing(const struct lists *l, const char *text)
{
	char pattern[LIMIT_PATH], path[LIMIT_PATH];
	struct stat st;

	if (policy_path_expand(text, l->home, l->project, pattern, sizeof(pattern), NULL) < 0 ||
	    path_pattern_unescape(pattern, path, sizeof(path)) < 0 || is_below(path, l->project))
		return false;
	return stat(path, &st) < 0 && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP);
}

/* Whole, or not at all. */
static void append_sentence(struct buffer *notes, const char *key, const struct policy_text *rule)
{
	size_t before = notes->len;
	int r = buffer_printf(notes, "%s \"%s\"", key, rule->text);

	if (r == 0 && rule->origin.layer != POLICY_COMMAND_LINE)
		r = buffer_printf(notes, " (%s:%u)", rule->origin.path, rule->origin.line);
	if (r == 0)
		r = buffer_append_string(notes, ": nothing is there, so it grants nothing");
	if (r == 0)
		r = buffer_append(notes, "", 1);
	if (r < 0)
		notes->len = before;
}

static void note_list(struct lists *l, const char *key, const struct policy_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		const struct policy_text *rule = &list->items[i];

		if (rule->origin.layer < POLICY_USER || !is_missing(l, rule->text))
			continue;
		if (l->missing++ < NOTES_MAX)
			append_sentence(l->notes, key, rule);
	}
}

void run_grants_note(const struct policy *p, const char *home, const char *project, struct buffer *notes)
{
	struct lists l = { .home = home, .project = project, .notes = notes };
	char more[64];

	note_list(&l, "allowRead", &p->allow_read);
	note_list(&l, "allowWrite", &p->allow_write);
	note_list(&l, "overlay", &p->overlay);
	if (l.missing <= NOTES_MAX)
		return;
	snprintf(more, sizeof(more), "nothing is at %u more granted paths", l.missing - NOTES_MAX);
	(void)buffer_append(notes, more, strlen(more) + 1);
}
