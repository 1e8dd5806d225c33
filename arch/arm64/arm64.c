/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The arm64 tables: one per page-table format. The members that only detours need are unset. */
#include "arch/arm64/arm64.h"

#include "arm64_trampolines.h"

_Static_assert(hv_trampolines_off == 0, "offsets are from the first byte");
_Static_assert(sizeof(trampoline_code) <= HV_TRAMPOLINES_LEN_MAX,
	       "the region has no room for longer code");

#define CALL_LEN_BYTES 12
_Static_assert(CALL_LEN_BYTES *HV_NR_CALL_ENTRIES ==
		       hv_trampoline_calls_end_off - hv_trampoline_calls_off,
	       "entries are equally long");

#define ACTION_LEN_BYTES 12
_Static_assert(ACTION_LEN_BYTES *HV_NR_ACTION_GROUPS ==
		       hv_trampoline_actions_end_off - hv_trampoline_actions_off,
	       "entries are equally long");

/* The kernel image and modules are in the upper half of the addresses with VA_BITS_MIN bits; the
 * lower half maps all memory. In a 52-bit kernel VA_BITS_MIN is 48, or 47 with 16 KiB pages
 * (Documentation/arch/arm64/memory.rst; asm/memory.h). The last page is reserved for error
 * pointers. */
#define MIN_OF_52(page_shift) ((page_shift) == 14 ? 47 : 48)
#define VA_BITS_MIN(page_shift, va_bits)                                                           \
	((va_bits) == 52 ? MIN_OF_52(page_shift) : (va_bits) < 48 ? (va_bits) : 48)
#define RANGE_START(page_shift, va_bits) (0 - (1ULL << (VA_BITS_MIN(page_shift, va_bits) - 1)))
#define RANGE_END			 (0 - 4096ULL)

/* The address bits above a page divided by the bits of a table's index, rounded up. */
#define LEVELS(page_shift, va_bits) (((va_bits)-4) / ((page_shift)-3))

/* Defines NAME, the table members that depend on the format. With 16 KiB pages, leaves of level 2
 * are too large for the region, so a page table made by hvtrace maps it. With 64 KiB pages, even an
 * entry of level 2 maps too much to be in reach, so the region's pages are mapped between the
 * image's. */
