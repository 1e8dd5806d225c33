/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Veneers. On riscv64 sites can call only one offset in a page: the function tracer's trampoline is
 * there itself, with jumps to all other trampolines. On arm64, modules are out of reach and call
 * code that leads to each trampoline. The tests read the code that the guest would execute. */
#include <check.h>

#include "arch/arm64/arm64.h"
#include "arch/riscv64/riscv64.h"
#include "tests/lib/part_guest.h"
#include "tests/lib/expect.h"
#include "tests/lib/run_suite.h"
#include "tests/unit/tracer/fake_returns.h"
#include "tracer/guest/trampolines.h"

#define PAGE_BYTES 4096u
#define RANGE	   0xffffffff40000000ull
#define REGION_GPA 0x8000000ull
#define CODE_BYTES (HV_REGION_TRAMPOLINES_END - HV_REGION_TRAMPOLINES_OFF)

static struct fr r;
static uint8_t code[CODE_BYTES];
static struct hv_guest *guest;
static unsigned nr_writes;
static uint64_t last_gpa;

/* Writes must be in the order of their addresses. */
static struct hv_err *keep(void *self, const struct hv_hold_write *writes, size_t nr)
{
	(void)self;
	for (size_t i = 0; i < nr; i++) {
		uint64_t off = writes[i].gpa.v - REGION_GPA - HV_REGION_TRAMPOLINES_OFF;

		ck_assert_uint_le(off + writes[i].len_bytes, sizeof(code));
		ck_assert_uint_gt(writes[i].gpa.v, last_gpa);
		ck_assert(writes[i].is_text);
		memcpy(code + off, writes[i].bytes, writes[i].len_bytes);
		last_gpa = writes[i].gpa.v;
		nr_writes++;
	}
	return NULL;
}

static void set_up_at(unsigned entry_off)
{
	static struct hv_guest_ops ops = {.read = fr_read,
					  .hold_begin = fr_hold_begin,
					  .hold_registers = fr_hold_registers,
					  .sleeps = fr_sleeps,
					  .hold_write = keep};
	struct hv_tracee *t = &r.tracee;

	fr_init(&r);
	memset(code, 0, sizeof(code));
	nr_writes = 0;
	last_gpa = 0;
	guest = part_guest_new(&ops, &r, hv_guest_info(r.t.f.machine.guest));
	r.t.f.k.core.as.guest = t->guest = guest;
	hv_patcher_free(t->patcher);
	t->patcher = hv_patcher_new(&r.t.f.k.core.as, r.t.f.k.core.image.all, &t->region);
	r.t.f.k.core.as.arch = &hv_arch_riscv64;
	r.t.f.k.core.reach = (struct hv_reach){.text_base = {RANGE},
					       .entry_bytes = entry_off ? PAGE_BYTES : 0,
					       .entry_off = entry_off};
	t->region.gpa = hv_gpa(REGION_GPA);
	t->range = (struct hv_gva_range){hv_gva(RANGE), hv_gva(RANGE + 0x1000000)};
	t->plan.nr_slots = 64;
	t->plan.homes_shift = t->plan.counts_shift = 5;
}

static void tear_down(void)
{
	hv_guest_free(guest);
	fr_deinit(&r);
}

static uint64_t jumps_to(uint64_t at)
{
	uint32_t insn, d;

	memcpy(&insn, code + (at - RANGE), sizeof(insn));
	ck_assert_uint_eq(insn & 0xfff, 0x6f); /* j */
	d = (insn >> 31 ? 0xfff00000 : 0) | (insn & 0xff000) | (insn >> 20 & 1) << 11 |
	    (insn >> 21 & 0x3ff) << 1;
	return at + (uint64_t)(int64_t)(int32_t)d;
}

static size_t trampoline_off(unsigned trampoline, enum hv_call_role role, unsigned trace)
{
	return hv_call_off(&hv_arch_riscv64.trampolines, role, (enum hv_call_trace)trace,
			   trampoline & HV_TRAMPOLINE_PROFILED);
}

/* Every entry is at the offset, all are distinct, each leads to its trampoline, and each is
 * recognized. */
