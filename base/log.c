#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

static const char *log_program = "isod";
static enum log_level log_max = LOG_LEVEL_INFO;
static bool log_prefixed;

void log_open(const char *program, enum log_level max)
{
	log_program = program;
	log_max = max;
	log_prefixed = !isatty(STDERR_FILENO);
}

/* Text may hold bytes that a session wrote: none of them (C1 controls in UTF-8 neither) may act on a terminal or start
 * a new line. */
static size_t log_escape(char *to, size_t size, const char *from)
{
	size_t n = 0;

	for (; *from && n + 5 < size; from++) {
		unsigned char c = *from;

		if (c >= 0x20 && c < 0x7f)
			to[n++] = c;
		else
			n += snprintf(to + n, size - n, "\\x%02x", c);
	}
	return n;
}

void log_write(enum log_level level, const char *format, ...)
{
	int saved = errno;
	char text[2048], line[4096];
	va_list ap;
	size_t n;
	int r;

	if (level > log_max)
		return;
	errno = saved; /* for %m */
	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	r = log_prefixed ? snprintf(line, sizeof(line), "<%d>%s: ", level, log_program)
			 : snprintf(line, sizeof(line), "%s: ", log_program);
	n = r > 0 ? (size_t)r : 0;
	n += log_escape(line + n, sizeof(line) - n - 1, text);
	line[n++] = '\n';
	if (write(STDERR_FILENO, line, n) < 0) {
		/* nowhere left to say so */
	}
	errno = saved;
}
