/* isoctl run: collects what the session is to be, as the user, and hands it to one of the two ways of running it. */
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "client/command.h"
#include "client/policy/policy_git.h"
#include "client/policy/policy_texts.h"
#include "client/report.h"
#include "client/run/detach_keys.h"
#include "client/run/run.h"
#include "client/run/run_directory.h"
#include "client/run/run_gpg.h"
#include "client/run/run_grants.h"
#include "client/run/run_options.h"
#include "client/run/run_policy.h"
#include "client/run/run_record.h"
#include "client/run/run_ssh.h"
#include "client/run/terminal.h"

#define ADMINISTRATOR_POLICY "/etc/isod/policy.json"

#define AT(field) offsetof(struct run_options, field)

static const struct option options[] = {
	{ "allow-read", 0, "PATH", "let the command read PATH", OPTION_LIST, AT(allow_read) },
	{ "allow-write", 0, "PATH", "let it read and write PATH", OPTION_LIST, AT(allow_write) },
	{ "allow-domain", 0, "HOST", "let it reach HOST, HOST:PORT or *.DOMAIN", OPTION_LIST, AT(allow_domain) },
	{ "deny-domain", 0, "HOST", "never let it reach HOST, whatever else allows it", OPTION_LIST, AT(deny_domain) },
	{ "on-unlisted", 0, "WAY",
	  "hosts that no rule names: deny, ask (isoctl pending), or learn (public ones pass and are recorded)",
	  OPTION_STRING, AT(on_unlisted) },
	{ "publish", 'P', "[HOSTPORT:]PORT", "let programs of yours outside reach its PORT, at 127.0.0.1:HOSTPORT",
	  OPTION_LIST, AT(publish) },
	{ "host-port", 0, "PORT", "let it reach PORT of the host's loopback, as its own localhost:PORT", OPTION_LIST,
	  AT(host_port) },
	{ "unix-socket", 0, "PATH", "let it connect to the Unix socket PATH of the host", OPTION_LIST,
	  AT(unix_socket) },
	{ "env", 'e', "NAME[=VALUE]", "pass the variable NAME", OPTION_LIST, AT(environment) },
	{ "policy", 'p', "FILE", "rules from FILE on top of the user's policy", OPTION_LIST, AT(policy) },
	{ "memory", 'm', "SIZE", "at most SIZE of memory (512M, 8G)", OPTION_STRING, AT(memory) },
	{ "pids", 0, "N", "at most N processes and threads", OPTION_STRING, AT(pids) },
	{ "cpus", 0, "N", "at most N processors' worth of time (2, 1.5)", OPTION_STRING, AT(cpus) },
	{ "time", 0, "DURATION", "end it after DURATION (90s, 30m, 12h); exit code 124", OPTION_STRING, AT(time) },
	{ "record", 0, "FILE", "record its terminal and what was decided: isoctl replay FILE", OPTION_STRING,
	  AT(record) },
	{ "record-input", 0, NULL, "in a recording, what is typed as well: passwords, too", OPTION_SET,
	  AT(record_input), 1 },
	{ "nesting", 0, NULL, "let it make namespaces: for a sandbox inside", OPTION_SET, AT(nesting), 1 },
	{ "overlay", 0, NULL, "keep what it writes to the project apart: isoctl diff, apply, discard", OPTION_SET,
	  AT(overlay), 1 },
	{ "name", 'n', "NAME", "what the session is called", OPTION_STRING, AT(name) },
	{ "detach", 'd', NULL, "leave it running and print its id; isoctl attach ID leads to it", OPTION_SET,
	  AT(detach), 1 },
	{ "detach-keys", 0, "KEYS", "what leaves a session with a terminal running (ctrl-p,ctrl-q)", OPTION_STRING,
	  AT(detach_keys) },
	{ "tty", 't', NULL, "give it a terminal of its own", OPTION_SET, AT(tty), RUN_TTY_ALWAYS },
	{ "no-tty", 'T', NULL, "give it none", OPTION_SET, AT(tty), RUN_TTY_NEVER },
	{ "quiet", 'q', NULL, "say nothing about the session on stderr", OPTION_SET, AT(quiet), 1 },
	OPTION_END,
};

