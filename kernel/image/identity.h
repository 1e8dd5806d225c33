/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Identifies a kernel image by its banner, release and build id. Private to kernel/. */
#pragma once

#include "kernel/image/image.h"
#include "kernel/image/symbols.h"

struct hv_identity {
	char *banner;  /* owned, safe to print, no newline */
	char *release; /* owned, safe to print */
	uint8_t build_id[32];
	size_t build_id_len_bytes; /* 0: unknown */
};

/* Fails with ENOENT if linux_banner is unknown or does not contain a banner. */
struct hv_err *hv_identity_read(const struct hv_image *image, const struct hv_symbols *symbols,
				struct hv_identity *ret) hv_must_use;
void hv_identity_deinit(struct hv_identity *id);

/* Finds the build id (NT_GNU_BUILD_ID) in ELF notes and copies it. Returns its length, at most 32,
 * or 0 if not found. */
size_t hv_build_id_in_notes(struct hv_span notes, uint8_t ret[32]);
/* Returns the build id in hexadecimal, for messages. The caller frees it. */
char *hv_build_id_text(const uint8_t *build_id, size_t len_bytes) hv_must_use;
