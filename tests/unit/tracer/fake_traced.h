/* The session of fake_returns.h with sites that hv_session_trace_sites can change. */
#pragma once

#include "kernel/clock.h"
#include "tests/unit/tracer/fake_returns.h"

#define FR_SITE(n)    (FK_BASE + 0x10000 + 16ull * (n))
#define FR_SITE_BYTES 5u

/* NR sites of a function "f", NOP at each. */
static inline void fr_sites(struct fr *r, size_t nr, const uint8_t nop[FR_SITE_BYTES])
{
	struct hv_sites *sites = &r->t.f.k.sites;

	fr_init(r);
	xm_map(&r->t.f.machine, r->t.f.k.core.as.root, 4, 2, hv_gva(FK_BASE), hv_gpa(FK_GPA), 1,
	       XM_W | XM_X);
	sites->list = hv_alloc(nr * sizeof(*sites->list));
	sites->nr = nr;
	for (size_t i = 0; i < nr; i++) {
		sites->list[i] = (struct hv_site){.ip = hv_gva(FR_SITE(i)), .name = "f"};
		memcpy(fk_host(&r->t.f, FR_SITE(i)), nop, FR_SITE_BYTES);
	}
	r->s.patched = hv_alloc(nr);
	fk_u32(&r->t.f, r->t.use_tsc, 1);
	fk_u64(&r->t.f, r->t.pv_sched_clock, FK_BASE + 0x300);
	ck_assert_ptr_null(hv_clock_new(&r->t.f.k, &r->s.clock));
}

static inline void fr_sites_end(struct fr *r)
{
	hv_clock_free(r->s.clock);
	free(r->s.patched);
	fr_deinit(r);
}

/* All sites are to call STUB. */
static inline struct hv_err *fr_want(struct fr *r, enum hv_stub stub)
{
	HV_AUTO_FREE uint8_t *wanted = hv_alloc(r->t.f.k.sites.nr);

	memset(wanted, (int)stub, r->t.f.k.sites.nr);
	r->s.frames_on = true; /* this kernel has nothing that a graph asks for */
	return hv_session_trace_sites(&r->s, wanted);
}

static inline void fr_check_want(struct fr *r, enum hv_stub stub)
{
	struct hv_err *err = fr_want(r, stub);

	ck_assert_msg(!err, "%s", err ? err->message : "");
}
