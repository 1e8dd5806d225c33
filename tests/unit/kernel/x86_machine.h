/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A machine of a few MiB with only memory and page tables, for tests of the layers above vmm/. */
#pragma once

#include <string.h>

#include "tests/lib/part_guest.h"
#include "vmm/guest.h"

#define XM_RAM_BYTES (32u << 20)
#define XM_X	     1u /* executable */
#define XM_W	     2u /* writable */

struct xm {
	uint8_t *ram;
	uint64_t next_table; /* tables are taken from the top of RAM down */
	struct hv_guest *guest;
	unsigned nr_reads;
	void (*after_read)(struct xm *m, struct hv_gpa gpa); /* acts as the guest; may be NULL */
};

static inline struct hv_err *xm_read(void *self, struct hv_gpa gpa, void *buf, size_t len)
{
	struct xm *m = self;

	m->nr_reads++;
	if (gpa.v > XM_RAM_BYTES || len > XM_RAM_BYTES - gpa.v)
		return hv_err_new(EFAULT, "no RAM at guest physical 0x%llx (%zu bytes)",
				  (unsigned long long)gpa.v, len);
	memcpy(buf, m->ram + gpa.v, len);
	if (m->after_read)
		m->after_read(m, gpa);
	return NULL;
}

static inline void xm_free(void *self)
{
	(void)self;
}

static inline void xm_init(struct xm *m)
{
	static struct hv_guest_ops ops = {.read = xm_read, .free = xm_free};
	const struct hv_guest_info info = {
		.name = "test",
		.id = "test",
		.nr_vcpus = 2,
		.arch = &hv_arch_x86_64,
		.ram_bytes = XM_RAM_BYTES,
		.transport = "test",
	};

	*m = (struct xm){.ram = hv_alloc(XM_RAM_BYTES), .next_table = XM_RAM_BYTES};
	m->guest = part_guest_new(&ops, m, &info);
}

static inline void xm_deinit(struct xm *m)
{
	hv_guest_free(m->guest);
	free(m->ram);
}

static inline struct hv_gpa xm_table(struct xm *m)
{
	m->next_table -= 4096;
	return hv_gpa(m->next_table);
}

static inline uint64_t *xm_entry(struct xm *m, struct hv_gpa table, unsigned level,
				 struct hv_gva gva)
{
	return (uint64_t *)(m->ram + table.v + (gva.v >> (12 + 9 * (level - 1)) & 0x1ff) * 8);
}

/* Returns the entry of LEVEL for GVA. Creates missing tables on the way. */
static inline uint64_t *xm_path(struct xm *m, struct hv_gpa root, unsigned levels, unsigned level,
				struct hv_gva gva)
{
	struct hv_gpa table = root;

	for (unsigned l = levels; l > level; l--) {
		uint64_t *e = xm_entry(m, table, l, gva);

		if (!*e)
			*e = xm_table(m).v | 3;
		table = hv_gpa(*e & 0xffffffffff000);
	}
	return xm_entry(m, table, level, gva);
}

static inline void xm_map(struct xm *m, struct hv_gpa root, unsigned levels, unsigned level,
			  struct hv_gva gva, struct hv_gpa gpa, unsigned nr, unsigned access)
{
	uint64_t span = 1ull << (12 + 9 * (level - 1));

	for (unsigned i = 0; i < nr; i++)
		*xm_path(m, root, levels, level, hv_gva_add(gva, i * span)) =
			(gpa.v + i * span) | 1 | (level > 1 ? 0x80 : 0) | (access & XM_W ? 2 : 0) |
			(access & XM_X ? 0 : 1ull << 63);
}
