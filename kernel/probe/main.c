// SPDX-License-Identifier: GPL-2.0-only
/* Parses jobs, runs them in threads, prints results as lines of JSON. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "probe.h"

#define JOBS_MAX 64

static pthread_barrier_t start;

static void usage(void)
{
	fputs("usage: probe DEFAULT_PLACE key=value... [-- key=value...]\n"
	      "       probe groups COUNT BYTES CHUNK_PAGES [HOT_PERCENT]   see groups.c\n"
	      "  op=read|write|randread|randwrite|mix:P|randmix:P|trim|wal|swap|fault|randfault|verify   P: percent of reads\n"
	      "  name=NAME file=PATH bytes=4096 depth=1 engine=sync|aio direct=1|0 dsync=0|1\n"
	      "  size=BYTES offset=BYTES   the part of the file or device; size 0: all of it\n"
	      "  stop=NS stop_bytes=BYTES  which comes first; warm_ns=NS not counted at the beginning\n"
	      "  think_ns=NS fsync_every=N prio=rt:L|be:L|idle seed=N\n"
	      "  burst=N                   requests between two pauses of think_ns\n"
	      "  cold=1|0                  drop what was read from the page cache\n"
	      "  resident=BYTES            op=swap: memory that may stay; 0: all comes back once, and again\n"
	      "  discards=0|1              op=verify: also discards\n"
	      "Each job prints one line: @ {\"job\":...}\n", stderr);
	exit(2);
}

void die(const char *what, const char *on)
{
	fprintf(stderr, "probe: cannot %s %s: %s\n", what, on, strerror(errno));
	exit(1);
}

uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

/* splitmix64 */
uint64_t random_next(uint64_t *state)
{
	uint64_t z = *state += 0x9E3779B97F4A7C15ull;

	z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
	z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
	return z ^ (z >> 31);
}

/* Data that neither compresses nor merges. */
void *buffer_new(uint64_t bytes, uint64_t seed)
{
	uint64_t *words, i;

	words = aligned_alloc(PROBE_PAGE, (bytes + PROBE_PAGE - 1) / PROBE_PAGE * PROBE_PAGE);
	if (!words)
		die("get memory for", "a buffer");
	for (i = 0; i < bytes / sizeof(*words); i++)
		words[i] = random_next(&seed);
	return words;
}

void think(uint64_t ns)
{
	struct timespec t = {
		.tv_sec = (time_t)(ns / 1000000000ull),
		.tv_nsec = (long)(ns % 1000000000ull),
	};

	while (ns && nanosleep(&t, &t) && errno == EINTR)
		;
}

static uint64_t number(const char *key, const char *value)
{
	char *end;
	uint64_t n;

	errno = 0;
	n = strtoull(value, &end, 10);
	if (errno || end == value || *end || *value == '-') {
		fprintf(stderr, "probe: %s: '%s' is not a whole number\n", key, value);
		exit(2);
	}
	return n;
}

static bool flag(const char *key, const char *value)
{
	if (strcmp(value, "0") && strcmp(value, "1")) {
		fprintf(stderr, "probe: %s: '%s' is neither 0 nor 1\n", key, value);
		exit(2);
	}
	return *value == '1';
}

static void set_op(struct job_options *o, const char *value)
{
	const char *percent = strchr(value, ':');
	size_t length = percent ? (size_t)(percent - value) : strlen(value);
	static const struct {
		const char *word;
		enum probe_op op;
		bool random;
	} ops[] = {
		{ "read", OP_READ, false }, { "randread", OP_READ, true },
		{ "write", OP_WRITE, false }, { "randwrite", OP_WRITE, true },
		{ "mix", OP_MIX, false }, { "randmix", OP_MIX, true },
		{ "trim", OP_TRIM, false }, { "wal", OP_WAL, false },
		{ "swap", OP_SWAP, true }, { "verify", OP_VERIFY, true },
		{ "fault", OP_FAULT, false }, { "randfault", OP_FAULT, true },
	};
	size_t i;

	for (i = 0; i < sizeof(ops) / sizeof(*ops); i++)
		if (strlen(ops[i].word) == length && !strncmp(ops[i].word, value, length))
			break;
	if (i == sizeof(ops) / sizeof(*ops) || !percent == (ops[i].op == OP_MIX)) {
		fprintf(stderr, "probe: there is no op '%s'\n", value);
		exit(2);
	}
	o->op = ops[i].op;
	o->random = ops[i].random;
	if (percent)
		o->read_percent = (unsigned int)number("op", percent + 1);
	if (o->read_percent > 100) {
		fprintf(stderr, "probe: op: more than 100 percent of reads\n");
		exit(2);
	}
}

