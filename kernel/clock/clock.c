/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/clock/clock.h"

#include <string.h>

#include "base/bisect.h"
#include "kernel/arch/kernel_arch.h"
#include "kernel/core/fields.h"
#include "kernel/kernel.h"

/* -- the timekeeper ---------------------------------------------------------------------------- */

/* There are two copies of struct tk_read_base: the kernel updates one while readers use the other.
 * The lowest bit of seq selects the copy to read (__ktime_get_fast_ns()). */

#define COPY_MAX  256u /* maximum size of struct tk_fast */
#define READS_MAX 16
#define LOCK_MAX  64u /* maximum size of the seqcount before the timekeeper */

/* Layout in a kernel. Numbers without a comment are offsets of members. */
struct timekeeper_layout {
	struct hv_gva fast; /* tk_fast_mono; 0: the layout is unknown */
	uint32_t fast_bytes;
	uint32_t seq, base; /* struct tk_fast */
	uint32_t base_bytes;
	/* struct tk_read_base: */
	uint32_t clock, cycle_last, mult, shift, xtime_nsec, base_mono, base_real;
	uint32_t name;		       /* struct clocksource */
	struct hv_gva boot_at, tai_at; /* addresses of the offsets to CLOCK_MONOTONIC; 0: unknown */
};

/* Finds struct timekeeper, which is in the variable tk_core, or in newer kernels in the first of an
 * array of struct tk_data. If the type is anonymous, a seqcount whose size depends on the
 * configuration precedes the timekeeper: the right offset is where the clocksource equals that of
 * tk_fast_mono. */
static bool find_core(const struct hv_kernel_core *core, const struct timekeeper_layout *l,
		      uint32_t tkr, struct hv_gva *ret)
{
	static const char *const names[] = {"tk_core", "timekeeper_data"};
	struct hv_gva at = {0};
	uint64_t clock, other;
	uint32_t off;
	HV_AUTO_ERR struct hv_err *err = NULL;

	for (size_t i = 0; i < HV_ARRAY_LEN(names) && !at.v; i++)
		hv_core_symbol(core, names[i], &at);
	if (!at.v)
		return false;
	if (hv_btf_member(core->btf, "tk_data", "timekeeper", &off, NULL)) {
		*ret = hv_gva_add(at, off);
		return true;
	}
	err = hv_read_u64(&core->as, hv_gva_add(l->fast, l->base + l->clock), &clock);
	for (off = 0; !err && off < LOCK_MAX; off += sizeof(uint64_t)) {
		err = hv_read_u64(&core->as, hv_gva_add(at, off + tkr + l->clock), &other);
		if (err || other != clock || !clock)
			continue;
		*ret = hv_gva_add(at, off);
		return true;
	}
	return false;
}

/* Without the offsets, boot and tai are unavailable. */
static void find_offsets(const struct hv_kernel_core *core, struct timekeeper_layout *l)
{
	uint32_t tkr, boot, tai;
	const struct hv_field fields[] = {
		{"tkr_mono", 8, &tkr}, {"offs_boot", 8, &boot}, {"offs_tai", 8, &tai}};
	struct hv_gva at = {0};
	HV_AUTO_ERR struct hv_err *err =
		hv_fields_find(core, "timekeeper", fields, HV_ARRAY_LEN(fields));

	if (err || !find_core(core, l, tkr, &at))
		return;
	l->boot_at = hv_gva_add(at, boot);
	l->tai_at = hv_gva_add(at, tai);
}

