#include "daemon/control/audit/timestamp.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

int64_t timestamp_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

const char *timestamp_format(int64_t ms, char ret[TIMESTAMP_SIZE])
{
	time_t seconds = ms / 1000;
	char date[sizeof("2026-01-01T00:00:00")];
	struct tm tm;

	/* A clock before 1970 or after 9999 is broken; the log goes on with a time that shows it. */
	if (ms < 0 || !gmtime_r(&seconds, &tm) || strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &tm) == 0) {
		memcpy(ret, "1970-01-01T00:00:00.000Z", TIMESTAMP_SIZE);
		return ret;
	}
	snprintf(ret, TIMESTAMP_SIZE, "%s.%03uZ", date, (unsigned)(ms % 1000) % 1000U);
	return ret;
}

int timestamp_parse(const char *text, int64_t *ret)
{
	char again[TIMESTAMP_SIZE];
	struct tm tm = { 0 };
	const char *end;
	int64_t ms;

	end = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
	if (!end || strlen(end) != strlen(".000Z"))
		return -EINVAL;
	ms = (int64_t)timegm(&tm) * 1000 + (end[1] - '0') * 100LL + (end[2] - '0') * 10LL + (end[3] - '0');
	if (strcmp(timestamp_format(ms, again), text) != 0)
		return -EINVAL;
	*ret = ms;
	return 0;
}
