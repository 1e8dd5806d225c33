/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A guest with one tracepoint in the kernel and one of a module, and functions to enable and
 * disable their events. */
#pragma once

#include <unistd.h>

#include "base/clock.h"
#include "tests/lib/part_guest.h"
#include "tests/unit/kernel/events/fake_tracepoint.h"
#include "tests/unit/tracer/fake_returns.h"
#include "tracer/guest/trampoline_programs.h"
#include "tracer/tracepoints/event_calls.h"
#include "tracer/tracepoints/event_tracer.h"
#include "tracer/tracepoints/module_claims.h"
#include "tracer/tracepoints/plug.h"

#define REGION		 0x1000000ull
#define RELEASE		 (FK_BASE + 0x60000) /* call_rcu */
#define SLEEPING_RELEASE (FK_BASE + 0x60800) /* call_srcu */
#define SLEEPING_TRACE	 (FK_BASE + 0x60c00) /* call_rcu_tasks_trace */
#define RESERVE		 (FK_BASE + 0x61000)
#define COMMIT		 (FK_BASE + 0x61800)
#define ADD		 (FK_BASE + 0x62000)
#define REMOVE		 (FK_BASE + 0x63000)
#define END		 (FK_BASE + 0x64000)
#define MODULE_CALLBACK	 (FK_MODULES + 0x1000)
#define MODULE_LIST	 8 /* offsets in struct module */
#define MODULE_COUNT	 24
#define CALL_ID		 32 /* in struct trace_event_call */
#define CLAIM		 0x20000000u

static const uint64_t calls[] = {ADD + 0x20, REMOVE + 0x20, FTP_CALLBACK + 0x20,
				 FTP_CALLBACK + 0x40};
static const uint64_t module_calls[] = {MODULE_CALLBACK + 0x20, MODULE_CALLBACK + 0x40};

static struct fr r;
static struct fk *const f = &r.t.f;
static struct ftp tp;
static struct hv_event_type other;	 /* enabled by a separate function */
static struct hv_event_type of_a_module; /* "xfs", with the same tracepoint */
static uint64_t module, module_list, module_call;
static struct hv_event_tracer *e;
static uint8_t before[0x30000]; /* from FTP_CODE on */
static size_t writes_left;

/* Writes to the region do not count. */
static inline struct hv_err *write_until_killed(void *self, const struct hv_hold_write *writes,
						size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		struct hv_err *err;

		if (writes[i].gpa.v < REGION && !writes_left)
			return hv_err_new(EIO, "killed");
		writes_left -= writes[i].gpa.v < REGION;
		err = fr_hold_write(self, &writes[i], 1);
		if (err)
			return err;
	}
	return NULL;
}

static inline void declare_modules(struct fk *fk)
{
	uint32_t event = FK_STRUCT("trace_event", 8, {"type", 0, 4});

	(void)fk;
	FK_STRUCT("trace_event_call", 72, {"event", CALL_ID, 0, event});
	FK_STRUCT("list_head", 16, {"next", 0, 8}, {"prev", 8, 8});
	FK_STRUCT("module", 64, {"state", 0, 4}, {"list", MODULE_LIST, 16},
		  {"refcnt", MODULE_COUNT, 4});
	enumerator("MODULE_STATE_LIVE", 0);
}

static inline void declare(struct fk *fk)
{
	FK_STRUCT("trace_event_buffer", 64, {"trace_file", 16, 8}, {"event", 8, 8},
		  {"entry", 24, 8});
	ftp_declare(&tp, fk);
	declare_modules(fk);
	fk_symbol(fk, "call_rcu", RELEASE);
	fk_symbol(fk, "call_srcu", SLEEPING_RELEASE);
	fk_symbol(fk, "call_rcu_tasks_trace", SLEEPING_TRACE);
	fk_symbol(fk, "trace_event_buffer_reserve", RESERVE);
	fk_symbol(fk, "trace_event_buffer_commit", COMMIT);
	fk_symbol(fk, "tracepoint_add_func", ADD);
	fk_symbol(fk, "tracepoint_probe_unregister", REMOVE);
	fk_symbol(fk, "trace_event_raw_event_fake", FTP_CALLBACK);
	fk_symbol(fk, "end_of_code", END);
}

