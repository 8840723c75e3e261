/*
 * Preloaded after the library under test: says what reaches the C library. Each call is a line of the file $COUNTED.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static void count(const char *call)
{
	int fd = (int)syscall(SYS_openat, AT_FDCWD, getenv("COUNTED"), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);

	(void)!write(fd, call, strlen(call));
	(void)!write(fd, "\n", 1);
	syscall(SYS_close, fd);
}

int fsync(int fd)
{
	count("fsync");
	return (int)syscall(SYS_fsync, fd);
}

int fdatasync(int fd)
{
	count("fdatasync");
	return (int)syscall(SYS_fdatasync, fd);
}

int sync_file_range(int fd, off64_t offset, off64_t length, unsigned int flags)
{
	count("sync_file_range");
	return (int)syscall(SYS_sync_file_range, fd, offset, length, flags);
}

int syncfs(int fd)
{
	count("syncfs");
	return (int)syscall(SYS_syncfs, fd);
}

void sync(void)
{
	count("sync");
	syscall(SYS_sync);
}

int msync(void *address, size_t length, int flags)
{
	count(flags & MS_SYNC ? "msync" : "msync-async");
	return (int)syscall(SYS_msync, address, length, flags);
}