/* Returns false if the kernel has no tk_fast_mono or its layout is unknown. */
static bool timekeeper_find(const struct hv_kernel_core *core, struct timekeeper_layout *ret)
{
	struct timekeeper_layout l = {.fast_bytes = 0};
	const struct hv_field outer[] = {{"seq", 4, &l.seq}, {"base", 16, &l.base}};
	const struct hv_field inner[] = {{"clock", 8, &l.clock},
					 {"cycle_last", 8, &l.cycle_last},
					 {"mult", 4, &l.mult},
					 {"shift", 4, &l.shift},
					 {"xtime_nsec", 8, &l.xtime_nsec},
					 {"base", 8, &l.base_mono},
					 {"base_real", 8, &l.base_real}};
	const struct hv_field source[] = {{"name", 8, &l.name}};
	HV_AUTO_ERR struct hv_err *err = NULL;

	if (!hv_core_symbol(core, "tk_fast_mono", &l.fast))
		return false;
	err = hv_fields_find(core, "tk_fast", outer, HV_ARRAY_LEN(outer));
	if (!err)
		err = hv_fields_find(core, "tk_read_base", inner, HV_ARRAY_LEN(inner));
	if (!err)
		err = hv_fields_find(core, "clocksource", source, HV_ARRAY_LEN(source));
	if (err || !hv_btf_size(core->btf, "tk_fast", &l.fast_bytes) || l.fast_bytes > COPY_MAX ||
	    !hv_btf_size(core->btf, "tk_read_base", &l.base_bytes) ||
	    l.base + 2 * (uint64_t)l.base_bytes > l.fast_bytes)
		return false;
	find_offsets(core, &l);
	*ret = l;
	return true;
}

/* Reads struct tk_fast, and retries if its seq changes. */
static struct hv_err *read_copy(const struct hv_kernel_core *core,
				const struct timekeeper_layout *l, uint8_t *bytes)
{
	struct hv_span copy = {bytes, l->fast_bytes};

	for (unsigned i = 0; i < READS_MAX; i++) {
		uint8_t now[4];
		struct hv_err *err = hv_read(&core->as, l->fast, bytes, l->fast_bytes);

		if (!err)
			err = hv_read(&core->as, hv_gva_add(l->fast, l->seq), now, sizeof(now));
		if (err)
			return err;
		if (hv_copy_u32((struct hv_span){now, sizeof(now)}, 0) == hv_copy_u32(copy, l->seq))
			return NULL;
	}
	return hv_err_new(EAGAIN, "tk_fast_mono changed during each read; retry");
}

/* The name may be at the end of a page, so it is read byte by byte. */
static struct hv_err *read_name(const struct hv_kernel_core *core, struct hv_gva clock,
				uint32_t off, char ret[HV_CLOCKSOURCE_NAME_LEN])
{
	uint64_t at;
	struct hv_err *err = hv_read_u64(&core->as, hv_gva_add(clock, off), &at);

	memset(ret, 0, HV_CLOCKSOURCE_NAME_LEN);
	for (unsigned i = 0; !err && i < HV_CLOCKSOURCE_NAME_LEN - 1; i++) {
		err = hv_read(&core->as, hv_gva(at + i), &ret[i], 1);
		if (!ret[i])
			break;
	}
	return err;
}

static struct hv_err *read_offset(const struct hv_kernel_core *core, struct hv_gva at,
				  uint64_t *ret)
{
	return at.v ? hv_read_u64(&core->as, at, ret) : NULL;
}

/* Fails with EAGAIN if the guest changed the timekeeper during each try. The kernel, too, reads the
 * offsets to CLOCK_MONOTONIC without the seqcount (ktime_get_boot_fast_ns()). */
static struct hv_err *timekeeper_read(const struct hv_kernel_core *core,
				      const struct timekeeper_layout *l,
				      struct hv_timekeeper_moment *ret)
{
	struct hv_timekeeper_moment m = {.cycles = 0};
	uint8_t bytes[COPY_MAX];
	struct hv_span base;
	uint32_t seq;
	struct hv_err *err = read_copy(core, l, bytes);

	if (err)
		return err;
	seq = hv_copy_u32((struct hv_span){bytes, l->fast_bytes}, l->seq);
	base = (struct hv_span){bytes + l->base + (seq & 1) * l->base_bytes, l->base_bytes};
	m.cycles = hv_copy_u64(base, l->cycle_last);
	m.base_ns = hv_copy_u64(base, l->base_mono);
	m.shifted_ns = hv_copy_u64(base, l->xtime_nsec);
	m.mult = hv_copy_u32(base, l->mult);
	m.shift = hv_copy_u32(base, l->shift);
	m.realtime_ns =
		hv_copy_u64(base, l->base_real) + (m.shift < 64 ? m.shifted_ns >> m.shift : 0);
	err = read_name(core, hv_gva(hv_copy_u64(base, l->clock)), l->name, m.clocksource);
	if (!err)
		err = read_offset(core, l->boot_at, &m.boot_ns);
	if (!err)
		err = read_offset(core, l->tai_at, &m.tai_ns);
	if (!err)
		*ret = m;
	return err;
}

