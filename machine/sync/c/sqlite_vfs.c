/*
 * Selective sync for SQLite: a VFS around the default one, which asks the policy for each database.
 *
 *   durable   the default VFS, untouched.
 *   cache     xSync does nothing, for the database, its journal and its write-ahead log (WAL).
 *   ordered   in WAL mode the sync after a commit is left out, and done within half of the bound by a thread. In other
 *             journal modes as durable.
 *
 * Why a WAL keeps order without these syncs: a frame is valid only when its checksum, which includes all frames before
 * it, and its salt fit. After a power cut that kept any subset of the frames, recovery takes those before the first
 * that is missing, and of them up to the last commit: a prefix of the transactions. What may not be left out are the
 * syncs that separate the WAL from other writes:
 *
 * - of the WAL before a checkpoint writes to the database: the first write to the database after a sync that was left
 *   out does it;
 * - of the database, before the WAL is written anew: always done;
 * - of the header, when the WAL begins anew, before frames follow: a sync after a write at offset 0 is always done;
 * - of a WAL that this connection has just opened, which also makes its name durable: always done.
 *
 * These are the syncs of SQLite's own synchronous=NORMAL (https://sqlite.org/pragma.html#pragma_synchronous), with a
 * bound of time added. Other processes may have the database open with or without this VFS: locks, shared memory and
 * files are those of the default VFS, and each process does the syncs of its own checkpoints. A sync that fails in the
 * thread is reported by the next one.
 *
 * The class is that of the rules in the environment (rules.h), or of the parameter `brisk_sync` of a URI,
 * `file:a.db?brisk_sync=ordered& brisk_seconds=5`. Only files on local file systems (order.h) with one name are
 * loosened.
 *
 * Compiled alone this is an extension for sqlite3_load_extension(), which makes the VFS the default one of the process.
 * With BRISK_PRELOADED it is part of the preloaded library, where the first sqlite3_open() registers it.
 */
#define _GNU_SOURCE
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#ifdef BRISK_PRELOADED
#include <dlfcn.h>
#include <sqlite3.h>
#else
#include <sqlite3ext.h>
#endif

#include "order.h"
#include "pending.h"
#include "rules.h"

#define SEEN __attribute__((visibility("default")))
/* The version with sqlite3_database_file_object(). */
#define VERSION_MIN 3032000

/* The functions of SQLite that are used, wherever this library was loaded from. */
static struct {
	sqlite3_vfs *(*vfs_find)(const char *);
	int (*vfs_register)(sqlite3_vfs *, int);
	const char *(*uri_parameter)(const char *, const char *);
	sqlite3_int64 (*uri_int64)(const char *, const char *, sqlite3_int64);
	sqlite3_file *(*database_file_object)(const char *);
	int (*libversion_number)(void);
	void (*log)(int, const char *, ...);
} sqlite;

static struct brisk_rules rules;

struct brisk_file {
	sqlite3_file base;
	sqlite3_file *real;
	struct brisk_verdict verdict;
	/* Of a database: its WAL where this connection has it open. Of a WAL: its database. */
	struct brisk_file *other;
	bool is_wal;
	/* Of a WAL of the class ordered: whether this connection has synced it; whether its header was written since. */
	bool was_synced, has_new_header;
	/* What the thread shares, under `lock`: */
	struct brisk_file *next;
	/* A descriptor of the WAL for the thread. SQLite has no locks on this file that its close could drop. */
	int fd;
	bool is_listed, is_pending, is_syncing, has_failed;
	struct timespec deadline;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* Signalled when a file is added, and when a sync of the thread ends. */
static pthread_cond_t changed;
static struct brisk_file *listed;
static bool has_thread;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static sqlite3_file *real_of(sqlite3_file *file)
{
	return ((struct brisk_file *)file)->real;
}

/* The thread: syncs each file when its time has come. */
static void *sync_in_time(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&lock);
	for (;;) {
		struct brisk_file *file, *first = NULL;
		struct timespec now;
		int result;

		for (file = listed; file; file = file->next)
			if (file->is_pending && !file->is_syncing &&
			    (!first || file->deadline.tv_sec < first->deadline.tv_sec ||
			     (file->deadline.tv_sec == first->deadline.tv_sec && file->deadline.tv_nsec < first->deadline.tv_nsec)))
				first = file;
		if (!first) {
			pthread_cond_wait(&changed, &lock);
			continue;
		}
		clock_gettime(CLOCK_MONOTONIC, &now);
		if (now.tv_sec < first->deadline.tv_sec ||
		    (now.tv_sec == first->deadline.tv_sec && now.tv_nsec < first->deadline.tv_nsec)) {
			struct timespec until = first->deadline;

			pthread_cond_timedwait(&changed, &lock, &until);
			continue;
		}
		first->is_pending = false;
		first->is_syncing = true;
		pthread_mutex_unlock(&lock);
		result = fdatasync(first->fd);
		pthread_mutex_lock(&lock);
		first->is_syncing = false;
		first->has_failed |= result != 0;
		pthread_cond_broadcast(&changed);
	}
	return NULL;
}

