#include "hello_make.h"

#include <string.h>

static uint8_t *put(uint8_t *at, uint32_t value, int width)
{
	for (int i = 0; i < width; i++)
		at[i] = (uint8_t)(value >> (8 * (width - 1 - i)));
	return at + width;
}

static uint8_t *put_name(uint8_t *at, const struct hello_make *m, const char *name, size_t len)
{
	int entries = m->list_entries ? m->list_entries : 1;
	size_t list = (size_t)entries * (3 + len);

	at = put(at, 0, 2);
	at = put(at, (uint32_t)((int)list + 2 + m->extension_error), 2);
	at = put(at, (uint32_t)((int)list + m->list_error), 2);
	for (int i = 0; i < entries; i++) {
		at = put(at, m->name_type, 1);
		at = put(at, (uint32_t)((int)len + m->name_error), 2);
		memcpy(at, name, len);
		at += len;
	}
	return at;
}

static uint8_t *put_filler(uint8_t *at, uint16_t type, size_t len)
{
	at = put(at, type, 2);
	at = put(at, (uint32_t)len, 2);
	memset(at, 0x5a, len);
	return at + len;
}

static uint8_t *put_extensions(uint8_t *at, const struct hello_make *m)
{
	size_t len = m->name_len ? m->name_len : m->name ? strlen(m->name) : 0;

	at = put_filler(at, 0x0a0a, 0); /* GREASE, empty */
	if (m->padding)
		at = put_filler(at, 21, m->padding);
	if (m->ech)
		at = put_filler(at, 0xfe0d, 186);
	if (m->name && !m->name_last)
		at = put_name(at, m, m->name, len);
	at = put_filler(at, 43, 3);
	if (m->second_name)
		at = put_name(at, m, m->second_name, strlen(m->second_name));
	if (m->name && m->name_last)
		at = put_name(at, m, m->name, len);
	return at;
}

size_t hello_message(const struct hello_make *m, uint8_t *ret)
{
	uint8_t *at = ret + 4, *extensions;

	at = put(at, 0x0303, 2);
	memset(at, 0x11, 32);
	at = put(at + 32, 32, 1);
	memset(at, 0x22, 32);
	at = put(at + 32, 4, 2);
	at = put(at, 0x13011302, 4);
	at = put(at, 1, 1);
	at = put(at, 0, 1);
	if (!m->no_extensions) {
		extensions = at;
		at = put_extensions(at + 2, m);
		put(extensions, (uint32_t)((at - extensions) - 2 + m->total_error), 2);
	}
	put(ret, 1, 1);
	put(ret + 1, (uint32_t)(at - ret - 4), 3);
	return (size_t)(at - ret);
}

size_t hello_records(const uint8_t *message, size_t len, size_t record, uint8_t *ret)
{
	uint8_t *at = ret;

	for (size_t i = 0; i < len; i += record) {
		size_t n = len - i < record ? len - i : record;

		at = put(at, 0x16, 1);
		at = put(at, 0x0301, 2);
		at = put(at, (uint32_t)n, 2);
		memcpy(at, message + i, n);
		at += n;
	}
	return (size_t)(at - ret);
}

size_t hello_simple(const char *name, uint8_t *ret)
{
	static uint8_t message[HELLO_MAX];
	struct hello_make m = { .name = name };

	return hello_records(message, hello_message(&m, message), 16384, ret);
}