/* -- the trace clock --------------------------------------------------------------------------- */

struct hv_clock {
	struct hv_kernel *k; /* borrowed */
	unsigned nr_cpus;
	struct hv_clock_source *source; /* owned; NULL: HV_CLOCK_RAW */
	struct hv_clock_scale scales[HV_CLOCK_CPUS_MAX];
	struct timekeeper_layout keeper;
};

static struct hv_err *refresh_cpu(struct hv_clock *c, unsigned cpu)
{
	struct hv_clock_scale now = {0};
	struct hv_err *err = c->source->read(c->source, &c->k->core, cpu, &now);

	if (!err && now.mul)
		c->scales[cpu] = now;
	return err;
}

struct hv_err *hv_clock_refresh(struct hv_clock *c)
{
	struct hv_err *err = NULL;

	for (unsigned cpu = 0; !err && c->source && cpu < c->nr_cpus; cpu++)
		if (hv_cpu_in(&c->k->core, "__cpu_possible_mask", cpu))
			err = refresh_cpu(c, cpu);
	return hv_err_in(err, "clock");
}

struct hv_err *hv_clock_new(struct hv_kernel *k, struct hv_clock **ret)
{
	struct hv_clock *c = hv_alloc(sizeof(*c));
	struct hv_err *err;

	c->k = k;
	(void)timekeeper_find(&k->core, &c->keeper); /* unknown: c->keeper.fast stays 0 */
	c->nr_cpus = k->layout.nr_cpus < HV_CLOCK_CPUS_MAX ? k->layout.nr_cpus : HV_CLOCK_CPUS_MAX;
	err = hv_err_in(hv_kernel_arch_of(&k->core)->find_clock(&k->core, &c->source), "clock");
	if (!err)
		err = hv_clock_refresh(c);
	if (err) {
		hv_clock_free(c);
		return err;
	}
	*ret = c;
	return NULL;
}

void hv_clock_free(struct hv_clock *c)
{
	if (c)
		free(c->source);
	free(c);
}

enum hv_clock_kind hv_clock_kind(const struct hv_clock *c)
{
	return c->source ? c->source->kind : HV_CLOCK_RAW;
}

static inline uint64_t scaled(const struct hv_clock_scale *s, uint64_t ticks)
{
	unsigned up = s->up < 64 ? s->up : 63, down = s->down < 64 ? s->down : 63;
	unsigned __int128 product = (unsigned __int128)(ticks << up >> down) * s->mul;

	return s->shift < 128 ? (uint64_t)(product >> s->shift) : 0;
}

/* Uses another CPU's scale if CPU had none when the scales were last read. */
static const struct hv_clock_scale *scale_of(const struct hv_clock *c, unsigned cpu)
{
	const struct hv_clock_scale *s = &c->scales[cpu < c->nr_cpus ? cpu : 0];

	for (unsigned i = 0; !s->mul && i < c->nr_cpus; i++)
		s = &c->scales[i];
	return s;
}

static inline uint64_t ns_of(const struct hv_clock_scale *s, uint64_t tsc)
{
	/* The scale is newer than the record: compute backwards. */
	if (tsc < s->base_tsc)
		return s->base_ns - scaled(s, s->base_tsc - tsc);
	return s->base_ns + scaled(s, tsc - s->base_tsc);
}

uint64_t hv_clock_ns(const struct hv_clock *c, unsigned cpu, uint64_t tsc)
{
	return c->source ? ns_of(scale_of(c, cpu), tsc) : tsc;
}

void hv_clock_all_ns(const struct hv_clock *c, unsigned cpu, uint64_t *times, size_t nr)
{
	const struct hv_clock_scale s = *scale_of(c, cpu);

	for (size_t i = 0; c->source && i < nr; i++)
		times[i] = ns_of(&s, times[i]);
}

static const struct hv_clock_scale *any_scale(const struct hv_clock *c)
{
	const struct hv_clock_scale *s = &c->scales[0];

	for (unsigned i = 1; !s->mul && i < c->nr_cpus; i++)
		s = &c->scales[i];
	return s;
}

uint64_t hv_clock_span_ns(const struct hv_clock *c, uint64_t ticks)
{
	return !c->source ? ticks : scaled(any_scale(c), ticks);
}

