# What slots by memory group gain: four groups are swapped out in turn (batches of a page, and of 32 pages as reclaim
# takes them) on an eMMC device of the Nexus 4 (lab/src/flash/presets/nexus4-emmc.toml), then read back one after the
# other: by faults with read-ahead of 8 and of 32 pages, and fetched at once. With MARS the device gets no more reads
# than without, and where the kernel has no checks, which distort times, nothing is slower.
# config: MARS_SWAP
# memory: 640MiB
# seconds: 300
bytes=8388608

ask() {
    : >/tmp/said
    echo "$1" >&3
    eventually grep -q "^done $1\$" /tmp/said
}
# measured ENABLED CHUNK_PAGES: KB/s of the groups read back, into back3, back5 and fetch.
measured() {
    echo "$1" >/sys/kernel/mm/mars/enabled
    must create "name=flash0,pages=16384,$nexus4,depth=4,store=1,prealloc=1"
    must mkswap /dev/flash0 >/dev/null
    must swapon /dev/flash0
    mkfifo /tmp/orders
    : >/tmp/said
    probe groups 4 $bytes "$2" </tmp/orders >>/tmp/said 2>/tmp/complaints &
    exec 3>/tmp/orders
    eventually grep -q '^done start$' /tmp/said
    for way in back3 back5 fetch; do
        echo "${way#back}" | grep -q '^[0-9]$' && echo "${way#back}" >/proc/sys/vm/page-cluster
        # Slots are new each time.
        ask dirty
        ask out
        reset_counters flash0
        ask "${way%[0-9]}"
        [ "$(awk '{ n += $4 } END { print n + 0 }' /tmp/said)" = 0 ] || fail 'pages came back with other data'
        rate=$(awk -v bytes=$bytes '
            /took_us/ { us += $6; n++ }
            END { printf "%d", n * bytes / 1.024 / (us / 1000) }' /tmp/said)
        pages="$(counted flash0 reads) reads of $(counted flash0 pages_read) pages"
        step "mars $1, batches of $2 pages, $way: $rate KB/s, $pages"
        eval "${way}_$1=$rate ${way}_reads_$1=$(counted flash0 reads)"
    done
    echo quit >&3
    exec 3>&-
    wait
    rm /tmp/orders
    must swapoff /dev/flash0
    must remove flash0
}
for chunk in 1 32; do
    measured 0 $chunk
    measured 1 $chunk
    # shellcheck disable=SC2154
    for way in back3 back5 fetch; do
        eval "stock=\$${way}_0 mars=\$${way}_1 stock_reads=\$${way}_reads_0 mars_reads=\$${way}_reads_1"
        [ "$mars_reads" -le $((stock_reads * 103 / 100)) ] ||
            fail "batches of $chunk pages, $way: $mars_reads reads with MARS, $stock_reads without"
        ! timed || [ "$mars" -ge $((stock * 97 / 100)) ] ||
            fail "batches of $chunk pages, $way: $mars KB/s with MARS, $stock without"
    done
done
