/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks the guest's memory for fuzz_broker: each byte is the guest's own, or one that the rules
 * permit (docs/operators/security.md, "The rules"). Knows where the guest has code, tables and
 * data, and shares no code with the rules. */
#pragma once

#include <stdlib.h>

#include "tests/unit/vmm/broker/small_guest.h"
#include "vmm/guest.h"

#define SITES	     16u
#define SITE_AT(n)   (0x1000u + 32u * (n))
#define WORDS	     16u
#define WORD_AT(n)   (0x10000u + 8u * (n))
#define USER_START   0x30000u /* memory of a program */
#define USER_END     0x34000u
#define DATA_START   SMALL_CODE
#define PAGE_BYTES   4096u
#define UNIT	     (2u << 20)
#define DATA_WINDOW  (SMALL_WINDOW + UNIT)
#define ENTRIES	     8u
#define WRITES_MAX   6u
#define JOURNAL_USED 16u
#define LEN_X86	     5

static struct small_guest small;
static uint8_t *own; /* the guest's memory without the service's writes */
static struct hv_journal_entry journal[JOURNAL_USED];
static size_t nr_journal;

static uint64_t word_in(const uint8_t *ram, uint64_t gpa)
{
	uint64_t word;

	memcpy(&word, ram + gpa, sizeof(word));
	return word;
}

static void check(bool is_true)
{
	if (!is_true)
		abort();
}

static bool is_ours(uint64_t address)
{
	return address - SMALL_WINDOW < (uint64_t)ENTRIES * UNIT;
}

static bool is_code(uint64_t address)
{
	return address - SMALL_TEXT < SMALL_CODE;
}

static bool is_data(uint64_t address)
{
	return address - SMALL_TEXT >= DATA_START && address - SMALL_TEXT < SMALL_RAM;
}

static bool is_branch(const uint8_t *ram, uint64_t gpa, uint64_t *ret)
{
	int32_t distance;

	memcpy(&distance, ram + gpa + 1, sizeof(distance));
	*ret = SMALL_TEXT + gpa + LEN_X86 + (uint64_t)(int64_t)distance;
	return ram[gpa] == 0xe8 || ram[gpa] == 0xe9;
}

/* Returns whether the bytes are a nop of a static key. */
static bool is_nop(const uint8_t *code, size_t len)
{
	static const uint8_t nops[][LEN_X86] = {{0x0f, 0x1f, 0x44, 0x00, 0x00},
						{0x66, 0x66, 0x66, 0x66, 0x90},
						{0x3e, 0x8d, 0x74, 0x26, 0x00}};

	if (len == 2)
		return code[0] == 0x66 && code[1] == 0x90;
	for (unsigned i = 0; i < HV_ARRAY_LEN(nops); i++)
		if (memcmp(code, nops[i], LEN_X86) == 0)
			return true;
	return false;
}

/* Returns the length of the nop that fills the rest of the replaced instructions after a jump. */
static size_t len_behind(const uint8_t *code)
{
	if (memcmp(code, "\x0f\x1f\x00", 3) == 0)
		return 3;
	return code[0] == 0x66 && code[1] == 0x90 ? 2 : 0;
}

/* Returns the number of changed bytes at GPA that the rules permit, or 0. */
static size_t explained(uint64_t gpa)
{
	const uint8_t *now = small.ram + gpa, *was = own + gpa;
	uint64_t target = 0, before = 0;
	bool leads = is_branch(small.ram, gpa, &target), led = is_branch(own, gpa, &before);

	for (size_t i = 0; i < nr_journal; i++)
		if (journal[i].gpa == gpa &&
		    memcmp(now, journal[i].old_bytes, journal[i].len_bytes) == 0)
			return journal[i].len_bytes;
	if (leads && is_ours(target))
		return now[0] == 0xe8 && !is_nop(was, LEN_X86) && was[0] != 0xe8
			       ? 0
			       : LEN_X86 + len_behind(now + LEN_X86);
	if (leads && led)
		return is_code(target) && now[0] == was[0] ? LEN_X86 : 0;
	if (leads)
		return is_code(target) && now[0] == 0xe9 && is_nop(was, LEN_X86) ? LEN_X86 : 0;
	if (led && was[0] == 0xe9)
		return is_nop(now, LEN_X86) ? LEN_X86 : 0;
	if (was[0] == 0xeb || now[0] == 0xeb)
		return is_nop(was, 2) || is_nop(now, 2) ? 2 : 0;
	return is_nop(now, LEN_X86) && is_nop(was, LEN_X86) ? LEN_X86 : 0;
}

