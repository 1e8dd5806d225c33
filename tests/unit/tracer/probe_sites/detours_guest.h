/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A guest with instructions for detours to replace, and with its own kprobes. */
#pragma once

#include <check.h>

#include "tests/unit/tracer/fake_returns.h"
#include "tracer/probe_sites/detours_code.h"
#include "tracer/sections/section_tracer.h"

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

static inline struct hv_detour_want count_at(uint64_t at, const char *code, size_t len)
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

static inline void symbols(void)
{
	fk_symbol(&r.t.f, "tick_nohz_idle_enter", ENTER);
	fk_symbol(&r.t.f, "__entry_text_start", ENTRY);
	fk_symbol(&r.t.f, "__entry_text_end", ENTRY_END);
	hv_symbols_index(&r.t.f.k.core.symbols);
}

static inline void set_up(void)
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

static inline void tear_down(void)
{
	hv_detours_free(detours);
	fr_deinit(&r);
}

static inline void must(struct hv_err *err)
{
	ck_assert_msg(!err, "%s", err ? err->message : "");
}

static inline void patch(size_t refused)
{
	size_t nr_refused;

	must(hv_detours_patch(detours, wants, NR, &nr_refused));
	ck_assert_uint_eq(nr_refused, refused);
}

static inline void check_leads(unsigned i, enum hv_site_kind kind, uint64_t detour)
{
	struct hv_gva target = {0};

	ck_assert_int_eq(
		hv_arch_x86_64.classify_site(fk_host(&r.t.f, wants[i].at.v), wants[i].at, &target),
		kind);
	ck_assert_uint_eq(target.v, detour);
}

static inline void check_back(unsigned i)
{
	ck_assert_mem_eq(fk_host(&r.t.f, wants[i].at.v), before[i], sizeof(before[i]));
}

static inline void put_back(size_t nr)
{
	size_t nr_back;

	must(hv_detours_put_back(&r.tracee, HV_CHANGE_DETOUR, NULL, NULL, &nr_back));
	ck_assert_uint_eq(nr_back, nr);
}

#define HEADS  (FK_DATA + 0x600000)
#define LOCK   (HEADS + 0x800)
#define PROBES (HEADS + 0x1000)

static inline void heed(void)
{
	const struct hv_own_kprobes_layout layout = {.exists = true,
						     .table = hv_gva(HEADS),
						     .lock = hv_gva(LOCK),
						     .addr = 16,
						     .flags = 24,
						     .len_bytes = 28};

	hv_patcher_heed_kprobes(r.tracee.patcher, &layout);
}

/* Registers a kprobe at AT, after another one that must not matter. */
static inline void probe(uint64_t at, uint32_t flags)
{
	fk_u64(&r.t.f, HEADS + 8 * 7, PROBES);
	fk_u64(&r.t.f, PROBES, PROBES + 64);
	fk_u64(&r.t.f, PROBES + 16, at);
	fk_u32(&r.t.f, PROBES + 24, flags);
	fk_u64(&r.t.f, PROBES + 64 + 16, FK_BASE + 0x50000);
}

#define OFF	2 /* KPROBE_FLAG_DISABLED */
#define FTRACED 8

static inline bool is_ours(struct hv_journal_entry *e)
{
	bool ours;

	must(hv_detours_are_ours(&r.tracee, e, &ours));
	return ours;
}

/* Returns the journal entry for WANTS[I]. */
