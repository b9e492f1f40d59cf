/* Indexes as git writes them, and others. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "git/git_index.h"

struct made {
	unsigned char data[1024];
	size_t len;
};

static void begin(struct made *m, unsigned version, unsigned n)
{
	*m = (struct made){ .data = "DIRC", .len = 12 };
	m->data[7] = (unsigned char)version;
	m->data[11] = (unsigned char)n;
}

/* strip: of version 4, -1 of the others */
static void add(struct made *m, const char *name, size_t whole, bool skipped, int strip)
{
	unsigned char *p = m->data + m->len;
	size_t at = skipped ? 64 : 62;

	memset(p, 0xee, 60);
	p[60] = (unsigned char)((skipped ? 0x40 : 0) | (whole >> 8));
	p[61] = (unsigned char)whole;
	if (skipped)
		p[62] = 0x40;
	if (strip >= 0)
		p[at++] = (unsigned char)strip;
	memcpy(p + at, name, strlen(name) + 1);
	at += strlen(name) + 1;
	m->len += strip >= 0 ? at : (at + 7) / 8 * 8;
}

static void check(const struct made *m, const char *expected, int end)
{
	struct git_index i;
	char got[256] = "";
	int r;

	assert_int_equal(git_index_begin(&i, m->data, m->len), 0);
	while ((r = git_index_next(&i)) > 0)
		snprintf(got + strlen(got), sizeof(got) - strlen(got), "%.64s%s ", i.name, i.is_skipped ? "!" : "");
	assert_string_equal(got, expected);
	assert_int_equal(r, end);
}

static void versions(void **state)
{
	struct made m;

	begin(&m, 2, 3);
	add(&m, ".env", 4, false, -1);
	add(&m, "a", 1, false, -1);
	add(&m, "sub/12", 6, false, -1); /* 62 + 6 + 1 ends on no eighth byte, + 1 of the first does not either */
	check(&m, ".env a sub/12 ", 0);
	m.len--;
	check(&m, ".env a ", -EBADMSG);
	begin(&m, 3, 2);
	add(&m, ".env", 4, true, -1);
	add(&m, "a", 1, false, -1);
	check(&m, ".env! a ", 0);
	begin(&m, 4, 3);
	add(&m, "sub/.env", 8, false, 0);
	add(&m, "a", 5, true, 4);
	add(&m, "z", 1, false, 5);
	check(&m, "sub/.env sub/a! z ", 0);
}

static void refused(void **state)
{
	static const unsigned char wrong[][12] = { "DIRX\0\0\0\2", "DIRC\0\0\0\1", "DIRC\0\0\0\5" };
	struct git_index i;
	struct made m;

	for (size_t k = 0; k < ARRAY_SIZE(wrong); k++)
		assert_int_equal(git_index_begin(&i, wrong[k], sizeof(wrong[k])), -EBADMSG);
	assert_int_equal(git_index_begin(&i, wrong[0], 11), -EBADMSG);
	begin(&m, 2, 1); /* fewer than it says */
	check(&m, "", -EBADMSG);
	add(&m, "a", 2, false, -1); /* another length, as where the hash is longer */
	check(&m, "", -EBADMSG);
	begin(&m, 2, 1);
	add(&m, "a", 1, true, -1); /* flags of a later version */
	check(&m, "", -EBADMSG);
	begin(&m, 2, 1);
	add(&m, "", 0, false, -1);
	check(&m, "", -EBADMSG);
	begin(&m, 4, 1);
	add(&m, "a", 1, false, 1); /* more than there was */
	check(&m, "", -EBADMSG);
	begin(&m, 4, 1);
	memset(m.data + 12, 0, 62);
	memset(m.data + 74, 0xff, 100); /* a number without end */
	m.len = 174;
	check(&m, "", -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(versions), cmocka_unit_test(refused) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
