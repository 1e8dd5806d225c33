/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Plugging an event into a tracepoint and taking it out again, whatever the guest did meanwhile. */
#include "tests/lib/run_suite.h"
#include "tests/unit/kernel/fake_tracepoint.h"
#include "tests/unit/tracer/fake_returns.h"
#include "tracer/plug.h"

#define INDEX 5
#define ARRAY (FR_RANGE + HV_REGION_PROBES_OFF - HV_REGION_STUBS_OFF + INDEX * 64 + 16)
#define FILE_ (FR_RANGE + HV_REGION_FILES_OFF - HV_REGION_STUBS_OFF + INDEX * 128)

static struct fr r;
static struct fk *const f = &r.t.f;
static struct ftp tp;
static struct hv_plug plug;
static struct hv_tracepoint_layout layout;
static uint8_t before[FTP_NR * 0x100];

static void set_up(void)
{
	static const struct hv_guest_ops ops = {.read = fr_read,
						.hold_begin = fr_hold_begin,
						.hold_registers = fr_hold_registers,
						.hold_write = fr_hold_write};
	struct hv_tracee *t = &r.tracee;

	r = (struct fr){0};
	fk_init(f);
	ftp_declare(&tp, f);
	fk_done(f);
	ftp_make(&tp);
	r.guest = hv_guest_new(&ops, &r, hv_guest_info(f->machine.guest));
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
	plug = (struct hv_plug){&tp.type, INDEX};
	memcpy(before, fk_host(f, FTP_CODE), sizeof(before));
}

static void tear_down(void)
{
	hv_patcher_free(r.tracee.patcher);
	hv_guest_free(r.guest);
	free(r.tracee.region.host);
	fk_deinit(f);
}

static uint64_t word_at(uint64_t gva)
{
	uint64_t word;

	memcpy(&word, fk_host(f, gva), sizeof(word));
	return word;
}

static struct hv_err *plan(bool in, struct hv_plug_changes *ret)
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

static struct hv_plug_step step_of(bool in)
{
	return (struct hv_plug_step){.plug = in ? &plug : NULL, .tp = tp.type.tracepoint};
}

/* Plans and makes one step, of NR changes. */
static void apply(bool in, size_t nr)
{
	struct hv_plug_step step = step_of(in);
	struct hv_err *err;

	hv_plug_step_plan(&r.tracee, &layout, &step);
	ck_assert_msg(!step.why_not, "%s", step.why_not ? step.why_not->message : "");
	ck_assert_uint_eq(step.changes.nr, nr);
	err = hv_plug_steps_make(&r.tracee, &layout, &step, 1);
	ck_assert_msg(!err, "%s", err ? err->message : "");
	ck_assert(step.is_made && !step.why_not);
	hv_plug_steps_deinit(&step, 1);
}

static void fails(bool in, int code, const char *words)
{
	struct hv_plug_changes c = {0};
	struct hv_err *err = plan(in, &c);

	ck_assert(err != NULL);
	ck_assert_msg(err->code == code && strstr(err->message, words), "%s", err->message);
	ck_assert_ptr_null(c.list);
	hv_err_free(err);
}

static bool jumps(unsigned n)
{
	bool ret = false;
	size_t len =
		hv_arch_x86_64.classify_jump_site(fk_host(f, FTP_PLACE(n)), hv_gva(FTP_PLACE(n)),
						  hv_gva(FTP_PLACE(n) + FTP_TARGET), &ret);

	ck_assert_uint_eq(len, n == FTP_SHORT ? 2 : 5);
	return ret;
}

static void check_off(void)
{
	ck_assert_uint_eq(word_at(tp.type.tracepoint.funcs.v), 0);
	ck_assert_uint_eq(word_at(tp.type.tracepoint.key.v), 0);
	ck_assert_mem_eq(fk_host(f, FTP_CODE), before, sizeof(before));
	ck_assert_uint_eq(hv_patcher_nr_patched(r.tracee.patcher, HV_CHANGE_KEY), 0);
	ck_assert_uint_eq(hv_patcher_nr_patched(r.tracee.patcher, HV_CHANGE_PLUG), 0);
}

