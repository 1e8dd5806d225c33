/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Architecture descriptions: one const table per architecture of the *guest*. A table covers
 * registers as QEMU prints them, page-table entries, ftrace sites, calls, unwinding and
 * trampolines.
 *
 * Pure: bytes in, bytes out. Every table is built and tested on every host. No code outside arch/
 * knows instructions, register names or page-table bits. Callers do the I/O and the loops over
 * guest memory. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "arch/detour.h"
#include "base/addr.h"
#include "base/bytes.h"
#include "base/guard.h"
#include "ringbuf/abi.h"

/* -- unwinding --------------------------------------------------------------------------------- */

/* Unwind rules for kernels with unwind tables (ORC), and frames.
 *
 * kernel/tasks/unwind.h reads the tables; struct hv_arch's unwind() and kernel/tasks/sleeper.c
 * follow frames. Pure. */

/* How to find the caller of a function from one of its instructions. */
enum hv_unwind_kind {
	HV_UNWIND_NONE, /* unknown */
	HV_UNWIND_END,	/* there is no caller */
	HV_UNWIND_CALL,
	HV_UNWIND_REGS, /* an exception: all registers, or the part that the CPU saves */
	HV_UNWIND_REGS_PARTIAL,
};

/* Registers in rules have architecture-specific numbers below this. 0 means: sp is unknown, and bp
 * is still the caller's. */
#define HV_UNWIND_NR_REGS 8

struct hv_unwind_rule {
	enum hv_unwind_kind kind;
	int16_t sp_off;
	int16_t bp_off;
	uint8_t sp_reg;
	uint8_t bp_reg;
	bool exact; /* the address found is the next instruction itself, not a return address */
};

/* The rule at OFF bytes after a position in code. */
struct hv_unwind_step {
	uint32_t off;
	struct hv_unwind_rule rule;
};

/* The known part of a stack address: its low 31 bits. */
#define HV_STACK_ADDRESS_MASK 0x7fffffffu

/* A frame. Stack addresses are reduced to their low 31 bits. */
struct hv_unwind_frame {
	struct hv_gva ip;
	bool exact; /* see struct hv_unwind_rule */
	uint32_t sp;
	uint32_t bp;
	bool has_regs; /* REGS points to all registers of IP's context */
	uint32_t regs;
};

/* Reads the word at AT of a stack. Returns false if it is unknown. Kernel text addresses are
 * complete; other words are pointers into a stack. */
typedef bool (*hv_stack_word)(void *ctx, uint32_t at, uint64_t *ret);

/* Result of unwinding one frame. */
enum hv_unwound {
	HV_UNWOUND_CALLER, /* the frame is now the caller's */
	HV_UNWOUND_END,	   /* there is no caller: the kernel was entered here */
	HV_UNWOUND_EARLY,  /* the rule or the words do not show whether there is a caller */
};

/* -- trampolines ------------------------------------------------------------------------------- */

/* The assembled trampolines of an architecture: code, the values to link into it, and the offset of
 * each trampoline.
 *
 * struct hv_arch links them; tracer/guest/trampolines.h loads them into a guest. */

/* The values that link() writes into the trampolines' code; the assembly calls them hole_NAME
 * (docs/internals/trampolines.md). They are constant during a session. A value that only an unused
 * alternative needs may be 0. Trampolines do not check CPU numbers: the table "vcpus" has an entry
 * for every number that the kernel can use. */
