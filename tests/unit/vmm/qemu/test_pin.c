/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The pin's image, and the monitor commands that set and clear the pin. */
#include <check.h>
#include <string.h>

#include "tests/lib/run_suite.h"
#include "vmm/qemu/pin.h"

/* A VMM with or without the node. WORKS: the node blocks migrations. */
struct vmm {
	bool has_node;
	bool works;
	bool refuses;
	bool lists; /* lists the reasons that block migrations */
	bool keeps; /* does not delete the node because it is in use */
	int major;
	unsigned nr_added;
	char added[512];
};

static void vmm_free(void *self)
{
	(void)self;
}

static const char *answer_to(struct vmm *v, const char *request)
{
	if (strstr(request, "\"query-version\""))
		return v->major < 6 ? "{\"return\": {\"qemu\": {\"major\": 5}}}"
				    : "{\"return\": {\"qemu\": {\"major\": 7}}}";
	if (strstr(request, "\"query-migrate\""))
		return v->has_node && v->works && v->lists
			       ? "{\"return\": {\"blocked-reasons\": [\"first\", \"The vpc format "
				 "used by node 'hvtrace-attached' does not support live "
				 "migration\"]}}"
		       : v->lists ? "{\"return\": {\"blocked-reasons\": [\"first\"]}}"
				  : "{\"return\": {}}";
	if (strstr(request, "\"blockdev-add\"")) {
		v->nr_added++;
		strncpy(v->added, request, sizeof(v->added) - 1);
		v->has_node = !v->refuses;
		return v->refuses ? "{\"error\": {\"class\": \"GenericError\", \"desc\": "
				    "\"disallowing migration blocker\"}}"
				  : "{\"return\": {}}";
	}
	if (strstr(request, "\"query-blockstats\""))
		return !strstr(request, "\"query-nodes\":true") ? "{\"return\": []}"
		       : v->has_node ? "{\"return\": [{\"node-name\": \"#block1\"}, {}, "
				       "{\"node-name\": \"hvtrace-attached\"}]}"
				     : "{\"return\": [{\"node-name\": \"#block1\"}]}";
	if (strstr(request, "\"blockdev-del\"") && v->has_node && !v->keeps) {
		v->has_node = false;
		return "{\"return\": {}}";
	}
	/* Only QEMU's text distinguishes the two errors. */
	return "{\"error\": {\"class\": \"GenericError\", \"desc\": \"in use or not there\"}}";
}

static struct hv_err *vmm_transact(void *self, const char *request, char **ret)
{
	*ret = hv_strdup(answer_to(self, request));
	return NULL;
}

static const struct hv_monitor_ops vmm_ops = {.free = vmm_free, .transact = vmm_transact};

START_TEST(image_is_a_fixed_disk)
{
	uint8_t image[HV_PIN_IMAGE_BYTES];
	uint8_t *footer = image + HV_PIN_IMAGE_BYTES - 512;
	uint32_t sum = 0, said;

	hv_pin_image(image);
	ck_assert_mem_eq(footer, "conectix", 8);
	ck_assert_uint_eq(footer[63], 2);
	ck_assert_uint_eq(footer[54] << 8 | footer[55], HV_PIN_IMAGE_BYTES - 512);
	ck_assert_uint_eq((footer[56] << 8 | footer[57]) * footer[58] * footer[59] * 512u,
			  HV_PIN_IMAGE_BYTES - 512);
	said = (uint32_t)footer[64] << 24 | (uint32_t)footer[65] << 16 | (uint32_t)footer[66] << 8 |
	       footer[67];
	memset(footer + 64, 0, 4);
	for (unsigned i = 0; i < 512; i++)
		sum += footer[i];
	ck_assert_uint_eq(said, ~sum);
}
END_TEST

START_TEST(set_and_cleared)
{
	struct vmm v = {.works = true, .lists = true, .major = 7};
	HV_AUTO_MONITOR struct hv_monitor *m = hv_monitor_new(&vmm_ops, &v);
	bool is_set = true;

	ck_assert_ptr_null(hv_pin_is_set(m, &is_set));
	ck_assert(!is_set);
	ck_assert_ptr_null(hv_pin_set(m, "/proc/self/fd/23"));
	ck_assert_ptr_nonnull(strstr(v.added, "\"filename\":\"\\/proc\\/self\\/fd\\/23\""));
	ck_assert_ptr_nonnull(strstr(v.added, "\"read-only\":true"));
	ck_assert_ptr_null(hv_pin_is_set(m, &is_set));
	ck_assert(is_set);
	ck_assert_ptr_null(hv_pin_clear(m));
	ck_assert(!v.has_node);
	ck_assert_ptr_null(hv_pin_clear(m));
}
END_TEST

START_TEST(a_node_that_stays_is_an_error)
{
	struct vmm v = {.has_node = true, .keeps = true};
	HV_AUTO_MONITOR struct hv_monitor *m = hv_monitor_new(&vmm_ops, &v);
	HV_AUTO_ERR struct hv_err *err = hv_pin_clear(m);

	ck_assert_ptr_nonnull(err);
	ck_assert_str_eq(err->message, "monitor: blockdev-del: in use or not there");
}
END_TEST

static void expect_failure(struct vmm *v, const char *says)
{
	HV_AUTO_MONITOR struct hv_monitor *m = hv_monitor_new(&vmm_ops, v);
	HV_AUTO_ERR struct hv_err *err = hv_pin_set(m, "/x");

	ck_assert_ptr_nonnull(err);
	ck_assert_ptr_nonnull(strstr(err->message, says));
	ck_assert(!v->has_node);
}

START_TEST(a_pin_must_block_migration)
{
	expect_failure(&(struct vmm){.refuses = true, .lists = true, .major = 7}, "disallowing");
	expect_failure(&(struct vmm){.works = false, .lists = true, .major = 7}, "does not block");
	expect_failure(&(struct vmm){.works = true, .lists = false, .major = 7}, "does not block");
}
END_TEST

/* A QEMU that does not list the reasons is trusted: the format has always blocked migrations. */
START_TEST(old_vmm)
{
	struct vmm v = {.works = true, .lists = false, .major = 5};
	HV_AUTO_MONITOR struct hv_monitor *m = hv_monitor_new(&vmm_ops, &v);

	ck_assert_ptr_null(hv_pin_set(m, "/x"));
	ck_assert(v.has_node);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, image_is_a_fixed_disk);
	tcase_add_test(tc, set_and_cleared);
	tcase_add_test(tc, a_node_that_stays_is_an_error);
	tcase_add_test(tc, a_pin_must_block_migration);
	tcase_add_test(tc, old_vmm);
}

int main(void)
{
	return run_suite("pin", add_tests);
}
