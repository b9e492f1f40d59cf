#include "daemon/control/dispatch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "proto/schema.h"

enum method_flags {
	METHOD_MORE = 1 << 0,        /* several replies: the call must ask for them */
	METHOD_UPGRADE = 1 << 1,     /* may turn the connection into raw frames */
	METHOD_DESCRIPTORS = 1 << 2, /* may bring descriptors */
	METHOD_LATER = 1 << 3,       /* answered once isod has been asked */
};

static const struct method {
	const char *name;
	const struct json_schema *schema;
	unsigned flags;
	method_fn handle;
} methods[] = {
	{ "org.varlink.service.GetInfo", &schema_none, 0, method_get_info },
	{ "org.varlink.service.GetInterfaceDescription", &schema_get_interface_description, 0,
	  method_get_interface_description },
	{ "org.isod.Run", &schema_run, METHOD_MORE | METHOD_UPGRADE | METHOD_DESCRIPTORS, method_run },
	{ "org.isod.List", &schema_list, 0, method_list },
	{ "org.isod.Show", &schema_show, 0, method_show },
	{ "org.isod.Attach", &schema_attach, METHOD_UPGRADE, method_attach },
	{ "org.isod.Wait", &schema_wait, METHOD_LATER, method_wait },
	{ "org.isod.Log", &schema_log, METHOD_MORE, method_log },
	{ "org.isod.LogVerify", &schema_log_verify, METHOD_LATER, method_log_verify },
	{ "org.isod.Exec", &schema_exec, METHOD_MORE | METHOD_DESCRIPTORS, method_exec },
	{ "org.isod.Kill", &schema_kill, 0, method_kill },
	{ "org.isod.Layers", &schema_none, METHOD_LATER, method_layers },
	{ "org.isod.Layer", &schema_layer, METHOD_LATER, method_layer },
	{ "org.isod.Discard", &schema_discard, METHOD_LATER, method_discard },
	{ "org.isod.PolicyShow", &schema_policy_show, 0, method_policy_show },
	{ "org.isod.PolicyTest", &schema_policy_test, 0, method_policy_test },
	{ "org.isod.PolicyReload", &schema_policy_reload, METHOD_LATER, method_policy_reload },
	{ "org.isod.Grant", &schema_grant, METHOD_LATER, method_grant },
	{ "org.isod.Revoke", &schema_revoke, METHOD_LATER, method_revoke },
	{ "org.isod.Pending", &schema_none, 0, method_pending },
	{ "org.isod.Answer", &schema_answer, METHOD_LATER, method_answer },
	{ "org.isod.Status", &schema_none, 0, method_status },
};

static const char *const interfaces[] = { "org.varlink.service", "org.isod" };

static const struct method *find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(methods); i++)
		if (strcmp(methods[i].name, name) == 0)
			return &methods[i];
	return NULL;
}

static void reply_unknown(struct connection *c, const char *name)
{
	_cleanup_free_ char *interface = strdup(name);
	char *dot = interface ? strrchr(interface, '.') : NULL;

	if (dot)
		*dot = '\0';
	for (size_t i = 0; dot && i < ARRAY_SIZE(interfaces); i++) {
		if (strcmp(interfaces[i], interface) == 0) {
			connection_reply_service_error(c, "MethodNotFound", "method", name);
			return;
		}
	}
	connection_reply_service_error(c, "InterfaceNotFound", "interface", interface ? interface : "");
}

/* What a call may be, by its method's flags. */
static int check_form(const struct method *m, const struct varlink_call *call, size_t n_fds, bool more_input,
		      struct error *e)
{
	if (n_fds > 0 && !(m->flags & METHOD_DESCRIPTORS))
		return error_set(e, ERROR_INVALID, EINVAL, "descriptors", NULL, "%s takes no descriptors.", m->name);
	if (call->upgrade && !(m->flags & METHOD_UPGRADE))
		return error_set(e, ERROR_INVALID, EINVAL, "upgrade", NULL, "%s cannot upgrade a connection.", m->name);
	if (call->upgrade && more_input)
		return error_set(e, ERROR_INVALID, EINVAL, "upgrade", "Wait for the reply.",
				 "There are bytes behind a call that upgrades the connection.");
	if ((m->flags & METHOD_MORE) && !call->more && !call->upgrade)
		return error_set(e, ERROR_INVALID, EINVAL, "more", "Set \"more\" in the call.",
				 "%s answers with several replies.", m->name);
	if (call->oneway && (m->flags || call->more || call->upgrade))
		return error_set(e, ERROR_INVALID, EINVAL, "oneway", NULL, "%s cannot be called without a reply.",
				 m->name);
	return 0;
}

static void serve(struct connection *c, const struct method *m, const struct call *call, bool more_input)
{
	_cleanup_json_decoded_ struct json_decoded decoded = JSON_DECODED_INIT;
	_cleanup_free_ void *parameters = calloc(1, m->schema->size);
	struct error e = ERROR_INIT;
	int r;

	c->oneway = call->envelope->oneway;
	if (!parameters)
		r = error_set(&e, ERROR_INTERNAL, ENOMEM, "parameters", NULL, "There is no memory left.");
	else
		r = check_form(m, call->envelope, call->n_fds, more_input, &e);
	if (r == 0)
		r = json_decode(call->envelope->parameters, m->schema, "parameters", parameters, &decoded, &e);
	if (r == 0)
		r = m->handle(c, call, parameters, &e);
	if (r < 0) {
		error_set(&e, ERROR_INTERNAL, -r, m->name, NULL, "The call could not be served.");
		connection_reply_error(c, &e);
	}
	c->oneway = false;
}

void dispatch_message(struct connection *c, const char *text, size_t len, int *fds, size_t n_fds, bool more_input)
{
	_cleanup_json_ struct json_document doc = JSON_DOCUMENT_INIT;
	struct varlink_call envelope = { 0 };
	struct call call = { .envelope = &envelope, .fds = fds, .n_fds = n_fds };
	struct error e = ERROR_INIT;
	const struct method *m;
	int r = varlink_call_parse(text, len, &doc, &envelope, &e);

	if (r < 0) {
		/* Whoever sends what is no call may also mean something else by what follows. */
		error_set(&e, ERROR_INVALID, -r, "message", NULL, "The message is not a Varlink call.");
		connection_reply_error(c, &e);
		connection_close_after_reply(c);
		return;
	}
	m = find(envelope.method);
	if (m)
		serve(c, m, &call, more_input);
	else if (!envelope.oneway)
		reply_unknown(c, envelope.method);
}