START_TEST(in_and_out)
{
	hv_plug_prepare(&r.tracee, &layout, &plug);
	apply(true, 2 + FTP_NR - 1);
	ck_assert_uint_eq(word_at(tp.type.tracepoint.funcs.v), ARRAY);
	ck_assert_uint_eq((uint32_t)word_at(tp.type.tracepoint.key.v), 1);
	for (unsigned i = 0; i < FTP_NR - 1; i++)
		ck_assert(jumps(i));
	ck_assert_mem_eq(fk_host(f, FTP_PLACE(FTP_INIT)), before + 0x100 * FTP_INIT, 8);
	apply(false, 2 + FTP_NR - 1);
	check_off();
	apply(true, 2 + FTP_NR - 1);
	apply(false, 2 + FTP_NR - 1);
	check_off();
}
END_TEST

/* The array is ours, as the guest would see it. */
START_TEST(what_the_guest_is_given)
{
	const uint8_t *array = r.tracee.region.host + HV_REGION_PROBES_OFF + INDEX * 64;
	const uint8_t *file = r.tracee.region.host + HV_REGION_FILES_OFF + INDEX * 128;
	uint64_t words[8];

	memset(r.tracee.region.host + HV_REGION_PROBES_OFF, 0x5a, 4096);
	memset(r.tracee.region.host + HV_REGION_FILES_OFF, 0x5a, 4096);
	hv_plug_prepare(&r.tracee, &layout, &plug);
	memcpy(words, array, sizeof(words));
	ck_assert_uint_eq(words[0] | words[1], 0);
	ck_assert_uint_eq(words[2], FTP_PROBE);
	ck_assert_uint_eq(words[3], FILE_);
	ck_assert_uint_eq(words[4], 10);
	ck_assert_uint_eq(words[5] | words[6] | words[7], 0);
	memcpy(words, file, sizeof(words));
	ck_assert_uint_eq(words[0], 314);
	ck_assert_uint_eq(file[72], 0);
	ck_assert_uint_eq(array[-1], 0x5a);
	ck_assert_uint_eq(array[64], 0x5a);
	ck_assert_uint_eq(file[-1], 0x5a);
	ck_assert_uint_eq(file[128], 0x5a);
}
END_TEST

/* The guest has copied the entry into an array of its own. */
static void guest_has(unsigned nr_others)
{
	unsigned n = 0;

	fk_u64(f, tp.type.tracepoint.funcs.v, tp.array);
	for (unsigned i = 0; i < nr_others; i++)
		ftp_put_probe(&tp, tp.array, n++, FTP_OTHER + i, 0x1000 + i);
	ftp_put_probe(&tp, tp.array, n, FTP_PROBE, FILE_);
}

START_TEST(out_when_the_guest_came_and_went)
{
	apply(true, 2 + FTP_NR - 1);
	guest_has(0);
	apply(false, 3 + FTP_NR - 1);
	check_off();
	ck_assert_uint_eq(word_at(tp.array), FTP_STUB); /* a vCPU may be reading it */
	apply(false, 0);
}
END_TEST

START_TEST(out_while_the_guest_is_in)
{
	apply(true, 2 + FTP_NR - 1);
	guest_has(2);
	fk_u32(f, tp.type.tracepoint.key.v, 1);
	apply(false, 1);
	ck_assert_uint_eq(word_at(tp.type.tracepoint.funcs.v), tp.array);
	ck_assert_uint_eq(word_at(tp.array + 2 * 24), FTP_STUB);
	ck_assert_uint_eq(word_at(tp.array + 2 * 24 + 8), FILE_); /* the iterator may load it yet */
	ck_assert_uint_eq(word_at(tp.array), FTP_OTHER);
	for (unsigned i = 0; i < FTP_NR - 1; i++)
		ck_assert(jumps(i));
	apply(false, 0);
}
END_TEST

