/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The patcher, on a machine that is an array: what it writes and when, and what it leaves after an
 * error. */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "patcher/patcher.h"
#include "tests/lib/run_suite.h"

#define MEM_LEN	   (1U << 20)
#define TEXT_GPA   0x10000ULL
#define TEXT_GVA   0xffffffff81000000ULL
#define TEXT_LEN   0x10000ULL
#define MODULE_GVA 0xffffffffc0000000ULL
#define MODULE_GPA 0x40000ULL
#define ROOT_GPA   0x1000ULL

static const uint8_t nop[] = {0x0f, 0x1f, 0x44, 0x00, 0x00};

static struct machine {
	uint8_t mem[MEM_LEN];
	struct hv_vcpu_regs vcpu;
	unsigned held;
	bool journal_spoilt;
	unsigned nr_holds;
	size_t nr_text_writes;
	size_t fail_after; /* the text write that follows so many others fails */
	unsigned slow_us;  /* the time that each call for text takes, so that batches stay small */
	unsigned hold_times_out; /* holds up to the one with this number end by themselves */
	size_t hold_writes;	 /* in this hold */
	size_t hold_writes_max;	 /* a hold with more of them ends by itself, unless 0 */
	uint64_t held_ns;	 /* the age that each hold is said to have */
} machine;

static uint8_t *region_memory;
static struct hv_region region;
static struct hv_guest *guest;
static struct hv_address_space as;
static struct hv_patcher *patcher;

static struct hv_err *mem_read(void *self, struct hv_gpa gpa, void *buf, size_t len)
{
	struct machine *m = self;

	if (gpa.v > MEM_LEN || len > MEM_LEN - gpa.v)
		return hv_err_new(EFAULT, "no RAM");
	memcpy(buf, m->mem + gpa.v, len);
	return NULL;
}

static struct hv_err *hold_begin(void *self, uint64_t max_ns)
{
	struct machine *m = self;

	ck_assert_uint_gt(max_ns, 0);
	ck_assert_uint_eq(m->held, 0);
	m->held = 1;
	m->hold_writes = 0;
	m->nr_holds++;
	return NULL;
}

static struct hv_err *hold_end(void *self)
{
	struct machine *m = self;

	m->held = 0;
	if (m->hold_times_out >= m->nr_holds ||
	    (m->hold_writes_max && m->hold_writes > m->hold_writes_max))
		return hv_err_new(ETIMEDOUT, "the hold had ended");
	return NULL;
}

static uint64_t held_ns(void *self)
{
	return ((struct machine *)self)->held_ns;
}

static struct hv_err *hold_registers(void *self, struct hv_vcpu_regs *ret)
{
	struct machine *m = self;
	struct timespec registers = {.tv_nsec = (long)(m->held_ns / 3 * 2)};

	nanosleep(&registers, NULL);
	*ret = m->vcpu;
	return NULL;
}

/* The journal in the region knows every write before it is made. */
static bool journalled(const struct hv_hold_write *w)
{
	const struct hv_journal_entry *e = hv_region_journal(&region);

	for (uint32_t i = 0; i < hv_region_header(&region)->nr_entries; i++)
		if (e[i].state == HV_JOURNAL_USED && e[i].gpa == w->gpa.v &&
		    (memcmp(e[i].new_bytes, w->bytes, w->len_bytes) == 0 ||
		     memcmp(e[i].old_bytes, w->bytes, w->len_bytes) == 0))
			return true;
	return false;
}

static struct hv_err *hold_write(void *self, const struct hv_hold_write *writes, size_t nr)
{
	struct machine *m = self;

	ck_assert_uint_eq(m->held, 1);
	usleep(m->slow_us);
	m->hold_writes += nr;
	for (size_t i = 0; i < nr; i++) {
		if (m->nr_text_writes++ == m->fail_after)
			return hv_err_new(EIO, "the stub did not answer");
		ck_assert(m->journal_spoilt || journalled(&writes[i]));
		ck_assert(!i || writes[i - 1].gpa.v < writes[i].gpa.v);
		memcpy(m->mem + writes[i].gpa.v, writes[i].bytes, writes[i].len_bytes);
	}
	return NULL;
}

static const struct hv_guest_ops ops = {
	.read = mem_read,
	.hold_begin = hold_begin,
	.hold_end = hold_end,
	.held_ns = held_ns,
	.hold_registers = hold_registers,
	.hold_write = hold_write,
};

