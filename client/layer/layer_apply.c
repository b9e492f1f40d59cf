#include "client/layer/layer_apply.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "client/escape.h"
#include "view/protect.h"

struct apply {
	const struct layer *layer;
	struct changes *changes;
	const struct apply_options *options;
	const volatile sig_atomic_t *stop;
	struct apply_result *result;
};

static void leave(struct apply *a, struct change *c, const char *format, const char *detail)
{
	c->flags |= CHANGE_LEFT;
	a->result->left++;
	fputs("isoctl: not applied: ", stderr);
	escape_print(stderr, c->path);
	fputs(": ", stderr);
	fprintf(stderr, format, detail);
	fputc('\n', stderr);
}

static void take_result(struct apply *a, struct change *c, int r)
{
	if (r == 0)
		a->result->applied++;
	else if (r == -EBUSY)
		leave(a, c, "conflict: the host has something else there%s", "");
	else
		leave(a, c, "%s", strerror(-r));
}

/* Not to be applied as things are, and why. */
static bool is_refused(struct apply *a, struct change *c)
{
	if (c->kind == CHANGE_SPECIAL) {
		leave(a, c, "%s",
		      c->flags & CHANGE_UNREADABLE ? "it cannot be read" : "it is neither file, folder nor link");
		return true;
	}
	if (c->flags & CHANGE_CONFLICT && !a->options->overwrite) {
		leave(a, c, "conflict: changed on the host since the session began (--overwrite)%s", "");
		return true;
	}
	if (c->protection && !a->options->force) {
		leave(a, c, "protected (%s), it may act on the host later (--force)",
		      protect_names[c->protection].name);
		return true;
	}
	if (c->flags & CHANGE_LEADS_OUT && !a->options->force) {
		leave(a, c, "the link may lead out of the project (--force)%s", "");
		return true;
	}
	return false;
}

/* A folder that reaches up to its owner's rights is set before its content changes it; the others last. */
static bool is_early_mode(const struct change *c)
{
	return c->kind == CHANGE_MODE && (!S_ISDIR(c->mode) || (c->mode & 0700) == 0700);
}

/* The folder that a file or link takes the place of, and that has to be emptied first; NULL. */
static const struct change *replaced_above(const struct apply *a, const struct change *c)
{
	char path[LIMIT_PATH];
	char *slash;

	if (c->kind != CHANGE_DELETED || strlen(c->path) >= sizeof(path))
		return NULL;
	memcpy(path, c->path, strlen(c->path) + 1);
	while ((slash = strrchr(path, '/'))) {
		const struct change *above;

		*slash = '\0';
		above = changes_get(a->changes, path);
		if (above && above->kind == CHANGE_REPLACED)
			return above;
	}
	return NULL;
}

static void make_way(struct apply *a, struct change *c)
{
	const struct change *above = replaced_above(a, c);

	if (!above)
		return;
	c->flags &= ~(unsigned)CHANGE_SELECTED;
	if (above->flags & CHANGE_LEFT || !(above->flags & CHANGE_SELECTED))
		leave(a, c, "the folder that it is in stays%s", "");
	else
		take_result(a, c, layer_apply_deletion(a->layer, c));
}

static bool is_made(const struct change *c)
{
	return c->kind == CHANGE_NEW || c->kind == CHANGE_CHANGED || c->kind == CHANGE_REPLACED;
}

enum pass { PASS_REFUSED, PASS_MODES, PASS_WAY, PASS_MAKE, PASS_DELETE, PASS_LATE_MODES, PASS_END };

/* Deletions go from the deepest up, and what was renamed goes only once it is in its new place. */
static bool is_backwards(enum pass pass)
{
	return pass == PASS_WAY || pass == PASS_DELETE || pass == PASS_LATE_MODES;
}

static bool source_is_needed(const struct apply *a, const struct change *c)
{
	const struct change *target = c->flags & CHANGE_MOVED_AWAY ? changes_get(a->changes, c->other) : NULL;

	return target && target->flags & CHANGE_LEFT;
}

static int make(const struct apply *a, const struct change *c)
{
	return S_ISDIR(c->mode) ? layer_apply_folder(a->layer, c) : layer_apply_file(a->layer, c);
}

static void apply_one(struct apply *a, struct change *c, enum pass pass)
{
	if (!(c->flags & CHANGE_SELECTED) || c->flags & CHANGE_LEFT)
		return;
	switch (pass) {
	case PASS_REFUSED:
		(void)is_refused(a, c);
		break;
	case PASS_MODES:
		if (is_early_mode(c))
			take_result(a, c, layer_apply_mode(a->layer, c));
		break;
	case PASS_WAY:
		make_way(a, c);
		break;
	case PASS_MAKE:
		if (is_made(c))
			take_result(a, c, make(a, c));
		break;
	case PASS_DELETE:
		if (c->kind == CHANGE_DELETED && !source_is_needed(a, c))
			take_result(a, c, layer_apply_deletion(a->layer, c));
		break;
	case PASS_LATE_MODES:
		if (c->kind == CHANGE_MODE && !is_early_mode(c))
			take_result(a, c, layer_apply_mode(a->layer, c));
		else if ((c->kind == CHANGE_NEW || c->kind == CHANGE_REPLACED) && S_ISDIR(c->mode))
			(void)layer_apply_folder_end(a->layer, c);
		break;
	case PASS_END:
		break;
	}
}

void layer_apply(const struct layer *l, struct changes *c, const struct apply_options *options,
		 const volatile sig_atomic_t *stop, struct apply_result *ret)
{
	struct apply a = { .layer = l, .changes = c, .options = options, .stop = stop, .result = ret };

	*ret = (struct apply_result){ .applied = 0 };
	for (enum pass pass = PASS_REFUSED; pass < PASS_END; pass++)
		for (size_t i = 0; i < c->count && !*stop; i++)
			apply_one(&a, &c->items[is_backwards(pass) ? c->count - 1 - i : i], pass);
	ret->interrupted = *stop;
}
