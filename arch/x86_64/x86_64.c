/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The x86-64 table. */
#include "arch/x86_64/x86_64.h"

#include "x86_64_trampolines.h"

_Static_assert(hv_trampolines_off == 0, "offsets are from the first byte");
_Static_assert(sizeof(trampoline_code) <= HV_TRAMPOLINES_LEN_MAX,
	       "ftrace_reader.S recognises no longer code");

_Static_assert(hv_graph_jump_off % 64 >= 32, "the upper half of a cache line");

#define CALL_LEN_BYTES 10
_Static_assert(CALL_LEN_BYTES *HV_NR_CALL_ENTRIES ==
		       hv_trampoline_calls_end_off - hv_trampoline_calls_off,
	       "entries are equally long");

#define SECTION_STACK_BYTES 64 /* pushed by a detour and .Lsection_stack */

#define FTRACE_READER_LEN_BYTES 10
_Static_assert(FTRACE_READER_LEN_BYTES *HV_NR_FTRACE_READERS ==
		       hv_trampoline_ftrace_readers_end_off - hv_trampoline_ftrace_readers_off,
	       "one for each call");

static const uint32_t return_offs[] = {
	hv_trampoline_return_0_off,  hv_trampoline_return_1_off,  hv_trampoline_return_2_off,
	hv_trampoline_return_3_off,  hv_trampoline_return_4_off,  hv_trampoline_return_5_off,
	hv_trampoline_return_6_off,  hv_trampoline_return_7_off,  hv_trampoline_return_8_off,
	hv_trampoline_return_9_off,  hv_trampoline_return_10_off, hv_trampoline_return_11_off,
	hv_trampoline_return_12_off, hv_trampoline_return_13_off, hv_trampoline_return_14_off,
	hv_trampoline_return_15_off, hv_trampoline_return_18_off, hv_trampoline_return_19_off,
	hv_trampoline_return_20_off, hv_trampoline_return_21_off, hv_trampoline_return_22_off,
	hv_trampoline_return_23_off};

#define PROBED_LEN_BYTES 10
_Static_assert(PROBED_LEN_BYTES *HV_NR_ACTION_GROUPS ==
		       hv_trampoline_probed_end_off - hv_trampoline_probed_off,
	       "one for each group");

#define ENTRY_REGS_LEN_BYTES 8
_Static_assert(ENTRY_REGS_LEN_BYTES *HV_NR_ACTION_GROUPS ==
		       hv_trampoline_entry_regs_end_off - hv_trampoline_entry_regs_off,
	       "one for each group");
_Static_assert(HV_NR_ACTION_GROUPS <= 128, "the number of a group is a byte with a sign");