static void set_engine(struct job_options *o, const char *value)
{
	if (strcmp(value, "sync") && strcmp(value, "aio")) {
		fprintf(stderr, "probe: there is no engine '%s'\n", value);
		exit(2);
	}
	o->engine_given = true;
	o->engine = *value == 'a' ? ENGINE_AIO : ENGINE_SYNC;
}

static int ioprio(const char *value)
{
	int level = strchr(value, ':') ? atoi(strchr(value, ':') + 1) : -1;

	if (!strcmp(value, "idle"))
		return 3 << 13;
	if (level < 0 || level > 7 || (strncmp(value, "rt:", 3) && strncmp(value, "be:", 3))) {
		fprintf(stderr, "probe: prio: '%s' is none of rt:0-7, be:0-7, idle\n", value);
		exit(2);
	}
	return (value[0] == 'r' ? 1 : 2) << 13 | level;
}

static void set_option(struct job_options *o, char *word)
{
	char *value = strchr(word, '=');

	if (!value)
		usage();
	*value++ = '\0';
	if (!strcmp(word, "op"))
		set_op(o, value);
	else if (!strcmp(word, "name"))
		o->name = value;
	else if (!strcmp(word, "file"))
		o->path = value;
	else if (!strcmp(word, "bytes"))
		o->bytes = number(word, value);
	else if (!strcmp(word, "depth"))
		o->depth = (unsigned int)number(word, value);
	else if (!strcmp(word, "engine"))
		set_engine(o, value);
	else if (!strcmp(word, "direct"))
		o->direct = flag(word, value);
	else if (!strcmp(word, "dsync"))
		o->dsync = flag(word, value);
	else if (!strcmp(word, "discards"))
		o->discards = flag(word, value);
	else if (!strcmp(word, "size"))
		o->size = number(word, value);
	else if (!strcmp(word, "offset"))
		o->offset = number(word, value);
	else if (!strcmp(word, "resident"))
		o->resident = number(word, value);
	else if (!strcmp(word, "stop") || !strcmp(word, "stop_ns"))
		o->stop_ns = number(word, value);
	else if (!strcmp(word, "stop_bytes"))
		o->stop_bytes = number(word, value);
	else if (!strcmp(word, "warm_ns"))
		o->warm_ns = number(word, value);
	else if (!strcmp(word, "think_ns"))
		o->think_ns = number(word, value);
	else if (!strcmp(word, "burst"))
		o->burst = (unsigned int)number(word, value);
	else if (!strcmp(word, "cold"))
		o->cold = flag(word, value);
	else if (!strcmp(word, "fsync_every"))
		o->fsync_every = (unsigned int)number(word, value);
	else if (!strcmp(word, "prio"))
		o->ioprio = ioprio(value);
	else if (!strcmp(word, "seed"))
		o->seed = number(word, value);
	else
		usage();
}

/* Checks a job, and derives its other parameters. */
static void settle(struct job *job)
{
	struct job_options *o = &job->options;

	if (!o->bytes || !o->depth || !o->burst || (!o->stop_ns && !o->stop_bytes)) {
		fprintf(stderr, "probe: %s needs bytes, depth, burst, and stop or stop_bytes\n", o->name);
		exit(2);
	}
	if (!o->engine_given && o->depth > 1 && o->direct && !o->fsync_every &&
	    (o->op == OP_READ || o->op == OP_WRITE || o->op == OP_MIX))
		o->engine = ENGINE_AIO;
	/* Different streams for jobs with the same seed. */
	job->random = o->seed;
	pthread_mutex_init(&job->lock, NULL);
}

