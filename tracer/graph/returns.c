/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/graph/returns.h"

#include <stddef.h>
#include <string.h>

#include "base/grow.h"
#include "kernel/image/address_space.h"
#include "kernel/kernel.h"
#include "kernel/tasks/return_addresses.h"
#include "kernel/tasks/tasks.h"
#include "tracer/guest/tracee.h"

/* -- the guest's own return trampolines -------------------------------------------------------- */

/* The guest's own return trampolines: addresses that its return probes and its function_graph put
 * on stacks in place of return addresses, which they store elsewhere. If a trampoline was installed
 * after our frame (a traced function jumped to a probed one), its stored return address is our
 * handler's, and hvtrace cannot find it. */

struct guest_trampoline {
	const char *symbol;
	struct hv_gva_range code;
};

struct guest_trampolines {
	struct guest_trampoline list[4];
	unsigned nr;
};

static const char *const symbols[] = {
	"arch_rethook_trampoline", /* kretprobes and fprobes since 54ecbe6f1ed5 */
	"__kretprobe_trampoline",  /* kretprobes since adf8a61a940c */
	"kretprobe_trampoline",	   /* kretprobes before that */
	"return_to_handler",	   /* function_graph */
};
_Static_assert(HV_ARRAY_LEN(symbols) == HV_ARRAY_LEN(((struct guest_trampolines *)0)->list),
	       "list");

static void guest_trampolines_find(const struct hv_kernel *k, struct guest_trampolines *ret)
{
	*ret = (struct guest_trampolines){0};
	for (size_t i = 0; i < HV_ARRAY_LEN(symbols); i++) {
		struct guest_trampoline *t = &ret->list[ret->nr];

		if (!hv_kernel_symbol(k, symbols[i], &t->code.start))
			continue;
		t->symbol = symbols[i];
		t->code.end = hv_gva_add(t->code.start, hv_kernel_symbol_size(k, t->code.start));
		ret->nr++;
	}
}

/* Returns the trampoline to which a function with return address ADDRESS returns, or NULL. */
static const struct guest_trampoline *guest_trampolines_entry(const struct guest_trampolines *t,
							      uint64_t address)
{
	for (unsigned i = 0; i < t->nr; i++)
		if (t->list[i].code.start.v == address)
			return &t->list[i];
	return NULL;
}

/* Returns the trampoline whose code contains ADDRESS after its first byte, or NULL. A function that
 * returns there was called by the trampoline, to look up the original address. */
static const struct guest_trampoline *guest_trampolines_inside(const struct guest_trampolines *t,
							       uint64_t address)
{
	for (unsigned i = 0; i < t->nr; i++)
		if (hv_gva_in(hv_gva(address), t->list[i].code) &&
		    address != t->list[i].code.start.v)
			return &t->list[i];
	return NULL;
}

/* -- where a return address is ----------------------------------------------------------------- */

/* Finds the return address of an open call from the retp in its frame, and how it is stored. On
 * x86-64 it is at retp. On arm64 retp is the stack pointer at function entry; the address is in the
 * function's frame record below, and may be signed. With shadow call stacks, a function saves its
 * return address in its frame record and on the shadow call stack, and returns to the latter, so
 * both must be restored. The two stacks contain the calls in the same order; this identifies the
 * addresses that belong together. */

struct return_finder {
	const struct hv_tracee *tracee; /* borrowed */
	struct hv_tasks tasks;		/* as of the hold */
	bool in_records;
	struct hv_frame_records records;
	struct hv_signing signing;
	struct hv_shadow_stacks shadow;
};

struct saved_return {
	struct hv_gva at;
	struct hv_gpa gpa;
	uint64_t word;	    /* the word at AT */
	uint64_t address;   /* the code address in WORD, if it is one */
	struct hv_gva task; /* the task that returns; 0: unknown or not needed */
};

/* A call whose return address was replaced by our handler. */
struct hooked {
	struct hv_gva retp;
	struct saved_return saved;
	uint64_t caller; /* the original address; our handler: not known yet */
};

static int by_address(const void *a, const void *b)
{
	uint64_t x = ((const struct hooked *)a)->saved.at.v;
	uint64_t y = ((const struct hooked *)b)->saved.at.v;

	return x < y ? -1 : x > y;
}

/* Sorts by address. */
static void hooked_sort(struct hooked *list, size_t nr)
{
	if (nr)
		qsort(list, nr, sizeof(*list), by_address);
}

