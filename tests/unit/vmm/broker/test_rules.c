/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The writes that the privileged process accepts from a service that the guest may have taken over.
 * test_rules_attacks.c tests attacks. */
#include <check.h>

#include "tests/lib/run_suite.h"
#include "tests/unit/vmm/broker/small_rules.h"

/* arm64: addresses of its image and of the region. */
#define ARM64_TEXT   0xffffa435c6000000u
#define ARM64_WINDOW 0xffffa435c8000000u
enum { PAGES_4K_48 = 1, PAGES_16K_48 = 4, PAGES_64K_48 = 8 }; /* arm64's formats */

/* riscv64's image and region. */
#define RISCV64_TEXT   0xffffffff80000000u
#define RISCV64_WINDOW 0xffffffff40000000u

START_TEST(anything_is_allowed_in_the_region)
{
	begin(HV_ADOPTS_NOTHING);
	ck_assert(allows(data(SMALL_REGION + 8, 0x1234, 8)));
	ck_assert(allows(data(SMALL_REGION + small.region.len_bytes - 8, 1, 8)));
	end();
}
END_TEST

START_TEST(entries_get_leaves_of_the_region_only)
{
	uint64_t window = SMALL_WINDOW, entry_at, own = 1;

	begin(HV_ADOPTS_NOTHING);
	entry_at = small_entry_of(&small, window);
	ck_assert(!allows(entry(window, leaf_of(0x200000, HV_ACCESS_READ_WRITE))));
	ck_assert(!allows(entry(window, leaf_of(SMALL_REGION, HV_ACCESS_READ_WRITE) & ~NX)));
	ck_assert(!allows(entry(window, leaf_of(SMALL_REGION + (4u << 20), HV_ACCESS_READ))));
	ck_assert(!allows(entry(window + 0x1000, leaf_of(SMALL_REGION, HV_ACCESS_READ))));
	/* the linear map of all memory */
	ck_assert(!allows(entry(0xffff888000000000, leaf_of(SMALL_REGION, HV_ACCESS_READ))));
	memcpy(small.ram + entry_at, &own, 8); /* a used entry */
	ck_assert(!allows(entry(window, leaf_of(SMALL_REGION, HV_ACCESS_READ))));
	memset(small.ram + entry_at, 0, 8);
	map_window();
	ck_assert(allows(entry(window, 0)));
	end();
}
END_TEST

/* arm64 images can be at any address. */
START_TEST(entries_of_an_image_that_can_be_anywhere)
{
	uint64_t leaf;

	begin_as(&hv_arch_arm64, PAGES_4K_48, ARM64_TEXT, ARM64_WINDOW);
	leaf = leaf_of(SMALL_REGION, HV_ACCESS_READ_WRITE);
	ck_assert(!allows(entry(0xffff080000000000, leaf))); /* the linear map of all memory */
	ck_assert(!allows(entry(ARM64_WINDOW, leaf & ~(3ull << 53)))); /* W and X */
	ck_assert(!allows(entry(ARM64_WINDOW + 0x1000, leaf)));
	ck_assert(!allows(entry(ARM64_WINDOW, leaf + (4u << 20))));
	ck_assert(allows(entry(ARM64_WINDOW, leaf)));
	ck_assert(allows(entry(ARM64_WINDOW, 0)));
	end();
}
END_TEST

/* With 16 KiB pages, a table of pages in the region maps the region. */
START_TEST(entries_get_tables_in_the_region)
{
	const uint64_t table = (SMALL_REGION + 0x3c0000) | 0x1000000000000003;
	const uint64_t at = ARM64_WINDOW + 0x600000;

	begin_as(&hv_arch_arm64, PAGES_16K_48, ARM64_TEXT, ARM64_WINDOW);
	memcpy(small.ram + SITE, "\x1f\x20\x03\xd5", 4);
	ck_assert(!allows(call_of(SITE, at + (20u << 20))));
	ck_assert(!allows(entry(0xffff080000000000, table)));
	ck_assert(!allows(entry(at, table + (1u << 20)))); /* after the region */
	ck_assert(!allows(entry(at, 0x40203003)));	   /* in RAM */
	ck_assert(allows(entry(at, table)));
	ck_assert(allows(call_of(SITE, at + (20u << 20)))); /* in the same 32 MiB */
	ck_assert(!allows(call_of(SITE, at + (30u << 20))));
	ck_assert(allows(entry(at, 0)));
	end();
}
END_TEST

