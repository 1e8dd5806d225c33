/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/graph/returns.h"

#include <string.h>

#include "base/grow.h"
#include "kernel/tasks/tasks.h"
#include "tracer/graph/return_places.h"
#include "tracer/graph/trampolines.h"
#include "tracer/guest/tracee.h"

struct returns {
	struct hv_tracee *tracee; /* borrowed */
	struct hv_hooked *list;	  /* owned; sorted by place when all are found */
	size_t nr;
	size_t cap;
	bool any_elsewhere; /* a frame's slot does not contain our handler's address */
	struct hv_return_places places;
	struct hv_trampolines trampolines;
	const struct hv_vcpu_regs *asleep; /* registers of the vCPUs of a machine in S3 sleep */
	unsigned nr_asleep;
};

static void returns_deinit(struct returns *r)
{
	free(r->list);
	hv_return_places_deinit(&r->places);
}

static uint64_t word_of(const struct hv_tracee *t, unsigned index)
{
	return __atomic_load_n(&hv_region_stack(&t->region, index)->word, __ATOMIC_ACQUIRE);
}

static unsigned frames_of(uint64_t word)
{
	unsigned nr = (word & HV_STACK_NR_MASK) / sizeof(struct hv_frame);

	return nr < HV_FRAMES_MAX ? nr : HV_FRAMES_MAX;
}

size_t hv_returns_open(const struct hv_tracee *t)
{
	size_t nr = 0;

	for (unsigned i = 0; i < t->plan.nr_stacks; i++)
		nr += frames_of(word_of(t, i));
	return nr;
}

static bool is_kernel_half(const struct hv_tracee *t, uint64_t address)
{
	const struct hv_address_space *as = &t->kernel->core.as;

	return address >= as->arch->kernel_start(as->levels).v;
}

static bool is_code(const struct hv_tracee *t, uint64_t address)
{
	struct hv_mapping m = {0};
	HV_AUTO_ERR struct hv_err *err = NULL;

	if (!is_kernel_half(t, address) || hv_tracee_has(t, hv_gva(address)))
		return false;
	/* The first task was called by init code, which is freed, and never returns to it. */
	if (hv_gva_in(hv_gva(address), t->kernel->text) ||
	    hv_gva_in(hv_gva(address), hv_kernel_init_text(t->kernel)))
		return true;
	err = hv_walk(&t->kernel->core.as, hv_gva(address), &m);
	return !err && m.present && m.executable;
}

static void add(struct returns *r, const struct hv_hooked *h)
{
	r->list = hv_grow(r->list, r->nr, &r->cap, 256, sizeof(*r->list));
	r->list[r->nr++] = *h;
}

/* Finds SLOT among the calls found since FIRST. */
static struct hv_hooked *find_since(struct returns *r, size_t first, uint64_t slot)
{
	for (size_t i = first; i < r->nr; i++)
		if (r->list[i].slot.v == slot)
			return &r->list[i];
	return NULL;
}

/* Drops calls found since FIRST that return elsewhere. A detach that was interrupted between two
 * writes has restored the record while our address is still on the shadow call stack. */
static void keep_hooked(struct returns *r, size_t first)
{
	size_t nr = first;

	for (size_t i = first; i < r->nr; i++)
		if (r->list[i].place.address == r->tracee->handler.v ||
		    r->list[i].place.address == r->list[i].caller)
			r->list[nr++] = r->list[i];
	r->nr = nr;
}

/* Reads the frames of one return stack, the last one first, like the handler. If several have the
 * same slot, the last one counts, and the ones before it as long as they lead to the handler again
 * (a function that jumped to another traced one). Frames below may be stale. */
static struct hv_err *find_in_stack(struct returns *r, const struct hv_stack *stack)
{
	uint64_t handler = r->tracee->handler.v;
	size_t first = r->nr;

