/*
 * Performs calls on two directories, $1 = loosened and $2 = not, by the name of a scene, $3. Prints what a program sees
 * of them.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static char loose[4096], kept[4096];

static const char *in(const char *directory, const char *name)
{
	static char paths[4][8200];
	static int next;

	next = (next + 1) % 4;
	snprintf(paths[next], sizeof(paths[next]), "%s/%s", directory, name);
	return paths[next];
}

static int make(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT, 0600);

	if (fd < 0 || write(fd, "content", 7) != 7) {
		perror(path);
		exit(1);
	}
	return fd;
}

#define SAY(call)                                                    \
	do {                                                         \
		errno = 0;                                           \
		long said = (long)(call);                            \
		printf("%s = %ld errno %d\n", #call, said, errno);   \
	} while (0)

int main(int argc, char **argv)
{
	const char *scene = argv[3];
	int fd, other;

	if (argc != 4)
		return 2;
	strcpy(loose, argv[1]);
	strcpy(kept, argv[2]);
	if (!strcmp(scene, "plain")) {
		fd = make(in(loose, "a"));
		SAY(fsync(fd));
		SAY(fdatasync(fd));
		SAY(sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE));
	} else if (!strcmp(scene, "kept")) {
		fd = make(in(kept, "a"));
		SAY(fsync(fd));
		SAY(fdatasync(fd));
		SAY(sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE));
	} else if (!strcmp(scene, "errors")) {
		int ends[2];

		SAY(fsync(-1));
		SAY(fdatasync(1000));
		if (pipe(ends) != 0)
			return 1;
		SAY(fsync(ends[1]));
		SAY(open(in(loose, "absent"), O_RDWR | O_SYNC) < 0);
		SAY(rename(in(loose, "absent"), in(kept, "absent")));
		SAY(link(in(loose, "absent"), in(kept, "absent")));
		SAY(msync(NULL, 4096, MS_SYNC));
	} else if (!strcmp(scene, "inode")) {
		struct stat before, after;

		fd = make(in(loose, "a"));
		SAY(fsync(fd));
		fstat(fd, &before);
		unlink(in(loose, "a"));
		close(fd);
		fd = make(in(kept, "b"));
		fstat(fd, &after);
		printf("same inode: %d\n", before.st_ino == after.st_ino);
		SAY(fdatasync(fd));
	} else if (!strcmp(scene, "dup")) {
		fd = make(in(loose, "a"));
		SAY(fsync(fd));
		other = make(in(kept, "b"));
		dup2(other, fd);
		SAY(fdatasync(fd));
	} else if (!strcmp(scene, "fork")) {
		fd = make(in(loose, "a"));
		other = make(in(kept, "b"));
		if (fork() == 0) {
			fsync(fd);
			fdatasync(other);
			_exit(0);
		}
		wait(NULL);
		SAY(fsync(fd));
	} else if (!strcmp(scene, "rename")) {
		fd = make(in(loose, "a"));
		SAY(fsync(fd));
		SAY(rename(in(loose, "a"), in(kept, "a")));
		SAY(fdatasync(fd));
	} else if (!strcmp(scene, "rename-within")) {
		fd = make(in(loose, "a"));
		SAY(fsync(fd));
		SAY(rename(in(loose, "a"), in(loose, "b")));
		SAY(fdatasync(fd));
	} else if (!strcmp(scene, "link")) {
		fd = make(in(loose, "a"));
		SAY(fsync(fd));
		SAY(link(in(loose, "a"), in(kept, "a")));
		SAY(fdatasync(fd));
	} else if (!strcmp(scene, "symlink")) {
		close(make(in(kept, "target")));
		if (symlink(in(kept, "target"), in(loose, "a")) != 0)
			return 1;
		fd = open(in(loose, "a"), O_RDWR);
		SAY(fsync(fd));
	} else if (!strcmp(scene, "dots")) {
		close(make(in(kept, "target")));
		fd = open(in(loose, "../kept/target"), O_RDWR);
		SAY(fsync(fd));
	} else if (!strcmp(scene, "removed")) {
		fd = make(in(loose, "a"));
		unlink(in(loose, "a"));
		SAY(fsync(fd));
	} else if (!strcmp(scene, "open")) {
		close(make(in(loose, "a")));
		close(make(in(kept, "a")));
		fd = open(in(loose, "a"), O_RDWR | O_SYNC);
		printf("loose: %d\n", (fcntl(fd, F_GETFL) & O_DSYNC) != 0);
		fd = open(in(kept, "a"), O_RDWR | O_SYNC);
		printf("kept: %d\n", (fcntl(fd, F_GETFL) & O_DSYNC) != 0);
		fd = open(in(loose, "new"), O_RDWR | O_CREAT | O_DSYNC, 0600);
		printf("new: %d\n", (fcntl(fd, F_GETFL) & O_DSYNC) != 0);
	} else if (!strcmp(scene, "lock")) {
		struct flock range = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
		int status;

		fd = make(in(loose, "a"));
		fcntl(fd, F_SETLK, &range);
		other = open(in(loose, "a"), O_RDWR | O_SYNC);
		fsync(fd);
		rename(in(loose, "a"), in(kept, "a"));
		if (fork() == 0) {
			struct flock asked = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

			fcntl(fd, F_GETLK, &asked);
			_exit(asked.l_type == F_WRLCK);
		}
		wait(&status);
		printf("still locked: %d\n", WEXITSTATUS(status));
	} else if (!strcmp(scene, "map")) {
		void *at, *again;

		fd = make(in(loose, "a"));
		other = make(in(kept, "b"));
		if (ftruncate(fd, 8192) || ftruncate(other, 8192))
			return 1;
		at = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		memset(at, 1, 8192);
		SAY(msync(at, 8192, MS_SYNC));
		again = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, other, 0);
		SAY(msync(again, 4096, MS_SYNC));
		/* Another file at a place that was the loosened one's, unnoticed by the C library. */
		syscall(SYS_mmap, (char *)at + 4096, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, other, 0);
		SAY(msync(at, 4096, MS_SYNC));
		SAY(msync((char *)at + 4096, 4096, MS_SYNC));
		SAY(msync(at, 8192, MS_SYNC));
	} else if (!strcmp(scene, "map-fsync")) {
		fd = make(in(loose, "a"));
		SAY(fsync(fd));
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		SAY(fsync(fd));
	} else if (!strcmp(scene, "order")) {
		int second;

		fd = make(in(loose, "a"));
		second = make(in(loose, "b"));
		other = make(in(kept, "c"));
		SAY(fsync(fd));
		SAY(fsync(second));
		close(second);
		SAY(fdatasync(other));
		SAY(fdatasync(other));
	} else {
		return 2;
	}
	return 0;
}
