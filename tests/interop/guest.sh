#!/usr/bin/env bash
# guest.sh FOLDER [PROGRAM...]: makes FOLDER/vmlinuz and FOLDER/initrd, Debian's kernel and a guest of a few
# megabytes with the modules of the kernel's RoCE, rdma-core's and perftest's programs and the PROGRAMs given.
# The kernel's package is downloaded once and only unpacked: nothing of it is installed here.
set -euo pipefail
here=$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")
folder=$1
shift
mkdir -p "$folder"
folder=$(readlink -f -- "$folder")

die() { printf 'guest.sh: %s\n' "$*" >&2; exit 2; }

# Loaded in this order; those built into some kernels and not found are left out.
modules=(crc32_generic failover net_failover virtio virtio_ring virtio_pci_legacy_dev virtio_pci_modern_dev virtio_pci
    virtio_net ib_core ib_uverbs udp_tunnel ip6_udp_tunnel rdma_rxe)
programs=(/usr/bin/rdma /usr/bin/ibv_{devices,devinfo,rc_pingpong,uc_pingpong,ud_pingpong,srq_pingpong}
    /usr/bin/ib_{send,write,read,atomic}_{lat,bw} "$@")

kernel=$folder/kernel
if [ ! -f "$kernel/done" ]; then
    image=$(apt-cache depends linux-image-amd64 | sed -n 's/.*Depends: \(linux-image-[0-9].*\)/\1/p' | head -1)
    [ -n "$image" ] || die 'apt knows no linux-image-amd64; apt-get update first'
    rm -rf "$kernel" && mkdir -p "$kernel"
    (cd "$kernel" && apt-get -q download "$image" >download.log 2>&1) || die "cannot download $image: $(tail -1 "$kernel/download.log")"
    dpkg-deb -x "$kernel"/*.deb "$kernel"
    rm -f "$kernel"/*.deb
    touch "$kernel/done"
fi
cp "$kernel"/boot/vmlinuz-* "$folder/vmlinuz"

root=$folder/root
rm -rf "$root"
mkdir -p "$root"/{bin,usr/bin,proc,sys,dev,modules,etc,www/cgi-bin}
cp "$(command -v busybox)" "$root/bin/busybox"
install -m 755 "$here/init" "$root/init"
install -m 755 "$here/serve" "$root/www/cgi-bin/serve"
for module in "${modules[@]}"; do
    file=$(find "$kernel/lib/modules" -name "$module.ko" -print -quit)
    [ -n "$file" ] || continue
    cp "$file" "$root/modules/" && echo "$module" >>"$root/modules/order"
done

# Programs, the libraries they are linked to, and the provider that libibverbs finds by name.
provider=$(find /usr/lib -path '*/libibverbs/librxe-rdmav*.so' -print -quit)
[ -n "$provider" ] || die 'no librxe here: apt-get install ibverbs-providers'
mkdir -p "$root/etc/libibverbs.d" "$root$(dirname "$provider")"
cp /etc/libibverbs.d/rxe.driver "$root/etc/libibverbs.d/"
cp -L "$provider" "$root$provider"
for program in "${programs[@]}"; do
    [ -x "$program" ] || die "no $program here"
    cp -L "$program" "$root/usr/bin/"
done
for file in "${programs[@]}" "$provider"; do
    ldd "$file" | sed -n 's/.*=> \(\/[^ ]*\).*/\1/p; s/^[[:space:]]*\(\/[^ ]*\) (.*/\1/p'
done | sort -u | while read -r library; do
    mkdir -p "$root$(dirname "$library")"
    cp -L "$library" "$root$library"
done
(cd "$root" && find . | cpio -o -H newc --quiet | gzip -1) >"$folder/initrd.new"
mv "$folder/initrd.new" "$folder/initrd"
