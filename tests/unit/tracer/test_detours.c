/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Instructions of a guest that are replaced by jumps to detours: what is written where, what is put
 * back, what the guest's own kprobes forbid, and what recover believes. */
#include <check.h>

#include "tests/lib/run_suite.h"
#include "tests/unit/tracer/fake_returns.h"
#include "tracer/detours_code.h"
#include "tracer/section_modules.h"

#define COUNT	  0x1fb88ull
#define INC	  (FK_BASE + 0x40000)
#define ADD	  (FK_BASE + 0x40100) /* 11 bytes */
#define IDLE	  (FK_BASE + 0x40200) /* a call */
#define ENTER	  (FK_BASE + 0x40300)
#define ENTRY	  (FK_BASE + 0x40400) /* the entry code, 0x100 bytes */
#define BACK	  (ENTRY + 0x10)      /* a jump in it */
#define ENTRY_END (ENTRY + 0x100)
#define CLI	  (FK_BASE + 0x40600) /* with its nop */
#define NR	  5u
#define REGION	  0x1000000ull
#define DETOUR(n) (FR_RANGE + 0x10000 + (n)*HV_DETOUR_LEN)

static struct fr r;
static struct hv_detours *detours;
static struct hv_detour_want wants[NR];
static uint8_t before[NR][16];

static struct hv_detour_want count_at(uint64_t at, const char *code, size_t len)
{
	struct hv_detour_want want = {.kind = HV_DETOUR_BEGINS, .at = hv_gva(at), .len_bytes = len};
	int32_t disp = (int32_t)(COUNT - (at + len));

	memcpy(want.insn, code, len);
	memcpy(want.insn + 3, &disp, sizeof(disp));
	memcpy(fk_host(&r.t.f, at), want.insn, len);
	ck_assert(hv_arch_x86_64.classify_count((struct hv_span){want.insn, len}, hv_gva(at), COUNT,
						&want.count));
	return want;
}

static void symbols(void)
{
	fk_symbol(&r.t.f, "tick_nohz_idle_enter", ENTER);
	fk_symbol(&r.t.f, "__entry_text_start", ENTRY);
	fk_symbol(&r.t.f, "__entry_text_end", ENTRY_END);
	hv_symbols_index(&r.t.f.k.core.symbols);
}

static void set_up(void)
{
	fr_init(&r);
	r.tracee.region.gpa = hv_gpa(REGION);
	r.t.f.k.layout.preempt_count_percpu = COUNT;
	xm_map(&r.t.f.machine, r.t.f.k.core.as.root, 4, 2, hv_gva(FK_BASE), hv_gpa(FK_GPA), 1,
	       XM_W | XM_X);
	symbols();
	memset(fk_host(&r.t.f, INC), 0xc3, 0x400);
	wants[0] = count_at(INC, "\x65\xff\x05\0\0\0\0", 7);
	wants[1] = count_at(ADD, "\x65\x81\x05\0\0\0\0\x00\x00\x01\x00", 11);
	wants[2] = (struct hv_detour_want){
		.kind = HV_DETOUR_CALL_ENDS, .at = hv_gva(IDLE), .len_bytes = 5, .calls = {ENTER}};
	ck_assert(hv_arch_x86_64.encode_call(hv_gva(IDLE), hv_gva(ENTER), wants[2].insn));
	memcpy(fk_host(&r.t.f, IDLE), wants[2].insn, 5);
	wants[3] = (struct hv_detour_want){.kind = HV_DETOUR_RETURNS,
					   .at = hv_gva(BACK),
					   .len_bytes = 5,
					   .calls = {ENTRY + 0x80}};
	ck_assert(hv_arch_x86_64.encode_jump(hv_gva(BACK), wants[3].calls, wants[3].insn));
	memcpy(fk_host(&r.t.f, BACK), wants[3].insn, 5);
	wants[4] = (struct hv_detour_want){.kind = HV_DETOUR_IRQS_OFF,
					   .at = hv_gva(CLI),
					   .len_bytes = 6,
					   .insn = {0xfa, 0x0f, 0x1f, 0x44, 0x00, 0x00}};
	memcpy(fk_host(&r.t.f, CLI), wants[4].insn, 6);
	for (unsigned i = 0; i < NR; i++)
		memcpy(before[i], fk_host(&r.t.f, wants[i].at.v), sizeof(before[i]));
	detours = hv_detours_new(&r.tracee, HV_CHANGE_DETOUR);
}

static void tear_down(void)
{
	hv_detours_free(detours);
	fr_deinit(&r);
}

static void must(struct hv_err *err)
{
	ck_assert_msg(!err, "%s", err ? err->message : "");
}

