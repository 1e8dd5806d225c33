/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Answers requests about the programs in the guest: the cgroup of a process, the code that it has
 * mapped, and the functions in a file. kernel/programs/program.h reads them from the guest's memory.
 * Only root may ask, because the answers contain paths of the guest. */
#pragma once

#include "cli/service/state.h"

/* WIRE_PROGRAM: arg: the pid of a task. The answer has the path of its cgroup, which begins with
 * '/', if it is known, then a line for each mapping with code: start, end, offset, mapping, inode,
 * size (hexadecimal), build id ("-": unknown) and path, with blanks between them. The answer is
 * empty if the cgroup and the mappings are unknown. */
struct hv_err *programs_map(struct service *s, struct peer *p,
			    const struct wire_frame *frame) hv_must_use;
/* WIRE_FUNCTIONS: data: mapping, inode, size, then offsets in this file, hexadecimal, with blanks
 * between them. The answer has a line for each offset: the offset, its address in the file's own
 * numbers (0: unknown), and the function's name; "-": unknown. */
struct hv_err *programs_functions(struct service *s, struct peer *p,
				  const struct wire_frame *frame) hv_must_use;

#define PROGRAMS_PAGE_BYTES 4096u
#define PROGRAMS_PAGES_MAX  32u
/* WIRE_PAGES: arg: a task; data: mapping, inode, size, then the index of a page in this file,
 * hexadecimal, with blanks between them. If mapping, inode and size are 0, the file is the vDSO
 * that the task has mapped. The answer has a bitmap (u64), then PROGRAMS_PAGES_MAX pages from the
 * index on. Bit N is clear, and page N zero, if the page is not in the guest's page cache. */
struct hv_err *programs_pages(struct service *s, struct peer *p,
			      const struct wire_frame *frame) hv_must_use;
