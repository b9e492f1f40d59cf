#ifndef ISOD_SESSION_GATEWAY_POLLER_H
#define ISOD_SESSION_GATEWAY_POLLER_H
/*
 * Readiness of many sockets, for one uv_loop_t: an edge-triggered epoll set of its own, watched by one uv_poll_t. A
 * uv_poll_t a socket would cost two epoll_ctl() for every change of interest and an asynchronous close; here a socket
 * is added once for both directions, and readiness is a flag that stays until a call says EAGAIN. The set names a
 * socket by its number and a stamp, not by its watch: so a watch is moved, and a socket that is nobody else's is
 * closed, without a word to the kernel.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <uv.h>

struct watch;
typedef void (*watch_fn)(struct watch *w);

struct watch {
	TAILQ_ENTRY(watch) link;
	watch_fn fn;
	int fd;         /* -1: none */
	uint32_t stamp; /* tells it from earlier ones of the same number */
	bool readable;
	bool writable;
	bool peer_shut; /* the peer will send no more: read on to see the end */
	bool hangup;    /* both ways are over */
	bool cut;       /* an end of file is nothing that the peer has said (proxy_tls.h) */
	bool queued;
	bool is_sole; /* no other process has a copy of the descriptor: set by the owner after poller_add() */
};

#define WATCH_INIT                                                                                                     \
	{                                                                                                              \
		.fd = -1                                                                                               \
	}

/* What is freed only once no event can name it any more. First member of the block that is given up. */
struct grave {
	struct grave *next;
};

TAILQ_HEAD(watch_queue, watch);

struct poller {
	int fd;
	struct watch **by_fd; /* n_by_fd places */
	unsigned n_by_fd;
	uint32_t last_stamp;
	uv_poll_t poll;
	uv_idle_t idle; /* runs while somebody waits in .again */
	struct watch_queue again;
	unsigned n_again;
	struct grave *graves;
	unsigned open_handles;
	void (*closed)(struct poller *p);
	void *data;
};

int poller_open(struct poller *p, uv_loop_t *loop);
/* closed() is called from the loop once all handles are gone. */
void poller_close(struct poller *p, void (*closed)(struct poller *p));

/* The watch owns fd from now on, also on failure (-EMFILE where fd is one that is reserved). fn is called with every
 * change of readiness. 0 or -errno. */
int poller_add(struct poller *p, struct watch *w, int fd, watch_fn fn);
/* from's descriptor goes over to w with its readiness, and from is empty. */
void poller_move(struct poller *p, struct watch *from, struct watch *w, watch_fn fn);
/* Closes the descriptor. */
void poller_close_watch(struct poller *p, struct watch *w);
/* Calls fn again in the next turn of the loop: for work cut short so that others have their turn. */
void poller_again(struct poller *p, struct watch *w);
void poller_bury(struct poller *p, struct grave *g);

#endif
