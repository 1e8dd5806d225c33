/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Attacks: lists of writes that put code into the guest's kernel or change kernel data. A program
 * in the guest that has taken over the service could send them. Most need several lists. */
#include <check.h>

#include "tests/lib/expect.h"
#include "tests/lib/run_suite.h"
#include "tests/unit/vmm/broker/small_rules.h"
#include "vmm/broker/rules_writes.h"

#define PAGE_OF_USER 0x30000u /* mapped as data, like all memory in the kernel */

static void put(uint64_t gpa, uint64_t value)
{
	memcpy(small.ram + gpa, &value, 8);
}

static uint64_t word_at(uint64_t gpa)
{
	uint64_t value;

	memcpy(&value, small.ram + gpa, 8);
	return value;
}

START_TEST(a_byte_does_not_change_bit_by_bit)
{
	begin(HV_ADOPTS_NOTHING);
	for (unsigned bit = 0; bit < 8; bit++)
		allows(data(WORD, (uint8_t)(small.ram[WORD] ^ 1u << bit), 1));
	ck_assert(!(small.ram[WORD] & (small.ram[WORD] - 1)));
	end();
}
END_TEST

/* The tasks' flag is one bit at one offset, and so is the modules' claim. */
START_TEST(bits_are_of_two_kinds_at_most)
{
	unsigned nr = 0;

	begin(HV_ADOPTS_NOTHING);
	for (unsigned i = 0; i < 64; i++)
		nr += allows(data(WORD + i, 1u << i % 8, 1));
	ck_assert_uint_eq(nr, 2);
	end();
}
END_TEST

START_TEST(text_does_not_change_as_data)
{
	uint64_t before;

	begin(HV_ADOPTS_NOTHING);
	map_window();
	memset(small.ram + SITE, 0, 16);
	before = word_at(SITE);
	allows(data(SITE, 1, 1));
	allows(data(SITE + 4, 1, 4));
	allows(data(SITE & ~7ull, DATA_WINDOW + 0x40, 8));
	/* code is also mapped at another address, like all memory */
	for (unsigned len = 1; len <= 8; len *= 2) {
		struct hv_hold_write w = data(SITE & ~7ull, 1, len);

		w.gva = hv_gva(SMALL_TEXT + WORD);
		ck_assert(!allows(w));
	}
	ck_assert_uint_eq(word_at(SITE), before);
	end();
}
END_TEST

/* The claimed address belongs to a leaf, but the memory belongs to another table. */
START_TEST(a_leaf_does_not_go_into_any_zero_word)
{
	struct hv_hold_write w;

	begin(HV_ADOPTS_NOTHING);
	w = entry(SMALL_WINDOW, leaf_of(SMALL_REGION, HV_ACCESS_READ_EXECUTE));
	w.gpa = hv_gpa(WORD);
	ck_assert(!allows(w));
	w.gpa = hv_gpa(small_entry_of(&small, SMALL_WINDOW + (4u << 20)));
	ck_assert(!allows(w));
	/* a user-mode table, which could pass as the entry's table */
	w.gpa = hv_gpa(PAGE_OF_USER + 8);
	ck_assert(!allows(w));
	end();
}
END_TEST

/* A call is relative: its position determines its target. */
START_TEST(a_call_has_the_claimed_target)
{
	struct hv_hold_write w;

	begin(HV_ADOPTS_NOTHING);
	map_window();
	w = call_of(SITE, SMALL_WINDOW + 0x1000);
	w.gpa = hv_gpa(SITE + 0x1000);
	memcpy(small.ram + SITE + 0x1000, nop, 5);
	ck_assert(!allows(w)); /* the same offset in another page */
	w = call_of(SITE, SMALL_WINDOW + 0x1000);
	w.gva.v += 0x100000;
	ck_assert(!allows(w)); /* nothing is mapped there */
	w.gva = hv_gva(0xffff888000000000 + SITE);
	ck_assert(!allows(w));
	w.gva = hv_gva(SITE);
	ck_assert(!allows(w));
	end();
}
END_TEST

START_TEST(a_call_does_not_replace_other_instructions)
{
	begin(HV_ADOPTS_NOTHING);
	map_window();
	memcpy(small.ram + SITE, "\x48\x89\xc3\x90\x90\x90\x90\x90", 8);
	ck_assert(!allows(call_of(SITE, SMALL_WINDOW + 0x1000)));
	end();
}
END_TEST

