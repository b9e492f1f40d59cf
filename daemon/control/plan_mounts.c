#include "daemon/control/plan_mounts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "daemon/control/view_paths.h"
#include "view/path_pattern.h"

/* Sockets and small files live in XDG_RUNTIME_DIR; it is memory. */
#define RUNTIME_SIZE (64ULL << 20)

static int no_memory(struct error *e)
{
	return error_set(e, ERROR_INTERNAL, ENOMEM, "plan", NULL, "There is no memory left.");
}

/* source and target must live as long as the plan. */
static int add(struct plan_built *b, const struct plan_mount *m, struct error *e)
{
	if (b->plan.n_mounts == LIMIT_PLAN_MOUNTS)
		return error_set(e, ERROR_LIMIT, E2BIG, "filesystem rules", NULL,
				 "The file view would have more than %d parts.", LIMIT_PLAN_MOUNTS);
	if (b->plan.n_mounts == b->room) {
		size_t room = b->room ? b->room * 2 : 64;
		struct plan_mount *mounts = reallocarray(b->mounts, room, sizeof(*mounts));

		if (!mounts)
			return no_memory(e);
		b->mounts = mounts;
		b->room = room;
	}
	b->mounts[b->plan.n_mounts++] = *m;
	b->plan.mounts = b->mounts;
	return 0;
}

/* The parts that every view has; a NULL source of a bind means its target. */
static const struct plan_mount system_part[] = {
	{ .type = PLAN_MOUNT_BIND, .target = "/usr", .flags = PLAN_READ_ONLY },
	{ .type = PLAN_MOUNT_BIND, .target = "/opt", .flags = PLAN_READ_ONLY | PLAN_OPTIONAL },
	{ .type = PLAN_MOUNT_BIND, .target = "/nix/store", .flags = PLAN_READ_ONLY | PLAN_OPTIONAL },
	{ .type = PLAN_MOUNT_ETC, .target = "/etc" },
	{ .type = PLAN_MOUNT_PROC, .target = "/proc" },
	{ .type = PLAN_MOUNT_DEV, .target = "/dev" },
	{ .type = PLAN_MOUNT_SYS, .target = "/sys" },
	{ .type = PLAN_MAKE_DIR, .target = "/var", .mode = 0755 },
	{ .type = PLAN_MOUNT_SCRATCH, .target = "/tmp", .mode = 01777 },
	{ .type = PLAN_MOUNT_SCRATCH, .target = "/var/tmp", .mode = 01777 },
	{ .type = PLAN_MAKE_DIR, .target = "/run", .mode = 0755 },
	{ .type = PLAN_MAKE_DIR, .target = "/run/user", .mode = 0755 },
};

static int add_roots(const struct plan_input *in, struct plan_built *b, struct error *e)
{
	int r = 0;

	for (int i = 0; i < VIEW_PROBE_ROOTS && r == 0; i++) {
		const char *path = in->probe->roots[i].path;
		bool is_link = in->probe->roots[i].link[0] != '\0';

		if (!in->probe->roots[i].exists)
			continue;
		r = add(b,
			&(struct plan_mount){ .type = is_link ? PLAN_MAKE_LINK : PLAN_MOUNT_BIND,
					      .flags = is_link ? 0 : PLAN_READ_ONLY,
					      .source = is_link ? in->probe->roots[i].link : path,
					      .target = path },
			e);
	}
	return r;
}

