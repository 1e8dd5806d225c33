/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A fake kernel with ftrace records and modules, for unit tests and the fuzzer. */
#pragma once

#include <elf.h>

#include "tests/unit/kernel/fake_kernel.h"

#define FS_ENABLED  0x80000000u
#define FS_DISABLED 0x02000000u
#define FS_TOUCHED  0x00100000u

#define FS_MODULE_LEN 512u
#define FS_STATE      0u
#define FS_LIST	      8u
#define FS_NAME	      24u
#define FS_KALLSYMS   80u
#define FS_TEXT	      96u
#define FS_SELF	      120u /* mkobj.mod */

struct fs {
	struct fk f;
	uint64_t pages_start; /* the symbol */
	uint64_t last_next;   /* pointer to the next group */
	uint64_t modules;
	uint64_t last_module;
};

static inline void fs_types(void)
{
	uint32_t list = FK_STRUCT("list_head", 16, {"next", 0, 8}, {"prev", 8, 8});
	uint32_t object = FK_STRUCT("module_kobject", 8, {"mod", 0, 8});
	uint32_t text = FK_STRUCT("module_layout", 16, {"base", 0, 8}, {"text_size", 12, 4});

	FK_STRUCT("ftrace_page", 24, {"next", 0, 8}, {"records", 8, 8}, {"index", 16, 4},
		  {"order", 20, 4});
	FK_STRUCT("dyn_ftrace", 16, {"ip", 0, 8}, {"flags", 8, 8});
	enumerator("FTRACE_FL_ENABLED", FS_ENABLED);
	enumerator("FTRACE_FL_DISABLED", FS_DISABLED);
	enumerator("FTRACE_FL_TOUCHED", FS_TOUCHED);
	FK_STRUCT("module", FS_MODULE_LEN, {"state", FS_STATE, 4}, {"list", FS_LIST, 0, list},
		  {"name", FS_NAME, 56}, {"kallsyms", FS_KALLSYMS, 8},
		  {"core_layout", FS_TEXT, 0, text}, {"mkobj", FS_SELF, 0, object});
	FK_STRUCT("mod_kallsyms", 32, {"symtab", 0, 8}, {"num_symtab", 8, 4}, {"strtab", 16, 8},
		  {"typetab", 24, 8});
	enumerator("MODULE_STATE_UNFORMED", 3);
	enumerator("MODULE_STATE_GOING", 2);
}

static inline void fs_init(struct fs *s)
{
	*s = (struct fs){0};
	fk_init(&s->f);
	fs_types();
	fk_symbol(&s->f, "first", FK_BASE);
	fk_symbol(&s->f, "second", FK_BASE + 0x100);
	fk_symbol(&s->f, "third", FK_BASE + 0x200);
	fk_symbol(&s->f, "_sinittext", FK_BASE + 0x80000);
	fk_symbol(&s->f, "_einittext", FK_BASE + 0x81000);
	s->pages_start = s->last_next = fk_alloc(&s->f, 8);
	s->modules = s->last_module = fk_alloc(&s->f, 16);
	fk_symbol(&s->f, "ftrace_pages_start", s->pages_start);
	fk_symbol(&s->f, "modules", s->modules);
	fk_u64(&s->f, s->modules, s->modules);
	fk_u64(&s->f, s->modules + 8, s->modules);
	fk_done(&s->f);
}

struct fs_record {
	uint64_t ip;
	uint64_t flags;
};

/* Adds a group of records. Returns its struct ftrace_page. */
static inline uint64_t fs_group(struct fs *s, const struct fs_record *records, unsigned nr)
{
	uint64_t page = fk_alloc(&s->f, 24), at = fk_alloc(&s->f, nr * 16);

	memcpy(fk_host(&s->f, at), records, nr * 16);
	fk_u64(&s->f, s->last_next, page);
	fk_u64(&s->f, page + 8, at);
	fk_u32(&s->f, page + 16, nr);
	s->last_next = page;
	return page;
}

struct fs_symbol {
	const char *name;
	uint64_t addr;
	uint16_t shndx;
};

/* Adds a module. Returns its struct module. */
static inline uint64_t fs_module(struct fs *s, const char *name, uint32_t state, uint64_t text,
				 uint32_t text_len, const struct fs_symbol *symbols, unsigned nr)
{
	uint64_t module = fk_alloc(&s->f, FS_MODULE_LEN), kallsyms = fk_alloc(&s->f, 32);
	uint64_t symtab = fk_alloc(&s->f, 4096), strtab = fk_alloc(&s->f, 4096);
	uint64_t typetab = fk_alloc(&s->f, 4096);
	uint32_t off = 1;

	for (unsigned i = 0; i < nr; i++) {
		Elf64_Sym sym = {
			.st_name = off, .st_shndx = symbols[i].shndx, .st_value = symbols[i].addr};

		memcpy(fk_host(&s->f, symtab + (i + 1) * sizeof(sym)), &sym, sizeof(sym));
		fk_str(&s->f, strtab + off, symbols[i].name);
		*fk_host(&s->f, typetab + i + 1) = 't';
		off += (uint32_t)strlen(symbols[i].name) + 1;
	}
	fk_u64(&s->f, kallsyms, symtab);
	fk_u32(&s->f, kallsyms + 8, nr + 1);
	fk_u64(&s->f, kallsyms + 16, strtab);
	fk_u64(&s->f, kallsyms + 24, typetab);
	fk_u32(&s->f, module + FS_STATE, state);
	fk_str(&s->f, module + FS_NAME, name);
	fk_u64(&s->f, module + FS_KALLSYMS, kallsyms);
	fk_u64(&s->f, module + FS_TEXT, text);
	fk_u32(&s->f, module + FS_TEXT + 12, text_len);
	fk_u64(&s->f, module + FS_SELF, module);
	fk_u64(&s->f, s->last_module, module + FS_LIST);
	fk_u64(&s->f, module + FS_LIST, s->modules);
	fk_u64(&s->f, module + FS_LIST + 8, s->last_module);
	fk_u64(&s->f, s->modules + 8, module + FS_LIST);
	s->last_module = module + FS_LIST;
	return module;
}

static inline void fs_deinit(struct fs *s)
{
	fk_deinit(&s->f);
}
