/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/service/boot.h"

/* Where the root is not told, the place of a vCPU's next instruction may be. That of a guest of the
 * kernel's own proves nothing. */
static enum boot_state look_at_places(const struct hv_kernel *k, const struct hv_vcpu_regs *regs,
				      unsigned nr)
{
	enum boot_state state = BOOT_UNKNOWN;

	for (unsigned i = 0; i < nr; i++) {
		if (!regs[i].ip_gpa.v)
			continue;
		if (hv_leads_to(&k->core.as, regs[i].ip, regs[i].ip_gpa))
			return BOOT_SAME;
		if (regs[i].is_hypervisor || !k->layout.may_host)
			state = BOOT_OTHER;
	}
	return state;
}

enum boot_state boot_look(struct hv_kernel *k)
{
	struct hv_err *err = hv_guest_count_vcpus(k->guest);
	unsigned nr = hv_guest_info(k->guest)->nr_vcpus;
	HV_AUTO_FREE struct hv_vcpu_regs *regs = hv_alloc(nr * sizeof(*regs));
	struct hv_mapping text = {0};

	if (!err)
		err = hv_guest_registers(k->guest, regs, nr);
	if (err) {
		hv_err_free(err);
		return BOOT_UNKNOWN;
	}
	err = hv_walk(&k->core.as, k->text.start, &text);
	if (err || !text.present) {
		hv_err_free(err);
		return BOOT_OTHER;
	}
	if (k->core.as.arch->format_levels)
		return look_at_places(k, regs, nr);
	for (unsigned i = 0; i < nr; i++)
		if (hv_vcpu_leads_to(&k->core.as, &regs[i], k->text.start, text.gpa))
			return BOOT_SAME;
	return BOOT_OTHER;
}
