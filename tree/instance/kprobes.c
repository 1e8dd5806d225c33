/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/instance/kprobes.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/events/catalogue.h"
#include "kernel/kernel.h"
#include "tracer/actions.h"
#include "tracer/event_types.h"
#include "tracer/events/guest_marks.h"
#include "tracer/site_stubs.h"
#include "tree/instance/events.h"
#include "tree/instance/made_events.h"
#include "tree/instance/share.h"
#include "tree/settings/kprobe.h"

#define WORD 8u

struct hv_kprobe_event {
	struct hv_kprobe is;
	struct hv_gva site;	   /* 0: the module that had it is gone */
	struct hv_event_type type; /* of the catalogue; its strings and fields are owned here */
	struct hv_text print_fmt;
	uint32_t args_off; /* in an entry; the address of the probe is before them */
	uint64_t nr_hits;
};

static void free_event(struct hv_kprobe_event *e)
{
	hv_kprobe_deinit(&e->is);
	hv_text_deinit(&e->print_fmt);
	free(e->type.fields.list);
	free(e);
}

static void free_event_at(struct hv_kprobe_event **e)
{
	if (*e)
		free_event(*e);
}

/* Removes the one at INDEX. */
static void forget(struct hv_instances *all, size_t index)
{
	struct hv_kprobes *k = &all->kprobes;
	struct hv_kprobe_event *e = k->list[index];

	hv_event_types_remove(all->session->types, e->type.id);
	k->nr--;
	memmove(k->list + index, k->list + index + 1, (k->nr - index) * sizeof(*k->list));
	free_event(e);
}

static void remove_at(struct hv_instances *all, size_t index)
{
	hv_made_events_remove(all, &all->kprobes.list[index]->type);
	forget(all, index);
}

void hv_kprobes_deinit(struct hv_instances *all)
{
	while (all->kprobes.nr)
		forget(all, all->kprobes.nr - 1);
	free(all->kprobes.list);
	hv_guest_marks_free(all->kprobes.marks);
	all->kprobes.list = NULL;
	all->kprobes.marks = NULL;
}

/* -- definitions ------------------------------------------------------------------------------- */

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

static struct hv_err *find_site(const struct hv_kernel *k, const char *symbol, struct hv_gva *ret)
{
	const struct hv_site *found = NULL;
	struct hv_gva at;

	for (size_t i = 0; i < k->sites.nr; i++) {
		if (k->sites.list[i].invalid || !is_symbol(&k->sites.list[i], symbol))
			continue;
		if (found)
			return hv_err_new(EADDRNOTAVAIL, "The symbol is not unique");
		found = &k->sites.list[i];
	}
	if (!found && hv_kernel_symbol(k, symbol, &at))
		return hv_err_new(EOPNOTSUPP,
				  "only functions that ftrace can trace have probes, and this one"
				  " cannot be traced");
	if (!found)
		return hv_err_new(ENOENT, "Invalid probed address or symbol");
	*ret = found->ip;
	return NULL;
}

static bool is_there(const struct hv_sites *sites, const struct hv_kprobe_event *e)
{
	for (size_t i = 0; i < sites->nr; i++)
		if (sites->list[i].ip.v == e->site.v && !sites->list[i].invalid &&
		    is_symbol(&sites->list[i], e->is.symbol))
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
		if (strchr(e->is.symbol, ':'))
			hv_err_free(find_site(kernel, e->is.symbol, &site));
		changed |= site.v != e->site.v;
		e->site = site;
	}
	return changed;
}

/* The fields as the kernel defines them (kprobe_event_define_fields()). */
static void make_fields(struct hv_kprobe_event *e, const struct hv_catalogue *c)
{
	uint32_t ip_off = (c->header_len_bytes + WORD - 1) / WORD * WORD;
	struct hv_event_field *field;

	e->args_off = ip_off + WORD;
	e->type.fields.list = hv_alloc((e->is.nr_args + 1) * sizeof(*field));
	field = e->type.fields.list;
	*field++ = (struct hv_event_field){
		.name = "__probe_ip", .type = "unsigned long", .off = ip_off, .size_bytes = WORD};
	for (size_t i = 0; i < e->is.nr_args; i++, field++) {
		const struct hv_kprobe_arg *arg = &e->is.args[i];
		const struct hv_kprobe_field is = hv_kprobe_field_of(arg);

		*field = (struct hv_event_field){.name = arg->name,
						 .type = is.type,
						 .off = e->args_off + arg->off,
						 .size_bytes = is.size_bytes,
						 .is_signed = is.is_signed};
	}
	e->type.fields.nr = e->is.nr_args + 1;
}

