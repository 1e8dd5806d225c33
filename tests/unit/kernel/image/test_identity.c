/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Banner, release and build id of images with and without them. */
#include <check.h>
#include <string.h>

#include "kernel/image/identity.h"
#include "tests/lib/run_suite.h"

#define BASE   0xffffffff81000000ull
#define BANNER BASE + 0x100
#define NOTES  BASE + 0x800

static uint8_t bytes[0x1000];
static struct hv_image image;
static struct hv_symbols symbols;
static struct hv_symbol list[3];

static void setup(const char *banner)
{
	memset(bytes, 0, sizeof(bytes));
	strcpy((char *)bytes + 0x100, banner);
	image = (struct hv_image){
		.all = {hv_gva(BASE), hv_gva(BASE + sizeof(bytes))},
		.bytes = bytes,
		.len_bytes = sizeof(bytes),
	};
	list[0] = (struct hv_symbol){hv_gva(BANNER), "linux_banner", 'D'};
	list[1] = (struct hv_symbol){hv_gva(NOTES), "__start_notes", 'R'};
	list[2] = (struct hv_symbol){hv_gva(NOTES), "__stop_notes", 'R'};
	symbols = (struct hv_symbols){.by_addr = list, .nr = HV_ARRAY_LEN(list)};
	hv_symbols_index(&symbols);
}

static void teardown(void)
{
	free(symbols.by_name);
	free(symbols.starts);
}

static size_t note(size_t off, uint32_t type, const char *name, const void *desc, uint32_t len)
{
	const uint32_t header[] = {(uint32_t)strlen(name) + 1, len, type};

	memcpy(bytes + off, header, sizeof(header));
	strcpy((char *)bytes + off + 12, name);
	off += 12 + ((header[0] + 3) & ~3u);
	memcpy(bytes + off, desc, len);
	off += (len + 3) & ~3u;
	list[2].addr = hv_gva(BASE + off);
	return off;
}

START_TEST(banner_release_and_build_id)
{
	struct hv_identity id;
	char *text;
	size_t off;

	setup("Linux version 6.1.0-56-cloud (a@b) (gcc) #1 SMP\nmore");
	off = note(0x800, 0x101, "Xen", "abcdef", 6);
	off = note(off, 3, "GNU", "\x12\x34\xab\xcd\xef", 5);
	note(off, 3, "GNU", "second", 6);
	ck_assert_ptr_null(hv_identity_read(&image, &symbols, &id));
	ck_assert_str_eq(id.banner, "Linux version 6.1.0-56-cloud (a@b) (gcc) #1 SMP");
	ck_assert_str_eq(id.release, "6.1.0-56-cloud");
	text = hv_build_id_text(id.build_id, id.build_id_len_bytes);
	ck_assert_str_eq(text, "1234abcdef");
	free(text);
	hv_identity_deinit(&id);
	teardown();
}
END_TEST

START_TEST(without_build_id)
{
	struct hv_identity id;
	char *text;

	setup("Linux version 6.1\n");
	note(0x800, 3, "GNU", "0123456789012345678901234567890123", 34); /* too long to be one */
	ck_assert_ptr_null(hv_identity_read(&image, &symbols, &id));
	ck_assert_str_eq(id.release, "6.1");
	ck_assert_uint_eq(id.build_id_len_bytes, 0);
	text = hv_build_id_text(id.build_id, 0);
	ck_assert_str_eq(text, "none");
	free(text);
	hv_identity_deinit(&id);
	teardown();
}
END_TEST

START_TEST(a_banner_is_made_safe)
{
	struct hv_identity id;

	setup("Linux version 6.1\x1b[2J\x07 x\n");
	ck_assert_ptr_null(hv_identity_read(&image, &symbols, &id));
	ck_assert_str_eq(id.release, "6.1?[2J?");
	ck_assert_str_eq(id.banner, "Linux version 6.1?[2J? x");
	hv_identity_deinit(&id);
	teardown();
	/* a banner without an end */
	setup("Linux version 6.1");
	memset(bytes + 0x111, 'x', sizeof(bytes) - 0x111);
	ck_assert_ptr_null(hv_identity_read(&image, &symbols, &id));
	ck_assert_uint_eq(strlen(id.banner), 1024);
	hv_identity_deinit(&id);
	list[0].addr = hv_gva(BASE + sizeof(bytes) - 15);
	memcpy(bytes + sizeof(bytes) - 15, "Linux version 7", 15);
	ck_assert_ptr_null(hv_identity_read(&image, &symbols, &id));
	ck_assert_str_eq(id.banner, "Linux version 7");
	hv_identity_deinit(&id);
	teardown();
}
END_TEST

START_TEST(refuses_other_banners)
{
	struct hv_identity id;
	struct hv_err *err;

	setup("Minux version 6.1\n");
	err = hv_identity_read(&image, &symbols, &id);
	ck_assert_str_eq(err->message, "no \"Linux version \" at linux_banner 0xffffffff81000100");
	hv_err_free(err);
	list[0].name = "linux_barrel";
	err = hv_identity_read(&image, &symbols, &id);
	ck_assert_str_eq(err->message, "no symbol linux_banner: the kernel was built without "
				       "CONFIG_KALLSYMS_ALL");
	ck_assert_uint_eq(err->facts, HV_ERR_NEEDS_VMLINUX);
	hv_err_free(err);
	teardown();
}
END_TEST

/* Notes whose lengths are 0 or lead outside. */
START_TEST(notes_are_bounded)
{
	uint8_t id[32];
	uint32_t words[64];
	const struct hv_span notes = {(uint8_t *)words, sizeof(words)};

	for (unsigned i = 0; i < 64; i++)
		words[i] = 0xffffffff;
	ck_assert_uint_eq(hv_build_id_in_notes(notes, id), 0);
	memset(words, 0, sizeof(words));
	ck_assert_uint_eq(hv_build_id_in_notes(notes, id), 0);
	words[0] = 4;
	words[1] = 20;
	words[2] = 3;
	memcpy(words + 3, "GNU", 4);
	for (size_t len = 0; len < 36; len++)
		ck_assert_uint_eq(hv_build_id_in_notes((struct hv_span){notes.data, len}, id), 0);
	ck_assert_uint_eq(hv_build_id_in_notes((struct hv_span){notes.data, 36}, id), 20);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, banner_release_and_build_id);
	tcase_add_test(tc, without_build_id);
	tcase_add_test(tc, a_banner_is_made_safe);
	tcase_add_test(tc, refuses_other_banners);
	tcase_add_test(tc, notes_are_bounded);
}

int main(void)
{
	return run_suite("identity", add_tests);
}
