#include "client/layer/layer_text.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "client/escape.h"
#include "client/layer/layer.h"
#include "client/layer/layer_change.h"
#include "client/layer/layer_path.h"

/* Larger files are only named: nobody reads them, and diff holds both in memory. */
#define TEXT_MAX (8LL << 20)
/* As git: a NUL among the first bytes. */
#define BINARY_LOOK 8000
#define CHUNK 65536

extern char **environ;

void layer_text_init(struct layer_text *t, const struct layer *layer)
{
	*t = (struct layer_text){ .layer = layer, .terminal = isatty(STDOUT_FILENO) };
}

void layer_text_done(struct layer_text *t)
{
	free(t->program);
}

/* Tabs stand in every program text and do nothing. */
static void put_escaped(const char *data, size_t len)
{
	_cleanup_buffer_ struct buffer text = BUFFER_INIT(SIZE_MAX);

	while (len > 0) {
		size_t n = 0;

		while (n < len && data[n] != '\n' && data[n] != '\t')
			n++;
		text.len = 0;
		if (n > 0 && escape_append(&text, data, n) == 0)
			fwrite(text.data, 1, text.len, stdout);
		if (n < len)
			putchar(data[n++]);
		data += n;
		len -= n;
	}
}

/* Bytes of files for the reader: as they are, unless they could act on a terminal. */
static void put(struct layer_text *t, const char *data, size_t len)
{
	if (t->terminal)
		put_escaped(data, len);
	else
		fwrite(data, 1, len, stdout);
	if (ferror(stdout))
		t->failed = EPIPE;
}

static bool is_binary(int fd)
{
	char start[BINARY_LOOK];
	ssize_t n = pread(fd, start, sizeof(start), 0);

	return n > 0 && memchr(start, '\0', (size_t)n);
}

static void print_label(const char *sign, const char *prefix, const char *path)
{
	printf("%s %s", sign, prefix);
	escape_print(stdout, path);
	putchar('\n');
}

static size_t count_lines(const char *data, size_t len)
{
	size_t n = 0;

	for (const char *at = data; (at = memchr(at, '\n', len - (size_t)(at - data))); at++)
		n++;
	return n + (len > 0 && data[len - 1] != '\n');
}

/* All its lines are new: no program is needed to tell. */
static void print_new(struct layer_text *t, const struct change *c, int fd)
{
	_cleanup_free_ char *data = NULL;
	size_t len = 0;

	if (fd_read_file(fd, TEXT_MAX, &data, &len) < 0 || len == 0)
		return;
	print_label("---", "", "/dev/null");
	print_label("+++", "b/", c->path);
	printf("@@ -0,0 +1,%zu @@\n", count_lines(data, len));
	for (size_t at = 0; at < len && !t->failed;) {
		const char *end = memchr(data + at, '\n', len - at);
		size_t n = end ? (size_t)(end - data) + 1 - at : len - at;

		putchar('+');
		put(t, data + at, n);
		at += n;
		if (!end)
			fputs("\n\\ No newline at end of file\n", stdout);
	}
}

/* ---- the program diff ---- */

/* Only absolute folders of PATH, and none in the project: what the session wrote there is not to run because somebody
 * looks at it. */
static char *find_program(const struct layer *l)
{
	const char *path = getenv("PATH");

	for (const char *at = path ? path : ""; *at;) {
		size_t len = strcspn(at, ":");
		char *candidate = NULL, *real;

		if (at[0] == '/' && asprintf(&candidate, "%.*s/diff", (int)len, at) >= 0) {
			real = access(candidate, X_OK) == 0 ? realpath(candidate, NULL) : NULL;
			free(candidate);
			if (real && !layer_path_below(real, l->project))
				return real;
			free(real);
		}
		at += len;
		at += *at == ':';
	}
	return NULL;
}

