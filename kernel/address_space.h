/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The guest kernel's address space: walks the guest's page tables and reads memory by guest-virtual
 * address. The tables are hostile: a walk is bounded, and reads each entry once.
 * Leaves to others: entry formats (arch/), where the kernel is (image.h). */
#pragma once

#include "vmm/guest.h"
#include "vmm/page_walk.h"

struct hv_address_space {
	struct hv_guest *guest; /* borrowed */
	const struct hv_arch *arch;
	struct hv_gpa root; /* of the kernel's own tables */
	unsigned levels;
};

/* An address that is not mapped is no error: ret->present is false then. Fails when a table is
 * outside RAM. */
struct hv_err *hv_walk(const struct hv_address_space *as, struct hv_gva gva,
		       struct hv_mapping *ret) hv_must_use;

/* The same as far as the slot by which hvtrace maps GVA: where that has a table (arch->make_table),
 * the table is not read. If the entry leads to one, ret->present is true, and ret->gpa is the
 * table's. */
struct hv_err *hv_walk_slot(const struct hv_address_space *as, struct hv_gva gva,
			    struct hv_mapping *ret) hv_must_use;

/* Whether the tables lead from GVA to GPA. Tables that cannot be read do not. */
bool hv_leads_to(const struct hv_address_space *as, struct hv_gva gva, struct hv_gpa gpa);
/* The same of the tables that VCPU uses, of its kernel or of the program that it runs. */
bool hv_vcpu_leads_to(const struct hv_address_space *as, const struct hv_vcpu_regs *vcpu,
		      struct hv_gva gva, struct hv_gpa gpa);
/* The same by hv_walk_slot(). */
bool hv_slot_leads_to(const struct hv_address_space *as, struct hv_gva gva, struct hv_gpa gpa);
bool hv_vcpu_slot_leads_to(const struct hv_address_space *as, const struct hv_vcpu_regs *vcpu,
			   struct hv_gva gva, struct hv_gpa gpa);

/* Fails with EFAULT and the address when a byte is not mapped or not in RAM. */
struct hv_err *hv_read(const struct hv_address_space *as, struct hv_gva gva, void *buf,
		       size_t len_bytes) hv_must_use;
struct hv_err *hv_read_u64(const struct hv_address_space *as, struct hv_gva gva,
			   uint64_t *ret) hv_must_use;
struct hv_err *hv_read_u32(const struct hv_address_space *as, struct hv_gva gva,
			   uint32_t *ret) hv_must_use;
