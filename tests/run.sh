# shellcheck shell=bash
# `./setup test`: sourced by setup. Every stage must pass; the last line is the summary of the whole-system tests.
# Stages can be named to run only those: ./setup test unit system
all_stages="unit clang asan-unit style tidy cppcheck asan-system system"
# The late guard in a virtual machine: minutes without KVM, and a kernel from the distribution. Only where it is named.
# The tools of tests/system/tools_heavy.py: a gigabyte of packages. Also only where it is named.
# And hours in little, for the descriptors and the memory that may come to stay: ISOD_SOAK_SECONDS, half an hour by itself.
named_stages="vm tools soak"
packages_vm="qemu-system-x86 cpio kmod xz-utils"
packages_tools="cargo golang-go gh gradle maven default-jdk-headless"

wanted() { [ ${#stages[@]} -eq 0 ] || [[ " ${stages[*]} " == *" $1 "* ]]; }

stage() { # NAME CMD...
	local name=$1 log=$build/test-$1.log began=$SECONDS
	shift
	wanted "$name" || return 0
	if "$@" >"$log" 2>&1; then
		printf '%-11s ok      %4d s\n' "$name" $((SECONDS - began))
	else
		tail -n 100 "$log"
		printf '%-11s FAILED  %4d s\n' "$name" $((SECONDS - began))
		failed+=("$name")
	fi
}

# A build folder of its own for each compiler and sanitizer.
configure_variant() { # DIR CC MESON_OPTIONS...
	local dir=$1 cc=$2
	shift 2
	if [ -e "$dir/build.ninja" ]; then
		meson configure "$dir" -Dtests=true # `./setup run` makes its folder without
	else
		CC=$cc meson setup "$dir" "$top" "$@"
	fi
}

build_variant() { # as above; all targets, tests included
	configure_variant "$@" && ninja -C "$1"
}

configure_gcc() { configure_variant "$build" gcc --prefix=/usr/local -Dsysconfdir=/etc; }
build_gcc() { configure_gcc && ninja -C "$build"; }
build_asan() { build_variant "$build-asan" gcc -Db_sanitize=address,undefined -Db_lundef=false; }

# Nothing may be left out: neither a program (meson counts those) nor a test of one (cmocka says so in its output).
run_meson_test() { # DIR ARGS...
	local dir=$1 out
	shift
	out=$(meson test -C "$dir" --no-rebuild --print-errorlogs "$@" 2>&1) || { printf '%s\n' "$out"; return 1; }
	printf '%s\n' "$out"
	grep -qE '^Ok: +[1-9]' <<<"$out" || { echo "no test ran"; return 1; }
	! grep -E '^Skipped: +[1-9]' <<<"$out" || return 1
	! grep -F '[  SKIPPED ]' "$dir/meson-logs/testlog.txt"
}

test_unit() { build_gcc && run_meson_test "$build"; }

# Leaks count as well, without being named here: isod-launch and isod-session turn that one check off for themselves, with
# the reason in their main.c, and this variable would overrule them.
sanitized() {
	ASAN_OPTIONS=abort_on_error=1 UBSAN_OPTIONS=halt_on_error=1:abort_on_error=1:print_stacktrace=1 "$@"
}

test_asan_unit() { build_asan && sanitized run_meson_test "$build-asan"; }

test_clang() { build_variant "$build-clang" clang; }

# clang's own compile commands: it does not know all flags of gcc. One file a process: with several, the analyser takes
# the va_list of one for that of another. The checks and the reason for each exclusion are in .clang-tidy.
test_tidy() {
	build_variant "$build-clang" clang || return # headers that are generated
	git -C "$top" ls-files '*.c' ':!tests' ':!bench' ':!*.bpf.c' | sed "s|^|$top/|" |
		xargs -P "$(nproc)" -n 1 clang-tidy -p "$build-clang" --quiet --warnings-as-errors='*'
}

# Of the system's headers cppcheck reads but one: the lists' macros, which its own tables do not know.
test_cppcheck() {
	local queue
	configure_gcc || return # isod_config.h
	mkdir -p "$build/cppcheck/sys"
	queue=$(gcc -E -x c - <<<'#include <sys/queue.h>' | sed -n 's/^# [0-9]* "\(.*sys\/queue.h\)".*/\1/p' | head -n 1)
	ln -sfn "$queue" "$build/cppcheck/sys/queue.h"
	cp "$build/isod_config.h" "$build/cppcheck/" # of what the build makes only this: it takes minutes over a program as bytes
	# shellcheck disable=SC2046
	cppcheck --quiet --std=c11 --enable=warning,performance,portability --inline-suppr --error-exitcode=1 -j "$(nproc)" \
		--suppressions-list="$top/tests/style/cppcheck.suppressions" -I "$top" -I "$build/cppcheck" -D_GNU_SOURCE -D__x86_64__ \
		-D__linux__ $(git -C "$top" ls-files '*.c' ':!tests' ':!bench' ':!*.bpf.c' | sed "s|^|$top/|")
}

test_style() { build_gcc && /usr/bin/python3 "$top/tests/style/check.py" "$top" "$build"; }

# What the tests need from the registry is fetched before they enter a network namespace of their own.
fetch_npm() { # NAME: what tests/system/NAME.txt lists
	local cache=/var/cache/isod-test/$1 list=$top/tests/system/$1.txt
	cmp -s "$list" "$cache/fetched" && return
	# shellcheck disable=SC2046
	mkdir -p "$cache" && cd "$cache" && npm install --no-audit --no-fund --ignore-scripts $(cat "$list") && cp "$list" fetched
}

pytest_system() { # BUILD [TESTS]
	local list
	for list in agents tools; do
		(fetch_npm "$list") >"$build/test-fetch.log" 2>&1 || cat "$build/test-fetch.log"
	done
	ISOD_BUILD=$1 "$top/tests/system/run" -ra "$top/tests/system${2:+/$2}"
}

test_asan_system() { build_asan && sanitized pytest_system "$build-asan"; }

test_tools() { build_gcc && pytest_system "$build" tools_heavy.py; }

test_soak() { build_gcc && ISOD_BUILD=$build "$top/tests/system/run" -s --timeout=0 "$top/tests/system/soak.py"; }

test_vm() { build_gcc && "$top/tests/vm/run.sh" "$build"; }

# Not in a log: who waits for it sees it run, and its summary is the last line.
test_system() {
	[ ${#failed[@]} -eq 0 ] || printf 'failed before the system tests: %s\n' "${failed[*]}"
	build_gcc >"$build/test-system.log" 2>&1 || { tail -n 100 "$build/test-system.log"; return 1; }
	printf '%-11s         %4d s so far\n' system "$SECONDS"
	pytest_system "$build"
}

cmd_test() {
	local s
	stages=("$@")
	failed=()
	for s; do
		[[ " $all_stages $named_stages " == *" $s "* ]] || die "there is no stage \"$s\": $all_stages; by name alone: $named_stages"
	done
	# shellcheck disable=SC2046
	install_packages build $(packages_build "$(manager)")
	# shellcheck disable=SC2086
	install_packages test $packages_test
	git config --global --get-all safe.directory | grep -qxF "$top" || export GIT_CONFIG_COUNT=1 \
		GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0="$top"
	make_users
	mkdir -p "$build"
	SECONDS=0
	for s in $all_stages; do
		[ "$s" = system ] || stage "$s" "test_${s//-/_}"
	done
	if [[ " ${stages[*]} " == *" vm "* ]]; then
		# shellcheck disable=SC2086
		install_packages vm $packages_vm
		stage vm test_vm
	fi
	if [[ " ${stages[*]} " == *" tools "* ]]; then
		# shellcheck disable=SC2086
		install_packages tools $packages_tools
		stage tools test_tools
	fi
	if [[ " ${stages[*]} " == *" soak "* ]]; then
		stage soak test_soak
		grep '"rounds"' "$build/test-soak.log" || true
	fi
	if wanted system; then
		test_system || failed+=(system)
	fi
	[ ${#failed[@]} -eq 0 ] || exit 1
}