START_TEST(every_trampoline_has_its_veneer)
{
	static const unsigned offs[] = {0x40, 0x678, 0xffc};
	static const struct {
		unsigned trampoline;
		enum hv_call_trace trace;
	} all[] = {{HV_TRAMPOLINE_NONE, HV_TRACE_NOTHING},
		   {HV_TRAMPOLINE_FUNCTION, HV_TRACE_FUNCTION},
		   {HV_TRAMPOLINE_GRAPH, HV_TRACE_GRAPH},
		   {HV_TRAMPOLINE_GRAPH_ROOT, HV_TRACE_GRAPH_ROOT},
		   {HV_TRAMPOLINE_GRAPH_NOTRACE, HV_TRACE_GRAPH_NOTRACE},
		   {HV_TRAMPOLINE_FUNCTION_AND_GRAPH, HV_TRACE_FUNCTION_AND_GRAPH}};
	const struct hv_tracee *t = &r.tracee;
	uint64_t start, function;
	unsigned nr = 0;

	set_up_at(offs[_i]);
	ck_assert_ptr_null(hv_trampolines_link(&r.tracee));
	function = hv_trampolines_call(t, HV_TRAMPOLINE_FUNCTION, HV_ROLE_NONE).v;
	ck_assert_uint_eq(function % PAGE_BYTES, offs[_i]);
	start = function - hv_arch_riscv64.trampolines.function_off;
	for (unsigned p = 0; p <= HV_TRAMPOLINE_PROFILED; p += HV_TRAMPOLINE_PROFILED)
		for (unsigned i = 0; i < HV_ARRAY_LEN(all); i++)
			for (unsigned role = 0; role < HV_NR_ROLES; role++) {
				unsigned trampoline = all[i].trampoline | p;
				enum hv_call_role of = (enum hv_call_role)role;
				uint64_t at = hv_trampolines_call(t, trampoline, of).v;

				ck_assert_uint_eq(at % PAGE_BYTES, offs[_i]);
				ck_assert_uint_lt(at - RANGE, sizeof(code));
				if (at != function)
					ck_assert_uint_eq(jumps_to(at),
							  start + trampoline_off(trampoline, of,
										 all[i].trace));
				nr += at == function;
				if (trampoline)
					ck_assert_uint_eq(hv_trampolines_called_at(t, hv_gva(at)),
							  trampoline);
			}
	ck_assert_uint_eq(nr, 1);
	tear_down();
}
END_TEST

/* A site that can call any address calls the trampoline itself. */
START_TEST(no_veneers)
{
	size_t len;

	set_up_at(0);
	ck_assert_ptr_null(hv_trampolines_link(&r.tracee));
	len = hv_arch_riscv64.trampolines.len_bytes;
	ck_assert_uint_eq(nr_writes, (len + HV_SITE_LEN_MAX - 1) / HV_SITE_LEN_MAX);
	ck_assert_uint_eq(hv_trampolines_call(&r.tracee, HV_TRAMPOLINE_GRAPH, HV_ROLE_NONE).v,
			  RANGE + HV_TRAMPOLINES_CODE_OFF + hv_arch_riscv64.trampolines.graph_off);
	tear_down();
}
END_TEST

/* A module 1.4 GiB below the trampolines, and the second veneer area next to it. */
#define MODULE	0xfffffffee7000000ull
#define VENEERS 0xfffffffee4000000ull

/* With pages of 4, 16 and 64 KiB. */
static const int formats[] = {1, 5, 8};

static void set_up_far(int format)
{
	struct hv_tracee *t = &r.tracee;

	set_up_at(0);
	r.t.f.k.core.as.arch = hv_arch_arm64.formats[formats[format]];
	t->veneers = (struct hv_gva_range){hv_gva(VENEERS), hv_gva(VENEERS + HV_REGION_UNIT)};
}

/* Returns the target of the veneer at AT. It may change only x16. */
static uint64_t lands_at(uint64_t at)
{
	uint32_t insns[3], pages;

	memcpy(insns, code + (at - VENEERS), sizeof(insns));
	ck_assert_uint_eq(insns[0] & 0x9f00001f, 0x90000010); /* adrp x16 */
	ck_assert_uint_eq(insns[1] & 0xffc003ff, 0x91000210); /* add x16, x16 */
	ck_assert_uint_eq(insns[2], 0xd61f0200);	      /* br x16 */
	pages = (insns[0] >> 5 & 0x7ffff) << 2 | (insns[0] >> 29 & 3);
	return (at & ~0xfffull) + ((uint64_t)((int64_t)((uint64_t)pages << 43) >> 43) << 12) +
	       (insns[1] >> 10 & 0xfff);
}

static void check_far(uint64_t trampoline)
{
	const struct hv_tracee *t = &r.tracee;
	struct hv_gva to = hv_veneer_from(t, hv_gva(MODULE), hv_gva(trampoline));
	uint8_t site[HV_SITE_LEN_MAX];
	uint32_t first;

	ck_assert(hv_gva_in(to, t->veneers));
	ck_assert(hv_arch_arm64.encode_call(hv_gva(MODULE), to, site));
	ck_assert(hv_tracee_is_call(t, hv_gva(MODULE), site));
	ck_assert_uint_eq(lands_at(to.v), trampoline);
	ck_assert_uint_eq(hv_veneer_leads_to(t, to).v, trampoline);
	memcpy(&first, code + (trampoline - RANGE), sizeof(first));
	ck_assert_uint_eq(first, 0xd503245f); /* bti c: the veneer jumps with br x16 */
	ck_assert_uint_eq(hv_veneer_from(t, hv_gva(RANGE), hv_gva(trampoline)).v, trampoline);
}

