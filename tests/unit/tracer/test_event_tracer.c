/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Events of a guest that are switched on and off, whatever the guest does, and whenever we are
 * killed. The guest has one tracepoint, for two types of events. */
#include "tracer/event_tracer.h"
#include "tracer/module_claims.h"

#include <unistd.h>

#include "base/clock.h"
#include "tests/lib/run_suite.h"
#include "tests/unit/kernel/fake_tracepoint.h"
#include "tests/unit/tracer/fake_returns.h"
#include "tracer/event_calls.h"
#include "tracer/plug.h"
#include "tracer/stub_filters.h"

#define REGION		 0x1000000ull
#define RELEASE		 (FK_BASE + 0x60000) /* call_rcu */
#define SLEEPING_RELEASE (FK_BASE + 0x60800) /* call_srcu */
#define SLEEPING_TRACE	 (FK_BASE + 0x60c00) /* call_rcu_tasks_trace */
#define RESERVE		 (FK_BASE + 0x61000)
#define COMMIT		 (FK_BASE + 0x61800)
#define ADD		 (FK_BASE + 0x62000)
#define REMOVE		 (FK_BASE + 0x63000)
#define END		 (FK_BASE + 0x64000)
#define MODULE_PROBE	 (FK_MODULES + 0x1000)
#define MODULE_LIST	 8 /* offsets in struct module */
#define MODULE_COUNT	 24
#define CALL_ID		 32 /* in struct trace_event_call */
#define CLAIM		 0x20000000u

static const uint64_t calls[] = {ADD + 0x20, REMOVE + 0x20, FTP_PROBE + 0x20, FTP_PROBE + 0x40};
static const uint64_t module_calls[] = {MODULE_PROBE + 0x20, MODULE_PROBE + 0x40};

static struct fr r;
static struct fk *const f = &r.t.f;
static struct ftp tp;
static struct hv_event_type other;	 /* that is switched on by a function of its own */
static struct hv_event_type of_a_module; /* "xfs", with the same tracepoint */
static uint64_t module, module_list, module_call;
static struct hv_event_tracer *e;
static uint8_t before[0x30000]; /* from FTP_CODE on */
static size_t writes_left;

/* Those into the region do not count. */
static struct hv_err *write_until_killed(void *self, const struct hv_hold_write *writes, size_t nr)
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

static void declare_modules(struct fk *fk)
{
	uint32_t event = FK_STRUCT("trace_event", 8, {"type", 0, 4});

	(void)fk;
	FK_STRUCT("trace_event_call", 72, {"event", CALL_ID, 0, event});
	FK_STRUCT("list_head", 16, {"next", 0, 8}, {"prev", 8, 8});
	FK_STRUCT("module", 64, {"state", 0, 4}, {"list", MODULE_LIST, 16},
		  {"refcnt", MODULE_COUNT, 4});
	enumerator("MODULE_STATE_LIVE", 0);
}

static void declare(struct fk *fk)
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
	fk_symbol(fk, "trace_event_raw_event_fake", FTP_PROBE);
	fk_symbol(fk, "end_of_code", END);
}

static void put_call(uint64_t at, uint64_t target)
{
	ck_assert(hv_arch_x86_64.encode_call(hv_gva(at), hv_gva(target), fk_host(f, at)));
}

/* Links the module into the list, or unlinks it. */
static void link_module(uint64_t first)
{
	fk_u64(f, module_list, first ? first + MODULE_LIST : module_list);
	fk_u64(f, module_list + 8, first ? first + MODULE_LIST : module_list);
	fk_u64(f, module + MODULE_LIST, module_list);
	fk_u64(f, module + MODULE_LIST + 8, module_list);
}

static void make_module(void)
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
		(struct hv_symbol){hv_gva(MODULE_PROBE), "trace_event_raw_event_xfs", 't'};
	hv_symbols_index(s);
	f->k.modules = (struct hv_modules){m, 1};
	memset(fk_host(f, MODULE_PROBE), 0x90, 0x100);
	put_call(module_calls[0], RESERVE);
	put_call(module_calls[1], COMMIT);
	of_a_module = tp.type;
	of_a_module.system = "xfs";
	of_a_module.module = "xfs";
	of_a_module.probe = hv_gva(MODULE_PROBE);
	of_a_module.id = 1234;
	of_a_module.call = hv_gva(module_call);
}

