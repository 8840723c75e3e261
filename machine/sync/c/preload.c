/*
 * Selective sync for unmodified programs: preloaded (LD_PRELOAD), it asks for each request to sync what the policy says
 * of that file.
 *
 *   request         cache                     ordered                               durable, or not named
 *   fsync ...       left out                  left out where the file system        as without this library,
 *                                             keeps order (order.h), else durable   after those of ordered files
 *                                                                                   that were left out before
 *   msync(MS_SYNC)  MS_ASYNC                  as durable                            the same
 *   O_SYNC, O_DSYNC removed by open, from     kept                                  kept
 *                   files that exist
 *
 * fsync, fdatasync and sync_file_range are meant by "fsync ...". syncfs, sync, io_uring, RWF_SYNC and static programs
 * are left alone.
 *
 * What a file is, is found anew for each request that is left out, by the path that the kernel has for the descriptor:
 * no table of descriptors or inodes can therefore be out of date and loosen another file (close, dup, fork, rename,
 * reuse of an inode's number). Only "no rule names it" is kept, for at most a second, which can cost gain but no data.
 * All doubts end in a real sync: paths that are longer than 2 KiB, removed files, files with several names, file
 * systems that are not local, files of the class ordered that were mapped shared and writable here (their pages change
 * outside of the journal's transactions).
 *
 * A file of a looser class that gets a name of a stricter class (rename, link) is made durable before.
 *
 * The functions allocate nothing and take no lock, so that they may be called where the originals may: in signal
 * handlers, after fork, before main. They change errno only when they fail.
 *
 * With BRISK_SYNC_LOG set to a file, each request is appended to it (brisk sync advise): process, call, class, time
 * waited in ns, path, separated by tabs.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "mapped.h"
#include "order.h"
#include "pending.h"
#include "rules.h"

#define SEEN __attribute__((visibility("default")))
#define LIKELY(x) __builtin_expect(!!(x), 1)

/* Longest path that is compared. */
#define PATH_BYTES 2048
/* Descriptors of which "no rule names it" is kept. */
#define KNOWN_FDS 1024

static struct brisk_rules rules;
/* Path of the log; empty without one. */
static char log_path[512];
/* Whether a request can be other than the original: a rule loosens something, or there is a log. */
static bool is_active;

static int (*next_fsync)(int);
static int (*next_fdatasync)(int);
static int (*next_sync_file_range)(int, off64_t, off64_t, unsigned int);
static int (*next_msync)(void *, size_t, int);
static void *(*next_mmap)(void *, size_t, int, int, int, off64_t);
static int (*next_openat)(int, const char *, int, ...);
static int (*next_rename)(const char *, const char *);
static int (*next_renameat)(int, const char *, int, const char *);
static int (*next_renameat2)(int, const char *, int, const char *, unsigned int);
static int (*next_link)(const char *, const char *);
static int (*next_linkat)(int, const char *, int, const char *, int);

/* The originals, or the kernel itself for calls before this library has begun. */
static int real_fsync(int fd)
{
	return next_fsync ? next_fsync(fd) : (int)syscall(SYS_fsync, fd);
}

static int real_fdatasync(int fd)
{
	return next_fdatasync ? next_fdatasync(fd) : (int)syscall(SYS_fdatasync, fd);
}

static int real_sync_file_range(int fd, off64_t offset, off64_t length, unsigned int flags)
{
	if (next_sync_file_range)
		return next_sync_file_range(fd, offset, length, flags);
#ifdef SYS_sync_file_range
	return (int)syscall(SYS_sync_file_range, fd, offset, length, flags);
#else
	/* 32-bit ARM orders the arguments in another way; this does more. */
	return (int)syscall(SYS_fdatasync, fd);
#endif
}

static int real_msync(void *address, size_t length, int flags)
{
	return next_msync ? next_msync(address, length, flags) : (int)syscall(SYS_msync, address, length, flags);
}

static void *real_mmap(void *address, size_t length, int protection, int flags, int fd, off64_t offset)
{
	if (next_mmap)
		return next_mmap(address, length, protection, flags, fd, offset);
#ifdef SYS_mmap2
	/* In units of 4 KiB, whatever a page is. */
	return (void *)syscall(SYS_mmap2, address, length, protection, flags, fd, (long)(offset >> 12));
#else
	return (void *)syscall(SYS_mmap, address, length, protection, flags, fd, offset);
#endif
}

