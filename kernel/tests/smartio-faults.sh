# smartio on a device that refuses, requeues, fails and hangs, with 1 to 128 tags and 1 to 4 hardware queues, while it
# is switched, tuned and finally removed: only the expected requests fail, and nothing is lost or left behind.
# modules: mq-deadline kyber-iosched bfq smartio
# memory: 1GiB
# cpus: 4
# seconds: 60
device=$flash/flash0
tunables=$queue/iosched
state=/sys/kernel/debug/block/flash0/sched/state
model="$four_dies,pages=65536,flush_ns=200000,discard_ns=50000,erase_ns=1000000,store=1,write_cache=1"
counted() { sed -n "s/^$1 //p" "$device/counters"; }
control() { write "$device/control" "$*" || fail "control $*"; }
scheduler() { write "$queue/scheduler" "$1" || fail "scheduler $1: $(cat /tmp/refused)"; }
# of JOB FIELD: a field of a job's line in /tmp/said.
of() { sed -n "s/.*\"job\":\"$1\".*\"$2\":\([0-9.]*\).*/\1/p" /tmp/said; }
# Readers of three classes, bulk and synchronous writes, discards; one job each reads failing and hanging ranges.
jobs() {
    probe /dev/flash0 name=rt op=randread prio=rt:0 depth=4 size=33554432 stop="$1" -- \
        name=idle op=randmix:50 prio=idle depth=2 offset=33554432 size=16777216 stop="$1" -- \
        name=bulk op=write bytes=65536 depth=8 offset=50331648 size=33554432 stop="$1" -- \
        name=wal op=wal offset=83886080 size=16777216 stop="$1" -- \
        name=trim op=trim bytes=1048576 depth=2 offset=100663296 size=16777216 stop="$1" -- \
        name=check op=verify offset=117440512 size=4194304 seed=5 discards=1 stop="$1" -- \
        name=fails op=randread depth=4 offset=134217728 size=1048576 stop_bytes=32768 -- \
        name=hangs op=randread depth=2 offset=136314880 size=1048576 stop_bytes=8192 >/tmp/said 2>/tmp/complaints
}
running() { kill -0 "$loading" 2>/dev/null; }
begun() { [ "$(counted requests)" -gt 0 ]; }
# Whether smartio's state is empty when the device is idle.
empty() {
    for name in waiting_reads waiting_writes_urgent waiting_writes_own waiting_writes_bulk waiting_trims \
        reads_in_flight \
        writes_in_flight; do
        grep -qx "$name 0" $state || return 1
    done
}

for shape in 1,depth=1,queues=1 2,depth=2,queues=2 32,depth=32,queues=4 128,depth=128,queues=4; do
    create "name=flash0,$model,queue_depth=$shape" || fail "no device: $(dmesg | tail -n 1)"
    for act in switching tuning; do
        step "$shape tags: refusals, requeues, errors and time-outs, $act"
        scheduler smartio
        write "$queue/io_timeout" 100 || fail io_timeout
        write "$device/counters" 0
        control read_error 32768 256
        control timeout 33280 256
        control requeue 7
        control busy 5
        jobs 1500000000 &
        loading=$!
        eventually begun
        rounds=0
        while running; do
            rounds=$((rounds + 1))
            [ $rounds -lt 1500 ] || fail "the load does not end: $(cat $state "$device/counters" | tr '\n' ' ')"
            case $act in
            switching) scheduler "$(any none mq-deadline kyber bfq smartio smartio smartio)" ;;
            tuning)
                for file in "$tunables"/*; do
                    [ "${file##*/}" = counters ] ||
                        write "$file" "$(any 0 1 2 8 50 100 1000 read none write nonsense -1)" || true
                done
                write "$queue/nr_requests" "$(any 2 4 8 64 200)" || true
                ;;
            esac
            usleep 20000
        done
        wait $loading || fail "the load: $(head -n 3 /tmp/complaints)"
        for good in rt idle bulk wal trim check; do
            [ "$(of $good errors)" = 0 ] || fail "$good met errors: $(grep "\"$good\"" /tmp/said)"
        done
        [ "$(of fails errors)" = 8 ] && [ "$(of fails requests)" = 0 ] || fail "$(grep '"fails"' /tmp/said)"
        [ "$(of hangs errors)" = 2 ] && [ "$(counted timeouts)" = 2 ] || fail "$(grep '"hangs"' /tmp/said)"
        for fault in requeues busies; do
            [ "$(counted $fault)" -gt 0 ] || fail "no $fault: $(cat "$device/counters")"
        done
        scheduler smartio
        empty || fail "smartio still has: $(tr '\n' ' ' <$state)"
        [ "$(counted in_flight)" = 0 ] || fail 'something is left in the device'
    done
    step "$shape tags: removed while requests fail"
    jobs 10000000000 &
    loading=$!
    eventually begun
    remove flash0 || fail 'the device stays'
    # What the jobs meet then is no concern of the scheduler; that they end is.
    wait $loading
    rmmod smartio || fail 'smartio does not unload'
    insmod /lab/modules/smartio.ko || fail 'smartio does not load again'
done