static void before_fork(void)
{
	pthread_mutex_lock(&lock);
}

static void in_parent(void)
{
	pthread_mutex_unlock(&lock);
}

/* The thread is the parent's, and so are the syncs: a connection may not be used after fork. */
static void in_child(void)
{
	pthread_condattr_t attributes;

	listed = NULL;
	has_thread = false;
	pthread_mutex_init(&lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&changed, &attributes);
	pthread_condattr_destroy(&attributes);
}

static void begin_threads(void)
{
	in_child();
	pthread_atfork(before_fork, in_parent, in_child);
}

/* Starts the thread, under `lock`, with all signals blocked: none is delivered to it. */
static bool start_thread(void)
{
	sigset_t all, before;
	pthread_t thread;

	if (has_thread)
		return true;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	has_thread = pthread_create(&thread, NULL, sync_in_time, NULL) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (has_thread)
		pthread_detach(thread);
	return has_thread;
}

/* A process that ends without closing its databases: what is pending is synced before. */
__attribute__((destructor)) static void end(void)
{
	struct brisk_file *file;

	pthread_once(&once, begin_threads);
	pthread_mutex_lock(&lock);
	for (file = listed; file; file = file->next)
		if (file->is_pending || file->is_syncing)
			fdatasync(file->fd);
	pthread_mutex_unlock(&lock);
}

/* Leaves a sync to the thread; false when that is not possible. */
static bool defer(struct brisk_file *wal)
{
	bool is_deferred;

	pthread_once(&once, begin_threads);
	pthread_mutex_lock(&lock);
	is_deferred = wal->fd >= 0 && start_thread();
	if (is_deferred && !wal->is_pending) {
		unsigned int half_ms = wal->verdict.seconds * 500;

		wal->is_pending = true;
		clock_gettime(CLOCK_MONOTONIC, &wal->deadline);
		wal->deadline.tv_sec += half_ms / 1000;
		wal->deadline.tv_nsec += (long)(half_ms % 1000) * 1000000;
		if (wal->deadline.tv_nsec >= 1000000000) {
			wal->deadline.tv_sec++;
			wal->deadline.tv_nsec -= 1000000000;
		}
		if (!wal->is_listed) {
			wal->next = listed;
			listed = wal;
			wal->is_listed = true;
		}
		pthread_cond_broadcast(&changed);
	}
	pthread_mutex_unlock(&lock);
#ifdef BRISK_PRELOADED
	if (is_deferred)
		brisk_remember_pending(wal->fd);
#endif
	return is_deferred;
}

/* Waits until the thread is not at the file; gives whether a sync is pending, which then is the caller's. */
static bool take_pending(struct brisk_file *wal)
{
	bool was_pending;

	if (!wal->is_listed)
		return false;
	pthread_mutex_lock(&lock);
	while (wal->is_syncing)
		pthread_cond_wait(&changed, &lock);
	was_pending = wal->is_pending;
	wal->is_pending = false;
	pthread_mutex_unlock(&lock);
	return was_pending;
}

