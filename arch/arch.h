/* One const table per architecture, chosen by the *guest*: registers as QEMU tells them, page-table
 * entries, ftrace sites, calls, stubs. Pure: bytes in, bytes out; every table is built and tested
 * on every host. Nothing outside arch/ knows an instruction, a register name or a page-table bit.
 * Leaves to others: I/O and loops over guest memory. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/bytes.h"
#include "base/guard.h"
#include "ringbuf/abi.h"

/* One vCPU as far as hvtrace needs it. */
struct hv_vcpu_regs {
	struct hv_gva ip;
	struct hv_gva sp;
	uint64_t root;	 /* the register that points at the page tables, as it is */
	unsigned levels; /* of page tables: 4 or 5; 0 when paging (or 64-bit mode) is off */
	struct hv_gva trap_table; /* x86: IDT base; 0 when unknown (the gdb stub does not tell) */
};

struct hv_pt_entry {
	bool present;
	bool leaf;
	bool writable;
	bool executable;
	struct hv_gpa to; /* next table, or the memory of a leaf */
};

/* Which of the thread flags ask for a reschedule, as masks; 0: not known or not there, never shown.
 */
struct hv_resched_masks {
	uint16_t need;
	uint16_t lazy; /* at the next tick or way to user mode, since 6.13 (26baa1f1c4bd) */
};

/* What was going on when a record was written, as the guest's kernel counts it. */
struct hv_context {
	bool irqs_off;
	bool need_resched;
	bool need_resched_lazy;
	bool preempt_resched;
	bool nmi;
	bool hardirq;
	bool softirq; /* serving one */
	bool bh_off;
	uint8_t preempt_depth;
};

enum hv_access { /* of a mapping made for the guest kernel; never writable and executable */
		 HV_ACCESS_READ,
		 HV_ACCESS_READ_WRITE,
		 HV_ACCESS_READ_EXECUTE,
};

enum hv_site_kind {
	HV_SITE_NOP,	    /* the kernel's own nop: traceable */
	HV_SITE_CALL,	    /* a call: *ret_target says to where */
	HV_SITE_JUMP,	    /* likewise a jump */
	HV_SITE_BREAKPOINT, /* somebody is changing it right now, or a kprobe */
	HV_SITE_OTHER,
};

/* Stubs of an architecture: position independent code that finds struct hv_params at
 * HV_STUBS_CODE_OFF (ringbuf/abi.h) before its first byte. */
#define HV_SITE_LEN_MAX 8

/* Stubs of calls that are more than a line of the function tracer: by what the function is to the
 * scheduler, by how its calls are traced, and whether they are counted and timed besides. */
enum hv_call_role {
	HV_ROLE_NONE,
	HV_ROLE_NEW_TASK, /* the first function of a new task: forgets what was open on its stack */
	HV_ROLE_LEAVES,	  /* called by a task that is about to leave the CPU, on its stack */
	HV_ROLE_ARRIVES,  /* likewise when it is back */
	HV_NR_ROLES,
};

/* How an instruction's caller is found on the stack: what a kernel's tables say of it, by the
 * numbers that they use for registers. */
enum hv_unwind_kind {
	HV_UNWIND_NONE, /* nothing is known */
	HV_UNWIND_END,	/* nobody called it */
	HV_UNWIND_CALL,
	HV_UNWIND_REGS, /* it was interrupted: all registers, or the hardware's part, are there */
	HV_UNWIND_REGS_PARTIAL,
};

struct hv_unwind_rule {
	enum hv_unwind_kind kind;
	int16_t sp_off;
	int16_t bp_off;
	uint8_t sp_reg;
	uint8_t bp_reg;
	bool exact; /* the address found is of the next instruction itself, not behind a call */
};

/* What is known of an address of a stack: its low 31 bits. */
#define HV_STACK_ADDRESS_MASK 0x7fffffffu