/* What the request is made of; each part frees itself. */
struct request {
	struct run_directory directory;
	struct policy_texts policies;
	struct run_environment environment;
	struct buffer command_line; /* JSON */
	int agent_fd;               /* connected to the user's ssh-agent; -1 */
	int gpg_fd;                 /* to the restricted socket of the user's gpg-agent; -1 */
	struct run_record record;
};

static void request_done(struct request *r)
{
	run_directory_done(&r->directory);
	policy_texts_done(&r->policies);
	run_environment_done(&r->environment);
	buffer_done(&r->command_line);
	fd_close(r->agent_fd);
	fd_close(r->gpg_fd);
	run_record_done(&r->record);
}

static void note_grants(struct request *q, const struct policy *merged)
{
	const struct passwd *user = getpwuid(geteuid());

	run_grants_note(merged, user ? user->pw_dir : "/", q->directory.cwd, &q->environment.notes);
}

/*
 * The names that the policy files pass, as far as this user can read them: only what leaves this shell can reach the
 * session. The daemon decides again, so an administrator's file that cannot be read here opens nothing.
 */
static int select_environment(struct request *q, const struct run_options *o, struct error *e)
{
	struct policy_texts all = { .count = 0 };
	struct policy merged = { 0 };
	struct error ignored = ERROR_INIT;
	int r;

	(void)policy_texts_add_file(&all, POLICY_ADMINISTRATOR, ADMINISTRATOR_POLICY, &ignored);
	for (size_t i = 0; i < q->policies.count && all.count < LIMIT_POLICY_LAYERS; i++)
		all.inputs[all.count++] = q->policies.inputs[i];
	r = policy_load(all.inputs, all.count, &merged, e);
	if (r == 0)
		r = run_environment_select(environ, &o->environment, &merged.environment_pass, &q->environment, e);
	if (r == 0)
		note_grants(q, &merged);
	if (r == 0)
		r = policy_git_add(&q->policies, q->directory.cwd, &merged, &q->environment, &q->environment.notes, e);
	if (r == 0)
		r = run_ssh_prepare(&q->policies, &merged, &q->agent_fd, e);
	if (r == 0 && policy_lends_gpg(&merged))
		q->gpg_fd = run_gpg_connect();
	if (r == 0)
		r = run_record_open(o->record, merged.record.on, q->directory.cwd, &q->record, e);
	policy_done(&merged);
	policy_texts_done(&all);
	return r;
}

static int collect(struct request *q, const struct run_options *o, struct error *e)
{
	int r = run_directory_find(getenv("PWD"), &q->directory, e);
	/* As the daemon, which knows no variable of this shell. */
	const struct passwd *user = r == 0 ? getpwuid(geteuid()) : NULL;

	if (user)
		run_directory_add_home(user->pw_dir, &q->directory);
	if (r == 0)
		r = policy_texts_collect(&q->policies, q->directory.cwd, &o->policy, e);
	if (r == 0)
		r = run_policy_write(o, q->directory.cwd, &q->command_line, e);
	if (r > 0)
		r = policy_texts_add_text(&q->policies, POLICY_COMMAND_LINE, "command line", q->command_line.data,
					  q->command_line.len, e);
	if (r == 0)
		r = select_environment(q, o, e);
	return r;
}

/* The system call that reads it sets it. */
static mode_t own_umask(void)
{
	mode_t mask = umask(077);

	umask(mask);
	return mask;
}

static void write_request(struct json_writer *w, const struct request *q, const struct run_options *o, bool terminal,
			  char **argv)
{
	json_write_key(w, "argv");
	json_write_array(w);
	for (; *argv; argv++)
		json_write_string(w, *argv);
	json_write_array_end(w);
	run_directory_write(&q->directory, w);
	run_environment_write(&q->environment, w);
	policy_texts_write(&q->policies, w);
	if (terminal) {
		uint16_t rows, columns;

		terminal_size(&rows, &columns);
		json_write_key(w, "terminal");
		json_write_object(w);
		json_write_member_integer(w, "rows", rows);
		json_write_member_integer(w, "columns", columns);
		json_write_object_end(w);
	}
	json_write_member_integer(w, "umask", own_umask());
	if (o->name)
		json_write_member_string(w, "name", o->name);
	if (q->agent_fd >= 0)
		json_write_member_bool(w, "sshAgent", true);
	if (q->gpg_fd >= 0)
		json_write_member_bool(w, "gpgAgent", true);
	if (q->record.fd >= 0)
		json_write_member_bool(w, "record", true);
	if (o->detach)
		json_write_member_bool(w, "detach", true);
}

