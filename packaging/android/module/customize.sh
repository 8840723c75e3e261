#!/system/bin/sh
# Sourced by the installer of Magisk, KernelSU or APatch, which has unpacked the archive to MODPATH and knows the
# processor (ARCH) and Android's version (API).
# shellcheck disable=SC2154 # its variables

case $ARCH in
arm64 | arm | x64) ;;
*) abort "! brisk has no program for this processor ($ARCH)" ;;
esac
# Older ones have no app's groups that are known, and no such places.
[ "${API:-0}" -ge 26 ] || abort "! brisk needs Android 8 or newer (this is API $API)"
program=$MODPATH/bin/$ARCH/brisk
[ -f "$program" ] || abort "! this archive has no program for $ARCH"
chmod 755 "$program"
# It has a C library of its own and needs none of the system's: whether this kernel runs it.
said=$("$program" -V 2>&1) || abort "! the program does not run on this device: $said"
ui_print "- $said for $ARCH"

mv "$program" "$MODPATH/bin/brisk"
rm -rf "$MODPATH/bin/arm64" "$MODPATH/bin/arm" "$MODPATH/bin/x64"
ln -sf brisk "$MODPATH/bin/briskd"
set_perm_recursive "$MODPATH" 0 0 0755 0644
for file in bin/brisk brisk service.sh post-fs-data.sh uninstall.sh action.sh; do
    set_perm "$MODPATH/$file" 0 0 0755
done

# What a person changed stays in an update.
mkdir -p /data/adb/brisk
chmod 700 /data/adb/brisk
[ -f /data/adb/brisk/brisk.toml ] || cp "$MODPATH/config.toml" /data/adb/brisk/brisk.toml
# A version that is installed gets both of its tries.
rm -f /data/adb/brisk/boots /data/adb/brisk/disabled-because
BRISK_CONFIG=/data/adb/brisk/brisk.toml "$MODPATH/bin/brisk" config check >/dev/null 2>&1 ||
    ui_print "! /data/adb/brisk/brisk.toml has an error: su -c '/data/adb/modules/brisk/brisk config check'"
# Where a manager has a folder for commands, brisk is one.
for dir in /data/adb/ksu/bin /data/adb/ap/bin; do
    [ ! -d "$dir" ] || [ -e "$dir/brisk" ] || ln -s /data/adb/modules/brisk/brisk "$dir/brisk"
done

ui_print "- it starts with the next boot, when the system is up"
ui_print "- what it does: the module's action button, or su -c '/data/adb/modules/brisk/brisk status'"
ui_print "- not yet tried on a phone by its makers: two bad boots in a row turn it off by itself"
