/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes BTF. The caller numbers the types: the first one has id 1. Source of the format:
 * Documentation/bpf/btf.rst. Private to kernel/. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct hv_btf_bytes {
	uint8_t *list; /* owned */
	size_t nr, cap;
};

/* Starts zeroed. */
struct hv_btf_writer {
	struct hv_btf_bytes types, strings;
};

void hv_btf_writer_deinit(struct hv_btf_writer *w);
/* Adds a string and returns its offset. The first one must be "". */
uint32_t hv_btf_write_string(struct hv_btf_writer *w, const char *text);
/* Adds a type with NR items. NAME is the offset of a string. Its items follow, as words. */
void hv_btf_write_type(struct hv_btf_writer *w, uint32_t name, uint32_t kind, uint32_t nr,
		       uint32_t size_or_type);
void hv_btf_write_word(struct hv_btf_writer *w, uint32_t word);
/* Returns all BTF; the caller frees it. There must be a type. */
uint8_t *hv_btf_write_end(const struct hv_btf_writer *w, size_t *ret_len_bytes);
