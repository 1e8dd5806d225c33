/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/lib/fake_session.h"

#include <string.h>

#include "kernel/code/probe_site.h"
#include "kernel/tasks/tasks.h"
#include "kernel/tasks/user_regs.h"
#include "tests/lib/fake_buffer.h"
#include "tests/lib/fake_events.h"
#include "tests/lib/fake_session_kernel.h"
#include "tests/lib/fake_scope.h"
#include "tests/lib/fake_sections.h"
#include "tracer/tracepoints/event_calls.h"
#include "tracer/events/callers.h"
#include "tracer/events/names.h"
#include "tracer/probe_sites/probe_sites.h"

/* The parts of a session that the tree calls. */
struct hv_clocks {
	enum hv_clock_kind guest;
	unsigned has_host;
	unsigned is_unstable;
	const struct hv_buffer *buffer; /* "now" is just after the last event of this buffer */
};

struct hv_actions {
	struct hv_site_actions *list; /* owned */
	size_t nr;
	uint64_t deepest_bytes;
};

struct hv_graph_tracer {
	struct hv_graph_options options;
	unsigned livepatch;
};

struct hv_site_trampolines {
	int *fail;
	const struct hv_actions *actions;
	const struct hv_kernel *kernel;
	uint8_t *now;	  /* owned */
	unsigned is_back; /* the site that the guest took calls a trampoline again */
};

struct hv_call_counts {
	unsigned on;
	struct fake_count {
		unsigned cpu;
		struct hv_profile_count count;
	} * list; /* owned */
	size_t nr;
};

struct fake {
	struct hv_session session; /* points to all other parts */
	struct hv_kernel kernel;
	struct hv_buffer buffer;
	struct hv_clocks clocks;
	struct hv_actions actions;
	struct hv_graph_tracer graph;
	struct hv_site_trampolines trampolines;
	struct hv_call_counts counts;
	int fail; /* errno of the next change; 0: it succeeds */
	unsigned modules_changed;
	unsigned is_taken; /* a site was taken by the guest */
	uint32_t pids[8];  /* pids of tasks */
	unsigned nr_pids;
};

bool hv_trampolines_have(const struct hv_kernel *k hv_unused, unsigned trampoline hv_unused)
{
	return true;
}

static struct fake *fake_of(struct hv_session *s)
{
	return (struct fake *)s;
}

struct hv_session *hv_fake_new(void)
{
	struct fake *f = hv_alloc(sizeof(*f));

	f->kernel.release = (char *)"6.1.0-fake";
	for (unsigned cpu = 0; cpu < HV_FAKE_NR_CPUS; cpu++)
		f->buffer.sizes_bytes[cpu] = 1 << 20;
	f->clocks.buffer = &f->buffer;
	f->trampolines.fail = &f->fail;
	f->trampolines.kernel = &f->kernel;
	f->trampolines.actions = &f->actions;
	f->kernel.core.as.arch = &fake_arch;
	f->kernel.layout.stack_bytes = 0x4000;
	f->session = (struct hv_session){
		.kernel = &f->kernel,
		.buffer = &f->buffer,
		.clocks = &f->clocks,
		.names = hv_names_new(&f->kernel),
		.trampolines = &f->trampolines,
		.scope = fake_scope_new(&f->fail),
		.actions = &f->actions,
		.graph = &f->graph,
		.counts = &f->counts,
		.types = fake_event_types_new(),
		.events = fake_event_tracer_new(&f->fail),
		.sections = fake_sections_new(&f->fail),
	};
	hv_fake_cpus(&f->session, 2);
	return &f->session;
}

void hv_fake_types(struct hv_session *s)
{
	struct hv_kernel_core *core = &fake_of(s)->kernel.core;

	hv_btf_free(core->btf);
	core->btf = hv_fake_btf();
}

