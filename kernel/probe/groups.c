// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory groups that are swapped out in turn: where do the pages of each lie?
 *
 * probe groups COUNT BYTES CHUNK_PAGES [HOT_PERCENT]: each group is a process in
 * a control group of its own (/sys/fs/cgroup/group1, ...) with BYTES of memory.
 * HOT_PERCENT of it (all, if not given) are its hot set: what a return touches,
 * in runs of 1 to 23 pages. Commands come as lines on the standard input; each
 * ends with "done COMMAND":
 *   out    page out all groups, CHUNK_PAGES of each in turn, then reclaim what
 *          is left in the swap cache
 *   where  for each group: swapped pages, those whose slot follows the slot of
 *          the page before, and clusters of 256 slots that they lie in
 *   back   read all pages of one group after the other, and verify them: the
 *          time of each group
 *   fetch  the same, after MADV_WILLNEED for all of it
 *   dirty  write all pages of all groups
 *   evict  page out the hot sets of all groups in the order of the last touch, as
 *          reclaim finds them, CHUNK_PAGES of each in turn, and then the rest
 *   park   page out each group at once, its hot set last, both by address: so
 *          does the memory engine
 *   touch  each group after the other, the last first, touches its hot set,
 *          verifies it, and writes half of its runs, by chance: the time of each
 *   ahead  the same, after process_madvise(MADV_WILLNEED) for all of the hot
 *          set in the order of slots: so does the memory engine
 *   hot    like where, for the hot sets in the order of slots: pages that
 *          follow the slot before
 *   quit
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "probe.h"

#define CGROUP		"/sys/fs/cgroup"
#define GROUPS_MAX	32
#define CLUSTER		256
/* Of a run of hot pages; the mean is 12. */
#define RUN_PAGES_MAX	23
/* Of one call of process_madvise(): the memory engine's. */
#define RANGES_MAX	1024
#define CALL_PAGES	256

struct answer {
	uint64_t swapped;
	uint64_t following;
	uint64_t clusters;
	uint64_t wrong;
	uint64_t took_us;	/* to read it back */
	uint64_t left;		/* hot pages that are not asked for yet */
};

/* Adjacent pages that a return touches together. */
struct run {
	uint64_t page;
	uint64_t pages;
};

/* A hot page in swap. */
struct slot {
	uint64_t slot;
	uint64_t page;
};

struct order {
	char command;		/* first letter of the command */
	uint64_t page;		/* of 'o' */
	uint64_t pages;
};

struct group {
	int number;
	int orders[2], answers[2];
	char *memory;
	uint64_t pages;
	uint64_t generation;	/* of what the pages hold */
	struct run *hot;	/* the hot set, in the order of the last touch */
	uint64_t nr_hot;
	uint64_t random;
};

static bool write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool done = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return done;
}

static uint64_t word_of(const struct group *group, uint64_t page)
{
	uint64_t seed = group->generation << 48 | (uint64_t)group->number << 40 | page;

	return random_next(&seed);
}

static void fill(struct group *group)
{
	group->generation++;
	for (uint64_t page = 0; page < group->pages; page++) {
		uint64_t seed = word_of(group, page);
		uint64_t *words = (uint64_t *)(group->memory + page * PROBE_PAGE);

		words[0] = word_of(group, page);
		for (size_t i = 1; i < PROBE_PAGE / sizeof(*words); i++)
			words[i] = random_next(&seed);
	}
}

static void page_back(const struct group *group, bool fetch, struct answer *answer)
{
	uint64_t began = now_ns();

	if (fetch && madvise(group->memory, group->pages * PROBE_PAGE, MADV_WILLNEED))
		die("fetch", "memory");
	for (uint64_t page = 0; page < group->pages; page++)
		if (*(volatile uint64_t *)(group->memory + page * PROBE_PAGE) != word_of(group, page))
			answer->wrong++;
	answer->took_us = (now_ns() - began) / 1000;
}

/* As many runs as make the share of the memory, with gaps in proportion. */
static void choose_hot(struct group *group, unsigned int percent)
{
	uint64_t page = 0;

	group->random = (uint64_t)group->number;
	group->hot = calloc(group->pages, sizeof(*group->hot));
	if (!group->hot)
		die("get memory for", "a hot set");
	while (page < group->pages) {
		uint64_t pages = 1 + random_next(&group->random) % RUN_PAGES_MAX;
		/* Mean 12 (100 - percent) / percent. */
		uint64_t gap = pages * (100 - percent) / percent;

		if (pages > group->pages - page)
			pages = group->pages - page;
		group->hot[group->nr_hot++] = (struct run){ page, pages };
		page += pages + gap;
	}
}

