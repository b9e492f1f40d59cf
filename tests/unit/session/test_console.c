/* A console with its clients, over socket pairs and a real pty. */
#include "daemon/session/console.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <pty.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "proto/stream.h"

#define BULK ((size_t)64 << 20)

struct relay {
	uv_loop_t loop;
	struct console *console;
	int client; /* our end */
	int slave;
	bool drained, gone, complete;
	uint32_t signal;
	unsigned resumes;
	unsigned clients;
	bool driven;
};

static void on_signal(void *data, uint32_t signal)
{
	((struct relay *)data)->signal = signal;
}
static void on_resume(void *data)
{
	((struct relay *)data)->resumes++;
}
static void on_drained(void *data)
{
	((struct relay *)data)->drained = true;
}
static void gone(struct relay *r, bool complete)
{
	assert_false(r->gone);
	r->gone = true;
	r->complete = complete;
}
static void on_hung_up(void *data)
{
	gone(data, false);
}
static void on_ended(void *data)
{
	gone(data, true);
}
static void on_changed(void *data, unsigned clients, bool driven)
{
	struct relay *r = data;

	r->clients = clients;
	r->driven = driven;
}

static const struct console_handlers handlers = { on_signal, on_resume, on_drained, on_hung_up, on_ended, on_changed };

