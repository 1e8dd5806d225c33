/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/session.h"

#include <stdlib.h>

#include "base/clock.h"
#include "kernel/events/idle_memory.h"
#include "kernel/kernel.h"
#include "tracer/events/buffer.h"
#include "tracer/events/clocks.h"
#include "tracer/events/decoder.h"
#include "tracer/graph/call_counts.h"
#include "tracer/graph/graph_tracer.h"
#include "tracer/guest/actions.h"
#include "tracer/guest/scope.h"
#include "tracer/guest/tracee.h"
#include "tracer/hooks/kernel_calls.h"
#include "tracer/hooks/guest_ftrace.h"
#include "tracer/host_tracer.h"
#include "tracer/probe_sites/probe_sites.h"
#include "tracer/sections/section_tracer.h"
#include "tracer/sites/init_code.h"
#include "tracer/sites/site_trampolines.h"
#include "tracer/tracepoints/event_tracer.h"
#include "tracer/tracepoints/event_types.h"
#include "tracer/tracepoints/module_claims.h"
#include "vmm/shared_memory.h"

void hv_session_find_rings(struct hv_session *s)
{
	const struct hv_tracee *t = s->tracee;
	uint64_t ring_bytes = hv_plan_ring_bytes(&t->plan);

	for (unsigned cpu = 0; cpu < t->plan.nr_cpus; cpu++)
		hv_buffer_set_ring(s->buffer, cpu, hv_tracee_state(t, cpu), ring_bytes, ring_bytes);
}

/* Takes ownership of CLOCK, the guest's clock. */
static void make_parts(struct hv_session *s, struct hv_clock *clock)
{
	struct hv_tracee *t = s->tracee;

	s->clocks = hv_clocks_new(clock, hv_host_clock_new(t->guest), t->kernel,
				  hv_patcher_holds(t->patcher));
	s->names = hv_names_new(t->kernel);
	s->callers = hv_callers_new(t->kernel, &t->range);
	s->types = hv_event_types_new(t->kernel);
	s->decoder = hv_decoder_new(t->kernel, s->clocks, s->names, s->callers);
	s->buffer = hv_buffer_over(s->decoder, t->plan.nr_cpus);
	hv_session_find_rings(s);
	s->scope = hv_scope_new(t);
	s->actions = hv_actions_new(t, s->scope);
	s->graph = hv_graph_tracer_new(t, clock);
	s->counts = hv_call_counts_new(t, clock, s->graph);
	s->sections = hv_section_tracer_new(t, clock, s->decoder);
	s->events = hv_event_tracer_new(t);
	s->guest_ftrace = hv_guest_ftrace_new(t, &s->decoder->decode);
	s->host = hv_host_tracer_new(t->guest, s->clocks, s->types, t->plan.nr_cpus);
	s->probe_sites = hv_probe_sites_new(t, s->actions);
	s->trampolines =
		hv_site_trampolines_new(t, s->graph, s->actions, s->guest_ftrace, s->probe_sites);
}

struct hv_err *hv_session_new(struct hv_guest *guest, struct hv_kernel *kernel,
			      struct hv_session **ret)
{
	struct hv_session *s = hv_alloc(sizeof(*s));
	struct hv_clock *clock;
	struct hv_err *err;

	s->kernel = kernel;
	s->keeps_image = kernel->is_starting;
	err = hv_tracee_new(guest, kernel, &s->tracee);
	if (!err)
		err = hv_clock_new(kernel, &clock);
	if (err) {
		hv_session_free(s);
		return err;
	}
	make_parts(s, clock);
	*ret = s;
	return NULL;
}

void hv_session_free(struct hv_session *s)
{
	if (!s)
		return;
	if (s->may_release)
		hv_idle_memory_end(s->kernel);
	hv_site_trampolines_free(s->trampolines);
	hv_probe_sites_free(s->probe_sites);
	hv_host_tracer_free(s->host);
	hv_guest_ftrace_free(s->guest_ftrace);
	hv_event_tracer_free(s->events);
	hv_section_tracer_free(s->sections);
	hv_call_counts_free(s->counts);
	hv_graph_tracer_free(s->graph);
	hv_actions_free(s->actions);
	hv_scope_free(s->scope);
	hv_buffer_unref(s->buffer);
	hv_decoder_free(s->decoder);
	hv_event_types_free(s->types);
	hv_callers_free(s->callers);
	hv_names_free(s->names);
	hv_clocks_free(s->clocks);
	hv_tracee_free(s->tracee);
	free(s);
}

struct hv_err *hv_session_alive(struct hv_session *s)
{
	struct hv_err *err;
	bool mapped;

	hv_clocks_sample(s->clocks);
	err = hv_tracee_is_mapped(s->tracee, &mapped);
	if (err || mapped || hv_tracee_is_partly_mapped(s->tracee))
		return err;
	return hv_err_new(ECONNRESET,
			  "the guest was rebooted: nothing of the session is left in it");
}

