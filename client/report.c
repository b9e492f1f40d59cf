#include "client/report.h"

#include <stdio.h>

#include "client/escape.h"

void report_error(const struct error *e)
{
	fputs("isoctl: ", stderr);
	if (e->step[0]) {
		escape_print(stderr, e->step);
		fputs(": ", stderr);
	}
	escape_print(stderr, e->message[0] ? e->message : error_code_name(e->code));
	fputc('\n', stderr);
	if (e->remedy[0]) {
		fputs("  remedy: ", stderr);
		escape_print(stderr, e->remedy);
		fputc('\n', stderr);
	}
	fflush(stderr);
}

int report_run_code(const struct error *e)
{
	switch (e->code) {
	case ERROR_CANNOT_EXECUTE:
		return EXIT_CANNOT_EXECUTE;
	case ERROR_NOT_FOUND:
		return EXIT_NOT_FOUND;
	default:
		return EXIT_ISOD;
	}
}
