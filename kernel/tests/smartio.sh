# The scheduler smartio: its tunables refuse invalid values, it is switched, tuned and unloaded under load with 1 to 128
# tags and a hardware queue for each processor, data stays intact, and waiting times are bounded.
# modules: mq-deadline kyber-iosched bfq smartio
# cpus: 1
# seconds: 90
device=$flash/flash0
tunables=$queue/iosched
model="$four_dies,flush_ns=200000,discard_ns=50000,erase_ns=1000000"
up() { write "$flash/create" "name=flash0,pages=65536,$model,$1" || fail "no device: $(dmesg | tail -n 1)"; }
down() { write "$flash/remove" flash0 || fail 'the device stays'; }
scheduler() { write "$queue/scheduler" "$1" || fail "scheduler $1: $(cat /tmp/refused)"; }
# of JOB FIELD: a field of a job's line in /tmp/said.
of() { sed -n "s/.*\"job\":\"$1\".*\"$2\":\([0-9.]*\).*/\1/p" /tmp/said; }
counter() { sed -n "s/^$1 //p" "$tunables/counters"; }
state() { sed -n "s/^$1 //p" /sys/kernel/debug/block/flash0/sched/state; }
# All kinds of requests at once: readers of three classes, bulk, idle and synchronous writes, a mixed thread, discards.
jobs() {
    probe /dev/flash0 name=read op=randread depth=4 size=67108864 stop="$1" -- \
        name=rt op=randread prio=rt:2 size=67108864 stop="$1" -- \
        name=idle op=randread prio=idle size=67108864 stop="$1" -- \
        name=bulk op=write bytes=65536 depth=8 offset=67108864 size=33554432 stop="$1" -- \
        name=wal op=wal offset=100663296 size=16777216 stop="$1" -- \
        name=mix op=randmix:50 depth=16 offset=117440512 size=33554432 stop="$1" -- \
        name=trim op=trim bytes=1048576 depth=2 offset=150994944 size=33554432 stop="$1" -- \
        name=check op=verify offset=184549376 size=4194304 seed=5 discards=1 stop="$1" >/tmp/said 2>/tmp/complaints
}
load() {
    jobs "$1" || fail "the load: $(tail -n 1 /tmp/complaints) $(grep -v '"errors":0' /tmp/said | head -n 1)"
    grep -q '"errors":[1-9]' /tmp/said && fail "$(grep '"errors":[1-9]' /tmp/said | head -n 1)"
    return 0
}
running() { kill -0 "$loading" 2>/dev/null; }

step 'tunables: invalid values are refused without effect'
up queue_depth=32,depth=32,write_cache=1,store=1
scheduler smartio
while read -r name least most; do
    before=$(cat "$tunables/$name")
    for wrong in $((most + 1)) -1 x 99999999999 "$least $most"; do
        if write "$tunables/$name" "$wrong"; then fail "$name accepts '$wrong'"; fi
    done
    [ "$least" = 0 ] || ! write "$tunables/$name" $((least - 1)) || fail "$name accepts less than $least"
    [ "$(cat "$tunables/$name")" = "$before" ] || fail "$name has changed"
    for right in "$least" "$most" "$before"; do
        write "$tunables/$name" "$right" || fail "$name refuses $right"
        [ "$(cat "$tunables/$name")" = "$right" ] || fail "$name does not hold $right"
    done
done <<'LIST'
slice_ms 1 10000
hold_max_us 0 10000
quantum_requests 1 1024
write_share_percent 1 100
read_reserve_percent 0 75
LIST
down