static void patch(size_t refused)
{
	size_t nr_refused;

	must(hv_detours_patch(detours, wants, NR, &nr_refused));
	ck_assert_uint_eq(nr_refused, refused);
}

static void check_leads(unsigned i, enum hv_site_kind kind, uint64_t detour)
{
	struct hv_gva target = {0};

	ck_assert_int_eq(
		hv_arch_x86_64.classify_site(fk_host(&r.t.f, wants[i].at.v), wants[i].at, &target),
		kind);
	ck_assert_uint_eq(target.v, detour);
}

static void check_back(unsigned i)
{
	ck_assert_mem_eq(fk_host(&r.t.f, wants[i].at.v), before[i], sizeof(before[i]));
}

static void put_back(size_t nr)
{
	size_t nr_back;

	must(hv_detours_put_back(&r.tracee, HV_CHANGE_DETOUR, NULL, NULL, &nr_back));
	ck_assert_uint_eq(nr_back, nr);
}

START_TEST(instructions_lead_to_their_detours_and_come_back)
{
	const uint8_t *code = r.t.f.machine.ram + REGION + HV_REGION_DETOURS_OFF;
	struct hv_gva at;

	for (unsigned turn = 0; turn < 2; turn++) { /* the second time to the same ones */
		patch(0);
		check_leads(0, HV_SITE_JUMP, DETOUR(0));
		check_leads(1, HV_SITE_JUMP, DETOUR(1));
		check_leads(2, HV_SITE_CALL, DETOUR(2));
		check_leads(3, HV_SITE_JUMP, DETOUR(3));
		check_leads(4, HV_SITE_JUMP, DETOUR(4));
		ck_assert_mem_eq(fk_host(&r.t.f, ADD) + 8, before[1] + 8, 8);
		ck_assert_uint_eq(code[0], 0x65);
		for (unsigned i = 0; i < NR; i++) {
			ck_assert(hv_detours_find(detours, (uint32_t)DETOUR(i) + 50, &at));
			ck_assert_uint_eq(at.v, wants[i].at.v);
		}
		ck_assert(!hv_detours_find(detours, (uint32_t)DETOUR(NR), &at));
		ck_assert(!hv_detours_find(detours, (uint32_t)DETOUR(0) - 1, &at));
		put_back(NR);
		for (unsigned i = 0; i < NR; i++)
			check_back(i);
	}
	put_back(0);
}
END_TEST

/* Two modules, in the first of which instructions are replaced, and a third one. */
START_TEST(only_a_module_that_has_come_needs_changes)
{
	struct hv_module list[] = {
		{.at = {FK_BASE + 0x10}, .text = {{INC}, {IDLE}}},
		{.at = {FK_BASE + 0x20}, .text = {{CLI + 0x100}, {CLI + 0x200}}},
		{.at = {FK_BASE + 0x30}, .text = {{CLI + 0x300}, {CLI + 0x400}}},
	};
	const struct hv_modules all = {list, 3}, two = {list, 2}, last = {list + 1, 1};
	struct hv_modules *modules = &r.t.f.k.modules, none = *modules;
	struct hv_section_modules noted = {0};

	patch(0);
	*modules = two;
	hv_section_modules_note(&noted, &r.tracee);
	ck_assert_uint_eq(noted.list[0].nr_replaced, 2);
	ck_assert_uint_eq(noted.list[1].nr_replaced, 0);
	ck_assert(!hv_section_modules_have_come(&noted, &r.tracee));
	*modules = last;
	ck_assert(!hv_section_modules_have_come(&noted, &r.tracee));
	*modules = none;
	ck_assert(!hv_section_modules_have_come(&noted, &r.tracee));
	*modules = all;
	ck_assert(hv_section_modules_have_come(&noted, &r.tracee));
	*modules = two;
	list[1].at = hv_gva(FK_BASE + 0x40); /* another one, at the same address */
	ck_assert(hv_section_modules_have_come(&noted, &r.tracee));
	list[1].at = hv_gva(FK_BASE + 0x20);
	ck_assert(!hv_section_modules_have_come(&noted, &r.tracee));
	put_back(NR); /* as if the first one had gone, and come again to where it was */
	ck_assert(hv_section_modules_have_come(&noted, &r.tracee));
	*modules = none;
	hv_section_modules_deinit(&noted);
}
END_TEST

/* Bytes that the guest has changed since they were found. */
START_TEST(what_the_guest_changed_is_refused)
{
	*fk_host(&r.t.f, INC) = 0xcc;
	patch(1);
	ck_assert_uint_eq(*fk_host(&r.t.f, INC), 0xcc);
	ck_assert_mem_eq(fk_host(&r.t.f, INC) + 1, before[0] + 1, 15);
	put_back(NR - 1);
}
END_TEST

