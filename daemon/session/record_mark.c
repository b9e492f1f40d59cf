#include "daemon/session/record_mark.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "policy/address.h"
#include "policy/egress.h"

static const char *const late_words[LATE_KIND_END] = {
	[LATE_REFUSED] = "denied secret", [LATE_PLANTED] = "planted",         [LATE_RUNS] = "made",
	[LATE_MOVED] = "secret moved",    [LATE_UNPROTECTED] = "unprotected", [LATE_PLANT_REFUSED] = "denied planting",
};

void record_mark_allowed(struct record *r, const char *name, uint16_t port)
{
	record_marker(r, "allowed %s:%u", name, port);
}

/* The name, or where it has none the address that the packet was for. */
static const char *target_of(const struct session_connection *c, char address[64])
{
	if (c->name[0] != '\0')
		return c->name;
	return c->family != 0 ? address_format(c->family, c->address, address) : "?";
}

static void mark_refused(struct record *r, const struct session_connection *c)
{
	const char *by = c->program[0] != '\0' ? ", by " : "";
	char address[64], times[40] = "";
	const char *target = target_of(c, address);

	if (c->count > 1)
		snprintf(times, sizeof(times), ", %" PRIu64 " times", c->count);
	if (c->via == VIA_DNS || c->port == 0)
		record_marker(r, "denied %s (%s%s)%s%s", target, egress_reason_name(c->reason), times, by, c->program);
	else
		record_marker(r, "denied %s:%u (%s%s)%s%s", target, c->port, egress_reason_name(c->reason), times, by,
			      c->program);
}

void record_mark_connection(struct record *r, const struct session_connection *c)
{
	char address[64];

	if (!r)
		return;
	if (!c->allowed)
		mark_refused(r, c);
	else
		record_marker(r, "closed %s:%u after %" PRIu64 " ms, %" PRIu64 " bytes out, %" PRIu64 " in",
			      target_of(c, address), c->port, c->duration_us / 1000, c->bytes_up, c->bytes_down);
}

void record_mark_late(struct record *r, const struct late_event *event)
{
	if (!r || !late_words[event->kind] || event->path_len == 0)
		return;
	record_marker(r, "%s %.*s", late_words[event->kind], (int)event->path_len, event->path);
}

void record_mark_agent(struct record *r, const struct session_agent *s)
{
	const char *name = s->type == SESSION_GPG ? "gpg-agent" : "ssh-agent";

	if (s->reason != 0)
		record_marker(r, "denied %s %s", name, s->target);
	else if (s->fingerprint[0] != '\0')
		record_marker(r, "agent %s signed for %s", name, s->target);
}

void record_mark_budget(struct record *r, uint32_t account, uint32_t direction, uint64_t limit)
{
	if (account == 0)
		record_marker(r, "budget of the session is used up: %" PRIu64 " bytes %s", limit,
			      direction == EGRESS_OUT ? "out" : "in");
	else
		record_marker(r, "budget %u of a host is used up: %" PRIu64 " bytes %s", account, limit,
			      direction == EGRESS_OUT ? "out" : "in");
}

void record_mark_status(struct record *r, uint32_t type, uint32_t kind, int32_t value)
{
	if (type == SESSION_STOPPED)
		record_marker(r, "stopped by signal %d", value);
	else if (type == SESSION_CONTINUED)
		record_marker(r, "continued");
	else if (type == SESSION_EXITED && kind == EXIT_KIND_CODE)
		record_marker(r, "exited with %d", value);
	else if (type == SESSION_EXITED)
		record_marker(r, "ended by %s %d", kind == EXIT_KIND_SIGNAL ? "signal" : "isod", value);
}
