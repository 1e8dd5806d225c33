/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Probes inside a function that are added and removed: the guest's text, and which probes
 * record. */
#include <check.h>

#include "kernel/code/probe_site.h"
#include "tests/lib/run_suite.h"
#include "tests/unit/tracer/fake_returns.h"
#include "tracer/guest/actions.h"
#include "tracer/guest/scope.h"
#include "tracer/probe_sites/probe_sites.h"

#define AT     (FK_BASE + 0x40800)
#define REGION 0x1000000ull

static const uint8_t function[] = {
	0x53,			      /* 0: pushq %rbx */
	0x48, 0x83, 0xf9, 0x05,	      /* 1: cmpq $5, %rcx */
	0x51,			      /* 5: pushq %rcx */
	0xb8, 0x44, 0x33, 0x22, 0x11, /* 6: movl $0x11223344, %eax */
	0x90, 0x90, 0x90, 0x90, 0x90, /* 11: nop, five times */
};
static const unsigned begins[] = {0, 1, 5, 6, 11, 12, 13, 14, 15, 16};

static struct fr r;
static struct hv_scope *scope;
static struct hv_actions *actions;
static struct hv_probe_sites *sites;

static void must(struct hv_err *err)
{
	ck_assert_msg(!err, "%s", err ? err->message : "");
}

static void set_up(void)
{
	fr_init(&r);
	r.tracee.region.gpa = hv_gpa(REGION);
	xm_map(&r.t.f.machine, r.t.f.k.core.as.root, 4, 2, hv_gva(FK_BASE), hv_gpa(FK_GPA), 1,
	       XM_W | XM_X);
	memcpy(fk_host(&r.t.f, AT), function, sizeof(function));
	scope = hv_scope_new(&r.tracee);
	actions = hv_actions_new(&r.tracee, scope);
	sites = hv_probe_sites_new(&r.tracee, actions);
}

static void tear_down(void)
{
	hv_probe_sites_free(sites);
	hv_actions_free(actions);
	hv_scope_free(scope);
	fr_deinit(&r);
}

static struct hv_probe_site probe_site_at(unsigned off)
{
	struct hv_probe_site site = {.at = hv_gva(AT + off)};

	for (unsigned i = 0; site.len_bytes < 5; i++)
		if (begins[i] >= off) {
			site.begins |= 1u << (begins[i] - off);
			site.len_bytes = begins[i + 1] - off;
			site.nr++;
		}
	memcpy(site.insns, function + off, site.len_bytes);
	return site;
}

/* Bit N of PROBES: a probe at N. */
static void want(unsigned probes)
{
	struct hv_probe_site at[16];
	struct hv_site_actions list[16] = {{0}};
	size_t nr = 0;

	for (unsigned off = 0; off < 16; off++)
		if (probes >> off & 1) {
			at[nr] = probe_site_at(off);
			list[nr] = (struct hv_site_actions){.ip = AT + off,
							    .probe_site = &at[nr],
							    .bits = 1u << HV_ACTION_REGS};
			nr++;
		}
	must(hv_actions_set(actions, list, nr));
	hv_actions_begin(actions);
	must(hv_probe_sites_begin(sites));
	must(hv_probe_sites_end(sites));
	hv_actions_done(actions);
	for (unsigned off = 0; off < 16; off++)
		ck_assert_uint_eq(hv_probe_sites_has(sites, hv_gva(AT + off)), probes >> off & 1);
}

/* Bit N of HEADS: the guest has a jump to a detour at N, and no other jumps. */
static void check_jumps(unsigned heads)
{
	for (unsigned i = 0; begins[i] < sizeof(function); i++) {
		struct hv_gva target = {0}, at = hv_gva(AT + begins[i]);
		enum hv_site_kind kind =
			hv_arch_x86_64.classify_site(fk_host(&r.t.f, at.v), at, &target);

		ck_assert_uint_eq(kind == HV_SITE_JUMP && hv_gva_in(target, r.tracee.range),
				  heads >> begins[i] & 1);
	}
	ck_assert_uint_eq(hv_patcher_nr_patched(r.tracee.patcher, HV_CHANGE_PROBE_SITE),
			  (unsigned)__builtin_popcount(heads));
	if (!heads)
		ck_assert_mem_eq(fk_host(&r.t.f, AT), function, sizeof(function));
}

