/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which writes the warden makes for a service that may be the guest's. */
#include <check.h>

#include "tests/lib/run_suite.h"
#include "tests/unit/vmm/warden/small_guest.h"
#include "vmm/warden/rules.h"

#define LEAF(gpa) ((gpa) | 0xe3) /* present, writable, huge; executable if nothing forbids it */
#define NX	  (1ull << 63)
#define SITE	  0x1010u
#define SLOT	  0x8000u
#define WORD	  0x9000u

/* Of riscv64: a leaf of 2 MiB, readable, writable, accessed and dirty. */
#define RISCV64_TEXT   0xffffffff80000000u
#define RISCV64_WINDOW 0xffffffff40000000u
#define RISCV64_LEAF   (SMALL_REGION >> 2 | 0xe7)

static struct small_guest small;
static struct hv_guest *guest;
static struct hv_rules *rules;

static const uint8_t nop[5] = {0x0f, 0x1f, 0x44, 0x00, 0x00};

static void begin(enum hv_adopts adopts)
{
	guest = small_guest_open(&small);
	rules = hv_rules_new(guest, adopts);
	hv_rules_set_region(rules, &small.region);
	memcpy(small.ram + SITE, nop, sizeof(nop));
}

static void end(void)
{
	hv_rules_free(rules);
	hv_guest_free(guest);
}

static struct hv_hold_write text(uint64_t gpa, const uint8_t *code, uint32_t len)
{
	struct hv_hold_write w = {.gpa = hv_gpa(gpa),
				  .gva = hv_gva(SMALL_TEXT + gpa),
				  .len_bytes = len,
				  .is_text = true};

	memcpy(w.bytes, code, len);
	return w;
}

static struct hv_hold_write call_of(uint64_t gpa, uint64_t target)
{
	uint8_t code[5];

	ck_assert(hv_guest_info(guest)->arch->encode_call(hv_gva(SMALL_TEXT + gpa), hv_gva(target),
							  code));
	return text(gpa, code, sizeof(code));
}

static struct hv_hold_write data(uint64_t gpa, uint64_t gva, uint64_t value, uint32_t len)
{
	struct hv_hold_write w = {.gpa = hv_gpa(gpa), .gva = hv_gva(gva), .len_bytes = len};

	memcpy(w.bytes, &value, len);
	return w;
}

static bool allows(struct hv_hold_write w)
{
	HV_AUTO_ERR struct hv_err *err = hv_rules_check(rules, &w, 1);

	if (err)
		ck_assert_int_eq(err->code, EPERM);
	else if (w.gpa.v < SMALL_RAM)
		memcpy(small.ram + w.gpa.v, w.bytes, w.len_bytes);
	return !err;
}

static void map_window(void)
{
	ck_assert(allows(data(SLOT, SMALL_WINDOW, LEAF(SMALL_REGION) | NX, 8)));
}

START_TEST(anything_is_allowed_in_the_region)
{
	begin(HV_ADOPTS_NOTHING);
	ck_assert(allows(data(SMALL_REGION + 8, 0, 0x1234, 8)));
	ck_assert(allows(data(SMALL_REGION + small.region.len_bytes - 8, 0, 1, 8)));
	end();
}
END_TEST

START_TEST(slots_get_leaves_of_the_region_only)
{
	begin(HV_ADOPTS_NOTHING);
	ck_assert(!allows(data(SLOT, SMALL_WINDOW, LEAF(0x200000) | NX, 8)));
	ck_assert(!allows(data(SLOT, SMALL_WINDOW, LEAF(SMALL_REGION), 8))); /* W and X */
	ck_assert(!allows(data(SLOT, 0xffff888000000000, LEAF(SMALL_REGION) | NX, 8))); /* where */
	ck_assert(!allows(data(SLOT, SMALL_WINDOW, LEAF(SMALL_REGION + (4u << 20)) | NX, 8)));
	small.ram[SLOT] = 1; /* a slot that is used */
	ck_assert(!allows(data(SLOT, SMALL_WINDOW, LEAF(SMALL_REGION) | NX, 8)));
	small.ram[SLOT] = 0;
	map_window();
	ck_assert(allows(data(SLOT, SMALL_WINDOW, 0, 8)));
	end();
}
END_TEST

