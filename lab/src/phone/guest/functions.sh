# shellcheck shell=sh
# What plans of phones are made of: a plan is this file and calls of these, written by brisk-lab (plan.rs). It runs as
# root in the phone; its output is the serial port.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 HOME=/root

emit() { printf '@ %s\n' "$1"; }
step() { emit "{\"step\":\"$1\"}"; }
fail() {
    emit "{\"failed\":\"$(printf '%s' "$*" | tr '"\\\n' "'/ ")\"}"
    off
}
# The power goes at once: nothing is kept.
off() {
    systemctl poweroff --force --force
    sleep 1000
}
# The kernel's messages do not come between the lines for the host; finish counts its complaints.
quiet() { dmesg -n 1; }

# settle: start-up is over, and the session of the user is there.
settle() {
    tries=0
    while ! [ -S /run/user/10000/bus ] || [ "$(systemctl is-system-running)" = starting ]; do
        tries=$((tries + 1))
        [ $tries -lt 600 ] || fail "the system does not come up: $(systemctl list-jobs --no-legend | head -n 3)"
        sleep 0.1
    done
    sleep "$1"
}

# swap_up KIND MIB PRIORITY: zram or flash.
swap_up() {
    case $1 in
    zram)
        area=/dev/zram0
        echo "${2}M" >/sys/block/zram0/disksize || fail 'no zram'
        ;;
    flash)
        area=/swapfile
        fallocate -l "${2}M" $area || fail 'no swap file'
        chmod 600 $area
        ;;
    esac
    mkswap "$area" >/dev/null || fail "no swap on $1"
    swapon --priority "$3" "$area" || fail "no swap on $1"
}

mglru_off() { echo n >/sys/kernel/mm/lru_gen/enabled || fail 'this kernel has no generations'; }

# writers_up SPEC: a service that writes as one that installs apps does, and brisk takes it for that by its name.
writers_up() {
    systemd-run --quiet --unit=apt-writers.service --uid=10000 --gid=10000 brisk-lab phone write "$1" ||
        fail 'no writers'
    sleep 5
    systemctl is-active --quiet apt-writers.service ||
        fail "no writers: $(journalctl --unit=apt-writers --output=cat | tail -n 1)"
}

# after_start SECONDS COMMAND...: runs a command so long after a start, with nothing in memory when that began. Of brisk
# the service starts anew; other programs go on.
after_start() {
    seconds=$1 starts=
    shift
    ! systemctl is-active --quiet briskd || starts=yes
    [ -z "$starts" ] || systemctl stop briskd || return
    sync
    echo 3 >/proc/sys/vm/drop_caches || return
    [ -z "$starts" ] || systemctl start briskd || return
    sleep "$seconds"
    "$@"
}

# inside NAME COMMAND...: runs a command and sends what it prints.
inside() {
    emit "{\"begin\":\"$1\"}"
    shift
    code=0
    "$@" >/run/phone/said 2>/run/phone/complained </dev/null || code=$?
    sed 's/^/> /' /run/phone/said
    sed 's/^/! /' /run/phone/complained
    emit "{\"code\":$code}"
}

complaints() {
    dmesg | grep -cE 'BUG|WARNING|Oops|INFO: task|blocked for more|rcu.*stall|soft lockup|general protection'\
'|invoked oom-killer'
}
unit() { systemctl show briskd --property "$1" --value; }
# finish: facts about the machine, and its end.
finish() {
    sed 's/^\([^ ]*\) \(.*\)/@ {"flash_\1":\2}/' /sys/kernel/debug/brisk_flash/flash0/counters
    emit "{\"kernel_complaints\":$(complaints)}"
    emit "{\"uptime_s\":$(cut -d ' ' -f 1 /proc/uptime)}"
    awk '/^(MemTotal|MemAvailable):/ { printf "@ {\"%s_kib\":%s}\n", tolower(substr($1, 1, length($1) - 1)), $2 }' \
        /proc/meminfo
    awk '$1 ~ /^(pswpin|pswpout|pgmajfault|oom_kill|workingset_refault_.*)$/ { printf "@ {\"%s\":%s}\n", $1, $2 }' \
        /proc/vmstat
    for resource in cpu io memory; do
        sed -n "s/^some.*total=\(.*\)/@ {\"waited_${resource}_us\":\1}/p" /proc/pressure/$resource
    done
    if systemctl is-active --quiet apt-writers.service; then
        emit "{\"writers_s\":$(awk -v begin="$(systemctl show apt-writers --property ExecMainStartTimestampMonotonic \
            --value)" '{ printf "%.3f", $1 - begin / 1e6 }' /proc/uptime)}"
        awk '$1 == "write_bytes:" { printf "@ {\"writers_bytes\":%s}\n", $2 }' \
            "/proc/$(systemctl show apt-writers --property MainPID --value)/io"
    fi
    if [ "$(unit ActiveState)" = active ]; then
        emit "{\"briskd_cpu_ns\":$(unit CPUUsageNSec),\"briskd_restarts\":$(unit NRestarts)}"
        awk '/^VmHWM:/ { printf "@ {\"briskd_peak_kib\":%s}\n", $2 }' "/proc/$(unit MainPID)/status"
    fi
    emit '{"end":true}'
    off
}
