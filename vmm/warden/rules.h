/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rules for writes into a guest: which of them the privileged process makes for a service that
 * may have been taken over by a program in the guest. docs/operators/security.md has the table:
 * kind of write, what proves it, what is remembered. Inside the region anything is allowed, since
 * the service has it mapped. Outside of it
 *
 * - the guest's page tables, which this side walks itself, must lead from the address that is
 *   claimed to the memory that is written: to code for text, to memory that can be written for
 *   data, to the very slot for an entry of a page table;
 * - an entry of a page table becomes a leaf of the region, or a table in it, or empty again;
 * - text becomes a call of or a jump into the region, a static key's nop or jump, or a call of
 *   other code of the kernel's own in place of such a call;
 * - data becomes a pointer into the region's data, what such a pointer replaced, the address of
 *   the kernel's own code where a return address or a probe of ours was, a count of users of a
 *   tracepoint, moved by two at most, or a byte with one bit changed, always the same bit;
 * - what was there before may be put back, as this side has read it itself. What an earlier session
 *   replaced may be put back only where that session's journal says so and the guest leads to the
 *   region.
 *
 * Nothing else is written. So no write of this side makes the guest execute anything but its own
 * code and the region's. The rules keep no guest's kernel from harming itself: it can write all of
 * this without us.
 * Leaves to others: which changes make sense (tracer/), what is in the region (the service), that
 * writes are made in a hold. */
#pragma once

#include "vmm/guest.h"

struct hv_rules;

enum hv_adopts {
	HV_ADOPTS_NOTHING,
	/* What the region's journal says that an earlier session wrote may be put back. */
	HV_ADOPTS_EARLIER,
};

/* G is borrowed. */
struct hv_rules *hv_rules_new(struct hv_guest *g, enum hv_adopts adopts);
void hv_rules_free(struct hv_rules *r);

/* From now on this is the region. HV_ADOPTS_EARLIER: takes its journal, the first time, so the
 * service must not have the region before. */
void hv_rules_set_region(struct hv_rules *r, const struct hv_region *region);

/* Takes what the registers of the NR vCPUs say of where the kernel is. */
void hv_rules_see(struct hv_rules *r, const struct hv_vcpu_regs *regs, unsigned nr);

/* Does what would make a hold longer. Called before each. */
void hv_rules_prepare(struct hv_rules *r);

/* Whether WRITES can be checked only with registers: in the region, anything is allowed. */
bool hv_rules_need_registers(const struct hv_rules *r, const struct hv_hold_write *writes,
			     size_t nr);
/* REGS: of the NR_VCPUS vCPUs, which are held; none if they are not needed. EPERM: one of WRITES,
 * which are ordered by address, is not allowed. EBUSY: no vCPU's tables lead to the region now.
 * Nothing is noted then. Otherwise notes what is there now, for the places that are written for the
 * first time. */
struct hv_err *hv_rules_check(struct hv_rules *r, const struct hv_vcpu_regs *regs,
			      unsigned nr_vcpus, const struct hv_hold_write *writes,
			      size_t nr) hv_must_use;
