/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The form of a kernel's ORC entries: where the members of an entry are, and which numbers mean
 * which registers. BTF describes the members. The meaning of the numbers changed more than once,
 * and nothing in the kernel tells it. It is derived from the kernel's code: the code at the start
 * of a function shows where its frame is, and the ORC entries for this code say the same in
 * numbers. Entries that do not agree with the code are counted, so the result is checked, too.
 * Private to kernel/. Leaves to others: unwinding with the entries (orc.h), what an instruction
 * does (arch/). */
#pragma once

#include "arch/arch.h"
#include "base/err.h"

struct hv_kernel_core;

/* Where a member is in an entry; NR 0: there is no such member. */
struct hv_orc_bits {
	uint32_t off, nr;
};

#define HV_ORC_ENTRY_MAX  16 /* bytes */
#define HV_ORC_NR_NUMBERS 16 /* numbers that a member for a register can have */

struct hv_orc_form {
	uint32_t entry_bytes;
	struct hv_orc_bits sp_offset, bp_offset, sp_reg, bp_reg, type, signal, end;
	/* The architecture's register (struct hv_unwind_rule) for each number of sp_reg and bp_reg,
	 * or HV_ORC_UNKNOWN. */
	uint8_t sp_regs[HV_ORC_NR_NUMBERS];
	uint8_t bp_regs[HV_ORC_NR_NUMBERS];
};

#define HV_ORC_UNKNOWN 0xff

/* A table: its entries, and the address from which on each is valid. */
struct hv_orc_table {
	struct hv_gva ips_gva; /* each address is relative to its own place in the table */
	struct hv_span ips;    /* s32 each, ascending */
	struct hv_span entries;
	size_t nr;
};

/* Fails with EOPNOTSUPP if the kernel has no ORC tables or their form cannot be derived. The
 * message says which. */
struct hv_err *hv_orc_form_find(const struct hv_kernel_core *core,
				struct hv_orc_form *ret) hv_must_use;

/* What is known of a kernel's form; zeros: it was not looked for yet. */
struct hv_orc_found {
	unsigned was_sought;
	struct hv_orc_form form;
	struct hv_err *none; /* owned; not NULL: why there is no form */
};

/* Finds the form when it is first asked for, and keeps it in CORE. Borrowed. That takes tens of ms
 * and needs nothing but the copy of the image. Fails as hv_orc_form_find(). */
struct hv_err *hv_orc_form_of(const struct hv_kernel_core *core,
			      const struct hv_orc_form **ret) hv_must_use;

/* Whether hv_orc_form_of() may succeed: fails as it does where no entry need be looked at to tell,
 * or where it has failed. */
struct hv_err *hv_orc_form_check(const struct hv_kernel_core *core) hv_must_use;

/* The table of the image; hv_orc_form_find() has checked that there is one. */
bool hv_orc_image_table(const struct hv_kernel_core *core, const struct hv_orc_form *form,
			struct hv_orc_table *ret);
/* Finds the last entry of T whose address is not above IP. False: the addresses of all entries are
 * above IP. */
bool hv_orc_search(const struct hv_orc_table *t, struct hv_gva ip, size_t *ret);
/* The rule of an entry. Its kind is HV_UNWIND_NONE when it refers to an unknown register. */
struct hv_unwind_rule hv_orc_rule(const struct hv_orc_form *form, const struct hv_orc_table *t,
				  size_t index);
