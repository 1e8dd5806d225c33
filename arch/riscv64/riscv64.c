/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The riscv64 table. Its stubs stay out of it until sites can be changed (riscv64.h), and it has
 * nothing that only detours need. */
#include "arch/riscv64/riscv64.h"

#include "riscv64_stubs.h"

_Static_assert(hv_stubs_off == 0, "offsets are from the first byte");
_Static_assert(sizeof(stub_code) <= HV_STUBS_LEN_MAX, "what the region has room for");

const struct hv_stub_image riscv64_stubs = {
	.code = stub_code,
	.len_bytes = sizeof(stub_code),
	.holes = stub_holes,
	.nr_holes = HV_ARRAY_LEN(stub_holes),
	.alternatives = stub_alternatives,
	.nr_alternatives = HV_ARRAY_LEN(stub_alternatives),
	.function_off = hv_stub_function_off,
};

/* The image is in the last 2 GiB of the addresses, wherever in them it was moved to
 * (arch/riscv/include/asm/pgtable.h: KERNEL_LINK_ADDR). Modules are below it. The last page has
 * error pointers only. */
#define WINDOW_START 0xffffffff80000000u
#define WINDOW_END   0xfffffffffffff000u

const struct hv_arch hv_arch_riscv64 = {
	.name = "riscv64",
	.counter_name = "time",
	.parse_registers = riscv64_parse_registers,
	.decode_gdb_registers = riscv64_decode_gdb_registers,
	.image_window = {{WINDOW_START}, {WINDOW_END}},
	.kernel_start = riscv64_kernel_start,
	.roots = riscv64_roots,
	.entry_at = riscv64_entry_at,
	.decode_entry = riscv64_decode_entry,
	.entry_span = riscv64_entry_span,
	.make_leaf = riscv64_make_leaf,
	.map_level = 2,
	.trap_target = riscv64_trap_target,
	.site_len_bytes = RISCV64_SITE_LEN,
	.classify_site = riscv64_classify_site,
	.encode_call = riscv64_encode_call,
	.encode_jump = riscv64_encode_jump,
	.classify_jump_site = riscv64_classify_jump_site,
	.encode_jump_site = riscv64_encode_jump_site,
	.classify_return = riscv64_classify_return,
	.link = riscv64_link,
	.decode_call = riscv64_decode_call,
	.decode_context = riscv64_decode_context,
	.argument_registers = {"a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7"},
};
