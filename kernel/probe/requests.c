// SPDX-License-Identifier: GPL-2.0-only
/* Jobs of requests, with one thread for each request in flight, or Linux AIO. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "probe.h"

/* What the kernel reads around a fault at most, with its default read-ahead. */
#define AROUND		(128u << 10)

/* After this many consecutive failures the device is assumed to be gone. */
#define FAILURES_MAX 1000

static uint64_t step(uint64_t *next, uint64_t low, uint64_t high, uint64_t bytes)
{
	uint64_t at = *next;

	*next = at + bytes + bytes > high ? low : at + bytes;
	return at;
}

/* The job's next request, or false when it is over. */
bool job_next(struct job *job, struct request *request)
{
	const struct job_options *o = &job->options;
	uint64_t half = o->size / o->bytes / 2 * o->bytes;

	pthread_mutex_lock(&job->lock);
	if (job->over || (o->stop_ns && now_ns() >= job->begin_ns + o->stop_ns) ||
	    (o->stop_bytes && job->issued_bytes >= o->stop_bytes)) {
		job->over = true;
		pthread_mutex_unlock(&job->lock);
		return false;
	}
	request->write = o->op != OP_READ && o->op != OP_FAULT;
	if (o->op == OP_MIX)
		request->write = random_next(&job->random) % 100 >= o->read_percent;
	if (o->random)
		request->at = random_next(&job->random) % (o->size / o->bytes) * o->bytes;
	else if (o->op != OP_MIX || !half)
		request->at = step(&job->write_next, 0, o->size, o->bytes);
	else if (request->write)
		request->at = step(&job->write_next, half, o->size, o->bytes);
	else
		request->at = step(&job->read_next, 0, half, o->bytes);
	request->at += o->offset;
	if (request->write)
		job->writes++;
	request->sync = o->op == OP_WAL || (request->write && o->fsync_every &&
					    job->writes % o->fsync_every == 0);
	job->issued_bytes += o->bytes;
	pthread_mutex_unlock(&job->lock);
	return true;
}

static bool trim(const struct job *job, uint64_t at)
{
	uint64_t range[2] = { at, job->options.bytes };
	struct stat st;

	if (fstat(job->fd, &st))
		return false;
	if (S_ISBLK(st.st_mode))
		return !ioctl(job->fd, BLKDISCARD, range);
	return !fallocate(job->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)at,
			  (off_t)job->options.bytes);
}

/* Touches a page of the mapped file; cold: it and what came with it will be read again. */
static bool fault(const struct job *job, uint64_t at)
{
	uint64_t end = job->options.offset + job->options.size;
	uint64_t from = at / AROUND * AROUND, to = from + AROUND;

	(void)*(volatile char *)(job->map + at);
	if (!job->options.cold)
		return true;
	if (to > end)
		to = end;
	return !madvise(job->map + from, to - from, MADV_DONTNEED) &&
	       !posix_fadvise(job->fd, (off_t)from, (off_t)(to - from), POSIX_FADV_DONTNEED);
}

static bool perform(const struct job *job, const struct request *request, void *buffer)
{
	ssize_t bytes = (ssize_t)job->options.bytes;

	if (job->options.op == OP_TRIM)
		return trim(job, request->at);
	if (job->options.op == OP_FAULT)
		return fault(job, request->at);
	if (!request->write) {
		if (pread(job->fd, buffer, (size_t)bytes, (off_t)request->at) != bytes)
			return false;
		return !job->options.cold ||
		       !posix_fadvise(job->fd, (off_t)request->at, bytes, POSIX_FADV_DONTNEED);
	}
	if (pwrite(job->fd, buffer, (size_t)bytes, (off_t)request->at) != bytes)
		return false;
	return !request->sync || !fdatasync(job->fd);
}

static void *worker(void *context)
{
	struct job *job = context;
	struct latencies own = { 0 };
	struct request request;
	unsigned int failures = 0, performed = 0;
	void *buffer = buffer_new(job->options.bytes, job->options.seed);

	while (failures < FAILURES_MAX && job_next(job, &request)) {
		bool done;

		request.begin_ns = now_ns();
		done = perform(job, &request, buffer);
		latency_add(&own, job, request.begin_ns, job->options.bytes, !done);
		failures = done ? 0 : failures + 1;
		if (++performed % job->options.burst == 0)
			think(job->options.think_ns);
	}
	pthread_mutex_lock(&job->lock);
	latency_merge(&job->total, &own);
	pthread_mutex_unlock(&job->lock);
	free(buffer);
	return NULL;
}

/* Threads inherit the priority of their creator. */
void job_run_requests(struct job *job)
{
	pthread_t *threads = calloc(job->options.depth, sizeof(*threads));
	unsigned int i;

	if (!threads)
		die("get memory for", job->options.name);
	for (i = 1; i < job->options.depth; i++) {
		errno = pthread_create(&threads[i], NULL, worker, job);
		if (errno)
			die("start", job->options.name);
	}
	worker(job);
	for (i = 1; i < job->options.depth; i++)
		pthread_join(threads[i], NULL);
	free(threads);
}

static bool aio_submit(struct job *job, aio_context_t context, struct iocb *cb,
		       struct request *request, void *buffer)
{
	struct iocb *list[1] = { cb };

	if (!job_next(job, request))
		return false;
	memset(cb, 0, sizeof(*cb));
	cb->aio_fildes = (uint32_t)job->fd;
	cb->aio_lio_opcode = request->write ? IOCB_CMD_PWRITE : IOCB_CMD_PREAD;
	cb->aio_buf = (uintptr_t)buffer;
	cb->aio_nbytes = job->options.bytes;
	cb->aio_offset = (int64_t)request->at;
	cb->aio_data = (uintptr_t)request;
	request->begin_ns = now_ns();
	if (syscall(SYS_io_submit, context, 1, list) == 1)
		return true;
	/* Refused at submission, as by a removed device. */
	latency_add(&job->total, job, request->begin_ns, 0, true);
	return false;
}

void job_run_aio(struct job *job)
{
	unsigned int depth = job->options.depth, in_flight = 0, failures = 0, performed = 0, i;
	struct iocb *cbs = calloc(depth, sizeof(*cbs));
	struct request *requests = calloc(depth, sizeof(*requests));
	struct io_event *events = calloc(depth, sizeof(*events));
	char *buffers = buffer_new(depth * job->options.bytes, job->options.seed);
	aio_context_t context = 0;

	if (!cbs || !requests || !events)
		die("get memory for", job->options.name);
	if (syscall(SYS_io_setup, depth, &context))
		die("set up AIO for", job->options.name);
	for (i = 0; i < depth; i++)
		in_flight += aio_submit(job, context, &cbs[i], &requests[i],
					buffers + i * job->options.bytes);
	while (in_flight) {
		long n = syscall(SYS_io_getevents, context, 1, depth, events, NULL), k;

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			die("wait for", job->options.name);
		for (k = 0; k < n; k++) {
			struct request *request = (struct request *)(uintptr_t)events[k].data;
			bool failed = events[k].res != (int64_t)job->options.bytes;

			i = (unsigned int)(request - requests);
			in_flight--;
			latency_add(&job->total, job, request->begin_ns, job->options.bytes, failed);
			failures = failed ? failures + 1 : 0;
			if (++performed % job->options.burst == 0)
				think(job->options.think_ns);
			if (failures < FAILURES_MAX)
				in_flight += aio_submit(job, context, &cbs[i], request,
							buffers + i * job->options.bytes);
		}
	}
	syscall(SYS_io_destroy, context);
	free(buffers);
	free(events);
	free(requests);
	free(cbs);
}
