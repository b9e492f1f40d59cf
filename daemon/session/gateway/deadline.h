#ifndef ISOD_SESSION_GATEWAY_DEADLINE_H
#define ISOD_SESSION_GATEWAY_DEADLINE_H
/* Time limits of connections. There are few different lengths, so each has a queue in order of expiry and setting,
 * moving and clearing a limit costs a list operation; one uv_timer_t serves all. */
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <uv.h>

enum deadline_length {
	DEADLINE_LOOK,      /* 5 ms: until the next look whether all has arrived (drain.c) */
	DEADLINE_AUDIT,     /* 200 ms: an answer about the program that may still come */
	DEADLINE_ATTEMPT,   /* 250 ms: until the next address is tried beside this one (RFC 8305) */
	DEADLINE_PATIENCE,  /* 2 s: for an address that does not answer while others wait for its place */
	DEADLINE_DRAIN,     /* 2 s: for what an ended program has sent to arrive */
	DEADLINE_LINGER,    /* 2 s: for the client to read a refusal and close */
	DEADLINE_USAGE,     /* 1 s: until isod-control is told again how much of the budget is used */
	DEADLINE_SAY,       /* 30 s: for the client to say completely what it wants */
	DEADLINE_DIAL,      /* 30 s: for resolver and host together */
	DEADLINE_KEEPALIVE, /* 60 s: until connections are looked at that may have lived for long (keepalive.h) */
	DEADLINE_QUESTION,  /* LIMIT_QUESTION_MS: for the session's owner to answer */
	DEADLINE_IDLE,      /* 1 h without a byte, of what is not used or half closed */
	DEADLINE_LENGTH_COUNT
};

struct deadline {
	TAILQ_ENTRY(deadline) link;
	uint64_t at; /* uv_now() */
	void (*fn)(struct deadline *d);
	uint8_t length; /* enum deadline_length */
	bool set;
};

TAILQ_HEAD(deadline_queue, deadline);

struct deadlines {
	uv_timer_t timer;
	uint64_t armed_for;                           /* 0: not armed */
	uint64_t milliseconds[DEADLINE_LENGTH_COUNT]; /* tests shorten them */
	struct deadline_queue queues[DEADLINE_LENGTH_COUNT];
};

void deadlines_open(struct deadlines *all, uv_loop_t *loop);
void deadlines_close(struct deadlines *all, uv_close_cb closed);

/* Replaces what was set before. */
void deadline_set(struct deadlines *all, struct deadline *d, enum deadline_length length,
		  void (*fn)(struct deadline *d));
void deadline_clear(struct deadlines *all, struct deadline *d);

#endif