/* Another jump could lead to the bytes after this jump. */
START_TEST(nothing_follows_a_jump)
{
	struct hv_hold_write w;

	begin(HV_ADOPTS_NOTHING);
	map_window();
	w = jump_of(SITE, SMALL_WINDOW + 0x1000);
	w.len_bytes = 8;
	memcpy(w.bytes + 5, "\x0f\x05\xc3", 3);
	ck_assert(!allows(w));
	end();
}
END_TEST

/* Two overlapping sites: the saved bytes of one contain part of the call in the other. The attacker
 * chooses these bytes by the call's target. */
START_TEST(parts_of_calls_are_not_restored)
{
	uint8_t before[16];
	struct hv_hold_write other;

	begin(HV_ADOPTS_NOTHING);
	map_window();
	memset(small.ram + SITE, 0x90, 16);
	memcpy(small.ram + SITE, nop, 5);
	memcpy(before, small.ram + SITE, 16);
	ck_assert(allows(call_of(SITE, SMALL_WINDOW + 0x1000)));
	other = jump_of(SITE + 1, SMALL_WINDOW + 0x1000);
	expect_error(hv_rules_check(rules, small.regs, 2, &other, 1), EPERM,
		     "a part of the patch at 0x1010 would be changed");
	ck_assert(!allows(jump_of(SITE + 4, SMALL_WINDOW + 0x1000)));
	ck_assert(allows(text(SITE, nop, 5)));
	ck_assert(allows(jump_of(SITE + 4, SMALL_WINDOW + 0x1000)));
	ck_assert(!allows(jump_of(SITE, SMALL_WINDOW + 0x1000)));
	ck_assert(allows(text(SITE + 4, before + 4, 5)));
	ck_assert_mem_eq(small.ram + SITE, before, 16);
	end();
}
END_TEST

START_TEST(a_list_does_not_overlap_itself)
{
	struct hv_hold_write list[2];

	begin(HV_ADOPTS_NOTHING);
	map_window();
	memset(small.ram + SITE, 0x90, 16);
	list[0] = jump_of(SITE, SMALL_WINDOW + 0x1000);
	list[1] = jump_of(SITE + 2, SMALL_WINDOW + 0x1000);
	expect_error(hv_rules_check(rules, small.regs, 2, list, 2), EPERM,
		     "two writes overlap at guest physical 0x1012");
	end();
}
END_TEST

/* Memory of a program is also mapped in the kernel, but not as code. */
START_TEST(jumps_and_calls_do_not_lead_to_data)
{
	begin(HV_ADOPTS_NOTHING);
	map_window();
	ck_assert(!allows(jump_of(SITE, SMALL_TEXT + PAGE_OF_USER)));
	memcpy(small.ram + SITE, call_of(SITE, SMALL_TEXT + 0x300).bytes, 5);
	ck_assert(!allows(call_of(SITE, SMALL_TEXT + PAGE_OF_USER)));
	ck_assert(!allows(call_of(SITE, SMALL_TEXT + 0x4000000)));
	end();
}
END_TEST

START_TEST(a_count_cannot_be_changed_repeatedly)
{
	begin(HV_ADOPTS_NOTHING);
	for (unsigned i = 0; i < 200; i++)
		allows(data(WORD, word_at(WORD) + 1, 4));
	ck_assert_uint_le(word_at(WORD), 2);
	put(WORD, 0x12345678);
	ck_assert(!allows(data(WORD, 0x12345679, 4)));
	/* nor through its neighbours */
	put(WORD, 0);
	ck_assert(!allows(data(WORD + 1, 1, 4)));
	/* nor down */
	put(WORD + 64, 5);
	for (unsigned i = 0; i < 200; i++)
		allows(data(WORD + 64, word_at(WORD + 64) - 1, 4));
	ck_assert_uint_ge(word_at(WORD + 64), 3);
	end();
}
END_TEST

/* The guest may decrement a count that hvtrace incremented, and the other way round. */
START_TEST(guest_and_hvtrace_share_a_count)
{
	begin(HV_ADOPTS_NOTHING);
	for (unsigned i = 0; i < 10; i++) {
		put(WORD, 0);
		ck_assert(allows(data(WORD, 1, 4))); /* enabled; the guest disables it later */
	}
	for (unsigned i = 0; i < 10; i++) {
		put(WORD, 1);
		ck_assert(allows(data(WORD, 0, 4))); /* the guest has enabled it and left */
	}
	for (unsigned users = 3; users < 30; users += 3) {
		put(WORD, users);
		ck_assert(allows(data(WORD, users + 1, 4)));
	}
	end();
}
END_TEST

