/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Structures of tracepoints of a kernel before 5.10: there are no iterators, and each caller goes
 * through the array of callbacks itself, in code that no branch reaches while the tracepoint is
 * off. */
#include <check.h>

#define FK_SYMBOLS 128
#include "kernel/derive/tracepoint_members.h"
#include "tests/lib/run_suite.h"
#include "tests/unit/kernel/fake_kernel.h"

#define CODE	    (FK_BASE + 0x40000)
#define FUNCS_OFF   40u
#define TRACEPOINTS 6u
#define EMPTY	    (FK_BASE + 0x50000)

static struct fk fk;
static struct hv_deriving d;
static uint64_t tracepoints, code_end;

static const char *const names[TRACEPOINTS] = {"sched_migrate_task", "sched_wakeup_new",
					       "softirq_raise",	     "kfree",
					       "kmem_cache_alloc",   "kmem_cache_free"};
static const char *const callers[TRACEPOINTS] = {"set_task_cpu",     "wake_up_new_task",
						 "raise_softirq",    "kfree",
						 "kmem_cache_alloc", "kmem_cache_free"};

static void put(uint64_t *at, const char *bytes, size_t len)
{
	memcpy(fk_host(&fk, *at), bytes, len);
	*at += len;
}
#define PUT(at, bytes) put(at, bytes, sizeof(bytes) - 1)

static void function(const char *name, const char *bytes, size_t len)
{
	fk_symbol(&fk, name, code_end);
	put(&code_end, bytes, len);
	code_end = (code_end + 15) & ~15ull;
}
#define FUNCTION(name, bytes) function(name, bytes, sizeof(bytes) - 1)

/* A function that calls tracepoint I. Its loop is after its return. */
static void caller(unsigned i, uint8_t stride, bool reads_data)
{
	uint64_t at = code_end, load;
	const char add[] = {0x49, (char)0x83, (char)0xc4, (char)stride}; /* add $stride,%r12 */

	fk_symbol(&fk, callers[i], at);
	PUT(&at, "\x0f\x1f\x44\x00\x00"); /* the static key's nop */
	PUT(&at, "\x8b\x43\x3c");	  /* mov 0x3c(%rbx),%eax */
	PUT(&at, "\xc3");
	load = at;
	PUT(&at, "\x4c\x8b\x25\x00\x00\x00\x00"); /* mov funcs(%rip),%r12 */
	fk_u32(&fk, load + 3, (uint32_t)(tracepoints + 64 * i + FUNCS_OFF - at));
	PUT(&at, "\x4d\x85\xe4\x74\x1e"); /* test %r12,%r12; je */
	PUT(&at, "\x49\x8b\x04\x24");	  /* mov (%r12),%rax */
	if (reads_data)
		PUT(&at, "\x49\x8b\x7c\x24\x08"); /* mov 0x8(%r12),%rdi */
	put(&at, add, sizeof(add));
	PUT(&at, "\x44\x89\xea\xff\xd0");	  /* mov %r13d,%edx; call *%rax */
	PUT(&at, "\x49\x8b\x04\x24\x48\x85\xc0"); /* mov (%r12),%rax; test %rax,%rax */
	PUT(&at, "\xeb\xd0");
	code_end = (at + 15) & ~15ull;
}

/* The functions that add and remove a callback: they copy an element, and free the old array
 * through the bytes before it. */
static void add_functions(void)
{
	FUNCTION("tracepoint_add_func", "\x4c\x8b\x67\x28" /* mov 0x28(%rdi),%r12 */
					"\x48\x8b\x16"	   /* mov (%rsi),%rdx */
					"\x48\x8b\x56\x08" /* mov 0x8(%rsi),%rdx */
					"\x48\x8b\x56\x10" /* mov 0x10(%rsi),%rdx */
					"\x45\x3b\x41\x10" /* cmp 0x10(%r9),%r8d */
					"\x48\x89\x47\x28" /* mov %rax,0x28(%rdi) */
					"\x48\x8d\x47\x08" /* lea 0x8(%rdi),%rax */
					"\x49\x8d\x7c\x24\xf0\xc3" /* lea -0x10(%r12),%rdi */);
	FUNCTION("tracepoint_probe_unregister",
		 "\x4c\x8b\x67\x28" /* mov 0x28(%rdi),%r12 */
		 "\x48\x89\x47\x28" /* mov %rax,0x28(%rdi) */
		 "\x49\x8d\x7c\x24\xf0\xc3" /* lea -0x10(%r12),%rdi */);
}

