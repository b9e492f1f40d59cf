#include "daemon/wire/plan.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "view/protect.h"

/* Linux's own bound of a host name (__NEW_UTS_LEN). */
#define HOSTNAME_MAX 64
/* A string on the wire: its length and at least the NUL. */
#define STRING_WIRE_MIN 5
/* type, flags, mode, size, two strings */
#define MOUNT_WIRE_MIN (4 + 4 + 4 + 8 + 2 * STRING_WIRE_MIN)
/* effect, flags, group, pattern */
#define RULE_WIRE_MIN (4 + 4 + 4 + STRING_WIRE_MIN)
/* way, two ports */
#define PORT_WIRE_MIN (2 + 2 + 2)
#define MODE_ALL 01777u
#define UMASK_ALL 0777u
#define FLAGS_ALL                                                                                                      \
	(PLAN_PTY | PLAN_NESTING | PLAN_LATE_REQUIRED | PLAN_DEGRADED | PLAN_SSH | PLAN_PLANTS_REQUIRED | PLAN_GPG)

bool plan_path_is_clean(const char *path)
{
	const char *at = path;

	if (path[0] != '/' || strnlen(path, LIMIT_PATH) >= LIMIT_PATH)
		return false;
	if (path[1] == '\0')
		return true;
	while (*at == '/') {
		size_t len = strcspn(++at, "/");

		if (len == 0 || (len == 1 && at[0] == '.') || (len == 2 && at[0] == '.' && at[1] == '.'))
			return false;
		at += len;
	}
	return true;
}

static int append_string(struct buffer *b, const char *text)
{
	if (!text)
		text = "";
	return buffer_append_block(b, text, strlen(text) + 1);
}

static int append_strings(struct buffer *b, const char *const *list, uint32_t n)
{
	int r = 0;

	for (uint32_t i = 0; i < n && r == 0; i++)
		r = append_string(b, list[i]);
	return r;
}

static int append_mount(struct buffer *b, const struct plan_mount *m)
{
	int r = buffer_append_u32(b, m->type);

	if (r == 0)
		r = buffer_append_u32(b, m->flags);
	if (r == 0)
		r = buffer_append_u32(b, m->mode);
	if (r == 0)
		r = buffer_append_u64(b, m->size);
	if (r == 0)
		r = append_string(b, m->source);
	return r == 0 ? append_string(b, m->target) : r;
}

static int append_rule(struct buffer *b, const struct path_rule *rule)
{
	int r = buffer_append_u32(b, rule->effect);

	if (r == 0)
		r = buffer_append_u32(b, rule->flags);
	if (r == 0)
		r = buffer_append_u32(b, rule->group);
	return r == 0 ? append_string(b, rule->pattern) : r;
}

static int append_port(struct buffer *b, const struct plan_port *port)
{
	int r = buffer_append_u16(b, port->way);

	if (r == 0)
		r = buffer_append_u16(b, port->host);
	return r == 0 ? buffer_append_u16(b, port->inside) : r;
}

static int append_head(struct buffer *b, const struct plan *plan)
{
	const uint32_t numbers[] = { PLAN_MAGIC,   PLAN_VERSION, plan->uid,      plan->flags,   plan->umask,
				     plan->n_argv, plan->n_envp, plan->n_mounts, plan->n_rules, plan->n_ports };
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(numbers) && r == 0; i++)
		r = buffer_append_u32(b, numbers[i]);
	if (r == 0)
		r = buffer_append_u16(b, plan->rows);
	if (r == 0)
		r = buffer_append_u16(b, plan->columns);
	if (r == 0)
		r = append_string(b, plan->id);
	if (r == 0)
		r = append_string(b, plan->hostname);
	if (r == 0)
		r = append_string(b, plan->cwd);
	return r;
}

int plan_encode(const struct plan *plan, struct buffer *ret)
{
	size_t start = ret->len;
	int r = append_head(ret, plan);

	if (r == 0)
		r = append_strings(ret, plan->argv, plan->n_argv);
	if (r == 0)
		r = append_strings(ret, plan->envp, plan->n_envp);
	for (uint32_t i = 0; i < plan->n_mounts && r == 0; i++)
		r = append_mount(ret, &plan->mounts[i]);
	for (uint32_t i = 0; i < plan->n_rules && r == 0; i++)
		r = append_rule(ret, &plan->rules[i]);
	for (uint32_t i = 0; i < plan->n_ports && r == 0; i++)
		r = append_port(ret, &plan->ports[i]);
	if (r == 0 && ret->len - start > LIMIT_PLAN)
		r = -EMSGSIZE;
	if (r < 0)
		ret->len = start;
	return r;
}

