#!/system/bin/sh
# The button of the manager: what brisk does now.
MODDIR=${0%/*}
. "$MODDIR/places.sh"

if [ -f "$WHY" ]; then
    cat "$WHY"
    exit 0
fi
"$MODDIR/bin/brisk" status || tail -n 20 "$LOG" 2>/dev/null
echo
echo "More: su -c '$MODDIR/brisk doctor'"
