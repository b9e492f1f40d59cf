/* Lines of Assuan: what programs send, what an agent answers. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "gpgagent/gpg_answer.h"
#include "gpgagent/gpg_request.h"
#include "tests/unit/guard_page.h"

#define GRIP "7A70BD896950779D54390F49BC37A6AF3944AF8C"
#define LOWER "7a70bd896950779d54390f49bc37a6af3944af8c"

/* The line ends where no byte more can be read. */
static int parse(const char *line, struct gpg_request *ret, struct guard_page *page)
{
	*page = guard_page_new(line, strlen(line));
	return gpg_request_parse(page->data, strlen(line), ret);
}

static void must_be(const char *line, int r, enum gpg_request_kind kind)
{
	struct guard_page page;
	struct gpg_request q;
	int got = parse(line, &q, &page);

	if (got != r || (r == 0 && q.kind != kind))
		fail_msg("\"%s\": %d, %s", line, got, gpg_request_name(q.kind));
	guard_page_done(&page);
}

static void lines(void **state)
{
	char text[LIMIT_ASSUAN_LINE + 8];

	memset(text, 'x', sizeof(text));
	assert_int_equal(gpg_line_size("", 0), 0);
	assert_int_equal(gpg_line_size("NOP", 3), 0);
	assert_int_equal(gpg_line_size("NOP\nNOP\n", 8), 4);
	assert_int_equal(gpg_line_size("\n", 1), 1);
	assert_int_equal(gpg_line_size(text, LIMIT_ASSUAN_LINE - 1), 0);
	assert_int_equal(gpg_line_size(text, LIMIT_ASSUAN_LINE), -EMSGSIZE);
	text[LIMIT_ASSUAN_LINE - 1] = '\n';
	assert_int_equal(gpg_line_size(text, sizeof(text)), LIMIT_ASSUAN_LINE);
	text[LIMIT_ASSUAN_LINE - 1] = 'x';
	text[LIMIT_ASSUAN_LINE] = '\n';
	assert_int_equal(gpg_line_size(text, sizeof(text)), -EMSGSIZE);
}

static void served(void **state)
{
	must_be("HAVEKEY " GRIP, 0, GPG_REQUEST_HAVEKEY);
	must_be("HAVEKEY " GRIP " " LOWER, 0, GPG_REQUEST_HAVEKEY);
	must_be("SIGKEY " GRIP, 0, GPG_REQUEST_SIGKEY);
	must_be("SIGKEY " LOWER "\r", 0, GPG_REQUEST_SIGKEY);
	must_be("SETHASH 8 00ff", 0, GPG_REQUEST_SETHASH);
	must_be("SETHASH --hash=sha512 00FF", 0, GPG_REQUEST_SETHASH);
	must_be("SETKEYDESC what+ever", 0, GPG_REQUEST_NOTHING);
	must_be("PKSIGN", 0, GPG_REQUEST_SIGN);
	must_be("RESET", 0, GPG_REQUEST_RESET);
	must_be("GETINFO version", 0, GPG_REQUEST_VERSION);
	must_be("GETINFO restricted", 0, GPG_REQUEST_RESTRICTED);
	must_be("OPTION agent-awareness=2.1.0", 0, GPG_REQUEST_NOTHING);
	must_be("OPTION ttyname=/dev/pts/1", 0, GPG_REQUEST_OPTION);
	must_be("BYE", 0, GPG_REQUEST_BYE);
	must_be("", 0, GPG_REQUEST_SILENT);
	must_be("\r", 0, GPG_REQUEST_SILENT);
	must_be("# PKSIGN", 0, GPG_REQUEST_SILENT);
}

