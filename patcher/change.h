/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the bytes of a change are. Private to patcher/. Pure. */
#pragma once

#include "patcher/patcher.h"

/* Whether such a change is one of instructions. */
bool hv_change_is_text(enum hv_change_kind kind);
/* Whether CHANGE replaces what a site has by another form of a site. Inside these no vCPU can be:
 * they are one instruction, or two between which it goes on rightly (site_pairs.h). */
bool hv_change_is_of_site(const struct hv_arch *arch, const struct hv_change *change);
/* Whether a vCPU at IP would go on in the middle of an instruction that CHANGE writes. Between the
 * two instructions of a site it goes on rightly: site_pairs.h sees to that. */
bool hv_change_has_inside(const struct hv_arch *arch, const struct hv_change *change,
			  struct hv_gva ip);
/* Whether NOW is a free site that CHANGE only makes into another free one: the guest's own ftrace
 * has ended the call, but the first instruction is ours (riscv64). Nobody uses what that loads. */
bool hv_change_is_half_gone(const struct hv_arch *arch, const struct hv_change *change,
			    const uint8_t *now);