static int real_openat(int dir, const char *path, int flags, mode_t mode)
{
	return next_openat ? next_openat(dir, path, flags, mode) : (int)syscall(SYS_openat, dir, path, flags, mode);
}

__attribute__((constructor)) static void begin(void)
{
	const char *text = getenv(BRISK_RULES_VARIABLE), *log = getenv("BRISK_SYNC_LOG");

	next_fsync = dlsym(RTLD_NEXT, "fsync");
	next_fdatasync = dlsym(RTLD_NEXT, "fdatasync");
	next_sync_file_range = dlsym(RTLD_NEXT, "sync_file_range");
	next_msync = dlsym(RTLD_NEXT, "msync");
	next_mmap = dlsym(RTLD_NEXT, "mmap64");
	next_openat = dlsym(RTLD_NEXT, "openat64");
	next_rename = dlsym(RTLD_NEXT, "rename");
	next_renameat = dlsym(RTLD_NEXT, "renameat");
	next_renameat2 = dlsym(RTLD_NEXT, "renameat2");
	next_link = dlsym(RTLD_NEXT, "link");
	next_linkat = dlsym(RTLD_NEXT, "linkat");
	if (getauxval(AT_SECURE))
		return;
	if (log && log[0] == '/' && strlen(log) < sizeof(log_path))
		strcpy(log_path, log);
	if (text && !brisk_read_rules(&rules, text))
		fprintf(stderr, "brisk-sync: " BRISK_RULES_VARIABLE " is damaged: all syncs stay as they are\n");
	is_active = rules.loosens || log_path[0];
}

/* What is known of an open file at a request. */
struct file {
	struct brisk_verdict verdict;
	struct stat about;
	bool has_path;
	/* Whether a rule loosens this path, whatever the file is. */
	bool is_named;
	size_t length;
	char path[PATH_BYTES];
};

/* Seconds of CLOCK_MONOTONIC, lowest byte but never 0, at which no rule named the file. */
static _Atomic unsigned char unnamed_at[KNOWN_FDS];

static unsigned char this_second(void)
{
	unsigned char second = (unsigned char)brisk_now_s();

	return second ? second : 1;
}

/* The kernel's path of an open file: absolute, without symbolic links. */
static bool read_path(int fd, struct file *file)
{
	char link[48];
	ssize_t length;

	*brisk_put_number(brisk_put(link, "/proc/thread-self/fd/"), (unsigned int)fd) = '\0';
	length = syscall(SYS_readlinkat, AT_FDCWD, link, file->path, sizeof(file->path) - 1);
	if (length <= 0 || length >= (ssize_t)sizeof(file->path) - 1 || file->path[0] != '/')
		return false;
	file->path[length] = '\0';
	file->length = (size_t)length;
	return true;
}

/* Whether a file may be of a looser class at all, whatever the rules say: of this machine, with one name. */
static bool may_be_loosened(int fd, const struct stat *about)
{
	struct statfs system;

	if (S_ISREG(about->st_mode) ? about->st_nlink != 1 : !S_ISDIR(about->st_mode))
		return false;
	return fstatfs(fd, &system) == 0 && brisk_is_local(&system);
}

/* Fills in what the rules say of an open file, and what its file system allows of that. */
static void judge(int fd, struct file *file)
{
	file->verdict.class = BRISK_DURABLE;
	file->is_named = false;
	file->has_path = read_path(fd, file);
	if (!file->has_path)
		return;
	file->verdict = brisk_rule_for(&rules, file->path, file->length);
	if (file->verdict.class == BRISK_DURABLE)
		return;
	file->is_named = true;
	if (fstat(fd, &file->about) != 0 || !may_be_loosened(fd, &file->about))
		file->verdict.class = BRISK_DURABLE;
	else if (S_ISDIR(file->about.st_mode))
		file->verdict = brisk_rule_for_directory(&rules, file->path, file->length);
	if (file->verdict.class == BRISK_ORDERED &&
		 (was_mapped(&file->about) || !brisk_keeps_order(fd, &file->about, file->verdict.seconds)))
		file->verdict.class = BRISK_DURABLE;
}

