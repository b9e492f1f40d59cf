/* Any text: read twice (with and without comments), written, read again; the second tree must give the same text. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "json/bytes.h"
#include "json/value.h"
#include "json/write.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_value(struct buffer *b, const struct json_value *v)
{
	struct json_writer *w = json_write_new(b);

	json_write_value(w, v);
	if (json_write_finish(w) < 0)
		abort();
}

/* Where a string is a byte string, its bytes must lead back to it. */
static void check_bytes(const struct json_value *v)
{
	_cleanup_buffer_ struct buffer b = BUFFER_INIT(LIMIT_MESSAGE * 8), again = BUFFER_INIT(LIMIT_MESSAGE * 8);
	struct json_writer *w;
	char *bytes;
	long n;

	if (v->type != JSON_STRING)
		return;
	bytes = malloc(v->string.len + 1);
	if (!bytes)
		abort();
	n = json_bytes_decode(v->string.data, v->string.len, bytes);
	if (n >= 0) {
		write_value(&b, v);
		w = json_write_new(&again);
		json_write_bytes(w, bytes, (size_t)n);
		if (json_write_finish(w) < 0 || b.len != again.len || memcmp(b.data, again.data, b.len) != 0)
			abort();
	}
	free(bytes);
}

static void check_text(const uint8_t *data, size_t size, unsigned flags)
{
	_cleanup_json_ struct json_document d = JSON_DOCUMENT_INIT, second = JSON_DOCUMENT_INIT;
	_cleanup_buffer_ struct buffer b = BUFFER_INIT(LIMIT_MESSAGE * 8), again = BUFFER_INIT(LIMIT_MESSAGE * 8);
	struct error e = ERROR_INIT;

	if (json_read((const char *)data, size, flags, &d, &e) < 0) {
		if (e.code == ERROR_NONE || e.message[0] == '\0')
			abort();
		return;
	}
	check_bytes(d.root);
	write_value(&b, d.root);
	/* what was near the bound may be longer once written; the rest must be as good as the original */
	if (json_read(b.data, b.len, 0, &second, NULL) < 0) {
		if (b.len <= LIMIT_MESSAGE)
			abort();
		return;
	}
	write_value(&again, second.root);
	if (again.len != b.len || memcmp(again.data, b.data, b.len) != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	check_text(data, size, 0);
	check_text(data, size, JSON_COMMENTS);
	return 0;
}