START_TEST(a_place_that_came_with_a_module)
{
	uint64_t at = tp.table + FTP_INIT * 16;

	apply(true, 2 + FTP_NR - 1);
	guest_has(0);
	fk_u64(f, at + 8, tp.type.tracepoint.key.v - (at + 8));
	memcpy(fk_host(f, FTP_PLACE(FTP_INIT)), "\xeb\x3e", 2);
	apply(false, 3 + FTP_NR);
	ck_assert_mem_eq(fk_host(f, FTP_PLACE(FTP_INIT)), ftp_short_nop, sizeof(ftp_short_nop));
}
END_TEST

START_TEST(out_without_a_journal)
{
	apply(true, 2 + FTP_NR - 1);
	guest_has(0);
	hv_patcher_free(r.tracee.patcher);
	r.tracee.patcher = hv_patcher_new(&f->k.core.as, f->k.core.image.all, &r.tracee.region);
	fails(false, EUCLEAN, "had before is not known");
}
END_TEST

START_TEST(what_is_in_use_or_contradicts_itself)
{
	struct hv_tracepoint *p = &tp.type.tracepoint;

	fk_u64(f, p->funcs.v, ARRAY);
	fails(true, EBUSY, "by another event");
	guest_has(1);
	fails(true, EBUSY, "the guest itself");
	fk_u32(f, p->key.v, 2);
	guest_has(0);
	fails(false, EINVAL, "its key says 2");
	fk_u64(f, p->funcs.v, 0);
	fails(true, EINVAL, "is on (2)");
	fk_u32(f, p->key.v, 0);
	fk_u64(f, tp.static_call, FTP_OTHER);
	fails(true, EBUSY, "static call");
	fk_u64(f, tp.static_call, FTP_PROBE);
	memcpy(fk_host(f, FTP_PLACE(FTP_SHORT)), "\xeb\x3e", 2);
	fails(true, EINVAL, "is off, and");
	memcpy(fk_host(f, FTP_PLACE(FTP_SHORT)), ftp_short_nop, 2);
	apply(true, 2 + FTP_NR - 1);
}
END_TEST

/* Plans and makes one step. */
static struct hv_err *make(bool in)
{
	struct hv_plug_step step = step_of(in);
	struct hv_err *err;

	hv_plug_step_plan(&r.tracee, &layout, &step);
	err = hv_plug_steps_make(&r.tracee, &layout, &step, 1);
	if (!err)
		err = hv_take(step.why_not);
	ck_assert(step.is_made == !err);
	hv_plug_steps_deinit(&step, 1);
	return err;
}

static void in_fails(const char *words)
{
	struct hv_err *err = make(true);

	ck_assert(err != NULL);
	ck_assert_msg(err->code == EBUSY && strstr(err->message, words), "%s", err->message);
	hv_err_free(err);
	check_off();
}

START_TEST(in_one_hold_or_not_at_all)
{
	hv_plug_prepare(&r.tracee, &layout, &plug);
	fk_u64(f, tp.locks[2], 1);
	in_fails("has jump_label_mutex locked");
	fk_u64(f, tp.locks[2], 0);
	r.regs[1].ip = hv_gva(FTP_PLACE(1) + 1);
	in_fails("is in use");
	r.regs[1].ip = hv_gva(FTP_PLACE(1));
	ck_assert_ptr_null(make(true));
	ck_assert_uint_eq(word_at(tp.type.tracepoint.funcs.v), ARRAY);
	ck_assert(jumps(0) && jumps(1) && jumps(2));
	ck_assert_uint_eq(hv_patcher_holds(r.tracee.patcher)->nr, 3);
	ck_assert_ptr_null(make(false));
	check_off();
	ck_assert_ptr_null(make(false));
	check_off();
}
END_TEST