START_TEST(a_breakpoint_of_the_guest_keeps_its_detour)
{
	struct hv_err *err;
	size_t nr;

	patch(0);
	*fk_host(&r.t.f, INC) = 0xcc; /* its kprobe keeps a copy of our jump */
	err = hv_detours_put_back(&r.tracee, HV_CHANGE_DETOUR, NULL, NULL, &nr);
	ck_assert_ptr_nonnull(err);
	ck_assert_int_eq(err->code, EBUSY);
	ck_assert_uint_eq(nr, NR - 1);
	hv_err_free(err);
	check_back(1);
	check_back(2);
	*fk_host(&r.t.f, INC) = 0xe9; /* the kprobe is gone */
	put_back(1);
	check_back(0);
}
END_TEST

START_TEST(an_error_leaves_the_text_as_it_was)
{
	size_t refused;
	struct hv_err *err;

	r.fail_after = 1; /* the first write that is not of eight bytes */
	err = hv_detours_patch(detours, wants, NR, &refused);
	ck_assert_ptr_nonnull(err);
	hv_err_free(err);
	for (unsigned i = 0; i < NR; i++)
		check_back(i);
	ck_assert_uint_eq(hv_patcher_nr_patched(r.tracee.patcher, HV_CHANGE_DETOUR), 0);
	patch(0);
	put_back(NR);
}
END_TEST

/* A task that was interrupted between cli and its nop would go on inside the jump; one that was
 * interrupted before cli would not. */
START_TEST(nobody_is_between_an_instruction_and_its_nop)
{
	struct hv_err *err;
	size_t refused;

	ft_push(&r.t, r.task, FR_SLEEP_FROM + 0x40, CLI + 1);
	err = hv_detours_patch(detours, wants, NR, &refused);
	ck_assert_ptr_nonnull(err);
	ck_assert_int_eq(err->code, EBUSY);
	hv_err_free(err);
	for (unsigned i = 0; i < NR; i++)
		check_back(i);
	ck_assert_uint_eq(hv_patcher_nr_patched(r.tracee.patcher, HV_CHANGE_DETOUR), 0);
	ft_push(&r.t, r.task, FR_SLEEP_FROM + 0x40, CLI);
	r.regs[1].ip = hv_gva(CLI + 1);
	err = hv_detours_patch(detours, wants, NR, &refused);
	ck_assert_ptr_nonnull(err);
	hv_err_free(err);
	r.regs[1].ip = hv_gva(CLI);
	patch(0);
	put_back(NR);
	check_back(4);
}
END_TEST

/* The guest's own kprobes: one list, of which the first is at PROBES. */
#define HEADS  (FK_DATA + 0x600000)
#define LOCK   (HEADS + 0x800)
#define PROBES (HEADS + 0x1000)

static void heed(void)
{
	const struct hv_own_probes_layout layout = {.exists = true,
						    .table = hv_gva(HEADS),
						    .lock = hv_gva(LOCK),
						    .addr = 16,
						    .flags = 24,
						    .len_bytes = 28};

	hv_patcher_heed_kprobes(r.tracee.patcher, &layout);
}

/* One on AT, and behind it one where it does not matter. */
static void probe(uint64_t at, uint32_t flags)
{
	fk_u64(&r.t.f, HEADS + 8 * 7, PROBES);
	fk_u64(&r.t.f, PROBES, PROBES + 64);
	fk_u64(&r.t.f, PROBES + 16, at);
	fk_u32(&r.t.f, PROBES + 24, flags);
	fk_u64(&r.t.f, PROBES + 64 + 16, FK_BASE + 0x50000);
}

#define OFF	2 /* KPROBE_FLAG_DISABLED */
#define FTRACED 8

/* One that is off leaves no trace in the text, but has a copy of the instruction. */
START_TEST(what_a_kprobe_has_copied_is_not_replaced)
{
	static const uint64_t near[] = {INC, INC + 6, INC - 20, CLI + 1, IDLE};

	heed();
	probe(near[_i], OFF);
	patch(1);
	check_back(near[_i] == IDLE ? 2 : near[_i] == CLI + 1 ? 4 : 0);
	put_back(NR - 1);
	probe(near[_i], FTRACED);
	patch(0);
	put_back(NR);
}
END_TEST

START_TEST(a_kprobe_elsewhere_does_not_matter)
{
	static const uint64_t far[] = {INC - 21, INC + 7, ADD + 11, CLI + 6};

	heed();
	probe(far[_i], 0);
	patch(0);
	put_back(NR);
}
END_TEST