/* With 64 KiB pages, page entries map the region. They look like entries that lead to a table. */
START_TEST(entries_get_pages_of_the_region)
{
	const uint64_t page = SMALL_REGION | 0x0040000000000783; /* UXN, AF, not writable */
	const uint64_t at = ARM64_WINDOW + 0x630000;

	begin_as(&hv_arch_arm64, PAGES_64K_48, ARM64_TEXT, ARM64_WINDOW);
	memcpy(small.ram + SITE, "\x1f\x20\x03\xd5", 4);
	ck_assert(!allows(call_of(SITE, at + 0xf000)));
	ck_assert(!allows(entry(0xffff080000000000, page)));
	ck_assert(!allows(entry(at + 0x8000, page)));
	ck_assert(!allows(entry(at, page + (4u << 20))));    /* after the region */
	ck_assert(!allows(entry(at, page & ~(0x80ull))));    /* W and X */
	ck_assert(!allows(entry(at, page & ~(1ull << 54)))); /* X for user mode */
	ck_assert(!allows(entry(at, page | 1ull << 52)));    /* contiguous bit */
	ck_assert(allows(entry(at, page)));
	ck_assert(allows(call_of(SITE, at + 0xf000)));
	ck_assert(!allows(call_of(SITE, at + 0x10000))); /* after the page */
	ck_assert(allows(entry(at + 0x10000, page + 0x10000)));
	ck_assert(allows(call_of(SITE, at + 0x10000)));
	ck_assert(allows(entry(at, 0)));
	end();
}
END_TEST

START_TEST(no_tables_where_leaves_suffice)
{
	begin(HV_ADOPTS_NOTHING);
	ck_assert(!allows(entry(SMALL_WINDOW, (SMALL_REGION + 0x3c0000) | 0x63)));
	end();
}
END_TEST

START_TEST(text_calls_the_region_or_is_restored)
{
	begin(HV_ADOPTS_NOTHING);
	ck_assert(!allows(call_of(SITE, SMALL_WINDOW + 0x1000))); /* nothing is mapped there yet */
	map_window();
	ck_assert(!allows(call_of(SITE, SMALL_WINDOW + (8u << 20))));
	ck_assert(!allows(call_of(SITE, DATA_WINDOW))); /* not executable */
	ck_assert(!allows(call_of(SITE, SMALL_TEXT + 0x5000)));
	ck_assert(!allows(text(SITE, (const uint8_t *)"\x90\x90\x90\x90\x90", 5)));
	ck_assert(allows(call_of(SITE, SMALL_WINDOW + 0x1000)));
	ck_assert(allows(call_of(SITE, SMALL_WINDOW + 0x2000)));
	ck_assert(!allows(text(SITE, (const uint8_t *)"\x90\x90\x90\x90\x90", 5)));
	ck_assert(allows(text(SITE, nop, 5)));
	end();
}
END_TEST

/* A site that the guest's own tracers use: the guest's call is put back, also after the guest has
 * changed it, and never an older one. */
START_TEST(a_call_of_the_guest_is_put_back)
{
	struct hv_hold_write first, second;

	begin(HV_ADOPTS_NOTHING);
	map_window();
	first = call_of(SITE, SMALL_TEXT + 0x5000);
	second = call_of(SITE, SMALL_TEXT + 0x6000);
	memcpy(small.ram + SITE, first.bytes, 5);
	ck_assert(allows(call_of(SITE, SMALL_WINDOW + 0x1000)));
	ck_assert(!allows(second));
	ck_assert(allows(first));
	ck_assert(allows(call_of(SITE, SMALL_WINDOW + 0x1000)));
	memcpy(small.ram + SITE, second.bytes, 5);
	ck_assert(allows(call_of(SITE, SMALL_WINDOW + 0x2000)));
	ck_assert(!allows(first));
	ck_assert(!allows(text(SITE, nop, 5)));
	ck_assert(allows(second));
	end();
}
END_TEST

/* An instruction of seven bytes: a jump and padding replace it. */
START_TEST(longer_instructions_become_a_jump)
{
	static const uint8_t insn[7] = {0x65, 0xff, 0x05, 1, 2, 3, 4};
	uint8_t jump[HV_DETOUR_PATCH_MAX];
	size_t len;

	begin(HV_ADOPTS_NOTHING);
	map_window();
	memcpy(small.ram + SITE, insn, sizeof(insn));
	len = small.arch->encode_detour_jump(sizeof(insn), hv_gva(SMALL_TEXT + SITE),
					     hv_gva(SMALL_WINDOW + 0x1000), jump);
	ck_assert(allows(text(SITE, jump, (uint32_t)len)));
	ck_assert(allows(text(SITE, insn, (uint32_t)len)));
	end();
}
END_TEST

