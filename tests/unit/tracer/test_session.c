/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Attach, detach and recover on a fake guest whose region is in its RAM, and how they refuse. */
#include <check.h>

#include "kernel/image/release.h"
#include "tests/lib/expect.h"
#include "tests/lib/part_guest.h"
#include "tests/lib/run_suite.h"
#include "tests/unit/tracer/fake_returns.h"
#include "tracer/guest/tracee.h"
#include "tracer/hooks/kernel_calls.h"
#include "tracer/session.h"

#define REGION_GPA  0xc00000ull /* after the kernel's image and modules */
#define WINDOW	    0xffffffffc0000000ull
#define PREALLOCATE (FK_BASE + 0x20000)
#define MSLEEP	    (FK_BASE + 0x21000)
#define SNAPSHOT    (FK_BASE + 0x30f80)
#define CALL	    (SNAPSHOT + 0x32)

static struct fr r;
static struct hv_guest *guest;
static unsigned nr_pins;

static struct hv_err *give_region(void *self hv_unused, struct hv_region *ret)
{
	*ret = (struct hv_region){.host = r.t.f.machine.ram + REGION_GPA,
				  .len_bytes = HV_REGION_LEN_MIN,
				  .gpa = {REGION_GPA}};
	return NULL;
}

static struct hv_err *pin(void *self hv_unused)
{
	nr_pins++;
	return NULL;
}

static struct hv_err *unpin(void *self hv_unused)
{
	nr_pins = 0;
	return NULL;
}

static struct hv_err *flush(void *self hv_unused, uint64_t off hv_unused, uint64_t len hv_unused)
{
	return NULL;
}

static void call(uint64_t at, uint64_t target)
{
	ck_assert(hv_arch_x86_64.encode_call(hv_gva(at), hv_gva(target), fk_host(&r.t.f, at)));
}

/* The kernel can hibernate. */
static void declare(struct fk *f)
{
	fk_symbol(f, "hibernate_preallocate_memory", PREALLOCATE);
	fk_symbol(f, "msleep", MSLEEP);
	fk_symbol(f, "hibernation_snapshot", SNAPSHOT);
	fk_symbol(f, "after_snapshot", SNAPSHOT + 0x100);
	fk_symbol(f, "pm_freezing", FK_DATA + 0x800);
}

static void setup(void)
{
	static struct hv_guest_ops ops = {.read = fr_read,
					  .region = give_region,
					  .pin = pin,
					  .unpin = unpin,
					  .hold_begin = fr_hold_begin,
					  .hold_registers = fr_hold_registers,
					  .hold_write = fr_hold_write,
					  .hold_flush_translations = flush,
					  .hold_end = fr_hold_end};

	fr_init_with(&r, declare);
	fk_u32(&r.t.f, r.t.use_tsc, 1);
	fk_u64(&r.t.f, r.t.pv_sched_clock, FK_BASE + 0x300);
	guest = part_guest_new(&ops, &r, hv_guest_info(r.t.f.machine.guest));
	r.t.f.k.guest = r.t.f.k.core.as.guest = guest;
	r.t.f.k.text.end.v -= HV_SITE_LEN_MAX;
	xm_map(&r.t.f.machine, r.t.f.k.core.as.root, 4, 2, hv_gva(FK_BASE), hv_gpa(FK_GPA), 1,
	       XM_W | XM_X);
	xm_map(&r.t.f.machine, r.t.f.k.core.as.root, 4, 2, hv_gva(WINDOW), hv_gpa(0), 1, XM_X);
	call(CALL, PREALLOCATE);
	call(CALL + 0x20, MSLEEP);
	nr_pins = 0;
}

static void teardown(void)
{
	r.t.f.k.guest = r.t.f.k.core.as.guest = r.guest;
	hv_guest_free(guest);
	fr_deinit(&r);
}

static struct hv_session *attach(void)
{
	struct hv_session *s = NULL;

	expect_success(hv_session_attach(guest, &r.t.f.k, &s));
	return s;
}

static void attach_fails(int code, const char *message)
{
	struct hv_session *s = NULL;

	expect_error(hv_session_attach(guest, &r.t.f.k, &s), code, message);
	ck_assert_ptr_null(s);
	ck_assert_uint_eq(nr_pins, 0);
}

static void detach(struct hv_session *s, const char *message)
{
	HV_AUTO_TEXT struct hv_text report = {0};

	expect_success(hv_session_detach(s, &report));
	ck_assert_msg(strstr(report.data, message), "%s", report.data);
	ck_assert_uint_eq(nr_pins, 0);
}