START_TEST(what_a_kprobe_has_copied_of_ours_stays)
{
	static const uint64_t inside[] = {INC, INC + 5};
	struct hv_err *err;
	size_t nr;

	heed();
	patch(0);
	probe(inside[_i], OFF);
	err = hv_detours_put_back(&r.tracee, HV_CHANGE_DETOUR, NULL, NULL, &nr);
	ck_assert_ptr_nonnull(err);
	ck_assert_int_eq(err->code, EBUSY);
	ck_assert_uint_eq(nr, NR - 1);
	hv_err_free(err);
	check_leads(0, HV_SITE_JUMP, DETOUR(0));
	probe(INC - 1, OFF);
	put_back(1);
	check_back(0);
}
END_TEST

static void unlock(struct fr *guest)
{
	static unsigned nr;

	if (++nr % 3 == 0)
		fk_u64(&guest->t.f, LOCK, 0);
}

/* A kprobe that is being registered has its copy before it is in a list. */
START_TEST(changes_wait_for_a_guest_that_registers_kprobes)
{
	heed();
	r.when_held = unlock;
	fk_u64(&r.t.f, LOCK, FK_BASE);
	patch(0);
	fk_u64(&r.t.f, LOCK, FK_BASE);
	put_back(NR);
	for (unsigned i = 0; i < NR; i++)
		check_back(i);
}
END_TEST

/* Only what is ours comes out then. */
START_TEST(a_list_of_kprobes_that_has_no_end)
{
	struct hv_err *err;
	size_t refused;

	heed();
	patch(0);
	probe(INC, OFF);
	fk_u64(&r.t.f, PROBES + 64, PROBES);
	put_back(NR);
	err = hv_detours_patch(detours, wants, NR, &refused);
	ck_assert_ptr_nonnull(err);
	hv_err_free(err);
	for (unsigned i = 0; i < NR; i++)
		check_back(i);
}
END_TEST

static bool is_ours(struct hv_journal_entry *e)
{
	bool ours;

	must(hv_detours_are_ours(&r.tracee, e, &ours));
	return ours;
}

/* The entry that the journal has for WANTS[I]. */
static struct hv_journal_entry entry_of(unsigned i)
{
	const struct hv_journal_entry *journal = hv_region_journal(&r.tracee.region);

	for (uint32_t n = 0; n < hv_region_header(&r.tracee.region)->nr_entries; n++)
		if (journal[n].gva == wants[i].at.v)
			return journal[n];
	ck_abort_msg("no entry");
	return (struct hv_journal_entry){0};
}

START_TEST(recover_believes_what_is_plainly_ours)
{
	struct hv_journal_entry e;

	patch(0);
	for (unsigned i = 0; i < NR; i++) {
		e = entry_of(i);
		ck_assert_uint_eq(e.kind, HV_CHANGE_DETOUR);
		ck_assert(is_ours(&e));
	}
	*(uint8_t *)fk_host(&r.t.f, wants[0].at.v) = 0xcc; /* a kprobe of the guest's */
	e = entry_of(0);
	ck_assert(is_ours(&e));
	*(uint8_t *)fk_host(&r.t.f, wants[0].at.v) = e.new_bytes[0];
	e = entry_of(0);
	e.old_bytes[2] ^= 0x30; /* push */
	ck_assert(!is_ours(&e));
	e = entry_of(0);
	e.old_bytes[3] ^= 1; /* another counter */
	ck_assert(!is_ours(&e));
	e = entry_of(0);
	e.gpa += 16;
	ck_assert(!is_ours(&e));
	e = entry_of(0);
	e.len_bytes = 200;
	ck_assert(!is_ours(&e));
	e = entry_of(2);
	e.old_bytes[1] ^= 1; /* another function */
	ck_assert(!is_ours(&e));
	e = entry_of(3);
	e.old_bytes[2] ^= 0x40; /* out of the entry code */
	ck_assert(!is_ours(&e));
	e = entry_of(4);
	e.old_bytes[0] = 0xf4; /* hlt */
	ck_assert(!is_ours(&e));
	e = entry_of(0);
	put_back(NR);
	ck_assert(!is_ours(&e)); /* nothing leads to us any more */
}
END_TEST

/* -- places ------------------------------------------------------------------------------------ */

#define PLACE	    (FK_BASE + 0x40800) /* two instructions */
#define PLACE_FIRST (HV_REGION_NR_DETOURS - HV_REGION_NR_PLACES)

static const struct hv_detour_want place = {
	.kind = HV_DETOUR_PLACE,
	.at = {PLACE},
	.len_bytes = 6,
	.insn = {0x48, 0x83, 0xf9, 0x05, 0x75, 0x05}, /* cmpq $5, %rcx; jne */
	.nr_insns = 2,
	.probes = {{0, 3}},
	.nr_probes = 1,
};