#define HV_HOLES(X)                                                                                \
	/* per-CPU displacements; with hv_layout.in_task the 1st and 3rd are task offsets */       \
	X(cpu_number)	 /* u32 */                                                                 \
	X(current)	 /* pointer to the current task */                                         \
	X(preempt_count) /* u32; HV_ALT_WIDE_COUNT: u64 */                                         \
	X(steal_time)	 /* u64: ns in which the host did not run the vCPU */                      \
	X(irq_stack)	 /* pointer to the interrupt stack's end or last word; arm64: its start */ \
	/* offsets in struct task_struct */                                                        \
	X(task_pid)	   /* u32 */                                                               \
	X(task_tgid)	   /* u32 */                                                               \
	X(task_comm)	   /* 16 bytes */                                                          \
	X(task_prio)	   /* u32: static_prio */                                                  \
	X(task_policy)	   /* u32 */                                                               \
	X(task_rt_prio)	   /* u32: rt_priority */                                                  \
	X(task_cred)	   /* pointer to its struct cred */                                        \
	X(cred_uid)	   /* in struct cred: u32 */                                               \
	X(task_flags)	   /* the byte of the thread flags in records */                           \
	X(task_migrate)	   /* the low byte of the migration-disable count */                       \
	X(task_stack)	   /* pointer to its stack */                                              \
	X(task_pf)	   /* u32: the PF_* flags */                                               \
	X(task_lazy)	   /* HV_ALT_LAZY: u32: the lazy-preemption count */                       \
	X(task_lazy_flags) /* HV_ALT_LAZY: u32: the thread flags that contain lazy_mask */         \
	X(lazy_mask)	   /* HV_ALT_LAZY: the thread flag that requests a lazy reschedule */      \
	X(task_softirqs)   /* HV_ALT_TASK_SOFTIRQS: u32: softirq count */                          \
	/* kernels whose exceptions make no frame record (riscv64) */                              \
	X(entry_code)	  /* address of the exception code */                                      \
	X(entry_code_len) /* bytes */                                                              \
	X(regs_bytes)	  /* size of struct pt_regs on a stack */                                  \
	/* addresses in the region */                                                              \
	X(params)	   /* struct hv_params */                                                  \
	X(control)	   /* struct hv_control */                                                 \
	X(vcpus)	   /* table of the addresses of struct hv_state, by CPU number */          \
	X(pids)		   /* the pid bitmap */                                                    \
	X(nr_pids)	   /* number of bits in it */                                              \
	X(stacks)	   /* the return stacks */                                                 \
	X(event_files)	   /* struct hv_event_file for each recorded event */                      \
	X(event_callbacks) /* our replacements for the guest's tracepoint arrays */                \
	X(drafts)	   /* struct hv_draft, HV_NR_DRAFTS per CPU number */                      \
	X(programs)	   /* struct hv_fetch_step, HV_FETCH_STEPS_MAX per group */                \
	X(event_programs)  /* the same, per file number with HV_EVENT_FILE_READS_BIT */            \
	X(filters)	   /* struct hv_filter_step, HV_FILTER_STEPS_MAX per program */            \
	X(chains)	   /* the chains, HV_CHAIN_LEN bytes each */                               \
	/* kernels whose memory probes can read: addresses */                                      \
	X(kernel_start)	 /* lowest address of the kernel's half */                                 \
	X(copy_kernel)	 /* copy_from_kernel_nofault() */                                          \
	X(copy_user)	 /* copy_from_user_nofault() */                                            \
	X(string_kernel) /* strncpy_from_kernel_nofault() */                                       \
	X(string_user)	 /* strncpy_from_user_nofault() */                                         \
	/* kernels whose events can be recorded */                                                 \
	X(event_reserve)       /* address of trace_event_buffer_reserve() */                       \
	X(event_commit)	       /* address of trace_event_buffer_commit() */                        \
	X(event_release)       /* address of the function that frees tracepoint arrays */          \
	X(event_release_other) /* the same for tracepoints whose callbacks can sleep; or 0 */      \
	X(fbuffer_file)	       /* offset in struct trace_event_buffer */                           \
	X(fbuffer_event)       /* offset there */                                                  \
	X(fbuffer_entry)       /* offset there */                                                  \
	X(task_status)	       /* offset in struct task_struct: status in its thread_info, u32 */  \
	X(renamed)	       /* address of perf_event_comm(); or 0 */                            \
	X(text_base)	       /* hv_reach.text_base, for trampolines that subtract it */          \
	/* bits of the preempt count */                                                            \
	X(hardirq_bits) /* hard interrupts */                                                      \
	X(irq_bits)	/* served and disabled soft interrupts, hard interrupts, and NMIs */       \
	X(context_bits) /* bits that distinguish task, softirq, hardirq and NMI context */         \
	/* numbers */                                                                              \
	X(chains_len)	       /* bytes */                                                         \
	X(event_files_len)     /* bytes */                                                         \
	X(event_callbacks_len) /* bytes */                                                         \
	X(nr_cpus)	       /* entries of the table "vcpus", at least one */                    \
	X(nr_drafts)	       /* of all CPUs */                                                   \
	X(ring_mask)	       /* hv_ring_mask() of all rings */                                   \
	X(key_shift)	       /* hv_key_shift() of all rings */                                   \
	X(key_step)	       /* difference between the keys of consecutive records */            \
	X(entry_records)       /* exclusive limit on an entry's data records */                    \
	X(entry_len)   /* maximum length of an entry with the data that a trampoline adds */       \
	X(home_shift)  /* 32 - HOMES_SHIFT of hv_stack_home(): 1 to 31 */                          \
	X(count_shift) /* 32 - HOMES_SHIFT of hv_count_home(): 1 to 31 */                          \
	X(stack_bytes) /* size of a kernel stack: a power of two, at least 16 KiB */               \
	X(stack_mask)  /* -stack_bytes */                                                          \
	X(skip_start)  /* first address of the exception stacks, where no graph is kept */         \
	X(skip_len)    /* their length */

enum hv_hole {
#define HV_HOLE_ENUM(name) HV_HOLE_##name,
	HV_HOLES(HV_HOLE_ENUM)
#undef HV_HOLE_ENUM
		HV_HOLE_code, /* address of the trampolines' first byte, which link() knows */
	HV_NR_HOLES
};

/* Indexed by enum hv_hole. */
extern const char *const hv_hole_names[HV_NR_HOLES];

struct hv_trampoline_values {
	uint64_t hole[HV_NR_HOLES];
	unsigned alternatives;	    /* 1u << HV_ALT_* for each alternative that is used */
	struct hv_gva return_thunk; /* 0: the kernel uses a bare return */
};

/* How a value is encoded in the code: its size, and how the CPU extends it. link() refuses values
 * that do not fit. */
enum hv_hole_form {
	HV_HOLE_S32, /* four bytes, sign-extended by the CPU */
	HV_HOLE_U32, /* four bytes, zero-extended by the CPU */
	HV_HOLE_U8,
	HV_HOLE_U64,
	/* Fields of arm64 instructions: */
	HV_HOLE_A64_MOV_0,	/* mov: 16 bits */
	HV_HOLE_A64_MOV_0_PART, /* mov: bits 0 to 15 of a value that can be larger */
	HV_HOLE_A64_MOV_1,	/* movk: bits 16 to 31, the highest ones of the value */
	HV_HOLE_A64_MOV_1_PART, /* movk: bits 16 to 31 of a value that can be larger */
	HV_HOLE_A64_MOV_2_PART, /* movk: bits 32 to 47 of a value that can be larger */
	HV_HOLE_A64_MOV_3,	/* movk: bits 48 to 63 */
	HV_HOLE_A64_MOVN,	/* movn: a 64-bit value with all bits above 15 set */
	HV_HOLE_A64_PAGE,	/* adrp: the address of a page less than 4 GiB away */
	HV_HOLE_A64_LOAD_8,	/* ldr, str: a 12-bit offset in units of the access size */
	HV_HOLE_A64_LOAD_16,
	HV_HOLE_A64_LOAD_32,
	HV_HOLE_A64_LOAD_64,
	/* Fields of riscv64 instructions. A value is split into two fields: */
	HV_HOLE_RV_HIGH,      /* lui: bits 12 to 31, rounded, of a value like HV_HOLE_S32 */
	HV_HOLE_RV_LOW,	      /* the other bits: the immediate of addi and loads */
	HV_HOLE_RV_HIGH_PART, /* like RV_HIGH, for a value that can be larger */
	HV_HOLE_RV_LOW_PART,
	HV_HOLE_RV_PC_HIGH, /* auipc: like RV_HIGH, for an address relative to the instruction */
	HV_HOLE_RV_PC_LOW,
};

/* A position in the code where a value belongs. */
struct hv_trampoline_hole {
	uint32_t off;	/* of the bytes to write */
	uint8_t form;	/* enum hv_hole_form */
	uint8_t hole;	/* enum hv_hole */
	int32_t addend; /* added to the value */
};