static void shuffle_hot(struct group *group)
{
	for (uint64_t i = group->nr_hot; i > 1; i--) {
		struct run held = group->hot[i - 1];
		uint64_t other = random_next(&group->random) % i;

		group->hot[i - 1] = group->hot[other];
		group->hot[other] = held;
	}
}

/* Each return touches the same runs in another order. */
static void touch(struct group *group, struct answer *answer)
{
	shuffle_hot(group);
	for (uint64_t i = 0; i < group->nr_hot; i++) {
		bool writes = random_next(&group->random) & 1;

		for (uint64_t page = group->hot[i].page; page < group->hot[i].page + group->hot[i].pages; page++) {
			volatile uint64_t *words = (uint64_t *)(group->memory + page * PROBE_PAGE);

			if (words[0] != word_of(group, page))
				answer->wrong++;
			if (writes)
				words[1]++;
		}
	}
}

/* Bits of an entry of /proc/PID/pagemap: Documentation/admin-guide/mm/pagemap.rst */
static bool slot_of(const struct group *group, int pagemap, uint64_t page, uint64_t *slot)
{
	off_t at = (off_t)(((uintptr_t)group->memory / PROBE_PAGE + page) * sizeof(*slot));
	uint64_t entry;

	if (pread(pagemap, &entry, sizeof(entry), at) != sizeof(entry))
		die("read", "/proc/self/pagemap");
	*slot = (entry & ((1ull << 55) - 1)) >> 5;
	return entry >> 62 & 1;
}

static int by_slot(const void *a, const void *b)
{
	uint64_t one = ((const struct slot *)a)->slot, two = ((const struct slot *)b)->slot;

	return (one > two) - (one < two);
}

/* The hot pages in swap, by slot; to be freed. */
static struct slot *hot_slots(const struct group *group, uint64_t *count)
{
	struct slot *slots = calloc(group->pages, sizeof(*slots));
	int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);

	if (!slots || pagemap < 0)
		die("open", "/proc/self/pagemap");
	*count = 0;
	for (uint64_t i = 0; i < group->nr_hot; i++)
		for (uint64_t page = group->hot[i].page; page < group->hot[i].page + group->hot[i].pages; page++) {
			slots[*count].page = page;
			*count += slot_of(group, pagemap, page, &slots[*count].slot);
		}
	close(pagemap);
	qsort(slots, *count, sizeof(*slots), by_slot);
	return slots;
}

static void find_hot_slots(const struct group *group, struct answer *answer)
{
	uint64_t cluster = UINT64_MAX;
	struct slot *slots = hot_slots(group, &answer->swapped);

	for (uint64_t i = 0; i < answer->swapped; i++) {
		answer->following += i && slots[i].slot == slots[i - 1].slot + 1;
		answer->clusters += slots[i].slot / CLUSTER != cluster;
		cluster = slots[i].slot / CLUSTER;
	}
	free(slots);
}

static void advise_ahead(const struct group *group)
{
	static struct iovec ranges[RANGES_MAX];
	int self = (int)syscall(SYS_pidfd_open, getpid(), 0);
	uint64_t count, i = 0;
	struct slot *slots = hot_slots(group, &count);

	if (self < 0)
		die("open", "a pidfd");
	while (i < count) {
		uint64_t nr = 0, pages;

		for (pages = 0; i < count && pages < CALL_PAGES; i++, pages++) {
			if (nr && slots[i].page == slots[i - 1].page + 1) {
				ranges[nr - 1].iov_len += PROBE_PAGE;
				continue;
			}
			ranges[nr++] = (struct iovec){ group->memory + slots[i].page * PROBE_PAGE, PROBE_PAGE };
		}
		if (syscall(SYS_process_madvise, self, ranges, nr, MADV_WILLNEED, 0) != (long)(pages * PROBE_PAGE))
			die("fetch", "a hot set");
	}
	free(slots);
	close(self);
}

/* What of the pages is in memory goes out. */
static void page_out_range(const struct group *group, uint64_t page, uint64_t pages)
{
	if (pages && madvise(group->memory + page * PROBE_PAGE, pages * PROBE_PAGE, MADV_PAGEOUT))
		die("page out", "memory");
}