static int setup(void **state)
{
	struct relay *r = calloc(1, sizeof(*r));
	struct termios t;
	int master, pair[2];

	assert_int_equal(uv_loop_init(&r->loop), 0);
	assert_int_equal(openpty(&master, &r->slave, NULL, NULL, NULL), 0);
	assert_int_equal(tcgetattr(r->slave, &t), 0);
	cfmakeraw(&t);
	assert_int_equal(tcsetattr(r->slave, TCSANOW, &t), 0);
	assert_int_equal(fcntl(r->slave, F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
	r->client = pair[0];
	r->console = console_new(&r->loop, &(struct console_setup){ .has_pty = true }, &handlers, r);
	assert_non_null(r->console);
	assert_int_equal(console_attach(r->console, pair[1], 0, 0, 0), 0);
	assert_int_equal(console_set_pty(r->console, master, NULL), 0);
	*state = r;
	return 0;
}

static int teardown(void **state)
{
	struct relay *r = *state;

	console_close(r->console);
	uv_run(&r->loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&r->loop), 0);
	fd_close(r->client);
	fd_close(r->slave);
	free(r);
	return 0;
}

static void turn(struct relay *r)
{
	uv_run(&r->loop, UV_RUN_NOWAIT);
}

static void send_frames(struct relay *r, const struct buffer *b)
{
	assert_int_equal(write(r->client, b->data, b->len), b->len);
}

static uint8_t pattern(size_t i)
{
	return (uint8_t)(i * 2654435761u >> 13);
}

/* Reads what is there from the client's end and checks that the payload goes on where it stopped. */
static void take_output(struct relay *r, struct buffer *in, size_t *seen)
{
	struct stream_frame f;
	long n;
	ssize_t got;

	assert_int_equal(buffer_reserve(in, 65536), 0);
	got = read(r->client, in->data + in->len, 65536);
	if (got > 0)
		in->len += (size_t)got;
	while ((n = stream_parse((const uint8_t *)in->data, in->len, &f)) > 0) {
		assert_int_equal(f.type, STREAM_STDOUT);
		for (uint32_t i = 0; i < f.len; i++, (*seen)++)
			if (f.payload[i] != pattern(*seen))
				fail_msg("byte %zu is not what was written", *seen);
		buffer_consume(in, (size_t)n);
	}
	assert_int_equal(n, 0);
}

static void test_output_byte_for_byte(void **state)
{
	_cleanup_buffer_ struct buffer in = BUFFER_INIT(1 << 20);
	struct relay *r = *state;
	uint8_t chunk[4096];
	size_t sent = 0, seen = 0;

	while (seen < BULK) {
		if (sent < BULK) {
			ssize_t n;

			for (size_t i = 0; i < sizeof(chunk); i++)
				chunk[i] = pattern(sent + i);
			n = write(r->slave, chunk, BULK - sent < sizeof(chunk) ? BULK - sent : sizeof(chunk));
			if (n > 0)
				sent += (size_t)n;
		}
		turn(r);
		take_output(r, &in, &seen);
	}
	assert_int_equal(console_total(r->console), BULK);
}

static void test_input_byte_for_byte(void **state)
{
	_cleanup_buffer_ struct buffer out = BUFFER_INIT(LIMIT_FRAME + STREAM_HEADER);
	const size_t total = 4 << 20;
	struct relay *r = *state;
	size_t made = 0, seen = 0;

	while (seen < total) {
		uint8_t bytes[4096];
		ssize_t n;

		if (out.len == 0 && made < total) {
			/* Sizes of all kinds, so that frames and reads never stay in step. */
			size_t len = made % 977 + 1 < total - made ? made % 977 + 1 : total - made;

			for (size_t i = 0; i < len; i++)
				bytes[i] = pattern(made + i);
			assert_int_equal(stream_append(&out, STREAM_STDIN, bytes, len), 0);
			made += len;
		}
		n = write(r->client, out.data, out.len);
		if (n > 0)
			buffer_consume(&out, (size_t)n);
		turn(r);
		n = read(r->slave, bytes, sizeof(bytes));
		for (ssize_t i = 0; i < n; i++, seen++)
			if (bytes[i] != pattern(seen))
				fail_msg("byte %zu is not what was sent", seen);
	}
}

/* A client that reads nothing: the program is held, memory is not. */
static void test_slow_client(void **state)
{
	_cleanup_buffer_ struct buffer in = BUFFER_INIT(1 << 20);
	struct relay *r = *state;
	size_t sent = 0, seen = 0, idle = 0;

	while (idle < 1000) {
		uint8_t chunk[4096];
		ssize_t n;

		for (size_t i = 0; i < sizeof(chunk); i++)
			chunk[i] = pattern(sent + i);
		n = write(r->slave, chunk, sizeof(chunk));
		turn(r);
		idle = n > 0 ? 0 : idle + 1;
		sent += n > 0 ? (size_t)n : 0;
		assert_true(sent < (4U << 20));
	}
	assert_true(console_is_behind(r->console));
	while (seen < sent) {
		take_output(r, &in, &seen);
		turn(r);
	}
	assert_false(console_is_behind(r->console));
	assert_false(r->gone);
}

/* A program that reads nothing: input is held back, but a signal behind some of it still arrives. */
static void test_full_input(void **state)
{
	_cleanup_buffer_ struct buffer out = BUFFER_INIT(1 << 20);
	struct relay *r = *state;
	struct winsize size;
	uint8_t zeros[32768] = { 0 };
	size_t sent = 0, idle = 0;

	for (int i = 0; i < 4; i++)
		stream_append(&out, STREAM_STDIN, zeros, sizeof(zeros));
	stream_append_u16_u16(&out, STREAM_RESIZE, 50, 132);
	stream_append_u32(&out, STREAM_SIGNAL, 15);
	stream_append(&out, STREAM_CONTINUE, NULL, 0);
	while (out.len > 0) {
		ssize_t n = write(r->client, out.data, out.len);

		if (n > 0)
			buffer_consume(&out, (size_t)n);
		turn(r);
	}
	turn(r);
	assert_int_equal(r->signal, 15);
	assert_int_equal(r->resumes, 1);
	assert_int_equal(ioctl(r->slave, TIOCGWINSZ, &size), 0);
	assert_int_equal(size.ws_row, 50);
	assert_int_equal(size.ws_col, 132);
	/* Without end it does not go on. */
	stream_append(&out, STREAM_STDIN, zeros, sizeof(zeros));
	while (idle < 1000) {
		ssize_t n = write(r->client, out.data, out.len);

		turn(r);
		idle = n > 0 ? 0 : idle + 1;
		sent += n > 0 ? (size_t)n : 0;
		if (n > 0 && (size_t)n < out.len)
			break; /* half a frame is in: the socket is full */
		assert_true(sent < (4U << 20));
	}
	assert_false(r->gone);
}

static void test_end_of_input(void **state)
{
	_cleanup_buffer_ struct buffer out = BUFFER_INIT(1024);
	struct relay *r = *state;
	struct termios t;
	char line[16];

	assert_int_equal(tcgetattr(r->slave, &t), 0);
	t.c_lflag |= ICANON;
	t.c_cc[VEOF] = 4;
	assert_int_equal(tcsetattr(r->slave, TCSANOW, &t), 0);
	/* The line has begun: the first VEOF hands it over, the second is the end. */
	stream_append(&out, STREAM_STDIN, "abc", 3);
	stream_append(&out, STREAM_STDIN, NULL, 0);
	send_frames(r, &out);
	turn(r);
	turn(r);
	assert_int_equal(read(r->slave, line, sizeof(line)), 3);
	assert_int_equal(read(r->slave, line, sizeof(line)), 0);
	/* Nothing may follow the end. */
	out.len = 0;
	stream_append(&out, STREAM_STDIN, "x", 1);
	send_frames(r, &out);
	turn(r);
	turn(r);
	assert_true(r->gone);
}

static void test_exit_is_last(void **state)
{
	static const char expected[] = "\x12\0\0\0\4\0\0\0\x14\0\0\0"
				       "\x10\0\0\0\5\0\0\0bye\r\n"
				       "\x13\0\0\0\x08\0\0\0\1\0\0\0\7\0\0\0";
	struct relay *r = *state;
	char got[256];

	console_stopped(r->console, 20);
	assert_int_equal(write(r->slave, "bye\r\n", 5), 5);
	r->slave = fd_close(r->slave);
	for (int i = 0; i < 1000 && !r->drained; i++)
		uv_run(&r->loop, UV_RUN_ONCE);
	assert_true(r->drained);
	console_exit(r->console, 1, 7);
	turn(r);
	turn(r);
	assert_true(r->gone);
	assert_true(r->complete);
	assert_int_equal(read(r->client, got, sizeof(got)), sizeof(expected) - 1);
	assert_memory_equal(got, expected, sizeof(expected) - 1);
	assert_int_equal(read(r->client, got, sizeof(got)), 0);
}

static void test_bad_frames(void **state)
{
	static const struct {
		const char *data;
		size_t len;
	} bad[] = {
		{ "\x10\0\0\0\1\0\0\0x", 9 },         /* a frame of the other direction */
		{ "\x63\0\0\0\0\0\0\0", 8 },          /* unknown */
		{ "\1\1\0\0\0\0\0\0", 8 },            /* reserved bytes */
		{ "\1\0\0\0\1\0\1\0", 8 },            /* larger than a frame may be */
		{ "\3\0\0\0\4\0\0\0\0\0\0\0", 12 },   /* signal 0 */
		{ "\3\0\0\0\4\0\0\0\x41\0\0\0", 12 }, /* signal 65 */
		{ "\2\0\0\0\3\0\0\0\0\0\0", 11 },     /* size of a wrong size */
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct relay *r;

		setup(state);
		r = *state;
		assert_int_equal(write(r->client, bad[i].data, bad[i].len), bad[i].len);
		turn(r);
		turn(r);
		assert_true(r->gone);
		assert_false(r->complete);
		teardown(state);
	}
}

static void test_half_a_frame(void **state)
{
	struct relay *r = *state;
	char got[8];

	assert_int_equal(write(r->client, "\1\0\0\0\2\0\0\0a", 9), 9);
	for (int i = 0; i < 3; i++)
		turn(r);
	assert_false(r->gone);
	assert_int_equal(read(r->slave, got, sizeof(got)), -1);
	/* Output is not held up by it. */
	assert_int_equal(write(r->slave, "o", 1), 1);
	for (int i = 0; i < 1000 && console_total(r->console) == 0; i++)
		uv_run(&r->loop, UV_RUN_ONCE);
	assert_int_equal(write(r->client, "b", 1), 1);
	turn(r);
	assert_int_equal(read(r->slave, got, sizeof(got)), 2);
	/* The client dies in the middle of the next. */
	assert_int_equal(write(r->client, "\1\0\0", 3), 3);
	r->client = fd_close(r->client);
	turn(r);
	turn(r);
	assert_true(r->gone);
	assert_false(r->complete);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_output_byte_for_byte, setup, teardown),
		cmocka_unit_test_setup_teardown(test_input_byte_for_byte, setup, teardown),
		cmocka_unit_test_setup_teardown(test_slow_client, setup, teardown),
		cmocka_unit_test_setup_teardown(test_full_input, setup, teardown),
		cmocka_unit_test_setup_teardown(test_end_of_input, setup, teardown),
		cmocka_unit_test_setup_teardown(test_exit_is_last, setup, teardown),
		cmocka_unit_test(test_bad_frames),
		cmocka_unit_test_setup_teardown(test_half_a_frame, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
