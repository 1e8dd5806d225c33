/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The page tables of the guest's kernel, which the privileged side finds and walks itself, based on
 * the registers of held vCPUs and without trusting the service.
 *
 * The guest's kernel can change its tables at any time, which harms only itself. A program in the
 * guest cannot, but it can own any page that only looks like a table. So a root is trusted only if
 * it proves itself:
 * - once the region is mapped, by mapping a leaf of the region to the region;
 * - before, by mapping as code at least half of the addresses at which vCPUs were last seen in the
 *   kernel.
 *
 * A root that an architecture derives from another one (KPTI) is used only if no register's own
 * root proves itself. While no vCPU has been seen in the kernel, nothing proves a root before the
 * region is mapped; then a derived root is used if the root that it is derived from maps little of
 * the kernel, like that of user mode. If an architecture's registers do not show the format of
 * tables, the format is the first one that agrees with the VMM's translations of addresses at which
 * vCPUs were seen in the kernel. rules.h decides on writes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/addr.h"
#include "vmm/guest.h"
#include "vmm/page_walk.h"

struct hv_tables;

/* G is borrowed. */
struct hv_tables *hv_tables_new(struct hv_guest *g);
void hv_tables_free(struct hv_tables *t);

/* Learns the kernel's location from the registers of the NR vCPUs. Ignores addresses for which OURS
 * returns true, such as those in the region. */
void hv_tables_see(struct hv_tables *t, const struct hv_vcpu_regs *regs, unsigned nr,
		   bool (*is_ours)(void *ctx, struct hv_gva at), void *ctx);

/* An address that must map to memory of the region. */
struct hv_table_proof {
	struct hv_gva gva;
	struct hv_gpa
		gpa; /* address of the leaf, or of the table if table entries lead to the region */
};
/* Finds the roots in the registers of the NR vCPUs, which must stay held while the results are
 * used. Forgets earlier reads. One of the NR_PROOFS in PROOFS must hold; without PROOFS, addresses
 * in the kernel prove a root. */
void hv_tables_begin(struct hv_tables *t, const struct hv_vcpu_regs *regs, unsigned nr,
		     const struct hv_table_proof *proofs, size_t nr_proofs);
/* Whether a root has proved itself. */
bool hv_tables_are_known(const struct hv_tables *t);

/* Keeps the format that was found. */
void hv_tables_keep_format(struct hv_tables *t);
/* Returns the architecture table of the guest's format, if known. */
const struct hv_arch *hv_tables_arch(const struct hv_tables *t);

/* Returns false if the tables do not map GVA. */
bool hv_tables_walk(struct hv_tables *t, struct hv_gva gva, struct hv_mapping *ret);
/* Like hv_tables_walk(), up to the entry of GVA that maps the region, which may be unused. */
bool hv_tables_walk_to_entry(struct hv_tables *t, struct hv_gva gva, struct hv_mapping *ret);

/* -- entries that map the region --------------------------------------------------------------- */

/* The page-table entries that map the region in the guest's kernel, as they were written: leaves of
 * the region, or entries that lead to tables in it. rules.h decides which entries may be
 * written. */

struct hv_leaf {
	struct hv_gva gva;
	uint64_t len_bytes; /* length of the mapping */
	struct hv_gpa to;   /* memory of the region, or a table in it */
	bool executable, writable;
};

struct hv_leaves {
	struct hv_leaf *list; /* owned; by address, disjoint */
	size_t nr, cap;
};

void hv_leaves_deinit(struct hv_leaves *l);
/* Replaces overlapping leaves. */
void hv_leaves_add(struct hv_leaves *l, const struct hv_leaf *leaf);
void hv_leaves_remove(struct hv_leaves *l, struct hv_gva gva);
/* Returns NULL if no leaf maps AT. */
const struct hv_leaf *hv_leaves_at(const struct hv_leaves *l, struct hv_gva at);
