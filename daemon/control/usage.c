#include "daemon/control/usage.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/control/session.h"

bool usage_is_valid(const struct session *s, const struct session_usage *m, size_t n)
{
	const size_t head = offsetof(struct session_usage, bytes);

	if (n < head || m->n == 0 || m->n > LIMIT_EGRESS_BUDGETS + 1 || n != head + m->n * sizeof(m->bytes[0]))
		return false;
	return m->generation < s->reload.generation ||
	       (m->generation == s->reload.generation && m->n == s->policy.n_budgets + 1);
}

bool usage_budget_is_valid(const struct session *s, const struct session_budget *m, size_t n)
{
	if (n != sizeof(*m) || m->account > LIMIT_EGRESS_BUDGETS || m->direction >= EGRESS_DIRECTION_COUNT)
		return false;
	return m->generation < s->reload.generation ||
	       (m->generation == s->reload.generation && m->account <= s->policy.n_budgets);
}

int usage_keep(struct session *s, const struct session_usage *m)
{
	if (m->generation != s->reload.generation)
		return 0;
	if (!s->usage)
		s->usage = malloc(sizeof(*s->usage));
	if (!s->usage)
		return -ENOMEM;
	*s->usage = *m;
	return 0;
}

void usage_forget(struct session *s)
{
	free(s->usage);
	s->usage = NULL;
}

static void write_direction(struct json_writer *w, const char *name, uint64_t used, uint64_t limit)
{
	json_write_key(w, name);
	json_write_object(w);
	json_write_member_integer(w, "used", (int64_t)(used & INT64_MAX));
	json_write_key(w, "limit");
	if (limit)
		json_write_integer(w, (int64_t)limit);
	else
		json_write_null(w);
	json_write_object_end(w);
}

void usage_write(const struct session *s, struct json_writer *w)
{
	const struct policy *p = &s->policy;

	json_write_array(w);
	for (size_t i = 0; i <= p->n_budgets; i++) {
		const struct policy_number *limit = i == 0 ? p->budget : p->budgets[i - 1].bytes;
		const uint64_t none[2] = { 0 }, *used = s->usage && i < s->usage->n ? s->usage->bytes[i] : none;

		json_write_object(w);
		json_write_key(w, "host");
		if (i == 0)
			json_write_null(w);
		else
			json_write_string(w, p->budgets[i - 1].host);
		write_direction(w, "bytesOut", used[EGRESS_OUT], limit[EGRESS_OUT].value);
		write_direction(w, "bytesIn", used[EGRESS_IN], limit[EGRESS_IN].value);
		json_write_object_end(w);
	}
	json_write_array_end(w);
}
