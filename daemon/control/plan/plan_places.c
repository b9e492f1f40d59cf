#include "daemon/control/plan/plan_places.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "daemon/control/plan/plan_mounts.h"
#include "daemon/control/plan/view_paths.h"
#include "view/path_pattern.h"

/* What a session sees without a rule: enum path_access, or an /etc that is not the host's. */
#define SEEN_OWN_ETC (PATH_WRITABLE + 1)

/* A path of at most LIMIT_PATH bytes has at most so many folders. */
#define DEPTH_MAX (LIMIT_PATH / 2)

/* A rule and the path that it names, or the folder that holds all matches of its wildcards. */
struct name {
	const char *path;
	uint32_t rule;
};

struct place {
	const char *path; /* the first len bytes of it */
	uint32_t len;
	uint32_t grant;      /* the allow rule that names it, or PATH_NO_RULE */
	int before, now;     /* enum path_access or SEEN_OWN_ETC: what the folder around gives, what the rules say */
	int below;           /* what it gives to what is in it */
	bool ask_as_folder;  /* now is what holds for a file; below is not known yet */
	bool has_denial;     /* a rule that names it denies something */
	bool cover_if_token; /* it is granted, but not where it holds a secret */
	uint32_t later, later_flags; /* cover or lock that comes after the searches */
	bool leads_to_denial;        /* a folder on the way to a place that must not be replaced */
};

struct tree {
	const struct plan_input *in;
	const struct plan_rules *rules;
	struct plan_built *built;
	struct error *e;
	struct name *names;
	size_t n_names;
	struct name *wild; /* allow rules with wildcards, with their base */
	size_t n_wild;
	struct place *places;
	size_t n_places, room;
	uint32_t stack[DEPTH_MAX]; /* the places around the present one */
	size_t depth;
	char at[LIMIT_PATH];
};

static int no_memory(const struct tree *t)
{
	return error_set(t->e, ERROR_INTERNAL, ENOMEM, "plan", NULL, "There is no memory left.");
}

static bool is_grant(const struct path_rule *rule)
{
	return rule->effect == PATH_ALLOW_READ || rule->effect == PATH_ALLOW_WRITE || rule->effect == PATH_OVERLAY;
}

/* The end before "/", "/" before all other bytes: each folder is followed by what is in it. */
static int compare_names(const void *a, const void *b)
{
	const char *x = ((const struct name *)a)->path, *y = ((const struct name *)b)->path;
	int p, q;

	while (*x && *x == *y) {
		x++;
		y++;
	}
	p = *x == '/' ? 1 : *x ? (unsigned char)*x + 1 : 0;
	q = *y == '/' ? 1 : *y ? (unsigned char)*y + 1 : 0;
	return p - q;
}

static int add_device(struct tree *t, const char *pattern)
{
	const char *path = path_pattern_is_literal(pattern) ? plan_rules_path(pattern, &t->built->texts) : pattern;

	if (!path)
		return no_memory(t);
	return plan_mounts_add(t->built,
			       &(struct plan_mount){ .type = PLAN_MOUNT_DEVICE, .source = path, .target = path }, t->e);
}

static int add_wild(struct tree *t, uint32_t rule)
{
	const char *base = plan_rules_base(t->rules->rules[rule].pattern, &t->built->texts);

	if (!base)
		return no_memory(t);
	if (t->n_wild == LIMIT_PLAN_SEARCHES)
		return error_set(t->e, ERROR_LIMIT, E2BIG, "filesystem rules", "Name the folders that hold the files.",
				 "More than %d rules with wildcards allow something.", LIMIT_PLAN_SEARCHES);
	t->wild[t->n_wild++] = (struct name){ .path = base, .rule = rule };
	return 0;
}

