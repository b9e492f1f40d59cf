#include "daemon/session/pair.h"

void pair_init(struct pair *p)
{
	*p = (struct pair){ .near = WATCH_INIT, .far = WATCH_INIT };
	relay_init(&p->up, &p->near, &p->far, NULL);
	relay_init(&p->down, &p->far, &p->near, NULL);
}

enum relay_result pair_run(struct pair *p, char scratch[RELAY_SCRATCH])
{
	const char *excess;
	size_t excess_len;
	enum relay_result down = relay_run(&p->down, scratch, &excess, &excess_len);
	enum relay_result up = relay_run(&p->up, scratch, &excess, &excess_len);

	if (up == RELAY_DONE && down == RELAY_DONE)
		return RELAY_DONE;
	return up == RELAY_AGAIN || down == RELAY_AGAIN ? RELAY_AGAIN : RELAY_WAIT;
}

void pair_done(struct pair *p, struct poller *poller)
{
	relay_done(&p->up);
	relay_done(&p->down);
	poller_close_watch(poller, &p->near);
	poller_close_watch(poller, &p->far);
}
