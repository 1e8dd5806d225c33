/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Links trampolines: writes the values of a session into fields of the image's instructions. Source
 * of encodings: Arm Architecture Reference Manual (DDI 0487), C6.2. */
#include "arch/arm64/arm64.h"

#include <assert.h>
#include <string.h>

#define PAGE_SHIFT    12 /* unit of adrp, independent of the kernel's page size */
#define MOV_SHIFT     5
#define MOV_BITS      16
#define LOAD_SHIFT    10
#define LOAD_BITS     12
#define ADR_LOW_SHIFT 29
#define ADR_LOW_BITS  2
#define ADR_SHIFT     5
#define ADR_BITS      21

/* Writes the low BITS of VALUE to SHIFT of the instruction. */
static void put(uint8_t *at, uint64_t value, unsigned shift, unsigned bits)
{
	uint32_t mask = (1u << bits) - 1, insn;

	memcpy(&insn, at, sizeof(insn));
	insn = (insn & ~(mask << shift)) | ((uint32_t)value & mask) << shift;
	memcpy(at, &insn, sizeof(insn));
}

static bool put_mov(uint8_t *at, uint64_t value, unsigned field, enum hv_hole_form whole_form,
		    enum hv_hole_form form)
{
	unsigned below = field * MOV_BITS;

	if (form == whole_form && value >> (below + MOV_BITS))
		return false;
	put(at, value >> below, MOV_SHIFT, MOV_BITS);
	return true;
}

static bool put_load(uint8_t *at, uint64_t value, unsigned size_shift)
{
	if (value >> size_shift << size_shift != value || value >> size_shift >> LOAD_BITS)
		return false;
	put(at, value >> size_shift, LOAD_SHIFT, LOAD_BITS);
	return true;
}

static bool put_page(uint8_t *at, uint64_t value, struct hv_gva pc)
{
	int64_t pages = (int64_t)(value - (pc.v >> PAGE_SHIFT << PAGE_SHIFT)) >> PAGE_SHIFT;
	int64_t reach = INT64_C(1) << (ADR_BITS - 1);

	if (value % (1u << PAGE_SHIFT) || pages < -reach || pages >= reach)
		return false;
	put(at, (uint64_t)pages, ADR_LOW_SHIFT, ADR_LOW_BITS);
	put(at, (uint64_t)pages >> ADR_LOW_BITS, ADR_SHIFT, ADR_BITS - ADR_LOW_BITS);
	return true;
}

/* Writes VALUE to AT. The code at AT will run at PC. */
static bool fill(enum hv_hole_form form, uint8_t *at, uint64_t value, struct hv_gva pc)
{
	switch (form) {
	case HV_HOLE_U64:
		memcpy(at, &value, sizeof(value));
		return true;
	case HV_HOLE_A64_MOV_0:
	case HV_HOLE_A64_MOV_0_PART:
		return put_mov(at, value, 0, HV_HOLE_A64_MOV_0, form);
	case HV_HOLE_A64_MOV_1:
	case HV_HOLE_A64_MOV_1_PART:
		return put_mov(at, value, 1, HV_HOLE_A64_MOV_1, form);
	case HV_HOLE_A64_MOV_2_PART:
		return put_mov(at, value, 2, HV_HOLE_A64_MOV_0, form);
	case HV_HOLE_A64_MOV_3:
		return put_mov(at, value, 3, HV_HOLE_A64_MOV_0, form);
	case HV_HOLE_A64_MOVN:
		return put_mov(at, ~value, 0, HV_HOLE_A64_MOV_0, HV_HOLE_A64_MOV_0);
	case HV_HOLE_A64_PAGE:
		return put_page(at, value, pc);
	case HV_HOLE_A64_LOAD_8:
		return put_load(at, value, 0);
	case HV_HOLE_A64_LOAD_16:
		return put_load(at, value, 1);
	case HV_HOLE_A64_LOAD_32:
		return put_load(at, value, 2);
	case HV_HOLE_A64_LOAD_64:
		return put_load(at, value, 3);
	default:
		return false;
	}
}

/* A jump within the trampolines always reaches. */
static void put_alternative(const struct hv_trampoline_alternative *a, uint8_t *code)
{
	bool reaches = arm64_encode_jump(hv_gva(a->off), hv_gva(a->target_off), code + a->off);

	assert(reaches && a->target_off && a->len_bytes == ARM64_INSN_LEN);
	(void)reaches;
}

const char *arm64_link(const struct hv_trampoline_image *image,
		       const struct hv_trampoline_values *values, struct hv_gva at, uint8_t *code)
{
	if (values->return_thunk.v)
		return "return_thunk";
	for (size_t i = 0; i < image->nr_holes; i++) {
		const struct hv_trampoline_hole *h = &image->holes[i];
		uint64_t value = h->hole == HV_HOLE_code ? at.v : values->hole[h->hole];

		value += (uint64_t)(int64_t)h->addend;
		if (!fill(h->form, code + h->off, value, hv_gva_add(at, h->off)))
			return hv_hole_names[h->hole];
	}
	for (size_t i = 0; i < image->nr_alternatives; i++)
		if (values->alternatives >> image->alternatives[i].alternative & 1)
			put_alternative(&image->alternatives[i], code);
	return NULL;
}
