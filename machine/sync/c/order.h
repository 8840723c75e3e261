/*
 * Which file systems may be loosened at all, and which keep order by themselves.
 *
 * Order. A sync may be left out, with order kept, only where no later write can reach the flash before an earlier one.
 * The page cache gives no such order: write-back picks pages as it likes. ext4 gives it for files whose data goes
 * through its journal (the mount option `data=journal`, or the attribute j of the file together with the mount option
 * `nodelalloc`, without which ext4 ignores that attribute, see ext4_inode_journal_mode() in fs/ext4/ext4_jbd2.c;
 * encrypted files never): all changes of such files and of all directories belong to transactions of the journal, which
 * become durable one after the other, each whole or not at all. After a power cut, these files are therefore together
 * as they were at one moment. A transaction ends at the latest when the interval `commit` (5 s without the option) is
 * over, which bounds the age of that moment.
 *
 * So the class ordered is granted to a file on ext4 with a journal and barriers, whose data is journalled, and whose
 * interval is not longer than the bound of the rule. Every other file of that class stays durable.
 *
 * No function here allocates or locks.
 */
#ifndef BRISK_ORDER_H
#define BRISK_ORDER_H

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

/* The journal's interval without the mount option, in s (JBD2_DEFAULT_MAX_COMMIT_AGE). */
#define BRISK_COMMIT_SECONDS 5

/*
 * File systems of this machine's own storage, by f_type (linux/magic.h). FUSE, overlays and networks are none of them.
 */
static inline bool brisk_is_local(const struct statfs *found)
{
	switch ((uint32_t)found->f_type) {
	case 0xEF53:     /* ext2, ext3, ext4 */
	case 0xF2F52010: /* f2fs */
	case 0x9123683E: /* btrfs */
	case 0x58465342: /* xfs */
	case 0x3434:     /* nilfs2 */
	case 0x4D44:     /* vfat */
	case 0x2011BAB0: /* exfat */
	case 0x01021994: /* tmpfs */
		return true;
	default:
		return false;
	}
}

