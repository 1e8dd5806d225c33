/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A guest with 1 MiB of RAM and a 4 MiB region, in this process. A write outside a hold is an
 * error. The kernel's page tables map all RAM from SMALL_TEXT on (on other architectures, from
 * small.text on): code, data, and pages that are mapped only as kernel data. */
#pragma once

#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/lib/part_guest.h"
#include "vmm/guest.h"

#define SMALL_RAM    (1u << 20)
#define SMALL_REGION 0x100000000ull
#define SMALL_TEXT   0xffffffff81000000ull /* kernel address of guest physical 0 */
#define SMALL_WINDOW 0xffffffff90000000ull /* possible kernel address of the region */
#define SMALL_CODE   0x8000u		   /* end of the code; data follows */
#define SMALL_TABLES 0x80000u		   /* the kernel's root table */

struct small_guest {
	uint8_t *ram;		    /* a mapping of FD */
	const struct hv_arch *arch; /* with the format of its tables */
	uint64_t text;		    /* kernel address of RAM */
	uint64_t tables_end;
	struct hv_vcpu_regs regs[2];
	struct hv_region region;
	int fd;
	bool held;
	unsigned nr_writes;
	unsigned fails_after; /* the hold ends before this write of a list; 0: never */
	int stop_fd;
	struct hv_gva stop; /* 0: none */
	int exit_fd;	    /* readable when the VMM has ended */
	bool has_threads;   /* the vCPUs have threads: this process */
};

static struct hv_err *small_read(void *self, struct hv_gpa gpa, void *buf, size_t len)
{
	struct small_guest *s = self;

	if (gpa.v > SMALL_RAM || len > SMALL_RAM - gpa.v)
		return hv_err_mark(hv_err_in(hv_err_new(EFAULT, "no RAM"), "small"),
				   HV_ERR_NEEDS_MONITOR);
	memcpy(buf, s->ram + gpa.v, len);
	return NULL;
}

static struct hv_err *small_ram_files(void *self, struct hv_ram_file *ret, size_t max,
				      size_t *ret_nr)
{
	struct small_guest *s = self;

	(void)max;
	*ret = (struct hv_ram_file){hv_gpa(0), SMALL_RAM, 0, s->fd, false};
	*ret_nr = 1;
	return NULL;
}

static struct hv_err *small_region(void *self, struct hv_region *ret)
{
	*ret = ((struct small_guest *)self)->region;
	return NULL;
}

static struct hv_err *small_hold_begin(void *self, uint64_t max_ns hv_unused)
{
	((struct small_guest *)self)->held = true;
	return NULL;
}

/* Records the call in the last byte of RAM. */
static struct hv_err *small_hold_begin_anywhere(void *self, uint64_t max_ns)
{
	((struct small_guest *)self)->ram[SMALL_RAM - 1] = 1;
	return small_hold_begin(self, max_ns);
}

static struct hv_err *small_hold_end(void *self)
{
	((struct small_guest *)self)->held = false;
	return NULL;
}

static struct hv_err *small_write(void *self, const struct hv_hold_write *writes, size_t nr)
{
	struct small_guest *s = self;

	if (!s->held)
		abort();
	for (size_t i = 0; i < nr; i++) {
		uint64_t off = writes[i].gpa.v - s->region.gpa.v;

		if (s->fails_after && i + 1 == s->fails_after)
			return hv_err_new(ETIMEDOUT, "the hold has ended");
		if (writes[i].gpa.v < SMALL_RAM - writes[i].len_bytes)
			memcpy(s->ram + writes[i].gpa.v, writes[i].bytes, writes[i].len_bytes);
		else if (off < s->region.len_bytes - writes[i].len_bytes)
			memcpy(s->region.host + off, writes[i].bytes, writes[i].len_bytes);
		else
			return hv_err_new(EFAULT, "no memory");
		s->nr_writes++;
	}
	return NULL;
}

static struct hv_err *small_registers(void *self, struct hv_vcpu_regs *ret, size_t nr)
{
	struct hv_err *err = hv_vcpus_check_room(2, nr);

	if (!err)
		memcpy(ret, ((struct small_guest *)self)->regs, 2 * sizeof(*ret));
	return err;
}

