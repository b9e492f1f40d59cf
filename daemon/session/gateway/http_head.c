#include "daemon/session/gateway/http_head.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"

/* RFC 9110 5.6.2 tchar; and what a field value may hold: visible, blank, tab, bytes above ASCII. */
static const char token_chars[] = "!#$%&'*+-.^_`|~0123456789"
				  "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

enum { CHAR_TOKEN = 1, CHAR_VALUE = 2, CHAR_TARGET = 4 };

static uint8_t classes[256];

__attribute__((constructor)) static void fill_classes(void)
{
	for (const char *c = token_chars; *c; c++)
		classes[(unsigned char)*c] |= CHAR_TOKEN;
	for (unsigned c = 0x20; c < 256; c++)
		if (c != 0x7f)
			classes[c] |= CHAR_VALUE | (c > 0x20 ? CHAR_TARGET : 0);
	classes['\t'] |= CHAR_VALUE;
}

bool http_head_is_token_char(unsigned char c)
{
	return classes[c] & CHAR_TOKEN;
}

bool http_slice_is(struct http_slice s, const char *text)
{
	return s.len == strlen(text) && strncasecmp(s.at, text, s.len) == 0;
}

struct scanner {
	const char *at;
	const char *end;
};

static struct http_slice scan_while(struct scanner *s, uint8_t class)
{
	struct http_slice slice = { .at = s->at };

	while (s->at < s->end && classes[(unsigned char)*s->at] & class)
		s->at++;
	slice.len = (size_t)(s->at - slice.at);
	return slice;
}

/* 1: moved over text. 0: the input ends inside of it. -EBADMSG: something else is there. */
static int scan_text(struct scanner *s, const char *text)
{
	for (; *text; text++, s->at++) {
		if (s->at == s->end)
			return 0;
		if (*s->at != *text)
			return -EBADMSG;
	}
	return 1;
}

static int scan_version(struct scanner *s, uint8_t *ret_minor)
{
	int r = scan_text(s, "HTTP/");

	if (r <= 0)
		return r;
	if (s->at == s->end)
		return 0;
	if (*s->at < '0' || *s->at > '9')
		return -EBADMSG;
	if (*s->at != '1')
		return -EPROTONOSUPPORT;
	s->at++;
	r = scan_text(s, ".");
	if (r <= 0)
		return r;
	if (s->at == s->end)
		return 0;
	if (*s->at != '0' && *s->at != '1')
		return -EBADMSG;
	*ret_minor = *s->at++ - '0';
	return 1;
}

static int scan_request_line(struct scanner *s, struct http_head *ret)
{
	int r;

	ret->is_request = true;
	ret->method = scan_while(s, CHAR_TOKEN);
	if (s->at == s->end)
		return 0;
	if (ret->method.len == 0 || *s->at++ != ' ')
		return -EBADMSG;
	ret->target = scan_while(s, CHAR_TARGET);
	if (s->at == s->end)
		return 0;
	if (ret->target.len == 0 || *s->at++ != ' ')
		return -EBADMSG;
	r = scan_version(s, &ret->minor);
	return r <= 0 ? r : scan_text(s, "\r\n");
}

static int scan_status_line(struct scanner *s, struct http_head *ret)
{
	int r = scan_version(s, &ret->minor);

	ret->is_request = false;
	if (r > 0)
		r = scan_text(s, " ");
	if (r <= 0)
		return r;
	ret->status = 0;
	for (int i = 0; i < 3; i++, s->at++) {
		if (s->at == s->end)
			return 0;
		if (*s->at < '0' || *s->at > '9')
			return -EBADMSG;
		ret->status = ret->status * 10 + (*s->at - '0');
	}
	if (ret->status < 100 || ret->status > 599)
		return -EBADMSG;
	if (s->at == s->end)
		return 0;
	/* Servers leave out the blank before an empty phrase; it is harmless, as the phrase means nothing. */
	ret->phrase = (struct http_slice){ s->at, 0 };
	if (*s->at == ' ') {
		s->at++;
		ret->phrase = scan_while(s, CHAR_VALUE);
	}
	return scan_text(s, "\r\n");
}

static int scan_header(struct scanner *s, struct http_header *ret)
{
	struct http_slice v;

	ret->name = scan_while(s, CHAR_TOKEN);
	if (s->at == s->end)
		return 0;
	/* Also catches folded lines, whose name would be empty. */
	if (ret->name.len == 0 || *s->at++ != ':')
		return -EBADMSG;
	v = scan_while(s, CHAR_VALUE);
	while (v.len > 0 && (*v.at == ' ' || *v.at == '\t')) {
		v.at++;
		v.len--;
	}
	ret->trailing = v.len > 0 && (v.at[v.len - 1] == ' ' || v.at[v.len - 1] == '\t');
	while (v.len > 0 && (v.at[v.len - 1] == ' ' || v.at[v.len - 1] == '\t'))
		v.len--;
	ret->value = v;
	return scan_text(s, "\r\n");
}

