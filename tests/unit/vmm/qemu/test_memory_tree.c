/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decodes the output of `info mtree -o` of QEMU 7.2 for two guests (fixtures/), and odd texts. */
#include <check.h>

#include "tests/lib/run_suite.h"
#include "tests/unit/vmm/qemu/captured.h"
#include "vmm/qemu/memory_tree.h"

#define ALL "  0000000000000000-ffffffffffffffff (prio 0, i/o): system\n"

static struct hv_memory_tree parsed(const char *text)
{
	struct hv_memory_tree t = {0};

	ck_assert(hv_memory_tree_parse(text, &t));
	return t;
}

static void expect(const struct hv_tree_piece *p, uint64_t start, uint64_t end)
{
	ck_assert_uint_eq(p->start.v, start);
	ck_assert_uint_eq(p->len_bytes, end - start);
}

START_TEST(q35_with_a_dimm)
{
	HV_AUTO_FREE char *text = captured("mtree-q35-dimm.txt");
	struct hv_memory_tree t = parsed(text);

	ck_assert_uint_eq(t.nr_names, 3);
	ck_assert(hv_memory_tree_has(&t, "ram"));
	ck_assert(hv_memory_tree_has(&t, "hv")); /* ivshmem's: a BAR */
	ck_assert(hv_memory_tree_has(&t, "m1"));
	ck_assert(!hv_memory_tree_has(&t, "pc.bios"));
	ck_assert_uint_ge(t.nr_pieces, 5);
	expect(&t.pieces[0], 0, 0xa0000);
	expect(&t.pieces[1], 0xa0000, 0xc0000);
	expect(&t.pieces[2], 0xc0000, 0xc3000);
	expect(&t.pieces[t.nr_pieces - 3], 0x100000, 0x20000000);
	expect(&t.pieces[t.nr_pieces - 2], 0xf8000000, 0xfc000000);
	expect(&t.pieces[t.nr_pieces - 1], 0x100000000, 0x110000000);
	hv_memory_tree_cut(&t, hv_gpa(0xf8000000), 0x4000000);
	expect(&t.pieces[t.nr_pieces - 2], 0x100000, 0x20000000);
	hv_memory_tree_deinit(&t);
}
END_TEST

/* Two blocks of 2 GiB and 3 GiB are reached through aliases of one container. Its first 3 GiB are
 * below 4 GiB. A VGA has separate memory. */
START_TEST(nodes_reached_through_aliases)
{
	HV_AUTO_FREE char *text = captured("mtree-pc-numa.txt");
	struct hv_memory_tree t = parsed(text);
	size_t last = t.nr_pieces - 1;

	ck_assert_uint_eq(t.nr_names, 3);
	ck_assert(hv_memory_tree_has(&t, "m0"));
	ck_assert(hv_memory_tree_has(&t, "m1"));
	ck_assert(!hv_memory_tree_has(&t, "vga.vram"));
	expect(&t.pieces[last], 0x100000000, 0x180000000);
	expect(&t.pieces[last - 1], 0xf8000000, 0xfc000000);
	expect(&t.pieces[last - 2], 0x80000000, 0xc0000000);
	expect(&t.pieces[last - 3], 0x100000, 0x80000000);
	hv_memory_tree_deinit(&t);
}
END_TEST

/* An alias maps the middle of a container, so the container's blocks are at other addresses. */
START_TEST(aliases_are_moved)
{
	struct hv_memory_tree t =
		parsed("address-space: cpu-memory-0\naddress-space: memory\n"
		       "address-space: other\n" ALL
		       "    0000000000100000-00000000001fffff (prio 0, i/o): alias a @the box"
		       " 0000000000080000-000000000017ffff\n"
		       "\n"
		       "memory-region: box\n"
		       "  0000000000000000-0000000000ffffff (prio 0, ram): wrong\n\n"
		       "memory-region: the box\n"
		       "  0000000000010000-000000000100ffff (prio 0, i/o): the box\n"
		       "    0000000000010000-000000000010ffff (prio 0, ram): one\n"
		       "    0000000000110000-000000000020ffff (prio 0, nv-ram): two [disabled]\n");

	ck_assert_uint_eq(t.nr_names, 2);
	ck_assert(hv_memory_tree_has(&t, "one"));
	ck_assert(hv_memory_tree_has(&t, "two"));
	ck_assert_uint_eq(t.nr_pieces, 2);
	expect(&t.pieces[0], 0x100000, 0x180000);
	expect(&t.pieces[1], 0x180000, 0x200000);
	hv_memory_tree_deinit(&t);
}
END_TEST

START_TEST(cut_splits)
{
	struct hv_memory_tree t =
		parsed("address-space: memory\r\n"
		       "  0000000000001000-0000000000004fff (prio 0, ram): a b\r\n\r\n");

	ck_assert_uint_eq(t.nr_pieces, 1);
	expect(&t.pieces[0], 0x1000, 0x5000);
	ck_assert(hv_memory_tree_has(&t, "a b"));
	hv_memory_tree_cut(&t, hv_gpa(0x2000), 0x1000);
	ck_assert_uint_eq(t.nr_pieces, 2);
	expect(&t.pieces[0], 0x1000, 0x2000);
	expect(&t.pieces[1], 0x3000, 0x5000);
	hv_memory_tree_deinit(&t);
}
END_TEST