/* Entries in S's format: a pointer to a table, and a leaf with usual attributes. */
static inline uint64_t small_table(const struct small_guest *s, uint64_t to)
{
	if (hv_arch_is(s->arch, &hv_arch_riscv64))
		return to >> 2 | 1;
	return hv_arch_is(s->arch, &hv_arch_x86_64) ? to | 0x63 : to | 3;
}

static inline uint64_t small_leaf(const struct small_guest *s, unsigned level, uint64_t to,
				  enum hv_access access)
{
	uint64_t neighbour = 0x701;

	if (hv_arch_is(s->arch, &hv_arch_riscv64))
		neighbour = 0xe3;
	if (hv_arch_is(s->arch, &hv_arch_x86_64))
		neighbour = level > 1 ? 0xe1 : 0x61;
	return s->arch->make_leaf(level, neighbour, hv_gpa(to), access);
}

/* Returns the entry of GVA at LEVEL in the tables from ROOT on. Creates missing tables. */
static inline uint64_t small_entry(struct small_guest *s, unsigned levels, uint64_t root,
				   unsigned level, uint64_t gva)
{
	uint64_t at = s->arch->entry_at(hv_gpa(root), levels, hv_gva(gva)).v;

	for (unsigned l = levels; l > level; l--) {
		uint64_t entry, len = s->arch->entry_span(1);

		memcpy(&entry, s->ram + at, 8);
		if (!entry) {
			if (s->tables_end + len > SMALL_RAM)
				abort();
			entry = small_table(s, s->tables_end);
			memcpy(s->ram + at, &entry, 8);
			s->tables_end += len;
		}
		at = s->arch->entry_at(s->arch->decode_entry(l, entry).to, l - 1, hv_gva(gva)).v;
	}
	return at;
}

static inline unsigned small_levels(const struct small_guest *s)
{
	return s->arch->format_levels ? s->arch->format_levels : 4;
}

static inline uint64_t small_entry_of(struct small_guest *s, uint64_t gva)
{
	return small_entry(s, small_levels(s), SMALL_TABLES, s->arch->map_level, gva);
}

/* Maps RAM in the tables from ROOT on. */
static inline void small_map(struct small_guest *s, uint64_t root)
{
	for (uint64_t at = 0; at < SMALL_RAM; at += s->arch->entry_span(1)) {
		uint64_t entry_at = small_entry(s, small_levels(s), root, 1, s->text + at);
		uint64_t leaf = small_leaf(
			s, 1, at, at < SMALL_CODE ? HV_ACCESS_READ_EXECUTE : HV_ACCESS_READ_WRITE);

		memcpy(s->ram + entry_at, &leaf, 8);
	}
}

/* Adds entries to the kernel's half of its root: KPTI's user-mode root has fewer there. */
static inline void small_fill_root(struct small_guest *s)
{
	unsigned levels = small_levels(s);
	uint64_t at =
		s->arch->entry_at(hv_gpa(SMALL_TABLES), levels, s->arch->kernel_start(levels)).v;
	uint64_t last = s->arch->entry_at(hv_gpa(SMALL_TABLES), levels, hv_gva(UINT64_MAX)).v;
	uint64_t empty = small_table(s, s->tables_end), entry;

	s->tables_end += s->arch->entry_span(1);
	for (unsigned nr = 0; at <= last && nr <= s->arch->users_entries_max; at += 8) {
		memcpy(&entry, s->ram + at, 8);
		if (entry)
			continue;
		memcpy(s->ram + at, &empty, 8);
		nr++;
	}
}

/* Makes the tables in the format ARCH for a kernel at TEXT, and two vCPUs that use them: one in the
 * kernel, one in user mode. */