/*
 * Ordered files with a sync that was left out: before a durable file is synced, they are. A descriptor that stands for
 * another file by now is found by its inode; then the whole file system is synced instead.
 *
 * `mark` is zero in an empty place, else a hash of the inode with a count of the syncs that were left out: a place is
 * emptied only when none was added while it was settled, and a thread that finds a place in use settles it, even while
 * another one does so.
 */
#define PENDING_MAX 16
#define MARK_COUNT 0xffffu
static struct {
	_Atomic uint64_t mark;
	_Atomic uint64_t device;
	_Atomic uint64_t inode;
	_Atomic int fd;
} pending[PENDING_MAX];
static atomic_uint nr_pending;

static uint64_t mark_of(uint64_t device, uint64_t inode)
{
	uint64_t mark = inode_hash(device, inode) & ~(uint64_t)MARK_COUNT;

	return mark ? mark : MARK_COUNT + 1;
}

static void remember_pending(int fd, const struct stat *about)
{
	uint64_t device = about->st_dev, inode = about->st_ino, mark = mark_of(device, inode);
	size_t i;

	for (i = 0; i < PENDING_MAX; i++) {
		uint64_t found = atomic_load(&pending[i].mark);

		while ((found & ~(uint64_t)MARK_COUNT) == mark) {
			uint64_t more = mark | ((found + 1) & MARK_COUNT);

			if (!atomic_compare_exchange_weak(&pending[i].mark, &found, more))
				continue;
			if (atomic_load(&pending[i].device) == device && atomic_load(&pending[i].inode) == inode) {
				atomic_store(&pending[i].fd, fd);
				return;
			}
			/* Another inode of this hash, or a place that is being filled. */
			sync();
			return;
		}
		if (found == 0) {
			atomic_fetch_add(&nr_pending, 1);
			if (atomic_compare_exchange_strong(&pending[i].mark, &found, mark)) {
				/* A reader that comes before the next three lines finds that they do not fit the mark. */
				atomic_store(&pending[i].fd, fd);
				atomic_store(&pending[i].inode, inode);
				atomic_store(&pending[i].device, device);
				return;
			}
			atomic_fetch_sub(&nr_pending, 1);
			i--;
		}
	}
	/* More files than places: what came before is made durable now. */
	sync();
}

/* Syncs one file by its descriptor; false when that is another file by now. */
static bool sync_pending(int fd, uint64_t device, uint64_t inode, bool *failed)
{
	struct stat about;
	int result;

	if (fstat(fd, &about) != 0 || about.st_dev != device || about.st_ino != inode)
		return false;
	result = real_fsync(fd);
	/* Another thread may have closed it meanwhile. */
	if (fstat(fd, &about) != 0 || about.st_dev != device || about.st_ino != inode)
		return false;
	*failed |= result != 0;
	return true;
}

/* Makes durable what was left out of ordered files before a durable file is synced; -1 when that failed. */
static __attribute__((noinline)) int settle_all(int fd)
{
	struct stat mine;
	bool failed = false;
	size_t i;

	for (i = 0; i < PENDING_MAX; i++) {
		uint64_t mark = atomic_load(&pending[i].mark);
		uint64_t device, inode;

		if (!mark)
			continue;
		device = atomic_load(&pending[i].device);
		inode = atomic_load(&pending[i].inode);
		if (mark_of(device, inode) != (mark & ~(uint64_t)MARK_COUNT))
			sync();
		else if (!sync_pending(atomic_load(&pending[i].fd), device, inode, &failed)) {
			if (fstat(fd, &mine) == 0 && mine.st_dev == device)
				failed |= syncfs(fd) != 0;
			else
				sync();
		}
		if (atomic_compare_exchange_strong(&pending[i].mark, &mark, 0))
			atomic_fetch_sub(&nr_pending, 1);
	}
	return failed ? -1 : 0;
}