/* Some hot pages, counted in the order of touching; the number that was left to do. */
static uint64_t page_out_hot(const struct group *group, uint64_t from, uint64_t pages)
{
	uint64_t left = 0;

	for (uint64_t i = 0; i < group->nr_hot; i++) {
		const struct run *run = &group->hot[i];
		uint64_t skip = from < run->pages ? from : run->pages;
		uint64_t here = run->pages - skip < pages ? run->pages - skip : pages;

		page_out_range(group, run->page + skip, here);
		from -= skip;
		pages -= here;
		left += run->pages - skip - here;
	}
	return left;
}

static void park(const struct group *group)
{
	unsigned char *is_hot = calloc(group->pages, 1);
	uint64_t page, end;

	if (!is_hot)
		die("get memory for", "a hot set");
	for (uint64_t i = 0; i < group->nr_hot; i++)
		memset(is_hot + group->hot[i].page, 1, group->hot[i].pages);
	for (int hot = 0; hot < 2; hot++)
		for (page = 0; page < group->pages; page = end) {
			for (end = page; end < group->pages && is_hot[end] == is_hot[page];)
				end++;
			if (is_hot[page] == hot)
				page_out_range(group, page, end - page);
		}
	free(is_hot);
}

static void find_slots(const struct group *group, struct answer *answer)
{
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	uint64_t slot, before = 0;
	static unsigned char seen[1 << 20];

	if (fd < 0)
		die("open", "/proc/self/pagemap");
	memset(seen, 0, sizeof(seen));
	for (uint64_t page = 0; page < group->pages; page++) {
		if (!slot_of(group, fd, page, &slot)) {
			before = 0;
			continue;
		}
		answer->swapped++;
		answer->following += before && slot == before + 1;
		before = slot;
		if (slot / CLUSTER < sizeof(seen) && !seen[slot / CLUSTER]++)
			answer->clusters++;
	}
	close(fd);
}

static void serve(struct group *group)
{
	struct order order;

	while (read(group->orders[0], &order, sizeof(order)) == sizeof(order)) {
		struct answer answer = { 0 };
		uint64_t began;

		if (order.command == 'q')
			break;
		if (order.command == 'o')
			page_out_range(group, order.page, order.pages);
		else if (order.command == 'e')
			answer.left = page_out_hot(group, order.page, order.pages);
		else if (order.command == 'p')
			park(group);
		else if (order.command == 'h')
			find_hot_slots(group, &answer);
		else if (order.command == 't' || order.command == 'a') {
			began = now_ns();
			if (order.command == 'a')
				advise_ahead(group);
			touch(group, &answer);
			answer.took_us = (now_ns() - began) / 1000;
		} else if (order.command == 'w')
			find_slots(group, &answer);
		else if (order.command == 'b' || order.command == 'f')
			page_back(group, order.command == 'f', &answer);
		else if (order.command == 'd')
			fill(group);
		if (write(group->answers[1], &answer, sizeof(answer)) != sizeof(answer))
			break;
	}
	_exit(0);
}

static void group_start(struct group *group, unsigned int hot_percent)
{
	char path[64], text[16];
	pid_t child;

	if (pipe2(group->orders, O_CLOEXEC) || pipe2(group->answers, O_CLOEXEC))
		die("make a pipe for", "a group");
	snprintf(path, sizeof(path), CGROUP "/group%d", group->number);
	if (mkdir(path, 0700) && errno != EEXIST)
		die("make", path);
	child = fork();
	if (child < 0)
		die("start", path);
	if (child)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	snprintf(path, sizeof(path), CGROUP "/group%d/cgroup.procs", group->number);
	snprintf(text, sizeof(text), "%d", getpid());
	if (!write_file(path, text))
		die("enter", path);
	group->memory = mmap(NULL, group->pages * PROBE_PAGE, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (group->memory == MAP_FAILED)
		die("get memory for", path);
	madvise(group->memory, group->pages * PROBE_PAGE, MADV_NOHUGEPAGE);
	fill(group);
	choose_hot(group, hot_percent);
	serve(group);
}

static struct answer ask(const struct group *group, char command, uint64_t page, uint64_t pages)
{
	struct order order = { .command = command, .page = page, .pages = pages };
	struct answer answer;

	if (write(group->orders[1], &order, sizeof(order)) != sizeof(order) ||
	    read(group->answers[0], &answer, sizeof(answer)) != sizeof(answer))
		die("ask", "a group, which has ended");
	return answer;
}

/* EAGAIN when less was left: page-out was first. */
static void reclaim(const struct group *group, uint64_t pages)
{
	char path[64], text[32];

	snprintf(path, sizeof(path), CGROUP "/group%d/memory.reclaim", group->number);
	snprintf(text, sizeof(text), "%llu", (unsigned long long)pages * PROBE_PAGE);
	write_file(path, text);
}

static void evict(const struct group *groups, int count, uint64_t chunk)
{
	uint64_t left, from = 0;
	int i;

	do {
		left = 0;
		for (i = 0; i < count; i++)
			left += ask(&groups[i], 'e', from, chunk).left;
		from += chunk;
	} while (left);
	for (i = 0; i < count; i++)
		reclaim(&groups[i], groups[i].pages);
}

static void page_out(struct group *groups, int count, uint64_t chunk)
{
	int i;

	for (uint64_t page = 0; page < groups[0].pages; page += chunk)
		for (i = 0; i < count; i++)
			ask(&groups[i], 'o', page,
			    groups[0].pages - page < chunk ? groups[0].pages - page : chunk);
	for (i = 0; i < count; i++)
		reclaim(&groups[i], groups[i].pages);
}

/* Commands that each group obeys, one after the other; their first letters differ. */
static bool is_for_each(const char *command)
{
	static const char *const commands[] = { "where", "back", "fetch", "dirty", "park", "touch", "ahead", "hot" };

	for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++)
		if (!strcmp(command, commands[i]))
			return true;
	return false;
}

