#include "daemon/session/dns/dns_message.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/number.h"

#define HEADER 12
#define NAME_MAX_WIRE 255
#define QUESTION_MAX (NAME_MAX_WIRE + 4)
#define RECORD_FIXED 10 /* type, class, ttl, length */
#define POINTER 2
/* Beside a record, and where there is none: a refusal has room for what its owner says. */
#define EDE_TEXT_MAX 64
#define EDE_TEXT_ALONE_MAX 220
#define OPT_FIXED (1 + RECORD_FIXED + 4 + 2)
#define OPT_MAX (OPT_FIXED + EDE_TEXT_MAX)
/* A name for PTR is only answered to a reverse name, which is short. */
#define REVERSE_NAME_MAX 74

static_assert(HEADER + QUESTION_MAX + POINTER + RECORD_FIXED + 16 + OPT_MAX <= DNS_REPLY_MAX, "addresses fit");
static_assert(HEADER + QUESTION_MAX + OPT_FIXED + EDE_TEXT_ALONE_MAX <= DNS_REPLY_MAX, "refusals fit");
static_assert(HEADER + REVERSE_NAME_MAX + 4 + POINTER + RECORD_FIXED + NAME_MAX_WIRE + OPT_MAX <= DNS_REPLY_MAX,
	      "names fit");

#define FLAG_QR 0x8000u
#define FLAG_OPCODE 0x7800u
#define FLAG_RD 0x0100u
#define FLAG_RA 0x0080u
#define CLASS_IN 1
#define TYPE_OPT 41
#define OPTION_EDE 15
/* What we say we take over UDP: more than any query needs, less than any path's limit. */
#define OUR_UDP_SIZE 1232

struct reader {
	const uint8_t *at;
	const uint8_t *end;
};

static bool read_u16(struct reader *r, uint16_t *ret)
{
	if (r->end - r->at < 2)
		return false;
	*ret = (uint16_t)(r->at[0] << 8 | r->at[1]);
	r->at += 2;
	return true;
}

/* Text of the labels with dots between, at most 254 bytes; *ret_plain false where a label holds a byte that no host
 * name has, so that "a.b" as one label is never taken for two. */
static bool read_question_name(struct reader *r, char text[NAME_MAX_WIRE + 1], size_t *ret_len, bool *ret_plain)
{
	const uint8_t *start = r->at;
	size_t n = 0;

	*ret_plain = true;
	for (;;) {
		uint8_t len;

		if (r->at == r->end)
			return false;
		len = *r->at++;
		if (len == 0)
			break;
		/* Nothing stands before the first name that a pointer could point to. */
		if (len > 63 || r->end - r->at < len || r->at + len + 1 - start > NAME_MAX_WIRE)
			return false;
		if (n > 0)
			text[n++] = '.';
		for (uint8_t i = 0; i < len; i++) {
			uint8_t c = r->at[i];

			if (c == '.' || c <= 0x20 || c >= 0x7f)
				*ret_plain = false;
			text[n++] = (char)c;
		}
		r->at += len;
	}
	*ret_len = n;
	return true;
}

/* Over a record's owner: a pointer ends it, wherever it points. */
static bool skip_name(struct reader *r)
{
	while (r->at < r->end) {
		uint8_t len = *r->at++;

		if (len == 0)
			return true;
		if ((len & 0xc0) == 0xc0) {
			if (r->at == r->end)
				return false;
			r->at++;
			return true;
		}
		if (len > 63 || r->end - r->at < len)
			return false;
		r->at += len;
	}
	return false;
}

/* The additional section: OPT is of interest, at most one. Returns 0 or a response code. */
static int read_additional(struct reader *r, uint16_t count, struct dns_query *ret)
{
	int rcode = 0;

	while (count-- > 0) {
		uint16_t type, class, ttl_high, ttl_low, len;
		bool root = r->at < r->end && *r->at == 0;

		if (!skip_name(r) || !read_u16(r, &type) || !read_u16(r, &class) || !read_u16(r, &ttl_high) ||
		    !read_u16(r, &ttl_low) || !read_u16(r, &len) || r->end - r->at < len)
			return DNS_FORMERR;
		r->at += len;
		if (type != TYPE_OPT)
			continue;
		if (!root || ret->has_edns)
			return DNS_FORMERR;
		ret->has_edns = true;
		if ((ttl_high & 0xff) != 0) /* only version 0 is known */
			rcode = DNS_BADVERS;
	}
	return rcode;
}

int dns_query_parse(const uint8_t *data, size_t len, struct dns_query *ret)
{
	struct reader r = { data, data + len };
	uint16_t counts[4], class;
	char text[NAME_MAX_WIRE + 1];
	size_t text_len;
	bool plain;
	int rcode;

	*ret = (struct dns_query){ 0 };
	if (len < HEADER)
		return -EBADMSG;
	read_u16(&r, &ret->id);
	read_u16(&r, &ret->flags);
	for (int i = 0; i < 4; i++)
		read_u16(&r, &counts[i]);
	if (ret->flags & FLAG_QR)
		return -EBADMSG;
	if (ret->flags & FLAG_OPCODE)
		return DNS_NOTIMP;
	if (counts[0] != 1 || counts[1] != 0 || counts[2] != 0)
		return DNS_FORMERR;
	if (!read_question_name(&r, text, &text_len, &plain) || !read_u16(&r, &ret->type) || !read_u16(&r, &class))
		return DNS_FORMERR;
	ret->question = data + HEADER;
	ret->question_len = r.at - ret->question;
	rcode = read_additional(&r, counts[3], ret);
	if (rcode != 0)
		return rcode;
	if (class != CLASS_IN)
		return DNS_REFUSED;
	if (!plain || hostname_canonical(text, text_len, ret->name) < 0)
		ret->name[0] = '\0';
	return 0;
}