static void put_entry(uint64_t table, unsigned level, uint64_t gva, uint64_t to)
{
	struct hv_gpa at = hv_arch_x86_64.entry_at(hv_gpa(table), level, hv_gva(gva));
	uint64_t entry = to | 0x63;

	memcpy(machine.mem + at.v, &entry, sizeof(entry));
}

static void set_up(void)
{
	struct hv_guest_info info = {
		.name = "array",
		.id = "array",
		.arch = &hv_arch_x86_64,
		.nr_vcpus = 1,
		.transport = "an array",
	};

	memset(&machine, 0, sizeof(machine));
	machine.fail_after = SIZE_MAX;
	put_entry(ROOT_GPA, 4, MODULE_GVA, 0x2000);
	put_entry(0x2000, 3, MODULE_GVA, 0x3000);
	put_entry(0x3000, 2, MODULE_GVA, 0x4000);
	put_entry(0x4000, 1, MODULE_GVA, MODULE_GPA);
	for (uint64_t at = TEXT_GPA; at < TEXT_GPA + TEXT_LEN; at += 16)
		memcpy(machine.mem + at, nop, sizeof(nop));
	memcpy(machine.mem + MODULE_GPA, nop, sizeof(nop));

	region_memory = calloc(1, HV_REGION_LEN_MIN);
	region = (struct hv_region){{0x80000000}, region_memory, HV_REGION_LEN_MIN};
	guest = hv_guest_new(&ops, &machine, &info);
	as = (struct hv_address_space){guest, &hv_arch_x86_64, {ROOT_GPA}, 4};
	patcher = hv_patcher_new(&as, (struct hv_gva_range){{TEXT_GVA}, {TEXT_GVA + TEXT_LEN}},
				 &region);
}

static void tear_down(void)
{
	hv_patcher_free(patcher);
	hv_guest_free(guest);
	free(region_memory);
}

/* Changes the nop at the NRth site to a call. */
static struct hv_change patch(unsigned nr)
{
	uint64_t off = 16ULL * nr;
	struct hv_change c = {
		.gva = {TEXT_GVA + off},
		.gpa = {TEXT_GPA + off},
		.kind = HV_CHANGE_TEXT,
		.len_bytes = sizeof(nop),
	};

	memcpy(c.from, nop, sizeof(nop));
	ck_assert(hv_arch_x86_64.encode_call(c.gva, hv_gva(0xffffffff80401000), c.to));
	return c;
}

static void check_bytes(const struct hv_change *c, const uint8_t *bytes)
{
	ck_assert_mem_eq(machine.mem + c->gpa.v, bytes, c->len_bytes);
}

static void undo_all(void)
{
	struct hv_change *undo;
	size_t nr = hv_patcher_undo_plan(patcher, HV_CHANGE_TEXT, &undo);

	ck_assert_ptr_null(hv_patcher_apply(patcher, undo, nr));
	free(undo);
}

static struct hv_err *apply_held(struct hv_hold *hold, void *ctx)
{
	return hv_patcher_apply_held(patcher, hold, ctx, 3);
}

/* In the order in which they are given, but written in that of their addresses: hold_write() looks
 * at this. */
START_TEST(changes_of_one_hold_in_any_order)
{
	struct hv_change changes[] = {patch(3), patch(1), patch(2)};

	ck_assert_ptr_null(hv_patcher_held(patcher, apply_held, changes));
	ck_assert_uint_eq(changes[0].gpa.v, TEXT_GPA + 48);
	for (unsigned i = 0; i < 3; i++)
		check_bytes(&changes[i], changes[i].to);
	undo_all();
}
END_TEST

START_TEST(apply_and_undo)
{
	struct hv_change changes[] = {patch(3), patch(1)};
	uint8_t old_bytes[8];

	ck_assert_ptr_null(hv_patcher_apply(patcher, changes, 2));
	ck_assert_uint_eq(machine.held, 0);
	ck_assert_uint_eq(changes[0].gpa.v, TEXT_GPA + 16); /* sorted */
	check_bytes(&changes[0], changes[0].to);
	check_bytes(&changes[1], changes[1].to);
	ck_assert_uint_eq(hv_patcher_nr_patched(patcher, HV_CHANGE_TEXT), 2);
	ck_assert(hv_patcher_old_bytes(patcher, changes[0].gpa, old_bytes));
	ck_assert_mem_eq(old_bytes, nop, sizeof(nop));
	ck_assert(!hv_patcher_old_bytes(patcher, hv_gpa(TEXT_GPA), old_bytes));

	undo_all();
	check_bytes(&changes[0], nop);
	check_bytes(&changes[1], nop);
	ck_assert_uint_eq(hv_patcher_nr_patched(patcher, HV_CHANGE_TEXT), 0);
	for (unsigned i = 0; i < hv_region_header(&region)->nr_entries; i++)
		ck_assert_uint_eq(hv_region_journal(&region)[i].state, HV_JOURNAL_FREE);
}
END_TEST