static void make_type(struct hv_instances *all, struct hv_kprobe_event *e,
		      const struct hv_catalogue *c)
{
	hv_kprobe_print_fmt(&e->is, &e->print_fmt);
	e->type = (struct hv_event_type){
		.system = e->is.group,
		.name = e->is.name,
		.print_fmt = e->print_fmt.data,
		.id = hv_made_events_free_id(c),
		.is_available = true,
		.has_fields = true,
		.reg_kind = HV_EVENT_REG_KPROBE,
		/* No address of the guest's: it tells apart types that have an id in turn. */
		.call = hv_gva(++all->kprobes.nr_made),
	};
	e->is.serial = (uint16_t)all->kprobes.nr_made;
	make_fields(e, c);
}

static struct hv_err *check_name(const struct hv_instances *all, const struct hv_catalogue *c,
				 const struct hv_kprobe *k)
{
	HV_AUTO_TEXT struct hv_text line = {0};
	const struct hv_event_type *type = hv_catalogue_find(c, k->group, k->name);

	hv_kprobe_text(k, &line);
	for (size_t i = 0; i < all->kprobes.nr; i++) {
		const struct hv_kprobe_event *e = all->kprobes.list[i];
		HV_AUTO_TEXT struct hv_text other = {0};

		hv_kprobe_text(&e->is, &other);
		if (strcmp(line.data, other.data) == 0)
			return hv_err_new(EEXIST, "There is already the exact same probe event");
	}
	if (type && hv_kprobes_is(type))
		return hv_err_new(EOPNOTSUPP, "several probes of one event are not there yet");
	return type ? hv_err_new(EEXIST, "there is an event %s:%s", k->group, k->name) : NULL;
}

/* Addresses of symbols, and what reads the guest's memory. */
static struct hv_err *find_memory(const struct hv_session *s, struct hv_kprobe *k)
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

/* The kernel registers a probe after it has parsed all of it, and then points at the symbol. */
static struct hv_err *prepare(struct hv_instances *all, struct hv_kprobe_event *e,
			      const struct hv_catalogue **ret)
{
	struct hv_err *err = hv_event_types_catalogue(all->session->types, ret);

	if (!err)
		err = check_name(all, *ret, &e->is);
	if (!err)
		err = find_site(all->session->kernel, e->is.symbol, &e->site);
	if (!err)
		err = find_memory(all->session, &e->is);
	if (!err && all->kprobes.nr == HV_KPROBES_MAX)
		err = hv_err_new(ENOSPC, "there are %d probes already", HV_KPROBES_MAX);
	if (!err && !hv_made_events_free_id(*ret))
		err = hv_err_new(ENOSPC, "the guest's events have all ids");
	return err;
}

struct hv_err *hv_kprobes_define(struct hv_instances *all, char *const *words, size_t nr,
				 unsigned *ret_at)
{
	hv_cleanup(free_event_at) struct hv_kprobe_event *e = hv_alloc(sizeof(*e));
	const struct hv_arch *arch = all->session->kernel->core.as.arch;
	struct hv_kprobes *k = &all->kprobes;
	const struct hv_catalogue *c;
	struct hv_err *err = hv_kprobe_parse(arch, words, nr, &e->is, ret_at);

	if (err)
		return err;
	err = prepare(all, e, &c);
	if (err) {
		*ret_at = (unsigned)strlen(words[0]) + 1;
		return err;
	}
	make_type(all, e, c);
	k->list = hv_realloc_array(k->list, k->nr + 1, sizeof(struct hv_kprobe_event *));
	k->list[k->nr++] = e;
	if (hv_kprobe_has_mark(&e->is) && !k->marks)
		k->marks = hv_guest_marks_new();
	hv_event_types_add(all->session->types, &e->type);
	e = NULL;
	return NULL;
}

