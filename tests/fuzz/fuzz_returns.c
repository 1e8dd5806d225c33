/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Restores return addresses from return stacks, stacks and registers that the input writes. In any
 * case, only the address of our handler may be overwritten, and only with an address in kernel
 * code. A single byte left at the end selects a kernel with frame records and shadow call
 * stacks. */
#include "tests/unit/tracer/fake_returns.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct change { /* a change in the input */
	uint8_t kind;
	uint8_t stack;
	uint8_t at;
	uint8_t how;
	uint64_t value;
} __attribute__((packed));

#define NR_SLOTS      8
#define NR_KINDS      6
#define NR_KINDS_MORE 3 /* with shadow call stacks */
#define SHADOW_BYTES  4096u
#define RECORD	      16u /* distance from a retp down to its frame record */

static struct fr plain, shadowed;
static struct fr *r = &plain; /* one of the two */
static struct hv_arch arch;
static uint64_t shadow; /* of the sleeping task */

static void check(int holds)
{
	if (!holds)
		abort();
}

static void when_written(struct fr *fr, struct hv_gpa at, uint64_t to)
{
	uint64_t was;

	memcpy(&was, fr->t.f.machine.ram + at.v, sizeof(was));
	check(was == FR_HANDLER);
	check(hv_gva_in(hv_gva(to), fr->t.f.k.text));
}

/* Returns a meaningful value, which reaches more code than a random one. */
static uint64_t meant(const struct change *c)
{
	switch (c->how % 6) {
	case 1:
		return FR_HANDLER + c->value % 2;
	case 2:
		return FR_CALLER + c->value % 4;
	case 3:
		return fr_retp(r, c->value % NR_SLOTS);
	case 4:
		return FT_TRAMPOLINE + c->value % 4;
	case 5:
		return FK_DATA + c->value % (r->t.f.brk - FK_DATA);
	}
	return c->value;
}

/* Returns the address of the return address of call NR. */
static uint64_t address_of_return(unsigned nr)
{
	return fr_retp(r, nr) - (r == &shadowed ? 8 : 0);
}

static void make_more(const struct change *c)
{
	static const uint8_t registers[] = {18, 29, 30};
	uint64_t value = meant(c);

	if (c->how / 6 % 2)
		value = shadow + c->value % SHADOW_BYTES;
	switch (c->kind - NR_KINDS) {
	case 0:
		fk_u64(&r->t.f, shadow + 8 * (c->at % NR_SLOTS), value);
		break;
	case 1:
		fk_u64(&r->t.f, r->task + (c->at % 2 ? FT_SCS_BASE : FT_SCS_SP), value);
		break;
	case 2:
		r->regs[c->at % 2].general[registers[c->stack % 3]] = value;
		break;
	}
}

static void make(const struct change *c)
{
	struct hv_stack *stack = hv_region_stack(&r->tracee.region, c->stack % FR_NR_STACKS);
	struct hv_frame *frame = &stack->frames[c->at % HV_FRAMES_MAX];

	switch (c->kind) {
	case 0:
		frame->retp_gva = meant(c);
		break;
	case 1:
		frame->caller_gva = meant(c);
		break;
	case 2:
		stack->word = c->value;
		break;
	case 3:
		fk_u64(&r->t.f, address_of_return(c->at % NR_SLOTS), meant(c));
		break;
	case 4:
		r->regs[c->at % 2].ip = hv_gva(meant(c));
		break;
	case 5:
		r->regs[c->at % 2].sp = hv_gva(meant(c));
		break;
	default:
		make_more(c);
		break;
	}
}

static void make_shadowed(void)
{
	ft_has_shadow_stacks = true;
	fr_init(r);
	arch = hv_arch_x86_64;
	arch.name = hv_arch_arm64.name;
	arch.frame_register = hv_arch_arm64.frame_register;
	arch.link_register = hv_arch_arm64.link_register;
	r->t.f.k.core.as.arch = &arch;
	shadow = fk_alloc(&r->t.f, SHADOW_BYTES);
	for (unsigned cpu = 0; cpu < FK_NR_CPUS; cpu++)
		ft_percpu(&r->t, FT_IRQ_SCS, cpu, fk_alloc(&r->t.f, SHADOW_BYTES));
	ft_has_shadow_stacks = false;
}

/* Gives each call a frame record and a word on the shadow call stack. */
static void fill_shadowed(void)
{
	fk_u64(&r->t.f, r->task + FT_FP, fr_retp(r, 0) - RECORD);
	fk_u64(&r->t.f, r->task + FT_SCS_BASE, shadow);
	fk_u64(&r->t.f, r->task + FT_SCS_SP, shadow + 8 * NR_SLOTS);
	for (unsigned i = 0; i < NR_SLOTS; i++) {
		fk_u64(&r->t.f, fr_retp(r, i) - RECORD,
		       i + 1 < NR_SLOTS ? fr_retp(r, i + 1) - RECORD
					: ft_stack(&r->t, r->task) + FT_LAST_RECORD);
		fk_u64(&r->t.f, shadow + 8 * (NR_SLOTS - 1 - i), fr_word(r, address_of_return(i)));
	}
}

/* Starts again with some frames like those that trampolines leave. */
static void begin_anew(void)
{
	if (!r->guest) {
		if (r == &shadowed)
			make_shadowed();
		else
			fr_init(r);
		r->when_written = when_written;
	}
	for (unsigned i = 0; i < NR_SLOTS; i++)
		fk_u64(&r->t.f, address_of_return(i), r == &shadowed ? FR_CALLER + 0x20 + i : 0);
	memset(hv_region_stack(&r->tracee.region, 0), 0, FR_NR_STACKS * sizeof(struct hv_stack));
	for (unsigned i = 0; i < 4; i++) {
		fr_frame(r, i / 3, fr_retp(r, i), FR_CALLER + i);
		fk_u64(&r->t.f, address_of_return(i), FR_HANDLER);
	}
	fr_frame(r, 0, fr_retp(r, 2), FR_HANDLER);
	for (unsigned i = 0; i < 2; i++)
		r->regs[i] = (struct hv_vcpu_regs){.ip = hv_gva(0x401000),
						   .sp = hv_gva(0x7ffc00000000),
						   .root = r->t.f.k.core.as.root.v,
						   .levels = 4};
	if (r == &shadowed)
		fill_shadowed();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned nr_kinds = NR_KINDS;
	struct hv_err *err;

	r = size % sizeof(struct change) == 1 ? &shadowed : &plain;
	if (r == &shadowed)
		nr_kinds += NR_KINDS_MORE;
	begin_anew();
	for (; size >= sizeof(struct change); size -= sizeof(struct change)) {
		struct change c;

		memcpy(&c, data, sizeof(c));
		data += sizeof(c);
		c.kind %= nr_kinds;
		make(&c);
	}
	err = fr_put_back(r);
	check(err || !hv_returns_open(&r->tracee));
	hv_err_free(err);
	return 0;
}
