/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/programs/elf_symbols.h"

#include <stdlib.h>
#include <string.h>

#include "base/cancel.h"
#include "base/guard.h"
#include "kernel/programs/elf_file.h"

#define SYMBOLS_MAX  (1u << 20)
#define CHUNK	     128	       /* symbols */
#define STEPS_MAX    (4 * SYMBOLS_MAX) /* of a search */
#define NAME_STEPS   64
#define NOTES_MAX    4096
#define NR_NOTES_MAX 8

/* A table of symbols and its strings, by offset in the file. */
struct table {
	uint64_t symbols, symbols_len, strings, strings_len;
};

/* -- functions ---------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
	const struct hv_elf_place *x = *(struct hv_elf_place *const *)a;
	const struct hv_elf_place *y = *(struct hv_elf_place *const *)b;

	return x->vaddr < y->vaddr ? -1 : x->vaddr > y->vaddr;
}

/* The places that still need a name, by address. */
struct search {
	const struct hv_elf *e;
	struct hv_elf_place **places; /* owned */
	size_t nr;
	uint32_t *names;  /* owned; by place: offset of the name in the strings, plus 1; 0: none */
	uint64_t *starts; /* owned */
	/* Remaining steps: a symbol, or a place in it. A file can have thousands of tables, whose
	 * symbols contain all places. */
	uint64_t steps;
	size_t nr_spent;
};

static bool spend(struct search *s, uint64_t steps)
{
	if (s->steps < steps || hv_cancel_now(++s->nr_spent))
		s->steps = 0;
	else
		s->steps -= steps;
	return s->steps;
}

static bool is_function(const Elf64_Sym *s)
{
	unsigned type = ELF64_ST_TYPE(s->st_info);

	return (type == STT_FUNC || type == STT_GNU_IFUNC) && s->st_shndx != SHN_UNDEF &&
	       s->st_size && s->st_value + s->st_size > s->st_value;
}

/* The innermost function wins, and of several names for it the first. */
static void see_symbol(struct search *s, const Elf64_Sym *symbol)
{
	size_t low = 0, high = s->nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (s->places[middle]->vaddr < symbol->st_value)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < s->nr && s->places[low]->vaddr - symbol->st_value < symbol->st_size; low++) {
		if (!spend(s, 1))
			return;
		if (s->names[low] && s->starts[low] >= symbol->st_value)
			continue;
		s->names[low] = symbol->st_name + 1;
		s->starts[low] = symbol->st_value;
	}
}

static char *name_at(const struct hv_elf *e, const struct table *t, uint32_t off)
{
	char name[HV_ELF_NAME_MAX];
	size_t len = sizeof(name) - 1;

	if (off >= t->strings_len)
		return NULL;
	if (len > t->strings_len - off)
		len = (size_t)(t->strings_len - off);
	/* The end may be on a page that is not there. */
	while (len && !hv_elf_read(e->file, t->strings + off, name, len))
		len /= 2;
	name[len] = '\0';
	return *name && (strlen(name) < len || len == sizeof(name) - 1) ? hv_strdup(name) : NULL;
}

static void search_table(struct search *s, const struct table *t)
{
	uint64_t nr = t->symbols_len / sizeof(Elf64_Sym);

	memset(s->names, 0, s->nr * sizeof(*s->names));
	for (uint64_t at = 0; at < nr && at < SYMBOLS_MAX && spend(s, CHUNK); at += CHUNK) {
		Elf64_Sym chunk[CHUNK];
		size_t len = nr - at < CHUNK ? (size_t)(nr - at) : CHUNK;

		if (!hv_elf_read(s->e->file, t->symbols + at * sizeof(Elf64_Sym), chunk,
				 len * sizeof(*chunk)))
			continue;
		for (size_t i = 0; i < len; i++)
			if (is_function(&chunk[i]))
				see_symbol(s, &chunk[i]);
	}
	for (size_t i = 0; i < s->nr; i++) {
		if (!s->names[i] || s->places[i]->name)
			continue;
		if (!spend(s, NAME_STEPS))
			return;
		s->places[i]->name = name_at(s->e, t, s->names[i] - 1);
		s->places[i]->start = s->starts[i];
	}
}

/* Searches the section TYPE, which has symbols. */
static void search_section(struct search *s, uint32_t type)
{
	const Elf64_Ehdr *h = &s->e->head;
	Elf64_Shdr section, strings;

	if (h->e_shentsize != sizeof(section))
		return;
	for (unsigned i = 0; i < h->e_shnum && i < HV_ELF_SECTIONS_MAX; i++) {
		struct table t;

		if (!hv_elf_read(s->e->file, h->e_shoff + i * sizeof(section), &section,
				 sizeof(section)) ||
		    section.sh_type != type || section.sh_link >= h->e_shnum ||
		    !hv_elf_read(s->e->file, h->e_shoff + section.sh_link * sizeof(section),
				 &strings, sizeof(strings)))
			continue;
		t = (struct table){section.sh_offset, section.sh_size, strings.sh_offset,
				   strings.sh_size};
		search_table(s, &t);
	}
}

#define DYNAMIC_MAX 128