uint64_t hv_clock_ticks(const struct hv_clock *c, uint64_t ns)
{
	const struct hv_clock_scale *s = any_scale(c);

	return c->source ? HV_BISECT(ticks, UINT64_C(1) << 62, scaled(s, ticks) < ns) : ns;
}

/* Finds out whether the clocksource NAME counts the counter's cycles or ns of this clock. */
static struct hv_err *find_cycles(const struct hv_clock *c, const char *name, struct hv_cycles *ret)
{
	const struct hv_clock_source *source = c->source;
	struct hv_cycles found = {.are_ns = false};
	struct hv_err *err = NULL;

	if (!source)
		return hv_err_new(ENOENT, "cannot find the guest's clock");
	found.are_ns = source->ns_name && strcmp(name, source->ns_name) == 0;
	if (!found.are_ns && strcmp(name, source->counter_name) != 0)
		return hv_err_new(
			ENOENT,
			"the guest's timekeeping uses another counter than its trace clock");
	if (found.are_ns)
		err = source->read_offset(source, &c->k->core, &found.offset_ns);
	if (!err)
		*ret = found;
	return err;
}

struct hv_err *hv_clock_read_keeper(const struct hv_clock *c, struct hv_timekeeper_moment *ret,
				    struct hv_cycles *ret_cycles)
{
	struct hv_timekeeper_moment m;
	struct hv_err *err = NULL;

	if (!c->keeper.fast.v)
		err = hv_err_new(ENOENT, "the guest's timekeeper has an unknown layout");
	if (!err)
		err = timekeeper_read(&c->k->core, &c->keeper, &m);
	if (!err)
		err = find_cycles(c, m.clocksource, ret_cycles);
	if (err)
		return err;
	*ret = m;
	return NULL;
}

uint64_t hv_clock_cycles(const struct hv_clock *c, const struct hv_cycles *what, unsigned cpu,
			 uint64_t tsc)
{
	return what->are_ns ? hv_clock_ns(c, cpu, tsc) + what->offset_ns : tsc;
}

static bool read_symbol(const struct hv_kernel_core *core, const char *name, uint64_t *ret)
{
	struct hv_gva at;
	HV_AUTO_ERR struct hv_err *err = NULL;

	if (!hv_core_symbol(core, name, &at))
		return false;
	err = hv_read_u64(&core->as, at, ret);
	return !err;
}

/* Reads the newest tick from per-CPU data of a kernel with an unstable sched_clock() (struct
 * sched_clock_data, kernel/sched/clock.c). */
static struct hv_err *read_ticks(const struct hv_clock *c, struct hv_clock_global *ret)
{
	const struct hv_kernel_core *core = &c->k->core;
	uint32_t raw, gtod;
	const struct hv_field fields[] = {{"tick_raw", 8, &raw}, {"tick_gtod", 8, &gtod}};
	struct hv_gva data = {0}, at;
	struct hv_err *err = hv_fields_find(core, "sched_clock_data", fields, HV_ARRAY_LEN(fields));

	if (!err)
		err = hv_core_need(core, "sched_clock_data", &data);
	for (unsigned cpu = 0; !err && cpu < c->nr_cpus; cpu++) {
		uint64_t tick = 0, global = 0;

		if (!hv_cpu_in(core, "__cpu_online_mask", cpu))
			continue;
		err = hv_core_percpu(core, data.v, cpu, &at);
		if (!err)
			err = hv_read_u64(&core->as, hv_gva_add(at, raw), &tick);
		if (!err)
			err = hv_read_u64(&core->as, hv_gva_add(at, gtod), &global);
		if (err || tick <= ret->tick_ns)
			continue;
		ret->tick_ns = tick;
		ret->global_ns = global;
	}
	return err;
}

struct hv_err *hv_clock_read_global(const struct hv_clock *c, struct hv_clock_global *ret)
{
	const struct hv_kernel_core *core = &c->k->core;
	struct hv_clock_global found = {.is_stable = true};
	struct hv_gva key;
	uint32_t enabled = 1;
	uint64_t offset = 0;
	struct hv_err *err = NULL;

