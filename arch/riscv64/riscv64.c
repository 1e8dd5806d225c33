/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The riscv64 table. The members that only detours need are unset. */
#include "arch/riscv64/riscv64.h"

#include "riscv64_trampolines.h"

#define PAGE_BYTES 4096

_Static_assert(hv_trampolines_off == 0, "offsets are from the first byte");
_Static_assert(
	sizeof(trampoline_code) + PAGE_BYTES <= HV_TRAMPOLINES_LEN_MAX,
	"what the region has room for, wherever in a page the function trampoline must begin");

#define CALL_LEN_BYTES 12
_Static_assert(CALL_LEN_BYTES *HV_NR_CALL_ENTRIES ==
		       hv_trampoline_calls_end_off - hv_trampoline_calls_off,
	       "entries are equally long");

#define ACTION_LEN_BYTES 8
_Static_assert(ACTION_LEN_BYTES *HV_NR_ACTION_GROUPS ==
		       hv_trampoline_actions_end_off - hv_trampoline_actions_off,
	       "entries are equally long");

#define NO_PROBES                                                                                  \
	(HV_DOES_REGS | HV_DOES_ALL_REGS | HV_DOES_DEEPEST | HV_DOES_FETCH | HV_DOES_RETURN |      \
	 HV_DOES_RETURN_FETCH)

/* The image is in the last 2 GiB of the address space, also after relocation
 * (arch/riscv/include/asm/pgtable.h: KERNEL_LINK_ADDR). Modules are below it. The last page is
 * reserved for error pointers. */
#define RANGE_START 0xffffffff80000000u
#define RANGE_END   0xfffffffffffff000u

/* Modules, and all addresses that calls from the image and modules can reach. The end is not 0, so
 * that a loop over the range terminates. */
#define REACH_START 0xffffffff00000000u
#define REACH_END   0xffffffffffe00000u

const struct hv_arch hv_arch_riscv64 = {
	.name = "riscv64",
	.counter_name = "time",
	.parse_registers = riscv64_parse_registers,
	.decode_gdb_registers = riscv64_decode_gdb_registers,
	.gdb_named = {{.name = "satp"}, {.name = "priv"}},
	.take_gdb_named = riscv64_take_gdb_named,
	.hidden_in = "machine mode",
	.hidden_keeps_root = true,
	.image_range = {{RANGE_START}, {RANGE_END}},
	.free_range = {{REACH_START}, {REACH_END}},
	.kernel_start = riscv64_kernel_start,
	.roots = riscv64_roots,
	.entry_at = riscv64_entry_at,
	.decode_entry = riscv64_decode_entry,
	.entry_span = riscv64_entry_span,
	.make_leaf = riscv64_make_leaf,
	.map_level = 2,
	.trap_target = riscv64_trap_target,
	.site_len_bytes = RISCV64_SITE_LEN,
	.site_first_bytes = RISCV64_SITE_LEN / 2,
	.record_off = riscv64_record_off,
	.classify_site = riscv64_classify_site,
	.encode_call = riscv64_encode_call,
	.encode_jump = riscv64_encode_jump,
	.classify_jump_site = riscv64_classify_jump_site,
	.encode_jump_site = riscv64_encode_jump_site,
	.classify_return = riscv64_classify_return,
	.link = riscv64_link,
	.lacks_actions = NO_PROBES,
	.decode_call = riscv64_decode_call,
	.decode_context = riscv64_decode_context,
	.frame_register = 8,
	.link_register = 1,
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
			.graph_off = hv_trampoline_graph_off,
			.profile_off = hv_trampoline_profile_off,
			.calls_off = hv_trampoline_calls_off,
			.call_len_bytes = CALL_LEN_BYTES,
			.actions_off = hv_trampoline_actions_off,
			.action_len_bytes = ACTION_LEN_BYTES,
			.handler_off = hv_graph_handler_off,
		},
	.argument_registers = {"a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7"},
};