/* Kernel addresses between two mapped parts do not belong to hvtrace. Parts may be mapped in any
 * order. */
START_TEST(gaps_in_the_region_are_refused)
{
	static const uint64_t entries[] = {0, 3, 1, 2};
	const uint64_t mib2 = 2u << 20, leaf = SMALL_REGION | 0xe1;

	begin(HV_ADOPTS_NOTHING);
	for (unsigned i = 0; i < 4; i++) {
		uint64_t at = SMALL_WINDOW + entries[i] * mib2;

		ck_assert(!allows(call_of(SITE, at + 0x1000)));
		ck_assert(allows(entry(at, leaf)));
		ck_assert(allows(call_of(SITE, at + 0x1000)));
	}
	ck_assert(allows(entry(SMALL_WINDOW + 10 * mib2, leaf)));
	for (unsigned i = 0; i < 12; i++)
		ck_assert(allows(call_of(SITE, SMALL_WINDOW + i * mib2 + 0x1000)) ==
			  (i < 4 || i == 10));
	ck_assert(allows(entry(SMALL_WINDOW + mib2, 0)));
	ck_assert(!allows(call_of(SITE, SMALL_WINDOW + mib2 + 0x1000)));
	end();
}
END_TEST

/* The first instruction of a two-instruction call may be alone if its target is in the region. */
START_TEST(a_first_instruction_targets_the_region)
{
	static const uint8_t free_site[8] = {0x13, 0, 0, 0, 0x13, 0, 0, 0};
	struct hv_hold_write ours, elsewhere;

	begin_as(&hv_arch_riscv64, -1, RISCV64_TEXT, RISCV64_WINDOW);
	memcpy(small.ram + SITE, free_site, sizeof(free_site));
	ck_assert(allows(entry(RISCV64_WINDOW, leaf_of(SMALL_REGION, HV_ACCESS_READ_EXECUTE))));
	ours = call_of(SITE, RISCV64_WINDOW + 0x1678);
	elsewhere = call_of(SITE, RISCV64_WINDOW - 0x1000);
	memcpy(ours.bytes + 4, free_site + 4, 4);
	memcpy(elsewhere.bytes + 4, free_site + 4, 4);
	ck_assert(!allows(elsewhere));
	ck_assert(allows(ours));
	ck_assert(allows(call_of(SITE, RISCV64_WINDOW + 0x1678)));
	ck_assert(allows(text(SITE, free_site, 8)));
	end();
}
END_TEST

START_TEST(the_latest_guest_bytes_are_restored)
{
	static const uint8_t other[5] = {0xe8, 1, 2, 3, 4};

	begin(HV_ADOPTS_NOTHING);
	map_window();
	ck_assert(allows(call_of(SITE, SMALL_WINDOW + 0x1000)));
	ck_assert(allows(text(SITE, nop, 5)));
	memcpy(small.ram + SITE, other, 5);
	ck_assert(!allows(text(SITE, nop, 5)));
	ck_assert(allows(call_of(SITE, SMALL_WINDOW + 0x1000)));
	ck_assert(!allows(text(SITE, nop, 5)));
	ck_assert(allows(text(SITE, other, 5)));
	end();
}
END_TEST

/* The guardian may be killed in the middle of a list. */
START_TEST(a_lost_write_can_be_repeated)
{
	struct hv_hold_write call, back;
	uint64_t entry_at, leaf;

	begin(HV_ADOPTS_NOTHING);
	entry_at = small_entry_of(&small, SMALL_WINDOW);
	for (unsigned i = 0; i < 3; i++) {
		map_window();
		memset(small.ram + entry_at, 0, 16); /* the write was not made */
	}
	map_window();
	memcpy(&leaf, small.ram + entry_at, 8);
	call = call_of(SITE, SMALL_WINDOW + 0x1000);
	back = text(SITE, nop, 5);
	ck_assert(allows(call));
	for (unsigned i = 0; i < 3; i++) {
		ck_assert(allows(back));
		memcpy(small.ram + SITE, call.bytes, 5);
	}
	ck_assert(allows(back));
	ck_assert(allows(entry(SMALL_WINDOW, 0)));
	memcpy(small.ram + entry_at, &leaf, 8);
	ck_assert(allows(entry(SMALL_WINDOW, 0)));
	end();
}
END_TEST

