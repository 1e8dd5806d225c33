/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the guest address of a probe, at a function's site or inside a function. */
#include <stdlib.h>
#include <string.h>

#include "kernel/kernel.h"
#include "tracer/event_types.h"
#include "tracer/places.h"
#include "tracer/session.h"
#include "tree/instance/core/instance.h"
#include "tree/instance/dynamic/kprobe_event.h"
#include "tree/instance/dynamic/module_btf.h"

struct hv_err *hv_kprobe_event_find_tracepoint(const struct hv_catalogue *c,
					       struct hv_kprobe_event *e)
{
	const struct hv_event_type *found = NULL;

	if (!e->is.is_tracepoint)
		return NULL;
	/* An event type on the same tracepoint has everything that attaching needs. */
	for (size_t i = 0; i < c->nr; i++)
		if (c->types[i].tracepoint.at.v && strcmp(c->types[i].name, e->is.symbol) == 0 &&
		    (!found || !c->types[i].module))
			found = &c->types[i];
	if (!found)
		return hv_err_new(ENOENT, "Tracepoint is not found");
	free(e->module);
	e->module = found->module ? hv_strdup(found->module) : NULL;
	e->tracepoint = (struct hv_event_type){
		.system = "tracepoints",
		.name = e->is.symbol,
		.module = e->module,
		.is_available = true,
		.reg_kind = HV_EVENT_REG_PROBESTUB,
		.call = found->tracepoint.at,
		.tracepoint = found->tracepoint,
	};
	return NULL;
}

