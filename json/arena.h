#ifndef ISOD_JSON_ARENA_H
#define ISOD_JSON_ARENA_H
/* Memory of one tree or one decoded struct: given out piece by piece, freed all at once and without recursion. */
#include <stddef.h>

struct json_arena;

/* Aligned for any type. NULL: no memory. The arena itself is made with its first piece: start with *arena = NULL. */
void *json_arena_alloc(struct json_arena **arena, size_t size);
/* A terminated copy. */
char *json_arena_copy(struct json_arena **arena, const char *data, size_t len);
void json_arena_free(struct json_arena *arena);

#endif
