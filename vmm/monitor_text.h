/* What QEMU's monitor prints, decoded: the flat view of memory, host addresses, vCPUs; and lines of
 * /proc/PID/maps. Pure: text in, values out; a line that is not understood is skipped, never
 * guessed. Checked against QEMU 7.2 (softmmu/memory.c mtree_print_flatview, monitor/misc.c
 * hmp_gpa2hva). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"

struct hv_flat_range {
	struct hv_gpa start;
	uint64_t len_bytes;
	char *name; /* of the memory region, owned */
};

struct hv_flat_view {
	struct hv_flat_range *ram; /* what the guest can read and write as memory, ascending */
	size_t nr_ram;
};

/* TEXT: of `info mtree -f -o`. Takes the view of address space "memory" and of it the ranges of
 * type "ram" that no device owns, and those of a device's memory behind an object. False: no such
 * view. */
bool hv_flat_view_parse(const char *text, struct hv_flat_view *ret);
void hv_flat_view_deinit(struct hv_flat_view *v);
/* Takes [START, START + LEN) out of the view. */
void hv_flat_view_cut(struct hv_flat_view *v, struct hv_gpa start, uint64_t len_bytes);

/* TEXT: of `gpa2hva ADDR`. False: not RAM. */
bool hv_gpa2hva_parse(const char *text, uint64_t *ret_hva);

/* TEXT: of `info registers -a`. How many vCPUs it has. */
unsigned hv_vcpu_text_count(const char *text);
/* The NR-th one's part, without its heading; their numbers may have gaps, where one was unplugged.
 * *RET is a copy, caller frees. */
bool hv_vcpu_text(const char *text, unsigned nr, char **ret);

struct hv_vma {
	uint64_t start;
	uint64_t end;
	uint64_t file_off;
	bool readable;
	bool writable;
	bool shared;
	bool has_file;
};
/* One line of /proc/PID/maps, proc(5). */
bool hv_vma_parse(const char *line, struct hv_vma *ret);