/* Instructions that are replaced if the alternative is used. */
struct hv_trampoline_alternative {
	uint32_t alternative; /* HV_ALT_*, optionally with HV_ALT_COPIED */
	uint32_t off;	      /* of the instructions */
	uint32_t len_bytes;   /* of the instructions; one instruction without HV_ALT_COPIED */
	uint32_t target_off;  /* The instruction becomes a jump to this offset, or a nop if it is 0.
				 With HV_ALT_COPIED, the instructions at this offset are copied; they
				 work in both positions. */
};

/* Trampolines for calls that need more than a line of the function tracer: they depend on the
 * function's role in the scheduler, on how its calls are traced, and on whether they are
 * profiled. */
enum hv_call_role {
	HV_ROLE_NONE,
	HV_ROLE_NEW_TASK, /* first function of a new task: forgets open calls on its stack */
	HV_ROLE_LEAVES,	  /* called by a task about to leave the CPU, on its stack */
	HV_ROLE_ARRIVES,  /* called by a task that is back on the CPU */
	HV_NR_ROLES,
};

enum hv_call_trace {
	HV_TRACE_NOTHING,
	HV_TRACE_FUNCTION, /* see function_off */
	HV_TRACE_GRAPH,
	HV_TRACE_GRAPH_ROOT,	/* effect of a call on the calls inside it: see
				   tracer/guest/trampolines.h */
	HV_TRACE_GRAPH_NOTRACE, /* see tracer/guest/trampolines.h */
	HV_TRACE_FUNCTION_AND_GRAPH,
	HV_NR_TRACES,
};

#define HV_NR_FTRACE_READERS 8
#define HV_NR_CALL_ENTRIES   (HV_NR_ROLES * 2 * HV_NR_TRACES)

/* A chain: code that a site calls instead of TARGET, a trampoline of the guest. */
struct hv_chain {
	struct hv_gva trampoline;
	/* HV_CHAIN_CALLS: the chain calls TRAMPOLINE and then jumps to TARGET. HV_CHAIN_JUMPS: it
	 * jumps to TRAMPOLINE; the guest's ftrace reads TARGET in it. */
	enum { HV_CHAIN_CALLS, HV_CHAIN_JUMPS } how;
	struct hv_gva target;
	uint32_t kind; /* HV_KIND_*, HV_FRAME_*, which TRAMPOLINE reads if HAS_KIND */
	bool has_kind;
};

/* The assembled trampolines of an architecture. They cannot run before link() has completed their
 * code. */
struct hv_trampoline_image {
	const uint8_t *code;
	size_t len_bytes;
	const struct hv_trampoline_hole *holes;
	size_t nr_holes;
	const struct hv_trampoline_alternative *alternatives;
	size_t nr_alternatives;
	/* Offsets of entries in the code. */
	size_t function_off;
	size_t function_stack_off; /* like function_off, and records the stack */
	/* Called by a chain (struct hv_chain), like the entries without "chain". 0: not
	 * supported. */
	size_t chain_function_off;
	size_t chain_function_stack_off;
	size_t chain_call_off;	 /* like graph_off, profile_off and calls_off */
	size_t chain_probed_off; /* like probed_off */
	size_t graph_off;	 /* a call in a graph, without a special role */
	size_t profile_off;	 /* a call in a profile, without a special role */
	/* All others: CALLS_OFF + N * CALL_LEN_BYTES (hv_call_off()). */
	size_t calls_off;
	size_t call_len_bytes;
	/* Entry N of HV_NR_ACTION_GROUPS: ACTIONS_OFF + N * ACTION_LEN_BYTES. */
	size_t actions_off;
	size_t action_len_bytes;
	/* Like actions_off, for functions whose calls are recorded with all registers. 0: not
	 * supported. */
	size_t entry_regs_off;
	size_t entry_regs_len_bytes;
	/* Like actions_off: where the action group of a function with a return probe continues. */
	size_t probed_off;
	size_t probed_len_bytes;
	size_t handler_off; /* where the functions in a graph return to */
	/* The guest's ftrace calls entry N of HV_NR_FTRACE_READERS at the Nth call of its function
	 * that reads a site. The entry calls that function, which returns into the entry. 0: not
	 * supported. */
	size_t ftrace_readers_off;
	size_t ftrace_reader_len_bytes;
	/* The guest's event callbacks and tracepoints call these instead of the kernel's own
	 * functions. 0: events cannot be recorded. */
	size_t event_reserve_off;
	size_t event_commit_off;
	size_t event_release_offs[2];		  /* [N]: argument N is the struct rcu_head */
	size_t event_release_other_off;		  /* argument 0 is the struct rcu_head */
	struct hv_unwind_rule ftrace_reader_rule; /* at the return into an ftrace reader */
	/* Called by detours when preemption is disabled and enabled. 0: not supported. */
	size_t section_begins_off;
	size_t section_ends_off;
	size_t section_ends_unless_missed_off; /* used if the start may have been missed */
	/* Distance from the recorded stack at a section's end to the stack pointer at that end. */
	size_t section_stack_bytes;
	size_t section_function_off; /* for sites: like function_off, but only inside a section */
	size_t section_graph_off;    /* like graph_off, but only inside a section */
	/* Called when interrupts are disabled and enabled, when the kernel was entered, and before
	 * and after the CPU is idle. 0: not supported. */
	size_t irqs_off_off;
	size_t irqs_on_off;
	size_t irqs_on_unless_missed_off; /* used if the start may have been missed */
	size_t irq_arrives_off;
	size_t idle_begins_off;
	size_t idle_ends_off;
	/* Called by the detour of a probe inside a function. 0: not supported. */
	size_t probe_site_off;
	/* The kernel calls this instead of one of its functions during hibernation: it waits, then
	 * repeats the call, and finally fails in place of that function. 0: not supported. */
	size_t hibernation_off;
	/* The kernel calls this instead of perf_event_comm() after it has changed a task's name. 0:
	 * not supported. */
	size_t rename_off;
	const uint32_t *return_offs; /* the return sites of the trampolines */
	size_t nr_returns;
};

/* Returns the entry that a site calls if its function has ROLE and its calls are traced as TRACE.
 * PROFILED: they are also profiled. */
