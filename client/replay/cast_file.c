#include "client/replay/cast_file.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"

static int bad(const struct cast_file *f, const char *what, struct error *e)
{
	return error_set(e, ERROR_INVALID, EBADMSG, "recording", "Give an asciicast of version 2.",
			 "Line %llu of the recording %s.", (unsigned long long)f->number, what);
}

/* 1 with the line in f->document, 0 at the end. */
static int read_line(struct cast_file *f, struct error *e)
{
	size_t n;

	json_document_done(&f->document);
	f->document = (struct json_document)JSON_DOCUMENT_INIT;
	if (!fgets(f->line, CAST_FILE_LINE_MAX + 2, f->file))
		return 0;
	f->number++;
	n = strlen(f->line); /* a NUL is no JSON: what follows it would be the next line's trouble */
	if (n == 0 || f->line[n - 1] != '\n') {
		if (n <= CAST_FILE_LINE_MAX && feof(f->file))
			return 0; /* whoever wrote it was stopped */
		return bad(f, "is too long", e);
	}
	if (json_read(f->line, n - 1, 0, &f->document, NULL) < 0)
		return bad(f, "is no JSON", e);
	return 1;
}

static unsigned size_of(const struct json_value *v)
{
	return v && v->type == JSON_INTEGER && v->integer > 0 && v->integer <= 9999 ? (unsigned)v->integer : 0;
}

static int read_header(struct cast_file *f, struct error *e)
{
	const struct json_value *version;
	int r = read_line(f, e);

	if (r < 0)
		return r;
	version = r > 0 ? json_get(f->document.root, "version") : NULL;
	if (!version || version->type != JSON_INTEGER || version->integer != 2)
		return bad(f, "is no header of an asciicast of version 2", e);
	f->columns = size_of(json_get(f->document.root, "width"));
	f->rows = size_of(json_get(f->document.root, "height"));
	f->last = 0;
	return f->rows && f->columns ? 0 : bad(f, "has no size of a terminal", e);
}

int cast_file_open(const char *path, struct cast_file *ret, struct error *e)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return error_set(e, ERROR_INVALID, errno, "recording", "", "%s cannot be opened: %s.", path,
				 strerror(errno));
	if (!S_ISREG(st.st_mode))
		return error_set(e, ERROR_INVALID, EINVAL, "recording", "", "%s is no regular file.", path);
	ret->line = malloc(CAST_FILE_LINE_MAX + 2);
	ret->file = ret->line ? fdopen(fd, "r") : NULL;
	if (!ret->file)
		return error_set(e, ERROR_INTERNAL, ENOMEM, "recording", "", "There is no memory left.");
	(void)take_fd(&fd);
	return read_header(ret, e);
}

int cast_file_rewind(struct cast_file *f, struct error *e)
{
	rewind(f->file);
	f->number = 0;
	return read_header(f, e);
}

void cast_file_done(struct cast_file *f)
{
	json_document_done(&f->document);
	if (f->file)
		fclose(f->file);
	free(f->line);
}

int cast_file_next(struct cast_file *f, struct cast_event *ret, struct error *e)
{
	const struct json_value *v, *at;
	int r = read_line(f, e);

	if (r <= 0)
		return r;
	v = f->document.root;
	if (v->type != JSON_ARRAY || v->array.count != 3)
		return bad(f, "is no event", e);
	at = v->array.items;
	if ((at[0].type != JSON_INTEGER && at[0].type != JSON_DOUBLE) || at[1].type != JSON_STRING ||
	    at[1].string.len != 1 || at[2].type != JSON_STRING)
		return bad(f, "is no event", e);
	ret->time = at[0].type == JSON_INTEGER ? (double)at[0].integer : at[0].number;
	if (!isfinite(ret->time) || ret->time > 1e9)
		return bad(f, "has no time", e);
	if (ret->time < f->last)
		ret->time = f->last;
	f->last = ret->time;
	ret->kind = at[1].string.data[0];
	ret->data = at[2].string.data;
	ret->len = at[2].string.len;
	return 1;
}
