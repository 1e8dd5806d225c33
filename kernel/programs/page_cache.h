/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the pages of a file that are in the guest kernel's page cache, through the file's
 * address_space. The tree of pages (xarray) is untrusted and changes during the read: a walk is
 * bounded. A page may be replaced while it is read, so the contents are hints. Private to kernel/. */
#pragma once

#include "kernel/core/core.h"
#include "kernel/programs/elf_symbols.h"

/* Offsets and addresses that a kernel's page cache needs. */
struct hv_page_cache {
	const struct hv_kernel_core *core;
	uint32_t host, pages;	   /* in struct address_space; PAGES: of i_pages.xa_head */
	uint32_t inode, size, map; /* in struct inode: i_ino, i_size, i_mapping */
	uint32_t shift, slots;	   /* in struct xa_node */
	uint32_t page_bytes;	   /* size of struct page */
	uint64_t vmemmap;	   /* address of the first struct page */
};

/* ENOENT: this kernel's types or symbols do not show the page cache. */
struct hv_err *hv_page_cache_find(const struct hv_kernel_core *core,
				  struct hv_page_cache *ret) hv_must_use;

struct hv_cached_file {
	const struct hv_page_cache *cache;
	struct hv_gva mapping; /* its address_space */
	uint64_t ino, len_bytes;
};

/* Reads the number and the size of the file of MAPPING. Returns false if MAPPING is no address_space
 * of a file. */
bool hv_cached_file_open(const struct hv_page_cache *c, struct hv_gva mapping,
			 struct hv_cached_file *ret);
/* Returns F for elf_symbols.h. Borrows F. */
struct hv_elf_file hv_cached_file_elf(struct hv_cached_file *f);
