# A device with memory of its own takes none that the kernel uses, and none that it cannot keep images in.
# memory: 256MiB
# seconds: 5
step 'memory of the kernel is refused'
if create 'name=flash0,pages=16384,memory_at_mib=64'; then fail 'the flash took memory of the kernel'; fi
[ ! -e /sys/block/flash0 ] || fail 'a refused device is there'

step 'images for power cuts are refused'
if create 'name=flash0,pages=16384,memory_at_mib=4096,power_cut=1'; then
    fail 'power cuts of memory that has no pages'
fi

step 'the refusals leave nothing behind'
must create 'name=flash0,pages=16384'
must remove flash0
