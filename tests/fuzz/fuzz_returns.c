/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Puts return addresses back from return stacks, stacks and registers that the input writes.
 * Whatever is in them, only our handler's address is ever overwritten, and only with an address of
 * kernel code. */
#include "tests/unit/tracer/fake_returns.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct change { /* a change of the input */
	uint8_t kind;
	uint8_t stack;
	uint8_t at;
	uint8_t how;
	uint64_t value;
} __attribute__((packed));

#define NR_SLOTS 8

static struct fr r;

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

/* Values with a meaning find more than random ones. */
static uint64_t meant(const struct change *c)
{
	switch (c->how % 6) {
	case 1:
		return FR_HANDLER + c->value % 2;
	case 2:
		return FR_CALLER + c->value % 4;
	case 3:
		return fr_slot(&r, c->value % NR_SLOTS);
	case 4:
		return FT_TRAMPOLINE + c->value % 4;
	case 5:
		return FK_DATA + c->value % (r.t.f.brk - FK_DATA);
	}
	return c->value;
}

static void make(const struct change *c)
{
	struct hv_stack *stack = hv_region_stack(&r.tracee.region, c->stack % FR_NR_STACKS);
	struct hv_frame *frame = &stack->frames[c->at % HV_FRAMES_MAX];

	switch (c->kind % 6) {
	case 0:
		frame->slot_gva = meant(c);
		break;
	case 1:
		frame->caller_gva = meant(c);
		break;
	case 2:
		stack->word = c->value;
		break;
	case 3:
		fk_u64(&r.t.f, fr_slot(&r, c->at % NR_SLOTS), meant(c));
		break;
	case 4:
		r.regs[c->at % 2].ip = hv_gva(meant(c));
		break;
	case 5:
		r.regs[c->at % 2].sp = hv_gva(meant(c));
		break;
	}
}

/* Begins again with some frames as stubs leave them. */
static void begin_anew(void)
{
	if (!r.guest) {
		fr_init(&r);
		r.when_written = when_written;
	}
	for (unsigned i = 0; i < NR_SLOTS; i++)
		fk_u64(&r.t.f, fr_slot(&r, i), 0);
	memset(hv_region_stack(&r.tracee.region, 0), 0, FR_NR_STACKS * sizeof(struct hv_stack));
	for (unsigned i = 0; i < 4; i++) {
		fr_frame(&r, i / 3, fr_slot(&r, i), FR_CALLER + i);
		fk_u64(&r.t.f, fr_slot(&r, i), FR_HANDLER);
	}
	fr_frame(&r, 0, fr_slot(&r, 2), FR_HANDLER);
	for (unsigned i = 0; i < 2; i++) {
		r.regs[i].ip = hv_gva(0x401000);
		r.regs[i].sp = hv_gva(0x7ffc00000000);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct hv_err *err;

	begin_anew();
	for (; size >= sizeof(struct change); size -= sizeof(struct change)) {
		struct change c;

		memcpy(&c, data, sizeof(c));
		data += sizeof(c);
		make(&c);
	}
	err = fr_put_back(&r);
	check(err || !hv_returns_open(&r.tracee));
	hv_err_free(err);
	return 0;
}