/* Syncs the WAL for certain: what the thread failed to sync is an error here. */
static int sync_wal(struct brisk_file *wal, int flags)
{
	bool has_failed;
	int result;

	take_pending(wal);
	result = wal->real->pMethods->xSync(wal->real, flags);
	pthread_mutex_lock(&lock);
	has_failed = wal->has_failed;
	wal->has_failed = false;
	pthread_mutex_unlock(&lock);
	if (result != SQLITE_OK)
		return result;
	if (has_failed)
		return SQLITE_IOERR_FSYNC;
	wal->was_synced = true;
	wal->has_new_header = false;
	return SQLITE_OK;
}

/* Before anything that has to come after the WAL's last sync. */
static int settle(struct brisk_file *wal)
{
	if (!wal || wal->verdict.class != BRISK_ORDERED)
		return SQLITE_OK;
	if (take_pending(wal))
		return sync_wal(wal, SQLITE_SYNC_NORMAL);
	return SQLITE_OK;
}

static bool is_ordered_database(const struct brisk_file *file)
{
	return file->verdict.class == BRISK_ORDERED && !file->is_wal;
}

static void unlist(struct brisk_file *file)
{
	struct brisk_file **at;

	pthread_mutex_lock(&lock);
	while (file->is_syncing)
		pthread_cond_wait(&changed, &lock);
	for (at = &listed; file->is_listed && *at; at = &(*at)->next)
		if (*at == file) {
			*at = file->next;
			break;
		}
	file->is_listed = false;
	pthread_mutex_unlock(&lock);
}

static int brisk_close(sqlite3_file *base)
{
	struct brisk_file *file = (struct brisk_file *)base;
	int result = SQLITE_OK, closed;

	if (file->is_wal) {
		result = settle(file);
		if (file->other)
			file->other->other = NULL;
		if (file->verdict.class == BRISK_ORDERED)
			unlist(file);
		if (file->fd >= 0)
			close(file->fd);
	} else if (file->other) {
		file->other->other = NULL;
	}
	closed = file->real->pMethods->xClose(file->real);
	return result == SQLITE_OK ? closed : result;
}

static int brisk_read(sqlite3_file *base, void *into, int bytes, sqlite3_int64 at)
{
	return real_of(base)->pMethods->xRead(real_of(base), into, bytes, at);
}

static int brisk_write(sqlite3_file *base, const void *from, int bytes, sqlite3_int64 at)
{
	struct brisk_file *file = (struct brisk_file *)base;
	int result = is_ordered_database(file) ? settle(file->other) : SQLITE_OK;

	if (file->is_wal && at == 0)
		file->has_new_header = true;
	return result == SQLITE_OK ? file->real->pMethods->xWrite(file->real, from, bytes, at) : result;
}

static int brisk_truncate(sqlite3_file *base, sqlite3_int64 size)
{
	struct brisk_file *file = (struct brisk_file *)base;
	int result = settle(file->is_wal ? file : file->other);

	/* A WAL of another size is another one, whose first sync is done. */
	file->was_synced = false;
	return result == SQLITE_OK ? file->real->pMethods->xTruncate(file->real, size) : result;
}

static int brisk_sync(sqlite3_file *base, int flags)
{
	struct brisk_file *file = (struct brisk_file *)base;
	int result;

	if (file->verdict.class == BRISK_CACHE)
		return SQLITE_OK;
	if (file->is_wal) {
		if (file->was_synced && !file->has_new_header && !file->has_failed && defer(file))
			return SQLITE_OK;
		return sync_wal(file, flags);
	}
	result = settle(file->other);
	return result == SQLITE_OK ? file->real->pMethods->xSync(file->real, flags) : result;
}

static int brisk_file_size(sqlite3_file *base, sqlite3_int64 *size)
{
	return real_of(base)->pMethods->xFileSize(real_of(base), size);
}

static int brisk_lock(sqlite3_file *base, int level)
{
	return real_of(base)->pMethods->xLock(real_of(base), level);
}

