#!/bin/bash
# In the test machine: isod for real, a session of an ordinary user, and what it tries.
. /opt/isod/machine.sh

# What the limits of the one session are, and that one of them is felt inside.
limits() { # NAME WHERE
	local leaf
	rm -f /home/dev/p/{go,waiting,over}
	as_dev "timeout 120 /opt/isod/isoctl run --memory 256M --pids 20 --cpus 1.5 -- bash -c 'touch waiting
		until [ -e go ]; do sleep 0.1; done
		n=0; for i in {1..30}; do sleep 60 & n=\$((n + 1)); done; echo started \$n' >got 2>&1; echo \$? >over" &
	until [ -e /home/dev/p/waiting ] || [ -e /home/dev/p/over ]; do sleep 0.2; done
	leaf=$(echo $2/isod-*-????????????)
	judge "$1: memory" $((256 << 20)) "$(cat $leaf/memory.max)"
	judge "$1: pids" 20 "$(cat $leaf/pids.max)"
	judge "$1: processor" '150000 100000' "$(cat $leaf/cpu.max)"
	touch /home/dev/p/go
	wait $!
	judge "$1: more processes than may be" 1 "$(grep -c 'fork: .*unavailable' /home/dev/p/got | sed 's/[1-9][0-9]*/1/')"
}

# What the program does once the human has made files: WAY PATH OTHER, one a line; prints WAY PATH and how it ended.
cat >/tmp/tries <<'END'
read .env
read a/b/id_rsa
read a/b/key.pem
read a/b/public.pem
read-write .env.local
reopen .env
read lnk
move .env q1
link .env q2
exchange .env plain
read .env.example
read plain
read a/.env/lib
move a/b/key.pem a/b/k1
read a/b/k1
link a/b/k1 a/b/k2
read a/b/k2
move a/b/public.pem a/b/k3
read a/b/k3
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
create .git/commondir
move plain .git/config
cut .gitpod.yml
open-cutting .gitpod.yml
delete .gitpod.yml
read .gitpod.yml
read node_modules/m/test.pem
create node_modules/m/.envrc
create .gitmodules
create new.pem
create free
move plain plain2
folder d/e
ring x
deep .envrc
deep plain
END
# 13: EACCES, the guard; 3: what is there at the start is a mount of its own, pid 1 looks into *.pem and answers EPERM,
# and io_uring is no call at all.
wanted='read .env 13
read a/b/id_rsa 13
read a/b/key.pem 3
read a/b/public.pem 0
read-write .env.local 13
reopen .env 13
read lnk 13
move .env 13
link .env 13
exchange .env 13
read .env.example 0
read plain 0
read a/.env/lib 0
move a/b/key.pem 0
read a/b/k1 3
link a/b/k1 0
read a/b/k2 3
move a/b/public.pem 0
read a/b/k3 0
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
move .git/hooks 3
create .git/hooks/pre-commit 3
move .git/x 3
create .git/config.worktree 13
create .git/commondir 13
move plain 3
cut .gitpod.yml 13
open-cutting .gitpod.yml 13
delete .gitpod.yml 13
read .gitpod.yml 0
read node_modules/m/test.pem 0
create node_modules/m/.envrc 0
create .gitmodules 0
create new.pem 0
create free 0
move plain 0
folder d/e 0
ring x 3
deep .envrc 13
deep plain 0'

prepare() {
	rm -rf /home/dev/p
	mkdir /home/dev/p
	chown 1000:1000 /home/dev/p
	cp /opt/isod/roundabout /tmp/tries /home/dev/p/
	as_dev 'export GIT_CONFIG_NOSYSTEM=1; git init -q . && git config user.email a@b.c && git config user.name n && mkdir -p a/b d && echo 1 >plain &&
		echo 2 >.mcp2 && echo x >.git/x'
}
# The human's work, while the session runs.
human='echo s >.env; echo s >.env.local; echo e >.env.example; echo k >a/b/key.pem; echo k >a/b/id_rsa; mkdir a/.env; echo l >a/.env/lib; ln -s .env lnk
	printf "%s\n" "-----BEGIN PUBLIC KEY-----" MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE= "-----END PUBLIC KEY-----" >a/b/public.pem
	echo m >.gitpod.yml; mkdir -p node_modules/m; echo k >node_modules/m/test.pem; touch go'