int groups_main(int argc, char **argv)
{
	static struct group groups[GROUPS_MAX];
	uint64_t pages, chunk;
	char line[64];
	int count, i, hot_percent = argc == 4 ? atoi(argv[3]) : 100;

	if (argc < 3 || argc > 4 || (count = atoi(argv[0])) < 1 || count > GROUPS_MAX ||
	    !(pages = strtoull(argv[1], NULL, 0) / PROBE_PAGE) || !(chunk = strtoull(argv[2], NULL, 0)) ||
	    hot_percent < 1 || hot_percent > 100) {
		fprintf(stderr, "usage: probe groups COUNT BYTES CHUNK_PAGES [HOT_PERCENT], with at most %d groups\n",
			GROUPS_MAX);
		return 2;
	}
	if (access(CGROUP "/cgroup.controllers", F_OK) && mount("cgroup2", CGROUP, "cgroup2", 0, NULL))
		die("mount cgroup2 on", CGROUP);
	if (!write_file(CGROUP "/cgroup.subtree_control", "+memory"))
		die("switch the memory controller on in", CGROUP);
	for (i = 0; i < count; i++) {
		groups[i].number = i + 1;
		groups[i].pages = pages;
		group_start(&groups[i], (unsigned int)hot_percent);
		/* An answer comes when its memory is there. */
		ask(&groups[i], 'n', 0, 0);
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	puts("done start");
	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = '\0';
		if (!strcmp(line, "quit"))
			break;
		if (!strcmp(line, "out"))
			page_out(groups, count, chunk);
		else if (!strcmp(line, "evict"))
			evict(groups, count, chunk);
		else if (!is_for_each(line)) {
			fprintf(stderr, "probe: groups: no command '%s'\n", line);
			return 2;
		}
		for (i = 0; i < count && line[0] != 'o' && line[0] != 'e'; i++) {
			/*
			 * Apps do not return in the order in which they were swapped out,
			 * which would make one run of their slots.
			 */
			int g = line[0] == 't' || line[0] == 'a' ? count - 1 - i : i;
			struct answer a = ask(&groups[g], line[0], 0, 0);

			/* It may have left written pages in the swap cache. */
			if (line[0] == 'p')
				reclaim(&groups[g], pages);
			if (line[0] == 'w' || line[0] == 'h')
				printf("group %d swapped %llu following %llu clusters %llu\n", g + 1,
				       (unsigned long long)a.swapped, (unsigned long long)a.following,
				       (unsigned long long)a.clusters);
			if (strchr("bfta", line[0]))
				printf("group %d wrong %llu took_us %llu\n", g + 1,
				       (unsigned long long)a.wrong, (unsigned long long)a.took_us);
		}
		printf("done %s\n", line);
	}
	for (i = 0; i < count; i++)
		/* The groups after it have its pipes too: their end alone would not reach it. */
		if (write(groups[i].orders[1], &(struct order){ .command = 'q' }, sizeof(struct order)) < 0)
			die("end", "a group");
	while (wait(NULL) > 0)
		;
	for (i = 0; i < count; i++) {
		snprintf(line, sizeof(line), CGROUP "/group%d", i + 1);
		rmdir(line);
	}
	return 0;
}
