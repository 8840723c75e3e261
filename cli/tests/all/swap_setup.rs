//! `brisk swap setup` and `undo` as a user runs them, in mounts of their own. Needs root.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use brisk_requires::requires;

/// Prints for a failed assertion.
fn said(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!("{:?}\n{}{}", output.status, text(&output.stdout), text(&output.stderr))
}

/// What a script begins with. Its devices end with it, also where it fails.
const BEFORE: &str = r#"set -eu
losetup() { flock /dev/loop-control losetup "$@"; }
own() { losetup -n -O NAME,BACK-FILE | grep -F "$T" | cut -d ' ' -f 1; }
trap '{ for d in $(own); do swapoff $d; losetup -d $d; done; } 2>/dev/null || true' EXIT
mount --make-rprivate /
mkdir -p /var/lib/brisk; mount -t tmpfs none /var/lib/brisk
mkdir $T/etc; mount -t tmpfs none $T/etc; cp -a /etc/. $T/etc; mount --bind $T/etc /etc
"#;

/// Runs a script in mounts of its own, with `$T`, a folder on a disk, and `$BRISK`. The record of set-ups and /etc are
/// copies that end with it, so that nothing of a test that fails is on this machine.
fn run(dir: &Path, script: &str) -> Output {
    let output = Command::new("unshare")
        .args(["--mount", "sh", "-c", &format!("{BEFORE}{script}")])
        .env("T", dir)
        .env("BRISK", env!("CARGO_BIN_EXE_brisk"))
        .stdin(Stdio::null())
        .output();
    output.expect("unshare")
}

fn ground() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory")
}

#[test]
fn on_an_immutable_system_the_area_is_where_it_can_be_and_for_this_boot() {
    requires!(Root, Mount, Loop, SwapFile, Program("unshare"), Program("mkfs.ext4"), Program("mkswap"));
    for systemd in ["", "mount -t tmpfs none /run; mkdir -p /run/systemd/system\n"] {
        let dir = ground();
        let script = format!(
            "mount --bind $T $T; cd $T; truncate -s 256M $T/image; mkfs.ext4 -q -F $T/image; mkdir -p $T/var; mount -o \
             loop $T/image $T/var
mkdir -p $T/var/lib/brisk; mount --bind $T/var /var; {systemd}
mount -o remount,bind,ro /
mount -o remount,bind,ro /etc
$BRISK swap setup --dry-run >/var/planned
$BRISK swap setup --later --yes 2>/var/later && exit 3
test ! -e /var/swapfile -a ! -e /var/lib/brisk/swap.json
$BRISK swap setup --yes >/var/made || {{ cat /var/made; exit 4; }}
grep -q ^/var/swapfile /proc/swaps
$BRISK swap undo
cat /var/planned /var/later
grep /var/swapfile /proc/swaps || true
ls -A /var /var/lib/brisk
"
        );
        let output = run(dir.path(), &script);
        let said = said(&output);
        if said.contains("the kernel does not switch") {
            return brisk_requires::skip(brisk_requires::Capability::SwapFile, said);
        }
        assert!(output.status.success(), "{said}");
        for part in [
            "/var/swapfile: a swap area of",
            "After a restart: nothing switches it on",
            "Read-only file system",
            "brisk: --later makes areas for the next restart",
            "/var/swapfile is off and removed",
        ] {
            assert!(said.contains(part), "{part}: {said}");
        }
        assert!(said.ends_with("/var:\nlater\nlib\nlost+found\nmade\nplanned\n\n/var/lib/brisk:\n"), "{said}");
    }
}

