#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "client/run/relay.h"

static void turn(struct relay *r)
{
	struct pollfd p[2];

	relay_poll(r, p);
	assert_true(poll(p, 2, 0) >= 0);
	relay_step(r, p);
}

static int file_with(const char *text, int flags)
{
	char path[] = "/tmp/isoctl-relay-XXXXXX";
	int fd = mkostemp(path, flags);

	assert_true(fd >= 0);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

static void test_input_ends_and_goes_back(void **state)
{
	struct relay r = RELAY_INIT;
	int file = file_with("0123456789", 0), ends[2];
	char data[16];

	assert_int_equal(pipe(ends), 0);
	relay_input(&r, file, ends[1], ends[0]);
	turn(&r);
	turn(&r);
	assert_int_equal(r.state, RELAY_CLOSED);
	assert_int_equal(read(ends[0], data, 4), 4);
	relay_give_back(&r);
	assert_int_equal(lseek(file, 0, SEEK_CUR), 4);
	close(ends[0]);
	close(file);
}

static void test_input_stops_where_nobody_reads(void **state)
{
	struct relay r = RELAY_INIT;
	int source[2], ends[2];

	assert_int_equal(pipe(source), 0);
	assert_int_equal(pipe(ends), 0);
	relay_input(&r, source[0], ends[1], ends[0]);
	turn(&r);
	assert_int_equal(r.state, RELAY_DATA);
	close(ends[0]);
	turn(&r);
	assert_int_equal(r.state, RELAY_CLOSED);
	assert_int_equal(r.error, 0);
	relay_done(&r);
	close(source[0]);
	close(source[1]);
}

static void test_output_appends(void **state)
{
	struct relay r = RELAY_INIT;
	int file = file_with("old", O_APPEND), ends[2];
	char data[16] = "";

	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], "new", 3), 3);
	close(ends[1]);
	relay_output(&r, ends[0], file);
	for (int i = 0; i < 4 && r.state != RELAY_CLOSED; i++)
		turn(&r);
	assert_int_equal(r.state, RELAY_CLOSED);
	assert_int_equal(pread(file, data, sizeof(data), 0), 6);
	assert_memory_equal(data, "oldnew", 6);
	relay_done(&r);
	close(file);
}

/* A target that is full keeps the bytes and its own flags. */
static void test_output_waits_for_room(void **state)
{
	struct relay r = RELAY_INIT;
	int ends[2], pair[2];
	char data[65536] = "";
	size_t sent = 0, got = 0;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	assert_int_equal(pipe(ends), 0);
	relay_output(&r, ends[0], pair[0]);
	assert_int_equal(fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
	for (int i = 0; i < 40; i++) {
		ssize_t n = write(ends[1], data, sizeof(data));

		sent += n > 0 ? (size_t)n : 0;
		turn(&r);
	}
	assert_int_equal(r.state, RELAY_ROOM);
	assert_false(fcntl(pair[0], F_GETFL) & O_NONBLOCK);
	close(ends[1]);
	while (r.state != RELAY_CLOSED) {
		ssize_t n = recv(pair[1], data, sizeof(data), MSG_DONTWAIT);

		got += n > 0 ? (size_t)n : 0;
		turn(&r);
	}
	relay_done(&r);
	close(pair[0]);
	for (ssize_t n; (n = read(pair[1], data, sizeof(data))) > 0;)
		got += (size_t)n;
	assert_int_equal(got, sent);
	assert_true(sent > sizeof(data));
	close(pair[1]);
}

static void test_output_fails(void **state)
{
	struct relay r = RELAY_INIT;
	int ends[2], full = open("/dev/full", O_WRONLY);

	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], "x", 1), 1);
	relay_output(&r, ends[0], full);
	for (int i = 0; i < 3; i++)
		turn(&r);
	assert_int_equal(r.state, RELAY_CLOSED);
	assert_int_equal(r.error, ENOSPC);
	relay_done(&r);
	close(ends[1]);
	close(full);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_input_ends_and_goes_back),
		cmocka_unit_test(test_input_stops_where_nobody_reads),
		cmocka_unit_test(test_output_appends),
		cmocka_unit_test(test_output_waits_for_room),
		cmocka_unit_test(test_output_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
