# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0-only
# What plans are made of: shell functions for the guest, in the words of busybox. A plan is this file and calls of
# these, written by brisk-lab (lab/src/vm/plan.rs); tests in kernel/tests are scripts behind this file. Lines "@ {...}"
# are for the host; the last is {"end":true}, and before it {"dmesg":N}: how many lines of the kernel's log complain.

flash=/sys/kernel/debug/brisk_flash
queue=/sys/block/flash0/queue

# emit JSON: a line for the host.
emit() { printf '@ %s\n' "$1"; }
# step WORDS...: what comes next, for people.
step() { printf '== %s\n' "$*"; }
quoted() { printf '%s' "$*" | tr '"\\\n' "'/ "; }

complaints() {
    dmesg | grep -E 'BUG|WARNING|Oops|KASAN|KCSAN|UBSAN|possible (circular|recursive)|inconsistent lock|INFO: task'\
'|blocked for more|rcu.*stall|soft lockup|general protection|unreferenced object|scheduling while atomic|refcount_t'
}
# Memory that nothing points to any more, where the kernel looks for it. It tells only of what is older than five
# seconds and was found twice.
leaks() {
    [ -e /sys/kernel/debug/kmemleak ] || return 0
    sleep 6
    echo scan >/sys/kernel/debug/kmemleak
    echo scan >/sys/kernel/debug/kmemleak
    cat /sys/kernel/debug/kmemleak
}
# The end of a boot; nothing comes behind it.
finish() {
    leaks
    complaints
    emit "{\"dmesg\":$(complaints | wc -l)}"
    emit '{"end":true}'
    poweroff -f
    # The power goes while this waits.
    sleep 1000
}
# fail WORDS...: a test did not get what it must.
fail() {
    emit "{\"failed\":\"$(quoted "$*")\"}"
    finish
}
# must COMMAND...: or fail.
must() { "$@" || fail "$*"; }

# Whether response times are the device's. They are not where the kernel checks each of its own steps.
timed() { [ ! -e /sys/kernel/debug/kmemleak ]; }
# eventually COMMAND...: until it succeeds. Time in here passes as the machine computes, so looking costs nothing.
eventually() {
    tries=0
    while ! "$@" 2>/dev/null; do
        tries=$((tries + 1))
        [ $tries -lt 3000 ] || fail "waited in vain: $*"
        usleep 10000
    done
}
# any WORDS...: one of them.
any() { shift $((RANDOM % $#)) && echo "$1"; }

# Models of flash for `create`, whose later parameters replace earlier ones: four dies in the order of requests
# (kernel/scenarios/devices/four-dies.toml), and the eMMC of a Nexus 4 (lab/src/flash/presets/nexus4-emmc.toml).
four_dies='command_ns=6000,bus_page_ns=5000,read_ns=70000,read_next_ns=70000,read_floor_ns=70000,program_ns=400000'
four_dies="$four_dies,units=4,buffer_pages=64,block_pages=256,spare_percent=7"
nexus4='command_ns=10000,bus_page_ns=62300,read_lookup_ns=110000,read_ns=402000,read_next_ns=300000,read_ramp_pages=13'
nexus4="$nexus4,read_floor_ns=20000,program_ns=1465000,program_pages=6,program_any=0,stray_ns=6700000"
nexus4="$nexus4,stray_slice_ns=1465000,queue_depth=4,units=1,buffer_pages=32,write_cache=1,flush_ns=2000000"
nexus4="$nexus4,discard_ns=500000,erase_ns=5000000,block_pages=512,spare_percent=7,gc_low_blocks=4"
nexus4="$nexus4,read_chunk_pages=16,reads_per_turn=1"
# create NAME=VALUE,...: a flash device, see kernel/flash/debugfs.c.
create() { write "$flash/create" "$1"; }
remove() { write "$flash/remove" "$1"; }
# control DEVICE COMMAND...: a fault.
control() {
    controlled=$1
    shift
    write "$flash/$controlled/control" "$*"
}
# counted DEVICE COUNTER: its value.
counted() { sed -n "s/^$2 //p" "$flash/$1/counters"; }
reset_counters() { write "$flash/$1/counters" 0; }
# counters DEVICE LABEL: all of them for the host.
counters() {
    emit "{\"counters\":\"$2\",\"device\":\"$1\"$(sed 's/^\([^ ]*\) \(.*\)/,"\1":\2/' "$flash/$1/counters" |
        tr -d '\n')}"
}

# The first reason counts; what follows in the case is left out.
case_fails() {
    [ -n "$case_failed" ] || emit "{\"failed\":\"$(quoted "$*")\"}"
    case_failed=yes
}
write() { { printf '%s' "$2" >"$1"; } 2>/tmp/refused; }

# After booting the kernel still frees and scans things for a moment.
settle() { sleep 3; }

case_begin() {
    case_failed=
    place=/dev/flash0
    emit "{\"case\":$1}"
}

# device_up DEPTH QUEUES STORE FIELDS: a fresh flash device, /dev/flash0. STORE is raw (keeps no data), kept, or
# prepared (all memory taken at once, as swap needs it).
device_up() {
    case $3 in
    raw) kept='store=0' ;;
    kept) kept='store=1' ;;
    *) kept='store=1,prealloc=1' ;;
    esac
    create "name=flash0,depth=$1,queues=$2,$kept,$4" || case_fails "no device: $(dmesg | tail -n 1)"
}

