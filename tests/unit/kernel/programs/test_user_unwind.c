/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unwinds a real stack of a program without frame pointers, through libc and a signal; made rules that
 * are wrong, and copies that are too short. */
#include <check.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/guard.h"
#include "kernel/programs/unwind.h"
#include "tests/lib/run_suite.h"
#include "tests/unit/kernel/programs/unwind_sample.h"

#define RSP 7
#define RIP 16

/* -- files of this process ---------------------------------------------------------------------- */

struct map {
	uint64_t start, end, off;
	char path[256];
	struct hv_elf_file elf;
	const uint8_t *bytes;
	struct hv_cfi *cfi; /* NULL: not opened */
};

static struct map maps[128];
static size_t nr_maps;

static bool read_map(void *ctx, uint64_t off, void *buf, size_t len)
{
	memcpy(buf, ((const struct map *)ctx)->bytes + off, len);
	return true;
}

static void read_maps(void)
{
	FILE *file = fopen("/proc/self/maps", "re");
	char line[512];

	ck_assert_ptr_nonnull(file);
	nr_maps = 0;
	while (nr_maps < HV_ARRAY_LEN(maps) && fgets(line, sizeof(line), file)) {
		struct map m = {0};
		unsigned long start, end, off;
		char rights[8];

		if (sscanf(line, "%lx-%lx %7s %lx %*s %*s %255s", &start, &end, rights, &off,
			   m.path) != 5 ||
		    rights[2] != 'x' || m.path[0] != '/')
			continue;
		m.start = start;
		m.end = end;
		m.off = off;
		maps[nr_maps++] = m;
	}
	fclose(file);
}

static struct map *find_map(uint64_t at)
{
	for (size_t i = 0; i < nr_maps; i++)
		if (at >= maps[i].start && at < maps[i].end)
			return &maps[i];
	return NULL;
}

static void open_map(struct map *m)
{
	HV_AUTO_FD int fd = open(m->path, O_RDONLY | O_CLOEXEC);
	struct stat st;

	ck_assert(fd >= 0 && fstat(fd, &st) == 0);
	m->bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	ck_assert(m->bytes != MAP_FAILED);
	m->elf =
		(struct hv_elf_file){.read = read_map, .ctx = m, .len_bytes = (uint64_t)st.st_size};
	m->cfi = hv_cfi_new(&m->elf);
	ck_assert_ptr_nonnull(m->cfi);
}

static void find_row(const struct hv_user_frame *f, struct hv_cfi_row *ret)
{
	uint64_t at = hv_user_frame_ip(f) - !f->is_exact;
	struct map *m = find_map(at);

	ck_assert_msg(m, "0x%lx is in no file", at);
	if (!m->cfi)
		open_map(m);
	ck_assert_msg(hv_cfi_find(m->cfi, at - m->start + m->off, ret), "no rules at 0x%lx of %s",
		      at - m->start + m->off, m->path);
}

static void close_maps(void)
{
	for (size_t i = 0; i < nr_maps; i++) {
		hv_cfi_free(maps[i].cfi);
		if (maps[i].bytes)
			munmap((void *)(uintptr_t)maps[i].bytes, maps[i].elf.len_bytes);
	}
}

/* -- real stacks -------------------------------------------------------------------------------- */

#define DEPTH	   12
#define FRAMES_MAX 128

static uint64_t words[FRAMES_MAX];
static size_t nr_words;

static enum hv_user_unwound walk(size_t len)
{
	struct hv_span copy = {sample.copy, len};
	enum hv_user_unwound result = HV_USER_UNWOUND_CALLER;
	struct hv_user_frame f;

	ck_assert(hv_user_frame_init(&f, &hv_dwarf_regs_x86_64, copy));
	for (nr_words = 0; result == HV_USER_UNWOUND_CALLER && nr_words < FRAMES_MAX;) {
		struct hv_cfi_row row;

		words[nr_words++] = hv_user_frame_ip(&f);
		find_row(&f, &row);
		result = hv_unwind_user(&f, &row);
	}
	return result;
}

static void *run_sample(void *by_signal)
{
	sample_nest(DEPTH, by_signal != NULL);
	return NULL;
}