/* Returns the probes for which the detour of the run at HEAD calls the trampoline: it saves the
 * flags and pushes the probe's action group. */
static unsigned called_by(unsigned head)
{
	struct hv_gva target = {0};
	const uint8_t *code = r.t.f.machine.ram + REGION + HV_REGION_TRAMPOLINES_OFF;
	unsigned probes = 0;

	hv_arch_x86_64.classify_site(fk_host(&r.t.f, AT + head), hv_gva(AT + head), &target);
	code += target.v - r.tracee.range.start.v;
	for (unsigned i = 0; i < HV_DETOUR_LEN_MAX && code[i] != 0xcc; i++) {
		uint32_t site;

		memcpy(&site, code + i + 2, sizeof(site));
		if (code[i] == 0x9c && code[i + 1] == 0x68 && site - (uint32_t)AT < 16)
			probes |= 1u << (site - (uint32_t)AT);
	}
	return probes;
}

START_TEST(probe_sites_are_added_and_removed)
{
	want(1u << 1);
	check_jumps(1u << 1);
	want(1u << 1 | 1u << 5); /* the same jump serves both */
	check_jumps(1u << 1);
	ck_assert_uint_eq(called_by(1), 1u << 1 | 1u << 5);
	want(1u << 5); /* the jump stays */
	check_jumps(1u << 1);
	ck_assert_uint_eq(called_by(1), 1u << 5);
	want(1u << 0 | 1u << 5); /* the jump of 0 covers up to 5 */
	check_jumps(1u << 0 | 1u << 5);
	want(1u << 0 | 1u << 1 | 1u << 5 | 1u << 6);
	check_jumps(1u << 0 | 1u << 5);
	want(1u << 6);
	check_jumps(1u << 5);
	want(0);
	check_jumps(0);
}
END_TEST

START_TEST(random_sets_of_probes)
{
	const unsigned all = 1u << 0 | 1u << 1 | 1u << 5 | 1u << 6 | 1u << 11;
	unsigned seed = 1;

	want(all);
	check_jumps(1u << 0 | 1u << 5 | 1u << 11);
	for (unsigned i = 0; i < 60; i++) {
		seed = seed * 1103515245 + 12345;
		want(seed >> 8 & all);
	}
	want(0);
	check_jumps(0);
}
END_TEST

/* A task will return from the detour of a run that was put back. */
START_TEST(a_probe_site_waits_for_returning_tasks)
{
	struct hv_gva detour = {0};
	struct hv_probe_site first = probe_site_at(0), second = probe_site_at(5);
	struct hv_site_actions list[2] = {
		{.ip = AT, .probe_site = &first, .bits = 1u << HV_ACTION_REGS},
		{.ip = AT + 5, .probe_site = &second, .bits = 1u << HV_ACTION_REGS},
	};

	want(1u << 1 | 1u << 5);
	hv_arch_x86_64.classify_site(fk_host(&r.t.f, AT + 1), hv_gva(AT + 1), &detour);
	r.regs[1].ip = hv_gva_add(detour, 3);
	must(hv_actions_set(actions, list, 2));
	hv_actions_begin(actions);
	must(hv_probe_sites_begin(sites));
	must(hv_probe_sites_end(sites));
	hv_actions_done(actions);
	ck_assert(!hv_probe_sites_has(sites, hv_gva(AT)));
	ck_assert(hv_probe_sites_has(sites, hv_gva(AT + 5))); /* unchanged */
	check_jumps(1u << 1);
	r.regs[1].ip = hv_gva(0);
	want(1u << 0 | 1u << 5);
	check_jumps(1u << 0 | 1u << 5);
	want(0);
	check_jumps(0);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, probe_sites_are_added_and_removed);
	tcase_add_test(tc, random_sets_of_probes);
	tcase_add_test(tc, a_probe_site_waits_for_returning_tasks);
}

int main(void)
{
	return run_suite("probe_sites", add_tests);
}