static inline size_t hv_call_off(const struct hv_trampoline_image *image, enum hv_call_role role,
				 enum hv_call_trace trace, unsigned profiled)
{
	unsigned n = ((unsigned)role * 2 + (profiled ? 1 : 0)) * HV_NR_TRACES + (unsigned)trace;

	if (role == HV_ROLE_NONE && trace == HV_TRACE_FUNCTION && !profiled)
		return image->function_off;
	if (role == HV_ROLE_NONE && trace == HV_TRACE_GRAPH && !profiled)
		return image->graph_off;
	if (role == HV_ROLE_NONE && trace == HV_TRACE_NOTHING && profiled)
		return image->profile_off;
	return image->calls_off + n * image->call_len_bytes;
}

/* Returns the kind (HV_KIND_*, HV_FRAME_*) of these calls. */
static inline uint32_t hv_call_kind(enum hv_call_role role, enum hv_call_trace trace,
				    unsigned profiled)
{
	static const uint32_t roles[HV_NR_ROLES] = {
		[HV_ROLE_NEW_TASK] = HV_KIND_NEW_TASK,
		[HV_ROLE_LEAVES] = HV_KIND_LEAVES,
		[HV_ROLE_ARRIVES] = HV_KIND_ARRIVES,
	};
	static const uint32_t traces[HV_NR_TRACES] = {
		[HV_TRACE_NOTHING] = HV_KIND_UNTRACED,
		[HV_TRACE_FUNCTION] = HV_KIND_UNTRACED | HV_KIND_FUNCTION,
		[HV_TRACE_GRAPH_ROOT] = HV_FRAME_ROOT,
		[HV_TRACE_GRAPH_NOTRACE] = HV_FRAME_MUTES,
		[HV_TRACE_FUNCTION_AND_GRAPH] = HV_KIND_FUNCTION,
	};

	return roles[role] | traces[trace] | (profiled ? HV_FRAME_PROFILED : 0);
}

/* -- registers, page tables, sites ------------------------------------------------------------- */

#define HV_VCPU_NR_GENERAL 32

/* Whether a vCPU is hidden: it interrupted the kernel at an unknown position to execute firmware
 * (on x86 in system management mode, which the gdb stub does not show) or a nested guest, and its
 * registers belong to that. */
enum hv_hidden { HV_HIDDEN_NO, HV_HIDDEN_MAYBE, HV_HIDDEN_YES };

/* The state of a vCPU that hvtrace needs. */
struct hv_vcpu_regs {
	struct hv_gva ip;
	struct hv_gva sp;
	uint64_t root;	 /* raw value of the register that points to the page tables */
	unsigned levels; /* of page tables: 3 to 5; 0 if paging (or 64-bit mode) is off, or if
			    registers do not show them (`formats`) */
	/* Every page is executable, and page-table entries cannot forbid it (x86: EFER.NXE is off,
	 * and its entry bit is reserved). False if entries always can. */
	bool executes_all;
	/* Physical address of `ip`, on architectures with `formats`: translated with the guest's
	 * page tables. 0: unknown, or `ip` is not in the kernel. */
	struct hv_gpa ip_gpa;
	struct hv_gva trap_table; /* x86: IDT base; 0: unknown (the gdb stub does not show it) */
	enum hv_hidden hidden;
	/* The vCPU runs with hypervisor privileges, like the kernel of a KVM host. False on
	 * architectures where this makes no difference. */
	bool is_hypervisor;
	/* All registers that can contain an address, in an architecture-specific order; unused ones
	 * are 0. */
	uint64_t general[HV_VCPU_NR_GENERAL];
};

struct hv_pt_entry {
	bool present;
	bool leaf;
	bool writable;
	bool executable;
	struct hv_gpa to; /* next table, or memory of the leaf */
};

/* The bits in the words of a record that differ between kernels. */
struct hv_context_bits {
	/* Masks of the thread flags that request a reschedule; 0: unknown or not supported, so
	 * never shown. */
	uint16_t need;
	uint16_t lazy; /* at the next tick or return to user mode, since 6.13 (26baa1f1c4bd) */
	/* Number of preempt-count bits between the softirq and hardirq counts, which count disabled
	 * interrupts: 8 if the kernel has HARDIRQ_DISABLE_BITS (7.3), else 0. */
	uint8_t count_shift;
};

/* Returns the first bit of the thread-flags byte that a record contains: the byte with the lowest
 * flag that requests a reschedule. */
static inline unsigned hv_resched_shift(struct hv_context_bits bits)
{
	unsigned flags = bits.need | bits.lazy;

	return flags ? (unsigned)__builtin_ctz(flags) / 8 * 8 : 0;
}

/* The context in which a record was written, in the guest kernel's terms. */
struct hv_context {
	uint8_t flags; /* HV_CONTEXT_* */
	uint8_t preempt_depth;
};

/* The kernel's own bits (enum trace_flag_type), so they need no translation. */
#define HV_CONTEXT_IRQS_OFF	     0x01
#define HV_CONTEXT_NEED_RESCHED_LAZY 0x02
#define HV_CONTEXT_NEED_RESCHED	     0x04
#define HV_CONTEXT_HARDIRQ	     0x08
#define HV_CONTEXT_SOFTIRQ	     0x10 /* in a soft-interrupt handler */
#define HV_CONTEXT_PREEMPT_RESCHED   0x20
#define HV_CONTEXT_NMI		     0x40
#define HV_CONTEXT_BH_OFF	     0x80

/* The addresses of a recorded call, as offsets from text_base without HV_TEXT_BIT. */
struct hv_call_addresses {
	uint32_t site_end; /* the address after the site */
	uint32_t caller;   /* the return address of the function */
};

enum hv_access { /* to a mapping made for the guest kernel; never writable and executable */
		 HV_ACCESS_READ,
		 HV_ACCESS_READ_WRITE,
		 HV_ACCESS_READ_EXECUTE,
};

enum hv_site_kind {
	HV_SITE_NOP,	    /* the kernel's own nop: traceable */
	HV_SITE_CALL,	    /* a call to *ret_target */
	HV_SITE_JUMP,	    /* a jump to *ret_target */
	HV_SITE_BREAKPOINT, /* a kprobe, or being modified at this moment */
	HV_SITE_OTHER,
};