	if (!c->source)
		return hv_err_new(ENOENT, "cannot find the guest's clock");
	if (hv_core_symbol(core, "__sched_clock_stable", &key))
		err = hv_read_u32(&core->as, key, &enabled); /* atomic_t enabled is first */
	if (err)
		return err;
	found.is_stable = enabled != 0;
	if (found.is_stable) {
		read_symbol(core, "__sched_clock_offset", &found.offset_ns);
	} else {
		err = read_ticks(c, &found);
		if (!err && !found.tick_ns)
			err = hv_err_new(ENOENT, "the guest's clock has not ticked yet");
		read_symbol(core, "__gtod_offset", &offset);
		found.global_ns += offset;
	}
	if (!err)
		*ret = found;
	return err;
}

bool hv_clock_epoch_ns(const struct hv_clock *c, uint64_t *ret)
{
	struct hv_timekeeper_moment m;
	struct hv_cycles cycles;
	uint64_t ns;
	HV_AUTO_ERR struct hv_err *err = hv_clock_read_keeper(c, &m, &cycles);

	if (err)
		return false;
	ns = cycles.are_ns ? m.cycles - cycles.offset_ns : hv_clock_ns(c, 0, m.cycles);
	/* Reject a time before 1970 or after 2262. */
	if (m.realtime_ns <= ns || m.realtime_ns - ns > INT64_MAX)
		return false;
	*ret = m.realtime_ns - ns;
	return true;
}

/* -- the present time -------------------------------------------------------------------------- */

/* Source: kernel/sched/core.c (update_rq_clock), kernel/sched/clock.c (sched_clock_cpu). */

void hv_now_init(struct hv_now *n, struct hv_kernel *k)
{
	uint32_t off;
	const struct hv_field clock = {"clock", 8, &off};
	struct hv_gva queues;

	*n = (struct hv_now){.k = k};
	n->has_offset = hv_kernel_symbol(k, "__sched_clock_offset", &n->offset_at);
	if (k->core.btf && hv_kernel_symbol(k, "runqueues", &queues)) {
		HV_AUTO_ERR struct hv_err *err = hv_fields_find(&k->core, "rq", &clock, 1);

		if (!err)
			n->clock_percpu = queues.v + off;
	}
}

/* Returns the newest clock of all CPUs' run queues. */
static bool read_clock(const struct hv_now *n, uint64_t *ret)
{
	uint64_t newest = 0, offset = 0;

	if (n->has_offset) {
		HV_AUTO_ERR struct hv_err *err = hv_read_u64(&n->k->core.as, n->offset_at, &offset);

		if (err)
			return false;
	}
	for (unsigned cpu = 0; cpu < n->k->layout.nr_cpus; cpu++) {
		struct hv_gva at;
		uint64_t clock = 0;
		struct hv_err *err = NULL;

		if (!hv_cpu_in(&n->k->core, "__cpu_online_mask", cpu))
			continue;
		err = hv_kernel_percpu(n->k, n->clock_percpu, cpu, &at);
		if (!err)
			err = hv_read_u64(&n->k->core.as, at, &clock);
		hv_err_free(err);
		if (clock > newest)
			newest = clock;
	}
	*ret = newest - offset;
	return newest != 0;
}

void hv_now_sample(struct hv_now *n, uint64_t host_ns)
{
	uint64_t guest_ns;
	int64_t lead_ns;

	if (!n->clock_percpu || !read_clock(n, &guest_ns))
		return;
	lead_ns = (int64_t)(guest_ns - host_ns);
	if (!n->windows[0].valid || host_ns - n->windows[0].begun_ns >= HV_NOW_WINDOW_NS) {
		n->windows[1] = n->windows[0];
		n->windows[0].valid = true;
		n->windows[0].begun_ns = host_ns;
		n->windows[0].lead_ns = lead_ns;
	}
	if (lead_ns > n->windows[0].lead_ns)
		n->windows[0].lead_ns = lead_ns;
}

void hv_now_restart(struct hv_now *n)
{
	n->windows[0].valid = n->windows[1].valid = false;
}

bool hv_now_at(const struct hv_now *n, uint64_t host_ns, uint64_t *ret)
{
	int64_t lead_ns = n->windows[0].lead_ns;

	if (!n->windows[0].valid)
		return false;
	if (n->windows[1].valid && n->windows[1].lead_ns > lead_ns)
		lead_ns = n->windows[1].lead_ns;
	*ret = host_ns + (uint64_t)lead_ns;
	return true;
}
