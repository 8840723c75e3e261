// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory groups that are swapped out in turn: where do the pages of each lie?
 *
 * probe groups COUNT BYTES CHUNK_PAGES: each group is a process in a control
 * group of its own (/sys/fs/cgroup/group1, ...) with BYTES of memory. Commands
 * come as lines on the standard input; each ends with "done COMMAND":
 *   out    page out all groups, CHUNK_PAGES of each in turn, then reclaim what
 *          is left in the swap cache
 *   where  for each group: swapped pages, those whose slot follows the slot of
 *          the page before, and clusters of 256 slots that they lie in
 *   back   read all pages of one group after the other, and verify them: the
 *          time of each group
 *   fetch  the same, after MADV_WILLNEED for all of it
 *   dirty  write all pages of all groups
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
#include <sys/wait.h>
#include <unistd.h>

#include "probe.h"

#define CGROUP		"/sys/fs/cgroup"
#define GROUPS_MAX	32
#define CLUSTER		256

struct answer {
	uint64_t swapped;
	uint64_t following;
	uint64_t clusters;
	uint64_t wrong;
	uint64_t took_us;	/* to read it back */
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

/* Bits of an entry of /proc/PID/pagemap: Documentation/admin-guide/mm/pagemap.rst */
static void find_slots(const struct group *group, struct answer *answer)
{
	int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	uint64_t entry, slot, before = 0;
	static unsigned char seen[1 << 20];

	if (fd < 0)
		die("open", "/proc/self/pagemap");
	memset(seen, 0, sizeof(seen));
	for (uint64_t page = 0; page < group->pages; page++) {
		off_t at = (off_t)(((uintptr_t)group->memory / PROBE_PAGE + page) * sizeof(entry));

		if (pread(fd, &entry, sizeof(entry), at) != sizeof(entry))
			die("read", "/proc/self/pagemap");
		if (!(entry >> 62 & 1)) {
			before = 0;
			continue;
		}
		slot = (entry & ((1ull << 55) - 1)) >> 5;
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

		if (order.command == 'q')
			break;
		if (order.command == 'o' &&
		    madvise(group->memory + order.page * PROBE_PAGE, order.pages * PROBE_PAGE,
			    MADV_PAGEOUT))
			die("page out", "memory");
		else if (order.command == 'w')
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

static void group_start(struct group *group)
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

static void page_out(struct group *groups, int count, uint64_t chunk)
{
	char path[64], text[32];
	int i;

	for (uint64_t page = 0; page < groups[0].pages; page += chunk)
		for (i = 0; i < count; i++)
			ask(&groups[i], 'o', page,
			    groups[0].pages - page < chunk ? groups[0].pages - page : chunk);
	for (i = 0; i < count; i++) {
		snprintf(path, sizeof(path), CGROUP "/group%d/memory.reclaim", groups[i].number);
		snprintf(text, sizeof(text), "%llu", (unsigned long long)groups[i].pages * PROBE_PAGE);
		/* EAGAIN when less was left: MADV_PAGEOUT was first. */
		write_file(path, text);
	}
}

int groups_main(int argc, char **argv)
{
	static struct group groups[GROUPS_MAX];
	uint64_t pages, chunk;
	char line[64];
	int count, i;

	if (argc != 3 || (count = atoi(argv[0])) < 1 || count > GROUPS_MAX ||
	    !(pages = strtoull(argv[1], NULL, 0) / PROBE_PAGE) || !(chunk = strtoull(argv[2], NULL, 0))) {
		fprintf(stderr, "usage: probe groups COUNT BYTES CHUNK_PAGES, with at most %d groups\n", GROUPS_MAX);
		return 2;
	}
	if (access(CGROUP "/cgroup.controllers", F_OK) && mount("cgroup2", CGROUP, "cgroup2", 0, NULL))
		die("mount cgroup2 on", CGROUP);
	if (!write_file(CGROUP "/cgroup.subtree_control", "+memory"))
		die("switch the memory controller on in", CGROUP);
	for (i = 0; i < count; i++) {
		groups[i].number = i + 1;
		groups[i].pages = pages;
		group_start(&groups[i]);
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
		else if (strcmp(line, "where") && strcmp(line, "back") && strcmp(line, "fetch") &&
			 strcmp(line, "dirty")) {
			fprintf(stderr, "probe: groups: no command '%s'\n", line);
			return 2;
		}
		for (i = 0; i < count && line[0] != 'o'; i++) {
			struct answer a = ask(&groups[i], line[0], 0, 0);

			if (line[0] == 'w')
				printf("group %d swapped %llu following %llu clusters %llu\n", i + 1,
				       (unsigned long long)a.swapped, (unsigned long long)a.following,
				       (unsigned long long)a.clusters);
			if (line[0] == 'b' || line[0] == 'f')
				printf("group %d wrong %llu took_us %llu\n", i + 1,
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
