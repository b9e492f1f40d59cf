#include "daemon/control/unlisted.h"

#include <errno.h>

#include "daemon/control/session.h"

static const char learns[] =
	"It was started with onUnlisted: learn: public hosts that no rule names are let through and "
	"recorded";

static const char *note_of(const struct policy *p)
{
	if (p->unlisted.overruled)
		return "The administrator's policy does not let onUnlisted be looser";
	if (p->egress.unlisted == EGRESS_UNLISTED_LEARN)
		return "The network is open to learn (onUnlisted): hosts that no rule names are let through and "
		       "recorded. "
		       "Afterwards: isoctl policy learn";
	if (p->egress.unlisted == EGRESS_UNLISTED_ASK)
		return "Hosts that no rule names are asked about (onUnlisted): connections to them are held until you "
		       "answer, in another terminal: isoctl pending, isoctl approve, isoctl deny";
	return NULL;
}

int unlisted_tell(struct session *s, struct error *e)
{
	const char *note = note_of(&s->policy);

	if (s->policy.egress.unlisted == EGRESS_UNLISTED_LEARN)
		late_add_lacking(&s->late, learns);
	if (note && !string_list_add(&s->notes, note))
		return error_set(e, ERROR_INTERNAL, ENOMEM, "run", NULL, "There is no memory left.");
	return 0;
}
