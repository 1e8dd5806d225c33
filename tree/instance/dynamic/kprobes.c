/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The list of function probes. */
#include "tree/instance/dynamic/kprobes.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/kernel.h"
#include "kernel/sites/modules.h"
#include "kernel/tasks/user_regs.h"
#include "tracer/events/guest_marks.h"
#include "tracer/guest/actions.h"
#include "tracer/probe_sites/probe_sites.h"
#include "tracer/session.h"
#include "tracer/tracepoints/event_tracer.h"
#include "tracer/tracepoints/event_types.h"
#include "tree/instance/core/instance.h"
#include "tree/instance/dynamic/host_made.h"
#include "tree/instance/dynamic/kprobe_event.h"
#include "tree/settings/kprobe.h"

/* -- BTF of modules ---------------------------------------------------------------------------- */

/* The BTF of a function's module, for names in one probe definition (tree/settings/kprobe.h). Read
 * from the guest when the definition needs it, and freed with it. */

struct module_btf {
	struct hv_kernel *kernel; /* borrowed */
	struct hv_btf *btf;	  /* owned; NULL: not needed, or the module has no BTF */
};

/* Returns whether SITE belongs to FUNCTION, which may be MODULE:FUNCTION. */
static bool site_is_named(const struct hv_site *site, const char *function)
{
	const char *colon = strchr(function, ':');
	size_t len = colon ? (size_t)(colon - function) : 0;

	if (!colon)
		return strcmp(site->name, function) == 0;
	return site->module && strncmp(site->module, function, len) == 0 && !site->module[len] &&
	       strcmp(site->name, colon + 1) == 0;
}

/* Returns the first module with a traceable FUNCTION, or MODULE:FUNCTION. */
static const char *find_name(const struct hv_kernel *k, const char *function)
{
	for (size_t i = 0; i < k->sites.nr; i++) {
		const struct hv_site *site = &k->sites.list[i];

		if (!site->invalid && site->module && site_is_named(site, function))
			return site->module;
	}
	return NULL;
}

/* Implements module_btf of struct hv_kprobe_kernel; M is a struct module_btf. */
static const struct hv_btf *module_btf_find(void *m, const char *function)
{
	struct module_btf *f = m;
	const char *name = find_name(f->kernel, function);

	for (size_t i = 0; name && i < f->kernel->modules.nr; i++) {
		const struct hv_module *module = &f->kernel->modules.list[i];

		if (strcmp(module->name, name) != 0)
			continue;
		hv_btf_free(f->btf);
		f->btf = NULL;
		/* Unreadable BTF is ignored, as in a kernel without module BTF. */
		hv_err_free(hv_btf_of_module(&f->kernel->core, module->at, &f->btf));
		return f->btf;
	}
	return NULL;
}

/* Implements has_function. */
static bool module_btf_has_function(void *m, const char *function)
{
	const struct module_btf *f = m;
	struct hv_gva at;

	return hv_kernel_symbol(f->kernel, function, &at) || find_name(f->kernel, function);
}

/* Implement entry_at and entry_behind. */
/* A function starts at its symbol; its patch site may be the second instruction. */
static bool module_btf_entry_at(void *m, uint64_t address, struct hv_kprobe_entry *ret)
{
	const struct hv_kernel *k = ((struct module_btf *)m)->kernel;
	const char *name, *module;
	uint64_t off;

	for (size_t i = 0; i < k->sites.nr; i++) {
		const struct hv_site *site = &k->sites.list[i];

		if (site->invalid || !hv_kernel_symbol_at(k, site->ip, &name, &module, &off) ||
		    (site->ip.v != address && site->ip.v - off != address))
			continue;
		*ret = (struct hv_kprobe_entry){site->name, site->ip};
		return true;
	}
	return false;
}

/* Finds the start of FUNCTION, or MODULE:FUNCTION. */
static bool find_start(const struct hv_kernel *k, const char *function, struct hv_gva *ret)
{
	const char *colon = strchr(function, ':'), *name, *module;
	uint64_t off;

	if (!colon)
		return hv_kernel_symbol(k, function, ret);
	for (size_t i = 0; i < k->sites.nr; i++) {
		const struct hv_site *site = &k->sites.list[i];

		if (site->invalid || !site_is_named(site, function) ||
		    !hv_kernel_symbol_at(k, site->ip, &name, &module, &off))
			continue;
		*ret = hv_gva(site->ip.v - off);
		return true;
	}
	return false;
}