attack() { # prints as .wanted
	prepare
	as_dev "(until [ -e waiting ]; do [ -e over ] && exit; sleep 0.2; done; $human) >/dev/null 2>&1 & /opt/isod/isoctl run -- bash -c 'touch waiting
		until [ -e go ]; do sleep 0.1; done
		while read -r way path other; do ./roundabout \$way \$path \$other 2>>errors; echo \"\$way \$path \$?\"; done <tries'; touch over; cat errors >&2" \
		2>/tmp/attack.err
}

compare() { # GOT WANTED: line by line
	local w g
	while read -r -u 3 w && read -r -u 4 g; do judge "${w% *}" "${w##* }" "${g##* }"; done 3<<<"$2" 4<<<"$1"
	judge "number of tries" "$(wc -l <<<"$2")" "$(wc -l <<<"$1")"
}

work() { # TEXT SCRIPT: must succeed
	as_dev "/opt/isod/isoctl run -- bash -c '$2'" >/tmp/work.log 2>&1
	local r=$?
	judge "$1" 0 $r
	[ $r = 0 ] || sed 's/^/vm:   /' /tmp/work.log
}

# ---- control groups ----
/opt/isod/test_monitor_cgroup >/tmp/test_cgroup.log 2>&1
judge 'unit tests of control groups' 0 $?
prepare
start /opt/isod
limits 'in a login' "$groups/isod-*"
stop
judge 'no group of ours is left at the root' 0 "$(ls $groups | grep -c '^isod-')"
kill $shell
wait $shell 2>/dev/null
unset shell
echo '+pids +memory +cpu' >$groups/cgroup.subtree_control
start /opt/isod alone
limits 'alone in its group' "$groups/login"
judge 'nothing of ours at the root' 0 "$(ls $groups | grep -c '^isod-')"
stop
judge 'no group of ours is left below' 0 "$(ls $groups/login | grep -c '^isod-')"
say 'control groups tried'

# ---- attacks ----
start /opt/isod
grep -q 'refused by the kernel, as was seen' /tmp/isod.log || { bad=$((bad + 1)); say "there is no guard"; }
got=$(attack)
compare "$got" "$wanted"
[ $bad = 0 ] || sed 's/^/vm:   /' /tmp/attack.err
# What was refused is in the log of the session, whose it was, with the rule and the program.
log=/var/lib/isod/audit
judge 'log: a secret' yes "$(grep -rh '"secret.refused"' $log | grep -F '/.env"' | grep -F '"rule":"dotenv"' | grep -qF '"program":"roundabout"' && echo yes)"
judge 'log: a plant' yes "$(grep -rh '"plant.refused"' $log | grep -F '/.mcp.json"' | grep -qF '"by":"session"' && echo yes)"
say "$(grep -rhc '\.refused"' $log | head -n 1) refusals in the log"
say 'attacks tried'

# ---- work ----
prepare
as_dev 'git add plain && git commit -qm zero'
work 'git: commit, branch, rebase, stash' 'set -e; echo 1 >f; git add f; git commit -qm one; git checkout -qb side; echo 2 >f; git commit -qam two
	git checkout -q -; echo 3 >g; git add g; git commit -qm three; git checkout -q side; git rebase -q -; echo 4 >f; git stash -q; git stash pop -q'
work 'git: worktree' 'set -e; git worktree add -q w; cd w; echo 5 >h; git add h; git commit -qm five'
work 'git: init, clone, a submodule in a clone' 'set -e; git init -q n; cd n; git config user.email a@b.c; git config user.name n; git config core.x y
	echo 1 >f; echo "[submodule \"m\"]" >.gitmodules; git add .; git commit -qm six; cd ..; git clone -q n n2; cd n2; git config core.x y
	git config user.email a@b.c; git config user.name n; git -c protocol.file.allow=always submodule add -q ../n s; git commit -qm seven; cd ..; mv n n3; rm -rf n2 n3'
