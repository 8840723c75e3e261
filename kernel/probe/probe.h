/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel lab's load generator: jobs that read, write, discard, commit or swap, with
 * the response time of each request. A static program, so that a guest needs no libraries.
 */
#ifndef BRISK_PROBE_H
#define BRISK_PROBE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define PROBE_PAGE	4096u

enum probe_op {
	OP_READ,
	OP_WRITE,
	OP_MIX,		/* reads with a probability, else writes */
	OP_TRIM,
	OP_WAL,		/* append, then fdatasync */
	OP_SWAP,	/* touch memory that was paged out */
	OP_FAULT,	/* touch pages of a mapped file */
	OP_VERIFY,	/* write, flush, read back; survives power cuts */
};

enum probe_engine {
	ENGINE_SYNC,	/* a thread a request */
	ENGINE_AIO,
};

/* Parameters of a job; see usage(). */
struct job_options {
	const char *name;
	const char *path;
	enum probe_op op;
	bool random;
	unsigned int read_percent;
	uint64_t bytes;
	unsigned int depth;
	enum probe_engine engine;
	bool engine_given;
	bool direct;
	bool dsync;
	bool discards;		/* of OP_VERIFY */
	uint64_t size;
	uint64_t offset;
	uint64_t resident;	/* of OP_SWAP */
	uint64_t stop_ns;
	uint64_t stop_bytes;
	uint64_t warm_ns;
	uint64_t think_ns;
	unsigned int burst;	/* requests between two pauses */
	bool cold;		/* forget what was read */
	unsigned int fsync_every;
	int ioprio;		/* -1: leave it */
	uint64_t seed;
};

/* Response times of one thread, in order of completion. */
struct latencies {
	uint64_t *ns;
	size_t count;
	size_t room;
	uint64_t errors;
	uint64_t bytes;
	uint64_t last_ns;	/* completion of the last one */
};

struct job {
	struct job_options options;
	int fd;
	char *map;		/* of OP_FAULT: the file */
	uint64_t begin_ns;
	uint64_t mismatches;	/* of OP_VERIFY: wrong data */

	/* Protects the job's position below. */
	pthread_mutex_t lock;
	uint64_t random;
	uint64_t read_next;
	uint64_t write_next;
	uint64_t issued_bytes;
	uint64_t writes;
	bool over;

	struct latencies total;
};

/* One request. */
struct request {
	bool write;
	bool sync;		/* an fdatasync belongs to it */
	uint64_t at;
	uint64_t begin_ns;
};

uint64_t now_ns(void);
uint64_t random_next(uint64_t *state);
void die(const char *what, const char *on) __attribute__((noreturn));
void *buffer_new(uint64_t bytes, uint64_t seed);
void think(uint64_t ns);

void latency_add(struct latencies *to, const struct job *job, uint64_t begin_ns,
		 uint64_t bytes, bool failed);
void latency_merge(struct latencies *to, struct latencies *from);
void latency_print(const struct job *job);

bool job_next(struct job *job, struct request *request);
void job_run_requests(struct job *job);
void job_run_aio(struct job *job);
void job_run_swap(struct job *job);
void job_run_verify(struct job *job);
int groups_main(int argc, char **argv);

#endif
