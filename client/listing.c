#include "client/listing.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "client/escape.h"
#include "json/write.h"

int listing_append(struct buffer *out, const struct json_value *v)
{
	_cleanup_buffer_ struct buffer text = BUFFER_INIT(64U << 20);
	struct json_writer *w;
	int r;

	if (!v || v->type == JSON_NULL)
		return buffer_append_string(out, "-");
	if (v->type == JSON_STRING)
		return escape_append(out, v->string.data, v->string.len);
	w = json_write_new(&text);
	if (w)
		json_write_value(w, v);
	r = json_write_finish(w);
	return r < 0 ? r : escape_append(out, text.data, text.len);
}

int listing_append_argument(struct buffer *out, const char *text)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%";
	int r = 0;

	if (*text && text[strspn(text, plain)] == '\0')
		return buffer_append_string(out, text);
	r = buffer_append_string(out, "'");
	while (r == 0 && *text) {
		size_t n = strcspn(text, "'");

		r = escape_append(out, text, n);
		text += n;
		if (r == 0 && *text) {
			r = buffer_append_string(out, "'\\''");
			text++;
		}
	}
	return r < 0 ? r : buffer_append_string(out, "'");
}

int listing_append_argv(struct buffer *out, const struct json_value *argv)
{
	int r = 0;

	if (!argv || argv->type != JSON_ARRAY)
		return buffer_append_string(out, "-");
	for (size_t i = 0; r == 0 && i < argv->array.count; i++) {
		if (i > 0)
			r = buffer_append_string(out, " ");
		if (r == 0)
			r = listing_append_argument(
				out, argv->array.items[i].type == JSON_STRING ? argv->array.items[i].string.data : "");
	}
	return r;
}

int listing_append_ports(struct buffer *out, const char *before, const struct json_value *session)
{
	const struct json_value *ports = json_get(session, "published");
	int r = 0;

	for (size_t i = 0; r == 0 && ports && ports->type == JSON_ARRAY && i < ports->array.count; i++) {
		r = buffer_printf(out, "%s127.0.0.1:", before);
		if (r == 0)
			r = listing_append(out, json_get(&ports->array.items[i], "host"));
		if (r == 0)
			r = buffer_append_string(out, " leads to its port ");
		if (r == 0)
			r = listing_append(out, json_get(&ports->array.items[i], "inside"));
		if (r == 0)
			r = buffer_append_string(out, "\n");
	}
	return r;
}

/* The caller's stdout may have been set not to block, by whoever shares it. */
int listing_print(const struct buffer *text)
{
	size_t done = 0;

	while (done < text->len) {
		struct pollfd p = { .fd = STDOUT_FILENO, .events = POLLOUT };
		ssize_t n = write(STDOUT_FILENO, text->data + done, text->len - done);

		if (n >= 0) {
			done += (size_t)n;
		} else if (errno == EAGAIN) {
			(void)poll(&p, 1, -1);
		} else if (errno != EINTR) {
			if (errno != EPIPE)
				fprintf(stderr, "isoctl: stdout: %s\n", strerror(errno));
			return 1;
		}
	}
	return 0;
}

int listing_append_origin(struct buffer *out, const char *name, const struct json_value *v)
{
	int r = buffer_printf(out, "%s: ", name);

	if (r == 0)
		r = listing_append(out, json_get(v, "value"));
	if (r == 0)
		r = buffer_append_string(out, "  (");
	if (r == 0)
		r = listing_append(out, json_get(v, "from"));
	return r < 0 ? r : buffer_append_string(out, ")\n");
}

void listing_report_more(const struct json_value *answer, const char *what)
{
	const struct json_value *more = json_get(answer, "more");

	if (more && more->type == JSON_INTEGER && more->integer > 0)
		fprintf(stderr, "isoctl: %lld %s are left out: isod's answer would be too large with them\n",
			(long long)more->integer, what);
}

int listing_print_json(const struct json_value *v)
{
	_cleanup_buffer_ struct buffer text = BUFFER_INIT(64U << 20);
	struct json_writer *w = json_write_new(&text);
	int r;

	if (w)
		json_write_value(w, v);
	r = json_write_finish(w);
	if (r == 0)
		r = buffer_append_string(&text, "\n");
	if (r < 0) {
		fprintf(stderr, "isoctl: the answer cannot be written: %s\n", strerror(-r));
		return 1;
	}
	return listing_print(&text);
}
