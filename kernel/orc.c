#include "kernel/orc.h"

#include <stdlib.h>

#include "kernel/kernel.h"

#define ENTRY_BYTES_MAX	 16
#define MODULE_ENTRY_MAX (4u << 20)

/* Where something is in an entry; NR 0: it is not there. */
struct bits {
	uint32_t off, nr;
};

struct table {
	struct hv_gva ips_gva; /* addresses are relative to where they stand */
	struct hv_span ips;    /* s32 each, ascending */
	struct hv_span entries;
	size_t nr;
};

/* A module's table, as far as it could be read. */
struct module {
	struct hv_gva start; /* of its text */
	struct table table;
	uint8_t *bytes; /* owned */
};

struct hv_orc {
	const struct hv_kernel *k;
	uint32_t entry_bytes;
	struct bits sp_offset, bp_offset, sp_reg, bp_reg, type, signal, end;
	struct table vmlinux;
	struct module *modules; /* owned */
	size_t nr_modules;
};

static bool find_bits(const struct hv_orc *orc, const char *member, struct bits *ret)
{
	return hv_btf_bits(orc->k->core.btf, "orc_entry", member, &ret->off, &ret->nr) &&
	       ret->nr <= 16 && ret->off + ret->nr <= orc->entry_bytes * 8;
}

/* What kind a type is, is said by whether there is a bit for the end: with it, a type for the end
 * and one for nothing came into use (fb799447ae29, 6.4). The bit SIGNAL came before (6.3). */
static bool find_layout(struct hv_orc *orc)
{
	struct bits none = {0};

	if (!orc->k->core.btf || !hv_btf_size(orc->k->core.btf, "orc_entry", &orc->entry_bytes) ||
	    !orc->entry_bytes || orc->entry_bytes > ENTRY_BYTES_MAX)
		return false;
	if (!find_bits(orc, "signal", &orc->signal))
		orc->signal = none;
	if (!find_bits(orc, "end", &orc->end))
		orc->end = none;
	return find_bits(orc, "sp_offset", &orc->sp_offset) &&
	       find_bits(orc, "bp_offset", &orc->bp_offset) &&
	       find_bits(orc, "sp_reg", &orc->sp_reg) && find_bits(orc, "bp_reg", &orc->bp_reg) &&
	       find_bits(orc, "type", &orc->type);
}

static bool between(const struct hv_kernel *k, const char *from, const char *to, struct hv_gva *ret,
		    struct hv_span *ret_span)
{
	struct hv_gva end;
	struct hv_span span;

	if (!hv_kernel_symbol(k, from, ret) || !hv_kernel_symbol(k, to, &end) || end.v <= ret->v)
		return false;
	span = hv_image_at(&k->core.image, *ret);
	if (end.v - ret->v > span.len_bytes)
		return false;
	*ret_span = (struct hv_span){span.data, end.v - ret->v};
	return true;
}

static bool find_vmlinux(struct hv_orc *orc)
{
	struct table *t = &orc->vmlinux;
	struct hv_gva entries;

	if (!between(orc->k, "__start_orc_unwind_ip", "__stop_orc_unwind_ip", &t->ips_gva,
		     &t->ips) ||
	    !between(orc->k, "__start_orc_unwind", "__stop_orc_unwind", &entries, &t->entries))
		return false;
	t->nr = t->ips.len_bytes / 4;
	return t->nr == t->entries.len_bytes / orc->entry_bytes;
}

struct hv_err *hv_orc_new(const struct hv_kernel *k, struct hv_orc **ret)
{
	struct hv_orc *orc = hv_alloc(sizeof(*orc));
	struct hv_err *err = NULL;

	orc->k = k;
	if (!find_layout(orc))
		err = hv_err_new(EOPNOTSUPP, "btf: no struct orc_entry of a known form: how this"
					     " kernel's stacks are to be read is not known");
	else if (!find_vmlinux(orc))
		err = hv_err_new(EOPNOTSUPP, "no ORC tables (__start_orc_unwind) in this kernel's"
					     " image");
	if (err)
		hv_orc_free(orc);
	else
		*ret = orc;
	return err;
}

void hv_orc_forget_modules(struct hv_orc *orc)
{
	for (size_t i = 0; i < orc->nr_modules; i++)
		free(orc->modules[i].bytes);
	free(orc->modules);
	orc->modules = NULL;
	orc->nr_modules = 0;
}

void hv_orc_free(struct hv_orc *orc)
{
	if (!orc)
		return;
	hv_orc_forget_modules(orc);
	free(orc);
}

