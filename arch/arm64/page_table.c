/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stage 1 page-table entries, and addresses. Source: Arm Architecture Reference Manual (DDI 0487),
 * D8.3; Linux's use of the bits: arch/arm64/include/asm/pgtable-hwdef.h, pgtable-prot.h. The manual
 * counts levels in the opposite direction: level 1 here is its level 3. */
#include "arch/arm64/arm64.h"

#define VALID	  (1ULL << 0)
#define TABLE	  (1ULL << 1) /* at the last level: a page */
#define RDONLY	  (1ULL << 7) /* AP[2] */
#define AF	  (1ULL << 10)
#define DBM	  (1ULL << 51) /* PTE_WRITE: the CPU may clear RDONLY */
#define CONT	  (1ULL << 52)
#define PXN	  (1ULL << 53)
#define UXN	  (1ULL << 54)
#define SOFT	  (0xfULL << 55)
#define PXN_TABLE (1ULL << 59)
#define RO_TABLE  (1ULL << 62)

#define UXN_TABLE    (1ULL << 60)
#define TTBR_ADDRESS 0x0000fffffffff000ull /* without the ASID and CnP */

#define KERNEL_HALF (1ULL << 55)

static uint64_t bits(unsigned from, unsigned end)
{
	return (1ULL << end) - (1ULL << from);
}

/* TTBR1_EL1. While user mode runs with KPTI, it points to the trampoline's tables, two pages before
 * the kernel's (TRAMP_SWAPPER_OFFSET, arch/arm64/include/asm/memory.h). A 52-bit kernel with 64 KiB
 * pages on a 48-bit CPU points into its root, to the part for 48-bit addresses
 * (TTBR1_BADDR_4852_OFFSET). */
unsigned arm64_roots(const struct arm64_format *f, const struct hv_vcpu_regs *regs,
		     struct hv_gpa ret[2])
{
	if (!regs->root)
		return 0;
	ret[0] = hv_gpa(regs->root & TTBR_ADDRESS & ~bits(0, f->page_shift));
	ret[1] = hv_gpa_add(ret[0], 2ull << f->page_shift);
	return 2;
}

uint64_t arm64_entry_span(const struct arm64_format *f, unsigned level)
{
	return 1ULL << (f->page_shift + (f->page_shift - 3) * (level - 1));
}

/* The top-level table is shorter if addresses have fewer bits. */
struct hv_gpa arm64_entry_at(const struct arm64_format *f, struct hv_gpa table, unsigned level,
			     struct hv_gva gva)
{
	uint64_t translated = gva.v & bits(0, f->va_bits);
	uint64_t per_table = 1ULL << (f->page_shift - 3);

	return hv_gpa_add(table, translated / arm64_entry_span(f, level) % per_table * 8);
}

/* FEAT_LPA stores address bits 51:48 in bits 15:12, FEAT_LPA2 stores 51:50 in 9:8. */
static uint64_t address_in(const struct arm64_format *f, uint64_t entry)
{
	if (!f->wide)
		return entry & bits(f->page_shift, 48);
	if (f->page_shift == 16)
		return (entry & bits(16, 48)) | (entry & bits(12, 16)) << 36;
	return (entry & bits(f->page_shift, 50)) | (entry & bits(8, 10)) << 42;
}

static uint64_t with_address(const struct arm64_format *f, uint64_t entry, uint64_t to)
{
	if (!f->wide)
		return (entry & ~bits(f->page_shift, 48)) | (to & bits(f->page_shift, 48));
	if (f->page_shift == 16)
		return (entry & ~bits(12, 48)) | (to & bits(16, 48)) | (to >> 36 & bits(12, 16));
	return (entry & ~(bits(f->page_shift, 50) | bits(8, 10))) | (to & bits(f->page_shift, 50)) |
	       (to >> 42 & bits(8, 10));
}

/* Pointer authentication stores signatures in the untranslated address bits except bit 55, which
 * selects the kernel's half. These bits are ones in kernel addresses. */
uint64_t arm64_strip_signature(const struct arm64_format *f, uint64_t word)
{
	return word & KERNEL_HALF ? word | ~0ULL << f->va_bits : word;
}

struct hv_pt_entry arm64_decode_entry(const struct arm64_format *f, unsigned level, uint64_t entry)
{
	bool leaf = level == 1 ? entry & TABLE : !(entry & TABLE);
	uint64_t to = address_in(f, entry);

	if (!leaf)
		return (struct hv_pt_entry){
			.present = entry & VALID,
			.writable = !(entry & RO_TABLE),
			.executable = !(entry & PXN_TABLE),
			.to = {to},
		};
	return (struct hv_pt_entry){
		.present = entry & VALID,
		.leaf = true,
		.writable = !(entry & RDONLY) || (entry & DBM),
		.executable = !(entry & PXN),
		.to = {to & ~(arm64_entry_span(f, level) - 1)},
	};
}

uint64_t arm64_make_leaf(const struct arm64_format *f, unsigned level, uint64_t neighbour,
			 struct hv_gpa to, enum hv_access access)
{
	uint64_t entry = with_address(f, neighbour, to.v & ~(arm64_entry_span(f, level) - 1));

	entry &= ~(CONT | SOFT | DBM | PXN | TABLE);
	entry |= VALID | AF | UXN | RDONLY;
	if (level == 1)
		entry |= TABLE;
	if (access == HV_ACCESS_READ_WRITE)
		entry = (entry & ~RDONLY) | DBM;
	if (access != HV_ACCESS_READ_EXECUTE)
		entry |= PXN;
	return entry;
}

uint64_t arm64_make_table(const struct arm64_format *f, uint64_t neighbour, struct hv_gpa table)
{
	uint64_t entry = with_address(f, neighbour, table.v);

	return (entry & ~(PXN_TABLE | RO_TABLE)) | VALID | TABLE | UXN_TABLE;
}
