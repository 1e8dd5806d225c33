/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/sites/site_pairs.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernel/kernel.h"
#include "kernel/tasks/tasks.h"
#include "tracer/guest/tracee.h"

/* The check that no task is between two instructions is repeated up to TRIES_MAX times, and the
 * guest runs for WAIT_NS in between: 1 s in total plus the holds. */
#define WAIT_NS	  (5L * 1000 * 1000)
#define TRIES_MAX 200

/* A second instruction that will become a call. */
struct second {
	uint64_t gva;
	struct hv_change *first; /* the change of the instruction before it */
	bool is_next;		 /* a task will continue there */
};

/* State of the check that no task is between two instructions. */
struct proof {
	struct hv_tracee *tracee;
	struct second *list; /* owned; sorted by address */
	size_t nr;
	size_t nr_next;	  /* in the last hold */
	size_t nr_hidden; /* vCPUs in the last hold that hide the code that they interrupted */
	char *where;	  /* owned; position of the first such vCPU; NULL: none */
	struct hv_err *scan_err; /* owned; error of the scan in the last hold */
};

static void proof_deinit(struct proof *p)
{
	free(p->list);
	free(p->where);
	hv_err_free(p->scan_err);
}

void hv_site_pairs_deinit(struct hv_site_pairs *pairs)
{
	free(pairs->list);
	*pairs = (struct hv_site_pairs){0};
}

static int by_gpa(const void *a, const void *b)
{
	uint64_t x = ((const struct hv_change *)a)->gpa.v, y = ((const struct hv_change *)b)->gpa.v;

	return x < y ? -1 : x > y;
}

static int by_address(const void *a, const void *b)
{
	uint64_t x = ((const struct second *)a)->gva, y = ((const struct second *)b)->gva;

	return x < y ? -1 : x > y;
}

/* Returns whether CHANGE makes a free site a call, and a task between its instructions may have a
 * stale address: the kernel loads no address at this free site, or an earlier change has left one
 * in our range. */
static bool needs_first(const struct hv_tracee *t, const struct hv_change *change)
{
	const struct hv_arch *arch = t->kernel->core.as.arch;
	struct hv_gva now = {0}, then = {0};

	return arch->classify_site(change->from, change->gva, &now) == HV_SITE_NOP &&
	       arch->classify_site(change->to, change->gva, &then) == HV_SITE_CALL &&
	       (!now.v || hv_gva_in(now, t->range));
}

static size_t plan_firsts(const struct hv_tracee *t, const struct hv_change *changes, size_t nr,
			  struct hv_change *ret)
{
	size_t nr_firsts = 0;

	for (size_t i = 0; i < nr; i++) {
		struct hv_change *first = &ret[nr_firsts];

		if (!needs_first(t, &changes[i]))
			continue;
		*first = changes[i];
		memcpy(first->to, changes[i].from, sizeof(first->to));
		memcpy(first->to, changes[i].to, t->kernel->core.as.arch->site_first_bytes);
		nr_firsts++;
	}
	return nr_firsts;
}

static struct second *second_at(const struct proof *p, uint64_t address)
{
	const struct second key = {.gva = address};

	return bsearch(&key, p->list, p->nr, sizeof(key), by_address);
}

/* Notes that a task will continue at ADDRESS. */
static void note(struct proof *p, uint64_t address)
{
	struct second *second = second_at(p, address);

	if (!second || second->is_next)
		return;
	second->is_next = true;
	p->nr_next++;
}

/* For hv_stacks_scan(): notes WORD and ignores it, so that only vCPUs are counted. */
static bool note_word(void *ctx, struct hv_gva at, uint64_t word)
{
	(void)at;
	note(ctx, word);
	return true;
}

static void forget_last(struct proof *p)
{
	for (size_t i = 0; i < p->nr; i++)
		p->list[i].is_next = false;
	p->nr_next = p->nr_hidden = 0;
	free(p->where);
	p->where = NULL;
	hv_err_free(p->scan_err);
	p->scan_err = NULL;
}

/* Returns whether IP is in kernel-half code that belongs to no known text: a BPF program, or a
 * kprobe's copy of an instruction, after which the guest continues in the site. */
static bool may_be_copy(const struct hv_tracee *t, struct hv_gva ip)
{
	const struct hv_kernel *k = t->kernel;

	return ip.v >= k->core.as.arch->kernel_start(k->core.as.levels).v &&
	       !hv_gva_in(ip, k->text) && !hv_gva_in(ip, hv_kernel_init_text(k)) &&
	       !hv_gva_in(ip, t->range) && !hv_module_at(&k->modules, ip);
}

static void look_at_vcpu(struct proof *p, unsigned cpu, struct hv_gva ip)
{
	struct hv_text where = {0};

	note(p, ip.v);
	if (!may_be_copy(p->tracee, ip))
		return;
	hv_text_printf(&where, "vCPU %u at 0x%llx", cpu, (unsigned long long)ip.v);
	p->nr_hidden++;
	free(p->where);
	p->where = hv_text_take(&where);
}

/* A scan can fail because the guest is changing a list. The next one may succeed. */
static struct hv_err *look(struct hv_hold *hold, void *ctx)
{
	struct proof *p = ctx;
	struct hv_kernel *k = p->tracee->kernel;
	const struct hv_scan_for wanted = {
		.range = {k->core.as.arch->kernel_start(k->core.as.levels), hv_gva(UINT64_MAX)},
		.how = HV_SCAN_CALLS,
		.is_known = note_word,
		.ctx = p};
	unsigned nr_vcpus = hv_guest_info(p->tracee->guest)->nr_vcpus;
	HV_AUTO_FREE struct hv_vcpu_regs *regs = hv_alloc(nr_vcpus * sizeof(*regs));
	struct hv_err *err = hv_hold_registers(hold, regs, nr_vcpus);