static void make_guest(void)
{
	static const struct hv_guest_ops ops = {.read = fr_read,
						.hold_begin = fr_hold_begin,
						.hold_registers = fr_hold_registers,
						.hold_write = write_until_killed};
	struct hv_tracee *t = &r.tracee;

	hv_guest_free(r.guest);
	r.guest = hv_guest_new(&ops, &r, hv_guest_info(f->machine.guest));
	f->k.guest = f->k.core.as.guest = t->guest = r.guest;
	t->region.gpa = hv_gpa(REGION);
	hv_patcher_free(t->patcher);
	t->patcher = hv_patcher_new(&f->k.core.as, f->k.core.image.all, &t->region);
	ck_assert_ptr_null(hv_region_plan_rings(&t->region, FK_NR_CPUS, &t->plan));
	ck_assert_uint_ne(t->plan.drafts_off, 0);
}

static void set_up(void)
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

static void tear_down(void)
{
	hv_event_tracer_free(e);
	fr_deinit(&r);
}

static uint64_t funcs(void)
{
	return fr_word(&r, tp.type.tracepoint.funcs.v);
}

static bool leads_to_us(uint64_t at)
{
	struct hv_gva target = {0};

	return hv_arch_x86_64.classify_site(fk_host(f, at), hv_gva(at), &target) == HV_SITE_CALL &&
	       hv_gva_in(target, r.tracee.range);
}

static void is_as_before(void)
{
	ck_assert_uint_eq(funcs(), 0);
	ck_assert_uint_eq((uint32_t)fr_word(&r, tp.type.tracepoint.key.v), 0);
	ck_assert_mem_eq(fk_host(f, FTP_CODE), before, sizeof(before));
}

/* WORDS: of why TYPE is not recorded; NULL: it is. */
static void set_type(const struct hv_event_type *type, const char *words)
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

static void set(const char *words)
{
	set_type(&tp.type, words);
}

static void set_none(void)
{
	struct hv_err *err = hv_event_tracer_set(e, NULL, 0);

	ck_assert_msg(!err, "%s", err ? err->message : "");
	ck_assert(!hv_event_tracer_is_on(e, &tp.type));
}

static struct hv_err *restore(const char *words)
{
	HV_AUTO_TEXT struct hv_text report = {0};
	struct hv_err *err = hv_event_tracer_restore(e, &report);

	if (words)
		ck_assert_msg(report.data && strstr(report.data, words), "%s", report.data);
	return err;
}

#define LEAVES_FOR_NS (200 * HV_NS_PER_MS)

START_TEST(on_and_off)
{
	struct hv_event_tracer_stat stat;
	uint64_t off_ns;

	set(NULL);
	ck_assert(hv_gva_in(hv_gva(funcs()), r.tracee.range));
	for (size_t i = 0; i < HV_ARRAY_LEN(calls); i++)
		ck_assert(leads_to_us(calls[i]));
	ck_assert_uint_eq(r.tracee.event_places.release.v, RELEASE);
	set(NULL); /* nothing is left to be done */
	hv_event_tracer_stat(e, &stat);
	ck_assert_uint_eq(stat.nr_on, 1);
	off_ns = hv_now_ns();
	set_none();
	ck_assert_uint_eq(funcs(), 0);
	hv_event_tracer_stat(e, &stat);
	ck_assert(!stat.nr_on && stat.nr_leaving == 1);
	hv_event_tracer_tend(e); /* too early, unless the host has paused this process */
	ck_assert(leads_to_us(calls[0]) || hv_now_ns() - off_ns >= LEAVES_FOR_NS);
	set(NULL);
	set_none();
	usleep(250000);
	hv_event_tracer_tend(e);
	hv_event_tracer_stat(e, &stat);
	ck_assert(!stat.nr_leaving);
	is_as_before();
	set(NULL);
	ck_assert_ptr_null(restore("1 event of the guest switched off"));
	is_as_before();
	ck_assert(!hv_event_tracer_is_on(e, &tp.type));
}
END_TEST