# use_scheduler NAME
use_scheduler() {
    [ -z "$case_failed" ] || return 0
    write "$queue/scheduler" "$1" || case_fails "the device refuses the scheduler $1: $(cat /tmp/refused)"
}

# setting NAME VALUE: of the queue, or a tunable of the scheduler.
setting() {
    [ -z "$case_failed" ] || return 0
    file=$queue/iosched/$1
    case $1 in nr_requests | max_sectors_kb | wbt_lat_usec) file=$queue/$1 ;; esac
    if [ ! -e "$file" ]; then
        case_fails "there is no setting $1"
    elif ! write "$file" "$2"; then
        case_fails "$1 refuses $2: $(cat /tmp/refused)"
    fi
}

# file_system_up ext4|f2fs|swap: on the device; jobs find their files in it.
file_system_up() {
    [ -z "$case_failed" ] || return 0
    case $1 in
    ext4) mkfs.ext4 -q -E nodiscard /dev/flash0 >/tmp/mkfs 2>&1 && mount -t ext4 -o noinit_itable /dev/flash0 /mnt ;;
    f2fs) mkfs.f2fs -q -t 0 /dev/flash0 >/tmp/mkfs 2>&1 && mount -t f2fs -o background_gc=off /dev/flash0 /mnt ;;
    swap) mkswap /dev/flash0 >/tmp/mkfs 2>&1 && swapon /dev/flash0 ;;
    esac || {
        case_fails "no $1: $(tail -n 1 /tmp/mkfs)"
        return 0
    }
    place=/mnt
    [ "$1" != swap ] || place=/tmp
}

# file_up NAME MIB: a file that holds data, on the device and not in memory.
file_up() {
    [ -z "$case_failed" ] || return 0
    dd if=/dev/zero of="$place/$1" bs=1M count="$2" conv=fsync 2>/tmp/refused ||
        case_fails "no file $1: $(tail -n 1 /tmp/refused)"
    echo 3 >/proc/sys/vm/drop_caches
}

# run_probe JOBS: the load. What was needed to prepare it does not count.
run_probe() {
    [ -z "$case_failed" ] || return 0
    reset_counters flash0
    (
        if [ -b "$place" ]; then probe "$place" "$@"; else cd "$place" && probe . "$@"; fi
    ) 2>/tmp/refused || case_fails "the probe failed: $(tail -n 1 /tmp/refused)"
    counters flash0 case
}

# run_program COMMAND...: a program of ours that works on the device; what it says goes to the host.
run_program() {
    [ -z "$case_failed" ] || return 0
    reset_counters flash0
    "$@" 2>/tmp/refused || case_fails "$1 failed: $(tail -n 1 /tmp/refused)"
    counters flash0 case
}

file_system_down() {
    case $place in
    /mnt) umount /mnt || case_fails 'the file system is busy' ;;
    /tmp) swapoff /dev/flash0 || case_fails 'the swap is busy' ;;
    esac
}

device_down() {
    [ ! -e "$flash/flash0" ] || remove flash0 || case_fails 'the device stays'
}

case_end() { emit '{"case_end":true}'; }
