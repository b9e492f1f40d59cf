#include "plan_case.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "policy/policy.h"

static const struct view_probe merged_usr = {
	.roots = {
		{ "/bin", "usr/bin", true },
		{ "/sbin", "usr/sbin", true },
		{ "/lib", "usr/lib", true },
		{ "/lib32", "", false },
		{ "/lib64", "usr/lib64", true },
		{ "/libx32", "", false },
	},
};

static const struct view_probe split_usr = {
	.roots = {
		{ "/bin", "", true },
		{ "/sbin", "", true },
		{ "/lib", "", true },
		{ "/lib32", "", false },
		{ "/lib64", "", true },
		{ "/libx32", "", false },
	},
};

/* Without the built-in tables, which have tests of their own and change often. */
static void plain_policy(char *ret, size_t size)
{
	size_t n = (size_t)snprintf(ret, size, "{\"sandbox\":{\"filesystem\":{\"toolchains\":false,\"caches\":false");

	for (unsigned i = 1; i < PROTECT_GROUP_COUNT; i++)
		n += (size_t)snprintf(ret + n, size - n, "%s\"%s\":false", i == 1 ? ",\"protect\":{" : ",",
				      protect_names[i].name);
	snprintf(ret + n, size - n, "}}}}");
}

int plan_case_build(const struct plan_case *t, struct plan_built *ret, struct error *e)
{
	_cleanup_caller_ struct caller caller = CALLER_INIT;
	static const char *const argv[] = { "claude", "-p", "two words", NULL };
	struct run_parameters run = { .cwd = t->cwd, .pwd = t->pwd };
	char plain[2048];
	const struct {
		enum policy_layer_kind kind;
		const char *path, *text;
	} texts[] = { { POLICY_ADMINISTRATOR, "/etc/isod/policy.json", t->administrator },
		      { POLICY_USER, "/user.json", t->toolchains ? NULL : plain },
		      { POLICY_COMMAND_LINE, "/policy.json", t->policy } };
	struct policy_input layers[ARRAY_SIZE(texts)];
	size_t n_layers = 0;
	struct policy policy = { 0 };
	struct plan_input input = { .id = "0123456789ab",
				    .caller = &caller,
				    .run = &run,
				    .policy = &policy,
				    .probe = t->split_usr ? &split_usr : &merged_usr };
	const char *named[5] = { NULL };
	int r;

	run.argv = (struct json_strings){ argv, 3 };
	while (run.links.count < ARRAY_SIZE(t->links) && t->links[run.links.count].path)
		run.links.count++;
	run.links.items = (void *)t->links;
	while (run.env.count < ARRAY_SIZE(t->env) && t->env[run.env.count].name)
		run.env.count++;
	run.env.items = (void *)t->env;
	while (run.named.count < ARRAY_SIZE(t->named) && t->named[run.named.count]) {
		named[run.named.count] = t->named[run.named.count];
		run.named.count++;
	}
	run.named.items = named;
	run.has_terminal = t->terminal;
	run.has_umask = t->umask != 0;
	run.umask = t->umask;
	run.terminal = (struct schema_terminal){ 24, 80 };
	assert_int_equal(caller_set(&caller, t->uid, t->uid, t->user, t->home, "/bin/bash"), 0);
	plain_policy(plain, sizeof(plain));
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (texts[i].text)
			layers[n_layers++] = (struct policy_input){ .layer = texts[i].kind,
								    .path = texts[i].path,
								    .text = texts[i].text,
								    .len = strlen(texts[i].text) };
	r = policy_load(layers, n_layers, &policy, e);
	if (r == 0)
		r = plan_build(&input, ret, e);
	/* The plan's cwd and id are the request's, which outlives it here. */
	policy_done(&policy);
	return r;
}

static void dump_mount(const struct plan_mount *m, struct buffer *ret)
{
	static const char *const types[] = {
		[PLAN_MOUNT_BIND] = "bind",       [PLAN_MOUNT_TMPFS] = "tmpfs",   [PLAN_MOUNT_PROC] = "proc",
		[PLAN_MOUNT_DEV] = "dev",         [PLAN_MOUNT_SYS] = "sys",       [PLAN_MOUNT_ETC] = "etc",
		[PLAN_MOUNT_SCRATCH] = "scratch", [PLAN_MAKE_DIR] = "dir",        [PLAN_MAKE_LINK] = "link",
		[PLAN_MOUNT_OVERLAY] = "overlay", [PLAN_MOUNT_DEVICE] = "device", [PLAN_MOUNT_MATCHES] = "matches",
		[PLAN_COVER] = "cover",           [PLAN_LOCK] = "lock",           [PLAN_MAKE_SOCKET] = "socket",
	};
	static const char *const flags[] = {
		"ro", "noexec", "follow", "optional", "owned", "project", "grant", "keep"
	};

	buffer_printf(ret, "%-7s %s", types[m->type], m->target);
	if (m->source && (m->type == PLAN_MAKE_LINK || strcmp(m->source, m->target) != 0))
		buffer_printf(ret, " <- %s", m->source);
	if (m->mode)
		buffer_printf(ret, " %04o", m->mode);
	if (m->size)
		buffer_printf(ret, " size=%llu", (unsigned long long)m->size);
	for (size_t i = 0; i < ARRAY_SIZE(flags); i++)
		if (m->flags & 1U << i)
			buffer_printf(ret, " %s", flags[i]);
	buffer_append_string(ret, "\n");
}

/* Those of the built-in tables have tests of their own. */
static void dump_rules(const struct plan *p, struct buffer *ret)
{
	static const char *const effects[] = { "",          "allow-read", "allow-write", "overlay",
					       "deny-read", "deny-write", "exempt" };

	for (uint32_t i = 0; i < p->n_rules; i++)
		if (!(p->rules[i].flags & PATH_RULE_BUILT_IN))
			buffer_printf(ret, "rule %s %s\n", effects[p->rules[i].effect], p->rules[i].pattern);
}

void plan_case_dump(const struct plan_built *b, struct buffer *ret)
{
	const struct plan *p = &b->plan;

	for (uint32_t i = 0; i < p->n_mounts; i++)
		dump_mount(&p->mounts[i], ret);
	buffer_printf(ret, "\nuid %u\nid %s\nhostname %s\ncwd %s\n", p->uid, p->id, p->hostname, p->cwd);
	if (p->flags & PLAN_PTY)
		buffer_printf(ret, "pty %ux%u\n", p->columns, p->rows);
	if (p->flags & PLAN_NESTING)
		buffer_append_string(ret, "nesting\n");
	if (p->flags & PLAN_LATE_REQUIRED)
		buffer_append_string(ret, "late required\n");
	if (p->flags & PLAN_PLANTS_REQUIRED)
		buffer_append_string(ret, "plants required\n");
	if (p->flags & PLAN_DEGRADED)
		buffer_append_string(ret, "degraded\n");
	dump_rules(p, ret);
	if (p->umask != 022)
		buffer_printf(ret, "umask %03o\n", p->umask);
	for (uint32_t i = 0; i < p->n_argv; i++)
		buffer_printf(ret, "arg %s\n", p->argv[i]);
	for (uint32_t i = 0; i < p->n_envp; i++)
		buffer_printf(ret, "env %s\n", p->envp[i]);
	for (size_t i = 0; i < b->notes.count; i++)
		buffer_printf(ret, "note %s\n", b->notes.items[i]);
	for (size_t i = 0; i < b->lacking.count; i++)
		buffer_printf(ret, "lacking %s\n", b->lacking.items[i]);
}