START_TEST(a_changed_site_is_refused_alone)
{
	struct hv_change changes[] = {patch(0), patch(1)};

	machine.mem[TEXT_GPA] = 0xcc;
	ck_assert_ptr_null(hv_patcher_apply(patcher, changes, 2));
	ck_assert(changes[0].refused && !changes[1].refused);
	ck_assert_uint_eq(machine.mem[TEXT_GPA], 0xcc);
	check_bytes(&changes[1], changes[1].to);
	ck_assert_uint_eq(hv_patcher_nr_patched(patcher, HV_CHANGE_TEXT), 1);
}
END_TEST

START_TEST(a_site_with_a_vcpu_inside_is_refused)
{
	struct hv_change changes[] = {patch(0), patch(1)};

	machine.vcpu.ip = hv_gva(TEXT_GVA + 16 + (unsigned)_i);
	ck_assert_ptr_null(hv_patcher_apply(patcher, changes, 2));
	ck_assert(!changes[0].refused);
	ck_assert_uint_eq(changes[1].refused, _i > 0 && _i < 5);
}
END_TEST

START_TEST(after_an_error_every_byte_is_as_before)
{
	struct hv_change changes[1000];
	struct hv_err *err;
	uint8_t before[TEXT_LEN];

	memcpy(before, machine.mem + TEXT_GPA, TEXT_LEN);
	for (unsigned i = 0; i < 1000; i++)
		changes[i] = patch(i);
	machine.fail_after = 700; /* in a later batch than the first */
	err = hv_patcher_apply(patcher, changes, 1000);
	ck_assert_ptr_nonnull(err);
	ck_assert_ptr_nonnull(strstr(err->message, "nothing was changed"));
	hv_err_free(err);
	ck_assert_uint_gt(machine.nr_holds, 2);
	ck_assert_uint_eq(machine.held, 0);
	ck_assert_mem_eq(before, machine.mem + TEXT_GPA, TEXT_LEN);
	ck_assert_uint_eq(hv_patcher_nr_patched(patcher, HV_CHANGE_TEXT), 0);
}
END_TEST

START_TEST(an_error_of_an_undo_can_be_undone)
{
	HV_AUTO_FREE struct hv_change *undo = NULL;
	struct hv_change changes[1000];
	struct hv_err *err;
	size_t nr;

	for (unsigned i = 0; i < 1000; i++)
		changes[i] = patch(i);
	machine.slow_us = 20000;
	ck_assert_ptr_null(hv_patcher_apply(patcher, changes, 1000));
	machine.slow_us = 0;
	nr = hv_patcher_undo_plan(patcher, HV_CHANGE_TEXT, &undo);
	machine.fail_after = machine.nr_text_writes + 700; /* in a later batch than the first */
	err = hv_patcher_apply(patcher, undo, nr);
	ck_assert_ptr_nonnull(err);
	ck_assert_ptr_nonnull(strstr(err->message, "nothing was changed"));
	hv_err_free(err);
	ck_assert_uint_eq(hv_patcher_nr_patched(patcher, HV_CHANGE_TEXT), 1000);
	undo_all();
}
END_TEST

/* Holds are long because stops are slow, so more and smaller batches would not make them shorter.
 */
START_TEST(slow_stops_do_not_make_small_batches)
{
	struct hv_change changes[3000];

	for (unsigned i = 0; i < 3000; i++)
		changes[i] = patch(i);
	machine.held_ns = 15 * 1000 * 1000;
	ck_assert_ptr_null(hv_patcher_apply(patcher, changes, 3000));
	ck_assert_uint_le(machine.nr_holds, 20); /* 46 of the smallest size; 4 on an idle host */
}
END_TEST

