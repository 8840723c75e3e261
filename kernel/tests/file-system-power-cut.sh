# ext4 and f2fs keep synced data, and are consistent after fsck, when power fails under load while schedulers are
# switched: each power cut has another pair of schedulers, the current and the previous one.
# needs: mkfs.ext4 e2fsck mkfs.f2fs fsck.f2fs
# modules: mq-deadline kyber-iosched bfq smartio ext4
# modules-if-there: f2fs
# seconds: 150
device=$flash/flash0
schedulers='none mq-deadline kyber bfq smartio'
# The device has a cache of a megabyte that drains more slowly than the load fills it, so that data is at risk. A kernel
# with checks writes so slowly that the device has to be slower still.
slow=,program_ns=1600000,buffer_pages=256
timed || slow=,program_ns=4000000,buffer_pages=2048
up() {
    model="name=flash0,$four_dies,pages=32768,flush_ns=200000,discard_ns=50000,erase_ns=1000000"
    create "$model,queue_depth=32,write_cache=1,power_cut=1,$1$slow" ||
        fail "no device: $(dmesg | tail -n 1)"
}
down() { remove flash0 || fail 'the device stays'; }
control() { write "$device/control" "$*" || fail "control $*"; }
counted() { sed -n "s/^$1 //p" "$device/counters"; }
scheduler() { write "$queue/scheduler" "$1" || fail "scheduler $1: $(cat /tmp/refused)"; }
# mounted OPTIONS: mounts the device, which also replays the journal.
mounted() { mount -t $kind -o "$1" /dev/flash0 /mnt 2>/tmp/said; }
# The file system passes its own check.
whole() {
    case $kind in
    ext4) e2fsck -fn /dev/flash0 >/tmp/fsck 2>&1 ;;
    f2fs) fsck.f2fs --dry-run /dev/flash0 >/tmp/fsck 2>&1 && ! grep -q 'Fail' /tmp/fsck ;;
    esac
}
# Files are created, grown, renamed and synced, until the load is ended or writes fail. Every other one is large and
# written with direct I/O, so that there is always data in the device's cache.
churn() {
    i=0
    while [ $((i % 2)) -eq 0 ] && how='bs=16k count=5' || how='bs=256k count=4 oflag=direct'
        dd if=/dev/urandom of=/mnt/loose.$((i % 7)) $how && mv /mnt/loose.$((i % 7)) /mnt/moved.$((i % 3)); do
        i=$((i + 1))
        [ $((i % 5)) -ne 0 ] || sync
    done
}

lost=0
for kind in ext4 f2fs; do
    grep -qw $kind /proc/filesystems || continue
    case $kind in
    ext4) options=errors=continue,noinit_itable,commit=1 ;;
    f2fs) options=background_gc=off ;;
    esac
    up depth=16
    case $kind in
    ext4) mkfs.ext4 -q -E nodiscard /dev/flash0 ;;
    f2fs) mkfs.f2fs -q -t 0 /dev/flash0 ;;
    esac >/tmp/said 2>&1 || fail "mkfs: $(cat /tmp/said)"
    cut=0
    for under in $schedulers; do
        for before in $schedulers; do
            [ "$before" != "$under" ] || continue
            cut=$((cut + 1))
            step "$kind: power fails under $under, just after $before"
            scheduler "$before"
            mounted $options || fail "mount before cut $cut: $(cat /tmp/said)"
            dd if=/dev/urandom of=/mnt/kept.$((cut % 8)) bs=64k count=8 conv=fsync 2>/dev/null ||
                fail "write before cut $cut"
            md5sum /mnt/kept.* >/tmp/sums
            churn >/dev/null 2>&1 &
            load=$!
            usleep $((30000 + 17000 * (cut % 5)))
            scheduler "$under"
            # Now at once, now when the new one is at work.
            usleep $((7000 * (cut % 3)))
            control "power_cut $((cut + 20))"
            usleep 20000
            kill $load
            wait $load
            # Its last program may still be about to end.
            eventually umount /mnt
            control power_on
            echo 3 >/proc/sys/vm/drop_caches
            mounted $options || fail "mount after cut $cut: $(cat /tmp/said)"
            md5sum -c /tmp/sums >/tmp/checked 2>&1 || fail "synced files changed: $(grep -v OK /tmp/checked)"
            umount /mnt || fail "umount of what was set right after cut $cut"
            whole || fail "fsck after cut $cut: $(tail -n 3 /tmp/fsck)"
        done
    done
    lost=$((lost + $(counted lost_pages)))
    down
done
[ "$lost" -gt 100 ] || fail "only $lost pages were lost: this tested nothing"

step 'without flushes a file system does not survive, so that the checks above can fail'
kind=ext4
up depth=16,buffer_pages=2048
mkfs.ext4 -q -E nodiscard /dev/flash0 >/tmp/said 2>&1 || fail "mkfs: $(cat /tmp/said)"
broken=no
for cut in 1 2 3 4 5 6 7 8; do
    mounted errors=continue,noinit_itable,commit=1,nobarrier || break
    dd if=/dev/urandom of=/mnt/kept bs=64k count=8 conv=fsync 2>/dev/null
    md5sum /mnt/kept >/tmp/sums
    control "power_cut $cut"
    umount /mnt
    control power_on
    echo 3 >/proc/sys/vm/drop_caches
    mounted errors=continue,noinit_itable || { broken=yes && break; }
    md5sum -c /tmp/sums >/tmp/checked 2>&1 || broken=yes
    umount /mnt
    whole || broken=yes
    [ $broken = no ] || break
done
[ $broken = yes ] || fail 'nothing that was synced without flushes was lost'
