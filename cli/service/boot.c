/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/service/boot.h"

/* Finds the kernel's text by the page tables at ROOT. False: they do not lead to it. */
static bool text_at(const struct hv_kernel *k, struct hv_gpa root, unsigned levels,
		    struct hv_gpa *ret)
{
	struct hv_address_space as = k->core.as;
	struct hv_mapping mapping;
	struct hv_err *err;

	as.root = root;
	as.levels = levels;
	err = hv_walk(&as, k->text.start, &mapping);
	if (err || !mapping.present) {
		hv_err_free(err);
		return false;
	}
	*ret = mapping.gpa;
	return true;
}

static bool leads_to(const struct hv_kernel *k, const struct hv_vcpu_regs *regs,
		     struct hv_gpa text_gpa)
{
	struct hv_gpa roots[2];
	struct hv_gpa gpa;
	unsigned nr;

	if (regs->levels != k->core.as.levels)
		return false;
	nr = k->core.as.arch->roots(regs, roots);
	for (unsigned i = 0; i < nr; i++)
		if (text_at(k, roots[i], regs->levels, &gpa) && gpa.v == text_gpa.v)
			return true;
	return false;
}

/* Where the root is not told, the place of a vCPU's next instruction may be. */
static enum boot_state look_at_places(const struct hv_kernel *k, const struct hv_vcpu_regs *regs,
				      unsigned nr)
{
	enum boot_state state = BOOT_UNKNOWN;

	for (unsigned i = 0; i < nr; i++) {
		struct hv_mapping m;
		HV_AUTO_ERR struct hv_err *err = NULL;

		if (!regs[i].ip_gpa.v)
			continue;
		err = hv_walk(&k->core.as, regs[i].ip, &m);
		if (!err && m.present && m.gpa.v == regs[i].ip_gpa.v)
			return BOOT_SAME;
		state = BOOT_OTHER;
	}
	return state;
}

enum boot_state boot_look(struct hv_kernel *k)
{
	struct hv_err *err = hv_guest_count_vcpus(k->guest);
	unsigned nr = hv_guest_info(k->guest)->nr_vcpus;
	HV_AUTO_FREE struct hv_vcpu_regs *regs = hv_alloc(nr * sizeof(*regs));
	struct hv_gpa text_gpa;

	if (!err)
		err = hv_guest_registers(k->guest, regs);
	if (err) {
		hv_err_free(err);
		return BOOT_UNKNOWN;
	}
	if (!text_at(k, k->core.as.root, k->core.as.levels, &text_gpa))
		return BOOT_OTHER;
	if (k->core.as.arch->format_levels)
		return look_at_places(k, regs, nr);
	for (unsigned i = 0; i < nr; i++)
		if (leads_to(k, &regs[i], text_gpa))
			return BOOT_SAME;
	return BOOT_OTHER;
}
