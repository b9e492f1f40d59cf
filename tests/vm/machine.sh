# For what runs in the test machine: isod for real, an ordinary user, and what is wanted.
say() { printf 'vm: %s\n' "$*"; }
bad=0
# NAME WANTED GOT
judge() {
	[ "$2" = "$3" ] && return
	bad=$((bad + 1))
	printf 'case: %s: wanted %s, got %s\n' "$1" "$2" "$3"
}

say "kernel $(uname -r), modules $(cat /sys/kernel/security/lsm)"
as_dev() { setpriv --reuid 1000 --regid 1000 --clear-groups env HOME=/home/dev USER=dev bash -c "cd /home/dev/p || exit
$1"; }

# A group with a shell in it, as a login's session is, or with isod alone. The root hands nothing down by itself.
groups=/sys/fs/cgroup
start() { # LIBEXEC [alone]
	[ -e /run/ready ] || mkfifo /run/ready
	mkdir -p $groups/login
	if [ -z "${shell:-}" ]; then
		sleep 100000 &
		shell=$!
	fi
	[ "${2:-}" = alone ] || echo $shell >$groups/login/cgroup.procs
	(
		echo $BASHPID >$groups/login/cgroup.procs
		exec "$1/isod" --foreground --run-dir /run/isod --state-dir /var/lib/isod --libexec "$1" --ready-fd 9 9>/run/ready \
			>/tmp/isod.log 2>&1
	) &
	isod=$!
	read -r -t 120 -n 1 _ </run/ready
	sed 's/^/vm: /' /tmp/isod.log
}

stop() {
	kill $isod
	wait $isod
}

finish() { [ $bad = 0 ] && say 'all as wanted' || say "$bad not as wanted"; }
