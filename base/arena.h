#ifndef ISOD_BASE_ARENA_H
#define ISOD_BASE_ARENA_H
/* Memory of one tree or one decoded struct: given out piece by piece, freed all at once and without recursion. */
#include <stddef.h>

struct arena;

/* Aligned for any type. NULL: no memory. The arena itself is made with its first piece: start with *arena = NULL. */
void *arena_alloc(struct arena **arena, size_t size);
/* A terminated copy. */
char *arena_copy(struct arena **arena, const char *data, size_t len);
void arena_free(struct arena *arena);

#endif
