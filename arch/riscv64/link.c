/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Links trampolines: writes the values of a session into fields of the image's instructions. Source
 * of encodings: The RISC-V Instruction Set Manual, Volume I, chapter 2. */
#include "arch/riscv64/riscv64.h"

#include <assert.h>
#include <string.h>

#define INSN_LEN  4
#define HIGH_MASK 0xfffff000u
#define LOW_SHIFT 20
#define LOW_MASK  0xfffu
#define LOW_HALF  0x800u /* the lower part is signed, so the upper part is rounded */

static void put(uint8_t *at, uint32_t mask, uint32_t bits)
{
	uint32_t insn;

	memcpy(&insn, at, sizeof(insn));
	insn = (insn & ~mask) | (bits & mask);
	memcpy(at, &insn, sizeof(insn));
}

/* lui sign-extends its value, so the rounded value must not become negative. */
static bool fits(uint64_t value)
{
	int64_t rounded = (int64_t)(value + LOW_HALF);

	return rounded >= INT32_MIN && rounded <= INT32_MAX;
}

static bool fill(enum hv_hole_form form, uint8_t *at, uint64_t value)
{
	switch (form) {
	case HV_HOLE_RV_PC_HIGH:
	case HV_HOLE_RV_HIGH:
		if (!fits(value))
			return false;
		put(at, HIGH_MASK, (uint32_t)value + LOW_HALF);
		return true;
	case HV_HOLE_RV_HIGH_PART:
		put(at, HIGH_MASK, (uint32_t)value + LOW_HALF);
		return true;
	case HV_HOLE_RV_PC_LOW:
	case HV_HOLE_RV_LOW:
		if (!fits(value))
			return false;
		put(at, LOW_MASK << LOW_SHIFT, (uint32_t)value << LOW_SHIFT);
		return true;
	case HV_HOLE_RV_LOW_PART:
		put(at, LOW_MASK << LOW_SHIFT, (uint32_t)value << LOW_SHIFT);
		return true;
	default:
		return false;
	}
}

/* A jump within the trampolines always reaches. */
static void put_alternative(const struct hv_trampoline_alternative *a, uint8_t *code)
{
	bool reaches = riscv64_encode_jump_site(hv_gva(a->off), hv_gva(a->target_off), INSN_LEN,
						code + a->off);

	assert(reaches && a->target_off && a->len_bytes == INSN_LEN);
	(void)reaches;
}

const char *riscv64_link(const struct hv_trampoline_image *image,
			 const struct hv_trampoline_values *values, struct hv_gva at, uint8_t *code)
{
	if (values->return_thunk.v)
		return "return_thunk";
	for (size_t i = 0; i < image->nr_holes; i++) {
		const struct hv_trampoline_hole *h = &image->holes[i];
		uint64_t value = h->hole == HV_HOLE_code ? at.v : values->hole[h->hole];

		value += (uint64_t)(int64_t)h->addend;
		if (h->form == HV_HOLE_RV_PC_HIGH || h->form == HV_HOLE_RV_PC_LOW)
			value -= at.v + h->off;
		if (!fill(h->form, code + h->off, value))
			return hv_hole_names[h->hole];
	}
	for (size_t i = 0; i < image->nr_alternatives; i++)
		if (values->alternatives >> image->alternatives[i].alternative & 1)
			put_alternative(&image->alternatives[i], code);
	return NULL;
}
