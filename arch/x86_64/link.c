/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Links trampolines: writes the values of a session into the holes of the image's instructions. */
#include "arch/x86_64/x86_64.h"

#include <assert.h>
#include <string.h>

#define JMP_LEN 5

static bool fits(enum hv_hole_form form, uint64_t value)
{
	switch (form) {
	case HV_HOLE_S32:
		return (uint64_t)(int64_t)(int32_t)value == value;
	case HV_HOLE_U32:
		return (uint32_t)value == value;
	case HV_HOLE_U8:
		return (uint8_t)value == value;
	case HV_HOLE_U64:
		return true;
	default:
		return false;
	}
}

static size_t width(enum hv_hole_form form)
{
	switch (form) {
	case HV_HOLE_U8:
		return 1;
	case HV_HOLE_U64:
		return 8;
	default:
		return 4;
	}
}

/* The target is little endian, independent of the host. */
static void put(uint8_t *at, uint64_t value, size_t len_bytes)
{
	for (size_t i = 0; i < len_bytes; i++)
		at[i] = (uint8_t)(value >> 8 * i);
}

/* Adds a single nop of LEN_BYTES. */
static void put_nop(uint8_t *at, size_t len_bytes)
{
	static const uint8_t nops[][9] = {
		{0x90},
		{0x66, 0x90},
		{0x0f, 0x1f, 0x00},
		{0x0f, 0x1f, 0x40, 0x00},
		{0x0f, 0x1f, 0x44, 0x00, 0x00},
		{0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00},
		{0x0f, 0x1f, 0x80, 0x00, 0x00, 0x00, 0x00},
		{0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00},
		{0x66, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00},
	};

	assert(len_bytes >= 1 && len_bytes <= HV_ARRAY_LEN(nops));
	memcpy(at, nops[len_bytes - 1], len_bytes);
}

static void put_alternative(const struct hv_trampoline_alternative *a, uint8_t *code)
{
	if (a->alternative & HV_ALT_COPIED) {
		memcpy(code + a->off, code + a->target_off, a->len_bytes);
		return;
	}
	if (!a->target_off) {
		put_nop(code + a->off, a->len_bytes);
		return;
	}
	assert(a->len_bytes >= JMP_LEN);
	code[a->off] = 0xe9;
	put(code + a->off + 1, a->target_off - a->off - JMP_LEN, 4);
	if (a->len_bytes > JMP_LEN)
		put_nop(code + a->off + JMP_LEN, a->len_bytes - JMP_LEN);
}

const char *x86_64_link(const struct hv_trampoline_image *image,
			const struct hv_trampoline_values *values, struct hv_gva at, uint8_t *code)
{
	for (size_t i = 0; i < image->nr_holes; i++) {
		const struct hv_trampoline_hole *h = &image->holes[i];
		uint64_t value = h->hole == HV_HOLE_code ? at.v : values->hole[h->hole];

		value += (uint64_t)(int64_t)h->addend;
		if (!fits(h->form, value))
			return hv_hole_names[h->hole];
		put(code + h->off, value, width(h->form));
	}
	for (size_t i = 0; i < image->nr_alternatives; i++)
		if (values->alternatives >> (image->alternatives[i].alternative & ~HV_ALT_COPIED) &
		    1)
			put_alternative(&image->alternatives[i], code);
	for (size_t i = 0; i < image->nr_returns; i++) {
		uint32_t off = image->return_offs[i];

		if (!x86_64_fill_return_site(code + off, hv_gva_add(at, off), values->return_thunk))
			return "return_thunk";
	}
	return NULL;
}