/* The guest changes it between the plan and the hold. */
START_TEST(what_changed_since_the_plan_is_planned_again)
{
	struct hv_plug_step step = step_of(true);
	uint64_t words[] = {tp.type.tracepoint.funcs.v, tp.type.tracepoint.key.v,
			    tp.type.tracepoint.key.v + 8, tp.static_call};
	uint64_t was = word_at(words[_i]);

	hv_plug_prepare(&r.tracee, &layout, &plug);
	hv_plug_step_plan(&r.tracee, &layout, &step);
	fk_u64(f, words[_i], was + 16);
	ck_assert_ptr_null(hv_plug_steps_make(&r.tracee, &layout, &step, 1));
	ck_assert(step.why_not && step.why_not->code == EBUSY && !step.is_made);
	ck_assert_ptr_nonnull(strstr(step.why_not->message, "changes its tracepoint"));
	fk_u64(f, words[_i], was);
	check_off();
	hv_plug_step_plan(&r.tracee, &layout, &step);
	ck_assert_ptr_null(hv_plug_steps_make(&r.tracee, &layout, &step, 1));
	ck_assert(step.is_made);
	hv_plug_steps_deinit(&step, 1);
	apply(false, 2 + FTP_NR - 1);
	check_off();
}
END_TEST

/* -- recover ----------------------------------------------------------------------------------- */

static size_t writes_left; /* before the process that writes is killed */

static struct hv_err *write_until_killed(void *self, const struct hv_hold_write *writes, size_t nr)
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

/* Another process takes over the journal, of which the private copy is gone. */
static void take_over(void)
{
	const struct hv_region_header *header = hv_region_header(&r.tracee.region);
	static struct hv_journal_entry entries[64];
	uint32_t nr = header->nr_entries;

	ck_assert_uint_le(nr, HV_ARRAY_LEN(entries));
	memcpy(entries, hv_region_journal(&r.tracee.region), nr * sizeof(*entries));
	for (uint32_t i = 0; i < nr; i++) {
		bool knows = false;

		if (entries[i].state == HV_JOURNAL_USED && entries[i].kind == HV_CHANGE_KEY)
			ck_assert_ptr_null(hv_plugs_know_place(&r.tracee, &entries[i], &knows));
		if (!knows)
			entries[i].state = HV_JOURNAL_FREE;
	}
	hv_patcher_free(r.tracee.patcher);
	r.tracee.patcher = hv_patcher_new(&f->k.core.as, f->k.core.image.all, &r.tracee.region);
	hv_patcher_adopt(r.tracee.patcher, entries, nr);
}

static size_t find_and_take_out(void)
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

static void make_guest_that_kills(void)
{
	static const struct hv_guest_ops ops = {.read = fr_read,
						.hold_begin = fr_hold_begin,
						.hold_registers = fr_hold_registers,
						.hold_write = write_until_killed};

	hv_guest_free(r.guest);
	r.guest = hv_guest_new(&ops, &r, hv_guest_info(f->machine.guest));
	f->k.guest = f->k.core.as.guest = r.tracee.guest = r.guest;
	hv_patcher_free(r.tracee.patcher);
	r.tracee.patcher = hv_patcher_new(&f->k.core.as, f->k.core.image.all, &r.tracee.region);
}

static void is_as_before(void)
{
	ck_assert_uint_eq(word_at(tp.type.tracepoint.funcs.v), 0);
	ck_assert_uint_eq((uint32_t)word_at(tp.type.tracepoint.key.v), 0);
	ck_assert_mem_eq(fk_host(f, FTP_CODE), before, sizeof(before));
}

#define NR_CHANGES (2u + FTP_NR - 1)

/* Killed after N of the NR writes that plug it in, and then of those that take it out. The one who
 * recovers may be killed likewise. */
static void kill_after(unsigned n, unsigned nr)
{
	make_guest_that_kills();
	hv_plug_prepare(&r.tracee, &layout, &plug);
	writes_left = n;
	if (n <= nr) {
		hv_err_free(make(true));
	} else {
		ck_assert_ptr_null(make(true));
		hv_err_free(make(false));
	}
	take_over();
	writes_left = n % 3;
	if (n % 2)
		hv_err_free(make(false));
	take_over();
	writes_left = SIZE_MAX;
	find_and_take_out();
	is_as_before();
	ck_assert_uint_eq(find_and_take_out(), 0);
}

