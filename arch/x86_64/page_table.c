/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Page-table entries and the trap table. Source: Intel SDM volume 3, 4.5 and 6.14. */
#include "arch/x86_64/x86_64.h"

#define PTE_P	 (1ULL << 0)
#define PTE_RW	 (1ULL << 1)
#define PTE_US	 (1ULL << 2)
#define PTE_A	 (1ULL << 5)
#define PTE_D	 (1ULL << 6)
#define PTE_PS	 (1ULL << 7)
#define PTE_NX	 (1ULL << 63)
#define PTE_ADDR 0x000ffffffffff000ULL

/* Software bits and the protection key are private to the kernel that set them. */
#define PTE_SOFT ((7ULL << 9) | (0x7ffULL << 52))

#define PTI_USER_HALF (1ULL << 12)

#define GATE_LEN     16
#define GATE_PF	     14
#define GATE_PRESENT 0x80

/* Addresses are sign-extended from the highest translated bit. */
struct hv_gva x86_64_kernel_start(unsigned levels)
{
	return hv_gva(0 - x86_64_entry_span(levels + 1) / 2);
}

unsigned x86_64_roots(const struct hv_vcpu_regs *regs, struct hv_gpa ret[2])
{
	uint64_t table = regs->root & PTE_ADDR;

	ret[0] = hv_gpa(table);
	if (!(table & PTI_USER_HALF))
		return 1;
	ret[1] = hv_gpa(table & ~PTI_USER_HALF);
	return 2;
}

uint64_t x86_64_entry_span(unsigned level)
{
	return 1ULL << (12 + 9 * (level - 1));
}

struct hv_gpa x86_64_entry_at(struct hv_gpa table, unsigned level, struct hv_gva gva)
{
	uint64_t index = gva.v / x86_64_entry_span(level) & 0x1ff;

	return hv_gpa_add(table, index * 8);
}

struct hv_pt_entry x86_64_decode_entry(unsigned level, uint64_t entry)
{
	bool leaf = level == 1 || (level <= 3 && (entry & PTE_PS));
	uint64_t to = entry & PTE_ADDR;

	if (leaf)
		to &= ~(x86_64_entry_span(level) - 1);
	return (struct hv_pt_entry){
		.present = entry & PTE_P,
		.leaf = leaf,
		.writable = entry & PTE_RW,
		.executable = !(entry & PTE_NX),
		.to = {to},
	};
}

uint64_t x86_64_make_leaf(unsigned level, uint64_t neighbour, struct hv_gpa to,
			  enum hv_access access)
{
	/* The address field of a large leaf begins above its PAT bit. */
	uint64_t addr = PTE_ADDR & ~(x86_64_entry_span(level) - 1);
	uint64_t entry = neighbour & ~(addr | PTE_SOFT | PTE_RW | PTE_US | PTE_D | PTE_NX);

	entry |= PTE_P | PTE_A | (to.v & addr);
	if (access == HV_ACCESS_READ_WRITE)
		entry |= PTE_RW | PTE_D;
	if (access != HV_ACCESS_READ_EXECUTE)
		entry |= PTE_NX;
	return entry;
}

bool x86_64_trap_target(struct hv_span table, struct hv_gva *ret)
{
	size_t gate = GATE_PF * GATE_LEN;
	uint16_t low, middle;
	uint32_t high;
	uint8_t type;

	if (!hv_span_u16(table, gate, &low) || !hv_span_u8(table, gate + 5, &type) ||
	    !hv_span_u16(table, gate + 6, &middle) || !hv_span_u32(table, gate + 8, &high))
		return false;
	if (!(type & GATE_PRESENT))
		return false;
	*ret = hv_gva((uint64_t)high << 32 | (uint64_t)middle << 16 | low);
	return true;
}
