# Classes and levels of priority: order of dispatch, and bounds of the waiting time: the slice, older requests and the
# device's own time, ten slices in the idle class.
# modules: smartio
# seconds: 20
device=$flash/flash0
tunables=$queue/iosched
# of JOB FIELD: a field of a job's line in /tmp/said.
of() { sed -n "s/.*\"job\":\"$1\".*\"$2\":\([0-9]*\).*/\1/p" /tmp/said; }
# A read takes half a millisecond and a write two, on four dies: the device is the bottleneck, not the processor. It
# accepts eight requests; the scheduler has many tags, so that no request waits for one.
model="$four_dies,read_ns=500000,read_next_ns=500000,read_floor_ns=500000,program_ns=2000000"
create "name=flash0,pages=65536,$model,queue_depth=32,depth=8" ||
    fail "no device: $(dmesg | tail -n 1)"
write "$queue/scheduler" smartio || fail scheduler
write "$queue/nr_requests" 128 || fail nr_requests
# On a kernel with checks the processor is the bottleneck, and priorities have no visible effect.
write "$tunables/slice_ms" 50 || fail slice_ms
slice=50000000

step 'real-time is served before best effort, and this before the idle class'
probe /dev/flash0 name=rt op=randread prio=rt:4 depth=16 size=67108864 stop=1200000000 -- \
    name=be op=randread prio=be:4 depth=16 offset=67108864 size=67108864 stop=1200000000 -- \
    name=idle op=randread prio=idle depth=16 offset=134217728 size=67108864 stop=1200000000 >/tmp/said ||
    fail 'the load'
cat /tmp/said
! timed || [ "$(of rt requests)" -gt "$(($(of be requests) * 2))" ] || fail "$(cat /tmp/said)"
! timed || [ "$(of be requests)" -gt "$(($(of idle requests) * 2))" ] || fail "$(cat /tmp/said)"
! timed || { [ "$(of rt p50)" -lt "$(of be p50)" ] && [ "$(of be p50)" -lt "$(of idle p50)" ]; } ||
    fail "$(cat /tmp/said)"

step 'a level is served before the next one'
probe /dev/flash0 name=first op=randread prio=be:0 depth=32 size=67108864 stop=1000000000 -- \
    name=last op=randread prio=be:7 depth=32 offset=67108864 size=67108864 stop=1000000000 >/tmp/said || fail 'the load'
cat /tmp/said
! timed || [ "$(of first p50)" -lt "$(of last p50)" ] || fail "$(cat /tmp/said)"
! timed || [ "$(of first requests)" -gt "$(of last requests)" ] || fail "$(cat /tmp/said)"

# bounded JOB NS: the job was served, and its longest wait is within the bound plus the device's own time.
bounded() {
    [ "$(of "$1" requests)" -ge 2 ] || fail "$1 starves: $(cat /tmp/said)"
    ! timed || [ "$(of "$1" max)" -lt $(($2 + 20000000)) ] || fail "$1 waited $(of "$1" max) ns: $(cat /tmp/said)"
}
for class in rt:0 be:0; do
    step "no starvation under endless reads of $class"
    probe /dev/flash0 name=flood op=randread prio=$class depth=32 size=67108864 stop=1500000000 -- \
        name=read op=randread prio=be:7 offset=67108864 size=33554432 stop=1500000000 -- \
        name=write op=randwrite prio=be:7 offset=100663296 size=33554432 stop=1500000000 -- \
        name=idle_read op=randread prio=idle offset=134217728 size=33554432 stop=1500000000 -- \
        name=idle_write op=randwrite prio=idle offset=167772160 size=33554432 stop=1500000000 >/tmp/said ||
        fail 'the load'
cat /tmp/said
    bounded read $slice
    bounded write $slice
    bounded idle_read $((10 * slice))
    bounded idle_write $((10 * slice))
done

step 'no starvation under endless synchronous writes'
probe /dev/flash0 name=flood op=randwrite dsync=1 prio=rt:0 direct=0 size=67108864 stop=1500000000 -- \
    name=flood2 op=randwrite depth=32 prio=rt:0 offset=67108864 size=33554432 stop=1500000000 -- \
    name=read op=randread prio=be:7 offset=100663296 size=33554432 stop=1500000000 -- \
    name=write op=randwrite prio=be:7 offset=134217728 size=33554432 stop=1500000000 -- \
    name=idle_read op=randread prio=idle offset=167772160 size=33554432 stop=1500000000 >/tmp/said || fail 'the load'
cat /tmp/said
bounded read $slice
# Beside a reader the writes of the flood go one by one, and up to 32 of them are older.
bounded write $((slice + 32 * 2000000))
bounded idle_read $((10 * slice))
remove flash0 || fail 'the device stays'
