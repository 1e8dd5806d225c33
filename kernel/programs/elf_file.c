/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/programs/elf_file.h"

#include <string.h>

bool hv_elf_read(const struct hv_elf_file *f, uint64_t off, void *buf, size_t len)
{
	return off <= f->len_bytes && len <= f->len_bytes - off && f->read(f->ctx, off, buf, len);
}

bool hv_elf_open(const struct hv_elf_file *f, struct hv_elf *ret)
{
	Elf64_Ehdr *h = &ret->head;

	ret->file = f;
	if (!hv_elf_read(f, 0, h, sizeof(*h)) || memcmp(h->e_ident, ELFMAG, SELFMAG) != 0 ||
	    h->e_ident[EI_CLASS] != ELFCLASS64 || h->e_ident[EI_DATA] != ELFDATA2LSB)
		return false;
	ret->nr_phdrs = 0;
	if (h->e_phentsize != sizeof(Elf64_Phdr) || !h->e_phnum || h->e_phnum > HV_ELF_PHDRS_MAX ||
	    !hv_elf_read(f, h->e_phoff, ret->phdrs, h->e_phnum * sizeof(Elf64_Phdr)))
		return true;
	ret->nr_phdrs = h->e_phnum;
	return true;
}

uint64_t hv_elf_address(const struct hv_elf *e, uint64_t off)
{
	for (unsigned i = 0; i < e->nr_phdrs; i++) {
		const Elf64_Phdr *p = &e->phdrs[i];

		if (p->p_type == PT_LOAD && off >= p->p_offset && off - p->p_offset < p->p_filesz)
			return off - p->p_offset + p->p_vaddr;
	}
	return 0;
}

uint64_t hv_elf_offset(const struct hv_elf *e, uint64_t vaddr)
{
	for (unsigned i = 0; i < e->nr_phdrs; i++) {
		const Elf64_Phdr *p = &e->phdrs[i];

		if (p->p_type == PT_LOAD && vaddr >= p->p_vaddr && vaddr - p->p_vaddr < p->p_filesz)
			return vaddr - p->p_vaddr + p->p_offset;
	}
	return 0;
}
