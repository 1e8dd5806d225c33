/* sched_clock() of the guest, computed here. Which function it is, the kernel's own switches say:
 * the static call pv_sched_clock (5.13, a0e2bf7cb700), pv_ops.time.sched_clock before, none without
 * PARAVIRT; and the static key __use_tsc. Source: arch/x86/kernel/{tsc,kvmclock,pvclock}.c,
 * Documentation/virt/kvm/x86/msr.rst (pvclock). */
#include "kernel/clock.h"

#include <string.h>

#include "kernel/fields.h"
#include "kernel/kernel.h"

#define COPY_MAX  256u /* bytes of a structure */
#define READS_MAX 16   /* of a structure that is being written */

struct scale { /* ns = base_ns + ((tsc - base_tsc) << up >> down) * mul >> shift */
	bool valid;
	uint64_t base_tsc;
	uint64_t base_ns;
	uint32_t mul;
	uint32_t shift;
	uint8_t up;
	uint8_t down;
};

struct hv_clock {
	struct hv_kernel *k; /* borrowed */
	enum hv_clock_kind kind;
	unsigned nr_cpus;
	uint64_t percpu;	     /* cyc2ns, or the pointer to the CPU's pvclock */
	struct hv_gva offset_at;     /* of kvm_sched_clock_offset */
	uint32_t len_bytes;	     /* of one CPU's structure */
	uint32_t data[2], seq;	     /* struct cyc2ns */
	uint32_t mul, shift, offset; /* struct cyc2ns_data */
	uint32_t version, tsc, system_time, tsc_mul, tsc_shift; /* struct pvclock_vcpu_time_info */
	struct scale scales[HV_CLOCK_CPUS_MAX];
};

/* The function that sched_clock() calls; 0: native_sched_clock(), called directly. */
static struct hv_err *find_function(const struct hv_kernel *k, uint64_t *ret)
{
	struct hv_gva at;
	uint32_t off;

	*ret = 0;
	if (hv_kernel_symbol(k, "__SCK__pv_sched_clock", &at))
		return hv_read_u64(&k->core.as, at, ret); /* static_call_key.func is first */
	if (k->core.btf && hv_kernel_symbol(k, "pv_ops", &at) &&
	    hv_btf_member(k->core.btf, "paravirt_patch_template", "time.sched_clock", &off, NULL))
		return hv_read_u64(&k->core.as, hv_gva_add(at, off), ret);
	return NULL;
}

static bool is_function(const struct hv_kernel *k, uint64_t addr, const char *name)
{
	struct hv_gva at;

	return hv_kernel_symbol(k, name, &at) && at.v == addr;
}

/* The static key that says whether native_sched_clock() uses the tsc: atomic_t enabled is first. */
static struct hv_err *read_use_tsc(const struct hv_kernel *k, bool *ret)
{
	struct hv_gva at;
	uint32_t enabled = 0;
	struct hv_err *err = NULL;

	if (hv_kernel_symbol(k, "__use_tsc", &at))
		err = hv_read_u32(&k->core.as, at, &enabled);
	*ret = enabled != 0;
	return err;
}

static bool find_cyc2ns(struct hv_clock *c)
{
	const struct hv_field outer[] = {{"data", 8, &c->data[0]}, {"seq", 4, &c->seq}};
	const struct hv_field inner[] = {{"cyc2ns_mul", 4, &c->mul},
					 {"cyc2ns_shift", 4, &c->shift},
					 {"cyc2ns_offset", 8, &c->offset}};
	struct hv_gva at;
	uint32_t size;
	struct hv_err *err = hv_fields_find(&c->k->core, "cyc2ns", outer, HV_ARRAY_LEN(outer));

	if (!err)
		err = hv_fields_find(&c->k->core, "cyc2ns_data", inner, HV_ARRAY_LEN(inner));
	if (err || !hv_btf_size(c->k->core.btf, "cyc2ns_data", &size) ||
	    !hv_btf_size(c->k->core.btf, "cyc2ns", &c->len_bytes) || c->len_bytes > COPY_MAX ||
	    !hv_kernel_symbol(c->k, "cyc2ns", &at)) {
		hv_err_free(err);
		return false;
	}
	c->data[1] = c->data[0] + size;
	c->percpu = at.v;
	return true;
}

