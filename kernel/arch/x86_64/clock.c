/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sched_clock() of an x86-64 kernel: the TSC, scaled by struct cyc2ns or by KVM's pvclock. The
 * kernel's static call pv_sched_clock (5.13, a0e2bf7cb700), or pv_ops.time.sched_clock in older
 * kernels, and the static key __use_tsc select one of them; kernels without PARAVIRT have only the
 * key. Source: arch/x86/kernel/{tsc,kvmclock,pvclock}.c, Documentation/virt/kvm/x86/msr.rst
 * (pvclock). */
#include <stdlib.h>

#include "kernel/core/fields.h"
#include "kernel/arch/x86_64/x86_64.h"

#define COPY_MAX  256u /* size limit of a copied structure, in bytes */
#define READS_MAX 16   /* attempts to read a structure that is being written */

/* Numbers without a comment are offsets of members. */
struct cyc2ns {
	struct hv_clock_source source; /* must be first */
	uint64_t percpu;	       /* per-CPU offset of struct cyc2ns */
	uint32_t len_bytes;	       /* sizeof(struct cyc2ns) */
	uint32_t data[2], seq;	       /* in struct cyc2ns */
	uint32_t mul, shift, offset;   /* in struct cyc2ns_data */
};

struct pvclock {
	struct hv_clock_source source; /* must be first */
	uint64_t percpu; /* per-CPU offset of the pointer to struct pvclock_vcpu_time_info */
	struct hv_gva offset_at; /* address of kvm_sched_clock_offset */
	uint32_t len_bytes;	 /* sizeof(struct pvclock_vcpu_time_info) */
	uint32_t version, tsc, system_time, tsc_mul,
		tsc_shift; /* in struct pvclock_vcpu_time_info */
};

/* Returns the function that sched_clock() calls, or 0 if it calls native_sched_clock() directly. */
static struct hv_err *find_function(const struct hv_kernel_core *core, uint64_t *ret)
{
	struct hv_gva at;
	uint32_t off;

	*ret = 0;
	if (hv_core_symbol(core, "__SCK__pv_sched_clock", &at))
		return hv_read_u64(&core->as, at, ret); /* static_call_key.func is first */
	if (core->btf && hv_core_symbol(core, "pv_ops", &at) &&
	    hv_btf_member(core->btf, "paravirt_patch_template", "time.sched_clock", &off, NULL))
		return hv_read_u64(&core->as, hv_gva_add(at, off), ret);
	return NULL;
}

static bool is_function(const struct hv_kernel_core *core, uint64_t addr, const char *name)
{
	struct hv_gva at;

	return hv_core_symbol(core, name, &at) && at.v == addr;
}

/* Reads the static key that makes native_sched_clock() use the TSC. Its first member is atomic_t
 * enabled. */
static struct hv_err *read_use_tsc(const struct hv_kernel_core *core, bool *ret)
{
	struct hv_gva at;
	uint32_t enabled = 0;
	struct hv_err *err = NULL;

	if (hv_core_symbol(core, "__use_tsc", &at))
		err = hv_read_u32(&core->as, at, &enabled);
	*ret = enabled != 0;
	return err;
}

/* There are two copies of the data. The lowest bit of seq selects the current one, as in the
 * guest's own reader (__cyc2ns_read()). */
static struct hv_err *read_cyc2ns(const struct hv_clock_source *source,
				  const struct hv_kernel_core *core, unsigned cpu,
				  struct hv_clock_scale *ret)
{
	const struct cyc2ns *c = (const struct cyc2ns *)source;
	uint8_t bytes[COPY_MAX];
	struct hv_span copy = {bytes, c->len_bytes};
	struct hv_gva at;
	uint32_t seq, data;
	struct hv_err *err = hv_core_percpu(core, c->percpu, cpu, &at);

	for (unsigned i = 0; !err && i < READS_MAX; i++) {
		err = hv_read(&core->as, at, bytes, c->len_bytes);
		if (!err)
			err = hv_read_u32(&core->as, hv_gva_add(at, c->seq), &seq);
		if (!err && seq == hv_copy_u32(copy, c->seq))
			break;
	}
	if (err)
		return err;
	data = c->data[hv_copy_u32(copy, c->seq) & 1];
	*ret = (struct hv_clock_scale){
		.base_ns = hv_copy_u64(copy, data + c->offset),
		.mul = hv_copy_u32(copy, data + c->mul),
		.shift = hv_copy_u32(copy, data + c->shift),
	};
	return NULL;
}

/* Returns NULL if this kernel has no cyc2ns or its layout is unknown. */
static struct hv_clock_source *find_cyc2ns(const struct hv_kernel_core *core)
{
	struct cyc2ns c = {
		.source = {.kind = HV_CLOCK_TSC, .counter_name = "tsc", .read = read_cyc2ns}};
	const struct hv_field outer[] = {{"data", 8, &c.data[0]}, {"seq", 4, &c.seq}};
	const struct hv_field inner[] = {{"cyc2ns_mul", 4, &c.mul},
					 {"cyc2ns_shift", 4, &c.shift},
					 {"cyc2ns_offset", 8, &c.offset}};
	struct cyc2ns *ret;
	struct hv_gva at;
	uint32_t size;
	HV_AUTO_ERR struct hv_err *err = hv_fields_find(core, "cyc2ns", outer, HV_ARRAY_LEN(outer));

