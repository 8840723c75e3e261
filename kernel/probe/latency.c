// SPDX-License-Identifier: GPL-2.0-only
/* All response times are stored, so percentiles are exact. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe.h"

static void latency_reserve(struct latencies *to, size_t room)
{
	if (room <= to->room)
		return;
	if (room < 2 * to->room)
		room = 2 * to->room;
	if (room < 65536)
		room = 65536;
	to->ns = realloc(to->ns, room * sizeof(*to->ns));
	if (!to->ns)
		die("get memory for", "response times");
	to->room = room;
}

/* A request that began then has just completed. Those completing during warm-up do not count. */
void latency_add(struct latencies *to, const struct job *job, uint64_t begin_ns,
		 uint64_t bytes, bool failed)
{
	uint64_t now = now_ns();

	if (now < job->begin_ns + job->options.warm_ns)
		return;
	if (job->options.stop_ns && now > job->begin_ns + job->options.stop_ns)
		return;
	if (failed) {
		to->errors++;
		return;
	}
	latency_reserve(to, to->count + 1);
	to->ns[to->count++] = now - begin_ns;
	to->bytes += bytes;
	to->last_ns = now;
}

void latency_merge(struct latencies *to, struct latencies *from)
{
	latency_reserve(to, to->count + from->count);
	if (from->count)
		memcpy(to->ns + to->count, from->ns, from->count * sizeof(*to->ns));
	to->count += from->count;
	to->errors += from->errors;
	to->bytes += from->bytes;
	if (from->last_ns > to->last_ns)
		to->last_ns = from->last_ns;
	free(from->ns);
	memset(from, 0, sizeof(*from));
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* The given per-mille percentile. */
static uint64_t percentile(const struct latencies *l, unsigned int per_mille)
{
	size_t rank = (l->count * per_mille + 999) / 1000;

	return l->count ? l->ns[rank ? rank - 1 : 0] : 0;
}

void latency_print(const struct job *job)
{
	const struct latencies *l = &job->total;
	uint64_t from = job->begin_ns + job->options.warm_ns, to = l->last_ns;
	static const struct {
		const char *name;
		unsigned int per_mille;
	} shown[] = { { "p50", 500 }, { "p90", 900 }, { "p99", 990 }, { "p999", 999 }, { "max", 1000 } };
	double sum = 0.0;
	size_t i;

	qsort(l->ns, l->count, sizeof(*l->ns), by_value);
	for (i = 0; i < l->count; i++)
		sum += (double)l->ns[i];
	/* A job with a time limit was counted until then, one with an amount until it was done. */
	if (!job->options.stop_bytes && job->options.stop_ns)
		to = job->begin_ns + job->options.stop_ns;
	printf("@ {\"job\":\"%s\",\"requests\":%zu,\"bytes\":%llu,\"seconds\":%.9f,\"errors\":%llu",
	       job->options.name, l->count, (unsigned long long)l->bytes,
	       to > from ? (double)(to - from) / 1e9 : 0.0, (unsigned long long)l->errors);
	if (job->options.op == OP_VERIFY)
		printf(",\"mismatches\":%llu", (unsigned long long)job->mismatches);
	printf(",\"latency_ns\":{\"mean\":%.1f", l->count ? sum / (double)l->count : 0.0);
	for (i = 0; i < sizeof(shown) / sizeof(*shown); i++)
		printf(",\"%s\":%llu", shown[i].name,
		       (unsigned long long)percentile(l, shown[i].per_mille));
	printf("}}\n");
}