static int bad(struct error *e, const char *format, ...) __attribute__((format(printf, 2, 3)));
static int bad(struct error *e, const char *format, ...)
{
	char text[ERROR_MESSAGE_MAX];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	return error_set(e, ERROR_INTERNAL, EBADMSG, "plan", NULL, "The plan of the session is malformed: %s.", text);
}

static bool id_is_valid(const char *id)
{
	return strlen(id) == ISOD_ID_LEN && strspn(id, "0123456789abcdef") == ISOD_ID_LEN;
}

static bool hostname_is_valid(const char *name)
{
	size_t len = strlen(name);

	return len >= 1 && len <= HOSTNAME_MAX &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.") == len;
}

static int decode_head(struct cursor *c, struct plan *p, struct error *e)
{
	uint32_t magic, version;

	if (cursor_u32(c, &magic) < 0 || magic != PLAN_MAGIC)
		return bad(e, "it does not begin as one");
	if (cursor_u32(c, &version) < 0 || version != PLAN_VERSION)
		return bad(e, "it has another version");
	if (cursor_u32(c, &p->uid) < 0 || cursor_u32(c, &p->flags) < 0 || cursor_u32(c, &p->umask) < 0 ||
	    cursor_u32(c, &p->n_argv) < 0 || cursor_u32(c, &p->n_envp) < 0 || cursor_u32(c, &p->n_mounts) < 0 ||
	    cursor_u32(c, &p->n_rules) < 0 || cursor_u32(c, &p->n_ports) < 0 || cursor_u16(c, &p->rows) < 0 ||
	    cursor_u16(c, &p->columns) < 0)
		return bad(e, "its head is cut");
	if (p->flags & ~(uint32_t)FLAGS_ALL)
		return bad(e, "unknown flags %#x", p->flags);
	if (p->umask & ~(uint32_t)UMASK_ALL)
		return bad(e, "the umask %#o", p->umask);
	if (p->n_argv < 1 || p->n_argv > LIMIT_PLAN_ARGS || p->n_envp > LIMIT_PLAN_ARGS)
		return bad(e, "%u arguments and %u variables", p->n_argv, p->n_envp);
	if (p->n_mounts > LIMIT_PLAN_MOUNTS)
		return bad(e, "%u mounts", p->n_mounts);
	if (p->n_rules > LIMIT_PLAN_RULES)
		return bad(e, "%u rules", p->n_rules);
	if (p->n_ports > LIMIT_PLAN_PORTS)
		return bad(e, "%u ports", p->n_ports);
	if (cursor_string(c, ISOD_ID_LEN + 1, &p->id) < 0 || !id_is_valid(p->id))
		return bad(e, "the session's id");
	if (cursor_string(c, HOSTNAME_MAX + 1, &p->hostname) < 0 || !hostname_is_valid(p->hostname))
		return bad(e, "the host name");
	if (cursor_string(c, LIMIT_PATH, &p->cwd) < 0 || !plan_path_is_clean(p->cwd))
		return bad(e, "the working directory");
	/* So that a short message cannot ask for a large array. */
	if ((size_t)(c->end - c->at) < ((size_t)p->n_argv + p->n_envp) * STRING_WIRE_MIN + //
					       (size_t)p->n_mounts * MOUNT_WIRE_MIN +
					       (size_t)p->n_rules * RULE_WIRE_MIN + (size_t)p->n_ports * PORT_WIRE_MIN)
		return bad(e, "it is shorter than its counts");
	return 0;
}

static int decode_argv(struct cursor *c, uint32_t n, const char **argv, struct error *e)
{
	for (uint32_t i = 0; i < n; i++)
		if (cursor_string(c, LIMIT_PLAN, &argv[i]) < 0)
			return bad(e, "argument %u", i);
	argv[n] = NULL;
	return n > 0 && argv[0] && argv[0][0] ? 0 : bad(e, "the command is empty");
}

