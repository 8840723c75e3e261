/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A clock that stands still, loaded into QEMU. By this one it decides when to make the tables smaller in which it keeps
 * translated addresses; whether an address is still in them decides whether its next use sets the page's mark of having
 * been accessed; and by these marks the phone's kernel chooses the pages that it takes back.
 */
#include <stddef.h>
#include <sys/time.h>

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
	(void)zone;
	if (now != NULL) {
		now->tv_sec = 1767225600; /* 2026-01-01, as the phone's clock */
		now->tv_usec = 0;
	}
	return 0;
}