static bool is_libc(uint64_t at)
{
	const struct map *m = find_map(at);

	return m && strstr(m->path, "/libc.so");
}

/* All calls of the sample are there, with only libc's functions between them and the function that calls
 * libc, and the stack ends where the thread began. */
START_TEST(a_real_stack)
{
	size_t at = 1, nr_own = 0;
	pthread_t thread;

	ck_assert_int_eq(pthread_create(&thread, NULL, run_sample, _i ? &thread : NULL), 0);
	pthread_join(thread, NULL);
	read_maps();
	ck_assert_int_eq(walk(sizeof(sample.copy)), HV_USER_UNWOUND_ALL);
	ck_assert_uint_eq(sample.nr, DEPTH + 4);
	for (size_t i = sample.nr; i-- > 0; at++) {
		for (; at < nr_words && words[at] != sample.returns[i]; at++)
			nr_own += !is_libc(words[at]);
		ck_assert_msg(at < nr_words, "return address %zu is not there", i);
	}
	ck_assert_uint_eq(nr_own, 1);
	close_maps();
}
END_TEST

/* A shorter copy gives the same stack, but not all of it. */
START_TEST(a_short_copy)
{
	uint64_t whole[FRAMES_MAX];
	pthread_t thread;
	size_t nr;

	ck_assert_int_eq(pthread_create(&thread, NULL, run_sample, NULL), 0);
	pthread_join(thread, NULL);
	read_maps();
	walk(sizeof(sample.copy));
	memcpy(whole, words, sizeof(words));
	nr = nr_words;
	for (size_t len = 0; len < 600; len += 40) {
		ck_assert_int_eq(walk(SAMPLE_REGS_LEN + len), HV_USER_UNWOUND_TOO_LONG);
		ck_assert_uint_lt(nr_words, nr);
		ck_assert(memcmp(words, whole, nr_words * sizeof(*words)) == 0);
	}
	close_maps();
}
END_TEST

/* -- made rules --------------------------------------------------------------------------------- */

#define SP 0x7ffe00001000

static uint8_t copy[SAMPLE_REGS_LEN + 256];

static struct hv_user_frame made_frame(void)
{
	struct hv_span span = {copy, sizeof(copy)};
	const uint64_t sp = SP, ip = 0x401000;
	const uint16_t cs = 0x33;
	struct hv_user_frame f;

	memcpy(copy + 136, &cs, sizeof(cs));
	memcpy(copy + 152, &sp, sizeof(sp));
	memcpy(copy + 128, &ip, sizeof(ip));
	for (uint64_t i = 0; i < 32; i++) {
		uint64_t word = 0x402000 + i;

		memcpy(copy + SAMPLE_REGS_LEN + 8 * i, &word, sizeof(word));
	}
	ck_assert(hv_user_frame_init(&f, &hv_dwarf_regs_x86_64, span));
	ck_assert_uint_eq(hv_user_frame_ip(&f), ip);
	return f;
}

static struct hv_cfi_row made_row(int64_t off)
{
	struct hv_cfi_row row = {
		.cfa = {.kind = HV_CFI_REGISTER, .reg = RSP, .number = off},
		.return_reg = RIP,
	};

	row.regs[RIP] = (struct hv_cfi_rule){.kind = HV_CFI_AT_CFA, .number = -8};
	return row;
}

static enum hv_user_unwound unwind_made(const struct hv_cfi_row *row, struct hv_user_frame *ret)
{
	*ret = made_frame();
	return hv_unwind_user(ret, row);
}

