#include "client/policy/policy_git.h"

#include <errno.h>

#include "client/run/run_git.h"

static int insert(struct policy_texts *t, struct buffer *text, struct error *e)
{
	bool last = t->count > 0 && t->inputs[t->count - 1].layer == POLICY_COMMAND_LINE;
	struct policy_input command_line = { .text = NULL };
	int r;

	if (last)
		command_line = t->inputs[--t->count];
	r = policy_texts_add_text(t, POLICY_COMMAND_LINE, "git", text->data, text->len, e);
	if (r == 0) {
		t->owned[t->n_owned++] = text->data;
		text->data = NULL;
	}
	if (r == 0 && last)
		r = policy_texts_add_text(t, POLICY_COMMAND_LINE, command_line.path, command_line.text,
					  command_line.len, e);
	return r;
}

static int add(struct policy_texts *t, const char *project, const struct policy *policy,
	       const struct run_environment *environment, struct buffer *notes, struct error *e)
{
	static const struct run_environment none = RUN_ENVIRONMENT_INIT;
	_cleanup_buffer_ struct buffer text = BUFFER_INIT(LIMIT_POLICY_FILE);
	struct run_git_rules rules;
	int r;

	run_git_rules_init(&rules);
	r = run_git_collect(project, policy, environment ? environment : &none, &rules, e);
	if (r == 0 && notes && rules.notes.len > 0)
		r = buffer_append(notes, rules.notes.data, rules.notes.len);
	if (r == 0)
		r = run_git_rules_write(&rules, &text);
	run_git_rules_done(&rules);
	if (r > 0)
		r = insert(t, &text, e);
	return r < 0 ? error_set(e, ERROR_INTERNAL, -r, "git", "", "There is no memory left.") : 0;
}

int policy_git_add(struct policy_texts *t, const char *project, const struct policy *policy,
		   const struct run_environment *environment, struct buffer *notes, struct error *e)
{
	struct policy merged = { 0 };
	int r = 0;

	if (!policy)
		r = policy_load(t->inputs, t->count, &merged, e);
	if (r == 0)
		r = add(t, project, policy ? policy : &merged, environment, notes, e);
	if (!policy)
		policy_done(&merged);
	return r;
}
