// SPDX-License-Identifier: GPL-2.0-only
/*
 * Verification of data: writes of 1 to 16 pages, reads that must return the newest
 * acknowledged data, flushes, discards.
 *
 * When requests fail (after a power cut) it waits until the device reads again and
 * then checks durability: each page must contain the data of the last flush, or any
 * newer write in flight, and each page must be from one write.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "probe.h"

/* Least time to wait for the device. */
#define AWAY_NS		1000000000ull
#define PAGES_MAX	16
#define WORDS		(PROBE_PAGE / sizeof(uint64_t))
#define COMPLAINTS_MAX	10

/* Generations of a page: 0 is zeroes. */
struct page_state {
	uint32_t promised;	/* at least this */
	uint32_t acknowledged;	/* result of a read */
	uint32_t tried;		/* at most this */
	bool discarded;		/* anything so far, or zeroes */
};

struct verify {
	struct job *job;
	struct page_state *pages;
	uint32_t count;
	uint32_t generation;
	uint64_t (*buffer)[WORDS];
	uint32_t complaints;
};

static void fill(const struct verify *v, uint64_t *words, uint32_t page, uint32_t generation)
{
	uint64_t state = v->job->options.seed ^ (uint64_t)page << 32 ^ generation;
	size_t i;

	words[0] = generation;
	for (i = 1; i < WORDS; i++)
		words[i] = random_next(&state);
}

/* The generation of the page, or -1 when it is torn. */
static int64_t generation_of(const struct verify *v, const uint64_t *words, uint32_t page)
{
	static const uint64_t zeroes[WORDS];
	uint64_t expected[WORDS];

	if (!memcmp(words, zeroes, PROBE_PAGE))
		return 0;
	if (words[0] == 0 || words[0] > v->generation)
		return -1;
	fill(v, expected, page, (uint32_t)words[0]);
	return memcmp(words, expected, PROBE_PAGE) ? -1 : (int64_t)words[0];
}

static void complain(struct verify *v, uint32_t page, int64_t found, const char *when)
{
	const struct page_state *state = &v->pages[page];

	v->job->mismatches++;
	if (v->complaints++ < COMPLAINTS_MAX)
		fprintf(stderr, "probe: %s: page %u holds generation %lld %s; promised %u, acknowledged %u, tried %u\n",
			v->job->options.name, page, (long long)found, when, state->promised,
			state->acknowledged, state->tried);
}

static off_t place(const struct verify *v, uint32_t page)
{
	return (off_t)(v->job->options.offset + (uint64_t)page * PROBE_PAGE);
}

static bool write_pages(struct verify *v, uint32_t first, uint32_t count)
{
	uint32_t i, generation = ++v->generation;

	for (i = 0; i < count; i++) {
		fill(v, v->buffer[i], first + i, generation);
		v->pages[first + i].tried = generation;
	}
	if (pwrite(v->job->fd, v->buffer, count * PROBE_PAGE, place(v, first)) !=
	    (ssize_t)(count * PROBE_PAGE))
		return false;
	for (i = 0; i < count; i++) {
		struct page_state *state = &v->pages[first + i];

		state->acknowledged = generation;
		state->discarded = false;
		if (v->job->options.dsync)
			state->promised = generation;
	}
	return true;
}

static bool read_pages(struct verify *v, uint32_t first, uint32_t count)
{
	uint32_t i;

	if (pread(v->job->fd, v->buffer, count * PROBE_PAGE, place(v, first)) !=
	    (ssize_t)(count * PROBE_PAGE))
		return false;
	for (i = 0; i < count; i++) {
		int64_t found = generation_of(v, v->buffer[i], first + i);
		const struct page_state *state = &v->pages[first + i];

		if (found != state->acknowledged && !(state->discarded && found == 0))
			complain(v, first + i, found, "when read");
	}
	return true;
}

static bool flush(struct verify *v)
{
	uint32_t i;

	if (fdatasync(v->job->fd))
		return false;
	for (i = 0; i < v->count; i++)
		v->pages[i].promised = v->pages[i].discarded ? 0 : v->pages[i].acknowledged;
	return true;
}

static bool discard_pages(struct verify *v, uint32_t first, uint32_t count)
{
	uint64_t range[2] = { (uint64_t)place(v, first), (uint64_t)count * PROBE_PAGE };
	uint32_t i;

	for (i = 0; i < count; i++) {
		v->pages[first + i].discarded = true;
		v->pages[first + i].promised = 0;
	}
	return !ioctl(v->job->fd, BLKDISCARD, range);
}

