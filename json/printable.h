#ifndef ISOD_JSON_PRINTABLE_H
#define ISOD_JSON_PRINTABLE_H
/* Names out of foreign text, for messages: cut, and nothing in them acts on a terminal. */
#define JSON_PRINTABLE_MAX 65

struct json_printable {
	char text[JSON_PRINTABLE_MAX];
};

/* Control characters and escaped bytes become '?'; a cut is shown by "...". */
struct json_printable json_printable(const char *text);

#endif