static int add_system(const struct plan_input *in, struct plan_built *b, struct error *e)
{
	int r;

	for (size_t i = 0; i < ARRAY_SIZE(system_part); i++) {
		struct plan_mount m = system_part[i];

		if (m.type == PLAN_MOUNT_BIND)
			m.source = m.target;
		r = add(b, &m, e);
		if (r == 0 && i == 0)
			r = add_roots(in, b, e);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Empty folders of the caller's own: XDG_RUNTIME_DIR and HOME. Programs may run from HOME (~/.local/bin). */
static int add_private(const struct plan_input *in, struct plan_built *b, struct error *e)
{
	const char *runtime = string_list_printf(&b->texts, "/run/user/%u", in->caller->uid);
	struct plan_mount m = { .type = PLAN_MOUNT_TMPFS, .flags = PLAN_OWNED, .mode = 0700 };
	int r;

	if (!runtime)
		return no_memory(e);
	m.target = runtime;
	m.size = RUNTIME_SIZE;
	r = add(b, &m, e);
	if (r < 0 || strcmp(in->caller->home, runtime) == 0)
		return r;
	m.target = string_list_add(&b->texts, in->caller->home);
	m.size = 0;
	if (!m.target)
		return no_memory(e);
	return add(b, &m, e);
}

struct rule {
	const char *path;
	bool write;
};

/* Parents before children, since a later mount covers an earlier one; of the same path, write wins. */
static int compare_rules(const void *a, const void *b)
{
	const struct rule *x = a, *y = b;
	int r = strcmp(x->path, y->path);

	return r ? r : (int)y->write - (int)x->write;
}

static int expand_rules(const struct plan_input *in, struct plan_built *b, const struct policy_list *list, bool write,
			struct rule *rules, size_t *n, struct error *e)
{
	for (size_t i = 0; i < list->count; i++) {
		char pattern[LIMIT_PATH], path[LIMIT_PATH];
		int r;

		r = policy_path_expand(list->items[i].text, in->caller->home, in->run->cwd, pattern, sizeof(pattern),
				       e);
		if (r == 0 && path_pattern_unescape(pattern, path, sizeof(path)) < 0)
			r = error_set(e, ERROR_POLICY, EINVAL, "filesystem rules",
				      "Name the folder that holds the files.", "A rule that allows is a pattern.");
		if (r == 0)
			r = view_rule_check(path, e);
		if (r < 0)
			return r;
		rules[*n].path = string_list_add(&b->texts, path);
		rules[*n].write = write;
		if (!rules[(*n)++].path)
			return no_memory(e);
	}
	return 0;
}

static int add_rules(struct plan_built *b, const struct rule *rules, size_t n, struct error *e)
{
	for (size_t i = 0; i < n; i++) {
		int r;

		if (i > 0 && strcmp(rules[i].path, rules[i - 1].path) == 0)
			continue;
		r = add(b,
			&(struct plan_mount){ .type = PLAN_MOUNT_BIND,
					      .flags = PLAN_FOLLOW | PLAN_OPTIONAL |
						       (rules[i].write ? 0 : PLAN_READ_ONLY),
					      .source = rules[i].path,
					      .target = rules[i].path },
			e);
		if (r < 0)
			return r;
	}
	return 0;
}

/* An allowWrite rule that covers the project names it on purpose. */
static bool is_named(const struct rule *rules, size_t n, const char *path)
{
	for (size_t i = 0; i < n; i++)
		if (rules[i].write && view_path_is_within(path, rules[i].path))
			return true;
	return false;
}

static int add_project(const struct plan_input *in, struct plan_built *b, const struct rule *rules, size_t n,
		       struct error *e)
{
	int r = view_project_check(in->run->cwd, in->caller->home, is_named(rules, n, in->run->cwd), e);

	if (r < 0)
		return r;
	return add(b,
		   &(struct plan_mount){ .type = PLAN_MOUNT_BIND,
					 .flags = PLAN_PROJECT,
					 .source = in->run->cwd,
					 .target = in->run->cwd },
		   e);
}

/* A link goes only where the view has memory of its own, and where it hides nothing. */
static bool link_has_room(const struct plan_built *b, const char *path)
{
	const struct plan_mount *over = NULL;

	if (!plan_path_is_clean(path) || strcmp(path, "/") == 0)
		return false;
	for (size_t i = 0; i < b->plan.n_mounts; i++) {
		const struct plan_mount *m = &b->mounts[i];

		if (view_path_is_within(m->target, path))
			return false;
		if (view_path_is_within(path, m->target) && m->type != PLAN_MAKE_DIR)
			over = m;
	}
	return !over || over->type == PLAN_MOUNT_TMPFS;
}

static int add_links(const struct plan_input *in, struct plan_built *b, bool *ret_all, struct error *e)
{
	const struct schema_link *links = in->run->links.items;
	bool all = true;

	for (size_t i = 0; i < in->run->links.count; i++) {
		size_t len = strlen(links[i].target);
		int r;

		if (len == 0 || len >= LIMIT_PATH || !link_has_room(b, links[i].path)) {
			all = false;
			continue;
		}
		r = add(b,
			&(struct plan_mount){
				.type = PLAN_MAKE_LINK, .source = links[i].target, .target = links[i].path },
			e);
		if (r < 0)
			return r;
	}
	*ret_all = all;
	return 0;
}

int plan_mounts_build(const struct plan_input *in, struct plan_built *built, bool *ret_links_made, struct error *e)
{
	const struct policy *p = in->policy;
	_cleanup_free_ struct rule *rules = NULL;
	size_t n = 0;
	int r;

	rules = calloc(p->allow_read.count + p->allow_write.count + 1, sizeof(*rules));
	if (!rules)
		return no_memory(e);
	r = expand_rules(in, built, &p->allow_read, false, rules, &n, e);
	if (r == 0)
		r = expand_rules(in, built, &p->allow_write, true, rules, &n, e);
	if (r < 0)
		return r;
	qsort(rules, n, sizeof(*rules), compare_rules);
	r = add_system(in, built, e);
	if (r == 0)
		r = add_private(in, built, e);
	if (r == 0)
		r = add_rules(built, rules, n, e);
	if (r == 0)
		r = add_project(in, built, rules, n, e);
	if (r == 0)
		r = add_links(in, built, ret_links_made, e);
	return r;
}
