/* Bytes as they come over a connection: framed, then read as a call and as a reply. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "proto/varlink.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_call(const char *text, size_t len)
{
	_cleanup_json_ struct json_document d = JSON_DOCUMENT_INIT;
	struct varlink_call call;
	struct error e = ERROR_INIT;

	if (varlink_call_parse(text, len, &d, &call, &e) < 0) {
		if (e.code == ERROR_NONE)
			abort();
		return;
	}
	if (strlen(call.method) > len || call.parameters->type != JSON_OBJECT || (call.oneway && call.more))
		abort();
}

static void read_reply(const char *text, size_t len)
{
	_cleanup_json_ struct json_document d = JSON_DOCUMENT_INIT;
	struct varlink_reply reply;
	struct error e = ERROR_INIT;

	if (varlink_reply_parse(text, len, &d, &reply, NULL) < 0)
		return;
	if (!reply.error)
		return;
	varlink_reply_error(&reply, &e);
	if (e.code == ERROR_NONE || e.code >= ERROR_CODE_COUNT)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *at = (const char *)data;
	size_t left = size, seen = 0;

	for (;;) {
		long r = varlink_frame(at, left, &seen);

		if (r <= 0)
			break;
		if ((size_t)r > left || at[r - 1] != '\0')
			abort();
		read_call(at, (size_t)r - 1);
		read_reply(at, (size_t)r - 1);
		at += r;
		left -= (size_t)r;
	}
	return 0;
}
