#include <string.h>

#include "daemon/session/gateway/stub.h"

/* Sources that know nothing but these: names of one label, names below .local. */
static const struct {
	const char *source;
	bool single, local;
} narrow[] = {
	{ "files", false, false },        { "dns", false, false },         { "myhostname", true, false },
	{ "mymachines", true, false },    { "mdns", false, true },         { "mdns4", false, true },
	{ "mdns6", false, true },         { "mdns_minimal", false, true }, { "mdns4_minimal", false, true },
	{ "mdns6_minimal", false, true },
};

static bool is_local(const char *name)
{
	size_t len = strlen(name);

	return len >= 6 && strcmp(name + len - 6, ".local") == 0;
}

static bool source_leaves(const char *source, size_t len, const char *name)
{
	for (size_t i = 0; i < sizeof(narrow) / sizeof(narrow[0]); i++)
		if (strlen(narrow[i].source) == len && memcmp(narrow[i].source, source, len) == 0)
			return !(narrow[i].single && !strchr(name, '.')) && !(narrow[i].local && is_local(name));
	return false;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* What stands behind "hosts:". What is in brackets says when one source is the last, of two that are served alike here.
 */
static bool line_leaves(const char *at, const char *end, const char *name)
{
	while (at < end && *at != '#') {
		const char *word = at;

		if (is_blank(*at)) {
			at++;
			continue;
		}
		if (*at == '[') {
			const char *close = memchr(at, ']', (size_t)(end - at));

			if (!close)
				return false;
			at = close + 1;
			continue;
		}
		while (at < end && !is_blank(*at) && *at != '[' && *at != '#')
			at++;
		if (!source_leaves(word, (size_t)(at - word), name))
			return false;
	}
	return true;
}

bool stub_serves(const char *nsswitch, size_t len, const char *name)
{
	static const char key[] = "hosts:";
	const char *at = nsswitch, *end = nsswitch + len;

	while (at < end) {
		const char *line = at, *stop = memchr(at, '\n', (size_t)(end - at));

		stop = stop ? stop : end;
		while (line < stop && is_blank(*line))
			line++;
		if ((size_t)(stop - line) >= sizeof(key) - 1 && memcmp(line, key, sizeof(key) - 1) == 0)
			return line_leaves(line + sizeof(key) - 1, stop, name);
		at = stop < end ? stop + 1 : end;
	}
	/* glibc's own: files, then DNS. */
	return true;
}

bool stub_reads(const char *resolv_conf, size_t len)
{
	/* fe80::1%eth0, which 1.18 leaves out */
	return !memchr(resolv_conf, '%', len);
}