static int collect(struct tree *t)
{
	int r = 0;

	t->names = calloc(t->rules->n + 1, sizeof(*t->names));
	t->wild = calloc(LIMIT_PLAN_SEARCHES, sizeof(*t->wild));
	if (!t->names || !t->wild)
		return no_memory(t);
	for (uint32_t i = 0; i < t->rules->n && r == 0; i++) {
		const struct path_rule *rule = &t->rules->rules[i];

		if (t->rules->sources[i].kind == POLICY_RULE_DEVICE) {
			r = add_device(t, rule->pattern);
		} else if (path_pattern_is_literal(rule->pattern)) {
			const char *path = plan_rules_path(rule->pattern, &t->built->texts);

			if (!path)
				return no_memory(t);
			if (rule->effect != PATH_EXEMPT)
				t->names[t->n_names++] = (struct name){ .path = path, .rule = i };
		} else if (is_grant(rule)) {
			r = add_wild(t, i);
		}
	}
	qsort(t->names, t->n_names, sizeof(*t->names), compare_names);
	return r;
}

/* What the system's part of the view shows of the host at path. */
static int seen_of_system(const struct tree *t, const char *path)
{
	static const char *const shown[] = {
		"/usr", "/opt", "/nix/store", "/gnu/store", "/var/lib/ca-certificates", "/run/current-system"
	};

	for (size_t i = 0; i < ARRAY_SIZE(shown); i++)
		if (view_path_is_within(path, shown[i]))
			return PATH_READABLE;
	for (int i = 0; i < VIEW_PROBE_ROOTS; i++)
		if (t->in->probe->roots[i].exists && view_path_is_within(path, t->in->probe->roots[i].path))
			return PATH_READABLE;
	return view_path_is_within(path, "/etc") ? SEEN_OWN_ETC : PATH_ABSENT;
}

static bool is_about_files(const struct tree *t, uint32_t rule)
{
	return rule != PATH_NO_RULE && t->rules->rules[rule].flags & (PATH_RULE_FILES_ONLY | PATH_RULE_IF_TOKEN);
}

/* Asks the rules about the path in t->at. *ret_about_files: for a folder they would say something else, perhaps. */
static int ask(struct tree *t, enum path_kind kind, bool *ret_about_files)
{
	struct path_verdict v;

	path_rules_decide(t->rules->compiled, t->at, kind, &v);
	if (ret_about_files)
		*ret_about_files = is_about_files(t, v.read_rule) || is_about_files(t, v.write_rule);
	return (int)v.access;
}

static int below_of(struct tree *t, struct place *p)
{
	if (p->ask_as_folder) {
		char next = t->at[p->len];
		int now;

		t->at[p->len] = '\0';
		now = ask(t, PATH_FOLDER, NULL);
		p->below = now == PATH_ABSENT ? seen_of_system(t, t->at) : now;
		t->at[p->len] = next;
		p->ask_as_folder = false;
	}
	return p->below;
}

/* Pushes the place of the first len bytes of t->at, which is terminated there. */
static struct place *push(struct tree *t, const char *path, size_t len, enum path_kind kind)
{
	struct place *p;
	int before = t->depth > 0 ? below_of(t, &t->places[t->stack[t->depth - 1]]) : PATH_ABSENT;

	if (t->n_places == t->room) {
		size_t room = t->room ? t->room * 2 : 256;
		struct place *more = reallocarray(t->places, room, sizeof(*more));

		if (!more)
			return NULL;
		t->places = more;
		t->room = room;
	}
	p = &t->places[t->n_places];
	*p = (struct place){ .path = path, .len = (uint32_t)len, .grant = PATH_NO_RULE, .before = before };
	p->now = ask(t, kind, &p->ask_as_folder);
	p->below = p->now == PATH_ABSENT ? seen_of_system(t, t->at) : p->now;
	t->stack[t->depth++] = (uint32_t)t->n_places++;
	return p;
}

static bool is_around(const struct place *p, const char *path)
{
	return strncmp(p->path, path, p->len) == 0 && path[p->len] == '/';
}

static bool is_covered(const struct place *p)
{
	return p->now == PATH_DENIED && p->before != PATH_ABSENT;
}

/* Writing ends here by a denial, not by a grant that only reads. */
static bool is_locked(const struct place *p)
{
	return p->now == PATH_READABLE && p->grant == PATH_NO_RULE &&
	       (p->before == PATH_WRITABLE || p->before == PATH_OVERLAID);
}

