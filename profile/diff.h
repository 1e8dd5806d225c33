/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compares two profiles that are in the same chains: `before` of the nodes is the first one, `self` the
 * second one. The shares of all samples are compared, because the profiles may have different lengths:
 * texts show the share in the second profile, and its change in percentage points. hv_flame_svg() draws
 * the second profile, with colours for the changes. Names are untrusted. Pure. */
#pragma once

#include "base/text.h"
#include "profile/flame.h"

/* Zero-initialised is empty. */
struct hv_diff {
	struct hv_flame
		flame; /* of the second profile; a node precedes its descendants and siblings */
	struct hv_diff_part {
		uint64_t self, total;
	} * before; /* owned; of the first profile, by node */
};

/* C must outlive RET. All frames must have names. Frames with the same kind and name must be one frame,
 * as profile/read.h makes them. */
void hv_diff_make(const struct hv_chains *c, struct hv_diff *ret);
void hv_diff_deinit(struct hv_diff *d);

/* A tree for a terminal: nodes with a share of at least MIN_PPM in one of the profiles, in parts per
 * million. */
void hv_diff_text(const struct hv_diff *d, uint64_t min_ppm, struct hv_text *out);
/* The functions whose own share changed most, at most MAX. */
void hv_diff_changed(const struct hv_diff *d, size_t max, struct hv_text *out);
/* A line for each chain with both numbers, as difffolded.pl writes it. Begins no line after OUT has
 * MAX_BYTES; returns false if this omits any. */
bool hv_diff_folded(const struct hv_diff *d, size_t max_bytes, struct hv_text *out);