/* For the VFS of this library: a file whose sync it leaves out. */
void brisk_remember_pending(int fd)
{
	struct stat about;

	if (fstat(fd, &about) == 0)
		remember_pending(fd, &about);
	else
		sync();
}

static inline bool has_pending(void)
{
	return atomic_load_explicit(&nr_pending, memory_order_acquire) != 0;
}

static int settle(int fd)
{
	return LIKELY(!has_pending()) ? 0 : settle_all(fd);
}

/*
 * Appends a line to the log. Its descriptor is opened for each: an app that closes all its descriptors would let
 * another file have its number.
 */
static void record(const char *call, const struct file *file, uint64_t waited_ns)
{
	static const char *const names[] = { "cache", "ordered", "durable" };
	char line[PATH_BYTES + 128], *at = line;
	int error = errno, fd;
	size_t i;

	fd = (int)syscall(SYS_openat, AT_FDCWD, log_path, O_WRONLY | O_APPEND | O_CLOEXEC, 0);
	if (fd >= 0) {
		at = brisk_put_number(at, (unsigned long)getpid());
		*at++ = '\t';
		at = brisk_put(at, call);
		*at++ = '\t';
		at = brisk_put(at, names[file->verdict.class]);
		*at++ = '\t';
		at = brisk_put_number(at, waited_ns);
		*at++ = '\t';
		for (i = 0; file->has_path && i < file->length; i++)
			*at++ = (unsigned char)file->path[i] < ' ' ? '?' : file->path[i];
		*at++ = '\n';
		/*
		 * One write: lines of several processes do not mix. A log that is full loses lines, which changes nothing for the
		 * app.
		 */
		(void)!syscall(SYS_write, fd, line, (size_t)(at - line));
		syscall(SYS_close, fd);
	}
	errno = error;
}

enum request { FSYNC, FDATASYNC, RANGE };
static const char *const request_names[] = { "fsync", "fdatasync", "sync_file_range" };

static int original(enum request request, int fd, off64_t offset, off64_t length, unsigned int flags)
{
	switch (request) {
	case FSYNC:
		return real_fsync(fd);
	case FDATASYNC:
		return real_fdatasync(fd);
	default:
		return real_sync_file_range(fd, offset, length, flags);
	}
}

/* The answer to a request that a rule or the log may concern. */
static __attribute__((noinline)) int asked(enum request request, int fd, off64_t offset, off64_t length,
					   unsigned int flags)
{
	struct file file;
	uint64_t begun = 0;
	int error = errno, result;

	judge(fd, &file);
	if (file.verdict.class == BRISK_DURABLE) {
		if (!log_path[0] && !file.is_named && fd >= 0 && fd < KNOWN_FDS)
			atomic_store_explicit(&unnamed_at[fd], this_second(), memory_order_relaxed);
		begun = log_path[0] ? brisk_now_ns() : 0;
		result = settle(fd);
		errno = error;
		if (result == 0)
			result = original(request, fd, offset, length, flags);
		else
			errno = EIO;
	} else {
		if (file.verdict.class == BRISK_ORDERED)
			remember_pending(fd, &file.about);
		errno = error;
		result = 0;
	}
	if (log_path[0])
		record(request_names[request], &file, begun ? brisk_now_ns() - begun : 0);
	return result;
}

/* Whether the original may be called at once. */
static inline bool is_plain(int fd)
{
	if (LIKELY(!is_active))
		return true;
	return fd >= 0 && fd < KNOWN_FDS && !has_pending() &&
	       atomic_load_explicit(&unnamed_at[fd], memory_order_relaxed) == this_second();
}

SEEN int fsync(int fd)
{
	return is_plain(fd) ? real_fsync(fd) : asked(FSYNC, fd, 0, 0, 0);
}

SEEN int fdatasync(int fd)
{
	return is_plain(fd) ? real_fdatasync(fd) : asked(FDATASYNC, fd, 0, 0, 0);
}

SEEN int sync_file_range(int fd, off64_t offset, off64_t length, unsigned int flags)
{
	return is_plain(fd) ? real_sync_file_range(fd, offset, length, flags) : asked(RANGE, fd, offset, length, flags);
}

/*
 * Ranges where files of the class cache were mapped shared. They may be mapped anew meanwhile, so msync checks what is
 * there.
 */