START_TEST(changes_of_a_hold_that_ended_by_itself_are_undone)
{
	struct hv_change changes[] = {patch(0), patch(1)};
	struct hv_err *err;

	hv_patcher_set_patience(patcher, 0);
	machine.hold_times_out = 1;
	err = hv_patcher_apply(patcher, changes, 2);
	ck_assert_ptr_nonnull(err);
	ck_assert_int_eq(err->code, ETIMEDOUT);
	ck_assert_msg(strstr(err->message, "nothing was changed: tried 1 time in 0.") != NULL, "%s",
		      err->message);
	hv_err_free(err);
	ck_assert_mem_eq(machine.mem + TEXT_GPA, nop, sizeof(nop));
	ck_assert_mem_eq(machine.mem + TEXT_GPA + 16, nop, sizeof(nop));
	ck_assert_uint_eq(hv_patcher_nr_patched(patcher, HV_CHANGE_TEXT), 0);
}
END_TEST

/* The host is too slow for as many changes in a hold as the first one had. */
START_TEST(an_undo_whose_hold_ended_by_itself_is_tried_in_smaller_batches)
{
	struct hv_change changes[200];
	struct hv_err *err;

	for (unsigned i = 0; i < 200; i++)
		changes[i] = patch(i);
	hv_patcher_set_patience(patcher, 0);
	machine.hold_writes_max = 64;
	err = hv_patcher_apply(patcher, changes, 200);
	ck_assert(err && err->code == ETIMEDOUT);
	ck_assert_msg(strstr(err->message, "nothing was changed") != NULL, "%s", err->message);
	ck_assert_uint_eq(err->facts & HV_ERR_NEEDS_RECOVERY, 0);
	hv_err_free(err);
	for (unsigned i = 0; i < 200; i++)
		ck_assert_mem_eq(machine.mem + TEXT_GPA + 16 * i, nop, sizeof(nop));
	ck_assert_uint_eq(hv_patcher_nr_patched(patcher, HV_CHANGE_TEXT), 0);
}
END_TEST

/* The host is busy for a while. What a hold that ended by itself has made stays. */
START_TEST(what_a_hold_that_ended_by_itself_had_to_do_is_tried_again)
{
	struct hv_change changes[] = {patch(0), patch(1)};

	machine.hold_times_out = 3;
	ck_assert_ptr_null(hv_patcher_apply(patcher, changes, 2));
	ck_assert_uint_eq(machine.nr_holds, 4);
	ck_assert_mem_ne(machine.mem + TEXT_GPA, nop, sizeof(nop));
	ck_assert_mem_ne(machine.mem + TEXT_GPA + 16, nop, sizeof(nop));
	ck_assert_uint_eq(hv_patcher_nr_patched(patcher, HV_CHANGE_TEXT), 2);
}
END_TEST

START_TEST(what_the_caller_refused_stays_so_when_it_is_tried_again)
{
	struct hv_change changes[] = {patch(0), patch(1)};

	changes[1].refused = 1;
	machine.hold_times_out = 1;
	ck_assert_ptr_null(hv_patcher_apply(patcher, changes, 2));
	ck_assert_mem_ne(machine.mem + TEXT_GPA, nop, sizeof(nop));
	ck_assert_mem_eq(machine.mem + TEXT_GPA + 16, nop, sizeof(nop));
	ck_assert_uint_eq(hv_patcher_nr_patched(patcher, HV_CHANGE_TEXT), 1);
}
END_TEST

/* Before the second try. */
static bool set_breakpoint(void *ctx)
{
	unsigned *nr_asked = ctx;

	if (++*nr_asked == 2)
		machine.mem[TEXT_GPA] = 0xcc;
	return false;
}

/* The guest may have kept our bytes, and put them back when its breakpoint goes. */
START_TEST(what_the_guest_changed_between_two_tries_is_not_forgotten)
{
	struct hv_change changes[] = {patch(0), patch(1)};
	unsigned nr_asked = 0;
	struct hv_err *err;

	hv_patcher_set_stops(patcher, set_breakpoint, &nr_asked);
	machine.hold_times_out = 1;
	err = hv_patcher_apply(patcher, changes, 2);
	ck_assert(err && err->code == EBUSY);
	hv_err_free(err);
	ck_assert_uint_eq(machine.mem[TEXT_GPA], 0xcc);
	ck_assert_mem_eq(machine.mem + TEXT_GPA + 16, nop, sizeof(nop));
	ck_assert_uint_eq(hv_patcher_nr_patched(patcher, HV_CHANGE_TEXT), 1);
}
END_TEST