static void never_served(void **state)
{
	static const char *const texts[] = {
		"KILLAGENT",
		"RELOADAGENT",
		"PKDECRYPT",
		"SETKEY " GRIP,
		"GENKEY",
		"IMPORT_KEY",
		"EXPORT_KEY x",
		"PASSWD x",
		"PRESET_PASSPHRASE x",
		"DELETE_KEY x",
		"KEYTOCARD x",
		"GET_PASSPHRASE x",
		"CLEAR_PASSPHRASE x",
		"GET_CONFIRMATION x",
		"LEARN",
		"SCD SERIALNO",
		"READKEY " GRIP,
		"KEYINFO " GRIP,
		"KEYINFO --list",
		"HAVEKEY --list",
		"HAVEKEY --list=1000",
		"LISTTRUSTED",
		"MARKTRUSTED x",
		"ISTRUSTED x",
		"GETVAL x",
		"PUTVAL x y",
		"UPDATESTARTUPTTY",
		"GETEVENTCOUNTER",
		"GETINFO cmd_has_option x",
		"GETINFO pid",
		"GETINFO socket_name",
		"GETINFO",
		"GETINFO version x",
		"SETHASH --inquire",
		"SETHASH 1 00",
		"SETHASH x",
		"SETHASH",
		"PKSIGN --",
		"PKSIGN x",
		"RESET x",
		"D data",
		"END",
		"CAN",
		"pksign",
		"Pksign",
		" PKSIGN",
		"PKSIGN\t",
		"\x01",
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		must_be(texts[i], 0, GPG_REQUEST_OTHER);
}

static void malformed(void **state)
{
	static const char *const texts[] = {
		"HAVEKEY",
		"HAVEKEY x",
		"HAVEKEY " GRIP "  " GRIP,
		"HAVEKEY " GRIP " ",
		"HAVEKEY " GRIP " x",
		"SIGKEY",
		"SIGKEY " GRIP "0",
		"SIGKEY " GRIP " ",
		("SIGKEY -" GRIP),
		"SETHASH 8",
		"SETHASH 8 xy",
		"SETHASH 8 00 00",
		"SIGKEY 7A70BD896950779D54390F49BC37A6AF3944AF8G",
	};
	char text[9 + 2 + GPG_DIGEST_MAX + 2];

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		must_be(texts[i], -EBADMSG, GPG_REQUEST_OTHER);
	memset(text, '0', sizeof(text));
	memcpy(text, "SETHASH 10 ", 11);
	text[11 + GPG_DIGEST_MAX] = '\0';
	must_be(text, 0, GPG_REQUEST_SETHASH);
	text[11 + GPG_DIGEST_MAX] = '0';
	text[11 + GPG_DIGEST_MAX + 1] = '\0';
	must_be(text, -EBADMSG, GPG_REQUEST_OTHER);
}

static void values(void **state)
{
	struct guard_page page;
	struct gpg_request q;

	assert_int_equal(parse("SIGKEY " LOWER, &q, &page), 0);
	assert_string_equal(q.grip, GRIP);
	guard_page_done(&page);
	assert_int_equal(parse("SETHASH --hash=sha384 0aF", &q, &page), 0);
	assert_int_equal(q.algorithm, GPG_SHA384);
	assert_string_equal(q.digest, "0AF");
	guard_page_done(&page);
	assert_int_equal(parse("HAVEKEY " GRIP " " LOWER, &q, &page), 0);
	assert_int_equal(q.n_grips, 2);
	assert_memory_equal(q.grips + 41, LOWER, 40);
	guard_page_done(&page);
}

static void answers(void **state)
{
	static const struct {
		const char *line;
		enum gpg_answer_kind kind;
		unsigned error;
	} cases[] = {
		{ "OK", GPG_ANSWER_OK, 0 },
		{ "OK Pleased to meet you", GPG_ANSWER_OK, 0 },
		{ "OKAY", GPG_ANSWER_BAD, 0 },
		{ "ERR 67108881 No secret key <GPG Agent>", GPG_ANSWER_ERROR, 67108881 },
		{ "ERR 5\r", GPG_ANSWER_ERROR, 5 },
		{ "ERR", GPG_ANSWER_BAD, 0 },
		{ "ERR ", GPG_ANSWER_BAD, 0 },
		{ "ERR 0", GPG_ANSWER_BAD, 0 },
		{ "ERR 99999999999", GPG_ANSWER_BAD, 0 },
		{ "ERR x", GPG_ANSWER_BAD, 0 },
		{ "S PROGRESS x", GPG_ANSWER_NOTHING, 0 },
		{ "# x", GPG_ANSWER_NOTHING, 0 },
		{ "", GPG_ANSWER_NOTHING, 0 },
		{ "D x", GPG_ANSWER_DATA, 0 },
		{ "D ", GPG_ANSWER_BAD, 0 },
		{ "INQUIRE PINENTRY_LAUNCHED 1", GPG_ANSWER_INQUIRE, 0 },
		{ "BYE", GPG_ANSWER_BAD, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct guard_page page = guard_page_new(cases[i].line, strlen(cases[i].line));
		struct gpg_answer got;

		gpg_answer_parse(page.data, strlen(cases[i].line), &got);
		if (got.kind != cases[i].kind || got.error != cases[i].error)
			fail_msg("\"%s\": %d, %u", cases[i].line, got.kind, got.error);
		guard_page_done(&page);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines),     cmocka_unit_test(served), cmocka_unit_test(never_served),
		cmocka_unit_test(malformed), cmocka_unit_test(values), cmocka_unit_test(answers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