START_TEST(one_that_cannot_be_does_not_hinder_the_others)
{
	struct hv_event_want wants[] = {{.type = &other}, {.type = &tp.type}};
	struct hv_err *err;

	ck_assert_ptr_null(hv_event_tracer_set(e, wants, 2));
	ck_assert(wants[0].why_not && wants[0].why_not->code == EOPNOTSUPP);
	ck_assert_ptr_null(wants[1].why_not);
	hv_event_wants_deinit(wants, 2);
	err = hv_event_tracer_check(e, &other);
	ck_assert(err && err->code == EOPNOTSUPP);
	hv_err_free(err);
	ck_assert_ptr_null(hv_event_tracer_check(e, &tp.type));
	ck_assert_ptr_null(restore(NULL));
	is_as_before();
}
END_TEST

/* The filter of the first file. */
static uint64_t filter_word(void)
{
	return hv_region_event_file(&r.tracee.region, 0)->filter;
}

START_TEST(an_event_has_a_filter_while_it_is_wanted)
{
	struct hv_stub_filter filter = {.steps = {{.off = 16, .mask = 1}}, .nr = 1};
	struct hv_event_want want = {.type = &tp.type, .filter = &filter};
	uint64_t word;

	hv_event_tracer_set_filter(e, &tp.type, &filter); /* it is not on */
	ck_assert_ptr_null(hv_event_tracer_set(e, &want, 1));
	ck_assert_ptr_null(want.why_not);
	word = filter_word();
	ck_assert_uint_ne(word, 0);
	ck_assert_ptr_null(hv_event_tracer_set(e, &want, 1));
	ck_assert_uint_eq(filter_word(), word);
	hv_event_tracer_set_filter(e, &tp.type, NULL);
	ck_assert_uint_eq(filter_word(), 0);
	hv_event_tracer_set_filter(e, &tp.type, &filter);
	ck_assert_uint_ne(filter_word(), 0);
	want.filter = NULL;
	ck_assert_ptr_null(hv_event_tracer_set(e, &want, 1));
	ck_assert_uint_eq(filter_word(), 0);
	hv_event_tracer_set_filter(e, &tp.type, &filter);
	set_none();
	ck_assert_uint_eq(filter_word(), 0);
	set(NULL);
	ck_assert_uint_eq(filter_word(), 0);
	/* What cannot be done leaves nothing out. */
	hv_event_tracer_set_filter(e, &tp.type, &filter);
	writes_left = 0;
	hv_err_free(hv_event_tracer_set(e, NULL, 0));
	writes_left = SIZE_MAX;
	ck_assert_uint_eq(filter_word(), 0);
	ck_assert_ptr_null(restore(NULL));
}
END_TEST

static uint32_t uses(void)
{
	return (uint32_t)fr_word(&r, module + MODULE_COUNT);
}

static void wait_and_tend(void)
{
	usleep(250000);
	hv_event_tracer_tend(e);
}

START_TEST(a_module_stays_while_its_events_are_on)
{
	set_type(&of_a_module, NULL);
	ck_assert_uint_eq(uses(), CLAIM + 1);
	for (size_t i = 0; i < HV_ARRAY_LEN(module_calls); i++)
		ck_assert(leads_to_us(module_calls[i]));
	ck_assert(!leads_to_us(calls[2]));
	fk_u32(f, module + MODULE_COUNT, CLAIM + 3); /* the guest's own users */
	set_none();
	ck_assert_uint_eq(uses(), CLAIM + 3); /* somebody may be in its probe */
	set_type(&of_a_module, NULL);
	ck_assert_uint_eq(uses(), CLAIM + 3);
	set_none();
	wait_and_tend();
	ck_assert_uint_eq(uses(), 3);
	ck_assert(!leads_to_us(module_calls[0]));
	is_as_before();
	set_type(&of_a_module, NULL);
	ck_assert_uint_eq(uses(), CLAIM + 3);
	ck_assert_ptr_null(restore("1 event of the guest switched off"));
	ck_assert_uint_eq(uses(), 3);
	is_as_before();
}
END_TEST