bool hv_session_maps(const struct hv_session *s, struct hv_gva at, struct hv_gpa gpa)
{
	return hv_tracee_maps(s->tracee, at, gpa);
}

bool hv_session_is_whole(const struct hv_session *s)
{
	bool mapped = false;
	HV_AUTO_ERR struct hv_err *err = hv_tracee_is_mapped(s->tracee, &mapped);

	return mapped || err || !hv_tracee_is_partly_mapped(s->tracee);
}

bool hv_session_region_is_lost(const struct hv_session *s)
{
	const struct hv_region *region = &s->tracee->region;

	return hv_shared_is_lost(region->host, region->len_bytes);
}

static void put_back(void *ctx, struct hv_gva at, uint8_t *bytes, size_t len_bytes)
{
	hv_patcher_put_back_copy(ctx, at, bytes, len_bytes);
}

static void load_memory(void *ctx)
{
	hv_idle_memory_load(ctx);
}

bool hv_session_release_memory(struct hv_session *s)
{
	if (s->keeps_image)
		return false;
	if (!s->may_release) {
		hv_idle_memory_begin(s->kernel, put_back, s->tracee->patcher);
		hv_patcher_set_before_hold(s->tracee->patcher, load_memory, s->kernel);
		s->may_release = true;
	}
	return hv_idle_memory_release_some(s->kernel);
}

bool hv_session_delays_hibernation(const struct hv_session *s)
{
	return hv_hibernation_waits(s->tracee);
}

bool hv_session_is_quiet(const struct hv_session *s)
{
	static const uint32_t needed = UINT32_C(1) << HV_CHANGE_ENTRY |
				       UINT32_C(1) << HV_CHANGE_HIBERNATION |
				       UINT32_C(1) << HV_CHANGE_RENAME;

	for (unsigned kind = 0; kind < HV_NR_CHANGE_KINDS; kind++)
		if (!(needed & UINT32_C(1) << kind) &&
		    hv_patcher_nr_patched(s->tracee->patcher, kind))
			return false;
	return true;
}

/* Writes the trampolines again after a kernel that was starting at attach has chosen how it
 * returns, or after a kernel becomes preemptible. */
static void settle(struct hv_tracee *t)
{
	struct hv_gva before = t->kernel->return_thunk;
	bool was_starting = t->kernel->is_starting, changed;
	struct hv_err *err = hv_kernel_settle(t->kernel, &changed);

	if (!err && (changed || hv_trampolines_lack_locks(t)))
		err = hv_trampolines_link(t);
	if (err) {
		/* The next refresh retries. Until then a bare return works. */
		t->kernel->return_thunk = before;
		t->kernel->is_starting = was_starting;
	}
	hv_err_free(err);
}

/* Forgets changes in memory that the guest has freed or taken over. */
static void forget_changes(struct hv_session *s)
{
	hv_patcher_forget_gone(s->tracee->patcher);
	hv_guest_ftrace_forget_taken(s->guest_ftrace);
}

unsigned hv_session_refresh(struct hv_session *s)
{
	uint64_t signature;
	HV_AUTO_ERR struct hv_err *unseen = hv_modules_signature(&s->kernel->core, &signature);
	bool init_ended = hv_init_code_end(s->tracee);
	struct hv_err *err;

	settle(s->tracee);
	hv_event_tracer_tend(s->events);
	if (init_ended)
		hv_site_trampolines_look(s->trampolines);
	if (unseen || (!hv_guest_ftrace_has_read(s->guest_ftrace, hv_now_ns()) &&
		       signature == s->modules_signature))
		return init_ended;
	err = hv_kernel_refresh(s->kernel);
	if (err) {
		hv_err_free(err);
		return init_ended;
	}
	s->modules_signature = signature;
	hv_callers_forget_modules(s->callers);
	hv_event_types_forget(s->types);
	forget_changes(s);
	hv_site_trampolines_look(s->trampolines);
	return 1;
}

unsigned hv_session_rejoin(struct hv_session *s)
{
	const struct hv_unseen *unseen = hv_guest_ftrace_unseen(s->guest_ftrace);

	if (!hv_guest_ftrace_may_write(s->guest_ftrace, hv_now_ns()))
		return 0;
	hv_guest_ftrace_forget_taken(s->guest_ftrace);
	return unseen->nr_now != 0;
}

bool hv_session_is_followed(const struct hv_session *s)
{
	return hv_guest_ftrace_is_patched(s->guest_ftrace) ||
	       hv_guest_ftrace_unseen(s->guest_ftrace)->nr_now;
}

size_t hv_session_in_use(struct hv_session *s)
{
	struct hv_sites *sites = &s->kernel->sites;
	size_t nr = 0;

	hv_err_free(hv_sites_read_busy(&s->kernel->core, sites)); /* else the old flags count */
	for (size_t i = 0; i < sites->nr; i++)
		nr += sites->list[i].busy;
	return nr;
}

