#include "proto/schema.h"

#include "base/cleanup.h"
#include "base/limits.h"

/* Linux takes at most this for one argument or variable (MAX_ARG_STRLEN). */
#define VALUE_MAX (128 << 10)
/* The kernel follows 40 links in one path. */
#define LINKS_MAX 40
#define SESSION_NAME_MAX 64
#define NAMED_MAX 4096
#define SIGNAL_MAX 64
#define TERM_MAX 256
/* A rule about hosts. */
#define HOST_RULE_MAX 512
#define GRANT_SECONDS_MAX (366 * 24 * 3600)

#define SCHEMA(table, type_name, type)                                                                                 \
	{                                                                                                              \
		type_name, sizeof(type), table, ARRAY_SIZE(table)                                                      \
	}

static const struct json_field variable_fields[] = {
	{ "name", JSON_FIELD_STRING, offsetof(struct schema_variable, name), .required = true },
	{ "value", JSON_FIELD_BYTES, offsetof(struct schema_variable, value), .required = true, .max = VALUE_MAX },
};
static const struct json_schema variable = SCHEMA(variable_fields, "Variable", struct schema_variable);

static const struct json_field link_fields[] = {
	{ "path", JSON_FIELD_BYTES, offsetof(struct schema_link, path), .required = true },
	{ "target", JSON_FIELD_BYTES, offsetof(struct schema_link, target), .required = true },
};
static const struct json_schema path_link = SCHEMA(link_fields, "Link", struct schema_link);

static const struct json_field policy_fields[] = {
	{ "layer", JSON_FIELD_STRING, offsetof(struct schema_policy, layer), .required = true },
	{ "path", JSON_FIELD_BYTES, offsetof(struct schema_policy, path), .required = true },
	{ "text", JSON_FIELD_STRING, offsetof(struct schema_policy, text), .required = true, .max = LIMIT_POLICY_FILE },
};
static const struct json_schema policy_text = SCHEMA(policy_fields, "PolicyText", struct schema_policy);

static const struct json_field terminal_fields[] = {
	{ "rows", JSON_FIELD_INTEGER, offsetof(struct schema_terminal, rows), .required = true, .max = UINT16_MAX },
	{ "columns", JSON_FIELD_INTEGER, offsetof(struct schema_terminal, columns), .required = true,
	  .max = UINT16_MAX },
};
static const struct json_schema terminal = SCHEMA(terminal_fields, "Terminal", struct schema_terminal);

#define RUN(member) offsetof(struct run_parameters, member)
static const struct json_field run_fields[] = {
	{ "argv", JSON_FIELD_BYTES_ARRAY, RUN(argv), .required = true, .max = LIMIT_PLAN_ARGS },
	{ "cwd", JSON_FIELD_BYTES, RUN(cwd), .required = true },
	{ "pwd", JSON_FIELD_BYTES, RUN(pwd) },
	{ "links", JSON_FIELD_OBJECT_ARRAY, RUN(links), .max = LINKS_MAX, .schema = &path_link },
	{ "env", JSON_FIELD_OBJECT_ARRAY, RUN(env), .required = true, .max = LIMIT_PLAN_ARGS, .schema = &variable },
	{ "named", JSON_FIELD_STRING_ARRAY, RUN(named), .required = true, .max = NAMED_MAX },
	{ "policies", JSON_FIELD_OBJECT_ARRAY, RUN(policies), .required = true, .max = LIMIT_POLICY_LAYERS,
	  .schema = &policy_text },
	{ "terminal", JSON_FIELD_OBJECT, RUN(terminal), .schema = &terminal, .present_offset = RUN(has_terminal) },
	{ "umask", JSON_FIELD_INTEGER, RUN(umask), .max = 0777, .present_offset = RUN(has_umask) },
	{ "name", JSON_FIELD_STRING, RUN(name), .max = SESSION_NAME_MAX },
	{ "sshAgent", JSON_FIELD_BOOL, RUN(ssh_agent) },
	{ "gpgAgent", JSON_FIELD_BOOL, RUN(gpg_agent) },
	{ "record", JSON_FIELD_BOOL, RUN(record) },
	{ "detach", JSON_FIELD_BOOL, RUN(detach) },
};
const struct json_schema schema_run = SCHEMA(run_fields, "Run", struct run_parameters);

static const struct json_field list_fields[] = {
	{ "all", JSON_FIELD_BOOL, offsetof(struct list_parameters, all), .required = true },
};
const struct json_schema schema_list = SCHEMA(list_fields, "List", struct list_parameters);

#define SESSION(type)                                                                                                  \
	{                                                                                                              \
		"session", JSON_FIELD_STRING, offsetof(type, session), .required = true, .max = SESSION_NAME_MAX       \
	}