/* Where the place of the image is not always the same: by arm64's tables. */
START_TEST(slots_of_an_image_that_can_be_anywhere)
{
	const uint64_t leaf = SMALL_REGION | 0x0060000000000701; /* XN for both, writable */
	const uint64_t at = 0xffffa435c8000000;

	guest = small_guest_open_as(&small, &hv_arch_arm64);
	rules = hv_rules_new(guest, HV_ADOPTS_NOTHING);
	hv_rules_set_region(rules, &small.region);
	ck_assert(!allows(data(SLOT, 0xffff080000000000, leaf, 8))); /* where all memory is */
	ck_assert(!allows(data(SLOT, at, leaf & ~(3ull << 53), 8))); /* W and X */
	ck_assert(!allows(data(SLOT, at + 0x1000, leaf, 8)));
	ck_assert(!allows(data(SLOT, at, leaf + (4u << 20), 8)));
	ck_assert(allows(data(SLOT, at, leaf, 8)));
	ck_assert(allows(data(SLOT, at, 0, 8)));
	end();
}
END_TEST

static uint32_t bl_to(uint64_t at, uint64_t target)
{
	uint32_t code;

	ck_assert(hv_arch_arm64.encode_call(hv_gva(at), hv_gva(target), (uint8_t *)&code));
	return code;
}

/* With pages of 16 KiB the region is mapped by a table of pages, in the region. */
START_TEST(slots_get_tables_in_the_region)
{
	const uint64_t table = (SMALL_REGION + 0x3c0000) | 0x1000000000000003;
	const uint64_t at = 0xffffa435c8600000, image = 0xffffa435c6000000;
	uint32_t call = bl_to(image + SITE, at + (20u << 20));
	struct hv_hold_write site = text(SITE, (const uint8_t *)&call, 4);

	guest = small_guest_open_as(&small, &hv_arch_arm64);
	rules = hv_rules_new(guest, HV_ADOPTS_NOTHING);
	hv_rules_set_region(rules, &small.region);
	site.gva = hv_gva(image + SITE);
	memcpy(small.ram + SITE, "\x1f\x20\x03\xd5", 4);
	ck_assert(!allows(site));
	ck_assert(!allows(data(SLOT, 0xffff080000000000, table, 8)));
	ck_assert(!allows(data(SLOT, at, table + (1u << 20), 8))); /* behind the region */
	ck_assert(!allows(data(SLOT, at, 0x40203003, 8)));	   /* in RAM */
	ck_assert(allows(data(SLOT, at, table, 8)));
	ck_assert(allows(site)); /* it calls into the same 32 MiB */
	call = bl_to(image + SITE, at + (30u << 20));
	memcpy(site.bytes, &call, 4);
	ck_assert(!allows(site));
	ck_assert(allows(data(SLOT, at, 0, 8)));
	end();
}
END_TEST

/* With pages of 64 KiB the region is mapped by pages, each in an entry that looks like one that
 * leads to a table. */
START_TEST(slots_get_pages_of_the_region)
{
	const uint64_t page = SMALL_REGION | 0x0040000000000783; /* UXN, AF, not writable */
	const uint64_t at = 0xffffa435c8630000, image = 0xffffa435c6000000;
	uint32_t call = bl_to(image + SITE, at + 0xf000);
	struct hv_hold_write site = text(SITE, (const uint8_t *)&call, 4);

	guest = small_guest_open_as(&small, &hv_arch_arm64);
	rules = hv_rules_new(guest, HV_ADOPTS_NOTHING);
	hv_rules_set_region(rules, &small.region);
	site.gva = hv_gva(image + SITE);
	memcpy(small.ram + SITE, "\x1f\x20\x03\xd5", 4);
	ck_assert(!allows(site));
	ck_assert(!allows(data(SLOT, 0xffff080000000000, page, 8)));
	ck_assert(!allows(data(SLOT, at + 0x8000, page, 8)));
	ck_assert(!allows(data(SLOT, at, page + (4u << 20), 8)));    /* behind the region */
	ck_assert(!allows(data(SLOT, at, page & ~(0x80ull), 8)));    /* W and X */
	ck_assert(!allows(data(SLOT, at, page & ~(1ull << 54), 8))); /* X for user mode */
	ck_assert(!allows(data(SLOT, at, page | 1ull << 52, 8)));    /* one of many */
	ck_assert(allows(data(SLOT, at, page, 8)));
	ck_assert(allows(site));
	call = bl_to(image + SITE, at + 0x10000);
	memcpy(site.bytes, &call, 4);
	ck_assert(!allows(site)); /* what is behind the page is not ours */
	ck_assert(allows(data(SLOT + 8, at + 0x10000, page + 0x10000, 8)));
	ck_assert(allows(site));
	ck_assert(allows(data(SLOT, at, 0, 8)));
	end();
}
END_TEST