/* Searches the symbols that the dynamic linker uses. Their tables are in memory where it has used
 * them, even if the headers of sections are not. All linkers put the strings after the symbols. */
static void search_dynamic(struct search *s)
{
	const struct hv_elf *e = s->e;
	Elf64_Dyn list[DYNAMIC_MAX];
	struct table t = {0};
	size_t nr = 0;

	for (unsigned i = 0; i < e->nr_phdrs; i++) {
		const Elf64_Phdr *p = &e->phdrs[i];

		if (p->p_type != PT_DYNAMIC)
			continue;
		nr = p->p_filesz / sizeof(*list);
		nr = nr < DYNAMIC_MAX ? nr : DYNAMIC_MAX;
		if (!hv_elf_read(e->file, p->p_offset, list, nr * sizeof(*list)))
			return;
	}
	for (size_t i = 0; i < nr && list[i].d_tag != DT_NULL; i++) {
		if (list[i].d_tag == DT_SYMTAB)
			t.symbols = hv_elf_offset(e, list[i].d_un.d_ptr);
		else if (list[i].d_tag == DT_STRTAB)
			t.strings = hv_elf_offset(e, list[i].d_un.d_ptr);
		else if (list[i].d_tag == DT_STRSZ)
			t.strings_len = list[i].d_un.d_val;
	}
	if (!t.symbols || t.strings <= t.symbols)
		return;
	t.symbols_len = t.strings - t.symbols;
	search_table(s, &t);
}

static void search(const struct hv_elf *e, struct hv_elf_place *list, size_t nr)
{
	HV_AUTO_FREE struct hv_elf_place **places = hv_alloc((nr + 1) * sizeof(*places));
	HV_AUTO_FREE uint32_t *names = hv_alloc((nr + 1) * sizeof(*names));
	HV_AUTO_FREE uint64_t *starts = hv_alloc((nr + 1) * sizeof(*starts));
	struct search s = {
		.e = e, .places = places, .names = names, .starts = starts, .steps = STEPS_MAX};

	for (size_t i = 0; i < nr; i++)
		if (list[i].vaddr && !list[i].name)
			places[s.nr++] = &list[i];
	if (!s.nr)
		return;
	qsort(places, s.nr, sizeof(struct hv_elf_place *), compare);
	search_section(&s, SHT_SYMTAB);
	search_section(&s, SHT_DYNSYM);
	search_dynamic(&s);
}

void hv_elf_find_functions(const struct hv_elf_file *f, struct hv_elf_place *list, size_t nr)
{
	HV_AUTO_FREE struct hv_elf *e = hv_alloc(sizeof(*e));

	if (!hv_elf_open(f, e))
		return;
	for (size_t i = 0; i < nr; i++)
		list[i].vaddr = hv_elf_address(e, list[i].off);
	search(e, list, nr);
}

void hv_elf_find_functions_at(const struct hv_elf_file *f, struct hv_elf_place *list, size_t nr)
{
	HV_AUTO_FREE struct hv_elf *e = hv_alloc(sizeof(*e));

	if (hv_elf_open(f, e))
		search(e, list, nr);
}

/* -- the build id ------------------------------------------------------------------------------- */

static size_t find_id(const uint8_t *notes, size_t len, uint8_t ret[HV_ELF_BUILD_ID_MAX])
{
	Elf64_Nhdr n;

	for (size_t at = 0; len - at >= sizeof(n);) {
		size_t name_len, id_len;

		memcpy(&n, notes + at, sizeof(n));
		at += sizeof(n);
		if (n.n_namesz > NOTES_MAX || n.n_descsz > NOTES_MAX)
			return 0;
		name_len = (n.n_namesz + 3u) & ~3u;
		id_len = (n.n_descsz + 3u) & ~3u;
		if (name_len + id_len > len - at)
			return 0;
		if (n.n_type == NT_GNU_BUILD_ID && n.n_namesz == 4 &&
		    memcmp(notes + at, "GNU", 4) == 0 && n.n_descsz <= HV_ELF_BUILD_ID_MAX) {
			memcpy(ret, notes + at + name_len, n.n_descsz);
			return n.n_descsz;
		}
		at += name_len + id_len;
	}
	return 0;
}

size_t hv_elf_build_id(const struct hv_elf_file *f, uint8_t ret[HV_ELF_BUILD_ID_MAX])
{
	HV_AUTO_FREE struct hv_elf *e = hv_alloc(sizeof(*e));
	uint8_t notes[NOTES_MAX];
	unsigned nr_notes = 0;
	size_t found = 0;

	if (!hv_elf_open(f, e))
		return 0;
	for (unsigned i = 0; !found && i < e->nr_phdrs; i++) {
		const Elf64_Phdr *p = &e->phdrs[i];
		size_t len = p->p_filesz < NOTES_MAX ? (size_t)p->p_filesz : NOTES_MAX;

		if (p->p_type == PT_NOTE && nr_notes++ < NR_NOTES_MAX &&
		    hv_elf_read(f, p->p_offset, notes, len))
			found = find_id(notes, len, ret);
	}
	return found;
}
