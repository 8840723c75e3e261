#!/bin/sh
# Takes out what is of the build and of the machine that it ran on, and lists what is installed.
#
# usage: tidy.sh
set -eu

dpkg-query --show --showformat '${Package} ${Version}\n' >/packages

rm -rf /usr/share/doc /usr/share/man /usr/share/info /usr/share/lintian /usr/share/locale
rm -rf /var/lib/apt/lists /var/cache/apt /var/cache/debconf/*-old /var/lib/*/status-old /var/lib/*/available-old \
    /var/lib/*/diversions-old /var/lib/*/statoverride-old /var/log
rm -f /usr/sbin/policy-rc.d /etc/dpkg/dpkg.cfg.d/brisk
mkdir -p /var/lib/apt/lists/partial /var/cache/apt/archives/partial /var/log /usr/share/locale

echo phone >/etc/hostname
printf '127.0.0.1 localhost phone\n::1 localhost\n' >/etc/hosts
: >/etc/resolv.conf
printf 'deb http://deb.debian.org/debian bookworm main\n' >/etc/apt/sources.list
# An identity that is the same in every image, so that two are alike.
printf '6272697368627269736862726973686b\n' >/etc/machine-id
