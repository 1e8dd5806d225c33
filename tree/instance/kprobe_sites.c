/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where in the guest a probe is: at the site of a function, or inside one. */
#include <stdlib.h>
#include <string.h>

#include "kernel/kernel.h"
#include "tracer/event_types.h"
#include "tracer/places.h"
#include "tracer/session.h"
#include "tree/instance/kprobe_event.h"
#include "tree/instance/trace.h"

/* SYMBOL may be MODULE:FUNCTION. */
static bool is_symbol(const struct hv_site *site, const char *symbol)
{
	const char *colon = strchr(symbol, ':');
	size_t len = colon ? (size_t)(colon - symbol) : 0;

	if (!colon)
		return strcmp(site->name, symbol) == 0;
	return site->module && strncmp(site->module, symbol, len) == 0 && !site->module[len] &&
	       strcmp(site->name, colon + 1) == 0;
}

struct hv_err *hv_kprobe_event_find_tracepoint(const struct hv_catalogue *c,
					       struct hv_kprobe_event *e)
{
	const struct hv_event_type *found = NULL;

	if (!e->is.is_tracepoint)
		return NULL;
	/* The event that is recorded there tells how it is switched on. */
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

/* What a tracepoint calls must not go without it: it is of MODULE, as the tracepoint is. */
static struct hv_err *find_site(const struct hv_kernel *k, const struct hv_kprobe *is,
				const char *tracepoint_module, struct hv_gva *ret)
{
	const char *symbol = is->function;
	const struct hv_site *found = NULL;
	bool is_elsewhere = false;
	struct hv_gva at;

	for (size_t i = 0; i < k->sites.nr; i++) {
		const struct hv_site *site = &k->sites.list[i];

		if (site->invalid || !is_symbol(site, symbol))
			continue;
		if (is->is_tracepoint && !is_same_module(site->module, tracepoint_module)) {
			is_elsewhere = true;
			continue;
		}
		if (found)
			return hv_err_new(EADDRNOTAVAIL, "The symbol is not unique");
		found = site;
	}
	if (!found && is_elsewhere)
		return hv_err_new(EOPNOTSUPP, "%s is of another module than its tracepoint",
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

/* A place inside a function: so far behind its start, or an address. */
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
	err = hv_places_find(s->places, at, &e->place);
	if (!err)
		*ret = at;
	return err;
}

struct hv_err *hv_kprobe_event_find(const struct hv_session *s, struct hv_kprobe_event *e,
				    struct hv_gva *ret)
{
	return e->is.is_inside ? find_place(s, e, ret)
			       : find_site(s->kernel, &e->is, e->module, ret);
}

static bool is_there(const struct hv_sites *sites, const struct hv_kprobe_event *e)
{
	struct hv_gva ip = e->is.is_inside ? e->place.site : e->site;

	for (size_t i = 0; i < sites->nr; i++)
		if (sites->list[i].ip.v == ip.v && !sites->list[i].invalid &&
		    (!*e->is.function || is_symbol(&sites->list[i], e->is.function)))
			return true;
	return false;
}

/* The tracepoint of a module may have gone, or have come again elsewhere, and its function, too. */
static void find_again(struct hv_instances *all, struct hv_kprobe_event *e, struct hv_gva *ret)
{
	const struct hv_catalogue *c;
	struct hv_err *err = hv_event_types_catalogue(all->session->types, &c);

	if (!err)
		err = hv_kprobe_event_find_tracepoint(c, e);
	if (!err)
		err = hv_kprobe_event_find(all->session, e, ret);
	if (!err)
		e->tracepoint.probe = *ret;
	hv_err_free(err);
}

/* A probe of MODULE:FUNCTION goes on when the module comes again (trace_kprobe_module_callback()),
 * and so does one of a tracepoint (__tprobe_event_module_cb()); the kernel never finds another one
 * again. */
unsigned hv_kprobes_renew(struct hv_instances *all)
{
	const struct hv_kernel *kernel = all->session->kernel;
	unsigned changed = 0;

	for (size_t i = 0; i < all->kprobes.nr; i++) {
		struct hv_kprobe_event *e = all->kprobes.list[i];
		struct hv_gva before = e->tracepoint.call, site = {0};

		if (!e->module && e->site.v && is_there(&kernel->sites, e))
			continue;
		if (e->is.is_tracepoint)
			find_again(all, e, &site);
		else if (strchr(e->is.function, ':'))
			hv_err_free(hv_kprobe_event_find(all->session, e, &site));
		changed |= site.v != e->site.v || before.v != e->tracepoint.call.v;
		e->site = site;
	}
	return changed;
}
