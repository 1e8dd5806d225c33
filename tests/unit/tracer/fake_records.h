/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A traced guest with return addresses in frame records, which may be signed, as on arm64. The page
 * tables of the fake kernel are x86-64's, which makes no difference for this code. */
#pragma once

#include "tests/lib/expect.h"
#include "tests/unit/tracer/fake_returns.h"

#define FORMAT	   hv_arch_arm64.formats[1] /* 4 KiB pages, 48 bits */
#define NR_RECORDS 12u
#define SPACING	   0x40u
#define WAY	   2u

static struct fr r;
static struct hv_arch arch;
static unsigned way;
static bool is_signed;
static const uint64_t key[2] = {0x1122334455667788, 0x99aabbccddeeff00};

/* Returns the stack pointer at the entry of the function with record NR. */
static inline uint64_t retp_of(uint64_t task, unsigned nr)
{
	return ft_stack(&r.t, task) + FR_SLEEP_FROM + SPACING * (nr + 1);
}

static inline uint64_t saved_at(uint64_t task, unsigned nr)
{
	return retp_of(task, nr) - SPACING + 8;
}

static inline uint64_t word_for(uint64_t task, unsigned nr, uint64_t address)
{
	return is_signed ? FORMAT->sign(way, address, retp_of(task, nr), key) : address;
}

static inline void set_record(uint64_t task, unsigned nr, uint64_t address)
{
	fk_u64(&r.t.f, saved_at(task, nr) - 8,
	       nr + 1 == NR_RECORDS ? ft_stack(&r.t, task) + FT_LAST_RECORD : retp_of(task, nr));
	fk_u64(&r.t.f, saved_at(task, nr), word_for(task, nr, address));
}

static inline void make_task(uint64_t task)
{
	for (unsigned nr = 0; nr < NR_RECORDS; nr++)
		set_record(task, nr, FR_CALLER + nr);
	for (unsigned i = 0; i < 2; i++)
		fk_u64(&r.t.f, task + FT_KEY + 8 * i, key[i]);
	fk_u64(&r.t.f, task + FT_FP, saved_at(task, 0) - 8);
}

static inline void set_up_with(unsigned of_way, bool with_signatures, void (*declare)(struct fk *f))
{
	fr_init_with(&r, declare);
	way = of_way;
	is_signed = with_signatures;
	arch = hv_arch_x86_64;
	arch.name = hv_arch_arm64.name;
	arch.strip_signature = FORMAT->strip_signature;
	arch.sign = FORMAT->sign;
	arch.signature_bits = FORMAT->signature_bits;
	arch.nr_signings = FORMAT->nr_signings;
	arch.frame_register = FORMAT->frame_register;
	arch.link_register = FORMAT->link_register;
	r.t.f.k.core.as.arch = &arch;
	make_task(r.task);
}

static inline void declare(struct fk *f)
{
	fk_symbol(f, "__entry_text_start", FK_BASE + 0x900);
	fk_symbol(f, "__entry_text_end", FK_BASE + 0x980);
}

/* Adds a frame and its record as the trampoline leaves them. */
static inline void open_frame(uint64_t task, unsigned nr)
{
	fr_frame(&r, 0, retp_of(task, nr), FR_CALLER + nr);
	set_record(task, nr, FR_HANDLER);
}

static inline void check_put_back(uint64_t task, unsigned nr_writes)
{
	r.nr_writes = 0;
	expect_success(fr_put_back(&r));
	for (unsigned i = 0; i < NR_RECORDS; i++)
		ck_assert_uint_eq(fr_word(&r, saved_at(task, i)), word_for(task, i, FR_CALLER + i));
	ck_assert_uint_eq(r.nr_writes, nr_writes);
	ck_assert_uint_eq(hv_returns_open(&r.tracee), 0);
}

static inline void check_refused(int code, const char *why)
{
	size_t nr = hv_returns_open(&r.tracee);

	expect_error(fr_put_back(&r), code, why);
	ck_assert_uint_eq(r.nr_writes, 0);
	ck_assert_uint_eq(hv_returns_open(&r.tracee), nr);
}

static inline void check_graph(int code, const char *why)
{
	struct hv_err *err = hv_returns_check(&r.tracee);

	if (why)
		expect_error(err, code, why);
	else
		expect_success(err);
}