START_TEST(a_module_goes_while_other_events_are_on)
{
	uint64_t first_file = FR_RANGE + HV_REGION_FILES_OFF - HV_REGION_STUBS_OFF;
	struct hv_event_tracer_stat stat;

	set_type(&of_a_module, NULL);
	set(NULL);
	r.regs[1].general[5] = first_file + 128; /* of the other event */
	r.regs[0].general[5] = first_file + 8;
	wait_and_tend();
	ck_assert_uint_eq(uses(), CLAIM + 1);
	ck_assert(leads_to_us(module_calls[0]));
	r.regs[0].general[5] = 0;
	usleep(250000);
	wait_and_tend();
	ck_assert_uint_eq(uses(), 1);
	for (size_t i = 0; i < HV_ARRAY_LEN(module_calls); i++)
		ck_assert(!leads_to_us(module_calls[i]));
	for (size_t i = 0; i < HV_ARRAY_LEN(calls); i++)
		ck_assert(leads_to_us(calls[i]));
	hv_event_tracer_stat(e, &stat);
	ck_assert(stat.nr_on == 1 && !stat.nr_leaving);
	/* its place is given to the next one */
	set_type(&of_a_module, NULL);
	ck_assert_uint_eq(uses(), CLAIM + 1);
	ck_assert_uint_lt(funcs() - (FR_RANGE + HV_REGION_PROBES_OFF - HV_REGION_STUBS_OFF), 64);
	r.regs[1].general[5] = 0;
	ck_assert_ptr_null(restore("1 event of the guest switched off"));
	ck_assert_uint_eq(uses(), 1);
	is_as_before();
}
END_TEST

START_TEST(a_module_that_goes_is_refused)
{
	fk_u32(f, module + MODULE_COUNT, 0);
	set_type(&of_a_module, "loading or removing it");
	fk_u32(f, module + MODULE_COUNT, 1);
	fk_u32(f, module, 2); /* MODULE_STATE_GOING */
	set_type(&of_a_module, "loading or removing it");
	fk_u32(f, module, 0);
	link_module(0);
	set_type(&of_a_module, "loading or removing it");
	link_module(module);
	ck_assert_uint_eq(uses(), 1);
	fk_u32(f, module_call + CALL_ID, 1235); /* another one at its place */
	set_type(&of_a_module, "may have come again");
	wait_and_tend();
	ck_assert_uint_eq(uses(), 1);
	f->k.modules.nr = 0;
	set_type(&of_a_module, "no module xfs any more");
	f->k.modules.nr = 1;
	is_as_before();
}
END_TEST

/* Whoever comes next finds the claim in the guest, wherever we were killed. */
START_TEST(a_module_whose_claim_is_left)
{
	HV_AUTO_TEXT struct hv_text report = {0};
	const char *names[2];

	ck_assert_uint_eq(hv_module_claims_read(&r.tracee, 2, names), 0);
	fk_u32(f, module + MODULE_COUNT, CLAIM + 2);
	ck_assert_uint_eq(hv_module_claims_read(&r.tracee, 2, names), 1);
	ck_assert_str_eq(names[0], "xfs");
	ck_assert_uint_eq(hv_module_claims_read(&r.tracee, 0, names), 0);
	ck_assert_ptr_null(hv_event_tracer_restore(e, &report));
	ck_assert_uint_eq(uses(), 2);
	fk_u32(f, module + MODULE_COUNT, CLAIM + 2);
	link_module(0); /* removed by force, and nobody knows what is there now */
	hv_err_free(hv_event_tracer_restore(e, &report));
	ck_assert_uint_eq(uses(), CLAIM + 2);
}
END_TEST

