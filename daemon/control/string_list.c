#include "daemon/control/string_list.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void string_list_done(struct string_list *l)
{
	for (size_t i = 0; i < l->count; i++)
		free(l->items[i]);
	free(l->items);
	*l = (struct string_list)STRING_LIST_INIT;
}

/* Takes text over, also on failure. */
static const char *take(struct string_list *l, char *text)
{
	if (!text)
		return NULL;
	if (l->count + 1 >= l->room) {
		size_t room = l->room ? l->room * 2 : 16;
		char **items = reallocarray(l->items, room, sizeof(*items));

		if (!items) {
			free(text);
			return NULL;
		}
		l->items = items;
		l->room = room;
	}
	l->items[l->count++] = text;
	l->items[l->count] = NULL;
	return text;
}

const char *string_list_add(struct string_list *l, const char *text)
{
	return take(l, strdup(text));
}

const char *string_list_printf(struct string_list *l, const char *format, ...)
{
	char *text = NULL;
	va_list ap;
	int n;

	va_start(ap, format);
	n = vasprintf(&text, format, ap);
	va_end(ap);
	return n < 0 ? NULL : take(l, text);
}