static void note_names(struct tree *t, struct place *p, const struct name *names, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct path_rule *rule = &t->rules->rules[names[i].rule];

		if (!is_grant(rule))
			p->has_denial = true;
		else if (p->grant == PATH_NO_RULE || !(rule->flags & PATH_RULE_BUILT_IN))
			p->grant = names[i].rule;
	}
	if (p->now == PATH_DENIED && p->grant != PATH_NO_RULE) {
		int without = ask(t, PATH_FILE_WITHOUT_TOKEN, NULL);

		p->cover_if_token = without != PATH_DENIED;
		p->now = without;
	}
	if (!p->has_denial || !(is_covered(p) || is_locked(p) || p->cover_if_token))
		return;
	for (size_t i = t->depth - 1; i-- > 0 && !t->places[t->stack[i]].leads_to_denial;)
		t->places[t->stack[i]].leads_to_denial = true;
}

/* All names of one path. */
static int visit(struct tree *t, const struct name *names, size_t n)
{
	const char *path = names[0].path;
	size_t len = strlen(path), at = 0;
	struct place *p;

	while (t->depth > 0 && !is_around(&t->places[t->stack[t->depth - 1]], path))
		t->depth--;
	if (t->depth > 0)
		at = t->places[t->stack[t->depth - 1]].len;
	memcpy(t->at, path, len + 1);
	for (size_t end = at + 1 + strcspn(path + at + 1, "/"); end < len; end += 1 + strcspn(path + end + 1, "/")) {
		t->at[end] = '\0';
		p = push(t, path, end, PATH_FOLDER);
		t->at[end] = '/';
		if (!p)
			return no_memory(t);
	}
	p = push(t, path, len, PATH_ANY);
	if (!p)
		return no_memory(t);
	note_names(t, p, names, n);
	return 0;
}

static const char *text_of(struct tree *t, const struct place *p)
{
	if (p->path[p->len] == '\0')
		return p->path;
	return string_list_printf(&t->built->texts, "%.*s", (int)p->len, p->path);
}

/* Where a rule with wildcards stands for the place, or for a folder around it. */
static bool may_be_matched(const struct tree *t, const char *path)
{
	for (size_t i = 0; i < t->n_wild; i++)
		if (path_rules_depth(t->rules->compiled, t->wild[i].rule, path) > 0)
			return true;
	return false;
}

static int add_search(struct tree *t, const struct name *wild)
{
	const struct path_rule *rule = &t->rules->rules[wild->rule];
	struct plan_mount m = {
		.type = PLAN_MOUNT_MATCHES, .flags = PLAN_OPTIONAL, .source = rule->pattern, .target = wild->path
	};

	if (rule->effect == PATH_ALLOW_READ)
		m.flags |= PLAN_READ_ONLY;
	if (!(rule->flags & PATH_RULE_BUILT_IN))
		m.flags |= PLAN_GRANT;
	return plan_mounts_add(t->built, &m, t->e);
}

static int add_grant(struct tree *t, const struct place *p, const char *path)
{
	const struct path_rule *rule = &t->rules->rules[p->grant];
	struct plan_mount m = { .type = PLAN_MOUNT_BIND, .source = path, .target = path };

	if (p->now == PATH_OVERLAID)
		m.type = PLAN_MOUNT_OVERLAY;
	if (p->now == PATH_READABLE)
		m.flags |= PLAN_READ_ONLY;
	if (!(rule->flags & PATH_RULE_BUILT_IN))
		m.flags |= PLAN_GRANT;
	if (strcmp(path, t->rules->project) == 0)
		m.flags |= PLAN_PROJECT | PLAN_GRANT |
			   (m.type == PLAN_MOUNT_OVERLAY && t->in->policy->overlay_project.on ? PLAN_KEEP : 0);
	else
		/* What is not there is not seen: a grant that comes and goes is no reason not to start. */
		m.flags |= PLAN_FOLLOW | PLAN_OPTIONAL;
	return plan_mounts_add(t->built, &m, t->e);
}