#[test]
fn a_dry_run_finds_what_the_set_up_finds() {
    requires!(Root, Mount, Loop, Program("unshare"), Program("mkfs.ext4"), Program("mkswap"), Program("blkid"));
    let setup = "
free() { losetup -d $1 2>/dev/null || true; }
device() { truncate -s $2 $T/$1; losetup --find --show $T/$1; }
try() { for how in --dry-run --yes; do
code=0; $BRISK swap setup --zram 0 $how \"$@\" 2>&1 || code=$?; echo \"exit $code\"; done; echo ==; }
";
    let check = |script: &str, expected: &str| {
        let dir = ground();
        let output = run(dir.path(), &format!("{setup}{script}\ntest ! -e /var/lib/brisk/swap.json"));
        let said = said(&output);
        assert!(output.status.success(), "{said}");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let tries: Vec<_> = text.split("==\n").filter(|one| !one.trim().is_empty()).collect();
        assert!(!tries.is_empty(), "{said}");
        for one in tries {
            let (dry, real) = one.split_once("exit 2\n").unwrap_or_else(|| panic!("the dry run passes: {said}"));
            assert_eq!(format!("{dry}exit 2\n"), real, "{said}");
            assert!(dry.contains(expected), "{expected}: {said}");
        }
    };
    // Mounted, on one device and on the second of two.
    check(
        "d=$(device a 32M); mkfs.ext4 -q $d; mkdir -p $T/place; mount $d $T/place
try $d; try --destroy-data $d; umount $T/place; free $d",
        "is in use (mounted at ",
    );
    if Command::new("mkfs.btrfs").arg("--version").output().is_ok() {
        check(
            "a=$(device a 128M); b=$(device b 128M); mkfs.btrfs -q -f $a $b >/dev/null; mkdir -p $T/place; mount $a \
             $T/place
try --destroy-data $a; try --destroy-data $b; umount $T/place; free $a; free $b",
            "is in use (",
        );
    }
    // A partition table, with and without leave to destroy.
    check(
        "d=$(device c 32M); printf '\\0\\0\\0\\0\\203\\0\\0\\0\\10\\0\\0\\0\\20\\0\\0\\0' | dd of=$d bs=1 seek=446 \
         status=none
printf '\\125\\252' | dd of=$d bs=1 seek=510 status=none; sync; try --destroy-data $d; free $d",
        "holds partitions",
    );
    check("d=$(device d 32M); mkfs.ext4 -q -L keep $d; try $d; free $d", "(ext4 'keep') would be lost");
    check("d=$(device e 64K); try --destroy-data $d; free $d", "is too small for swap");
    check("truncate -s 32M $T/f; d=$(losetup --find --show -r $T/f); try --destroy-data $d; free $d", "is read-only");
    check("echo x >$T/a; try $T/a; ln -sf nowhere $T/g; try $T/g", "exists already and is left as it is");
    check("try $T; try /", "is a directory");
    check("try /dev/null", "is no block device");
    check("mount -t tmpfs none /mnt; try /mnt/swap", "is on tmpfs, whose files cannot hold swap");
    check(
        "truncate -s 64M $T/h; mkfs.ext4 -q $T/h; mkdir $T/place; mount -o loop $T/h $T/place
try --size 900TiB $T/place/new; umount $T/place",
        "the file system has room for",
    );
    check(
        "mkdir -p $T/ro; mount --bind $T/ro $T/ro; mount -o remount,bind,ro $T/ro; try $T/ro/swap",
        "Read-only file system",
    );
    check(
        "mount -o remount,ro /var/lib/brisk; try $T/new",
        "can be kept in /var/lib/brisk, and without one nothing could be undone",
    );
}

#[test]
fn without_a_terminal_it_asks_for_a_yes_and_makes_nothing() {
    requires!(Root, Mount, Program("unshare"));
    let dir = ground();
    let output = run(dir.path(), "$BRISK swap setup --size 1MiB $T/new; echo \"exit $?\"");
    let output = said(&output);
    // The plan is shown before.
    assert!(
        output.contains("/new: a swap area of 1 MiB") || output.contains("whose files cannot hold swap"),
        "{output}"
    );
    if output.contains("a swap area of") {
        assert!(output.contains("nothing was made: there is no terminal to ask at: give --yes"), "{output}");
    }
    assert!(!dir.path().join("new").exists());
}

#[test]
fn an_undo_names_what_is_left_and_the_next_one_goes_on() {
    requires!(Root, Mount, Loop, Program("unshare"), Program("mkfs.ext4"), Program("mkswap"));
    let dir = ground();
    fs::write(dir.path().join("fstab"), b"# caf\xe9").expect("written");
    let script = "
mkdir $T/place; truncate -s 64M $T/image; mkfs.ext4 -q -F $T/image; mount -o loop $T/image $T/place
cp $T/fstab /etc/fstab; mount -t tmpfs none /run
$BRISK swap setup --yes --later --size 1MiB --zram 0 $T/place/swap
mount -o remount,bind,ro /etc
$BRISK swap undo && exit 3
test ! -e $T/place/swap
$BRISK swap undo --json >$T/left.json && exit 4
mount -o remount,bind,rw /etc
$BRISK swap undo
cmp $T/fstab /etc/fstab
$BRISK swap undo && exit 5
umount $T/place
";
    let output = run(dir.path(), script);
    let said = said(&output);
    assert!(output.status.success(), "{said}");
    for part in [
        "brisk: left: the line of",
        "Read-only file system",
        "By hand: ",
        "'brisk swap undo' goes on",
        "place/swap is off and removed",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let json: serde_json::Value =
        serde_json::from_slice(&fs::read(dir.path().join("left.json")).expect("JSON")).expect("JSON");
    assert!(json["left"][0]["by_hand"].as_str().is_some_and(|text| text.contains("fstab")), "{json}");
}

#[test]
fn a_set_up_that_is_killed_or_fails_late_is_taken_back() {
    requires!(Root, Mount, Loop, Program("unshare"), Program("mkfs.ext4"), Program("mkswap"));
    let dir = ground();
    // In place of mkswap: one that ends brisk before its work, or after it.
    let script = r#"
mkdir $T/place $T/bin; truncate -s 64M $T/image; mkfs.ext4 -q -F $T/image; mount -o loop $T/image $T/place
printf '# caf\351' >/etc/fstab; cp /etc/fstab $T/fstab; mount -t tmpfs none /run
truncate -s 32M $T/disk; d=$(losetup --find --show $T/disk); mkswap=$(command -v mkswap)
for work in true "$mkswap"; do
    printf '#!/bin/sh\n%s "$@"\nkill -9 $PPID\n' "$work" >$T/bin/mkswap; chmod +x $T/bin/mkswap
    for where in $T/place/swap $d; do
        size='--size 1MiB'; test $where != $d || size=--destroy-data
        PATH=$T/bin:$PATH $BRISK swap setup --yes --later --zram 0 $size $where && exit 3
        test -e /var/lib/brisk/swap.json
        $BRISK swap undo
        test ! -e /var/lib/brisk/swap.json -a ! -e $T/place/swap -a ! -e $T/place/swap.unfinished
        cmp $T/fstab /etc/fstab; blkid -p $d && exit 4 || true
    done
done
printf '#!/bin/sh\nmount --bind %s %s\nexit 1\n' $T/place/swap.unfinished $T/place/swap.unfinished >$T/bin/mkswap
PATH=$T/bin:$PATH $BRISK swap setup --yes --later --zram 0 --size 1MiB $T/place/swap && exit 6
test -e /var/lib/brisk/swap.json -a -e $T/place/swap.unfinished
umount $T/place/swap.unfinished; $BRISK swap undo; test ! -e $T/place/swap.unfinished
mount -t tmpfs -o size=8k none /etc; cp $T/fstab /etc/fstab; cat /dev/zero >/etc/full 2>/dev/null || true
$BRISK swap setup --yes --later --zram 0 --size 1MiB $T/place/swap && exit 5
test ! -e /var/lib/brisk/swap.json -a ! -e $T/place/swap
cmp $T/fstab /etc/fstab
umount $T/place; losetup -d $d
"#;
    let output = run(dir.path(), script);
    let said = said(&output);
    assert!(output.status.success(), "{said}");
    assert_eq!(said.matches("is off and removed").count(), 5, "{said}");
    assert!(said.contains("not all that was made could be removed:\n  the swap file "), "{said}");
    assert!(said.contains("By hand: 'rm ") && said.contains("/place/swap.unfinished'\n"), "{said}");
    assert!(said.contains("cannot write /etc/fstab: No space left on device"), "{said}");
}