START_TEST(keys_become_jumps_or_nops)
{
	static const uint8_t client_jump[2] = {0xeb, 0x10}, short_nop[2] = {0x66, 0x90};
	const uint32_t second = SITE + 0x40;

	begin(HV_ADOPTS_NOTHING);
	ck_assert(allows(jump_of(SITE, SMALL_TEXT + SITE + 0x300)));
	ck_assert(allows(text(SITE, nop, 5)));
	ck_assert(!allows(jump_of(SITE, SMALL_TEXT + SITE + 0x3000000)));
	memcpy(small.ram + second, short_nop, 2);
	ck_assert(allows(text(second, client_jump, 2)));
	ck_assert(allows(text(second, short_nop, 2)));
	ck_assert(!allows(text(second, (const uint8_t *)"\x0f\x0b", 2)));
	end();
}
END_TEST

/* A call of one kernel function becomes a call of another, and then the static call's word
 * changes. */
START_TEST(static_calls_change_their_target)
{
	const uint64_t from = SMALL_TEXT + 0x300, to = SMALL_TEXT + 0x4000, other = to + 16;

	begin(HV_ADOPTS_NOTHING);
	map_window();
	ck_assert(!allows(call_of(SITE, to))); /* the guest has a nop there */
	memcpy(small.ram + SITE, call_of(SITE, from).bytes, 5);
	memcpy(small.ram + WORD, &from, 8);
	ck_assert(!allows(data(WORD, to, 8)));
	ck_assert(!allows(jump_of(SITE, to)));
	ck_assert(allows(call_of(SITE, to)));
	ck_assert(!allows(data(WORD, other, 8)));
	ck_assert(allows(data(WORD, to, 8)));
	ck_assert(allows(data(WORD, from, 8)));
	memcpy(small.ram + WORD, &to, 8); /* the write was not made */
	ck_assert(allows(data(WORD, from, 8)));
	ck_assert(allows(call_of(SITE, from)));
	/* A static call has many call sites before the word of another one is written. */
	for (unsigned i = 0; i < 100; i++)
		ck_assert(allows(call_of(SITE, i % 2 ? from : other)));
	ck_assert(allows(data(WORD, to, 8)));
	ck_assert(allows(call_of(SITE, SMALL_WINDOW + 0x40)));
	ck_assert(!allows(call_of(SITE, to))); /* only the guest's own call may be put back */
	ck_assert(allows(call_of(SITE, from)));
	end();
}
END_TEST

/* The array of a tracepoint: none, the guest's, hvtrace's. */
START_TEST(a_tracepoint_gets_an_array_in_the_region)
{
	const uint64_t own = SMALL_TEXT + 0xa000;

	begin(HV_ADOPTS_NOTHING);
	map_window();
	ck_assert(allows(data(WORD, DATA_WINDOW + 0x40, 8)));
	ck_assert(allows(data(WORD, 0, 8)));
	memcpy(small.ram + WORD, &own, 8);
	ck_assert(allows(data(WORD, DATA_WINDOW + 0x80, 8)));
	ck_assert(allows(data(WORD, own, 8)));
	ck_assert(allows(data(WORD, DATA_WINDOW + 0x80, 8)));
	memcpy(small.ram + WORD, &own, 8); /* the guest stored its copy, with hvtrace's callback */
	ck_assert(allows(data(WORD, 0, 8)));
	end();
}
END_TEST

/* hvtrace's callback in a guest's array becomes one that does nothing. */
START_TEST(a_callback_is_replaced_by_a_stub)
{
	const uint64_t own = SMALL_TEXT + 0x400, nothing = SMALL_TEXT + 0x500;
	uint64_t ours = SMALL_WINDOW + 0x180000;

	begin(HV_ADOPTS_NOTHING);
	map_window();
	memcpy(small.ram + WORD, &own, 8);
	ck_assert(!allows(data(WORD, nothing, 8)));
	memcpy(small.ram + WORD + 8, &ours, 8);
	ck_assert(!allows(data(WORD, SMALL_TEXT + 0xa000, 8))); /* not code */
	ck_assert(allows(data(WORD, nothing, 8)));
	ck_assert(allows(data(WORD, own, 8))); /* undone */
	ck_assert(!allows(data(WORD, SMALL_TEXT + 0x600, 8)));
	ck_assert(allows(data(WORD, nothing, 8)));
	end();
}
END_TEST

