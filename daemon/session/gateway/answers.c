#include "daemon/session/gateway/answers.h"

#include <stdlib.h>
#include <string.h>

struct kept_answer {
	TAILQ_ENTRY(kept_answer) link;
	uint64_t until;
	struct stub_answer answer;
	char name[];
};

void answers_open(struct answers *a)
{
	TAILQ_INIT(&a->kept);
	a->n = 0;
}

static void drop(struct answers *a, struct kept_answer *k)
{
	TAILQ_REMOVE(&a->kept, k, link);
	a->n--;
	free(k);
}

void answers_done(struct answers *a)
{
	while (!TAILQ_EMPTY(&a->kept))
		drop(a, TAILQ_FIRST(&a->kept));
}

static struct kept_answer *find(const struct answers *a, const char *name)
{
	struct kept_answer *k;

	TAILQ_FOREACH (k, &a->kept, link)
		if (strcmp(k->name, name) == 0)
			return k;
	return NULL;
}

void answers_keep(struct answers *a, const char *name, const struct stub_answer *answer, uint64_t now)
{
	struct kept_answer *k = find(a, name);
	size_t len = strlen(name) + 1;

	if (k)
		drop(a, k);
	if (answer->seconds == 0)
		return;
	if (a->n == LIMIT_ANSWERS)
		drop(a, TAILQ_FIRST(&a->kept));
	k = malloc(sizeof(*k) + len);
	if (!k)
		return;
	k->until = now + (uint64_t)answer->seconds * 1000;
	k->answer = *answer;
	memcpy(k->name, name, len);
	TAILQ_INSERT_TAIL(&a->kept, k, link);
	a->n++;
}

const struct stub_answer *answers_find(struct answers *a, const char *name, uint64_t now)
{
	struct kept_answer *k = find(a, name);

	if (k && k->until <= now) {
		drop(a, k);
		k = NULL;
	}
	return k ? &k->answer : NULL;
}
