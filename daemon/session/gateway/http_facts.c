#include "daemon/session/gateway/http_facts.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/number.h"

/* Calls for each element of a comma-separated list. False at the end. */
static bool next_element(struct http_slice *list, struct http_slice *ret)
{
	while (list->len > 0) {
		const char *comma = memchr(list->at, ',', list->len);
		struct http_slice e = { list->at, comma ? (size_t)(comma - list->at) : list->len };
		size_t used = e.len + (comma ? 1 : 0);

		list->at += used;
		list->len -= used;
		while (e.len > 0 && (*e.at == ' ' || *e.at == '\t')) {
			e.at++;
			e.len--;
		}
		while (e.len > 0 && (e.at[e.len - 1] == ' ' || e.at[e.len - 1] == '\t'))
			e.len--;
		if (e.len > 0) {
			*ret = e;
			return true;
		}
	}
	return false;
}

/* Without these the message would mean something else behind us. */
static bool must_stay(struct http_slice name)
{
	return http_slice_is(name, "Host") || http_slice_is(name, "Content-Length") ||
	       http_slice_is(name, "Transfer-Encoding");
}

static int read_connection(struct http_slice value, struct http_facts *f, bool *ret_upgrade)
{
	struct http_slice e;

	f->connection_len += value.len;
	if (f->connection_len > LIMIT_HTTP_CONNECTION)
		return -EMSGSIZE;
	while (next_element(&value, &e)) {
		if (must_stay(e))
			return -EBADMSG;
		if (http_slice_is(e, "close"))
			f->close = true;
		else if (http_slice_is(e, "upgrade"))
			*ret_upgrade = true;
	}
	return 0;
}

static int read_length(const struct http_header *h, bool *seen, struct http_facts *f)
{
	uint64_t n;

	/* 2^62 keeps every sum of lengths far from overflow. */
	if (h->trailing || number_parse_bytes_u64(h->value.at, h->value.len, 1ULL << 62, &n) < 0)
		return -EBADMSG;
	if (*seen && n != f->length)
		return -EBADMSG;
	*seen = true;
	f->length = n;
	return 0;
}

/* In requests the letters must be lower-case too: a server that compares bytes would see another coding. */
static int read_coding(const struct http_head *head, const struct http_header *h, bool *seen)
{
	bool same = head->is_request ? h->value.len == 7 && memcmp(h->value.at, "chunked", 7) == 0
				     : http_slice_is(h->value, "chunked");

	if (*seen || !same || h->trailing || head->minor == 0)
		return -EBADMSG;
	*seen = true;
	return 0;
}

int http_facts_read(const struct http_head *head, struct http_facts *ret)
{
	struct http_facts f = { .close = head->minor == 0 };
	bool length = false, chunked = false, upgrade = false, websocket = false;

	for (uint32_t i = 0; i < head->n_headers; i++) {
		const struct http_header *h = &head->headers[i];
		int r = 0;

		if (http_slice_is(h->name, "Content-Length")) {
			r = read_length(h, &length, &f);
		} else if (http_slice_is(h->name, "Transfer-Encoding")) {
			r = read_coding(head, h, &chunked);
		} else if (http_slice_is(h->name, "Connection") || http_slice_is(h->name, "Proxy-Connection")) {
			r = read_connection(h->value, &f, &upgrade);
		} else if (http_slice_is(h->name, "Upgrade")) {
			websocket |= http_slice_is(h->value, "websocket");
		} else if (http_slice_is(h->name, "Host")) {
			if (f.has_host)
				return -EBADMSG;
			f.has_host = true;
			f.host = h->value;
		}
		if (r < 0)
			return r;
	}
	if (length && chunked)
		return -EBADMSG;
	f.websocket = upgrade && websocket;
	if (chunked)
		f.body = HTTP_BODY_CHUNKED;
	else if (length)
		f.body = HTTP_BODY_LENGTH;
	else
		f.body = head->is_request ? HTTP_BODY_NONE : HTTP_BODY_CLOSE;
	*ret = f;
	return 0;
}

/* A field for one connection only: RFC 9110 7.6.1 and what old proxies made up. */
static bool is_hop_by_hop(struct http_slice name)
{
	static const char *const fields[] = { "Connection", "Keep-Alive", "TE", "Upgrade", "HTTP2-Settings" };

	if (name.len > 6 && strncasecmp(name.at, "Proxy-", 6) == 0)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		if (http_slice_is(name, fields[i]))
			return true;
	return false;
}

static bool is_named_by_connection(const struct http_head *head, struct http_slice name)
{
	for (uint32_t i = 0; i < head->n_headers; i++) {
		struct http_slice value = head->headers[i].value, e;

		if (!http_slice_is(head->headers[i].name, "Connection"))
			continue;
		while (next_element(&value, &e))
			if (e.len == name.len && strncasecmp(e.at, name.at, e.len) == 0)
				return true;
	}
	return false;
}

static int append_slice(struct buffer *b, struct http_slice s, const char *after)
{
	int r = buffer_append(b, s.at, s.len);

	return r < 0 ? r : buffer_append_string(b, after);
}

static int append_fields(const struct http_head *head, struct buffer *ret)
{
	bool length = false;
	int r = 0;

	for (uint32_t i = 0; i < head->n_headers && r == 0; i++) {
		const struct http_header *h = &head->headers[i];

		if (is_hop_by_hop(h->name) || is_named_by_connection(head, h->name) ||
		    (head->is_request && http_slice_is(h->name, "Host")))
			continue;
		/* Equal lengths become one. */
		if (http_slice_is(h->name, "Content-Length")) {
			if (length)
				continue;
			length = true;
		}
		r = append_slice(ret, h->name, ": ");
		if (r == 0)
			r = append_slice(ret, h->value, "\r\n");
	}
	return r;
}

int http_facts_request(const struct http_head *head, const struct http_facts *facts, struct http_slice path,
		       struct http_slice host, struct buffer *ret)
{
	int r = append_slice(ret, head->method, " ");

	if (r == 0)
		r = append_slice(ret, path, head->minor ? " HTTP/1.1\r\nHost: " : " HTTP/1.0\r\nHost: ");
	if (r == 0)
		r = append_slice(ret, host, "\r\n");
	if (r == 0)
		r = append_fields(head, ret);
	if (r == 0 && facts->websocket)
		r = buffer_append_string(ret, "Connection: Upgrade\r\nUpgrade: websocket\r\n");
	return r < 0 ? r : buffer_append_string(ret, "\r\n");
}

int http_facts_response(const struct http_head *head, const struct http_facts *facts, bool close, struct buffer *ret)
{
	int r = buffer_printf(ret, "HTTP/1.%u %03u ", head->minor, head->status);

	if (r == 0)
		r = append_slice(ret, head->phrase, "\r\n");
	if (r == 0)
		r = append_fields(head, ret);
	if (r == 0 && facts->websocket)
		r = buffer_append_string(ret, "Connection: Upgrade\r\nUpgrade: websocket\r\n");
	else if (r == 0 && close)
		r = buffer_append_string(ret, "Connection: close\r\n");
	return r < 0 ? r : buffer_append_string(ret, "\r\n");
}
