/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Call frame information: finds how the caller's registers are restored at an address of an ELF file,
 * from its .eh_frame. The file is untrusted, may be incomplete, and changes during the read
 * (elf_symbols.h): each part is copied once, loops are bounded, and a rule is found only if all of its
 * bytes can be read. Not libdw, which allocates up to 2 GiB for a register's number in a rule. Pure.
 *
 * .eh_frame_hdr leads to the rules. A file without it needs section headers, and its .eh_frame is read
 * once. Both have the form that the linkers of GNU and LLVM write. */
#pragma once

#include "arch/dwarf_regs.h"
#include "base/bytes.h"
#include "kernel/programs/elf_symbols.h"

struct hv_cfi;

enum hv_cfi_kind {
	HV_CFI_SAME,	      /* the caller's register has not changed */
	HV_CFI_UNDEFINED,     /* the return address: there is no caller */
	HV_CFI_AT_CFA,	      /* it is in memory, NUMBER bytes after the CFA */
	HV_CFI_CFA,	      /* it is NUMBER more than the CFA */
	HV_CFI_REGISTER,      /* it is in register REG, plus NUMBER */
	HV_CFI_AT_EXPRESSION, /* it is in memory, at the address that EXPRESSION computes */
	HV_CFI_EXPRESSION,
};

struct hv_cfi_rule {
	enum hv_cfi_kind kind;
	uint8_t reg; /* by DWARF's number */
	int64_t number;
	struct hv_span expression; /* borrowed from the struct hv_cfi until its next use */
};

/* The rules at an address. */
struct hv_cfi_row {
	struct hv_cfi_rule cfa; /* HV_CFI_REGISTER or HV_CFI_EXPRESSION */
	struct hv_cfi_rule regs[HV_DWARF_REGS_MAX];
	uint8_t return_reg; /* the register with the return address */
	bool is_signal;	    /* the caller was interrupted by a signal: it has not called */
};

/* Reads the headers of F, which is borrowed. Returns NULL without call frame information that can be
 * read. */
struct hv_cfi *hv_cfi_new(const struct hv_elf_file *f);
void hv_cfi_free(struct hv_cfi *c);
/* Finds the rules at offset OFF of the file. Returns false if there are none, or if they are wrong or
 * cannot be read. */
bool hv_cfi_find(struct hv_cfi *c, uint64_t off, struct hv_cfi_row *ret);
