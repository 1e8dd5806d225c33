/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A machine with memory, page tables in one of arm64's formats, and vCPUs whose registers give only
 * their position. */
#pragma once

#include <string.h>

#include "tests/lib/part_guest.h"
#include "vmm/guest.h"

#define AM_RAM_START 0x40000000ull
#define AM_RAM_BYTES (64u << 20)

struct am {
	uint8_t *ram;
	uint64_t next_table; /* next free table */
	const struct hv_arch *format;
	struct hv_gpa root;
	struct hv_guest *guest;
	struct hv_vcpu_regs vcpu; /* registers after USER_LOOKS reads */
	unsigned user_looks;
	unsigned nr_looks;
	uint64_t nr_bytes; /* total bytes read */
	int read_error;	   /* errno of each read; 0: success */
};

static inline struct hv_err *am_read(void *self, struct hv_gpa gpa, void *buf, size_t len)
{
	struct am *m = self;
	uint64_t off = gpa.v - AM_RAM_START;

	if (m->read_error)
		return hv_err_new(m->read_error, "the guest cannot be reached");
	m->nr_bytes += len;
	if (off > AM_RAM_BYTES || len > AM_RAM_BYTES - off)
		return hv_err_new(EFAULT, "no RAM at guest physical 0x%llx (%zu bytes)",
				  (unsigned long long)gpa.v, len);
	memcpy(buf, m->ram + off, len);
	return NULL;
}

/* All vCPUs have the same registers. */
static inline struct hv_err *am_registers(void *self, struct hv_vcpu_regs *ret, size_t nr)
{
	struct am *m = self;
	bool is_user = m->nr_looks++ < m->user_looks;

	for (size_t i = 0; i < nr; i++)
		ret[i] = is_user ? (struct hv_vcpu_regs){.ip = {0x401000}} : m->vcpu;
	return NULL;
}

static inline void am_free(void *self)
{
	(void)self;
}

static inline uint64_t *am_entry(struct am *m, struct hv_gpa table, unsigned level,
				 struct hv_gva gva)
{
	struct hv_gpa at = m->format->entry_at(table, level, gva);

	return (uint64_t *)(void *)(m->ram + (at.v - AM_RAM_START));
}

static inline struct hv_gpa am_table(struct am *m)
{
	struct hv_gpa table = {m->next_table};

	m->next_table += m->format->entry_span(1);
	return table;
}

/* Maps NR leaves of LEVEL from GVA to GPA. */
static inline void am_map(struct am *m, unsigned level, struct hv_gva gva, struct hv_gpa gpa,
			  unsigned nr, enum hv_access access)
{
	uint64_t span = m->format->entry_span(level);

	for (unsigned i = 0; i < nr; i++, gva.v += span, gpa.v += span) {
		struct hv_gpa table = m->root;

		for (unsigned l = m->format->format_levels; l > level; l--) {
			uint64_t *entry = am_entry(m, table, l, gva);

			if (!*entry)
				*entry = am_table(m).v | 3;
			table = m->format->decode_entry(l, *entry).to;
		}
		*am_entry(m, table, level, gva) =
			m->format->make_leaf(level, level == 1 ? 3 : 1, gpa, access);
	}
}

/* Tables begin at TABLES_OFF of RAM. */
static inline void am_init(struct am *m, const struct hv_arch *format, uint64_t tables_off)
{
	static struct hv_guest_ops ops = {
		.read = am_read, .registers = am_registers, .free = am_free};
	const struct hv_guest_info info = {
		.name = "test",
		.id = "test",
		.nr_vcpus = 1,
		.arch = &hv_arch_arm64,
		.ram_bytes = AM_RAM_BYTES,
		.transport = "test",
	};

	*m = (struct am){.ram = hv_alloc(AM_RAM_BYTES),
			 .next_table = AM_RAM_START + tables_off,
			 .format = format};
	m->guest = part_guest_new(&ops, m, &info);
	m->root = am_table(m);
}

static inline void am_deinit(struct am *m)
{
	hv_guest_free(m->guest);
	free(m->ram);
}
