#ifndef ISOD_TESTS_GUARD_PAGE_H
#define ISOD_TESTS_GUARD_PAGE_H
/* A copy of bytes that ends where an unreadable page begins: one byte read too far is a crash. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct guard_page {
	void *map;
	size_t size;
	char *data;
};

static inline struct guard_page guard_page_new(const void *data, size_t n)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), room = (n + page - 1) / page * page;
	struct guard_page g = { .size = room + page };

	g.map = mmap(NULL, g.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (g.map == MAP_FAILED || mprotect((char *)g.map + room, page, PROT_NONE) < 0)
		abort();
	g.data = (char *)g.map + room - n;
	if (n > 0)
		memcpy(g.data, data, n);
	return g;
}

static inline void guard_page_done(struct guard_page *g)
{
	munmap(g->map, g->size);
}

#endif
