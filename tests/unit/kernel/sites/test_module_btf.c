/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The BTF of a module: where the kernel keeps it, and lists and contents that are refused. */
#include "kernel/sites/modules.h"

#include "tests/lib/expect.h"
#include "tests/lib/run_suite.h"
#include "tests/unit/kernel/fake_kernel.h"

#define MODULE FK_MODULES
#define OTHER  (FK_MODULES + 0x1000)

/* struct btf_module */
enum { LIST = 0, OF_MODULE = 16, BTF = 24, ENTRY_BYTES = 32 };
/* struct btf */
enum { DATA = 0, DATA_SIZE = 8, START_ID = 12, START_STR = 16, BTF_BYTES = 24 };

static struct fk f;
static uint64_t head, entries, btf, data;
static uint32_t data_size;

/* Writes entry I of the list, with the next one at NEXT. */
static void put_entry(unsigned i, uint64_t module, uint64_t next)
{
	uint64_t at = entries + i * ENTRY_BYTES;

	fk_u64(&f, at + LIST, next);
	fk_u64(&f, at + OF_MODULE, module);
	fk_u64(&f, at + BTF, btf);
}

/* Writes the module's BTF: one structure. */
static void put_data(void)
{
	HV_AUTO_TEXT struct hv_text file = {0};

	begin_module(f.k.core.btf);
	type(STRUCT, "packet", 0, 0, 40);
	file = assemble();
	memcpy(fk_host(&f, data), file.data, file.len_bytes);
	data_size = (uint32_t)file.len_bytes;
	fk_u64(&f, btf + DATA, data);
	fk_u32(&f, btf + DATA_SIZE, data_size);
	fk_u32(&f, btf + START_ID, (uint32_t)hv_btf_nr_types(f.k.core.btf) + 1);
	fk_u32(&f, btf + START_STR, (uint32_t)hv_btf_strings_bytes(f.k.core.btf));
}

static void set_up(void)
{
	uint32_t list;

	fk_init(&f);
	list = FK_STRUCT("list_head", 16, {"next", 0, 8}, {"prev", 8, 8});
	FK_STRUCT("btf_module", ENTRY_BYTES, {"list", LIST, 0, list}, {"module", OF_MODULE, 8},
		  {"btf", BTF, 8});
	FK_STRUCT("btf", BTF_BYTES, {"data", DATA, 8}, {"data_size", DATA_SIZE, 4},
		  {"start_id", START_ID, 4}, {"start_str_off", START_STR, 4});
	head = fk_alloc(&f, 16);
	entries = fk_alloc(&f, 2 * ENTRY_BYTES);
	btf = fk_alloc(&f, BTF_BYTES);
	data = fk_alloc(&f, 4096);
	fk_symbol(&f, "btf_modules", head);
	fk_done(&f);
	fk_u64(&f, head, entries);
	put_entry(0, OTHER, entries + ENTRY_BYTES);
	put_entry(1, MODULE, head);
	put_data();
}

static void tear_down(void)
{
	fk_deinit(&f);
}

static struct hv_err *read_it(struct hv_btf **ret)
{
	*ret = NULL;
	return hv_btf_of_module(&f.k.core, hv_gva(MODULE), ret);
}

static void fails(int code, const char *message)
{
	struct hv_btf *found;

	expect_error(read_it(&found), code, message);
	ck_assert_ptr_null(found);
}

START_TEST(reads_module_btf)
{
	struct hv_btf *found;
	uint32_t size = 0;

	expect_success(read_it(&found));
	ck_assert_ptr_nonnull(found);
	ck_assert(hv_btf_size(found, "packet", &size));
	ck_assert_uint_eq(size, 40);
	hv_btf_free(found);
	put_entry(1, MODULE + 8, head);
	expect_success(read_it(&found));
	ck_assert_ptr_null(found);
}
END_TEST

START_TEST(lists_without_an_end)
{
	put_entry(0, OTHER, entries);
	fails(EINVAL, "BTF of a module: btf_modules: the list does not end");
}
END_TEST

/* What a guest may claim about its BTF. */
static const struct {
	uint32_t off, value;
	const char *message;
} claims[] = {
	{START_ID, 1, "BTF of a module: it starts at type 1 and string "},
	{START_STR, 7, " and string 7, but the kernel's BTF ends at "},
	{DATA_SIZE, (16 << 20) + 1, "BTF of a module: 16777217 bytes are too many"},
};

START_TEST(contents_that_are_refused)
{
	fk_u32(&f, btf + claims[_i].off, claims[_i].value);
	fails(EINVAL, claims[_i].message);
}
END_TEST

static void remove_module(struct xm *m hv_unused, struct hv_gpa gpa)
{
	if (fk_is_at(gpa, data))
		put_entry(0, OTHER, head);
}

START_TEST(a_module_that_is_removed)
{
	f.machine.after_read = remove_module;
	fails(EAGAIN, "BTF of a module: it was removed while it was read");
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, reads_module_btf);
	tcase_add_test(tc, lists_without_an_end);
	tcase_add_loop_test(tc, contents_that_are_refused, 0, HV_ARRAY_LEN(claims));
	tcase_add_test(tc, a_module_that_is_removed);
}

int main(void)
{
	return run_suite("module_btf", add_tests);
}