static void open_place(struct job *job)
{
	struct job_options *o = &job->options;
	int flags = O_RDWR | O_CREAT | O_CLOEXEC;
	off_t end;

	job->fd = -1;
	if (o->op == OP_SWAP)
		return;
	if (o->direct && o->op != OP_TRIM && o->op != OP_FAULT)
		flags |= O_DIRECT;
	if (o->dsync)
		flags |= O_DSYNC;
	/* A device is never created. */
	if (!strncmp(o->path, "/dev/", 5))
		flags &= ~O_CREAT;
	job->fd = open(o->path, flags, 0600);
	if (job->fd < 0)
		die("open", o->path);
	end = lseek(job->fd, 0, SEEK_END);
	if (end < 0)
		die("measure", o->path);
	if (!o->size)
		o->size = (uint64_t)end > o->offset ? (uint64_t)end - o->offset : 0;
	o->size -= o->size % o->bytes;
	if (!o->size) {
		fprintf(stderr, "probe: %s: no room for a request in %s; give a size\n", o->name, o->path);
		exit(2);
	}
	if (o->op == OP_FAULT) {
		job->map = mmap(NULL, o->offset + o->size, PROT_READ, MAP_SHARED, job->fd, 0);
		if (job->map == MAP_FAILED)
			die("map", o->path);
	}
	job->read_next = 0;
	/* Reads and writes of a sequential mix have a half each. */
	job->write_next = o->op == OP_MIX ? o->size / o->bytes / 2 * o->bytes : 0;
}

static void *run(void *context)
{
	struct job *job = context;

	prctl(PR_SET_TIMERSLACK, 1);
	if (job->options.ioprio >= 0 && syscall(SYS_ioprio_set, 1, 0, job->options.ioprio))
		die("set the priority of", job->options.name);
	pthread_barrier_wait(&start);
	job->begin_ns = now_ns();
	if (job->options.op == OP_SWAP)
		job_run_swap(job);
	else if (job->options.op == OP_VERIFY)
		job_run_verify(job);
	else if (job->options.engine == ENGINE_AIO)
		job_run_aio(job);
	else
		job_run_requests(job);
	return NULL;
}

int main(int argc, char **argv)
{
	static struct job jobs[JOBS_MAX];
	static char names[JOBS_MAX][16];
	pthread_t threads[JOBS_MAX];
	int count = 0, i = 2, status = 0;

	if (argc < 3)
		usage();
	if (!strcmp(argv[1], "groups"))
		return groups_main(argc - 2, argv + 2);
	while (i < argc) {
		struct job *job = &jobs[count];

		if (count == JOBS_MAX) {
			fprintf(stderr, "probe: more than %d jobs\n", JOBS_MAX);
			return 2;
		}
		snprintf(names[count], sizeof(names[count]), "job%d", count);
		job->options = (struct job_options) {
			.name = names[count], .path = argv[1], .bytes = PROBE_PAGE, .depth = 1,
			.burst = 1, .direct = true, .ioprio = -1, .seed = (uint64_t)count + 1,
		};
		for (; i < argc && strcmp(argv[i], "--"); i++)
			set_option(&job->options, argv[i]);
		i++;
		settle(job);
		open_place(job);
		count++;
	}
	pthread_barrier_init(&start, NULL, (unsigned int)count);
	for (i = 0; i < count; i++) {
		errno = pthread_create(&threads[i], NULL, run, &jobs[i]);
		if (errno)
			die("start", jobs[i].options.name);
	}
	for (i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	for (i = 0; i < count; i++) {
		latency_print(&jobs[i]);
		if (jobs[i].mismatches)
			status = 1;
	}
	return status;
}