START_TEST(killed_between_any_two_writes)
{
	kill_after((unsigned)_i, NR_CHANGES);
}
END_TEST

START_TEST(what_is_ours_is_found)
{
	hv_plug_prepare(&r.tracee, &layout, &plug);
	ck_assert_uint_eq(find_and_take_out(), 0);
	apply(true, NR_CHANGES);
	guest_has(2);
	take_over();
	ck_assert_uint_eq(find_and_take_out(), 1);
	ck_assert_uint_eq(word_at(tp.array + 2 * 24), FTP_STUB);
	ck_assert_uint_eq(find_and_take_out(), 0);
	guest_has(0);
	take_over();
	ck_assert_uint_eq(find_and_take_out(), 1);
	fk_u64(f, tp.array, 0);
	is_as_before();
	fk_u64(f, tp.type.tracepoint.funcs.v, FK_BASE - 0x1000); /* nothing is mapped there */
	ck_assert_uint_eq(find_and_take_out(), 0);
}
END_TEST

static bool knows(struct hv_journal_entry e)
{
	bool ret;

	ck_assert_ptr_null(hv_plugs_know_place(&r.tracee, &e, &ret));
	return ret;
}

/* The guest's root can write the journal. */
START_TEST(only_a_nop_is_believed)
{
	struct hv_journal_entry good = {.gva = FTP_PLACE(0), .kind = HV_CHANGE_KEY, .len_bytes = 5};
	struct hv_journal_entry e;
	struct hv_mapping m;

	ck_assert_ptr_null(hv_walk(&f->k.core.as, hv_gva(FTP_PLACE(0)), &m));
	good.gpa = m.gpa.v;
	memcpy(good.old_bytes, ftp_nop, sizeof(ftp_nop));
	ck_assert(knows(good));
	e = good;
	e.len_bytes = 2;
	ck_assert(!knows(e));
	e = good;
	e.gpa += 8;
	ck_assert(!knows(e));
	e = good;
	e.gva = 0x1000;
	ck_assert(!knows(e));
	e = good;
	memset(e.old_bytes, 0xcc, sizeof(e.old_bytes));
	ck_assert(!knows(e));
	e = good;
	e.len_bytes = 2;
	memcpy(e.old_bytes, "\xeb\xfe", 2); /* a jump to itself */
	ck_assert(!knows(e));
}
END_TEST

/* Makes the tracepoint one of system calls. OTHER: the address of the second one. */
static void be_of_syscalls(uint64_t count, uint64_t other)
{
	struct hv_tracepoint *p = &tp.type.tracepoint;

	p->reg = hv_gva(FTP_OTHER);
	p->unreg = hv_gva(FTP_OTHER + 0x10);
	layout.has_syscalls = true;
	layout.syscalls = (struct hv_syscall_work){.reg = p->reg,
						   .unreg = p->unreg,
						   .count = hv_gva(count),
						   .tracepoints = {p->at, hv_gva(other)}};
}

START_TEST(system_calls_are_counted_as_the_kernel_does)
{
	uint64_t count = fk_alloc(f, 16), other = fk_alloc(f, FTP_LEN);

	be_of_syscalls(count, other);
	fk_u32(f, count + 4, 77);
	hv_plug_prepare(&r.tracee, &layout, &plug);
	apply(true, NR_CHANGES + 1);
	ck_assert_uint_eq(word_at(count), 1 | 77ull << 32);
	apply(false, NR_CHANGES + 1);
	ck_assert_uint_eq(word_at(count), 77ull << 32);
	check_off();
	fk_u32(f, other + layout.key, 1);
	fails(true, EINVAL, "the kernel counts 0 of 1");
	fk_u32(f, count, 1); /* the guest's own */
	apply(true, NR_CHANGES + 1);
	ck_assert_uint_eq((uint32_t)word_at(count), 2);
	fk_u32(f, other + layout.key, 0); /* it went */
	fk_u32(f, count, 1);
	apply(false, NR_CHANGES + 1);
	ck_assert_uint_eq((uint32_t)word_at(count), 0);
	check_off();
	fk_u32(f, other + layout.key, 1);
	fk_u32(f, count, 1);
	apply(true, NR_CHANGES + 1);
	guest_has(1); /* the guest's probe keeps it on */
	apply(false, 1);
	ck_assert_uint_eq((uint32_t)word_at(count), 2);
}
END_TEST