static int refuse_project(const struct tree *t)
{
	return error_set(t->e, ERROR_POLICY, EPERM, "project folder",
			 "Take the rule out, or change to another folder (isoctl policy explain shows the rule).",
			 "A rule of the policy denies reading the project folder %s.", t->rules->project);
}

/* What lies over the place, if anything, is 0 for nothing. */
static struct plan_mount mount_of(const struct tree *t, const struct place *p, bool is_project)
{
	bool differs = p->now != p->before;

	if (is_covered(p) && differs)
		return (struct plan_mount){ .type = PLAN_COVER };
	if (p->grant != PATH_NO_RULE && (differs || is_project) && p->now != PATH_DENIED)
		return (struct plan_mount){ .type = PLAN_MOUNT_BIND };
	if (is_locked(p))
		return (struct plan_mount){ .type = PLAN_LOCK, .flags = PLAN_READ_ONLY };
	if (p->leads_to_denial && (p->before == PATH_WRITABLE || p->before == PATH_OVERLAID))
		return (struct plan_mount){ .type = PLAN_LOCK };
	return (struct plan_mount){ 0 };
}

static int add_place(struct tree *t, struct place *p)
{
	bool is_project = p->len == strlen(t->rules->project) && memcmp(p->path, t->rules->project, p->len) == 0;
	struct plan_mount m = mount_of(t, p, is_project);

	if (is_project && p->now == PATH_DENIED)
		return refuse_project(t);
	if (m.type == 0)
		return 0;
	m.target = text_of(t, p);
	if (!m.target)
		return no_memory(t);
	if (m.type == PLAN_MOUNT_BIND) {
		int r = add_grant(t, p, m.target);

		m = (struct plan_mount){ .type = PLAN_COVER, .target = m.target };
		if (r < 0 || !p->cover_if_token)
			return r;
	}
	if (!may_be_matched(t, m.target))
		return plan_mounts_add(t->built, &m, t->e);
	p->later = m.type;
	p->later_flags = m.flags;
	return 0;
}

/* What may lie in a match is there only after the searches. */
static int add_later(struct tree *t, const struct place *p)
{
	const char *target = p->later ? text_of(t, p) : NULL;

	if (!p->later)
		return 0;
	return target ? plan_mounts_add(
				t->built,
				&(struct plan_mount){ .type = p->later, .flags = p->later_flags, .target = target },
				t->e)
		      : no_memory(t);
}

static int add_all(struct tree *t)
{
	int r = 0;

	for (size_t i = 0; i < t->n_places && r == 0; i++)
		r = add_place(t, &t->places[i]);
	for (size_t i = 0; i < t->n_wild && r == 0; i++)
		r = add_search(t, &t->wild[i]);
	for (size_t i = 0; i < t->n_places && r == 0; i++)
		r = add_later(t, &t->places[i]);
	return r;
}

static void done(struct tree **t)
{
	if (!*t)
		return;
	free((*t)->names);
	free((*t)->wild);
	free((*t)->places);
	free(*t);
}

int plan_places_build(const struct plan_input *in, const struct plan_rules *rules, struct plan_built *built,
		      struct error *e)
{
	__attribute__((cleanup(done))) struct tree *t = calloc(1, sizeof(*t));
	int r;

	if (!t)
		return error_set(e, ERROR_INTERNAL, ENOMEM, "plan", NULL, "There is no memory left.");
	t->in = in;
	t->rules = rules;
	t->built = built;
	t->e = e;
	r = collect(t);
	for (size_t i = 0, next; i < t->n_names && r == 0 && !path_rules_is_spent(rules->compiled); i = next) {
		for (next = i + 1; next < t->n_names && strcmp(t->names[next].path, t->names[i].path) == 0; next++)
			;
		r = visit(t, &t->names[i], next - i);
	}
	if (r == 0)
		r = plan_rules_check_work(rules->compiled, e);
	if (r == 0)
		r = add_all(t);
	return r < 0 ? r : plan_rules_check_work(rules->compiled, e);
}
