#include "view/toolchain.h"

#include "base/cleanup.h"

#define GRANT(text)                                                                                                    \
	{                                                                                                              \
		PATH_ALLOW_READ, PATH_RULE_BUILT_IN | PATH_RULE_OPTIONAL, 0, text                                      \
	}
#define CACHE(text)                                                                                                    \
	{                                                                                                              \
		PATH_OVERLAY, PATH_RULE_BUILT_IN | PATH_RULE_OPTIONAL, 0, text                                         \
	}
#define MASK(text)                                                                                                     \
	{                                                                                                              \
		PATH_DENY_READ, PATH_RULE_BUILT_IN, 0, text                                                            \
	}
#define MASK_IF_TOKEN(text)                                                                                            \
	{                                                                                                              \
		PATH_DENY_READ, PATH_RULE_BUILT_IN | PATH_RULE_FILES_ONLY | PATH_RULE_IF_TOKEN, 0, text                \
	}

const struct path_rule toolchain_rules[] = {
	/* programs of the user's */
	GRANT("~/.local/bin"),
	GRANT("~/.local/lib"),
	/* several languages */
	GRANT("~/.asdf"),
	GRANT("~/.asdfrc"),
	GRANT("~/.tool-versions"),
	GRANT("~/.local/share/mise"),
	GRANT("~/.proto"),
	GRANT("~/.pixi"),
	GRANT("~/.nix-profile"),
	GRANT("~/.local/state/nix/profiles"),
	GRANT("~/.linuxbrew"),
	GRANT("/home/linuxbrew/.linuxbrew"),
	/* JavaScript */
	GRANT("~/.nvm"),
	GRANT("~/.volta"),
	GRANT("~/.fnm"),
	GRANT("~/.local/share/fnm"),
	GRANT("~/.local/state/fnm_multishells"),
	GRANT("~/.nodenv"),
	GRANT("~/.npm-global"),
	GRANT("~/.npm-packages"),
	GRANT("~/.local/share/pnpm"),
	GRANT("~/.yarn/bin"),
	GRANT("~/.config/yarn/global"),
	GRANT("~/.bun"),
	GRANT("~/.deno"),
	/* Python */
	GRANT("~/.pyenv"),
	GRANT("~/.local/share/uv"),
	MASK("~/.local/share/uv/credentials"),
	GRANT("~/.local/share/pipx"),
	GRANT("~/.local/pipx"),
	GRANT("~/.local/share/pypoetry"),
	GRANT("~/.local/share/hatch"),
	GRANT("~/.local/share/virtualenvs"),
	GRANT("~/.virtualenvs"),
	GRANT("~/.rye"),
	GRANT("~/.conda/envs"),
	GRANT("~/miniconda3"),
	GRANT("~/anaconda3"),
	GRANT("~/miniforge3"),
	GRANT("~/mambaforge"),
	GRANT("~/micromamba"),
	MASK_IF_TOKEN("~/*/.condarc"),
	/* Rust, Go, C */
	GRANT("~/.rustup"),
	GRANT("~/.cargo/bin"),
	GRANT("~/.cargo/env"),
	GRANT("~/.cargo/config.toml"),
	GRANT("~/.cargo/config"),
	MASK_IF_TOKEN("~/.cargo/config.toml"),
	MASK_IF_TOKEN("~/.cargo/config"),
	GRANT("~/go/bin"),
	GRANT("~/sdk"),
	GRANT("~/.goenv"),
	GRANT("~/.swiftly"),
	GRANT("~/.elan"),
	/* Ruby, PHP, Java, .NET, functional ones */
	GRANT("~/.rbenv"),
	GRANT("~/.rvm"),
	GRANT("~/.gem/ruby"),
	GRANT("~/.local/share/gem"),
	GRANT("~/.phpenv"),
	GRANT("~/.composer/vendor"),
	GRANT("~/.config/composer/vendor"),
	GRANT("~/.sdkman"),
	GRANT("~/.jenv"),
	GRANT("~/.jdks"),
	GRANT("~/.dotnet"),
	GRANT("~/.ghcup"),
	GRANT("~/.cabal/bin"),
	GRANT("~/.stack/programs"),
	GRANT("~/.opam"),
	GRANT("~/.juliaup"),
	/* agents that install themselves: ~/.local/bin only links there */
	GRANT("~/.local/share/claude/versions"),
	GRANT("~/.claude/local"),
	GRANT("~/.opencode/bin"),
	GRANT("~/.local/share/cursor-agent"),
};
const size_t n_toolchain_rules = ARRAY_SIZE(toolchain_rules);