/* Returns the call in a sorted LIST whose return address is at AT, or NULL. */
static const struct hooked *hooked_at(const struct hooked *list, size_t nr, struct hv_gva at)
{
	const struct hooked key = {.saved = {.at = at}};

	return nr ? bsearch(&key, list, nr, sizeof(key), by_address) : NULL;
}

static void return_finder_deinit(struct return_finder *p)
{
	hv_tasks_deinit(&p->tasks);
	hv_records_deinit(&p->records);
	hv_shadow_stacks_deinit(&p->shadow);
}

/* Call this in a hold. REGS are the registers of all NR_VCPUS. RET is unchanged on failure. */
static struct hv_err *return_finder_read(const struct hv_tracee *t, const struct hv_vcpu_regs *regs,
					 unsigned nr_vcpus, struct return_finder *ret)
{
	struct return_finder p = {.tracee = t,
				  .in_records = t->kernel->core.as.arch->link_register};
	struct hv_err *err = hv_tasks_read(t->kernel, &p.tasks);

	if (!err && p.in_records)
		err = hv_records_read(t->kernel, &p.tasks, regs, nr_vcpus, &p.records);
	if (!err && p.in_records)
		p.signing = hv_signing_find(t->kernel, &p.records);
	if (!err && p.in_records)
		err = hv_shadow_stacks_read(t->kernel, &p.tasks, regs, nr_vcpus, &p.shadow);
	if (err) {
		return_finder_deinit(&p);
		return err;
	}
	*ret = p;
	return NULL;
}

static uint64_t address_of(const struct return_finder *p, uint64_t word)
{
	const struct hv_arch *arch = p->tracee->kernel->core.as.arch;

	return arch->strip_signature ? arch->strip_signature(word) : word;
}

/* Returns whether most addresses on the shadow call stacks are also in frame records. */
static bool shadow_agrees(const struct return_finder *p)
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

/* EOPNOTSUPP with the reason: return addresses of this kernel cannot be restored. */
static struct hv_err *return_finder_check(const struct return_finder *p)
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
		return hv_err_new(EOPNOTSUPP, "the vCPUs sign return addresses in an unknown way, "
					      "so hvtrace could not restore them");
	return NULL;
}

static bool is_kernel_half(const struct hv_tracee *t, uint64_t address)
{
	const struct hv_address_space *as = &t->kernel->core.as;

	return address >= as->arch->kernel_start(as->levels).v;
}

/* Reads the word at AT. Returns false if AT cannot be on a stack: it is not mapped, or not to RAM
 * (mapped again after its task died). */
static bool return_finder_at(const struct return_finder *p, struct hv_gva at,
			     struct saved_return *ret)
{
	const struct hv_tracee *t = p->tracee;
	const struct hv_arch *arch = t->kernel->core.as.arch;
	struct saved_return saved = {.at = at};
	struct hv_mapping m = {0};
	HV_AUTO_ERR struct hv_err *err = NULL;

	if (at.v % sizeof(saved.word) || !is_kernel_half(t, at.v) || hv_tracee_has(t, at))
		return false;
	err = hv_walk(&t->kernel->core.as, at, &m);
	if (err || !m.present || !m.writable)
		return false;
	saved.gpa = m.gpa;
	err = hv_guest_read(t->guest, m.gpa, &saved.word, sizeof(saved.word));
	if (err)
		return false;
	saved.address = saved.word;
	if (p->in_records && arch->strip_signature)
		saved.address = arch->strip_signature(saved.word);
	*ret = saved;
	return true;
}

/* Returns false if no call returns through RETP. */
static bool return_finder_find(const struct return_finder *p, struct hv_gva retp,
			       struct saved_return *ret)
{
	const struct hv_frame_record *record;

	if (!p->in_records)
		return return_finder_at(p, retp, ret);
	record = hv_records_below(&p->records, retp);
	if (!record || !return_finder_at(p, record->at, ret))
		return false;
	ret->task = record->task;
	return true;
}

/* Computes the word to store at SAVED so that the call returns to ADDRESS. The present word
 * verifies the encoding: it must be the encoding of SAVED's own address. EBUSY: it is not. */
