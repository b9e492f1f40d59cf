#!/usr/bin/env bash
# image.sh BUILD OUT KERNEL.deb...: makes OUT/vmlinuz and OUT/initrd, a system of this machine's own programs, without
# systemd. A kernel may come in several packages (its image, its modules).
set -euo pipefail
build=$1 out=$2
shift 2
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)
tree=$out/tree
rm -rf "$out/kernel" "$tree"
mkdir -p "$out/kernel" "$tree"/{bin,sbin,usr/bin,usr/sbin,usr/lib,lib,lib64,etc/isod,proc,sys,dev,run,tmp,var/lib/isod,home,root,new,srv,opt/isod}

for deb; do dpkg-deb -x "$deb" "$out/kernel"; done
[ -d "$out/kernel/lib/modules" ] || { mkdir -p "$out/kernel/lib" && mv "$out/kernel/usr/lib/modules" "$out/kernel/lib/"; }
version=$(ls "$out/kernel/lib/modules")
cp "$out"/kernel/boot/vmlinuz-* "$out/vmlinuz" 2>/dev/null || cp "$out/kernel/lib/modules/$version/vmlinuz" "$out/vmlinuz"
depmod -b "$out/kernel" "$version"
: >"$tree/modules"
for m in virtio_pci virtio_rng overlay loop ext4 sunrpc nfs nfsv4 nfsd vfat nls_cp437 nls_ascii nls_utf8 nls_iso8859_1 nf_tables nft_redir nft_reject_inet nft_ct nft_log nft_limit nft_chain_nat nfnetlink_log; do
	modprobe -d "$out/kernel" -S "$version" --show-depends "$m" 2>/dev/null | awk '$1 == "insmod" { print $2 }'
done | awk '!seen[$0]++' | while read -r file; do
	plain=${file%.xz}
	plain=$tree/lib/$(basename "${plain%.zst}")
	case $file in *.xz) xz -dc "$file" >"$plain" ;; *.zst) zstd -qdc "$file" >"$plain" ;; *) cp "$file" "$plain" ;; esac
	basename "$plain" >>"$tree/modules"
done

add() { # FILE...: with the libraries that it needs, each at its own path
	local f
	for f; do
		[ -e "$tree$f" ] || install -D "$(realpath "$f")" "$tree$f"
		{ ldd "$f" 2>/dev/null || true; } | { grep -o '/[^ ]*' || true; } | while read -r lib; do
			[ -e "$tree$lib" ] || install -D "$(realpath "$lib")" "$tree$lib"
		done
	done
}
for c in basename bash cat chattr chmod chown cp cut date dd dirname env expr find git grep head id ln ls mkdir mkfifo mknod mktemp mount mv rm \
	rmdir sed seq setpriv sh sleep sort stat tail tar test timeout touch tr true umount uname unshare wc; do
	path=$(type -P "$c")
	add "$path"
	[ -e "$tree/bin/$c" ] || ln -s "$path" "$tree/bin/$c"
done
for c in git-upload-pack git-receive-pack; do ln -s "$(type -P git)" "$tree/bin/$c"; done
cp -a /usr/lib/git-core "$tree/usr/lib/"
mkdir -p "$tree/usr/share/git-core" && cp -a /usr/share/git-core/templates "$tree/usr/share/git-core/"
for nss in /lib/x86_64-linux-gnu/libnss_files.so.2; do [ -e "$nss" ] && add "$nss"; done
install -D /bin/busybox "$tree/bin/busybox"
for p in isod isod-control isod-launch isod-session isod-late isoctl tests/vm/roundabout tests/vm/fill_sessions tests/unit/monitor/test_monitor_cgroup; do
	install -m 755 "$build/$p" "$tree/opt/isod/${p##*/}"
	{ ldd "$build/$p" 2>/dev/null || true; } | { grep -o '/[^ ]*' || true; } | while read -r lib; do
		[ -e "$tree$lib" ] || install -D "$(realpath "$lib")" "$tree$lib"
	done
done
# File systems with folders whose names have no case.
truncate -s 16M "$tree/opt/isod/casefold" "$tree/opt/isod/fat"
mkfs.ext4 -q -O casefold "$tree/opt/isod/casefold"
mkfs.vfat "$tree/opt/isod/fat" >/dev/null
truncate -s 64M "$tree/opt/isod/exported"
mkfs.ext4 -q "$tree/opt/isod/exported"
install -m 755 "$top/tests/vm/init" "$tree/init"
for s in cases machine nfs; do install -m 755 "$top/tests/vm/$s.sh" "$tree/opt/isod/$s.sh"; done
printf 'root:x:0:0::/root:/bin/bash\nisod:x:101:101::/:/bin/false\nisod-net:x:102:102::/:/bin/false\ndev:x:1000:1000::/home/dev:/bin/bash\n' >"$tree/etc/passwd"
printf 'root:x:0:\nisod:x:101:\nisod-net:x:102:\ndev:x:1000:\n' >"$tree/etc/group"
printf 'passwd: files\ngroup: files\nhosts: files\n' >"$tree/etc/nsswitch.conf"
printf '127.0.0.1 localhost\n' >"$tree/etc/hosts"
printf '{\n}\n' >"$tree/etc/isod/policy.json"
: >"$tree/etc/resolv.conf"
mkdir -p "$tree/home/dev" && chown 1000:1000 "$tree/home/dev"
(cd "$tree" && find . -print0 | cpio -o -0 -H newc --quiet) | gzip -1 >"$out/initrd"
