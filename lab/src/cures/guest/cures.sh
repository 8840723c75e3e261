# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0-only
# What cases of the suite of cures are made of, behind kernel/guest/functions.sh: devices, file systems and memory for
# the data of an app, and its run with the requests that reach the devices.

tracing=/sys/kernel/debug/tracing
files=/mnt/home/.cache/app/files
index=/mnt/home/.cache/app/index
kept=/mnt/home/.local/share/app
# Whether file systems are made anew when they are mounted.
fresh=yes

# try COMMAND...: a step of a case. The first that fails is the reason of the case.
try() {
    [ -z "$case_failed" ] || return 0
    "$@" >/tmp/said 2>&1 || case_fails "$* failed: $(tail -n 1 /tmp/said)"
}

# card NAME DEPTH FIELDS: a device that keeps its data.
card() {
    [ -z "$case_failed" ] || return 0
    create "name=$1,depth=$2,queues=1,store=1,$3" || case_fails "no device $1: $(dmesg | tail -n 1)"
}

# mapped NAME TABLE: a device of the device mapper, /dev/mapper/NAME.
mapped() {
    # Nothing else makes its node here.
    export DM_DISABLE_UDEV=1
    try dmsetup create "$1" --table "$2"
    try dmsetup mknodes "$1"
}

# file_system KIND DEVICE DIRECTORY: a new one, unless `fresh` is no.
file_system() {
    [ "$fresh" = no ] || make_file_system "$1" "$2"
    try mkdir -p "$3"
    try mount -t "$1" -o noatime "$2" "$3"
}
make_file_system() {
    case $1 in
    ext4) try mkfs.ext4 -q -F -b 4096 -E nodiscard,lazy_itable_init=0,lazy_journal_init=0 "$2" ;;
    f2fs) try mkfs.f2fs -q -f -t 0 "$2" ;;
    btrfs) try mkfs.btrfs -q -f -K "$2" ;;
    nilfs2)
        [ -e /etc/mtab ] || ln -s /proc/mounts /etc/mtab
        try mkfs.nilfs2 -q -f -K "$2"
        ;;
    esac
}

directories() { try mkdir -p $files $index $kept; }
# in_memory DIRECTORY
in_memory() { try mount -t tmpfs memory "$1"; }
# databases_in DIRECTORY: both of them there.
databases_in() {
    try mkdir -p "$1/index" "$1/kept"
    try mount -o bind "$1/index" $index
    try mount -o bind "$1/kept" $kept
}

tracing_begins() {
    [ -z "$case_failed" ] || return 0
    echo 0 >$tracing/tracing_on
    echo 32768 >$tracing/buffer_size_kb
    echo >$tracing/trace
    echo 1 >$tracing/events/block/block_rq_issue/enable
    echo 1 >$tracing/tracing_on
}

# Bytes that reached the devices. A page is written in sequence where it follows the one that was written before it: of
# a request that continues none the first page is random. Requests of the paper's kernel were no larger than a page
# where a journal wrote them.
tracing_ends() {
    echo 0 >$tracing/tracing_on
    echo 0 >$tracing/events/block/block_rq_issue/enable
    [ -z "$case_failed" ] || return 0
    grep -q '^overrun: 0$' $tracing/per_cpu/cpu0/stats || case_fails 'the trace of requests was cut off'
    # shellcheck disable=SC2016 # awk expands it
    emit "$(awk '
        { at = 0; for (i = 1; i < NF; i++) if ($i == "block_rq_issue:") { at = i; break } }
        !at || $(at + 7) == 0 { next }
        index($(at + 2), "W") {
            device = $(at + 1); bytes = 512 * $(at + 7)
            first = $(at + 5) == end[device] ? 0 : 4096 < bytes ? 4096 : bytes
            random += first; sequential += bytes - first
            end[device] = $(at + 5) + $(at + 7); writes++
            next
        }
        index($(at + 2), "R") { read += 512 * $(at + 7) }
        END {
            printf "{\"traffic\":{\"sequential_bytes\":%d,\"random_bytes\":%d,", sequential, random
            printf "\"writes\":%d,\"read_bytes\":%d}}", writes, read
        }
    ' $tracing/trace)"
}

# prepare_app WORKLOAD SETTINGS...: what is there before the run, out of memory.
prepare_app() {
    workload=$1
    shift
    try app "/lab/files/$workload-before" $files $index/index.db $kept/kept.db "$@"
    try sync
    echo 3 >/proc/sys/vm/drop_caches
}

# run_app WORKLOAD SEED RULES SETTINGS...: on prepared directories. RULES are those of selective sync, or empty.
run_app() {
    workload=$1 seed=$2 rules=$3
    shift 3
    tracing_begins
    reset_counters flash0
    [ -n "$case_failed" ] || (
        if [ -n "$rules" ]; then
            export BRISK_SYNC_RULES="$rules
" LD_PRELOAD=/lab/files/brisk_sync.so
        fi
        exec app "/lab/files/$workload-$seed" $files $index/index.db $kept/kept.db "$@"
    ) >/tmp/ran 2>/tmp/said || case_fails "the app failed: $(tail -n 1 /tmp/said)"
    [ -n "$case_failed" ] || [ ! -s /tmp/said ] || case_fails "the app complains: $(tail -n 1 /tmp/said)"
    [ -n "$case_failed" ] || cat /tmp/ran
    sync
    tracing_ends
    counters flash0 case
}

# Also after a failure, so that the next case begins alike.
bed_down() {
    for directory in $kept $index $files /other /mnt; do
        if grep -q " $directory " /proc/mounts; then umount "$directory" || case_fails "$directory stays mounted"; fi
    done
    [ ! -e /dev/mapper/control ] || dmsetup remove_all >/tmp/said 2>&1 || case_fails 'mapped devices stay'
    for device in "$flash"/*/; do
        [ ! -e "$device/counters" ] || remove "$(basename "$device")" || case_fails "the device $device stays"
    done
}