	for (unsigned i = frames_of(stack->word); i-- > 0;) {
		const struct hv_frame *frame = &stack->frames[i];
		struct hv_hooked h = {.slot = hv_gva(frame->slot_gva), .caller = frame->caller_gva};
		struct hv_hooked *same = find_since(r, first, frame->slot_gva);
		const struct hv_trampoline *own;

		if (same) {
			if (same->caller == handler)
				same->caller = frame->caller_gva;
			continue;
		}
		if (!hv_return_places_find(&r->places, h.slot, &h.place))
			continue;
		if (h.place.address == handler || r->places.shadow.state == HV_SHADOW_KNOWN)
			add(r, &h);
		if (h.place.address == handler)
			continue;
		r->any_elsewhere = true;
		own = hv_trampolines_entry(&r->trampolines, h.place.address);
		if (own)
			return hv_err_new(EBUSY,
					  "the return address at 0x%llx is the guest's own"
					  " %s, which may lead to a stub",
					  (unsigned long long)h.slot.v, own->symbol);
	}
	keep_hooked(r, first);
	return NULL;
}

static struct hv_err *find_all(struct returns *r)
{
	HV_AUTO_FREE struct hv_stack *copy = hv_alloc(sizeof(*copy));
	struct hv_tracee *t = r->tracee;

	for (unsigned i = 0; i < t->plan.nr_stacks; i++) {
		struct hv_err *err;

		if (!frames_of(word_of(t, i)))
			continue;
		memcpy(copy, hv_region_stack(&t->region, i), sizeof(*copy));
		err = find_in_stack(r, copy);
		if (err)
			return hv_err_in(err, "return stack %u", i);
	}
	hv_hooked_sort(r->list, r->nr);
	return NULL;
}

/* Every frame must lead back to code. If one does not, nothing is written and the stubs stay. */
static struct hv_err *check_all(const struct returns *r)
{
	for (size_t i = 0; i < r->nr; i++) {
		const struct hv_hooked *h = &r->list[i];

		if (!is_code(r->tracee, h->caller))
			return hv_err_new(EUCLEAN,
					  "the return address at 0x%llx is hvtrace's handler, and "
					  "the original (0x%llx) is not kernel code",
					  (unsigned long long)h->slot.v,
					  (unsigned long long)h->caller);
	}
	return NULL;
}

/* After a sleep (S3), a vCPU continues where the kernel saved its state (do_suspend_lowlevel), not
 * where it stopped. No call returns through the part of the stack below that. That part contains
 * only calls outside stubs, so our only addresses there are return addresses of a graph, which are
 * known. */
static bool is_abandoned(const struct returns *r, struct hv_gva at)
{
	uint64_t stack_bytes = r->tracee->kernel->layout.stack_bytes;

	for (unsigned cpu = 0; cpu < r->nr_asleep; cpu++)
		if (at.v >= r->asleep[cpu].sp.v &&
		    at.v / stack_bytes == r->asleep[cpu].sp.v / stack_bytes)
			return true;
	return false;
}

static bool is_known(void *ctx, struct hv_gva at, uint64_t word)
{
	const struct returns *r = ctx;

	if (word != r->tracee->handler.v && is_abandoned(r, at))
		return true;
	return word == r->tracee->handler.v && hv_hooked_at(r->list, r->nr, at);
}

/* Finds the original return address of a function that returns to the handler. */
static bool find_caller(void *ctx, struct hv_gva at, struct hv_gva *ret)
{
	const struct returns *r = ctx;
	const struct hv_hooked *found = hv_hooked_at(r->list, r->nr, at);

	if (found)
		*ret = hv_gva(found->caller);
	return found;
}

/* Returns the stub through which the guest's own ftrace reads sites. It calls the kernel's reader,
 * in which a task may sleep. */
static struct hv_gva_range yields_of(const struct hv_tracee *t)
{
	const struct hv_stub_image *stubs = &t->kernel->core.as.arch->stubs;
	struct hv_gva start = hv_gva_add(t->range.start, HV_STUBS_CODE_OFF + stubs->yields_off);

	return (struct hv_gva_range){start,
				     hv_gva_add(start, HV_NR_YIELDS * stubs->yield_len_bytes)};
}

/* Returns false for code of the guest's own trampolines. */
static bool is_not_inside(void *ctx, struct hv_gva at, uint64_t word)
{
	const struct returns *r = ctx;

	(void)at;
	return !hv_trampolines_inside(&r->trampolines, word);
}

/* If a frame's slot does not contain the handler's address, the guest's own trampoline may be using
 * that address. Until the trampoline returns, it owns the slot. */