/* 256 are too many for a hold, 128, too, and 64 are not. */
START_TEST(a_hold_that_is_tried_again_has_less_to_do)
{
	struct hv_change changes[200];

	for (unsigned i = 0; i < 200; i++)
		changes[i] = patch(i);
	machine.hold_writes_max = 64;
	ck_assert_ptr_null(hv_patcher_apply(patcher, changes, 200));
	for (unsigned i = 0; i < 200; i++)
		ck_assert_mem_ne(machine.mem + TEXT_GPA + 16 * i, nop, sizeof(nop));
	ck_assert_uint_eq(hv_patcher_nr_patched(patcher, HV_CHANGE_TEXT), 200);
}
END_TEST

/* The parts that were made, those that a hold may have made, and those that were noted only, go
 * back. */
START_TEST(what_was_tried_again_in_vain_is_undone)
{
	struct hv_change changes[200];
	struct hv_err *err;

	for (unsigned i = 0; i < 200; i++)
		changes[i] = patch(i);
	machine.hold_writes_max = 64;
	machine.fail_after = 200 + 100 + 64 + 10; /* in the second batch of those that fit */
	err = hv_patcher_apply(patcher, changes, 200);
	ck_assert(err && err->code == EIO);
	ck_assert_uint_eq(err->facts & HV_ERR_NEEDS_RECOVERY, 0);
	hv_err_free(err);
	for (unsigned i = 0; i < 200; i++)
		ck_assert_mem_eq(machine.mem + TEXT_GPA + 16 * i, nop, sizeof(nop));
	ck_assert_uint_eq(hv_patcher_nr_patched(patcher, HV_CHANGE_TEXT), 0);
}
END_TEST

START_TEST(an_undo_leaves_what_the_guest_changed)
{
	struct hv_change change = patch(0);
	struct hv_change *undo;

	ck_assert_ptr_null(hv_patcher_apply(patcher, &change, 1));
	machine.mem[TEXT_GPA] = 0xcc;
	ck_assert_uint_eq(hv_patcher_undo_plan(patcher, HV_CHANGE_TEXT, &undo), 1);
	ck_assert_ptr_null(hv_patcher_apply(patcher, undo, 1));
	ck_assert(undo[0].refused);
	free(undo);
	ck_assert_uint_eq(machine.mem[TEXT_GPA], 0xcc);
	ck_assert_uint_eq(hv_patcher_nr_patched(patcher, HV_CHANGE_TEXT), 1);
}
END_TEST

START_TEST(module_text_is_translated_again)
{
	struct hv_change change = patch(0);

	change.gva = hv_gva(MODULE_GVA);
	change.gpa = hv_gpa(MODULE_GPA);
	ck_assert_ptr_null(hv_patcher_apply(patcher, &change, 1));
	ck_assert(!change.refused);
	undo_all();

	change = patch(0);
	change.gva = hv_gva(MODULE_GVA);
	change.gpa = hv_gpa(MODULE_GPA);
	put_entry(0x4000, 1, MODULE_GVA, 0x50000); /* unloaded, and another module was loaded */
	ck_assert_ptr_null(hv_patcher_apply(patcher, &change, 1));
	ck_assert(change.refused);
	ck_assert_mem_eq(machine.mem + MODULE_GPA, nop, sizeof(nop));
}
END_TEST

/* The ways in which a module can be removed: it is unmapped, other memory is in its place, or it
 * was loaded again into the same memory. */
static const struct {
	uint64_t entry_to;
	bool old_bytes;
	size_t left;
} gone[] = {
	{0, false, 0},
	{0x50000, false, 0},
	{MODULE_GPA, true, 0},
	{MODULE_GPA, false, 1}, /* it did not go */
};

START_TEST(what_the_guest_took_away_is_forgotten)
{
	struct hv_change changes[] = {patch(0), patch(1)};

	changes[1].gva = hv_gva(MODULE_GVA);
	changes[1].gpa = hv_gpa(MODULE_GPA);
	ck_assert_ptr_null(hv_patcher_apply(patcher, changes, 2));
	if (gone[_i].entry_to)
		put_entry(0x4000, 1, MODULE_GVA, gone[_i].entry_to);
	else
		memset(machine.mem + 0x4000, 0, 4096);
	if (gone[_i].old_bytes)
		memcpy(machine.mem + MODULE_GPA, nop, sizeof(nop));
	hv_patcher_forget_gone(patcher);
	ck_assert_uint_eq(hv_patcher_nr_patched(patcher, HV_CHANGE_TEXT), 1 + gone[_i].left);
}
END_TEST