const struct hv_arch hv_arch_x86_64 = {
	.name = "x86_64",
	.counter_name = "x86-tsc",
	.parse_registers = x86_64_parse_registers,
	.decode_gdb_registers = x86_64_decode_gdb_registers,
	.decode_kvm_registers = x86_64_decode_kvm_registers,
	.gdb_root_register = X86_64_GDB_CR3,
	.hidden_in = "system management mode",
	/* Documentation/arch/x86/x86_64/mm.rst: image 1 GiB with RANDOMIZE_BASE, else 512 MiB, and
	 * modules right after it. */
	.image_range = {{0xffffffff80000000}, {0xffffffffc0000000}},
	.free_range = {{0xffffffff80000000}, {0xffffffffff000000}},
	.chosen_range = {{0xffffffffe0000000}, {0xffffffffff000000}},
	/* The image and modules are in the top 2 GiB, within reach of sign-extended 32-bit
	 * values. */
	.text_base = {0xffffffff00000000},
	.kernel_start = x86_64_kernel_start,
	.roots = x86_64_roots,
	/* entry code, cpu_entry_area, LDTs, ESPFIX stacks */
	.users_entries_max = 5,
	.entry_at = x86_64_entry_at,
	.decode_entry = x86_64_decode_entry,
	.entry_span = x86_64_entry_span,
	.make_leaf = x86_64_make_leaf,
	.map_level = 2,
	.trap_target = x86_64_trap_target,
	.site_len_bytes = X86_64_SITE_LEN,
	.classify_site = x86_64_classify_site,
	.encode_call = x86_64_encode_call,
	.encode_jump = x86_64_encode_jump,
	.encode_chain = x86_64_encode_chain,
	.classify_jump_site = x86_64_classify_jump_site,
	.encode_jump_site = x86_64_encode_jump_site,
	.classify_return = x86_64_classify_return,
	.is_bare_jump = x86_64_is_bare_jump,
	.is_empty_function = x86_64_is_empty_function,
	.link = x86_64_link,
	.follow_members = x86_64_follow_members,
	.list_uses = x86_64_list_uses,
	.walk_code = x86_64_walk_code,
	.classify_count = x86_64_classify_count,
	.count_begins = X86_64_COUNT_BEGINS,
	.may_switch_irqs = x86_64_may_switch_irqs,
	.classify_irqs = x86_64_classify_irqs,
	.classify_way_back = x86_64_classify_way_back,
	.encode_detour_jump = x86_64_encode_detour_jump,
	.find_movable = x86_64_find_movable,
	.scan_function = x86_64_scan_function,
	.mark_jumps = x86_64_mark_jumps,
	.find_entry = x86_64_find_entry,
	.raises_exception = x86_64_raises_exception,
	.leads_into = x86_64_leads_into,
	.references_at = x86_64_references_at,
	.is_probe_detour = x86_64_is_probe_detour,
	.make_detour = x86_64_make_detour,
	.find_need_resched = x86_64_find_need_resched,
	.find_lazy_resched = x86_64_find_lazy_resched,
	.trampolines =
		{
			.code = trampoline_code,
			.len_bytes = sizeof(trampoline_code),
			.holes = trampoline_holes,
			.nr_holes = HV_ARRAY_LEN(trampoline_holes),
			.alternatives = trampoline_alternatives,
			.nr_alternatives = HV_ARRAY_LEN(trampoline_alternatives),
			.function_off = hv_trampoline_function_off,
			.function_stack_off = hv_trampoline_function_stack_off,
			.chain_function_off = hv_trampoline_chain_function_off,
			.chain_function_stack_off = hv_trampoline_chain_function_stack_off,
			.chain_call_off = hv_trampoline_chain_call_off,
			.chain_probed_off = hv_trampoline_chain_probed_off,
			.graph_off = hv_trampoline_graph_off,
			.profile_off = hv_trampoline_profile_off,
			.calls_off = hv_trampoline_calls_off,
			.call_len_bytes = CALL_LEN_BYTES,
			.actions_off = hv_trampoline_actions_off,
			.action_len_bytes = 11,
			.entry_regs_off = hv_trampoline_entry_regs_off,
			.entry_regs_len_bytes = ENTRY_REGS_LEN_BYTES,
			.probed_off = hv_trampoline_probed_off,
			.probed_len_bytes = PROBED_LEN_BYTES,
			.handler_off = hv_graph_handler_off,
			.ftrace_readers_off = hv_trampoline_ftrace_readers_off,
			.ftrace_reader_len_bytes = FTRACE_READER_LEN_BYTES,
			.event_reserve_off = hv_trampoline_event_reserve_off,
			.event_commit_off = hv_trampoline_event_commit_off,
			.event_release_offs = {hv_trampoline_event_release_off,
					       hv_trampoline_event_release_second_off},
			.event_release_other_off = hv_trampoline_event_release_other_off,
			/* The arguments of its caller are on the stack (ftrace_reader.S). */
			.ftrace_reader_rule = {.kind = HV_UNWIND_CALL,
					       .sp_off = 32,
					       .sp_reg = X86_64_UNWIND_SP},
			.section_begins_off = hv_trampoline_section_begins_off,
			.section_ends_off = hv_trampoline_section_ends_off,
			.section_ends_unless_missed_off =
				hv_trampoline_section_ends_unless_missed_off,
			.section_stack_bytes = SECTION_STACK_BYTES,
			.section_function_off = hv_trampoline_section_function_off,
			.section_graph_off = hv_trampoline_section_graph_off,
			.irqs_off_off = hv_trampoline_irqs_off_off,
			.irqs_on_off = hv_trampoline_irqs_on_off,
			.irqs_on_unless_missed_off = hv_trampoline_irqs_on_unless_missed_off,
			.irq_arrives_off = hv_trampoline_irq_arrives_off,
			.idle_begins_off = hv_trampoline_idle_begins_off,
			.idle_ends_off = hv_trampoline_idle_ends_off,
			.probe_site_off = hv_trampoline_probe_site_off,
			.hibernation_off = hv_trampoline_hibernation_off,
			.rename_off = hv_trampoline_rename_off,
			.return_offs = return_offs,
			.nr_returns = HV_ARRAY_LEN(return_offs),
		},
	/* cpu_entry_area (Documentation/arch/x86/x86_64/mm.rst), since 4.15 (4fe22ba9d3fe). */
	.exception_stacks = {{0xfffffe0000000000}, {0xfffffe8000000000}},
	.unwind = x86_64_unwind,
	.follow_code = x86_64_follow_code,
	.switch_len_bytes = X86_64_SWITCH_LEN,
	.entry_rule = {.kind = HV_UNWIND_CALL, .sp_off = 8, .sp_reg = X86_64_UNWIND_SP},
	.frame_pointer_rule = {.kind = HV_UNWIND_CALL,
			       .sp_off = 16,
			       .bp_off = -16,
			       .sp_reg = X86_64_UNWIND_BP,
			       .bp_reg = X86_64_UNWIND_PREV_SP},
	.decode_call = x86_64_decode_call,
	.find_register = x86_64_find_register,
	.find_return_register = x86_64_find_return_register,
	.find_any_register = x86_64_find_any_register,
	.has_register = x86_64_has_register,
	.argument_registers = {"di", "si", "dx", "cx", "r8", "r9"},
	.user_regs_bytes = X86_64_USER_REGS_LEN,
	.are_user_regs = x86_64_are_user_regs,
	.decode_context = x86_64_decode_context,
};
