/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads a vmlinux through libelf. libelf checks the bounds of sections and strings; this code
 * checks counts and addresses. */
#include "kernel/image/vmlinux.h"

#include <fcntl.h>
#include <gelf.h>
#include <string.h>

#include "base/bytes.h"
#include "base/prefix.h"

/* An allyesconfig kernel has some 500,000 symbols. */
#define SYMBOLS_MAX 4000000u
#define MCOUNT_MAX  1000000u
#define BTF_MAX	    (256u << 20)

static const struct machine {
	uint16_t elf;
	const char *arch;
	uint32_t relative; /* relocation: the address is the addend */
	uint32_t absolute; /* relocation: symbol + addend, 8 bytes */
} machines[] = {
	{EM_X86_64, "x86_64", R_X86_64_RELATIVE, R_X86_64_64},
	{EM_AARCH64, "aarch64", R_AARCH64_RELATIVE, R_AARCH64_ABS64},
	{EM_RISCV, "riscv64", R_RISCV_RELATIVE, R_RISCV_64},
};

struct file {
	const char *path;
	int fd;
	bool is_borrowed; /* fd is borrowed */
	Elf *elf;
	const struct machine *machine;
	Elf_Scn *symtab; /* NULL if missing */
	GElf_Shdr symtab_shdr;
};

static void file_close(struct file *f)
{
	elf_end(f->elf);
	if (!f->is_borrowed)
		hv_close_at(&f->fd);
}

static struct hv_err *file_open(struct file *f)
{
	GElf_Ehdr ehdr;

	if (f->fd < 0)
		f->fd = open(f->path, O_RDONLY | O_CLOEXEC);
	if (f->fd < 0)
		return hv_err_new(errno, "%s: %s", f->path, strerror(errno));
	(void)elf_version(EV_CURRENT); /* elf_begin() fails if libelf does not know the version */
	f->elf = elf_begin(f->fd, ELF_C_READ_MMAP, NULL);
	if (!f->elf || elf_kind(f->elf) != ELF_K_ELF || !gelf_getehdr(f->elf, &ehdr))
		return hv_err_new(ENOEXEC,
				  "%s: not an ELF file (a compressed boot image is not a "
				  "vmlinux)",
				  f->path);
	for (size_t i = 0; i < HV_ARRAY_LEN(machines); i++)
		if (machines[i].elf == ehdr.e_machine)
			f->machine = &machines[i];
	if (!f->machine || ehdr.e_ident[EI_CLASS] != ELFCLASS64 ||
	    ehdr.e_ident[EI_DATA] != ELFDATA2LSB)
		return hv_err_new(ENOEXEC,
				  "%s: an ELF file for machine %u, %s, which is not "
				  "supported",
				  f->path, ehdr.e_machine,
				  ehdr.e_ident[EI_CLASS] == ELFCLASS64 ? "64 bit" : "32 bit");
	if (ehdr.e_type != ET_EXEC && ehdr.e_type != ET_DYN)
		return hv_err_new(ENOEXEC, "%s: ELF type %u is no linked kernel (a module?)",
				  f->path, ehdr.e_type);
	return NULL;
}

/* Returns the section's bytes, borrowed from libelf; empty if they are not in the file. */
static struct hv_span section_bytes(Elf_Scn *scn)
{
	Elf_Data *data = elf_rawdata(scn, NULL);

	if (!data || !data->d_buf)
		return (struct hv_span){0};
	return (struct hv_span){data->d_buf, data->d_size};
}

static bool note_build_id(Elf_Scn *scn, struct hv_vmlinux *v)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	size_t off = 0, name_off, desc_off;
	GElf_Nhdr note;

	while (data && (off = gelf_getnote(data, off, &note, &name_off, &desc_off)) > 0) {
		if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != 4 ||
		    memcmp((char *)data->d_buf + name_off, "GNU", 4) != 0 || !note.n_descsz ||
		    note.n_descsz > sizeof(v->build_id))
			continue;
		memcpy(v->build_id, (char *)data->d_buf + desc_off, note.n_descsz);
		v->build_id_len_bytes = note.n_descsz;
		return true;
	}
	return false;
}