static struct hv_detours *set_up_places(void)
{
	memcpy(fk_host(&r.t.f, PLACE), place.insn, place.len_bytes);
	return hv_detours_new(&r.tracee, HV_CHANGE_PLACE);
}

static void patch_place(struct hv_detours *places, unsigned slot, uint64_t detour)
{
	struct hv_detour_want want = place;
	struct hv_gva target = {0};
	size_t nr_refused;

	want.probes[0].slot = slot;
	must(hv_detours_patch(places, &want, 1, &nr_refused));
	ck_assert_uint_eq(nr_refused, 0);
	ck_assert_int_eq(hv_arch_x86_64.classify_site(fk_host(&r.t.f, PLACE), place.at, &target),
			 HV_SITE_JUMP);
	ck_assert_uint_eq(target.v, DETOUR(PLACE_FIRST + detour));
}

static bool keeps_all(void *ctx, struct hv_gva at)
{
	(void)ctx;
	ck_assert_uint_eq(at.v, PLACE);
	return true;
}

/* A place gets another detour for another slot, and the first one again for its slot. */
START_TEST(a_place_leads_to_the_detour_of_its_slot)
{
	struct hv_detours *places = set_up_places();
	size_t nr;

	patch_place(places, 3, 0);
	patch_place(places, 3, 0);
	patch_place(places, 4, 1);
	patch_place(places, 3, 0);
	patch(0); /* others have nothing to do with it */
	put_back(NR);
	must(hv_detours_put_back(&r.tracee, HV_CHANGE_PLACE, keeps_all, NULL, &nr));
	ck_assert_uint_eq(nr, 0);
	must(hv_detours_put_back(&r.tracee, HV_CHANGE_PLACE, NULL, NULL, &nr));
	ck_assert_uint_eq(nr, 1);
	ck_assert_mem_eq(fk_host(&r.t.f, PLACE), place.insn, place.len_bytes);
	hv_detours_free(places);
}
END_TEST

START_TEST(nobody_is_between_the_instructions_of_a_place)
{
	struct hv_detours *places = set_up_places();
	struct hv_detour_want want = place;
	struct hv_err *err;
	size_t nr;

	ft_push(&r.t, r.task, FR_SLEEP_FROM + 0x40, PLACE + 4);
	err = hv_detours_patch(places, &want, 1, &nr);
	ck_assert(err && err->code == EBUSY);
	hv_err_free(err);
	ck_assert_mem_eq(fk_host(&r.t.f, PLACE), place.insn, place.len_bytes);
	ft_push(&r.t, r.task, FR_SLEEP_FROM + 0x40, PLACE);
	patch_place(places, 3, 0);
	hv_detours_free(places);
}
END_TEST

/* Runs in these bytes: a place before one that the guest has, and what that leaves of it. */
static const uint8_t function[] = {
	0x53,					  /* +0 pushq %rbx */
	0x48, 0x83, 0xf9, 0x05,			  /* +1 cmpq $5, %rcx */
	0x51,					  /* +5 pushq %rcx */
	0xb8, 0x44, 0x33, 0x22, 0x11,		  /* +6 movl $0x11223344, %eax */
	0x48, 0x8d, 0x15, 0x00, 0x01, 0x00, 0x00, /* +11 leaq 0x100(%rip), %rdx */
};

static struct hv_detour_want run_at(unsigned off, size_t len, unsigned nr_insns)
{
	struct hv_detour_want want = {
		.kind = HV_DETOUR_PLACE,
		.at = {PLACE + off},
		.len_bytes = len,
		.nr_insns = nr_insns,
		.probes = {{0, 3}},
		.nr_probes = 1,
	};

	memcpy(want.insn, function + off, len);
	return want;
}

static void check_run(unsigned off)
{
	struct hv_gva target = {0};
	const uint8_t *now = fk_host(&r.t.f, PLACE + off);

	ck_assert_int_eq(hv_arch_x86_64.classify_site(now, hv_gva(PLACE + off), &target),
			 HV_SITE_JUMP);
	ck_assert(hv_gva_in(target, r.tracee.range));
}

/* From a run at +1 to one at 0, which has that place, and one at +5 for what is left of it. */
static struct hv_err *make_room(struct hv_detours *places, bool *ret_refused)
{
	const struct hv_gva gone = hv_gva(PLACE + 1);
	struct hv_detour_want next[] = {run_at(0, 5, 2), run_at(5, 6, 2)};

	next[0].probes[1] = (struct hv_detour_probe){1, 4};
	next[0].nr_probes = 2;
	return hv_detours_exchange(places, next, 2, &gone, 1, ret_refused);
}

static struct hv_detours *set_up_run(void)
{
	struct hv_detours *places = hv_detours_new(&r.tracee, HV_CHANGE_PLACE);
	struct hv_detour_want run = run_at(1, 5, 2);
	size_t nr_refused;