static bool is_same_module(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

/* Several functions are called SYMBOL. Kernels that do not count them probe the first one. Others
 * refuse, with a different errno if they look up the function before the arguments
 * (validate_probe_symbol()). */
static struct hv_err *choose_first(const struct hv_kernel *k, const char *symbol,
				   const struct hv_site **site)
{
	struct hv_gva at, start = {0};
	const char *name, *module;
	uint64_t off;

	if (hv_kernel_symbol(k, "validate_probe_symbol", &at))
		return hv_err_new(EINVAL, "The symbol is not unique");
	if (hv_kernel_symbol(k, "count_symbols", &at) ||
	    hv_kernel_symbol(k, "number_of_same_symbols", &at) ||
	    !hv_kernel_symbol(k, symbol, &start))
		return hv_err_new(EADDRNOTAVAIL, "The symbol is not unique");
	for (size_t i = 0; i < k->sites.nr; i++) {
		*site = &k->sites.list[i];
		if (!(*site)->invalid && hv_site_is_named(*site, symbol) &&
		    hv_kernel_symbol_at(k, (*site)->ip, &name, &module, &off) &&
		    (*site)->ip.v - off == start.v)
			return NULL;
	}
	return hv_err_new(EOPNOTSUPP, "the first of several functions '%s' cannot be traced",
			  symbol);
}

/* The function that a tracepoint calls must not be removed before the tracepoint, so it must be in
 * MODULE, as the tracepoint is. */
static struct hv_err *find_site(const struct hv_kernel *k, const struct hv_kprobe *is,
				const char *tracepoint_module, struct hv_gva *ret)
{
	const char *symbol = is->function;
	const struct hv_site *found = NULL;
	bool is_elsewhere = false, is_ambiguous = false;
	struct hv_gva at;

	for (size_t i = 0; i < k->sites.nr; i++) {
		const struct hv_site *site = &k->sites.list[i];

		if (site->invalid || !hv_site_is_named(site, symbol) ||
		    (is->entry.v && is->entry.v != site->ip.v))
			continue;
		if (is->is_tracepoint && !is_same_module(site->module, tracepoint_module)) {
			is_elsewhere = true;
			continue;
		}
		is_ambiguous = is_ambiguous || found;
		found = site;
	}
	if (is_ambiguous) {
		struct hv_err *err = choose_first(k, symbol, &found);

		if (err)
			return err;
	}
	if (!found && is_elsewhere)
		return hv_err_new(EOPNOTSUPP, "%s belongs to another module than its tracepoint",
				  symbol);
	if (!found && hv_kernel_symbol(k, symbol, &at))
		return hv_err_new(EOPNOTSUPP,
				  "only functions that ftrace can trace have probes, and this one"
				  " cannot be traced");
	if (!found)
		return hv_err_new(ENOENT, "Invalid probed address or symbol");
	*ret = found->ip;
	return NULL;
}

/* After the function's module was loaded, the probe's offset turned out to be the function's patch
 * site. Its arguments still need the registers of HV_EVENT_ID_PLACE. */
static void make_entry(struct hv_kprobe *k)
{
	k->is_inside = false;
	k->needs_all_regs = true;
}

/* For a return probe with an offset in a module that was not loaded: the offset must be the
 * entry. */
static struct hv_err *check_return(const struct hv_kernel *k, const struct hv_kprobe *is,
				   struct hv_gva site)
{
	const char *name, *module;
	uint64_t off = 0;

	if (!is->is_return || !is->off || is->entry.v || !strchr(is->function, ':') ||
	    (hv_kernel_symbol_at(k, site, &name, &module, &off) && off == is->off))
		return NULL;
	return hv_err_new(EINVAL, "Retprobe address must be an function entry");
}

/* Finds a location inside a function: an offset from its start, or an address. */
static struct hv_err *find_place(const struct hv_session *s, struct hv_kprobe_event *e,
				 struct hv_gva *ret)
{
	struct hv_gva at = {e->is.off}, site = {0};
	const char *name, *module;
	uint64_t off = 0;
	struct hv_err *err;

	if (*e->is.function) {
		err = find_site(s->kernel, &e->is, NULL, &site);
		if (err)
			return err;
		hv_kernel_symbol_at(s->kernel, site, &name, &module, &off);
		at = hv_gva(site.v - off + e->is.off);
	}
	if (*e->is.function && at.v == site.v) {
		make_entry(&e->is);
		*ret = at;
		return NULL;
	}
	err = hv_places_find(s->places, at, &e->place);
	if (!err)
		*ret = at;
	return err;
}

struct hv_err *hv_kprobe_event_find(const struct hv_session *s, struct hv_kprobe_event *e,
				    struct hv_gva *ret)
{
	struct hv_gva site = {0};
	struct hv_err *err;

	if (e->is.is_inside)
		return find_place(s, e, ret);
	err = find_site(s->kernel, &e->is, e->module, &site);
	if (!err)
		err = check_return(s->kernel, &e->is, site);
	if (!err)
		*ret = site;
	return err;
}

bool hv_kprobe_event_waits(const struct hv_session *s, const struct hv_kprobe_event *e)
{
	const struct hv_modules *modules = &s->kernel->modules;
	const char *colon = strchr(e->is.function, ':');
	size_t len = colon ? (size_t)(colon - e->is.function) : 0;

	for (size_t i = 0; colon && i < modules->nr; i++)
		if (strlen(modules->list[i].name) == len &&
		    strncmp(modules->list[i].name, e->is.function, len) == 0)
			return false;
	return colon;
}

/* Returns the kernel's default for a return probe (register_kretprobe()). Up to 6.0, kernels
 * without preemption used the number of CPUs. */
static unsigned default_maxactive(const struct hv_instances *all)
{
	unsigned nr = all->nr_cpus * 2;
	struct hv_gva at;

	if (!hv_kernel_symbol(all->session->kernel, "arch_rethook_trampoline", &at) &&
	    !hv_kernel_symbol(all->session->kernel, "preempt_schedule", &at))
		return all->nr_cpus;
	return nr > 10 ? nr : 10;
}

void hv_kprobe_event_set_site(const struct hv_instances *all, struct hv_kprobe_event *e,
			      struct hv_gva site)
{
	e->site = site;
	e->tracepoint.probe = site;
	if (site.v && e->is.is_return && !e->is.is_fprobe && !e->is.maxactive)
		e->is.maxactive = default_maxactive(all);
}

static bool is_there(const struct hv_sites *sites, const struct hv_kprobe_event *e)
{
	struct hv_gva ip = e->is.is_inside ? e->place.site : e->site;

	for (size_t i = 0; i < sites->nr; i++)
		if (sites->list[i].ip.v == ip.v && !sites->list[i].invalid &&
		    (!*e->is.function || hv_site_is_named(&sites->list[i], e->is.function)))
			return true;
	return false;
}

/* A module's tracepoint and its function may have been removed, or loaded at another address. */
static void find_again(struct hv_instances *all, struct hv_kprobe_event *e, struct hv_gva *ret)
{
	const struct hv_catalogue *c;
	struct hv_err *err = hv_event_types_catalogue(all->session->types, &c);

	if (!err)
		err = hv_kprobe_event_find_tracepoint(c, e);
	if (!err)
		err = hv_kprobe_event_find(all->session, e, ret);
	hv_err_free(err);
}

/* Probes of MODULE:FUNCTION (trace_kprobe_module_callback()) and of tracepoints
 * (__tprobe_event_module_cb()) record whenever the module is loaded. The kernel never looks up
 * other probes again. */
unsigned hv_kprobes_renew(struct hv_instances *all)
{
	const struct hv_kernel *kernel = all->session->kernel;
	unsigned changed = 0;

	for (size_t i = 0; i < all->kprobes->nr; i++) {
		struct hv_kprobe_event *e = all->kprobes->list[i];
		struct hv_gva before = e->tracepoint.call, site = {0};

		if (!e->module && e->site.v && is_there(&kernel->sites, e))
			continue;
		if (e->is.is_tracepoint)
			find_again(all, e, &site);
		else if (strchr(e->is.function, ':'))
			hv_err_free(hv_kprobe_event_find(all->session, e, &site));
		changed |= site.v != e->site.v || before.v != e->tracepoint.call.v;
		hv_kprobe_event_set_site(all, e, site);
	}
	return changed;
}