static inline void small_make_tables(struct small_guest *s, const struct hv_arch *arch,
				     uint64_t text)
{
	uint64_t root = SMALL_TABLES;

	s->arch = arch;
	s->text = text;
	memset(s->ram + SMALL_TABLES, 0, SMALL_RAM - SMALL_TABLES - arch->entry_span(1));
	s->tables_end = SMALL_TABLES + arch->entry_span(1);
	small_map(s, SMALL_TABLES);
	small_fill_root(s);
	if (hv_arch_is(arch, &hv_arch_riscv64))
		root = SMALL_TABLES >> 12 | 9ull << 60; /* Sv48 */
	for (unsigned i = 0; i < 2; i++)
		s->regs[i] = (struct hv_vcpu_regs){.root = root, .levels = small_levels(s)};
	s->regs[0].ip = hv_gva(text + 0x1100);
	s->regs[0].ip_gpa = hv_gpa(arch->format_levels ? 0x1100 : 0);
	s->regs[1].ip = hv_gva(0x1234);
	/* an x86-64 root contains other bits beside the address */
	s->regs[0].root |= hv_arch_is(arch, &hv_arch_x86_64) ? 11 : 0;
	s->regs[1].root |= hv_arch_is(arch, &hv_arch_x86_64) ? 22 : 0;
}

static struct hv_err *small_vcpu_threads(void *self, pid_t *ret, size_t max, size_t *ret_nr)
{
	if (max < 2)
		return hv_err_new(E2BIG, "two vCPUs");
	if (!((struct small_guest *)self)->has_threads)
		return hv_err_new(ESRCH, "no threads");
	ret[0] = ret[1] = getpid();
	*ret_nr = 2;
	return NULL;
}

static int small_exit_fd(void *self)
{
	return ((struct small_guest *)self)->exit_fd;
}

/* The guest reaches AT immediately. */
static struct hv_err *small_stop_at(void *self, struct hv_gva at)
{
	struct small_guest *s = self;
	uint64_t one = 1;

	if (s->stop.v)
		return hv_err_new(EBUSY, "another stop is set already");
	s->stop = at;
	return write(s->stop_fd, &one, sizeof(one)) < 0 ? hv_err_new(errno, "stop") : NULL;
}

static int small_stop_fd(void *self)
{
	return ((struct small_guest *)self)->stop_fd;
}

static struct hv_err *small_is_at_stop(void *self, bool *ret)
{
	*ret = ((struct small_guest *)self)->stop.v != 0;
	return NULL;
}

static void small_end_stop(void *self)
{
	((struct small_guest *)self)->stop.v = 0;
}

static struct hv_err *small_run_to(void *self hv_unused, struct hv_gva at)
{
	return at.v == SMALL_TEXT ? NULL : hv_err_new(ECANCELED, "it has ended");
}

static inline struct hv_guest *small_guest_open_as(struct small_guest *s,
						   const struct hv_arch *arch)
{
	static struct hv_guest_ops ops = {
		.read = small_read,
		.ram_files = small_ram_files,
		.registers = small_registers,
		.region = small_region,
		.vcpu_threads = small_vcpu_threads,
		.exit_fd = small_exit_fd,
		.stop_at = small_stop_at,
		.stop_fd = small_stop_fd,
		.is_at_stop = small_is_at_stop,
		.end_stop = small_end_stop,
		.run_to = small_run_to,
		.hold_begin = small_hold_begin,
		.hold_begin_anywhere = small_hold_begin_anywhere,
		.hold_registers = small_registers,
		.hold_write = small_write,
		.hold_end = small_hold_end,
	};
	const struct hv_guest_info info = {
		.name = "small",
		.id = "small-1",
		.transport = "a test",
		.pid = 7,
		.nr_vcpus = 2,
		.ram_bytes = SMALL_RAM,
		.injected = true,
		.arch = arch,
	};

	*s = (struct small_guest){
		.fd = memfd_create("small", 0), .stop_fd = eventfd(0, EFD_NONBLOCK), .exit_fd = -1};
	s->region = (struct hv_region){.gpa = hv_gpa(SMALL_REGION),
				       .len_bytes = 4u << 20,
				       .fd = s->fd,
				       .file_off = SMALL_RAM};
	if (ftruncate(s->fd, SMALL_RAM + (off_t)s->region.len_bytes) != 0)
		abort();
	s->ram = mmap(NULL, SMALL_RAM, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd, 0);
	s->region.host = mmap(NULL, s->region.len_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd,
			      SMALL_RAM);
	if (hv_arch_is(arch, &hv_arch_x86_64))
		small_make_tables(s, arch, SMALL_TEXT);
	return part_guest_new(&ops, s, &info);
}

static inline struct hv_guest *small_guest_open(struct small_guest *s)
{
	return small_guest_open_as(s, &hv_arch_x86_64);
}