static int brisk_unlock(sqlite3_file *base, int level)
{
	return real_of(base)->pMethods->xUnlock(real_of(base), level);
}

static int brisk_check_reserved_lock(sqlite3_file *base, int *is_reserved)
{
	return real_of(base)->pMethods->xCheckReservedLock(real_of(base), is_reserved);
}

static int brisk_file_control(sqlite3_file *base, int operation, void *argument)
{
	return real_of(base)->pMethods->xFileControl(real_of(base), operation, argument);
}

static int brisk_sector_size(sqlite3_file *base)
{
	return real_of(base)->pMethods->xSectorSize(real_of(base));
}

static int brisk_device_characteristics(sqlite3_file *base)
{
	return real_of(base)->pMethods->xDeviceCharacteristics(real_of(base));
}

static int brisk_shm_map(sqlite3_file *base, int region, int bytes, int extend, void volatile **mapped)
{
	return real_of(base)->pMethods->xShmMap(real_of(base), region, bytes, extend, mapped);
}

static int brisk_shm_lock(sqlite3_file *base, int offset, int count, int flags)
{
	return real_of(base)->pMethods->xShmLock(real_of(base), offset, count, flags);
}

static void brisk_shm_barrier(sqlite3_file *base)
{
	real_of(base)->pMethods->xShmBarrier(real_of(base));
}

static int brisk_shm_unmap(sqlite3_file *base, int remove)
{
	return real_of(base)->pMethods->xShmUnmap(real_of(base), remove);
}

static int brisk_fetch(sqlite3_file *base, sqlite3_int64 at, int bytes, void **mapped)
{
	return real_of(base)->pMethods->xFetch(real_of(base), at, bytes, mapped);
}

static int brisk_unfetch(sqlite3_file *base, sqlite3_int64 at, void *mapped)
{
	return real_of(base)->pMethods->xUnfetch(real_of(base), at, mapped);
}

static const sqlite3_io_methods methods = {
	.iVersion = 3,
	.xClose = brisk_close,
	.xRead = brisk_read,
	.xWrite = brisk_write,
	.xTruncate = brisk_truncate,
	.xSync = brisk_sync,
	.xFileSize = brisk_file_size,
	.xLock = brisk_lock,
	.xUnlock = brisk_unlock,
	.xCheckReservedLock = brisk_check_reserved_lock,
	.xFileControl = brisk_file_control,
	.xSectorSize = brisk_sector_size,
	.xDeviceCharacteristics = brisk_device_characteristics,
	.xShmMap = brisk_shm_map,
	.xShmLock = brisk_shm_lock,
	.xShmBarrier = brisk_shm_barrier,
	.xShmUnmap = brisk_shm_unmap,
	.xFetch = brisk_fetch,
	.xUnfetch = brisk_unfetch,
};

static sqlite3_vfs *real_vfs(sqlite3_vfs *vfs)
{
	return vfs->pAppData;
}

/* The class that a URI names; false when it names none that is known. */
static bool read_parameter(const char *name, struct brisk_verdict *verdict)
{
	const char *class = sqlite.uri_parameter(name, "brisk_sync");
	sqlite3_int64 seconds = sqlite.uri_int64(name, "brisk_seconds", 5);

	if (!class)
		return true;
	verdict->seconds = (unsigned int)seconds;
	if (strcmp(class, "cache") == 0)
		verdict->class = BRISK_CACHE;
	else if (strcmp(class, "ordered") == 0)
		verdict->class = BRISK_ORDERED;
	else if (strcmp(class, "durable") == 0)
		verdict->class = BRISK_DURABLE;
	else
		return false;
	return seconds >= 1 && seconds <= BRISK_SECONDS_MAX;
}

/* Whether the database may be loosened at all: on a local file system, and with one name. */
static bool is_plain_and_local(const char *path, const char *directory)
{
	struct statfs system;
	struct stat about;

	if (statfs(directory, &system) != 0 || !brisk_is_local(&system))
		return false;
	if (lstat(path, &about) != 0)
		return errno == ENOENT;
	return S_ISREG(about.st_mode) && about.st_nlink == 1;
}

