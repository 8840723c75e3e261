# A power cut reverts only data that no flush has made durable: checked page by page under every scheduler, and by ext4
# and its fsck.
# needs: mkfs.ext4 e2fsck
# modules: mq-deadline kyber-iosched bfq smartio
# seconds: 120
device=$flash/flash0
schedulers='none mq-deadline kyber bfq smartio'
# A kernel with checks takes longer for each request. The device is therefore slower too, so that it has data at risk;
# power cuts are further apart, so that jobs have verified all their pages before the next one; and power stays off
# longer, so that each job notices it.
slower=1
timed || slower=10
up() {
    model="name=flash0,$four_dies,pages=16384,program_ns=$((slower * 400000)),flush_ns=$((slower * 200000))"
    model="$model,discard_ns=50000,erase_ns=1000000,queue_depth=32,write_cache=1"
    write "$flash/create" "$model,power_cut=1,$1" ||
        fail "no device: $(dmesg | tail -n 1)"
}
down() { write "$flash/remove" flash0 || fail 'the device stays'; }
control() { write "$device/control" "$*" || fail "control $*"; }
counted() { sed -n "s/^$1 //p" "$device/counters"; }
writing() { [ "$(counted writes)" -gt 100 ]; }

lost=0
for each in $schedulers; do
    up depth=16
    write "$queue/scheduler" "$each" || fail "scheduler $each"
    step "$each: pages keep durable data through 10 power cuts"
    probe /dev/flash0 name=a op=verify size=1048576 seed=11 stop=$((slower * 1500000000)) -- \
        name=b op=verify size=2097152 offset=4194304 seed=12 discards=1 stop=$((slower * 1500000000)) -- \
        name=c op=verify size=2097152 offset=16777216 seed=13 dsync=1 stop=$((slower * 1500000000)) -- \
        name=d op=verify size=4194304 offset=33554432 seed=14 stop=$((slower * 1500000000)) >/tmp/said \
        2>/tmp/complaints &
    load=$!
    # A fresh device holds zeroes, so the jobs have looked at all of it when they begin to write.
    eventually writing
    for cut in 1 2 3 4 5 6 7 8 9 10; do
        usleep $((slower * 73000))
        control "power_cut $cut"
        usleep $((slower * 2000))
        control power_on
    done
    wait $load || fail "broken promises: $(head -n 3 /tmp/complaints)"
    grep -q 'come back' /tmp/complaints && fail "$(cat /tmp/complaints)"
    lost=$((lost + $(counted lost_pages)))
    [ "$(counted in_flight)" = 0 ] || fail 'something is left in the device'
    down
done
[ "$lost" -gt 100 ] || fail "only $lost pages were lost in 40 power cuts: too few for this test"

step 'durable data is not lost with data written over it'
up depth=4
probe /dev/flash0 op=verify size=65536 fsync_every=2 seed=15 stop=$((slower * 1200000000)) >/tmp/said \
    2>/tmp/complaints &
load=$!
eventually writing
for cut in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    usleep $((slower * 29000))
    control "power_cut $cut"
    usleep $((slower * 2000))
    control power_on
done
wait $load || fail "broken promises: $(head -n 3 /tmp/complaints)"
down

step "without power the pages at risk are lost: $lost so far; without flushes most writes are"
up depth=32
probe /dev/flash0 op=randwrite bytes=65536 depth=32 stop=100000000 >/dev/null
before=$(counted writes)
more() { [ "$(counted writes)" -gt $((before + 8)) ]; }
probe /dev/flash0 op=randwrite bytes=65536 depth=32 stop=$((slower * 50000000)) >/dev/null &
load=$!
eventually more
control power_cut 5
wait $load
[ "$(wc -l <"$device/lost")" -gt 5 ] || fail "lost: $(wc -l <"$device/lost")"
dd if=/dev/flash0 of=/dev/null bs=4k count=1 iflag=direct 2>/dev/null && fail 'a read without power'
control power_on
dd if=/dev/flash0 of=/dev/null bs=4k count=1 iflag=direct 2>/dev/null || fail 'no read with power'
down

for each in $schedulers; do
    step "$each: ext4 keeps synced data through 3 power cuts"
    up depth=8
    write "$queue/scheduler" "$each" || fail "scheduler $each"
    mkfs.ext4 -q -E nodiscard /dev/flash0 >/tmp/said 2>&1 || fail "mkfs: $(cat /tmp/said)"
    for cut in 1 2 3; do
        mount -t ext4 -o errors=continue,noinit_itable,commit=1 /dev/flash0 /mnt || fail mount
        dd if=/dev/urandom of=/mnt/kept.$cut bs=64k count=8 conv=fsync 2>/dev/null || fail "write of kept.$cut"
        md5sum /mnt/kept.* >/tmp/sums
        (
            i=0
            while dd if=/dev/urandom of=/mnt/loose.$((i % 7)) bs=16k count=5 &&
                mv /mnt/loose.$((i % 7)) /mnt/moved.$((i % 3)); do
                i=$((i + 1))
                [ $((i % 5)) -ne 0 ] || sync
            done
        ) >/dev/null 2>&1 &
        load=$!
        usleep $((300000 + 70000 * cut))
        control "power_cut $((cut + 20))"
        usleep 100000
        kill $load
        wait $load
        # Its last program may still be about to end.
        eventually umount /mnt
        control power_on
        echo 3 >/proc/sys/vm/drop_caches
        # 0: clean; 1: what the journal left was set right.
        e2fsck -fp /dev/flash0 >/tmp/fsck 2>&1
        [ $? -le 1 ] || fail "fsck after cut $cut: $(tail -n 2 /tmp/fsck)"
        mount -t ext4 -o noinit_itable /dev/flash0 /mnt || fail "mount after cut $cut"
        md5sum -c /tmp/sums >/tmp/checked 2>&1 || fail "synced files changed: $(grep -v OK /tmp/checked)"
        umount /mnt
    done
    down
done