START_TEST(detach_restores_guest_memory)
{
	HV_AUTO_FREE uint8_t *before = hv_alloc(XM_RAM_BYTES);
	HV_AUTO_SESSION struct hv_session *s = NULL;

	memcpy(before, r.t.f.machine.ram, XM_RAM_BYTES);
	s = attach();
	ck_assert_uint_eq(nr_pins, 1);
	ck_assert_mem_ne(fk_host(&r.t.f, CALL), before + FK_GPA + (CALL - FK_BASE), 5);
	detach(s, "page-table entries emptied, translations flushed\n");
	ck_assert_mem_eq(r.t.f.machine.ram, before, REGION_GPA);
	ck_assert_mem_eq(r.t.f.machine.ram + REGION_GPA + HV_REGION_LEN_MIN,
			 before + REGION_GPA + HV_REGION_LEN_MIN,
			 XM_RAM_BYTES - REGION_GPA - HV_REGION_LEN_MIN);
}
END_TEST

/* Gives the kernel a copy of its image that is not the guest's own memory. Returns the image to put
 * back. */
static struct hv_image copy_image(void)
{
	struct hv_image *image = &r.t.f.k.core.image, own = *image;

	image->gpa = hv_gpa(FK_GPA);
	image->bytes = hv_alloc(own.len_bytes);
	memcpy(image->bytes, own.bytes, own.len_bytes);
	image->pages = hv_image_pages_new(guest);
	return own;
}

static void release_all(struct hv_session *s)
{
	for (unsigned i = 0; i < 2; i++)
		while (hv_session_release_memory(s))
			;
	ck_assert_uint_gt(hv_image_released_bytes(&r.t.f.k.core.image), 0);
}

/* Only pages that differ at places that no table names are reported as pages. */
START_TEST(detach_compares_released_text)
{
	static const char *const reports[] = {
		"bytes of kernel text compared, no changes by hvtrace left\n",
		"left; 1 place changed by the guest: after_snapshot+0xf80 "
		"(1 of them somewhere in a page of 4 KiB)\n",
	};
	struct hv_gva unknown = hv_gva(SNAPSHOT + 0x1100);
	struct hv_image own = copy_image();
	struct hv_session *s;

	*(uint8_t *)fk_host(&r.t.f, unknown.v) = r.t.f.k.core.image.bytes[unknown.v - FK_BASE] = 1;
	s = attach();
	release_all(s);
	ck_assert(!hv_image_is_changed(&r.t.f.k.core.image, unknown));
	if (_i == 1)
		*(uint8_t *)fk_host(&r.t.f, unknown.v) = 2;
	detach(s, reports[_i]);
	if (_i == 1)
		ck_assert(hv_image_is_changed(&r.t.f.k.core.image, unknown));
	hv_session_free(s);
	hv_image_deinit(&r.t.f.k.core.image);
	r.t.f.k.core.image = own;
}
END_TEST

START_TEST(a_kernel_that_puts_its_text_elsewhere)
{
	r.t.f.k.core.image.len_bytes = r.t.f.k.text.end.v - FK_BASE;
	attach_fails(EIO,
		     "kernel text: its symbols place it outside the kernel's image, so it cannot "
		     "be compared after detach");
}
END_TEST

/* The guest uses the page-table entries between the plan and the hold. */
static void use_entries(struct fr *fr)
{
	const struct hv_region_header *header = (void *)(fr->t.f.machine.ram + REGION_GPA);
	struct hv_gva at = hv_region_range(header).start;
	struct hv_mapping m;

	ck_assert_ptr_null(hv_walk_to_entry(&fr->t.f.k.core.as, at, &m));
	if (!m.entry)
		memset(fr->t.f.machine.ram + m.entry_gpa.v, 0x80, sizeof(m.entry));
}

START_TEST(page_table_entries_in_use)
{
	r.when_held = use_entries;
	attach_fails(EBUSY, "kernel page tables: the entries at 0x");
}
END_TEST

START_TEST(a_session_that_died)
{
	struct hv_session *s = attach(), *again = NULL;
	HV_AUTO_TEXT struct hv_text report = {0};
	struct hv_err *err;
	bool found = false;

	hv_session_free(s);
	err = hv_session_attach(guest, &r.t.f.k, &again);
	ck_assert(err && err->facts & HV_ERR_NEEDS_RECOVERY);
	expect_error(err, EEXIST, "region: an hvtrace that died left changes in the guest");
	expect_success(hv_session_recover(guest, &r.t.f.k, &report, &found));
	ck_assert(found);
	ck_assert_msg(strstr(report.data, "emptied, translations flushed"), "%s", report.data);
}
END_TEST