static void make_tracepoints(void)
{
	tracepoints = fk_alloc(&fk, 64 * TRACEPOINTS + 64);
	for (unsigned i = 0; i < TRACEPOINTS; i++) {
		uint64_t at = tracepoints + 64 * i, name = fk_alloc(&fk, 64);
		HV_AUTO_FREE char *symbol = hv_format("__tracepoint_%s", names[i]);
		HV_AUTO_FREE char *string = hv_format("__tpstrtab_%s", names[i]);

		fk_str(&fk, name, names[i]);
		fk_u64(&fk, at, name);
		fk_symbol(&fk, hv_take(symbol), at);
		fk_symbol(&fk, hv_take(string), name);
	}
	fk_symbol(&fk, "after_tracepoints", tracepoints + 64 * TRACEPOINTS);
}

static void make_kernel(void)
{
	fk_init(&fk);
	d = (struct hv_deriving){.core = &fk.k.core};
	code_end = CODE;
	make_tracepoints();
	add_functions();
}

static void derive(void)
{
	fk_symbol(&fk, "after_code", code_end);
	hv_symbols_index(&fk.k.core.symbols);
	hv_tracepoint_members_derive(&d);
}

static void end(void)
{
	hv_facts_deinit(&d.facts);
	for (size_t i = 0; i < fk.k.core.symbols.nr; i++)
		if (!strncmp(fk.k.core.symbols.by_addr[i].name, "__tp", 4) ||
		    !strncmp(fk.k.core.symbols.by_addr[i].name, "__tracepoint_", 13))
			free((char *)fk.k.core.symbols.by_addr[i].name);
	fk_deinit(&fk);
}

static void check_fact(const char *type, const char *member, uint32_t off, unsigned nr_proofs)
{
	const struct hv_fact *f = hv_facts_find(&d.facts, type, member);

	ck_assert_msg(f, "%s of %s is not known", member, type);
	ck_assert_uint_eq(f->off, off);
	ck_assert_int_eq(__builtin_popcount(f->proofs), nr_proofs);
}

START_TEST(callers_show_the_array)
{
	make_kernel();
	for (unsigned i = 0; i < TRACEPOINTS; i++)
		caller(i, 24, true);
	derive();
	check_fact("tracepoint", "name", 0, 1);
	check_fact("tracepoint", "funcs", FUNCS_OFF, 2);
	check_fact("tracepoint_func", "func", 0, 2);
	check_fact("tracepoint_func", "data", 8, 2);
	check_fact("tracepoint_func", "prio", 16, 2);
	check_fact("tp_probes", "probes", 16, 2);
	ck_assert_ptr_null(hv_facts_find(&d.facts, "tracepoint", "iterator"));
	ck_assert_ptr_null(hv_facts_find(&d.facts, "tracepoint", "static_call_key"));
	end();
}
END_TEST

/* Callers that contradict each other, that are too few, or that do not read the callback's data. */
START_TEST(callers_show_too_little)
{
	for (unsigned trial = 0; trial < 3; trial++) {
		make_kernel();
		for (unsigned i = 0; i < (trial == 1 ? 3 : TRACEPOINTS); i++)
			caller(i, trial == 0 && i == 4 ? 32 : 24, trial != 2);
		derive();
		check_fact("tracepoint", "funcs", FUNCS_OFF, 2);
		ck_assert_ptr_null(hv_facts_find(&d.facts, "tracepoint_func", "func"));
		ck_assert_ptr_null(hv_facts_find(&d.facts, "tp_probes", "probes"));
		end();
	}
}
END_TEST

/* In a kernel with iterators, only those count. */
START_TEST(iterators_decide)
{
	make_kernel();
	for (unsigned i = 0; i < TRACEPOINTS; i++)
		caller(i, 24, true);
	fk_symbol(&fk, "__traceiter_sched_switch", EMPTY);
	derive();
	ck_assert_ptr_null(hv_facts_find(&d.facts, "tracepoint_func", "func"));
	end();
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, callers_show_the_array);
	tcase_add_test(tc, callers_show_too_little);
	tcase_add_test(tc, iterators_decide);
}

int main(void)
{
	return run_suite("old_tracepoints", add_tests);
}
