/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The page tables of the guest's kernel, as the privileged side finds and walks them itself: from
 * the registers of vCPUs that are held, and from no word of the service. The guest's kernel can
 * change its tables at any time, which harms only itself. A program in the guest cannot, but it can
 * own any page that only looks like a table. So a root is believed only if it proves itself:
 *
 * - once the region is mapped, by leading from a leaf of it to the region;
 * - before, by leading from most of the addresses at which vCPUs were seen in the kernel to code.
 *
 * A root that an architecture derives from another one (KPTI) counts only if no register's own root
 * proves itself. While no vCPU has been seen in the kernel, nothing proves a root before the region
 * is mapped; a derived root counts then if the one that it is derived from leads to little of the
 * kernel, as that of user mode does. Of an architecture whose registers do not tell the format of
 * tables, the format is the first one in which what the VMM told of such addresses is true. Leaves
 * to others: what is written (rules.h). */
#pragma once

#include "vmm/guest.h"
#include "vmm/page_walk.h"

struct hv_tables;

/* G is borrowed. */
struct hv_tables *hv_tables_new(struct hv_guest *g);
void hv_tables_free(struct hv_tables *t);

/* Takes what the registers of the NR vCPUs say of where the kernel is. OURS: not the kernel's. */
void hv_tables_see(struct hv_tables *t, const struct hv_vcpu_regs *regs, unsigned nr,
		   bool (*is_ours)(void *ctx, struct hv_gva at), void *ctx);

/* An address that leads to memory of the region. */
struct hv_table_proof {
	struct hv_gva gva;
	struct hv_gpa gpa; /* of the leaf, or of the table where table entries lead to the region */
};
/* Finds the roots by the registers of the NR vCPUs, which are held and stay so for as long as the
 * results are used. Forgets what was read before. PROOFS: NR_PROOFS, of which one must be true;
 * none: addresses of the kernel prove a root. */
void hv_tables_begin(struct hv_tables *t, const struct hv_vcpu_regs *regs, unsigned nr,
		     const struct hv_table_proof *proofs, size_t nr_proofs);
/* Whether there is a root that has proved itself. */
bool hv_tables_are_known(const struct hv_tables *t);

/* From now on the format is the one that was found. */
void hv_tables_keep_format(struct hv_tables *t);
/* The table of the guest's format, as far as it is known. */
const struct hv_arch *hv_tables_arch(const struct hv_tables *t);

/* False: the tables lead from GVA nowhere. */
bool hv_tables_walk(struct hv_tables *t, struct hv_gva gva, struct hv_mapping *ret);
/* The same as far as the slot of GVA by which the region is mapped, which may be unused. */
bool hv_tables_slot(struct hv_tables *t, struct hv_gva gva, struct hv_mapping *ret);
/* Whether GVA is an address of the kernel's own half. */
bool hv_tables_is_kernel(const struct hv_tables *t, struct hv_gva gva);
