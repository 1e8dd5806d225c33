/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Page-table entries of Sv39, Sv48 and Sv57, which differ only in the number of levels. Source: The
 * RISC-V Instruction Set Manual, Volume II, "Supervisor-Level ISA"; Linux's use of the bits:
 * arch/riscv/include/asm/pgtable-64.h, pgtable-bits.h. The manual counts levels from 0. */
#include "arch/riscv64/riscv64.h"

#define PAGE_SHIFT 12
#define TABLE_BITS 9

#define VALID	 (1ULL << 0)
#define READ	 (1ULL << 1)
#define WRITE	 (1ULL << 2)
#define EXECUTE	 (1ULL << 3)
#define USER	 (1ULL << 4)
#define ACCESSED (1ULL << 6)
#define DIRTY	 (1ULL << 7)
#define SOFT	 (3ULL << 8) /* the kernel's own: special mappings */
#define NAPOT	 (1ULL << 63)

#define NUMBER_SHIFT 10 /* position of the page number */
#define NUMBER_MASK  ((1ULL << 44) - 1)

uint64_t riscv64_entry_span(unsigned level)
{
	return 1ULL << (PAGE_SHIFT + TABLE_BITS * (level - 1));
}

/* Addresses are sign-extended. */
struct hv_gva riscv64_kernel_start(unsigned levels)
{
	return hv_gva(0 - riscv64_entry_span(levels + 1) / 2);
}

struct hv_gpa riscv64_entry_at(struct hv_gpa table, unsigned level, struct hv_gva gva)
{
	uint64_t index = gva.v / riscv64_entry_span(level) % (1u << TABLE_BITS);

	return hv_gpa_add(table, index * sizeof(uint64_t));
}

/* With Svnapot, 16 equal entries map 64 KiB, and a single entry does not contain its address. They
 * count as not present. The kernel's image has none. */
struct hv_pt_entry riscv64_decode_entry(unsigned level, uint64_t entry)
{
	bool leaf = entry & (READ | WRITE | EXECUTE);
	uint64_t to = (entry >> NUMBER_SHIFT & NUMBER_MASK) << PAGE_SHIFT;

	if (!leaf)
		return (struct hv_pt_entry){
			.present = entry & VALID,
			.writable = true,
			.executable = true,
			.to = {to},
		};
	return (struct hv_pt_entry){
		.present = (entry & VALID) && !(entry & NAPOT),
		.leaf = true,
		.writable = entry & WRITE,
		.executable = (entry & EXECUTE) && !(entry & USER),
		.to = {to & ~(riscv64_entry_span(level) - 1)},
	};
}

/* Copies the memory type (Svpbmt) and G from NEIGHBOUR. Sets A and D, because CPUs without Svadu
 * fault on entries without them. */
uint64_t riscv64_make_leaf(unsigned level, uint64_t neighbour, struct hv_gpa to,
			   enum hv_access access)
{
	uint64_t number = (to.v & ~(riscv64_entry_span(level) - 1)) >> PAGE_SHIFT & NUMBER_MASK;
	uint64_t entry = neighbour & ~(NUMBER_MASK << NUMBER_SHIFT);

	entry &= ~(WRITE | EXECUTE | USER | SOFT | NAPOT);
	entry |= VALID | READ | ACCESSED | DIRTY | number << NUMBER_SHIFT;
	if (access == HV_ACCESS_READ_WRITE)
		entry |= WRITE;
	if (access == HV_ACCESS_READ_EXECUTE)
		entry |= EXECUTE;
	return entry;
}