	forget_last(p);
	if (err)
		return err;
	p->scan_err = hv_stacks_scan(k, &wanted, regs, nr_vcpus, &p->nr_hidden, &p->where);
	for (unsigned cpu = 0; cpu < nr_vcpus; cpu++)
		look_at_vcpu(p, cpu, regs[cpu].ip);
	return NULL;
}

static bool is_proven(const struct proof *p)
{
	return !p->scan_err && !p->nr_hidden && !p->nr_next;
}

/* Refuses each of FIRSTS whose second instruction a task was about to execute at the last
 * attempt. */
static struct hv_err *prove(struct hv_tracee *t, struct hv_change *firsts, size_t nr)
{
	hv_cleanup(proof_deinit) struct proof p = {.tracee = t, .nr = nr};
	struct hv_err *err = NULL;

	p.list = hv_alloc(nr * sizeof(*p.list));
	for (size_t i = 0; i < nr; i++)
		p.list[i] = (struct second){.gva = firsts[i].gva.v +
						   t->kernel->core.as.arch->site_first_bytes,
					    .first = &firsts[i]};
	qsort(p.list, nr, sizeof(*p.list), by_address);
	for (unsigned try = 0; !err && try < TRIES_MAX; try++) {
		if (try)
			nanosleep(&(struct timespec){.tv_nsec = WAIT_NS}, NULL);
		err = hv_patcher_held(t->patcher, look, &p);
		if (!err && is_proven(&p))
			return NULL;
	}
	if (!err && p.scan_err)
		err = hv_take(p.scan_err);
	if (!err && p.nr_hidden)
		err = hv_err_new(EBUSY, "%s may continue between the two instructions of a site",
				 p.where);
	for (size_t i = 0; !err && i < nr; i++)
		if (p.list[i].is_next)
			p.list[i].first->refused = 1;
	return err;
}

/* Makes CHANGES start from the bytes of FIRSTS, a subset of them in the same order. */
static void go_on_from(struct hv_change *changes, size_t nr, const struct hv_change *firsts,
		       size_t nr_firsts)
{
	size_t next = 0;

	for (size_t i = 0; i < nr && next < nr_firsts; i++) {
		const struct hv_change *first = &firsts[next];

		if (changes[i].gpa.v != first->gpa.v)
			continue;
		if (first->refused)
			changes[i].refused = 1;
		else
			memcpy(changes[i].from, first->to, sizeof(changes[i].from));
		next++;
	}
}

static void reverse(struct hv_change *c)
{
	uint8_t back[sizeof(c->from)];

	memcpy(back, c->from, sizeof(back));
	memcpy(c->from, c->to, sizeof(c->from));
	memcpy(c->to, back, sizeof(c->to));
	c->refused = 0;
}

static struct hv_err *take_back(struct hv_tracee *t, struct hv_change *firsts, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		reverse(&firsts[i]);
	return hv_patcher_apply(t->patcher, firsts, nr);
}

struct hv_err *hv_site_pairs_undo(struct hv_tracee *t, struct hv_site_pairs *pairs,
				  struct hv_err *why)
{
	struct hv_err *failed = NULL;

	if (!pairs->nr)
		return why;
	hv_patcher_set_stops(t->patcher, NULL, NULL); /* must not be interrupted */
	if (!(why->facts & HV_ERR_NEEDS_RECOVERY))
		failed = take_back(t, pairs->list, pairs->nr);
	if (!failed)
		return why;
	why = hv_err_in(why, "could not be undone (%s)", failed->message);
	hv_err_free(failed);
	return hv_err_mark(why, HV_ERR_NEEDS_RECOVERY);
}

/* Restores the first instructions of refused sites, which stay free. */
static struct hv_err *take_refused_back(struct hv_tracee *t, const struct hv_site_pairs *pairs)
{
	HV_AUTO_FREE struct hv_change *list = hv_alloc((pairs->nr + 1) * sizeof(*list));
	size_t nr = 0;

	for (size_t i = 0; i < pairs->nr; i++)
		if (pairs->list[i].refused)
			list[nr++] = pairs->list[i];
	return nr ? take_back(t, list, nr) : NULL;
}

struct hv_err *hv_site_pairs_begin(struct hv_tracee *t, struct hv_change *changes, size_t nr,
				   struct hv_site_pairs *ret)
{
	hv_cleanup(hv_site_pairs_deinit) struct hv_site_pairs pairs = {0};
	struct hv_err *err;

	if (!t->kernel->core.as.arch->site_first_bytes)
		return NULL;
	qsort(changes, nr, sizeof(*changes), by_gpa);
	pairs.list = hv_alloc((nr + 1) * sizeof(*pairs.list));
	pairs.nr = plan_firsts(t, changes, nr, pairs.list);
	if (!pairs.nr)
		return NULL;
	err = hv_patcher_apply(t->patcher, pairs.list, pairs.nr);
	if (err)
		return err;
	err = prove(t, pairs.list, pairs.nr);
	if (!err) {
		go_on_from(changes, nr, pairs.list, pairs.nr);
		err = take_refused_back(t, &pairs);
	}
	if (err)
		return hv_site_pairs_undo(t, &pairs, err);
	*ret = pairs;
	pairs = (struct hv_site_pairs){0};
	return NULL;
}
