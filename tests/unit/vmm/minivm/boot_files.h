/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kernel files with little more than headers, for tests of the loaders. */
#pragma once

#include <asm/bootparam.h>
#include <elf.h>
#include <string.h>

#include "base/bytes.h"
#include "base/guard.h"

#define OF_SETUP   0x1f1
#define OF_SECTORS 3u /* setup sectors after the first */
#define OF_CODE	   ((OF_SECTORS + 1) * 512)
#define OF_LEN	   (OF_CODE + 4096)

/* Returns a bzImage with 4096 bytes of code 0xc5. The caller may change it and frees it. */
static inline uint8_t *of_bzimage(void)
{
	uint8_t *file = hv_alloc(OF_LEN);
	struct setup_header h = {
		.setup_sects = OF_SECTORS,
		.syssize = 4096 / 16,
		.boot_flag = 0xaa55,
		.jump = 0x6aeb,
		.version = 0x20f,
		.loadflags = 1,
		.initrd_addr_max = 0x7fffffff,
		.cmdline_size = 100,
		.xloadflags = XLF_KERNEL_64,
		.pref_address = 0x1000000,
		.init_size = 0x200000,
	};

	memcpy(&h.header, "HdrS", 4);
	memcpy(file + OF_SETUP, &h, sizeof(h));
	memset(file + OF_CODE, 0xc5, 4096);
	return file;
}

static inline struct setup_header *of_header(uint8_t *file)
{
	return (struct setup_header *)(void *)(file + OF_SETUP);
}

#define OF_ELF_LEN 1024

/* Returns an ELF vmlinux with two segments, at 16 MiB and at 18 MiB. */
static inline uint8_t *of_elf(void)
{
	uint8_t *file = hv_alloc(OF_ELF_LEN);
	Elf64_Ehdr e = {
		.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB},
		.e_type = ET_EXEC,
		.e_machine = EM_X86_64,
		.e_entry = 0x1000200,
		.e_phoff = sizeof(e),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 3,
	};
	Elf64_Phdr p[3] = {
		{.p_type = PT_LOAD,
		 .p_offset = 512,
		 .p_paddr = 0x1000000,
		 .p_filesz = 256,
		 .p_memsz = 4096},
		{.p_type = PT_NOTE, .p_offset = 1u << 30, .p_filesz = 99},
		{.p_type = PT_LOAD,
		 .p_offset = 768,
		 .p_paddr = 0x1200000,
		 .p_filesz = 256,
		 .p_memsz = 8192},
	};

	memcpy(file, &e, sizeof(e));
	memcpy(file + sizeof(e), p, sizeof(p));
	memset(file + 512, 0xc6, 512);
	return file;
}

static inline Elf64_Phdr *of_segment(uint8_t *file, unsigned i)
{
	return (Elf64_Phdr *)(void *)(file + sizeof(Elf64_Ehdr)) + i;
}
