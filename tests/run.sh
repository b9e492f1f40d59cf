# shellcheck shell=bash
# `./setup test`: sourced by setup. Every stage must pass; the last line is the summary of the whole-system tests.
# Stages can be named to run only those: ./setup test unit system

stage() { # NAME CMD...
	local name=$1 log=$build/test-$1.log began=$SECONDS
	shift
	if [ ${#stages[@]} -gt 0 ] && [[ " ${stages[*]} " != *" $name "* ]]; then
		return
	fi
	if "$@" >"$log" 2>&1; then
		printf '%-10s ok      %4d s\n' "$name" $((SECONDS - began))
	else
		tail -n 60 "$log"
		printf '%-10s FAILED  %4d s\n' "$name" $((SECONDS - began))
		failed+=("$name")
	fi
}

# A build folder of its own for each compiler and sanitizer: all targets, tests included.
build_variant() { # DIR CC MESON_OPTIONS...
	local dir=$1 cc=$2
	shift 2
	[ -e "$dir/build.ninja" ] || CC=$cc meson setup "$dir" "$top" "$@" || return
	ninja -C "$dir"
}

test_asan_unit() {
	build_variant "$top/build-asan" gcc -Db_sanitize=address,undefined -Db_lundef=false &&
		ASAN_OPTIONS=detect_leaks=1:abort_on_error=1 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
			meson test -C "$top/build-asan" --no-rebuild --print-errorlogs --timeout-multiplier 4
}

test_unit() {
	build_variant "$build" gcc && meson test -C "$build" --no-rebuild --print-errorlogs
}

test_clang() { build_variant "$top/build-clang" clang; }

test_tidy() {
	# One process a core; the checks and the reason for each exclusion are in .clang-tidy.
	git -C "$top" ls-files '*.c' ':!tests' | sed "s|^|$top/|" |
		xargs -P "$(nproc)" -n 8 clang-tidy -p "$top/build-clang" --quiet --warnings-as-errors='*'
}

test_cppcheck() {
	cppcheck --quiet --std=c11 --enable=warning,performance,portability --inline-suppr --error-exitcode=1 -j "$(nproc)" \
		--suppressions-list="$top/tests/style/cppcheck.suppressions" -I "$top" -I "$build" -D_GNU_SOURCE -D__x86_64__ -D__linux__ \
		$(git -C "$top" ls-files '*.c' ':!tests' | sed "s|^|$top/|")
}

test_style() { /usr/bin/python3 "$top/tests/style/check.py" "$top" "$build"; }

# What the tests need from the registry is fetched before they enter a network namespace of their own.
fetch_agents() {
	local cache=/var/cache/isod-test/agents
	[ -x "$cache/node_modules/@anthropic-ai/claude-code-linux-x64/claude" ] && return
	mkdir -p "$cache" && cd "$cache" && npm install --no-audit --no-fund --ignore-scripts "$(cat "$top/tests/system/agents.txt")"
}

pytest_system() { # BUILD ARGS...
	local dir=$1
	shift
	(fetch_agents) >"$build/test-agents.log" 2>&1 || { cat "$build/test-agents.log"; return 1; }
	ISOD_BUILD=$dir "$top/tests/system/run" -ra "$top/tests/system" "$@"
}

test_asan_system() { pytest_system "$top/build-asan"; }

cmd_test() {
	stages=("$@")
	failed=()
	# shellcheck disable=SC2046,SC2086
	install_packages build $(packages_build "$(manager)")
	# shellcheck disable=SC2086
	install_packages test $packages_test
	git config --global --get-all safe.directory | grep -qxF "$top" || export GIT_CONFIG_COUNT=1 \
		GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0="$top"
	[ -e "$build/build.ninja" ] || quietly meson setup "$build" "$top" --prefix=/usr/local -Dsysconfdir=/etc
	make_users
	stage unit test_unit
	stage clang test_clang
	stage asan-unit test_asan_unit
	stage style test_style
	stage tidy test_tidy
	stage cppcheck test_cppcheck
	stage asan-system test_asan_system
	if [ ${#stages[@]} -eq 0 ] || [[ " ${stages[*]} " == *" system "* ]]; then
		[ ${#failed[@]} -eq 0 ] || printf 'failed before the system tests: %s\n' "${failed[*]}"
		pytest_system "$build" || failed+=(system)
	fi
	[ ${#failed[@]} -eq 0 ] || exit 1
}
