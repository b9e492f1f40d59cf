#include "client/run/terminal_output.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "client/run/terminal.h"

/* A blocking terminal takes this much when poll() says that it takes anything. */
#define SMALL_CHUNK 512

size_t terminal_output_waiting(const struct terminal_output *o)
{
	return o->queue.len - o->written;
}

static void forget(struct terminal_output *o)
{
	buffer_consume(&o->queue, o->queue.len);
	o->written = 0;
}

bool terminal_output_write(struct terminal_output *o)
{
	while (terminal_output_waiting(o) > 0) {
		size_t n = terminal_output_waiting(o);
		ssize_t written;

		if (o->blocks && n > SMALL_CHUNK)
			n = SMALL_CHUNK;
		written = write(o->fd, o->queue.data + o->written, n);
		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0 && errno == EAGAIN)
			break;
		if (written < 0) {
			o->gone = true;
			break;
		}
		o->written += (size_t)written;
		if (o->blocks)
			break;
	}
	if (o->gone || terminal_output_waiting(o) == 0)
		forget(o);
	if (o->written >= TERMINAL_OUTPUT_HIGH) {
		buffer_consume(&o->queue, o->written);
		o->written = 0;
	}
	return !o->gone && terminal_output_waiting(o) == 0;
}

int terminal_output_add(struct terminal_output *o, const void *data, size_t n)
{
	return o->gone ? 0 : buffer_append(&o->queue, data, n);
}

void terminal_output_open(struct terminal_output *o)
{
	struct stat st;
	bool is_file = fstat(STDOUT_FILENO, &st) == 0 && S_ISREG(st.st_mode);
	int opened = is_file ? -EINVAL : terminal_open_output(STDOUT_FILENO);

	/* A file must be written through the caller's descriptor, which knows the position. */
	o->fd = opened >= 0 ? opened : STDOUT_FILENO;
	o->blocks = opened < 0 && !is_file;
}

void terminal_output_close(struct terminal_output *o)
{
	if (o->fd != STDOUT_FILENO)
		fd_close(o->fd);
	buffer_done(&o->queue);
}
