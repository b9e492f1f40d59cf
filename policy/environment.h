#ifndef ISOD_POLICY_ENVIRONMENT_H
#define ISOD_POLICY_ENVIRONMENT_H
/*
 * Layer 0, an allowlist, applied by isoctl and again by isod-control: a variable passes only if it is on the
 * passthrough list or was named (ISO_ALLOW, --env, environment.pass).
 */
#include <stdbool.h>
#include <stddef.h>

/* [A-Za-z_][A-Za-z0-9_]* */
bool environment_name_is_valid(const char *name, size_t len);

/* HOME PATH SHELL TERM COLORTERM LANG LC_* TZ USER LOGNAME PWD EDITOR VISUAL PAGER XDG_*, i.e. passes unasked. HOME,
 * USER, LOGNAME, SHELL, PWD and XDG_RUNTIME_DIR are then set by the plan from passwd and the view. DISPLAY,
 * WAYLAND_DISPLAY and SSH_AUTH_SOCK are not here: they pass with the socket that they name. */
bool environment_passes(const char *name);

/* Runs code or redirects loading in whoever inherits it (LD_*, DYLD_*, NODE_OPTIONS, BASH_ENV, GIT_SSH_COMMAND, ...).
 * Such a name must be named exactly, a pattern does not do, and the banner mentions it. */
bool environment_is_injection(const char *name);

/* Looks like a credential (…TOKEN, …SECRET…, …PASSWORD…, …API_KEY, AWS_…): the banner mentions what was let through. */
bool environment_is_credential(const char *name);

/* EDITOR, VISUAL, PAGER are dropped where their value holds anything but a plain program name with plain options:
 * they are run by a shell. */
bool environment_value_is_plain_command(const char *value);

#endif