#define RANGES_MAX 64
static struct {
	_Atomic uintptr_t begin, end;
} cache_ranges[RANGES_MAX];
static atomic_bool has_cache_ranges;

static void remember_range(uintptr_t begin, size_t length)
{
	size_t i;

	for (i = 0; i < RANGES_MAX; i++) {
		uintptr_t empty = 0;

		if (atomic_compare_exchange_strong(&cache_ranges[i].begin, &empty, begin) || empty == begin) {
			atomic_store(&cache_ranges[i].end, begin + length);
			atomic_store(&has_cache_ranges, true);
			return;
		}
	}
}

static bool in_cache_range(uintptr_t begin, size_t length)
{
	size_t i;

	for (i = 0; i < RANGES_MAX; i++) {
		uintptr_t first = atomic_load(&cache_ranges[i].begin);

		if (first && begin >= first && begin + length <= atomic_load(&cache_ranges[i].end))
			return true;
	}
	return false;
}

SEEN void *mmap64(void *address, size_t length, int protection, int flags, int fd, off64_t offset)
{
	void *found = real_mmap(address, length, protection, flags, fd, offset);
	struct file file;
	int error = errno;

	if (LIKELY(!rules.loosens) || found == MAP_FAILED || fd < 0 || !(flags & MAP_SHARED) || (flags & MAP_ANONYMOUS) ||
	    (fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDWR) {
		errno = error;
		return found;
	}
	if (fstat(fd, &file.about) == 0) {
		remember_mapped(&file.about);
		judge(fd, &file);
		if (file.verdict.class == BRISK_CACHE)
			remember_range((uintptr_t)found, length);
	}
	errno = error;
	return found;
}

SEEN void *mmap(void *address, size_t length, int protection, int flags, int fd, off_t offset)
{
	return mmap64(address, length, protection, flags, fd, offset);
}

/* Reads a hexadecimal number; false without a digit. */
static bool read_hex(const char **at, uintptr_t *number)
{
	const char *begin = *at;

	for (*number = 0;; (*at)++) {
		unsigned int digit = (unsigned char)**at;

		if (digit >= '0' && digit <= '9')
			digit -= '0';
		else if (digit >= 'a' && digit <= 'f')
			digit = digit - 'a' + 10;
		else
			return *at > begin;
		*number = *number << 4 | digit;
	}
}

/* Whether a line of /proc/self/maps is a shared mapping of a file of the class cache. */
static bool is_cache_mapping(const char *line)
{
	const char *path = strchr(line, '/');
	struct brisk_verdict verdict;
	struct stat about;
	struct file file;
	int fd;

	if (!path || !strstr(line, "s ") || strlen(path) >= sizeof(file.path))
		return false;
	verdict = brisk_rule_for(&rules, path, strlen(path));
	if (verdict.class != BRISK_CACHE)
		return false;
	/* O_PATH: that neither changes nor unlocks anything. */
	fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_PATH | O_NOFOLLOW | O_CLOEXEC, 0);
	if (fd < 0)
		return false;
	judge(fd, &file);
	about = file.about;
	syscall(SYS_close, fd);
	if (file.verdict.class != BRISK_CACHE)
		return false;
	/* The path may stand for another file than the mapped one: the fifth word is the mapped inode. */
	{
		const char *word = line;
		unsigned long inode = 0;
		int skipped;

		for (skipped = 0; skipped < 4 && word; skipped++) {
			word = strchr(word, ' ');
			if (word)
				word++;
		}
		for (; word && *word >= '0' && *word <= '9'; word++)
			inode = inode * 10 + (unsigned long)(*word - '0');
		return inode == about.st_ino;
	}
}

