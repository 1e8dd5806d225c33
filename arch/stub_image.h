/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The stubs of an architecture as they were assembled: their code, what link completes in it, and
 * where each stub begins. Leaves to others: linking (struct hv_arch), placing them in a guest
 * (tracer/stubs.h). */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "arch/unwind.h"
#include "base/addr.h"
#include "ringbuf/abi.h"

/* The values that link writes into the stubs' code; hole_NAME in the assembly
 * (docs/internals/stubs.md). None of them changes while a session lasts. A value for an alternative
 * that is not chosen may be 0. The stubs do not check the number of the CPU: the table "vcpus" has
 * an entry for every number that the kernel may use. */
#define HV_HOLES(X)                                                                                \
	/* displacements from the per-CPU base, or of a kernel that keeps these in the task        \
	 * (hv_layout.in_task) the first and third: offsets there */                               \
	X(cpu_number)	 /* a u32 */                                                               \
	X(current)	 /* the pointer to the current task */                                     \
	X(preempt_count) /* a u32; HV_ALT_WIDE_COUNT: a u64 */                                     \
	X(steal_time)	 /* a u64: ns in which the host did not run the vCPU */                    \
	X(irq_stack)	 /* the pointer to the end of the interrupt stack or to its last word; on  \
			    arm64 to its start */                                                  \
	/* offsets in struct task_struct */                                                        \
	X(task_pid)	   /* a u32 */                                                             \
	X(task_tgid)	   /* a u32 */                                                             \
	X(task_comm)	   /* 16 bytes */                                                          \
	X(task_prio)	   /* a u32: static_prio */                                                \
	X(task_policy)	   /* a u32 */                                                             \
	X(task_rt_prio)	   /* a u32: rt_priority */                                                \
	X(task_cred)	   /* the pointer to its struct cred */                                    \
	X(cred_uid)	   /* there: a u32 */                                                      \
	X(task_flags)	   /* the byte of the thread flags that is recorded */                     \
	X(task_migrate)	   /* the low byte of the migration-disable count */                       \
	X(task_stack)	   /* the pointer to its stack */                                          \
	X(task_pf)	   /* the flags PF_*, a u32 */                                             \
	X(task_lazy)	   /* HV_ALT_LAZY: the lazy-preemption count, a u32 */                     \
	X(task_lazy_flags) /* HV_ALT_LAZY: the thread flags that lazy_mask is of, a u32 */         \
	X(lazy_mask)	   /* HV_ALT_LAZY: the thread flag that requests a lazy reschedule */      \
	X(task_softirqs)   /* HV_ALT_TASK_SOFTIRQS: their count, a u32 */                          \
	/* of a kernel whose exceptions make no frame record (riscv64): */                         \
	X(entry_code)	  /* the address of their code */                                          \
	X(entry_code_len) /* bytes */                                                              \
	X(regs_bytes)	  /* struct pt_regs, as a stack has it */                                  \
	/* addresses in the region */                                                              \
	X(params)	  /* struct hv_params */                                                   \
	X(control)	  /* struct hv_control */                                                  \
	X(vcpus)	  /* a table, by CPU number, of the addresses of struct hv_state */        \
	X(pids)		  /* the pid bitmap */                                                     \
	X(nr_pids)	  /* bits in it */                                                         \
	X(stacks)	  /* the return stacks */                                                  \
	X(event_files)	  /* struct hv_event_file of each recorded event */                        \
	X(event_probes)	  /* the arrays of probes that are ours in the guest's tracepoints */      \
	X(drafts)	  /* struct hv_draft, HV_NR_DRAFTS for each CPU number */                  \
	X(programs)	  /* struct hv_fetch_step, HV_FETCH_STEPS_MAX for each slot */             \
	X(event_programs) /* likewise, for each number of a file with HV_EVENT_FILE_READS_BIT */   \
	X(filters)	  /* struct hv_filter_step, HV_FILTER_STEPS_MAX for each program */        \
	/* of a kernel whose memory can be read for probes, and the addresses of its */            \
	X(kernel_start)	 /* the first address of the kernel's half */                              \
	X(copy_kernel)	 /* copy_from_kernel_nofault() */                                          \
	X(copy_user)	 /* copy_from_user_nofault() */                                            \
	X(string_kernel) /* strncpy_from_kernel_nofault() */                                       \
	X(string_user)	 /* strncpy_from_user_nofault() */                                         \
	/* of a kernel whose events can be recorded: */                                            \
	X(event_reserve)       /* the address of its trace_event_buffer_reserve() */               \
	X(event_commit)	       /* the address of its trace_event_buffer_commit() */                \
	X(event_release)       /* the address of the function by which tracepoints free probes */  \
	X(event_release_other) /* likewise of those whose probes may sleep; or 0 */                \
	X(fbuffer_file)	       /* in struct trace_event_buffer: trace_file */                      \
	X(fbuffer_event)       /* event */                                                         \
	X(fbuffer_entry)       /* entry */                                                         \
	X(task_status)	       /* in struct task_struct: of its thread_info, a u32 */              \
	X(renamed)	       /* the address of perf_event_comm(); or 0 */                        \
	X(text_base)	       /* hv_reach.text_base, for stubs that have to subtract it */        \
	/* bits of the preempt count */                                                            \
	X(hardirq_bits) /* hard interrupts */                                                      \
	X(irq_bits)	/* those, and soft interrupts, also switched off, and NMIs */              \
	X(context_bits) /* what differs between a task, a soft interrupt, an interrupt and an NMI  \
			   that are in each other */                                               \
	/* numbers */                                                                              \
	X(event_files_len)  /* bytes */                                                            \
	X(event_probes_len) /* bytes */                                                            \
	X(nr_cpus)	    /* in the table "vcpus", at least one */                               \
	X(nr_drafts)	    /* of all CPUs */                                                      \
	X(ring_mask)	    /* hv_ring_mask() of all rings */                                      \
	X(key_shift)	    /* hv_key_shift() of all rings */                                      \
	X(key_step)	    /* from the key of a record to that of the next one */                 \
	X(entry_records)    /* fewer records of data than that are of an entry, and of a ring      \
			       half, less the record of the event */                               \
	X(entry_len)	    /* what a stub adds to an entry ends before so many bytes of it */     \
	X(home_shift)	    /* 32 - HOMES_SHIFT of hv_stack_home(): 1 to 31 */                     \
	X(count_shift)	    /* 32 - HOMES_SHIFT of hv_count_home(): 1 to 31 */                     \
	X(stack_bytes)	    /* of a kernel stack: a power of two, at least 16 KiB */               \
	X(stack_mask)	    /* -stack_bytes */                                                     \
	X(skip_start) /* first address of the stacks on which no graph is kept: exceptions' */     \
	X(skip_len)   /* length of that range */