	if (!err)
		err = hv_fields_find(core, "cyc2ns_data", inner, HV_ARRAY_LEN(inner));
	if (err || !hv_btf_size(core->btf, "cyc2ns_data", &size) ||
	    !hv_btf_size(core->btf, "cyc2ns", &c.len_bytes) || c.len_bytes > COPY_MAX ||
	    !hv_core_symbol(core, "cyc2ns", &at))
		return NULL;
	c.data[1] = c.data[0] + size;
	c.percpu = at.v;
	ret = hv_alloc(sizeof(*ret));
	*ret = c;
	return &ret->source;
}

static struct hv_err *read_pvclock_offset(const struct hv_clock_source *source,
					  const struct hv_kernel_core *core, uint64_t *ret_ns)
{
	const struct pvclock *c = (const struct pvclock *)source;

	return hv_read_u64(&core->as, c->offset_at, ret_ns);
}

/* version is odd while the hypervisor writes; the guest's own reader then waits. */
static struct hv_err *read_pvclock(const struct hv_clock_source *source,
				   const struct hv_kernel_core *core, unsigned cpu,
				   struct hv_clock_scale *ret)
{
	const struct pvclock *c = (const struct pvclock *)source;
	uint8_t bytes[COPY_MAX], shift = 0;
	struct hv_span copy = {bytes, c->len_bytes};
	struct hv_gva at;
	uint64_t pvclock, offset_ns;
	uint32_t version;
	struct hv_err *err = read_pvclock_offset(source, core, &offset_ns);

	if (!err)
		err = hv_core_percpu(core, c->percpu, cpu, &at);
	if (!err)
		err = hv_read_u64(&core->as, at, &pvclock);
	if (err || !pvclock)
		return err;
	for (unsigned i = 0; !err && i < READS_MAX; i++) {
		err = hv_read(&core->as, hv_gva(pvclock), bytes, c->len_bytes);
		if (!err)
			err = hv_read_u32(&core->as, hv_gva(pvclock + c->version), &version);
		if (!err && !(version & 1) && version == hv_copy_u32(copy, c->version))
			break;
	}
	if (err)
		return err;
	hv_span_u8(copy, c->tsc_shift, &shift);
	*ret = (struct hv_clock_scale){
		.base_tsc = hv_copy_u64(copy, c->tsc),
		.base_ns = hv_copy_u64(copy, c->system_time) - offset_ns,
		.mul = hv_copy_u32(copy, c->tsc_mul),
		.shift = 32,
		.up = shift < 128 ? shift : 0,
		.down = shift < 128 ? 0 : (uint8_t)(256 - shift),
	};
	return NULL;
}

/* Returns NULL if this kernel has no pvclock or its layout is unknown. */
static struct hv_clock_source *find_pvclock(const struct hv_kernel_core *core)
{
	struct pvclock c = {.source = {.kind = HV_CLOCK_PVCLOCK,
				       .counter_name = "tsc",
				       .ns_name = "kvm-clock",
				       .read_offset = read_pvclock_offset,
				       .read = read_pvclock}};
	const struct hv_field fields[] = {{"version", 4, &c.version},
					  {"tsc_timestamp", 8, &c.tsc},
					  {"system_time", 8, &c.system_time},
					  {"tsc_to_system_mul", 4, &c.tsc_mul},
					  {"tsc_shift", 1, &c.tsc_shift}};
	struct pvclock *ret;
	struct hv_gva at;
	HV_AUTO_ERR struct hv_err *err =
		hv_fields_find(core, "pvclock_vcpu_time_info", fields, HV_ARRAY_LEN(fields));

	if (err || !hv_btf_size(core->btf, "pvclock_vcpu_time_info", &c.len_bytes) ||
	    c.len_bytes > COPY_MAX || !hv_core_symbol(core, "hv_clock_per_cpu", &at) ||
	    !hv_core_symbol(core, "kvm_sched_clock_offset", &c.offset_at))
		return NULL;
	c.percpu = at.v;
	ret = hv_alloc(sizeof(*ret));
	*ret = c;
	return &ret->source;
}

struct hv_err *x86_64_find_clock(const struct hv_kernel_core *core, struct hv_clock_source **ret)
{
	uint64_t function;
	bool use_tsc = false;
	struct hv_err *err = find_function(core, &function);

	if (!err)
		err = read_use_tsc(core, &use_tsc);
	if (err)
		return err;
	*ret = NULL;
	if (is_function(core, function, "kvm_sched_clock_read"))
		*ret = find_pvclock(core);
	else if (use_tsc && (!function || is_function(core, function, "native_sched_clock")))
		*ret = find_cyc2ns(core);
	return NULL;
}