struct writer {
	uint8_t *at;
};

static void put_u16(struct writer *w, unsigned value)
{
	*w->at++ = (uint8_t)(value >> 8);
	*w->at++ = (uint8_t)value;
}

static void put_bytes(struct writer *w, const void *data, size_t n)
{
	if (n > 0)
		memcpy(w->at, data, n);
	w->at += n;
}

static void put_name(struct writer *w, const char *name)
{
	while (*name) {
		size_t n = strcspn(name, ".");

		*w->at++ = (uint8_t)n;
		put_bytes(w, name, n);
		name += n + (name[n] == '.');
	}
	*w->at++ = 0;
}

static void put_record(struct writer *w, const struct dns_answer *answer)
{
	uint8_t *length;

	put_u16(w, 0xc000 | HEADER); /* the question's name */
	put_u16(w, answer->type);
	put_u16(w, CLASS_IN);
	put_u16(w, answer->ttl >> 16);
	put_u16(w, answer->ttl & 0xffff);
	length = w->at;
	w->at += 2;
	if (answer->type == DNS_PTR)
		put_name(w, answer->name);
	else
		put_bytes(w, answer->address, answer->type == DNS_A ? 4 : 16);
	put_u16(&(struct writer){ length }, (unsigned)(w->at - length - 2));
}

/* No character is cut in two. */
static size_t text_length(const char *text, size_t max)
{
	size_t n = strnlen(text, max);

	if (n == max)
		while (n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80)
			n--;
	return n;
}

static void put_opt(struct writer *w, const struct dns_answer *answer, bool record)
{
	size_t max = record ? EDE_TEXT_MAX : EDE_TEXT_ALONE_MAX;
	size_t n = answer->ede >= 0 && answer->ede_text ? text_length(answer->ede_text, max) : 0;

	*w->at++ = 0;
	put_u16(w, TYPE_OPT);
	put_u16(w, OUR_UDP_SIZE);
	put_u16(w, (unsigned)(answer->rcode >> 4) << 8); /* extended code, version 0 */
	put_u16(w, 0);
	if (answer->ede < 0) {
		put_u16(w, 0);
		return;
	}
	put_u16(w, 4 + 2 + (unsigned)n);
	put_u16(w, OPTION_EDE);
	put_u16(w, 2 + (unsigned)n);
	put_u16(w, (unsigned)answer->ede);
	put_bytes(w, answer->ede_text, n);
}

size_t dns_reply_write(const struct dns_query *query, const struct dns_answer *answer, uint8_t ret[DNS_REPLY_MAX])
{
	struct writer w = { ret };
	bool record = answer->type != 0 && query->question;

	put_u16(&w, query->id);
	put_u16(&w, FLAG_QR | FLAG_RA | (query->flags & (FLAG_OPCODE | FLAG_RD)) | (answer->rcode & 0xf));
	put_u16(&w, query->question != NULL);
	put_u16(&w, record ? 1 : 0);
	put_u16(&w, 0);
	put_u16(&w, query->has_edns);
	if (query->question)
		put_bytes(&w, query->question, query->question_len);
	if (record)
		put_record(&w, answer);
	if (query->has_edns)
		put_opt(&w, answer, record);
	return (size_t)(w.at - ret);
}

static int parse_reverse_v6(const char *name, size_t len, uint8_t ret[16])
{
	if (len != 32 * 2)
		return -EINVAL;
	memset(ret, 0, 16);
	for (size_t i = 0; i < 32; i++) {
		char c = name[2 * i];
		unsigned digit = c >= '0' && c <= '9' ? (unsigned)(c - '0') : (unsigned)(c - 'a' + 10);

		if (digit > 15 || name[2 * i + 1] != '.')
			return -EINVAL;
		ret[15 - i / 2] |= (uint8_t)(i % 2 ? digit << 4 : digit);
	}
	return AF_INET6;
}

static int parse_reverse_v4(const char *name, size_t len, uint8_t ret[16])
{
	const char *end = name + len;

	memset(ret, 0, 16);
	for (int i = 3; i >= 0; i--) {
		const char *dot = memchr(name, '.', (size_t)(end - name));
		uint64_t value;

		if (!dot || number_parse_bytes_u64(name, (size_t)(dot - name), 255, &value) < 0)
			return -EINVAL;
		if (dot - name > 1 && *name == '0')
			return -EINVAL;
		ret[i] = (uint8_t)value;
		name = dot + 1;
	}
	return name == end ? AF_INET : -EINVAL;
}

int dns_reverse_parse(const char *name, uint8_t ret[16])
{
	static const char v4[] = "in-addr.arpa", v6[] = "ip6.arpa";
	size_t len = strlen(name);

	if (len > sizeof(v4) - 1 && strcmp(name + len - (sizeof(v4) - 1), v4) == 0)
		return parse_reverse_v4(name, len - (sizeof(v4) - 1), ret);
	if (len > sizeof(v6) - 1 && strcmp(name + len - (sizeof(v6) - 1), v6) == 0)
		return parse_reverse_v6(name, len - (sizeof(v6) - 1), ret);
	return -EINVAL;
}
