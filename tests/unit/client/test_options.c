#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "client/command.h"
#include "client/options.h"

struct filled {
	int flag;
	int choice;
	const char *text;
	struct option_list list;
};

static const struct option table[] = {
	{ "flag", 'f', NULL, "a flag", OPTION_SET, offsetof(struct filled, flag), 1 },
	{ "one", '1', NULL, "choice", OPTION_SET, offsetof(struct filled, choice), 1 },
	{ "two", '2', NULL, "choice", OPTION_SET, offsetof(struct filled, choice), 2 },
	{ "text", 't', "TEXT", "a text", OPTION_STRING, offsetof(struct filled, text) },
	{ "list", 'l', "ITEM", "a list", OPTION_LIST, offsetof(struct filled, list) },
	OPTION_END,
};

#define PARSE(out, flags, ...)                                                                                         \
	const char *words[] = { __VA_ARGS__, NULL };                                                                   \
	char **argv = (char **)words;                                                                                  \
	int n = -1;                                                                                                    \
	bool help = false;                                                                                             \
	struct error e = ERROR_INIT;                                                                                   \
	int r = options_parse(table, flags, argv, (int)(sizeof(words) / sizeof(words[0])) - 1, &(out), &n, &help, &e)

static void test_forms(void **state)
{
	struct filled f = { 0 };
	PARSE(f, 0, "--text=a=b", "-f", "--list", "x", "-ly", "op", "-l", "--z", "-12", "--list=", "-");

	assert_int_equal(r, 0);
	assert_int_equal(n, 2);
	assert_string_equal(argv[0], "op");
	assert_string_equal(argv[1], "-");
	assert_null(argv[2]);
	assert_int_equal(f.flag, 1);
	assert_int_equal(f.choice, 2);
	assert_string_equal(f.text, "a=b");
	assert_int_equal(f.list.count, 4);
	assert_string_equal(f.list.items[2], "--z");
	assert_string_equal(f.list.items[3], "");
	assert_false(help);
	options_done(table, &f);
	assert_null(f.list.items);
}

static void test_letters_together(void **state)
{
	struct filled f = { 0 };
	PARSE(f, 0, "-f1tvalue", "-h");

	assert_int_equal(r, 0);
	assert_int_equal(f.flag, 1);
	assert_int_equal(f.choice, 1);
	assert_string_equal(f.text, "value");
	assert_true(help);
}

static void test_double_dash(void **state)
{
	struct filled f = { 0 };
	PARSE(f, 0, "a", "--", "--flag", "--");

	assert_int_equal(r, 0);
	assert_int_equal(n, 3);
	assert_string_equal(argv[1], "--flag");
	assert_string_equal(argv[2], "--");
	assert_int_equal(f.flag, 0);
}

static void test_stop_at_operand(void **state)
{
	struct filled f = { 0 };
	PARSE(f, OPTIONS_STOP_AT_OPERAND, "-f", "cmd", "-1", "--", "x");

	assert_int_equal(r, 0);
	assert_int_equal(n, 4);
	assert_string_equal(argv[1], "-1");
	assert_string_equal(argv[2], "--");
	assert_int_equal(f.flag, 1);
	assert_int_equal(f.choice, 0);
}

static void refused(const char *argument, const char *message)
{
	struct filled f = { 0 };
	PARSE(f, 0, argument);

	assert_int_equal(r, -EINVAL);
	assert_int_equal(e.code, ERROR_INVALID);
	assert_string_equal(e.message, message);
	options_done(table, &f);
}

static void test_refusals(void **state)
{
	refused("--nothing", "--nothing: there is no such option.");
	refused("--tex=x", "--tex=x: there is no such option.");
	refused("-fx", "-fx: there is no such option.");
	refused("--flag=1", "--flag=1: this option takes no value.");
	refused("--text", "--text: a value is missing.");
	refused("-l", "-l: a value is missing.");
}

/* Every command's table can be told apart, and every row can be stored. */
static void test_command_tables(void **state)
{
	for (size_t c = 0; commands[c]; c++) {
		const struct command *command = commands[c];
		const char *words[] = { "policy", "show", NULL };
		int n;

		assert_non_null(command->run);
		assert_non_null(command->summary);
		for (const struct option *o = command->options; o->name; o++) {
			size_t size = o->kind == OPTION_SET      ? sizeof(int)
				      : o->kind == OPTION_STRING ? sizeof(char *)
								 : sizeof(struct option_list);

			assert_true(o->offset + size <= command->options_size);
			assert_true((o->argument == NULL) == (o->kind == OPTION_SET));
			assert_string_not_equal(o->name, "help");
			assert_int_not_equal(o->letter, 'h');
			for (const struct option *other = o + 1; other->name; other++) {
				assert_string_not_equal(o->name, other->name);
				assert_true(o->letter == 0 || o->letter != other->letter);
			}
		}
		assert_ptr_equal(command_find((char **)words, 2, &n), &command_policy_show);
		assert_int_equal(n, 2);
		assert_null(command_find((char **)words, 1, &n));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_forms),       cmocka_unit_test(test_letters_together),
		cmocka_unit_test(test_double_dash), cmocka_unit_test(test_stop_at_operand),
		cmocka_unit_test(test_refusals),    cmocka_unit_test(test_command_tables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