/* Two modules that are loaded again in the other order get each other's pages. Their text is new,
 * and it is mapped at another address than the journal's entry for this memory has. */
START_TEST(memory_of_a_freed_module_is_undone_where_it_is_now)
{
	const uint64_t other_gva = MODULE_GVA + 0x1000;
	struct hv_change change = patch(0);

	change.gva = hv_gva(MODULE_GVA);
	change.gpa = hv_gpa(MODULE_GPA);
	ck_assert_ptr_null(hv_patcher_apply(patcher, &change, 1));

	put_entry(0x4000, 1, MODULE_GVA, 0x50000);
	put_entry(0x4000, 1, other_gva, MODULE_GPA);
	memcpy(machine.mem + MODULE_GPA, nop, sizeof(nop));
	change = patch(0);
	change.gva = hv_gva(other_gva);
	change.gpa = hv_gpa(MODULE_GPA);
	ck_assert_ptr_null(hv_patcher_apply(patcher, &change, 1));
	ck_assert(!change.refused);

	undo_all();
	ck_assert_mem_eq(machine.mem + MODULE_GPA, nop, sizeof(nop));
	ck_assert_uint_eq(hv_patcher_nr_patched(patcher, HV_CHANGE_TEXT), 0);
}
END_TEST

START_TEST(a_freed_module_is_forgotten)
{
	struct hv_change changes[] = {patch(0), patch(1)};

	changes[1].gva = hv_gva(MODULE_GVA);
	changes[1].gpa = hv_gpa(MODULE_GPA);
	ck_assert_ptr_null(hv_patcher_apply(patcher, changes, 2));
	hv_patcher_forget_gone(patcher);
	ck_assert_uint_eq(hv_patcher_nr_patched(patcher, HV_CHANGE_TEXT), 2);

	put_entry(0x4000, 1, MODULE_GVA, 0x50000);
	hv_patcher_forget_gone(patcher);
	ck_assert_uint_eq(hv_patcher_nr_patched(patcher, HV_CHANGE_TEXT), 1);
	undo_all();
	ck_assert_mem_eq(machine.mem + TEXT_GPA, nop, sizeof(nop));
	ck_assert_uint_eq(hv_patcher_nr_patched(patcher, HV_CHANGE_TEXT), 0);
}
END_TEST

START_TEST(text_that_will_be_freed_is_forgotten)
{
	struct hv_change changes[] = {patch(0), patch(1), patch(3)};
	uint8_t poison[8] = {0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc};

	ck_assert_ptr_null(hv_patcher_apply(patcher, changes, 3));
	hv_patcher_forget(patcher, (struct hv_gva_range){changes[1].gva, changes[2].gva});
	ck_assert_uint_eq(hv_patcher_nr_patched(patcher, HV_CHANGE_TEXT), 2);
	memcpy(machine.mem + changes[1].gpa.v, poison, sizeof(nop));
	undo_all();
	check_bytes(&changes[0], nop);
	check_bytes(&changes[1], poison);
	check_bytes(&changes[2], nop);
	ck_assert_uint_eq(hv_patcher_nr_patched(patcher, HV_CHANGE_TEXT), 0);
}
END_TEST

START_TEST(a_journal_is_adopted)
{
	struct hv_change changes[] = {patch(0), patch(1), patch(2)};
	HV_AUTO_FREE struct hv_journal_entry *copy = hv_alloc(3 * sizeof(*copy));
	uint32_t nr;

	ck_assert_ptr_null(hv_patcher_apply(patcher, changes, 3));
	nr = hv_region_header(&region)->nr_entries;
	ck_assert_uint_eq(nr, 3);
	memcpy(copy, hv_region_journal(&region), 3 * sizeof(*copy));
	hv_patcher_free(patcher); /* as if the service had died */
	patcher = hv_patcher_new(&as, (struct hv_gva_range){{TEXT_GVA}, {TEXT_GVA + TEXT_LEN}},
				 &region);
	copy[1].state = HV_JOURNAL_FREE; /* not believed */
	hv_patcher_adopt(patcher, copy, nr);
	ck_assert_uint_eq(hv_patcher_nr_patched(patcher, HV_CHANGE_TEXT), 2);
	undo_all();
	check_bytes(&changes[0], nop);
	check_bytes(&changes[1], changes[1].to);
	check_bytes(&changes[2], nop);
}
END_TEST

