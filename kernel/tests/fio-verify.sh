# fio writes and verifies data with checksums on every scheduler: sequentially and at random, with concurrent readers,
# while schedulers are switched, and through a file of ext4. An independent program must find the same data.
# needs: fio mkfs.ext4
# modules: mq-deadline kyber-iosched bfq smartio ext4
# memory: 1GiB
# seconds: 60
parameters="$four_dies,pages=32768,command_ns=2000,bus_page_ns=2000,read_ns=30000,read_next_ns=30000"
parameters="$parameters,read_floor_ns=30000,program_ns=100000,flush_ns=100000,queue_depth=16,write_cache=1"
schedulers='none mq-deadline kyber bfq smartio'
# No state besides the data, no processes with shared memory, stop at the first wrong block.
common='--thread --eta=never --minimal --verify_state_save=0 --verify=crc32c --verify_fatal=1 --randseed=7'
# checked NAME ARGUMENTS...: a run of fio that must succeed without verification errors.
checked() {
    name=$1
    shift
    # shellcheck disable=SC2086
    fio --name="$name" $common "$@" >/tmp/said 2>&1 || fail "fio $name: $(grep -v '^[0-9];' /tmp/said | head -n 2)"
    grep -q -i 'verify:\|bad magic\|error' /tmp/said &&
        fail "fio $name: $(grep -i 'verify:\|bad magic\|error' /tmp/said | head -n 1)"
    return 0
}

cd /tmp || fail 'no /tmp'
write "$flash/create" "name=flash0,$parameters,depth=16,store=1" || fail "no device: $(dmesg | tail -n 1)"
for each in $schedulers; do
    step "$each: checksums on the device"
    write "$queue/scheduler" "$each" || fail "scheduler $each: $(cat /tmp/refused)"
    checked random --filename=/dev/flash0 --ioengine=libaio --iodepth=16 --direct=1 --rw=randwrite --bsrange=4k-64k \
        --size=16m --verify_backlog=64
    checked order --filename=/dev/flash0 --ioengine=libaio --iodepth=4 --direct=1 --rw=write --bs=128k --size=32m
    checked mix --filename=/dev/flash0 --ioengine=libaio --iodepth=16 --direct=1 --rw=randrw --bs=4k --size=8m \
        --offset=32m
done

step 'checksums while schedulers are switched'
(
    while [ ! -e /tmp/over ]; do
        for each in $schedulers; do
            write "$queue/scheduler" "$each" || fail "scheduler $each: $(cat /tmp/refused)"
            usleep 20000
        done
    done
) &
switching=$!
checked switched --filename=/dev/flash0 --ioengine=libaio --iodepth=16 --direct=1 --rw=randwrite --bsrange=4k-64k \
    --size=32m \
    --verify_backlog=128
: >/tmp/over
wait $switching || fail 'the switching ended early'

step 'a wrong block is found'
dd if=/dev/zero of=/dev/flash0 bs=4096 count=4096 oflag=direct 2>/dev/null || fail 'dd'
# shellcheck disable=SC2086
fio --name=random $common --filename=/dev/flash0 --ioengine=libaio --iodepth=4 --direct=1 --rw=read --bs=128k \
    --size=16m \
    --verify_only >/tmp/said 2>&1 && fail 'fio took zeroes for what it had written'

step 'checksums through a file of ext4'
must mkfs.ext4 -q -E nodiscard /dev/flash0
must mount -t ext4 -o noinit_itable /dev/flash0 /mnt
for each in $schedulers; do
    write "$queue/scheduler" "$each" || fail "scheduler $each: $(cat /tmp/refused)"
    checked file --filename=/mnt/file --ioengine=psync --rw=randwrite --bs=16k --size=8m --fsync=16 --end_fsync=1
done
must umount /mnt
remove flash0 || fail 'the device stays'
