#!/bin/bash
# In the test machine: a home on NFS with root squash, where root is nobody. The server is the kernel's, of this machine,
# and its tables are filled by hand, as mountd would.
. /opt/isod/machine.sh

mount -o loop /opt/isod/exported /srv
mkdir -p /srv/p/sub /srv/p/.git/hooks /srv/.ssh
echo PLAIN >/srv/p/plain
echo SECRET >/srv/p/.env
echo SECRET >/srv/p/sub/id_rsa
echo SECRET >/srv/.ssh/id_ed25519
chown -R 1000:1000 /srv
chmod 700 /srv /srv/p

mount -t nfsd nfsd /proc/fs/nfsd
echo '-2 -3 +4 +4.1 +4.2' >/proc/fs/nfsd/versions
echo 10 >/proc/fs/nfsd/nfsv4leasetime
echo 10 >/proc/fs/nfsd/nfsv4gracetime
echo 'nfsd 127.0.0.1 2147483647 here' >/proc/net/rpc/auth.unix.ip/channel
# insecure ports, root squash, no subtree check, fsid 0
echo 'here /srv 2147483647 9222 65534 65534 0' >/proc/net/rpc/nfsd.export/channel
echo 'here 1 \x00000000 2147483647 /srv' >/proc/net/rpc/nfsd.fh/channel
echo 'tcp 2049' >/proc/fs/nfsd/portlist
echo 2 >/proc/fs/nfsd/threads
mount -t nfs4 -o vers=4.2,addr=127.0.0.1,clientaddr=127.0.0.1,sec=sys 127.0.0.1:/ /home/dev
judge 'root is nobody there' 'Permission denied' "$(cat /home/dev/p/plain 2>&1 | sed 's/.*: //')"
judge 'the user reads' PLAIN "$(as_dev 'cat plain')"

start /opt/isod
run() { as_dev "timeout 120 /opt/isod/isoctl run -q $2 -- bash -c '$1'" 2>&1; }
judge 'a session reads and writes' 'PLAIN made 1000' "$(run 'echo made >made; echo $(cat plain made) $(stat -c %u made)')"
judge 'what it made is there' 'made 1000' "$(cat /srv/p/made) $(stat -c %u /srv/p/made)"
judge 'secrets of the project' 'Permission denied,Permission denied,' \
	"$(run 'cat .env sub/id_rsa' | sed 's/.*: //' | tr '\n' ,)"
judge 'the home' 'No such file or directory' "$(run 'cat ~/.ssh/id_ed25519' | sed 's/.*: //')"
judge 'what runs later' 'refused as-is' "$(run 'echo x >.git/hooks/pre-commit || echo refused; mv .git g 2>/dev/null || echo as-is' |
	grep -v : | tr '\n' ' ' | sed 's/ $//')"
judge 'nothing was planted' '' "$(ls /srv/p/.git/hooks)"
judge 'a secret that comes later, from here and from the server' 'Permission denied,Permission denied,' \
	"$(as_dev "mkfifo go; timeout 120 /opt/isod/isoctl run -q -- bash -c 'touch up; read -r x <go; cat .env.local .env.server' >got 2>&1 &
		until [ -e up ]; do sleep 0.1; done
		echo SECRET >.env.local
		read -r -t 1 x <>/dev/zero
		wait_for_server() { until [ -e .env.server ]; do sleep 0.1; ls >/dev/null; done; }
		touch served; wait_for_server; echo >go; wait; sed 's/.*: //' got | tr '\\n' ," & until [ -e /srv/p/served ]; do sleep 0.1; done
	echo SECRET >/srv/p/.env.server; chown 1000:1000 /srv/p/.env.server; wait)"
judge 'a private layer over the project' 'changed PLAIN' \
	"$(run 'echo changed >plain; cat plain' --overlay | tail -n 1) $(cat /srv/p/plain)"
stop
finish
