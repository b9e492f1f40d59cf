#ifndef ISOD_CLIENT_RELAY_H
#define ISOD_CLIENT_RELAY_H
/*
 * One direction of bytes between a descriptor of the caller's and a pipe of the session's, for a poll loop. The
 * caller's descriptor is shared with other programs (the shell, `(a; b) < file`), so its flags and position are theirs:
 * it is never made non-blocking. Bytes move inside the kernel where it can do that.
 */
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

/* What the loop waits for next:
 *	ROOM	the target has to take more; from here to DATA when it is writable
 *	DATA	the source has to give more; to ROOM when the target was full
 *	CLOSED	nothing is owned any more */
enum relay_state { RELAY_ROOM, RELAY_DATA, RELAY_CLOSED };

struct relay {
	enum relay_state state;
	int from;
	int to;
	bool own_from; /* closed at the end */
	bool own_to;
	bool copies;       /* splice is of no use between these two */
	bool small;        /* the target can block: a little at a time */
	bool socket;       /* the target is a socket, which can be asked not to block once */
	int unread;        /* input from a file: the read end of the pipe, which tells what was not taken; -1 */
	char *data;        /* with copies */
	size_t start, end; /* bytes of data that wait for the target */
	int error;         /* errno of the caller's descriptor failing, 0 */
};

#define RELAY_INIT                                                                                                     \
	{                                                                                                              \
		.state = RELAY_CLOSED, .from = -1, .to = -1, .unread = -1                                              \
	}

/*
 * From the caller's input into the session's pipe, and from its pipe to the caller's output. The pipe end is taken.
 * other_end: of the input's pipe, remains the caller's: duplicated where from is a file.
 */
void relay_input(struct relay *r, int from, int pipe_end, int other_end);
void relay_output(struct relay *r, int pipe_end, int to);
void relay_done(struct relay *r);

/* Two entries of poll's array: source, target. */
void relay_poll(const struct relay *r, struct pollfd p[2]);
/* After poll. Moves bytes until one side would block; closes at end of file and where the target is gone. */
void relay_step(struct relay *r, const struct pollfd p[2]);

/* Once the session has ended: input that it never read goes back, i.e. the position of a file moves to just after what
 * was taken, as if the session had read the file itself. Closes. */
void relay_give_back(struct relay *r);

#endif