/* A use of a variable by code. */
struct hv_data_use {
	struct hv_gva at; /* of the variable or a part of it */
	enum {
		HV_DATA_ADDRESS, /* its address is computed */
		HV_DATA_READ,	 /* LEN_BYTES are read */
		HV_DATA_WRITE,
		HV_DATA_PASS, /* the 8 bytes read at AT are passed as ARGUMENT to CALLED */
	} kind;
	unsigned len_bytes;
	unsigned argument; /* from 0 */
	struct hv_gva called;
};

typedef void (*hv_data_use_fn)(void *ctx, const struct hv_data_use *use);

#define HV_MEMBER_STEPS_MAX 3

/* An instruction that uses a member of a structure: the memory OFF bytes after a pointer. The
 * pointer is the root, or is reached from the root through NR_STEPS loads: STEPS[i] is the offset
 * of load i. `a->b->c` with the argument a has one step, the offset of b, and the offset of c as
 * OFF. */
struct hv_member_use {
	struct hv_gva insn; /* address of the instruction */
	enum {
		HV_ROOT_ARGUMENT, /* the function's argument number ROOT, from 0 */
		HV_ROOT_VARIABLE, /* the 8 bytes at the address ROOT */
		HV_ROOT_PERCPU,	  /* the 8 bytes of the per-CPU variable whose symbol is ROOT */
		HV_ROOT_CURRENT,  /* the current task, if a register has it; never on x86-64 */
		HV_ROOT_UNKNOWN,  /* list_uses() only */
		HV_ROOT_ADDRESS,  /* list_uses() only: no pointer, but the memory at ROOT */
	} from;
	uint64_t root; /* 0 for HV_ROOT_CURRENT */
	unsigned nr_steps;
	uint32_t steps[HV_MEMBER_STEPS_MAX];
	uint32_t off;
	enum {
		HV_MEMBER_ADDRESS, /* its address is computed */
		HV_MEMBER_READ,
		HV_MEMBER_WRITE, /* also for a member that is read and written */
	} kind;
	unsigned len_bytes; /* 0 for HV_MEMBER_ADDRESS */
	/* The instruction combines the member with a constant MASK: it moves, adds, subtracts,
	 * compares or tests it, or changes the bits of MASK. The number of a bit counts as a mask
	 * of this bit. MASK is zero-extended from LEN_BYTES. If the kind is HV_MEMBER_READ, INSN
	 * may use a register with the value that an earlier instruction read from the member; that
	 * instruction is reported, too. */
	bool has_mask;
	uint64_t mask;
};

typedef void (*hv_member_use_fn)(void *ctx, const struct hv_member_use *use);

#define HV_GDB_NAMED_MAX 3

struct hv_gdb_named {
	const char *name;
	bool may_lack; /* CPUs without the feature lack the register */
};

#define HV_SITE_LEN_MAX	  8
#define HV_CHAIN_LEN	  16
/* Maximum number of addresses that references_at() returns. */
#define HV_REFERENCES_MAX 2
#define HV_VENEER_LEN	  16

/* Set in the offset of every kernel text address from text_base. */
#define HV_TEXT_BIT UINT64_C(0x80000000)

#define HV_ARCH_NO_WORD 0xff

/* A register in the record of a call with registers (HV_EVENT_ID_REGS). */
struct hv_arch_register {
	uint8_t word;	/* index in the entry; HV_ARCH_NO_WORD: the value is always ADDEND */
	int64_t addend; /* added to the word */
};

/* Maximum number of function arguments in registers. */
#define HV_ARCH_ARGS_MAX 8

struct hv_arch {
	const char *name; /* QEMU's name for the target: "x86_64" */
	/* The name of the CPU's counter in trace_clock: the kernel's, if it has that clock. */
	const char *counter_name;

	/* Parses one vCPU's part of the monitor's `info registers`. Returns false if it is
	 * invalid. */
	bool (*parse_registers)(const char *text, struct hv_vcpu_regs *ret);
	/* For architectures whose registers show neither the page tables nor the sizes of pages and
	 * addresses (arm64: the monitor shows neither TTBR1 nor TCR): one struct hv_arch for each
	 * page-table format that Linux supports; NULL ends the list. kernel/image/image.h finds the
	 * guest's format. Until then this struct is used, which has the most common format. If two
	 * formats could accept the same root, the correct one comes first. NULL: registers show the
	 * page tables. */
	const struct hv_arch *const *formats;
	unsigned format_levels; /* of page tables, if registers do not show them */
	/* Decodes the gdb stub's `g` packet, already converted from hex. */
	bool (*decode_gdb_registers)(struct hv_span g, struct hv_vcpu_regs *ret);
	/* Decodes the results of KVM_GET_REGS and KVM_GET_SREGS (this architecture's struct
	 * kvm_regs and struct kvm_sregs). If KVM returns registers one by one, REGS contains those
	 * of kvm_ids, 8 bytes each, and SREGS is empty. NULL: injection does not support guests of
	 * this architecture. */
	bool (*decode_kvm_registers)(struct hv_span regs, struct hv_span sregs,
				     struct hv_vcpu_regs *ret);
	/* Register ids for KVM_GET_ONE_REG; 0 ends the list. NULL: KVM returns all in one call. */
	const uint64_t *kvm_ids;
	/* The number of the root register in the gdb stub; 8 bytes, little endian. Writing it back
	 * unchanged makes TCG discard all translations. */
	unsigned gdb_root_register;
	/* Read-only registers that are not in the `g` packet, by name because their numbers in the
	 * gdb stub differ between CPUs. NULL ends the list. If there is one, gdb_root_register is
	 * not used. */
	struct hv_gdb_named gdb_named[HV_GDB_NAMED_MAX + 1];
	/* Adds the values of gdb_named to REGS, which decode_gdb_registers() filled in: root,
	 * levels, and whether the vCPU is hidden. A value is 0 if the CPU lacks the register. */
	void (*take_gdb_named)(const uint64_t values[HV_GDB_NAMED_MAX], struct hv_vcpu_regs *regs);
	/* Where a hidden vCPU is, for messages. */
	const char *hidden_in;
	/* Whether gdb_named also shows the kernel's root if the vCPU is hidden. */
	bool hidden_keeps_root;

