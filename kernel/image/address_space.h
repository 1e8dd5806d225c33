/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The guest kernel's address space: walks the guest's page tables and reads memory by guest-virtual
 * address. The tables are untrusted: a walk is bounded and reads each entry once. arch/ knows the
 * entry formats; image.h finds the kernel. */
#pragma once

#include "vmm/guest.h"
#include "vmm/page_walk.h"

struct hv_address_space {
	struct hv_guest *guest; /* borrowed */
	const struct hv_arch *arch;
	struct hv_gpa root; /* the kernel's own tables */
	unsigned levels;
};

/* Returns ret->present == false, not an error, if GVA is not mapped. Fails if a table is outside
 * RAM. */
struct hv_err *hv_walk(const struct hv_address_space *as, struct hv_gva gva,
		       struct hv_mapping *ret) hv_must_use;

/* Like hv_walk(), but on architectures with make_table it stops at the entry of map_level. If that
 * entry points to a table, ret->present is true and ret->gpa is the table's address. */
struct hv_err *hv_walk_to_entry(const struct hv_address_space *as, struct hv_gva gva,
				struct hv_mapping *ret) hv_must_use;

/* Returns whether the kernel's tables map GVA to GPA. False also if a table cannot be read. */
bool hv_leads_to(const struct hv_address_space *as, struct hv_gva gva, struct hv_gpa gpa);
/* Like hv_leads_to(), but uses the page tables that VCPU currently uses, in the kernel or in user
 * mode. */
bool hv_vcpu_leads_to(const struct hv_address_space *as, const struct hv_vcpu_regs *vcpu,
		      struct hv_gva gva, struct hv_gpa gpa);
/* Like the two functions above, but with hv_walk_to_entry(). */
bool hv_entry_leads_to(const struct hv_address_space *as, struct hv_gva gva, struct hv_gpa gpa);
bool hv_vcpu_entry_leads_to(const struct hv_address_space *as, const struct hv_vcpu_regs *vcpu,
			    struct hv_gva gva, struct hv_gpa gpa);

/* Fails with EFAULT and the address if a byte is not mapped or not in RAM. */
struct hv_err *hv_read(const struct hv_address_space *as, struct hv_gva gva, void *buf,
		       size_t len_bytes) hv_must_use;
struct hv_err *hv_read_u64(const struct hv_address_space *as, struct hv_gva gva,
			   uint64_t *ret) hv_must_use;
struct hv_err *hv_read_u32(const struct hv_address_space *as, struct hv_gva gva,
			   uint32_t *ret) hv_must_use;