static void read_sections(struct file *f, struct hv_vmlinux *v)
{
	size_t names = 0; /* without names, .BTF is not found */
	Elf_Scn *scn = NULL;

	elf_getshdrstrndx(f->elf, &names);
	while ((scn = elf_nextscn(f->elf, scn))) {
		GElf_Shdr shdr;
		const char *name;

		if (!gelf_getshdr(scn, &shdr))
			continue;
		name = elf_strptr(f->elf, names, shdr.sh_name);
		if (shdr.sh_type == SHT_SYMTAB) {
			f->symtab = scn;
			f->symtab_shdr = shdr;
		} else if (shdr.sh_type == SHT_NOTE && !v->build_id_len_bytes) {
			note_build_id(scn, v);
		} else if (name && strcmp(name, ".BTF") == 0 && !v->btf) {
			struct hv_span s = section_bytes(scn);

			if (!s.len_bytes || s.len_bytes > BTF_MAX)
				continue;
			v->btf = hv_alloc(s.len_bytes);
			memcpy(v->btf, s.data, s.len_bytes);
			v->btf_len_bytes = s.len_bytes;
		}
	}
}

/* A section's nm letter (lower case), and whether it is x86's zero-based per-CPU area: kallsyms
 * lists symbols in that area as absolute (scripts/kallsyms.c: make_percpus_absolute(), up to
 * 6.14). */
struct section_kind {
	char letter;
	bool percpu;
};

static struct section_kind kind_of(const GElf_Shdr *shdr, const char *name)
{
	if (!(shdr->sh_flags & SHF_ALLOC))
		return (struct section_kind){'n', false};
	if (name && strcmp(name, ".data..percpu") == 0 && !shdr->sh_addr)
		return (struct section_kind){'a', true};
	if (shdr->sh_flags & SHF_EXECINSTR)
		return (struct section_kind){'t', false};
	if (shdr->sh_type == SHT_NOBITS)
		return (struct section_kind){'b', false};
	return (struct section_kind){shdr->sh_flags & SHF_WRITE ? 'd' : 'r', false};
}

/* Returns the kinds of all sections, by index. The caller frees them. */
static struct section_kind *section_kinds(struct file *f, size_t *ret_nr)
{
	size_t nr = 0, names = 0;
	struct section_kind *kinds;

	elf_getshdrnum(f->elf, &nr);
	elf_getshdrstrndx(f->elf, &names);
	kinds = hv_alloc(nr * sizeof(*kinds));
	for (size_t i = 0; i < nr; i++) {
		Elf_Scn *scn = elf_getscn(f->elf, i);
		GElf_Shdr shdr;

		kinds[i].letter = 'n';
		if (scn && gelf_getshdr(scn, &shdr))
			kinds[i] = kind_of(&shdr, elf_strptr(f->elf, names, shdr.sh_name));
	}
	*ret_nr = nr;
	return kinds;
}

/* Returns the letter that nm prints; 0 if /proc/kallsyms does not list the symbol. */
static char symbol_letter(const GElf_Sym *sym, GElf_Word section, const struct section_kind *kinds,
			  size_t nr_kinds)
{
	unsigned type = GELF_ST_TYPE(sym->st_info), bind = GELF_ST_BIND(sym->st_info);
	char letter;

	if (type == STT_FILE || type == STT_SECTION || section == SHN_UNDEF)
		return 0;
	if (section == SHN_ABS)
		letter = 'a';
	else if (section >= nr_kinds || kinds[section].letter == 'n')
		return 0;
	else
		letter = kinds[section].letter;
	if (section < nr_kinds && kinds[section].percpu)
		return 'A';
	if (bind == STB_WEAK)
		return type == STT_OBJECT ? 'V' : 'W';
	return bind == STB_LOCAL ? letter : (char)(letter - 'a' + 'A');
}

/* Names that scripts/kallsyms.c and scripts/mksysmap omit. */
static bool is_skipped(const char *name)
{
	static const char *const prefixes[] = {
		"$", ".L", "__crc_", "__kstrtab", "__export_symbol_", "__efistub_"};

	for (size_t i = 0; i < HV_ARRAY_LEN(prefixes); i++)
		if (hv_starts_with(name, prefixes[i]))
			return true;
	return !*name;
}

struct names {
	char *bytes;
	size_t len_bytes;
	size_t cap_bytes;
};

