#ifndef ISOD_CONTROL_VIEW_LINKS_H
#define ISOD_CONTROL_VIEW_LINKS_H
/*
 * The symlinks that are known before anything is opened: those of the system's layout (/bin) and those that the client
 * met on its way to HOME and to the working directory. A rule may be written in either spelling; the view is built in
 * the one without links, and the links are made in it. Pure: text only.
 */
#include "base/error.h"
#include "daemon/control/string_list.h"
#include "daemon/control/plan/view_probe.h"
#include "proto/schema.h"

struct view_links {
	struct view_link {
		const char *pattern; /* the link's path, as a pattern that matches it alone */
		const char *target;  /* the path that it stands for, the same way; may lead through other links */
		size_t len;          /* of pattern */
	} * items;
	size_t count;
	struct string_list texts;
};

#define VIEW_LINKS_INIT                                                                                                \
	{                                                                                                              \
		.items = NULL                                                                                          \
	}

/* links: struct schema_link. Those that cannot be meant are left out: unclean paths, targets with ".." behind a name, a
 * link on the way to cwd, which is a path without links. 0 or -ENOMEM. */
int view_links_build(const struct view_probe *probe, const struct json_objects *links, const char *cwd,
		     struct view_links *ret);
void view_links_done(struct view_links *l);
#define _cleanup_view_links_ __attribute__((cleanup(view_links_done)))

/*
 * The same pattern (view/path_pattern.h) without known links in its leading literal part. *ret: pattern itself where
 * there is none, else a text of into. 0, -ENOMEM, -ENAMETOOLONG past LIMIT_PATH, -ELOOP.
 */
int view_links_resolve(const struct view_links *l, const char *pattern, struct string_list *into, const char **ret);
/* The same for a path. */
int view_links_resolve_path(const struct view_links *l, const char *path, struct string_list *into, const char **ret);

#endif
