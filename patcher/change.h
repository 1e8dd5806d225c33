/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Classifies changes. Private to patcher/. Pure. */
#pragma once

#include "patcher/patcher.h"

/* Returns whether changes of KIND overwrite instructions. */
bool hv_change_is_text(enum hv_change_kind kind);
/* Returns whether CHANGE only switches a site between its forms. No vCPU can be in the middle of
 * such a change: a site is one instruction, or two between which execution continues correctly
 * (site_pairs.h). */
bool hv_change_is_of_site(const struct hv_arch *arch, const struct hv_change *change);
/* Returns whether a vCPU at IP would resume in the middle of an instruction that CHANGE writes.
 * Between the two instructions of a site, it resumes correctly (site_pairs.h). */
bool hv_change_has_inside(const struct hv_arch *arch, const struct hv_change *change,
			  struct hv_gva ip);
/* Returns whether NOW, the bytes of CHANGE's site, is an unused site that CHANGE turns into another
 * unused form. On riscv64, the guest's ftrace can remove the call and leave our first instruction,
 * whose result is not used. */
bool hv_change_is_half_gone(const struct hv_arch *arch, const struct hv_change *change,
			    const uint8_t *now);
