#include "base/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_FIRST 2048
#define BLOCK_MAX (256U << 10)

/* The newest block; the older ones hang from it. */
struct arena {
	struct arena *older;
	size_t used;
	size_t size;
	alignas(max_align_t) char data[];
};

static struct arena *block_new(struct arena *older, size_t need)
{
	size_t size = older ? older->size * 2 : BLOCK_FIRST;
	struct arena *block;

	if (size > BLOCK_MAX)
		size = BLOCK_MAX;
	if (size < need)
		size = need;
	if (size > SIZE_MAX - sizeof(*block))
		return NULL;
	block = malloc(sizeof(*block) + size);
	if (!block)
		return NULL;
	block->older = older;
	block->used = 0;
	block->size = size;
	return block;
}

static void *take(struct arena **arena, size_t size, size_t align)
{
	struct arena *block = *arena;
	size_t at = block ? (block->used + align - 1) & ~(align - 1) : 0;

	if (!block || at > block->size || size > block->size - at) {
		block = block_new(block, size);
		if (!block)
			return NULL;
		*arena = block;
		at = 0;
	}
	block->used = at + size;
	return block->data + at;
}

void *arena_alloc(struct arena **arena, size_t size)
{
	return take(arena, size, alignof(max_align_t));
}

char *arena_copy(struct arena **arena, const char *data, size_t len)
{
	char *copy = take(arena, len + 1, 1);

	if (!copy)
		return NULL;
	if (len > 0)
		memcpy(copy, data, len);
	copy[len] = '\0';
	return copy;
}

void arena_free(struct arena *arena)
{
	while (arena) {
		struct arena *older = arena->older;

		free(arena);
		arena = older;
	}
}
