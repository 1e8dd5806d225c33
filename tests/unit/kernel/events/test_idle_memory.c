/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which bytes of a kernel may change before a released page counts as changed, and types that are
 * read again. */
#include "kernel/core/type_sources.h"
#include "kernel/events/idle_memory.h"
#include "tests/lib/expect.h"
#include "tests/lib/run_suite.h"
#include "tests/unit/kernel/fake_kernel.h"

#define ENTRY_LEN   16u
#define CALL_LEN    8u
#define SITE	    (FK_BASE + 0x1010)
#define JUMP	    (FK_BASE + 0x3020)
#define CALL	    (FK_BASE + 0x5030)
#define STATIC_CALL (FK_BASE + 0x7040)
#define OTHER	    (FK_BASE + 0x9050)

static struct fk f;
static struct hv_site site = {.ip = {SITE}, .name = "f"};
static uint64_t types_at, types_end;

static void declare_tables(void)
{
	uint64_t jumps = fk_alloc(&f, ENTRY_LEN), calls = fk_alloc(&f, CALL_LEN);

	FK_STRUCT("static_key", 16, {"enabled", 0, 4}, {"entries", 8, 8});
	FK_STRUCT("jump_entry", ENTRY_LEN, {"code", 0, 4}, {"target", 4, 4}, {"key", 8, 8});
	FK_STRUCT("static_key_mod", 24, {"next", 0, 8}, {"entries", 8, 8}, {"mod", 16, 8});
	FK_STRUCT("module", 64, {"jump_entries", 8, 8}, {"num_jump_entries", 16, 4},
		  {"static_call_sites", 24, 8}, {"num_static_call_sites", 32, 4}, {"state", 40, 4});
	FK_STRUCT("tracepoint", 32, {"static_call_key", 8, 8}, {"static_call_tramp", 16, 8});
	FK_STRUCT("static_call_key", 16, {"func", 0, 8}, {"mods", 8, 8});
	FK_STRUCT("static_call_site", CALL_LEN, {"addr", 0, 4}, {"key", 4, 4});
	FK_STRUCT("static_call_mod", 24, {"next", 0, 8}, {"mod", 8, 8}, {"sites", 16, 8});
	fk_u32(&f, jumps, (uint32_t)(JUMP - jumps));
	fk_u32(&f, calls, (uint32_t)(CALL - calls));
	fk_symbol(&f, "__SCT__tp_func_x", STATIC_CALL);
	fk_symbol(&f, "__start___jump_table", jumps);
	fk_symbol(&f, "__stop___jump_table", jumps + ENTRY_LEN);
	fk_symbol(&f, "__start_static_call_sites", calls);
	fk_symbol(&f, "__stop_static_call_sites", calls + CALL_LEN);
	fk_symbol(&f, "modules", fk_alloc(&f, 16));
}

/* The types are in the guest's memory, and the copy of the image is of its own. */
static void move_types(void)
{
	struct hv_kernel_core *core = &f.k.core;
	HV_AUTO_TEXT struct hv_text file = assemble();
	uint8_t *bytes = hv_alloc(core->image.len_bytes);

	memcpy(fk_host(&f, types_at), file.data, file.len_bytes);
	types_end = types_at + file.len_bytes;
	memcpy(bytes, core->image.bytes, core->image.len_bytes);
	core->image.bytes = bytes;
	core->image.gpa = hv_gpa(FK_GPA);
	core->image.pages = hv_image_pages_new(f.machine.guest);
	fk_symbol(&f, "__start_BTF", types_at);
	fk_symbol(&f, "__stop_BTF", types_end);
	hv_symbols_index(&core->symbols);
	hv_btf_free(core->btf);
	core->btf = NULL;
	expect_success(hv_types_read_memory(core));
	ck_assert(core->types.from == HV_TYPES_IN_MEMORY);
}

static void setup(void)
{
	fk_init(&f);
	memset(fk_host(&f, FK_BASE), 0x55, FK_DATA - FK_BASE);
	declare_tables();
	types_at = fk_alloc(&f, 0x10000);
	fk_use_types(&f);
	move_types();
	f.k.sites = (struct hv_sites){.list = &site, .nr = 1};
	hv_idle_memory_begin(&f.k, NULL, NULL);
}

static void teardown(void)
{
	hv_idle_memory_end(&f.k);
	f.k.sites = (struct hv_sites){0};
	hv_image_deinit(&f.k.core.image);
	fk_deinit(&f);
}

static void release_all(void)
{
	for (unsigned i = 0; i < 2; i++)
		while (hv_idle_memory_release_some(&f.k))
			;
}

static bool is_changed(uint64_t gva)
{
	ck_assert_uint_eq(hv_image_part(&f.k.core.image, hv_gva(gva), 1).len_bytes, 1);
	return hv_image_is_changed(&f.k.core.image, hv_gva(gva));
}

START_TEST(code_that_the_kernel_patches)
{
	static const uint64_t places[] = {SITE, JUMP, CALL, STATIC_CALL, OTHER};

	setup();
	release_all();
	for (size_t i = 0; i < HV_ARRAY_LEN(places); i++)
		memset(fk_host(&f, places[i]), 0x90, 5);
	for (size_t i = 0; i < HV_ARRAY_LEN(places); i++)
		ck_assert_int_eq(is_changed(places[i]), places[i] == OTHER);
	ck_assert_uint_eq(hv_image_part(&f.k.core.image, hv_gva(JUMP), 1).data[0], 0x55);
	teardown();
}
END_TEST

START_TEST(types_are_read_again)
{
	struct hv_btf_value value;
	uint32_t off, size;

	setup();
	release_all();
	ck_assert_uint_eq(f.k.core.image.bytes[types_at - FK_BASE], 0);
	ck_assert(hv_btf_struct(f.k.core.btf, "jump_entry", &value));
	ck_assert(hv_btf_member(f.k.core.btf, "jump_entry", "target", &off, &size));
	ck_assert_uint_eq(off, 4);
	release_all();
	hv_idle_memory_load(&f.k);
	ck_assert_uint_ne(f.k.core.image.bytes[types_at - FK_BASE], 0);
	/* Types that the guest has changed are not used. What was found before remains. */
	release_all();
	*fk_host(&f, types_end - 1) ^= 1;
	ck_assert(!hv_btf_struct(f.k.core.btf, "jump_entry", &value));
	ck_assert(!hv_btf_member(f.k.core.btf, "jump_entry", "code", &off, &size));
	ck_assert(hv_btf_member(f.k.core.btf, "jump_entry", "target", &off, &size));
	/* They are whole again. */
	*fk_host(&f, types_end - 1) ^= 1;
	release_all();
	ck_assert(hv_btf_struct(f.k.core.btf, "jump_entry", &value));
	ck_assert(hv_btf_member(f.k.core.btf, "jump_entry", "code", &off, &size));
	teardown();
}
END_TEST

START_TEST(types_of_a_guest_that_is_gone)
{
	struct hv_btf_value value;

	setup();
	release_all();
	f.k.core.image.gpa = hv_gpa(XM_RAM_BYTES);
	ck_assert(!hv_btf_struct(f.k.core.btf, "jump_entry", &value));
	f.k.core.image.gpa = hv_gpa(FK_GPA);
	ck_assert(hv_btf_struct(f.k.core.btf, "jump_entry", &value));
	teardown();
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, code_that_the_kernel_patches);
	tcase_add_test(tc, types_are_read_again);
	tcase_add_test(tc, types_of_a_guest_that_is_gone);
}

int main(void)
{
	return run_suite("idle_memory", add_tests);
}
