/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A traced fake guest with a tracepoint that an event is plugged into and taken out of, and
 * processes that are killed in between. The state belongs to the running test. */
#pragma once

#include "tests/lib/part_guest.h"
#include "tests/unit/kernel/events/fake_tracepoint.h"
#include "tests/unit/tracer/fake_returns.h"
#include "tracer/tracepoints/plug.h"

#define FP_INDEX      5
#define FP_ARRAY_OFF  (HV_REGION_CALLBACKS_OFF + FP_INDEX * HV_REGION_ARRAY_BYTES)
#define FP_ARRAY      (FR_RANGE + FP_ARRAY_OFF - HV_REGION_TRAMPOLINES_OFF + 16)
#define FP_FILE	      (FR_RANGE + HV_REGION_FILES_OFF - HV_REGION_TRAMPOLINES_OFF + FP_INDEX * 128)
#define FP_NR_CHANGES (2u + FTP_NR - 1)

static struct fr r;
static struct fk *const f = &r.t.f;
static struct ftp tp;
static struct hv_plug plug;
static struct hv_tracepoint_layout layout;
static uint8_t before[FTP_NR * 0x100];

static inline void fp_set_up_as(bool is_old)
{
	static struct hv_guest_ops ops = {.read = fr_read,
					  .hold_begin = fr_hold_begin,
					  .hold_registers = fr_hold_registers,
					  .hold_write = fr_hold_write};
	struct hv_tracee *t = &r.tracee;

	r = (struct fr){0};
	fk_init(f);
	ftp_declare_as(&tp, f, is_old);
	fk_done(f);
	ftp_make(&tp);
	r.guest = part_guest_new(&ops, &r, hv_guest_info(f->machine.guest));
	f->k.guest = f->k.core.as.guest = r.guest;
	t->guest = r.guest;
	t->kernel = &f->k;
	t->range = (struct hv_gva_range){hv_gva(FR_RANGE), hv_gva(FR_RANGE + FR_RANGE_LEN)};
	t->region = (struct hv_region){.host = hv_alloc(HV_REGION_LEN_MIN),
				       .len_bytes = HV_REGION_LEN_MIN};
	t->patcher = hv_patcher_new(&f->k.core.as, f->k.core.image.all, &t->region);
	for (unsigned i = 0; i < 2; i++)
		r.regs[i] = (struct hv_vcpu_regs){
			.ip = hv_gva(0x401000), .root = f->k.core.as.root.v, .levels = 4};
	ck_assert_ptr_null(hv_tracepoint_layout_find(&f->k, &layout));
	plug = (struct hv_plug){&tp.type, FP_INDEX};
	memcpy(before, fk_host(f, FTP_CODE), sizeof(before));
}

static inline void fp_set_up(void)
{
	fp_set_up_as(false);
}

static inline void fp_tear_down(void)
{
	hv_patcher_free(r.tracee.patcher);
	hv_guest_free(r.guest);
	free(r.tracee.region.host);
	fk_deinit(f);
}

static inline uint64_t fp_word_at(uint64_t gva)
{
	uint64_t word;

	memcpy(&word, fk_host(f, gva), sizeof(word));
	return word;
}

static inline struct hv_err *fp_plan(bool in, struct hv_plug_changes *ret)
{
	struct hv_tracepoint_state state;
	struct hv_err *err = hv_tracepoint_state_read(&f->k, &layout, &tp.type.tracepoint,
						      r.tracee.range, &state);

	ck_assert_ptr_null(err);
	err = in ? hv_plug_plan(&r.tracee, &layout, &plug, &state, ret)
		 : hv_unplug_plan(&r.tracee, &layout, &tp.type.tracepoint, &state, ret);
	hv_tracepoint_state_deinit(&state);
	return err;
}

static inline struct hv_plug_step fp_step_of(bool in)
{
	return (struct hv_plug_step){.plug = in ? &plug : NULL, .tp = tp.type.tracepoint};
}

