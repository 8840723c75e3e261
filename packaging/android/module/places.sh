#!/system/bin/sh
# Where things are, for the scripts of this module and the commands that it gives: sourced, with MODDIR set.
# shellcheck disable=SC2034 # by those that source it

# What stays: configuration, what was learned, the record, and what the watchdog counts.
STATE=/data/adb/brisk
# What a restart of the device empties (/dev is a tmpfs): lock, sockets, and what has to be put back.
RUN=/dev/brisk
# Boots in a row that were not good: counted up at the beginning of each, and put to 0 by a good one.
BOOTS=$STATE/boots
# Why the watchdog has disabled the module.
WHY=$STATE/disabled-because
LOG=$RUN/log
SUPERVISOR=$RUN/supervisor.pid

export BRISK_CONFIG=$STATE/brisk.toml BRISK_RUN_DIR=$RUN BRISK_STATE_DIR=$STATE BRISK_PROFILES=$STATE/profiles
# There is no /tmp.
export TMPDIR=/data/local/tmp

# is_supervisor PID: whether this process is the loop of service.sh, and not another one that got its number.
is_supervisor() {
    [ -n "$1" ] && tr '\0' ' ' <"/proc/$1/cmdline" 2>/dev/null | grep -q "$MODDIR/service.sh"
}

# count: boots in a row that were not good so far.
count() {
    boots=$(cat "$BOOTS" 2>/dev/null)
    case $boots in
    '' | *[!0-9]*) boots=0 ;;
    esac
    echo "$boots"
}

# count_is N: as a whole or not at all.
count_is() {
    echo "$1" >"$BOOTS.new" && mv "$BOOTS.new" "$BOOTS"
}

# stop_all: the loop first, so that it starts no other daemon; then the daemon, which puts every setting back.
stop_all() {
    loop=$(cat "$SUPERVISOR" 2>/dev/null)
    if is_supervisor "$loop"; then
        kill -TERM "$loop" 2>/dev/null
        # The daemon ends within seconds.
        tries=0
        while is_supervisor "$loop" && [ "$tries" -lt 20 ]; do
            sleep 1
            tries=$((tries + 1))
        done
    fi
    rm -f "$SUPERVISOR"
    # A daemon that was killed has left settings.
    "$MODDIR/bin/brisk" reset
}