#define FORMAT(NAME, PAGE_SHIFT, VA_BITS, WIDE)                                                    \
	static const struct arm64_format NAME##_format = {PAGE_SHIFT, VA_BITS, WIDE};              \
	static struct hv_gva NAME##_kernel_start(unsigned levels)                                  \
	{                                                                                          \
		(void)levels;                                                                      \
		return hv_gva(0 - (1ULL << (VA_BITS)));                                            \
	}                                                                                          \
	static uint64_t NAME##_entry_span(unsigned level)                                          \
	{                                                                                          \
		return arm64_entry_span(&NAME##_format, level);                                    \
	}                                                                                          \
	static struct hv_gpa NAME##_entry_at(struct hv_gpa table, unsigned level,                  \
					     struct hv_gva gva)                                    \
	{                                                                                          \
		return arm64_entry_at(&NAME##_format, table, level, gva);                          \
	}                                                                                          \
	static unsigned NAME##_roots(const struct hv_vcpu_regs *regs, struct hv_gpa ret[2])        \
	{                                                                                          \
		return arm64_roots(&NAME##_format, regs, ret);                                     \
	}                                                                                          \
	static struct hv_pt_entry NAME##_decode_entry(unsigned level, uint64_t entry)              \
	{                                                                                          \
		return arm64_decode_entry(&NAME##_format, level, entry);                           \
	}                                                                                          \
	static uint64_t NAME##_make_leaf(unsigned level, uint64_t neighbour, struct hv_gpa to,     \
					 enum hv_access access)                                    \
	{                                                                                          \
		return arm64_make_leaf(&NAME##_format, level, neighbour, to, access);              \
	}                                                                                          \
	static uint64_t NAME##_make_table(uint64_t neighbour, struct hv_gpa table)                 \
	{                                                                                          \
		return arm64_make_table(&NAME##_format, neighbour, table);                         \
	}                                                                                          \
	static uint64_t NAME##_strip_signature(uint64_t word)                                      \
	{                                                                                          \
		return arm64_strip_signature(&NAME##_format, word);                                \
	}                                                                                          \
	static uint64_t NAME##_sign(unsigned way, uint64_t address, uint64_t modifier,             \
				    const uint64_t key[2])                                         \
	{                                                                                          \
		return arm64_sign(&NAME##_format, way, address, modifier, key);                    \
	}                                                                                          \
	static unsigned NAME##_signature_bits(unsigned way)                                        \
	{                                                                                          \
		return arm64_signature_bits(&NAME##_format, way);                                  \
	}                                                                                          \
	static const struct hv_arch NAME = {                                                       \
		TABLE,                                                                             \
		.format_levels = LEVELS(PAGE_SHIFT, VA_BITS),                                      \
		.map_level = (PAGE_SHIFT) == 16 ? 1 : 2,                                           \
		.image_range = {{RANGE_START(PAGE_SHIFT, VA_BITS)}, {RANGE_END}},                  \
		.kernel_start = NAME##_kernel_start,                                               \
		.entry_span = NAME##_entry_span,                                                   \
		.entry_at = NAME##_entry_at,                                                       \
		.roots = NAME##_roots,                                                             \
		.users_entries_max = 1, /* KPTI's trampoline */                                    \
		.decode_entry = NAME##_decode_entry,                                               \
		.make_leaf = NAME##_make_leaf,                                                     \
		.leaf_of_page = true,                                                              \
		.make_table = (PAGE_SHIFT) == 14 ? NAME##_make_table : NULL,                       \
		.strip_signature = NAME##_strip_signature,                                         \
		.sign = NAME##_sign,                                                               \
		.signature_bits = NAME##_signature_bits,                                           \
	}

#define NO_PROBES                                                                                  \
	(HV_DOES_REGS | HV_DOES_ALL_REGS | HV_DOES_DEEPEST | HV_DOES_FETCH | HV_DOES_RETURN |      \
	 HV_DOES_RETURN_FETCH)

/* The members that are the same for all formats. */
#define TABLE                                                                                      \
	.name = "aarch64", .counter_name = "cntvct", .parse_registers = arm64_parse_registers,     \
	.decode_gdb_registers = arm64_decode_gdb_registers,                                        \
	.decode_kvm_registers = arm64_decode_kvm_registers, .kvm_ids = arm64_kvm_ids,              \
	.gdb_named = {{.name = "TTBR1_EL1"},                                                       \
		      {.name = "TTBR1_EL2", .may_lack = true},                                     \
		      {.name = "HCR_EL2", .may_lack = true}},                                      \
	.take_gdb_named = arm64_take_gdb_named,                                                    \
	.hidden_in = "EL3, in EL2 below the kernel, or in a guest of its own,",                    \
	.classify_percpu = arm64_classify_percpu, .trap_target = arm64_trap_target,                \
	.site_len_bytes = ARM64_INSN_LEN, .classify_site = arm64_classify_site,                    \
	.encode_call = arm64_encode_call, .encode_jump = arm64_encode_jump,                        \
	.classify_jump_site = arm64_classify_jump_site,                                            \
	.encode_jump_site = arm64_encode_jump_site, .encode_veneer = arm64_encode_veneer,          \
	.classify_return = arm64_classify_return,                                                  \
	.argument_registers = {"x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7"},                    \
	.decode_call = arm64_decode_call, .decode_context = arm64_decode_context,                  \
	.link = arm64_link, .lacks_actions = NO_PROBES, .nr_signings = ARM64_NR_SIGNINGS,          \
	.frame_register = 29, .link_register = 30, .follow_data = arm64_follow_data,               \
	.trampolines = {                                                                           \
		.code = trampoline_code,                                                           \
		.len_bytes = sizeof(trampoline_code),                                              \
		.holes = trampoline_holes,                                                         \
		.nr_holes = HV_ARRAY_LEN(trampoline_holes),                                        \
		.alternatives = trampoline_alternatives,                                           \
		.nr_alternatives = HV_ARRAY_LEN(trampoline_alternatives),                          \
		.function_off = hv_trampoline_function_off,                                        \
		.function_stack_off = hv_trampoline_function_stack_off,                            \
		.graph_off = hv_trampoline_graph_off,                                              \
		.profile_off = hv_trampoline_profile_off,                                          \
		.calls_off = hv_trampoline_calls_off,                                              \
		.call_len_bytes = CALL_LEN_BYTES,                                                  \
		.actions_off = hv_trampoline_actions_off,                                          \
		.action_len_bytes = ACTION_LEN_BYTES,                                              \
		.handler_off = hv_graph_handler_off,                                               \
	}

/* VA_BITS in arch/arm64/Kconfig. With 64 KiB pages, the upper bits of physical addresses are 0 if
 * unused. */
FORMAT(pages_4k_39, 12, 39, false);
FORMAT(pages_4k_48, 12, 48, false);
FORMAT(pages_4k_52, 12, 52, true);
FORMAT(pages_16k_36, 14, 36, false);
FORMAT(pages_16k_47, 14, 47, false);
FORMAT(pages_16k_48, 14, 48, false);
FORMAT(pages_16k_52, 14, 52, true);
FORMAT(pages_64k_42, 16, 42, true);
FORMAT(pages_64k_48, 16, 48, true);
FORMAT(pages_64k_52, 16, 52, true);

/* If a lower-level table could be mistaken for a root with fewer levels, the longer address comes
 * first. */
static const struct hv_arch *const formats[] = {
	&pages_4k_52,  &pages_4k_48,  &pages_4k_39,  &pages_16k_52, &pages_16k_48, &pages_16k_47,
	&pages_16k_36, &pages_64k_52, &pages_64k_48, &pages_64k_42, NULL};

const struct hv_arch hv_arch_arm64 = {
	TABLE,
	.format_levels = LEVELS(12, 48),
	.map_level = 2,
	.image_range = {{RANGE_START(12, 48)}, {RANGE_END}},
	.kernel_start = pages_4k_52_kernel_start,
	.entry_span = pages_4k_48_entry_span,
	.entry_at = pages_4k_48_entry_at,
	.roots = pages_4k_48_roots,
	.decode_entry = pages_4k_48_decode_entry,
	.make_leaf = pages_4k_48_make_leaf,
	.leaf_of_page = true,
	.strip_signature = pages_4k_48_strip_signature,
	.sign = pages_4k_48_sign,
	.signature_bits = pages_4k_48_signature_bits,
	.formats = formats,
};