START_TEST(no_tables_where_leaves_will_do)
{
	begin(HV_ADOPTS_NOTHING);
	ck_assert(!allows(data(SLOT, SMALL_WINDOW, (SMALL_REGION + 0x3c0000) | 0x63, 8)));
	end();
}
END_TEST

START_TEST(text_leads_to_us_or_is_put_back)
{
	struct hv_hold_write elsewhere;

	begin(HV_ADOPTS_NOTHING);
	ck_assert(!allows(call_of(SITE, SMALL_WINDOW + 0x1000))); /* nothing is mapped there yet */
	map_window();
	ck_assert(!allows(call_of(SITE, SMALL_WINDOW + (4u << 20))));
	ck_assert(!allows(call_of(SITE, SMALL_TEXT + 0x5000)));
	elsewhere = call_of(SITE, SMALL_WINDOW + 0x1000);
	elsewhere.gva.v += 8; /* it would lead elsewhere than it seems */
	ck_assert(!allows(elsewhere));
	ck_assert(!allows(text(SITE, (const uint8_t *)"\x90\x90\x90\x90\x90", 5)));
	ck_assert(allows(call_of(SITE, SMALL_WINDOW + 0x1000)));
	ck_assert(allows(call_of(SITE, SMALL_WINDOW + 0x2000)));
	ck_assert(!allows(text(SITE, (const uint8_t *)"\x90\x90\x90\x90\x90", 5)));
	ck_assert(allows(text(SITE, nop, 5)));
	end();
}
END_TEST

/* The kernel's own addresses between two parts that are mapped are not ours. Parts may come in any
 * order, and become one. */
START_TEST(what_is_between_is_not_ours)
{
	static const uint64_t slots[] = {0, 3, 1, 2};
	const uint64_t mib2 = 2u << 20;

	begin(HV_ADOPTS_NOTHING);
	for (unsigned i = 0; i < 4; i++) {
		uint64_t at = SMALL_WINDOW + slots[i] * mib2;

		ck_assert(!allows(call_of(SITE, at + 0x1000)));
		ck_assert(allows(data(SLOT + slots[i] * 8, at, LEAF(SMALL_REGION) | NX, 8)));
		ck_assert(allows(call_of(SITE, at + 0x1000)));
	}
	ck_assert(allows(data(SLOT + 80, SMALL_WINDOW + 10 * mib2, LEAF(SMALL_REGION) | NX, 8)));
	for (unsigned i = 0; i < 12; i++)
		ck_assert(allows(call_of(SITE, SMALL_WINDOW + i * mib2 + 0x1000)) ==
			  (i < 4 || i == 10));
	end();
}
END_TEST

/* Of a call of two instructions the first one may be there alone, if it has an address of ours. */
START_TEST(a_first_instruction_leads_to_us)
{
	static const uint8_t free_site[8] = {0x13, 0, 0, 0, 0x13, 0, 0, 0};
	struct hv_hold_write ours, elsewhere;

	guest = small_guest_open_as(&small, &hv_arch_riscv64);
	rules = hv_rules_new(guest, HV_ADOPTS_NOTHING);
	hv_rules_set_region(rules, &small.region);
	memcpy(small.ram + SITE, free_site, sizeof(free_site));
	ours = text(SITE, free_site, 8);
	ours.gva.v = RISCV64_TEXT + SITE;
	elsewhere = ours;
	ck_assert(allows(data(SLOT, RISCV64_WINDOW, RISCV64_LEAF, 8)));
	hv_arch_riscv64.encode_call(ours.gva, hv_gva(RISCV64_WINDOW + 0x1678), ours.bytes);
	hv_arch_riscv64.encode_call(ours.gva, hv_gva(RISCV64_WINDOW - 0x1000), elsewhere.bytes);
	memcpy(ours.bytes + 4, free_site + 4, 4);
	memcpy(elsewhere.bytes + 4, free_site + 4, 4);
	ck_assert(!allows(elsewhere));
	ck_assert(allows(ours));
	hv_arch_riscv64.encode_call(ours.gva, hv_gva(RISCV64_WINDOW + 0x1678), ours.bytes);
	ck_assert(allows(ours));
	memcpy(ours.bytes, free_site, sizeof(free_site));
	ck_assert(allows(ours));
	end();
}
END_TEST

