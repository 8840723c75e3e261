// SPDX-License-Identifier: GPL-2.0-only
/*
 * Programs that watch the threads of one control group and tell user space what happens to them.
 *
 * They sit on tracepoints with types (tp_btf), which need no kprobes and cost least. Most of what they see is about
 * threads that nobody watches, so that is found out first. They decide nothing and change nothing.
 */
#include "threads.h"
#include "requests.h"
#include "sockets.h"

/* The helpers that read the kernel are for programs under this licence only. */
char _license[] SEC("license") = "GPL";
