/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/vcpu_regs.h"

#include <string.h>

#include "arch/arch.h"
#include "vmm/page_walk.h"

static bool is_boolean(const uint8_t *byte)
{
	return *byte <= 1;
}

bool hv_vcpu_regs_are_sane(const void *regs, size_t nr)
{
	const uint8_t *at = regs;

	for (size_t i = 0; i < nr; i++, at += sizeof(struct hv_vcpu_regs)) {
		uint32_t levels, hidden;

		memcpy(&levels, at + offsetof(struct hv_vcpu_regs, levels), sizeof(levels));
		memcpy(&hidden, at + offsetof(struct hv_vcpu_regs, hidden), sizeof(hidden));
		if (levels > HV_PAGE_LEVELS_MAX || hidden > HV_HIDDEN_YES ||
		    !is_boolean(at + offsetof(struct hv_vcpu_regs, executes_all)) ||
		    !is_boolean(at + offsetof(struct hv_vcpu_regs, is_hypervisor)))
			return false;
	}
	return true;
}
