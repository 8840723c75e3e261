# The lab's device with 1 to 128 tags and 1 to 4 hardware queues, removed under load, and its module unloaded while a
# removed device is still open. There are no more queues than processors.
# modules: mq-deadline kyber-iosched bfq smartio
# cpus: 4
# seconds: 60
parameters="$four_dies,pages=16384,command_ns=2000,bus_page_ns=2000,read_ns=30000,read_next_ns=30000"
parameters="$parameters,read_floor_ns=30000,program_ns=100000,queue_depth=128,write_cache=1"
device=$flash/flash0
schedulers='none mq-deadline kyber bfq smartio'
up() { write "$flash/create" "name=flash0,$parameters,$1" || fail "no device: $(dmesg | tail -n 1)"; }
counted() { sed -n "s/^$1 //p" "$device/counters"; }
written() { [ "$(counted writes)" -gt 0 ]; }
# Whether a load, the previous or the current one, has filled the device.
filled() {
    [ "$(counted in_flight_max)" -lt "$tags" ] || return 0
    probe /dev/flash0 name=fill op=write bytes=65536 offset=33554432 depth=64 stop_bytes=8388608 >/tmp/said ||
        fail 'the load'
    [ "$(counted in_flight_max)" -ge "$tags" ]
}

processors=$(grep -c '^processor' /proc/cpuinfo)
counts=1
[ "$processors" -lt 2 ] || counts="1 2 $processors"
number=0
for tags in 1 2 3 4 32 128; do
    for queues in $counts; do
        number=$((number + 1))
        # shellcheck disable=SC2086
        set -- $schedulers
        shift $((number % $#))
        step "$tags tags, $queues queues, $1"
        up "depth=$tags,queues=$queues"
        [ "$(ls /sys/block/flash0/mq | wc -l)" = "$queues" ] || fail "queues: $(ls /sys/block/flash0/mq)"
        write "$queue/scheduler" "$1" || fail "scheduler $1"
        probe /dev/flash0 name=a op=verify size=1048576 stop_bytes=2097152 -- \
            name=b op=verify size=1048576 offset=1048576 discards=1 stop_bytes=2097152 -- \
            name=c op=verify size=1048576 offset=2097152 dsync=1 stop_bytes=1048576 -- \
            name=d op=randmix:50 offset=4194304 depth=64 stop_bytes=4194304 -- \
            name=e op=write bytes=65536 offset=33554432 depth=64 stop_bytes=8388608 >/tmp/said 2>/tmp/complaints ||
            fail "wrong data: $(head -n 3 /tmp/complaints)"
        grep -q '"errors":[1-9]' /tmp/said && fail "errors: $(cat /tmp/said)"
        # bfq keeps a device idle at times, however deep its queue; and where the host's processors come and go, not
        # each load fills the device.
        [ "$tags" -gt 4 ] || ! timed || eventually filled
        [ "$(counted in_flight_max)" -le "$tags" ] || fail "$(counted in_flight_max) in flight with $tags tags"
        write "$flash/remove" flash0 || fail 'the device stays'
    done
done

for each in $schedulers; do
    for queues in $counts; do
    step "$each: removed under load, $queues queues"
        up "depth=16,queues=$queues"
        write "$queue/scheduler" "$each" || fail "scheduler $each"
        write "$device/control" 'requeue 9'
        write "$device/control" 'busy 9'
        probe /dev/flash0 name=a op=randmix:50 depth=32 stop=10000000000 -- \
            name=b op=randread depth=4 engine=sync stop=10000000000 -- \
            name=c op=write direct=0 bytes=65536 stop=10000000000 -- name=d op=trim stop=10000000000 >/tmp/said 2>&1 &
        load=$!
        eventually written
        usleep 30000
        write "$flash/remove" flash0 || fail 'the device stays'
        [ ! -e /sys/block/flash0 ] || fail 'the disk stays'
        if [ -e "/proc/$load/exe" ]; then
            rmmod brisk_flash 2>/dev/null && [ -e "/proc/$load/fd/3" ] && fail 'unloaded while it is held'
        fi
        wait $load
        grep -q '"errors":[1-9]' /tmp/said || fail "nobody noticed: $(cat /tmp/said)"
        [ -e $flash ] || insmod /lab/modules/brisk_flash.ko || fail insmod
    done
done

step 'the module is unloaded with existing devices, and loaded again'
for round in 1 2 3; do
    up depth=8
    write "$flash/create" "$parameters,name=other,queues=$processors" || fail 'a second device'
    probe /dev/flash0 op=randwrite depth=16 stop=300000000 -- file=/dev/other op=randwrite depth=16 stop=300000000 \
        >/dev/null &
    load=$!
    eventually written
    rmmod brisk_flash 2>/dev/null && fail 'unloaded in use'
    wait $load || fail 'the probe failed'
    eventually rmmod brisk_flash
    [ ! -e /dev/flash0 ] || fail 'the device stays'
    [ ! -e $flash ] || fail 'debugfs stays'
    insmod /lab/modules/brisk_flash.ko || fail "insmod $round"
done