length=300000000
least=3
timed || { length=2000000000 && least=1; }
for shape in 1,depth=1,queues=1 4,depth=4,queues=2 128,depth=128,queues=2; do
    step "$shape tags: switched, tuned and unloaded under load"
    up "write_cache=$(any 0 1),store=1,queue_depth=$shape"
    scheduler smartio
    load 100000000
    for act in switching tuning unloading; do
        scheduler smartio
        load $length &
        loading=$!
        times=0
        while running; do
            case $act in
            switching) scheduler "$(any none mq-deadline kyber bfq smartio smartio smartio)" ;;
            tuning)
                for file in "$tunables"/*; do
                    [ "${file##*/}" = counters ] || write "$file" "$(any 0 1 2 3 8 25 50 100 1000)" || true
                done
                write "$queue/nr_requests" "$(any 2 4 8 32 64 200)" || true
                cat "$tunables"/* /sys/kernel/debug/block/flash0/sched/* >/dev/null
                ;;
            unloading)
                scheduler none
                rmmod smartio || fail 'it does not unload'
                insmod /lab/modules/smartio.ko || fail 'it does not load again'
                scheduler smartio
                if rmmod smartio 2>/dev/null; then fail 'it unloads in use'; fi
                ;;
            esac
            times=$((times + 1))
            usleep 15000
        done
        wait "$loading" || fail "the load while $act"
        [ "$times" -gt $least ] || fail "$act: only $times times"
    done
    scheduler smartio
    # The jobs' results do not matter then, only that they end.
    jobs 400000000 &
    loading=$!
    usleep 100000
    down
    wait "$loading"
done

step 'writes may take as many tags as there are when their number is changed'
# Slow, so that writes queue up even on a kernel with checks.
slow=$(echo "$model" | sed s/program_ns=400000/program_ns=20000000/)
write "$flash/create" "name=flash0,pages=65536,$slow,queue_depth=4,depth=4,write_cache=0,store=0" ||
    fail "no device: $(dmesg | tail -n 1)"
scheduler smartio
write "$queue/nr_requests" 128 || fail nr_requests
probe /dev/flash0 name=bulk op=randwrite depth=90 size=67108864 stop=1000000000 >/tmp/said &
loading=$!
taken() { [ $(($(state waiting_writes_bulk) + $(state writes_in_flight))) -ge 80 ]; }
eventually taken
wait "$loading" || fail 'the load'
down

step 'a write waits for at most its slice, the idle class for at most ten'
up queue_depth=32,depth=32,write_cache=0,store=0
scheduler smartio
write "$tunables/slice_ms" 50
probe /dev/flash0 name=read op=randread depth=32 size=67108864 stop=1500000000 -- \
    name=write op=randwrite offset=67108864 size=67108864 stop=1500000000 -- \
    name=idle op=randwrite prio=idle offset=134217728 size=67108864 stop=1500000000 >/tmp/said || fail 'the load'
! timed || [ "$(of write max)" -lt 60000000 ] || fail "a write waited $(of write max) ns"
[ "$(of write requests)" -gt 20 ] || fail "$(of write requests) writes"
[ "$(of idle requests)" -ge 1 ] || fail 'no write of the idle class'
! timed || [ "$(of idle max)" -lt 560000000 ] || fail "a write of the idle class waited $(of idle max) ns"

step 'a reader precedes concurrent writers, and a commit is not held'
write "$tunables/slice_ms" 100
probe /dev/flash0 name=read op=randread size=67108864 stop=500000000 warm_ns=100000000 -- \
    name=wal op=wal direct=0 offset=67108864 size=16777216 stop=500000000 warm_ns=100000000 -- \
    name=bulk op=randwrite bytes=16384 depth=16 offset=134217728 size=67108864 stop=500000000 warm_ns=100000000 \
    >/tmp/said || fail 'the load'
! timed || [ "$(of read p50)" -lt 600000 ] || fail "half of the reads took more than $(of read p50) ns"
! timed || [ "$(of wal p50)" -lt 5000000 ] || fail "half of the commits took more than $(of wal p50) ns"
[ "$(counter dispatched_writes_urgent)" -gt 20 ] || fail 'no write was known to be awaited'
[ "$(counter waits_cap)" -gt 0 ] || fail 'bulk writes had no bounds'
[ "$(counter waits_hold)" -gt 0 ] || fail 'bulk writes were not held'
[ "$(counter reads_held_for)" -gt 0 ] || fail 'no read came while they were'
down
