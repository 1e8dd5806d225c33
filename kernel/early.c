/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Source: kernel/kallsyms.c, include/linux/kernel.h (enum system_states). */
#include "kernel/early.h"

#include "kernel/image/kallsyms.h"

static void image_deinit(struct hv_image *image)
{
	hv_image_deinit(image);
}

static void symbols_deinit(struct hv_symbols *symbols)
{
	hv_symbols_deinit(symbols);
}

static struct hv_err *read_registers(struct hv_guest *g, struct hv_vcpu_regs **ret)
{
	unsigned nr = hv_guest_info(g)->nr_vcpus;

	*ret = hv_alloc(nr * sizeof(**ret));
	return hv_guest_registers(g, *ret, nr);
}

struct hv_err *hv_early_symbol(struct hv_guest *g, const char *name, struct hv_gva *ret)
{
	hv_cleanup(image_deinit) struct hv_image image = {0};
	hv_cleanup(symbols_deinit) struct hv_symbols symbols = {0};
	HV_AUTO_FREE struct hv_vcpu_regs *regs = NULL;
	struct hv_address_space as;
	struct hv_err *err = read_registers(g, &regs);

	if (!err)
		err = hv_image_find(g, regs, hv_guest_info(g)->nr_vcpus, &as, &image);
	if (!err)
		err = hv_kallsyms_read(&image, &symbols);
	if (err)
		return err;
	if (!hv_symbols_find(&symbols, name, ret))
		return hv_err_new(ENOENT, "kernel has no symbol %s", name);
	return NULL;
}

/* The stack of a stopped vCPU. */
struct stopped {
	struct hv_address_space as;
	uint64_t sp;
	struct hv_err *err;
};

static bool word_at(void *ctx, uint32_t at, uint64_t *ret)
{
	struct stopped *s = ctx;
	uint64_t off = (at - s->sp) & HV_STACK_ADDRESS_MASK;

	if (!s->err)
		s->err = hv_read_u64(&s->as, hv_gva(s->sp + off), ret);
	return !s->err;
}

static struct hv_err *read_return(struct stopped *s, struct hv_gva *ret)
{
	const struct hv_arch *arch = s->as.arch;
	struct hv_unwind_frame f = {.sp = (uint32_t)(s->sp & HV_STACK_ADDRESS_MASK)};

	if (arch->unwind(&arch->entry_rule, word_at, s, &f) == HV_UNWOUND_CALLER) {
		*ret = f.ip;
		return NULL;
	}
	if (!s->err)
		s->err = hv_err_new(EINVAL, "vCPU 0: no return address at 0x%llx",
				    (unsigned long long)s->sp);
	return s->err;
}

struct hv_err *hv_early_return(struct hv_guest *g, struct hv_gva *ret)
{
	HV_AUTO_FREE struct hv_vcpu_regs *regs = NULL;
	struct stopped s = {.as = {.guest = g, .arch = hv_guest_info(g)->arch}};
	struct hv_err *err = read_registers(g, &regs);
	struct hv_gpa roots[2];

	if (err)
		return err;
	/* The root can be set before the vCPU uses it. */
	if (!regs[0].levels || !s.as.arch->roots(&regs[0], roots))
		return hv_err_new(ENOENT, "vCPU 0: no page tables");
	s.as.root = roots[0];
	s.as.levels = regs[0].levels;
	s.sp = regs[0].sp.v;
	return read_return(&s, ret);
}

bool hv_early_in_kernel(struct hv_guest *g)
{
	HV_AUTO_FREE struct hv_vcpu_regs *regs = NULL;
	HV_AUTO_ERR struct hv_err *err = read_registers(g, &regs);
	const struct hv_guest_info *info = hv_guest_info(g);

	for (unsigned i = 0; !err && i < info->nr_vcpus; i++)
		if (regs[i].levels &&
		    (hv_gva_in(regs[i].ip, info->arch->image_range) ||
		     regs[i].trap_table.v >= info->arch->kernel_start(regs[i].levels).v))
			return true;
	return false;
}

bool hv_early_is_up(const struct hv_kernel_core *core)
{
	int64_t running;
	uint32_t state = 0;
	struct hv_gva at;

	if (!hv_core_symbol(core, "system_state", &at))
		return true;
	/* The value depends on the version. In each, SYSTEM_BOOTING is 0. */
	if (!core->btf || !hv_btf_enumerator(core->btf, "SYSTEM_RUNNING", &running))
		running = 1;
	hv_err_free(hv_read_u32(&core->as, at, &state));
	return state >= (uint32_t)running;
}