START_TEST(the_cfa_moves_up_in_the_copy)
{
	struct hv_user_frame f;
	struct hv_cfi_row row = made_row(16);

	ck_assert_int_eq(unwind_made(&row, &f), HV_USER_UNWOUND_CALLER);
	ck_assert_uint_eq(hv_user_frame_ip(&f), 0x402001);
	ck_assert_uint_eq(f.regs[RSP], SP + 16);
	row = made_row(0); /* the CFA does not move: relative to the new stack pointer */
	ck_assert_int_eq(hv_unwind_user(&f, &row), HV_USER_UNWOUND_WRONG);
	row = made_row(256);
	ck_assert_int_eq(unwind_made(&row, &f), HV_USER_UNWOUND_CALLER);
	for (int64_t off = 257; off < 300; off++) {
		row = made_row(off);
		ck_assert_int_eq(unwind_made(&row, &f), HV_USER_UNWOUND_TOO_LONG);
	}
	for (int64_t off = -300; off <= 0; off++) {
		row = made_row(off);
		ck_assert_int_eq(unwind_made(&row, &f), HV_USER_UNWOUND_WRONG);
	}
	row = made_row(INT64_MIN);
	ck_assert_int_eq(unwind_made(&row, &f), HV_USER_UNWOUND_TOO_LONG);
	row = made_row(16);
	row.regs[RIP].number = -24; /* before the copy */
	ck_assert_int_eq(unwind_made(&row, &f), HV_USER_UNWOUND_WRONG);
	row.regs[RIP].kind = HV_CFI_UNDEFINED;
	ck_assert_int_eq(unwind_made(&row, &f), HV_USER_UNWOUND_ALL);
	row.cfa.kind = HV_CFI_SAME;
	row.regs[RIP].kind = HV_CFI_AT_CFA;
	ck_assert_int_eq(unwind_made(&row, &f), HV_USER_UNWOUND_WRONG);
}
END_TEST

START_TEST(registers_of_the_caller)
{
	struct hv_cfi_row row = made_row(24);
	struct hv_user_frame f;

	row.regs[3] = (struct hv_cfi_rule){.kind = HV_CFI_AT_CFA, .number = -16};
	row.regs[6] = (struct hv_cfi_rule){.kind = HV_CFI_CFA, .number = 5};
	row.regs[12] = (struct hv_cfi_rule){.kind = HV_CFI_REGISTER, .reg = RSP, .number = 1};
	ck_assert_int_eq(unwind_made(&row, &f), HV_USER_UNWOUND_CALLER);
	ck_assert_uint_eq(f.regs[3], 0x402001);
	ck_assert_uint_eq(f.regs[6], SP + 24 + 5);
	ck_assert_uint_eq(f.regs[12], SP + 1);
	ck_assert(!f.is_exact);
	row.is_signal = true;
	row.regs[RSP] = (struct hv_cfi_rule){.kind = HV_CFI_CFA, .number = 64};
	ck_assert_int_eq(unwind_made(&row, &f), HV_USER_UNWOUND_CALLER);
	ck_assert(f.is_exact);
	ck_assert_uint_eq(f.regs[RSP], SP + 24 + 64);
}
END_TEST

struct expression {
	uint8_t bytes[24];
	size_t len;
	uint64_t value; /* 0: wrong */
};

static const struct expression expressions[] = {
	{{0x77, 8}, 2, SP + 8},					      /* breg7 8 */
	{{0x77, 8, 0x06}, 3, 0x402001},				      /* deref */
	{{0x77, 8, 0x94, 2}, 4, 0x2001},			      /* deref_size */
	{{0x77, 0x7f, 0x09, 0xfe, 0x1a}, 5, (SP - 1) & ~UINT64_C(1)}, /* and const1s */
	{{0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22}, 11, SP + 8}, /* of a PLT */
	{{0x08, 7, 0x0a, 1, 2, 0x22}, 6, 0x208},				    /* const2u */
	{{0x10, 0x80, 1, 0x12, 0x1e}, 5, 0x4000},				    /* dup mul */
	{{0x35, 0x33, 0x16, 0x1c}, 4, 0},		   /* swap: not known */
	{{0x35, 0x33, 0x14, 0x1c, 0x22}, 5, 8 - 5 + 0},	   /* over */
	{{0x35, 0x33, 0x15, 1, 0x22, 0x22}, 6, 5 + 3 + 5}, /* pick */
	{{0x35, 0x1f, 0x20}, 3, 4},			   /* neg not */
	{{0x35, 0x23, 0x85, 2}, 4, 0x10a},		   /* plus_uconst */
	{{0x33, 0x35, 0x2d}, 3, 1},			   /* lt */
	{{0x92, 7, 8}, 3, SP + 8},			   /* bregx */
	{{0x11, 0x7f, 0x31, 0x25}, 4, INT64_MAX},	   /* shr of -1 */
	{{0x11, 0x7f, 0x08, 200, 0x26}, 5, UINT64_MAX},	   /* shra, far */
	/* wrong */
	{{0}, 0, 0}, /* empty */
	{{0x22}, 1, 0},
	{{0x06}, 1, 0},
	{{0x30, 0x06}, 2, 0}, /* not of the stack */
	{{0x90}, 1, 0},
	{{0x92, 17, 0}, 3, 0}, /* a register */
	{{0x77}, 1, 0},	       /* no operand */
	{{0x0e, 1, 2, 3}, 4, 0},
	{{0x30, 0x94, 0}, 3, 0},
	{{0x30, 0x94, 9}, 3, 0},
	{{0x2f, 0xfd, 0xff}, 3, 0}, /* a jump */
	{{0x30, 0x28, 0xfd, 0xff}, 4, 0},
	{{0x15, 0xff}, 2, 0},
};

