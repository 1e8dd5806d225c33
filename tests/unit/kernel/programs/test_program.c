/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The mappings of a process of a fake kernel, in a list and in a tree, and files in its page cache. */
#include <check.h>

#include "kernel/programs/program.h"
#include "tests/lib/run_suite.h"
#include "tests/unit/kernel/programs/fake_programs.h"

#define CODE 0x401000ull

static struct fp p;
static struct hv_program program;

static void set_up_kind(bool has_tree)
{
	fp_has_tree = has_tree;
	fp_init(&p);
	program = (struct hv_program){0};
}

static void set_up(void)
{
	set_up_kind(true);
}

static void tear_down(void)
{
	hv_program_deinit(&program);
	ft_deinit(&p.t);
}

/* Maps a file with the path /bin/cat. Returns its vma. */
static uint64_t map_cat(uint64_t head)
{
	uint64_t bin = fp_dentry(&p, p.root, "bin"), cat = fp_dentry(&p, bin, "cat");
	uint64_t file = fp_file(&p, p.mount, cat, 2 * FP_PAGE, head);
	uint64_t vmas[] = {fp_vma(&p, 0x400000, CODE, 0, file),
			   fp_vma(&p, CODE + FP_PAGE, CODE + 2 * FP_PAGE, FP_EXEC, file),
			   fp_vma(&p, 0x500000, 0x501000, FP_EXEC, 0),
			   fp_vma(&p, FP_VDSO, FP_VDSO + FP_PAGE, FP_EXEC, 0)};

	fp_map(&p, vmas, HV_ARRAY_LEN(vmas));
	return vmas[1];
}

static bool read_program(void)
{
	hv_program_deinit(&program);
	return hv_program_read(&p.t.f.k, FP_PID, &program);
}

START_TEST(mappings_with_code)
{
	static const uint8_t id[] = {0xab, 0xcd, 1, 2};

	tear_down();
	set_up_kind(_i);
	map_cat(fp_page(fp_elf(&p)));
	ck_assert(read_program());
	ck_assert_uint_eq(program.tgid, FP_PID);
	ck_assert_str_eq(program.cgroup, "/web");
	ck_assert_uint_eq(program.nr, 3);
	ck_assert_uint_eq(program.maps[0].start, CODE + FP_PAGE);
	ck_assert_uint_eq(program.maps[0].end, CODE + 2 * FP_PAGE);
	ck_assert_uint_eq(program.maps[0].off, FP_PAGE);
	ck_assert_str_eq(program.maps[0].path, "/bin/cat");
	ck_assert_uint_eq(program.maps[0].file.ino, 7);
	ck_assert_uint_eq(program.maps[0].file.len_bytes, 2 * FP_PAGE);
	ck_assert_uint_eq(program.maps[0].build_id_len, sizeof(id));
	ck_assert(memcmp(program.maps[0].build_id, id, sizeof(id)) == 0);
	ck_assert_str_eq(program.maps[1].path, "");
	ck_assert_str_eq(program.maps[2].path, "[vdso]");
}
END_TEST

START_TEST(tasks_without_mappings)
{
	map_cat(0);
	ck_assert(!hv_program_read(&p.t.f.k, 0, &program));
	ck_assert(!hv_program_read(&p.t.f.k, FP_PID + 1, &program));
	fk_u64(&p.t.f, p.t.last_process + FT_MM, 0); /* a kernel thread */
	ck_assert(!read_program());
	fk_u64(&p.t.f, p.t.last_process + FT_MM, 8);
	ck_assert(!read_program());
}
END_TEST

static const char *path_of(uint64_t mount, uint64_t dentry)
{
	uint64_t vma = fp_vma(&p, CODE, CODE + FP_PAGE, FP_EXEC, fp_file(&p, mount, dentry, 1, 0));

	fp_map(&p, &vma, 1);
	ck_assert(read_program());
	ck_assert_uint_eq(program.nr, 1);
	return program.maps[0].path;
}

START_TEST(paths)
{
	uint64_t mnt = fp_dentry(&p, p.root, "mnt"), top = fp_dentry(&p, 0, "/");
	uint64_t mount = fp_mount(&p, p.mount, mnt, top), file = fp_dentry(&p, top, "a b");
	uint64_t below = top;

	ck_assert_str_eq(path_of(mount, file), "/mnt/a b");
	fk_u64(&p.t.f, file + FP_PPREV, 0);
	ck_assert_str_eq(path_of(mount, file), "/mnt/a b (deleted)");
	ck_assert_str_eq(path_of(p.mount, p.root), "/");
	for (unsigned i = 0; i < 100; i++)
		below = fp_dentry(&p, below, "x");
	ck_assert(strncmp(path_of(mount, below), ".../x/x", 7) == 0);
	fk_u64(&p.t.f, file + FP_PARENT, file + 1); /* not a dentry */
	ck_assert_str_eq(path_of(mount, file), "");
	fk_u64(&p.t.f, file + FP_PARENT, top);
	fk_u32(&p.t.f, file + FP_LEN, 256);
	ck_assert_str_eq(path_of(mount, file), "");
	fk_u32(&p.t.f, file + FP_LEN, 3);
	fk_u64(&p.t.f, mount + 8, file); /* a mount in itself */
	fk_u64(&p.t.f, mount, mount + 16);
	path_of(mount, file);
}
END_TEST

