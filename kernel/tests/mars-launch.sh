# memory.swap.launch: the launch of a group lowers the watermarks by the reserve, refuses memory.reclaim of other
# groups, keeps kswapd from swapping out, and ends by itself.
# config: MARS_SWAP
# memory: 640MiB
# seconds: 60
areas=/sys/kernel/debug/mars/areas
settings=/sys/kernel/mm/mars
cgroups=/sys/fs/cgroup

# low_pages: the low watermarks of all zones.
low_pages() { awk '$1 == "low" { n += $2 } END { print n }' /proc/zoneinfo; }
launching() { [ "$(sed -n 's/^launching //p' $areas)" != 0 ]; }
not_launching() { ! launching; }
event() { sed -n "s/^$1 //p" /proc/vmstat; }

must create "name=flash0,$four_dies,pages=65536,program_ns=100000,queue_depth=32,depth=32,store=1"
must mkswap /dev/flash0 >/dev/null
must swapon /dev/flash0
mkfifo /tmp/orders
probe groups 2 67108864 16 </tmp/orders >>/tmp/said 2>/tmp/complaints &
exec 3>/tmp/orders
eventually grep -q '^done start$' /tmp/said

step 'the reserve raises the low watermark, a launch takes that back'
before=$(low_pages)
echo 16777216 >$settings/reserve_bytes
with=$(low_pages)
# 16 MiB, less the rounding of each zone.
[ $((with - before)) -ge 4090 ] && [ $((with - before)) -le 4096 ] || fail "16 MiB raise $before to $with pages"
[ "$(cat $cgroups/group1/memory.swap.launch)" = 0 ] || fail 'a group is launched that nothing launched'
echo 60000 >$settings/launch_cap_ms
must write $cgroups/group1/memory.swap.launch 1
[ "$(cat $cgroups/group1/memory.swap.launch)$(cat $cgroups/group2/memory.swap.launch)" = 10 ] ||
    fail 'the wrong group is launched'
[ "$(low_pages)" = "$before" ] || fail "a launch leaves $(low_pages) pages, not $before"

step 'memory.reclaim of others is refused'
! write $cgroups/group2/memory.reclaim 1048576 || fail 'another group is reclaimed during a launch'
must write $cgroups/group1/memory.reclaim 1048576
must write $cgroups/group2/memory.swap.launch 0
launching || fail 'another group has ended the launch'

# pressed: kswapd has to reclaim: free memory is made to lie below the watermark. The page cache is small then, so
# anonymous pages are what it could take.
pressed() {
    echo 3 >/proc/sys/vm/drop_caches
    swapped=$(event pswpout)
    min=$(cat /proc/sys/vm/min_free_kbytes)
    free=$(sed -n 's/^MemFree: *\([0-9]*\).*/\1/p' /proc/meminfo)
    echo $((free * 4 / 5)) >/proc/sys/vm/min_free_kbytes
    dd if=/dev/zero of=/tmp/filler bs=1M count=8 2>/dev/null
    rm /tmp/filler
    usleep 300000
    echo "$min" >/proc/sys/vm/min_free_kbytes
    usleep 100000
    swapped=$(($(event pswpout) - swapped))
}
step 'kswapd swaps out less during a launch'
pressed
held=$swapped
must write $cgroups/group1/memory.swap.launch 0
not_launching || fail 'the launch did not end'
[ "$(low_pages)" = "$with" ] || fail "the end of a launch leaves $(low_pages) pages, not $with"
pressed
step "pages that kswapd swapped out: $held during a launch, $swapped without"
[ "$swapped" -gt 100 ] || fail "kswapd swapped $swapped pages out: the load is no test"
# It may, once it finds nothing else.
[ $((held * 2)) -lt "$swapped" ] || fail "kswapd swapped $held pages out during a launch, $swapped without"

step 'a launch ends by itself, and the last one counts'
echo 300 >$settings/launch_cap_ms
must write $cgroups/group1/memory.swap.launch 1
must write $cgroups/group2/memory.swap.launch 1
[ "$(cat $cgroups/group1/memory.swap.launch)$(cat $cgroups/group2/memory.swap.launch)" = 01 ] ||
    fail 'the first launch counts'
eventually not_launching
[ "$(low_pages)" = "$with" ] || fail "its end leaves $(low_pages) pages, not $with"
! write $cgroups/group1/memory.swap.launch 2 || fail 'memory.swap.launch takes 2'
! write $settings/launch_cap_ms 0 || fail 'launch_cap_ms takes 0'

step 'a group that is removed during its launch'
must write $cgroups/group1/memory.swap.launch 1
echo quit >&3
exec 3>&-
wait
eventually not_launching
echo 0 >$settings/reserve_bytes
[ "$(low_pages)" = "$before" ] || fail "without the reserve $(low_pages) pages, not $before"
must swapoff /dev/flash0
must remove flash0
