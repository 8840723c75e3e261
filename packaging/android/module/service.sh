#!/system/bin/sh
# When the system starts its last services; what started it does not wait for it. Waits until the system is up, and then
# keeps briskd running.
MODDIR=${0%/*}
. "$MODDIR/places.sh"

# Seconds; in the environment for tests.
BOOT_MAX=${BRISK_BOOT_MAX:-900}
GOOD_AFTER=${BRISK_GOOD_AFTER:-120}
PAUSE_MIN=${BRISK_PAUSE_MIN:-5}
PAUSE_MAX=${BRISK_PAUSE_MAX:-320}

daemon=
note() { echo "$(date '+%F %T') $*" >>"$LOG"; }
end() {
    trap '' TERM INT HUP
    # The daemon puts every setting back before it ends.
    [ -z "$daemon" ] || { kill -TERM "$daemon" 2>/dev/null && wait "$daemon"; }
    rm -f "$SUPERVISOR"
    exit 0
}
trap end TERM INT HUP

mkdir -p "$STATE" "$RUN" && chmod 700 "$STATE" "$RUN" || exit 1
if is_supervisor "$(cat "$SUPERVISOR" 2>/dev/null)"; then
    exit 0
fi
echo $$ >"$SUPERVISOR"

waited=0
until [ "$(getprop sys.boot_completed)" = 1 ]; do
    # The boot counts as one that was not good.
    [ "$waited" -lt "$BOOT_MAX" ] || {
        note "the system is not up after $BOOT_MAX s: brisk is not started in this boot"
        end
    }
    sleep 2 &
    wait $!
    waited=$((waited + 2))
done

# marks_good: this boot is one when the daemon has run for a while.
(
    sleep "$GOOD_AFTER"
    is_supervisor "$(cat "$SUPERVISOR" 2>/dev/null)" && count_is 0 && rm -f "$WHY"
) &

pause=$PAUSE_MIN
while [ ! -e "$MODDIR/disable" ] && [ ! -e "$MODDIR/remove" ]; do
    # The log lies in memory, and only what the last starts said is of use.
    : >>"$LOG"
    [ "$(wc -c <"$LOG")" -lt 262144 ] || mv "$LOG" "$LOG.1"
    begun=$(cut -d . -f 1 /proc/uptime)
    "$MODDIR/bin/briskd" >>"$LOG" 2>&1 &
    daemon=$!
    wait "$daemon"
    status=$?
    daemon=
    ran=$(($(cut -d . -f 1 /proc/uptime) - begun))
    note "briskd has ended with status $status after $ran s"
    # What it said last outlives the boot.
    tail -n 50 "$LOG" >"$STATE/last-end.log"
    # One that ran for long is started at once again; each that does not, later than the one before.
    [ "$ran" -lt 600 ] || pause=$PAUSE_MIN
    sleep "$pause" &
    wait $!
    pause=$((pause * 2))
    [ "$pause" -le "$PAUSE_MAX" ] || pause=$PAUSE_MAX
done
end
