/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A kernel with ORC tables in every known form of their entries, and a module with ORC tables. The
 * text begins with functions from which the register numbers can be derived. */
#pragma once

#include "kernel/tasks/unwind.h"
#include "kernel/core/orc_form.h"
#include "tests/unit/kernel/fake_kernel.h"

#define FO_ENTRIES	  8
#define FO_FUNCTIONS	  24 /* to derive register numbers; FO_FUNCTION_LEN bytes each */
#define FO_FUNCTION_LEN	  0x40
#define FO_PROOFS	  (FO_FUNCTIONS * 4) /* entries for them, before all others */
#define FO_ALL		  (FO_PROOFS + FO_ENTRIES)
#define FO_MODULE_ENTRIES 2
#define FO_MODULE	  (FK_MODULES + 0x1000) /* its text, 4 KiB */

enum fo_form {
	FO_END,	       /* an entry has a bit for the end, as before 6.4 */
	FO_SIGNAL,     /* a type for the end, and a bit for signal frames */
	FO_RENUMBERED, /* like FO_SIGNAL, with the register numbers of 7.2 */
	FO_SHORT,      /* one entry fewer than addresses */
	FO_BEYOND,     /* a member in BTF is beyond the end of the entry */
};

/* The registers that entries can refer to, in the numbering used up to 7.1. */
enum { UNDEFINED, PREV_SP, DX, DI, BP, SP_REG, R10, R13, BP_INDIRECT, SP_INDIRECT, FO_NR_REGS };

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

/* In 7.2, PREV_SP is 8 in bp_reg and does not occur in sp_reg. */
static inline unsigned fo_number(const struct fo *o, unsigned reg)
{
	static const uint8_t renumbered[FO_NR_REGS] = {
		[PREV_SP] = 8, [DX] = 2,  [DI] = 1,	      [BP] = 4,		 [SP_REG] = 3,
		[R10] = 6,     [R13] = 7, [BP_INDIRECT] = 10, [SP_INDIRECT] = 9,
	};

	return o->form == FO_RENUMBERED && reg < FO_NR_REGS ? renumbered[reg] : reg;
}

/* Sets entry INDEX of a table. A register without a name in the enum is stored as its number. */
static inline void fo_set(struct fo *o, uint64_t ips, uint64_t entries, unsigned index,
			  const struct fo_rule *r)
{
	uint16_t words[3] = {(uint16_t)r->sp_off, (uint16_t)r->bp_off, 0};

	words[2] = (uint16_t)(fo_number(o, r->sp_reg) | fo_number(o, r->bp_reg) << 4 |
			      r->type << 8 | r->flag << (o->form == FO_END ? 10 : 11));
	fk_u32(&o->f, ips + 4 * index, (uint32_t)(r->ip - (ips + 4 * index)));
	memcpy(fk_host(&o->f, entries + 6 * index), words, sizeof(words));
}

static inline void fo_rule(struct fo *o, unsigned index, struct fo_rule r)
{
	fo_set(o, o->ips, o->entries, FO_PROOFS + index, &r);
}

static inline void fo_module_rule(struct fo *o, unsigned index, struct fo_rule r)
{
	fo_set(o, o->module_ips, o->module_entries, index, &r);
}

/* Code and its entries. Unused entries have no offset. */
struct fo_function {
	const char *code;
	unsigned code_len;
	struct {
		unsigned off, sp_reg;
		int sp_off;
		unsigned bp_reg;
		int bp_off;
	} entries[4];
};

/* A function that keeps a frame pointer, two that align their stack, and one that switches stacks
 * after code that cannot be decoded. */
