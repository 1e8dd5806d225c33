/* SPDX-License-Identifier: GPL-2.0-or-later */
/* kallsyms in every layout that kernels have used, and broken ones. */
#include <check.h>

#include "base/cancel.h"
#include "tests/lib/run_suite.h"
#include "tests/unit/kernel/image/kallsyms_image.h"

static void check_symbols(const struct kimg *k, const struct hv_symbols *s)
{
	ck_assert_uint_eq(s->nr, KIMG_NR);
	/* A single assertion, because every assertion sends a message to the test runner. */
	for (size_t i = 0; i < KIMG_NR; i++)
		if (s->by_addr[i].addr.v != k->addr[i].v || s->by_addr[i].type != k->name[i][0] ||
		    strcmp(s->by_addr[i].name, k->name[i] + 1) != 0)
			ck_abort_msg("symbol %zu is %llx %c %s, not %llx %s", i,
				     (unsigned long long)s->by_addr[i].addr.v, s->by_addr[i].type,
				     s->by_addr[i].name, (unsigned long long)k->addr[i].v,
				     k->name[i]);
}

START_TEST(reads_layout)
{
	struct kimg k;
	struct hv_image image;
	struct hv_symbols s = {0};
	struct hv_err *err;

	kimg_init(&k, &kimg_layouts[_i]);
	image = kimg_image(&k);
	err = hv_kallsyms_read(&image, &s);
	ck_assert_msg(!err, "%s: %s", kimg_layouts[_i].what, err ? err->message : "");
	check_symbols(&k, &s);
	hv_symbols_deinit(&s);
	kimg_deinit(&k);
}
END_TEST

static void check_refused(const struct kimg *k, const char *message)
{
	struct hv_image image = kimg_image(k);
	struct hv_symbols s = {.nr = 77};
	HV_AUTO_ERR struct hv_err *err = hv_kallsyms_read(&image, &s);

	ck_assert_ptr_nonnull(err);
	ck_assert_int_eq(err->code, ENOENT);
	ck_assert_msg(strstr(err->message, message), "%s", err->message);
	ck_assert_uint_eq(s.nr, 77);
}

START_TEST(refuses_no_tokens)
{
	struct kimg k;

	kimg_init(&k, &kimg_layouts[_i]);
	k.bytes[k.token_index + 100] ^= 0x80;
	check_refused(&k, "kallsyms: no table of name tokens in 393216 bytes");
	kimg_deinit(&k);
}
END_TEST

START_TEST(refuses_no_names)
{
	struct kimg k;

	kimg_init(&k, &kimg_layouts[_i]);
	k.bytes[k.markers + 3 * k.layout->marker_width]++;
	check_refused(&k, "but no names before");
	k.bytes[k.markers + 3 * k.layout->marker_width]--;
	k.bytes[k.num_syms]++; /* one name more than there is */
	check_refused(&k, "but no names before");
	k.bytes[k.num_syms]--;
	k.bytes[k.names] = 0;
	check_refused(&k, "but no names before");
	kimg_deinit(&k);
}
END_TEST

START_TEST(refuses_wrong_addresses)
{
	struct kimg k;

	kimg_init(&k, &kimg_layouts[_i]);
	k.bytes[KIMG_BANNER_OFF] = 'l';
	check_refused(&k, "3001 names");
	check_refused(&k, "no table of their addresses");
	k.bytes[KIMG_BANNER_OFF] = 'L';
	/* not ascending */
	memset(k.bytes + k.addresses + 1000, 0x81, 16);
	check_refused(&k, "no table of their addresses");
	kimg_deinit(&k);
}
END_TEST

/* A kernel without CONFIG_KALLSYMS_ALL has no linux_banner. */
START_TEST(reads_functions_only)
{
	struct kimg k;
	struct hv_image image;
	struct hv_symbols s = {0};
	struct hv_err *err;
	size_t off;

	kimg_init(&k, &kimg_layouts[_i]);
	for (off = k.markers; memcmp(k.bytes + off, "linux_banner", 12) != 0;)
		off--;
	k.bytes[off] = 'L';
	strcpy(k.name[KIMG_NR - 1], "DLinux_banner");
	image = kimg_image(&k);
	err = hv_kallsyms_read(&image, &s);
	ck_assert_msg(!err, "%s: %s", kimg_layouts[_i].what, err ? err->message : "");
	check_symbols(&k, &s);
	hv_symbols_deinit(&s);
	image.text.start.v += 0x1000; /* _stext is no longer in text */
	err = hv_kallsyms_read(&image, &s);
	ck_assert_ptr_nonnull(err);
	hv_err_free(err);
	kimg_deinit(&k);
}
END_TEST

