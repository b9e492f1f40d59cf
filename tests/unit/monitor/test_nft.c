/* The ruleset: its bytes, and what the kernel makes of them in a network namespace of our own. */
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fd.h"
#include "daemon/linux/filter/nft_apply.h"
#include "daemon/linux/filter/nft_rules.h"
#include "daemon/linux/probe/probe.h"

static void build(struct buffer *b)
{
	assert_int_equal(nft_rules_build(b), 0);
}

static void test_same_bytes(void **state)
{
	_cleanup_buffer_ struct buffer a = BUFFER_INIT(NFT_RULES_MAX), b = BUFFER_INIT(NFT_RULES_MAX);

	build(&a);
	build(&b);
	assert_int_equal(a.len, b.len);
	assert_memory_equal(a.data, b.data, a.len);
}

static void test_bound(void **state)
{
	_cleanup_buffer_ struct buffer small = BUFFER_INIT(100);

	assert_int_equal(nft_rules_build(&small), -EMSGSIZE);
}

/* In a child with a namespace of its own. Exit status: 0 or the step that failed. */
static int in_namespace(int (*body)(const struct buffer *), const struct buffer *b)
{
	int status = 0;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(unshare(CLONE_NEWNET) < 0 ? 99 : body(b));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int list_ruleset(const struct buffer *b)
{
	int r = nft_apply(b->data, b->len);

	if (r < 0)
		return -r;
	return system("nft list ruleset > " GOLDEN_OUT) == 0 ? 0 : 98;
}

static void read_file(const char *path, char *text, size_t size)
{
	FILE *f = fopen(path, "re");
	size_t n;

	assert_non_null(f);
	n = fread(text, 1, size - 1, f);
	text[n] = '\0';
	fclose(f);
}

/* The nft program is only this test's witness; isod does without it. */
static void test_ruleset_as_nft_prints_it(void **state)
{
	_cleanup_buffer_ struct buffer b = BUFFER_INIT(NFT_RULES_MAX);
	char got[4096], expected[4096];

	build(&b);
	assert_int_equal(in_namespace(list_ruleset, &b), 0);
	read_file(GOLDEN_OUT, got, sizeof(got));
	read_file(GOLDEN_DIR "/ruleset.golden", expected, sizeof(expected));
	assert_string_equal(got, expected);
	unlink(GOLDEN_OUT);
}

/* A batch that asks for what the kernel does not have: a rule's chain is gone. */
static int apply_broken(const struct buffer *b)
{
	char *name = memmem(b->data, b->len, "refuse", 6);

	if (!name)
		return 97;
	name[0] = 'X';
	return -nft_apply(b->data, b->len);
}

static void test_refusal_is_seen(void **state)
{
	_cleanup_buffer_ struct buffer b = BUFFER_INIT(NFT_RULES_MAX);

	build(&b);
	assert_int_equal(in_namespace(apply_broken, &b), ENOENT);
}

static void test_cut_batch_is_seen(void **state)
{
	_cleanup_buffer_ struct buffer b = BUFFER_INIT(NFT_RULES_MAX);

	build(&b);
	/* Without its end the kernel acknowledges every message and commits none. */
	b.len -= 20;
	assert_int_equal(in_namespace(list_ruleset, &b), EBADMSG);
	b.len -= 2;
	assert_int_equal(in_namespace(list_ruleset, &b), EBADMSG);
}

static void test_probe(void **state)
{
	_cleanup_buffer_ struct buffer b = BUFFER_INIT(NFT_RULES_MAX);
	struct stat ours, kept;
	struct probe probe;

	build(&b);
	probe_kernel(b.data, b.len, &probe);
	assert_int_equal(probe.unavailable.code, ERROR_NONE);
	/* It keeps the namespace that it tried, which is not the one in use. */
	assert_int_equal(fstat(probe.network, &kept), 0);
	assert_int_equal(stat("/proc/self/ns/net", &ours), 0);
	assert_int_equal(kept.st_dev, ours.st_dev);
	assert_int_not_equal(kept.st_ino, ours.st_ino);
	fd_close(probe.network);
	/* A kernel whose nftables lacks something. */
	memcpy(memmem(b.data, b.len, "reject", 6), "rejekt", 6);
	probe_kernel(b.data, b.len, &probe);
	assert_int_equal(probe.unavailable.code, ERROR_SANDBOX_UNAVAILABLE);
	assert_int_equal(probe.network, -1);
	assert_string_equal(probe.unavailable.step, "nftables");
	assert_true(probe.unavailable.err > 0);
	assert_string_not_equal(probe.unavailable.message, "");
	assert_string_not_equal(probe.unavailable.remedy, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_bytes),
		cmocka_unit_test(test_bound),
		cmocka_unit_test(test_ruleset_as_nft_prints_it),
		cmocka_unit_test(test_refusal_is_seen),
		cmocka_unit_test(test_cut_batch_is_seen),
		cmocka_unit_test(test_probe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