static struct hv_err *check_trampolines(struct returns *r, const struct hv_vcpu_regs *regs,
					unsigned nr_vcpus)
{
	const struct hv_scan_for wanted = {.range = r->tracee->kernel->text,
					   .how = HV_SCAN_CALLS,
					   .is_known = is_not_inside,
					   .ctx = r,
					   .tasks = &r->places.tasks};
	HV_AUTO_FREE char *where = NULL;
	size_t nr_found = 0;
	struct hv_err *err;

	if (!r->any_elsewhere || !r->trampolines.nr)
		return NULL;
	for (unsigned cpu = 0; cpu < nr_vcpus; cpu++)
		if (hv_trampolines_entry(&r->trampolines, regs[cpu].ip.v) ||
		    hv_trampolines_inside(&r->trampolines, regs[cpu].ip.v))
			return hv_err_new(EBUSY, "vCPU %u is in the guest's own return probe", cpu);
	err = hv_stacks_scan(r->tracee->kernel, &wanted, regs, nr_vcpus, &nr_found, &where);
	if (!err && nr_found)
		err = hv_err_new(EBUSY, "%s is in the guest's own return probe", where);
	return err;
}

/* Returns whether the vCPU is where a traced function creates or leaves its frame. */
static bool returns_by_register(const struct hv_tracee *t, const struct hv_vcpu_regs *regs)
{
	const struct hv_arch *arch = t->kernel->core.as.arch;
	uint64_t word = regs->general[arch->link_register];

	if (!arch->link_register || !is_kernel_half(t, regs->ip.v))
		return false;
	return hv_gva_in(hv_gva(arch->strip_signature ? arch->strip_signature(word) : word),
			 t->range);
}

/* Done before all tasks are read: if a vCPU is in a stub, the caller retries in another hold. */
static struct hv_err *check_vcpus(struct returns *r, const struct hv_vcpu_regs *regs,
				  unsigned nr_vcpus)
{
	bool sleeps = false;
	struct hv_err *err = hv_guest_sleeps(r->tracee->guest, &sleeps);

	if (err)
		return err;
	r->asleep = sleeps ? regs : NULL;
	r->nr_asleep = sleeps ? nr_vcpus : 0;
	for (unsigned cpu = 0; cpu < nr_vcpus && !sleeps; cpu++)
		if (hv_tracee_has(r->tracee, regs[cpu].ip) ||
		    returns_by_register(r->tracee, &regs[cpu]))
			return hv_err_new(EBUSY, "vCPU %u is in a stub", cpu);
	return NULL;
}

static struct hv_err *check_nobody_inside(struct returns *r, const struct hv_vcpu_regs *regs,
					  unsigned nr_vcpus)
{
	struct hv_tracee *t = r->tracee;
	const struct hv_scan_for wanted = {.range = t->range,
					   .also = t->landings,
					   .how = HV_SCAN_INTERRUPTED,
					   .is_known = is_known,
					   .find_caller = find_caller,
					   .ctx = r,
					   .calling = yields_of(t),
					   .tasks = &r->places.tasks};
	HV_AUTO_FREE char *where = NULL;
	size_t nr_found = 0;
	struct hv_err *err = hv_stacks_scan(t->kernel, &wanted, regs, nr_vcpus, &nr_found, &where);

	if (!err && nr_found)
		err = hv_err_new(EBUSY, "%s may return into a stub", where);
	return err ? err : check_trampolines(r, regs, nr_vcpus);
}

static int by_memory(const void *a, const void *b)
{
	uint64_t x = ((const struct hv_hooked *)a)->place.gpa.v;
	uint64_t y = ((const struct hv_hooked *)b)->place.gpa.v;

	return x < y ? -1 : x > y;
}

/* Adds the addresses on shadow call stacks. From then on the list has several entries per call. */
static struct hv_err *add_shadows(struct returns *r)
{
	HV_AUTO_FREE struct hv_hooked *found = NULL;
	size_t nr = 0;
	struct hv_err *err = hv_return_places_find_shadow(&r->places, r->list, r->nr, &found, &nr);

	for (size_t i = 0; !err && i < nr; i++)
		add(r, &found[i]);
	return err;
}

static size_t count_hooked(const struct returns *r)
{
	size_t nr = 0;

	for (size_t i = 0; i < r->nr; i++)
		nr += r->list[i].place.address == r->tracee->handler.v;
	return nr;
}