START_TEST(a_function_returns_to_the_kernel_again)
{
	uint64_t handler = SMALL_WINDOW + 0x2000;

	begin(HV_ADOPTS_NOTHING);
	map_window();
	memcpy(small.ram + WORD, &handler, 8);
	ck_assert(!allows(data(WORD, 0xffff888000000000 + 0xa000, 8)));
	ck_assert(!allows(data(WORD, 0x401000, 8)));
	ck_assert(!allows(data(WORD, SMALL_WINDOW + 0x3000, 8)));
	ck_assert(allows(data(WORD, SMALL_TEXT + 0x700, 8)));
	ck_assert(!allows(data(WORD, SMALL_TEXT + 0x800, 8)));
	end();
}
END_TEST

/* arm64's pointer authentication signs return addresses. */
START_TEST(a_signed_return_address_is_put_back)
{
	const uint64_t signature = 0x002a000000000000;
	uint64_t handler = (ARM64_WINDOW + 0x40) ^ signature;

	begin_as(&hv_arch_arm64, PAGES_4K_48, ARM64_TEXT, ARM64_WINDOW);
	ck_assert(allows(entry(ARM64_WINDOW, leaf_of(SMALL_REGION, HV_ACCESS_READ_EXECUTE))));
	ck_assert(!allows(data(WORD, handler, 8)));
	memcpy(small.ram + WORD, &handler, sizeof(handler));
	ck_assert(!allows(data(WORD, 0xffff080000000700 ^ signature, 8)));
	ck_assert(allows(data(WORD, (ARM64_TEXT + 0x700) ^ signature, 8)));
	end();
}
END_TEST

START_TEST(counts_and_bits)
{
	begin(HV_ADOPTS_NOTHING);
	ck_assert(allows(data(WORD + 8, 1, 4)));
	ck_assert(!allows(data(WORD + 8, 3, 4)));
	small.ram[WORD + 8] = 7; /* the guest counts, too */
	ck_assert(allows(data(WORD + 8, 6, 4)));
	small.ram[WORD + 8] = 7; /* the write was not made */
	ck_assert(allows(data(WORD + 8, 6, 4)));
	/* Two tracepoints may share a count. */
	ck_assert(allows(data(WORD + 8, 7, 4)));
	ck_assert(allows(data(WORD + 8, 8, 4)));
	ck_assert(allows(data(WORD + 8, 7, 4)));
	ck_assert(allows(data(WORD + 8, 6, 4)));
	ck_assert(allows(data(WORD + 16, 0x10, 1)));
	small.ram[WORD + 16] = 0x53;
	ck_assert(allows(data(WORD + 16, 0x43, 1)));
	ck_assert(!allows(data(WORD + 16, 0x60, 1)));
	ck_assert(!allows(data(WORD + 24, 7, 2)));
	end();
}
END_TEST

START_TEST(a_list_is_allowed_as_a_whole)
{
	struct hv_hold_write list[2];
	HV_AUTO_ERR struct hv_err *err = NULL;

	begin(HV_ADOPTS_NOTHING);
	map_window();
	list[0] = call_of(SITE, SMALL_WINDOW + 0x1000);
	list[1] = data(WORD, 0xffffffff81234567, 8);
	err = hv_rules_check(rules, small.regs, 2, list, 2);
	ck_assert_ptr_nonnull(err);
	/* nothing was recorded: the current bytes still count as the guest's own */
	memcpy(small.ram + SITE, "\xe8\1\2\3\4", 5);
	ck_assert(allows(call_of(SITE, SMALL_WINDOW + 0x1000)));
	ck_assert(!allows(text(SITE, nop, 5)));
	end();
}
END_TEST

