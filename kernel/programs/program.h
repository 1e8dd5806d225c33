/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The programs in a guest: which files a task has mapped as code, read from the kernel's memory (task,
 * mm, vma, file, dentry), and the functions in these files, from the page cache. Everything read is
 * untrusted and changes during the read: each structure is copied once, and walks are bounded. */
#pragma once

#include <stdint.h>

#include "base/addr.h"
#include "kernel/programs/elf_symbols.h"

struct hv_kernel;

/* Identifies a file while it is in the page cache. */
struct hv_program_file_id {
	struct hv_gva mapping; /* its address_space; 0: no file */
	uint64_t ino, len_bytes;
};

/* A mapping with code: [START, END) is the file from OFF on. */
struct hv_program_map {
	uint64_t start, end, off;
	struct hv_program_file_id file;
	char *path; /* owned, untrusted; "[vdso]", or "" for memory without a file */
	uint8_t build_id[HV_ELF_BUILD_ID_MAX];
	size_t build_id_len; /* 0: unknown */
};

/* The mappings of a process. */
struct hv_program {
	uint32_t tgid;
	char *cgroup;		     /* owned, untrusted path (cgroup.h); NULL: unknown */
	struct hv_program_map *maps; /* owned, sorted by address */
	size_t nr;
};

/* Reads the process of task PID. Returns false if there is no such task, it is a kernel thread, its
 * memory is inconsistent even when read again, or this kernel's types do not show it. */
bool hv_program_read(struct hv_kernel *k, uint32_t pid, struct hv_program *ret);
void hv_program_deinit(struct hv_program *p);

/* Finds the functions at the NR places of LIST in file ID, as hv_elf_find_functions() does. Returns
 * false if the file is no longer in the page cache. */
bool hv_program_find_functions(struct hv_kernel *k, const struct hv_program_file_id *id,
			       struct hv_elf_place *list, size_t nr);

#define HV_PROGRAM_PAGE_BYTES 4096u
/* Copies NR pages, at most 64, of file ID from page FIRST on to BUF. If ID has no mapping, the file
 * is the vDSO of task PID, which is complete even if it is not mapped. Returns a bit for each page,
 * which is set if it was read. The other pages are zeroed. */
uint64_t hv_program_read_pages(struct hv_kernel *k, uint32_t pid,
			       const struct hv_program_file_id *id, uint64_t first, unsigned nr,
			       void *buf);
