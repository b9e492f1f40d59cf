/* Granted paths where nothing is are named, and no others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "client/run/run_grants.h"

static char home[] = "/tmp/isod-grants-XXXXXX";

static int make_home(void **state)
{
	if (!mkdtemp(home) || chdir(home) < 0)
		return -1;
	return mkdir("there", 0755) < 0 || mkdir("a*b", 0755) < 0 || symlink("nowhere", "dangling") < 0;
}

static int remove_home(void **state)
{
	return rmdir("there") < 0 || rmdir("a*b") < 0 || unlink("dangling") < 0 || rmdir(home) < 0;
}

/* The notes with a line break for each NUL. */
static void check(enum policy_layer_kind layer, const char *text, const char *expected)
{
	_cleanup_buffer_ struct buffer notes = BUFFER_INIT(65536);
	const struct policy_input input = { .layer = layer, .path = "/p.json", .text = text, .len = strlen(text) };
	struct policy policy = { 0 };
	struct error e = ERROR_INIT;

	assert_int_equal(policy_load(&input, 1, &policy, &e), 0);
	run_grants_note(&policy, home, "/project", &notes);
	policy_done(&policy);
	for (size_t i = 0; i < notes.len; i++)
		if (notes.data[i] == '\0')
			notes.data[i] = '\n';
	assert_int_equal(buffer_append(&notes, "", 1), 0);
	assert_string_equal(notes.data, expected);
}

#define FILES(members) "{\"sandbox\":{\"filesystem\":{" members "}}}"

static void what_is_there(void **state)
{
	check(POLICY_COMMAND_LINE,
	      FILES("\"allowRead\":[\"~/there\",\"/etc/passwd\",\"~/a\\\\*b\",\"**/no*\",\"~/no-*\",\"./no\"],"
		    "\"allowWrite\":[\"~/there\"],\"denyRead\":[\"~/not\"],\"denyWrite\":[\"~/not\"]"),
	      "");
}

static void what_is_not(void **state)
{
	check(POLICY_COMMAND_LINE,
	      FILES("\"allowRead\":[\"/no/such\",\"~/there\",\"~/dangling\"],\"allowWrite\":[\"~/a\\\\*c\"],"
		    "\"overlay\":[\"~/no\"]"),
	      "allowRead \"/no/such\": nothing is there, so it grants nothing\n"
	      "allowRead \"~/dangling\": nothing is there, so it grants nothing\n"
	      "allowWrite \"~/a\\*c\": nothing is there, so it grants nothing\n"
	      "overlay \"~/no\": nothing is there, so it grants nothing\n");
	check(POLICY_USER, FILES("\n\"allowRead\":[\"/etc/passwd/no\"]"),
	      "allowRead \"/etc/passwd/no\" (/p.json:2): nothing is there, so it grants nothing\n");
	check(POLICY_ADMINISTRATOR, FILES("\"allowRead\":[\"/no/such\"]"), "");
}

static void many(void **state)
{
	char text[1024] = "{\"sandbox\":{\"filesystem\":{\"allowRead\":[\"/no/0\"", expected[2048] = "";

	for (int i = 1; i < 11; i++)
		sprintf(text + strlen(text), ",\"/no/%d\"", i);
	strcat(text, "]}}}");
	for (int i = 0; i < 8; i++)
		sprintf(expected + strlen(expected), "allowRead \"/no/%d\": nothing is there, so it grants nothing\n",
			i);
	strcat(expected, "nothing is at 3 more granted paths\n");
	check(POLICY_COMMAND_LINE, text, expected);
}

static void no_room(void **state)
{
	_cleanup_buffer_ struct buffer notes = BUFFER_INIT(70);
	static const char text[] = FILES("\"allowRead\":[\"/no/such/place/as/this\",\"/no\"]");
	const struct policy_input input = { .layer = POLICY_FILE, .path = "p", .text = text, .len = sizeof(text) - 1 };
	struct policy policy = { 0 };
	struct error e = ERROR_INIT;

	assert_int_equal(policy_load(&input, 1, &policy, &e), 0);
	run_grants_note(&policy, "/", "/project", &notes);
	policy_done(&policy);
	assert_string_equal(notes.data, "allowRead \"/no\" (p:1): nothing is there, so it grants nothing");
	assert_int_equal(notes.len, strlen(notes.data) + 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_there),
		cmocka_unit_test(what_is_not),
		cmocka_unit_test(many),
		cmocka_unit_test(no_room),
	};

	return cmocka_run_group_tests(tests, make_home, remove_home);
}
