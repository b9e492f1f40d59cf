/* Runs a fuzz harness over files, and over every prefix of each up to 4 KiB, so that a corpus is an ordinary test. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The input ends where an unreadable page begins: one byte read too far is a crash. */
static void run_guarded(const uint8_t *data, size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), room = (size + page - 1) / page * page;
	uint8_t *map = mmap(NULL, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (map == MAP_FAILED)
		abort();
	if (mprotect(map + room, page, PROT_NONE) < 0)
		abort();
	if (size > 0)
		memcpy(map + room - size, data, size);
	LLVMFuzzerTestOneInput(map + room - size, size);
	munmap(map, room + page);
}

int main(int argc, char **argv)
{
	static uint8_t data[1 << 20];

	if (argc < 2) {
		fprintf(stderr, "usage: %s FILE...\n", argv[0]);
		return 2;
	}
	for (int i = 1; i < argc; i++) {
		FILE *f = fopen(argv[i], "rb");
		size_t n;

		if (!f) {
			perror(argv[i]);
			return 1;
		}
		n = fread(data, 1, sizeof(data), f);
		fclose(f);
		run_guarded(data, n);
		for (size_t len = 0; len < n && len < 4096; len++)
			run_guarded(data, len);
	}
	printf("%d inputs and their prefixes\n", argc - 1);
	return 0;
}