/* The journal of an earlier session permits undoing changes that still lead to the region. */
START_TEST(an_earlier_session_is_put_back_by_its_journal)
{
	uint64_t leaf, entry_at;

	begin(HV_ADOPTS_EARLIER);
	entry_at = small_entry_of(&small, SMALL_WINDOW);
	leaf = leaf_of(SMALL_REGION, HV_ACCESS_READ_EXECUTE);
	memcpy(small.ram + entry_at, &leaf, 8);
	leaf = leaf_of(SMALL_REGION + (2u << 20), HV_ACCESS_READ_WRITE);
	memcpy(small.ram + small_entry_of(&small, DATA_WINDOW), &leaf, 8);
	memcpy(small.ram + SITE, call_of(SITE, SMALL_WINDOW + 0x1000).bytes, 5);
	leaf = DATA_WINDOW + 0x40;
	memcpy(small.ram + WORD, &leaf, 8);
	small.ram[WORD + 8] = 1;
	journal(0, SITE, nop, 5);
	hv_rules_set_region(rules, &small.region);
	journal(1, SITE + 0x40, nop, 5); /* too late: the journal was read before */
	ck_assert(allows(text(SITE, nop, 5)));
	ck_assert(allows(call_of(SITE, SMALL_WINDOW + 0x1000))); /* the undo is undone */
	ck_assert(allows(text(SITE, nop, 5)));
	ck_assert(allows(data(WORD, SMALL_TEXT + 0xa000, 8)));
	ck_assert(allows(data(WORD + 8, 0, 4)));
	memcpy(small.ram + SITE + 0x40, call_of(SITE + 0x40, SMALL_WINDOW + 0x1000).bytes, 5);
	ck_assert(!allows(text(SITE + 0x40, nop, 5)));
	ck_assert(allows(entry(SMALL_WINDOW, 0)));
	ck_assert(allows(entry(DATA_WINDOW, 0)));
	end();
}
END_TEST

/* The guest added its callback beside an earlier session's, in a new array, and removed it. */
START_TEST(recovery_empties_a_tracepoint_with_only_own_probes)
{
	const uint64_t array = WORD + 0x100, none = 0, left = SMALL_TEXT + array;
	uint64_t word;

	begin(HV_ADOPTS_EARLIER);
	word = leaf_of(SMALL_REGION, HV_ACCESS_READ_EXECUTE);
	memcpy(small.ram + small_entry_of(&small, SMALL_WINDOW), &word, 8);
	word = leaf_of(SMALL_REGION + (2u << 20), HV_ACCESS_READ_WRITE);
	memcpy(small.ram + small_entry_of(&small, DATA_WINDOW), &word, 8);
	memcpy(small.ram + WORD, &left, 8);
	memcpy(small.ram + WORD + 0x40, &left, 8);
	journal(0, WORD, (const uint8_t *)&none, 8);
	hv_rules_set_region(rules, &small.region);
	ck_assert(!allows(data(WORD, 0, 8))); /* hvtrace's callback is not in the array */
	word = DATA_WINDOW + 0x40;
	memcpy(small.ram + array + 8, &word, 8);
	hv_rules_see(rules, small.regs, 2);	     /* another hold: memory is read again */
	ck_assert(!allows(data(WORD + 0x40, 0, 8))); /* not in the journal */
	ck_assert(allows(data(WORD, 0, 8)));
	end();
}
END_TEST

/* With KPTI, user-mode tables do not map the kernel. Another vCPU's tables may, and the kernel's
 * root is next to the user-mode root. */
START_TEST(any_vcpu_can_show_the_kernel_tables)
{
	begin(HV_ADOPTS_NOTHING);
	map_window();
	small.regs[0].root = 0x70000; /* nothing is there */
	ck_assert(allows(call_of(SITE, SMALL_WINDOW + 0x1000)));
	small.regs[1].root = SMALL_TABLES | 1u << 12 | 0x800;
	memset(small.ram + SMALL_TABLES + 0x1000, 0, 8 * 256); /* as in user mode */
	ck_assert(allows(text(SITE, nop, 5)));
	small.regs[1].levels = 0;
	ck_assert(!allows(call_of(SITE, SMALL_WINDOW + 0x1000)));
	end();
}
END_TEST

/* Older kernels use few entries of their root, like user mode. Until the region is mapped, only the
 * number of entries shows that a root is a user root with a kernel root next to it. */
START_TEST(the_kernels_root_has_few_entries)
{
	uint64_t at;

	begin(HV_ADOPTS_NOTHING);
	at = small.arch->entry_at(hv_gpa(SMALL_TABLES), 4, hv_gva(small.text)).v;
	for (uint64_t i = SMALL_TABLES + 0x800; i < SMALL_TABLES + 0x1000; i += 8)
		if (i != at)
			memset(small.ram + i, 0, 8);
	hv_rules_see(rules, small.regs, 2);
	small.regs[1].levels = 0;
	ck_assert(allows(entry(SMALL_WINDOW, leaf_of(SMALL_REGION, HV_ACCESS_READ_EXECUTE))));
	end();
}
END_TEST

