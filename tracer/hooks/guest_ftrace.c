/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/hooks/guest_ftrace.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/grow.h"
#include "tracer/events/decode.h"
#include "tracer/guest/trampolines.h"
#include "tracer/guest/tracee.h"
#include "tracer/hooks/kernel_calls.h"

/* The guest's ftrace reads text with one of these functions. Both have the arguments (to, from,
 * bytes). */
static const char *const readers[] = {
	"copy_from_kernel_nofault", /* since 5.8 (fe557319aa06) */
	"probe_kernel_read",	    /* before that */
};

/* Prefix of the functions that may read a site: ftrace_verify_code, or functions into which the
 * compiler inlined it. */
#define PREFIX "ftrace_"

/* ftrace writes everything that it has read within this time, unless the machine is overloaded. */
#define WRITTEN_NS 5000000000ull
#define AGAIN_NS   900000000ull

struct taken {
	uint64_t gva;
	uint64_t since_ns; /* when the site was last known to be ours */
	bool stays;	   /* see hv_guest_ftrace_stays_taken() */
};

struct hv_guest_ftrace {
	struct hv_tracee *tracee; /* borrowed */
	struct hv_decode *decode; /* borrowed */
	bool has_nop;		  /* the params have the nop of a free site */
	struct taken *taken;	  /* owned */
	size_t taken_cap;
	bool is_sorted;		 /* by address */
	struct hv_unseen unseen; /* nr_now is the length of that list */
	uint32_t writes_looks;	 /* `looks` when hv_guest_ftrace_may_write() was last called */
	uint64_t writes_ns;	 /* when it last noticed a read; 0: never */
	uint64_t checked_ns;	 /* when all patched sites were last ours; 0: there were none */
	uint32_t looks;		 /* number of known reads of sites by the guest's ftrace */
	uint64_t looked_ns;	 /* when hvtrace last noticed a read; 0: never */
	uint64_t reported_ns;	 /* when hv_guest_ftrace_has_read last returned true */
};

struct hv_guest_ftrace *hv_guest_ftrace_new(struct hv_tracee *t, struct hv_decode *decode)
{
	struct hv_guest_ftrace *g = hv_alloc(sizeof(*g));

	g->tracee = t;
	g->decode = decode;
	return g;
}

void hv_guest_ftrace_free(struct hv_guest_ftrace *g)
{
	if (g)
		free(g->taken);
	free(g);
}

struct reads {
	struct hv_call list[HV_NR_FTRACE_READERS];
	size_t nr;
	size_t nr_more; /* calls without an entry */
};

/* Returns the name of the function, or NULL. */
static const char *find_reader(const struct hv_kernel *k, struct hv_gva *ret)
{
	for (size_t i = 0; i < HV_ARRAY_LEN(readers); i++)
		if (hv_kernel_symbol(k, readers[i], ret))
			return readers[i];
	return NULL;
}

static struct hv_err *find_reads(const struct hv_kernel *k, struct hv_gva_range targets,
				 struct reads *ret)
{
	hv_cleanup(hv_calls_deinit) struct hv_calls calls = {0};
	struct hv_err *err = hv_calls_find_in(k, PREFIX, targets, &calls);

	*ret = (struct reads){.nr = 0};
	for (size_t i = 0; i < calls.nr && !err; i++) {
		if (calls.list[i].kind != HV_SITE_CALL)
			continue;
		if (ret->nr < HV_NR_FTRACE_READERS)
			ret->list[ret->nr++] = calls.list[i];
		else
			ret->nr_more++;
	}
	return err;
}

/* Finds the nop of this kernel at any site that has it. */
static struct hv_err *find_nop(const struct hv_kernel *k, uint8_t ret[8], bool *ret_found)
{
	const struct hv_sites *sites = &k->sites;
	const struct hv_arch *arch = k->core.as.arch;

	*ret_found = false;
	for (size_t i = 0; i < sites->nr; i++) {
		uint8_t bytes[HV_SITE_LEN_MAX] = {0};
		struct hv_gva target;
		struct hv_err *err;

		if (sites->list[i].invalid || !hv_gva_in(sites->list[i].ip, k->text))
			continue;
		err = hv_read(&k->core.as, sites->list[i].ip, bytes, arch->site_len_bytes);
		if (err)
			return err;
		if (arch->classify_site(bytes, sites->list[i].ip, &target) != HV_SITE_NOP)
			continue;
		memcpy(ret, bytes, sizeof(bytes));
		*ret_found = true;
		return NULL;
	}
	return NULL;
}

static bool crosses_pages(const struct hv_kernel *k, struct hv_gva at)
{
	return hv_site_crosses_pages(k->core.as.arch, at.v);
}

struct hv_err *hv_guest_ftrace_look(const struct hv_kernel *k, struct hv_text *ret_reasons)
{
	struct hv_gva reader;
	const char *name = find_reader(k, &reader);
	struct reads reads;
	struct hv_err *err;