static inline int brisk_open_raw(const char *path)
{
	return (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
}

/* Appends a number in decimal; gives the end. */
static inline char *brisk_put_number(char *at, unsigned long number)
{
	char digits[20];
	int count = 0;

	do
		digits[count++] = (char)('0' + number % 10);
	while ((number /= 10) != 0);
	while (count > 0)
		*at++ = digits[--count];
	return at;
}

static inline char *brisk_put(char *at, const char *text)
{
	size_t length = strlen(text);

	memcpy(at, text, length);
	return at + length;
}

/* Whether `option` is one of the options, which are separated by commas; its value goes to `value` where it has one. */
static inline bool brisk_option(const char *options, const char *option, unsigned long *value)
{
	size_t length = strlen(option);
	const char *at = options;

	while (at) {
		if (strncmp(at, option, length) == 0) {
			const char *rest = at + length;

			if (*rest == '\0' || *rest == ',')
				return true;
			if (value && *rest == '=') {
				unsigned long number = 0;

				for (rest++; *rest >= '0' && *rest <= '9' && number < 1000000; rest++)
					number = number * 10 + (unsigned long)(*rest - '0');
				*value = number;
				return *rest == '\0' || *rest == ',';
			}
		}
		at = strchr(at, ',');
		if (at)
			at++;
	}
	return false;
}

/*
 * What the options of an ext4 file system say: whether it keeps order, whether for all files, and within how many
 * seconds.
 */
struct brisk_order {
	bool is_kept;
	bool of_all_files;
	/* Whether the attribute j of a file counts. */
	bool by_attribute;
	unsigned int seconds;
};

static inline struct brisk_order brisk_order_of_options(const char *options)
{
	struct brisk_order order = { .is_kept = true, .seconds = BRISK_COMMIT_SECONDS };
	unsigned long commit = 0, barrier = 1;

	if (brisk_option(options, "commit", &commit)) {
		/* More than what fits is more than any rule's bound. */
		order.seconds = commit > 1000000 ? 1000000 : (unsigned int)commit;
		/* commit=0 is the default in the kernel's documentation. */
		if (order.seconds == 0)
			order.seconds = BRISK_COMMIT_SECONDS;
	}
	if (brisk_option(options, "nobarrier", NULL) ||
	    (brisk_option(options, "barrier", &barrier) && barrier == 0) ||
	    brisk_option(options, "journal_async_commit", NULL) || brisk_option(options, "ro", NULL))
		order.is_kept = false;
	order.of_all_files = brisk_option(options, "data=journal", NULL);
	order.by_attribute = brisk_option(options, "nodelalloc", NULL);
	return order;
}

/*
 * Finds in a line of mountinfo (proc_pid_mountinfo(5)) the options of the file system, where it is the ext4 of this
 * device.
 */
static inline const char *brisk_ext4_options(char *line, unsigned int major_number, unsigned int minor_number)
{
	char expected[32], *at = expected, *field = line;
	int skipped;

	at = brisk_put_number(at, major_number);
	*at++ = ':';
	at = brisk_put_number(at, minor_number);
	*at++ = ' ';
	*at = '\0';
	for (skipped = 0; skipped < 2; skipped++) {
		field = strchr(field, ' ');
		if (!field)
			return NULL;
		field++;
	}
	if (strncmp(field, expected, strlen(expected)) != 0)
		return NULL;
	field = strstr(field, " - ext4 ");
	if (!field)
		return NULL;
	field = strchr(field + 8, ' ');
	return field ? field + 1 : NULL;
}

/*
 * Whether the file system of the device has a journal at work: /sys/fs/ext4/NAME/journal_task is the number of its
 * thread.
 */
static inline bool brisk_has_journal(unsigned int major_number, unsigned int minor_number)
{
	char path[160], link[512], *at, *name, first = 0;
	ssize_t length;
	int fd;

	at = brisk_put(path, "/sys/dev/block/");
	at = brisk_put_number(at, major_number);
	*at++ = ':';
	at = brisk_put_number(at, minor_number);
	*at = '\0';
	length = syscall(SYS_readlinkat, AT_FDCWD, path, link, sizeof(link) - 1);
	if (length <= 0 || length >= (ssize_t)sizeof(link) - 1)
		return false;
	link[length] = '\0';
	name = strrchr(link, '/');
	name = name ? name + 1 : link;
	if (strlen(name) > 64)
		return false;
	at = brisk_put(path, "/sys/fs/ext4/");
	at = brisk_put(at, name);
	at = brisk_put(at, "/journal_task");
	*at = '\0';
	fd = brisk_open_raw(path);
	if (fd < 0)
		return false;
	length = syscall(SYS_read, fd, &first, 1);
	syscall(SYS_close, fd);
	return length == 1 && first >= '1' && first <= '9';
}

static inline struct brisk_order brisk_read_order(dev_t device)
{
	struct brisk_order none = { 0 };
	/* Longer lines are skipped: their file systems keep no order then. */
	char buffer[2048];
	size_t held = 0;
	bool skipping = false;
	int fd = brisk_open_raw("/proc/thread-self/mountinfo");

	if (fd < 0)
		return none;
	for (;;) {
		char *line = buffer, *end;
		ssize_t got = syscall(SYS_read, fd, buffer + held, sizeof(buffer) - 1 - held);

		if (got <= 0)
			break;
		held += (size_t)got;
		buffer[held] = '\0';
		while ((end = memchr(line, '\n', held - (size_t)(line - buffer)))) {
			const char *options;

			*end = '\0';
			options = skipping ? NULL : brisk_ext4_options(line, major(device), minor(device));
			skipping = false;
			line = end + 1;
			if (options) {
				struct brisk_order order = brisk_order_of_options(options);

				syscall(SYS_close, fd);
				order.is_kept = order.is_kept && brisk_has_journal(major(device), minor(device));
				return order;
			}
		}
		held -= (size_t)(line - buffer);
		memmove(buffer, line, held);
		if (held == sizeof(buffer) - 1) {
			held = 0;
			skipping = true;
		}
	}
	syscall(SYS_close, fd);
	return none;
}

/*
 * What was read of a device, in one word so that threads and signal handlers may share it: s of the read, device,
 * facts.
 */
static _Atomic uint64_t brisk_known_orders[4];

static inline uint64_t brisk_pack(struct brisk_order order, uint32_t hash, uint32_t now_s)
{
	unsigned int seconds = order.seconds > 1023 ? 1023 : order.seconds;

	return (uint64_t)hash << 32 | (uint64_t)(now_s & 0x7ffff) << 13 | (uint64_t)seconds << 3 |
	       (uint64_t)order.by_attribute << 2 | (uint64_t)order.of_all_files << 1 | (uint64_t)order.is_kept;
}

static inline uint32_t brisk_now_s(void)
{
	struct timespec now = { 0 };

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	/* Zero is the mark of empty places. */
	return (uint32_t)now.tv_sec + 1;
}

static inline uint64_t brisk_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/*
 * Facts of the file system of a device; they are read again when they are older than a second, as it may be mounted
 * anew.
 */
static inline struct brisk_order brisk_order_of(dev_t device)
{
	uint32_t major_number = major(device), minor_number = minor(device);
	uint32_t now_s = brisk_now_s();
	struct brisk_order order;
	_Atomic uint64_t *place;
	uint64_t known;

	/* Numbers that do not fit are read each time. */
	if (major_number >= 1 << 12 || minor_number >= 1 << 20 || (major_number | minor_number) == 0)
		return brisk_read_order(device);
	place = &brisk_known_orders[(major_number + minor_number) % 4];
	known = atomic_load_explicit(place, memory_order_relaxed);
	if (known >> 32 == (major_number << 20 | minor_number) && (known >> 13 & 0x7ffff) == (now_s & 0x7ffff)) {
		order.is_kept = known & 1;
		order.of_all_files = known >> 1 & 1;
		order.by_attribute = known >> 2 & 1;
		order.seconds = known >> 3 & 1023;
		return order;
	}
	order = brisk_read_order(device);
	atomic_store_explicit(place, brisk_pack(order, major_number << 20 | minor_number, now_s), memory_order_relaxed);
	return order;
}

/* Whether order is kept for the open file without syncs, and what is synced is durable `seconds` later. */
static inline bool brisk_keeps_order(int fd, const struct stat *about, unsigned int seconds)
{
	struct brisk_order order = brisk_order_of(about->st_dev);
	int flags = 0;

	if (!order.is_kept || order.seconds > seconds)
		return false;
	if ((!order.of_all_files && !order.by_attribute) || ioctl(fd, FS_IOC_GETFLAGS, &flags) != 0 || (flags & FS_ENCRYPT_FL))
		return false;
	return order.of_all_files || (flags & FS_JOURNAL_DATA_FL);
}

#endif
