/* A kernel with ORC tables, in either form of their entries, and a module that has some. */
#pragma once

#include "kernel/orc.h"
#include "tests/unit/kernel/fake_kernel.h"

#define FO_ENTRIES	  8
#define FO_MODULE_ENTRIES 2
#define FO_MODULE	  (FK_MODULES + 0x1000) /* its text, 4 KiB */

enum fo_form {
	FO_END,	   /* an entry has a bit for the end, as before 6.4 */
	FO_SIGNAL, /* types for it, and a bit for signal frames */
	FO_SHORT,  /* an entry less than addresses */
	FO_BEYOND, /* BTF has a member behind the entry's end */
};

struct fo {
	struct fk f;
	enum fo_form form;
	uint64_t ips, entries, module_ips, module_entries;
};

struct fo_rule {
	uint64_t ip;
	unsigned sp_reg;
	int sp_off;
	unsigned bp_reg;
	int bp_off;
	unsigned type;
	unsigned flag; /* end, or signal */
};

static inline void fo_btf(struct fo *o)
{
	uint32_t s16 = integer("short int", 2), u32_id = integer("unsigned int", 4);
	unsigned type_bits = o->form == FO_END ? 2 : 3;

	type(STRUCT, "orc_entry", 6, 1, 6);
	member("sp_offset", s16, 0);
	member("bp_offset", s16, 16);
	member("sp_reg", u32_id, 4u << 24 | 32);
	member("bp_reg", u32_id, 4u << 24 | 36);
	member("type", u32_id, type_bits << 24 | (o->form == FO_BEYOND ? 4000 : 40));
	member(o->form == FO_END ? "end" : "signal", u32_id, 1u << 24 | (40 + type_bits));
}

/* Entry INDEX of a table. */
static inline void fo_set(struct fo *o, uint64_t ips, uint64_t entries, unsigned index,
			  const struct fo_rule *r)
{
	uint16_t words[3] = {(uint16_t)r->sp_off, (uint16_t)r->bp_off, 0};

	words[2] = (uint16_t)(r->sp_reg | r->bp_reg << 4 | r->type << 8 |
			      r->flag << (o->form == FO_END ? 10 : 11));
	fk_u32(&o->f, ips + 4 * index, (uint32_t)(r->ip - (ips + 4 * index)));
	memcpy(fk_host(&o->f, entries + 6 * index), words, sizeof(words));
}

static inline void fo_rule(struct fo *o, unsigned index, struct fo_rule r)
{
	fo_set(o, o->ips, o->entries, index, &r);
}

static inline void fo_module_rule(struct fo *o, unsigned index, struct fo_rule r)
{
	fo_set(o, o->module_ips, o->module_entries, index, &r);
}

/* Rules are 0 at first: at the addresses of the entries themselves. */
static inline void fo_init(struct fo *o, enum fo_form form)
{
	*o = (struct fo){.form = form};
	fk_init(&o->f);
	fo_btf(o);
	o->ips = fk_alloc(&o->f, 4 * FO_ENTRIES);
	o->entries = fk_alloc(&o->f, 6 * FO_ENTRIES);
	o->module_ips = fk_alloc(&o->f, 4 * FO_MODULE_ENTRIES);
	o->module_entries = fk_alloc(&o->f, 6 * FO_MODULE_ENTRIES);
	fk_symbol(&o->f, "__start_orc_unwind_ip", o->ips);
	fk_symbol(&o->f, "__stop_orc_unwind_ip", o->ips + 4 * FO_ENTRIES);
	fk_symbol(&o->f, "__start_orc_unwind", o->entries);
	fk_symbol(&o->f, "__stop_orc_unwind", o->entries + 6 * (FO_ENTRIES - (form == FO_SHORT)));
	fk_done(&o->f);
	o->f.k.modules.list = hv_alloc(sizeof(*o->f.k.modules.list));
	o->f.k.modules.nr = 1;
	o->f.k.modules.list[0] = (struct hv_module){
		.name = "m",
		.text = {hv_gva(FO_MODULE), hv_gva(FO_MODULE + 0x1000)},
		.nr_orcs = FO_MODULE_ENTRIES,
		.orc_ips = hv_gva(o->module_ips),
		.orcs = hv_gva(o->module_entries),
	};
}

static inline void fo_deinit(struct fo *o)
{
	fk_deinit(&o->f);
}