	if (!name || !k->core.as.arch->trampolines.ftrace_readers_off) {
		hv_text_add(ret_reasons, "cannot find the function that reads its sites");
		return NULL;
	}
	err = find_reads(k, hv_gva_alone(reader), &reads);
	if (err)
		return err;
	if (!reads.nr)
		hv_text_printf(ret_reasons, "its call of %s was not found", name);
	if (reads.nr_more)
		hv_text_printf(ret_reasons, "it has more than %u calls of %s", HV_NR_FTRACE_READERS,
			       name);
	for (size_t i = 0; i < reads.nr; i++)
		if (crosses_pages(k, reads.list[i].at))
			hv_text_printf(ret_reasons, "%sits call of %s at 0x%llx is in two pages",
				       ret_reasons->len_bytes ? "; " : "", name,
				       (unsigned long long)reads.list[i].at.v);
	return NULL;
}

/* CHANGES has room for one change per call in READS. Skips calls that cross a page. */
static struct hv_err *plan(const struct hv_tracee *t, const struct reads *reads,
			   struct hv_change *changes, size_t *ret_nr)
{
	struct hv_err *err = NULL;

	*ret_nr = 0;
	for (size_t i = 0; i < reads->nr && !err; i++) {
		bool is_planned;

		err = hv_redirect_plan(t, &reads->list[i], hv_trampolines_ftrace_reader(t, i),
				       HV_CHANGE_FTRACE_READER, &changes[*ret_nr], &is_planned);
		*ret_nr += is_planned;
	}
	return err;
}

/* Makes functions that our trampoline calls appear as called by ftrace. */
static void note_callers(struct hv_guest_ftrace *g, const struct reads *reads)
{
	size_t len = g->tracee->kernel->core.as.arch->site_len_bytes;

	g->decode->ftrace_readers = hv_trampolines_ftrace_reader(g->tracee, 0);
	for (size_t i = 0; i < reads->nr; i++)
		g->decode->ftrace_reader_callers[i] = hv_gva_add(reads->list[i].at, len);
}

/* If the guest uses every site, none has the nop; but then no free site can be patched, so the nop
 * is not needed. */
static struct hv_err *learn_nop(struct hv_guest_ftrace *g)
{
	struct hv_params *params = hv_region_params(&g->tracee->region);

	return g->has_nop ? NULL : find_nop(g->tracee->kernel, params->ftrace_nop, &g->has_nop);
}

struct hv_err *hv_guest_ftrace_begin(struct hv_guest_ftrace *g)
{
	const struct hv_kernel *k = g->tracee->kernel;
	struct hv_change changes[HV_NR_FTRACE_READERS];
	struct reads reads;
	struct hv_gva reader;
	struct hv_err *err;
	size_t nr = 0;

	if (!hv_patcher_nr_patched(g->tracee->patcher, HV_CHANGE_TEXT))
		g->checked_ns = hv_now_ns();
	if (!k->core.as.arch->trampolines.ftrace_readers_off || !find_reader(k, &reader))
		return NULL;
	err = learn_nop(g);
	if (err || hv_guest_ftrace_is_patched(g))
		return err;
	err = find_reads(k, hv_gva_alone(reader), &reads);
	if (!err)
		err = plan(g->tracee, &reads, changes, &nr);
	if (err || !nr)
		return err;
	note_callers(g, &reads);
	hv_region_params(&g->tracee->region)->ftrace_reader_gva = reader.v;
	return hv_patcher_apply(g->tracee->patcher, changes, nr);
}

struct hv_err *hv_guest_ftrace_end_if_done(struct hv_guest_ftrace *g)
{
	HV_AUTO_FREE struct hv_change *undo = NULL;
	size_t nr;

	if (hv_patcher_nr_patched(g->tracee->patcher, HV_CHANGE_TEXT))
		return NULL;
	nr = hv_patcher_undo_plan(g->tracee->patcher, HV_CHANGE_FTRACE_READER, &undo);
	return nr ? hv_patcher_apply(g->tracee->patcher, undo, nr) : NULL;
}

bool hv_guest_ftrace_is_patched(const struct hv_guest_ftrace *g)
{
	return hv_patcher_nr_patched(g->tracee->patcher, HV_CHANGE_FTRACE_READER) != 0;
}

bool hv_guest_ftrace_has_read(struct hv_guest_ftrace *g, uint64_t now_ns)
{
	uint32_t looks =
		__atomic_load_n(&hv_region_control(&g->tracee->region)->looks, __ATOMIC_RELAXED);

	if (looks != g->looks)
		g->looked_ns = now_ns;
	g->looks = looks;
	if (!g->looked_ns || now_ns - g->looked_ns >= WRITTEN_NS ||
	    now_ns - g->reported_ns < AGAIN_NS)
		return false;
	g->reported_ns = now_ns;
	return true;
}

/* -- sites that the guest has taken ------------------------------------------------------------ */