/* What the policy says of a database, or its URI. */
static bool judge_database(const char *name, struct brisk_verdict *verdict)
{
	char path[PATH_MAX + NAME_MAX + 2], *directory;
	const char *slash = name ? strrchr(name, '/') : NULL;
	char parent[PATH_MAX];

	verdict->class = BRISK_DURABLE;
	verdict->seconds = 0;
	if (!slash || (size_t)(slash - name) >= sizeof(parent) || strlen(slash) > NAME_MAX)
		return true;
	memcpy(parent, name, (size_t)(slash - name));
	parent[slash - name] = '\0';
	directory = realpath(parent[0] ? parent : "/", NULL);
	if (!directory)
		return true;
	snprintf(path, sizeof(path), "%s%s", strcmp(directory, "/") ? directory : "", slash);
	*verdict = brisk_rule_for(&rules, path, strlen(path));
	if (!read_parameter(name, verdict)) {
		free(directory);
		return false;
	}
	if (verdict->class != BRISK_DURABLE && !is_plain_and_local(path, directory)) {
		sqlite.log(SQLITE_NOTICE, "brisk: %s stays durable: it is not on a local file system, or has several names", path);
		verdict->class = BRISK_DURABLE;
	}
	free(directory);
	return true;
}

/* Opens a file that is loosened: the default VFS's file lies behind ours. */
static int open_loosened(sqlite3_vfs *vfs, const char *name, struct brisk_file *file, int flags, int *out_flags)
{
	sqlite3_vfs *real = real_vfs(vfs);
	int result = real->xOpen(real, name, file->real, flags, out_flags);

	if (result != SQLITE_OK)
		return result;
	if (file->real->pMethods->iVersion < 3) {
		file->real->pMethods->xClose(file->real);
		sqlite.log(SQLITE_NOTICE, "brisk: %s stays durable: its VFS is too old", name);
		return SQLITE_NOTFOUND;
	}
	file->base.pMethods = &methods;
	return SQLITE_OK;
}

static int brisk_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *base, int flags, int *out_flags)
{
	struct brisk_file *file = (struct brisk_file *)base, *database = NULL;
	sqlite3_vfs *real = real_vfs(vfs);
	struct brisk_verdict verdict = { .class = BRISK_DURABLE };
	int result;

	if (flags & SQLITE_OPEN_MAIN_DB) {
		if (!judge_database(name, &verdict)) {
			base->pMethods = NULL;
			sqlite.log(SQLITE_CANTOPEN, "brisk: %s: brisk_sync is cache, ordered or durable, brisk_seconds 1 to %d", name,
				   BRISK_SECONDS_MAX);
			return SQLITE_CANTOPEN;
		}
	} else if (flags & (SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_WAL)) {
		database = (struct brisk_file *)sqlite.database_file_object(name);
		if (database && database->base.pMethods == &methods)
			verdict = database->verdict;
		/* A journal is ordered by its own syncs. */
		if (verdict.class == BRISK_ORDERED && !(flags & SQLITE_OPEN_WAL))
			verdict.class = BRISK_DURABLE;
	}
	if (verdict.class != BRISK_DURABLE) {
		memset(file, 0, sizeof(*file));
		file->real = (sqlite3_file *)(file + 1);
		file->verdict = verdict;
		file->is_wal = flags & SQLITE_OPEN_WAL;
		file->fd = -1;
		result = open_loosened(vfs, name, file, flags, out_flags);
		if (result == SQLITE_OK && file->is_wal) {
			file->other = database;
			database->other = file;
			if (verdict.class == BRISK_ORDERED)
				file->fd = open(name, O_RDONLY | O_CLOEXEC);
		}
		if (result != SQLITE_NOTFOUND)
			return result;
	}
	return real->xOpen(real, name, base, flags, out_flags);
}

static int brisk_delete(sqlite3_vfs *vfs, const char *name, int sync_directory)
{
	return real_vfs(vfs)->xDelete(real_vfs(vfs), name, sync_directory);
}