	memcpy(fk_host(&r.t.f, PLACE), function, sizeof(function));
	must(hv_detours_patch(places, &run, 1, &nr_refused));
	ck_assert_uint_eq(nr_refused, 0);
	check_run(1);
	return places;
}

static void check_room(bool made)
{
	check_run(made ? 0 : 1);
	if (made)
		check_run(5);
	else
		ck_assert_uint_eq(*fk_host(&r.t.f, PLACE), function[0]);
	ck_assert_uint_eq(hv_patcher_nr_patched(r.tracee.patcher, HV_CHANGE_PLACE), made ? 2 : 1);
}

static void put_places_back(struct hv_detours *places)
{
	size_t nr;

	must(hv_detours_put_back(&r.tracee, HV_CHANGE_PLACE, NULL, NULL, &nr));
	ck_assert_mem_eq(fk_host(&r.t.f, PLACE), function, sizeof(function));
	hv_detours_free(places);
}

START_TEST(a_run_makes_room_for_another_one)
{
	struct hv_detours *places = set_up_run();
	bool is_refused = true;

	must(make_room(places, &is_refused));
	ck_assert(!is_refused);
	check_room(true);
	put_places_back(places);
}
END_TEST

/* A task was interrupted at AT, and switched out then. */
static void sleep_in(uint64_t at)
{
	ft_push(&r.t, r.task, FR_SLEEP_FROM + 0x20, FT_PREEMPTING + 8);
	ft_push(&r.t, r.task, FR_SLEEP_FROM + 0x40, at);
}

/* A task in a detour that comes back elsewhere does not matter. */
START_TEST(a_detour_that_goes_on_elsewhere_may_be_in_use)
{
	struct hv_detours *places = set_up_run();
	struct hv_detour_want after = run_at(11, 7, 1);
	bool is_refused = true;
	size_t nr_refused;

	must(hv_detours_patch(places, &after, 1, &nr_refused));
	sleep_in(DETOUR(PLACE_FIRST + 1) + 20);
	must(make_room(places, &is_refused));
	ck_assert(!is_refused);
	put_places_back(places);
}
END_TEST

/* A task, a vCPU, a byte of the guest's, a kprobe of its own: what is there stays as it is. */
START_TEST(a_run_stays_if_the_other_one_cannot_be)
{
	struct hv_detours *places = set_up_run();
	bool is_refused = false;

	heed();
	if (_i == 0)
		ft_push(&r.t, r.task, FR_SLEEP_FROM + 0x40, PLACE + 1); /* inside of the new one */
	else if (_i == 1)
		r.regs[1].ip = hv_gva(PLACE + 1);
	else if (_i == 2)
		*fk_host(&r.t.f, PLACE) = 0xcc;
	else if (_i == 3)
		sleep_in(DETOUR(PLACE_FIRST) + 20); /* it will come back to +6 */
	else if (_i == 4)
		r.regs[1].ip = hv_gva(DETOUR(PLACE_FIRST) + 3);
	else
		probe(PLACE - 1, OFF);
	must(make_room(places, &is_refused));
	ck_assert(is_refused);
	if (_i == 2)
		*fk_host(&r.t.f, PLACE) = function[0];
	check_room(false);
	r.regs[1].ip = hv_gva(0);
	put_places_back(places);
}
END_TEST

/* A task is in a detour of sections that was put back. It will come back to +2. */
START_TEST(a_detour_of_sections_may_go_on_inside)
{
	struct hv_detour_want off = wants[4];
	struct hv_detours *places;
	bool is_refused = false;
	size_t nr_refused;

	off.at = hv_gva(PLACE - 4);
	memcpy(fk_host(&r.t.f, PLACE - 4), off.insn, off.len_bytes);
	must(hv_detours_patch(detours, &off, 1, &nr_refused));
	ck_assert_uint_eq(nr_refused, 0);
	put_back(1);
	places = set_up_run();
	sleep_in(DETOUR(0) + 3);
	must(make_room(places, &is_refused));
	ck_assert(is_refused);
	check_room(false);
	put_places_back(places);
}
END_TEST

/* One that is not made as a whole leaves nothing. */
START_TEST(an_error_between_two_runs_leaves_none)
{
	struct hv_detours *places = set_up_run();
	bool is_refused;
	struct hv_err *err;

	r.fail_after = r.nr_text_writes + (size_t)_i + 1;
	err = make_room(places, &is_refused);
	ck_assert_ptr_nonnull(err);
	hv_err_free(err);
	r.fail_after = 0;
	put_places_back(places);
}
END_TEST

