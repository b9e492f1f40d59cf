#ifndef ISOD_VIEW_PATH_RULES_H
#define ISOD_VIEW_PATH_RULES_H
/*
 * The one evaluator of the file view: what may be done to a path. Used by isod-control (plan, policy test, explain), by
 * isod-launch (what to cover, what pid 1 refuses later) and by the tests. Pure; linked into privileged programs, so it
 * reads no syntax but that of path_pattern.h.
 *
 * For a path each rule either takes hold at some depth (path_pattern_depth) or not. Of those that do, in this order:
 *   1. the deepest wins ("most specific");
 *   2. at equal depth deny beats allow, and write beats read among allows;
 *   3. but an allow whose last component is literal beats a built-in protection that is as deep (he who wrote it has
 * named the very file), and a PATH_EXEMPT takes the built-in protections away that are no deeper than it.
 * Reading and writing are decided apart: what denies reading denies writing too; PATH_ALLOW_READ says "read, do not
 * write". Without a rule that holds, the path is absent. Built-in protections are about what is granted: where no allow
 * holds at any depth, they say nothing ("*.pem" is not about the system's certificates nor the session's own /tmp).
 *
 * A file whose read_rule has PATH_RULE_IF_TOKEN: look into it, and ask again with PATH_FILE_WITHOUT_TOKEN where it
 * holds none.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum path_effect {
	PATH_ALLOW_READ = 1,
	PATH_ALLOW_WRITE, /* and read */
	PATH_OVERLAY,     /* read from the host, written to a layer of the session */
	PATH_DENY_READ,   /* and write */
	PATH_DENY_WRITE,
	PATH_EXEMPT, /* built-in only: no built-in protection here (.env.example) */
	PATH_EFFECT_END
};

enum path_rule_flags {
	PATH_RULE_BUILT_IN = 1 << 0,   /* a protection, which has a switch: .group says which */
	PATH_RULE_FILES_ONLY = 1 << 1, /* not for folders (.env is also a usual name of a Python environment) */
	PATH_RULE_OPTIONAL = 1 << 2,   /* a grant: what is not there is no error (tool chains, caches) */
	/* Holds only for a file whose first bytes show a secret (view/path_token.h): .npmrc is needed by npm, *.key is
	 * an ending of many things. */
	PATH_RULE_IF_TOKEN = 1 << 3,
	/* About what is there at the start: git makes such names itself (worktree add). A new one is reported, not
	 * refused. */
	PATH_RULE_EXISTING = 1 << 4,
	PATH_RULE_FLAGS_ALL = (1 << 5) - 1
};

struct path_rule {
	uint32_t effect;     /* enum path_effect */
	uint32_t flags;      /* enum path_rule_flags */
	uint32_t group;      /* enum protect_group (view/protect.h) of a protection, else 0 */
	const char *pattern; /* view/path_pattern.h; a plain path is escaped, too */
};

enum path_kind {
	PATH_ANY,
	PATH_FILE,
	PATH_FOLDER,
	PATH_FILE_WITHOUT_TOKEN /* a file that was looked into: rules with PATH_RULE_IF_TOKEN do not hold */
};

enum path_access { PATH_ABSENT, PATH_DENIED, PATH_READABLE, PATH_OVERLAID, PATH_WRITABLE };

#define PATH_NO_RULE UINT32_MAX

struct path_verdict {
	enum path_access access;
	uint32_t read_rule; /* index of the rule that decided, PATH_NO_RULE = none holds */
	uint32_t write_rule;
	/* A literal component of a deny rule after its last "**", not its last one, stands for the path (".git" of
	 * "**" + "/.git/hooks"): a folder that must not be renamed away. */
	bool keep;
};

struct path_rules; /* compiled: literal rules are found by binary search, patterns by their last literal component */

/* Borrows rules and their patterns. 0, -ENOMEM, -EINVAL where an effect, a flag or a pattern (clean, absolute, at most
 * LIMIT_PATTERN_PARTS) is none. */
int path_rules_new(const struct path_rule *rules, size_t n, struct path_rules **ret);
/* The same, for folders whose file system compares names without case: all names are compared folded
 * (view/path_fold.h), those of folders above, too. */
int path_rules_new_folding(const struct path_rule *rules, size_t n, struct path_rules **ret);
struct path_rules *path_rules_free(struct path_rules *r);
static inline void path_rules_cleanup(struct path_rules **r)
{
	*r = path_rules_free(*r);
}
#define _cleanup_path_rules_ __attribute__((cleanup(path_rules_cleanup)))

/*
 * For isod-control, which has one thread for all: at most so many bytes are compared from now on. Once that is spent,
 * verdicts say that no rule holds: they must not be used. Without a call there is no bound.
 */
void path_rules_bound(struct path_rules *r, uint64_t work);
bool path_rules_is_spent(const struct path_rules *r);

size_t path_rules_count(const struct path_rules *r);
const struct path_rule *path_rules_get(const struct path_rules *r, size_t i);

/* How deep in path rule i takes hold, whatever else does: path_pattern_depth(); 0 once the bound is spent. */
unsigned path_rules_depth(const struct path_rules *r, size_t i, const char *path);

/* path: clean, absolute. No allocation; microseconds with 10,000 literal rules and 100 patterns. */
void path_rules_decide(const struct path_rules *r, const char *path, enum path_kind kind, struct path_verdict *ret);

/* What the rules say of all names in a folder: asked once, so that each name costs a fraction. */
struct path_choice {
	unsigned depth; /* 0: none */
	unsigned rank;
	uint32_t rule;
};

struct path_found {
	unsigned exempt; /* depth of the deepest PATH_EXEMPT */
	bool granted;    /* some allow holds */
	struct path_choice best[2], protection[2];
};

struct path_folder {
	struct path_found found;
	uint64_t every; /* patterns that match all in it (view/path_index.h) */
	size_t len;     /* of the path, that of "/" being 0 */
	unsigned depth;
};

void path_rules_enter(const struct path_rules *r, const char *folder, struct path_folder *ret);
/* path_rules_decide() of a path in that folder: the folder's, a slash and one name. */
void path_rules_decide_in(const struct path_rules *r, const struct path_folder *folder, const char *path,
			  enum path_kind kind, struct path_verdict *ret);

/* For people: one rule that holds for a path. */
struct path_holding {
	uint32_t rule;
	unsigned depth;    /* parts of the path that its pattern matches */
	unsigned strength; /* among those as deep */
	bool set_aside;    /* a protection that a PATH_EXEMPT takes away, or of a place that nothing grants */
};

/* All of them, the strongest first; ret has room for path_rules_count(). Returns how many. Slow: tries every rule. */
size_t path_rules_holding(const struct path_rules *r, const char *path, enum path_kind kind, struct path_holding *ret);

/* Could a rule with a wildcard say something about a path below folder that it does not say about folder itself? False:
 * the walk may stop here. */
bool path_rules_concern_below(const struct path_rules *r, const char *folder);

#endif
