#ifndef ISOD_CONTROL_STRING_LIST_H
#define ISOD_CONTROL_STRING_LIST_H
/* A growing NULL-terminated array of owned strings: argv, envp, notes, the texts of a plan. STRING_LIST_INIT, _done().
 */
#include <stdbool.h>
#include <stddef.h>

struct string_list {
	char **items; /* NULL-terminated once something was added; NULL before */
	size_t count;
	size_t room;
};

#define STRING_LIST_INIT                                                                                               \
	{                                                                                                              \
		.items = NULL                                                                                          \
	}

void string_list_done(struct string_list *l);
#define _cleanup_string_list_ __attribute__((cleanup(string_list_done)))

/* The new string, or NULL without memory; it belongs to the list and never moves. */
const char *string_list_add(struct string_list *l, const char *text);
const char *string_list_printf(struct string_list *l, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
