/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A kernel that has only data: memory behind page tables, symbols and BTF. For tests of code that
 * reads the kernel's structures. The state is static: make one kernel per test. */
#pragma once

#include "kernel/kernel.h"
#include "tests/unit/kernel/types/btf_build.h"
#include "tests/unit/kernel/x86_machine.h"

#define FK_BASE	   0xffffffff81000000ull /* image: its first MiB is text, the rest is data */
#define FK_DATA	   (FK_BASE + 0x100000)
#define FK_END	   (FK_BASE + 0x800000)
#define FK_GPA	   0x200000ull
#define FK_MODULES 0xffffffffc0000000ull /* 2 MiB for modules */
#ifndef FK_SYMBOLS
#define FK_SYMBOLS 64
#endif
#define FK_NR_CPUS   2u
#define FK_PERCPU(n) (0x1000ull * (n)) /* one page per variable */

struct fk_member {
	const char *name;
	uint32_t off;
	uint32_t len_bytes;
	uint32_t type_id; /* 0: bytes */
};

struct fk {
	struct xm machine;
	struct hv_kernel k;
	uint64_t brk; /* next allocation */
	uint64_t areas[FK_NR_CPUS];
};

static inline uint8_t *fk_host(struct fk *f, uint64_t gva)
{
	if (gva >= FK_MODULES)
		return f->machine.ram + FK_GPA + (FK_END - FK_BASE) + (gva - FK_MODULES);
	return f->machine.ram + FK_GPA + (gva - FK_BASE);
}

static inline void fk_u64(struct fk *f, uint64_t gva, uint64_t v)
{
	memcpy(fk_host(f, gva), &v, 8);
}

static inline void fk_u32(struct fk *f, uint64_t gva, uint32_t v)
{
	memcpy(fk_host(f, gva), &v, 4);
}

static inline void fk_str(struct fk *f, uint64_t gva, const char *s)
{
	memcpy(fk_host(f, gva), s, strlen(s) + 1);
}

static inline uint64_t fk_alloc(struct fk *f, uint64_t len_bytes)
{
	uint64_t at = f->brk;

	f->brk += (len_bytes + 4095) & ~4095ull;
	return at;
}

/* Returns whether GVA of the image is at GPA. */
static inline bool fk_is_at(struct hv_gpa gpa, uint64_t gva)
{
	return gpa.v == FK_GPA + (gva - FK_BASE);
}

/* Call it in the order of addresses, per-CPU symbols first. */
static inline void fk_symbol(struct fk *f, const char *name, uint64_t addr)
{
	struct hv_symbols *s = &f->k.core.symbols;

	if (!s->by_addr)
		s->by_addr = hv_alloc(FK_SYMBOLS * sizeof(*s->by_addr));
	s->by_addr[s->nr++] = (struct hv_symbol){hv_gva(addr), name, 'T'};
}

/* Moves symbol NAME to ADDR. The order of the symbols must stay the same. */
static inline void fk_move_symbol(struct fk *f, const char *name, uint64_t addr)
{
	struct hv_symbols *s = &f->k.core.symbols;

	for (size_t i = 0; i < s->nr; i++)
		if (!strcmp(s->by_addr[i].name, name))
			s->by_addr[i].addr = hv_gva(addr);
	hv_symbols_index(s);
}

static inline uint32_t fk_struct(const char *name, uint32_t len_bytes,
				 const struct fk_member *members, unsigned nr)
{
	uint32_t byte = integer("char", 1), ids[16], id;

	for (unsigned i = 0; i < nr; i++)
		ids[i] =
			members[i].type_id ? members[i].type_id : array(byte, members[i].len_bytes);
	id = type(STRUCT, name, nr, 0, len_bytes);
	for (unsigned i = 0; i < nr; i++)
		member(members[i].name, ids[i], members[i].off * 8);
	return id;
}
#define FK_STRUCT(name, len, ...)                                                                  \
	fk_struct(name, len, (const struct fk_member[]){__VA_ARGS__},                              \
		  HV_ARRAY_LEN(((const struct fk_member[]){__VA_ARGS__})))

static inline void fk_init(struct fk *f)
{
	uint64_t offsets;

	*f = (struct fk){.brk = FK_DATA};
	begin();
	xm_init(&f->machine);
	f->k.guest = f->machine.guest;
	f->k.core.as = (struct hv_address_space){f->machine.guest, &hv_arch_x86_64,
						 xm_table(&f->machine), 4};
	xm_map(&f->machine, f->k.core.as.root, 4, 2, hv_gva(FK_BASE), hv_gpa(FK_GPA), 4, XM_W);
	xm_map(&f->machine, f->k.core.as.root, 4, 2, hv_gva(FK_MODULES),
	       hv_gpa(FK_GPA + FK_END - FK_BASE), 1, XM_W);
	f->k.text = (struct hv_gva_range){hv_gva(FK_BASE), hv_gva(FK_DATA)};
	f->k.core.image.text = f->k.text;
	f->k.core.image.all = (struct hv_gva_range){hv_gva(FK_BASE), hv_gva(FK_END)};
	f->k.core.image.bytes = fk_host(f, FK_BASE);
	f->k.core.image.len_bytes = FK_END - FK_BASE;
	f->k.layout.nr_cpus = FK_NR_CPUS;
	offsets = fk_alloc(f, 4096);
	fk_symbol(f, "__per_cpu_offset", offsets);
	for (unsigned cpu = 0; cpu < FK_NR_CPUS; cpu++) {
		f->areas[cpu] = fk_alloc(f, FK_PERCPU(10));
		fk_u64(f, offsets + 8 * cpu, f->areas[cpu]);
	}
}

/* Gives the kernel the types that were made since begin(). */
static inline void fk_use_types(struct fk *f)
{
	HV_AUTO_TEXT struct hv_text file = assemble();

	hv_btf_free(f->k.core.btf);
	f->k.core.btf = NULL;
	hv_err_free(hv_btf_new((struct hv_span){(uint8_t *)file.data, file.len_bytes}, NULL,
			       &f->k.core.btf));
}

/* Call it after the last symbol and type. */
static inline void fk_done(struct fk *f)
{
	hv_symbols_index(&f->k.core.symbols);
	fk_use_types(f);
}

static inline void fk_deinit(struct fk *f)
{
	hv_modules_deinit(&f->k.modules);
	hv_sites_deinit(&f->k.sites);
	hv_symbols_deinit(&f->k.core.symbols);
	hv_btf_free(f->k.core.btf);
	xm_deinit(&f->machine);
	begin();
	hv_text_deinit(&strings);
}
