#include "daemon/session/gateway/http_accept.h"

#include <string.h>
#include <strings.h>

struct preference {
	int json, text; /* weights in thousandths, -1: not named */
	bool json_first;
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static struct http_slice trim(struct http_slice s)
{
	while (s.len > 0 && is_blank(s.at[0])) {
		s.at++;
		s.len--;
	}
	while (s.len > 0 && is_blank(s.at[s.len - 1]))
		s.len--;
	return s;
}

/* Takes the part before the separator off *list. */
static struct http_slice cut(struct http_slice *list, char separator)
{
	const char *end = memchr(list->at, separator, list->len);
	struct http_slice part = { list->at, end ? (size_t)(end - list->at) : list->len };
	size_t used = part.len + (end ? 1 : 0);

	list->at += used;
	list->len -= used;
	return trim(part);
}

/* "q=0.5" -> 500; 1000 for anything else. */
static int weight_of(struct http_slice parameter)
{
	int weight, unit = 100;

	if (parameter.len < 3 || strncasecmp(parameter.at, "q=", 2) != 0)
		return 1000;
	weight = parameter.at[2] == '0' ? 0 : 1000;
	for (size_t i = 4; weight < 1000 && i < parameter.len && unit > 0; i++, unit /= 10)
		if (parameter.at[i] >= '0' && parameter.at[i] <= '9')
			weight += (parameter.at[i] - '0') * unit;
	return weight;
}

static bool is_json(struct http_slice type)
{
	static const char suffix[] = "+json";
	const size_t n = sizeof(suffix) - 1;

	return http_slice_is(type, "application/json") ||
	       (type.len > n && strncasecmp(type.at + type.len - n, suffix, n) == 0);
}

static bool is_text(struct http_slice type)
{
	return http_slice_is(type, "*/*") || (type.len > 5 && strncasecmp(type.at, "text/", 5) == 0);
}

static void take(struct preference *p, struct http_slice element)
{
	struct http_slice type = cut(&element, ';');
	int weight = 1000;

	while (element.len > 0 && weight == 1000)
		weight = weight_of(cut(&element, ';'));
	if (is_json(type) && weight > p->json) {
		p->json = weight;
		p->json_first = p->text < weight;
	} else if (is_text(type) && weight > p->text) {
		p->text = weight;
	}
}

bool http_accept_prefers_json(const struct http_head *head)
{
	struct preference p = { .json = -1, .text = -1 };

	for (uint32_t i = 0; i < head->n_headers; i++) {
		struct http_slice value = head->headers[i].value;

		if (!http_slice_is(head->headers[i].name, "Accept"))
			continue;
		while (value.len > 0)
			take(&p, cut(&value, ','));
	}
	return p.json > 0 && (p.json > p.text || (p.json == p.text && p.json_first));
}
