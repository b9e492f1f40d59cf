#include "view/protect.h"

#include "base/cleanup.h"

const struct protect_name protect_names[PROTECT_GROUP_COUNT] = {
	[PROTECT_NONE] = { "", false },
	[PROTECT_DOTENV] = { "dotenv", true },
	[PROTECT_KEYS] = { "keys", true },
	[PROTECT_TOKENS] = { "tokens", true },
	[PROTECT_CLOUD] = { "cloud", true },
	[PROTECT_GIT_HOOKS] = { "gitHooks", true },
	[PROTECT_GIT_CONFIG] = { "gitConfig", true },
	[PROTECT_AGENT_SETTINGS] = { "agentSettings", true },
	[PROTECT_EDITOR_SETTINGS] = { "editorSettings", true },
	[PROTECT_HOOK_MANAGERS] = { "hookManagers", true },
	[PROTECT_DIRENV] = { "direnv", true },
	[PROTECT_DEVCONTAINER] = { "devcontainer", true },
	[PROTECT_ISOD] = { "isod", true },
	[PROTECT_SHELL_RC] = { "shellRc", true },
	[PROTECT_USER_GIT] = { "userGit", true },
	[PROTECT_GIT_ATTRIBUTES] = { "gitAttributes", false },
	[PROTECT_WORKFLOWS] = { "workflows", false },
};

#define MASK(number, text)                                                                                             \
	{                                                                                                              \
		PATH_DENY_READ, PATH_RULE_BUILT_IN | PATH_RULE_FILES_ONLY, number, text                                \
	}
#define EXEMPT(number, text)                                                                                           \
	{                                                                                                              \
		PATH_EXEMPT, PATH_RULE_BUILT_IN, number, text                                                          \
	}
#define KEEP(number, text)                                                                                             \
	{                                                                                                              \
		PATH_DENY_WRITE, PATH_RULE_BUILT_IN, number, text                                                      \
	}
#define KEEP_FILE(number, text)                                                                                        \
	{                                                                                                              \
		PATH_DENY_WRITE, PATH_RULE_BUILT_IN | PATH_RULE_FILES_ONLY, number, text                               \
	}

const struct path_rule protect_rules[] = {
	MASK(PROTECT_DOTENV, "/**/.env"),
	MASK(PROTECT_DOTENV, "/**/.env.*"),
	EXEMPT(PROTECT_DOTENV, "/**/.env.example"),
	EXEMPT(PROTECT_DOTENV, "/**/.env.sample"),
	EXEMPT(PROTECT_DOTENV, "/**/.env.template"),
	MASK(PROTECT_KEYS, "/**/*.pem"),
	MASK(PROTECT_KEYS, "/**/id_rsa"),
	MASK(PROTECT_TOKENS, "/**/.netrc"),
	KEEP(PROTECT_GIT_HOOKS, "/**/.git/hooks"),
	KEEP(PROTECT_GIT_CONFIG, "/**/.git/config"),
	KEEP_FILE(PROTECT_GIT_CONFIG, "/**/.git"),
	KEEP(PROTECT_EDITOR_SETTINGS, "/**/.vscode"),
};
const size_t n_protect_rules = ARRAY_SIZE(protect_rules);
