/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A fake kernel without names of data. It has exported symbols, types, and the structures that they
 * lead to. For the unit test and the fuzzer of hv_unnamed_find(). */
#pragma once

#include <stdio.h>

#include "kernel/unnamed.h"
#include "tests/unit/kernel/fake_kernel.h"

#define FU_RELEASE "6.1.0-50-cloud"
#define FU_VERSION "#1 SMP Debian 6.1.1"
#define FU_BANNER  "Linux version " FU_RELEASE " (gcc) " FU_VERSION "\n"
#define FU_NR	   300u /* exported symbols that are not needed */

enum {
	FU_UTS_RELEASE = 134, /* struct uts_namespace */
	FU_UTS_VERSION = 199,
	FU_PGD = 24, /* struct mm_struct */
	FU_START = 64,
	FU_END = 72,
	FU_PID = 16, /* struct task_struct */
	FU_COMM = 32,
	FU_FIRST = 0x40, /* in the per-CPU section */
	FU_SECOND = 0x100,
	FU_RUNQUEUES = 0x200,
};

struct fu {
	struct fk f;
	uint64_t banner, types; /* constants: FU_BANNER is in front of the types */
	uint64_t uts, task, mm, root, nr_cpu_ids, percpu;
	uint64_t table; /* of exported symbols */
	unsigned nr_exported;
};

static inline uint32_t fu_variable(const char *name)
{
	uint32_t id = type(14, name, 0, 0, 1);

	u32(1);
	return id;
}

static inline void fu_types(void)
{
	uint32_t utsname =
		FK_STRUCT("new_utsname", 390, {"release", 130, 65}, {"version", 195, 65});
	const struct {
		uint32_t variable, off;
	} of_cpu[] = {
		{fu_variable("first"), FU_FIRST},
		{fu_variable("second"), FU_SECOND},
		{fu_variable("runqueues"), FU_RUNQUEUES},
	};

	FK_STRUCT("uts_namespace", 424, {"name", 4, 0, utsname});
	FK_STRUCT("mm_struct", 128, {"pgd", FU_PGD, 8}, {"start_code", FU_START, 8},
		  {"end_code", FU_END, 8});
	FK_STRUCT("task_struct", 64, {"pid", FU_PID, 4}, {"comm", FU_COMM, 16});
	type(15, ".data..percpu", HV_ARRAY_LEN(of_cpu), 0, 0x1000);
	for (size_t i = 0; i < HV_ARRAY_LEN(of_cpu); i++) {
		u32(of_cpu[i].variable);
		u32(of_cpu[i].off);
		u32(8);
	}
}

/* Returns the address of entry I of the table. */
static inline uint64_t fu_entry(const struct fu *u, unsigned i)
{
	return u->table + 12ull * i;
}

/* Exports AT with the name NAME, which is stored after the table. */
static inline void fu_export(struct fu *u, const char *name, uint64_t at)
{
	uint64_t entry = fu_entry(u, u->nr_exported);
	uint64_t string = u->table + 0x2000 + 24ull * u->nr_exported++;

	fk_str(&u->f, string, name);
	fk_u32(&u->f, entry, (uint32_t)(at - entry));
	fk_u32(&u->f, entry + 4, (uint32_t)(string - (entry + 4)));
	fk_u32(&u->f, entry + 8, (uint32_t)(string + strlen(name) - (entry + 8)));
}

static inline void fu_fill(struct fu *u)
{
	char name[16];

	fk_str(&u->f, u->banner, FU_BANNER);
	fk_str(&u->f, u->uts + FU_UTS_RELEASE, FU_RELEASE);
	fk_str(&u->f, u->uts + FU_UTS_VERSION, FU_VERSION);
	fk_str(&u->f, u->task + FU_COMM, "swapper/0");
	fk_u64(&u->f, u->mm + FU_PGD, u->root);
	fk_u64(&u->f, u->mm + FU_START, FK_BASE + 0x1000);
	fk_u64(&u->f, u->mm + FU_END, FK_DATA);
	for (unsigned i = 0; i < FU_NR; i++) {
		snprintf(name, sizeof(name), "n%u", i);
		fu_export(u, name, u->uts + i);
	}
	fu_export(u, "init_uts_ns", u->uts);
	fu_export(u, "init_task", u->task);
	fu_export(u, "nr_cpu_ids", u->nr_cpu_ids);
	fu_export(u, "first", u->percpu + FU_FIRST);
	fu_export(u, "second", u->percpu + FU_SECOND);
}

static inline void fu_init(struct fu *u)
{
	*u = (struct fu){0};
	fk_init(&u->f);
	/* Only functions of the kernel have names. */
	u->f.k.core.symbols.nr = 0;
	fu_types();
	u->banner = fk_alloc(&u->f, 4096);
	u->table = fk_alloc(&u->f, 0x4000);
	u->types = fk_alloc(&u->f, 4096);
	u->uts = fk_alloc(&u->f, 4096);
	u->task = fk_alloc(&u->f, 4096);
	u->mm = fk_alloc(&u->f, 4096);
	u->root = fk_alloc(&u->f, 4096);
	u->nr_cpu_ids = fk_alloc(&u->f, 4096);
	u->percpu = fk_alloc(&u->f, 4096);
	fk_symbol(&u->f, "_stext", FK_BASE + 0x1000);
	fk_symbol(&u->f, "_etext", FK_DATA);
	fk_symbol(&u->f, "__start_BTF", u->types);
	fu_fill(u);
	fk_done(&u->f);
	u->f.k.core.image.len_bytes = u->f.brk - FK_BASE;
	/* The page tables are outside the image here. Pretend that their root is at ROOT. */
	u->f.k.core.image.gpa = hv_gpa(u->f.k.core.as.root.v - (u->root - FK_BASE));
}

static inline void fu_forget(struct fu *u)
{
	hv_symbols_deinit(&u->f.k.core.unnamed);
	u->f.k.core.unnamed = (struct hv_symbols){0};
}

static inline void fu_deinit(struct fu *u)
{
	fu_forget(u);
	fk_deinit(&u->f);
}