/* Plans and makes one step of NR changes. */
static inline void fp_apply(bool in, size_t nr)
{
	struct hv_plug_step step = fp_step_of(in);
	struct hv_err *err;

	hv_plug_step_plan(&r.tracee, &layout, &step);
	ck_assert_msg(!step.why_not, "%s", step.why_not ? step.why_not->message : "");
	ck_assert_uint_eq(step.changes.nr, nr);
	err = hv_plug_steps_make(&r.tracee, &layout, &step, 1);
	ck_assert_msg(!err, "%s", err ? err->message : "");
	ck_assert(step.is_made && !step.why_not);
	hv_plug_steps_deinit(&step, 1);
}

static inline void fp_fails(bool in, int code, const char *words)
{
	struct hv_plug_changes c = {0};
	struct hv_err *err = fp_plan(in, &c);

	ck_assert(err != NULL);
	ck_assert_msg(err->code == code && strstr(err->message, words), "%s", err->message);
	ck_assert_ptr_null(c.list);
	hv_err_free(err);
}

static inline bool fp_jumps(unsigned n)
{
	bool ret = false;
	size_t len = hv_arch_x86_64.classify_jump_site(fk_host(f, FTP_SITE(n)), hv_gva(FTP_SITE(n)),
						       hv_gva(FTP_SITE(n) + FTP_TARGET), &ret);

	ck_assert_uint_eq(len, n == FTP_SHORT ? 2 : 5);
	return ret;
}

static inline void fp_check_nothing_is_noted(void)
{
	ck_assert_uint_eq(hv_patcher_nr_patched(r.tracee.patcher, HV_CHANGE_KEY), 0);
	ck_assert_uint_eq(hv_patcher_nr_patched(r.tracee.patcher, HV_CHANGE_PLUG), 0);
	ck_assert_uint_eq(hv_patcher_nr_patched(r.tracee.patcher, HV_CHANGE_STATIC_CALL), 0);
}

static inline void fp_check_off(void)
{
	ck_assert_uint_eq(fp_word_at(tp.type.tracepoint.funcs.v), 0);
	ck_assert_uint_eq(fp_word_at(tp.type.tracepoint.key.v), 0);
	ck_assert_mem_eq(fk_host(f, FTP_CODE), before, sizeof(before));
	fp_check_nothing_is_noted();
}

/* The guest has copied hvtrace's entry into its own array. */
static inline void fp_guest_has(unsigned nr_others)
{
	unsigned n = 0;

	fk_u64(f, tp.type.tracepoint.funcs.v, tp.array);
	for (unsigned i = 0; i < nr_others; i++)
		ftp_put_callback(&tp, tp.array, n++, FTP_OTHER + i, 0x1000 + i);
	ftp_put_callback(&tp, tp.array, n, FTP_CALLBACK, FP_FILE);
}

/* Plans and makes one step. */
static inline struct hv_err *fp_make(bool in)
{
	struct hv_plug_step step = fp_step_of(in);
	struct hv_err *err;

	hv_plug_step_plan(&r.tracee, &layout, &step);
	err = hv_plug_steps_make(&r.tracee, &layout, &step, 1);
	if (!err)
		err = hv_take(step.why_not);
	ck_assert(step.is_made == !err);
	hv_plug_steps_deinit(&step, 1);
	return err;
}

/* -- killed ------------------------------------------------------------------------------------ */

static size_t writes_left; /* writes before the writing process is killed */

static inline struct hv_err *fp_write_until_killed(void *self, const struct hv_hold_write *writes,
						   size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		struct hv_err *err;

		if (!writes_left)
			return hv_err_new(EIO, "killed");
		writes_left--;
		err = fr_hold_write(self, &writes[i], 1);
		if (err)
			return err;
	}
	return NULL;
}

/* Another process takes over the journal. The private copy is lost. */
static inline void fp_take_over(void)
{
	const struct hv_region_header *header = hv_region_header(&r.tracee.region);
	static struct hv_journal_entry entries[64];
	uint32_t nr = header->nr_entries;

	ck_assert_uint_le(nr, HV_ARRAY_LEN(entries));
	memcpy(entries, hv_region_journal(&r.tracee.region), nr * sizeof(*entries));
	for (uint32_t i = 0; i < nr; i++) {
		bool knows = false;

		if (entries[i].state == HV_JOURNAL_USED &&
		    (entries[i].kind == HV_CHANGE_KEY || entries[i].kind == HV_CHANGE_STATIC_CALL))
			ck_assert_ptr_null(hv_plugs_know_change(&r.tracee, &entries[i], &knows));
		if (!knows)
			entries[i].state = HV_JOURNAL_FREE;
	}
	hv_patcher_free(r.tracee.patcher);
	r.tracee.patcher = hv_patcher_new(&f->k.core.as, f->k.core.image.all, &r.tracee.region);
	hv_patcher_adopt(r.tracee.patcher, entries, nr);
}