work 'git: remove a worktree' 'set -e; git worktree add -q w9; git worktree remove w9'
# The project's own configuration is locked: the files come, the entry does not, git says so, and the human makes up for it.
work 'git: a submodule of the project itself' 'set -e; git clone -q . /tmp/q; git -c protocol.file.allow=always submodule add /tmp/q q2 >said 2>&1 || true
	grep -q "could not write config file .git/config" said; rm said; test -e q2/plain; git config -f .gitmodules submodule.q2.path
	test -z "$(git config submodule.q2.url)"; git commit -qm eight'
as_dev 'git submodule init -q && git config submodule.q2.url >/dev/null'
judge 'git: the submodule is entered outside' 0 $?
work 'an installation of packages' 'set -e; mkdir -p node_modules/.x-1/test z; echo k >z/key.txt; tar -C z -cf x.tar --transform s/key.txt/key.pem/ key.txt
	tar -C node_modules/.x-1/test -xf x.tar; cat node_modules/.x-1/test/key.pem; mv node_modules/.x-1 node_modules/x; mkdir node_modules/x/.vscode; echo >node_modules/x/.envrc
	rm -rf node_modules'
work 'an archive with a certificate' 'set -e; mkdir x; echo k >x/n.txt; tar -C x -cf x.tar --transform s/n.txt/n.pem/ n.txt; mkdir y; tar -C y -xf x.tar; test -e y/n.pem'
work 'saving like an editor' 'set -e; echo a >s; echo b >.s.swp; mv .s.swp s; sed -i s/b/c/ s; cp s s~; rm s~; ln s s2; ln -s s s3'

say 'work tried'

# ---- sandboxes inside ----
prepare
nested() { # SCRIPT: prints the exit code of a roundabout way in namespaces made inside
	rm -f /home/dev/p/{go,waiting,over,.env,a/.env}
	as_dev "(until [ -e waiting ] || [ -e over ]; do sleep 0.2; done; echo s >.env; echo s >a/.env; touch go) & /opt/isod/isoctl run --nesting -- bash -c 'touch waiting
		until [ -e go ]; do sleep 0.1; done; $1; echo ended \$?' 2>/tmp/nested.err; touch over" | sed -n 's/^ended //p'
}
judge 'user namespace' 13 "$(nested 'unshare -Urm ./roundabout read .env')"
judge 'pid namespace' 13 "$(nested 'unshare -Urpf ./roundabout read .env')"
in_mounts='unshare -Urm bash -c "mount -t tmpfs t /tmp; mkdir /tmp/u /tmp/w /tmp/m; '
overlay='mount -t overlay -o lowerdir=/home/dev/p/a,upperdir=/tmp/u,workdir=/tmp/w o /tmp/m && '
cp -p /home/dev/p/plain /home/dev/p/a/
judge 'an overlay made inside: read' 13 "$(nested "$in_mounts$overlay ./roundabout read /tmp/m/.env\"")"
judge 'an overlay made inside: move' 13 "$(nested "$in_mounts$overlay ./roundabout move /tmp/m/.env /tmp/m/q\"")"
judge 'an overlay made inside: an ordinary file' 0 "$(nested "$in_mounts$overlay ./roundabout read /tmp/m/plain\"")"
judge 'an overlay made inside, that writes to the project' 13 "$(nested "$in_mounts mkdir -p u w && \
	mount -t overlay -o lowerdir=/tmp/u,upperdir=u,workdir=w o /tmp/m && ./roundabout create /tmp/m/.envrc\"")"
# What is covered or locked below the project is not to be had without its covers.
judge 'an overlay of the project itself' 32 "$(nested "$in_mounts${overlay/p\/a/p} ./roundabout read /tmp/m/.env\"")"
judge 'a bind mount of the project alone' 32 "$(nested "$in_mounts mount --bind /home/dev/p /tmp/m && ./roundabout read /tmp/m/.env\"")"
judge 'a bind mount of the project with its covers' 13 "$(nested "$in_mounts mount --rbind /home/dev/p /tmp/m && ./roundabout read /tmp/m/.env\"")"
judge 'a bind mount of a folder, and a plant' 13 "$(nested "$in_mounts mount --bind a /tmp/m && ./roundabout create /tmp/m/.envrc\"")"
judge 'a bind mount of the secret alone' 13 "$(nested "$in_mounts touch /tmp/x; mount --bind a/.env /tmp/x && ./roundabout read /tmp/x\"")"
say 'namespaces tried'