START_TEST(odd_texts)
{
	struct hv_memory_tree t = {0};

	ck_assert(!hv_memory_tree_parse("", &t));
	ck_assert(!hv_memory_tree_parse("address-space: memory of mine\n" ALL, &t));
	/* backwards, to the end, of itself, of nothing, not RAM, a device's, truncated */
	t = parsed("address-space: memory\n" ALL
		   "    0000000000005000-0000000000004fff (prio 0, ram): a\n"
		   "    what is that\n"
		   "    fffffffffffff000-ffffffffffffffff (prio 0, ram): b\n"
		   "    0000000000010000-000000000001ffff (prio 0, ram): alias c @loop"
		   " 0000000000000000-000000000000ffff\n"
		   "    0000000000020000-000000000002ffff (prio 0, ram): alias d @none"
		   " 0000000000000000-000000000000ffff\n"
		   "    0000000000030000-000000000003ffff (prio 0, ram): alias e @f\n"
		   "    0000000000040000-000000000004ffff (prio 0, romd): g\n"
		   "    0000000000050000-000000000005ffff (prio 0, ram): h owner:{dev id=1}\n"
		   "    0000000000060000-000000000006ffff (prio 0, ram): i\n"
		   "    0000000000070000-000000000007ffff (prio 0, ram\n"
		   "\n"
		   "    0000000000080000-000000000008ffff (prio 0, ram): elsewhere\n"
		   "memory-region: loop\n"
		   "  0000000000000000-000000000000ffff (prio 0, ram): alias j @loop"
		   " 0000000000000000-000000000000ffff\n"
		   "  0000000000000000-000000000000ffff (prio 0, ram): alias k @loop"
		   " 0000000000000000-000000000000ffff");
	ck_assert_uint_eq(t.nr_pieces, 1);
	expect(&t.pieces[0], 0x60000, 0x70000);
	hv_memory_tree_deinit(&t);
}
END_TEST

START_TEST(too_many_regions)
{
	for (unsigned nr = 4094; nr <= 4095; nr++) {
		struct hv_text text = {0};
		struct hv_memory_tree t = {0};

		hv_text_add(&text, "address-space: memory\n" ALL);
		for (unsigned i = 0; i < nr; i++)
			hv_text_printf(&text, "    %016x-%016x (prio 0, ram): r\n", i * 4096,
				       i * 4096 + 4095);
		ck_assert_int_eq(hv_memory_tree_parse(text.data, &t), nr == 4094);
		ck_assert_uint_eq(t.nr_pieces, nr == 4094 ? nr : 0);
		hv_memory_tree_deinit(&t);
		hv_text_deinit(&text);
	}
}
END_TEST

/* A hostile VMM answers with a text of the monitor's maximum length. */
#define LONG_BYTES (32u << 20)

static void add_until(struct hv_text *text, const char *line, size_t len_bytes)
{
	size_t line_bytes = strlen(line);

	while (text->len_bytes + line_bytes <= len_bytes)
		hv_text_add_bytes(text, line, line_bytes);
}

static void parse_long(struct hv_text *text)
{
	struct hv_memory_tree t = {0};

	if (hv_memory_tree_parse(text->data, &t))
		hv_memory_tree_deinit(&t);
	hv_text_deinit(text);
}

/* Thousands of aliases map a region of meaningless lines, which no limit counts. */
START_TEST(long_region_shown_often)
{
	struct hv_text text = {0};

	hv_text_add(&text, "address-space: memory\n" ALL);
	for (unsigned i = 0; i < 4000; i++)
		hv_text_add(&text,
			    "    0000000000000000-000000000000ffff (prio 0, i/o): alias a @long"
			    " 0000000000000000-000000000000ffff\n");
	hv_text_add(&text, "\nmemory-region: long\n"
			   "  0000000000000000-000000000000ffff (prio 0, i/o): long\n");
	add_until(&text, "  x\n", LONG_BYTES);
	parse_long(&text);
}
END_TEST

/* Every line is a region and can be parsed. */
START_TEST(long_list)
{
	struct hv_text text = {0};

	hv_text_add(&text, "address-space: memory\n" ALL "\nmemory-region: long\n");
	add_until(&text, "  0000000000000000-000000000000ffff (prio 0, i/o): r\n", LONG_BYTES);
	parse_long(&text);
}
END_TEST

START_TEST(long_list_of_regions)
{
	struct hv_text text = {0};

	hv_text_add(&text, "address-space: memory\n" ALL);
	for (unsigned i = 0; i < 4000; i++)
		hv_text_add(&text,
			    "    0000000000000000-000000000000ffff (prio 0, i/o): alias a @none"
			    " 0000000000000000-000000000000ffff\n");
	add_until(&text, "memory-region: a\n", LONG_BYTES);
	parse_long(&text);
}
END_TEST

/* Names that differ only in their last byte. */
START_TEST(long_names)
{
	struct hv_text text = {0}, name = {0};

	add_until(&name, "n", 8000);
	hv_text_add(&text, "address-space: memory\n" ALL);
	for (unsigned i = 0; i < 4000; i++)
		hv_text_printf(&text, "    %016x-%016x (prio 0, ram): %s%u\n", i * 4096,
			       i * 4096 + 4095, name.data, i);
	parse_long(&text);
	hv_text_deinit(&name);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_set_timeout(tc, 20);
	tcase_add_test(tc, long_region_shown_often);
	tcase_add_test(tc, long_list);
	tcase_add_test(tc, long_list_of_regions);
	tcase_add_test(tc, long_names);
	tcase_add_test(tc, q35_with_a_dimm);
	tcase_add_test(tc, nodes_reached_through_aliases);
	tcase_add_test(tc, aliases_are_moved);
	tcase_add_test(tc, cut_splits);
	tcase_add_test(tc, odd_texts);
	tcase_add_test(tc, too_many_regions);
}

int main(void)
{
	return run_suite("memory_tree", add_tests);
}
