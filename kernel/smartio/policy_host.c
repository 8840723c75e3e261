// SPDX-License-Identifier: GPL-2.0
/*
 * The functions of smartio_policy.h with external linkage, for tests outside of
 * the kernel. Not part of the module.
 */
#include "smartio_policy.h"

/* Declares and defines host_NAME() as a call of smartio_FUNCTION() with 2, 3, ... arguments of the given types. */
#define FORWARD1(type, name, function, type_a) \
	type host_##name(type_a a); \
	type host_##name(type_a a) \
	{ \
		return smartio_##function(a); \
	}

#define FORWARD2(type, name, function, type_a, type_b) \
	type host_##name(type_a a, type_b b); \
	type host_##name(type_a a, type_b b) \
	{ \
		return smartio_##function(a, b); \
	}

#define FORWARD3(type, name, function, type_a, type_b, type_c) \
	type host_##name(type_a a, type_b b, type_c c); \
	type host_##name(type_a a, type_b b, type_c c) \
	{ \
		return smartio_##function(a, b, c); \
	}

#define FORWARD5(type, name, function, type_a, type_b, type_c, type_d, type_e) \
	type host_##name(type_a a, type_b b, type_c c, type_d d, type_e e); \
	type host_##name(type_a a, type_b b, type_c c, type_d d, type_e e) \
	{ \
		return smartio_##function(a, b, c, d, e); \
	}

FORWARD1(u32, size, size, u32)
FORWARD2(u32, mean, mean, u32, u64)
FORWARD3(u32, learn_service, learn_service, u32, u64, bool)
FORWARD3(u32, learn_pace, learn_pace, u32, u64, u64)
FORWARD2(u32, known, known, const u32 *, u32)
FORWARD2(u32, scaled, scaled, const u32 *, u32)
FORWARD2(u32, occupied, occupied, u64, u64)
FORWARD3(u32, learn_passed, learn_passed, u32, bool, u32)
FORWARD2(u32, occupied_by, occupied_by, const u32 *, u32)
FORWARD2(bool, few, few, u32, u32)
FORWARD2(u32, tags, tags, u32, u32)
FORWARD2(u32, cap, cap, u32, u32)
FORWARD2(u32, cap_alone, cap_alone, u32, u32)
FORWARD2(u64, cost, cost, u32, u32)
FORWARD2(u64, trim_cost, trim_cost, u32, u32)
FORWARD2(u64, cost_hidden, cost_hidden, u64, u32)
FORWARD3(u64, confirmed, confirmed, u32, u64, u64)
FORWARD3(u32, learn_lost, learn_lost, u32, u64, bool)
FORWARD2(u32, learn_base, learn_base, u32, u64)
FORWARD2(u64, lost_ns, lost_ns, u32, u64)
FORWARD2(bool, quick, quick, u64, u64)
FORWARD2(u64, interval_ns, interval_ns, u64, u64)
FORWARD3(u32, share, share, u32, u64, u64)
FORWARD3(u64, due, due_ns, u64, u32, u64)
FORWARD3(u64, debt, debt, u64, u64, u32)
FORWARD5(bool, spent, spent, bool, u64, u32, u64, u64)
FORWARD2(u64, burst_ns, burst_ns, bool, u32)
FORWARD2(u64, settle_ns, settle_ns, u64, u32)
FORWARD3(u32, learn_hits, learn_hits, u32, u64, u64)
FORWARD3(u64, hold_ns, hold_ns, u32, u32, u64)
FORWARD3(u32, cap_awaited, cap_awaited, u32, u32, u32)
FORWARD2(u64, patience, patience, u64, u64)
FORWARD3(u64, earn, earn, u64, u64, u64)
FORWARD1(u32, judge, judge, const struct smartio_view *)

u64 host_wake_ns(const struct smartio_view *view, u32 verdict);
u64 host_wake_ns(const struct smartio_view *view, u32 verdict)
{
	return smartio_wake_ns(view, (enum smartio_verdict)verdict);
}

u32 host_view_bytes(void);
u32 host_view_bytes(void)
{
	return sizeof(struct smartio_view);
}
