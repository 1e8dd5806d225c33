/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The assembled stubs of an architecture: code, the values to link into it, and the offset of each
 * stub.
 *
 * struct hv_arch links them; tracer/guest/stubs.h loads them into a guest. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "arch/unwind.h"
#include "base/addr.h"
#include "ringbuf/abi.h"

/* The values that link() writes into the stubs' code; the assembly calls them hole_NAME
 * (docs/internals/stubs.md). They are constant during a session. A value that only an unused
 * alternative needs may be 0. Stubs do not check CPU numbers: the table "vcpus" has an entry for
 * every number that the kernel can use. */
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
	X(params)	  /* struct hv_params */                                                   \
	X(control)	  /* struct hv_control */                                                  \
	X(vcpus)	  /* table of the addresses of struct hv_state, by CPU number */           \
	X(pids)		  /* the pid bitmap */                                                     \
	X(nr_pids)	  /* number of bits in it */                                               \
	X(stacks)	  /* the return stacks */                                                  \
	X(event_files)	  /* struct hv_event_file for each recorded event */                       \
	X(event_probes)	  /* our replacements for the guest's tracepoint arrays */                 \
	X(drafts)	  /* struct hv_draft, HV_NR_DRAFTS per CPU number */                       \
	X(programs)	  /* struct hv_fetch_step, HV_FETCH_STEPS_MAX per slot */                  \
	X(event_programs) /* the same, per file number with HV_EVENT_FILE_READS_BIT */             \
	X(filters)	  /* struct hv_filter_step, HV_FILTER_STEPS_MAX per program */             \
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
	X(text_base)	       /* hv_reach.text_base, for stubs that subtract it */                \
	/* bits of the preempt count */                                                            \
	X(hardirq_bits) /* hard interrupts */                                                      \
	X(irq_bits)	/* those, served and disabled soft interrupts, and NMIs */                 \
	X(context_bits) /* bits that distinguish task, softirq, hardirq and NMI context */         \
	/* numbers */                                                                              \
	X(event_files_len)  /* bytes */                                                            \
	X(event_probes_len) /* bytes */                                                            \
	X(nr_cpus)	    /* entries of the table "vcpus", at least one */                       \
	X(nr_drafts)	    /* of all CPUs */                                                      \
	X(ring_mask)	    /* hv_ring_mask() of all rings */                                      \
	X(key_shift)	    /* hv_key_shift() of all rings */                                      \
	X(key_step)	    /* difference between the keys of consecutive records */               \
	X(entry_records)    /* exclusive limit on an entry's data records */                       \
	X(entry_len)	    /* maximum length of an entry with the data that a stub adds */        \
	X(home_shift)	    /* 32 - HOMES_SHIFT of hv_stack_home(): 1 to 31 */                     \
	X(count_shift)	    /* 32 - HOMES_SHIFT of hv_count_home(): 1 to 31 */                     \
	X(stack_bytes)	    /* size of a kernel stack: a power of two, at least 16 KiB */          \
	X(stack_mask)	    /* -stack_bytes */                                                     \
	X(skip_start)	    /* first address of the exception stacks, where no graph is kept */    \
	X(skip_len)	    /* their length */

enum hv_hole {
#define HV_HOLE_ENUM(name) HV_HOLE_##name,
	HV_HOLES(HV_HOLE_ENUM)
#undef HV_HOLE_ENUM
		HV_HOLE_code, /* address of the stubs' first byte, which link() knows */
	HV_NR_HOLES
};

/* Indexed by enum hv_hole. */
extern const char *const hv_hole_names[HV_NR_HOLES];

struct hv_stub_values {
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
struct hv_stub_hole {
	uint32_t off;	/* of the bytes to write */
	uint8_t form;	/* enum hv_hole_form */
	uint8_t hole;	/* enum hv_hole */
	int32_t addend; /* added to the value */
};

/* Instructions that are replaced if the alternative is used. */
struct hv_stub_alternative {
	uint32_t alternative; /* HV_ALT_*, optionally with HV_ALT_COPIED */
	uint32_t off;	      /* of the instructions */
	uint32_t len_bytes;   /* of the instructions; one instruction without HV_ALT_COPIED */
	uint32_t target_off;  /* The instruction becomes a jump to this offset, or a nop if it is 0.
				 With HV_ALT_COPIED, the instructions at this offset are copied; they
				 work in both positions. */
};

/* Stubs for calls that need more than a line of the function tracer. They depend on the function's
 * role in the scheduler, on how its calls are traced, and on whether they are profiled. */
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
	HV_TRACE_GRAPH_ROOT, /* effect of a call on the calls inside it: see tracer/guest/stubs.h */
	HV_TRACE_GRAPH_NOTRACE, /* see tracer/guest/stubs.h */
	HV_TRACE_FUNCTION_AND_GRAPH,
	HV_NR_TRACES,
};

#define HV_NR_YIELDS	   8
#define HV_NR_CALL_ENTRIES (HV_NR_ROLES * 2 * HV_NR_TRACES)

/* The assembled stubs of an architecture. They cannot run before link() has completed their
 * code. */
struct hv_stub_image {
	const uint8_t *code;
	size_t len_bytes;
	const struct hv_stub_hole *holes;
	size_t nr_holes;
	const struct hv_stub_alternative *alternatives;
	size_t nr_alternatives;
	/* Offsets of entries in the code. */
	size_t function_off;
	size_t function_stack_off; /* like function_off, and records the stack */
	size_t graph_off;	   /* a call in a graph, without a special role */
	size_t profile_off;	   /* a call in a profile, without a special role */
	/* All others: CALLS_OFF + N * CALL_LEN_BYTES (hv_call_off()). */
	size_t calls_off;
	size_t call_len_bytes;
	/* Entry N of HV_NR_SLOTS: ACTIONS_OFF + N * ACTION_LEN_BYTES. */
	size_t actions_off;
	size_t action_len_bytes;
	/* Like actions_off, for functions whose calls are recorded with all registers. 0: not
	 * supported. */
	size_t entry_regs_off;
	size_t entry_regs_len_bytes;
	/* Like actions_off: where the slot of a function with a return probe continues. */
	size_t probed_off;
	size_t probed_len_bytes;
	size_t handler_off; /* where the functions in a graph return to */
	/* Entry N of HV_NR_YIELDS: called in place of the function with which the guest's ftrace
	 * reads sites, from the Nth call site. The kernel function called there returns into this
	 * entry. 0: not supported. */
	size_t yields_off;
	size_t yield_len_bytes;
	/* The guest's event probes and tracepoints call these instead of the kernel's own
	 * functions. 0: events cannot be recorded. */
	size_t event_reserve_off;
	size_t event_commit_off;
	size_t event_release_offs[2]; /* struct rcu_head is the first argument; the second argument
				       */
	size_t event_release_other_off;	  /* the first argument, for the other release function */
	struct hv_unwind_rule yield_rule; /* at the address it returns to */
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
	size_t place_off;
	/* The kernel calls this instead of one of its functions during hibernation: it waits, then
	 * repeats the call, and finally fails in place of that function. 0: not supported. */
	size_t hibernation_off;
	/* The kernel calls this instead of perf_event_comm() after it has changed a task's name. 0:
	 * not supported. */
	size_t rename_off;
	const uint32_t *return_offs; /* the return slots of the stubs */
	size_t nr_returns;
};

/* Returns the entry that a site calls if its function has ROLE and its calls are traced as TRACE.
 * PROFILED: they are also profiled. */
static inline size_t hv_call_off(const struct hv_stub_image *image, enum hv_call_role role,
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
