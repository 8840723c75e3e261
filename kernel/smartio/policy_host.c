// SPDX-License-Identifier: GPL-2.0
/*
 * The functions of smartio_policy.h with external linkage, for tests outside of
 * the kernel. Not part of the module.
 */
#include "smartio_policy.h"

/* Declares and defines host_NAME() as a call of smartio_NAME() with the given parameters. */
#define FORWARD(type, name, parameters, arguments) \
	type host_##name parameters; \
	type host_##name parameters \
	{ \
		return smartio_##name arguments; \
	}

FORWARD(u32, mean, (u32 old, u64 sample), (old, sample))
FORWARD(u32, tags, (u32 tags, u32 reserve), (tags, reserve))
FORWARD(u32, learn_hits, (u32 hits, u64 pause, u64 most), (hits, pause, most))
FORWARD(bool, continuous, (u32 hits), (hits))
FORWARD(u64, hold_most, (u64 most, u32 write), (most, write))
FORWARD(u64, hold_ns, (u32 pause, u32 hits, u64 most), (pause, hits, most))
FORWARD(u64, credit, (u64 credit, u64 elapsed, bool busy, bool idle, u32 share),
	(credit, elapsed, busy, idle, share))
FORWARD(u32, shortest, (u32 old, u64 sample), (old, sample))
FORWARD(u64, hidden, (u64 took, u32 shortest, u32 pages), (took, shortest, pages))
FORWARD(bool, holding, (bool holding, u64 credit), (holding, credit))
FORWARD(u32, judge, (const struct smartio_view *view), (view))
FORWARD(u64, wake_ns, (const struct smartio_view *view, u32 share), (view, share))

u32 host_view_bytes(void);
u32 host_view_bytes(void)
{
	return sizeof(struct smartio_view);
}
