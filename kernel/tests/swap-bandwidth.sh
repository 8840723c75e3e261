# How fast hot sets return from swap on the eMMC device of the Nexus 4 (lab/src/flash/presets/nexus4-emmc.toml), as a
# share of its sequential read: eight groups fill 75 and 95 % of the area; a tenth of each is hot, or, as in the paper,
# all of it. Two ways out: batches of 32 pages of each group in turn, as reclaim takes them (evicted), or each group at
# once, its hot set last, as the memory engine does (parked). Ways back: faults with vm.page-cluster 0, 3 and 5, and
# process_madvise(MADV_WILLNEED) in the order of slots (ahead). Each return writes half of the hot set, after reading
# it. The patch of kernel/mars must bring whole groups back at 95 % of the sequential read at 75 % full;
# kernel/mars/README.rst has the figures, and those of 6.12-plain. It takes ten minutes and more, so it runs on the
# lab's own kernels (KUNIT) only.
# config: MEMCG PROC_PAGE_MONITOR KUNIT
# memory: 768MiB
# seconds: 1200
mars=/sys/kernel/mm/mars
groups=8
rounds=3

ask() {
    : >/tmp/said
    echo "$1" >&3
    eventually grep -q "^done $1\$" /tmp/said
}
# sum WORD: of all groups, from the last answers.
sum() { awk -v word="$1" '{ for (i = 1; i < NF; i++) if ($i == word) n += $(i + 1) } END { print n + 0 }' /tmp/said; }
# per_s PAGES MICROSECONDS: KiB/s.
per_s() { awk -v pages="$1" -v us="$2" 'BEGIN { printf "%d", us ? pages * 4 * 1000000 / us : 0 }'; }

# Nothing was moved and erased in the device for longer than it takes to move a page.
is_idle() {
    tidied=$(counted flash0 pages_moved)/$(counted flash0 erases)
    usleep 50000
    [ "$tidied" = "$(counted flash0 pages_moved)/$(counted flash0 erases)" ]
}

# Reads that did not continue a run.
runs() { echo $(($(counted flash0 reads) - $(counted flash0 run_reads))); }