	/* All addresses where a kernel image, or the target of a call from it, can be. */
	struct hv_gva_range image_range;
	/* Where any release of hvtrace may have used free page-table entries, and the part where
	 * this release uses them (docs/internals/ring.md). If text_base is 0, struct hv_reach has
	 * the kernel's range, and free_range contains that range for every kernel. Empty: the
	 * image range contains it. */
	struct hv_gva_range free_range;
	struct hv_gva_range chosen_range;

	/* Records store kernel text addresses as offsets from this address. The image and all
	 * modules are in the upper half of the 4 GiB that start here, so HV_TEXT_BIT is set in
	 * every offset and 31 bits are enough. If the low 32 bits of text_base are 0, as on x86-64,
	 * the offset is the low half of the address, and trampolines need not subtract. 0:
	 * text_base differs between kernels. */
	struct hv_gva text_base;
	/* The HV_DOES_* actions that the trampolines do not support at a call. */
	uint32_t lacks_actions;
	/* Returns the lowest address of the kernel's half with page tables of LEVELS. */
	struct hv_gva (*kernel_start)(unsigned levels);
	/* Stores in RET the root tables that may map the kernel, the best first (x86: the root as
	 * it is, and without KPTI's user bit). Returns their number, at most 2. */
	unsigned (*roots)(const struct hv_vcpu_regs *regs, struct hv_gpa ret[2]);
	/* Maximum number of entries in the kernel's half of the root while user mode runs with
	 * KPTI. The kernel's own root has more, except in older kernels, such as 5.4. */
	unsigned users_entries_max;
	/* Level LEVELS is the root; level 1 has the smallest pages. */
	struct hv_gpa (*entry_at)(struct hv_gpa table, unsigned level, struct hv_gva gva);
	struct hv_pt_entry (*decode_entry)(unsigned level, uint64_t entry);
	/* Returns the number of bytes that an entry of LEVEL maps. */
	uint64_t (*entry_span)(unsigned level);
	/* Makes a leaf of LEVEL for TO. The other attributes are copied from NEIGHBOUR, a present
	 * leaf of the kernel image at that level. With leaf_of_page, it can also be of level 1. */
	uint64_t (*make_leaf)(unsigned level, uint64_t neighbour, struct hv_gpa to,
			      enum hv_access access);
	bool leaf_of_page;
	unsigned map_level; /* level of the entries that hvtrace uses (x86: 2, 2 MiB; 1: pages) */
	/* Makes an entry of map_level that points to TABLE, a table with the pages of the region.
	 * The other attributes are copied from NEIGHBOUR, such an entry of the image. NULL: entries
	 * of map_level are leaves. */
	uint64_t (*make_table)(uint64_t neighbour, struct hv_gpa table);

	/* Returns an address in kernel text from the trap table (x86: gate 14). TABLE has at least
	 * its first 4 KiB. */
	bool (*trap_target)(struct hv_span table, struct hv_gva *ret);

	size_t site_len_bytes;
	/* The length of the first instruction if a call is two instructions. Alone, that
	 * instruction has no effect: it loads an address that is not used. 0: a call is one
	 * instruction. */
	size_t site_first_bytes;
	/* Returns the distance from the first byte of a site to the address in the kernel's record
	 * of it. BEFORE is the site_len_bytes / 2 bytes before that address. NULL: 0. */
	unsigned (*record_off)(const uint8_t *before);
	/* Classifies the bytes of a site. If the site is unused and *RET_TARGET is not 0, the first
	 * instruction loads that address, which is not used. */
	enum hv_site_kind (*classify_site)(const uint8_t *site, struct hv_gva at,
					   struct hv_gva *ret_target);
	/* Encodes a call. Returns false if TARGET is out of reach. */
	bool (*encode_call)(struct hv_gva at, struct hv_gva target, uint8_t *ret_site);
	/* Encodes a jump of the same length as a call. */
	bool (*encode_jump)(struct hv_gva at, struct hv_gva target, uint8_t *ret_site);
	/* Encodes HV_CHAIN_LEN bytes. Returns false if an address of CHAIN is out of reach. NULL if
	 * chain_function_off is 0. */
	bool (*encode_chain)(struct hv_gva at, const struct hv_chain *chain, uint8_t *ret);
	/* Classifies the site of a static key, which is a nop or a jump to TARGET of the same
	 * length. CODE has site_len_bytes. Returns the length, or 0 if it is neither. */
	size_t (*classify_jump_site)(const uint8_t *code, struct hv_gva at, struct hv_gva target,
				     bool *ret_jumps);
	/* Encodes a jump of LEN_BYTES to TARGET. Returns false if TARGET is out of reach. */
	bool (*encode_jump_site)(struct hv_gva at, struct hv_gva target, size_t len_bytes,
				 uint8_t *ret);
	/* Encodes a veneer: code that continues at TARGET and preserves everything that matters at
	 * a function's entry. Sites whose call does not reach TARGET call it. Returns false if
	 * TARGET is out of its reach, too. NULL: all sites reach the trampolines. */
	bool (*encode_veneer)(struct hv_gva at, struct hv_gva target, uint8_t ret[HV_VENEER_LEN]);
	/* Removes the signature (pointer authentication) from WORD, a code address on a stack or in
	 * a register. The result is meaningless for other words. NULL: addresses are not signed. */
	uint64_t (*strip_signature)(uint64_t word);
	/* Signs ADDRESS with KEY, the low half first, and MODIFIER. CPUs differ in how they sign:
	 * WAY is one of NR_SIGNINGS ways, and no accessible register shows which one a CPU uses. */
	uint64_t (*sign)(unsigned way, uint64_t address, uint64_t modifier, const uint64_t key[2]);
	unsigned (*signature_bits)(unsigned way);
	unsigned nr_signings; /* 0: addresses are not signed */
	/* For architectures that store return addresses in frame records: the index in `general` of
	 * the frame pointer, which points to the last record, and of the link register, which has
	 * the only copy of the return address in prologues and epilogues. Both 0: a return address
	 * is on the stack, at retp (struct hv_frame). */
	unsigned frame_register;
	unsigned link_register;
	/* Finds how the kernel returns from functions, from the CODE of the empty function
	 * ftrace_stub: with a bare return (*RET_THUNK is 0), or with a jump to a thunk. Returns
	 * false if the code is not understood. */
	bool (*classify_return)(struct hv_span code, struct hv_gva at, struct hv_gva *ret_thunk);
	/* Returns whether CODE, a thunk that the kernel uses for jumps to an address in a register,
	 * consists only of that jump. */
	bool (*is_bare_jump)(struct hv_span code);
	/* Returns whether CODE, a function that ftrace can trace and that is traced or not, does
	 * nothing. NULL: not known. */
	bool (*is_empty_function)(struct hv_span code);
	/* Turns CODE, a copy of the image's code, into code that runs at AT: writes VALUES into it.
	 * Returns NULL, or the name of a value that does not fit or is out of reach (static; CODE
	 * is unusable then). */
	const char *(*link)(const struct hv_trampoline_image *image,
			    const struct hv_trampoline_values *values, struct hv_gva at,
			    uint8_t *code);

