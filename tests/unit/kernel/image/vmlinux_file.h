/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes a small ELF file with libelf, for tests that read a vmlinux. */
#pragma once

#include <check.h>
#include <fcntl.h>
#include <gelf.h>
#include <string.h>
#include <unistd.h>

#include "base/guard.h"
#include "base/text.h"

enum { TEXT = 0x1000, RODATA = 0x2000, MCOUNT = 0x3000 };

#define MORE_MAX 16u

/* Create it with mkstemp() first. */
static char elf_path[] = "/tmp/test_vmlinux.XXXXXX";

struct elf_symbol {
	const char *name;
	uint64_t addr;
};

struct elf_file {
	uint16_t machine;
	uint16_t type;
	bool with_symbols;
	bool without_types;	       /* no .BTF */
	bool without_entries;	       /* the table of symbols is empty */
	const struct elf_symbol *more; /* symbols of .text */
	unsigned nr_more;	       /* at most MORE_MAX */
	bool relocated; /* __mcount_loc is zero in the file; relocations contain its values */
	Elf *elf;
	struct hv_text names; /* section names */
	struct hv_text strings;
};

static inline void text_str(struct hv_text *t, const char *s)
{
	hv_text_add_bytes(t, s, strlen(s) + 1);
}

static inline Elf_Scn *section(struct elf_file *f, const char *name, GElf_Shdr shdr,
			       const void *bytes, size_t len, Elf_Type type)
{
	Elf_Scn *scn = elf_newscn(f->elf);
	Elf_Data *data = elf_newdata(scn);
	GElf_Shdr full;

	gelf_getshdr(scn, &full);
	shdr.sh_name = (GElf_Word)f->names.len_bytes;
	text_str(&f->names, name);
	data->d_buf = (void *)bytes;
	data->d_size = len;
	data->d_type = type;
	data->d_align = 1;
	data->d_version = EV_CURRENT;
	gelf_update_shdr(scn, &shdr);
	return scn;
}

static inline Elf64_Sym symbol(struct elf_file *f, const char *name, unsigned bind, unsigned type,
			       uint16_t shndx, uint64_t value)
{
	Elf64_Sym sym = {.st_name = (Elf64_Word)f->strings.len_bytes,
			 .st_info = GELF_ST_INFO(bind, type),
			 .st_shndx = shndx,
			 .st_value = value};

	text_str(&f->strings, name);
	return sym;
}

/* Sections by number: 1 .text, 2 .rodata, 3 __mcount_loc, 4 notes, 5 .BTF, 6 per-CPU */
static inline void write_sections(struct elf_file *f)
{
	static const uint8_t code[64];
	static const uint32_t note[] = {4, 4, NT_GNU_BUILD_ID, 0x00554e47, 0x44332211};
	static const uint64_t locs[] = {TEXT + 32, 0, TEXT + 16};
	static const uint64_t zeros[3];
	static const Elf64_Rela relas[] = {
		{MCOUNT, ELF64_R_INFO(0, R_X86_64_RELATIVE), TEXT + 32},
		{MCOUNT + 16, ELF64_R_INFO(0, R_X86_64_RELATIVE), TEXT + 16},
		{MCOUNT + 24, ELF64_R_INFO(0, R_X86_64_RELATIVE), 1},
		{MCOUNT - 8, ELF64_R_INFO(0, R_X86_64_RELATIVE), 1},
	};

	section(f, ".text",
		(GElf_Shdr){.sh_type = SHT_PROGBITS,
			    .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
			    .sh_addr = TEXT},
		code, sizeof(code), ELF_T_BYTE);
	section(f, ".rodata",
		(GElf_Shdr){.sh_type = SHT_PROGBITS, .sh_flags = SHF_ALLOC, .sh_addr = RODATA},
		code, sizeof(code), ELF_T_BYTE);
	section(f, "__mcount_loc",
		(GElf_Shdr){.sh_type = SHT_PROGBITS, .sh_flags = SHF_ALLOC, .sh_addr = MCOUNT},
		f->relocated ? zeros : locs, sizeof(locs), ELF_T_BYTE);
	section(f, ".notes", (GElf_Shdr){.sh_type = SHT_NOTE, .sh_flags = SHF_ALLOC}, note,
		sizeof(note), ELF_T_BYTE);
	section(f, f->without_types ? ".other" : ".BTF",
		(GElf_Shdr){.sh_type = SHT_PROGBITS, .sh_flags = SHF_ALLOC}, "btf!", 4, ELF_T_BYTE);
	section(f, ".data..percpu",
		(GElf_Shdr){.sh_type = SHT_PROGBITS, .sh_flags = SHF_ALLOC | SHF_WRITE}, code,
		sizeof(code), ELF_T_BYTE);
	if (f->relocated)
		section(f, ".rela.dyn",
			(GElf_Shdr){.sh_type = SHT_RELA, .sh_entsize = sizeof(Elf64_Rela)}, relas,
			sizeof(relas), ELF_T_RELA);
}

