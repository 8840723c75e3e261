# Data is intact while schedulers are switched from each to each under load: fio's own verification on the bare device
# and on files of ext4 and f2fs, concurrent with the probe's; and a wrong page is detected.
# needs: fio mkfs.ext4 e2fsck mkfs.f2fs fsck.f2fs
# modules: mq-deadline kyber-iosched bfq smartio ext4
# modules-if-there: f2fs
# memory: 1GiB
# seconds: 90
device=$flash/flash0
schedulers='none mq-deadline kyber bfq smartio'
up() {
    model="name=flash0,$four_dies,pages=65536,flush_ns=200000,discard_ns=50000,erase_ns=1000000"
    create "$model,queue_depth=32,write_cache=1,store=1,$1" ||
        fail "no device: $(dmesg | tail -n 1)"
}
down() { remove flash0 || fail 'the device stays'; }
counted() { sed -n "s/^$1 //p" "$device/counters"; }
# job NAME WORDS...: fio writes, verifies while it writes, and verifies everything at the end.
job() {
    name=$1
    shift
    fio --name="$name" --thread --ioengine=libaio --direct=1 --verify=crc32c --verify_fatal=1 --verify_dump=0 \
        --verify_backlog=256 --randseed=7 --output="/tmp/fio.$name" "$@"
}
# switched PROCESS: switches from each scheduler to each, repeatedly until the process has ended.
switched() {
    switches=0
    while kill -0 "$1" 2>/dev/null; do
        for from in $schedulers; do
            for to in $schedulers; do
                kill -0 "$1" 2>/dev/null || break 2
                write "$queue/scheduler" "$from" && usleep 3000 && write "$queue/scheduler" "$to" ||
                    fail "from $from to $to: $(cat /tmp/refused)"
                switches=$((switches + 2))
                usleep 7000
            done
        done
    done
    [ "$switches" -ge 50 ] || fail "only $switches switches: not from each to each"
}

for shape in depth=32 depth=2; do
    step "$shape: the bare device"
    up "$shape"
    job small --filename=/dev/flash0 --rw=randrw --bsrange=4k-64k --size=48M --iodepth=8 --io_size=96M &
    first=$!
    job large --filename=/dev/flash0 --offset=64M --rw=write --bs=256k --size=64M --iodepth=4 &
    second=$!
    probe /dev/flash0 op=verify offset=201326592 size=16777216 seed=9 discards=1 stop_bytes=67108864 >/tmp/said \
        2>/tmp/complaints &
    third=$!
    switched $first
    wait $first || fail "fio: $(tail -n 3 /tmp/fio.small)"
    wait $second || fail "fio: $(tail -n 3 /tmp/fio.large)"
    wait $third || fail "the probe: $(head -n 3 /tmp/complaints)"
    [ "$(counted in_flight)" = 0 ] || fail 'something is left in the device'
    down
done

step 'a wrong page is detected'
up depth=32
job again --filename=/dev/flash0 --rw=write --bs=16k --size=16M --iodepth=8 || fail "fio: $(tail -n 3 /tmp/fio.again)"
job again --filename=/dev/flash0 --rw=read --bs=16k --size=16M --iodepth=8 --verify_only ||
    fail "fio: $(tail -n 3 /tmp/fio.again)"
dd if=/dev/urandom of=/dev/flash0 bs=4k seek=1234 count=1 conv=notrunc oflag=direct 2>/dev/null || fail dd
if job again --filename=/dev/flash0 --rw=read --bs=16k --size=16M --iodepth=8 --verify_only; then
    fail 'fio does not see a wrong page'
fi
down

for kind in ext4 f2fs; do
    grep -qw $kind /proc/filesystems || continue
    step "$kind: files"
    up depth=32
    file_system_up $kind
    [ -z "$case_failed" ] || fail "$case_failed"
    job small --directory=/mnt --rw=randrw --bsrange=4k-64k --size=24M --iodepth=8 --nrfiles=4 &
    first=$!
    job cached --directory=/mnt --direct=0 --rw=randwrite --bs=4k --size=16M --iodepth=4 --fsync=64 &
    second=$!
    switched $first
    wait $first || fail "fio: $(tail -n 3 /tmp/fio.small)"
    wait $second || fail "fio: $(tail -n 3 /tmp/fio.cached)"
    umount /mnt || fail umount
    case $kind in
    ext4) e2fsck -fn /dev/flash0 >/tmp/fsck 2>&1 ;;
    f2fs) fsck.f2fs --dry-run /dev/flash0 >/tmp/fsck 2>&1 && ! grep -q 'Fail' /tmp/fsck ;;
    esac || fail "fsck: $(tail -n 3 /tmp/fsck)"
    down
done
