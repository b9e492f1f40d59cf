#include "client/policy/registrable.h"

#include <stddef.h>

#include "isod_config.h"

#ifdef HAVE_PSL
#include <libpsl.h>

bool registrable_is_known(void)
{
	return psl_builtin() != NULL;
}

const char *registrable_part(const char *name)
{
	const psl_ctx_t *list = psl_builtin();

	return list ? psl_registrable_domain(list, name) : NULL;
}
#else
bool registrable_is_known(void)
{
	return false;
}

const char *registrable_part(const char *name)
{
	return NULL;
}
#endif