void hv_fake_casts(struct hv_session *s)
{
	struct hv_kernel_core *core = &fake_of(s)->kernel.core;

	hv_btf_free(core->btf);
	core->btf = hv_fake_btf_with_casts();
}

static void free_programs(struct hv_actions *a)
{
	for (size_t i = 0; i < a->nr; i++)
		free((struct hv_fetch_step *)a->list[i].program);
	a->nr = 0;
}

void hv_fake_free(struct hv_session *s)
{
	struct fake *f = fake_of(s);
	struct hv_sites *sites = &f->kernel.sites;

	for (size_t i = 0; i < sites->nr; i++) {
		free((char *)sites->list[i].name);
		free((char *)sites->list[i].module);
	}
	free(sites->list);
	free(f->trampolines.now);
	free(f->counts.list);
	fake_buffer_deinit(&f->buffer);
	hv_names_free(s->names);
	free_programs(&f->actions);
	free(f->actions.list);
	free(f->kernel.modules.list);
	hv_btf_free(f->kernel.core.btf);
	fake_event_types_free(s->types);
	fake_event_tracer_free(s->events);
	fake_sections_free(s->sections);
	fake_scope_free(s->scope);
	free(f);
}

static void add_module(struct hv_modules *modules, const char *name)
{
	for (size_t i = 0; i < modules->nr; i++)
		if (strcmp(modules->list[i].name, name) == 0)
			return;
	modules->list = hv_realloc_array(modules->list, modules->nr + 1, sizeof(*modules->list));
	modules->list[modules->nr] = (struct hv_module){0};
	strncpy(modules->list[modules->nr++].name, name, sizeof(modules->list->name) - 1);
}

/* A new site replaces an existing one at the same address. */
static bool replace_site(struct hv_sites *sites, uint64_t ip, const char *name, const char *module)
{
	for (size_t i = 0; i < sites->nr; i++) {
		if (sites->list[i].ip.v != ip)
			continue;
		free((char *)sites->list[i].name);
		free((char *)sites->list[i].module);
		sites->list[i].name = hv_strdup(name);
		sites->list[i].module = module ? hv_strdup(module) : NULL;
		return true;
	}
	return false;
}

void hv_fake_site(struct hv_session *s, uint64_t ip, const char *name, const char *module,
		  unsigned invalid)
{
	struct fake *f = fake_of(s);
	struct hv_sites *sites = &f->kernel.sites;

	if (replace_site(sites, ip, name, module)) {
		f->modules_changed = 1;
		return;
	}
	if (!(sites->nr & (sites->nr - 1))) { /* the arrays have room for a power of two */
		sites->list =
			hv_realloc_array(sites->list, 2 * sites->nr + 1, sizeof(*sites->list));
		f->trampolines.now = hv_realloc_array(f->trampolines.now, 2 * sites->nr + 1, 1);
	}
	f->trampolines.now[sites->nr] = 0;
	f->modules_changed = 1;
	if (module)
		add_module(&f->kernel.modules, module);
	sites->list[sites->nr++] = (struct hv_site){
		.ip = hv_gva(ip),
		.name = hv_strdup(name),
		.module = module ? hv_strdup(module) : NULL,
		.invalid = invalid,
	};
}

void hv_fake_event(struct hv_session *s, const struct hv_event *e)
{
	fake_buffer_put(s->buffer, e);
}

void hv_fake_overrun(struct hv_session *s, uint64_t nr)
{
	s->buffer->overrun = nr;
}

void hv_fake_comm(struct hv_session *s, uint32_t pid, uint32_t tgid, const char *comm)
{
	char padded[HV_COMM_LEN] = {0};
	struct fake *f = fake_of(s);

	if (tgid && f->nr_pids < HV_ARRAY_LEN(f->pids))
		f->pids[f->nr_pids++] = pid;
	strncpy(padded, comm, sizeof(padded) - 1);
	hv_names_add(s->names, pid, tgid, padded);
}

