#ifndef ISOD_PROTO_SCHEMA_H
#define ISOD_PROTO_SCHEMA_H
/*
 * The parameters of every method as structs, with the tables that fill them (json/decode.h). A test holds the tables
 * against the interface texts: same members, same types, same optionality.
 */
#include <stdbool.h>
#include <stdint.h>

#include "json/decode.h"

/* Items of the arrays below. */
struct schema_variable {
	const char *name;
	const char *value; /* bytes */
};

struct schema_link {
	const char *path;   /* bytes */
	const char *target; /* bytes */
};

struct schema_policy {
	const char *layer;
	const char *path; /* bytes, for messages only */
	const char *text;
};

struct schema_terminal {
	int64_t rows; /* 0..65535, as is columns */
	int64_t columns;
};

struct run_parameters {
	struct json_strings argv;  /* bytes; may be empty: the method says what that means */
	const char *cwd;           /* bytes */
	const char *pwd;           /* bytes, or NULL */
	struct json_objects links; /* struct schema_link */
	struct json_objects env;   /* struct schema_variable */
	struct json_strings named;
	struct json_objects policies; /* struct schema_policy */
	struct schema_terminal terminal;
	bool has_terminal;
	int64_t umask; /* 0..0777 */
	bool has_umask;
	const char *name; /* or NULL */
	bool ssh_agent;   /* the last descriptor is a connection to the caller's ssh-agent */
	bool gpg_agent;   /* the same of the gpg-agent, after that one */
	bool record;      /* the last of all is the file of the recording */
	bool detach;
};

struct attach_parameters {
	const char *session;
	struct schema_terminal terminal;
	bool has_terminal;
	bool watch;
	bool take;
};

struct wait_parameters {
	const char *session;
};

struct list_parameters {
	bool all;
};

struct show_parameters {
	const char *session;
};

struct log_parameters {
	const char *session; /* or NULL */
	bool follow;
	int64_t since, until; /* ms since 1970; 0 where absent */
	const char *host;     /* or NULL, as is the next */
	const char *program;
	bool denied;
};

struct log_verify_parameters {
	const char *session; /* or NULL */
	const char *head;    /* or NULL */
};

struct exec_parameters {
	const char *session;
	struct json_strings argv; /* bytes */
	const char *cwd;          /* bytes, or NULL */
	struct schema_terminal terminal;
	bool has_terminal;
	const char *term; /* bytes, or NULL */
};

struct kill_parameters {
	const char *session;
	int64_t signal; /* 0 where absent */
	int64_t exec;   /* likewise */
};

struct layer_parameters {
	const char *session;
	bool ended;
};

struct discard_parameters {
	const char *session;
};

struct policy_show_parameters {
	struct json_objects policies; /* struct schema_policy */
	const char *cwd;              /* bytes, or NULL */
};

struct policy_reload_parameters {
	const char *session;
	struct json_objects policies; /* struct schema_policy */
};

struct grant_parameters {
	const char *session;
	const char *host;
	int64_t seconds; /* 0 where absent */
	bool once;
};

struct revoke_parameters {
	const char *session;
	const char *host;
};

struct answer_parameters {
	const char *question;
	bool allow;
	const char *scope; /* or NULL */
	int64_t seconds;   /* 0 where absent */
};

struct policy_test_parameters {
	struct json_objects policies; /* struct schema_policy */
	const char *cwd;              /* bytes */
	const char *pwd;              /* bytes, or NULL */
	struct json_objects links;    /* struct schema_link */
	const char *path;             /* bytes */
	const char *kind;             /* or NULL */
};

struct get_interface_description_parameters {
	const char *interface;
};

extern const struct json_schema schema_run;
extern const struct json_schema schema_list;
extern const struct json_schema schema_show;
extern const struct json_schema schema_attach;
extern const struct json_schema schema_wait;
extern const struct json_schema schema_log;
extern const struct json_schema schema_log_verify;
extern const struct json_schema schema_exec;
extern const struct json_schema schema_kill;
extern const struct json_schema schema_layer;
extern const struct json_schema schema_discard;
extern const struct json_schema schema_policy_show;
extern const struct json_schema schema_policy_test;
extern const struct json_schema schema_policy_reload;
extern const struct json_schema schema_grant;
extern const struct json_schema schema_revoke;
extern const struct json_schema schema_answer;
extern const struct json_schema schema_get_interface_description;
/* Methods without parameters: .size is 1, the struct holds nothing. */
extern const struct json_schema schema_none;

struct schema_method {
	const char *name; /* fully qualified */
	const struct json_schema *parameters;
};

/* All of both interfaces, in the order of the texts. */
extern const struct schema_method schema_methods[];
extern const size_t schema_n_methods;

#endif