enum hv_hole {
#define HV_HOLE_ENUM(name) HV_HOLE_##name,
	HV_HOLES(HV_HOLE_ENUM)
#undef HV_HOLE_ENUM
		HV_HOLE_code, /* the address of the stubs' first byte: link knows it */
	HV_NR_HOLES
};

/* Indexed by enum hv_hole. */
extern const char *const hv_hole_names[HV_NR_HOLES];

struct hv_stub_values {
	uint64_t hole[HV_NR_HOLES];
	unsigned alternatives;	    /* 1u << HV_ALT_* of each that is chosen */
	struct hv_gva return_thunk; /* 0: the kernel returns with a bare return */
};

/* How a value is written into the code: how many bytes it has there, and how the CPU extends them.
 * Link refuses a value that does not fit into this form. */
enum hv_hole_form {
	HV_HOLE_S32, /* four bytes that the CPU extends with their sign */
	HV_HOLE_U32, /* four bytes that the CPU extends with zeros */
	HV_HOLE_U8,
	HV_HOLE_U64,
	/* Fields of arm64's instructions: */
	HV_HOLE_A64_MOV_0,	/* mov: 16 bits */
	HV_HOLE_A64_MOV_0_PART, /* likewise bits 0 to 15 of a value that may have more */
	HV_HOLE_A64_MOV_1,	/* movk: bits 16 to 31, the last ones of the value */
	HV_HOLE_A64_MOV_1_PART, /* likewise of a value that may have more */
	HV_HOLE_A64_MOV_2_PART, /* likewise bits 32 to 47 */
	HV_HOLE_A64_MOV_3,	/* movk: bits 48 to 63 */
	HV_HOLE_A64_MOVN,	/* movn: a value of 64 bits of which all but the low 16 are 1 */
	HV_HOLE_A64_PAGE,	/* adrp: the address of a page, less than 4 GiB away */
	HV_HOLE_A64_LOAD_8,	/* ldr, str: an offset of 12 bits, in units of what is loaded */
	HV_HOLE_A64_LOAD_16,
	HV_HOLE_A64_LOAD_32,
	HV_HOLE_A64_LOAD_64,
	/* Fields of riscv64's instructions. A value is in two of them: */
	HV_HOLE_RV_HIGH,      /* lui: bits 12 to 31, rounded, of a value like HV_HOLE_S32 */
	HV_HOLE_RV_LOW,	      /* its other bits: the immediate of addi and loads */
	HV_HOLE_RV_HIGH_PART, /* likewise of a value that may have more bits */
	HV_HOLE_RV_LOW_PART,
	HV_HOLE_RV_PC_HIGH, /* auipc: likewise of an address less that of the instruction */
	HV_HOLE_RV_PC_LOW,
};

/* A place in the code for a value. */
struct hv_stub_hole {
	uint32_t off;	/* of the bytes to be written */
	uint8_t form;	/* enum hv_hole_form */
	uint8_t hole;	/* enum hv_hole: which value */
	int32_t addend; /* is added to the value */
};