/* The power is on again: checks all data. */
static bool hold_to_promises(struct verify *v)
{
	uint32_t first, i, count;

	for (first = 0; first < v->count; first += PAGES_MAX) {
		count = v->count - first < PAGES_MAX ? v->count - first : PAGES_MAX;
		if (pread(v->job->fd, v->buffer, count * PROBE_PAGE, place(v, first)) !=
		    (ssize_t)(count * PROBE_PAGE))
			return false;
		for (i = 0; i < count; i++) {
			struct page_state *state = &v->pages[first + i];
			int64_t found = generation_of(v, v->buffer[i], first + i);

			if (found < state->promised || found > state->tried)
				complain(v, first + i, found, "after a power cut");
			state->acknowledged = found < 0 ? 0 : (uint32_t)found;
			state->tried = state->acknowledged;
			state->discarded = found == 0;
			/* It was read from the cells, and nothing newer is in flight. */
			state->promised = state->acknowledged;
		}
	}
	return true;
}

static bool is_over(const struct job *job)
{
	return job->options.stop_ns && now_ns() - job->begin_ns >= job->options.stop_ns;
}

/*
 * False when the device did not return within the job's time limit, which is at least a second,
 * since a job may end while power is off.
 */
static bool recover(struct verify *v)
{
	uint64_t since = now_ns();

	do {
		if (pread(v->job->fd, v->buffer, PROBE_PAGE, place(v, 0)) == PROBE_PAGE &&
		    hold_to_promises(v))
			return true;
		think(1000000);
	} while (!is_over(v->job) || now_ns() - since < AWAY_NS);
	return false;
}

/* Discards existing data: all pages start as zeroes. */
static bool begin(struct verify *v)
{
	uint32_t first, count, i;

	for (first = 0; first < v->count; first += PAGES_MAX) {
		ssize_t bytes;

		count = v->count - first < PAGES_MAX ? v->count - first : PAGES_MAX;
		bytes = (ssize_t)(count * PROBE_PAGE);
		if (pread(v->job->fd, v->buffer, (size_t)bytes, place(v, first)) != bytes)
			return false;
		for (i = 0; i < count && generation_of(v, v->buffer[i], first + i) == 0; i++)
			;
		if (i == count)
			continue;
		memset(v->buffer, 0, (size_t)bytes);
		if (pwrite(v->job->fd, v->buffer, (size_t)bytes, place(v, first)) != bytes)
			return false;
	}
	return !fdatasync(v->job->fd);
}

void job_run_verify(struct job *job)
{
	struct verify v = {
		.job = job,
		.count = (uint32_t)(job->options.size / PROBE_PAGE),
		.buffer = buffer_new(PAGES_MAX * PROBE_PAGE, 0),
	};
	uint32_t first, count, kind;
	bool done = true;

	v.pages = calloc(v.count, sizeof(*v.pages));
	if (!v.pages)
		die("get memory for", job->options.name);
	if (!begin(&v))
		die("write", job->options.path);
	/* The time of the check is not part of the job's time. */
	job->begin_ns = now_ns();
	while (!is_over(job) &&
	       !(job->options.stop_bytes && job->issued_bytes >= job->options.stop_bytes)) {
		uint64_t began = now_ns();

		count = 1 + (uint32_t)(random_next(&job->random) % PAGES_MAX);
		if (count > v.count)
			count = v.count;
		first = (uint32_t)(random_next(&job->random) % (v.count - count + 1));
		kind = (uint32_t)(random_next(&job->random) % 100);
		if (kind < 55)
			done = write_pages(&v, first, count) &&
			       (!job->options.fsync_every ||
				++job->writes % job->options.fsync_every || flush(&v));
		else if (kind < 90)
			done = read_pages(&v, first, count);
		else if (kind < 95 && job->options.discards)
			done = discard_pages(&v, first, count);
		else
			done = flush(&v);
		latency_add(&job->total, job, began, count * PROBE_PAGE, !done);
		job->issued_bytes += count * PROBE_PAGE;
		if (!done)
			done = recover(&v);
		if (!done)
			break;
		think(job->options.think_ns);
	}
	for (first = 0; done && first < v.count; first++)
		done = read_pages(&v, first, 1);
	if (!done)
		fprintf(stderr, "probe: %s: the device did not come back: %s\n", job->options.name,
			strerror(errno));
	free(v.pages);
	free(v.buffer);
}