void hv_fake_cpus(struct hv_session *s, unsigned nr)
{
	s->buffer->nr_cpus = nr;
	fake_scope_set_cpus(s->scope, nr);
}

void hv_fake_steal_time(struct hv_session *s)
{
	s->kernel->layout.has_steal_time = true;
}

void hv_fake_lazy(struct hv_session *s)
{
	s->kernel->layout.has_lazy = true;
}

void hv_fake_clock(struct hv_session *s, enum hv_clock_kind clock)
{
	s->clocks->guest = clock;
}

void hv_fake_fail(struct hv_session *s, int code)
{
	fake_of(s)->fail = code;
}

struct hv_err *fake_change(int *fail)
{
	int code = *fail;

	*fail = 0;
	if (!code)
		return NULL;
	return hv_err_mark(hv_err_new(code, "the guest could not be changed"),
			   code == ENOTRECOVERABLE ? HV_ERR_NEEDS_RECOVERY : 0);
}

void hv_session_stat(struct hv_session *s, struct hv_session_stat *ret)
{
	*ret = (struct hv_session_stat){
		.nr_sites = s->kernel->sites.nr,
		.nr_cpus = s->buffer->nr_cpus,
		.ring_bytes = (uint64_t)s->buffer->nr_cpus << 20,
	};
}

/* A function whose name begins with "busy" cannot be changed. */
static bool records_registers(const struct hv_site_trampolines *s, const struct hv_site *site)
{
	for (size_t i = 0; i < s->actions->nr; i++)
		if (s->actions->list[i].ip == site->ip.v &&
		    s->actions->list[i].bits & (1u << HV_ACTION_REGS | 1u << HV_ACTION_ALL_REGS |
						1u << HV_ACTION_RETURN))
			return strncmp(site->name, "busy", 4) != 0;
	return false;
}

/* Fails for a function "busy_schedule_tail" while another function has a graph. */
struct hv_err *hv_site_trampolines_why_inexact(const struct hv_site_trampolines *s,
					       struct hv_gva *ret_at)
{
	const struct hv_site *busy = NULL;
	bool has_graph = false;

	for (size_t i = 0; i < s->kernel->sites.nr; i++) {
		if (strcmp(s->kernel->sites.list[i].name, "busy_schedule_tail") == 0)
			busy = &s->kernel->sites.list[i];
		has_graph |=
			s->now[i] >= HV_TRAMPOLINE_FIRST_GRAPH && s->now[i] != HV_TRAMPOLINE_LATER;
	}
	*ret_at = hv_gva(0);
	if (!busy || !has_graph)
		return NULL;
	*ret_at = busy->ip;
	return hv_err_new(EBUSY, "%s, 0x%llx, cannot be changed now", busy->name,
			  (unsigned long long)busy->ip.v);
}

struct hv_err *hv_site_trampolines_set(struct hv_site_trampolines *s, const uint8_t *wanted)
{
	struct hv_err *err = fake_change(s->fail);

	for (size_t i = 0; !err && i < s->kernel->sites.nr; i++)
		if (!(wanted[i] & HV_TRAMPOLINE_LATER))
			s->now[i] = wanted[i];
		else if (!(s->now[i] &= (uint8_t)~HV_TRAMPOLINE_PROFILED))
			s->now[i] = HV_TRAMPOLINE_LATER;
	for (size_t i = 0; !err && i < s->kernel->sites.nr; i++)
		if (!(s->now[i] & ~HV_TRAMPOLINE_LATER) &&
		    records_registers(s, &s->kernel->sites.list[i]))
			s->now[i] = HV_TRAMPOLINE_ACTIONS;
	return err;
}

/* The only valid probe site in a function is 0x10 bytes after its site. */
struct hv_err *hv_probe_sites_find(const struct hv_probe_sites *p, struct hv_gva at,
				   struct hv_probe_site *ret)
{
	(void)p;
	if (at.v & 0xf)
		return hv_err_new(EILSEQ, "Probe point is not an instruction boundary");
	*ret = (struct hv_probe_site){
		.at = at, .site = hv_gva(at.v - 0x10), .len_bytes = 5, .nr = 1};
	return NULL;
}

