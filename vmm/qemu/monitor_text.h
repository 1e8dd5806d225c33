/* What QEMU's monitor prints, decoded: host addresses, vCPUs; and lines of /proc/PID/maps. Leaves
 * to others: the memory tree (memory_tree.h). Pure: text in, values out; a line that is not
 * understood is skipped, never guessed. Checked against QEMU 7.2 (monitor/misc.c hmp_gpa2hva). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"

/* TEXT: of `gpa2hva ADDR`. *RET_NAME, of the memory region, is the caller's to free. False: nothing
 * there that the VMM has in its memory. */
bool hv_gpa2hva_parse(const char *text, uint64_t *ret_hva, char **ret_name);

/* TEXT: of `info registers -a`. How many vCPUs it has. */
unsigned hv_vcpu_text_count(const char *text);
/* The NR-th one's part, without its heading; their numbers may have gaps, where one was unplugged.
 * *RET is a copy, caller frees. */
bool hv_vcpu_text(const char *text, unsigned nr, char **ret);

struct hv_vma {
	uint64_t start;
	uint64_t end;
	uint64_t file_off;
	uint64_t dev; /* as the line has it: one number a file system */
	uint64_t inode;
	bool readable;
	bool writable;
	bool shared;
	bool has_file;
};
/* One line of /proc/PID/maps, proc(5). */
bool hv_vma_parse(const char *line, struct hv_vma *ret);
