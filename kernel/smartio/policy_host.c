// SPDX-License-Identifier: GPL-2.0
/*
 * The functions of smartio_policy.h with external linkage, for tests outside of
 * the kernel. Not part of the module.
 */
#include "smartio_policy.h"

u32 host_size(u32 bytes);
u32 host_mean(u32 old, u64 sample);
u32 host_learn_service(u32 old, u64 sample, bool clean);
u32 host_learn_pace(u32 old, u64 least_ns, u64 most_ns);
u32 host_known(const u32 *table, u32 size);
u32 host_scaled(const u32 *table, u32 size);
u32 host_parallel(u64 work_ns, u64 elapsed_ns);
u32 host_learn_parallel(u32 old, u32 sample, u32 cap, bool reads);
u32 host_cap(u32 parallel, u32 depth);
u32 host_cap_alone(u32 parallel, u32 depth);
u64 host_cost(u32 pace_ns, u32 service_ns);
u64 host_trim_cost(u32 trim_ns, u32 read_ns);
u64 host_cost_hidden(u64 since_ns, u32 service_ns);
u64 host_interval_ns(u64 since_ns, u64 took_ns);
u32 host_learn_lost(u32 old, u64 lost_ns, bool steady);
u64 host_confirmed(u32 old, u64 sample_ns, u64 before_ns);
u32 host_learn_base(u32 old, u64 sample);
u64 host_lost_ns(u32 base_ns, u64 silence_ns);
bool host_quick(u64 silence_ns, u64 longest_ns);
u32 host_share(u32 share_percent, u64 age_ns, u64 slice_ns);
u64 host_due(u64 cost_ns, u32 share_percent, u64 slice_ns);
u64 host_debt(u64 debt_ns, u64 elapsed_ns, u32 share_percent);
bool host_spent(bool spent, u64 debt_ns, u32 share_percent, u64 cost_ns, u64 burst_ns);
u64 host_turn_ns(u64 began_ns, u32 pace_ns, u32 service_ns);
u64 host_burst_ns(bool cached, u32 pace_ns);
u64 host_settle_ns(u64 debt_ns, u32 share_percent);
u32 host_learn_hits(u32 hits, u64 pause_ns, u64 hold_max_ns);
u64 host_hold_ns(u32 pause_ns, u32 hits, u64 hold_max_ns);
u32 host_cap_awaited(u32 cap, u32 cap_alone, u32 service_ns);
u32 host_learn_step(u32 old, u64 pause_ns);
u64 host_await_ns(u32 step_ns, u32 hits);
u64 host_patience(u64 patience_ns, u64 held_ns);
u64 host_earn(u64 patience_ns, u64 cost_ns, u64 slice_ns);
u32 host_judge(const struct smartio_view *view);
u64 host_wake_ns(const struct smartio_view *view, u32 verdict);
u32 host_view_bytes(void);

u32 host_size(u32 bytes)
{
	return smartio_size(bytes);
}

u32 host_mean(u32 old, u64 sample)
{
	return smartio_mean(old, sample);
}

u32 host_learn_service(u32 old, u64 sample, bool clean)
{
	return smartio_learn_service(old, sample, clean);
}

u32 host_learn_pace(u32 old, u64 least_ns, u64 most_ns)
{
	return smartio_learn_pace(old, least_ns, most_ns);
}

u32 host_known(const u32 *table, u32 size)
{
	return smartio_known(table, size);
}

u32 host_scaled(const u32 *table, u32 size)
{
	return smartio_scaled(table, size);
}

u32 host_parallel(u64 work_ns, u64 elapsed_ns)
{
	return smartio_parallel(work_ns, elapsed_ns);
}

u32 host_learn_parallel(u32 old, u32 sample, u32 cap, bool reads)
{
	return smartio_learn_parallel(old, sample, cap, reads);
}

u32 host_cap(u32 parallel, u32 depth)
{
	return smartio_cap(parallel, depth);
}