/* Gives the tracepoint a key in common with OTHER. That has the place in init code, which is no
 * such place any more. Returns the key. */
static uint64_t have_common_key(uint64_t other)
{
	uint64_t key = fk_alloc(f, 16), entry = tp.table + FTP_INIT * 16;
	struct hv_tracepoint *p = &tp.type.tracepoint;

	p->reg = hv_gva(FTP_OTHER);
	p->unreg = hv_gva(FTP_OTHER + 0x10);
	layout.has_common = true;
	layout.common = (struct hv_common_key){.reg = p->reg,
					       .unreg = p->unreg,
					       .key = hv_gva(key),
					       .tracepoints = {p->at, hv_gva(other)}};
	fk_u64(f, key + 8, entry);
	fk_u64(f, entry + 8, key - (entry + 8));
	memcpy(fk_host(f, FTP_PLACE(FTP_INIT)), ftp_nop, sizeof(ftp_nop));
	memcpy(before, fk_host(f, FTP_CODE), sizeof(before));
	return key;
}

START_TEST(a_key_in_common_is_on_while_any_is)
{
	uint64_t other = fk_alloc(f, FTP_LEN), key = have_common_key(other);

	hv_plug_prepare(&r.tracee, &layout, &plug);
	apply(true, NR_CHANGES + 2);
	ck_assert_uint_eq((uint32_t)word_at(key), 1);
	ck_assert(jumps(0) && jumps(FTP_INIT));
	apply(false, NR_CHANGES + 2);
	ck_assert_uint_eq((uint32_t)word_at(key), 0);
	check_off();
	fk_u32(f, other + layout.key, 1);
	fails(true, EINVAL, "the kernel counts 0 of 1");
	fk_u32(f, key, 1);
	fails(true, EINVAL, "does not jump");
	ck_assert(hv_arch_x86_64.encode_jump(hv_gva(FTP_PLACE(FTP_INIT)),
					     hv_gva(FTP_PLACE(FTP_INIT) + FTP_TARGET),
					     fk_host(f, FTP_PLACE(FTP_INIT))));
	apply(true, NR_CHANGES + 1); /* the other one has it on */
	ck_assert_uint_eq((uint32_t)word_at(key), 2);
	apply(false, NR_CHANGES + 1);
	ck_assert_uint_eq((uint32_t)word_at(key), 1);
	ck_assert(!jumps(0) && jumps(FTP_INIT));
}
END_TEST

START_TEST(a_key_in_common_goes_off_with_the_last)
{
	uint64_t other = fk_alloc(f, FTP_LEN), key = have_common_key(other);

	hv_plug_prepare(&r.tracee, &layout, &plug);
	apply(true, NR_CHANGES + 2);
	fk_u32(f, other + layout.key, 1); /* the guest's came, and went when we had gone */
	fk_u32(f, key, 2);
	apply(false, NR_CHANGES + 1);
	ck_assert(!jumps(0) && jumps(FTP_INIT));
	ck_assert_uint_eq((uint32_t)word_at(key), 1);
	apply(true, NR_CHANGES + 1);
	fk_u32(f, other + layout.key, 0);
	fk_u32(f, key, 1);
	apply(false, NR_CHANGES + 2); /* the bytes are those from before the first time */
	ck_assert_uint_eq((uint32_t)word_at(key), 0);
	check_off();
	memcpy(fk_host(f, FTP_PLACE(FTP_INIT)), "\xeb\x3e", 2);
	fails(true, EINVAL, "is off, and");
}
END_TEST

