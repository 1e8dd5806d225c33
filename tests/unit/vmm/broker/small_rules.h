/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rules and a small guest, for the tests of the rules. */
#pragma once

#include <check.h>

#include "tests/unit/vmm/broker/small_guest.h"
#include "vmm/guest.h"
#include "vmm/broker/rules.h"

#define NX	    (1ull << 63)
#define SITE	    0x1010u
#define WORD	    0x10000u
#define DATA_WINDOW (SMALL_WINDOW + (2u << 20)) /* address of the region's data */

static struct small_guest small;
static struct hv_guest *guest;
static struct hv_rules *rules;

static const uint8_t nop[5] = {0x0f, 0x1f, 0x44, 0x00, 0x00};

static inline void begin(enum hv_adopts adopts)
{
	guest = small_guest_open(&small);
	rules = hv_rules_new(guest, adopts);
	if (adopts == HV_ADOPTS_NOTHING)
		hv_rules_set_region(rules, &small.region);
	memcpy(small.ram + SITE, nop, sizeof(nop));
}

/* FORMAT: an index of ARCH's formats; -1: ARCH has none. Creates the tables for WINDOW. */
static inline void begin_as(const struct hv_arch *arch, int format, uint64_t kernel,
			    uint64_t window)
{
	guest = small_guest_open_as(&small, arch);
	small_make_tables(&small, format < 0 ? arch : arch->formats[format], kernel);
	small_entry_of(&small, window);
	rules = hv_rules_new(guest, HV_ADOPTS_NOTHING);
	hv_rules_set_region(rules, &small.region);
	/* From now on, the physical address of the vCPU's instruction is unknown. */
	hv_rules_see(rules, small.regs, 2);
	small.regs[0].ip_gpa = hv_gpa(0);
}

static inline void end(void)
{
	hv_rules_free(rules);
	hv_guest_free(guest);
}

static inline struct hv_hold_write text(uint64_t gpa, const uint8_t *code, uint32_t len)
{
	struct hv_hold_write w = {.gpa = hv_gpa(gpa),
				  .gva = hv_gva(small.text + gpa),
				  .len_bytes = len,
				  .is_text = true};

	memcpy(w.bytes, code, len);
	return w;
}

static inline struct hv_hold_write call_of(uint64_t gpa, uint64_t target)
{
	uint8_t code[HV_SITE_LEN_MAX];

	ck_assert(small.arch->encode_call(hv_gva(small.text + gpa), hv_gva(target), code));
	return text(gpa, code, (uint32_t)small.arch->site_len_bytes);
}

static inline struct hv_hold_write jump_of(uint64_t gpa, uint64_t target)
{
	uint8_t code[HV_SITE_LEN_MAX];

	ck_assert(small.arch->encode_jump(hv_gva(small.text + gpa), hv_gva(target), code));
	return text(gpa, code, (uint32_t)small.arch->site_len_bytes);
}

static inline struct hv_hold_write data(uint64_t gpa, uint64_t value, uint32_t len)
{
	struct hv_hold_write w = {
		.gpa = hv_gpa(gpa), .gva = hv_gva(small.text + gpa), .len_bytes = len};

	memcpy(w.bytes, &value, len);
	return w;
}

/* Returns a write to GVA's entry, or to WORD if GVA is not near the kernel's text. */
static inline struct hv_hold_write entry(uint64_t gva, uint64_t value)
{
	uint64_t own = small.text >> 40, gpa = WORD;
	struct hv_hold_write w = {.gva = hv_gva(gva), .len_bytes = 8};

	if (gva >> 40 == own)
		gpa = small_entry_of(&small, gva);
	w.gpa = hv_gpa(gpa);
	memcpy(w.bytes, &value, 8);
	return w;
}

static inline uint64_t leaf_of(uint64_t gpa, enum hv_access access)
{
	return small_leaf(&small, small.arch->map_level, gpa, access);
}

static inline bool allows(struct hv_hold_write w)
{
	HV_AUTO_ERR struct hv_err *err = hv_rules_check(rules, small.regs, 2, &w, 1);

	if (err)
		ck_assert(err->code == EPERM || err->code == EBUSY);
	else if (w.gpa.v < SMALL_RAM)
		memcpy(small.ram + w.gpa.v, w.bytes, w.len_bytes);
	return !err;
}

/* Maps the region's code, followed by its data. */
static inline void map_window(void)
{
	ck_assert(allows(entry(SMALL_WINDOW, leaf_of(SMALL_REGION, HV_ACCESS_READ_EXECUTE))));
	ck_assert(allows(
		entry(DATA_WINDOW, leaf_of(SMALL_REGION + (2u << 20), HV_ACCESS_READ_WRITE))));
}

/* Writes entry NR of the journal in the region. */
static inline void journal(unsigned nr, uint64_t gpa, const uint8_t *before, uint16_t len)
{
	struct hv_journal_entry *e =
		(struct hv_journal_entry *)(small.region.host + HV_REGION_JOURNAL_OFF) + nr;

	*e = (struct hv_journal_entry){
		.gpa = gpa, .gva = small.text + gpa, .state = HV_JOURNAL_USED, .len_bytes = len};
	memcpy(e->old_bytes, before, len);
}