static int decode_envp(struct cursor *c, uint32_t n, const char **envp, struct error *e)
{
	for (uint32_t i = 0; i < n; i++) {
		const char *equals;

		if (cursor_string(c, LIMIT_PLAN, &envp[i]) < 0)
			return bad(e, "variable %u", i);
		equals = strchr(envp[i], '=');
		if (!equals || equals == envp[i])
			return bad(e, "variable %u has no name", i);
	}
	envp[n] = NULL;
	return 0;
}

static int check_source(const struct plan_mount *m)
{
	switch (m->type) {
	case PLAN_MOUNT_BIND:
	case PLAN_MOUNT_OVERLAY:
	case PLAN_MOUNT_DEVICE:
	case PLAN_MOUNT_MATCHES:
		return m->source && plan_path_is_clean(m->source) ? 0 : -EBADMSG;
	case PLAN_MAKE_LINK:
		return m->source ? 0 : -EBADMSG;
	default:
		return m->source ? -EBADMSG : 0;
	}
}

/* Flags that mean something for a type; a plan that has others was not meant. */
static uint32_t flags_of(uint32_t type)
{
	switch (type) {
	case PLAN_MOUNT_BIND:
		return PLAN_MOUNT_FLAGS_ALL & ~(uint32_t)PLAN_KEEP;
	case PLAN_MOUNT_OVERLAY:
		return PLAN_MOUNT_FLAGS_ALL;
	case PLAN_MOUNT_MATCHES:
		return PLAN_READ_ONLY | PLAN_NOEXEC | PLAN_FOLLOW | PLAN_OPTIONAL | PLAN_GRANT;
	case PLAN_MOUNT_DEVICE:
		return PLAN_OPTIONAL;
	case PLAN_COVER:
	case PLAN_MAKE_SOCKET:
		return 0;
	case PLAN_LOCK:
		return PLAN_READ_ONLY;
	default:
		return PLAN_READ_ONLY | PLAN_NOEXEC | PLAN_OWNED;
	}
}

static bool device_is_sound(const struct plan_mount *m)
{
	return m->type != PLAN_MOUNT_DEVICE ||
	       (strncmp(m->target, "/dev/", 5) == 0 && strcmp(m->source, m->target) == 0);
}

static int decode_mount(struct cursor *c, uint32_t index, struct plan_mount *m, struct error *e)
{
	if (cursor_u32(c, &m->type) < 0 || m->type == 0 || m->type >= PLAN_MOUNT_TYPE_END)
		return bad(e, "the type of mount %u", index);
	if (cursor_u32(c, &m->flags) < 0 || m->flags & ~flags_of(m->type))
		return bad(e, "the flags of mount %u", index);
	if (cursor_u32(c, &m->mode) < 0 || m->mode & ~MODE_ALL)
		return bad(e, "the mode of mount %u", index);
	if (cursor_u64(c, &m->size) < 0 || (m->size != 0 && m->type != PLAN_MOUNT_TMPFS))
		return bad(e, "the size of mount %u", index);
	if (cursor_string(c, LIMIT_PATH, &m->source) < 0)
		return bad(e, "the source of mount %u", index);
	if (m->source[0] == '\0')
		m->source = NULL;
	if (check_source(m) < 0)
		return bad(e, "the source of mount %u", index);
	if (cursor_string(c, LIMIT_PATH, &m->target) < 0 || !plan_path_is_clean(m->target) || !m->target[1])
		return bad(e, "the target of mount %u", index);
	if (!device_is_sound(m))
		return bad(e, "the device of mount %u", index);
	if (m->type == PLAN_MAKE_SOCKET && strlen(m->target) >= LIMIT_UNIX_PATH)
		return bad(e, "the socket of mount %u", index);
	return 0;
}

static int decode_mounts(struct cursor *c, uint32_t n, struct plan_mount *mounts, struct error *e)
{
	bool project = false, kept = false;
	unsigned sockets = 0;

	for (uint32_t i = 0; i < n; i++) {
		int r = decode_mount(c, i, &mounts[i], e);

		if (r < 0)
			return r;
		if (mounts[i].flags & PLAN_PROJECT && project)
			return bad(e, "mount %u is a second project root", i);
		if (mounts[i].flags & PLAN_KEEP && kept)
			return bad(e, "mount %u is a second layer to be kept", i);
		if (mounts[i].type == PLAN_MAKE_SOCKET && ++sockets > LIMIT_UNIX_SOCKETS)
			return bad(e, "mount %u is one socket too many", i);
		project |= (mounts[i].flags & PLAN_PROJECT) != 0;
		kept |= (mounts[i].flags & PLAN_KEEP) != 0;
	}
	return 0;
}

