/* SPDX-License-Identifier: GPL-2.0 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM smartio

#if !defined(_SMARTIO_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _SMARTIO_TRACE_H

#include <linux/tracepoint.h>

#define smartio_show_kind(kind)					\
	__print_symbolic(kind,					\
			 { SMARTIO_READ,	"read" },	\
			 { SMARTIO_URGENT,	"urgent" },	\
			 { SMARTIO_OWN,		"own" },	\
			 { SMARTIO_BULK,	"bulk" },	\
			 { SMARTIO_TRIM,	"trim" })

#define smartio_show_verdict(verdict)				\
	__print_symbolic(verdict,				\
			 { SMARTIO_GO,		"go" },		\
			 { SMARTIO_WAIT_CAP,	"cap" },	\
			 { SMARTIO_WAIT_HOLD,	"hold" },	\
			 { SMARTIO_WAIT_SHARE,	"share" },	\
			 { SMARTIO_WAIT_TURN,	"turn" })

/* A request is dispatched to the driver. */
TRACE_EVENT(smartio_dispatch,

	TP_PROTO(dev_t dev, u32 kind, u32 queue, u64 sector, u32 bytes,
		 u64 waited_ns, u32 reads, u32 writes),

	TP_ARGS(dev, kind, queue, sector, bytes, waited_ns, reads, writes),

	TP_STRUCT__entry(
		__field(dev_t, dev)
		__field(u32, kind)
		__field(u32, queue)
		__field(u64, sector)
		__field(u32, bytes)
		__field(u64, waited_ns)
		__field(u32, reads)
		__field(u32, writes)
	),

	TP_fast_assign(
		__entry->dev = dev;
		__entry->kind = kind;
		__entry->queue = queue;
		__entry->sector = sector;
		__entry->bytes = bytes;
		__entry->waited_ns = waited_ns;
		__entry->reads = reads;
		__entry->writes = writes;
	),

	TP_printk("%d,%d %s queue=%u sector=%llu bytes=%u waited_ns=%llu reads_in_flight=%u writes_in_flight=%u",
		  MAJOR(__entry->dev), MINOR(__entry->dev),
		  smartio_show_kind(__entry->kind),
		  __entry->queue, __entry->sector, __entry->bytes,
		  __entry->waited_ns, __entry->reads, __entry->writes)
);

/* A write is held, and until when at most. */
TRACE_EVENT(smartio_wait,

	TP_PROTO(dev_t dev, u32 kind, u32 verdict, u64 debt_ns, u64 wait_ns),

	TP_ARGS(dev, kind, verdict, debt_ns, wait_ns),

	TP_STRUCT__entry(
		__field(dev_t, dev)
		__field(u32, kind)
		__field(u32, verdict)
		__field(u64, debt_ns)
		__field(u64, wait_ns)
	),

	TP_fast_assign(
		__entry->dev = dev;
		__entry->kind = kind;
		__entry->verdict = verdict;
		__entry->debt_ns = debt_ns;
		__entry->wait_ns = wait_ns;
	),

	TP_printk("%d,%d %s for=%s debt_ns=%llu wait_ns=%llu",
		  MAJOR(__entry->dev), MINOR(__entry->dev),
		  smartio_show_kind(__entry->kind),
		  smartio_show_verdict(__entry->verdict),
		  __entry->debt_ns, __entry->wait_ns)
);

#endif /* _SMARTIO_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE smartio_trace
#include <trace/define_trace.h>
