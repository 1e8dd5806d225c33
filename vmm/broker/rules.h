/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rules for writes into a guest: the privileged process checks which writes it makes for a
 * service that may have been taken over by a program in the guest. The table in
 * docs/operators/security.md lists kinds of writes, how they are verified, and the remembered
 * state. Anything is allowed inside the region, because the service has it mapped. Outside of the
 * region:
 *
 * - the guest's page tables, which this side walks itself, must map the claimed address to the
 *   memory that is written: as code for text, as writable memory for data, and at the exact entry
 *   for a page-table entry;
 * - a page-table entry may become a leaf of the region, a table in it, or empty again;
 * - text may become a call of or a jump into the region, a static key's nop or jump, or a call of
 *   other kernel code in place of such a call;
 * - data may become a pointer into the region's data, the value that such a pointer replaced, the
 *   address of the kernel's own code in place of a return address or of an hvtrace callback, a use
 *   count of a tracepoint, changed by two at most, or a byte with one changed bit, always the same
 *   bit;
 * - original contents may be restored, as read by this side. Contents that an earlier session
 *   replaced may be restored only where that session's journal contains them and the guest's memory
 *   leads to the region.
 *
 * Everything else is rejected. So no write of this side makes the guest execute anything but its
 * own code and the region's. The rules do not prevent a guest's kernel from harming itself: it can
 * make all these writes without hvtrace.
 *
 * tracer/ decides which changes make sense; the service fills the region; the callers write only in
 * holds. */
#pragma once

#include "vmm/guest.h"

struct hv_rules;

enum hv_adopts {
	HV_ADOPTS_NOTHING,
	/* Changes by an earlier session, according to the region's journal, may be undone. */
	HV_ADOPTS_EARLIER,
};

/* G is borrowed. */
struct hv_rules *hv_rules_new(struct hv_guest *g, enum hv_adopts adopts);
void hv_rules_free(struct hv_rules *r);

/* Sets the region. With HV_ADOPTS_EARLIER the first call reads its journal, so the service must not
 * have the region before. */
void hv_rules_set_region(struct hv_rules *r, const struct hv_region *region);

/* Learns the kernel's location from the registers of the NR vCPUs. */
void hv_rules_see(struct hv_rules *r, const struct hv_vcpu_regs *regs, unsigned nr);

/* Does work in advance that would prolong a hold. Call this before each hold. */
void hv_rules_prepare(struct hv_rules *r);

/* Whether registers are needed to check WRITES; writes in the region need none. */
bool hv_rules_need_registers(const struct hv_rules *r, const struct hv_hold_write *writes,
			     size_t nr);
/* REGS are the registers of the NR_VCPUS held vCPUs; none if they are not needed. Fails with EPERM
 * if one of WRITES, which are sorted by address, is not allowed, or EBUSY if none of the page
 * tables that vCPUs now use is proved to be the kernel's (tables.h); then nothing is recorded.
 * Otherwise records the current contents of ranges that are written for the first time. */
struct hv_err *hv_rules_check(struct hv_rules *r, const struct hv_vcpu_regs *regs,
			      unsigned nr_vcpus, const struct hv_hold_write *writes,
			      size_t nr) hv_must_use;