/* First a pointer to the region, which may be written anywhere, then the values that may replace a
 * pointer. */
START_TEST(a_word_gets_only_allowed_values)
{
	static const uint64_t values[] = {0x1234, 0xffffffff81234567, 0x8000000000030067,
					  SMALL_TEXT + 0x5000, SMALL_TEXT + PAGE_OF_USER};

	begin(HV_ADOPTS_NOTHING);
	map_window();
	put(WORD, 0);
	ck_assert(allows(data(WORD, DATA_WINDOW + 0x40, 8)));
	for (unsigned i = 0; i < HV_ARRAY_LEN(values); i++)
		ck_assert(!allows(data(WORD, values[i], 8)));
	for (unsigned i = 0; i < HV_ARRAY_LEN(values); i++)
		ck_assert(!allows(data(WORD + 8, values[i], 8)));    /* next to a pointer */
	ck_assert(!allows(data(WORD + 16, SMALL_WINDOW + 0x40, 8))); /* to hvtrace's code */
	ck_assert(!allows(data(WORD + 17, DATA_WINDOW + 0x40, 8)));
	put(WORD + 24, 0x8000000000030067); /* not a kernel pointer */
	ck_assert(!allows(data(WORD + 24, DATA_WINDOW + 0x40, 8)));
	end();
}
END_TEST

/* A site's saved bytes must not be written if the guest has reused the memory. */
START_TEST(saved_bytes_do_not_overwrite_guest_changes)
{
	begin(HV_ADOPTS_NOTHING);
	map_window();
	ck_assert(allows(call_of(SITE, SMALL_WINDOW + 0x1000)));
	memcpy(small.ram + SITE, "\x48\x89\xc3\x0f\x05", 5);
	ck_assert(!allows(text(SITE, nop, 5)));
	end();
}
END_TEST

START_TEST(recovery_writes_only_its_changes)
{
	static const uint8_t code[5] = {0x48, 0x89, 0xc3, 0x0f, 0x05};

	begin(HV_ADOPTS_EARLIER);
	put(small_entry_of(&small, SMALL_WINDOW), leaf_of(SMALL_REGION, HV_ACCESS_READ_EXECUTE));
	journal(0, SITE, code, 5);	  /* no call into the region is there */
	journal(1, SITE + 0x40, code, 5); /* at a different address than it claims */
	journal(2, WORD, code, 5);
	((struct hv_journal_entry *)(small.region.host + HV_REGION_JOURNAL_OFF))[1].gva += 0x1000;
	hv_rules_set_region(rules, &small.region);
	memcpy(small.ram + SITE + 0x40, call_of(SITE + 0x40, SMALL_WINDOW + 0x1000).bytes, 5);
	memcpy(small.ram + SITE + 0x80, call_of(SITE + 0x80, SMALL_WINDOW + 0x1000).bytes, 5);
	ck_assert(!allows(text(SITE, code, 5)));
	ck_assert(!allows(text(SITE + 0x40, code, 5)));
	ck_assert(!allows(text(SITE + 0x80, code, 5))); /* not in the journal */
	ck_assert(!allows(data(WORD, 0x0123456789abcdef, 8)));
	ck_assert(!allows(data(WORD, 0x12345678, 4)));
	end();
}
END_TEST

/* A program owns the page next to its process's tables, and makes it look like tables. */
static void forge_tables(uint64_t root)
{
	small.tables_end = root + 0x1000;
	small_map(&small, root);
}

START_TEST(pages_next_to_the_tables_are_not_tables)
{
	const uint64_t forged = 0xa0000, root = forged | 1u << 12;
	struct hv_hold_write w;

	begin(HV_ADOPTS_NOTHING);
	/* The kernel's root is at a page with bit 12 set, where KPTI has the user-mode root. */
	memcpy(small.ram + root, small.ram + SMALL_TABLES, 0x1000);
	small.regs[0].root = small.regs[1].root = root;
	small.tables_end = forged + 0x2000;
	small_map(&small, forged);
	w = entry(SMALL_WINDOW, leaf_of(SMALL_REGION, HV_ACCESS_READ_EXECUTE));
	w.gpa = hv_gpa(small_entry(&small, 4, forged, 2, SMALL_WINDOW));
	ck_assert(!allows(w));
	map_window();
	/* Now the forged tables lead to the region, too. */
	put(w.gpa.v, leaf_of(SMALL_REGION, HV_ACCESS_READ_EXECUTE));
	put(small_entry(&small, 4, forged, 1, SMALL_TEXT + SITE),
	    small_leaf(&small, 1, PAGE_OF_USER, HV_ACCESS_READ_EXECUTE));
	memcpy(small.ram + PAGE_OF_USER + (SITE & 0xfff), nop, 5);
	w = call_of(SITE, SMALL_WINDOW + 0x1000);
	w.gpa = hv_gpa(PAGE_OF_USER + (SITE & 0xfff));
	ck_assert(!allows(w));
	ck_assert(allows(call_of(SITE, SMALL_WINDOW + 0x1000)));
	end();
}
END_TEST