/* The new kernel maps nothing there. */
static void boot_again(const struct hv_gva_range *range)
{
	for (struct hv_gva at = range->start; at.v < range->end.v; at.v += 4096) {
		struct hv_mapping m;

		ck_assert_ptr_null(hv_walk_to_entry(&r.t.f.k.core.as, at, &m));
		memset(r.t.f.machine.ram + m.entry_gpa.v, 0, sizeof(m.entry));
	}
}

START_TEST(a_guest_that_was_rebooted)
{
	HV_AUTO_TEXT struct hv_text report = {0};
	struct hv_session *s = attach();
	bool found = false;

	expect_success(hv_session_alive(s));
	boot_again(&s->tracee->range);
	expect_error(hv_session_alive(s), ECONNRESET,
		     "the guest was rebooted: nothing of the session is left in it");
	hv_session_free(s);
	expect_success(hv_session_recover(guest, &r.t.f.k, &report, &found));
	ck_assert(found);
	ck_assert_str_eq(report.data, "the region's journal is of an earlier boot: cleared\n");
	ck_assert_uint_eq(nr_pins, 0);
}
END_TEST

static void change_call(struct fr *fr)
{
	*(uint8_t *)fk_host(&fr->t.f, CALL) = 0xcc;
}

/* The guest changes it between the plan and the hold. */
START_TEST(a_guest_that_changes_its_call)
{
	HV_AUTO_SESSION struct hv_session *s = attach();
	HV_AUTO_TEXT struct hv_text report = {0};
	uint8_t ours[5];

	memcpy(ours, fk_host(&r.t.f, CALL), sizeof(ours));
	r.when_held = change_call;
	expect_error(hv_session_detach(s, &report), EBUSY,
		     "the guest is changing its call at 0xffffffff81030fb2");
	r.when_held = NULL;
	memcpy(fk_host(&r.t.f, CALL), ours, sizeof(ours));
	detach(s, "emptied, translations flushed");
}
END_TEST

START_TEST(why_a_site_is_refused)
{
	HV_AUTO_SESSION struct hv_session *s = attach();
	struct hv_site site = {.ip = {FK_BASE + 0x10000}, .name = "f", .invalid = true};

	ck_assert_str_eq(hv_session_why_refused(s, &site), "the guest's kernel has disabled it");
	site.invalid = false;
	ck_assert_str_eq(hv_session_why_refused(s, &site), "the guest itself uses it");
	memcpy(fk_host(&r.t.f, site.ip.v), "\x0f\x1f\x44\x00\x00", 5);
	ck_assert_str_eq(hv_session_why_refused(s, &site), "it cannot be changed now");
	r.t.f.k.sites.entries = hv_alloc(sizeof(*r.t.f.k.sites.entries));
	ck_assert_str_eq(hv_session_why_refused(s, &site),
			 "the guest changed it, or has a kprobe there");
	free(hv_take(r.t.f.k.sites.entries));
	site.ip = hv_gva(0xffffffffa0000000);
	ck_assert_str_eq(hv_session_why_refused(s, &site), "its code is gone");
	detach(s, "");
}
END_TEST

START_TEST(reasons_not_to_follow_names)
{
	HV_AUTO_SESSION struct hv_session *s = attach();
	struct hv_arch arch = hv_arch_x86_64;

	ck_assert_str_eq(hv_session_why_names_stay(s),
			 "the call where the kernel gives a task its name was not found, or the"
			 " guest uses it");
	arch.trampolines.rename_off = 0;
	r.t.f.k.core.as.arch = &arch;
	ck_assert_str_eq(hv_session_why_names_stay(s), "following renames is not supported yet for"
						       " guests of this architecture");
	r.t.f.k.core.as.arch = &hv_arch_x86_64;
	detach(s, "");
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, detach_restores_guest_memory);
	tcase_add_loop_test(tc, detach_compares_released_text, 0, 2);
	tcase_add_test(tc, a_kernel_that_puts_its_text_elsewhere);
	tcase_add_test(tc, page_table_entries_in_use);
	tcase_add_test(tc, a_session_that_died);
	tcase_add_test(tc, a_guest_that_was_rebooted);
	tcase_add_test(tc, a_guest_that_changes_its_call);
	tcase_add_test(tc, why_a_site_is_refused);
	tcase_add_test(tc, reasons_not_to_follow_names);
}

int main(void)
{
	return run_suite("session", add_tests);
}
