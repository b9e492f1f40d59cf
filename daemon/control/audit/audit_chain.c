#include "daemon/control/audit/audit_chain.h"

#include <errno.h>
#include <inttypes.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>

#define PREV ",\"prev\":\""
#define SEQ ",\"seq\":"
/* ,"prev":"HASH"} */
#define TAIL_SIZE (sizeof(PREV) - 1 + 2 * AUDIT_HASH_SIZE + 2)

int audit_hash(const void *data, size_t len, uint8_t ret[AUDIT_HASH_SIZE])
{
	/* Looked up once, before there are threads: each look-up takes as long as hashing a line. */
	static EVP_MD *sha256;
	unsigned n = 0;

	if (!sha256)
		sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
	if (!sha256 || !EVP_Digest(data, len, ret, &n, sha256, NULL) || n != AUDIT_HASH_SIZE)
		return -EIO;
	return 0;
}

void audit_hash_format(const uint8_t hash[AUDIT_HASH_SIZE], char ret[AUDIT_HASH_TEXT])
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < AUDIT_HASH_SIZE; i++) {
		ret[2 * i] = digits[hash[i] >> 4];
		ret[2 * i + 1] = digits[hash[i] & 15];
	}
	ret[2 * AUDIT_HASH_SIZE] = '\0';
}

static int digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int audit_hash_parse(const char *text, size_t len, uint8_t ret[AUDIT_HASH_SIZE])
{
	if (len != 2 * (size_t)AUDIT_HASH_SIZE)
		return -EINVAL;
	for (size_t i = 0; i < AUDIT_HASH_SIZE; i++) {
		int high = digit(text[2 * i]), low = digit(text[2 * i + 1]);

		if (high < 0 || low < 0)
			return -EINVAL;
		ret[i] = (uint8_t)(high << 4 | low);
	}
	return 0;
}

int audit_chain_add(struct audit_head *head, struct buffer *line)
{
	char text[AUDIT_HASH_TEXT], tail[sizeof(SEQ) + 20 + TAIL_SIZE];
	uint8_t hash[AUDIT_HASH_SIZE];
	int r, n;

	if (line->len < 3 || line->data[line->len - 1] != '}')
		return -EINVAL;
	audit_hash_format(head->hash, text);
	n = snprintf(tail, sizeof(tail), SEQ "%" PRIu64 PREV "%s\"}", head->seq + 1, text);
	line->len--;
	r = buffer_append(line, tail, (size_t)n);
	if (r < 0) {
		line->len++;
		return r;
	}
	r = audit_hash(line->data, line->len, hash);
	if (r < 0) {
		line->len -= (size_t)n;
		line->data[line->len++] = '}';
		return r;
	}
	head->seq++;
	memcpy(head->hash, hash, sizeof(hash));
	return 0;
}

/* The two members at the end of a line. 0 or -EINVAL. */
static int parse_tail(const char *line, size_t len, uint64_t *ret_seq, uint8_t ret_prev[AUDIT_HASH_SIZE])
{
	const char *prev = line + len - TAIL_SIZE, *at;
	uint64_t seq = 0, unit = 1;
	int n = 0;

	if (len < TAIL_SIZE + sizeof(SEQ) + 1 || line[0] != '{' || memcmp(prev, PREV, sizeof(PREV) - 1) != 0 ||
	    memcmp(line + len - 2, "\"}", 2) != 0 ||
	    audit_hash_parse(prev + sizeof(PREV) - 1, 2 * (size_t)AUDIT_HASH_SIZE, ret_prev) < 0)
		return -EINVAL;
	for (at = prev; at > line && at[-1] >= '0' && at[-1] <= '9' && n < 19; at--, n++, unit *= 10)
		seq += unit * (uint64_t)(at[-1] - '0');
	if (n == 0 || *at == '0' || (size_t)(at - line) < sizeof(SEQ) - 1 ||
	    memcmp(at - (sizeof(SEQ) - 1), SEQ, sizeof(SEQ) - 1) != 0)
		return -EINVAL;
	*ret_seq = seq;
	return 0;
}

