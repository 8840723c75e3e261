# What slots by memory group gain: four groups are swapped out in turn (batches of a page, and of 32 pages as reclaim takes them) on
# an eMMC device of the Nexus 4 (lab/src/flash/presets/nexus4-emmc.toml), then read back one after the other: by faults with
# read-ahead of 8 and of 32 pages, and fetched at once. With MARS the device gets no more reads than without, and where the kernel
# has no checks, which distort times, nothing is slower.
# config: MARS_SWAP
# memory: 640MiB
# seconds: 300
nexus4='pages=16384,command_ns=10000,bus_page_ns=62300,read_lookup_ns=110000,read_ns=402000,read_next_ns=300000,read_ramp_pages=13,read_floor_ns=20000,program_ns=1465000,program_pages=6,program_any=0,stray_ns=6700000,stray_slice_ns=1465000,queue_depth=4,units=1,buffer_pages=32,write_cache=1,flush_ns=2000000,discard_ns=500000,erase_ns=5000000,block_pages=512,spare_percent=7,gc_low_blocks=4,read_chunk_pages=16,reads_per_turn=1,depth=4,store=1,prealloc=1'
bytes=8388608

ask() {
    : >/tmp/said
    echo "$1" >&3
    eventually grep -q "^done $1\$" /tmp/said
}
# measured ENABLED CHUNK_PAGES: KB/s of the groups read back, into back3, back5 and fetch.
measured() {
    echo "$1" >/sys/kernel/mm/mars/enabled
    must create "name=flash0,$nexus4"
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
        rate=$(awk -v bytes=$bytes '/took_us/ { us += $6; n++ } END { printf "%d", n * bytes / 1.024 / (us / 1000) }' /tmp/said)
        step "mars $1, batches of $2 pages, $way: $rate KB/s, $(counted flash0 reads) reads of $(counted flash0 pages_read) pages"
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
        ! timed || [ "$mars" -ge $((stock * 97 / 100)) ] || fail "batches of $chunk pages, $way: $mars KB/s with MARS, $stock without"
    done
done
