# Slots of the swap area by memory group: groups that are swapped out page by page in turn have consecutive slots each,
# clean pages are not written again at 75 % full, at 95 % full the stock path takes over, and freed extents are
# discarded in batches. Without MARS the same load gives scattered slots and writes clean pages again: the test can tell
# the difference.
# config: MARS_SWAP
# memory: 640MiB
# seconds: 200
areas=/sys/kernel/debug/mars/areas
settings=/sys/kernel/mm/mars
flash0="$four_dies,pages=16384,program_ns=100000,queue_depth=32,depth=32,store=1,prealloc=1"

# groups_up COUNT BYTES CHUNK_PAGES: see kernel/probe/groups.c
groups_up() {
    rm -f /tmp/orders
    mkfifo /tmp/orders
    : >/tmp/said
    probe groups "$@" </tmp/orders >>/tmp/said 2>/tmp/complaints &
    exec 3>/tmp/orders
    eventually grep -q '^done start$' /tmp/said
}
# ask COMMAND: its answers are in /tmp/said.
ask() {
    : >/tmp/said
    echo "$1" >&3
    eventually grep -q "^done $1\$" /tmp/said
}
groups_down() {
    echo quit >&3
    exec 3>&-
    wait
}
# swap_up: a swap area on a new device, with discard of freed extents.
swap_up() {
    must create "name=flash0,$flash0"
    must mkswap /dev/flash0 >/dev/null
    must swapon -dpages /dev/flash0
}
swap_down() {
    must swapoff /dev/flash0
    must remove flash0
}
# sum WORD: of all groups, from the last answers.
sum() { awk -v word="$1" '{ for (i = 1; i < NF; i++) if ($i == word) n += $(i + 1) } END { print n + 0 }' /tmp/said; }
# of WORD: a value of the first area.
of() { sed -n "s/^area .* $1 \([0-9]*\).*/\1/p" $areas; }
# verified WORDS...: all pages come back as they were written.
verified() {
    ask back
    [ "$(sum wrong)" = 0 ] || fail "$*: $(sum wrong) pages came back with other data"
}
# at_least A B WORDS...
at_least() {
    [ "$1" -ge "$2" ] || {
        shift 2
        fail "$*"
    }
}

step 'four groups, 75 % of the area, page by page in turn'
swap_up
groups_up 4 12582912 1
ask out
ask where
cat /tmp/said $areas
pages=$(sum swapped)
at_least "$pages" 12000 "only $pages of 12288 pages were swapped out"
at_least "$(sum following)" $((pages - $(sum clusters))) "only $(sum following) of $pages slots follow the one before"
awk '/^group/ && $8 > 14 { exit 1 }' /tmp/said || fail "a group lies in too many extents: $(cat /tmp/said)"
# Each extent has one group: no extent is listed twice, and the slots of all groups are there.
[ "$(cut -d ' ' -f 1,2 /sys/kernel/debug/mars/extents | sort | uniq -d)" = '' ] || fail 'an extent has two groups'
[ "$(of refused)" = 0 ] || fail 'the stock path was used although extents were free'
reset_counters flash0
verified '75 % full'
at_least "$(counted flash0 pages_read)" $((pages - 200)) \
    "only $(counted flash0 pages_read) pages were read from the device"
ask where
reset_counters flash0
ask out
mars_written=$(counted flash0 pages_written)
step "$mars_written of $pages clean pages were written again"
[ "$mars_written" -le $((pages / 10)) ] || fail "$mars_written of $pages clean pages were written again"
groups_down

step 'freed extents are discarded'
idle() { [ "$(of stale)" = 0 ] && [ "$(of trimming)" = 0 ]; }
reset_counters flash0
eventually idle
cat $areas
at_least "$(of trims)" 48 "only $(of trims) extents were discarded"
[ "$(of trim_requests)" -lt "$(of trims)" ] || fail "$(of trims) extents took $(of trim_requests) requests"
at_least "$(counted flash0 pages_discarded)" $((48 * 256)) \
    "the device saw $(counted flash0 pages_discarded) discarded pages"
swap_down

step 'eight groups, 95 % of the area: extents run out'
swap_up
groups_up 8 7782400 16
ask out
ask where
cat /tmp/said $areas
at_least "$(sum swapped)" 15000 "only $(sum swapped) of 15200 pages were swapped out"
[ "$(of refused)" != 0 ] || fail 'the stock path was not needed: the test is too small'
verified '95 % full'
step 'all pages changed, and out again'
ask dirty
ask out
verified '95 % full, again'
groups_down
swap_down

step 'the same load as at first without MARS'
echo 0 >$settings/enabled
swap_up
[ -z "$(of extents)" ] || fail 'MARS cannot be disabled'
groups_up 4 12582912 1
ask out
ask where
cat /tmp/said
[ "$(sum following)" -lt $((pages / 2)) ] || fail 'slots follow each other without MARS: the load is no test'
verified 'without MARS'
reset_counters flash0
ask out
stock_written=$(counted flash0 pages_written)
step "$stock_written of $pages clean pages were written again"
# The stock kernel frees slots of pages that are read until half of the area is free: a third of these.
at_least "$stock_written" $((pages / 4)) 'clean pages keep their slots without MARS: the load is no test'
groups_down
swap_down

step 'other sizes of extents'
echo 1 >$settings/enabled
for bytes in 65536 4194304; do
    echo $bytes >$settings/extent_bytes
    swap_up
    groups_up 3 8388608 4
    ask out
    ask where
    cat /tmp/said $areas
    pages=$(sum swapped)
    at_least "$(sum following)" $((pages - $(sum clusters))) \
        "extents of $bytes bytes: only $(sum following) of $pages slots follow"
    verified "extents of $bytes bytes"
    groups_down
    swap_down
done
for bad in 0 -1 4096 x; do
    ! write $settings/extent_bytes $bad || fail "extent_bytes takes $bad"
done