/* A frame. Of addresses of stacks only the low 31 bits. */
struct hv_unwind_frame {
	struct hv_gva ip;
	bool exact; /* see above */
	uint32_t sp;
	uint32_t bp;
	bool has_regs; /* all registers of IP's context are at REGS */
	uint32_t regs;
};

/* What is at AT of a stack. False: it is not known. Text is a full address, else a pointer into a
 * stack. */
typedef bool (*hv_stack_word)(void *ctx, uint32_t at, uint64_t *ret);

enum hv_call_trace {
	HV_TRACE_NOTHING,
	HV_TRACE_FUNCTION, /* as function_off */
	HV_TRACE_GRAPH,
	HV_TRACE_GRAPH_ROOT,	/* what a call means for the calls in it: see tracer/stubs.h */
	HV_TRACE_GRAPH_NOTRACE, /* likewise */
	HV_NR_TRACES,
};

/* Set in the offset of every address of kernel text from text_base. */
#define HV_TEXT_BIT UINT64_C(0x80000000)

#define HV_NR_YIELDS	   8
#define HV_NR_CALL_ENTRIES (HV_NR_ROLES * 2 * HV_NR_TRACES)

struct hv_stub_image {
	const uint8_t *code; /* placed at HV_STUBS_CODE_OFF after the params */
	size_t len_bytes;
	/* Entries, from the start of code. */
	size_t function_off;
	size_t function_stack_off; /* likewise, and then its stack */
	/* Entry hv_call_entry() of HV_NR_CALL_ENTRIES: CALLS_OFF + N * CALL_LEN_BYTES. */
	size_t calls_off;
	size_t call_len_bytes;
	/* Entry N, of HV_NR_SLOTS: ACTIONS_OFF + N * ACTION_LEN_BYTES. */
	size_t actions_off;
	size_t action_len_bytes;
	size_t handler_off; /* where the functions of a graph return to */
	/* Entry N, of HV_NR_YIELDS: what the guest's ftrace reads sites by, from the Nth of its
	 * places. What it calls in the kernel returns into that entry. 0: none. */
	size_t yields_off;
	size_t yield_len_bytes;
	struct hv_unwind_rule yield_rule; /* from where it returns to */
	const uint32_t *return_offs;	  /* the slots each stub leaves by (see place_return) */
	size_t nr_returns;
};

static inline unsigned hv_call_entry(enum hv_call_role role, enum hv_call_trace trace,
				     unsigned profiled)
{
	return ((unsigned)role * 2 + (profiled ? 1 : 0)) * HV_NR_TRACES + (unsigned)trace;
}

struct hv_arch {
	const char *name; /* as QEMU names the target: "x86_64" */

	/* One vCPU's part of the monitor's `info registers`. False: not understood. */
	bool (*parse_registers)(const char *text, struct hv_vcpu_regs *ret);
	/* The gdb stub's `g` packet, decoded from hex. */
	bool (*decode_gdb_registers)(struct hv_span g, struct hv_vcpu_regs *ret);
	/* What KVM_GET_REGS and KVM_GET_SREGS give (struct kvm_regs, struct kvm_sregs of this
	 * architecture). NULL: KVM has another way there. */
	bool (*decode_kvm_registers)(struct hv_span regs, struct hv_span sregs,
				     struct hv_vcpu_regs *ret);
	/* The root's number in the stub's register file; 8 bytes, little endian. Writing it back
	 * to itself makes TCG forget every translation. */
	unsigned gdb_root_register;

	/* Where a kernel image can be, and every address a call from it can reach */
	struct hv_gva_range image_window;
	/* The part of the window whose unused page-table slots hvtrace may fill in. Below any
	 * kernel's module area: nothing but the image is ever there. */
	struct hv_gva_range free_window;