static struct hv_err *write_all(struct returns *r, struct hv_hold *hold)
{
	HV_AUTO_FREE struct hv_change *changes = hv_alloc((r->nr + 1) * sizeof(*changes));
	size_t nr = 0;
	struct hv_err *err = NULL;

	qsort(r->list, r->nr, sizeof(*r->list), by_memory);
	for (size_t i = 0; i < r->nr; i++) {
		const struct hv_hooked *h = &r->list[i];
		uint64_t word = 0;

		/* The same word can have several list entries. */
		if (i && h[-1].place.gpa.v == h->place.gpa.v && h[-1].caller != h->caller)
			return hv_err_new(EUCLEAN, "two return stacks disagree on 0x%llx",
					  (unsigned long long)h->slot.v);
		if ((i && h[-1].place.gpa.v == h->place.gpa.v) ||
		    h->place.address != r->tracee->handler.v)
			continue;
		err = hv_return_places_word(&r->places, &h->place, h->slot, h->caller, &word);
		if (err)
			return err;
		changes[nr] = (struct hv_change){.gva = h->place.at,
						 .gpa = h->place.gpa,
						 .kind = HV_CHANGE_RETURN,
						 .len_bytes = sizeof(word)};
		memcpy(changes[nr].from, &h->place.word, sizeof(word));
		memcpy(changes[nr++].to, &word, sizeof(word));
	}
	err = hv_patcher_apply_held(r->tracee->patcher, hold, changes, nr);
	for (size_t i = 0; !err && i < nr; i++)
		if (changes[i].refused)
			err = hv_err_new(EBUSY, "the return address at 0x%llx changed in a hold",
					 (unsigned long long)changes[i].gva.v);
	return err;
}

static void empty_stacks(struct hv_tracee *t)
{
	for (unsigned i = 0; i < t->plan.nr_stacks; i++)
		if (word_of(t, i))
			__atomic_store_n(&hv_region_stack(&t->region, i)->word, 0,
					 __ATOMIC_RELEASE);
}

struct hv_err *hv_returns_put_back(struct hv_tracee *t, struct hv_hold *hold, size_t *ret_nr)
{
	hv_cleanup(returns_deinit) struct returns r = {.tracee = t};
	unsigned nr_vcpus = hv_guest_info(t->guest)->nr_vcpus;
	HV_AUTO_FREE struct hv_vcpu_regs *regs = hv_alloc(nr_vcpus * sizeof(*regs));
	size_t nr = 0;
	struct hv_err *err = hv_hold_registers(hold, regs, nr_vcpus);

	if (!err)
		err = check_vcpus(&r, regs, nr_vcpus);
	if (err)
		return err;
	hv_trampolines_find(t->kernel, &r.trampolines);
	err = hv_return_places_read(t, regs, nr_vcpus, &r.places);
	if (!err)
		err = find_all(&r);
	if (!err)
		err = check_nobody_inside(&r, regs, nr_vcpus);
	if (!err)
		err = check_all(&r);
	if (!err) {
		nr = count_hooked(&r);
		err = add_shadows(&r);
	}
	if (!err && r.nr)
		err = write_all(&r, hold);
	if (!err)
		err = hv_hold_check(hold);
	if (err)
		return err;
	empty_stacks(t);
	*ret_nr = nr;
	return NULL;
}

static struct hv_err *check_places(struct hv_hold *hold, void *ctx)
{
	hv_cleanup(hv_return_places_deinit) struct hv_return_places places = {0};
	struct hv_tracee *t = ctx;
	unsigned nr_vcpus = hv_guest_info(t->guest)->nr_vcpus;
	HV_AUTO_FREE struct hv_vcpu_regs *regs = hv_alloc(nr_vcpus * sizeof(*regs));
	struct hv_err *err = hv_hold_registers(hold, regs, nr_vcpus);

	if (!err)
		err = hv_return_places_read(t, regs, nr_vcpus, &places);
	return err ? err : hv_return_places_check(&places);
}

struct hv_err *hv_returns_check(struct hv_tracee *t)
{
	if (!t->kernel->core.as.arch->link_register)
		return NULL;
	return hv_patcher_held(t->patcher, check_places, t);
}