/* Instructions that others replace when the alternative is chosen. */
struct hv_stub_alternative {
	uint32_t alternative; /* HV_ALT_*, with HV_ALT_COPIED or without */
	uint32_t off;	      /* of the instructions */
	uint32_t len_bytes;   /* of the instructions; without HV_ALT_COPIED there is one */
	uint32_t target_off;  /* the instruction becomes a jump there; 0: it becomes a nop. With
			       * HV_ALT_COPIED those from there on are copied, which work in both
			       * places */
};

/* Stubs of calls that are more than a line of the function tracer: by what the function is to the
 * scheduler, by how its calls are traced, and whether they are counted and timed besides. */
enum hv_call_role {
	HV_ROLE_NONE,
	HV_ROLE_NEW_TASK, /* the first function of a new task: forgets what was open on its stack */
	HV_ROLE_LEAVES,	  /* called by a task that is about to leave the CPU, on its stack */
	HV_ROLE_ARRIVES,  /* likewise when it is back */
	HV_NR_ROLES,
};

enum hv_call_trace {
	HV_TRACE_NOTHING,
	HV_TRACE_FUNCTION, /* as function_off */
	HV_TRACE_GRAPH,
	HV_TRACE_GRAPH_ROOT,	/* what a call means for the calls in it: see tracer/stubs.h */
	HV_TRACE_GRAPH_NOTRACE, /* likewise */
	HV_TRACE_FUNCTION_AND_GRAPH,
	HV_NR_TRACES,
};

#define HV_NR_YIELDS	   8
#define HV_NR_CALL_ENTRIES (HV_NR_ROLES * 2 * HV_NR_TRACES)

/* The stubs of an architecture as they were assembled. They do not run before link has made code of
 * them. */
struct hv_stub_image {
	const uint8_t *code;
	size_t len_bytes;
	const struct hv_stub_hole *holes;
	size_t nr_holes;
	const struct hv_stub_alternative *alternatives;
	size_t nr_alternatives;
	/* Entries, from the start of code. */
	size_t function_off;
	size_t function_stack_off; /* likewise, and then its stack */
	size_t graph_off;	   /* a call of a graph that is nothing special */
	size_t profile_off;	   /* likewise of a profile */
	/* All others: CALLS_OFF + N * CALL_LEN_BYTES (hv_call_off). */
	size_t calls_off;
	size_t call_len_bytes;
	/* Entry N, of HV_NR_SLOTS: ACTIONS_OFF + N * ACTION_LEN_BYTES. */
	size_t actions_off;
	size_t action_len_bytes;
	/* Likewise of functions whose calls are recorded with all registers. 0: none. */
	size_t entry_regs_off;
	size_t entry_regs_len_bytes;
	/* Where the slot of a function with a return probe goes on to, likewise. */
	size_t probed_off;
	size_t probed_len_bytes;
	size_t handler_off; /* where the functions of a graph return to */
	/* Entry N, of HV_NR_YIELDS: what the guest's ftrace reads sites by, from the Nth of its
	 * places. What it calls in the kernel returns into that entry. 0: none. */
	size_t yields_off;
	size_t yield_len_bytes;
	/* What the guest's probes and tracepoints call instead of the kernel's own functions. 0:
	 * events cannot be recorded. */
	size_t event_reserve_off;
	size_t event_commit_off;
	size_t event_release_offs[2];	/* the struct rcu_head is the first argument; the second */
	size_t event_release_other_off; /* the first one, of another function of the kernel's */
	struct hv_unwind_rule yield_rule; /* from where it returns to */
	/* What detours call when preemption goes off and on. 0: none. */
	size_t section_begins_off;
	size_t section_ends_off;
	size_t section_ends_unless_missed_off; /* where its beginning may not be seen */
	/* From where the recorded stack of a section's end begins to where the stack pointer was at
	 * that end. */
	size_t section_stack_bytes;
	size_t section_function_off; /* of sites: as function_off, but only in a section */
	size_t section_graph_off;    /* likewise as graph_off */
	/* Likewise when interrupts go off and on, when the kernel was entered, and before and after
	 * the CPU is idle. */
	size_t irqs_off_off;
	size_t irqs_on_off;
	size_t irqs_on_unless_missed_off; /* likewise */
	size_t irq_arrives_off;
	size_t idle_begins_off;
	size_t idle_ends_off;
	/* What the detour of a place inside a function calls. 0: none. */
	size_t place_off;
	/* What the kernel calls instead of a function of its own on its way to hibernate: waits,
	 * then makes the call anew, and in the end fails in that function's place. 0: none. */
	size_t hibernation_off;
	/* What the kernel calls instead of perf_event_comm() after it has written a task's name. 0:
	 * none. */
	size_t rename_off;
	const uint32_t *return_offs; /* the slots each stub leaves by */
	size_t nr_returns;
};

/* Where a site calls when its function has ROLE and its calls are traced so; PROFILED: and counted.
 */
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

/* The kind (HV_KIND_*, HV_FRAME_*) of the same calls. */
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
