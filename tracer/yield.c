#include "tracer/yield.h"

#include <stdlib.h>
#include <string.h>

#include "tracer/events/decode.h"
#include "tracer/stubs.h"
#include "tracer/tracee.h"

/* What the guest's ftrace reads text by; (to, from, bytes) in either. */
static const char *const readers[] = {
	"copy_from_kernel_nofault", /* since 5.8 (fe557319aa06) */
	"probe_kernel_read",	    /* and before */
};

/* The functions that may read a site, whatever the compiler made of them: ftrace_verify_code, or
 * those it was inlined into. */
#define PREFIX	       "ftrace_"
#define FUNCTION_BYTES 4096

/* In which all is written that was looked at, if the machine is not overwhelmed. */
#define WRITTEN_NS 5000000000ull
#define AGAIN_NS   900000000ull

struct hv_yield {
	struct hv_tracee *tracee; /* borrowed */
	struct hv_decode *decode; /* borrowed */
	uint32_t looks;		  /* of the guest's ftrace at sites, that were noticed */
	uint64_t looked_ns;	  /* when that was; 0: never */
	uint64_t look_told_ns;	  /* and when it was last told of */
};

struct hv_yield *hv_yield_new(struct hv_tracee *t, struct hv_decode *decode)
{
	struct hv_yield *y = hv_alloc(sizeof(*y));

	y->tracee = t;
	y->decode = decode;
	return y;
}

void hv_yield_free(struct hv_yield *y)
{
	free(y);
}

struct places {
	struct hv_gva list[HV_NR_YIELDS];
	size_t nr;
	size_t nr_more; /* for which there is no entry */
};

/* Its name; NULL: there is none. */
static const char *find_reader(const struct hv_kernel *k, struct hv_gva *ret)
{
	for (size_t i = 0; i < HV_ARRAY_LEN(readers); i++)
		if (hv_kernel_symbol(k, readers[i], ret))
			return readers[i];
	return NULL;
}

/* Calls into TARGETS in the function at START, as the guest has it now: bytes anywhere in it, of
 * which only calls can lead to so few addresses out of 4 GiB. */
static struct hv_err *scan_function(const struct hv_kernel *k, struct hv_gva start,
				    struct hv_gva_range targets, struct places *ret)
{
	const struct hv_arch *arch = k->core.as.arch;
	uint64_t len = hv_kernel_symbol_size(k, start);
	uint8_t code[FUNCTION_BYTES];
	struct hv_err *err;

	if (len > sizeof(code))
		len = sizeof(code);
	if (len > k->text.end.v - start.v)
		len = k->text.end.v - start.v;
	err = hv_read(&k->core.as, start, code, len);
	for (size_t off = 0; !err && off + arch->site_len_bytes <= len; off++) {
		struct hv_gva at = hv_gva_add(start, off), to = {0};

		if (arch->classify_site(code + off, at, &to) != HV_SITE_CALL ||
		    !hv_gva_in(to, targets))
			continue;
		if (ret->nr < HV_NR_YIELDS)
			ret->list[ret->nr++] = at;
		else
			ret->nr_more++;
	}
	return err;
}

static struct hv_err *find_places(const struct hv_kernel *k, struct hv_gva_range targets,
				  struct places *ret)
{
	struct hv_err *err = NULL;

	*ret = (struct places){.nr = 0};
	for (size_t i = 0; i < k->core.symbols.nr && !err; i++) {
		const struct hv_symbol *symbol = &k->core.symbols.by_addr[i];

		if (hv_gva_in(symbol->addr, k->text) &&
		    strncmp(symbol->name, PREFIX, sizeof(PREFIX) - 1) == 0)
			err = scan_function(k, symbol->addr, targets, ret);
	}
	return err;
}

static struct hv_gva_range alone(struct hv_gva at)
{
	return (struct hv_gva_range){at, hv_gva_add(at, 1)};
}

/* The nop of this kernel, from a site that has it. */
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

struct hv_err *hv_yield_look(const struct hv_kernel *k, struct hv_text *ret_reasons)
{
	struct hv_gva reader;
	const char *name = find_reader(k, &reader);
	struct places places;
	struct hv_err *err;

	if (!name || !k->core.as.arch->stubs.yields_off) {
		hv_text_add(ret_reasons, "what it reads sites by is not known");
		return NULL;
	}
	err = find_places(k, alone(reader), &places);
	if (err)
		return err;
	if (!places.nr)
		hv_text_printf(ret_reasons, "its call of %s was not found", name);
	if (places.nr_more)
		hv_text_printf(ret_reasons, "it has more than %u calls of %s", HV_NR_YIELDS, name);
	for (size_t i = 0; i < places.nr; i++)
		if (crosses_pages(k, places.list[i]))
			hv_text_printf(ret_reasons, "%sits call of %s at 0x%llx is in two pages",
				       ret_reasons->len_bytes ? "; " : "", name,
				       (unsigned long long)places.list[i].v);
	return NULL;
}

/* CHANGES has room for one each of PLACES. What lies across two pages stays as it is. */
static struct hv_err *plan(const struct hv_tracee *t, const struct places *places,
			   struct hv_change *changes, size_t *ret_nr)
{
	const struct hv_arch *arch = t->kernel->core.as.arch;
	uint32_t len = (uint32_t)arch->site_len_bytes;