START_TEST(an_expression)
{
	const struct expression *e = &expressions[_i];
	struct hv_cfi_row row = made_row(24);
	struct hv_user_frame f;
	enum hv_user_unwound result;

	row.regs[3] =
		(struct hv_cfi_rule){.kind = HV_CFI_EXPRESSION, .expression = {e->bytes, e->len}};
	/* Without the CFA on its stack, an empty expression has no value. */
	row.regs[3].kind = HV_CFI_EXPRESSION;
	if (!e->value)
		row.cfa = row.regs[3];
	result = unwind_made(&row, &f);
	if (e->value) {
		ck_assert_int_eq(result, HV_USER_UNWOUND_CALLER);
		ck_assert_msg(f.regs[3] == e->value, "0x%lx", f.regs[3]);
	} else {
		ck_assert_int_eq(result, HV_USER_UNWOUND_WRONG);
	}
}
END_TEST

/* No expression takes long, or needs more room than there is. */
START_TEST(long_expressions)
{
	static uint8_t nops[2000], lits[40], both[256];
	struct hv_cfi_row row = made_row(24);
	struct hv_user_frame f;

	memset(nops, 0x96, sizeof(nops));
	memset(lits, 0x31, sizeof(lits));
	memset(both, 0x96, sizeof(both));
	row.regs[3] =
		(struct hv_cfi_rule){.kind = HV_CFI_EXPRESSION, .expression = {nops, sizeof(nops)}};
	ck_assert_int_eq(unwind_made(&row, &f), HV_USER_UNWOUND_WRONG);
	row.regs[3].expression = (struct hv_span){both, sizeof(both)};
	ck_assert_int_eq(unwind_made(&row, &f), HV_USER_UNWOUND_CALLER);
	ck_assert_uint_eq(f.regs[3], SP + 24); /* the expression begins with the CFA */
	row.regs[3].expression = (struct hv_span){lits, sizeof(lits)};
	ck_assert_int_eq(unwind_made(&row, &f), HV_USER_UNWOUND_WRONG);
}
END_TEST

START_TEST(not_registers_of_64_bits)
{
	const struct hv_dwarf_regs *names = &hv_dwarf_regs_x86_64;
	const uint16_t cs = 0x23;
	struct hv_user_frame f = made_frame();

	for (size_t len = 0; len < SAMPLE_REGS_LEN; len++)
		ck_assert(!hv_user_frame_init(&f, names, (struct hv_span){copy, len}));
	ck_assert(hv_user_frame_init(&f, names, (struct hv_span){copy, SAMPLE_REGS_LEN}));
	memcpy(copy + 136, &cs, sizeof(cs));
	ck_assert(!hv_user_frame_init(&f, names, (struct hv_span){copy, sizeof(copy)}));
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_loop_test(tc, a_real_stack, 0, 2);
	tcase_add_test(tc, a_short_copy);
	tcase_add_test(tc, the_cfa_moves_up_in_the_copy);
	tcase_add_test(tc, registers_of_the_caller);
	tcase_add_loop_test(tc, an_expression, 0, HV_ARRAY_LEN(expressions));
	tcase_add_test(tc, long_expressions);
	tcase_add_test(tc, not_registers_of_64_bits);
}

int main(void)
{
	return run_suite("user_unwind", add_tests);
}