static int decode_rules(struct cursor *c, uint32_t n, struct path_rule *rules, struct error *e)
{
	for (uint32_t i = 0; i < n; i++) {
		struct path_rule *rule = &rules[i];

		if (cursor_u32(c, &rule->effect) < 0 || rule->effect == 0 || rule->effect >= PATH_EFFECT_END ||
		    cursor_u32(c, &rule->flags) < 0 || rule->flags & ~(uint32_t)PATH_RULE_FLAGS_ALL ||
		    cursor_u32(c, &rule->group) < 0 || rule->group >= PROTECT_GROUP_COUNT ||
		    cursor_string(c, LIMIT_PATH, &rule->pattern) < 0 || !plan_path_is_clean(rule->pattern))
			return bad(e, "rule %u", i);
	}
	return 0;
}

static bool port_is_sound(const struct plan_port *p)
{
	if (p->inside == 0)
		return false;
	return p->way == PLAN_PORT_OUT ? p->host == p->inside : p->host == 0 || p->host >= PLAN_PORT_MIN;
}

/* Two listeners of one number on one side, or a server inside where a listener of ours is to be. */
static bool ports_meet(const struct plan_port *a, const struct plan_port *b)
{
	if (a->way == b->way)
		return a->host != 0 && a->host == b->host;
	return a->inside == b->inside;
}

static int decode_ports(struct cursor *c, uint32_t n, struct plan_port *ports, struct error *e)
{
	for (uint32_t i = 0; i < n; i++) {
		if (cursor_u16(c, &ports[i].way) < 0 || ports[i].way == 0 || ports[i].way >= PLAN_PORT_WAY_END ||
		    cursor_u16(c, &ports[i].host) < 0 || cursor_u16(c, &ports[i].inside) < 0 ||
		    !port_is_sound(&ports[i]))
			return bad(e, "port %u", i);
		for (uint32_t k = 0; k < i; k++)
			if (ports_meet(&ports[i], &ports[k]))
				return bad(e, "port %u is there twice", i);
	}
	return 0;
}

int plan_decode(const void *data, size_t len, struct plan *ret, void **ret_block, struct error *e)
{
	struct cursor c = { .at = data, .end = (const uint8_t *)data + len };
	struct plan p = { 0 };
	_cleanup_free_ void *block = NULL;
	struct plan_mount *mounts;
	struct path_rule *rules;
	struct plan_port *ports;
	const char **argv, **envp;
	int r;

	if (len > LIMIT_PLAN)
		return bad(e, "%zu bytes", len);
	r = decode_head(&c, &p, e);
	if (r < 0)
		return r;
	/* The mounts first: they have the strictest alignment. */
	block = calloc(1, p.n_mounts * sizeof(*mounts) + p.n_rules * sizeof(*rules) +
				  ((size_t)p.n_argv + p.n_envp + 2) * sizeof(char *) + p.n_ports * sizeof(*ports));
	if (!block)
		return -ENOMEM;
	mounts = block;
	rules = (struct path_rule *)(mounts + p.n_mounts);
	argv = (const char **)(rules + p.n_rules);
	envp = argv + p.n_argv + 1;
	ports = (struct plan_port *)(envp + p.n_envp + 1);
	r = decode_argv(&c, p.n_argv, argv, e);
	if (r == 0)
		r = decode_envp(&c, p.n_envp, envp, e);
	if (r == 0)
		r = decode_mounts(&c, p.n_mounts, mounts, e);
	if (r == 0)
		r = decode_rules(&c, p.n_rules, rules, e);
	if (r == 0)
		r = decode_ports(&c, p.n_ports, ports, e);
	if (r < 0)
		return r;
	if (c.at != c.end)
		return bad(e, "bytes follow its end");
	p.argv = argv;
	p.envp = envp;
	p.mounts = mounts;
	p.rules = rules;
	p.ports = ports;
	*ret = p;
	*ret_block = take_ptr(block);
	return 0;
}