static void become_diff(const char *program, int host, int upper, int out, const char *from, const char *to)
{
	char a[32], b[32];
	char *argv[] = { (char[]){ "diff" },
			 (char[]){ "-u" },
			 (char[]){ "--label" },
			 (char *)from,
			 (char[]){ "--label" },
			 (char *)to,
			 a,
			 b,
			 NULL };

	snprintf(a, sizeof(a), "/dev/fd/%d", host);
	snprintf(b, sizeof(b), "/dev/fd/%d", upper);
	if (dup2(out, STDOUT_FILENO) < 0 || fd_set_cloexec(host, false) < 0 || fd_set_cloexec(upper, false) < 0)
		_exit(127);
	signal(SIGPIPE, SIG_DFL);
	execve(program, argv, environ);
	_exit(127);
}

static char *label_of(const char *prefix, const char *path)
{
	_cleanup_buffer_ struct buffer b = BUFFER_INIT(8 * LIMIT_PATH);

	if (buffer_append_string(&b, prefix) < 0 || escape_append(&b, path, strlen(path)) < 0 ||
	    buffer_append(&b, "", 1) < 0)
		return NULL;
	return take_ptr(b.data);
}

static void run_diff(struct layer_text *t, const struct change *c, int host, int upper)
{
	_cleanup_free_ char *from = label_of("a/", c->other ? c->other : c->path), *to = label_of("b/", c->path);
	_cleanup_close_ int out = -1, in = -1;
	char data[CHUNK];
	int pipe_fds[2];
	ssize_t n;
	pid_t pid;

	if (!from || !to || pipe2(pipe_fds, O_CLOEXEC) < 0)
		return;
	in = pipe_fds[0];
	out = pipe_fds[1];
	fflush(stdout);
	pid = fork();
	if (pid == 0)
		become_diff(t->program, host, upper, out, from, to);
	fd_close(take_fd(&out));
	if (pid < 0)
		return;
	while ((n = read(in, data, sizeof(data))) > 0 || (n < 0 && errno == EINTR))
		if (n > 0 && !t->failed)
			put(t, data, (size_t)n);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

static void print_changed(struct layer_text *t, const struct change *c, int upper)
{
	_cleanup_close_ int host = layer_path_open(t->layer->project_fd, c->path, O_RDONLY);
	struct stat st;

	if (host < 0 || fstat(host, &st) < 0 || !S_ISREG(st.st_mode))
		return;
	if (is_binary(upper) || is_binary(host) || st.st_size > TEXT_MAX) {
		printf("%s files differ: ", is_binary(upper) || is_binary(host) ? "Binary" : "Large");
		escape_print(stdout, c->path);
		printf(" (%lld -> %lld bytes)\n", (long long)st.st_size, (long long)c->size);
		return;
	}
	if (!t->looked) {
		t->program = find_program(t->layer);
		t->looked = true;
		if (!t->program)
			fputs("isoctl: there is no program diff in PATH: changed files are only listed\n", stderr);
	}
	if (t->program)
		run_diff(t, c, host, upper);
}

void layer_text_print(struct layer_text *t, const struct change *c)
{
	_cleanup_close_ int upper = -1;
	struct stat st;

	if (t->failed || c->other || !S_ISREG(c->mode) ||
	    (c->kind != CHANGE_NEW && c->kind != CHANGE_CHANGED && c->kind != CHANGE_REPLACED))
		return;
	upper = layer_path_open(t->layer->upper, c->path, O_RDONLY);
	if (upper < 0 || fstat(upper, &st) < 0 || !S_ISREG(st.st_mode))
		return;
	if (c->kind == CHANGE_CHANGED && st.st_size <= TEXT_MAX) {
		print_changed(t, c, upper);
	} else if (is_binary(upper) || st.st_size > TEXT_MAX) {
		printf("%s file: ", st.st_size > TEXT_MAX ? "Large" : "Binary");
		escape_print(stdout, c->path);
		printf(" (%lld bytes)\n", (long long)st.st_size);
	} else {
		print_new(t, c, upper);
	}
}