static size_t names_add(struct names *n, const char *name)
{
	size_t off = n->len_bytes, len = strlen(name) + 1;

	if (n->cap_bytes - off < len) {
		n->cap_bytes = (off + len) * 2;
		n->bytes = hv_realloc_array(n->bytes, n->cap_bytes, 1);
	}
	memcpy(n->bytes + off, name, len);
	n->len_bytes += len;
	return off;
}

static struct hv_err *read_symbols(struct file *f, struct hv_symbols *s)
{
	HV_AUTO_FREE struct section_kind *kinds = NULL;
	HV_AUTO_FREE size_t *name_offs = NULL;
	struct names names = {0};
	size_t nr, nr_kinds;
	Elf_Data *data;

	if (!f->symtab)
		return hv_err_new(ENOENT, "%s: no .symtab (stripped): give the unstripped vmlinux",
				  f->path);
	data = elf_getdata(f->symtab, NULL);
	nr = data ? data->d_size / sizeof(Elf64_Sym) : 0;
	if (!nr || nr > SYMBOLS_MAX)
		return hv_err_new(ENOEXEC, "%s: .symtab has %zu symbols, none or too many", f->path,
				  nr);
	kinds = section_kinds(f, &nr_kinds);
	name_offs = hv_alloc(nr * sizeof(*name_offs));
	s->by_addr = hv_alloc(nr * sizeof(*s->by_addr));
	for (size_t i = 0; i < nr; i++) {
		GElf_Sym sym;
		const char *name;
		char letter;

		if (!gelf_getsym(data, (int)i, &sym))
			break;
		/* No extended section numbers (SHN_XINDEX): kernels have fewer than 65,280
		 * sections. */
		letter = symbol_letter(&sym, sym.st_shndx, kinds, nr_kinds);
		name = letter ? elf_strptr(f->elf, f->symtab_shdr.sh_link, sym.st_name) : NULL;
		if (!name || is_skipped(name))
			continue;
		name_offs[s->nr] = names_add(&names, name);
		s->by_addr[s->nr++] =
			(struct hv_symbol){.addr = hv_gva(sym.st_value), .type = letter};
	}
	s->names = names.bytes;
	for (size_t i = 0; i < s->nr; i++)
		s->by_addr[i].name = s->names + name_offs[i];
	hv_symbols_index(s);
	return NULL;
}

/* Returns the link-time range of the table of sites, or false if not found. */
static bool mcount_range(struct file *f, const struct hv_symbols *s, uint64_t *start, uint64_t *end)
{
	size_t names = 0;
	struct hv_gva first, last;
	Elf_Scn *scn = NULL;

	if (hv_symbols_find(s, "__start_mcount_loc", &first) &&
	    hv_symbols_find(s, "__stop_mcount_loc", &last) && first.v < last.v) {
		*start = first.v;
		*end = last.v;
		return true;
	}
	elf_getshdrstrndx(f->elf, &names);
	while ((scn = elf_nextscn(f->elf, scn))) {
		GElf_Shdr shdr;
		const char *name;

		if (!gelf_getshdr(scn, &shdr) || !shdr.sh_addr || !shdr.sh_size)
			continue;
		name = elf_strptr(f->elf, names, shdr.sh_name);
		if (!name || strcmp(name, "__mcount_loc") != 0)
			continue;
		*start = shdr.sh_addr;
		return !__builtin_add_overflow(shdr.sh_addr, shdr.sh_size, end);
	}
	return false;
}

/* Copies the part of [START, START + 8 * NR) that is in the file; the rest stays 0. */
static void read_words(struct file *f, uint64_t start, uint64_t *words, size_t nr)
{
	Elf_Scn *scn = NULL;

	while ((scn = elf_nextscn(f->elf, scn))) {
		struct hv_span bytes;
		GElf_Shdr shdr;

		if (!gelf_getshdr(scn, &shdr) || shdr.sh_type != SHT_PROGBITS ||
		    !(shdr.sh_flags & SHF_ALLOC) || start < shdr.sh_addr ||
		    start - shdr.sh_addr >= shdr.sh_size)
			continue;
		bytes = section_bytes(scn);
		if (hv_span_copy(bytes, start - shdr.sh_addr, words, nr * 8))
			return;
	}
}

