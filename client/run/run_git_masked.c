#include "client/run/run_git_masked.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "git/git_index.h"
#include "git/git_path.h"
#include "policy/policy_rules.h"
#include "view/path_rules.h"

#define INDEX_MAX (8U << 20)

/* By name: the rules are asked about these only, since to compile them takes as long as to read a repository. */
static bool may_be_masked(const char *name)
{
	name = git_path_name(name);
	return strncmp(name, ".env", 4) == 0 || strcmp(name, ".dev.vars") == 0;
}

static bool is_masked(const struct path_rules *compiled, const char *top, const char *project, const char *name)
{
	struct path_verdict verdict;
	char path[PATH_MAX];
	struct stat st;

	if (git_path_join(top, name, path, sizeof(path)) < 0 || !git_path_is_within(path, project) ||
	    lstat(path, &st) < 0 || !S_ISREG(st.st_mode))
		return false;
	path_rules_decide(compiled, path, PATH_ANY, &verdict);
	return verdict.access == PATH_DENIED;
}

void run_git_masked_note(const struct git_layout *layout, const char *project, const char *home,
			 const struct policy *policy, struct run_git_rules *rules)
{
	_cleanup_free_ char *data = malloc(INDEX_MAX), *first = NULL;
	_cleanup_free_ struct git_index *i = malloc(sizeof(*i));
	_cleanup_policy_rules_ struct policy_rules own = POLICY_RULES_INIT;
	struct path_rules *compiled = NULL;
	_cleanup_close_ int fd = -1;
	struct error bad = ERROR_INIT;
	unsigned n = 0;
	size_t len;

	if (!policy->protect[PROTECT_DOTENV].on || !data || !i ||
	    git_folder_open_any(layout->git, &fd) != GIT_ACCEPTED ||
	    git_folder_read(fd, "index", data, INDEX_MAX, &len) != GIT_ACCEPTED || git_index_begin(i, data, len) < 0)
		return;
	while (git_index_next(i) > 0) {
		if (i->is_skipped || !may_be_masked(i->name))
			continue;
		/* A rule that is none is for the daemon to refuse, with its line. */
		if (!compiled && (policy_rules_build(policy, home ? home : "/", project, &own, &bad) < 0 ||
				  path_rules_new(own.rules, own.n, &compiled) < 0))
			break;
		if (is_masked(compiled, layout->top, project, i->name) && n++ == 0)
			first = strdup(i->name);
	}
	path_rules_free(compiled);
	if (first)
		run_git_rules_note(rules,
				   "git: %s%s committed and masked: git stash, rebase and commit -a fail inside, "
				   "unless allowRead names %s",
				   first, n > 1 ? " and others are" : " is", n > 1 ? "them" : "it");
}
