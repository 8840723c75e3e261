/* SPDX-License-Identifier: GPL-2.0-only */
/* IP sockets: connections requested and established, bytes sent and received, errors. */
#ifndef BRISK_PROBES_SOCKETS_H
#define BRISK_PROBES_SOCKETS_H

#include "group.h"

#define AF_INET 2
#define AF_INET6 10
#define TCP_SYN_SENT 2
#define MSG_PEEK 2

/* Thread that waits for a connection; another context runs when it is established. */
struct {
	MAP_NUMBER(type, BPF_MAP_TYPE_HASH);
	MAP_NUMBER(max_entries, 4096);
	MAP_TYPE(key, u64);
	MAP_TYPE(value, u32);
} opening SEC(".maps");

/* Last sender on a socket: an error may arrive in another context. */
struct {
	MAP_NUMBER(type, BPF_MAP_TYPE_LRU_HASH);
	MAP_NUMBER(max_entries, 4096);
	MAP_TYPE(key, u64);
	MAP_TYPE(value, u32);
} asking SEC(".maps");

INLINE bool is_ip(struct sock *sk)
{
	u16 family = sk->__sk_common.skc_family;

	return family == AF_INET || family == AF_INET6;
}

INLINE bool is_loopback4(u32 address)
{
	/* Network byte order; both processors are little-endian, so the first byte is the lowest. */
	return (address & 0xff) == 127;
}

/* Whether the other end is this machine: a loopback address, or one of its own. */
INLINE bool is_loopback(struct sock *sk)
{
	struct in6_addr to, from;

	if (sk->__sk_common.skc_family == AF_INET) {
		u32 address = sk->__sk_common.skc_daddr;

		return is_loopback4(address) || (address && address == sk->__sk_common.skc_rcv_saddr);
	}
	if (!field_exists(struct sock_common, skc_v6_daddr))
		return false;
	to = read(sk, __sk_common.skc_v6_daddr);
	from = read(sk, __sk_common.skc_v6_rcv_saddr);
	if (to.in6_u.u6_addr32[0] || to.in6_u.u6_addr32[1])
		return to.in6_u.u6_addr32[0] == from.in6_u.u6_addr32[0] &&
		       to.in6_u.u6_addr32[1] == from.in6_u.u6_addr32[1] &&
		       to.in6_u.u6_addr32[2] == from.in6_u.u6_addr32[2] &&
		       to.in6_u.u6_addr32[3] == from.in6_u.u6_addr32[3];
	/* ::1, ::ffff:127.0.0.0/104 and ::ffff: of its own */
	if (!to.in6_u.u6_addr32[2])
		return to.in6_u.u6_addr32[3] == 0x01000000;
	return to.in6_u.u6_addr32[2] == 0xffff0000 &&
	       (is_loopback4(to.in6_u.u6_addr32[3]) || to.in6_u.u6_addr32[3] == from.in6_u.u6_addr32[3]);
}

INLINE void report_network(u64 at_ns, u32 tid, u16 kind, u16 flags, u64 socket, u64 bytes)
{
	struct network *record = new_record(struct network, at_ns, tid, kind, flags);

	if (!record)
		return;
	record->socket = socket;
	record->bytes = bytes;
	submit(record);
}

SEC("tp_btf/sock_send_length")
int sent(u64 *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct sock *sk = (struct sock *)ctx[0];
	s32 bytes = (s32)ctx[1];
	u32 tid = task->pid;
	u64 socket;

	if (bytes <= 0 || !watched(task) || !is_ip(sk))
		return 0;
	socket = bpf_get_socket_cookie(sk);
	report_network(bpf_ktime_get_ns(), tid, KIND_SENT, is_loopback(sk) ? SENT_LOOPBACK : 0, socket, bytes);
	/*
	 * A refusal by this machine itself (a name server that does not run) is immediate, so the error is already set. With
	 * this order a later error finds the sender in the map, and an earlier one is found here.
	 */
	bpf_map_update_elem(&asking, &socket, &tid, BPF_ANY);
	if (sk->sk_err && !bpf_map_delete_elem(&asking, &socket))
		report_network(bpf_ktime_get_ns(), tid, KIND_OPENED, 0, socket, 0);
	return 0;
}

/* No listener or no route: also an answer. */
SEC("tp_btf/inet_sk_error_report")
int failed(u64 *ctx)
{
	u64 socket = bpf_get_socket_cookie((struct sock *)ctx[0]);
	u32 *asker = bpf_map_lookup_elem(&asking, &socket);

	if (!asker)
		return 0;
	report_network(bpf_ktime_get_ns(), *asker, KIND_OPENED, 0, socket, 0);
	bpf_map_delete_elem(&asking, &socket);
	return 0;
}

/* Zero bytes are a message too: the other end has closed. */
SEC("tp_btf/sock_recv_length")
int received(u64 *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct sock *sk = (struct sock *)ctx[0];
	s32 bytes = (s32)ctx[1];

	if (bytes < 0 || (s32)ctx[2] & MSG_PEEK || !watched(task) || !is_ip(sk))
		return 0;
	report_network(bpf_ktime_get_ns(), task->pid, KIND_RECEIVED, 0, bpf_get_socket_cookie(sk), bytes);
	return 0;
}

SEC("tp_btf/inet_sock_set_state")
int connects(u64 *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];
	s32 before = (s32)ctx[1], after = (s32)ctx[2];
	u32 tid, *waiter;
	u64 socket;

	if (after == TCP_SYN_SENT) {
		struct task_struct *task = bpf_get_current_task_btf();

		if (!watched(task) || !is_ip(sk))
			return 0;
		socket = bpf_get_socket_cookie(sk);
		tid = task->pid;
		if (bpf_map_update_elem(&opening, &socket, &tid, BPF_ANY)) {
			count_lost();
			return 0;
		}
		report_network(bpf_ktime_get_ns(), tid, KIND_OPENING, 0, socket, 0);
	} else if (before == TCP_SYN_SENT) {
		socket = bpf_get_socket_cookie(sk);
		waiter = bpf_map_lookup_elem(&opening, &socket);
		if (!waiter)
			return 0;
		report_network(bpf_ktime_get_ns(), *waiter, KIND_OPENED, 0, socket, 0);
		bpf_map_delete_elem(&opening, &socket);
	}
	return 0;
}

#endif