static bool wants_terminal(const struct run_options *o)
{
	if (o->tty != RUN_TTY_AUTO)
		return o->tty == RUN_TTY_ALWAYS;
	return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
}

static int run(const struct client *client, const void *filled, char **operands, int n_operands)
{
	const struct run_options *o = filled;
	struct request q = { .environment = RUN_ENVIRONMENT_INIT,
			     .command_line = BUFFER_INIT(LIMIT_POLICY_FILE),
			     .agent_fd = -1,
			     .gpg_fd = -1,
			     .record = RUN_RECORD_INIT };
	struct run run = {
		.client = client, .environment = &q.environment, .quiet = o->quiet, .call = CALL_INIT, .made = MADE_INIT
	};
	bool terminal = wants_terminal(o);
	struct detach_keys keys;
	struct error e = ERROR_INIT;
	int r = detach_keys_option(o->detach_keys, &keys, &e), code;

	run.keys = &keys;
	if (r == 0)
		r = collect(&q, o, &e);
	if (r == 0) {
		write_request(call_begin(&run.call, "org.isod.Run", terminal && !o->detach ? CALL_UPGRADE : CALL_MORE),
			      &q, o, terminal, operands);
		r = call_finish(&run.call, &e);
	}
	if (r == 0) {
		if (q.agent_fd >= 0)
			run.agents[run.n_agents++] = q.agent_fd;
		if (q.gpg_fd >= 0)
			run.agents[run.n_agents++] = q.gpg_fd;
		if (q.record.fd >= 0)
			run.agents[run.n_agents++] = q.record.fd;
		run_record_say(&q.record, terminal, o->quiet);
		run.record = &q.record;
		code = o->detach ? run_detached(&run, terminal) : terminal ? run_terminal(&run) : run_pipes(&run);
	} else {
		report_error(&e);
		code = report_run_code(&e);
	}
	call_done(&run.call);
	request_done(&q);
	return code;
}

const struct command command_run = {
	.name = "run",
	.operands = "[--] COMMAND [ARGUMENT]…",
	.summary = "Run a command in a sandbox of its own, with the working directory as its project",
	.details =
		"The command sees the project, the system read-only, and what is allowed by name: files by "
		"--allow-read\n"
		"and --allow-write, hosts by --allow-domain, variables by --env or ISO_ALLOW=\"NAME NAME\" (also\n"
		"CLAUDE_ISO_ALLOW). Relative paths start at the working directory.\n\n"
		"Secret files in there (.env, private keys, token files) cannot be read, and what the host would run "
		"later\n"
		"(git hooks, settings of editors and agents) cannot be written; isoctl policy explain PATH says which "
		"rule\n"
		"it is. --allow-read ./.env opens that one file; \"protect\" in a policy switches a kind off.\n\n"
		"Where stdin and stdout are terminals, or with --tty, the command has a terminal of its own, and its "
		"stderr\n"
		"goes there too, wherever isoctl's stderr goes.\n\n"
		"Ctrl-p ctrl-q (--detach-keys: keys with commas between, such as ctrl-a,d; \"\" for none) leave a "
		"session "
		"with a\n"
		"terminal running.\n\n"
		"Exit code: the command's own; 128+N where signal N ended it; 124 time limit; 125 isod or the sandbox\n"
		"failed, nothing ran; 126 the command cannot be executed; 127 it is not there.\n",
	.options = options,
	.options_size = sizeof(struct run_options),
	.options_flags = OPTIONS_STOP_AT_OPERAND,
	.min_operands = 1,
	.max_operands = -1,
	.usage_exit = EXIT_ISOD,
	.run = run,
};
