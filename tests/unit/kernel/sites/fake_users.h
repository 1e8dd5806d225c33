/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The users of a fake kernel's ftrace: ftrace_ops_list and direct_functions. */
#pragma once

#include "tests/unit/kernel/fake_kernel.h"

#define FU_CALLER	(FK_BASE + 0x640)
#define FU_REGS_CALLER	(FK_BASE + 0x680)
#define FU_TRAMPOLINE	(FK_MODULES + 0x1000) /* of the Nth ops: 0x100 bytes further */
#define FU_FUNCTION	(FK_BASE + 0x6c0)
#define FU_LIVEPATCH	(FK_BASE + 0x6d0)
#define FU_KPROBES	(FK_BASE + 0x6e0)
#define FU_RECORDS	(FK_BASE + 0x6f0)
#define FU_KPROBE_LEN	64u
#define FU_KPROBE_ADDR	32u
#define FU_KPROBE_CALLS 48u
#define FU_OPS_LEN	64u
#define FU_OPS_NEXT	8u
#define FU_OPS_CODE	40u
#define FU_ENTRY_IP	16u
#define FU_ENTRY_DIRECT 24u

struct fu {
	uint64_t list, end; /* ftrace_ops_list, ftrace_list_end */
	uint64_t directs;   /* direct_functions */
	uint64_t kprobes;   /* kprobe_table */
};

/* Declares types and symbols. Call it before fk_done(). */
static inline void fu_declare(struct fk *f, struct fu *ret)
{
	uint32_t node = FK_STRUCT("hlist_node", 16, {"next", 0, 8}, {"pprev", 8, 8});

	FK_STRUCT("ftrace_ops", FU_OPS_LEN, {"func", 0, 8}, {"next", FU_OPS_NEXT, 8},
		  {"trampoline", FU_OPS_CODE, 8});
	FK_STRUCT("ftrace_hash", 32, {"size_bits", 0, 8}, {"buckets", 8, 8}, {"count", 16, 8});
	FK_STRUCT("ftrace_func_entry", 32, {"hlist", 0, 0, node}, {"ip", FU_ENTRY_IP, 8},
		  {"direct", FU_ENTRY_DIRECT, 8});
	FK_STRUCT("kprobe", FU_KPROBE_LEN, {"hlist", 0, 0, node}, {"addr", FU_KPROBE_ADDR, 8},
		  {"pre_handler", FU_KPROBE_CALLS, 8});
	ret->kprobes = fk_alloc(f, 64 * 8);
	ret->list = fk_alloc(f, 8);
	ret->end = fk_alloc(f, FU_OPS_LEN);
	ret->directs = fk_alloc(f, 8);
	fk_u64(f, ret->list, ret->end);
	fk_symbol(f, "ftrace_caller", FU_CALLER);
	fk_symbol(f, "ftrace_regs_caller", FU_REGS_CALLER);
	fk_symbol(f, "ftrace_ops_list", ret->list);
	fk_symbol(f, "ftrace_list_end", ret->end);
	fk_symbol(f, "direct_functions", ret->directs);
	fk_symbol(f, "function_trace_call", FU_FUNCTION);
	fk_symbol(f, "klp_ftrace_handler", FU_LIVEPATCH);
	fk_symbol(f, "kprobe_ftrace_handler", FU_KPROBES);
	fk_symbol(f, "kprobe_dispatcher", FU_RECORDS);
	fk_symbol(f, "kprobe_table", ret->kprobes);
}

/* Prepends an ops with the trampoline CODE; 0: none. Returns its address. */
static inline uint64_t fu_ops(struct fk *f, const struct fu *u, uint64_t code)
{
	uint64_t at = fk_alloc(f, FU_OPS_LEN), first;

	memcpy(&first, fk_host(f, u->list), sizeof(first));
	fk_u64(f, at + FU_OPS_NEXT, first);
	fk_u64(f, at + FU_OPS_CODE, code);
	fk_u64(f, u->list, at);
	return at;
}

/* Adds a kprobe at IP that calls FUNCTION to list N, below 64. Returns its address. */
static inline uint64_t fu_kprobe(struct fk *f, const struct fu *u, unsigned n, uint64_t ip,
				 uint64_t function)
{
	uint64_t at = fk_alloc(f, FU_KPROBE_LEN), first;

	memcpy(&first, fk_host(f, u->kprobes + 8 * n), sizeof(first));
	fk_u64(f, at, first);
	fk_u64(f, at + FU_KPROBE_ADDR, ip);
	fk_u64(f, at + FU_KPROBE_CALLS, function);
	fk_u64(f, u->kprobes + 8 * n, at);
	return at;
}

/* Makes direct_functions a table with BITS and one direct call, in the last bucket. Returns the
 * address of its entry. */
static inline uint64_t fu_direct(struct fk *f, const struct fu *u, unsigned bits, uint64_t ip,
				 uint64_t target)
{
	uint64_t hash = fk_alloc(f, 32), buckets = fk_alloc(f, 8ull << bits), at = fk_alloc(f, 32);

	fk_u64(f, u->directs, hash);
	fk_u64(f, hash, bits);
	fk_u64(f, hash + 8, buckets);
	fk_u64(f, buckets + 8 * ((1ull << bits) - 1), at);
	fk_u64(f, at + FU_ENTRY_IP, ip);
	fk_u64(f, at + FU_ENTRY_DIRECT, target);
	return at;
}