static inline size_t fp_find_and_take_out(void)
{
	struct hv_plug_step *steps;
	struct hv_err *err;
	size_t nr;

	ck_assert_ptr_null(hv_plugs_find(&r.tracee, &layout, &steps, &nr));
	for (size_t i = 0; i < nr; i++) {
		hv_plug_step_plan(&r.tracee, &layout, &steps[i]);
		ck_assert_msg(!steps[i].why_not, "%s",
			      steps[i].why_not ? steps[i].why_not->message : "");
	}
	err = hv_plug_steps_make(&r.tracee, &layout, steps, nr);
	ck_assert_msg(!err, "%s", err ? err->message : "");
	hv_plug_steps_deinit(steps, nr);
	free(steps);
	return nr;
}

static inline void fp_make_guest_that_kills(void)
{
	static struct hv_guest_ops ops = {.read = fr_read,
					  .hold_begin = fr_hold_begin,
					  .hold_registers = fr_hold_registers,
					  .hold_write = fp_write_until_killed};

	hv_guest_free(r.guest);
	r.guest = part_guest_new(&ops, &r, hv_guest_info(f->machine.guest));
	f->k.guest = f->k.core.as.guest = r.tracee.guest = r.guest;
	hv_patcher_free(r.tracee.patcher);
	r.tracee.patcher = hv_patcher_new(&f->k.core.as, f->k.core.image.all, &r.tracee.region);
}

static inline void fp_is_as_before(void)
{
	ck_assert_uint_eq(fp_word_at(tp.type.tracepoint.funcs.v), 0);
	ck_assert_uint_eq((uint32_t)fp_word_at(tp.type.tracepoint.key.v), 0);
	ck_assert_mem_eq(fk_host(f, FTP_CODE), before, sizeof(before));
}

/* Killed after N of the NR writes that plug it in, and then of those that take it out. */
static inline void fp_be_killed_after(unsigned n, unsigned nr)
{
	fp_make_guest_that_kills();
	hv_plug_prepare(&r.tracee, &plug);
	writes_left = n;
	if (n <= nr) {
		hv_err_free(fp_make(true));
	} else {
		ck_assert_ptr_null(fp_make(true));
		hv_err_free(fp_make(false));
	}
}

/* The recovering process may be killed as well. */
static inline void fp_recover_after(unsigned n)
{
	fp_take_over();
	writes_left = n % 3;
	if (n % 2)
		hv_err_free(fp_make(false));
	fp_take_over();
	writes_left = SIZE_MAX;
	fp_find_and_take_out();
}

static inline void fp_kill_after(unsigned n, unsigned nr)
{
	fp_be_killed_after(n, nr);
	fp_recover_after(n);
	fp_is_as_before();
	ck_assert_uint_eq(fp_find_and_take_out(), 0);
}

/* -- with the guest's own users ---------------------------------------------------------------- */

/* The guest has enabled it itself, with NR_OTHERS callbacks. Its static call calls the only
 * callback, or the iterator. */
static inline void fp_guest_is_on(unsigned nr_others)
{
	for (unsigned i = 0; i < nr_others; i++)
		ftp_put_callback(&tp, tp.array, i, FTP_OTHER + i, 0x1000 + i);
	for (unsigned i = 0; i < nr_others; i++)
		fk_u32(f, tp.array + i * 24 + 16, 10);
	fk_u64(f, tp.type.tracepoint.funcs.v, tp.array);
	fk_u32(f, tp.type.tracepoint.key.v, 1);
	ftp_jump(&tp);
	ftp_lead(&tp, nr_others == 1 ? FTP_OTHER : FTP_ITERATOR);
}