	/* Finds whether CODE, which uses a per-CPU variable, takes the CPU's offset from the
	 * hypervisor's register (HV_ALT_HYPERVISOR). Returns false if CODE does not show it. NULL:
	 * kernels always use the same register. */
	bool (*classify_percpu)(struct hv_span code, bool *ret_is_hypervisor);

	/* Calls FN for each use of a variable by the function CODE at AT. Only its first KiB are
	 * examined. Uses that depend on the path through the function are skipped, so each reported
	 * use is real. NULL: not needed, because kernels have the names of their variables. */
	void (*follow_data)(struct hv_span code, struct hv_gva at, hv_data_use_fn fn, void *ctx);
	/* Calls FN for each use of a member of a structure by the function CODE at AT, in the order
	 * of addresses. CODE begins with the function's first instruction; only its first 4 KiB and
	 * 1,024 instructions are examined, up to the first unknown one. CODE may have any contents.
	 * An instruction is reported only if it uses the member of the same pointer on all paths
	 * that reach it through jumps and branches in CODE. Ignores values on the stack, jumps to
	 * an address in a register, and execution after ud2 or an exception. Reports nothing for
	 * functions with a jump table. NULL: not supported. */
	void (*follow_members)(struct hv_span code, struct hv_gva at, hv_member_use_fn fn,
			       void *ctx);
	/* Like follow_members(), but calls FN for each instruction of CODE that uses memory at a
	 * constant distance from a register other than the stack pointer, or adds a constant to
	 * such a register. The value of the register is not known, and the distance, which may be
	 * negative, is the offset. Also for each that uses memory at a constant address; the offset
	 * is 0. NULL: not supported. */
	void (*list_uses)(struct hv_span code, struct hv_gva at, hv_member_use_fn fn, void *ctx);

	/* The members from here to make_detour may be NULL: then the flags are unknown, and
	 * preemptoff and irqsoff are not supported. */
	/* Finds PREEMPT_RT's out-of-tree TIF_NEED_RESCHED_LAZY (before 6.12) in the code of
	 * resched_curr_lazy(). FLAGS_OFF is the offset of the thread flags in a task. Returns 0 if
	 * the code is not understood. */
	uint32_t (*find_lazy_resched)(struct hv_span code, uint32_t flags_off);
	/* Finds TIF_NEED_RESCHED as a mask of thread flags, from the code of resched_curr(), which
	 * sets it. Returns 0 if the code is not understood. */
	uint16_t (*find_need_resched)(struct hv_span code);

	/* Calls FN for each instruction of CODE at AT. Returns the number of bytes that were
	 * decoded, up to the instruction at which FN ended the walk. */
	size_t (*walk_code)(struct hv_span code, struct hv_gva at, hv_insn_fn fn, void *ctx);
	/* Returns whether the bytes at the start of CODE, which is at AT, are an instruction that
	 * adds to or subtracts from the counter at PERCPU, even if the guest never executes
	 * them. */
	bool (*classify_count)(struct hv_span code, struct hv_gva at, uint64_t percpu,
			       struct hv_count_insn *ret);
	uint8_t count_begins; /* the first byte of each such instruction */
	/* Returns whether CODE may contain an instruction that changes the interrupt flag (struct
	 * hv_insn). CODE must begin with an instruction. Much faster than walk_code(). */
	bool (*may_switch_irqs)(struct hv_span code);
	/* Finds whether the bytes at the start of CODE are an instruction that disables or enables
	 * interrupts, and which (*RET). Returns its length including the nops after it, which
	 * kernels with paravirtualization have. Returns 0 if they are not. */
	size_t (*classify_irqs)(struct hv_span code, enum hv_irq_effect *ret);
	/* Finds at the start of CODE, which is at AT, a single instruction on the way out of the
	 * kernel that a detour can replace. */
	struct hv_way_back (*classify_way_back)(struct hv_span code, struct hv_gva at);
	/* Encodes the jump to TARGET that overwrites the first bytes of the instruction of
	 * LEN_BYTES at AT. The remaining bytes belong to instructions that are never executed, and
	 * the next instruction begins where it did before. Returns the number of bytes to write, or
	 * 0 if TARGET is out of reach. */
	size_t (*encode_detour_jump)(size_t len_bytes, struct hv_gva at, struct hv_gva target,
				     uint8_t ret[HV_DETOUR_PATCH_MAX]);
	/* Finds the instructions that have to move so that a jump can overwrite the first one of
	 * CODE, which is at AT. They are complete and *RET_LEN bytes long. Returns NULL, or the
	 * reason why they cannot be executed elsewhere (static). */
	const char *(*find_movable)(struct hv_span code, struct hv_gva at, size_t *ret_len,
				    unsigned *ret_nr);
	/* Calls FN for the target of each direct jump and call of CODE, a function at AT. Much
	 * faster than walk_code(). NULL: entries of functions cannot lead to detours. */
	struct hv_function_scan (*scan_function)(struct hv_span code, struct hv_gva at,
						 hv_target_fn fn, void *ctx);
	/* Sets bit N of BITS for each byte N of TEXT to which bytes of a piece of it could jump,
	 * wherever its instructions begin. The piece has offsets in TEXT. */
	void (*mark_jumps)(struct hv_span text, size_t piece_start, size_t piece_end,
			   enum hv_jump_length length, uint8_t *bits);
	/* Finds the first instructions of CODE, a function at AT, that have to move so that a jump
	 * can overwrite them. Skips a marker of branch targets, and the nop of ftrace if there is
	 * one (NOP).
	 * Accepts only instructions that work with registers, memory and the top of the stack:
	 * none that a static key, a static call or an alternative can replace. Returns NULL, or the
	 * reason why there are none (static). */
	const char *(*find_entry)(struct hv_span code, struct hv_gva at, enum hv_entry_nop nop,
				  struct hv_entry_insns *ret);
	/* Returns whether CODE begins with an instruction that raises an exception on purpose. */
	bool (*raises_exception)(struct hv_span code);
	/* Returns whether the HV_DETOUR_LEN_MAX bytes of CODE begin with the detour D, an
	 * HV_DETOUR_PROBE_SITE with at least one probe, or an HV_DETOUR_ENTRY. Action groups and
	 * trampoline may differ. */
	bool (*is_probe_detour)(const struct hv_detour *d, const uint8_t *code);
	/* Returns whether TEXT, which is at START, may contain a jump or call into RANGE: any bytes
	 * that could be its distance count. Two-byte jumps are not considered. */
	bool (*leads_into)(struct hv_span text, struct hv_gva start, struct hv_gva_range range);
	/* Stores in RET the addresses that an instruction can refer to if its operand is the first
	 * bytes of CODE, which is at AT: as an absolute or a relative address. Returns their
	 * number. NULL: unknown. */
	unsigned (*references_at)(struct hv_span code, struct hv_gva at,
				  struct hv_gva ret[HV_REFERENCES_MAX]);
	/* Writes the detour to RET. Returns the number of its blocks: 1, or up to
	 * HV_DETOUR_BLOCKS_MAX for an HV_DETOUR_PROBE_SITE with several probes. The number does not
	 * depend on the detour's address. Returns 0 if a target is out of reach, or if a probe is
	 * not at the start of an instruction. */
	size_t (*make_detour)(const struct hv_detour *d, uint8_t *ret);