static int brisk_access(sqlite3_vfs *vfs, const char *name, int flags, int *result)
{
	return real_vfs(vfs)->xAccess(real_vfs(vfs), name, flags, result);
}

static int brisk_full_pathname(sqlite3_vfs *vfs, const char *name, int bytes, char *into)
{
	return real_vfs(vfs)->xFullPathname(real_vfs(vfs), name, bytes, into);
}

static void *brisk_dl_open(sqlite3_vfs *vfs, const char *name)
{
	return real_vfs(vfs)->xDlOpen(real_vfs(vfs), name);
}

static void brisk_dl_error(sqlite3_vfs *vfs, int bytes, char *into)
{
	real_vfs(vfs)->xDlError(real_vfs(vfs), bytes, into);
}

static void (*brisk_dl_sym(sqlite3_vfs *vfs, void *library, const char *name))(void)
{
	return real_vfs(vfs)->xDlSym(real_vfs(vfs), library, name);
}

static void brisk_dl_close(sqlite3_vfs *vfs, void *library)
{
	real_vfs(vfs)->xDlClose(real_vfs(vfs), library);
}

static int brisk_randomness(sqlite3_vfs *vfs, int bytes, char *into)
{
	return real_vfs(vfs)->xRandomness(real_vfs(vfs), bytes, into);
}

static int brisk_sleep(sqlite3_vfs *vfs, int us)
{
	return real_vfs(vfs)->xSleep(real_vfs(vfs), us);
}

static int brisk_current_time(sqlite3_vfs *vfs, double *now)
{
	return real_vfs(vfs)->xCurrentTime(real_vfs(vfs), now);
}

static int brisk_get_last_error(sqlite3_vfs *vfs, int bytes, char *into)
{
	return real_vfs(vfs)->xGetLastError(real_vfs(vfs), bytes, into);
}

static int brisk_current_time_int64(sqlite3_vfs *vfs, sqlite3_int64 *now)
{
	return real_vfs(vfs)->xCurrentTimeInt64(real_vfs(vfs), now);
}

static int brisk_set_system_call(sqlite3_vfs *vfs, const char *name, sqlite3_syscall_ptr call)
{
	return real_vfs(vfs)->xSetSystemCall(real_vfs(vfs), name, call);
}

static sqlite3_syscall_ptr brisk_get_system_call(sqlite3_vfs *vfs, const char *name)
{
	return real_vfs(vfs)->xGetSystemCall(real_vfs(vfs), name);
}

static const char *brisk_next_system_call(sqlite3_vfs *vfs, const char *name)
{
	return real_vfs(vfs)->xNextSystemCall(real_vfs(vfs), name);
}

static sqlite3_vfs brisk_vfs = {
	.iVersion = 3,
	.zName = "brisk",
	.xOpen = brisk_open,
	.xDelete = brisk_delete,
	.xAccess = brisk_access,
	.xFullPathname = brisk_full_pathname,
	.xDlOpen = brisk_dl_open,
	.xDlError = brisk_dl_error,
	.xDlSym = brisk_dl_sym,
	.xDlClose = brisk_dl_close,
	.xRandomness = brisk_randomness,
	.xSleep = brisk_sleep,
	.xCurrentTime = brisk_current_time,
	.xGetLastError = brisk_get_last_error,
	.xCurrentTimeInt64 = brisk_current_time_int64,
	.xSetSystemCall = brisk_set_system_call,
	.xGetSystemCall = brisk_get_system_call,
	.xNextSystemCall = brisk_next_system_call,
};

/* Registers the VFS as the default one; gives an error as text. */
static const char *register_vfs(void)
{
	const char *text = getenv(BRISK_RULES_VARIABLE);
	sqlite3_vfs *real;

	if (sqlite.libversion_number() < VERSION_MIN)
		return "brisk: this SQLite is older than 3.32";
	if (sqlite.vfs_find("brisk"))
		return NULL;
	real = sqlite.vfs_find(NULL);
	if (!real || real->iVersion < 3)
		return "brisk: the default VFS is older than version 3";
	if (text && !brisk_read_rules(&rules, text))
		return "brisk: " BRISK_RULES_VARIABLE " is damaged: all databases stay durable";
	brisk_vfs.szOsFile = (int)sizeof(struct brisk_file) + real->szOsFile;
	brisk_vfs.mxPathname = real->mxPathname;
	brisk_vfs.pAppData = real;
	return sqlite.vfs_register(&brisk_vfs, 1) == SQLITE_OK ? NULL : "brisk: SQLite refuses the VFS";
}