static const struct json_field show_fields[] = {
	SESSION(struct show_parameters),
};
const struct json_schema schema_show = SCHEMA(show_fields, "Show", struct show_parameters);

#define ATTACH(member) offsetof(struct attach_parameters, member)
static const struct json_field attach_fields[] = {
	SESSION(struct attach_parameters),
	{ "terminal", JSON_FIELD_OBJECT, ATTACH(terminal), .schema = &terminal,
	  .present_offset = ATTACH(has_terminal) },
	{ "watch", JSON_FIELD_BOOL, ATTACH(watch) },
	{ "take", JSON_FIELD_BOOL, ATTACH(take) },
};
const struct json_schema schema_attach = SCHEMA(attach_fields, "Attach", struct attach_parameters);

static const struct json_field wait_fields[] = {
	SESSION(struct wait_parameters),
};
const struct json_schema schema_wait = SCHEMA(wait_fields, "Wait", struct wait_parameters);

static const struct json_field log_fields[] = {
	{ "session", JSON_FIELD_STRING, offsetof(struct log_parameters, session), .max = SESSION_NAME_MAX },
	{ "follow", JSON_FIELD_BOOL, offsetof(struct log_parameters, follow), .required = true },
	{ "since", JSON_FIELD_INTEGER, offsetof(struct log_parameters, since), .max = INT64_MAX },
	{ "until", JSON_FIELD_INTEGER, offsetof(struct log_parameters, until), .max = INT64_MAX },
	{ "host", JSON_FIELD_STRING, offsetof(struct log_parameters, host), .max = HOST_RULE_MAX },
	{ "program", JSON_FIELD_STRING, offsetof(struct log_parameters, program) },
	{ "denied", JSON_FIELD_BOOL, offsetof(struct log_parameters, denied) },
};
const struct json_schema schema_log = SCHEMA(log_fields, "Log", struct log_parameters);

static const struct json_field log_verify_fields[] = {
	{ "session", JSON_FIELD_STRING, offsetof(struct log_verify_parameters, session), .max = SESSION_NAME_MAX },
	{ "head", JSON_FIELD_STRING, offsetof(struct log_verify_parameters, head), .max = 128 },
};
const struct json_schema schema_log_verify = SCHEMA(log_verify_fields, "LogVerify", struct log_verify_parameters);
#define EXEC(member) offsetof(struct exec_parameters, member)
static const struct json_field exec_fields[] = {
	SESSION(struct exec_parameters),
	{ "argv", JSON_FIELD_BYTES_ARRAY, EXEC(argv), .required = true, .max = LIMIT_PLAN_ARGS },
	{ "cwd", JSON_FIELD_BYTES, EXEC(cwd) },
	{ "terminal", JSON_FIELD_OBJECT, EXEC(terminal), .schema = &terminal, .present_offset = EXEC(has_terminal) },
	{ "term", JSON_FIELD_BYTES, EXEC(term), .max = TERM_MAX },
};
const struct json_schema schema_exec = SCHEMA(exec_fields, "Exec", struct exec_parameters);

static const struct json_field kill_fields[] = {
	SESSION(struct kill_parameters),
	{ "signal", JSON_FIELD_INTEGER, offsetof(struct kill_parameters, signal), .max = SIGNAL_MAX },
	{ "exec", JSON_FIELD_INTEGER, offsetof(struct kill_parameters, exec), .max = INT32_MAX },
};
const struct json_schema schema_kill = SCHEMA(kill_fields, "Kill", struct kill_parameters);

static const struct json_field layer_fields[] = {
	SESSION(struct layer_parameters),
	{ "ended", JSON_FIELD_BOOL, offsetof(struct layer_parameters, ended), .required = true },
};
const struct json_schema schema_layer = SCHEMA(layer_fields, "Layer", struct layer_parameters);

static const struct json_field discard_fields[] = {
	SESSION(struct discard_parameters),
};
const struct json_schema schema_discard = SCHEMA(discard_fields, "Discard", struct discard_parameters);

static const struct json_field policy_show_fields[] = {
	{ "policies", JSON_FIELD_OBJECT_ARRAY, offsetof(struct policy_show_parameters, policies), .required = true,
	  .max = LIMIT_POLICY_LAYERS, .schema = &policy_text },
	{ "cwd", JSON_FIELD_BYTES, offsetof(struct policy_show_parameters, cwd) },
};
const struct json_schema schema_policy_show = SCHEMA(policy_show_fields, "PolicyShow", struct policy_show_parameters);

