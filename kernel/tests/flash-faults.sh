# Injected faults of the lab's device: read errors, hanging requests, refusals, requeues; and cases without faults:
# flushes, FUA, discards, invalid parameters.
# needs: blkdiscard
# modules: mq-deadline kyber-iosched bfq smartio
# seconds: 60
device=$flash/flash0
schedulers='none mq-deadline kyber bfq smartio'
parameters="$four_dies,pages=16384,flush_ns=200000,discard_ns=50000,erase_ns=1000000"
parameters="$parameters,queue_depth=32,buffer_pages=16,write_cache=1"
up() { write "$flash/create" "name=flash0,$parameters,$1" || fail "no device: $(dmesg | tail -n 1)"; }
down() { write "$flash/remove" flash0 || fail 'the device stays'; }
control() { write "$device/control" "$*" || fail "control $*"; }
counted() { sed -n "s/^$1 //p" "$device/counters"; }
# field NAME: a field of the probe's line in /tmp/said.
field() { sed -n "s/.*\"$1\":\([0-9.]*\).*/\1/p" /tmp/said; }
load() { probe /dev/flash0 "$@" >/tmp/said 2>/tmp/complaints; }
scheduler() { write "$queue/scheduler" "$1" || fail "scheduler $1"; }

step 'invalid parameters are refused with a reason'
for wrong in 'pages=0' 'depth=33' 'read_ns=-1' 'nonsense=1' 'units' 'name=../x' 'queues=0' 'store=0,prealloc=1'; do
    if write "$flash/create" "name=flash0,$parameters,$wrong"; then fail "accepted: $wrong"; fi
    dmesg | tail -n 1 | grep -q brisk_flash || fail "no reason for: $wrong"
done
[ ! -e /dev/flash0 ] || fail 'a refused device is there'
up depth=8
if write "$flash/create" "name=flash0,$parameters"; then fail 'two devices of one name'; fi
if write "$device/params" queue_depth=16; then fail 'its shape changed in use'; fi
write "$device/params" read_ns=90000,bus_page_ns=6000 || fail 'its times did not change'
grep -q '^read_ns 90000$' "$device/params" || fail 'the times are not shown'

for each in $schedulers; do
    scheduler "$each"
    step "$each: a read error affects only its reader"
    control read_error 100 8
    load op=randread offset=409600 size=32768 stop_bytes=65536
    [ "$(field errors)" = 16 ] && [ "$(field requests)" = 0 ] || fail "$(cat /tmp/said)"
    load op=randread offset=1048576 depth=8 stop_bytes=1048576
    [ "$(field errors)" = 0 ] && [ "$(field requests)" = 256 ] || fail "$(cat /tmp/said)"
    load op=randwrite offset=409600 size=32768 stop_bytes=65536
    [ "$(field errors)" = 0 ] || fail "$(cat /tmp/said)"
    control clear
    load op=randread offset=409600 size=32768 stop_bytes=65536
    [ "$(field errors)" = 0 ] || fail "$(cat /tmp/said)"

    step "$each: one request of eight fails, of any kind"
    before=$(counted errors)
    control error 8
    probe /dev/flash0 name=reads op=randread offset=1048576 depth=8 stop_bytes=1048576 -- \
        name=writes op=randwrite offset=8388608 depth=8 stop_bytes=1048576 >/tmp/both 2>&1
    control clear
    for job in reads writes; do
        grep "\"job\":\"$job\"" /tmp/both >/tmp/said
        [ "$(field errors)" -gt 5 ] && [ "$(field requests)" -gt 150 ] || fail "$(cat /tmp/said)"
    done
    [ "$(($(counted errors) - before))" -gt 50 ] || fail "$(counted errors) errors"

    step "$each: hanging requests time out, and others continue"
    write "$queue/io_timeout" 200 || fail io_timeout
    before=$(counted timeouts)
    control timeout 200 1
    probe /dev/flash0 name=hangs op=read offset=819200 size=4096 stop_bytes=8192 -- \
        name=goes op=randread offset=4194304 depth=4 stop=300000000 >/tmp/both 2>&1
    grep '"job":"hangs"' /tmp/both >/tmp/said
    [ "$(field errors)" = 2 ] || fail "$(cat /tmp/said)"
    grep '"job":"goes"' /tmp/both >/tmp/said
    enough=1000
    timed || enough=100
    [ "$(field errors)" = 0 ] && [ "$(field requests)" -gt $enough ] || fail "$(cat /tmp/said)"
    [ "$(($(counted timeouts) - before))" = 2 ] || fail "$(counted timeouts) time-outs"
    control clear

    step "$each: refusals and requeues lose no data"
    before=$(counted requeues)
    refused=$(counted busies)
    control requeue 7
    control busy 5
    load name=a op=verify size=4194304 seed=3 stop_bytes=16777216 -- \
        name=b op=verify size=4194304 offset=8388608 seed=4 discards=1 stop_bytes=16777216 ||
        fail "wrong data: $(head -n 3 /tmp/complaints)"
    [ "$(counted requeues)" -gt "$((before + 100))" ] || fail 'nothing was requeued'
    [ "$(counted busies)" -gt "$((refused + 100))" ] || fail 'nothing was refused'
    control clear
    [ "$(counted in_flight)" = 0 ] || fail 'something is left in the device'
done

step 'a flush commits, and FUA needs none of its own'
scheduler none
write "$device/counters" 0
load op=randwrite fsync_every=1 stop_bytes=409600
[ "$(counted flushes)" = 100 ] || fail "$(counted flushes) flushes"
[ "$(field p50)" -gt 600000 ] || fail "a flushed write took $(field p50) ns"
write "$device/counters" 0
load op=randwrite dsync=1 stop_bytes=409600
# Block devices flush after a synchronous write, with or without FUA; a queue without FUA would flush twice.
[ "$(counted flushes)" = 100 ] || fail "100 FUA writes made $(counted flushes) flushes"
[ "$(field p50)" -gt 600000 ] || fail "a FUA write took $(field p50) ns"
load op=randwrite stop_bytes=40960
! timed || [ "$(field p50)" -lt 200000 ] || fail "a cached write took $(field p50) ns"

step 'a discard empties, and is limited'
dd if=/dev/urandom of=/dev/flash0 bs=1M count=8 oflag=direct 2>/dev/null || fail dd
write "$device/counters" 0
blkdiscard /dev/flash0 || fail blkdiscard
[ "$(counted discards)" = 16 ] && [ "$(counted pages_discarded)" = 16384 ] || fail "$(counted discards) discards"
cmp -n 67108864 /dev/flash0 /dev/zero || fail 'it does not read as zeroes'
down

step 'a device without a cache is not flushed, and one without images refuses power cuts'
up write_cache=0
load op=randwrite fsync_every=1 stop_bytes=40960
[ "$(counted flushes)" = 0 ] || fail 'it was flushed'
if write "$device/control" 'power_cut 1'; then fail 'it keeps no images and lost its power'; fi
down