static bool is_on(const struct hv_instances *all, const struct hv_kprobe_event *e)
{
	for (const struct hv_instance *in = &all->top; in; in = in->next)
		if (hv_event_set_has(&in->events, hv_event_ref_of(&e->type)))
			return true;
	return false;
}

/* NAME is [GRP/]NAME, or [GRP.]NAME; without a group it is of any. */
static bool is_named(const struct hv_kprobe *k, const char *name)
{
	size_t len = strcspn(name, "/.");

	if (!name[len])
		return strcmp(k->name, name) == 0;
	return strncmp(k->group, name, len) == 0 && !k->group[len] &&
	       (!name[len + 1] || strcmp(k->name, name + len + 1) == 0);
}

/* NAME NULL: all. */
static struct hv_err *remove_named(struct hv_instances *all, const char *name)
{
	struct hv_kprobes *k = &all->kprobes;
	size_t nr = 0;

	for (size_t i = 0; i < k->nr; i++) {
		if (name && !is_named(&k->list[i]->is, name))
			continue;
		if (is_on(all, k->list[i]))
			return hv_err_new(EBUSY, "the event %s:%s is on", k->list[i]->is.group,
					  k->list[i]->is.name);
		nr++;
	}
	if (name && !nr)
		return hv_err_new(ENOENT, "there is no probe '%s'", name);
	for (size_t i = k->nr; i-- > 0;)
		if (!name || is_named(&k->list[i]->is, name))
			remove_at(all, i);
	return NULL;
}

struct hv_err *hv_kprobes_remove(struct hv_instances *all, const char *word)
{
	if (word[0] != '-' || word[1] != ':' || !word[2])
		return hv_err_new(EINVAL, "'%s' removes no probe: -:[GRP/]NAME", word);
	return remove_named(all, word + 2);
}

struct hv_err *hv_kprobes_clear(struct hv_instances *all)
{
	return remove_named(all, NULL);
}

void hv_kprobes_text(const struct hv_instances *all, struct hv_text *ret)
{
	for (size_t i = 0; i < all->kprobes.nr; i++)
		hv_kprobe_text(&all->kprobes.list[i]->is, ret);
}

void hv_kprobes_profile(const struct hv_instances *all, struct hv_text *ret)
{
	for (size_t i = 0; i < all->kprobes.nr; i++)
		hv_text_printf(ret, "  %-44s %15" PRIu64 " %15u\n", all->kprobes.list[i]->is.name,
			       all->kprobes.list[i]->nr_hits, 0u);
}

/* -- recording --------------------------------------------------------------------------------- */

bool hv_kprobes_is(const struct hv_event_type *type)
{
	return type->reg_kind == HV_EVENT_REG_KPROBE;
}

bool hv_kprobes_any(const struct hv_instances *all, const struct hv_event_set *set)
{
	for (size_t i = 0; i < all->kprobes.nr; i++)
		if (hv_event_set_has_id(set, all->kprobes.list[i]->type.id))
			return true;
	return false;
}

bool hv_kprobes_site(const struct hv_instances *all, uint32_t id, struct hv_gva *ret)
{
	for (size_t i = 0; i < all->kprobes.nr; i++) {
		if (all->kprobes.list[i]->type.id != id)
			continue;
		*ret = all->kprobes.list[i]->site;
		return ret->v != 0;
	}
	return false;
}

struct hv_err *hv_kprobes_program(const struct hv_instances *all, struct hv_gva site,
				  struct hv_fetch_step *ret, size_t *ret_nr)
{
	size_t nr = 0;

	for (size_t i = 0; i < all->kprobes.nr; i++) {
		const struct hv_kprobe_event *e = all->kprobes.list[i];

		if (e->site.v == site.v && is_on(all, e) && !hv_kprobe_program(&e->is, ret, &nr))
			return hv_err_new(ENOSPC,
					  "the probes of %s read too much memory: they need more"
					  " than %d steps",
					  e->is.symbol, HV_FETCH_STEPS_MAX);
	}
	*ret_nr = nr;
	return NULL;
}