/* Of ~/.cache only what tools of the trade keep there: browsers, mail readers and key agents use it, too. */
const struct path_rule cache_rules[] = {
	CACHE("~/.npm"),
	CACHE("~/.node-gyp"),
	CACHE("~/.yarn/cache"),
	CACHE("~/.yarn/berry"),
	CACHE("~/.pnpm-store"),
	CACHE("~/.local/share/pnpm/store"),
	CACHE("~/.bun/install/cache"),
	CACHE("~/.cargo/registry"),
	CACHE("~/.cargo/git"),
	CACHE("~/go/pkg"),
	CACHE("~/.m2/repository"),
	CACHE("~/.m2/wrapper"),
	CACHE("~/.gradle/caches"),
	CACHE("~/.gradle/wrapper"),
	CACHE("~/.gradle/native"),
	CACHE("~/.ivy2/cache"),
	CACHE("~/.sbt/boot"),
	CACHE("~/.nuget/packages"),
	CACHE("~/.pub-cache"),
	MASK("~/.pub-cache/credentials.json"),
	CACHE("~/.hex/packages"),
	CACHE("~/.mix/archives"),
	CACHE("~/.cabal/packages"),
	CACHE("~/.stack/snapshots"),
	CACHE("~/.stack/pantry"),
	CACHE("~/.julia/packages"),
	CACHE("~/.julia/artifacts"),
	CACHE("~/.julia/compiled"),
	CACHE("~/.conda/pkgs"),
	CACHE("~/.composer/cache"),
	CACHE("~/.bundle/cache"),
	CACHE("~/.ccache"),
	CACHE("~/.terraform.d/plugin-cache"),
	CACHE("~/.cache/bazel"),
	CACHE("~/.cache/bazelisk"),
	CACHE("~/.cache/black"),
	CACHE("~/.cache/ccache"),
	CACHE("~/.cache/clangd"),
	CACHE("~/.cache/composer"),
	CACHE("~/.cache/coursier"),
	CACHE("~/.cache/Cypress"),
	CACHE("~/.cache/deno"),
	CACHE("~/.cache/electron"),
	CACHE("~/.cache/electron-builder"),
	CACHE("~/.cache/fontconfig"),
	CACHE("~/.cache/go-build"),
	CACHE("~/.cache/golangci-lint"),
	CACHE("~/.cache/gopls"),
	CACHE("~/.cache/huggingface/hub"),
	CACHE("~/.cache/matplotlib"),
	CACHE("~/.cache/mise"),
	CACHE("~/.cache/ms-playwright"),
	CACHE("~/.cache/node"),
	CACHE("~/.cache/node-gyp"),
	CACHE("~/.cache/pdm"),
	CACHE("~/.cache/pip"),
	CACHE("~/.cache/pip-tools"),
	CACHE("~/.cache/pipenv"),
	CACHE("~/.cache/pnpm"),
	CACHE("~/.cache/pre-commit"),
	CACHE("~/.cache/prisma"),
	CACHE("~/.cache/puppeteer"),
	CACHE("~/.cache/pypoetry"),
	CACHE("~/.cache/rattler"),
	CACHE("~/.cache/rebar3"),
	CACHE("~/.cache/sccache"),
	CACHE("~/.cache/selenium"),
	CACHE("~/.cache/torch"),
	CACHE("~/.cache/turbo"),
	CACHE("~/.cache/typescript"),
	CACHE("~/.cache/uv"),
	CACHE("~/.cache/virtualenv"),
	CACHE("~/.cache/yarn"),
	CACHE("~/.cache/zig"),
};
const size_t n_cache_rules = ARRAY_SIZE(cache_rules);
