#!/bin/sh
# Installs packages and the phone's user. Runs as root inside of a root that debootstrap made; apt's sources and
# settings, which are this machine's, are mounted over /etc/apt and never become part of it.
#
# usage: install.sh UID PACKAGE...
set -eu

uid=$1
shift
export DEBIAN_FRONTEND=noninteractive

cat >/etc/dpkg/dpkg.cfg.d/brisk <<'END'
# No power cut is to be survived while an image is built.
force-unsafe-io
# Nobody reads these on an emulated phone; licences can be read in Debian's packages.
path-exclude=/usr/share/doc/*
path-exclude=/usr/share/man/*
path-exclude=/usr/share/info/*
path-exclude=/usr/share/lintian/*
path-exclude=/usr/share/help/*
path-exclude=/usr/share/gnome/help/*
path-exclude=/usr/share/locale/*
path-exclude=/usr/lib/chromium/locales/*
path-include=/usr/lib/chromium/locales/en-US.pak
END
# No package starts a service here.
printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d
chmod 755 /usr/sbin/policy-rc.d

apt-get -q update
apt-get -q -y --no-install-recommends install "$@"
apt-get clean

groupadd --gid "$uid" user
useradd --uid "$uid" --gid "$uid" --create-home --shell /bin/bash user
cd /home/user
mkdir -p .cache .config .local/share Documents
chown -R user:user .
