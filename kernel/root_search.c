/* SPDX-License-Identifier: GPL-2.0-or-later */
/* swapper_pg_dir is behind the text in every arm64 image (arch/arm64/kernel/vmlinux.lds.S), which
 * is one piece of physical memory. The start of the image would tell the size of its pages, but
 * that memory is given away after boot (e2a073dde921, v5.11). */
#include "kernel/root_search.h"

#include <string.h>
#include <time.h>

#include "kernel/cancel.h"

/* Of an image with everything in it that slows it down. */
#define IMAGE_MAX_BYTES (256ull << 20)
#define CHUNK_BYTES	(1u << 20)

/* A guest whose vCPUs all compute in user mode has a tick at least each 10 ms. */
#define LOOKS_MAX    200
#define LOOK_NS	     5000000
#define NR_ADDRESSES 8

/* An address and where it is. */
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

/* Tries each page of CHUNK, which is at AT, as a root in the format of ARCH. */
static bool search_chunk(struct hv_guest *g, const struct hv_arch *arch, struct hv_span chunk,
			 struct hv_gpa at, struct anchor anchor, struct hv_address_space *ret)
{
	unsigned levels = arch->format_levels;
	uint64_t page_bytes = arch->entry_span(1);

	for (uint64_t off = -at.v & (page_bytes - 1); off < chunk.len_bytes; off += page_bytes) {
		struct hv_gpa table = hv_gpa_add(at, off);
		struct hv_address_space as = {g, arch, table, levels};
		uint64_t entry_off = arch->entry_at(table, levels, anchor.gva).v - at.v;
		struct hv_pt_entry e;
		uint64_t entry;

		if (!hv_span_u64(chunk, entry_off, &entry))
			continue;
		e = arch->decode_entry(levels, entry);
		if (e.present && !e.leaf && leads_there(&as, anchor)) {
			*ret = as;
			return true;
		}
	}
	return false;
}

static struct hv_err *search_from(struct hv_guest *g, struct anchor anchor,
				  struct hv_address_space *ret, bool *ret_found)
{
	const struct hv_arch *const *formats = hv_guest_info(g)->arch->formats;
	HV_AUTO_FREE uint8_t *bytes = hv_alloc(CHUNK_BYTES);
	struct hv_gpa start = {anchor.gpa.v & ~(uint64_t)(CHUNK_BYTES - 1)};

	for (const struct hv_arch *const *f = formats; *f; f++) {
		for (uint64_t off = 0; off < IMAGE_MAX_BYTES; off += CHUNK_BYTES) {
			struct hv_gpa at = hv_gpa_add(start, off);
			struct hv_err *err = hv_cancel_check();

			if (err)
				return err;
			err = hv_guest_read(g, at, bytes, CHUNK_BYTES);
			if (err) { /* the end of RAM */
				hv_err_free(err);
				break;
			}
			*ret_found = search_chunk(g, *f, (struct hv_span){bytes, CHUNK_BYTES}, at,
						  anchor, ret);
			if (*ret_found)
				return NULL;
		}
	}
	return NULL;
}

/* Searches from the addresses that REGS tell, unless it was done before. */
static struct hv_err *search_by(struct hv_guest *g, const struct hv_vcpu_regs *regs, unsigned nr,
				uint64_t *tried, unsigned *nr_tried, struct hv_address_space *ret,
				bool *ret_found)
{
	struct hv_err *err = NULL;

	for (unsigned i = 0; !err && !*ret_found && i < nr && *nr_tried < NR_ADDRESSES; i++) {
		struct anchor anchor = {regs[i].ip, regs[i].ip_gpa};
		bool was_tried = false;

		for (unsigned j = 0; j < *nr_tried; j++)
			was_tried |= tried[j] == anchor.gva.v;
		if (!anchor.gpa.v || was_tried)
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
			nanosleep(&(struct timespec){.tv_nsec = LOOK_NS}, NULL);
		if (!err)
			err = hv_guest_registers(g, now);
	}
	if (err || found)
		return err;
	if (!nr_tried)
		return hv_err_new(ENOENT,
				  "no vCPU was seen in a kernel: firmware or a boot loader, or "
				  "all of them compute in user mode");
	return hv_err_new(ENOENT,
			  "no page tables behind 0x%llx: firmware or a boot loader, or a kernel "
			  "that is starting",
			  (unsigned long long)tried[0]);
}
