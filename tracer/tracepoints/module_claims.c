/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/tracepoints/module_claims.h"

#include "tracer/guest/tracee.h"

struct claiming {
	struct hv_tracee *tracee;
	const struct hv_module *module;
	const struct hv_module_use *use;
	bool claims; /* false: releases the claim */
	bool has_changed;
};

static struct hv_gva claim_byte(const struct hv_module_use *use, const struct hv_module *module)
{
	return hv_gva_add(module->at, use->count + HV_MODULE_CLAIM_BYTE);
}

/* Earlier releases noted no claim in the journal, so their claims are found by the bit. That is
 * reliable only if the member's offset is: the bit is part of a pointer in many other members. */
static bool is_known_by_its_bit(const struct hv_tracee *t, uint32_t count)
{
	const struct hv_types *types = &t->kernel->core.types;
	uint32_t uses = count & ~HV_MODULE_CLAIM;

	return (types->from != HV_TYPES_IN_FILE || types->proof.build_id_equal) &&
	       count & HV_MODULE_CLAIM && uses && uses <= HV_MODULE_USES_MAX;
}

/* Returns whether the journal has a claim at AT. A module that is no longer mapped there was
 * removed. */
static bool is_in_journal(const struct hv_tracee *t, struct hv_gva at)
{
	uint8_t old[8];
	struct hv_mapping m;
	HV_AUTO_ERR struct hv_err *err = hv_walk(&t->kernel->core.as, at, &m);

	return !err && m.present && hv_patcher_old_bytes(t->patcher, m.gpa, old);
}

/* Changes one bit of COUNT, which was read in this hold. The journal's entry for a claim stays
 * until the claim is released. */
static struct hv_err *change_count(const struct claiming *p, struct hv_hold *hold, uint32_t count)
{
	struct hv_tracee *t = p->tracee;
	struct hv_gva at = claim_byte(p->use, p->module);
	struct hv_change change = {.gva = at, .kind = HV_CHANGE_MODULE, .len_bytes = 1};
	struct hv_mapping m;
	struct hv_err *err = hv_walk(&t->kernel->core.as, at, &m);

	if (!err && !m.present)
		err = hv_err_new(EFAULT, "0x%llx is not mapped", (unsigned long long)at.v);
	if (err)
		return err;
	change.gpa = m.gpa;
	change.from[0] = (uint8_t)(count >> 8 * HV_MODULE_CLAIM_BYTE);
	change.to[0] = change.from[0] ^ (uint8_t)(HV_MODULE_CLAIM >> 8 * HV_MODULE_CLAIM_BYTE);
	err = hv_patcher_apply_held(t->patcher, hold, &change, 1);
	if (!err && !p->claims)
		hv_patcher_forget_at(t->patcher, m.gpa);
	return err;
}

static struct hv_err *claim_held(struct hv_hold *hold, void *ctx)
{
	struct claiming *p = ctx;
	const struct hv_kernel_core *core = &p->tracee->kernel->core;
	bool is_live = false, is_claimed;
	uint32_t count = 0;
	struct hv_err *err = hv_module_is_live(core, p->use, p->module->at, &is_live);

	if (!err)
		err = hv_module_use_read(core, p->use, p->module->at, &count);
	if (err)
		return err;
	is_claimed = is_known_by_its_bit(p->tracee, count) ||
		     is_in_journal(p->tracee, claim_byte(p->use, p->module));
	if (p->claims == (is_claimed && count & HV_MODULE_CLAIM))
		return NULL;
	/* If the module of an existing claim is being removed, it was removed by force. */
	if (!is_live || !count)
		return hv_err_new(EBUSY, "the guest is loading or removing it");
	if (p->claims && count > HV_MODULE_USES_MAX)
		return hv_err_new(ENOTSUP, "0x%x is not a possible count of its uses", count);
	p->has_changed = true;
	return change_count(p, hold, count);
}

static struct hv_err *make(struct claiming *p)
{
	return hv_err_in(hv_patcher_held(p->tracee->patcher, claim_held, p), "module %s",
			 p->module->name);
}

struct hv_err *hv_module_claim(struct hv_tracee *t, const struct hv_module *module, bool *ret_new)
{
	struct hv_module_use use;
	struct claiming p = {.tracee = t, .module = module, .use = &use, .claims = true};
	struct hv_err *err = hv_module_use_find(&t->kernel->core, &use);

	if (!err && use.can_go)
		err = make(&p);
	if (!err)
		*ret_new = p.has_changed;
	return err;
}

/* A module that cannot be read was removed since the list was read, so it is not claimed. */
static bool is_claimed(const struct hv_tracee *t, const struct hv_module_use *use,
		       const struct hv_module *module)
{
	uint32_t count = 0;
	HV_AUTO_ERR struct hv_err *err =
		hv_module_use_read(&t->kernel->core, use, module->at, &count);

	return !err && count & HV_MODULE_CLAIM &&
	       (is_known_by_its_bit(t, count) || is_in_journal(t, claim_byte(use, module)));
}

size_t hv_module_claims_read(const struct hv_tracee *t, size_t max, const char **ret)
{
	const struct hv_modules *modules = &t->kernel->modules;
	struct hv_module_use use = {0};
	HV_AUTO_ERR struct hv_err *unknown = hv_module_use_find(&t->kernel->core, &use);
	size_t nr = 0;

	for (size_t i = 0; !unknown && use.can_go && i < modules->nr && nr < max; i++)
		if (is_claimed(t, &use, &modules->list[i]))
			ret[nr++] = modules->list[i].name;
	return nr;
}

struct hv_err *hv_module_claims_take_out(struct hv_tracee *t,
					 bool (*keeps)(void *ctx, const struct hv_module *module),
					 void *ctx)
{
	const struct hv_modules *modules = &t->kernel->modules;
	struct hv_module_use use = {0};
	/* If the layout is unknown, no module was claimed either. */
	HV_AUTO_ERR struct hv_err *unknown = hv_module_use_find(&t->kernel->core, &use);
	struct hv_err *err = NULL;

	for (size_t i = 0; !unknown && !err && use.can_go && i < modules->nr; i++) {
		struct claiming p = {
			.tracee = t, .module = &modules->list[i], .use = &use, .claims = false};
		const struct hv_module *module = &modules->list[i];

		if (is_claimed(t, &use, module) && (!keeps || !keeps(ctx, module)))
			err = make(&p);
	}
	return err;
}

struct hv_err *hv_module_claims_are_ours(const struct hv_tracee *t,
					 const struct hv_journal_entry *entry, bool *ret)
{
	const uint8_t bit = HV_MODULE_CLAIM >> 8 * HV_MODULE_CLAIM_BYTE;
	const struct hv_modules *modules = &t->kernel->modules;
	struct hv_module_use use = {0};
	/* If the layout is unknown, no module was claimed either. */
	HV_AUTO_ERR struct hv_err *unknown = hv_module_use_find(&t->kernel->core, &use);
	struct hv_mapping m;
	struct hv_err *err;

	*ret = false;
	if (unknown || !use.can_go || entry->len_bytes != 1 ||
	    (entry->old_bytes[0] ^ entry->new_bytes[0]) != bit)
		return NULL;
	for (size_t i = 0; i < modules->nr; i++) {
		if (claim_byte(&use, &modules->list[i]).v != entry->gva)
			continue;
		err = hv_walk(&t->kernel->core.as, hv_gva(entry->gva), &m);
		if (!err)
			*ret = m.present && m.gpa.v == entry->gpa;
		return err;
	}
	return NULL;
}