	*ret_nr = 0;
	for (size_t i = 0; i < places->nr; i++) {
		struct hv_change *change = &changes[*ret_nr];
		struct hv_mapping m;
		struct hv_err *err = hv_walk(&t->kernel->core.as, places->list[i], &m);

		if (err)
			return err;
		if (!m.present || crosses_pages(t->kernel, places->list[i]))
			continue;
		*change = (struct hv_change){.gva = places->list[i],
					     .gpa = m.gpa,
					     .kind = HV_CHANGE_YIELD,
					     .len_bytes = len};
		err = hv_guest_read(t->guest, m.gpa, change->from, len);
		if (err)
			return err;
		*ret_nr += arch->encode_call(places->list[i], hv_stubs_yield(t, i), change->to);
	}
	return NULL;
}

/* Whoever is called by our stub was called by ftrace. */
static void note_callers(struct hv_yield *y, const struct places *places)
{
	size_t len = y->tracee->kernel->core.as.arch->site_len_bytes;

	y->decode->yields = hv_stubs_yield(y->tracee, 0);
	for (size_t i = 0; i < places->nr; i++)
		y->decode->yield_callers[i] = hv_gva_add(places->list[i], len);
}

struct hv_err *hv_yield_begin(struct hv_yield *y)
{
	const struct hv_kernel *k = y->tracee->kernel;
	struct hv_params *params = hv_region_params(&y->tracee->region);
	struct hv_change changes[HV_NR_YIELDS];
	struct places places;
	struct hv_gva reader;
	struct hv_err *err;
	bool has_nop;
	size_t nr;

	if (hv_yield_stands(y) || !k->core.as.arch->stubs.yields_off || !find_reader(k, &reader))
		return NULL;
	err = find_places(k, alone(reader), &places);
	if (!err)
		err = plan(y->tracee, &places, changes, &nr);
	if (!err)
		err = find_nop(k, params->yield_nop, &has_nop);
	if (err || !has_nop || !nr)
		return err;
	note_callers(y, &places);
	params->yield_reader_gva = reader.v;
	return hv_patcher_apply(y->tracee->patcher, changes, nr);
}

struct hv_err *hv_yield_end_if_done(struct hv_yield *y)
{
	HV_AUTO_FREE struct hv_change *undo = NULL;
	size_t nr;

	if (hv_patcher_nr_standing(y->tracee->patcher, HV_CHANGE_TEXT))
		return NULL;
	nr = hv_patcher_undo_plan(y->tracee->patcher, HV_CHANGE_YIELD, &undo);
	return nr ? hv_patcher_apply(y->tracee->patcher, undo, nr) : NULL;
}

bool hv_yield_stands(const struct hv_yield *y)
{
	return hv_patcher_nr_standing(y->tracee->patcher, HV_CHANGE_YIELD) != 0;
}

bool hv_yield_looked(struct hv_yield *y, uint64_t now_ns)
{
	uint32_t looks =
		__atomic_load_n(&hv_region_control(&y->tracee->region)->looks, __ATOMIC_RELAXED);

	if (looks != y->looks)
		y->looked_ns = now_ns;
	y->looks = looks;
	if (!y->looked_ns || now_ns - y->looked_ns >= WRITTEN_NS ||
	    now_ns - y->look_told_ns < AGAIN_NS)
		return false;
	y->look_told_ns = now_ns;
	return true;
}

size_t hv_yield_forget_taken(struct hv_yield *y)
{
	const struct hv_tracee *t = y->tracee;
	HV_AUTO_FREE struct hv_change *standing = NULL;
	size_t nr = hv_patcher_undo_plan(t->patcher, HV_CHANGE_TEXT, &standing), nr_taken = 0;

	for (size_t i = 0; i < nr; i++) {
		uint8_t now[HV_SITE_LEN_MAX];
		HV_AUTO_ERR struct hv_err *unread =
			hv_guest_read(t->guest, standing[i].gpa, now, standing[i].len_bytes);

		if (unread || hv_tracee_is_call(t, standing[i].gva, now))
			continue;
		hv_patcher_forget_at(t->patcher, standing[i].gpa);
		nr_taken++;
	}
	return nr_taken;
}

struct hv_err *hv_yield_is_ours(const struct hv_yield *y, struct hv_journal_entry *e, bool *ret)
{
	const struct hv_kernel *k = y->tracee->kernel;
	struct hv_gva at = hv_gva(e->gva), target = {0}, reader;

	*ret = false;
	if (!hv_gva_in(at, k->text) ||
	    k->core.as.arch->classify_site(e->old_bytes, at, &target) != HV_SITE_CALL ||
	    !find_reader(k, &reader) || target.v != reader.v)
		return NULL;
	return hv_tracee_call_stands(y->tracee, e, ret);
}

struct hv_err *hv_yield_check_gone(const struct hv_yield *y)
{
	struct hv_gva_range ours = {hv_stubs_yield(y->tracee, 0),
				    hv_stubs_yield(y->tracee, HV_NR_YIELDS)};
	struct places places;
	struct hv_err *err = find_places(y->tracee->kernel, ours, &places);

	if (!err && places.nr)
		err = hv_err_new(EBUSY, "ftrace's call at 0x%llx still calls a stub",
				 (unsigned long long)places.list[0].v);
	return err;
}
