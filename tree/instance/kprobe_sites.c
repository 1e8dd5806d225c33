/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where in the guest a probe is: at the site of a function, or inside one. */
#include <string.h>

#include "kernel/kernel.h"
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

/* What a tracepoint of the core kernel calls must not go with a module. */
static struct hv_err *find_site(const struct hv_kernel *k, const struct hv_kprobe *is,
				struct hv_gva *ret)
{
	const char *symbol = is->function;
	const struct hv_site *found = NULL;
	const char *module = NULL;
	struct hv_gva at;

	for (size_t i = 0; i < k->sites.nr; i++) {
		const struct hv_site *site = &k->sites.list[i];

		if (site->invalid || !is_symbol(site, symbol))
			continue;
		if (is->is_tracepoint && site->module) {
			module = site->module;
			continue;
		}
		if (found)
			return hv_err_new(EADDRNOTAVAIL, "The symbol is not unique");
		found = site;
	}
	if (!found && module)
		return hv_err_new(EOPNOTSUPP, "%s is of the module %s, its tracepoint is not",
				  symbol, module);
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
		err = find_site(s->kernel, &e->is, &site);
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
	return e->is.is_inside ? find_place(s, e, ret) : find_site(s->kernel, &e->is, ret);
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

/* A probe of MODULE:FUNCTION goes on when the module comes again (trace_kprobe_module_callback());
 * the kernel never finds another one again. */
unsigned hv_kprobes_renew(struct hv_instances *all)
{
	const struct hv_kernel *kernel = all->session->kernel;
	unsigned changed = 0;

	for (size_t i = 0; i < all->kprobes.nr; i++) {
		struct hv_kprobe_event *e = all->kprobes.list[i];
		struct hv_gva site = {0};

		if (e->site.v && is_there(&kernel->sites, e))
			continue;
		if (strchr(e->is.function, ':'))
			hv_err_free(hv_kprobe_event_find(all->session, e, &site));
		changed |= site.v != e->site.v;
		e->site = site;
	}
	return changed;
}
