// SPDX-License-Identifier: GPL-2.0-only
/*
 * Programs that watch the threads of one control group and report their events to user space.
 *
 * They use typed tracepoints (tp_btf), which need no kprobes and have the least overhead. Most events are of unwatched
 * threads, so that check comes first. The programs make no decisions and change nothing.
 */
#include "threads.h"
#include "requests.h"
#include "sockets.h"

/* The helpers that read the kernel require this licence. */
char _license[] SEC("license") = "GPL";
