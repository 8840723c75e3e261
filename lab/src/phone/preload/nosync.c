/*
 * Disables requests to sync: the what-if study's "sync off".
 *
 * Preloaded into a program (LD_PRELOAD), it replaces the C library's fsync and related functions, and removes the
 * synchronous flags of open. Calls with a bad descriptor still fail as before. Requests that bypass the C library
 * (io_uring, static programs) are not affected. It needs no symbol newer than glibc 2.2.5 besides the C library's
 * start, so that a library built here works in the phone.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define SEEN __attribute__((visibility("default")))

/* Success for an open descriptor, and the kernel's own error for any other. */
static int pretend(int fd)
{
	return syscall(SYS_fcntl, fd, F_GETFD, 0) < 0 ? -1 : 0;
}

SEEN int fsync(int fd)
{
	return pretend(fd);
}

SEEN int fdatasync(int fd)
{
	return pretend(fd);
}

SEEN int syncfs(int fd)
{
	return pretend(fd);
}

SEEN void sync(void)
{
}

SEEN int sync_file_range(int fd, off64_t offset, off64_t length, unsigned int flags)
{
	(void)offset;
	(void)length;
	(void)flags;
	return pretend(fd);
}

SEEN int msync(void *address, size_t length, int flags)
{
	if (flags & MS_SYNC)
		flags = (flags & ~MS_SYNC) | MS_ASYNC;
	return (int)syscall(SYS_msync, address, length, flags);
}

SEEN ssize_t pwritev2(int fd, const struct iovec *parts, int count, off64_t offset, int flags)
{
	/* RWF_DSYNC and RWF_SYNC of linux/fs.h. */
	flags &= ~(0x2 | 0x4);
	/* The kernel takes the offset in two halves; the second is unused where a register holds the whole offset. */
	return syscall(SYS_pwritev2, fd, parts, count, (unsigned long)offset,
		       (unsigned long)((unsigned long long)offset >> 32), flags);
}

static int open_asked(int dir, const char *path, int flags, mode_t mode)
{
	return (int)syscall(SYS_openat, dir, path, flags & ~(O_SYNC | O_DSYNC), mode);
}

#include "opens.h"

/* Variants called by programs compiled with _FORTIFY_SOURCE. */
int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int dir, const char *path, int flags);
int __openat64_2(int dir, const char *path, int flags);

SEEN int __open_2(const char *path, int flags)
{
	return open_asked(AT_FDCWD, path, flags, 0);
}

SEEN int __open64_2(const char *path, int flags)
{
	return open_asked(AT_FDCWD, path, flags | O_LARGEFILE, 0);
}

SEEN int __openat_2(int dir, const char *path, int flags)
{
	return open_asked(dir, path, flags, 0);
}

SEEN int __openat64_2(int dir, const char *path, int flags)
{
	return open_asked(dir, path, flags | O_LARGEFILE, 0);
}
