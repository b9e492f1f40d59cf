#include "policy/environment.h"

#include <string.h>
#include <strings.h>

#include "base/cleanup.h"

/* In all tables: "X*" is everything that begins with X. */
static const char *const passthrough[] = {
	"COLORTERM", "EDITOR", "HOME", "LANG", "LC_*", "LOGNAME", "PAGER", "PATH",
	"PWD",       "SHELL",  "TERM", "TZ",   "USER", "VISUAL",  "XDG_*",
};

static const char *const injection[] = {
	/* loaders and libc */
	"LD_*",
	"DYLD_*",
	"GCONV_PATH",
	"GETCONF_DIR",
	"GLIBC_TUNABLES",
	"HOSTALIASES",
	"LOCALDOMAIN",
	"LOCPATH",
	"MALLOC_TRACE",
	"NLSPATH",
	"RESOLV_HOST_CONF",
	"RES_OPTIONS",
	/* shells; exported functions are BASH_FUNC_name%% */
	"BASHOPTS",
	"BASH_*",
	"CDPATH",
	"ENV",
	"FPATH",
	"GLOBIGNORE",
	"IFS",
	"PROMPT_COMMAND",
	"PS1",
	"PS4",
	"SHELLOPTS",
	"ZDOTDIR",
	/* interpreters */
	"BUN_OPTIONS",
	"CLASSPATH",
	"CORECLR_*",
	"COR_*",
	"DENO_*",
	"DOTNET_STARTUP_HOOKS",
	"ELECTRON_RUN_AS_NODE",
	"ERL_*",
	"GEM_*",
	"JAVA_OPTIONS",
	"JAVA_TOOL_OPTIONS",
	"JDK_*",
	"JULIA_*",
	"LUA_*",
	"NODE_EXTRA_CA_CERTS",
	"NODE_OPTIONS",
	"NODE_PATH",
	"NODE_REPL_*",
	"PERL5*",
	"PERLLIB",
	"PERL_*",
	"PHPRC",
	"PHP_INI_SCAN_DIR",
	"PYTHON*",
	"RUBYLIB",
	"RUBYOPT",
	"RUBYSHELL",
	"R_ENVIRON*",
	"R_PROFILE*",
	"TCLLIBPATH",
	"_JAVA_OPTIONS",
	/* programs that start others */
	"BROWSER",
	"BUNDLE_*",
	"CARGO_*",
	"EXINIT",
	"GIT_ASKPASS",
	"GIT_CONFIG*",
	"GIT_EDITOR",
	"GIT_EXEC_PATH",
	"GIT_EXTERNAL_DIFF",
	"GIT_PAGER",
	"GIT_PROXY_COMMAND",
	"GIT_SEQUENCE_EDITOR",
	"GIT_SSH",
	"GIT_SSH_COMMAND",
	"GIT_TEMPLATE_DIR",
	"GNUMAKEFLAGS",
	"LESSCLOSE",
	"LESSOPEN",
	"MAKEFLAGS",
	"MANPAGER",
	"MAVEN_OPTS",
	"NPM_CONFIG_*",
	"PIP_*",
	"RUSTC_*",
	"SSH_ASKPASS",
	"SUDO_ASKPASS",
	"UV_*",
	"VIMINIT",
	"npm_config_*",
	/* trust of TLS */
	"OPENSSL_*",
	"SSLKEYLOGFILE",
	"SSL_CERT_DIR",
	"SSL_CERT_FILE",
};

/* Looked for anywhere in the name, in any case. */
static const char *const credential_parts[] = {
	"TOKEN",      "SECRET",    "PASSWORD",    "PASSWD",     "PASSPHRASE", "API_KEY", "APIKEY",
	"ACCESS_KEY", "ACCESSKEY", "PRIVATE_KEY", "CREDENTIAL", "_AUTH",      "COOKIE",
};

static const char *const credential_names[] = {
	"AWS_*", "AZURE_*", "DATABASE_URL", "GOOGLE_APPLICATION_*", "KUBECONFIG", "PGPASSFILE", "SSH_AUTH_SOCK",
};

static bool is_in(const char *name, const char *const *table, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		size_t len = strlen(table[i]);
		bool prefix = table[i][len - 1] == '*';

		if (prefix ? strncmp(name, table[i], len - 1) == 0 : strcmp(name, table[i]) == 0)
			return true;
	}
	return false;
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

bool environment_name_is_valid(const char *name, size_t len)
{
	if (len == 0 || is_digit(name[0]))
		return false;
	for (size_t i = 0; i < len; i++)
		if (!is_letter(name[i]) && !is_digit(name[i]) && name[i] != '_')
			return false;
	return true;
}

bool environment_passes(const char *name)
{
	return environment_name_is_valid(name, strlen(name)) && is_in(name, passthrough, ARRAY_SIZE(passthrough));
}

bool environment_is_injection(const char *name)
{
	return is_in(name, injection, ARRAY_SIZE(injection));
}

bool environment_is_credential(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(credential_parts); i++)
		if (strcasestr(name, credential_parts[i]))
			return true;
	return is_in(name, credential_names, ARRAY_SIZE(credential_names));
}

/* One or more words: a program, then options only. "sh -c id" is no plain command, "code --wait" is one. */
bool environment_value_is_plain_command(const char *value)
{
	bool word_start = true, first_word = true;

	for (const char *p = value; *p; p++) {
		if (*p == ' ') {
			if (word_start)
				return false;
			word_start = true;
			first_word = false;
			continue;
		}
		if (word_start && (*p == '-') == first_word)
			return false;
		/* In the first word '=' would be an assignment. */
		if (!is_letter(*p) && !is_digit(*p) && !strchr("_./+-", *p) && (first_word || !strchr("=,:", *p)))
			return false;
		word_start = false;
	}
	return !word_start;
}