static struct hv_err *return_finder_word(const struct return_finder *p,
					 const struct saved_return *saved, struct hv_gva retp,
					 uint64_t address, uint64_t *ret)
{
	const struct hv_kernel *k = p->tracee->kernel;
	uint64_t now;

	if (hv_signing_sign(k, &p->signing, saved->task, retp, saved->address, &now) &&
	    now == saved->word && hv_signing_sign(k, &p->signing, saved->task, retp, address, ret))
		return NULL;
	if (saved->word != saved->address || p->signing.state == HV_SIGNING_UNKNOWN)
		return hv_err_new(EBUSY, "cannot tell how the return address at 0x%llx is signed",
				  (unsigned long long)saved->at.v);
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
	const struct return_finder *finder; /* borrowed */
	const struct hooked *list;	    /* borrowed; sorted by address */
	size_t nr;
	struct hooked *found; /* owned */
	size_t nr_found;
	size_t cap;
};

/* Returns whether WORD on a shadow call stack belongs to the same call as RECORD, whose frame
 * belongs to CALL. If hvtrace replaced the return address of the call, either of the two may
 * already be restored. */
static bool is_same(const struct pairing *p, const struct hv_frame_record *record,
		    const struct hooked *call, uint64_t word)
{
	uint64_t address = address_of(p->finder, word);

	if (address == address_of(p->finder, record->word))
		return true;
	return call && (address == call->caller || address == p->finder->tracee->handler.v);
}

/* AT is on a shadow call stack. */
static struct hv_err *note(struct pairing *p, const struct hooked *call, struct hv_gva at)
{
	struct hooked found = {.retp = call->retp, .caller = call->caller};

	if (!return_finder_at(p->finder, at, &found.saved) ||
	    found.saved.address != p->finder->tracee->handler.v)
		return hv_err_new(EBUSY, "the shadow call stack at 0x%llx changes",
				  (unsigned long long)at.v);
	found.saved.task = call->saved.task;
	p->found = hv_grow(p->found, p->nr_found, &p->cap, 64, sizeof(*p->found));
	p->found[p->nr_found++] = found;
	return NULL;
}