/* A probe that does nothing has no calls that are changed: only those that free arrays are. */
START_TEST(a_probe_that_does_nothing)
{
	const struct hv_event_type event = tp.type;
	uint64_t probe;

	tp.type.reg_kind = HV_EVENT_REG_PROBESTUB;
	tp.type.probe = hv_gva(FTP_OTHER);
	tp.type.call = tp.type.tracepoint.at;
	set(NULL);
	memcpy(&probe,
	       r.tracee.region.host + HV_REGION_STUBS_OFF + (funcs() - r.tracee.range.start.v),
	       sizeof(probe));
	ck_assert_uint_eq(probe, FTP_OTHER);
	for (size_t i = 0; i < HV_ARRAY_LEN(calls); i++)
		ck_assert_int_eq(leads_to_us(calls[i]), i < 2);
	set_none();
	ck_assert_ptr_null(restore(NULL));
	tp.type = event;
	is_as_before();
}
END_TEST

START_TEST(the_guest_comes_first)
{
	struct hv_event_tracer_stat stat;

	ck_assert_ptr_null(hv_event_tracer_check(e, &tp.type));
	put_call(calls[3], FTP_OTHER); /* since its code was read */
	set("has changed its probe");
	put_call(calls[3], COMMIT);
	ftp_put_probe(&tp, tp.array, 0, FTP_OTHER, 1);
	fk_u64(f, tp.type.tracepoint.funcs.v, tp.array);
	set("the guest itself uses its tracepoint");
	fk_u64(f, tp.type.tracepoint.funcs.v, 0);
	fk_u64(f, tp.locks[3], 1);
	set("static_call_mutex locked");
	fk_u64(f, tp.locks[3], 0);
	hv_event_tracer_stat(e, &stat);
	ck_assert(!stat.nr_on && funcs() == 0);
	set(NULL);
	ck_assert_ptr_null(restore(NULL));
	is_as_before();
}
END_TEST

/* A hold that ends too early leaves part of a plug. While it cannot be taken out, the probe's calls
 * must stay: the guest's own functions would take our file for theirs. */
START_TEST(a_hold_that_fails_leaves_nothing_behind)
{
	struct hv_event_want want = {.type = &tp.type};
	struct hv_err *err;

	writes_left = HV_ARRAY_LEN(calls) + (size_t)_i;
	err = hv_event_tracer_set(e, &want, 1);
	ck_assert(err && err->code == EIO);
	hv_err_free(err);
	hv_event_wants_deinit(&want, 1);
	writes_left = SIZE_MAX;
	usleep(250000);
	hv_event_tracer_tend(e);
	ck_assert(!funcs() || leads_to_us(calls[2]));
	set_none();
	ck_assert_ptr_null(restore(NULL));
	is_as_before();
}
END_TEST

static unsigned nr_in_place;

static void go_on(struct fr *fr)
{
	fr->regs[0].ip = hv_gva(nr_in_place ? FTP_PLACE(0) + 1 : 0x401000);
	nr_in_place -= nr_in_place != 0;
}

START_TEST(a_vcpu_in_a_place_is_waited_for)
{
	set(NULL);
	set_none();
	nr_in_place = 3;
	r.when_held = go_on;
	set(NULL);
	nr_in_place = 3;
	set_none();
	nr_in_place = 1000;
	set("is in use");
	r.when_held = NULL;
	r.regs[0].ip = hv_gva(0x401000);
	ck_assert_ptr_null(restore(NULL));
	is_as_before();
}
END_TEST

START_TEST(a_kernel_whose_probes_are_freed_in_another_way)
{
	memset(fk_host(f, calls[1]), 0x90, 5);
	memcpy(before, fk_host(f, FTP_CODE), sizeof(before));
	set("were not found");
	is_as_before();
}
END_TEST