u32 host_cap_alone(u32 parallel, u32 depth)
{
	return smartio_cap_alone(parallel, depth);
}

u64 host_cost(u32 pace_ns, u32 service_ns)
{
	return smartio_cost(pace_ns, service_ns);
}

u64 host_trim_cost(u32 trim_ns, u32 read_ns)
{
	return smartio_trim_cost(trim_ns, read_ns);
}

u64 host_cost_hidden(u64 since_ns, u32 service_ns)
{
	return smartio_cost_hidden(since_ns, service_ns);
}

u64 host_confirmed(u32 old, u64 sample_ns, u64 before_ns)
{
	return smartio_confirmed(old, sample_ns, before_ns);
}

u32 host_learn_lost(u32 old, u64 lost_ns, bool steady)
{
	return smartio_learn_lost(old, lost_ns, steady);
}

u32 host_learn_base(u32 old, u64 sample)
{
	return smartio_learn_base(old, sample);
}

u64 host_lost_ns(u32 base_ns, u64 silence_ns)
{
	return smartio_lost_ns(base_ns, silence_ns);
}

bool host_quick(u64 silence_ns, u64 longest_ns)
{
	return smartio_quick(silence_ns, longest_ns);
}

u64 host_interval_ns(u64 since_ns, u64 took_ns)
{
	return smartio_interval_ns(since_ns, took_ns);
}

u32 host_share(u32 share_percent, u64 age_ns, u64 slice_ns)
{
	return smartio_share(share_percent, age_ns, slice_ns);
}

u64 host_due(u64 cost_ns, u32 share_percent, u64 slice_ns)
{
	return smartio_due_ns(cost_ns, share_percent, slice_ns);
}

u64 host_debt(u64 debt_ns, u64 elapsed_ns, u32 share_percent)
{
	return smartio_debt(debt_ns, elapsed_ns, share_percent);
}

bool host_spent(bool spent, u64 debt_ns, u32 share_percent, u64 cost_ns, u64 burst_ns)
{
	return smartio_spent(spent, debt_ns, share_percent, cost_ns, burst_ns);
}

u64 host_turn_ns(u64 began_ns, u32 pace_ns, u32 service_ns)
{
	return smartio_turn_ns(began_ns, pace_ns, service_ns);
}

u64 host_burst_ns(bool cached, u32 pace_ns)
{
	return smartio_burst_ns(cached, pace_ns);
}

u64 host_settle_ns(u64 debt_ns, u32 share_percent)
{
	return smartio_settle_ns(debt_ns, share_percent);
}

u32 host_learn_hits(u32 hits, u64 pause_ns, u64 hold_max_ns)
{
	return smartio_learn_hits(hits, pause_ns, hold_max_ns);
}

u64 host_hold_ns(u32 pause_ns, u32 hits, u64 hold_max_ns)
{
	return smartio_hold_ns(pause_ns, hits, hold_max_ns);
}

u32 host_cap_awaited(u32 cap, u32 cap_alone, u32 service_ns)
{
	return smartio_cap_awaited(cap, cap_alone, service_ns);
}

u32 host_learn_step(u32 old, u64 pause_ns)
{
	return smartio_learn_step(old, pause_ns);
}

u64 host_await_ns(u32 step_ns, u32 hits)
{
	return smartio_await_ns(step_ns, hits);
}

u64 host_patience(u64 patience_ns, u64 held_ns)
{
	return smartio_patience(patience_ns, held_ns);
}

u64 host_earn(u64 patience_ns, u64 cost_ns, u64 slice_ns)
{
	return smartio_earn(patience_ns, cost_ns, slice_ns);
}

u32 host_judge(const struct smartio_view *view)
{
	return smartio_judge(view);
}

u64 host_wake_ns(const struct smartio_view *view, u32 verdict)
{
	return smartio_wake_ns(view, (enum smartio_verdict)verdict);
}

u32 host_view_bytes(void)
{
	return sizeof(struct smartio_view);
}
