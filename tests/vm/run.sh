#!/usr/bin/env bash
# The late guard on a kernel that has BPF LSM, in a virtual machine (QEMU without KVM): attacks that must be refused,
# work that must not be, and both once more without the guard, where the attacks must succeed.
#
#   tests/vm/run.sh BUILD [KERNEL.deb...]
#
# VM_CASES=nfs: instead, a home on NFS with root squash.
# Without a package the distribution's cloud kernel is fetched by apt. Needs qemu-system-x86, busybox-static, cpio, kmod,
# e2fsprogs, dosfstools.
set -euo pipefail
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)
build=$(cd "${1:?usage: run.sh BUILD [KERNEL.deb...]}" && pwd -P)
work=$build/vm
shift
mkdir -p "$work"

if [ $# = 0 ]; then
	name=$(apt-cache depends linux-image-cloud-amd64 | sed -n 's/.*Depends: \(linux-image-[0-9].*\)/\1/p' | head -n 1)
	(cd "$work" && ls "$name"_*.deb >/dev/null 2>&1 || apt-get download -q "$name" >&2)
	set -- "$(ls -t "$work/$name"_*.deb | head -n 1)"
fi
out=${1##*/}
out=$work/${out%%_*}
"$top/tests/vm/image.sh" "$build" "$out" "$@"

log=$out/console.log
timeout "${VM_SECONDS:-1200}" qemu-system-x86_64 -M q35 -accel tcg,thread=multi -cpu max -smp 2 -m 2048 -nodefaults \
	-no-user-config -no-reboot -display none -serial "file:$log" -kernel "$out/vmlinuz" -initrd "$out/initrd" \
	-device virtio-rng-pci \
	-append "console=ttyS0 quiet panic=-1 mitigations=off random.trust_cpu=on rdinit=/init isod.cases=${VM_CASES:-cases} ${VM_APPEND:-}" </dev/null || true
grep -aE '^(case|vm):' "$log" | tr -d '\r' || true
grep -aqx $'vm: all as wanted\r\?' "$log" || { tail -n 40 "$log" >&2; exit 1; }