START_TEST(the_calls_stay_while_a_probe_may_need_them)
{
	uint64_t draft = FR_RANGE + r.tracee.plan.drafts_off - HV_REGION_STUBS_OFF + 64;
	struct hv_err *err;

	set(NULL);
	r.regs[1].general[5] = draft;
	err = restore("1 event");
	ck_assert(err && err->code == EBUSY);
	hv_err_free(err);
	ck_assert_uint_eq(funcs(), 0);
	ck_assert(!hv_event_tracer_is_on(e, &tp.type));
	ck_assert(leads_to_us(calls[2]));
	usleep(250000);
	hv_event_tracer_tend(e);
	ck_assert(leads_to_us(calls[2]));
	r.regs[1].general[5] = 0;
	ft_push(&r.t, r.task, FR_SLEEP_FROM + 0x80, draft); /* left over */
	ck_assert_ptr_null(restore(NULL));
	is_as_before();
}
END_TEST

/* Since 7.0 probes are called under SRCU. */
START_TEST(a_task_may_sleep_in_a_probe)
{
	uint64_t draft = FR_RANGE + r.tracee.plan.drafts_off - HV_REGION_STUBS_OFF + 64;
	struct hv_err *err;

	put_call(calls[0], SLEEPING_RELEASE);
	put_call(calls[1], SLEEPING_RELEASE);
	memcpy(before, fk_host(f, FTP_CODE), sizeof(before));
	set(NULL);
	ft_push(&r.t, r.task, FR_SLEEP_FROM + 0x80, draft);
	err = restore("1 event");
	ck_assert(err && err->code == EBUSY);
	hv_err_free(err);
	ft_push(&r.t, r.task, FR_SLEEP_FROM + 0x80, 0);
	ck_assert_ptr_null(restore(NULL));
	is_as_before();
}
END_TEST

/* Their arrays are freed by the calls that are known, or it is refused. */
START_TEST(a_tracepoint_whose_probes_may_sleep)
{
	struct hv_event_type type = tp.type;

	type.tracepoint.faultable = true;
	set_type(&type, NULL);
	ck_assert_ptr_null(restore("1 event"));
	hv_event_tracer_free(e);
	e = hv_event_tracer_new(&r.tracee);
	put_call(ADD + 0x40, SLEEPING_TRACE);
	set_type(&type, "in a way that is not known");
	set(NULL);
	ck_assert_ptr_null(restore("1 event"));
}
END_TEST

static void take_over(void);

/* Kernels from 6.13 to 6.19: two ways to free, of which each leads to a stub of its own. A task may
 * sleep in such a probe, also if another process takes over. */
START_TEST(arrays_where_probes_may_sleep_are_freed_by_another_function)
{
	static const uint64_t others[] = {ADD + 0x40, REMOVE + 0x40};
	uint64_t stub = FR_RANGE + HV_STUBS_CODE_OFF + hv_arch_x86_64.stubs.event_release_other_off;
	uint64_t draft = FR_RANGE + r.tracee.plan.drafts_off - HV_REGION_STUBS_OFF + 64;
	struct hv_event_type type = tp.type;
	struct hv_err *err;

	type.tracepoint.faultable = true;
	for (size_t i = 0; i < HV_ARRAY_LEN(others); i++)
		put_call(others[i], SLEEPING_TRACE);
	memcpy(before, fk_host(f, FTP_CODE), sizeof(before));
	set_type(&type, NULL);
	ck_assert_uint_eq(r.tracee.event_places.release.v, RELEASE);
	ck_assert_uint_eq(r.tracee.event_places.release_other.v, SLEEPING_TRACE);
	for (size_t i = 0; i < HV_ARRAY_LEN(others); i++) {
		struct hv_gva target = {0};

		ck_assert_int_eq(hv_arch_x86_64.classify_site(fk_host(f, others[i]),
							      hv_gva(others[i]), &target),
				 HV_SITE_CALL);
		ck_assert_uint_eq(target.v, stub);
		ck_assert(leads_to_us(calls[i]));
	}
	if (_i)
		take_over();
	ft_push(&r.t, r.task, FR_SLEEP_FROM + 0x80, draft);
	err = restore("1 event");
	ck_assert(err && err->code == EBUSY);
	hv_err_free(err);
	ft_push(&r.t, r.task, FR_SLEEP_FROM + 0x80, 0);
	ck_assert_ptr_null(restore(NULL));
	is_as_before();
}
END_TEST

