/* The guest kernel's address space: walks the guest's page tables (hostile: bounded, each entry
 * read once) and reads memory by guest-virtual address. Leaves to others: entry formats (arch/),
 * where the kernel is (image.h). */
#pragma once

#include "vmm/guest.h"

struct hv_address_space {
	struct hv_guest *guest; /* borrowed */
	const struct hv_arch *arch;
	struct hv_gpa root; /* of the kernel's own tables */
	unsigned levels;
};

/* One translation: [gva, gva + len) up to the end of the mapping that holds it. */
struct hv_mapping {
	struct hv_gpa gpa;
	uint64_t len_bytes; /* from the address asked for to the end of the leaf, or of the hole */
	unsigned level;	    /* of the leaf or of the entry that is not present */
	struct hv_gpa entry_gpa;
	uint64_t entry;
	bool present;
	bool writable;
	bool executable;
};

/* A hole is a value: ret->present false. Errors: a table outside RAM. */
struct hv_err *hv_walk(const struct hv_address_space *as, struct hv_gva gva,
		       struct hv_mapping *ret) hv_must_use;

/* EFAULT with the address when a byte is not mapped or not RAM. */
struct hv_err *hv_read(const struct hv_address_space *as, struct hv_gva gva, void *buf,
		       size_t len_bytes) hv_must_use;
struct hv_err *hv_read_u64(const struct hv_address_space *as, struct hv_gva gva,
			   uint64_t *ret) hv_must_use;
struct hv_err *hv_read_u32(const struct hv_address_space *as, struct hv_gva gva,
			   uint32_t *ret) hv_must_use;
