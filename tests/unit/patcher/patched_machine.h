/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A fake guest whose memory is an array, and a patcher of its text. hold_write() checks that each
 * write is in a hold, in the order of addresses, and in the journal. A test sets which operations
 * fail. */
#pragma once

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "patcher/patcher.h"
#include "tests/lib/part_guest.h"

#define MEM_LEN	   (1U << 20)
#define TEXT_GPA   0x10000ULL
#define TEXT_GVA   0xffffffff81000000ULL
#define TEXT_LEN   0x10000ULL
#define MODULE_GVA 0xffffffffc0000000ULL
#define MODULE_GPA 0x40000ULL
#define ROOT_GPA   0x1000ULL

static const uint8_t nop[] = {0x0f, 0x1f, 0x44, 0x00, 0x00};

static struct machine {
	uint8_t mem[MEM_LEN];
	struct hv_vcpu_regs vcpu;
	unsigned held;
	bool journal_spoilt;
	bool loses_writes;   /* text stays as it was */
	uint64_t breakpoint; /* index in mem where the guest puts an int3; 0: none */
	unsigned nr_holds;
	unsigned nr_anywhere; /* holds that allow hidden vCPUs */
	size_t made[32];      /* writes in each of the first holds */
	size_t nr_text_writes;
	size_t fail_after;	 /* this number of writes succeed, the next one fails */
	unsigned slow_us;	 /* duration of each hold_write() */
	unsigned hold_times_out; /* holds up to this number time out */
	size_t hold_writes;	 /* in this hold */
	size_t hold_writes_max;	 /* a hold with more writes times out; 0: never */
	uint64_t held_ns;	 /* reported age of each hold */
} machine;

static uint8_t *region_memory;
static struct hv_region region;
static struct hv_guest *guest;
static struct hv_address_space as;
static struct hv_patcher *patcher;

static inline struct hv_err *mem_read(void *self, struct hv_gpa gpa, void *buf, size_t len)
{
	struct machine *m = self;

	if (gpa.v > MEM_LEN || len > MEM_LEN - gpa.v)
		return hv_err_new(EFAULT, "no RAM");
	memcpy(buf, m->mem + gpa.v, len);
	return NULL;
}

static inline struct hv_err *hold_begin(void *self, uint64_t max_ns)
{
	struct machine *m = self;

	ck_assert_uint_gt(max_ns, 0);
	ck_assert_uint_eq(m->held, 0);
	m->held = 1;
	m->hold_writes = 0;
	m->nr_holds++;
	return NULL;
}

static inline struct hv_err *hold_begin_anywhere(void *self, uint64_t max_ns)
{
	((struct machine *)self)->nr_anywhere++;
	return hold_begin(self, max_ns);
}

static inline struct hv_err *hold_end(void *self)
{
	struct machine *m = self;

	m->held = 0;
	if (m->nr_holds <= HV_ARRAY_LEN(m->made))
		m->made[m->nr_holds - 1] = m->hold_writes;
	if (m->hold_times_out >= m->nr_holds ||
	    (m->hold_writes_max && m->hold_writes > m->hold_writes_max))
		return hv_err_new(ETIMEDOUT, "the hold had ended");
	return NULL;
}

static inline uint64_t held_ns(void *self)
{
	return ((struct machine *)self)->held_ns;
}

static inline struct hv_err *hold_registers(void *self, struct hv_vcpu_regs *ret, size_t nr)
{
	struct machine *m = self;
	struct timespec registers = {.tv_nsec = (long)(m->held_ns / 3 * 2)};
	struct hv_err *err = hv_vcpus_check_room(1, nr);

	nanosleep(&registers, NULL);
	if (!err)
		*ret = m->vcpu;
	return err;
}

/* The journal in the region must contain every write before it is made. */
static inline bool journalled(const struct hv_hold_write *w)
{
	const struct hv_journal_entry *e = hv_region_journal(&region);

	for (uint32_t i = 0; i < hv_region_header(&region)->nr_entries; i++)
		if (e[i].state == HV_JOURNAL_USED && e[i].gpa == w->gpa.v &&
		    (memcmp(e[i].new_bytes, w->bytes, w->len_bytes) == 0 ||
		     memcmp(e[i].old_bytes, w->bytes, w->len_bytes) == 0))
			return true;
	return false;
}