/* What the code of the Nth detour of a place has as the slot of its first probe. */
static uint32_t slot_in(uint64_t n)
{
	uint64_t off = HV_REGION_DETOURS_OFF + (PLACE_FIRST + n) * HV_DETOUR_LEN;
	uint32_t slot;

	memcpy(&slot, r.t.f.machine.ram + REGION + off + 7, sizeof(slot));
	return slot;
}

/* Room for three detours, which are all there: of the slots 3, 4 and 5, the present one. */
static struct hv_detours *set_up_full(void)
{
	struct hv_detours *places = set_up_places();

	places->max = 3;
	for (unsigned n = 0; n < 3; n++) {
		patch_place(places, 3 + n, n);
		ck_assert_uint_eq(slot_in(n), 3 + n);
	}
	return places;
}

START_TEST(detours_are_used_again)
{
	struct hv_detours *places = set_up_full();

	for (unsigned n = 6; n < 30; n++) {
		/* Both that nothing leads to become free, and then one is taken. */
		unsigned to = n % 2 == 0 ? 0 : n % 4 == 3 ? 1 : 2;

		patch_place(places, n, to);
		ck_assert_uint_eq(slot_in(to), n);
		patch_place(places, n, to);
	}
	hv_detours_free(places);
}
END_TEST

static void check_full(struct hv_detours *places)
{
	struct hv_detour_want want = place;
	size_t nr_refused;

	want.probes[0].slot = 6;
	must(hv_detours_patch(places, &want, 1, &nr_refused));
	ck_assert_uint_eq(nr_refused, 1);
	for (unsigned n = 0; n < 3; n++)
		ck_assert_uint_eq(slot_in(n), 3 + n);
	patch_place(places, 5, 2); /* it leads where it has led */
}

/* A task is in one that nothing leads to. In the other one a task, or a vCPU; or a kprobe of the
 * guest's own may have copied the jump, or comes just now. */
START_TEST(detours_in_use_stay)
{
	struct hv_detours *places = set_up_full();

	heed();
	ft_push(&r.t, r.task, FR_SLEEP_FROM + 0x40, DETOUR(PLACE_FIRST) + 16);
	if (_i == 0)
		ft_push(&r.t, r.task, FR_SLEEP_FROM + 0x48, DETOUR(PLACE_FIRST + 1));
	else if (_i == 1)
		r.regs[1].ip = hv_gva(DETOUR(PLACE_FIRST + 2) - 1);
	else if (_i == 2)
		probe(PLACE - 20, OFF);
	else
		fk_u64(&r.t.f, LOCK, FK_BASE);
	if (_i < 2)
		check_full(places);
	else
		ck_assert_ptr_null(hv_detours_free_unused(places));
	ck_assert(!places->list[0].is_free && !places->list[1].is_free);
	r.regs[1].ip = hv_gva(0);
	fk_u64(&r.t.f, HEADS + 8 * 7, 0);
	fk_u64(&r.t.f, LOCK, 0);
	ft_push(&r.t, r.task, FR_SLEEP_FROM + 0x48, 0);
	patch_place(places, 6, 1);
	ck_assert_uint_eq(slot_in(0), 3);
	ck_assert_uint_eq(slot_in(1), 6);
	hv_detours_free(places);
}
END_TEST

/* A detour of several blocks needs as many in a row, all of which nobody is in. */
START_TEST(a_detour_of_several_blocks_is_used_again_as_a_whole)
{
	struct hv_detours *places = hv_detours_new(&r.tracee, HV_CHANGE_PLACE);
	struct hv_detour_want other = run_at(11, 7, 1),
			      long_one = {
				      .kind = HV_DETOUR_PLACE,
				      .at = {PLACE + 32},
				      .len_bytes = 5,
				      .insn = {0x50, 0xf8, 0x58, 0xf5,
					       0xf9}, /* push, clc, pop, cmc, stc */
				      .nr_insns = 5,
				      .probes = {{0, 3}, {1, 3}, {2, 3}, {3, 3}},
				      .nr_probes = 4,
			      };
	size_t nr_refused, nr;

	memcpy(fk_host(&r.t.f, PLACE + 32), long_one.insn, 5);
	memcpy(fk_host(&r.t.f, PLACE), function, sizeof(function));
	places->max = 1;
	must(hv_detours_patch(places, &long_one, 1, &nr_refused));
	ck_assert_uint_eq(nr_refused, 1);
	places->max = 2;
	must(hv_detours_patch(places, &long_one, 1, &nr_refused));
	ck_assert_uint_eq(nr_refused, 0);
	ck_assert_uint_eq(places->list[0].nr, 2);
	must(hv_detours_patch(places, &other, 1, &nr_refused));
	ck_assert_uint_eq(nr_refused, 1); /* the place leads to both */
	must(hv_detours_put_back(&r.tracee, HV_CHANGE_PLACE, NULL, NULL, &nr));
	ft_push(&r.t, r.task, FR_SLEEP_FROM + 0x40, DETOUR(PLACE_FIRST + 1) + 2);
	must(hv_detours_patch(places, &other, 1, &nr_refused));
	ck_assert_uint_eq(nr_refused, 1); /* a task is in the second one */
	ft_push(&r.t, r.task, FR_SLEEP_FROM + 0x40, 0);
	must(hv_detours_patch(places, &other, 1, &nr_refused));
	ck_assert_uint_eq(nr_refused, 0);
	check_run(11);
	must(hv_detours_patch(places, &long_one, 1, &nr_refused));
	ck_assert_uint_eq(nr_refused, 1); /* one block is left */
	put_places_back(places);
}
END_TEST

