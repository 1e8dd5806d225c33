/* The numbers that the stubs' assembly needs of the structs in ringbuf/abi.h: offsets, sizes, and
 * shifts (log2 of a size). Nothing links this file. The build compiles it to assembly for the
 * architecture of the stubs, and arch/offsets makes a header for the assembler of the lines that
 * DEFINE leaves there, as the kernel's Kbuild does with its asm-offsets.c. So the structs are the
 * only place that says where a field is. */
#include "ringbuf/abi.h"

#define DEFINE(name, value)	   __asm__ volatile("\n.ascii \"->" #name " %c0\"" : : "i"(value))
#define OFFSET(name, type, member) DEFINE(name, offsetof(struct type, member))
#define SIZE(name, type)	   DEFINE(name, sizeof(struct type))
#define SHIFT(name, type)                                                                          \
	_Static_assert(__builtin_popcountl(sizeof(struct type)) == 1, #type);                      \
	DEFINE(name, __builtin_ctzl(sizeof(struct type)))

void hv_stub_offsets(void);

static void params(void)
{
	OFFSET(HV_PARAM_NR_CPUS, hv_params, nr_cpus);
	OFFSET(HV_PARAM_CPU_NUMBER, hv_params, cpu_number_percpu);
	OFFSET(HV_PARAM_CURRENT, hv_params, current_percpu);
	OFFSET(HV_PARAM_PREEMPT_COUNT, hv_params, preempt_count_percpu);
	OFFSET(HV_PARAM_TASK_PID, hv_params, task_pid_off);
	OFFSET(HV_PARAM_TASK_COMM, hv_params, task_comm_off);
	OFFSET(HV_PARAM_TASK_FLAGS, hv_params, task_flags_off);
	OFFSET(HV_PARAM_TASK_MIGRATE, hv_params, task_migrate_off);
	OFFSET(HV_PARAM_STATES, hv_params, states_gva);
	OFFSET(HV_PARAM_RINGS, hv_params, rings_gva);
	OFFSET(HV_PARAM_SLOT_MASK, hv_params, slot_mask);
	OFFSET(HV_PARAM_RING_SHIFT, hv_params, ring_shift);
	OFFSET(HV_PARAM_LAP_SHIFT, hv_params, lap_shift);
	OFFSET(HV_PARAM_PIDS, hv_params, pids_gva);
	OFFSET(HV_PARAM_NR_PIDS, hv_params, nr_pids);
	OFFSET(HV_PARAM_MIGRATE_MASK, hv_params, migrate_mask);
	OFFSET(HV_PARAM_GRAPH_FLAGS, hv_params, graph_flags);
	OFFSET(HV_PARAM_MAX_DEPTH, hv_params, max_depth);
	OFFSET(HV_PARAM_THRESHOLD, hv_params, threshold_ticks);
	OFFSET(HV_PARAM_STACKS, hv_params, stacks_gva);
	OFFSET(HV_PARAM_NR_HOMES, hv_params, nr_homes);
	OFFSET(HV_PARAM_STACK_BYTES, hv_params, stack_bytes);
	OFFSET(HV_PARAM_IRQ_STACK, hv_params, irq_stack_percpu);
	OFFSET(HV_PARAM_SKIP_START, hv_params, skip_start_gva);
	OFFSET(HV_PARAM_SKIP_LEN, hv_params, skip_len_bytes);
	OFFSET(HV_PARAM_CONTROL, hv_params, control_gva);
	OFFSET(HV_PARAM_TASK_TGID, hv_params, task_tgid_off);
	OFFSET(HV_PARAM_TASK_STACK, hv_params, task_stack_off);
	OFFSET(HV_PARAM_COUNTS, hv_params, counts_gva);
	OFFSET(HV_PARAM_NR_COUNTS, hv_params, nr_counts);
	OFFSET(HV_PARAM_TASK_LAZY, hv_params, task_lazy_off);
	OFFSET(HV_PARAM_YIELD_READER, hv_params, yield_reader_gva);
	OFFSET(HV_PARAM_YIELD_NOP, hv_params, yield_nop);
	OFFSET(HV_PARAM_LAZY_MASK, hv_params, lazy_mask);
}

static void slots(void)
{
	OFFSET(HV_SLOT_DOES, hv_slot, does);
	OFFSET(HV_SLOT_GOES_ON, hv_slot, goes_on);
	SIZE(HV_SLOT_LEN, hv_slot);

	OFFSET(HV_LEFT_ON, hv_left, on);
	OFFSET(HV_LEFT_OFF, hv_left, off);
	OFFSET(HV_LEFT_STACK, hv_left, stack);
	OFFSET(HV_LEFT_TELL, hv_left, tell);
	SHIFT(HV_LEFT_SHIFT, hv_left);

	OFFSET(HV_CONTROL_MODE, hv_control, mode);
	OFFSET(HV_CONTROL_LOOKS, hv_control, looks);
	OFFSET(HV_CONTROL_LEFT, hv_control, left);
}

static void rings(void)
{
	OFFSET(HV_STATE_HEAD, hv_state, head);
	OFFSET(HV_STATE_LAST_PID, hv_state, last_pid);
	OFFSET(HV_STATE_MUTED, hv_state, muted);
	OFFSET(HV_STATE_NO_STACK, hv_state, nr_no_stack);
	OFFSET(HV_STATE_NO_ROOM, hv_state, nr_no_room);
	OFFSET(HV_STATE_NO_COUNT, hv_state, nr_no_count);
	SHIFT(HV_STATE_SHIFT, hv_state);

	SHIFT(HV_RECORD_SHIFT, hv_record);
}

static void return_stacks(void)
{
	OFFSET(HV_STACK_WORD, hv_stack, word);
	OFFSET(HV_STACK_DEPTH, hv_stack, depth);
	OFFSET(HV_STACK_INSIDE, hv_stack, inside);
	OFFSET(HV_STACK_MUTED, hv_stack, muted);
	OFFSET(HV_STACK_STOPPED, hv_stack, stopped);
	OFFSET(HV_STACK_ABOVE, hv_stack, above);
	OFFSET(HV_STACK_OVERRUN, hv_stack, overrun);
	OFFSET(HV_STACK_LEFT, hv_stack, left_tsc);
	OFFSET(HV_STACK_OWN, hv_stack, own_ticks);
	OFFSET(HV_STACK_FRAMES, hv_stack, frames);
	OFFSET(HV_STACK_SUMS, hv_stack, sums);
	SIZE(HV_STACK_LEN, hv_stack);
	/* The stubs test and clear the two as one word. */
	_Static_assert(offsetof(struct hv_stack, stopped) == offsetof(struct hv_stack, muted) + 4,
		       "muted and stopped");

	OFFSET(HV_FRAME_SLOT, hv_frame, slot_gva);
	OFFSET(HV_FRAME_CALLER, hv_frame, caller_gva);
	OFFSET(HV_FRAME_TSC, hv_frame, tsc);
	OFFSET(HV_FRAME_FUNCTION, hv_frame, function_low);
	OFFSET(HV_FRAME_FLAGS, hv_frame, flags);
	OFFSET(HV_FRAME_DEPTH, hv_frame, depth);
	SIZE(HV_FRAME_LEN, hv_frame);
	SHIFT(HV_FRAME_SHIFT, hv_frame);
}

static void counts(void)
{
	OFFSET(HV_COUNT_FUNCTION, hv_count, function_low);
	OFFSET(HV_COUNT_HITS, hv_count, hits);
	OFFSET(HV_COUNT_TICKS, hv_count, ticks);
	OFFSET(HV_COUNT_SQUARES, hv_count, squares);
	OFFSET(HV_COUNT_SQUARES_H, hv_count, squares_high);
	SIZE(HV_COUNT_LEN, hv_count);
}

void hv_stub_offsets(void)
{
	params();
	slots();
	rings();
	return_stacks();
	counts();
}
