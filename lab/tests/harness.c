// SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0-only
/* Drives the core from C with parameters and requests from a file; prints each completion. */
#include <stdio.h>
#include <stdlib.h>

#include "brisk_flash.h"

struct step {
	uint64_t at_ns;
	struct bf_request request;
};

static void drain(struct bf_device *d)
{
	struct bf_completion c;

	while (bf_collect(d, &c))
		printf("%llu %llu %u\n", (unsigned long long)c.tag,
		       (unsigned long long)c.at_ns, c.status);
}

int main(int argc, char **argv)
{
	struct bf_params params;
	struct bf_device *d;
	struct step step;
	size_t bytes;
	void *memory;
	FILE *in;

	if (argc != 2 || !(in = fopen(argv[1], "rb")) ||
	    fread(&params, sizeof(params), 1, in) != 1)
		return 2;
	bytes = bf_memory_bytes(&params);
	memory = bytes ? malloc(bytes) : NULL;
	if (!memory || bf_init(memory, bytes, &params, &d))
		return 3;
	while (fread(&step, sizeof(step), 1, in) == 1) {
		uint64_t now = step.at_ns;

		bf_run(d, now);
		drain(d);
		while (bf_submit(d, now, &step.request) == BF_ERR_FULL) {
			now = bf_next_event(d);
			bf_run(d, now);
			drain(d);
		}
		drain(d);
	}
	while (bf_next_event(d) != BF_NEVER) {
		bf_run(d, bf_next_event(d));
		drain(d);
	}
	printf("energy %llu\n", (unsigned long long)bf_counters(d)->energy_nj);
	return 0;
}
