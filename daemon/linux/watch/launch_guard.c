#include "daemon/linux/watch/launch_guard.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "base/fd.h"
#include "base/limits.h"
#include "daemon/launch/launch_report.h"
#include "daemon/launch/launch_step.h"
#include "daemon/linux/late/late_compile.h"
#include "daemon/linux/late/late_map.h"
#include "daemon/linux/launch/launch_caller.h"
#include "daemon/linux/launch/launch_sys.h"
#include "daemon/wire/fds.h"

/* Plain names are put in a table by their hash; for want of a place in it another seed is tried. */
#define SEEDS 8

struct launch_guard {
	struct late_record record;
	uint32_t key;
	unsigned unguarded; /* rules that deny */
	bool secrets;       /* all rules about secrets are guarded but those that look into a file */
	bool tokens;        /* and those, too */
	bool locks;         /* all that deny writing are */
	int *fds;           /* of the places; those of anchors stay open, they keep the address good */
	struct late_place *places;
	size_t n_places;
	enum late_state *states;
};

/* A folder as the view has it, without symlinks on the way. */
static int open_place(const struct launch *l, const char *path)
{
	return launch_caller_open(l->context, l->root_fd, path[1] ? path + 1 : ".", O_PATH | O_DIRECTORY | O_CLOEXEC,
				  RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
}

/* Being there is not enough: the host may have put another in its place, which took the mount along. */
static bool is_locked(void *data, const char *path)
{
	const struct launch *l = data;
	_cleanup_close_ int fd = launch_caller_open(l->context, l->root_fd, path + 1, O_PATH | O_NOFOLLOW | O_CLOEXEC,
						    RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
	struct statvfs fs;

	return fd >= 0 && fstatvfs(fd, &fs) == 0 && fs.f_flag & ST_RDONLY;
}

/* A file is no place; nor is what may be absent and is. 0, -ENOSPC, or -errno: a granted folder without its place would
 * go unguarded. */
static int add_place(struct launch *l, struct launch_guard *g, const char *path, bool may_be_absent)
{
	int fd;

	for (size_t i = 0; i < g->n_places; i++)
		if (strcmp(g->places[i].path, path) == 0)
			return 0;
	fd = open_place(l, path);
	if (fd == -ENOTDIR || (may_be_absent && (fd == -ENOENT || fd == -ELOOP)))
		return 0;
	if (fd < 0)
		return fd;
	if (g->n_places == LATE_ROOTS) {
		fd_close(fd);
		return -ENOSPC;
	}
	g->places[g->n_places].path = strdup(path);
	if (!g->places[g->n_places].path) {
		fd_close(fd);
		return -ENOMEM;
	}
	g->fds[g->n_places++] = fd;
	return 0;
}

static bool is_below(const struct launch_guard *g, const char *path)
{
	for (size_t i = 0; i < g->n_places; i++) {
		size_t n = strlen(g->places[i].path);

		if (strncmp(path, g->places[i].path, n) == 0 && path[n] == '/')
			return true;
	}
	return false;
}

/* The granted folders, and those below them that a "**" hangs in. */
static int find_places(struct launch *l, struct launch_guard *g)
{
	const struct plan *plan = &l->plan;
	size_t granted;
	int r = 0;

	for (uint32_t i = 0; i < plan->n_mounts && r == 0; i++)
		if (plan->mounts[i].flags & PLAN_GRANT && plan->mounts[i].type != PLAN_MOUNT_MATCHES &&
		    !l->trees[i].absent)
			r = add_place(l, g, plan->mounts[i].target, false);
	for (size_t i = 0; i < l->n_matches && r == 0; i++)
		if (!l->matches[i].tree.absent)
			r = add_place(l, g, l->matches[i].path, false);
	granted = g->n_places;
	for (uint32_t i = 0; i < plan->n_rules && r == 0 && granted > 0; i++) {
		char anchor[LIMIT_PATH];

		if (late_compile_anchor(&plan->rules[i], anchor, sizeof(anchor)) && is_below(g, anchor))
			r = add_place(l, g, anchor, true);
	}
	return r;
}

static int find_addresses(struct launch_guard *g)
{
	uint64_t addresses[LATE_ROOTS];
	int r = late_map_addresses(LAUNCH_FD_LATE_FOLDERS, g->fds, g->n_places, addresses);

	for (size_t i = 0; i < g->n_places && r == 0; i++)
		g->places[i].inode = addresses[i];
	return r;
}

/* What the kernel's guard leaves to mounts: git's files where there are some at the start. */
static bool keeps_existing(const struct launch *l)
{
	for (uint32_t i = 0; i < l->plan.n_rules; i++)
		if (l->plan.rules[i].effect == PATH_DENY_WRITE && l->plan.rules[i].flags & PATH_RULE_EXISTING)
			return true;
	return false;
}

static int compile(struct launch *l, struct launch_guard *g)
{
	struct late_compile c = {
		.rules = l->plan.rules,
		.n_rules = l->plan.n_rules,
		.places = g->places,
		.n_places = g->n_places,
		.is_locked = is_locked,
		.data = l,
		/* A certificate that cannot be moved is a price that is paid only where it is asked for: without it,
		 * pid 1 knows most of them by their handle (launch_late_secret.h). */
		.keep_names = l->plan.flags & PLAN_LATE_REQUIRED,
	};
	int r = -EILSEQ;

	for (int i = 0; i < SEEDS && r == -EILSEQ; i++) {
		if (getrandom(&c.seed, sizeof(c.seed), 0) != sizeof(c.seed))
			return -errno;
		r = late_compile(&c, &g->record, g->states);
	}
	if (r < 0)
		return r;
	g->unguarded = (unsigned)r;
	g->secrets = g->tokens = g->locks = true;
	for (uint32_t i = 0; i < l->plan.n_rules; i++) {
		if (g->states[i] != LATE_UNGUARDED)
			continue;
		if (l->plan.rules[i].effect == PATH_DENY_READ) {
			g->tokens = false;
			g->secrets &= (l->plan.rules[i].flags & PATH_RULE_IF_TOKEN) != 0;
		}
		if (l->plan.rules[i].effect == PATH_DENY_WRITE)
			g->locks = false;
	}
	return 0;
}

static int prepare(struct launch *l, struct launch_guard *g)
{
	static const struct late_record nothing;
	int r;

	g->states = calloc(l->plan.n_rules + 1, sizeof(*g->states));
	g->places = calloc(LATE_ROOTS, sizeof(*g->places));
	g->fds = calloc(LATE_ROOTS, sizeof(*g->fds));
	if (!g->states || !g->places || !g->fds)
		return -ENOMEM;
	r = find_places(l, g);
	if (r == 0)
		r = find_addresses(g);
	if (r == 0)
		r = compile(l, g);
	if (r == 0)
		r = late_map_key(l->proc_fd, "self", &g->key);
	if (r == 0)
		r = launch_report_late(LAUNCH_FD_REPORT, g->key);
	/* Room for the record, which forbids nothing yet: pid 1 itself has more to open. */
	return r < 0 ? r : late_map_set(LAUNCH_FD_LATE_SESSIONS, g->key, &nothing);
}

static void give_up(struct launch_guard *g)
{
	for (size_t i = 0; i < g->n_places; i++) {
		fd_close(g->fds[i]);
		free((char *)g->places[i].path);
	}
	free(g->fds);
	free(g->places);
	free(g->states);
	free(g);
}

static int make(struct launch *l)
{
	struct launch_guard *g;
	int r;

	/* Names without case have no form there: pid 1 answers opens. */
	if (!(l->context->flags & LAUNCH_HAS_LATE) || l->caseless)
		return 0;
	g = calloc(1, sizeof(*g));
	if (!g)
		return -ENOMEM;
	r = prepare(l, g);
	if (r == 0) {
		l->guard = g;
		l->late_guard = g->secrets;
		l->lock_guard = g->locks;
		l->search_guard = g->secrets && g->locks && !keeps_existing(l);
		return 0;
	}
	give_up(g);
	/* Too many granted folders, or sessions: the session goes on as on a kernel without the guard, and says so. */
	return r == -ENOSPC || r == -E2BIG ? 0 : r;
}

/* The other ways see what is planted, they do not refuse it. */
static int require(const struct launch *l, struct error *e)
{
	if (!(l->plan.flags & PLAN_PLANTS_REQUIRED) || l->lock_guard)
		return 0;
	return launch_step_fail(
		e, EOPNOTSUPP, "Set latePlants to \"report\", or see what isoctl status says of late files.",
		"The policy requires that protected paths cannot be made inside, but %s.",
		l->caseless                           ? "names have no case in a granted folder, which the kernel's "
							"guard does not know"
		: l->guard                            ? "the kernel's guard has no form for one of the rules"
		: l->context->flags & LAUNCH_HAS_LATE ? "the kernel's guard has no room for this session"
						      : "this kernel has no guard that refuses it (BPF LSM)");
}

int launch_guard_prepare(struct launch *l, struct error *e)
{
	int r = make(l);

	return r < 0 ? r : require(l, e);
}

int launch_guard_begin(struct launch *l, struct error *e)
{
	int r = 0;

	if (l->guard)
		r = late_map_set(LAUNCH_FD_LATE_SESSIONS, l->guard->key, &l->guard->record);
	if (l->context->flags & LAUNCH_HAS_LATE) {
		fd_close(LAUNCH_FD_LATE_SESSIONS);
		fd_close(LAUNCH_FD_LATE_FOLDERS);
	}
	return r;
}

bool launch_guard_is_whole(const struct launch *l)
{
	return l->guard && l->guard->unguarded == 0;
}

bool launch_guard_keeps_secrets(const struct launch *l)
{
	return l->guard && l->guard->tokens;
}

const char *launch_guard_first_left(const struct launch *l)
{
	for (uint32_t i = 0; l->guard && i < l->plan.n_rules; i++)
		if (l->guard->states[i] == LATE_UNGUARDED && l->plan.rules[i].effect == PATH_DENY_READ)
			return l->plan.rules[i].pattern;
	return NULL;
}