/* kallsyms does not have these. */
static const char *const omitted[] = {"$x",
				      "__crc_global_fn",
				      "__kstrtab_global_fn",
				      "__kstrtabns_global_fn",
				      "__export_symbol_global_fn",
				      "__efistub_memcpy"};

static inline void write_symbols(struct elf_file *f, Elf64_Sym *syms)
{
	size_t strtab = f->relocated ? 8 : 7;
	unsigned nr = 0;

	text_str(&f->strings, "");
	memset(&syms[nr++], 0, sizeof(*syms));
	syms[nr++] = symbol(f, "file.c", STB_LOCAL, STT_FILE, SHN_ABS, 0);
	syms[nr++] = symbol(f, ".Lhidden", STB_LOCAL, STT_NOTYPE, 1, TEXT);
	for (size_t i = 0; i < HV_ARRAY_LEN(omitted); i++)
		syms[nr++] = symbol(f, omitted[i], STB_GLOBAL, STT_FUNC, 1, TEXT + 8);
	syms[nr++] = symbol(f, "static_fn", STB_LOCAL, STT_FUNC, 1, TEXT + 32);
	syms[nr++] = symbol(f, "global_fn", STB_GLOBAL, STT_FUNC, 1, TEXT + 16);
	syms[nr++] = symbol(f, "weak_fn", STB_WEAK, STT_FUNC, 1, TEXT + 16);
	syms[nr++] = symbol(f, "table", STB_GLOBAL, STT_OBJECT, 2, RODATA);
	syms[nr++] = symbol(f, "absolute", STB_GLOBAL, STT_NOTYPE, SHN_ABS, 7);
	syms[nr++] = symbol(f, "cpu_number", STB_GLOBAL, STT_OBJECT, 6, 24);
	syms[nr++] = symbol(f, "elsewhere", STB_GLOBAL, STT_FUNC, SHN_UNDEF, 0);
	syms[nr++] = symbol(f, "wild", STB_GLOBAL, STT_FUNC, 4000, 1);
	for (unsigned i = 0; i < f->nr_more; i++)
		syms[nr++] = symbol(f, f->more[i].name, STB_GLOBAL, STT_NOTYPE, 1, f->more[i].addr);
	section(f, ".strtab", (GElf_Shdr){.sh_type = SHT_STRTAB}, f->strings.data,
		f->strings.len_bytes, ELF_T_BYTE);
	section(f, ".symtab",
		(GElf_Shdr){.sh_type = SHT_SYMTAB,
			    .sh_link = (GElf_Word)strtab,
			    .sh_entsize = sizeof(Elf64_Sym)},
		syms, f->without_entries ? 0 : nr * sizeof(*syms), ELF_T_SYM);
}

static inline void write_file(struct elf_file f)
{
	HV_AUTO_FD int fd = open(elf_path, O_RDWR | O_TRUNC);
	Elf64_Sym syms[16 + HV_ARRAY_LEN(omitted) + MORE_MAX];
	GElf_Ehdr ehdr;
	Elf_Scn *names;

	elf_version(EV_CURRENT);
	f.elf = elf_begin(fd, ELF_C_WRITE, NULL);
	ck_assert(f.elf && gelf_newehdr(f.elf, ELFCLASS64));
	gelf_getehdr(f.elf, &ehdr);
	ehdr.e_ident[EI_DATA] = ELFDATA2LSB;
	ehdr.e_machine = f.machine;
	ehdr.e_type = f.type;
	ehdr.e_version = EV_CURRENT;
	text_str(&f.names, "");
	write_sections(&f);
	if (f.with_symbols)
		write_symbols(&f, syms);
	/* the name of this section must be in the table before its size is taken */
	text_str(&f.names, ".shstrtab");
	names = section(&f, "", (GElf_Shdr){.sh_type = SHT_STRTAB}, f.names.data, f.names.len_bytes,
			ELF_T_BYTE);
	elf_getdata(names, NULL)->d_buf = f.names.data;
	ehdr.e_shstrndx = (uint16_t)elf_ndxscn(names);
	gelf_update_ehdr(f.elf, &ehdr);
	ck_assert_msg(elf_update(f.elf, ELF_C_WRITE) > 0, "%s", elf_errmsg(-1));
	elf_end(f.elf);
	hv_text_deinit(&f.names);
	hv_text_deinit(&f.strings);
}

static const struct elf_file good = {.machine = EM_X86_64, .type = ET_EXEC, .with_symbols = true};
