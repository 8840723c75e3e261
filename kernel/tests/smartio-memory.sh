# Each allocation that selecting smartio needs fails in turn: the device then has another scheduler or none, it works,
# the module can be unloaded, and no memory leaks.
# modules: mq-deadline smartio
# config: FAILSLAB DEBUG_KMEMLEAK
# seconds: 60
device=$flash/flash0
create "name=flash0,$four_dies,pages=16384,queue_depth=32,depth=32,store=1" ||
    fail "no device: $(dmesg | tail -n 1)"
for setting in ignore-gfp-wait=N verbose=0; do
    write "/sys/kernel/debug/failslab/${setting%=*}" "${setting#*=}" || fail "failslab: $setting"
done
# choosing NAME N: selects a scheduler with the process's N-th allocation failing. /tmp/left has the kernel's remaining
# count: 0 if that allocation was reached.
choosing() {
    rm -f /tmp/left
    # shellcheck disable=SC2016
    sh -c 'echo "$1" >/proc/self/fail-nth
        echo "$0" >/sys/block/flash0/queue/scheduler
        read -r left </proc/self/fail-nth
        echo 0 >/proc/self/fail-nth
        echo "$left" >/tmp/left' "$1" "$2" 2>/dev/null
}

for from in none mq-deadline; do
    step "from $from to smartio with one allocation that fails"
    refused=0
    nth=0
    while nth=$((nth + 1)); do
        [ $nth -lt 1000 ] || fail 'a thousand allocations to choose a scheduler'
        write "$queue/scheduler" "$from" || fail "scheduler $from: $(cat /tmp/refused)"
        choosing smartio $nth
        [ "$(cat /tmp/left 2>/dev/null || echo 0)" = 0 ] || break
        grep -q '\[smartio\]' "$queue/scheduler" || refused=$((refused + 1))
        probe /dev/flash0 op=verify size=65536 seed=$nth stop_bytes=65536 >/tmp/said 2>/tmp/complaints ||
            fail "after allocation $nth: $(head -n 2 /tmp/complaints)"
    done
    grep -q '\[smartio\]' "$queue/scheduler" || fail 'not even chosen with all its memory'
    # Its own two are the least.
    [ $refused -ge 2 ] || fail "it was refused only $refused times in $nth"
    step "$from: $refused of $((nth - 1)) allocations were needed"
done
write "$queue/scheduler" none || fail none
rmmod smartio || fail 'a failure has left a reference to the module'
remove flash0 || fail 'the device stays'