# ---- a layer over the project ----
prepare
later() { # OPTION WAY [BEFORE]: in a session, after the host has made secrets
	rm -f /home/dev/p/{.env,late.pem,x,over}
	rm -rf /home/dev/told
	mkdir -m 777 /home/dev/told
	as_dev "(until [ -e ../told/waiting ] || [ -e over ]; do sleep 0.2; done; echo s >.env; echo k >late.pem; touch ../told/go) &
		/opt/isod/isoctl run $1 --allow-write ../told -- bash -c 'touch ../told/waiting; until [ -e ../told/go ]; do sleep 0.1; done
		${3:-:}; ./roundabout $2; echo ended \$?' 2>/tmp/later.err; touch over" | sed -n 's/^ended //p'
}
judge 'a layer: read' 13 "$(later --overlay 'read .env')"
judge 'a layer: create' 13 "$(later --overlay 'create .envrc')"
judge 'a layer: an ordinary file' 0 "$(later --overlay 'create free')"
say 'layers tried'

# ---- a policy that requires the guard ----
echo '{ "sandbox": { "filesystem": { "latePlants": "require" } } }' >/home/dev/require.json
echo '{ "sandbox": { "filesystem": { "latePlants": "require", "denyWrite": ["**/x/**/y"] } } }' >/home/dev/no-form.json
required() { # [POLICY]: how a run under it ends, and why it was refused
	as_dev "/opt/isod/isoctl run --policy ../${1:-require}.json -- true" >/tmp/required.log 2>&1
	echo "$?$(sed -n 's/.*requires that protected paths cannot be made inside, but \(.*\)\.$/: \1/p' /tmp/required.log)"
}
no_room="125: the kernel's guard has no room for this session"
no_guard='125: this kernel has no guard that refuses it (BPF LSM)'
judge 'the guard required' 0 "$(required)"
judge 'the guard required, a rule it has no form for' "125: the kernel's guard has no form for one of the rules" "$(required no-form)"
echo '{ "sandbox": { "filesystem": { "lateFiles": "require" } } }' >/home/dev/late.json
judge 'late files required: read a key' 3 "$(later '--policy ../late.json' 'read late.pem')"
judge 'late files required: move a key' 13 "$(later '--policy ../late.json' 'move late.pem x')"
judge 'late files required: link a key' 13 "$(later '--policy ../late.json' 'link late.pem x')"
judge 'late files not required: move a key' 0 "$(later '' 'move late.pem x')"
judge 'the guard required: create' 13 "$(later '--policy ../require.json' 'create .envrc')"
say 'the guard required'

# ---- folders without case: the kernel's guard is not used, pid 1 answers opens (EPERM, 3) ----
caseless_wanted='read .env 3
read .ENV 3
read .eNv 3
reopen .env 3
read .ENV.LOCAL 3
read .ssh/K 3
read .ſſh/k 3
read ID_RSA 13
move .Env x 0
read x 3
read plain 0
create .ENVRC 0'
caseless_wanted=$(echo -e "$caseless_wanted")
caseless() { # FOLDER: what becomes of the tries in it
	cp /opt/isod/roundabout $1/
	sed 's/ [0-9]*$//' <<<"$caseless_wanted" >$1/tries
	as_dev "cd $1 && echo s >Id_Rsa; (until [ -e waiting ] || [ -e over ]; do sleep 0.2; done; echo s >.ENV; echo s >.env.Local; mkdir .SSH
		echo s >.SSH/k; echo p >Plain; touch go) & /opt/isod/isoctl run -- bash -c 'touch waiting; until [ -e go ]; do sleep 0.1; done
		while read -r way path other; do ./roundabout \$way \$path \$other; echo \"\$way \$path \$?\"; done <tries' 2>/tmp/caseless.err; touch over"
}
prepare
mkdir /home/dev/ext4 /home/dev/fat
mount -o loop /opt/isod/casefold /home/dev/ext4 && mkdir /home/dev/ext4/p && chattr +F /home/dev/ext4/p && chown 1000:1000 /home/dev/ext4/p
# With the character set utf8 its names would have case.
mount -t vfat -o loop,uid=1000,iocharset=iso8859-1 /opt/isod/fat /home/dev/fat
for o in ext4/p fat; do
	got=$(caseless /home/dev/$o)
	compare "$got" "$(sed 's/^\([^ ]* [^ ]*\) .* /\1 /' <<<"$caseless_wanted")"
	judge "$o: it is said" yes "$(grep -q "In /home/dev/$o names have no case" /tmp/caseless.err && echo yes)"