void audit_check_begin(struct audit_check *c, const uint8_t origin[AUDIT_HASH_SIZE])
{
	*c = (struct audit_check){ .partial = BUFFER_INIT(AUDIT_LINE_MAX) };
	memcpy(c->head.hash, origin, AUDIT_HASH_SIZE);
}

static void fault(struct audit_check *c, enum audit_fault fault, uint64_t line)
{
	if (c->fault != AUDIT_FAULT_NONE)
		return;
	c->fault = fault;
	c->fault_line = line;
}

static int check_line(struct audit_check *c, const char *line, size_t len)
{
	uint8_t prev[AUDIT_HASH_SIZE];
	uint64_t seq, expected = c->head.seq + 1;

	c->lines++;
	if (c->skipping || parse_tail(line, len, &seq, prev) < 0) {
		c->skipping = false;
		fault(c, AUDIT_FAULT_FOREIGN, c->lines);
		return 0;
	}
	/* One that was missing comes later: nothing was cut out. */
	if (c->fault == AUDIT_FAULT_CUT && seq == c->wanted)
		c->fault = AUDIT_FAULT_REORDERED;
	if (seq != expected) {
		if (c->fault == AUDIT_FAULT_NONE)
			c->wanted = expected;
		fault(c, seq > expected ? AUDIT_FAULT_CUT : AUDIT_FAULT_REORDERED, c->lines);
	} else if (memcmp(prev, c->head.hash, sizeof(prev)) != 0) {
		/* Of the first line it is the origin that does not fit: the line is not of this file. */
		fault(c, AUDIT_FAULT_EDITED, c->lines > 1 ? c->lines - 1 : 1);
	}
	c->head.seq = seq;
	return audit_hash(line, len, c->head.hash);
}

int audit_check_read(struct audit_check *c, const char *data, size_t len)
{
	while (len > 0) {
		const char *end = memchr(data, '\n', len);
		size_t n = end ? (size_t)(end - data) : len;
		int r = 0;

		if (end && c->partial.len == 0) {
			r = check_line(c, data, n);
		} else {
			/* What is too long is no line of ours, whatever else stands in it. */
			if (c->skipping || c->partial.len + n > AUDIT_LINE_MAX) {
				c->skipping = true;
			} else {
				r = buffer_append(&c->partial, data, n);
			}
			if (r == 0 && end) {
				r = check_line(c, c->partial.data, c->partial.len);
				c->partial.len = 0;
			}
		}
		if (r < 0)
			return r;
		n += end ? 1 : 0;
		c->read += n;
		if (end)
			c->bytes = c->read;
		data += n;
		len -= n;
	}
	return 0;
}

void audit_check_end(struct audit_check *c, const struct audit_head *head, bool open)
{
	if (c->skipping)
		fault(c, AUDIT_FAULT_FOREIGN, c->lines + 1);
	if (c->fault != AUDIT_FAULT_NONE)
		return;
	if (c->head.seq < head->seq)
		fault(c, AUDIT_FAULT_CUT, c->lines + 1);
	else if (c->head.seq > head->seq && !open)
		fault(c, AUDIT_FAULT_ADDED, head->seq + 1);
	else if (c->head.seq == head->seq && memcmp(c->head.hash, head->hash, sizeof(head->hash)) != 0)
		fault(c, AUDIT_FAULT_EDITED, c->lines);
}

void audit_check_done(struct audit_check *c)
{
	buffer_done(&c->partial);
}

const char *audit_fault_name(enum audit_fault fault)
{
	static const char *const names[] = {
		[AUDIT_FAULT_NONE] = "intact",         [AUDIT_FAULT_EDITED] = "edited",   [AUDIT_FAULT_CUT] = "cut",
		[AUDIT_FAULT_REORDERED] = "reordered", [AUDIT_FAULT_FOREIGN] = "foreign", [AUDIT_FAULT_ADDED] = "added",
	};

	return names[fault];
}