static bool module_btf_entry_behind(void *m, const char *function, uint64_t off,
				    struct hv_kprobe_entry *ret)
{
	struct hv_gva at;

	return find_start(((struct module_btf *)m)->kernel, function, &at) &&
	       module_btf_entry_at(m, at.v + off, ret);
}

/* Implements find_user_regs. */
static struct hv_err *module_btf_user_regs(void *m, uint32_t *ret)
{
	return hv_user_regs_find(((struct module_btf *)m)->kernel, ret);
}

static void module_btf_deinit(struct module_btf *m)
{
	hv_btf_free(m->btf);
	m->btf = NULL;
}

/* -- addresses of probes ----------------------------------------------------------------------- */

/* Finds the guest address of a probe, at a function's site or inside a function. */

/* Finds E's tracepoint in the catalogue C. ENOENT: no tracepoint has this name. */
static struct hv_err *kprobe_event_find_tracepoint(const struct hv_catalogue *c,
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
		if (!(*site)->invalid && site_is_named(*site, symbol) &&
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

		if (site->invalid || !site_is_named(site, symbol) ||
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
 * site. Its arguments still need the registers of HV_EVENT_ID_ALL_REGS. */
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
static struct hv_err *find_probe_site(const struct hv_session *s, struct hv_kprobe_event *e,
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
	err = hv_probe_sites_find(s->probe_sites, at, &e->probe_site);
	if (!err)
		*ret = at;
	return err;
}

/* Finds the address of E, defined by IS, and sets *RET and PROBE_SITE. Returns the errors of the
 * definition. */
static struct hv_err *kprobe_event_find(const struct hv_session *s, struct hv_kprobe_event *e,
					struct hv_gva *ret)
{
	struct hv_gva site = {0};
	struct hv_err *err;

	if (e->is.is_inside)
		return find_probe_site(s, e, ret);
	err = find_site(s->kernel, &e->is, e->module, &site);
	if (!err)
		err = check_return(s->kernel, &e->is, site);
	if (!err)
		*ret = site;
	return err;
}

/* Returns whether E waits for a module with its function to be loaded. */
static bool kprobe_event_waits(const struct hv_session *s, const struct hv_kprobe_event *e)
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
	unsigned nr = hv_instances_nr_cpus(all) * 2;
	struct hv_gva at;

	if (!hv_kernel_symbol(hv_instances_session(all)->kernel, "arch_rethook_trampoline", &at) &&
	    !hv_kernel_symbol(hv_instances_session(all)->kernel, "preempt_schedule", &at))
		return hv_instances_nr_cpus(all);
	return nr > 10 ? nr : 10;
}

/* Moves E to SITE; 0: nowhere. */
static void kprobe_event_set_site(const struct hv_instances *all, struct hv_kprobe_event *e,
				  struct hv_gva site)
{
	e->site = site;
	e->tracepoint.callback = site;
	if (site.v && e->is.is_return && !e->is.is_fprobe && !e->is.maxactive)
		e->is.maxactive = default_maxactive(all);
}

static bool is_there(const struct hv_sites *sites, const struct hv_kprobe_event *e)
{
	struct hv_gva ip = e->is.is_inside ? e->probe_site.site : e->site;

	for (size_t i = 0; i < sites->nr; i++)
		if (sites->list[i].ip.v == ip.v && !sites->list[i].invalid &&
		    (!*e->is.function || site_is_named(&sites->list[i], e->is.function)))
			return true;
	return false;
}

/* A module's tracepoint and its function may have been removed, or loaded at another address. */
static void find_again(struct hv_instances *all, struct hv_kprobe_event *e, struct hv_gva *ret)
{
	const struct hv_catalogue *c;
	struct hv_err *err = hv_event_types_catalogue(hv_instances_session(all)->types, &c);

	if (!err)
		err = kprobe_event_find_tracepoint(c, e);
	if (!err)
		err = kprobe_event_find(hv_instances_session(all), e, ret);
	hv_err_free(err);
}

/* Probes of MODULE:FUNCTION (trace_kprobe_module_callback()) and of tracepoints
 * (__tprobe_event_module_cb()) record whenever the module is loaded. The kernel never looks up
 * other probes again. */
unsigned hv_kprobes_renew(struct hv_instances *all)
{
	struct hv_kprobes *probes = hv_kprobes_of(all);
	const struct hv_kernel *kernel = hv_instances_session(all)->kernel;
	unsigned changed = 0;

	for (size_t i = 0; i < probes->nr; i++) {
		struct hv_kprobe_event *e = probes->list[i];
		struct hv_gva before = e->tracepoint.call, site = {0};

		if (!e->module && e->site.v && is_there(&kernel->sites, e))
			continue;
		if (e->is.is_tracepoint)
			find_again(all, e, &site);
		else if (strchr(e->is.function, ':'))
			hv_err_free(kprobe_event_find(hv_instances_session(all), e, &site));
		changed |= site.v != e->site.v || before.v != e->tracepoint.call.v;
		kprobe_event_set_site(all, e, site);
	}
	return changed;
}

/* -- the list of probes ------------------------------------------------------------------------ */

#define WORD 8u

#define NAME_IS_USED "Given group/event name is already used by another event"

static void free_family(struct hv_kprobe_family *f)
{
	for (size_t i = 0; i < f->type.fields.nr; i++) {
		free((char *)f->type.fields.list[i].name);
		free((char *)f->type.fields.list[i].type);
	}
	free(f->type.fields.list);
	hv_text_deinit(&f->print_fmt);
	free(f->group);
	free(f->name);
	free(f);
}

static void free_event(struct hv_kprobe_event *e)
{
	if (e->family && !--e->family->nr_probes)
		free_family(e->family);
	hv_kprobe_deinit(&e->is);
	free(e->module);
	free(e);
}

static void free_event_at(struct hv_kprobe_event **e)
{
	if (*e)
		free_event(*e);
}

/* Removes the probe at INDEX. */
static void forget(struct hv_instances *all, size_t index)
{
	struct hv_kprobes *k = hv_kprobes_of(all);
	struct hv_kprobe_event *e = k->list[index];

	if (e->family->nr_probes == 1)
		hv_event_types_remove(hv_instances_session(all)->types, e->family->type.id);
	k->nr--;
	memmove(k->list + index, k->list + index + 1, (k->nr - index) * sizeof(*k->list));
	free_event(e);
}

/* Removes the probe at INDEX, and its event if this was the event's last probe. */
static void remove_at(struct hv_instances *all, size_t index)
{
	const struct hv_kprobe_family *f = hv_kprobes_of(all)->list[index]->family;

	if (f->nr_probes == 1)
		hv_host_made_remove(all, &f->type);
	forget(all, index);
}

static void deinit_all(struct hv_instances *all)
{
	struct hv_kprobes *probes = hv_kprobes_of(all);

	while (probes->nr)
		forget(all, probes->nr - 1);
	free(probes->list);
	hv_guest_marks_free(probes->marks);
}

/* -- definitions ------------------------------------------------------------------------------- */

/* The fields as the kernel defines them (kprobe_event_define_fields()). */
static void make_fields(struct hv_kprobe_family *f, const struct hv_kprobe *k,
			const struct hv_catalogue *c)
{
	static const char *const addresses[][2] = {{"__probe_ip"},
						   {"__probe_func", "__probe_ret_ip"}};
	size_t nr_addresses = k->is_return ? 2 : 1;
	struct hv_event_field *field;

	f->args_off = (c->header_len_bytes + WORD - 1) / WORD * WORD;
	f->type.fields.list = hv_alloc((k->nr_args + nr_addresses) * sizeof(*field));
	field = f->type.fields.list;
	for (size_t i = 0; i < nr_addresses; i++, f->args_off += WORD)
		*field++ = (struct hv_event_field){.name = hv_strdup(addresses[k->is_return][i]),
						   .type = hv_strdup("unsigned long"),
						   .off = f->args_off,
						   .size_bytes = WORD};
	for (size_t i = 0; i < k->nr_args; i++, field++) {
		const struct hv_kprobe_arg *arg = &k->args[i];
		const struct hv_kprobe_field is = hv_kprobe_field_of(arg);

		*field = (struct hv_event_field){.name = hv_strdup(arg->name),
						 .type = hv_strdup(is.type),
						 .off = f->args_off + arg->off,
						 .size_bytes = is.size_bytes,
						 .is_signed = is.is_signed};
	}
	f->type.fields.nr = k->nr_args + nr_addresses;
}

static struct hv_kprobe_family *make_family(struct hv_instances *all, const struct hv_kprobe *k,
					    const struct hv_catalogue *c)
{
	struct hv_kprobe_family *f = hv_alloc(sizeof(*f));

	hv_kprobe_print_fmt(k, &f->print_fmt);
	f->group = hv_strdup(k->group);
	f->name = hv_strdup(k->name);
	f->type = (struct hv_event_type){
		.system = f->group,
		.name = f->name,
		.print_fmt = f->print_fmt.data,
		.id = hv_host_made_free_id(c),
		.is_available = true,
		.has_fields = true,
		.reg_kind = HV_EVENT_REG_KPROBE,
		/* Not a guest address. Unique even if an id is reused. */
		.call = hv_gva(hv_kprobes_of(all)->nr_made),
	};
	make_fields(f, k, c);
	return f;
}

/* -- error positions --------------------------------------------------------------------------- */

/* Returns the column of word NR of a command, or of its end. */
static unsigned column_of(char *const *words, size_t nr_words, size_t nr)
{
	unsigned at = 0;

	for (size_t i = 0; i < nr && i < nr_words; i++)
		at += (unsigned)strlen(words[i]) + 1;
	return at;
}

/* A command, and the index of the word that an error refers to. */
struct command {
	char *const *words;
	size_t nr;
	size_t at;
};

static struct hv_err *wrong(struct command *c, size_t word, int code, const char *why)
{
	c->at = word;
	return hv_err_new(code, "%s", why);
}

/* Returns an error unless K can be added to the event of F (append_trace_kprobe()). */
static struct hv_err *check_family(const struct hv_instances *all, const struct hv_kprobe_family *f,
				   const struct hv_kprobe *k, struct command *c)
{
	const struct hv_kprobes *probes = hv_kprobes_of(all);

	for (size_t i = 0; i < probes->nr; i++) {
		const struct hv_kprobe_event *other = probes->list[i];
		size_t arg;

		if (other->family != f)
			continue;
		if (other->is.is_fprobe != k->is_fprobe)
			return wrong(c, 0, EEXIST, NAME_IS_USED);
		if (other->is.is_return != k->is_return ||
		    other->is.is_tracepoint != k->is_tracepoint)
			return wrong(c, 0, EEXIST, "Probe type is different from existing probe");
		arg = hv_kprobe_different_arg(k, &other->is);
		if (arg)
			return wrong(c, arg + 1, EEXIST,
				     "Argument type or name is different from existing probe");
		if (k->is_tracepoint && hv_kprobe_event_is_on(all, other))
			return wrong(
				c, 0, EBUSY,
				"the event is on: disable it before you add another tracepoint");
		if (hv_kprobe_is_same(k, &other->is))
			return wrong(c, 0, EEXIST, "There is already the exact same probe event");
	}
	return NULL;
}

static struct hv_kprobe_family *find_family(const struct hv_instances *all,
					    const struct hv_kprobe *k)
{
	const struct hv_kprobes *probes = hv_kprobes_of(all);

	for (size_t i = 0; i < probes->nr; i++) {
		struct hv_kprobe_family *f = probes->list[i]->family;

		if (strcmp(f->group, k->group) == 0 && strcmp(f->name, k->name) == 0)
			return f;
	}
	return NULL;
}

static struct hv_err *check_name(const struct hv_instances *all, const struct hv_catalogue *c,
				 const struct hv_kprobe *k, struct command *command)
{
	const struct hv_kprobe_family *f = find_family(all, k);

	if (f)
		return check_family(all, f, k, command);
	if (hv_catalogue_find(c, k->group, k->name))
		return wrong(command, 0, EEXIST, NAME_IS_USED);
	return NULL;
}

struct hv_err *hv_kprobe_find_memory(const struct hv_session *s, struct hv_kprobe *k)
{
	for (size_t i = 0; i < k->nr_args; i++) {
		struct hv_kprobe_arg *arg = &k->args[i];
		struct hv_gva at;

		if (arg->symbol && !hv_kernel_symbol(s->kernel, arg->symbol, &at))
			return hv_err_new(ENOENT, "Invalid probed address or symbol");
		if (arg->symbol)
			arg->number.addend = (int64_t)(at.v + (uint64_t)arg->number.addend);
	}
	return k->nr_results ? hv_actions_check_fetch(s->actions) : NULL;
}

/* The kernel registers a probe after parsing, and errors then refer to the symbol, unless the event
 * name is in use. */
static struct hv_err *prepare(struct hv_instances *all, struct hv_kprobe_event *e,
			      struct command *command, const struct hv_catalogue **ret)
{
	struct hv_err *err = hv_event_types_catalogue(hv_instances_session(all)->types, ret);

	command->at = 1;
	if (!err)
		err = check_name(all, *ret, &e->is, command);
	if (!err)
		err = kprobe_event_find_tracepoint(*ret, e);
	if (!err && !kprobe_event_waits(hv_instances_session(all), e))
		err = kprobe_event_find(hv_instances_session(all), e, &e->site);
	if (!err)
		kprobe_event_set_site(all, e, e->site);
	if (!err && e->is.is_tracepoint)
		err = hv_event_tracer_check(hv_instances_session(all)->events, &e->tracepoint);
	if (!err)
		err = hv_kprobe_find_memory(hv_instances_session(all), &e->is);
	if (!err && hv_kprobes_of(all)->nr == HV_KPROBES_MAX)
		err = hv_err_new(ENOSPC, "there are %d probes already", HV_KPROBES_MAX);
	return err ? err : hv_host_made_check_id(*ret);
}

/* Publishes all instances with the event of F enabled. */
static struct hv_err *retrace(struct hv_instances *all, const struct hv_kprobe_family *f)
{
	size_t index = 0;
	bool has_tracepoints = hv_kprobes_tracepoint(all, f->type.id, &index);
	struct hv_err *err = NULL;

	for (struct hv_instance *in = hv_instances_top(all); !err && in;
	     in = hv_instance_next(in)) {
		if (!hv_instance_needs_event(in, hv_event_ref_of(&f->type)))
			continue;
		if (has_tracepoints)
			err = hv_instance_publish_events(in);
		if (!err)
			err = hv_instance_retrace(in);
	}
	return err;
}

/* Adds E. If its event exists and is enabled, the probe is enabled too. */
static struct hv_err *add(struct hv_instances *all, struct hv_kprobe_event *e,
			  const struct hv_catalogue *c)
{
	struct hv_kprobes *k = hv_kprobes_of(all);
	bool is_first;
	struct hv_err *err;

	e->is.serial = (uint16_t)++k->nr_made;
	e->family = find_family(all, &e->is);
	is_first = !e->family;
	if (is_first)
		e->family = make_family(all, &e->is, c);
	e->family->nr_probes++;
	e->missed_before = hv_actions_missed(hv_instances_session(all)->actions, e->site.v);
	k->list = hv_realloc_array(k->list, k->nr + 1, sizeof(struct hv_kprobe_event *));
	k->list[k->nr++] = e;
	if (hv_kprobe_has_mark(&e->is) && !k->marks)
		k->marks = hv_guest_marks_new();
	if (is_first) {
		hv_event_types_add(hv_instances_session(all)->types, &e->family->type);
		return NULL;
	}
	err = retrace(all, e->family);
	if (err) {
		struct hv_kprobe_family *f = e->family;

		forget(all, k->nr - 1);
		hv_err_free(retrace(all, f));
	}
	return err;
}

/* kprobe_events does not support fprobes, and some kernels do not either. */
static struct hv_err *check_letter(const struct hv_instances *all, const char *word,
				   enum hv_kprobe_file file)
{
	struct hv_gva at;

	if ((*word != 'f' && *word != 't') ||
	    (file == HV_DYNAMIC_EVENTS &&
	     hv_kernel_symbol(hv_instances_session(all)->kernel, "trace_fprobe_create", &at)))
		return NULL;
	return hv_err_new(EINVAL, "'%s' defines no probe: %s", word,
			  file == HV_DYNAMIC_EVENTS ? "this kernel has no events of fprobes"
						    : "fprobes are in dynamic_events");
}

size_t hv_kprobes_nr(const struct hv_instances *all)
{
	return hv_kprobes_of(all)->nr;
}

bool hv_kprobes_have_casts(const struct hv_kernel *k)
{
	uint32_t unused;

	return k->core.btf &&
	       hv_btf_member(k->core.btf, "traceprobe_parse_context", "depth", &unused, NULL);
}

bool hv_kprobes_ask_first(const struct hv_kernel *k)
{
	struct hv_gva at;

	return hv_kernel_symbol(k, "validate_probe_symbol", &at);
}

static struct hv_kprobe_kernel kernel_of(const struct hv_instances *all, struct module_btf *modules)
{
	const struct hv_kernel *k = hv_instances_session(all)->kernel;
	bool asks_first = hv_kprobes_ask_first(k);
	uint32_t unused;
	struct hv_gva at;

	return (struct hv_kprobe_kernel){
		.arch = k->core.as.arch,
		.btf = k->core.btf,
		.has_btf_args = k->core.btf && hv_kernel_symbol(k, "btf_find_func_proto", &at),
		.has_dentries = hv_kernel_symbol(k, "traceprobe_expand_dentry_args", &at),
		.keeps_args = hv_kernel_symbol(k, "traceprobe_get_entry_data_size", &at),
		.has_casts = hv_kprobes_have_casts(k),
		.module_btf = module_btf_find,
		.has_function = asks_first ? module_btf_has_function : NULL,
		.drops_args = !asks_first,
		.entry_at = module_btf_entry_at,
		.entry_behind = module_btf_entry_behind,
		.find_user_regs = k->core.as.arch->user_regs_bytes ? module_btf_user_regs : NULL,
		/* fprobes based on the function graph do not need MAXACTIVE. */
		.no_maxactive =
			k->core.btf && hv_btf_size(k->core.btf, "fprobe", &unused) &&
			!hv_btf_member(k->core.btf, "fprobe", "nr_maxactive", &unused, NULL),
		.module_data = modules,
	};
}

struct hv_err *hv_kprobes_define(struct hv_instances *all, char **words, size_t nr,
				 enum hv_kprobe_file file, struct hv_kprobe_fault *ret_fault,
				 char **ret_meant)
{
	hv_cleanup(free_event_at) struct hv_kprobe_event *e = hv_alloc(sizeof(*e));
	hv_cleanup(module_btf_deinit) struct module_btf modules = {
		hv_instances_session(all)->kernel, NULL};
	const struct hv_kprobe_kernel kernel = kernel_of(all, &modules);
	struct command command = {words, nr, 1};
	const struct hv_catalogue *c;
	struct hv_err *err = check_letter(all, words[0], file);

	*ret_meant = NULL;
	if (!err)
		err = hv_kprobe_parse(&kernel, words, nr, &e->is, ret_fault, ret_meant);
	if (err)
		return err;
	err = prepare(all, e, &command, &c);
	if (!err)
		err = add(all, hv_take(e), c);
	if (err)
		ret_fault->at = column_of(words, nr, command.at);
	return err;
}

/* Returns whether FILE shows K: dynamic_events shows all probes, kprobe_events all except
 * fprobes. */
static bool is_shown(const struct hv_kprobe *k, enum hv_kprobe_file file)
{
	return file == HV_DYNAMIC_EVENTS || !k->is_fprobe;
}

static struct hv_err *is_busy(const struct hv_instances *all, const struct hv_kprobe_event *e)
{
	return hv_kprobe_event_is_on(all, e)
		       ? hv_err_new(EBUSY, "the event %s:%s is on", e->is.group, e->is.name)
		       : NULL;
}

/* An enabled event keeps its last probe. */
static struct hv_err *remove_one(struct hv_instances *all, size_t index)
{
	struct hv_kprobe_event *e = hv_kprobes_of(all)->list[index];
	struct hv_kprobe_family *f = e->family;

	if (f->nr_probes == 1) {
		struct hv_err *err = is_busy(all, e);

		if (!err)
			remove_at(all, index);
		return err;
	}
	remove_at(all, index);
	return retrace(all, f);
}

struct hv_err *hv_kprobes_remove(struct hv_instances *all, const char *name, char *const *head,
				 size_t nr_head, enum hv_kprobe_file file)
{
	struct hv_kprobes *probes = hv_kprobes_of(all);
	struct hv_err *err = NULL;
	size_t nr_found = 0;

	for (size_t i = 0; !err && i < probes->nr;) {
		const struct hv_kprobe *k = &probes->list[i]->is;

		if (!is_shown(k, file) || !hv_kprobe_is_named(k, name) ||
		    !hv_kprobe_has_head(k, head, nr_head)) {
			i++;
			continue;
		}
		nr_found++;
		err = remove_one(all, i);
	}
	if (!nr_found)
		return hv_err_new(ENOENT, "there is no event '%s'%s%s", name, nr_head ? " of " : "",
				  nr_head ? head[0] : "");
	return err;
}

struct hv_err *hv_kprobes_clear(struct hv_instances *all, enum hv_kprobe_file file)
{
	struct hv_kprobes *probes = hv_kprobes_of(all);

	for (size_t i = 0; i < probes->nr; i++) {
		const struct hv_kprobe_event *e = probes->list[i];
		struct hv_err *err = is_shown(&e->is, file) ? is_busy(all, e) : NULL;

		if (err)
			return err;
	}
	for (size_t i = probes->nr; i-- > 0;)
		if (is_shown(&probes->list[i]->is, file))
			remove_at(all, i);
	return NULL;
}

void hv_kprobes_text(const struct hv_instances *all, enum hv_kprobe_file file, struct hv_text *ret)
{
	const struct hv_kprobes *probes = hv_kprobes_of(all);

	for (size_t i = 0; i < probes->nr; i++)
		if (is_shown(&probes->list[i]->is, file))
			hv_kprobe_text(&probes->list[i]->is, ret);
}

static uint64_t missed(const struct hv_instances *all, const struct hv_kprobe_event *e)
{
	uint64_t nr;

	if (!e->is.is_return || !e->site.v)
		return 0;
	nr = hv_actions_missed(hv_instances_session(all)->actions, e->site.v);
	return nr > e->missed_before ? nr - e->missed_before : 0;
}

void hv_kprobes_profile(const struct hv_instances *all, struct hv_text *ret)
{
	const struct hv_kprobes *probes = hv_kprobes_of(all);

	for (size_t i = 0; i < probes->nr; i++) {
		const struct hv_kprobe_event *e = probes->list[i];

		if (!e->is.is_fprobe)
			hv_text_printf(ret, "  %-44s %15" PRIu64 " %15" PRIu64 "\n", e->is.name,
				       e->nr_hits, missed(all, e));
	}
}

static bool makes_any(const struct hv_instances *all, const struct hv_event_set *set)
{
	const struct hv_kprobes *probes = hv_kprobes_of(all);

	for (size_t i = 0; i < probes->nr; i++)
		if (hv_event_set_has_id(set, probes->list[i]->family->type.id))
			return true;
	return false;
}

static void lose(struct hv_instance *in, const struct hv_event *event)
{
	const struct hv_instances *all = hv_instance_all(in);

	if (hv_kprobes_of(all)->marks)
		hv_guest_marks_note_lost(hv_kprobes_of(all)->marks, event->time_ns, event->cpu);
}

const struct hv_part hv_kprobes_part = {
	.all_bytes = sizeof(struct hv_kprobes),
	.deinit_all = deinit_all,
	.makes_any = makes_any,
	.lose = lose,
};