static bool find_pvclock(struct hv_clock *c)
{
	const struct hv_field fields[] = {{"version", 4, &c->version},
					  {"tsc_timestamp", 8, &c->tsc},
					  {"system_time", 8, &c->system_time},
					  {"tsc_to_system_mul", 4, &c->tsc_mul},
					  {"tsc_shift", 1, &c->tsc_shift}};
	struct hv_gva at;
	struct hv_err *err =
		hv_fields_find(&c->k->core, "pvclock_vcpu_time_info", fields, HV_ARRAY_LEN(fields));

	if (err || !hv_btf_size(c->k->core.btf, "pvclock_vcpu_time_info", &c->len_bytes) ||
	    c->len_bytes > COPY_MAX || !hv_kernel_symbol(c->k, "hv_clock_per_cpu", &at) ||
	    !hv_kernel_symbol(c->k, "kvm_sched_clock_offset", &c->offset_at)) {
		hv_err_free(err);
		return false;
	}
	c->percpu = at.v;
	return true;
}

static struct hv_err *find_kind(struct hv_clock *c)
{
	uint64_t function;
	bool use_tsc = false;
	struct hv_err *err = find_function(c->k, &function);

	c->kind = HV_CLOCK_RAW;
	if (!err)
		err = read_use_tsc(c->k, &use_tsc);
	if (err)
		return err;
	if (is_function(c->k, function, "kvm_sched_clock_read")) {
		if (find_pvclock(c))
			c->kind = HV_CLOCK_PVCLOCK;
	} else if (!function || is_function(c->k, function, "native_sched_clock")) {
		if (use_tsc && find_cyc2ns(c))
			c->kind = HV_CLOCK_TSC;
	}
	return NULL;
}

/* Two copies, the current one's number in the lowest bit of seq; the guest's reader takes it
 * likewise
 * (__cyc2ns_read()). */
static struct hv_err *read_cyc2ns(const struct hv_clock *c, unsigned cpu, struct scale *ret)
{
	uint8_t bytes[COPY_MAX];
	struct hv_span copy = {bytes, c->len_bytes};
	struct hv_gva at;
	uint32_t seq, data;
	struct hv_err *err = hv_kernel_percpu(c->k, c->percpu, cpu, &at);

	for (unsigned i = 0; !err && i < READS_MAX; i++) {
		err = hv_read(&c->k->core.as, at, bytes, c->len_bytes);
		if (!err)
			err = hv_read_u32(&c->k->core.as, hv_gva_add(at, c->seq), &seq);
		if (!err && seq == hv_copy_u32(copy, c->seq))
			break;
	}
	if (err)
		return err;
	data = c->data[hv_copy_u32(copy, c->seq) & 1];
	*ret = (struct scale){
		.valid = true,
		.base_ns = hv_copy_u64(copy, data + c->offset),
		.mul = hv_copy_u32(copy, data + c->mul),
		.shift = hv_copy_u32(copy, data + c->shift),
	};
	return NULL;
}

/* The hypervisor makes version odd while it writes (and the guest's reader waits). */
static struct hv_err *read_pvclock(const struct hv_clock *c, unsigned cpu, uint64_t offset_ns,
				   struct scale *ret)
{
	uint8_t bytes[COPY_MAX], shift = 0;
	struct hv_span copy = {bytes, c->len_bytes};
	struct hv_gva at;
	uint64_t pvclock;
	uint32_t version;
	struct hv_err *err = hv_kernel_percpu(c->k, c->percpu, cpu, &at);

