#include "daemon/session/record_mark.h"
#include "daemon/session/session_state.h"

static void on_record_state(void *data, uint32_t state, int err)
{
	struct session *s = data;

	events_status(control_events(s->control), SESSION_RECORD, state, err);
}

int session_record_open(struct session *s)
{
	int r;

	if (s->setup->record.fd < 0)
		return 0;
	r = record_open(&s->loop, &s->setup->record, on_record_state, s, &s->record);
	if (r == 0)
		events_record(control_events(s->control), s->record);
	return r;
}

void session_record_close(struct session *s)
{
	if (s->control)
		events_record(control_events(s->control), NULL);
	record_close(s->record);
	s->record = NULL;
}

/* Whoever is told of the end may look at the recording at once: its end is marked, and on its disk, before. */
void session_record_end(struct session *s, void (*then)(void *data))
{
	if (!s->end_marked)
		record_mark_status(s->record, SESSION_EXITED, s->kind, s->value);
	s->end_marked = true;
	record_flush(s->record, then, s);
}
