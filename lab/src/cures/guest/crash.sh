# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck disable=SC2154,SC2086 # names of cures.sh and of the plan; lists of words
# Power cuts under a solution, behind cures.sh. The plan defines two functions of its own: bed, which mounts all (and
# makes the file systems where `fresh` is yes), and check_all, a call of whole for each file system.

state=/tmp/state

# A step of a case. What fails while old data is mounted again is a finding about the solution, and no fault of the lab.
try() {
    [ -z "$case_failed$finding" ] || return 0
    "$@" >/tmp/said 2>&1 && return
    if [ "$fresh" = no ]; then finding="$* failed: $(tail -n 1 /tmp/said)"; else case_fails \
        "$* failed: $(tail -n 1 /tmp/said)"; fi
}

# A writer's last request may still be about to fail.
unmount_all() {
    for directory in $kept $index $files /other /mnt; do
        tries=0
        while grep -q " $directory " /proc/mounts && ! umount $directory 2>/tmp/said; do
            tries=$((tries + 1))
            [ $tries -lt 300 ] || { case_fails "$directory stays mounted: $(tail -n 1 /tmp/said)" && return; }
            usleep 10000
        done
    done
}
unmap_all() { [ ! -e /dev/mapper/control ] || dmsetup remove_all >/tmp/said 2>&1 || case_fails 'mapped devices stay'; }

# whole KIND DEVICE: it passes its own check, with its journal replayed by the mount before. nilfs2 has no program for
# that.
whole() {
    [ -z "$case_failed$finding" ] || return 0
    case $1 in
    ext4) e2fsck -fn "$2" >/tmp/fsck 2>&1 ;;
    f2fs) fsck.f2fs --dry-run "$2" >/tmp/fsck 2>&1 && ! grep -q 'Fail' /tmp/fsck ;;
    btrfs) btrfs check --readonly "$2" >/tmp/fsck 2>&1 ;;
    nilfs2) return 0 ;;
    esac || {
        emit "{\"unclean\":\"$1: $(quoted "$(tail -n 2 /tmp/fsck)")\"}"
        finding=unclean
    }
}

# cut_once SEED DEVICES: from a mount to a checked file system. Of devices that are not named the power stays.
cut_once() {
    [ -z "$case_failed" ] || return 0
    seed=$1 gone=$2
    controls=
    for device in $gone; do controls="$controls cut=$flash/$device/control"; done
    [ -z "$finding" ] || fresh=yes
    finding=
    bed
    fresh=no
    [ -n "$case_failed" ] || (
        if [ -n "$rules" ]; then
            export BRISK_SYNC_RULES="$rules
" LD_PRELOAD=/lab/files/brisk_sync.so
        fi
        exec crash run $files $index/index.db $kept/kept.db $state "seed=$seed" $load $settings $controls
    ) >/tmp/ran 2>&1 || case_fails "cut $seed: $(grep 'error:' /tmp/ran | tail -n 1)"
    [ -z "$case_failed" ] || return 0
    if [ "$gone" != "$devices" ]; then
        echo 3 >/proc/sys/vm/drop_caches
        crash read $files $state
    fi
    unmount_all
    unmap_all
    for device in $gone; do control "$device" power_on; done
    # The other device was written meanwhile: what they hold together is a file system no longer.
    if [ "$gone" != "$devices" ]; then
        dmesg -c >/dev/null
        fresh=yes
        return 0
    fi
    echo 3 >/proc/sys/vm/drop_caches
    # What the kernel said about devices without power is no complaint.
    dmesg -c >/dev/null
    bed
    if [ -z "$finding" ]; then
        crash check $files $index/index.db $kept/kept.db $state $settings 2>/tmp/ran ||
            case_fails "check: $(tail -n 1 /tmp/ran)"
    else
        emit "{\"unmountable\":\"$(quoted "$finding")\"}"
    fi
    unmount_all
    check_all
    unmap_all
    [ "$(complaints | wc -l)" -eq 0 ] || case_fails "the kernel complains: $(complaints | head -n 1)"
    dmesg -c >/dev/null
}

# cuts COUNT SEED FRESH_EVERY: until so many have found something at risk; those that do not are few, or all.
cuts() {
    counted=0 tried=0
    mkdir -p $state
    while [ -z "$case_failed" ] && [ $counted -lt "$1" ]; do
        [ $tried -lt $((2 * $1 + 10)) ] || break
        [ $((tried % $3)) -ne 0 ] || fresh=yes
        which=$devices
        # Of a stripe one device is pulled now and then, the other one keeps its power.
        [ -z "$pulls" ] || [ $((tried % 5)) -ne 4 ] || which=$pulls
        cut_once $(($2 + tried)) "$which"
        tried=$((tried + 1))
        [ "$which" = "$devices" ] || continue
        read -r _ lost <$state/cut
        [ "$lost" -eq 0 ] || counted=$((counted + 1))
        # Without anything at risk from the begin there never is.
        [ $tried -lt 10 ] || [ $counted -gt 0 ] || break
    done
}