	struct hv_trampoline_image
		trampolines; /* no code: functions of such guests cannot be traced */
	/* The stacks of exceptions, if they have separate ones. Graphs skip calls there. */
	struct hv_gva_range exception_stacks;
	/* Unwinds one frame with RULE. *FRAME is unchanged unless the caller was found. */
	enum hv_unwound (*unwind)(const struct hv_unwind_rule *rule, hv_stack_word word, void *ctx,
				  struct hv_unwind_frame *frame);
	/* Follows CODE from its first instruction, where the rule is START, as long as the effect
	 * of instructions on the frame is known: those of function prologues, and those that switch
	 * to the kernel's interrupt stack. Stores up to MAX steps in RET, one after each
	 * instruction that changes the rule. Returns their number. */
	size_t (*follow_code)(struct hv_span code, const struct hv_unwind_rule *start,
			      struct hv_unwind_step *ret, size_t max);
	/* Length of the code that switches to another stack. */
	size_t switch_len_bytes;
	/* The rules at a function's first instruction, and in a function with a frame pointer. */
	struct hv_unwind_rule entry_rule;
	struct hv_unwind_rule frame_pointer_rule;
	/* Decodes word 1 of a call's record. */
	struct hv_call_addresses (*decode_call)(uint64_t word);
	/* Finds a register by the name used for it in kernel probes, without the leading sign.
	 * Returns false if the kernel has no such register, or if a trampoline cannot record it. */
	bool (*find_register)(const char *name, struct hv_arch_register *ret);
	/* Like find_register(), after a function has returned (HV_EVENT_ID_RETURN). */
	bool (*find_return_register)(const char *name, struct hv_arch_register *ret);
	/* Like find_register(), at a probe inside a function, or at the entry of a function whose
	 * calls are recorded with all registers (HV_EVENT_ID_ALL_REGS). NULL: not supported. */
	bool (*find_any_register)(const char *name, struct hv_arch_register *ret);
	/* Returns whether the kernel has the register. */
	bool (*has_register)(const char *name);
	const char *argument_registers[HV_ARCH_ARGS_MAX]; /* NULL ends the list */
	/* The size of the registers of a program that a trampoline finds at the end of its task's
	 * stack (HV_FETCH_USER_STACK). 0: not supported. */
	uint32_t user_regs_bytes;
	/* Returns whether the bytes at the start of REGS, which are USER_REGS_BYTES, are such
	 * registers. */
	bool (*are_user_regs)(struct hv_span regs);
	/* Decodes the raw words of a function record (ringbuf/abi.h). */
	struct hv_context (*decode_context)(uint32_t preempt_count, uint16_t cpu_flags,
					    uint16_t thread_flags, struct hv_context_bits bits);
};

/* Returns whether a site at AT, a virtual or physical address, spans two pages. A single write
 * cannot change such a site. */
static inline bool hv_site_crosses_pages(const struct hv_arch *arch, uint64_t at)
{
	uint64_t page_bytes = arch->entry_span(1);

	return at % page_bytes + arch->site_len_bytes > page_bytes;
}

/* Returns the levels of the page tables that a vCPU uses. If registers do not show them, ARCH, the
 * table for the kernel's format, has them. Returns 0 if paging is off. */
static inline unsigned hv_arch_levels(const struct hv_arch *arch, const struct hv_vcpu_regs *regs)
{
	if (!arch->format_levels)
		return regs->levels;
	return regs->root ? arch->format_levels : 0;
}

/* Returns whether A and B are tables of the same architecture. */
static inline bool hv_arch_is(const struct hv_arch *a, const struct hv_arch *b)
{
	return strcmp(a->name, b->name) == 0;
}

extern const struct hv_arch hv_arch_arm64;
extern const struct hv_arch hv_arch_riscv64;
extern const struct hv_arch hv_arch_x86_64;

/* Returns NULL if there is no architecture with that name. */
const struct hv_arch *hv_arch_find(const char *name);
