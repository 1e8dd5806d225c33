/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The headers of a 64-bit ELF file, copied once, for elf_symbols.c and cfi.c. The file is untrusted
 * (elf_symbols.h). Private to kernel/programs/. */
#pragma once

#include <elf.h>

#include "kernel/programs/elf_symbols.h"

#define HV_ELF_PHDRS_MAX    64
#define HV_ELF_SECTIONS_MAX 4096

struct hv_elf {
	const struct hv_elf_file *file; /* borrowed */
	Elf64_Ehdr head;
	Elf64_Phdr phdrs[HV_ELF_PHDRS_MAX];
	unsigned nr_phdrs; /* 0: they cannot be read; the file may have sections */
};

/* Returns false if not all of [OFF, OFF + LEN) is in the file and can be read. */
bool hv_elf_read(const struct hv_elf_file *f, uint64_t off, void *buf, size_t len);
/* Returns false if F, which RET borrows, is no such file. */
bool hv_elf_open(const struct hv_elf_file *f, struct hv_elf *ret);
/* Returns the address at OFF, or 0. */
uint64_t hv_elf_address(const struct hv_elf *e, uint64_t off);
/* Returns the offset of address VADDR, or 0. */
uint64_t hv_elf_offset(const struct hv_elf *e, uint64_t vaddr);
