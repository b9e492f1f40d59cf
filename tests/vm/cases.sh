#!/bin/bash
# In the test machine: isod for real, a session of an ordinary user, and what it tries.
say() { printf 'vm: %s\n' "$*"; }
bad=0
# NAME WANTED GOT
judge() {
	[ "$2" = "$3" ] && return
	bad=$((bad + 1))
	printf 'case: %s: wanted %s, got %s\n' "$1" "$2" "$3"
}

say "kernel $(uname -r), modules $(cat /sys/kernel/security/lsm)"
as_dev() { setpriv --reuid 1000 --regid 1000 --clear-groups env HOME=/home/dev USER=dev bash -c "cd /home/dev/p && $1"; }

start() { # LIBEXEC
	mkfifo /run/ready
	# A group of its own: with others in it, its controllers could not be handed down.
	mkdir -p /sys/fs/cgroup/daemon
	echo '+pids +memory +cpu' >/sys/fs/cgroup/cgroup.subtree_control
	(
		echo $BASHPID >/sys/fs/cgroup/daemon/cgroup.procs
		exec "$1/isod" --foreground --run-dir /run/isod --state-dir /var/lib/isod --libexec "$1" --ready-fd 9 9>/run/ready \
			>/tmp/isod.log 2>&1
	) &
	isod=$!
	read -r -t 120 -n 1 _ </run/ready
	rm /run/ready
	sed 's/^/vm: /' /tmp/isod.log
}

# What the program does once the human has made files: WAY PATH OTHER, one a line; prints WAY PATH and how it ended.
cat >/tmp/tries <<'END'
read .env
read a/b/key.pem
read-write .env.local
reopen .env
read lnk
move .env q1
link .env q2
exchange .env plain
read .env.example
read plain
read a/.env/lib
create .mcp.json
folder .mcp.json
move plain .envrc
link plain .envrc
symlink .mcp.json plain
fifo .envrc
node .envrc
nameless .envrc
exchange plain .mcp2
create .vscode
folder .vscode
move d .vscode
symlink .vscode d
create a/b/.envrc
move .git .git2
move .git/hooks .git/h2
create .git/hooks/pre-commit
move .git/x .git/hooks/pre-commit
create .git/config.worktree
cut .gitmodules
open-cutting .gitmodules
delete .gitmodules
read .gitmodules
create new.pem
create free
move plain plain2
folder d/e
END
wanted='read .env 13
read a/b/key.pem 13
read-write .env.local 13
reopen .env 13
read lnk 13
move .env 13
link .env 13
exchange .env 13
read .env.example 0
read plain 0
read a/.env/lib 0
create .mcp.json 13
folder .mcp.json 13
move plain 13
link plain 13
symlink .mcp.json 13
fifo .envrc 13
node .envrc 13
nameless .envrc 13
exchange plain 0
create .vscode 13
folder .vscode 13
move d 13
symlink .vscode 13
create a/b/.envrc 13
move .git 13
move .git/hooks 13
create .git/hooks/pre-commit 13
move .git/x 13
create .git/config.worktree 13
cut .gitmodules 13
open-cutting .gitmodules 13
delete .gitmodules 13
read .gitmodules 0
create new.pem 0
create free 0
move plain 0
folder d/e 0'

prepare() {
	rm -rf /home/dev/p
	mkdir /home/dev/p
	chown 1000:1000 /home/dev/p
	cp /opt/isod/roundabout /tmp/tries /home/dev/p/
	as_dev 'export GIT_CONFIG_NOSYSTEM=1; git init -q . && git config user.email a@b.c && git config user.name n && mkdir -p a/b d && echo 1 >plain &&
		echo 2 >.mcp2 && echo x >.git/x'
}
# The human's work, while the session runs.
human='echo s >.env; echo s >.env.local; echo e >.env.example; echo k >a/b/key.pem; mkdir a/.env; echo l >a/.env/lib; ln -s .env lnk
	echo m >.gitmodules; touch go'

attack() { # prints as .wanted
	prepare
	as_dev "(until [ -e waiting ]; do [ -e over ] && exit; sleep 0.2; done; $human) >/dev/null 2>&1 & /opt/isod/isoctl run -- bash -c 'touch waiting
		until [ -e go ]; do sleep 0.1; done
		while read -r way path other; do ./roundabout \$way \$path \$other 2>>errors; echo \"\$way \$path \$?\"; done <tries'; touch over; cat errors >&2" \
		2>/tmp/attack.err
}

compare() { # GOT: line by line with .wanted
	local w g
	while read -r -u 3 w && read -r -u 4 g; do judge "${w% *}" "${w##* }" "${g##* }"; done 3<<<"$wanted" 4<<<"$1"
	judge "number of tries" "$(wc -l <<<"$wanted")" "$(wc -l <<<"$1")"
}

work() { # TEXT SCRIPT: must succeed
	as_dev "/opt/isod/isoctl run -- bash -c '$2'" >/tmp/work.log 2>&1
	local r=$?
	judge "$1" 0 $r
	[ $r = 0 ] || sed 's/^/vm:   /' /tmp/work.log
}

start /opt/isod
grep -q 'refused by the kernel, as was seen' /tmp/isod.log || { bad=$((bad + 1)); say "there is no guard"; }
got=$(attack)
compare "$got"
[ $bad = 0 ] || sed 's/^/vm:   /' /tmp/attack.err

prepare
as_dev 'git add plain && git commit -qm zero'
work 'git: commit, branch, rebase, stash' 'set -e; echo 1 >f; git add f; git commit -qm one; git checkout -qb side; echo 2 >f; git commit -qam two
	git checkout -q -; echo 3 >g; git add g; git commit -qm three; git checkout -q side; git rebase -q -; echo 4 >f; git stash -q; git stash pop -q'
work 'git: worktree' 'set -e; git worktree add -q w; cd w; echo 5 >h; git add h; git commit -qm five'
work 'an archive with a certificate' 'set -e; mkdir x; echo k >x/n.txt; tar -C x -cf x.tar --transform s/n.txt/n.pem/ n.txt; mkdir y; tar -C y -xf x.tar; test -e y/n.pem'
work 'saving like an editor' 'set -e; echo a >s; echo b >.s.swp; mv .s.swp s; sed -i s/b/c/ s; cp s s~; rm s~; ln s s2; ln -s s s3'

# Killed, isod takes its sessions with it; until then they are guarded by what is pinned.
pins=$(ls /sys/fs/bpf/isod-*/ | wc -l)
judge 'pinned programs' 10 "$pins"
kill -9 $isod
wait $isod 2>/dev/null
judge 'pinned programs after kill -9' 10 "$(ls /sys/fs/bpf/isod-*/ | wc -l)"
start /opt/isod
judge 'pinned programs of the next isod' 10 "$(ls /sys/fs/bpf/isod-*/ | wc -l)"
kill $isod
wait $isod
judge 'pinned programs at the end' 0 "$(ls /sys/fs/bpf | grep -c isod)"

# Without the guard the same must succeed, or the attacks prove nothing.
mkdir /opt/without
cp /opt/isod/isod* /opt/without/
rm /opt/without/isod-late
start /opt/without
got=$(attack)
for way in 'create .mcp.json' 'move plain' 'create .vscode' 'create a/b/.envrc' 'move .env'; do
	judge "without the guard: $way" 0 "$(grep -F -m 1 "$way " <<<"$got" | sed 's/.* //')"
done
kill $isod
wait $isod
[ $bad = 0 ] && say 'all as wanted' || say "$bad not as wanted"
