#!/system/bin/sh
# Early in each boot, which waits for it: the watchdog, and heap limits of apps where a person asked for some. No more
# than a few files: nothing of brisk runs before the system is up.
MODDIR=${0%/*}
. "$MODDIR/places.sh"

# A boot is good when the system is up and brisk has run for some minutes (service.sh). After two in a row that were
# not, this one starts without brisk, and so do all to come.
[ -d "$STATE" ] || mkdir -p "$STATE"
boots=$(count)
if [ "$boots" -ge 2 ]; then
    touch "$MODDIR/disable"
    echo "the last $boots starts of this device did not end well, so brisk is off: enable the module to try again" \
        >"$WHY"
    # Who enables it begins anew.
    count_is 0
    exit 0
fi
count_is $((boots + 1))

# Lines as 'dalvik.vm.heapsize=384m'. They hold for apps that start from now on, until the next boot.
[ -f "$STATE/heap.prop" ] || exit 0
PATH=$PATH:/data/adb/ksu/bin:/data/adb/ap/bin:/data/adb/magisk
command -v resetprop >/dev/null || exit 0
while IFS='=' read -r name value; do
    case $name in
    dalvik.vm.heapsize | dalvik.vm.heapgrowthlimit | dalvik.vm.heapstartsize) ;;
    *) continue ;;
    esac
    case $value in
    [1-9]*m) [ -n "${value%m}" ] && case ${value%m} in *[!0-9]*) continue ;; esac ;;
    *) continue ;;
    esac
    resetprop "$name" "$value"
done <"$STATE/heap.prop"
exit 0