static inline struct hv_err *hold_write(void *self, const struct hv_hold_write *writes, size_t nr)
{
	struct machine *m = self;

	ck_assert_uint_eq(m->held, 1);
	usleep(m->slow_us);
	m->hold_writes += nr;
	for (size_t i = 0; i < nr; i++) {
		if (m->nr_text_writes++ == m->fail_after)
			return hv_err_new(EIO, "the trampoline did not answer");
		ck_assert(m->journal_spoilt || journalled(&writes[i]));
		ck_assert(!i || writes[i - 1].gpa.v < writes[i].gpa.v);
		if (!m->loses_writes)
			memcpy(m->mem + writes[i].gpa.v, writes[i].bytes, writes[i].len_bytes);
		if (m->breakpoint)
			m->mem[m->breakpoint] = 0xcc;
	}
	return NULL;
}

static struct hv_guest_ops ops = {
	.read = mem_read,
	.hold_begin = hold_begin,
	.hold_begin_anywhere = hold_begin_anywhere,
	.hold_end = hold_end,
	.held_ns = held_ns,
	.hold_registers = hold_registers,
	.hold_write = hold_write,
};

static inline void put_entry(uint64_t table, unsigned level, uint64_t gva, uint64_t to)
{
	struct hv_gpa at = hv_arch_x86_64.entry_at(hv_gpa(table), level, hv_gva(gva));
	uint64_t entry = to | 0x63;

	memcpy(machine.mem + at.v, &entry, sizeof(entry));
}

static inline void set_up(void)
{
	struct hv_guest_info info = {
		.name = "array",
		.id = "array",
		.arch = &hv_arch_x86_64,
		.nr_vcpus = 1,
		.transport = "an array",
	};

	memset(&machine, 0, sizeof(machine));
	machine.fail_after = SIZE_MAX;
	put_entry(ROOT_GPA, 4, MODULE_GVA, 0x2000);
	put_entry(0x2000, 3, MODULE_GVA, 0x3000);
	put_entry(0x3000, 2, MODULE_GVA, 0x4000);
	put_entry(0x4000, 1, MODULE_GVA, MODULE_GPA);
	for (uint64_t at = TEXT_GPA; at < TEXT_GPA + TEXT_LEN; at += 16)
		memcpy(machine.mem + at, nop, sizeof(nop));
	memcpy(machine.mem + MODULE_GPA, nop, sizeof(nop));

	region_memory = calloc(1, HV_REGION_LEN_MIN);
	region = (struct hv_region){{0x80000000}, region_memory, HV_REGION_LEN_MIN};
	guest = part_guest_new(&ops, &machine, &info);
	as = (struct hv_address_space){guest, &hv_arch_x86_64, {ROOT_GPA}, 4};
	patcher = hv_patcher_new(&as, (struct hv_gva_range){{TEXT_GVA}, {TEXT_GVA + TEXT_LEN}},
				 &region);
}

static inline void tear_down(void)
{
	hv_patcher_free(patcher);
	hv_guest_free(guest);
	free(region_memory);
}

/* Returns a change of the nop at site NR to a call. */
static inline struct hv_change patch(unsigned nr)
{
	uint64_t off = 16ULL * nr;
	struct hv_change c = {
		.gva = {TEXT_GVA + off},
		.gpa = {TEXT_GPA + off},
		.kind = HV_CHANGE_TEXT,
		.len_bytes = sizeof(nop),
	};

	memcpy(c.from, nop, sizeof(nop));
	ck_assert(hv_arch_x86_64.encode_call(c.gva, hv_gva(0xffffffff80401000), c.to));
	return c;
}

static inline void check_bytes(const struct hv_change *c, const uint8_t *bytes)
{
	ck_assert_mem_eq(machine.mem + c->gpa.v, bytes, c->len_bytes);
}

static inline void undo_all(void)
{
	struct hv_change *undo;
	size_t nr = hv_patcher_undo_plan(patcher, HV_CHANGE_TEXT, &undo);

	ck_assert_ptr_null(hv_patcher_apply(patcher, undo, nr));
	free(undo);
}