# groups_up FULL_PERCENT HOT_PERCENT
groups_up() {
    must create "name=flash0,pages=$area_pages,$nexus4,depth=4,store=1,prealloc=1"
    must mkswap /dev/flash0 >/dev/null
    must swapon /dev/flash0
    mkfifo /tmp/orders
    : >/tmp/said
    probe groups $groups $((area_pages * 4096 * $1 / 100 / groups)) 32 "$2" </tmp/orders >>/tmp/said 2>/tmp/complaints &
    exec 3>/tmp/orders
    eventually grep -q '^done start$' /tmp/said
}
groups_down() {
    echo quit >&3
    exec 3>&-
    wait
    rm /tmp/orders
    must swapoff /dev/flash0
    must remove flash0
}
# returned COMMAND WORDS...: a return of all groups. Rates are those of the device, over the time in which it had
# requests: times of the processor mean nothing here. The share of the sequential read, in thousandths, is in share.
returned() {
    command=$1
    shift
    ask hot
    swapped=$(sum swapped) following=$(sum following)
    # Writes of the swap-out end before it, and what the device tidies up for them.
    must sync /dev/flash0
    eventually is_idle
    reset_counters flash0
    ask "$command"
    [ "$(sum wrong)" = 0 ] || fail "$*: $(sum wrong) pages came back with other data"
    [ "$(counted flash0 pages_read)" -ge "$swapped" ] ||
        fail "$*: only $(counted flash0 pages_read) of $swapped pages were read"
    busy_us=$(($(counted flash0 busy_ns) / 1000))
    rate=$(per_s "$swapped" $busy_us)
    share=$((rate * 1000 / sequential))
    reads="reads $(counted flash0 reads) runs $(runs) pages_read $(counted flash0 pages_read)"
    step "$*: hot $swapped following $following $reads" \
        "moved $(counted flash0 pages_moved) busy_us $busy_us took_us $(sum took_us) KiB/s $rate share $share"
}
# measured MODE FULL_PERCENT HOT_PERCENT
measured() {
    # Of all that is hot, half an area has enough.
    area_pages=$(($3 < 100 ? 32768 : 16384))
    groups_up "$2" "$3"
    hot_min=$((area_pages * $2 * $3 / 10000 * 9 / 10))
    ask out
    # Slots are those of hot sets that returned before.
    for way in 3 5; do
        echo $way >/proc/sys/vm/page-cluster
        ask touch
        ask evict
    done
    round=0
    while [ $((round += 1)) -le $rounds ]; do
        for way in 0 3 5 ahead; do
            if [ $way = ahead ]; then
                returned ahead "$1 full $2 % hot $3 %, evicted, ahead"
                [ "$1 $2 $3" != 'mars 75 100' ] || [ $share -ge 950 ] ||
                    fail "MARS brings whole groups back at $share thousandths only"
            else
                echo $way >/proc/sys/vm/page-cluster
                returned touch "$1 full $2 % hot $3 %, evicted, page-cluster $way"
            fi
            ask evict
        done
    done
    groups_down

    groups_up "$2" "$3"
    echo 3 >/proc/sys/vm/page-cluster
    ask park
    ask ahead
    ask park
    round=0
    while [ $((round += 1)) -le $rounds ]; do
        returned ahead "$1 full $2 % hot $3 %, parked, ahead"
        [ "$swapped" -ge $hot_min ] || fail "only $swapped hot pages were in swap"
        # One run of a hot set of a tenth has 918.
        [ $share -ge 750 ] ||
            fail "$1 full $2 % hot $3 %: written at once, hot sets come back at $share thousandths only"
        ask park
    done
    groups_down
}

timed || {
    step 'no times of the device: the kernel checks each of its own steps'
    finish
}
must create "name=flash0,pages=32768,$nexus4,depth=4,store=1,prealloc=1"
must dd if=/dev/zero of=/dev/flash0 bs=1M count=128 conv=fsync 2>/dev/null
sequential=0
for ahead_kib in 128 1024; do
    echo 3 >/proc/sys/vm/drop_caches
    echo $ahead_kib >$queue/read_ahead_kb
    reset_counters flash0
    must dd if=/dev/flash0 of=/dev/null bs=1M count=128 2>/dev/null
    busy_us=$(($(counted flash0 busy_ns) / 1000))
    rate=$(per_s "$(counted flash0 pages_read)" $busy_us)
    step "sequential read, $ahead_kib KiB ahead: $(counted flash0 reads) reads busy_us $busy_us KiB/s $rate"
    [ "$rate" -le "$sequential" ] || sequential=$rate
done
# What the preset allows a hot set of a tenth, when it is one run.
for pages in 311 398; do
    reset_counters flash0
    for group in 7 6 5 4 3 2 1 0; do
        must dd if=/dev/flash0 of=/dev/null bs=$((pages * 4096)) skip=$((group * 10)) count=1 iflag=direct 2>/dev/null
    done
    rate=$(per_s $((8 * pages)) $(($(counted flash0 busy_ns) / 1000)))
    reads="$(counted flash0 reads) reads runs $(runs)"
    step "a run of $pages pages: $reads KiB/s $rate share $((rate * 1000 / sequential))"
done
must remove flash0

# stock, mars, or keep: MARS with keep_percent 100, which lays hot sets out anew each time, as the stock kernel does.
# With less than 6 % of the area free they are the same.
mode=stock
[ ! -e $mars/enabled ] || mode=mars
for part in '75 10' '95 10' '95 100' '75 100'; do
    measured $mode $part
done
if [ $mode = mars ]; then
    echo 100 >$mars/keep_percent
    measured keep 75 10
fi