START_TEST(what_the_guest_wrote_since_is_what_is_put_back)
{
	static const uint8_t other[5] = {0xe8, 1, 2, 3, 4};

	begin(HV_ADOPTS_NOTHING);
	map_window();
	ck_assert(allows(call_of(SITE, SMALL_WINDOW + 0x1000)));
	ck_assert(allows(text(SITE, nop, 5)));
	memcpy(small.ram + SITE, other, 5);
	ck_assert(allows(call_of(SITE, SMALL_WINDOW + 0x1000)));
	ck_assert(!allows(text(SITE, nop, 5)));
	ck_assert(allows(text(SITE, other, 5)));
	end();
}
END_TEST

/* As when the guardian is killed in the middle of a list. */
START_TEST(a_write_that_was_not_made_is_tried_again)
{
	struct hv_hold_write call, back, unmap;
	uint64_t leaf = LEAF(SMALL_REGION) | NX;

	begin(HV_ADOPTS_NOTHING);
	map_window();
	call = call_of(SITE, SMALL_WINDOW + 0x1000);
	back = text(SITE, nop, 5);
	ck_assert(allows(call));
	for (unsigned i = 0; i < 3; i++) {
		ck_assert(allows(back));
		memcpy(small.ram + SITE, call.bytes, 5); /* it was not made */
	}
	ck_assert(allows(back));
	unmap = data(SLOT, SMALL_WINDOW, 0, 8);
	ck_assert(allows(unmap));
	memcpy(small.ram + SLOT, &leaf, 8);
	ck_assert(allows(unmap));
	end();
}
END_TEST

START_TEST(keys_jump_or_do_not)
{
	static const uint8_t near_jump[2] = {0xeb, 0x10}, short_nop[2] = {0x66, 0x90};
	uint8_t jump[5];

	begin(HV_ADOPTS_NOTHING);
	ck_assert(hv_guest_info(guest)->arch->encode_jump(hv_gva(SMALL_TEXT + SITE),
							  hv_gva(SMALL_TEXT + SITE + 0x300), jump));
	ck_assert(allows(text(SITE, jump, 5)));
	ck_assert(allows(text(SITE, nop, 5)));
	ck_assert(hv_guest_info(guest)->arch->encode_jump(
		hv_gva(SMALL_TEXT + SITE), hv_gva(SMALL_TEXT + SITE + 0x3000000), jump));
	ck_assert(!allows(text(SITE, jump, 5)));
	memcpy(small.ram + WORD, short_nop, 2);
	ck_assert(allows(text(WORD, near_jump, 2)));
	ck_assert(allows(text(WORD, short_nop, 2)));
	ck_assert(!allows(text(WORD, (const uint8_t *)"\x0f\x0b", 2)));
	end();
}
END_TEST

/* A call of one function of the kernel becomes one of another, and then the word that says which.
 */
START_TEST(static_calls_lead_elsewhere)
{
	const uint64_t from = SMALL_TEXT + 0x300, to = SMALL_TEXT + 0x40000, other = to + 16;
	uint8_t jump[5];

	begin(HV_ADOPTS_NOTHING);
	map_window();
	ck_assert(hv_guest_info(guest)->arch->encode_jump(hv_gva(SMALL_TEXT + SITE), hv_gva(to),
							  jump));
	ck_assert(!allows(call_of(SITE, to))); /* there is a nop */
	memcpy(small.ram + SITE, call_of(SITE, from).bytes, 5);
	memcpy(small.ram + WORD, &from, 8);
	ck_assert(!allows(data(WORD, 0, to, 8)));
	ck_assert(!allows(text(SITE, jump, 5)));
	ck_assert(allows(call_of(SITE, to)));
	ck_assert(!allows(data(WORD, 0, other, 8)));
	ck_assert(allows(data(WORD, 0, to, 8)));
	ck_assert(allows(data(WORD, 0, from, 8)));
	ck_assert(allows(call_of(SITE, from)));
	/* A static call with many calls, before the word of another one is written. */
	memcpy(small.ram + WORD, &from, 8);
	for (unsigned i = 0; i < 100; i++)
		ck_assert(allows(call_of(SITE, i % 2 ? from : other)));
	ck_assert(allows(data(WORD, 0, to, 8)));
	ck_assert(allows(call_of(SITE, SMALL_WINDOW + 0x40)));
	ck_assert(!allows(call_of(SITE, to))); /* as the guest had it, or not at all */
	ck_assert(allows(call_of(SITE, from)));
	end();
}
END_TEST