START_TEST(the_regions_journal_is_not_believed)
{
	struct hv_change change = patch(0);

	ck_assert_ptr_null(hv_patcher_apply(patcher, &change, 1));
	/* the guest's root writes into the region while we are attached */
	machine.journal_spoilt = true;
	memset(hv_region_journal(&region), 0xff, 4096);
	hv_region_header(&region)->nr_entries = UINT32_MAX;
	undo_all();
	check_bytes(&change, nop);
}
END_TEST

START_TEST(another_boot_is_not_written)
{
	struct hv_change change = patch(0);
	struct hv_err *err;

	/* the array's module page takes the place of the region */
	hv_patcher_bind(patcher, hv_gva(MODULE_GVA), hv_gpa(MODULE_GPA));
	machine.vcpu.levels = 4;
	machine.vcpu.root = ROOT_GPA;
	ck_assert_ptr_null(hv_patcher_apply(patcher, &change, 1));
	undo_all();

	/* after a reset: firmware runs, and the old kernel's bytes are still in memory */
	machine.vcpu.levels = 0;
	machine.vcpu.root = 0;
	err = hv_patcher_apply(patcher, &change, 1);
	ck_assert_ptr_nonnull(err);
	ck_assert_int_eq(err->code, ECONNRESET);
	hv_err_free(err);
	check_bytes(&change, nop);

	/* the guest runs a guest of its own, whose tables lead to nothing of ours */
	change = patch(0);
	machine.vcpu.levels = 4;
	machine.vcpu.root = 0x8000;
	err = hv_patcher_apply(patcher, &change, 1);
	ck_assert_ptr_nonnull(err);
	ck_assert_int_eq(err->code, EBUSY);
	hv_err_free(err);
	check_bytes(&change, nop);

	/* the next kernel has the same text at the same place, and other tables where ours were */
	change = patch(0);
	put_entry(0x4000, 1, MODULE_GVA, 0x50000);
	err = hv_patcher_apply(patcher, &change, 1);
	ck_assert_ptr_nonnull(err);
	ck_assert_int_eq(err->code, ECONNRESET);
	hv_err_free(err);
	check_bytes(&change, nop);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, apply_and_undo);
	tcase_add_test(tc, changes_of_one_hold_in_any_order);
	tcase_add_test(tc, a_changed_site_is_refused_alone);
	tcase_add_loop_test(tc, a_site_with_a_vcpu_inside_is_refused, 0, 6);
	tcase_add_test(tc, after_an_error_every_byte_is_as_before);
	tcase_add_test(tc, an_error_of_an_undo_can_be_undone);
	tcase_add_test(tc, slow_stops_do_not_make_small_batches);
	tcase_add_test(tc, changes_of_a_hold_that_ended_by_itself_are_undone);
	tcase_add_test(tc, an_undo_whose_hold_ended_by_itself_is_tried_in_smaller_batches);
	tcase_add_test(tc, what_a_hold_that_ended_by_itself_had_to_do_is_tried_again);
	tcase_add_test(tc, what_the_caller_refused_stays_so_when_it_is_tried_again);
	tcase_add_test(tc, what_the_guest_changed_between_two_tries_is_not_forgotten);
	tcase_add_test(tc, a_hold_that_is_tried_again_has_less_to_do);
	tcase_add_test(tc, what_was_tried_again_in_vain_is_undone);
	tcase_add_test(tc, an_undo_leaves_what_the_guest_changed);
	tcase_add_test(tc, module_text_is_translated_again);
	tcase_add_loop_test(tc, what_the_guest_took_away_is_forgotten, 0, HV_ARRAY_LEN(gone));
	tcase_add_test(tc, memory_of_a_freed_module_is_undone_where_it_is_now);
	tcase_add_test(tc, a_freed_module_is_forgotten);
	tcase_add_test(tc, text_that_will_be_freed_is_forgotten);
	tcase_add_test(tc, a_journal_is_adopted);
	tcase_add_test(tc, the_regions_journal_is_not_believed);
	tcase_add_test(tc, another_boot_is_not_written);
}

int main(void)
{
	return run_suite("patcher", add_tests);
}