#ifdef BRISK_PRELOADED

/* A function of the SQLite that the program uses: of the libraries after this one, or of one that was loaded later. */
static void *find_in_sqlite(const char *name)
{
	void *found = dlsym(RTLD_NEXT, name);
	void *library = found ? NULL : dlopen("libsqlite3.so.0", RTLD_LAZY | RTLD_NOLOAD);

	if (library) {
		found = dlsym(library, name);
		dlclose(library);
	}
	return found;
}

static pthread_once_t registered = PTHREAD_ONCE_INIT;

static void register_once(void)
{
	const char *error = NULL;

	sqlite.vfs_find = find_in_sqlite("sqlite3_vfs_find");
	sqlite.vfs_register = find_in_sqlite("sqlite3_vfs_register");
	sqlite.uri_parameter = find_in_sqlite("sqlite3_uri_parameter");
	sqlite.uri_int64 = find_in_sqlite("sqlite3_uri_int64");
	sqlite.database_file_object = find_in_sqlite("sqlite3_database_file_object");
	sqlite.libversion_number = find_in_sqlite("sqlite3_libversion_number");
	sqlite.log = find_in_sqlite("sqlite3_log");
	if (!getenv(BRISK_RULES_VARIABLE))
		return;
	if (!sqlite.vfs_find || !sqlite.vfs_register || !sqlite.uri_parameter || !sqlite.uri_int64 ||
	    !sqlite.database_file_object || !sqlite.libversion_number || !sqlite.log)
		error = "brisk: this SQLite is older than 3.32";
	else
		error = register_vfs();
	if (error)
		fprintf(stderr, "%s\n", error);
}

typedef int open_function(const char *, sqlite3 **);
typedef int open16_function(const void *, sqlite3 **);
typedef int open_v2_function(const char *, sqlite3 **, int, const char *);

SEEN int sqlite3_open(const char *name, sqlite3 **database)
{
	open_function *next = (open_function *)find_in_sqlite("sqlite3_open");

	pthread_once(&registered, register_once);
	return next ? next(name, database) : SQLITE_ERROR;
}

SEEN int sqlite3_open16(const void *name, sqlite3 **database)
{
	open16_function *next = (open16_function *)find_in_sqlite("sqlite3_open16");

	pthread_once(&registered, register_once);
	return next ? next(name, database) : SQLITE_ERROR;
}

SEEN int sqlite3_open_v2(const char *name, sqlite3 **database, int flags, const char *vfs)
{
	open_v2_function *next = (open_v2_function *)find_in_sqlite("sqlite3_open_v2");

	pthread_once(&registered, register_once);
	return next ? next(name, database, flags, vfs) : SQLITE_ERROR;
}

#else

SEEN int sqlite3_extension_init(sqlite3 *database, char **message, const sqlite3_api_routines *api)
{
	const char *error = "brisk: this SQLite is older than 3.32";

	(void)database;
	sqlite.libversion_number = api->libversion_number;
	/* Older ones have a shorter table. */
	if (api->libversion_number() >= VERSION_MIN) {
		sqlite.vfs_find = api->vfs_find;
		sqlite.vfs_register = api->vfs_register;
		sqlite.uri_parameter = api->uri_parameter;
		sqlite.uri_int64 = api->uri_int64;
		sqlite.database_file_object = api->database_file_object;
		sqlite.log = api->log;
		error = register_vfs();
	}
	if (!error)
		return SQLITE_OK_LOAD_PERMANENTLY;
	if (message)
		*message = api->mprintf("%s", error);
	return SQLITE_ERROR;
}

#endif