START_TEST(pointers_counts_and_flags)
{
	begin(HV_ADOPTS_NOTHING);
	map_window();
	ck_assert(!allows(data(WORD, 0, 0xffffffff81234567, 8)));
	ck_assert(allows(data(WORD, 0, SMALL_WINDOW + 0x40, 8)));
	ck_assert(
		allows(data(WORD, 0, 0xffffffff81234567, 8))); /* the guest's own may be another */
	ck_assert(allows(data(WORD, 0, 0, 8)));		       /* where a pointer was */
	memset(small.ram + WORD + 0x100, 0x11, 40);
	ck_assert(!allows(data(WORD + 0x100, 0, 0xffffffff81234567, 8)));
	ck_assert(allows(data(WORD + 0x108, 0, SMALL_WINDOW + 0x80, 8)));
	ck_assert(allows(data(WORD + 0x100, 0, 0xffffffff81234567, 8))); /* beside one */
	ck_assert(!allows(data(WORD + 0x118, 0, 0xffffffff81234567, 8)));
	ck_assert(allows(data(WORD + 8, 0, 1, 4)));
	ck_assert(!allows(data(WORD + 8, 0, 3, 4)));
	ck_assert(allows(data(WORD + 8, 0, 0, 4)));
	ck_assert(allows(data(WORD + 16, 0, 0x10, 1)));
	ck_assert(!allows(data(WORD + 16, 0, 0x61, 1)));
	ck_assert(!allows(data(WORD + 24, 0, 7, 2)));
	end();
}
END_TEST

/* As arm64's pointer authentication signs a return address. What a guest of this architecture has
 * in such a place may be put back, but nobody writes a signed pointer to us. */
START_TEST(a_signed_pointer_goes_but_never_comes)
{
	const struct hv_arch *formats[] = {hv_arch_arm64.formats[1], NULL};
	const uint64_t pointer = (SMALL_WINDOW + 0x40) ^ 0x2a15000000000000;
	struct hv_arch arch = hv_arch_x86_64;

	arch.formats = formats;
	guest = small_guest_open_as(&small, &arch);
	rules = hv_rules_new(guest, HV_ADOPTS_NOTHING);
	hv_rules_set_region(rules, &small.region);
	map_window();
	ck_assert(!allows(data(WORD, 0, pointer, 8)));
	memcpy(small.ram + WORD, &pointer, sizeof(pointer));
	ck_assert(allows(data(WORD, 0, 0xff8fffff81234567, 8)));
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
	list[1] = data(WORD, 0, 0xffffffff81234567, 8);
	err = hv_rules_check(rules, list, 2);
	ck_assert_ptr_nonnull(err);
	/* nothing was noted: what is there now is still taken for the guest's own */
	memset(small.ram + SITE, 0x90, 5);
	ck_assert(allows(call_of(SITE, SMALL_WINDOW + 0x1000)));
	ck_assert(!allows(text(SITE, nop, 5)));
	end();
}
END_TEST

START_TEST(an_earlier_session_is_put_back_on_request)
{
	begin(HV_ADOPTS_EARLIER);
	memcpy(small.ram + SITE, "\xe8\x00\x00\x00\x0f", 5);
	ck_assert(allows(text(SITE, nop, 5)));
	ck_assert(allows(data(WORD, 0, 0xffffffff81234567, 8)));
	end();
}
END_TEST

static void add(TCase *tc)
{
	tcase_add_test(tc, anything_is_allowed_in_the_region);
	tcase_add_test(tc, slots_get_leaves_of_the_region_only);
	tcase_add_test(tc, slots_of_an_image_that_can_be_anywhere);
	tcase_add_test(tc, slots_get_tables_in_the_region);
	tcase_add_test(tc, slots_get_pages_of_the_region);
	tcase_add_test(tc, no_tables_where_leaves_will_do);
	tcase_add_test(tc, text_leads_to_us_or_is_put_back);
	tcase_add_test(tc, what_is_between_is_not_ours);
	tcase_add_test(tc, a_first_instruction_leads_to_us);
	tcase_add_test(tc, what_the_guest_wrote_since_is_what_is_put_back);
	tcase_add_test(tc, a_write_that_was_not_made_is_tried_again);
	tcase_add_test(tc, keys_jump_or_do_not);
	tcase_add_test(tc, static_calls_lead_elsewhere);
	tcase_add_test(tc, pointers_counts_and_flags);
	tcase_add_test(tc, a_signed_pointer_goes_but_never_comes);
	tcase_add_test(tc, a_list_is_allowed_as_a_whole);
	tcase_add_test(tc, an_earlier_session_is_put_back_on_request);
}

int main(void)
{
	return run_suite("rules", add);
}