	if (!err)
		err = hv_read_u64(&c->k->core.as, at, &pvclock);
	if (err || !pvclock)
		return err;
	for (unsigned i = 0; !err && i < READS_MAX; i++) {
		err = hv_read(&c->k->core.as, hv_gva(pvclock), bytes, c->len_bytes);
		if (!err)
			err = hv_read_u32(&c->k->core.as, hv_gva(pvclock + c->version), &version);
		if (!err && !(version & 1) && version == hv_copy_u32(copy, c->version))
			break;
	}
	if (err)
		return err;
	hv_span_u8(copy, c->tsc_shift, &shift);
	*ret = (struct scale){
		.valid = true,
		.base_tsc = hv_copy_u64(copy, c->tsc),
		.base_ns = hv_copy_u64(copy, c->system_time) - offset_ns,
		.mul = hv_copy_u32(copy, c->tsc_mul),
		.shift = 32,
		.up = shift < 128 ? shift : 0,
		.down = shift < 128 ? 0 : (uint8_t)(256 - shift),
	};
	return NULL;
}

struct hv_err *hv_clock_refresh(struct hv_clock *c)
{
	uint64_t offset_ns = 0;
	struct hv_err *err = NULL;

	if (c->kind == HV_CLOCK_PVCLOCK)
		err = hv_read_u64(&c->k->core.as, c->offset_at, &offset_ns);
	for (unsigned cpu = 0; !err && c->kind != HV_CLOCK_RAW && cpu < c->nr_cpus; cpu++) {
		if (!hv_cpu_in(&c->k->core, "__cpu_possible_mask", cpu))
			continue;
		err = c->kind == HV_CLOCK_TSC ? read_cyc2ns(c, cpu, &c->scales[cpu])
					      : read_pvclock(c, cpu, offset_ns, &c->scales[cpu]);
	}
	return hv_err_in(err, "clock");
}

struct hv_err *hv_clock_new(struct hv_kernel *k, struct hv_clock **ret)
{
	struct hv_clock *c = hv_alloc(sizeof(*c));
	struct hv_err *err;

	c->k = k;
	c->nr_cpus = k->layout.nr_cpus < HV_CLOCK_CPUS_MAX ? k->layout.nr_cpus : HV_CLOCK_CPUS_MAX;
	err = hv_err_in(find_kind(c), "clock");
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
	free(c);
}

enum hv_clock_kind hv_clock_kind(const struct hv_clock *c)
{
	return c->kind;
}

static uint64_t scaled(const struct scale *s, uint64_t ticks)
{
	unsigned up = s->up < 64 ? s->up : 63, down = s->down < 64 ? s->down : 63;
	unsigned __int128 product = (unsigned __int128)(ticks << up >> down) * s->mul;

	return s->shift < 128 ? (uint64_t)(product >> s->shift) : 0;
}

uint64_t hv_clock_ns(const struct hv_clock *c, unsigned cpu, uint64_t tsc)
{
	const struct scale *s = &c->scales[cpu < c->nr_cpus ? cpu : 0];

	if (c->kind == HV_CLOCK_RAW)
		return tsc;
	/* A CPU that had no clock of its own yet when it was read last. */
	for (unsigned i = 0; !s->valid && i < c->nr_cpus; i++)
		s = &c->scales[i];
	/* Parameters that are newer than the record: backwards from them. */
	if (tsc < s->base_tsc)
		return s->base_ns - scaled(s, s->base_tsc - tsc);
	return s->base_ns + scaled(s, tsc - s->base_tsc);
}

static const struct scale *any_scale(const struct hv_clock *c)
{
	const struct scale *s = &c->scales[0];

	for (unsigned i = 1; !s->valid && i < c->nr_cpus; i++)
		s = &c->scales[i];
	return s;
}

uint64_t hv_clock_span_ns(const struct hv_clock *c, uint64_t ticks)
{
	return c->kind == HV_CLOCK_RAW ? ticks : scaled(any_scale(c), ticks);
}

uint64_t hv_clock_ticks(const struct hv_clock *c, uint64_t ns)
{
	const struct scale *s = any_scale(c);
	uint64_t low = 0, high = UINT64_C(1) << 62;

	if (c->kind == HV_CLOCK_RAW)
		return ns;
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (scaled(s, middle) < ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}
