#!/system/bin/sh
# When the module is removed: at the next boot, as managers do it, where every setting is that of the kernel again; or
# by hand at once. Nothing of brisk stays.
MODDIR=${0%/*}
. "$MODDIR/places.sh"

stop_all >/dev/null 2>&1
for dir in /data/adb/ksu/bin /data/adb/ap/bin; do
    # Only what this module made.
    [ "$(readlink "$dir/brisk" 2>/dev/null)" = /data/adb/modules/brisk/brisk ] && rm -f "$dir/brisk"
done
rm -rf "$STATE" "$RUN"
exit 0