/* A name of 300 'z', which takes 300 tokens of one character. If longer tokens replace them, the
 * name is longer than in any kernel. */
START_TEST(refuses_endless_name)
{
	struct kimg k;
	struct hv_image image;
	struct hv_symbols s;
	struct hv_err *err;
	size_t off;

	kimg_init(&k, &kimg_layouts[_i]);
	if (k.layout->long_names) {
		for (off = k.names; memcmp(k.bytes + off, "zzzz", 4) != 0;)
			off++;
		memset(k.bytes + off, 0x80, 290); /* T__x64_sys_ */
		image = kimg_image(&k);
		err = hv_kallsyms_read(&image, &s);
		ck_assert_ptr_nonnull(err);
		ck_assert_ptr_nonnull(strstr(err->message, "do not expand"));
		hv_err_free(err);
	}
	kimg_deinit(&k);
}
END_TEST

/* More names than any kernel has, one letter each. The read must fail before it searches for their
 * addresses. */
START_TEST(refuses_millions_of_names)
{
	const uint32_t nr = 3000000, nr_markers = (nr + 255) / 256;
	const size_t names = 8 + KIMG_TEXT_BYTES, markers = (names + 2 * nr + 7) & ~7ull;
	const size_t tokens = (markers + 4 * nr_markers + 7) & ~7ull, index = tokens + 512;
	struct kimg k = {.bytes = hv_alloc(index + 512)};
	struct hv_image image = kimg_image(&k);
	struct hv_symbols s = {0};
	struct hv_err *err;

	memcpy(k.bytes + KIMG_TEXT_BYTES, &nr, 4);
	memset(k.bytes + names, 1, 2 * nr);
	for (uint32_t i = 0; i < nr_markers; i++)
		memcpy(k.bytes + markers + 4 * i, &(uint32_t){512 * i}, 4);
	for (unsigned i = 0; i < 256; i++) {
		k.bytes[tokens + 2 * i] = 't';
		memcpy(k.bytes + index + 2 * i, &(uint16_t){(uint16_t)(2 * i)}, 2);
	}
	image.bytes = k.bytes;
	image.len_bytes = index + 512;
	err = hv_kallsyms_read(&image, &s);
	ck_assert_ptr_nonnull(err);
	ck_assert_msg(strstr(err->message, "3000000 names: more than any kernel has"), "%s",
		      err->message);
	hv_err_free(err);
	free(k.bytes);
}
END_TEST

static bool is_cancelled(void *ctx)
{
	(void)ctx;
	return true;
}

START_TEST(is_interrupted)
{
	struct kimg k;
	struct hv_image image;
	struct hv_symbols s = {0};
	struct hv_err *err;

	kimg_init(&k, &kimg_layouts[_i]);
	image = kimg_image(&k);
	hv_cancel_when(is_cancelled, NULL);
	err = hv_kallsyms_read(&image, &s);
	hv_cancel_when(NULL, NULL);
	ck_assert_ptr_nonnull(err);
	ck_assert_int_eq(err->code, ECANCELED);
	hv_err_free(err);
	kimg_deinit(&k);
}
END_TEST

START_TEST(survives_truncation)
{
	struct kimg k;

	kimg_init(&k, &kimg_layouts[_i]);
	for (size_t len = 1; len < KIMG_BYTES; len += len / 7 + 1) {
		struct hv_image image = kimg_image(&k);
		struct hv_symbols s;

		image.bytes = hv_alloc(len);
		memcpy(image.bytes, k.bytes, len);
		image.len_bytes = len;
		image.all.end = hv_gva_add(image.all.start, len);
		if (len >= k.end)
			ck_assert_ptr_null(hv_kallsyms_read(&image, &s));
		else if (len < k.token_index + 512)
			hv_err_free(hv_kallsyms_read(&image, &s));
		if (len >= k.end)
			hv_symbols_deinit(&s);
		free(image.bytes);
	}
	kimg_deinit(&k);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, refuses_millions_of_names);
	tcase_add_test(tc, is_interrupted);
	int nr = HV_ARRAY_LEN(kimg_layouts);

	tcase_add_loop_test(tc, reads_layout, 0, nr);
	tcase_add_loop_test(tc, refuses_no_tokens, 0, nr);
	tcase_add_loop_test(tc, refuses_no_names, 0, nr);
	tcase_add_loop_test(tc, refuses_wrong_addresses, 0, nr);
	tcase_add_loop_test(tc, reads_functions_only, 0, nr);
	tcase_add_loop_test(tc, refuses_endless_name, 0, nr);
	tcase_add_loop_test(tc, survives_truncation, 0, nr);
	tcase_set_timeout(tc, 60);
}

int main(void)
{
	return run_suite("kallsyms", add_tests);
}