/* Nothing of ours was ever in its places, of which one is shorter than those of the tracepoint. */
START_TEST(a_key_in_common_that_the_guest_had_on)
{
	uint64_t other = fk_alloc(f, FTP_LEN), key = have_common_key(other);
	uint64_t entry = tp.table + FTP_SHORT * 16;

	fk_u64(f, key + 8, entry);
	fk_u64(f, entry + 8, key - (entry + 8));
	fk_u32(f, other + layout.key, 1);
	fk_u32(f, key, 1);
	memcpy(fk_host(f, FTP_PLACE(FTP_SHORT)), "\xeb\x3e", 2);
	ck_assert(hv_arch_x86_64.encode_jump(hv_gva(FTP_PLACE(FTP_INIT)),
					     hv_gva(FTP_PLACE(FTP_INIT) + FTP_TARGET),
					     fk_host(f, FTP_PLACE(FTP_INIT))));
	hv_plug_prepare(&r.tracee, &layout, &plug);
	apply(true, NR_CHANGES);
	fk_u32(f, other + layout.key, 0);
	fk_u32(f, key, 1);
	apply(false, NR_CHANGES + 2);
	ck_assert_uint_eq((uint32_t)word_at(key), 0);
	check_off();
}
END_TEST

/* Another tracepoint with the key is on, or not. */
START_TEST(killed_with_a_key_in_common)
{
	uint64_t other = fk_alloc(f, FTP_LEN), key = have_common_key(other);
	unsigned is_on = (unsigned)_i % 2;

	if (is_on) {
		fk_u32(f, other + layout.key, 1);
		fk_u32(f, key, 1);
		ck_assert(hv_arch_x86_64.encode_jump(hv_gva(FTP_PLACE(FTP_INIT)),
						     hv_gva(FTP_PLACE(FTP_INIT) + FTP_TARGET),
						     fk_host(f, FTP_PLACE(FTP_INIT))));
		memcpy(before, fk_host(f, FTP_CODE), sizeof(before));
	}
	kill_after((unsigned)_i / 2, NR_CHANGES + 2 - is_on);
	ck_assert_uint_eq((uint32_t)word_at(key), is_on);
}
END_TEST

static void refused(const char *words)
{
	struct hv_err *err = hv_plug_check(&f->k, &layout, &tp.type);

	ck_assert(err != NULL);
	ck_assert_msg(err->code == EOPNOTSUPP && strstr(err->message, words), "%s", err->message);
	hv_err_free(err);
	fails(true, EOPNOTSUPP, words);
}

START_TEST(what_is_refused_with_a_reason)
{
	ck_assert_ptr_null(hv_plug_check(&f->k, &layout, &tp.type));
	tp.type.tracepoint.reg = hv_gva(FTP_STUB);
	refused("by a function of its own, tp_stub_func");
	tp.type.tracepoint.reg = hv_gva(FTP_OTHER);
	refused("by a function of its own");
	tp.type.tracepoint.reg = hv_gva(0);
	tp.type.reg_kind = HV_EVENT_REG_OTHER;
	refused("by a function of its own");
	tp.type.reg_kind = HV_EVENT_REG_PROBESTUB;
	ck_assert_ptr_null(hv_plug_check(&f->k, &layout, &tp.type));
	tp.type.reg_kind = HV_EVENT_REG_TRACEPOINT;
	be_of_syscalls(fk_alloc(f, 16), fk_alloc(f, FTP_LEN));
	ck_assert_ptr_null(hv_plug_check(&f->k, &layout, &tp.type));
	layout.has_syscalls = false;
	refused("by a function of its own");
	have_common_key(fk_alloc(f, FTP_LEN));
	ck_assert_ptr_null(hv_plug_check(&f->k, &layout, &tp.type));
	layout.common.tracepoints[0] = layout.common.tracepoints[1]; /* some other one */
	refused("by a function of its own");
	tp.type.tracepoint.reg = tp.type.tracepoint.unreg = hv_gva(0);
	layout.file_flags = 121;
	refused("is not known");
	layout.file_flags = 72;
	layout.probe_len_bytes = 32;
	refused("is not known");
}
END_TEST

static struct hv_err *check_held(struct hv_hold *hold, void *ctx)
{
	const enum hv_plug_sleepers *sleepers = ctx;

