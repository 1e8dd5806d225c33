/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Source: arch/x86/include/asm/orc_types.h, tools/objtool/orc_gen.c. */
#include "kernel/derive/orc_members.h"

#include "base/cancel.h"
#include "kernel/core/orc_form.h"

#define ENTRY_BYTES 6u
#define ENTRIES_MIN 1000u

/* The first five bytes are the same in all kernels: the offsets, and four bits each for the
 * registers. The bits of the last byte have changed: `signal` came in 6.3 (ffb1b4a41016), and in 6.4
 * types for the end of a stack and for "no rule" replaced `end` (fb799447ae29). An entry without a
 * register has no rule or ends the stack. */
#define VALUE(last) (UINT32_C(1) << (last))

static const struct form {
	struct hv_orc_bits type, signal, end; /* in the last byte */
	/* The values that the last byte of entries with a register can have. The table has each of
	 * `needed`: calls, registers, a part of the registers. */
	uint32_t with_register, needed;
	uint32_t without_register, ends; /* without a register; one of `ends` */
} forms[] = {
	{
		.type = {0, 2},
		.end = {2, 1},
		.with_register = VALUE(0) | VALUE(1) | VALUE(2),
		.needed = VALUE(0) | VALUE(1) | VALUE(2),
		.without_register = VALUE(0) | VALUE(4),
		.ends = VALUE(4),
	},
	{
		.type = {0, 2},
		.signal = {2, 1},
		.end = {3, 1},
		.with_register = VALUE(0) | VALUE(1) | VALUE(2) | VALUE(5) | VALUE(6),
		.needed = VALUE(0) | VALUE(5) | VALUE(6),
		.without_register = VALUE(0) | VALUE(8),
		.ends = VALUE(8),
	},
	{
		.type = {0, 3},
		.signal = {3, 1},
		.with_register = VALUE(2) | VALUE(3) | VALUE(4) | VALUE(11) | VALUE(12),
		.needed = VALUE(2) | VALUE(11) | VALUE(12),
		.without_register = VALUE(0) | VALUE(1),
		.ends = VALUE(1),
	},
};

/* The values of the last byte that occur in the table. */
struct seen {
	uint32_t with_register, without_register;
};

static bool read_table(const struct hv_kernel_core *core, struct seen *ret)
{
	const struct hv_orc_form form = {.entry_bytes = ENTRY_BYTES};
	struct hv_orc_table table;

	*ret = (struct seen){0};
	if (!hv_orc_image_table(core, &form, &table) || table.nr < ENTRIES_MIN)
		return false;
	for (size_t i = 0; i < table.nr && !hv_cancel_now(i); i++) {
		uint8_t registers = 0, last = 0;

		hv_span_u8(table.entries, i * ENTRY_BYTES + 4, &registers);
		hv_span_u8(table.entries, i * ENTRY_BYTES + 5, &last);
		if (last >= 32)
			return false;
		*(registers & 15 ? &ret->with_register : &ret->without_register) |= VALUE(last);
	}
	return true;
}

static bool has_form(const struct seen *seen, const struct form *f)
{
	return !(seen->with_register & ~f->with_register) &&
	       !(seen->without_register & ~f->without_register) &&
	       (seen->with_register & f->needed) == f->needed && seen->without_register & f->ends;
}

static void add(struct hv_deriving *d, const char *member, uint32_t off, uint32_t len_bytes,
		struct hv_orc_bits bits)
{
	if (len_bytes == 1 && !bits.nr)
		return;
	hv_facts_add(&d->facts, &(struct hv_fact){"orc_entry", member, off, len_bytes, NULL,
						  HV_PROVED_BY_MEMORY, .bits = (uint8_t)bits.nr,
						  .bit = (uint8_t)bits.off});
}

void hv_orc_members_derive(struct hv_deriving *d)
{
	struct seen seen;

	if (!read_table(d->core, &seen))
		return;
	/* No table can have two of the forms. */
	for (size_t i = 0; i < HV_ARRAY_LEN(forms); i++) {
		const struct form *f = &forms[i];

		if (!has_form(&seen, f))
			continue;
		add(d, "sp_offset", 0, 2, (struct hv_orc_bits){0});
		add(d, "bp_offset", 2, 2, (struct hv_orc_bits){0});
		add(d, "sp_reg", 4, 1, (struct hv_orc_bits){0, 4});
		add(d, "bp_reg", 4, 1, (struct hv_orc_bits){4, 4});
		add(d, "type", 5, 1, f->type);
		add(d, "signal", 5, 1, f->signal);
		add(d, "end", 5, 1, f->end);
	}
}
