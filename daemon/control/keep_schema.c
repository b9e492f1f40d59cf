#include "base/cleanup.h"
#include "base/limits.h"
#include "daemon/control/grants.h"
#include "daemon/control/keep.h"
#include "daemon/control/late.h"
#include "daemon/control/session.h"
#include "daemon/wire/late.h"
#include "proto/schema.h"

/* Bytes of one text of a list: a note, a sentence, an argument as it is shown. */
#define TEXT_MAX_BYTES (64 << 10)
#define LIST_MAX 4096

#define SCHEMA(table, type_name, type)                                                                                 \
	{                                                                                                              \
		type_name, sizeof(type), table, ARRAY_SIZE(table)                                                      \
	}

#define POLICY(member) offsetof(struct schema_policy, member)
static const struct json_field layer_fields[] = {
	{ "layer", JSON_FIELD_STRING, POLICY(layer), .required = true },
	{ "path", JSON_FIELD_BYTES, POLICY(path), .required = true },
	{ "text", JSON_FIELD_STRING, POLICY(text), .required = true, .max = LIMIT_POLICY_FILE },
};
static const struct json_schema layer = SCHEMA(layer_fields, "Layer", struct schema_policy);

#define TEXTS(member) offsetof(struct keep_texts, member)
static const struct json_field texts_fields[] = {
	{ "administrator", JSON_FIELD_BYTES, TEXTS(administrator), .max = LIMIT_POLICY_FILE },
	{ "layers", JSON_FIELD_OBJECT_ARRAY, TEXTS(layers), .required = true, .max = LIMIT_POLICY_LAYERS,
	  .schema = &layer },
};
static const struct json_schema texts = SCHEMA(texts_fields, "Texts", struct keep_texts);

#define GRANT(member) offsetof(struct keep_grant, member)
static const struct json_field grant_fields[] = {
	{ "host", JSON_FIELD_STRING, GRANT(host), .required = true, .max = EGRESS_RULE_TEXT_MAX - 1 },
	{ "until", JSON_FIELD_INTEGER, GRANT(until), .required = true, .max = INT64_MAX },
	{ "once", JSON_FIELD_INTEGER, GRANT(once), .required = true, .max = UINT32_MAX },
	{ "used", JSON_FIELD_BOOL, GRANT(used), .required = true },
};
static const struct json_schema grant = SCHEMA(grant_fields, "Grant", struct keep_grant);

#define PORT(member) offsetof(struct keep_port, member)
static const struct json_field port_fields[] = {
	{ "host", JSON_FIELD_INTEGER, PORT(host), .required = true, .min = 1, .max = UINT16_MAX },
	{ "inside", JSON_FIELD_INTEGER, PORT(inside), .required = true, .min = 1, .max = UINT16_MAX },
};
static const struct json_schema port = SCHEMA(port_fields, "Port", struct keep_port);

#define EXIT(member) offsetof(struct keep_exit, member)
static const struct json_field exit_fields[] = {
	{ "kind", JSON_FIELD_INTEGER, EXIT(kind), .required = true, .min = EXIT_KIND_CODE, .max = EXIT_KIND_TIME },
	{ "value", JSON_FIELD_INTEGER, EXIT(value), .required = true, .min = INT32_MIN, .max = INT32_MAX },
	{ "ended", JSON_FIELD_INTEGER, EXIT(ended), .required = true, .max = INT64_MAX },
};
static const struct json_schema exit_status = SCHEMA(exit_fields, "Exit", struct keep_exit);

#define AT(member) offsetof(struct keep_state, member)
#define INTEGER(json_name, member, largest)                                                                            \
	{                                                                                                              \
		json_name, JSON_FIELD_INTEGER, AT(member), .required = true, .max = (largest)                          \
	}
#define LIST(json_name, member)                                                                                        \
	{                                                                                                              \
		json_name, JSON_FIELD_BYTES_ARRAY, AT(member), .required = true, .max = LIST_MAX                       \
	}
static const struct json_field state_fields[] = {
	{ "version", JSON_FIELD_INTEGER, AT(version), .required = true, .min = KEEP_VERSION, .max = KEEP_VERSION },
	{ "id", JSON_FIELD_STRING, AT(id), .required = true, .max = ISOD_ID_LEN },
	{ "name", JSON_FIELD_STRING, AT(name), .required = true, .max = SESSION_LABEL_MAX },
	{ "digest", JSON_FIELD_STRING, AT(digest), .required = true, .max = 64 },
	{ "project", JSON_FIELD_BYTES, AT(project) },
	{ "cwd", JSON_FIELD_BYTES, AT(cwd) },
	LIST("argv", argv),
	LIST("notes", notes),
	INTEGER("started", started, INT64_MAX),
	LIST("lacking", lacking),
	LIST("planted", planted),
	LIST("runs", runs),
	INTEGER("lateWay", late_way, LATE_WAY_END - 1),
	INTEGER("lateReason", late_reason, LATE_REASON_END - 1),
	INTEGER("lateMore", late_more, INT64_MAX),
	{ "terminal", JSON_FIELD_BOOL, AT(terminal), .required = true },
	{ "detached", JSON_FIELD_BOOL, AT(detached), .required = true },
	INTEGER("rows", rows, UINT16_MAX),
	INTEGER("columns", columns, UINT16_MAX),
	INTEGER("generation", generation, INT32_MAX - 1),
	INTEGER("unlisted", unlisted, EGRESS_UNLISTED_COUNT - 1),
	{ "texts", JSON_FIELD_OBJECT, AT(texts), .required = true, .schema = &texts },
	{ "first", JSON_FIELD_OBJECT, AT(first), .schema = &texts },
	{ "grants", JSON_FIELD_OBJECT_ARRAY, AT(grants), .required = true, .max = LIMIT_GRANTS, .schema = &grant },
	INTEGER("lastOnce", last_once, UINT32_MAX),
	{ "ports", JSON_FIELD_OBJECT_ARRAY, AT(ports), .required = true, .max = LIMIT_PUBLISHED_PORTS,
	  .schema = &port },
	{ "exit", JSON_FIELD_OBJECT, AT(exit), .schema = &exit_status, .present_offset = AT(has_exit) },
};
const struct json_schema keep_schema = SCHEMA(state_fields, "Kept", struct keep_state);
