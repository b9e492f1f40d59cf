/* The ring buffer of refusals, as the kernel writes it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/bpf.h>

#include <cmocka.h>

#include "daemon/linux/late/late_map.h"

struct fake_ring {
	struct late_ring ring;
	unsigned long consumed;
	unsigned char *kernels;
	size_t page;
};

static void put(struct fake_ring *f, uint32_t flags, int pid)
{
	unsigned long *written = (unsigned long *)f->kernels, at = *written % LATE_RING_BYTES;
	unsigned char *bytes = f->kernels + f->page;
	const struct late_refusal refusal = { .pid = pid };
	const uint32_t head[2] = { (uint32_t)sizeof(refusal) | flags, 0 };
	unsigned char record[sizeof(head) + sizeof(refusal)];

	memcpy(record, head, sizeof(head));
	memcpy(record + sizeof(head), &refusal, sizeof(refusal));
	for (size_t i = 0; i < sizeof(record); i++)
		bytes[(at + i) % LATE_RING_BYTES] = bytes[(at + i) % LATE_RING_BYTES + LATE_RING_BYTES] = record[i];
	*written += sizeof(record);
}

static void sum_pids(void *data, const struct late_refusal *refusal)
{
	*(int *)data += refusal->pid;
}

static void test_ring(void **state)
{
	struct fake_ring f = { .page = (size_t)sysconf(_SC_PAGESIZE) };
	const size_t size = 8 + sizeof(struct late_refusal);
	int sum = 0;

	f.kernels = calloc(1, f.page + 2 * (size_t)LATE_RING_BYTES);
	assert_non_null(f.kernels);
	f.ring = (struct late_ring){ .consumed = &f.consumed, .kernels = f.kernels };
	assert_int_equal(late_ring_read(&f.ring, 10, sum_pids, &sum), 0);
	/* More than once around: one record lies across the end. */
	for (size_t i = 0; i < 3 * (size_t)LATE_RING_BYTES / size; i++) {
		put(&f, 0, 1);
		assert_int_equal(late_ring_read(&f.ring, 10, sum_pids, &sum), 1);
		assert_int_equal(sum, i + 1);
	}
	sum = 0;
	put(&f, BPF_RINGBUF_DISCARD_BIT, 100);
	put(&f, 0, 1);
	put(&f, 0, 2);
	put(&f, BPF_RINGBUF_BUSY_BIT, 4);
	put(&f, 0, 8);
	assert_int_equal(late_ring_read(&f.ring, 2, sum_pids, &sum), 1);
	assert_int_equal(sum, 1);
	assert_int_equal(late_ring_read(&f.ring, 10, sum_pids, &sum), 1);
	assert_int_equal(sum, 3);
	assert_int_equal(*(unsigned long *)f.kernels - f.consumed, 2 * size);
	free(f.kernels);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_ring) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
