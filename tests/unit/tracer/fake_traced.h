/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The guest of fake_returns.h with sites, and the objects that a session uses to change them. */
#pragma once

#include "kernel/clock/clock.h"
#include "tests/unit/tracer/fake_returns.h"
#include "tracer/events/decode.h"
#include "tracer/graph/graph_tracer.h"
#include "tracer/guest/actions.h"
#include "tracer/guest/scope.h"
#include "tracer/hooks/guest_ftrace.h"
#include "tracer/probe_sites/probe_sites.h"
#include "tracer/sites/site_trampolines.h"

#define FR_SITE(n)    (FK_BASE + 0x10000 + 16ull * (n))
#define FR_SITE_BYTES 5u

struct traced {
	struct fr *r;
	struct hv_clock *clock;
	struct hv_decode decode;
	struct hv_scope *scope;
	struct hv_actions *actions;
	struct hv_graph_tracer *graph;
	struct hv_guest_ftrace *guest_ftrace;
	struct hv_probe_sites *probe_sites;
	struct hv_site_trampolines *trampolines;
};

static inline void traced_make_sites(struct fr *r, size_t nr, const uint8_t nop[FR_SITE_BYTES])
{
	struct hv_sites *sites = &r->t.f.k.sites;

	xm_map(&r->t.f.machine, r->t.f.k.core.as.root, 4, 2, hv_gva(FK_BASE), hv_gpa(FK_GPA), 1,
	       XM_W | XM_X);
	sites->list = hv_alloc(nr * sizeof(*sites->list));
	sites->nr = nr;
	for (size_t i = 0; i < nr; i++) {
		sites->list[i] = (struct hv_site){.ip = hv_gva(FR_SITE(i)), .name = "f"};
		memcpy(fk_host(&r->t.f, FR_SITE(i)), nop, FR_SITE_BYTES);
	}
}

/* Makes R with NR sites of a function "f", and NOP at each. DECLARE adds types and symbols, or is
 * NULL. */
static inline void traced_init_with(struct traced *t, struct fr *r, size_t nr,
				    const uint8_t nop[FR_SITE_BYTES], void (*declare)(struct fk *f))
{
	fr_init_with(r, declare);
	traced_make_sites(r, nr, nop);
	fk_u32(&r->t.f, r->t.use_tsc, 1);
	fk_u64(&r->t.f, r->t.pv_sched_clock, FK_BASE + 0x300);
	*t = (struct traced){.r = r};
	ck_assert_ptr_null(hv_clock_new(&r->t.f.k, &t->clock));
	t->scope = hv_scope_new(&r->tracee);
	t->actions = hv_actions_new(&r->tracee, t->scope);
	t->graph = hv_graph_tracer_new(&r->tracee, t->clock);
	t->guest_ftrace = hv_guest_ftrace_new(&r->tracee, &t->decode);
	t->probe_sites = hv_probe_sites_new(&r->tracee, t->actions);
	t->trampolines = hv_site_trampolines_new(&r->tracee, t->graph, t->actions, t->guest_ftrace,
						 t->probe_sites);
}

static inline void traced_deinit(struct traced *t)
{
	hv_site_trampolines_free(t->trampolines);
	hv_probe_sites_free(t->probe_sites);
	hv_guest_ftrace_free(t->guest_ftrace);
	hv_graph_tracer_free(t->graph);
	hv_actions_free(t->actions);
	hv_scope_free(t->scope);
	hv_clock_free(t->clock);
	fr_deinit(t->r);
}

static inline void traced_init(struct traced *t, struct fr *r, size_t nr,
			       const uint8_t nop[FR_SITE_BYTES])
{
	traced_init_with(t, r, nr, nop, NULL);
}

static inline struct hv_err *traced_want(struct traced *t, enum hv_trampoline trampoline)
{
	HV_AUTO_FREE uint8_t *wanted = hv_alloc(t->r->t.f.k.sites.nr);

	memset(wanted, (int)trampoline, t->r->t.f.k.sites.nr);
	if ((trampoline & ~(unsigned)HV_TRAMPOLINE_LATER) >= HV_TRAMPOLINE_GRAPH ||
	    hv_actions_any_return(t->actions))
		ck_assert_ptr_null(fr_start_graph(t->r, t->graph));
	return hv_site_trampolines_set(t->trampolines, wanted);
}

static inline void traced_check_want(struct traced *t, enum hv_trampoline trampoline)
{
	struct hv_err *err = traced_want(t, trampoline);

	ck_assert_msg(!err, "%s", err ? err->message : "");
}