static int by_gva(const void *a, const void *b)
{
	uint64_t x = ((const struct taken *)a)->gva, y = ((const struct taken *)b)->gva;

	return x < y ? -1 : x > y;
}

static struct taken *find_taken(struct hv_guest_ftrace *g, struct hv_gva at)
{
	const struct taken key = {.gva = at.v};

	if (!g->unseen.nr_now)
		return NULL;
	if (!g->is_sorted)
		qsort(g->taken, g->unseen.nr_now, sizeof(*g->taken), by_gva);
	g->is_sorted = true;
	return bsearch(&key, g->taken, g->unseen.nr_now, sizeof(key), by_gva);
}

void hv_guest_ftrace_take(struct hv_guest_ftrace *g, struct hv_gva at, struct hv_gpa gpa)
{
	hv_patcher_forget_at(g->tracee->patcher, gpa);
	g->taken = hv_grow(g->taken, g->unseen.nr_now, &g->taken_cap, 64, sizeof(*g->taken));
	g->taken[g->unseen.nr_now++] = (struct taken){.gva = at.v, .since_ns = g->checked_ns};
	g->is_sorted = false;
}

size_t hv_guest_ftrace_forget_taken(struct hv_guest_ftrace *g)
{
	const struct hv_tracee *t = g->tracee;
	HV_AUTO_FREE struct hv_change *patched = NULL;
	size_t nr = hv_patcher_undo_plan(t->patcher, HV_CHANGE_TEXT, &patched), nr_taken = 0;
	uint64_t now_ns = hv_now_ns();

	for (size_t i = 0; i < nr; i++) {
		uint8_t now[HV_SITE_LEN_MAX];
		HV_AUTO_ERR struct hv_err *unread =
			hv_guest_read(t->guest, patched[i].gpa, now, patched[i].len_bytes);

		if (unread || hv_tracee_is_left(t, patched[i].gva, now))
			continue;
		hv_guest_ftrace_take(g, patched[i].gva, patched[i].gpa);
		nr_taken++;
	}
	g->checked_ns = now_ns;
	return nr_taken;
}

bool hv_guest_ftrace_may_write(struct hv_guest_ftrace *g, uint64_t now_ns)
{
	uint32_t looks =
		__atomic_load_n(&hv_region_control(&g->tracee->region)->looks, __ATOMIC_RELAXED);

	if (looks != g->writes_looks)
		g->writes_ns = now_ns;
	g->writes_looks = looks;
	if (g->writes_ns && now_ns - g->writes_ns < WRITTEN_NS)
		return true;
	g->checked_ns = now_ns;
	return false;
}

const struct hv_unseen *hv_guest_ftrace_unseen(const struct hv_guest_ftrace *g)
{
	return &g->unseen;
}

bool hv_guest_ftrace_is_taken(struct hv_guest_ftrace *g, struct hv_gva at)
{
	return find_taken(g, at) != NULL;
}

uint64_t hv_guest_ftrace_is_back(struct hv_guest_ftrace *g, struct hv_gva at, uint64_t now_ns)
{
	const struct taken *taken = find_taken(g, at);
	uint64_t ns = taken ? now_ns - taken->since_ns : 0;

	g->unseen.nr += taken != NULL;
	g->unseen.total_ns += ns;
	if (ns > g->unseen.longest_ns)
		g->unseen.longest_ns = ns;
	return ns;
}

void hv_guest_ftrace_stays_taken(struct hv_guest_ftrace *g, struct hv_gva at)
{
	struct taken *taken = find_taken(g, at);

	if (taken)
		taken->stays = true;
}

void hv_guest_ftrace_settle(struct hv_guest_ftrace *g)
{
	size_t nr = 0;

	for (size_t i = 0; i < g->unseen.nr_now; i++) {
		if (!g->taken[i].stays)
			continue;
		g->taken[nr] = g->taken[i];
		g->taken[nr++].stays = false;
	}
	g->unseen.nr_now = nr;
}

struct hv_err *hv_guest_ftrace_is_ours(const struct hv_guest_ftrace *g, struct hv_journal_entry *e,
				       bool *ret)
{
	struct hv_gva reader;

	*ret = false;
	if (!find_reader(g->tracee->kernel, &reader))
		return NULL;
	return hv_redirect_is_ours(g->tracee, hv_gva_alone(reader), e, ret);
}

struct hv_err *hv_guest_ftrace_check_gone(const struct hv_guest_ftrace *g)
{
	struct hv_gva_range ours = {hv_trampolines_ftrace_reader(g->tracee, 0),
				    hv_trampolines_ftrace_reader(g->tracee, HV_NR_FTRACE_READERS)};
	struct reads reads;
	struct hv_err *err = find_reads(g->tracee->kernel, ours, &reads);

	if (!err && reads.nr)
		err = hv_err_new(EBUSY, "ftrace's call at 0x%llx still calls a trampoline",
				 (unsigned long long)reads.list[0].at.v);
	return err;
}
