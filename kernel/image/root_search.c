/* SPDX-License-Identifier: GPL-2.0-or-later */
/* swapper_pg_dir follows the text in every arm64 image (arch/arm64/kernel/vmlinux.lds.S), and
 * images are physically contiguous. The header of the image contains the page size, but its memory
 * is freed after boot (e2a073dde921, v5.11). */
#include "kernel/image/root_search.h"

#include <string.h>
#include <time.h>

#include "base/cancel.h"

/* For an image with all debug options. */
#define IMAGE_MAX_BYTES (256ull << 20)
#define CHUNK_BYTES	(1u << 20)
/* How far to search after a match, which may be in KPTI's tables for user mode (tramp_pg_dir): they
 * also map the entry code, and swapper_pg_dir is a few pages after them. */
#define BEHIND_CHUNKS	2

/* If all vCPUs of a guest compute in user mode, the timer tick interrupts them at least every 10
 * ms, but may take only a few microseconds. So the registers are read often. */
#define LOOKS_MAX    2000
#define LOOK_NS	     250000
#define NR_ADDRESSES 8

/* A virtual address with a known physical address. */
struct anchor {
	struct hv_gva gva;
	struct hv_gpa gpa;
};

static bool leads_there(const struct hv_address_space *as, struct anchor anchor)
{
	struct hv_mapping m;
	HV_AUTO_ERR struct hv_err *err = hv_walk(as, anchor.gva, &m);

	return !err && m.present && m.executable && m.gpa.v == anchor.gpa.v;
}

/* The best root found. The kernel's own has the most entries; KPTI's root has one. */
struct best {
	struct hv_address_space as;
	unsigned nr_entries; /* 0: not found yet */
};

/* Returns the number of present entries in the root table TABLE. CHUNK, which is at AT, contains
 * it. */
static unsigned count_entries(const struct hv_arch *arch, struct hv_span chunk, struct hv_gpa at,
			      struct hv_gpa table)
{
	unsigned levels = arch->format_levels, nr = 0;
	uint64_t first = arch->entry_at(table, levels, arch->kernel_start(levels)).v - at.v;
	uint64_t last = arch->entry_at(table, levels, hv_gva(UINT64_MAX)).v - at.v;
	uint64_t entry;

	for (uint64_t off = first; off <= last && hv_span_u64(chunk, off, &entry); off += 8)
		nr += arch->decode_entry(levels, entry).present;
	return nr;
}

/* Tries each page of CHUNK, which is at AT, as a root in the format of ARCH. */
static void search_chunk(struct hv_guest *g, const struct hv_arch *arch, struct hv_span chunk,
			 struct hv_gpa at, struct anchor anchor, struct best *best)
{
	unsigned levels = arch->format_levels;
	uint64_t page_bytes = arch->entry_span(1);

	for (uint64_t off = -at.v & (page_bytes - 1); off < chunk.len_bytes; off += page_bytes) {
		struct hv_gpa table = hv_gpa_add(at, off);
		struct hv_address_space as = {g, arch, table, levels};
		uint64_t entry_off = arch->entry_at(table, levels, anchor.gva).v - at.v;
		struct hv_pt_entry e;
		uint64_t entry;
		unsigned nr;

		if (!hv_span_u64(chunk, entry_off, &entry))
			continue;
		e = arch->decode_entry(levels, entry);
		if (!e.present || e.leaf || !leads_there(&as, anchor))
			continue;
		nr = count_entries(arch, chunk, at, table);
		if (nr > best->nr_entries)
			*best = (struct best){as, nr};
	}
}

/* Tries the pages from START on, in one format. */
static struct hv_err *search_in(struct hv_guest *g, const struct hv_arch *format,
				struct hv_gpa start, struct anchor anchor, struct best *best)
{
	HV_AUTO_FREE uint8_t *bytes = hv_alloc(CHUNK_BYTES);
	unsigned left = IMAGE_MAX_BYTES / CHUNK_BYTES;

