#include "daemon/session/gateway/tls_hello.h"

#include <errno.h>
#include <string.h>

#include "base/limits.h"

enum {
	RECORD_HEADER = 5,
	RECORD_MAX = 16384,
	HANDSHAKE_HEADER = 4,
	HANDSHAKE_CLIENT_HELLO = 1,
	RANDOM_LEN = 32,
	SESSION_ID_MAX = 32,
	EXTENSION_SERVER_NAME = 0,
	EXTENSION_ECH = 0xfe0d,
	NAME_TYPE_HOST = 0,
};

/* Reads handshake bytes and steps over the record headers between them. Only used once all records are known to be
 * there, so running out of bytes means that a length inside lies. */
struct reader {
	const uint8_t *at;
	size_t record_left; /* of the current record */
	size_t left;        /* of the structure being read */
	bool bad;
};

static void reader_next(struct reader *r)
{
	r->record_left = (size_t)r->at[3] << 8 | r->at[4];
	r->at += RECORD_HEADER;
}

/* Moves over n bytes, copying them where to is given. */
static void reader_take(struct reader *r, size_t n, void *to)
{
	uint8_t *out = to;

	if (r->bad || n > r->left) {
		r->bad = true;
		return;
	}
	r->left -= n;
	while (n > 0) {
		size_t part;

		if (r->record_left == 0)
			reader_next(r);
		part = n < r->record_left ? n : r->record_left;
		if (out) {
			memcpy(out, r->at, part);
			out += part;
		}
		r->at += part;
		r->record_left -= part;
		n -= part;
	}
}

static uint32_t reader_number(struct reader *r, size_t width)
{
	uint8_t bytes[4] = { 0 };
	uint32_t value = 0;

	reader_take(r, width, bytes);
	for (size_t i = 0; i < width; i++)
		value = value << 8 | bytes[i];
	return r->bad ? 0 : value;
}

/* Narrows the reader to a structure of n bytes; returns what lies behind it, for reader_leave(). */
static size_t reader_enter(struct reader *r, size_t n)
{
	size_t behind;

	if (r->bad || n > r->left) {
		r->bad = true;
		return 0;
	}
	behind = r->left - n;
	r->left = n;
	return behind;
}

static void reader_leave(struct reader *r, size_t behind)
{
	if (r->left != 0)
		r->bad = true;
	r->left = behind;
}

/* One host name and nothing else: lists with several entries exist only to confuse. */
static void read_server_name(struct reader *r, struct tls_hello *ret)
{
	size_t behind = reader_enter(r, reader_number(r, 2));
	uint32_t type = reader_number(r, 1), len = reader_number(r, 2);

	if (ret->has_name || type != NAME_TYPE_HOST || len == 0 || len > TLS_NAME_MAX) {
		r->bad = true;
		return;
	}
	reader_take(r, len, ret->name);
	if (r->bad)
		return;
	ret->name[len] = '\0';
	ret->name_len = len;
	ret->has_name = true;
	reader_leave(r, behind);
}

static void read_extensions(struct reader *r, struct tls_hello *ret)
{
	size_t behind = reader_enter(r, reader_number(r, 2));

	while (!r->bad && r->left > 0) {
		uint32_t type = reader_number(r, 2);
		size_t rest = reader_enter(r, reader_number(r, 2));

		if (type == EXTENSION_SERVER_NAME)
			read_server_name(r, ret);
		else
			reader_take(r, r->left, NULL);
		if (type == EXTENSION_ECH)
			ret->ech = true;
		reader_leave(r, rest);
	}
	reader_leave(r, behind);
}

static void read_hello(struct reader *r, struct tls_hello *ret)
{
	uint32_t n;

	if (reader_number(r, 2) >> 8 != 3)
		r->bad = true;
	reader_take(r, RANDOM_LEN, NULL);
	n = reader_number(r, 1);
	if (n > SESSION_ID_MAX)
		r->bad = true;
	reader_take(r, n, NULL);
	n = reader_number(r, 2);
	if (n < 2 || n % 2 != 0)
		r->bad = true;
	reader_take(r, n, NULL);
	n = reader_number(r, 1);
	if (n < 1)
		r->bad = true;
	reader_take(r, n, NULL);
	if (!r->bad && r->left > 0)
		read_extensions(r, ret);
	if (r->left != 0)
		r->bad = true;
}

/*
 * Walks the records without looking into them. > 0: the length of the handshake message, and *ret_end is the offset of
 * its last byte + 1. 0 for more. Costs a step a record, so that it may be called for each byte that arrives.
 */
static ssize_t find_end(const uint8_t *data, size_t len, size_t *ret_end)
{
	uint8_t header[HANDSHAKE_HEADER];
	size_t at = 0, seen = 0, need = HANDSHAKE_HEADER;

	for (unsigned records = 0; records < LIMIT_TLS_RECORDS; records++) {
		size_t in_record;

		if (len - at >= 1 && data[at] != TLS_RECORD_HANDSHAKE)
			return at == 0 ? -EPROTO : -EBADMSG;
		if (len - at >= 2 && data[at + 1] != 3)
			return at == 0 ? -EPROTO : -EBADMSG;
		if (len - at < RECORD_HEADER)
			return 0;
		in_record = (size_t)data[at + 3] << 8 | data[at + 4];
		if (in_record == 0 || in_record > RECORD_MAX)
			return -EBADMSG;
		at += RECORD_HEADER;
		for (size_t i = 0; i < in_record && seen + i < HANDSHAKE_HEADER; i++) {
			if (at + i >= len)
				return 0;
			header[seen + i] = data[at + i];
		}
		if (seen < HANDSHAKE_HEADER && seen + in_record >= HANDSHAKE_HEADER) {
			size_t body = (size_t)header[1] << 16 | (size_t)header[2] << 8 | header[3];

			if (header[0] != HANDSHAKE_CLIENT_HELLO)
				return -EBADMSG;
			if (body > LIMIT_TLS_HELLO)
				return -EMSGSIZE;
			need += body;
		}
		if (seen + in_record >= need && seen + in_record >= HANDSHAKE_HEADER) {
			at += need - seen;
			if (at > len)
				return 0;
			*ret_end = at;
			return (ssize_t)need;
		}
		seen += in_record;
		if (in_record > len - at)
			return 0;
		at += in_record;
	}
	return -EMSGSIZE;
}

ssize_t tls_hello_parse(const uint8_t *data, size_t len, struct tls_hello *ret)
{
	struct tls_hello hello = { 0 };
	struct reader r = { .at = data };
	size_t end = 0;
	ssize_t n = find_end(data, len, &end);

	if (n <= 0)
		return n;
	r.left = (size_t)n;
	reader_take(&r, HANDSHAKE_HEADER, NULL);
	read_hello(&r, &hello);
	if (r.bad)
		return -EBADMSG;
	*ret = hello;
	return (ssize_t)end;
}

void tls_hello_alert(uint8_t description, uint8_t ret[TLS_ALERT_LEN])
{
	const uint8_t alert[TLS_ALERT_LEN] = { 0x15, 3, 3, 0, 2, 2 /* fatal */, description };

	memcpy(ret, alert, TLS_ALERT_LEN);
}