START_TEST(every_trampoline_has_a_distant_veneer)
{
	static const unsigned trampolines[] = {
		HV_TRAMPOLINE_FUNCTION,	     HV_TRAMPOLINE_FUNCTION_STACK,
		HV_TRAMPOLINE_GRAPH,	     HV_TRAMPOLINE_GRAPH_ROOT,
		HV_TRAMPOLINE_GRAPH_NOTRACE, HV_TRAMPOLINE_FUNCTION_AND_GRAPH};
	const struct hv_tracee *t = &r.tracee;

	set_up_far(_i);
	ck_assert_ptr_null(hv_trampolines_link(&r.tracee));
	for (unsigned i = 0; i < HV_ARRAY_LEN(trampolines); i++)
		for (unsigned role = 0; role < HV_NR_ROLES; role++)
			for (unsigned p = 0; p <= HV_TRAMPOLINE_PROFILED;
			     p += HV_TRAMPOLINE_PROFILED) {
				if (trampolines[i] == HV_TRAMPOLINE_FUNCTION_STACK && (role || p))
					continue;
				check_far(hv_trampolines_call(t, trampolines[i] | p,
							      (enum hv_call_role)role)
						  .v);
			}
	for (unsigned group = 0; group < HV_NR_ACTION_GROUPS; group++)
		check_far(hv_trampolines_action(t, group).v);
	tear_down();
}
END_TEST

/* If there is no second area, or it is out of reach as well, no call is possible. */
START_TEST(out_of_reach)
{
	struct hv_tracee *t = &r.tracee;
	struct hv_gva trampoline, other = {VENEERS - (130u << 20)}, inside;
	uint8_t site[HV_SITE_LEN_MAX];

	set_up_far(_i);
	trampoline = hv_trampolines_call(t, HV_TRAMPOLINE_FUNCTION, HV_ROLE_NONE);
	ck_assert(!hv_arch_arm64.encode_call(other, hv_veneer_from(t, other, trampoline), site));
	inside = hv_gva_add(hv_veneer_from(t, hv_gva(MODULE), trampoline), 4);
	ck_assert_uint_eq(hv_veneer_leads_to(t, inside).v, inside.v);
	ck_assert_uint_eq(hv_veneer_leads_to(t, hv_gva(VENEERS)).v, VENEERS);
	t->veneers = (struct hv_gva_range){{0}, {0}};
	ck_assert_uint_eq(hv_veneer_from(t, hv_gva(MODULE), trampoline).v, trampoline.v);
	ck_assert(!hv_tracee_has(t, hv_gva(VENEERS)));
	tear_down();
}
END_TEST

/* Both mappings begin at the same byte of the region. No page table is read. */
START_TEST(addresses_of_the_region)
{
	struct hv_tracee *t = &r.tracee;
	struct hv_gpa first = {REGION_GPA + HV_REGION_TRAMPOLINES_OFF};

	set_up_far(_i);
	ck_assert(hv_tracee_maps(t, hv_gva(RANGE), first));
	ck_assert(hv_tracee_maps(t, hv_gva(RANGE + 8), hv_gpa_add(first, 8)));
	ck_assert(hv_tracee_maps(t, hv_gva(VENEERS + 8), hv_gpa_add(first, 8)));
	ck_assert(!hv_tracee_maps(t, hv_gva(RANGE + 8), first));
	ck_assert(!hv_tracee_maps(t, hv_gva(VENEERS), hv_gpa(REGION_GPA)));
	ck_assert(!hv_tracee_maps(t, hv_gva(RANGE - 8), hv_gpa(first.v - 8)));
	t->veneers = (struct hv_gva_range){{0}, {0}};
	ck_assert(!hv_tracee_maps(t, hv_gva(VENEERS), first));
	tear_down();
}
END_TEST

/* The guest chooses the addresses. */
START_TEST(targets_out_of_reach)
{
	struct hv_tracee *t = &r.tracee;

	set_up_far(0);
	t->veneers = (struct hv_gva_range){hv_gva(VENEERS - (8ull << 30)),
					   hv_gva(VENEERS - (8ull << 30) + HV_REGION_UNIT)};
	expect_error(hv_trampolines_link(t), ERANGE,
		     "the region is out of reach of the veneers that sites call");
	tear_down();
	set_up_at(0);
	r.t.f.k.core.as.arch = &hv_arch_x86_64;
	expect_error(hv_trampolines_link(t), ERANGE,
		     "the trampolines cannot be made for this kernel: the value of control"
		     " does not fit into an instruction");
	ck_assert_uint_eq(nr_writes, 0);
	tear_down();
}
END_TEST

START_TEST(an_architecture_without_trampolines)
{
	expect_error(hv_trampolines_refusal(&(struct hv_arch){.name = "m68k"}), ENOTSUP,
		     "function tracing is not supported yet for m68k guests");
	ck_assert_ptr_null(hv_trampolines_refusal(&hv_arch_x86_64));
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, targets_out_of_reach);
	tcase_add_test(tc, an_architecture_without_trampolines);
	tcase_add_loop_test(tc, every_trampoline_has_its_veneer, 0, 3);
	tcase_add_test(tc, no_veneers);
	tcase_add_loop_test(tc, every_trampoline_has_a_distant_veneer, 0, HV_ARRAY_LEN(formats));
	tcase_add_loop_test(tc, out_of_reach, 0, HV_ARRAY_LEN(formats));
	tcase_add_loop_test(tc, addresses_of_the_region, 0, HV_ARRAY_LEN(formats));
}

int main(void)
{
	return run_suite("veneers", add_tests);
}