struct hv_err *hv_kprobes_why_not(const struct hv_instances *all, const struct hv_event_type *type)
{
	const struct hv_sites *sites = &all->session->kernel->sites;
	const uint8_t *now = hv_site_stubs_now(all->session->stubs);
	struct hv_gva site = {0};
	bool has_site = hv_kprobes_site(all, type->id, &site);

	for (size_t i = 0; has_site && i < sites->nr; i++)
		if (sites->list[i].ip.v == site.v)
			return now[i] && now[i] != HV_STUB_LATER
				       ? NULL
				       : hv_err_new(EBUSY, "the guest itself uses its function");
	return hv_err_new(ENODEV, "the guest's module that had its function was removed");
}

/* What was recorded of CALL, as its entry says. */
static bool read_call(const struct hv_event *call, struct hv_kprobe_call *ret)
{
	const size_t words_end = HV_ENTRY_HEADER_LEN + sizeof(ret->words);

	if (call->id != HV_EVENT_ID_REGS ||
	    !hv_span_copy(call->entry, HV_ENTRY_HEADER_LEN, ret->words, sizeof(ret->words)))
		return false;
	ret->results =
		(struct hv_span){call->entry.data + words_end, call->entry.len_bytes - words_end};
	ret->comm = call->comm;
	ret->mark = NULL;
	return true;
}

/* The guest can write any number in place of the site. */
static bool is_of(const struct hv_kprobe_event *e, const uint64_t *words)
{
	return e->site.v && e->site.v == words[HV_REGS_SITE];
}

/* The mark that the call E, with WORDS, ends; NULL: none. */
static const char *mark_of(const struct hv_instances *all, const struct hv_event *e,
			   const uint64_t *words)
{
	const struct hv_arch *arch = all->session->kernel->core.as.arch;
	struct hv_mark_call call = {.time_ns = e->time_ns, .cpu = e->cpu, .pid = e->pid};
	struct hv_arch_register from;

	for (size_t i = 0; i < HV_MARK_ARGS; i++) {
		const char *name = arch->argument_registers[i];

		if (!name || !arch->find_register(name, &from))
			return NULL;
		call.args[i] = words[from.word];
	}
	return hv_guest_marks_read(all->kprobes.marks, &call);
}

bool hv_kprobes_event(const struct hv_instances *all, size_t index, const struct hv_event *call,
		      struct hv_event *ret, uint8_t *entry)
{
	const struct hv_kprobe_event *e = all->kprobes.list[index];
	uint16_t id = (uint16_t)e->type.id;
	struct hv_kprobe_call recorded;
	uint64_t site = e->site.v;
	uint32_t len;

	if (!read_call(call, &recorded) || !is_of(e, recorded.words))
		return false;
	memset(entry, 0, e->args_off);
	if (hv_kprobe_has_mark(&e->is))
		recorded.mark = mark_of(all, call, recorded.words);
	len = hv_kprobe_fill(&e->is, &recorded, e->args_off, entry, HV_ENTRY_LEN_MAX);
	if (!len)
		return false;
	memcpy(entry, call->entry.data, HV_ENTRY_HEADER_LEN);
	memcpy(entry, &id, sizeof(id));
	memcpy(entry + e->args_off - WORD, &site, sizeof(site));
	*ret = *call;
	ret->id = id;
	ret->entry = (struct hv_span){entry, len};
	return true;
}

void hv_kprobes_note_lost(struct hv_instances *all, const struct hv_event *event)
{
	if (all->kprobes.marks)
		hv_guest_marks_note_lost(all->kprobes.marks, event->time_ns, event->cpu);
}

void hv_kprobes_count(struct hv_instances *all, const struct hv_event *call)
{
	struct hv_kprobe_call recorded;

	if (!read_call(call, &recorded))
		return;
	for (size_t i = 0; i < all->kprobes.nr; i++) {
		struct hv_kprobe_event *e = all->kprobes.list[i];

		e->nr_hits += is_of(e, recorded.words) && is_on(all, e);
	}
}