/* Whether all that is mapped in the range are shared mappings of files of the class cache. */
static bool maps_cache_only(uintptr_t begin, size_t length)
{
	char buffer[PATH_BYTES + 256];
	uintptr_t next = begin, end = begin + length;
	size_t held = 0;
	int fd = brisk_open_raw("/proc/self/maps");
	bool is_cache = true;

	if (fd < 0)
		return false;
	while (is_cache && next < end) {
		char *line = buffer, *stop;
		ssize_t got = syscall(SYS_read, fd, buffer + held, sizeof(buffer) - 1 - held);

		if (got <= 0)
			break;
		held += (size_t)got;
		while (is_cache && next < end && (stop = memchr(line, '\n', held - (size_t)(line - buffer)))) {
			const char *at = line;
			uintptr_t first, last;

			*stop = '\0';
			if (!read_hex(&at, &first) || *at++ != '-' || !read_hex(&at, &last))
				is_cache = false;
			else if (last > next) {
				is_cache = first <= next && is_cache_mapping(at);
				next = last;
			}
			line = stop + 1;
		}
		held -= (size_t)(line - buffer);
		memmove(buffer, line, held);
		/* A line that does not fit is no path that is compared. */
		if (held == sizeof(buffer) - 1)
			is_cache = false;
	}
	syscall(SYS_close, fd);
	return is_cache && next >= end;
}

SEEN int msync(void *address, size_t length, int flags)
{
	struct file file = { .has_path = false };
	uint64_t begun;
	int error = errno, result;

	if (LIKELY(!is_active) || !(flags & MS_SYNC))
		return real_msync(address, length, flags);
	if (atomic_load(&has_cache_ranges) && in_cache_range((uintptr_t)address, length) &&
	    maps_cache_only((uintptr_t)address, length)) {
		errno = error;
		return real_msync(address, length, (flags & ~MS_SYNC) | MS_ASYNC);
	}
	begun = log_path[0] ? brisk_now_ns() : 0;
	/* No descriptor is at hand here: all that is pending is settled by its own. */
	result = settle(-1);
	errno = error;
	if (result == 0)
		result = real_msync(address, length, flags);
	else
		errno = EIO;
	if (begun) {
		file.verdict.class = BRISK_DURABLE;
		record("msync", &file, brisk_now_ns() - begun);
	}
	return result;
}

/*
 * Opens without O_SYNC and O_DSYNC a file whose syncs are left out; -1 when it is none, or another call has to tell the
 * error. The file is found first (O_PATH, which changes nothing and whose close drops no locks), judged, and then that
 * same file is opened.
 */
static int open_loosened(int dir, const char *path, int flags)
{
	int found, fd = -1, kept = flags & ~(O_SYNC | O_DSYNC);
	char link[48];
	struct file file;

	if ((flags & O_TMPFILE) == O_TMPFILE || (flags & (O_PATH | O_DIRECTORY | O_EXCL)))
		return -1;
	found = (int)syscall(SYS_openat, dir, path, O_PATH | O_CLOEXEC | (flags & O_NOFOLLOW), 0);
	if (found < 0)
		return -1;
	judge(found, &file);
	/* Attributes cannot be asked of a descriptor of this kind, so that files of the class ordered keep the flag. */
	if (file.verdict.class != BRISK_DURABLE && S_ISREG(file.about.st_mode)) {
		*brisk_put_number(brisk_put(link, "/proc/thread-self/fd/"), (unsigned int)found) = '\0';
		fd = real_openat(AT_FDCWD, link, kept & ~(O_CREAT | O_NOFOLLOW), 0);
	}
	syscall(SYS_close, found);
	return fd;
}

static int open_asked(int dir, const char *path, int flags, mode_t mode)
{
	struct file file;
	int error = errno, fd;

	if (LIKELY(!is_active) || !(flags & O_DSYNC))
		return real_openat(dir, path, flags, mode);
	fd = rules.loosens ? open_loosened(dir, path, flags) : -1;
	errno = error;
	if (fd < 0)
		fd = real_openat(dir, path, flags, mode);
	if (fd >= 0 && log_path[0]) {
		judge(fd, &file);
		record("open", &file, 0);
	}
	return fd;
}

#include "opens.h"

/*
 * Fills in what the rules say of a name that a file is about to get: the directory's path by the kernel, and the last
 * name.
 */
