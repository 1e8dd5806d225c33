/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The format of a kernel's ORC entries: the position of members, and the registers that the numbers
 * in them mean.
 *
 * BTF describes the members. The register numbers changed several times, and nothing in the kernel
 * documents them, so they are derived from code: the instructions at the start of a function show
 * where its frame is, and the ORC entries for them encode the frame's position. Entries that
 * contradict the code are counted, which also checks the result.
 *
 * Private to kernel/. unwind.h unwinds with the entries; arch/ decodes instructions. */
#pragma once

#include "arch/arch.h"
#include "base/err.h"

struct hv_kernel_core;

/* The bits of a member in an entry; nr is 0 if there is no such member. */
struct hv_orc_bits {
	uint32_t off, nr;
};

#define HV_ORC_ENTRY_MAX  16 /* bytes */
#define HV_ORC_NR_NUMBERS 16 /* number of values of a register member */

struct hv_orc_form {
	uint32_t entry_bytes;
	struct hv_orc_bits sp_offset, bp_offset, sp_reg, bp_reg, type, signal, end;
	/* The architecture's register (struct hv_unwind_rule) for each number of sp_reg and bp_reg,
	 * or HV_ORC_UNKNOWN. */
	uint8_t sp_regs[HV_ORC_NR_NUMBERS];
	uint8_t bp_regs[HV_ORC_NR_NUMBERS];
};

#define HV_ORC_UNKNOWN 0xff

/* A table of entries. Each entry is valid from its address on. */
struct hv_orc_table {
	struct hv_gva ips_gva; /* each address is relative to its own position in the table */
	struct hv_span ips;    /* s32 each, ascending */
	struct hv_gva entries_gva;
	struct hv_span entries;
	size_t nr;
};

/* Fails with EOPNOTSUPP if the kernel has no ORC tables or their format cannot be derived. The
 * message reports which. */
struct hv_err *hv_orc_form_find(const struct hv_kernel_core *core,
				struct hv_orc_form *ret) hv_must_use;

/* The cached format of a kernel; all zeros before the first lookup. */
struct hv_orc_found {
	unsigned was_sought;
	struct hv_orc_form form;
	struct hv_err *none; /* owned; why there is no format, or NULL */
};

/* Derives the format at the first call and caches it in CORE. The result is borrowed. Takes tens of
 * ms and reads only the copy of the image. Errors as for hv_orc_form_find(). */
struct hv_err *hv_orc_form_of(const struct hv_kernel_core *core,
			      const struct hv_orc_form **ret) hv_must_use;

/* Checks whether hv_orc_form_of() can succeed. Returns its cached error, or an error that is known
 * without reading entries. */
struct hv_err *hv_orc_form_check(const struct hv_kernel_core *core) hv_must_use;

/* The table of the image. Call hv_orc_form_find() first; it checks that the table exists. */
bool hv_orc_image_table(const struct hv_kernel_core *core, const struct hv_orc_form *form,
			struct hv_orc_table *ret);
/* Finds the last entry of T at or below IP. Returns false if all entries are above IP. */
bool hv_orc_search(const struct hv_orc_table *t, struct hv_gva ip, size_t *ret);
/* Returns the rule of an entry. Its kind is HV_UNWIND_NONE if the entry uses an unknown
 * register. */
struct hv_unwind_rule hv_orc_rule(const struct hv_orc_form *form, const struct hv_orc_table *t,
				  size_t index);
