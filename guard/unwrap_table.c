#include <stdlib.h>
#include <string.h>

#include "guard/unwrap_rule.h"

#define LONGS(...)                                                                                                     \
	(const char *const[])                                                                                          \
	{                                                                                                              \
		__VA_ARGS__, NULL                                                                                      \
	}

/* In the order of strcmp(). Options as in the manual pages of Debian 12 and of the projects themselves. */
static const struct unwrap_rule rules[] = {
	{ .name = ".", .run = unwrap_source },
	{ .name = "ash", .run = unwrap_shell, .flags = UNWRAP_RAW },
	{ .name = "awk", .run = unwrap_code, .flags = UNWRAP_RAW },
	{ .name = "bash", .run = unwrap_shell, .flags = UNWRAP_RAW },
	{ .name = "builtin" },
	{ .name = "busybox" },
	{ .name = "caffeinate", { .values = "tw" } },
	{ .name = "choom", { .values = "np", LONGS("adjust", "pid") } },
	{ .name = "chronic" },
	{ .name = "chroot", { .longs = LONGS("groups", "userspec") }, .operands = 1 },
	{ .name = "chrt",
	  { .values = "TPDp", LONGS("sched-runtime", "sched-period", "sched-deadline") },
	  .operands = 1 },
	{ .name = "command" },
	{ .name = "dash", .run = unwrap_shell, .flags = UNWRAP_RAW },
	{ .name = "dbus-run-session", { .longs = LONGS("config-file", "dbus-daemon") } },
	{ .name = "deno", .run = unwrap_code, .flags = UNWRAP_RAW },
	{ .name = "doas", { .values = "Cu" } },
	{ .name = "env", .run = unwrap_env, .flags = UNWRAP_RAW },
	{ .name = "eval", .run = unwrap_eval },
	{ .name = "exec", { .values = "a" } },
	{ .name = "fakeroot", { .values = "lsibf", LONGS("lib", "faked") } },
	{ .name = "find", .run = unwrap_find, .flags = UNWRAP_RAW },
	{ .name = "flock",
	  { .values = "wEc", LONGS("timeout", "wait", "conflict-exit-code", "command") },
	  .operands = 1,
	  .run = unwrap_command_option },
	{ .name = "gawk", .run = unwrap_code, .flags = UNWRAP_RAW },
	{ .name = "ionice", { .values = "cnpPu", LONGS("class", "classdata", "pid", "pgid", "uid") } },
	{ .name = "ksh", .run = unwrap_shell, .flags = UNWRAP_RAW },
	{ .name = "ltrace", { .values = "aAeFlnopsuxXDw", LONGS("output", "library") } },
	{ .name = "mawk", .run = unwrap_code, .flags = UNWRAP_RAW },
	{ .name = "mksh", .run = unwrap_shell, .flags = UNWRAP_RAW },
	{ .name = "nawk", .run = unwrap_code, .flags = UNWRAP_RAW },
	{ .name = "nice", { .values = "n", LONGS("adjustment") } },
	{ .name = "node", .run = unwrap_code, .flags = UNWRAP_RAW },
	{ .name = "nodejs", .run = unwrap_code, .flags = UNWRAP_RAW },
	{ .name = "nohup" },
	{ .name = "nsenter", { .values = "tSGW", LONGS("target", "setuid", "setgid") } },
	{ .name = "parallel", .run = unwrap_parallel, .flags = UNWRAP_RAW },
	{ .name = "perl", .run = unwrap_code, .flags = UNWRAP_RAW },
	{ .name = "php", .run = unwrap_code, .flags = UNWRAP_RAW },
	{ .name = "pkexec", { .longs = LONGS("user") } },
	{ .name = "prlimit", { .values = "po", LONGS("pid", "output") } },
	{ .name = "proxychains", { .values = "f" } },
	{ .name = "proxychains4", { .values = "f" } },
	{ .name = "rbash", .run = unwrap_shell, .flags = UNWRAP_RAW },
	{ .name = "rlwrap", { .values = "bCDefgHmMOpPqsStwz", LONGS("history-filename") } },
	{ .name = "ruby", .run = unwrap_code, .flags = UNWRAP_RAW },
	{ .name = "runcon", { .values = "trulc", LONGS("type", "role", "user", "range") } },
	{ .name = "runuser",
	  { .values = "cugGsw", LONGS("command", "user", "group", "supp-group", "shell") },
	  .run = unwrap_command_option },
	{ .name = "script",
	  { .values = "cEoBIOTm",
	    LONGS("command", "echo", "output-limit", "log-in", "log-out", "log-io", "log-timing") },
	  .run = unwrap_command_option },
	{ .name = "setarch", .operands = 1 },
	{ .name = "setpriv",
	  { .longs = LONGS("ruid", "euid", "rgid", "egid", "reuid", "regid", "groups", "inh-caps", "ambient-caps",
			   "bounding-set", "securebits", "pdeathsig", "selinux-label", "apparmor-profile") } },
	{ .name = "setsid" },
	{ .name = "sg", { .values = "c" }, .operands = 1, .run = unwrap_command_option },
	{ .name = "sh", .run = unwrap_shell, .flags = UNWRAP_RAW },
	{ .name = "source", .run = unwrap_source },
	{ .name = "ssh", { .values = "BbcDEeFIiJLlmOopQRSWw" }, .operands = 1, .flags = UNWRAP_JOINED },
	{ .name = "stdbuf", { .values = "ioe", LONGS("input", "output", "error") } },
	{ .name = "strace", { .values = "abeEIoOpPsSuUX", LONGS("output", "trace", "attach", "user", "env") } },
	{ .name = "su",
	  { .values = "cgGsTw", LONGS("command", "group", "supp-group", "shell", "session-command") },
	  .run = unwrap_command_option },
	{ .name = "sudo",
	  { .values = "CDghpRrTtUu",
	    LONGS("close-from", "chdir", "group", "host", "prompt", "chroot", "role", "type", "command-timeout",
		  "other-user", "user") },
	  .flags = UNWRAP_ASSIGNMENTS },
	{ .name = "systemd-inhibit", { .longs = LONGS("what", "who", "why", "mode") } },
	{ .name = "systemd-run",
	  { .values = "HMpu",
	    LONGS("unit", "property", "description", "slice", "uid", "gid", "nice", "setenv", "working-directory",
		  "host", "machine", "service-type") } },
	{ .name = "taskset", { .values = "p" }, .operands = 1 },
	{ .name = "time", { .values = "fo", LONGS("format", "output") } },
	{ .name = "timeout", { .values = "ks", LONGS("kill-after", "signal") }, .operands = 1 },
	{ .name = "torify" },
	{ .name = "torsocks" },
	{ .name = "trap", .run = unwrap_trap },
	{ .name = "unbuffer" },
	{ .name = "unshare",
	  { .values = "RwSG", LONGS("root", "wd", "setuid", "setgid", "map-user", "map-group", "propagation") } },
	{ .name = "valgrind" },
	{ .name = "watch", { .values = "nq", LONGS("interval", "equexit") }, .flags = UNWRAP_JOINED },
	{ .name = "xargs", .run = unwrap_xargs, .flags = UNWRAP_RAW },
	{ .name = "xvfb-run",
	  { .values = "enfpsw",
	    LONGS("server-num", "server-args", "error-file", "auth-file", "xauth-protocol", "wait") } },
	{ .name = "yash", .run = unwrap_shell, .flags = UNWRAP_RAW },
	{ .name = "zsh", .run = unwrap_shell, .flags = UNWRAP_RAW },
};

static int compare(const void *name, const void *rule)
{
	return strcmp(name, ((const struct unwrap_rule *)rule)->name);
}

/* "python3.11" is python. */
static bool is_python(const char *name)
{
	if (strncmp(name, "python", 6) != 0 && strncmp(name, "pypy", 4) != 0)
		return false;
	name += name[1] == 'y' && name[2] == 't' ? 6 : 4;
	return name[strspn(name, "0123456789.")] == '\0';
}

const struct unwrap_rule *unwrap_rule_find(const char *name)
{
	static const struct unwrap_rule python = { .name = "python", .run = unwrap_code, .flags = UNWRAP_RAW };

	if (is_python(name))
		return &python;
	return bsearch(name, rules, sizeof(rules) / sizeof(rules[0]), sizeof(rules[0]), compare);
}
