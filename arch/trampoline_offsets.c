/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Offsets, sizes, and shifts (log2 of a size) of structs in ringbuf/abi.h for the trampolines'
 * assembly.
 *
 * This file is not linked. The build compiles it to assembly for the trampolines' architecture, and
 * arch/offsets converts the lines that DEFINE emits into a header for the assembler, like the
 * kernel's asm-offsets.c. So the structs are the only definition of the layout. */
#include "ringbuf/abi.h"

#define DEFINE(name, value)	   __asm__ volatile("\n.ascii \"->" #name " %c0\"" : : "i"(value))
#define OFFSET(name, type, member) DEFINE(name, offsetof(struct type, member))
#define SIZE(name, type)	   DEFINE(name, sizeof(struct type))
#define SHIFT(name, type)                                                                          \
	_Static_assert(__builtin_popcountl(sizeof(struct type)) == 1, #type);                      \
	DEFINE(name, __builtin_ctzl(sizeof(struct type)))

void hv_trampoline_offsets(void);

static void params(void)
{
	OFFSET(HV_PARAM_GRAPH_FLAGS, hv_params, graph_flags);
	OFFSET(HV_PARAM_MAX_DEPTH, hv_params, max_depth);
	OFFSET(HV_PARAM_THRESHOLD, hv_params, threshold_ticks);
	OFFSET(HV_PARAM_PROFILE_MODE, hv_params, profile_mode);
	OFFSET(HV_PARAM_FTRACE_READER, hv_params, ftrace_reader_gva);
	OFFSET(HV_PARAM_TICKS_PER_NS, hv_params, ticks_per_ns);
	OFFSET(HV_PARAM_FTRACE_NOP, hv_params, ftrace_nop);
	OFFSET(HV_PARAM_SLEEP, hv_params, sleep_gva);
}

static void action_groups(void)
{
	OFFSET(HV_GROUP_DOES, hv_action_group, does);
	OFFSET(HV_GROUP_GOES_ON, hv_action_group, goes_on);
	SIZE(HV_GROUP_LEN, hv_action_group);
	SHIFT(HV_GROUP_SHIFT, hv_action_group);
	OFFSET(HV_STEP_DOES, hv_fetch_step, does);
	OFFSET(HV_STEP_LEN_BYTES, hv_fetch_step, len_bytes);
	OFFSET(HV_STEP_TAG, hv_fetch_step, tag);
	OFFSET(HV_STEP_VALUE, hv_fetch_step, value);
	SIZE(HV_STEP_LEN, hv_fetch_step);
	SHIFT(HV_STEP_SHIFT, hv_fetch_step);

	OFFSET(HV_LEFT_ON, hv_left, on);
	OFFSET(HV_LEFT_OFF, hv_left, off);
	OFFSET(HV_LEFT_STACK, hv_left, stack);
	OFFSET(HV_LEFT_REPORT, hv_left, report);
	SHIFT(HV_LEFT_SHIFT, hv_left);

	OFFSET(HV_CONTROL_MODE, hv_control, mode);
	OFFSET(HV_CONTROL_GRAPH_MODE, hv_control, graph_mode);
	_Static_assert(offsetof(struct hv_control, mode) % 8 == 0 &&
			       offsetof(struct hv_control, graph_mode) ==
				       offsetof(struct hv_control, mode) + 4,
		       "mode and graph_mode");
	OFFSET(HV_CONTROL_LOOKS, hv_control, looks);
	OFFSET(HV_CONTROL_SECTIONS, hv_control, sections);
	OFFSET(HV_CONTROL_DEEPEST, hv_control, deepest);
	OFFSET(HV_CONTROL_HIBERNATES, hv_control, hibernates);
	OFFSET(HV_CONTROL_LEFT, hv_control, left);
	OFFSET(HV_CONTROL_MISSED, hv_control, missed);
}

static void rings(void)
{
	OFFSET(HV_STATE_HEAD, hv_state, head);
	OFFSET(HV_STATE_LAST_PID, hv_state, last_pid);
	OFFSET(HV_STATE_MUTED, hv_state, muted);
	OFFSET(HV_STATE_NO_STACK, hv_state, nr_no_stack);
	OFFSET(HV_STATE_NO_ROOM, hv_state, nr_no_room);
	OFFSET(HV_STATE_NO_COUNT, hv_state, nr_no_count);
	OFFSET(HV_STATE_COUNTS, hv_state, counts_gva);
	OFFSET(HV_STATE_NO_DRAFT, hv_state, nr_no_draft);
	SIZE(HV_STATE_LEN, hv_state);

	SIZE(HV_RECORD_LEN, hv_record);
	SHIFT(HV_RECORD_SHIFT, hv_record);
}

static void sections(void)
{
	OFFSET(HV_STATE_OPEN, hv_state, sections.open);
	OFFSET(HV_STATE_LONGEST, hv_state, sections.longest);
	OFFSET(HV_STATE_SECTION_SEQ, hv_state, sections.seq);
	OFFSET(HV_STATE_STOLEN, hv_state, sections.nr_stolen);
	OFFSET(HV_STATE_NO_BEGIN, hv_state, sections.nr_no_begin);
	OFFSET(HV_STATE_NO_END, hv_state, sections.nr_no_end);
	OFFSET(HV_STATE_IDLE, hv_state, sections.idle);
	OFFSET(HV_STATE_FROM, hv_state, sections.from);
	OFFSET(HV_STATE_TO, hv_state, sections.to);
	OFFSET(HV_STATE_SECTION_COMM, hv_state, sections.comm);
	OFFSET(HV_STATE_SECTION_UID, hv_state, sections.uid);
	OFFSET(HV_STATE_SECTION_PRIO, hv_state, sections.static_prio);
	OFFSET(HV_STATE_SECTION_POLICY, hv_state, sections.policy);
	OFFSET(HV_STATE_SECTION_RT_PRIO, hv_state, sections.rt_priority);
	OFFSET(HV_STATE_OPEN_HEAD, hv_state, sections.open_head);
	OFFSET(HV_STATE_FROM_HEAD, hv_state, sections.from_head);
	OFFSET(HV_STATE_TO_HEAD, hv_state, sections.to_head);

	OFFSET(HV_END_TSC, hv_section_end, tsc);
	OFFSET(HV_END_DETOUR, hv_section_end, detour);
	OFFSET(HV_END_CALLER, hv_section_end, caller);
	OFFSET(HV_END_PID, hv_section_end, pid);
	OFFSET(HV_END_COUNT, hv_section_end, preempt_count);
	OFFSET(HV_END_STEAL, hv_section_end, steal_ns);
	OFFSET(HV_END_CPU_FLAGS, hv_section_end, cpu_flags);
	OFFSET(HV_END_THREAD_FLAGS, hv_section_end, thread_flags);
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
	OFFSET(HV_STACK_LEFT_STEAL, hv_stack, left_steal);
	OFFSET(HV_STACK_FRAMES, hv_stack, frames);
	OFFSET(HV_STACK_SUMS, hv_stack, sums);
	OFFSET(HV_STACK_STEALS, hv_stack, steals);
	SIZE(HV_STACK_LEN, hv_stack);
	/* The trampolines test and clear both with one word access. */
	_Static_assert(offsetof(struct hv_stack, stopped) == offsetof(struct hv_stack, muted) + 4,
		       "muted and stopped");

	OFFSET(HV_FRAME_RETP, hv_frame, retp_gva);
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
	OFFSET(HV_COUNT_HOST, hv_count, host);
	OFFSET(HV_COUNT_HITS, hv_count, hits);
	OFFSET(HV_COUNT_TICKS, hv_count, ticks);
	OFFSET(HV_COUNT_SQUARES, hv_count, squares);
	OFFSET(HV_COUNT_SQUARES_H, hv_count, squares_high);
	SIZE(HV_COUNT_LEN, hv_count);
}

static void events(void)
{
	OFFSET(HV_EVENT_FILE_ID, hv_event_file, id);
	OFFSET(HV_EVENT_FILE_FILTER, hv_event_file, filter);
	OFFSET(HV_FILTER_OFF, hv_filter_step, off);
	OFFSET(HV_FILTER_HOLDS, hv_filter_step, holds);
	OFFSET(HV_FILTER_FAILS, hv_filter_step, fails);
	OFFSET(HV_FILTER_LOW, hv_filter_step, low);
	OFFSET(HV_FILTER_MASK, hv_filter_step, mask);
	OFFSET(HV_FILTER_SPAN, hv_filter_step, span);
	OFFSET(HV_DRAFT_EVENT, hv_draft, event);
	OFFSET(HV_DRAFT_LEN_BYTES, hv_draft, len_bytes);
	OFFSET(HV_DRAFT_ENTRY, hv_draft, entry);
	SIZE(HV_DRAFT_LEN, hv_draft);
	SHIFT(HV_DRAFT_SHIFT, hv_draft);
}

void hv_trampoline_offsets(void)
{
	params();
	action_groups();
	rings();
	sections();
	return_stacks();
	counts();
	events();
}
