/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/graph/return_places.h"

#include "base/grow.h"
#include "tracer/guest/tracee.h"

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

static uint64_t address_of(const struct hv_return_places *p, uint64_t word)
{
	const struct hv_arch *arch = p->tracee->kernel->core.as.arch;

	return arch->strip_signature ? arch->strip_signature(word) : word;
}

/* Returns whether most addresses on the shadow call stacks are also in frame records. */
static bool shadow_agrees(const struct hv_return_places *p)
{
	const struct hv_frame_records *r = &p->records;
	size_t nr = 0, nr_same = 0;

	for (size_t s = 0; s < p->shadow.nr; s++) {
		const struct hv_shadow_stack *stack = &p->shadow.list[s];
		size_t left = stack->nr;

		for (size_t i = hv_records_from(r, stack->stack.start);
		     left && i < r->nr && hv_gva_in(r->list[i].at, stack->stack); i++)
			left -= r->list[i].word == stack->words[left - 1] ||
				address_of(p, r->list[i].word) ==
					address_of(p, stack->words[left - 1]);
		nr += stack->nr;
		nr_same += stack->nr - left;
	}
	return 2 * nr_same >= nr;
}

struct hv_err *hv_return_places_check(const struct hv_return_places *p)
{
	if (!p->in_records)
		return NULL;
	if (p->shadow.state == HV_SHADOW_UNKNOWN)
		return hv_err_new(EOPNOTSUPP, "the kernel keeps return addresses in shadow call"
					      " stacks, where they cannot be put back yet");
	if (p->shadow.state == HV_SHADOW_KNOWN && !shadow_agrees(p))
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

/* -- shadow call stacks ------------------------------------------------------------------------ */

/* The words of a shadow call stack are a subset of the words in the frame records of the same
 * calls, in the same order: exceptions and assembly code only create records. Both are compared
 * from the innermost call outwards, and records whose address is not the next one on the shadow
 * call stack are skipped.
 *
 * Each of our addresses must have a counterpart. Then both sides have an equal number, and the
 * order determines the pairs. If one of them is restored, every word must have a record: a word
 * paired with the record of another call would leave one over. */

struct pairing {
	const struct hv_return_places *places; /* borrowed */
	const struct hv_hooked *list;	       /* borrowed; sorted by place */
	size_t nr;
	struct hv_hooked *found; /* owned */
	size_t nr_found;
	size_t cap;
};

/* Returns whether WORD on a shadow call stack belongs to the same call as RECORD, whose frame
 * belongs to CALL. If hvtrace replaced the return address of the call, either of the two may
 * already be restored. */
static bool is_same(const struct pairing *p, const struct hv_frame_record *record,
		    const struct hv_hooked *call, uint64_t word)
{
	uint64_t address = address_of(p->places, word);

	if (address == address_of(p->places, record->word))
		return true;
	return call && (address == call->caller || address == p->places->tracee->handler.v);
}

/* AT is on a shadow call stack. */
static struct hv_err *note(struct pairing *p, const struct hv_hooked *call, struct hv_gva at)
{
	struct hv_hooked found = {.slot = call->slot, .caller = call->caller};

	if (!hv_return_places_at(p->places, at, &found.place) ||
	    found.place.address != p->places->tracee->handler.v)
		return hv_err_new(EBUSY, "the shadow call stack at 0x%llx changes",
				  (unsigned long long)at.v);
	found.place.task = call->place.task;
	p->found = hv_grow(p->found, p->nr_found, &p->cap, 64, sizeof(*p->found));
	p->found[p->nr_found++] = found;
	return NULL;
}

/* The LEFT outermost words of STACK have no record and must not be ours. */
static struct hv_err *check_rest(const struct pairing *p, const struct hv_shadow_stack *stack,
				 size_t left)
{
	const struct hv_tracee *t = p->places->tracee;

	for (size_t i = 0; i < left; i++) {
		struct hv_gva address = hv_gva(address_of(p->places, stack->words[i]));

		if (hv_tracee_has(t, address) || hv_gva_in(address, t->landings))
			return hv_err_new(EBUSY,
					  "the return address at 0x%llx, on a shadow call stack, "
					  "belongs to no known call",
					  (unsigned long long)stack->start.v + i * 8);
	}
	return NULL;
}

/* Checks the words of STACK that remain after its last record. WAS_FOUND is the number of our calls
 * found before this stack. */
static struct hv_err *check_left(const struct pairing *p, const struct hv_shadow_stack *stack,
				 size_t left, size_t was_found)
{
	struct hv_err *err = check_rest(p, stack, left);

	if (!err && left && p->nr_found > was_found)
		err = hv_err_new(EBUSY,
				 "the return address at 0x%llx, on a shadow call stack, is in no"
				 " frame record",
				 (unsigned long long)stack->start.v + (left - 1) * 8);
	return err;
}

static struct hv_err *pair(struct pairing *p, const struct hv_shadow_stack *stack)
{
	size_t was_found = p->nr_found;
	const struct hv_frame_records *r = &p->places->records;
	uint64_t handler = p->places->tracee->handler.v;
	size_t left = stack->nr;
	struct hv_err *err = NULL;

	for (size_t i = hv_records_from(r, stack->stack.start);
	     !err && i < r->nr && hv_gva_in(r->list[i].at, stack->stack); i++) {
		const struct hv_frame_record *record = &r->list[i];
		const struct hv_hooked *call = hv_hooked_at(p->list, p->nr, record->at);

		if (left && is_same(p, record, call, stack->words[left - 1])) {
			left--;
			if (address_of(p->places, stack->words[left]) == handler)
				err = call ? note(p, call, hv_gva_add(stack->start, left * 8))
					   : check_rest(p, stack, left + 1);
		} else if (call || address_of(p->places, record->word) == handler) {
			err = hv_err_new(EBUSY,
					 "the return address at 0x%llx is not on the shadow call"
					 " stack",
					 (unsigned long long)record->at.v);
		}
	}
	return err ? err : check_left(p, stack, left, was_found);
}

struct hv_err *hv_return_places_find_shadow(const struct hv_return_places *p,
					    const struct hv_hooked *list, size_t nr,
					    struct hv_hooked **ret, size_t *ret_nr)
{
	struct pairing pairing = {.places = p, .list = list, .nr = nr};
	struct hv_err *err = NULL;

	if (p->shadow.state == HV_SHADOW_UNKNOWN && nr)
		return hv_err_new(EBUSY, "where the shadow call stacks are is not known");
	if (p->shadow.state == HV_SHADOW_KNOWN && p->shadow.is_between)
		return hv_err_new(EBUSY, "vCPU %u is on no shadow call stack", p->shadow.vcpu);
	for (size_t i = 0; !err && p->shadow.state == HV_SHADOW_KNOWN && i < p->shadow.nr; i++)
		err = pair(&pairing, &p->shadow.list[i]);
	if (err) {
		free(pairing.found);
		return err;
	}
	*ret = pairing.found;
	*ret_nr = pairing.nr_found;
	return NULL;
}
