/*
 * open and its relatives for a preloaded library. The file that includes this defines SEEN and
 * open_asked(int dir, const char *path, int flags, mode_t mode) before.
 */
#define MODE_OF(flags, last, mode)                                               \
	do {                                                                     \
		if (((flags) & O_CREAT) || ((flags) & O_TMPFILE) == O_TMPFILE) { \
			va_list list;                                            \
			va_start(list, last);                                    \
			(mode) = (mode_t)va_arg(list, int);                      \
			va_end(list);                                            \
		}                                                                \
	} while (0)

SEEN int open(const char *path, int flags, ...)
{
	mode_t mode = 0;

	MODE_OF(flags, flags, mode);
	return open_asked(AT_FDCWD, path, flags, mode);
}

SEEN int open64(const char *path, int flags, ...)
{
	mode_t mode = 0;

	MODE_OF(flags, flags, mode);
	return open_asked(AT_FDCWD, path, flags | O_LARGEFILE, mode);
}

SEEN int openat(int dir, const char *path, int flags, ...)
{
	mode_t mode = 0;

	MODE_OF(flags, flags, mode);
	return open_asked(dir, path, flags, mode);
}

SEEN int openat64(int dir, const char *path, int flags, ...)
{
	mode_t mode = 0;

	MODE_OF(flags, flags, mode);
	return open_asked(dir, path, flags | O_LARGEFILE, mode);
}