static const struct fo_function fo_functions[] = {
	{"\x55\x48\x89\xe5\x90",
	 5,
	 {{0, SP_REG, 8, UNDEFINED, 0}, {1, SP_REG, 16, PREV_SP, -16}, {4, BP, 16, PREV_SP, -16}}},
	{"\x4c\x8d\x54\x24\x08\x48\x83\xe4\xf0\x41\xff\x72\xf8\x55\x48\x89\xe5\x41\x52\x90",
	 20,
	 {{0, SP_REG, 8, UNDEFINED, 0},
	  {9, R10, 0, UNDEFINED, 0},
	  {17, R10, 0, BP, 0},
	  {19, BP_INDIRECT, -8, BP, 0}}},
	{"\x41\x55\x4c\x8d\x6c\x24\x10\x48\x83\xe4\xf0\x90",
	 12,
	 {{0, SP_REG, 8, UNDEFINED, 0}, {2, SP_REG, 16, UNDEFINED, 0}, {11, R13, 0, UNDEFINED, 0}}},
	{"\x53\x65\x48\x89\x23\x48\x89\xdc",
	 8,
	 {{0, SP_REG, 8, UNDEFINED, 0},
	  {1, SP_REG, 16, UNDEFINED, 0},
	  {8, SP_INDIRECT, 16, UNDEFINED, 0}}},
};

static inline uint64_t fo_function(unsigned n)
{
	return FK_BASE + 0x100 + n * FO_FUNCTION_LEN;
}

static inline void fo_add_function(struct fo *o, unsigned n)
{
	const struct fo_function *fn = &fo_functions[n % HV_ARRAY_LEN(fo_functions)];
	uint64_t at = fo_function(n);
	struct fo_rule r = {0};

	fk_symbol(&o->f, "function", at);
	memset(fk_host(&o->f, at), 0xcc, FO_FUNCTION_LEN);
	memcpy(fk_host(&o->f, at), fn->code, fn->code_len);
	for (unsigned i = 0; i < 4; i++) {
		if (fn->entries[i].sp_off || fn->entries[i].off)
			r = (struct fo_rule){at + fn->entries[i].off,
					     fn->entries[i].sp_reg,
					     fn->entries[i].sp_off,
					     fn->entries[i].bp_reg,
					     fn->entries[i].bp_off,
					     o->form == FO_END ? 0 : 2,
					     0};
		fo_set(o, o->ips, o->entries, 4 * n + i, &r);
	}
}

/* Adds types and symbols. Called before the kernel is complete. */
static void (*fo_more)(struct fk *f);

/* Derives the form again, as at the start of a session. */
static inline struct hv_err *fo_derive(struct fo *o)
{
	struct hv_kernel_core *core = &o->f.k.core;
	struct hv_orc_form form;
	struct hv_err *err = hv_orc_form_find(core, &form);

	if (err)
		return err;
	if (!core->orc)
		core->orc = hv_alloc(sizeof(*core->orc));
	*core->orc = (struct hv_orc_found){.was_sought = 1, .form = form};
	return NULL;
}

/* The rules of the first functions are real. The other words of the ip table are 0: each encodes
 * its own address. */
static inline void fo_init(struct fo *o, enum fo_form form)
{
	*o = (struct fo){.form = form};
	fk_init(&o->f);
	fo_btf(o);
	o->ips = fk_alloc(&o->f, 4 * FO_ALL);
	o->entries = fk_alloc(&o->f, 6 * FO_ALL);
	o->module_ips = fk_alloc(&o->f, 4 * FO_MODULE_ENTRIES);
	o->module_entries = fk_alloc(&o->f, 6 * FO_MODULE_ENTRIES);
	fk_symbol(&o->f, "__start_orc_unwind_ip", o->ips);
	fk_symbol(&o->f, "__stop_orc_unwind_ip", o->ips + 4 * FO_ALL);
	fk_symbol(&o->f, "__start_orc_unwind", o->entries);
	fk_symbol(&o->f, "__stop_orc_unwind", o->entries + 6 * (FO_ALL - (form == FO_SHORT)));
	for (unsigned n = 0; n < FO_FUNCTIONS; n++)
		fo_add_function(o, n);
	fk_symbol(&o->f, "_sinittext", FK_DATA);
	fk_symbol(&o->f, "_einittext", FK_DATA + 0x1000);
	if (fo_more)
		fo_more(&o->f);
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
	hv_orc_found_free(o->f.k.core.orc);
	fk_deinit(&o->f);
}