#define TEST(member) offsetof(struct policy_test_parameters, member)
static const struct json_field policy_test_fields[] = {
	{ "policies", JSON_FIELD_OBJECT_ARRAY, TEST(policies), .required = true, .max = LIMIT_POLICY_LAYERS,
	  .schema = &policy_text },
	{ "cwd", JSON_FIELD_BYTES, TEST(cwd), .required = true },
	{ "pwd", JSON_FIELD_BYTES, TEST(pwd) },
	{ "links", JSON_FIELD_OBJECT_ARRAY, TEST(links), .max = LINKS_MAX, .schema = &path_link },
	{ "path", JSON_FIELD_BYTES, TEST(path), .required = true },
	{ "kind", JSON_FIELD_STRING, TEST(kind) },
};
const struct json_schema schema_policy_test = SCHEMA(policy_test_fields, "PolicyTest", struct policy_test_parameters);

static const struct json_field policy_reload_fields[] = {
	SESSION(struct policy_reload_parameters),
	{ "policies", JSON_FIELD_OBJECT_ARRAY, offsetof(struct policy_reload_parameters, policies), .required = true,
	  .max = LIMIT_POLICY_LAYERS, .schema = &policy_text },
};
const struct json_schema schema_policy_reload =
	SCHEMA(policy_reload_fields, "PolicyReload", struct policy_reload_parameters);

static const struct json_field grant_fields[] = {
	SESSION(struct grant_parameters),
	{ "host", JSON_FIELD_STRING, offsetof(struct grant_parameters, host), .required = true, .max = HOST_RULE_MAX },
	{ "seconds", JSON_FIELD_INTEGER, offsetof(struct grant_parameters, seconds), .max = GRANT_SECONDS_MAX },
	{ "once", JSON_FIELD_BOOL, offsetof(struct grant_parameters, once) },
};
const struct json_schema schema_grant = SCHEMA(grant_fields, "Grant", struct grant_parameters);

static const struct json_field revoke_fields[] = {
	SESSION(struct revoke_parameters),
	{ "host", JSON_FIELD_STRING, offsetof(struct revoke_parameters, host), .required = true, .max = HOST_RULE_MAX },
};
const struct json_schema schema_revoke = SCHEMA(revoke_fields, "Revoke", struct revoke_parameters);

static const struct json_field answer_fields[] = {
	{ "question", JSON_FIELD_STRING, offsetof(struct answer_parameters, question), .required = true,
	  .max = SESSION_NAME_MAX },
	{ "allow", JSON_FIELD_BOOL, offsetof(struct answer_parameters, allow), .required = true },
	{ "scope", JSON_FIELD_STRING, offsetof(struct answer_parameters, scope) },
	{ "seconds", JSON_FIELD_INTEGER, offsetof(struct answer_parameters, seconds), .max = GRANT_SECONDS_MAX },
};
const struct json_schema schema_answer = SCHEMA(answer_fields, "Answer", struct answer_parameters);

static const struct json_field get_interface_description_fields[] = {
	{ "interface", JSON_FIELD_STRING, offsetof(struct get_interface_description_parameters, interface),
	  .required = true },
};
const struct json_schema schema_get_interface_description = SCHEMA(
	get_interface_description_fields, "GetInterfaceDescription", struct get_interface_description_parameters);

const struct json_schema schema_none = { "none", 1, NULL, 0 };

const struct schema_method schema_methods[] = {
	{ "org.isod.Run", &schema_run },
	{ "org.isod.List", &schema_list },
	{ "org.isod.Show", &schema_show },
	{ "org.isod.Attach", &schema_attach },
	{ "org.isod.Wait", &schema_wait },
	{ "org.isod.Log", &schema_log },
	{ "org.isod.LogVerify", &schema_log_verify },
	{ "org.isod.Exec", &schema_exec },
	{ "org.isod.Kill", &schema_kill },
	{ "org.isod.Layers", &schema_none },
	{ "org.isod.Layer", &schema_layer },
	{ "org.isod.Discard", &schema_discard },
	{ "org.isod.PolicyShow", &schema_policy_show },
	{ "org.isod.PolicyTest", &schema_policy_test },
	{ "org.isod.PolicyReload", &schema_policy_reload },
	{ "org.isod.Grant", &schema_grant },
	{ "org.isod.Revoke", &schema_revoke },
	{ "org.isod.Pending", &schema_none },
	{ "org.isod.Answer", &schema_answer },
	{ "org.isod.Status", &schema_none },
	{ "org.varlink.service.GetInfo", &schema_none },
	{ "org.varlink.service.GetInterfaceDescription", &schema_get_interface_description },
};
const size_t schema_n_methods = ARRAY_SIZE(schema_methods);
