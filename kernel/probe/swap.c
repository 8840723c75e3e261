// SPDX-License-Identifier: GPL-2.0-only
/*
 * Swap-in: pages of one mapping are touched in random order, half of the touches
 * write.
 *
 * Without resident= all of it is paged out, each page is touched once, and it
 * starts again. With resident= only this much may stay in memory, so swap-out
 * and swap-in run concurrently: thrashing. Both need cgroup2's memory controller,
 * since MADV_PAGEOUT alone leaves pages in the swap cache.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "probe.h"

#define CGROUP	"/sys/fs/cgroup"
#define GROUP	CGROUP "/probe"

static bool put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool done = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return done;
}

/* Moves this process into a group of its own. */
static void join_group(const struct job *job)
{
	char text[32];

	if (access(CGROUP "/cgroup.controllers", F_OK) &&
	    mount("cgroup2", CGROUP, "cgroup2", 0, NULL))
		die("mount cgroup2 on", CGROUP);
	if (!put(CGROUP "/cgroup.subtree_control", "+memory"))
		die("switch the memory controller on in", CGROUP);
	mkdir(GROUP, 0700);
	snprintf(text, sizeof(text), "%d", getpid());
	if (!put(GROUP "/cgroup.procs", text))
		die("enter", GROUP);
	snprintf(text, sizeof(text), "%llu", (unsigned long long)job->options.resident);
	if (job->options.resident && !put(GROUP "/memory.max", text))
		die("limit the memory of", GROUP);
}

static uint64_t group_bytes(void)
{
	unsigned long long bytes = 0;
	FILE *file = fopen(GROUP "/memory.current", "re");

	if (!file || fscanf(file, "%llu", &bytes) != 1)
		die("read memory.current of", GROUP);
	fclose(file);
	return bytes;
}

/* Reclaims all of it, including the swap cache. The program's own working set stays. */
static void page_out(char *memory, uint64_t size)
{
	uint64_t before, now = group_bytes();
	char text[32];

	if (madvise(memory, size, MADV_PAGEOUT))
		die("page out", "memory");
	do {
		before = now;
		snprintf(text, sizeof(text), "%llu", (unsigned long long)size);
		/* EAGAIN when less was reclaimed: only the remaining amount matters. */
		put(GROUP "/memory.reclaim", text);
		now = group_bytes();
	} while (now < before && now > size / 64);
	if (now > size / 8) {
		fprintf(stderr, "probe: %llu of %llu bytes cannot be paged out: is the swap large enough?\n",
			(unsigned long long)now, (unsigned long long)size);
		exit(1);
	}
}

static void shuffle(uint32_t *order, uint32_t count, uint64_t *random)
{
	uint32_t i, j, held;

	for (i = 0; i < count; i++)
		order[i] = i;
	for (i = count; i > 1; i--) {
		j = (uint32_t)(random_next(random) % i);
		held = order[j];
		order[j] = order[i - 1];
		order[i - 1] = held;
	}
}

void job_run_swap(struct job *job)
{
	const struct job_options *o = &job->options;
	uint32_t pages = (uint32_t)(o->size / PROBE_PAGE), i = 0;
	uint64_t done = 0, began, paused = 0;
	uint32_t *order = calloc(pages ? pages : 1, sizeof(*order));
	char *memory;

	if (!pages) {
		fprintf(stderr, "probe: %s needs a size\n", o->name);
		exit(2);
	}
	join_group(job);
	memory = mmap(NULL, o->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED || !order)
		die("get memory for", o->name);
	madvise(memory, o->size, MADV_NOHUGEPAGE);
	for (uint64_t at = 0; at < o->size; at += sizeof(uint64_t))
		*(uint64_t *)(memory + at) = random_next(&job->random);
	shuffle(order, pages, &job->random);
	if (!o->resident)
		page_out(memory, o->size);
	job->begin_ns = now_ns();
	while (!(o->stop_ns && now_ns() - job->begin_ns >= o->stop_ns) &&
	       !(o->stop_bytes && done >= o->stop_bytes)) {
		volatile char *page = memory + (uint64_t)order[i] * PROBE_PAGE;
		bool writes = random_next(&job->random) & 1;

		began = now_ns();
		if (writes)
			*page = (char)done;
		else
			(void)*page;
		latency_add(&job->total, job, began, PROBE_PAGE, false);
		done += PROBE_PAGE;
		think(o->think_ns);
		if (++i < pages)
			continue;
		i = 0;
		if (o->resident)
			continue;
		/* The next swap-out is not part of the job's time. */
		paused = now_ns();
		page_out(memory, o->size);
		paused = now_ns() - paused;
		job->begin_ns += paused;
	}
	munmap(memory, o->size);
	free(order);
	put(CGROUP "/cgroup.procs", "0");
	rmdir(GROUP);
}