/* The LEFT outermost words of STACK have no record and must not be ours. */
static struct hv_err *check_rest(const struct pairing *p, const struct hv_shadow_stack *stack,
				 size_t left)
{
	const struct hv_tracee *t = p->finder->tracee;

	for (size_t i = 0; i < left; i++) {
		struct hv_gva address = hv_gva(address_of(p->finder, stack->words[i]));

		if (hv_tracee_has(t, address) || hv_gva_in(address, t->veneers))
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
	const struct hv_frame_records *r = &p->finder->records;
	uint64_t handler = p->finder->tracee->handler.v;
	size_t left = stack->nr;
	struct hv_err *err = NULL;

	for (size_t i = hv_records_from(r, stack->stack.start);
	     !err && i < r->nr && hv_gva_in(r->list[i].at, stack->stack); i++) {
		const struct hv_frame_record *record = &r->list[i];
		const struct hooked *call = hooked_at(p->list, p->nr, record->at);

		if (left && is_same(p, record, call, stack->words[left - 1])) {
			left--;
			if (address_of(p->finder, stack->words[left]) == handler)
				err = call ? note(p, call, hv_gva_add(stack->start, left * 8))
					   : check_rest(p, stack, left + 1);
		} else if (call || address_of(p->finder, record->word) == handler) {
			err = hv_err_new(EBUSY,
					 "the return address at 0x%llx is not on the shadow call"
					 " stack",
					 (unsigned long long)record->at.v);
		}
	}
	return err ? err : check_left(p, stack, left, was_found);
}

/* Finds the copies of our handler's address on shadow call stacks. LIST has the NR hooked calls
 * that were found by their frame records, sorted by address; a frame record may already be restored
 * if a detach was interrupted. *RET has *RET_NR entries for the same calls, with the address on the
 * shadow call stack; free it with free(). EBUSY: one of our addresses belongs to no known call, for
 * example while a function creates or leaves its frame. */
static struct hv_err *return_finder_find_shadow(const struct return_finder *p,
						const struct hooked *list, size_t nr,
						struct hooked **ret, size_t *ret_nr)
{
	struct pairing pairing = {.finder = p, .list = list, .nr = nr};
	struct hv_err *err = NULL;

	if (p->shadow.state == HV_SHADOW_UNKNOWN && nr)
		return hv_err_new(EBUSY, "cannot find the shadow call stacks");
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

/* -- open frames ------------------------------------------------------------------------------- */

struct returns {
	struct hv_tracee *tracee; /* borrowed */
	struct hooked *list;	  /* owned; sorted by address when all are found */
	size_t nr;
	size_t cap;
	bool any_elsewhere; /* the word at a frame's retp is not our handler's address */
	struct return_finder finder;
	struct guest_trampolines trampolines;
	const struct hv_vcpu_regs *asleep; /* registers of the vCPUs of a machine in S3 sleep */
	unsigned nr_asleep;
};

static void returns_deinit(struct returns *r)
{
	free(r->list);
	return_finder_deinit(&r->finder);
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

static void add(struct returns *r, const struct hooked *h)
{
	r->list = hv_grow(r->list, r->nr, &r->cap, 256, sizeof(*r->list));
	r->list[r->nr++] = *h;
}

/* Finds RETP among the calls found since FIRST. */
static struct hooked *find_since(struct returns *r, size_t first, uint64_t retp)
{
	for (size_t i = first; i < r->nr; i++)
		if (r->list[i].retp.v == retp)
			return &r->list[i];
	return NULL;
}

/* Drops calls found since FIRST that return elsewhere. A detach that was interrupted between two
 * writes has restored the record while our address is still on the shadow call stack. */
static void keep_hooked(struct returns *r, size_t first)
{
	size_t nr = first;

	for (size_t i = first; i < r->nr; i++)
		if (r->list[i].saved.address == r->tracee->handler.v ||
		    r->list[i].saved.address == r->list[i].caller)
			r->list[nr++] = r->list[i];
	r->nr = nr;
}

/* Reads the frames of one return stack, the last one first, like the handler. If several have the
 * same retp, the last one counts, and the ones before it as long as they lead to the handler again
 * (a function that jumped to another traced one). Frames below may be stale. */
static struct hv_err *find_in_stack(struct returns *r, const struct hv_stack *stack)
{
	uint64_t handler = r->tracee->handler.v;
	size_t first = r->nr;

	for (unsigned i = frames_of(stack->word); i-- > 0;) {
		const struct hv_frame *frame = &stack->frames[i];
		struct hooked h = {.retp = hv_gva(frame->retp_gva), .caller = frame->caller_gva};
		struct hooked *same = find_since(r, first, frame->retp_gva);
		const struct guest_trampoline *own;

		if (same) {
			if (same->caller == handler)
				same->caller = frame->caller_gva;
			continue;
		}
		if (!return_finder_find(&r->finder, h.retp, &h.saved))
			continue;
		if (h.saved.address == handler || r->finder.shadow.state == HV_SHADOW_KNOWN)
			add(r, &h);
		if (h.saved.address == handler)
			continue;
		r->any_elsewhere = true;
		own = guest_trampolines_entry(&r->trampolines, h.saved.address);
		if (own)
			return hv_err_new(EBUSY,
					  "the return address at 0x%llx is the guest's own"
					  " %s, which may lead to a trampoline",
					  (unsigned long long)h.retp.v, own->symbol);
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
	hooked_sort(r->list, r->nr);
	return NULL;
}

/* Every frame must lead back to code. If one does not, nothing is written and the trampolines
 * stay. */
static struct hv_err *check_all(const struct returns *r)
{
	for (size_t i = 0; i < r->nr; i++) {
		const struct hooked *h = &r->list[i];

		if (!is_code(r->tracee, h->caller))
			return hv_err_new(EUCLEAN,
					  "the return address at 0x%llx is hvtrace's handler, and "
					  "the original (0x%llx) is not kernel code",
					  (unsigned long long)h->retp.v,
					  (unsigned long long)h->caller);
	}
	return NULL;
}

/* After a sleep (S3), a vCPU continues where the kernel saved its state (do_suspend_lowlevel), not
 * where it stopped. No call returns through the part of the stack below that. That part contains
 * only calls outside trampolines, so our only addresses there are return addresses of a graph,
 * which are known. */
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
	return word == r->tracee->handler.v && hooked_at(r->list, r->nr, at);
}

/* Finds the original return address of a function that returns to the handler. */
static bool find_caller(void *ctx, struct hv_gva at, struct hv_gva *ret)
{
	const struct returns *r = ctx;
	const struct hooked *found = hooked_at(r->list, r->nr, at);

	if (found)
		*ret = hv_gva(found->caller);
	return found;
}

/* Returns the trampoline through which the guest's own ftrace reads sites. It calls the kernel's
 * reader, in which a task may sleep. */
static struct hv_gva_range ftrace_readers_of(const struct hv_tracee *t)
{
	const struct hv_trampoline_image *trampolines = &t->kernel->core.as.arch->trampolines;
	struct hv_gva start = hv_gva_add(t->range.start,
					 HV_TRAMPOLINES_CODE_OFF + trampolines->ftrace_readers_off);

	return (struct hv_gva_range){
		start,
		hv_gva_add(start, HV_NR_FTRACE_READERS * trampolines->ftrace_reader_len_bytes)};
}

/* Returns false for code of the guest's own trampolines. */
static bool is_not_inside(void *ctx, struct hv_gva at, uint64_t word)
{
	const struct returns *r = ctx;

	(void)at;
	return !guest_trampolines_inside(&r->trampolines, word);
}

/* The guest's own return trampoline uses the word at a frame's retp until it returns. EBUSY: a
 * frame has another word there than the handler's address, and a vCPU or a task is in such a
 * trampoline. */
static struct hv_err *check_trampolines(struct returns *r, const struct hv_vcpu_regs *regs,
					unsigned nr_vcpus)
{
	const struct hv_scan_for wanted = {.range = r->tracee->kernel->text,
					   .how = HV_SCAN_CALLS,
					   .is_known = is_not_inside,
					   .ctx = r,
					   .tasks = &r->finder.tasks};
	HV_AUTO_FREE char *where = NULL;
	size_t nr_found = 0;
	struct hv_err *err;

	if (!r->any_elsewhere || !r->trampolines.nr)
		return NULL;
	for (unsigned cpu = 0; cpu < nr_vcpus; cpu++)
		if (guest_trampolines_entry(&r->trampolines, regs[cpu].ip.v) ||
		    guest_trampolines_inside(&r->trampolines, regs[cpu].ip.v))
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

/* Done before all tasks are read: if a vCPU is in a trampoline, the caller retries in another
 * hold. */
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
			return hv_err_new(EBUSY, "vCPU %u is in a trampoline", cpu);
	return NULL;
}

static struct hv_err *check_nobody_inside(struct returns *r, const struct hv_vcpu_regs *regs,
					  unsigned nr_vcpus)
{
	struct hv_tracee *t = r->tracee;
	const struct hv_scan_for wanted = {.range = t->range,
					   .also = t->veneers,
					   .how = HV_SCAN_INTERRUPTED,
					   .is_known = is_known,
					   .find_caller = find_caller,
					   .ctx = r,
					   .calling = ftrace_readers_of(t),
					   .tasks = &r->finder.tasks};
	HV_AUTO_FREE char *where = NULL;
	size_t nr_found = 0;
	struct hv_err *err = hv_stacks_scan(t->kernel, &wanted, regs, nr_vcpus, &nr_found, &where);

	if (!err && nr_found)
		err = hv_err_new(EBUSY, "%s may return into a trampoline", where);
	return err ? err : check_trampolines(r, regs, nr_vcpus);
}

static int by_memory(const void *a, const void *b)
{
	uint64_t x = ((const struct hooked *)a)->saved.gpa.v;
	uint64_t y = ((const struct hooked *)b)->saved.gpa.v;

	return x < y ? -1 : x > y;
}

/* Adds the addresses on shadow call stacks. From then on the list has several entries per call. */
static struct hv_err *add_shadows(struct returns *r)
{
	HV_AUTO_FREE struct hooked *found = NULL;
	size_t nr = 0;
	struct hv_err *err = return_finder_find_shadow(&r->finder, r->list, r->nr, &found, &nr);

	for (size_t i = 0; !err && i < nr; i++)
		add(r, &found[i]);
	return err;
}

static size_t count_hooked(const struct returns *r)
{
	size_t nr = 0;

	for (size_t i = 0; i < r->nr; i++)
		nr += r->list[i].saved.address == r->tracee->handler.v;
	return nr;
}

static struct hv_err *write_all(struct returns *r, struct hv_hold *hold)
{
	HV_AUTO_FREE struct hv_change *changes = hv_alloc((r->nr + 1) * sizeof(*changes));
	size_t nr = 0;
	struct hv_err *err = NULL;

	qsort(r->list, r->nr, sizeof(*r->list), by_memory);
	for (size_t i = 0; i < r->nr; i++) {
		const struct hooked *h = &r->list[i];
		uint64_t word = 0;

		/* The same word can have several list entries. */
		if (i && h[-1].saved.gpa.v == h->saved.gpa.v && h[-1].caller != h->caller)
			return hv_err_new(EUCLEAN, "two return stacks disagree on 0x%llx",
					  (unsigned long long)h->retp.v);
		if ((i && h[-1].saved.gpa.v == h->saved.gpa.v) ||
		    h->saved.address != r->tracee->handler.v)
			continue;
		err = return_finder_word(&r->finder, &h->saved, h->retp, h->caller, &word);
		if (err)
			return err;
		changes[nr] = (struct hv_change){.gva = h->saved.at,
						 .gpa = h->saved.gpa,
						 .kind = HV_CHANGE_RETURN,
						 .len_bytes = sizeof(word)};
		memcpy(changes[nr].from, &h->saved.word, sizeof(word));
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
	guest_trampolines_find(t->kernel, &r.trampolines);
	err = return_finder_read(t, regs, nr_vcpus, &r.finder);
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

static struct hv_err *check_finder(struct hv_hold *hold, void *ctx)
{
	hv_cleanup(return_finder_deinit) struct return_finder finder = {0};
	struct hv_tracee *t = ctx;
	unsigned nr_vcpus = hv_guest_info(t->guest)->nr_vcpus;
	HV_AUTO_FREE struct hv_vcpu_regs *regs = hv_alloc(nr_vcpus * sizeof(*regs));
	struct hv_err *err = hv_hold_registers(hold, regs, nr_vcpus);

	if (!err)
		err = return_finder_read(t, regs, nr_vcpus, &finder);
	return err ? err : return_finder_check(&finder);
}

struct hv_err *hv_returns_check(struct hv_tracee *t)
{
	if (!t->kernel->core.as.arch->link_register)
		return NULL;
	return hv_patcher_held(t->patcher, check_finder, t);
}

/* -- return stacks of dead tasks --------------------------------------------------------------- */

#define SWEEP_SHARE 8 /* sweep when at least 1/8 of the return stacks look stale */

static uint64_t *word_at(const struct hv_tracee *t, unsigned index)
{
	return &hv_region_stack(&t->region, index)->word;
}

/* Returns whether the kernel stack of WORD is not mapped. Then no CPU uses it until another stack
 * is created there. A stack that cannot be read is not known to be gone. */
static bool is_gone(const struct hv_tracee *t, uint64_t word)
{
	uint64_t stack_bytes = t->kernel->layout.stack_bytes;
	struct hv_gva at = hv_gva(word & -stack_bytes);
	struct hv_gva end = hv_gva_add(at, stack_bytes);

	if (!(word & HV_STACK_NR_MASK) || end.v <= at.v)
		return false;
	while (at.v < end.v) {
		struct hv_mapping m = {0};
		HV_AUTO_ERR struct hv_err *err = hv_walk(&t->kernel->core.as, at, &m);

		if (err || m.present)
			return false;
		at = hv_gva_add(at, m.len_bytes);
	}
	return true;
}

static size_t nr_with_frames(const struct hv_tracee *t)
{
	size_t nr = 0;

	for (unsigned i = 0; i < t->plan.nr_stacks; i++)
		nr += (__atomic_load_n(word_at(t, i), __ATOMIC_RELAXED) & HV_STACK_NR_MASK) != 0;
	return nr;
}

static size_t nr_gone(const struct hv_tracee *t)
{
	size_t nr = 0;

	for (unsigned i = 0; i < t->plan.nr_stacks; i++)
		nr += is_gone(t, __atomic_load_n(word_at(t, i), __ATOMIC_RELAXED));
	return nr;
}

/* This process may be stopped until the hold has ended. So a word that the guest has changed since
 * it was read here is left alone. */
static struct hv_err *sweep(struct hv_hold *hold, void *ctx)
{
	struct hv_tracee *t = ctx;
	struct hv_err *err = NULL;

	for (unsigned i = 0; !err && i < t->plan.nr_stacks; i++) {
		uint64_t word = __atomic_load_n(word_at(t, i), __ATOMIC_ACQUIRE);

		if (!is_gone(t, word))
			continue;
		err = hv_hold_check(hold);
		if (!err)
			__atomic_compare_exchange_n(word_at(t, i), &word, 0, false,
						    __ATOMIC_RELEASE, __ATOMIC_RELAXED);
	}
	return err;
}

void hv_sweep(struct hv_tracee *t)
{
	size_t enough = t->plan.nr_stacks / SWEEP_SHARE;

	if (nr_with_frames(t) < enough || nr_gone(t) < enough)
		return;
	hv_err_free(hv_patcher_held(t->patcher, sweep, t));
}