START_TEST(a_list_that_lies)
{
	uint64_t vma;

	tear_down();
	set_up_kind(false);
	vma = map_cat(0);
	fk_u64(&p.t.f, vma + FP_NEXT, vma);
	ck_assert(!read_program());
	fk_u64(&p.t.f, vma + FP_NEXT, vma + 1);
	ck_assert(!read_program());
	fk_u64(&p.t.f, vma + FP_NEXT, 0);
	ck_assert(read_program());
	fk_u64(&p.t.f, vma + FP_MM, 1); /* the memory has been used again */
	ck_assert(!read_program());
}
END_TEST

START_TEST(a_tree_that_lies)
{
	uint64_t vma = map_cat(0), root, inner = fk_alloc(&p.t.f, 256);

	memcpy(&root, fk_host(&p.t.f, p.mm + FP_ROOT), 8);
	fk_u64(&p.t.f, vma + FP_END, CODE + 3 * FP_PAGE);
	ck_assert(!read_program());
	fk_u64(&p.t.f, vma + FP_END, CODE + 2 * FP_PAGE);
	ck_assert(read_program());
	fk_u64(&p.t.f, p.mm + FP_ROOT, FP_INNER(inner));
	fk_u64(&p.t.f, inner + FP_INNER_SLOTS, FP_INNER(inner)); /* in itself */
	ck_assert(!read_program());
	fk_u64(&p.t.f, inner + FP_INNER_SLOTS, root);
	ck_assert(read_program());
	fk_u64(&p.t.f, inner + FP_PIVOTS, 0x401000);
	fk_u64(&p.t.f, inner + FP_INNER_SLOTS + 8, root); /* twice */
	ck_assert(!read_program());
	fk_u64(&p.t.f, p.mm + FP_ROOT, root | 15u << 3);
	ck_assert(!read_program());
}
END_TEST

#define LEVELS 5 /* levels of nodes with ten children */

/* Makes a node for [MIN, MAX] with ten children; below LEVELS all are BOTTOM. */
static uint64_t make_nodes(uint64_t min, uint64_t max, unsigned level, uint64_t bottom)
{
	uint64_t node = (p.t.f.brk += 256) - 256, part = (max - min) / 10;

	if (level == LEVELS)
		return p.t.f.brk -= 256, bottom;
	for (unsigned i = 0; i < 10; i++) {
		uint64_t end = i == 9 ? max : min + part;

		if (i < 9)
			fk_u64(&p.t.f, node + FP_PIVOTS + 8 * i, end);
		fk_u64(&p.t.f, node + FP_INNER_SLOTS + 8 * i,
		       make_nodes(min, end, level + 1, bottom));
		min = end + 1;
	}
	return FP_INNER(node);
}

/* Nodes without mappings count, too. */
START_TEST(a_tree_with_too_many_nodes)
{
	uint64_t bottom = FP_LEAF(fk_alloc(&p.t.f, 256));

	for (unsigned level = LEVELS; level < 9; level++) {
		uint64_t node = fk_alloc(&p.t.f, 256);

		fk_u64(&p.t.f, node + FP_INNER_SLOTS, bottom);
		bottom = FP_INNER(node);
	}
	fk_u64(&p.t.f, p.mm + FP_ROOT, make_nodes(0, UINT64_MAX, LEVELS - 1, bottom));
	ck_assert(read_program());
	fk_u64(&p.t.f, p.mm + FP_ROOT, make_nodes(0, UINT64_MAX, 0, bottom));
	ck_assert(!read_program());
}
END_TEST

/* Checks whether main() is found in the file of the process. */
static void check_main(bool is_found)
{
	struct hv_elf_place places[] = {{.off = 0x1010}, {.off = 0x1100}};

	ck_assert(read_program());
	ck_assert(hv_program_find_functions(&p.t.f.k, &program.maps[0].file, places, 2));
	ck_assert_ptr_eq(places[1].name, NULL);
	ck_assert_uint_eq(places[0].name != NULL, is_found);
	if (is_found)
		ck_assert_str_eq(places[0].name, "main");
	free(places[0].name);
}

/* Makes a node of an xarray. Returns its entry. */
static uint64_t make_entry(unsigned shift, uint64_t slot)
{
	uint64_t node = fk_alloc(&p.t.f, 16 + 8 * 64);

	*fk_host(&p.t.f, node) = (uint8_t)shift;
	fk_u64(&p.t.f, node + FP_SLOTS, slot);
	return node + 2;
}

static void set_head(uint64_t entry)
{
	fk_u64(&p.t.f, program.maps[0].file.mapping.v + FP_HEAD, entry);
}