bool hv_probe_sites_has(const struct hv_probe_sites *p, struct hv_gva at)
{
	(void)p;
	return (at.v & 0x20) == 0;
}

const uint8_t *hv_site_trampolines_now(const struct hv_site_trampolines *s)
{
	return s->now;
}

struct hv_err *hv_actions_set(struct hv_actions *a, const struct hv_site_actions *list, size_t nr)
{
	free_programs(a);
	a->list = hv_realloc_array(a->list, nr + 1, sizeof(*list));
	for (; a->nr < nr; a->nr++) {
		const struct hv_site_actions *from = &list[a->nr];
		size_t len_bytes = from->nr_steps * sizeof(*from->program);
		struct hv_fetch_step *program = hv_alloc(len_bytes + 1);

		if (len_bytes)
			memcpy(program, from->program, len_bytes);
		a->list[a->nr] = *from;
		a->list[a->nr].program = program;
	}
	return NULL;
}

struct hv_err *hv_actions_check_fetch(const struct hv_actions *a hv_unused)
{
	return NULL;
}

struct hv_err *hv_event_calls_refusal(const struct hv_arch *arch hv_unused)
{
	return NULL;
}

struct hv_err *hv_callers_check(const struct hv_callers *c hv_unused)
{
	return NULL;
}

struct hv_err *hv_callers_prepare(struct hv_callers *c hv_unused)
{
	return NULL;
}

struct hv_err *hv_actions_check_deepest(const struct hv_actions *a hv_unused)
{
	return NULL;
}

void hv_actions_set_deepest(struct hv_actions *a, uint64_t bytes)
{
	a->deepest_bytes = bytes;
}

uint64_t hv_actions_missed(const struct hv_actions *a hv_unused, uint64_t ip hv_unused)
{
	return 3;
}

int64_t hv_actions_left(const struct hv_actions *a, uint64_t ip, enum hv_action action,
			int64_t not_set)
{
	for (size_t i = 0; i < a->nr; i++)
		if (a->list[i].ip == ip && a->list[i].bits >> action & 1)
			return a->list[i].left[action];
	return not_set;
}

/* Returns the tasks of hv_fake_comm() that have a tgid. */
struct hv_err *hv_tasks_read(struct hv_kernel *k, struct hv_tasks *ret)
{
	const struct fake *f = (const struct fake *)((char *)k - offsetof(struct fake, kernel));

	*ret = (struct hv_tasks){hv_alloc(HV_ARRAY_LEN(f->pids) * sizeof(*ret->list)), f->nr_pids};
	for (unsigned i = 0; i < f->nr_pids; i++)
		ret->list[i].pid = f->pids[i];
	return NULL;
}

void hv_tasks_deinit(struct hv_tasks *t)
{
	free(t->list);
}

struct hv_err *hv_user_regs_find(struct hv_kernel *k, uint32_t *ret_off)
{
	*ret_off = k->layout.stack_bytes ? k->layout.stack_bytes - 0xa8 : 0;
	return NULL;
}

const struct hv_site_actions *hv_fake_actions(const struct hv_session *s, size_t *ret_nr)
{
	*ret_nr = s->actions->nr;
	return s->actions->list;
}

unsigned hv_session_refresh(struct hv_session *s)
{
	struct fake *f = fake_of(s);
	unsigned changed = f->modules_changed;

	f->modules_changed = 0;
	return changed;
}

void hv_fake_take(struct hv_session *s)
{
	fake_of(s)->is_taken = 1;
}

unsigned hv_session_rejoin(struct hv_session *s)
{
	struct fake *f = fake_of(s);
	unsigned is_taken = f->is_taken;

	f->is_taken = 0;
	f->trampolines.is_back |= is_taken;
	return is_taken;
}