	return hv_plugs_check_unused(&r.tracee, hold, *sleepers, NULL);
}

static enum hv_plug_sleepers sleepers;

static void check_unused(const char *words)
{
	struct hv_err *err = hv_patcher_held(r.tracee.patcher, check_held, &sleepers);

	ck_assert_msg(!err == !words, "%s", err ? err->message : "nobody");
	if (words)
		ck_assert_msg(err->code == EBUSY && strstr(err->message, words), "%s",
			      err->message);
	hv_err_free(err);
}

/* Places of the region, as the guest sees them: a file, an array, a draft, and what is beside. */
static const struct {
	uint64_t off;
	bool counts;
} words[] = {
	{HV_REGION_FILES_OFF, true},	       {HV_REGION_FILES_END - 1, true},
	{HV_REGION_FILES_OFF - 1, false},      {HV_REGION_FILES_END, false},
	{HV_REGION_PROBES_OFF + 16, true},     {HV_REGION_STACKS_OFF - 8, true},
	{HV_REGION_PROBES_OFF - 8, false},     {HV_REGION_STACKS_OFF, false},
	{HV_REGION_STACKS_OFF + 0x1000, true}, {HV_REGION_STACKS_OFF + 0x1000 + 8 * 4096, false},
};

START_TEST(who_uses_a_plug_still)
{
	uint64_t word = FR_RANGE + words[_i].off - HV_REGION_STUBS_OFF;

	sleepers = HV_PLUG_NO_SLEEPERS;
	tear_down(); /* for a guest that has tasks */
	fr_init(&r);
	r.tracee.plan.nr_cpus = 2;
	r.tracee.plan.drafts_off = HV_REGION_STACKS_OFF + 0x1000;
	check_unused(NULL);
	r.regs[1].general[3] = word;
	check_unused(words[_i].counts ? "vCPU 1 has a plug's memory in a register" : NULL);
	r.regs[1].general[3] = 0;
	ft_push(&r.t, r.task, FR_SLEEP_FROM + 0x80, word);
	check_unused(NULL); /* it cannot have been switched out in a probe */
	sleepers = HV_PLUG_SLEEPERS;
	check_unused(words[_i].counts ? "task 71 (cat) has a plug's memory" : NULL);
	ft_push(&r.t, r.task, FR_SLEEP_FROM + 0x80, 0);
	ft_push(&r.t, r.task, FR_SLEEP_FROM - 0x80, word); /* left over */
	check_unused(NULL);
	fr_deinit(&r);
	set_up();
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, in_and_out);
	tcase_add_test(tc, what_the_guest_is_given);
	tcase_add_test(tc, out_when_the_guest_came_and_went);
	tcase_add_test(tc, out_while_the_guest_is_in);
	tcase_add_test(tc, a_place_that_came_with_a_module);
	tcase_add_test(tc, out_without_a_journal);
	tcase_add_test(tc, what_is_in_use_or_contradicts_itself);
	tcase_add_test(tc, in_one_hold_or_not_at_all);
	tcase_add_loop_test(tc, what_changed_since_the_plan_is_planned_again, 0, 4);
	tcase_add_loop_test(tc, killed_between_any_two_writes, 0, 2 * NR_CHANGES + 2);
	tcase_add_test(tc, what_is_ours_is_found);
	tcase_add_test(tc, only_a_nop_is_believed);
	tcase_add_test(tc, system_calls_are_counted_as_the_kernel_does);
	tcase_add_test(tc, a_key_in_common_is_on_while_any_is);
	tcase_add_test(tc, a_key_in_common_goes_off_with_the_last);
	tcase_add_test(tc, a_key_in_common_that_the_guest_had_on);
	tcase_add_loop_test(tc, killed_with_a_key_in_common, 0, 4 * (NR_CHANGES + 3));
	tcase_add_test(tc, what_is_refused_with_a_reason);
	tcase_add_loop_test(tc, who_uses_a_plug_still, 0, HV_ARRAY_LEN(words));
}

int main(void)
{
	return run_suite("plug", add_tests);
}
