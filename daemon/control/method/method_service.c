#include <string.h>

#include "daemon/control/dispatch.h"
#include "isod_config.h"
#include "json/write.h"
#include "proto/schema.h"

int method_get_info(struct connection *c, const struct call *call, const void *parameters, struct error *e)
{
	struct json_writer *w = connection_reply_begin(c, false);

	if (w) {
		json_write_member_string(w, "vendor", "isod");
		json_write_member_string(w, "product", "isod");
		json_write_member_string(w, "version", ISOD_VERSION);
		json_write_member_string(w, "url", "");
		json_write_key(w, "interfaces");
		json_write_array(w);
		json_write_string(w, "org.varlink.service");
		json_write_string(w, "org.isod");
		json_write_array_end(w);
	}
	connection_reply_end(c, w);
	return 0;
}

int method_get_interface_description(struct connection *c, const struct call *call, const void *parameters,
				     struct error *e)
{
	const struct get_interface_description_parameters *p = parameters;
	const char *text;
	struct json_writer *w;

	if (strcmp(p->interface, "org.isod") == 0) {
		text = varlink_text_org_isod;
	} else if (strcmp(p->interface, "org.varlink.service") == 0) {
		text = varlink_text_org_varlink_service;
	} else {
		connection_reply_service_error(c, "InterfaceNotFound", "interface", p->interface);
		return 0;
	}
	w = connection_reply_begin(c, false);
	if (w)
		json_write_member_string(w, "description", text);
	connection_reply_end(c, w);
	return 0;
}