/* Returns whether AT begins an unchanged page, like most. */
static bool is_page_same(uint64_t at)
{
	return at % PAGE_BYTES == 0 && at + PAGE_BYTES <= SMALL_RAM &&
	       memcmp(small.ram + at, own + at, PAGE_BYTES) == 0;
}

static void check_code(void)
{
	for (uint64_t at = 0; at < SMALL_CODE; at++) {
		uint64_t end = at;

		if (is_page_same(at))
			at += PAGE_BYTES - 1;
		if (small.ram[at] == own[at])
			continue;
		for (uint64_t start = at < 8 ? 0 : at - 7; start <= at; start++) {
			size_t len = explained(start);

			if (start + len > end)
				end = start + len;
		}
		check(end > at);
		at = end - 1;
	}
}

static bool is_leaf_of_region(uint64_t entry)
{
	uint64_t to = entry & 0x000fffffffe00000;
	bool is_writable = entry & 2, is_executable = !(entry >> 63);

	return (entry & 0x81) == 0x81 && !(is_writable && is_executable) && to >= SMALL_REGION &&
	       to + UNIT <= SMALL_REGION + small.region.len_bytes;
}

/* Only the window's entries may change. They are empty or lead to the region. */
static void check_tables(void)
{
	uint64_t first = small_entry_of(&small, SMALL_WINDOW);

	for (uint64_t at = SMALL_TABLES; at < small.tables_end; at += 8) {
		uint64_t now = word_in(small.ram, at), was = word_in(own, at);

		if (now == was)
			continue;
		check(at - first < ENTRIES * 8);
		check(was == 0 || is_leaf_of_region(was));
		check(now == 0 || is_leaf_of_region(now));
	}
}

struct bits {
	unsigned nr;
	unsigned kinds[2];
};

static void check_bit(struct bits *bits, uint64_t gpa)
{
	uint8_t bit = small.ram[gpa] ^ own[gpa];
	unsigned kind = (unsigned)(gpa % 64) << 8 | bit;

	check(!(bit & (bit - 1)));
	for (unsigned i = 0; i < bits->nr; i++)
		if (bits->kinds[i] == kind)
			return;
	check(bits->nr < 2);
	bits->kinds[bits->nr++] = kind;
}

static void check_half(struct bits *bits, uint64_t gpa)
{
	uint32_t now, was;

	memcpy(&now, small.ram + gpa, 4);
	memcpy(&was, own + gpa, 4);
	if (now - was + 2 <= 4 && now <= 4096 + 2)
		return;
	for (unsigned i = 0; i < 4; i++)
		if (small.ram[gpa + i] != own[gpa + i])
			check_bit(bits, gpa + i);
}

/* Returns whether the rules permit this change of a pointer or return address. */
static bool is_word_explained(uint64_t now, uint64_t was)
{
	if (is_ours(now))
		return now % 8 == 0 && (was == 0 || is_ours(was) || is_data(was));
	if (now == 0)
		return is_ours(was) || is_data(was);
	if (is_data(now))
		return is_ours(was) || is_data(was) || was == 0;
	return is_code(now) && (is_code(was) || is_ours(was));
}

static void check_data(void)
{
	struct bits bits = {0};

	for (uint64_t at = DATA_START; at < SMALL_RAM - 8; at += 8) {
		uint64_t now, was;

		if (at == SMALL_TABLES)
			at = small.tables_end;
		if (is_page_same(at)) {
			at += PAGE_BYTES - 8;
			continue;
		}
		now = word_in(small.ram, at);
		was = word_in(own, at);
		if (now == was || is_word_explained(now, was))
			continue;
		check_half(&bits, at);
		check_half(&bits, at + 4);
	}
}
