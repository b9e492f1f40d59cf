#include "sshagent/ssh_known_hosts.h"

#include <stdio.h>
#include <string.h>

#include "sshagent/ssh_public_key.h"

#define HASH_MAGIC "|1|"
#define HASH_SIZE 20

struct words {
	const char *at;
	const char *end;
};

/* The next word, which lies in the line; empty at its end. */
static struct ssh_span next_word(struct words *w)
{
	const char *begin;

	while (w->at < w->end && (*w->at == ' ' || *w->at == '\t'))
		w->at++;
	begin = w->at;
	while (w->at < w->end && *w->at != ' ' && *w->at != '\t')
		w->at++;
	return (struct ssh_span){ (const uint8_t *)begin, (size_t)(w->at - begin) };
}

bool ssh_known_hosts_name(const char *host, char *ret, size_t size)
{
	const char *colon = strrchr(host, ':');
	bool has_port = colon && host[0] != '[' && strchr(host, ':') == colon;
	int n;

	if (has_port && strcmp(colon, ":22") == 0)
		n = snprintf(ret, size, "%.*s", (int)(colon - host), host);
	else if (has_port)
		n = snprintf(ret, size, "[%.*s]%s", (int)(colon - host), host, colon);
	else
		n = snprintf(ret, size, "%s", host);
	return n > 0 && (size_t)n < size;
}

static char lower(uint8_t c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c + 32) : (char)c;
}

/* '*' and '?' alone; steps back to the last star only, so its time is the product of the lengths. */
static bool glob(struct ssh_span pattern, const char *name)
{
	size_t p = 0, star = pattern.len, len = strlen(name), back = 0;

	for (size_t n = 0; n < len;) {
		if (p < pattern.len && pattern.data[p] == '*') {
			star = p++;
			back = n;
		} else if (p < pattern.len && (pattern.data[p] == '?' || lower(pattern.data[p]) == name[n])) {
			p++;
			n++;
		} else if (star < pattern.len) {
			p = star + 1;
			n = ++back;
		} else {
			return false;
		}
	}
	while (p < pattern.len && pattern.data[p] == '*')
		p++;
	return p == pattern.len;
}

static bool match_hashed(struct ssh_span hosts, const char *name, ssh_hmac_fn *hmac)
{
	const char *text = (const char *)hosts.data + sizeof(HASH_MAGIC) - 1;
	size_t len = hosts.len - (sizeof(HASH_MAGIC) - 1);
	const char *bar = memchr(text, '|', len);
	uint8_t salt[HASH_SIZE], hash[HASH_SIZE], own[HASH_SIZE];

	if (!bar || !hmac || ssh_base64_decode(text, (size_t)(bar - text), salt, sizeof(salt)) != HASH_SIZE ||
	    ssh_base64_decode(bar + 1, len - (size_t)(bar + 1 - text), hash, sizeof(hash)) != HASH_SIZE)
		return false;
	return hmac(salt, name, own) && memcmp(hash, own, HASH_SIZE) == 0;
}

static bool match_list(struct ssh_span hosts, const char *name)
{
	bool found = false;

	for (size_t at = 0; at < hosts.len;) {
		const uint8_t *comma = memchr(hosts.data + at, ',', hosts.len - at);
		size_t len = comma ? (size_t)(comma - hosts.data) - at : hosts.len - at;
		bool negated = len > 0 && hosts.data[at] == '!';
		struct ssh_span pattern = { hosts.data + at + negated, len - negated };

		at += len + 1;
		if (pattern.len == 0 || !glob(pattern, name))
			continue;
		if (negated)
			return false;
		found = true;
	}
	return found;
}

enum ssh_known ssh_known_hosts_match(const char *line, size_t len, const char *name, ssh_hmac_fn *hmac,
				     struct ssh_span *ret_key)
{
	struct words w = { line, line + len };
	struct ssh_span hosts = next_word(&w);
	enum ssh_known kind = SSH_KNOWN_KEY;

	if (hosts.len == 0 || hosts.data[0] == '#')
		return SSH_KNOWN_NOT;
	if (hosts.data[0] == '@') {
		if (!ssh_span_is(hosts, "@revoked"))
			return SSH_KNOWN_NOT;
		kind = SSH_KNOWN_REVOKED;
		hosts = next_word(&w);
	}
	if (hosts.len >= sizeof(HASH_MAGIC) - 1 && memcmp(hosts.data, HASH_MAGIC, sizeof(HASH_MAGIC) - 1) == 0) {
		if (!match_hashed(hosts, name, hmac))
			return SSH_KNOWN_NOT;
	} else if (!match_list(hosts, name)) {
		return SSH_KNOWN_NOT;
	}
	while (w.at < w.end && (*w.at == ' ' || *w.at == '\t'))
		w.at++;
	*ret_key = (struct ssh_span){ (const uint8_t *)w.at, (size_t)(w.end - w.at) };
	return w.at < w.end ? kind : SSH_KNOWN_NOT;
}