START_TEST(functions_in_the_page_cache)
{
	uint64_t page = fp_page(fp_elf(&p)), node;

	map_cat(page);
	check_main(true);
	set_head(make_entry(0, page));
	check_main(true);
	set_head(make_entry(6, make_entry(0, page)));
	check_main(true);
	set_head(0);
	check_main(false);
	set_head(make_entry(0, 3)); /* not resident */
	check_main(false);
	set_head(page + 8);
	check_main(false);
	set_head(make_entry(200, page));
	check_main(false);
	node = make_entry(6, 0);
	fk_u64(&p.t.f, node - 2 + FP_SLOTS, node); /* in itself */
	set_head(node);
	check_main(false);
}
END_TEST

START_TEST(a_file_that_is_gone)
{
	struct hv_program_file_id id;
	struct hv_elf_place place = {.off = 0x1010};

	map_cat(fp_page(fp_elf(&p)));
	ck_assert(read_program());
	id = program.maps[0].file;
	id.ino++;
	ck_assert(!hv_program_find_functions(&p.t.f.k, &id, &place, 1));
	id.ino--;
	id.len_bytes++;
	ck_assert(!hv_program_find_functions(&p.t.f.k, &id, &place, 1));
	id.mapping.v = 16;
	ck_assert(!hv_program_find_functions(&p.t.f.k, &id, &place, 1));
	ck_assert_ptr_null(place.name);
}
END_TEST

#define NR_PAGES 4

static uint8_t pages[NR_PAGES * FP_PAGE];

static uint64_t read_pages(const struct hv_program_file_id *id, uint64_t first)
{
	memset(pages, 0x5a, sizeof(pages));
	return hv_program_read_pages(&p.t.f.k, FP_PID, id, first, NR_PAGES, pages);
}

static bool is_zero(size_t page)
{
	for (size_t i = 0; i < FP_PAGE; i++)
		if (pages[page * FP_PAGE + i])
			return false;
	return true;
}

/* The file has two pages. The second one is not in the page cache. */
START_TEST(pages_of_a_file)
{
	uint64_t page = fp_elf(&p);
	struct hv_program_file_id id;

	map_cat(fp_page(page));
	ck_assert(read_program());
	id = program.maps[0].file;
	ck_assert_uint_eq(read_pages(&id, 0), 1);
	ck_assert(memcmp(pages, fk_host(&p.t.f, page), FP_PAGE) == 0);
	ck_assert(is_zero(1) && is_zero(2) && is_zero(NR_PAGES - 1));
	for (uint64_t first = 1; first < 4; first++)
		ck_assert_uint_eq(read_pages(&id, first), 0);
	ck_assert_uint_eq(read_pages(&id, UINT64_MAX), 0);
	ck_assert_uint_eq(read_pages(&id, UINT64_MAX / FP_PAGE + 1), 0);
	ck_assert(is_zero(0));
	id.ino++;
	ck_assert_uint_eq(read_pages(&id, 0), 0);
	ck_assert(is_zero(0));
}
END_TEST

/* The kernel's image of the vDSO is one page and a half. */
START_TEST(pages_of_the_vdso)
{
	const struct hv_program_file_id none = {0};
	uint64_t data = fk_alloc(&p.t.f, 2 * FP_PAGE), image = fk_alloc(&p.t.f, 16);

	map_cat(0);
	ck_assert_uint_eq(read_pages(&none, 0), 0); /* the kernel has no image */
	memset(fk_host(&p.t.f, data), 0x7f, 2 * FP_PAGE);
	fk_u64(&p.t.f, p.mm + FP_IMAGE, image);
	fk_u64(&p.t.f, image, data);
	fk_u64(&p.t.f, image + 8, FP_PAGE + FP_PAGE / 2);
	ck_assert_uint_eq(read_pages(&none, 0), 3);
	ck_assert_uint_eq(pages[FP_PAGE + FP_PAGE / 2 - 1], 0x7f);
	ck_assert_uint_eq(pages[FP_PAGE + FP_PAGE / 2], 0);
	ck_assert_uint_eq(hv_program_read_pages(&p.t.f.k, FP_PID + 1, &none, 0, NR_PAGES, pages),
			  0);
	fk_u64(&p.t.f, image + 8, UINT64_MAX);
	ck_assert_uint_ne(read_pages(&none, 0), 0);
	fk_u64(&p.t.f, image, 16);
	ck_assert_uint_eq(read_pages(&none, 0), 0);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_loop_test(tc, mappings_with_code, 0, 2);
	tcase_add_test(tc, tasks_without_mappings);
	tcase_add_test(tc, paths);
	tcase_add_test(tc, a_list_that_lies);
	tcase_add_test(tc, a_tree_that_lies);
	tcase_add_test(tc, a_tree_with_too_many_nodes);
	tcase_add_test(tc, functions_in_the_page_cache);
	tcase_add_test(tc, a_file_that_is_gone);
	tcase_add_test(tc, pages_of_a_file);
	tcase_add_test(tc, pages_of_the_vdso);
}

int main(void)
{
	return run_suite("program", add_tests);
}
