/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/programs/page_cache.h"

#include <string.h>

#include "kernel/core/fields.h"
#include "kernel/kernel.h"

#define PAGE_BYTES 4096u
#define SLOTS	   64u
#define SLOT_BITS  6u
#define DEPTH_MAX  12u

/* Entries of an xarray (include/linux/xarray.h). */
#define INTERNAL_MASK 3u
#define INTERNAL      2u
#define NODES_MIN     4096u /* smaller internal entries are siblings and special values */

struct hv_err *hv_page_cache_find(const struct hv_kernel_core *core, struct hv_page_cache *ret)
{
	struct hv_page_cache c = {.core = core};
	const struct hv_field mapping[] = {{"host", 8, &c.host}, {"i_pages.xa_head", 8, &c.pages}};
	const struct hv_field inode[] = {
		{"i_ino", 8, &c.inode}, {"i_size", 8, &c.size}, {"i_mapping", 8, &c.map}};
	const struct hv_field node[] = {{"shift", 1, &c.shift}, {"slots", 8 * SLOTS, &c.slots}};
	struct hv_gva at;
	struct hv_err *err = hv_fields_find(core, "address_space", mapping, HV_ARRAY_LEN(mapping));

	if (!err)
		err = hv_fields_find(core, "inode", inode, HV_ARRAY_LEN(inode));
	if (!err)
		err = hv_fields_find(core, "xa_node", node, HV_ARRAY_LEN(node));
	if (!err)
		err = hv_core_need(core, "vmemmap_base", &at);
	if (!err)
		err = hv_read_u64(&core->as, at, &c.vmemmap);
	if (err)
		return err;
	hv_btf_size(core->btf, "page", &c.page_bytes);
	*ret = c;
	return NULL;
}

bool hv_cached_file_open(const struct hv_page_cache *c, struct hv_gva mapping,
			 struct hv_cached_file *ret)
{
	struct hv_cached_file f = {.cache = c, .mapping = mapping};
	const struct hv_address_space *as = &c->core->as;
	uint64_t host, map = 0;
	struct hv_err *err = hv_read_u64(as, hv_gva(mapping.v + c->host), &host);

	if (!err)
		err = hv_read_u64(as, hv_gva(host + c->map), &map);
	if (!err)
		err = hv_read_u64(as, hv_gva(host + c->inode), &f.ino);
	if (!err)
		err = hv_read_u64(as, hv_gva(host + c->size), &f.len_bytes);
	if (err) {
		hv_err_free(err);
		return false;
	}
	*ret = f;
	return map == mapping.v;
}

/* Finds the entry of page INDEX, which can cover several pages: *RET is the struct page of its
 * first page, which has the index *RET_BASE. Returns false if the page is absent. */
static bool find_page(const struct hv_cached_file *f, uint64_t index, uint64_t *ret,
		      uint64_t *ret_base)
{
	const struct hv_page_cache *c = f->cache;
	const struct hv_address_space *as = &c->core->as;
	uint64_t entry, base = 0;
	struct hv_err *err = hv_read_u64(as, hv_gva(f->mapping.v + c->pages), &entry);
	unsigned last_shift = 64;

	for (unsigned depth = 0; !err && depth < DEPTH_MAX; depth++) {
		uint64_t node = entry - INTERNAL, slot;
		uint8_t shift = 0;

		if ((entry & INTERNAL_MASK) != INTERNAL || entry <= NODES_MIN)
			break;
		err = hv_read(as, hv_gva(node + c->shift), &shift, sizeof(shift));
		if (err || shift >= last_shift ||
		    (!depth && shift < 58 && index >> (shift + SLOT_BITS)))
			break;
		last_shift = shift;
		slot = index >> shift & (SLOTS - 1);
		err = hv_read_u64(as, hv_gva(node + c->slots + 8 * slot), &entry);
		if (!err && (entry & INTERNAL_MASK) == INTERNAL && entry < NODES_MIN) {
			slot = entry >> 2; /* a sibling: the entry is in that slot */
			if (slot >= SLOTS)
				return false;
			err = hv_read_u64(as, hv_gva(node + c->slots + 8 * slot), &entry);
		}
		base = (index >> shift & ~(uint64_t)(SLOTS - 1)) << shift | slot << shift;
	}
	if (err) {
		hv_err_free(err);
		return false;
	}
	*ret = entry;
	*ret_base = last_shift == 64 ? 0 : base;
	return entry && !(entry & INTERNAL_MASK) && (last_shift != 64 || !index) &&
	       *ret_base <= index;
}

static bool read_page(const struct hv_cached_file *f, uint64_t off, void *buf, size_t len)
{
	const struct hv_page_cache *c = f->cache;
	uint64_t index = off / PAGE_BYTES, page, base, pfn;
	struct hv_err *err;

	if (!find_page(f, index, &page, &base) || !c->page_bytes || page < c->vmemmap ||
	    (page - c->vmemmap) % c->page_bytes)
		return false;
	pfn = (page - c->vmemmap) / c->page_bytes + (index - base);
	if (pfn >> 40)
		return false;
	err = hv_guest_read(c->core->as.guest, hv_gpa(pfn * PAGE_BYTES + off % PAGE_BYTES), buf,
			    len);
	if (!err)
		return true;
	hv_err_free(err);
	return false;
}

static bool read_cached(void *ctx, uint64_t off, void *buf, size_t len_bytes)
{
	const struct hv_cached_file *f = ctx;

	for (size_t at = 0; at < len_bytes;) {
		size_t len = PAGE_BYTES - (off + at) % PAGE_BYTES;

		if (len > len_bytes - at)
			len = len_bytes - at;
		if (!read_page(f, off + at, (uint8_t *)buf + at, len))
			return false;
		at += len;
	}
	return true;
}

struct hv_elf_file hv_cached_file_elf(struct hv_cached_file *f)
{
	return (struct hv_elf_file){.read = read_cached, .ctx = f, .len_bytes = f->len_bytes};
}