static bool relocated(struct file *f, const GElf_Rela *rela, Elf_Data *symbols, uint64_t *ret)
{
	uint32_t type = (uint32_t)GELF_R_TYPE(rela->r_info);
	GElf_Sym sym;

	if (type == f->machine->relative) {
		*ret = (uint64_t)rela->r_addend;
		return true;
	}
	if (type != f->machine->absolute || !symbols ||
	    !gelf_getsym(symbols, (int)GELF_R_SYM(rela->r_info), &sym))
		return false;
	*ret = sym.st_value + (uint64_t)rela->r_addend;
	return true;
}

/* Position-independent kernels have the addresses in relocations and zeros in the section. */
static void relocate_words(struct file *f, uint64_t start, uint64_t *words, size_t nr)
{
	Elf_Scn *scn = NULL;

	while ((scn = elf_nextscn(f->elf, scn))) {
		GElf_Shdr shdr;
		Elf_Data *data, *symbols;
		GElf_Rela rela;

		if (!gelf_getshdr(scn, &shdr) || shdr.sh_type != SHT_RELA)
			continue;
		data = elf_getdata(scn, NULL);
		symbols = elf_getdata(elf_getscn(f->elf, shdr.sh_link), NULL);
		for (int i = 0; data && gelf_getrela(data, i, &rela); i++) {
			uint64_t index = (rela.r_offset - start) / 8;

			if (rela.r_offset < start || index >= nr || words[index])
				continue;
			relocated(f, &rela, symbols, &words[index]);
		}
	}
}

static int by_value(const void *pa, const void *pb)
{
	uint64_t a = *(const uint64_t *)pa, b = *(const uint64_t *)pb;

	return a < b ? -1 : a > b;
}

static struct hv_err *read_mcount(struct file *f, struct hv_vmlinux *v)
{
	HV_AUTO_FREE uint64_t *words = NULL;
	uint64_t start, end;
	size_t nr;

	if (!mcount_range(f, &v->symbols, &start, &end))
		return NULL;
	nr = (end - start) / 8;
	if (nr > MCOUNT_MAX)
		return hv_err_new(ENOEXEC,
				  "%s: __mcount_loc has %zu entries; at most %u are possible",
				  f->path, nr, MCOUNT_MAX);
	words = hv_alloc(nr * 8);
	read_words(f, start, words, nr);
	relocate_words(f, start, words, nr);
	/* 0: an overridden weak function, cleared at build time (6.15) */
	v->mcount_locs = hv_alloc(nr * 8);
	for (size_t i = 0; i < nr; i++)
		if (words[i])
			v->mcount_locs[v->nr_mcount_locs++] = words[i];
	qsort(v->mcount_locs, v->nr_mcount_locs, 8, by_value);
	return NULL;
}

static bool has_dwarf(Elf *elf)
{
	Elf_Scn *scn = NULL;
	size_t names;

	if (elf_getshdrstrndx(elf, &names) != 0)
		return false;
	while ((scn = elf_nextscn(elf, scn))) {
		GElf_Shdr shdr;
		const char *name =
			gelf_getshdr(scn, &shdr) ? elf_strptr(elf, names, shdr.sh_name) : NULL;

		if (name && (!strcmp(name, ".debug_info") || !strcmp(name, ".zdebug_info")))
			return shdr.sh_type != SHT_NOBITS;
	}
	return false;
}

struct hv_err *hv_vmlinux_open(const struct hv_vmlinux_file *file, struct hv_vmlinux *ret)
{
	hv_cleanup(file_close) struct file f = {
		.path = file->path, .fd = file->fd, .is_borrowed = file->fd >= 0};
	struct hv_vmlinux v = {0};
	struct hv_err *err = file_open(&f);

	if (!err) {
		read_sections(&f, &v);
		err = read_symbols(&f, &v.symbols);
	}
	if (!err)
		err = read_mcount(&f, &v);
	if (err) {
		hv_vmlinux_deinit(&v);
		return err;
	}
	v.arch = f.machine->arch;
	v.has_dwarf = has_dwarf(f.elf);
	v.file = *file;
	*ret = v;
	return NULL;
}

void hv_vmlinux_deinit(struct hv_vmlinux *v)
{
	hv_symbols_deinit(&v->symbols);
	free(v->mcount_locs);
	free(v->btf);
	*v = (struct hv_vmlinux){0};
}