/* Both tables in one copy. What cannot be read is no table. */
static void read_module(const struct hv_orc *orc, const struct hv_module *m, struct module *ret)
{
	size_t ips_bytes = (size_t)m->nr_orcs * 4;
	size_t entries_bytes = (size_t)m->nr_orcs * orc->entry_bytes;
	HV_AUTO_ERR struct hv_err *err = NULL;

	ret->start = m->text.start;
	if (!m->nr_orcs || m->nr_orcs > MODULE_ENTRY_MAX)
		return;
	ret->bytes = hv_alloc(ips_bytes + entries_bytes);
	err = hv_read(&orc->k->core.as, m->orc_ips, ret->bytes, ips_bytes);
	if (!err)
		err = hv_read(&orc->k->core.as, m->orcs, ret->bytes + ips_bytes, entries_bytes);
	if (err)
		return;
	ret->table = (struct table){.ips_gva = m->orc_ips,
				    .ips = {ret->bytes, ips_bytes},
				    .entries = {ret->bytes + ips_bytes, entries_bytes},
				    .nr = m->nr_orcs};
}

/* NULL: nobody's address. */
static const struct table *table_of(struct hv_orc *orc, struct hv_gva ip)
{
	const struct hv_module *m;

	if (hv_gva_in(ip, orc->k->core.image.all))
		return &orc->vmlinux;
	m = hv_module_at(&orc->k->modules, ip);
	for (size_t i = 0; m && i < orc->nr_modules; i++)
		if (orc->modules[i].start.v == m->text.start.v)
			return &orc->modules[i].table;
	if (!m)
		return NULL;
	orc->modules = hv_realloc_array(orc->modules, orc->nr_modules + 1, sizeof(*orc->modules));
	orc->modules[orc->nr_modules] = (struct module){0};
	read_module(orc, m, &orc->modules[orc->nr_modules]);
	return &orc->modules[orc->nr_modules++].table;
}

bool hv_orc_is_text(const struct hv_orc *orc, struct hv_gva ip)
{
	const struct hv_kernel *k = orc->k;

	return !hv_gva_in(ip, k->core.image.all) || hv_gva_in(ip, k->text) || k->is_starting;
}

static uint64_t ip_of(const struct table *t, size_t index)
{
	uint32_t rel = 0;

	hv_span_u32(t->ips, index * 4, &rel);
	return t->ips_gva.v + index * 4 + (uint64_t)(int64_t)(int32_t)rel;
}

/* The last entry that is not above IP. */
static bool search(const struct table *t, struct hv_gva ip, size_t *ret)
{
	size_t low = 0, high = t->nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (ip_of(t, middle) <= ip.v)
			low = middle + 1;
		else
			high = middle;
	}
	*ret = low - 1;
	return low > 0;
}

static uint32_t take(const uint8_t *entry, struct bits bits)
{
	uint32_t value = 0;

	for (uint32_t i = 0; i < bits.nr; i++) {
		uint32_t at = bits.off + i;

		value |= (uint32_t)(entry[at / 8] >> at % 8 & 1) << i;
	}
	return value;
}

/* ORC_TYPE_* (6.4), or UNWIND_HINT_TYPE_* without a type for nothing and for the end. */
static enum hv_unwind_kind kind_of(const struct hv_orc *orc, uint32_t type, bool ends,
				   unsigned sp_reg)
{
	static const enum hv_unwind_kind kinds[] = {HV_UNWIND_NONE, HV_UNWIND_END, HV_UNWIND_CALL,
						    HV_UNWIND_REGS, HV_UNWIND_REGS_PARTIAL};

	if (!orc->end.nr)
		return type < HV_ARRAY_LEN(kinds) ? kinds[type] : HV_UNWIND_NONE;
	if (!sp_reg)
		return ends ? HV_UNWIND_END : HV_UNWIND_NONE;
	return type + 2 < HV_ARRAY_LEN(kinds) ? kinds[type + 2] : HV_UNWIND_NONE;
}

bool hv_orc_find(struct hv_orc *orc, struct hv_gva ip, struct hv_unwind_rule *ret)
{
	const struct table *t = table_of(orc, ip);
	uint8_t entry[ENTRY_BYTES_MAX];
	size_t index;

	if (!t || !search(t, ip, &index) ||
	    !hv_span_copy(t->entries, index * orc->entry_bytes, entry, orc->entry_bytes))
		return false;
	*ret = (struct hv_unwind_rule){
		.sp_off = (int16_t)take(entry, orc->sp_offset),
		.bp_off = (int16_t)take(entry, orc->bp_offset),
		.sp_reg = (uint8_t)take(entry, orc->sp_reg),
		.bp_reg = (uint8_t)take(entry, orc->bp_reg),
	};
	ret->kind = kind_of(orc, take(entry, orc->type), take(entry, orc->end), ret->sp_reg);
	ret->exact = orc->signal.nr ? take(entry, orc->signal) : ret->kind != HV_UNWIND_CALL;
	return true;
}