	for (struct hv_gpa at = start; left; left--, at = hv_gpa_add(at, CHUNK_BYTES)) {
		struct hv_err *err = hv_cancel_check();

		if (err)
			return err;
		err = hv_guest_read(g, at, bytes, CHUNK_BYTES);
		if (err && err->code == EFAULT) { /* the end of RAM */
			hv_err_free(err);
			return NULL;
		}
		if (err)
			return err;
		search_chunk(g, format, (struct hv_span){bytes, CHUNK_BYTES}, at, anchor, best);
		if (best->nr_entries && left > BEHIND_CHUNKS)
			left = BEHIND_CHUNKS;
	}
	return NULL;
}

static struct hv_err *search_from(struct hv_guest *g, struct anchor anchor,
				  struct hv_address_space *ret, bool *ret_found)
{
	const struct hv_arch *const *formats = hv_guest_info(g)->arch->formats;
	struct hv_gpa start = {anchor.gpa.v & ~(uint64_t)(CHUNK_BYTES - 1)};
	struct best best = {0};
	struct hv_err *err = NULL;

	for (const struct hv_arch *const *f = formats; !err && !best.nr_entries && *f; f++)
		err = search_in(g, *f, start, anchor, &best);
	if (err || !best.nr_entries)
		return err;
	*ret = best.as;
	*ret_found = true;
	return NULL;
}

/* Code in hvtrace's region, which a vCPU may execute, is not in RAM and not followed by an
 * image. */
static struct hv_err *is_in_ram(struct hv_guest *g, struct hv_gpa at, bool *ret)
{
	uint8_t byte;
	struct hv_err *err = hv_guest_read(g, at, &byte, sizeof(byte));

	*ret = !err;
	if (!err || err->code != EFAULT)
		return err;
	hv_err_free(err);
	return NULL;
}

/* Searches from the addresses in REGS that were not tried before. */
static struct hv_err *search_by(struct hv_guest *g, const struct hv_vcpu_regs *regs, unsigned nr,
				uint64_t *tried, unsigned *nr_tried, struct hv_address_space *ret,
				bool *ret_found)
{
	struct hv_err *err = NULL;

	for (unsigned i = 0; !err && !*ret_found && i < nr && *nr_tried < NR_ADDRESSES; i++) {
		struct anchor anchor = {regs[i].ip, regs[i].ip_gpa};
		bool was_tried = false, in_ram = false;

		for (unsigned j = 0; j < *nr_tried; j++)
			was_tried |= tried[j] == anchor.gva.v;
		if (anchor.gpa.v && !was_tried)
			err = is_in_ram(g, anchor.gpa, &in_ram);
		if (err || !in_ram)
			continue;
		tried[(*nr_tried)++] = anchor.gva.v;
		err = search_from(g, anchor, ret, ret_found);
	}
	return err;
}

struct hv_err *hv_root_search(struct hv_guest *g, const struct hv_vcpu_regs *regs, unsigned nr,
			      struct hv_address_space *ret)
{
	HV_AUTO_FREE struct hv_vcpu_regs *now = hv_alloc(nr * sizeof(*now));
	uint64_t tried[NR_ADDRESSES];
	unsigned nr_tried = 0;
	bool found = false;
	struct hv_err *err = NULL;

	memcpy(now, regs, nr * sizeof(*now));
	for (unsigned i = 0; !err && i < LOOKS_MAX; i++) {
		err = search_by(g, now, nr, tried, &nr_tried, ret, &found);
		if (found || nr_tried == NR_ADDRESSES)
			break;
		if (!err)
			err = hv_cancel_check();
		if (!err)
			nanosleep(&(struct timespec){.tv_nsec = LOOK_NS}, NULL);
		if (!err)
			err = hv_guest_registers(g, now, nr);
	}
	if (err || found)
		return err;
	if (!nr_tried)
		return hv_err_new(ENOENT,
				  "no vCPU was seen in a kernel: firmware or a boot loader, or "
				  "all of them compute in user mode");
	return hv_err_new(ENOENT,
			  "no page tables at 0x%llx: firmware or a boot loader, or a kernel "
			  "that is starting",
			  (unsigned long long)tried[0]);
}