done
umount /home/dev/ext4 /home/dev/fat
say 'folders without case tried'

# ---- more sessions than the guard has room for: pid 1 answers opens, as where there is no guard ----
judge 'the map is filled' yes "$([ "$(/opt/isod/fill_sessions)" -ge 255 ] && echo yes)"
judge 'without room: read' 3 "$(later '' 'read .env')"
judge 'without room: a secret under another name' 3 "$(later '' 'read x' 'mv .env x')"
judge 'without room: an ordinary file' 0 "$(later '' 'read plain')"
judge 'without room, the guard required' "$no_room" "$(required)"
/opt/isod/fill_sessions empty >/dev/null
judge 'with room again' 13 "$(later '' 'read .env')"
judge 'with room again, the guard required' 0 "$(required)"
say 'a full map tried'

# ---- what the host moves away from under a session ----
# Where a rule has no form for the kernel, pid 1 answers opens as well, and refuses (EPERM, 3) all that has no path.
out_wanted='read .env 13
reopen .env 13
create .envrc 13
nameless .mcp.json 3
link plain .envrc 13
move plain .envrc 13
move .env q 13
exchange .env plain 13
exchange plain .env 13
symlink .mcp.json plain 13
folder .vscode x 13
fifo .envrc x 13
cut .gitpod.yml x 13
delete .gitpod.yml x 13
read deeper/.env x 13'
sed 's/ [0-9]*$//' <<<"$out_wanted" >/tmp/out-tries
moved() { # OPTION: what becomes of the tries in a folder that the host has moved out of the project
	prepare
	mkdir /home/dev/p/a/out /home/dev/p/a/out/deeper
	cp /tmp/out-tries /home/dev/p/
	chown -R 1000:1000 /home/dev/p/a
	rm -rf /home/dev/away
	as_dev "(until [ -e waiting ] || [ -e over ]; do sleep 0.2; done; mv a/out ../away; cd ../away; echo s >.env; echo p >plain; echo m >.gitpod.yml
		echo s >deeper/.env; touch moved) & /opt/isod/isoctl run $1 -- bash -c 'exec 5<out-tries; cd a/out; touch /home/dev/p/waiting
		until [ -e moved ]; do sleep 0.1; done
		while read -r -u 5 way path other; do /home/dev/p/roundabout \$way \$path \$other; echo \"\$way \$path \$?\"; done' 2>/tmp/moved.err; touch over"
}
for o in '' --nesting; do
	got=$(moved "$o")
	compare "$got" "$(sed 's/^\([^ ]* [^ ]*\) .* /\1 /' <<<"$out_wanted")"
done
say 'moved folders tried'

# Killed, isod takes its sessions with it; until then they are guarded by what is pinned.
pins=$(ls /sys/fs/bpf/isod-*/ | wc -l)
judge 'pinned programs' 18 "$pins"
kill -9 $isod
wait $isod 2>/dev/null
judge 'pinned programs after kill -9' 18 "$(ls /sys/fs/bpf/isod-*/ | wc -l)"
start /opt/isod
judge 'pinned programs of the next isod' 18 "$(ls /sys/fs/bpf/isod-*/ | wc -l)"
stop
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
judge 'without the guard, the guard required' "$no_guard" "$(required)"
got=$(moved --nesting)
for way in 'move plain' 'move .env' 'symlink .mcp.json' 'folder .vscode' 'cut .gitpod.yml' 'delete .gitpod.yml'; do
	judge "moved away, without the guard: $way" 0 "$(grep -F -m 1 "$way " <<<"$got" | sed 's/.* //')"
done
clock() { as_dev "/opt/isod/isoctl run -- ./roundabout clock /etc/passwd" 2>/dev/null; }
without=$(clock)
stop
start /opt/isod
say "an open and close in a session: $without ns without the guard, $(clock) ns with it"
stop
finish
