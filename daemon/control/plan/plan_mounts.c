#include "daemon/control/plan/plan_mounts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "daemon/control/plan/plan_places.h"
#include "daemon/control/plan/plan_rules.h"
#include "daemon/control/plan/plan_sockets.h"
#include "daemon/control/plan/view_links.h"
#include "daemon/control/plan/view_paths.h"

/* Sockets and small files live in XDG_RUNTIME_DIR; it is memory. */
#define RUNTIME_SIZE (64ULL << 20)

static int no_memory(struct error *e)
{
	return error_set(e, ERROR_INTERNAL, ENOMEM, "plan", NULL, "There is no memory left.");
}

int plan_mounts_add(struct plan_built *b, const struct plan_mount *m, struct error *e)
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
	{ .type = PLAN_MOUNT_BIND, .target = "/gnu/store", .flags = PLAN_READ_ONLY | PLAN_OPTIONAL },
	{ .type = PLAN_MOUNT_ETC, .target = "/etc" },
	{ .type = PLAN_MOUNT_PROC, .target = "/proc" },
	{ .type = PLAN_MOUNT_DEV, .target = "/dev" },
	{ .type = PLAN_MOUNT_SYS, .target = "/sys" },
	{ .type = PLAN_MAKE_DIR, .target = "/var", .mode = 0755 },
	/* Where /etc/ssl of openSUSE leads to. */
	{ .type = PLAN_MOUNT_BIND, .target = "/var/lib/ca-certificates", .flags = PLAN_READ_ONLY | PLAN_OPTIONAL },
	{ .type = PLAN_MOUNT_SCRATCH, .target = "/tmp", .mode = 01777 },
	{ .type = PLAN_MOUNT_SCRATCH, .target = "/var/tmp", .mode = 01777 },
	{ .type = PLAN_MAKE_DIR, .target = "/run", .mode = 0755 },
	/* All programs of NixOS and Guix; a link into the store. */
	{ .type = PLAN_MOUNT_BIND,
	  .target = "/run/current-system",
	  .flags = PLAN_READ_ONLY | PLAN_OPTIONAL | PLAN_FOLLOW },
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
		r = plan_mounts_add(b,
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
		r = plan_mounts_add(b, &m, e);
		if (r == 0 && i == 0)
			r = add_roots(in, b, e);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Empty folders of the caller's own: XDG_RUNTIME_DIR and HOME. Programs may run from HOME (~/.local/bin). */
static int add_private(const struct plan_input *in, const char *home, struct plan_built *b, struct error *e)
{
	const char *runtime = string_list_printf(&b->texts, "/run/user/%u", in->caller->uid);
	struct plan_mount m = { .type = PLAN_MOUNT_TMPFS, .flags = PLAN_OWNED, .mode = 0700 };
	int r;

	if (!runtime)
		return no_memory(e);
	m.target = runtime;
	m.size = RUNTIME_SIZE;
	r = plan_mounts_add(b, &m, e);
	if (r < 0 || strcmp(home, runtime) == 0)
		return r;
	m.target = string_list_add(&b->texts, home);
	m.size = 0;
	if (!m.target)
		return no_memory(e);
	return plan_mounts_add(b, &m, e);
}

/* gpg looks for its agent in a folder of its own there. Its other one, in HOME, it would make itself; where the public
 * keyring is lent something has made it before, and gpg wants it closed to others. */
static int add_gpg(const struct plan_input *in, const char *home, struct plan_built *b, struct error *e)
{
	const char *folders[] = {
		string_list_printf(&b->texts, "/run/user/%u/gnupg", in->caller->uid),
		string_list_printf(&b->texts, "%s/.gnupg", strcmp(home, "/") == 0 ? "" : home),
	};
	struct plan_mount m = { .type = PLAN_MAKE_LINK,
				.source = PLAN_GPG_SOCKET,
				.target = string_list_printf(&b->texts, "/run/user/%u/gnupg/S.gpg-agent",
							     in->caller->uid) };

	if (!m.target)
		return no_memory(e);
	for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
		struct plan_mount folder = {
			.type = PLAN_MAKE_DIR, .flags = PLAN_OWNED, .target = folders[i], .mode = 0700
		};
		int r = folders[i] ? plan_mounts_add(b, &folder, e) : no_memory(e);

		if (r < 0)
			return r;
	}
	return plan_mounts_add(b, &m, e);
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
		r = plan_mounts_add(b,
				    &(struct plan_mount){ .type = PLAN_MAKE_LINK,
							  .source = links[i].target,
							  .target = links[i].path },
				    e);
		if (r < 0)
			return r;
	}
	*ret_all = all;
	return 0;
}

/* Where somebody happens to stand is not consent to what the built-in protections keep from every session. */
static int check_project(const struct plan_input *in, const struct plan_rules *rules, struct error *e)
{
	const char *path = in->run->cwd;
	bool named = plan_rules_name(rules, path);
	int r = view_project_check(path, rules->home, named, e);

	if (r < 0 || named || !plan_rules_keep_secret(rules, path))
		return r;
	return error_set(e, ERROR_REFUSED, EPERM, "project folder",
			 "Change to the folder of your project, or name this one with --allow-write.",
			 "The project folder would be %s, which holds secrets.", path);
}

int plan_mounts_build(const struct plan_input *in, struct plan_built *built, bool *ret_links_made, struct error *e)
{
	_cleanup_view_links_ struct view_links links = VIEW_LINKS_INIT;
	_cleanup_plan_rules_ struct plan_rules rules = PLAN_RULES_INIT;
	int r = view_project_check(in->run->cwd, in->caller->home, true, e);

	if (r < 0)
		return r;
	if (view_links_build(in->probe, &in->run->links, in->run->cwd, &links) < 0)
		return no_memory(e);
	r = plan_rules_build(in, &links, built, &rules, e);
	if (r == 0)
		r = check_project(in, &rules, e);
	if (r == 0)
		r = add_system(in, built, e);
	if (r == 0 && (in->ssh || in->gpg))
		r = plan_mounts_add(
			built, &(struct plan_mount){ .type = PLAN_MAKE_DIR, .target = PLAN_AGENT_FOLDER, .mode = 0755 },
			e);
	if (r == 0)
		r = add_private(in, rules.home, built, e);
	if (r == 0 && in->gpg)
		r = add_gpg(in, rules.home, built, e);
	if (r == 0)
		r = plan_places_build(in, &rules, built, e);
	if (r == 0)
		r = plan_sockets_build(in, &links, &rules, built, e);
	if (r == 0)
		r = add_links(in, built, ret_links_made, e);
	return r;
}