bool hv_site_trampolines_take_unseen(struct hv_site_trampolines *s, struct hv_text *ret)
{
	if (!s->is_back)
		return false;
	s->is_back = 0;
	hv_text_add(ret, "1 function was not seen for up to 12 ms while the guest changed it: "
			 "vfs_open");
	return true;
}

struct hv_err *hv_graph_tracer_livepatch(struct hv_graph_tracer *g)
{
	return g->livepatch ? hv_err_new(EBUSY, "a livepatch waits") : NULL;
}

void hv_graph_tracer_put_back(struct hv_graph_tracer *g)
{
	g->livepatch = 0;
}

void hv_fake_livepatch(struct hv_session *s)
{
	s->graph->livepatch = 1;
}

void hv_graph_tracer_set_options(struct hv_graph_tracer *g, const struct hv_graph_options *options)
{
	g->options = *options;
}

void hv_call_counts_switch(struct hv_call_counts *c, enum hv_switch to)
{
	c->on = to;
}

void hv_call_counts_clear(struct hv_call_counts *c)
{
	c->nr = 0;
}

void hv_fake_count(struct hv_session *s, unsigned cpu, const struct hv_profile_count *count)
{
	struct fake_count new = {cpu, *count};
	struct hv_call_counts *c = s->counts;

	if (!c->on || !(s->trampolines->now[count->site] & HV_TRAMPOLINE_PROFILED))
		return;
	c->list = hv_realloc_array(c->list, c->nr + 1, sizeof(new));
	c->list[c->nr++] = new;
}

size_t hv_call_counts_read(const struct hv_call_counts *c, unsigned cpu,
			   struct hv_profile_count **ret)
{
	size_t nr = 0;

	*ret = hv_alloc((c->nr + 1) * sizeof(**ret));
	for (size_t i = 0; i < c->nr; i++)
		if (c->list[i].cpu == cpu)
			(*ret)[nr++] = c->list[i].count;
	return nr;
}

const struct hv_graph_options *hv_fake_graph(const struct hv_session *s)
{
	return &s->graph->options;
}

void hv_fake_host_clock(struct hv_session *s)
{
	s->clocks->has_host = 1;
}

void hv_fake_unstable_clock(struct hv_session *s)
{
	s->clocks->is_unstable = 1;
}

enum hv_clock_kind hv_clocks_guest_kind(const struct hv_clocks *c)
{
	return c->guest;
}

const char *hv_clocks_why_not(const struct hv_clocks *c, enum hv_trace_clock clock)
{
	if (clock == HV_TRACE_CLOCK_GUEST)
		return c->guest == HV_CLOCK_RAW ? "cannot find the guest's clock" : NULL;
	if (clock == HV_TRACE_CLOCK_HOST)
		return c->has_host ? NULL
				   : "cannot tell how the guest's counter follows the host's";
	if (clock == HV_TRACE_CLOCK_GLOBAL && c->is_unstable)
		return NULL;
	return clock == HV_TRACE_CLOCK_TSC ? NULL : "the fake has none";
}

enum hv_trace_clock hv_clocks_default(const struct hv_clocks *c)
{
	return c->is_unstable ? HV_TRACE_CLOCK_GLOBAL : HV_TRACE_CLOCK_GUEST;
}

bool hv_clocks_has_host(const struct hv_clocks *c)
{
	return c->has_host;
}

bool hv_clocks_now_ns(struct hv_clocks *c, enum hv_trace_clock clock hv_unused, uint64_t *ret)
{
	const struct hv_buffer *b = c->buffer;
	const struct hv_event *last = b->nr_events ? &b->events[b->nr_events - 1] : NULL;

	*ret = last ? last->time_ns + 1000 : 1000;
	return true;
}

void hv_session_set_stops(struct hv_session *s hv_unused, bool (*stops)(void *ctx) hv_unused,
			  void *ctx hv_unused)
{
}
