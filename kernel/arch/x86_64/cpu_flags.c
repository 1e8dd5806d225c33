/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kernel properties that depend on features of the boot CPU (boot_cpu_data). Features have the
 * kernel's own names for their bits (x86_cap_flags; arch/x86/kernel/cpu/). */
#include <string.h>

#include "kernel/arch/x86_64/x86_64.h"

#define CPU_FLAGS_MAX 2048 /* NCAPINTS is 22 in 6.12 */

/* The index of a name in x86_cap_flags is the number of its bit. Returns false if the kernel does
 * not have the name or the bits cannot be read. */
static bool read_cpu_flag(const struct hv_kernel_core *core, const char *flag, bool *ret)
{
	struct hv_gva names_at, data_at;
	struct hv_span names, bits;
	uint32_t off, len;

	if (!core->btf || !hv_core_symbol(core, "x86_cap_flags", &names_at) ||
	    !hv_core_symbol(core, "boot_cpu_data", &data_at) ||
	    !hv_btf_member(core->btf, "cpuinfo_x86", "x86_capability", &off, &len))
		return false;
	names = hv_image_at(&core->image, names_at);
	bits = hv_image_at(&core->image, hv_gva_add(data_at, off));
	for (size_t i = 0; i < len * 8ull && i < CPU_FLAGS_MAX; i++) {
		struct hv_span name;
		uint64_t at;
		uint8_t byte;

		if (!hv_span_u64(names, i * sizeof(at), &at))
			return false;
		name = hv_image_at(&core->image, hv_gva(at));
		if (!hv_span_has(name, 0, strlen(flag) + 1) ||
		    memcmp(name.data, flag, strlen(flag) + 1))
			continue;
		if (!hv_span_u8(bits, i / 8, &byte))
			return false;
		*ret = byte & 1u << i % 8;
		return true;
	}
	return false;
}

bool x86_64_has_kpti(const struct hv_kernel_core *core)
{
	bool pti;

	return read_cpu_flag(core, "pti", &pti) && pti;
}

/* FRED (6.9, 14619d912b65) has two separate kernel entry points. */
bool x86_64_enters_elsewhere(const struct hv_kernel_core *core)
{
	struct hv_gva at;
	bool fred;

	if (!hv_core_symbol(core, "asm_fred_entrypoint_user", &at))
		return false;
	return !read_cpu_flag(core, "fred", &fred) || fred;
}

/* Indirect branch tracking. Only kernels with this function can use it (5.18, 991625f3dd2c). */
static bool may_track_branches(const struct hv_kernel_core *core)
{
	struct hv_gva at;
	bool ibt;

	if (!hv_core_symbol(core, "ibt_selftest", &at))
		return false;
	return !read_cpu_flag(core, "ibt", &ibt) || ibt;
}

/* A kernel with retpolines has a thunk for each register and fills them in at boot
 * (arch/x86/lib/retpoline.S). */
bool x86_64_jumps_bare(const struct hv_kernel_core *core)
{
	struct hv_gva at;

	if (may_track_branches(core))
		return false;
	if (!hv_core_symbol(core, "__x86_indirect_thunk_rcx", &at))
		return !hv_core_symbol(core, "__x86_indirect_thunk_array", &at);
	return core->as.arch->is_bare_jump(hv_image_at(&core->image, at));
}