	/* In records, an address of kernel text is an offset from here. The image and all modules
	 * are in the upper half of the 4 GiB that begin here, so HV_TEXT_BIT is set in every
	 * offset, and 31 bits of it are enough. Where the low 32 bits of text_base are 0, as on
	 * x86-64, the offset is the low half of the address, and stubs need not subtract. */
	struct hv_gva text_base;
	/* The lowest address that only the kernel has, with page tables of LEVELS. */
	struct hv_gva (*kernel_start)(unsigned levels);
	/* Tables that may hold the kernel's mapping, best first (x86: the root as it is, and with
	 * KPTI's user bit cleared). Returns their number, at most 2. */
	unsigned (*roots)(const struct hv_vcpu_regs *regs, struct hv_gpa ret[2]);
	/* Level LEVELS is the root's, level 1 holds the smallest pages. */
	struct hv_gpa (*entry_at)(struct hv_gpa table, unsigned level, struct hv_gva gva);
	struct hv_pt_entry (*decode_entry)(unsigned level, uint64_t entry);
	/* Bytes that one entry of LEVEL maps. */
	uint64_t (*entry_span)(unsigned level);
	/* A leaf of LEVEL for TO; what is not said is copied from NEIGHBOUR, a present leaf of the
	 * kernel image at that level. */
	uint64_t (*make_leaf)(unsigned level, uint64_t neighbour, struct hv_gpa to,
			      enum hv_access access);
	unsigned map_level; /* level of the leaves made for the guest (x86: 2, 2 MiB) */

	/* trap table -> an address in kernel text (x86: gate 14). TABLE: at least 4 KiB of it. */
	bool (*trap_target)(struct hv_span table, struct hv_gva *ret);

	size_t site_len_bytes;
	enum hv_site_kind (*classify_site)(const uint8_t *site, struct hv_gva at,
					   struct hv_gva *ret_target);
	/* False: out of reach. */
	bool (*encode_call)(struct hv_gva at, struct hv_gva target, uint8_t *ret_site);
	/* How the kernel itself returns, read from the code at an empty function of its own
	 * (ftrace_stub): bare return (*ret_thunk is 0), or a jump to a thunk. False: not
	 * understood. */
	bool (*classify_return)(struct hv_span code, struct hv_gva at, struct hv_gva *ret_thunk);
	/* Fills a return slot of a stub. THUNK 0: bare return. False: out of reach. */
	bool (*place_return)(uint8_t *slot, struct hv_gva at, struct hv_gva thunk);

	/* TIF_NEED_RESCHED_LAZY likewise where PREEMPT_RT's own patch has it (before 6.12), from
	 * the code of its resched_curr_lazy; thread flags are at FLAGS_OFF in a task. 0: not
	 * understood. */
	uint32_t (*find_lazy_resched)(struct hv_span code, uint32_t flags_off);
	/* TIF_NEED_RESCHED as a mask of thread flags, read from the code of the kernel's
	 * resched_curr, which sets it. 0: not understood. */
	uint16_t (*find_need_resched)(struct hv_span code);

	struct hv_stub_image stubs;
	/* Where exceptions have their own stacks: calls there are left out of a graph. */
	struct hv_gva_range exception_stacks;
	/* One frame up, by RULE; what was at *FRAME is gone. False: there is none, or it is not
	 * known. */
	bool (*unwind)(const struct hv_unwind_rule *rule, hv_stack_word word, void *ctx,
		       struct hv_unwind_frame *frame);
	/* The rule of a function's first instruction, and of a function that keeps a frame pointer.
	 */
	struct hv_unwind_rule entry_rule;
	struct hv_unwind_rule frame_pointer_rule;
	/* The raw words of a function record (ringbuf/abi.h). */
	struct hv_context (*decode_context)(uint32_t preempt_count, uint16_t cpu_flags,
					    uint16_t thread_flags, struct hv_resched_masks masks);
};

/* Whether a site at AT, a virtual or physical address, lies in two pages: then no single write can
 * change it. */
static inline bool hv_site_crosses_pages(const struct hv_arch *arch, uint64_t at)
{
	uint64_t page_bytes = arch->entry_span(1);

	return at % page_bytes + arch->site_len_bytes > page_bytes;
}

extern const struct hv_arch hv_arch_x86_64;

/* NULL when there is none of that name. */
const struct hv_arch *hv_arch_find(const char *name);