void hv_session_set_stops(struct hv_session *s, bool (*stops)(void *ctx), void *ctx)
{
	hv_patcher_set_stops(s->tracee->patcher, stops, ctx);
}

static void add_cpu(const struct hv_session *s, unsigned cpu, struct hv_session_stat *ret)
{
	const struct hv_state *state = hv_tracee_state(s->tracee, cpu);

	ret->nr_events += hv_buffer_head(s->buffer, cpu);
	ret->nr_lost += hv_buffer_overwritten(s->buffer, cpu);
	ret->nr_no_stack += __atomic_load_n(&state->nr_no_stack, __ATOMIC_RELAXED);
	ret->nr_no_room += __atomic_load_n(&state->nr_no_room, __ATOMIC_RELAXED);
	ret->nr_no_count += __atomic_load_n(&state->nr_no_count, __ATOMIC_RELAXED);
}

/* Returns the number of sites that call a trampoline, or lead to a detour (entry_sites.h). */
static size_t nr_patched(const struct hv_tracee *t)
{
	return hv_patcher_nr_patched(t->patcher, t->kernel->sites.entries ? HV_CHANGE_PROBE_SITE
									  : HV_CHANGE_TEXT);
}

size_t hv_session_refused(const struct hv_session *s, size_t max, const struct hv_site **ret)
{
	const struct hv_refused *refused = hv_site_trampolines_refused(s->trampolines);
	size_t nr = refused->nr < HV_REFUSED_FIRST ? refused->nr : HV_REFUSED_FIRST, nr_found = 0;

	for (size_t i = 0; i < s->kernel->sites.nr; i++)
		for (size_t j = 0; j < nr && nr_found < max; j++)
			if (s->kernel->sites.list[i].ip.v == refused->first[j].v)
				ret[nr_found++] = &s->kernel->sites.list[i];
	return nr_found;
}

const char *hv_session_why_refused(const struct hv_session *s, const struct hv_site *site)
{
	const struct hv_address_space *as = &s->kernel->core.as;
	HV_AUTO_ERR struct hv_err *gone = NULL;
	uint8_t bytes[HV_SITE_LEN_MAX];
	struct hv_gva target;

	if (site->invalid)
		return "the guest's kernel has disabled it";
	gone = hv_read(as, site->ip, bytes, as->arch->site_len_bytes);
	if (gone)
		return "its code is gone";
	if (s->kernel->sites.entries)
		return "the guest changed it, or has a kprobe there";
	if (site->busy || as->arch->classify_site(bytes, site->ip, &target) != HV_SITE_NOP)
		return "the guest itself uses it";
	return "it cannot be changed now";
}

const char *hv_session_why_names_stay(const struct hv_session *s)
{
	if (hv_renames_are_followed(s->tracee))
		return NULL;
	if (!s->kernel->core.as.arch->trampolines.rename_off)
		return "following renames is not supported yet for guests of this architecture";
	return "the call where the kernel gives a task its name was not found, or the guest uses "
	       "it";
}

size_t hv_session_held_modules(const struct hv_session *s, size_t max, const char **ret)
{
	return hv_module_claims_read(s->tracee, max, ret);
}

uint64_t hv_session_long_holds(const struct hv_session *s, uint64_t *ret_last_ns)
{
	const struct hv_hold_stat *holds = hv_patcher_holds(s->tracee->patcher);

	*ret_last_ns = holds->last_long_ns;
	return holds->nr_long;
}

void hv_session_stat(struct hv_session *s, struct hv_session_stat *ret)
{
	const struct hv_tracee *t = s->tracee;
	const struct hv_hold_stat *holds = hv_patcher_holds(t->patcher);

	*ret = (struct hv_session_stat){
		.nr_patched = nr_patched(t),
		.nr_refused = hv_site_trampolines_refused(s->trampolines)->nr,
		.nr_joined = hv_site_trampolines_joined(s->trampolines),
		.unseen = *hv_guest_ftrace_unseen(s->guest_ftrace),
		.nr_lost = s->decoder->nr_lost,
		.nr_holds = holds->nr,
		.hold_total_ns = holds->total_ns,
		.hold_last_ns = holds->last_ns,
		.hold_max_ns = holds->max_ns,
		.bytes_changed = holds->bytes,
		.region_bytes = t->region.len_bytes,
		.part_bytes = t->plan.part_bytes,
		.ring_bytes = t->plan.nr_cpus * hv_plan_ring_bytes(&t->plan),
		.nr_cpus = t->plan.nr_cpus,
		.nr_sites = s->kernel->sites.nr - s->kernel->sites.nr_invalid,
	};
	for (unsigned cpu = 0; cpu < t->plan.nr_cpus; cpu++)
		add_cpu(s, cpu, ret);
}