static inline void put_call(uint64_t at, uint64_t target)
{
	ck_assert(hv_arch_x86_64.encode_call(hv_gva(at), hv_gva(target), fk_host(f, at)));
}

static inline void link_module(uint64_t first)
{
	fk_u64(f, module_list, first ? first + MODULE_LIST : module_list);
	fk_u64(f, module_list + 8, first ? first + MODULE_LIST : module_list);
	fk_u64(f, module + MODULE_LIST, module_list);
	fk_u64(f, module + MODULE_LIST + 8, module_list);
}

static inline void make_module(void)
{
	struct hv_module *m = hv_alloc(sizeof(*m));
	struct hv_symbols *s = &m->symbols;

	module = fk_alloc(f, 64);
	module_list = fk_alloc(f, 16);
	module_call = fk_alloc(f, 72);
	link_module(module);
	fk_u32(f, module + MODULE_COUNT, 1);
	fk_u32(f, module_call + CALL_ID, 1234);
	*m = (struct hv_module){.name = "xfs",
				.at = hv_gva(module),
				.text = {hv_gva(FK_MODULES), hv_gva(FK_MODULES + 0x10000)}};
	s->by_addr = hv_alloc(sizeof(*s->by_addr));
	s->by_addr[s->nr++] =
		(struct hv_symbol){hv_gva(MODULE_CALLBACK), "trace_event_raw_event_xfs", 't'};
	hv_symbols_index(s);
	f->k.modules = (struct hv_modules){m, 1};
	memset(fk_host(f, MODULE_CALLBACK), 0x90, 0x100);
	put_call(module_calls[0], RESERVE);
	put_call(module_calls[1], COMMIT);
	of_a_module = tp.type;
	of_a_module.system = "xfs";
	of_a_module.module = "xfs";
	of_a_module.callback = hv_gva(MODULE_CALLBACK);
	of_a_module.id = 1234;
	of_a_module.call = hv_gva(module_call);
}

static inline void make_guest(void)
{
	static struct hv_guest_ops ops = {.read = fr_read,
					  .hold_begin = fr_hold_begin,
					  .hold_registers = fr_hold_registers,
					  .hold_write = write_until_killed};
	struct hv_tracee *t = &r.tracee;

	hv_guest_free(r.guest);
	r.guest = part_guest_new(&ops, &r, hv_guest_info(f->machine.guest));
	f->k.guest = f->k.core.as.guest = t->guest = r.guest;
	t->region.gpa = hv_gpa(REGION);
	hv_patcher_free(t->patcher);
	t->patcher = hv_patcher_new(&f->k.core.as, f->k.core.image.all, &t->region);
	ck_assert_ptr_null(hv_region_plan_rings(&t->region, FK_NR_CPUS, &t->plan));
	ck_assert_uint_ne(t->plan.drafts_off, 0);
}

static inline void set_up(void)
{
	fr_init_with(&r, declare);
	make_guest();
	xm_map(&f->machine, f->k.core.as.root, 4, 2, hv_gva(FK_BASE), hv_gpa(FK_GPA), 1,
	       XM_W | XM_X);
	ftp_make(&tp);
	put_call(calls[0], RELEASE);
	put_call(calls[1], RELEASE);
	put_call(calls[2], RESERVE);
	put_call(calls[3], COMMIT);
	tp.type.system = "fake";
	tp.type.name = "event";
	other = tp.type;
	other.name = "other";
	other.reg_kind = HV_EVENT_REG_OTHER;
	make_module();
	writes_left = SIZE_MAX;
	memcpy(before, fk_host(f, FTP_CODE), sizeof(before));
	e = hv_event_tracer_new(&r.tracee);
}

