#include "daemon/control/audit/audit_record.h"

#include <errno.h>
#include <string.h>

#include "base/buffer.h"

#define MAGIC 0x31584941u /* "AIX1" */

struct writer {
	uint8_t *at;
};

static void put(struct writer *w, uint64_t value, size_t n)
{
	for (; n > 0; n--, value >>= 8)
		*w->at++ = (uint8_t)value;
}

static void put_bytes(struct writer *w, const void *data, size_t n)
{
	memcpy(w->at, data, n);
	w->at += n;
}

void audit_record_write(const struct audit_record *r, uint8_t ret[AUDIT_RECORD_SIZE])
{
	struct writer w = { ret };
	char id[ISOD_ID_LEN] = "";

	memset(ret, 0, AUDIT_RECORD_SIZE);
	memcpy(id, r->id, strnlen(r->id, ISOD_ID_LEN));
	put(&w, MAGIC, 4);
	put(&w, r->kind, 2);
	put(&w, r->flags, 2);
	put(&w, r->number, 8);
	put(&w, (uint64_t)r->time, 8);
	put(&w, r->uid, 4);
	put_bytes(&w, id, sizeof(id));
	put(&w, (uint64_t)r->started, 8);
	put(&w, (uint64_t)r->ended, 8);
	put(&w, r->lines, 8);
	put(&w, r->bytes, 8);
	put(&w, r->denied, 8);
	put_bytes(&w, r->hash, sizeof(r->hash));
	put_bytes(&w, r->origin, sizeof(r->origin));
	put_bytes(&w, r->prev, sizeof(r->prev));
	put_bytes(&w, r->marks, sizeof(r->marks));
}

static uint64_t take(struct cursor *c, size_t n)
{
	uint64_t value = 0;

	for (size_t i = 0; i < n; i++)
		value |= (uint64_t)c->at[i] << (8 * i);
	c->at += n;
	return value;
}

static void take_bytes(struct cursor *c, void *ret, size_t n)
{
	memcpy(ret, c->at, n);
	c->at += n;
}

static bool id_fits(const char *id, enum audit_record_kind kind)
{
	const bool of_session = kind >= AUDIT_RECORD_OPEN;

	return of_session ? strspn(id, "0123456789abcdef") == ISOD_ID_LEN : id[0] == '\0';
}

int audit_record_read(const uint8_t data[AUDIT_RECORD_SIZE], struct audit_record *ret)
{
	struct cursor c = { data, data + AUDIT_RECORD_SIZE };
	struct audit_record r = { 0 };
	uint64_t magic = take(&c, 4), kind = take(&c, 2);
	uint8_t again[AUDIT_RECORD_SIZE];

	r.flags = (uint32_t)take(&c, 2);
	r.number = take(&c, 8);
	r.time = (int64_t)take(&c, 8);
	r.uid = (uint32_t)take(&c, 4);
	take_bytes(&c, r.id, ISOD_ID_LEN);
	r.started = (int64_t)take(&c, 8);
	r.ended = (int64_t)take(&c, 8);
	r.lines = take(&c, 8);
	r.bytes = take(&c, 8);
	r.denied = take(&c, 8);
	take_bytes(&c, r.hash, sizeof(r.hash));
	take_bytes(&c, r.origin, sizeof(r.origin));
	take_bytes(&c, r.prev, sizeof(r.prev));
	take_bytes(&c, r.marks, sizeof(r.marks));
	if (magic != MAGIC || kind < AUDIT_RECORD_BEGIN || kind >= AUDIT_RECORD_KIND_END ||
	    r.flags >= AUDIT_RECORD_FLAGS_END)
		return -EBADMSG;
	r.kind = (enum audit_record_kind)kind;
	audit_record_write(&r, again);
	if (!id_fits(r.id, r.kind) || memcmp(again, data, sizeof(again)) != 0)
		return -EBADMSG;
	*ret = r;
	return 0;
}

static uint64_t word_hash(const char *word)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (; *word; word++)
		h = (h ^ (uint8_t)*word) * 0x100000001b3u;
	return h ^ h >> 32;
}

void audit_marks_add(uint8_t marks[AUDIT_MARKS_SIZE], const char *word)
{
	uint64_t h = word_hash(word);

	marks[h % AUDIT_MARKS_SIZE] |= (uint8_t)(1 << (h >> 8 & 7));
	marks[(h >> 16) % AUDIT_MARKS_SIZE] |= (uint8_t)(1 << (h >> 24 & 7));
}

bool audit_marks_may_have(const uint8_t marks[AUDIT_MARKS_SIZE], const char *word)
{
	uint64_t h = word_hash(word);

	return marks[h % AUDIT_MARKS_SIZE] & 1 << (h >> 8 & 7) &&
	       marks[(h >> 16) % AUDIT_MARKS_SIZE] & 1 << (h >> 24 & 7);
}

void audit_marks_add_program(uint8_t marks[AUDIT_MARKS_SIZE], const char *program)
{
	const char *name = strrchr(program, '/');

	audit_marks_add(marks, program);
	if (name)
		audit_marks_add(marks, name + 1);
}