/* Another process takes over: what recover does. */
static void take_over(void)
{
	static struct hv_journal_entry entries[64];
	uint32_t nr = hv_region_header(&r.tracee.region)->nr_entries;

	ck_assert_uint_le(nr, HV_ARRAY_LEN(entries));
	memcpy(entries, hv_region_journal(&r.tracee.region), nr * sizeof(*entries));
	for (uint32_t i = 0; i < nr; i++) {
		bool is_ours = false;

		if (entries[i].state == HV_JOURNAL_USED && entries[i].kind == HV_CHANGE_KEY)
			ck_assert_ptr_null(hv_plugs_know_place(&r.tracee, &entries[i], &is_ours));
		if (entries[i].state == HV_JOURNAL_USED && entries[i].kind == HV_CHANGE_EVENT_CALL)
			ck_assert_ptr_null(
				hv_event_calls_are_ours(&r.tracee, &entries[i], &is_ours));
		if (!is_ours)
			entries[i].state = HV_JOURNAL_FREE;
	}
	hv_event_tracer_free(e);
	hv_patcher_free(r.tracee.patcher);
	r.tracee.patcher = hv_patcher_new(&f->k.core.as, f->k.core.image.all, &r.tracee.region);
	hv_patcher_adopt(r.tracee.patcher, entries, nr);
	e = hv_event_tracer_new(&r.tracee);
}

/* The release calls, those of the probe, and the tracepoint. */
#define NR_WRITES (HV_ARRAY_LEN(calls) + 2 + FTP_NR - 1)

START_TEST(killed_between_any_two_writes)
{
	struct hv_event_want want = {.type = &tp.type};
	bool off_too = (size_t)_i > NR_WRITES;
	struct hv_err *err;

	writes_left = (size_t)_i;
	err = hv_event_tracer_set(e, &want, 1);
	hv_event_wants_deinit(&want, 1);
	ck_assert_int_eq(!err, (size_t)_i >= NR_WRITES);
	hv_err_free(err);
	if (off_too)
		hv_err_free(restore(NULL));
	take_over();
	writes_left = (size_t)_i % 4;
	hv_err_free(restore(NULL));
	take_over();
	writes_left = SIZE_MAX;
	err = restore(NULL);
	ck_assert_msg(!err, "%s", err ? err->message : "");
	is_as_before();
	ck_assert_uint_eq(hv_patcher_nr_patched(r.tracee.patcher, HV_CHANGE_EVENT_CALL), 0);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, on_and_off);
	tcase_add_test(tc, one_that_cannot_be_does_not_hinder_the_others);
	tcase_add_test(tc, an_event_has_a_filter_while_it_is_wanted);
	tcase_add_test(tc, a_module_stays_while_its_events_are_on);
	tcase_add_test(tc, a_module_goes_while_other_events_are_on);
	tcase_add_test(tc, a_module_that_goes_is_refused);
	tcase_add_test(tc, a_module_whose_claim_is_left);
	tcase_add_test(tc, a_probe_that_does_nothing);
	tcase_add_test(tc, the_guest_comes_first);
	tcase_add_loop_test(tc, a_hold_that_fails_leaves_nothing_behind, 0, 2 + FTP_NR - 1);
	tcase_add_test(tc, a_vcpu_in_a_place_is_waited_for);
	tcase_add_test(tc, a_kernel_whose_probes_are_freed_in_another_way);
	tcase_add_test(tc, the_calls_stay_while_a_probe_may_need_them);
	tcase_add_test(tc, a_task_may_sleep_in_a_probe);
	tcase_add_test(tc, a_tracepoint_whose_probes_may_sleep);
	tcase_add_loop_test(tc, arrays_where_probes_may_sleep_are_freed_by_another_function, 0, 2);
	tcase_add_loop_test(tc, killed_between_any_two_writes, 0, 2 * NR_WRITES + 1);
}

int main(void)
{
	return run_suite("event_tracer", add_tests);
}
