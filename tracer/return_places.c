/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/return_places.h"

#include "tracer/shadow_returns.h"
#include "tracer/tracee.h"

static int by_place(const void *a, const void *b)
{
	uint64_t x = ((const struct hv_hooked *)a)->place.at.v;
	uint64_t y = ((const struct hv_hooked *)b)->place.at.v;

	return x < y ? -1 : x > y;
}

void hv_hooked_sort(struct hv_hooked *list, size_t nr)
{
	if (nr)
		qsort(list, nr, sizeof(*list), by_place);
}

const struct hv_hooked *hv_hooked_at(const struct hv_hooked *list, size_t nr, struct hv_gva at)
{
	const struct hv_hooked key = {.place = {.at = at}};

	return nr ? bsearch(&key, list, nr, sizeof(key), by_place) : NULL;
}

struct hv_err *hv_return_places_read(const struct hv_tracee *t, const struct hv_vcpu_regs *regs,
				     unsigned nr_vcpus, struct hv_return_places *ret)
{
	struct hv_return_places p = {.tracee = t,
				     .in_records = t->kernel->core.as.arch->link_register};
	struct hv_err *err = hv_tasks_read(t->kernel, &p.tasks);

	if (!err && p.in_records)
		err = hv_records_read(t->kernel, &p.tasks, regs, nr_vcpus, &p.records);
	if (!err && p.in_records)
		p.signing = hv_signing_find(t->kernel, &p.records);
	if (!err && p.in_records)
		err = hv_shadow_stacks_read(t->kernel, &p.tasks, regs, nr_vcpus, &p.shadow);
	if (err) {
		hv_return_places_deinit(&p);
		return err;
	}
	*ret = p;
	return NULL;
}

void hv_return_places_deinit(struct hv_return_places *p)
{
	hv_tasks_deinit(&p->tasks);
	hv_records_deinit(&p->records);
	hv_shadow_stacks_deinit(&p->shadow);
}

struct hv_err *hv_return_places_check(const struct hv_return_places *p)
{
	if (!p->in_records)
		return NULL;
	if (p->shadow.state == HV_SHADOW_UNKNOWN)
		return hv_err_new(EOPNOTSUPP, "the kernel keeps return addresses in shadow call"
					      " stacks, where they cannot be put back yet");
	if (p->shadow.state == HV_SHADOW_KNOWN && !hv_shadow_returns_agree(p))
		return hv_err_new(EOPNOTSUPP, "the kernel's shadow call stacks have other return"
					      " addresses than its frames");
	if (p->signing.state == HV_SIGNING_UNKNOWN)
		return hv_err_new(EOPNOTSUPP,
				  "the vCPUs sign return addresses in a way that is not known,"
				  " so they could not be put back");
	return NULL;
}

static bool is_kernel_half(const struct hv_tracee *t, uint64_t address)
{
	const struct hv_address_space *as = &t->kernel->core.as;

	return address >= as->arch->kernel_start(as->levels).v;
}

bool hv_return_places_at(const struct hv_return_places *p, struct hv_gva at,
			 struct hv_return_place *ret)
{
	const struct hv_tracee *t = p->tracee;
	const struct hv_arch *arch = t->kernel->core.as.arch;
	struct hv_return_place place = {.at = at};
	struct hv_mapping m = {0};
	HV_AUTO_ERR struct hv_err *err = NULL;

	if (at.v % sizeof(place.word) || !is_kernel_half(t, at.v) || hv_tracee_has(t, at))
		return false;
	err = hv_walk(&t->kernel->core.as, at, &m);
	if (err || !m.present || !m.writable)
		return false;
	place.gpa = m.gpa;
	err = hv_guest_read(t->guest, m.gpa, &place.word, sizeof(place.word));
	if (err)
		return false;
	place.address = place.word;
	if (p->in_records && arch->strip_signature)
		place.address = arch->strip_signature(place.word);
	*ret = place;
	return true;
}

bool hv_return_places_find(const struct hv_return_places *p, struct hv_gva slot,
			   struct hv_return_place *ret)
{
	const struct hv_frame_record *record;

	if (!p->in_records)
		return hv_return_places_at(p, slot, ret);
	record = hv_records_below(&p->records, slot);
	if (!record || !hv_return_places_at(p, record->at, ret))
		return false;
	ret->task = record->task;
	return true;
}

struct hv_err *hv_return_places_word(const struct hv_return_places *p,
				     const struct hv_return_place *place, struct hv_gva slot,
				     uint64_t address, uint64_t *ret)
{
	const struct hv_kernel *k = p->tracee->kernel;
	uint64_t now;

	if (hv_signing_sign(k, &p->signing, place->task, slot, place->address, &now) &&
	    now == place->word && hv_signing_sign(k, &p->signing, place->task, slot, address, ret))
		return NULL;
	if (place->word != place->address || p->signing.state == HV_SIGNING_UNKNOWN)
		return hv_err_new(EBUSY, "how the return address at 0x%llx is signed is not known",
				  (unsigned long long)place->at.v);
	*ret = address;
	return NULL;
}