static ssize_t scan_head(const char *data, size_t len, int (*first)(struct scanner *, struct http_head *),
			 struct http_head *ret)
{
	struct scanner s = { data, data + (len > LIMIT_HTTP_HEAD ? LIMIT_HTTP_HEAD : len) };
	int r = first(&s, ret);

	ret->n_headers = 0;
	while (r > 0) {
		if (s.at < s.end && *s.at == '\r') {
			r = scan_text(&s, "\r\n");
			if (r > 0)
				return s.at - data;
			break;
		}
		if (ret->n_headers == LIMIT_HTTP_HEADERS)
			return s.at == s.end ? 0 : -EMSGSIZE;
		r = scan_header(&s, &ret->headers[ret->n_headers]);
		if (r > 0)
			ret->n_headers++;
	}
	if (r == 0 && len >= LIMIT_HTTP_HEAD)
		return -EMSGSIZE;
	return r;
}

ssize_t http_head_request(const char *data, size_t len, struct http_head *ret)
{
	return scan_head(data, len, scan_request_line, ret);
}

ssize_t http_head_request_line(const char *data, size_t len, struct http_head *ret)
{
	struct scanner s = { data, data + (len > LIMIT_HTTP_HEAD ? LIMIT_HTTP_HEAD : len) };
	int r = scan_request_line(&s, ret);

	ret->n_headers = 0;
	return r > 0 ? s.at - data : r;
}

ssize_t http_head_response(const char *data, size_t len, struct http_head *ret)
{
	return scan_head(data, len, scan_status_line, ret);
}

/* The methods of the IANA registry, those that caches and UPnP made up among them; PRI, which begins HTTP/2, is none.
 */
static const char *const known_methods[] = {
	"GET",
	"HEAD",
	"POST",
	"PUT",
	"DELETE",
	"CONNECT",
	"OPTIONS",
	"TRACE",
	"PATCH",
	"QUERY",
	"ACL",
	"BASELINE-CONTROL",
	"BIND",
	"CHECKIN",
	"CHECKOUT",
	"COPY",
	"LABEL",
	"LINK",
	"LOCK",
	"MERGE",
	"MKACTIVITY",
	"MKCALENDAR",
	"MKCOL",
	"MKREDIRECTREF",
	"MKWORKSPACE",
	"MOVE",
	"ORDERPATCH",
	"PROPFIND",
	"PROPPATCH",
	"REBIND",
	"REPORT",
	"SEARCH",
	"UNBIND",
	"UNCHECKOUT",
	"UNLINK",
	"UNLOCK",
	"UPDATE",
	"UPDATEREDIRECTREF",
	"VERSION-CONTROL",
	"PURGE",
	"NOTIFY",
	"SUBSCRIBE",
	"UNSUBSCRIBE",
	"M-SEARCH",
};

/* whole: the word has ended; else it may still grow into a method. */
static bool may_be_method(struct http_slice word, bool whole)
{
	for (size_t i = 0; i < ARRAY_SIZE(known_methods); i++) {
		size_t len = strlen(known_methods[i]);

		if ((whole ? word.len == len : word.len <= len) &&
		    strncasecmp(word.at, known_methods[i], word.len) == 0)
			return true;
	}
	return false;
}

/* Looser than the parser on purpose: whatever a lenient server may take for a request must come to the strict one. Text
 * that begins with no known method is another protocol's, however long its first line is. */
int http_head_sniff(const char *data, size_t len)
{
	const char *at = data, *end = data + len, *line;
	struct http_slice method;
	struct scanner s;
	uint8_t minor;
	int r;

	while (at < end && (*at == '\r' || *at == '\n' || *at == ' ' || *at == '\t'))
		at++;
	line = memchr(at, '\n', (size_t)(end - at));
	s = (struct scanner){ at, line ? line : end };
	method = scan_while(&s, CHAR_TOKEN);
	if (s.at == s.end)
		return !line && may_be_method(method, false) ? 0 : -EPROTO;
	if ((*s.at != ' ' && *s.at != '\t') || !may_be_method(method, true) ||
	    memchr(s.at, '\0', (size_t)(s.end - s.at)))
		return -EPROTO;
	if (!line)
		return 0;
	/* The version is the last word of the line. */
	while (s.end > s.at && (s.end[-1] == '\r' || s.end[-1] == ' ' || s.end[-1] == '\t'))
		s.end--;
	for (at = s.end; at > s.at && at[-1] != ' ' && at[-1] != '\t'; at--)
		;
	s.at = at;
	r = scan_version(&s, &minor);
	return r > 0 ? 1 : -EPROTO;
}