START_TEST(tables_without_the_region_are_refused)
{
	struct hv_hold_write w;

	begin(HV_ADOPTS_NOTHING);
	map_window();
	forge_tables(0xa0000);
	small.regs[0].root = small.regs[1].root = 0xa0000; /* as in a nested guest */
	put(small_entry(&small, 4, 0xa0000, 1, SMALL_TEXT + SITE),
	    small_leaf(&small, 1, PAGE_OF_USER, HV_ACCESS_READ_EXECUTE));
	memcpy(small.ram + PAGE_OF_USER + (SITE & 0xfff), nop, 5);
	w = call_of(SITE, SMALL_WINDOW + 0x1000);
	w.gpa = hv_gpa(PAGE_OF_USER + (SITE & 0xfff));
	ck_assert(!allows(w));
	end();
}
END_TEST

/* The registers come from the untrusted VMM. */
START_TEST(registers_are_bounded)
{
	begin(HV_ADOPTS_NOTHING);
	small.regs[0].levels = 1000;
	small.regs[1].levels = 6;
	ck_assert(!allows(call_of(SITE, SMALL_WINDOW + 0x1000)));
	small.regs[0].levels = small.regs[1].levels = 4;
	small.regs[0].root = small.regs[1].root = UINT64_MAX;
	ck_assert(!allows(call_of(SITE, SMALL_WINDOW + 0x1000)));
	end();
}
END_TEST

/* The broker keeps what was written at each address. */
START_TEST(addresses_are_bounded)
{
	const size_t nr = HV_NOTED_MAX + 1;
	HV_AUTO_FREE struct hv_hold_write *writes = hv_alloc(nr * sizeof(*writes));

	begin(HV_ADOPTS_NOTHING);
	writes[0] = data(WORD, 1, 8);
	for (size_t i = 1; i < nr; i++)
		writes[i] = (struct hv_hold_write){
			.gpa = hv_gpa(SMALL_REGION + i), .len_bytes = 1, .bytes = {1}};
	expect_error(hv_rules_check(rules, small.regs, 2, writes, nr), EPERM,
		     "more than 524288 addresses are written");
	end();
}
END_TEST

static void add(TCase *tc)
{
	tcase_add_test(tc, a_byte_does_not_change_bit_by_bit);
	tcase_add_test(tc, bits_are_of_two_kinds_at_most);
	tcase_add_test(tc, text_does_not_change_as_data);
	tcase_add_test(tc, a_leaf_does_not_go_into_any_zero_word);
	tcase_add_test(tc, a_call_has_the_claimed_target);
	tcase_add_test(tc, a_call_does_not_replace_other_instructions);
	tcase_add_test(tc, nothing_follows_a_jump);
	tcase_add_test(tc, parts_of_calls_are_not_restored);
	tcase_add_test(tc, a_list_does_not_overlap_itself);
	tcase_add_test(tc, jumps_and_calls_do_not_lead_to_data);
	tcase_add_test(tc, a_count_cannot_be_changed_repeatedly);
	tcase_add_test(tc, guest_and_hvtrace_share_a_count);
	tcase_add_test(tc, a_word_gets_only_allowed_values);
	tcase_add_test(tc, saved_bytes_do_not_overwrite_guest_changes);
	tcase_add_test(tc, recovery_writes_only_its_changes);
	tcase_add_test(tc, pages_next_to_the_tables_are_not_tables);
	tcase_add_test(tc, tables_without_the_region_are_refused);
	tcase_add_test(tc, registers_are_bounded);
	tcase_add_test(tc, addresses_are_bounded);
}

int main(void)
{
	return run_suite("rules_attacks", add);
}