static void judge_name(int dir, const char *path, struct file *file)
{
	char parent[PATH_BYTES];
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	size_t length = slash ? (size_t)(slash - path) : 0;
	int found;

	file->verdict.class = BRISK_DURABLE;
	if (!*name || length + 2 > sizeof(parent))
		return;
	memcpy(parent, path, length);
	parent[length] = '\0';
	found = (int)syscall(SYS_openat, dir, length ? parent : slash ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
	if (found < 0)
		return;
	if (read_path(found, file) && file->length + strlen(name) + 2 <= sizeof(file->path)) {
		if (file->length > 1)
			file->path[file->length++] = '/';
		memcpy(file->path + file->length, name, strlen(name));
		file->length += strlen(name);
		file->verdict = brisk_rule_for(&rules, file->path, file->length);
	}
	syscall(SYS_close, found);
}

/*
 * Syncs the file system that holds this directory's name for a file. A directory has no locks that its close could
 * drop.
 */
static void sync_around(int dir, const char *path)
{
	char parent[PATH_BYTES];
	const char *slash = strrchr(path, '/');
	size_t length = slash ? (size_t)(slash - path) : 0;
	int fd = -1;

	if (length < sizeof(parent)) {
		memcpy(parent, path, length);
		parent[length] = '\0';
		fd = (int)syscall(SYS_openat, dir, length ? parent : slash ? "/" : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	}
	if (fd < 0 || syncfs(fd) != 0)
		sync();
	if (fd >= 0)
		syscall(SYS_close, fd);
}

/* Makes a file durable that is about to get a name of a stricter class. */
static void keep_before(int old_dir, const char *old, int new_dir, const char *new, int flags)
{
	struct file file;
	struct brisk_verdict from = { .class = BRISK_DURABLE };
	int error = errno, found;

	if (LIKELY(!rules.loosens))
		return;
	/* A descriptor without a name (AT_EMPTY_PATH): whatever it is, it gets one now. */
	if (!*old && (flags & AT_EMPTY_PATH))
		sync_around(new_dir, new);
	found = (int)syscall(SYS_openat, old_dir, old,
			     O_PATH | O_CLOEXEC | (flags & AT_SYMLINK_FOLLOW ? 0 : O_NOFOLLOW), 0);
	if (found >= 0) {
		if (read_path(found, &file))
			from = brisk_rule_for(&rules, file.path, file.length);
		syscall(SYS_close, found);
	}
	if (from.class != BRISK_DURABLE) {
		judge_name(new_dir, new, &file);
		if (file.verdict.class > from.class ||
		    (file.verdict.class == BRISK_ORDERED && file.verdict.seconds < from.seconds))
			sync_around(new_dir, new);
	}
	errno = error;
}

SEEN int renameat2(int old_dir, const char *old, int new_dir, const char *new, unsigned int flags)
{
	keep_before(old_dir, old, new_dir, new, 0);
	/* RENAME_EXCHANGE: the other one gets this one's name. */
	if (flags & 2)
		keep_before(new_dir, new, old_dir, old, 0);
	return next_renameat2 ? next_renameat2(old_dir, old, new_dir, new, flags) :
				(int)syscall(SYS_renameat2, old_dir, old, new_dir, new, flags);
}

SEEN int renameat(int old_dir, const char *old, int new_dir, const char *new)
{
	keep_before(old_dir, old, new_dir, new, 0);
	return next_renameat ? next_renameat(old_dir, old, new_dir, new) :
			       (int)syscall(SYS_renameat2, old_dir, old, new_dir, new, 0);
}

SEEN int rename(const char *old, const char *new)
{
	keep_before(AT_FDCWD, old, AT_FDCWD, new, 0);
	return next_rename ? next_rename(old, new) : (int)syscall(SYS_renameat2, AT_FDCWD, old, AT_FDCWD, new, 0);
}

SEEN int linkat(int old_dir, const char *old, int new_dir, const char *new, int flags)
{
	keep_before(old_dir, old, new_dir, new, flags);
	return next_linkat ? next_linkat(old_dir, old, new_dir, new, flags) :
			     (int)syscall(SYS_linkat, old_dir, old, new_dir, new, flags);
}

SEEN int link(const char *old, const char *new)
{
	keep_before(AT_FDCWD, old, AT_FDCWD, new, 0);
	return next_link ? next_link(old, new) : (int)syscall(SYS_linkat, AT_FDCWD, old, AT_FDCWD, new, 0);
}