static bool place_is_ours(void (*change)(struct hv_journal_entry *e))
{
	const struct hv_journal_entry *journal = hv_region_journal(&r.tracee.region);

	for (uint32_t n = 0; n < hv_region_header(&r.tracee.region)->nr_entries; n++) {
		struct hv_journal_entry e = journal[n];

		if (e.gva != PLACE)
			continue;
		ck_assert_uint_eq(e.kind, HV_CHANGE_PLACE);
		change(&e);
		return is_ours(&e);
	}
	return false;
}

static void nothing(struct hv_journal_entry *e)
{
	(void)e;
}

static void other_number(struct hv_journal_entry *e)
{
	e->old_bytes[3] ^= 1;
}

static void other_branch(struct hv_journal_entry *e)
{
	e->old_bytes[5] ^= 1;
}

static void as_a_detour(struct hv_journal_entry *e)
{
	e->kind = HV_CHANGE_DETOUR;
}

START_TEST(recover_believes_what_the_detour_executes)
{
	uint64_t off = HV_REGION_DETOURS_OFF + PLACE_FIRST * HV_DETOUR_LEN;
	uint8_t *code = r.tracee.region.host + off;
	struct hv_detours *places = set_up_places();

	patch_place(places, 3, 0);
	memcpy(code, r.t.f.machine.ram + REGION + off, HV_DETOUR_LEN);
	ck_assert(place_is_ours(nothing));
	ck_assert(!place_is_ours(other_number));
	ck_assert(!place_is_ours(other_branch));
	ck_assert(!place_is_ours(as_a_detour));
	code[HV_DETOUR_LEN - 1] ^= 1;
	ck_assert(!place_is_ours(nothing));
	code[HV_DETOUR_LEN - 1] ^= 1;
	ck_assert(place_is_ours(nothing));
	hv_detours_free(places);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, a_place_leads_to_the_detour_of_its_slot);
	tcase_add_test(tc, detours_are_used_again);
	tcase_add_loop_test(tc, detours_in_use_stay, 0, 4);
	tcase_add_test(tc, a_detour_of_several_blocks_is_used_again_as_a_whole);
	tcase_add_test(tc, nobody_is_between_the_instructions_of_a_place);
	tcase_add_test(tc, recover_believes_what_the_detour_executes);
	tcase_add_test(tc, a_run_makes_room_for_another_one);
	tcase_add_test(tc, a_detour_that_goes_on_elsewhere_may_be_in_use);
	tcase_add_test(tc, a_detour_of_sections_may_go_on_inside);
	tcase_add_loop_test(tc, a_run_stays_if_the_other_one_cannot_be, 0, 6);
	tcase_add_loop_test(tc, an_error_between_two_runs_leaves_none, 0, 2);
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, instructions_lead_to_their_detours_and_come_back);
	tcase_add_test(tc, only_a_module_that_has_come_needs_changes);
	tcase_add_test(tc, what_the_guest_changed_is_refused);
	tcase_add_test(tc, a_breakpoint_of_the_guest_keeps_its_detour);
	tcase_add_test(tc, an_error_leaves_the_text_as_it_was);
	tcase_add_test(tc, nobody_is_between_an_instruction_and_its_nop);
	tcase_add_loop_test(tc, what_a_kprobe_has_copied_is_not_replaced, 0, 5);
	tcase_add_loop_test(tc, a_kprobe_elsewhere_does_not_matter, 0, 4);
	tcase_add_loop_test(tc, what_a_kprobe_has_copied_of_ours_stays, 0, 2);
	tcase_add_test(tc, changes_wait_for_a_guest_that_registers_kprobes);
	tcase_add_test(tc, a_list_of_kprobes_that_has_no_end);
	tcase_add_test(tc, recover_believes_what_is_plainly_ours);
}

int main(void)
{
	return run_suite("detours", add_tests);
}