static inline void tear_down(void)
{
	hv_event_tracer_free(e);
	fr_deinit(&r);
}

static inline uint64_t funcs(void)
{
	return fr_word(&r, tp.type.tracepoint.funcs.v);
}

static inline bool leads_to_us(uint64_t at)
{
	struct hv_gva target = {0};

	return hv_arch_x86_64.classify_site(fk_host(f, at), hv_gva(at), &target) == HV_SITE_CALL &&
	       hv_gva_in(target, r.tracee.range);
}

static inline void is_as_before(void)
{
	ck_assert_uint_eq(funcs(), 0);
	ck_assert_uint_eq((uint32_t)fr_word(&r, tp.type.tracepoint.key.v), 0);
	ck_assert_mem_eq(fk_host(f, FTP_CODE), before, sizeof(before));
}

/* WORDS: part of the reason why TYPE cannot be recorded, or NULL if it can. */
static inline void set_type(const struct hv_event_type *type, const char *words)
{
	struct hv_event_want want = {.type = type};
	struct hv_err *err = hv_event_tracer_set(e, &want, 1);

	ck_assert_msg(!err, "%s", err ? err->message : "");
	ck_assert_msg(!want.why_not == !words, "%s", want.why_not ? want.why_not->message : "");
	if (words)
		ck_assert_msg(strstr(want.why_not->message, words), "%s", want.why_not->message);
	ck_assert_int_eq(hv_event_tracer_is_on(e, type), !words);
	hv_event_wants_deinit(&want, 1);
}

static inline void set(const char *words)
{
	set_type(&tp.type, words);
}

static inline void set_none(void)
{
	struct hv_err *err = hv_event_tracer_set(e, NULL, 0);

	ck_assert_msg(!err, "%s", err ? err->message : "");
	ck_assert(!hv_event_tracer_is_on(e, &tp.type));
}

static inline struct hv_err *restore(const char *words)
{
	HV_AUTO_TEXT struct hv_text report = {0};
	struct hv_err *err = hv_event_tracer_restore(e, &report);

	if (words)
		ck_assert_msg(report.data && strstr(report.data, words), "%s", report.data);
	return err;
}

/* Another process takes over, as recover does. */
static inline void take_over(void)
{
	static struct hv_journal_entry entries[64];
	uint32_t nr = hv_region_header(&r.tracee.region)->nr_entries;

	ck_assert_uint_le(nr, HV_ARRAY_LEN(entries));
	memcpy(entries, hv_region_journal(&r.tracee.region), nr * sizeof(*entries));
	for (uint32_t i = 0; i < nr; i++) {
		bool is_ours = false;

		if (entries[i].state == HV_JOURNAL_USED && entries[i].kind == HV_CHANGE_KEY)
			ck_assert_ptr_null(hv_plugs_know_change(&r.tracee, &entries[i], &is_ours));
		if (entries[i].state == HV_JOURNAL_USED && entries[i].kind == HV_CHANGE_EVENT_CALL)
			ck_assert_ptr_null(
				hv_event_calls_are_ours(&r.tracee, &entries[i], &is_ours));
		if (entries[i].state == HV_JOURNAL_USED && entries[i].kind == HV_CHANGE_MODULE)
			ck_assert_ptr_null(
				hv_module_claims_are_ours(&r.tracee, &entries[i], &is_ours));
		if (!is_ours)
			entries[i].state = HV_JOURNAL_FREE;
	}
	hv_event_tracer_free(e);
	hv_patcher_free(r.tracee.patcher);
	r.tracee.patcher = hv_patcher_new(&f->k.core.as, f->k.core.image.all, &r.tracee.region);
	hv_patcher_adopt(r.tracee.patcher, entries, nr);
	e = hv_event_tracer_new(&r.tracee);
}