/* With KPTI, if all vCPUs execute user code, the kernel's root is derived from the user root. */
START_TEST(no_vcpu_was_seen_in_the_kernel)
{
	const uint64_t user = 0xa0000 | 1u << 12;

	begin(HV_ADOPTS_NOTHING);
	memcpy(small.ram + 0xa0000, small.ram + SMALL_TABLES, 0x1000);
	small.regs[0].ip = hv_gva(0x1234);
	small.regs[0].root = small.regs[1].root = user;
	map_window();
	ck_assert(allows(call_of(SITE, SMALL_WINDOW + 0x1000)));
	end();
}
END_TEST

/* With KPTI, a vCPU is held in the kernel's own entry trampoline, which both roots map. The user
 * root must not be taken for the kernel's. */
START_TEST(the_only_vcpu_is_in_the_trampoline)
{
	const uint64_t trampoline = 0xffffffffff5d0000, users = SMALL_TABLES - 0x8000, at = 0x4c80;
	uint64_t leaf;

	guest = small_guest_open_as(&small, &hv_arch_arm64);
	small_make_tables(&small, hv_arch_arm64.formats[PAGES_16K_48], ARM64_TEXT);
	small_entry_of(&small, ARM64_WINDOW);
	leaf = small_leaf(&small, 1, at, HV_ACCESS_READ_EXECUTE);
	memcpy(small.ram + small_entry(&small, 4, SMALL_TABLES, 1, trampoline), &leaf, 8);
	memcpy(small.ram + small_entry(&small, 4, users, 1, trampoline), &leaf, 8);
	rules = hv_rules_new(guest, HV_ADOPTS_NOTHING);
	hv_rules_set_region(rules, &small.region);
	small.regs[0].ip = hv_gva(trampoline + at % 0x4000);
	small.regs[0].ip_gpa = hv_gpa(at);
	small.regs[0].root = small.regs[1].root = users;
	ck_assert(allows(
		entry(ARM64_WINDOW + 0x600000, (SMALL_REGION + 0x3c0000) | 0x1000000000000003)));
	end();
}
END_TEST

static void add(TCase *tc)
{
	tcase_add_test(tc, anything_is_allowed_in_the_region);
	tcase_add_test(tc, entries_get_leaves_of_the_region_only);
	tcase_add_test(tc, entries_of_an_image_that_can_be_anywhere);
	tcase_add_test(tc, entries_get_tables_in_the_region);
	tcase_add_test(tc, entries_get_pages_of_the_region);
	tcase_add_test(tc, no_tables_where_leaves_suffice);
	tcase_add_test(tc, text_calls_the_region_or_is_restored);
	tcase_add_test(tc, a_call_of_the_guest_is_put_back);
	tcase_add_test(tc, longer_instructions_become_a_jump);
	tcase_add_test(tc, gaps_in_the_region_are_refused);
	tcase_add_test(tc, a_first_instruction_targets_the_region);
	tcase_add_test(tc, the_latest_guest_bytes_are_restored);
	tcase_add_test(tc, a_lost_write_can_be_repeated);
	tcase_add_test(tc, keys_become_jumps_or_nops);
	tcase_add_test(tc, static_calls_change_their_target);
	tcase_add_test(tc, a_tracepoint_gets_an_array_in_the_region);
	tcase_add_test(tc, a_callback_is_replaced_by_a_stub);
	tcase_add_test(tc, a_function_returns_to_the_kernel_again);
	tcase_add_test(tc, a_signed_return_address_is_put_back);
	tcase_add_test(tc, counts_and_bits);
	tcase_add_test(tc, a_list_is_allowed_as_a_whole);
	tcase_add_test(tc, an_earlier_session_is_put_back_by_its_journal);
	tcase_add_test(tc, recovery_empties_a_tracepoint_with_only_own_probes);
	tcase_add_test(tc, any_vcpu_can_show_the_kernel_tables);
	tcase_add_test(tc, no_vcpu_was_seen_in_the_kernel);
	tcase_add_test(tc, the_kernels_root_has_few_entries);
	tcase_add_test(tc, the_only_vcpu_is_in_the_trampoline);
}

int main(void)
{
	return run_suite("rules", add);
}
