/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Assembles struct hv_kernel: the core kernel, the layout of its structures, modules and sites. */
#include "kernel/kernel.h"

#include <string.h>

#include "base/cancel.h"
#include "kernel/early.h"
#include "kernel/image/identity.h"
#include "kernel/sites/kallsyms_lookup.h"
#include "kernel/arch/kernel_arch.h"
#include "kernel/core/orc_form.h"
#include "kernel/image/vmlinux.h"

#define OPEN_TRIES_MAX 16

/* Number of bytes to check of ftrace_stub, which only returns. */
#define RETURN_CODE_BYTES 64

bool hv_kernel_symbol(const struct hv_kernel *k, const char *name, struct hv_gva *ret)
{
	return hv_core_symbol(&k->core, name, ret);
}

struct hv_gva_range hv_kernel_init_text(const struct hv_kernel *k)
{
	struct hv_gva_range r;

	if (!hv_kernel_symbol(k, "_sinittext", &r.start) ||
	    !hv_kernel_symbol(k, "_einittext", &r.end))
		return (struct hv_gva_range){0};
	return r;
}

static struct hv_err *find_text(const struct hv_kernel_core *core, struct hv_gva_range *ret)
{
	struct hv_gva_range image = core->image.all, text;
	struct hv_err *err = hv_core_need(core, "_stext", &text.start);

	if (!err)
		err = hv_core_need(core, "_etext", &text.end);
	if (err)
		return err;
	if (!hv_gva_in(text.start, image) || text.end.v <= text.start.v || text.end.v > image.end.v)
		return hv_err_new(
			EINVAL, "text 0x%llx..0x%llx is not inside the image 0x%llx..0x%llx",
			(unsigned long long)text.start.v, (unsigned long long)text.end.v,
			(unsigned long long)image.start.v, (unsigned long long)image.end.v);
	*ret = text;
	return NULL;
}

static struct hv_err *classify_return(const struct hv_kernel *k, struct hv_span code,
				      struct hv_gva at, struct hv_gva *ret)
{
	if (code.len_bytes > RETURN_CODE_BYTES)
		code.len_bytes = RETURN_CODE_BYTES;
	if (!k->core.as.arch->classify_return(code, at, ret))
		return hv_err_new(ENOTSUP,
				  "unknown return instructions in this kernel's ftrace_stub 0x%llx",
				  (unsigned long long)at.v);
	return NULL;
}

/* A kernel that is booting has not patched its returns yet. x86 patches them in
 * alternative_instructions(); afterwards the thunk that they used before may warn about its use
 * (warn_thunk_thunk, 6.9, 4461438a8405). A plain return works before and after that moment. */
static struct hv_err *find_return_thunk(struct hv_kernel *k)
{
	struct hv_gva at;
	struct hv_err *err = hv_core_need(&k->core, "ftrace_stub", &at);

	if (!err)
		err = classify_return(k, hv_image_at(&k->core.image, at), at, &k->return_thunk);
	if (!err && !hv_early_is_up(&k->core)) {
		k->is_starting = true;
		k->return_thunk = hv_gva(0);
	}
	return err;
}

struct hv_err *hv_kernel_settle(struct hv_kernel *k, bool *ret_changed)
{
	uint8_t code[RETURN_CODE_BYTES];
	struct hv_gva at, thunk;
	struct hv_err *err;

	*ret_changed = false;
	if (!k->is_starting || !hv_early_is_up(&k->core))
		return NULL;
	err = hv_core_need(&k->core, "ftrace_stub", &at);
	if (!err)
		err = hv_read(&k->core.as, at, code, sizeof(code));
	if (!err)
		err = classify_return(k, (struct hv_span){code, sizeof(code)}, at, &thunk);
	if (err)
		return err;
	*ret_changed = thunk.v != k->return_thunk.v;
	k->return_thunk = thunk;
	k->is_starting = false;
	return NULL;
}

/* No code reads bss in the copy. Types are used in place and normally precede bss; a hostile guest
 * may place them later. */
static void drop_bss(struct hv_kernel_core *core)
{
	struct hv_gva bss, types_end = hv_gva(0);

	(void)hv_core_symbol(core, "__stop_BTF", &types_end);
	if (hv_symbols_find(&core->symbols, "__bss_start", &bss) && bss.v >= types_end.v)
		hv_image_keep_until(&core->image, bss);
}

/* An unknown reach is no error here, but prevents mapping the region. */
static struct hv_err *find_reach(struct hv_kernel_core *core)
{
	const struct hv_kernel_arch *arch = hv_kernel_arch_of(core);

	if (arch->find_reach)
		core->no_reach = arch->find_reach(core, &core->reach);
	return hv_cancel_check();
}

/* How much to read of a kernel. */
enum depth {
	DEPTH_CORE,
	DEPTH_MODULES, /* also modules and sites */
};

static struct hv_err *open_with(struct hv_kernel *k, const struct hv_vcpu_regs *regs,
				struct hv_vmlinux *v, const char *path, enum depth depth)
{
	struct hv_identity id;
	struct hv_err *err = hv_core_open(k->guest, regs, v, path, &k->core, &id);

	if (err)
		return err;
	k->banner = id.banner;
	k->release = id.release;
	memcpy(k->build_id, id.build_id, sizeof(k->build_id));
	k->build_id_len_bytes = id.build_id_len_bytes;
	k->core.orc = hv_alloc(sizeof(*k->core.orc));
	err = find_reach(&k->core);
	if (!err)
		err = find_text(&k->core, &k->text);
	if (!err)
		err = hv_layout_read(&k->core, &k->layout);
	if (!err)
		err = find_return_thunk(k);
	if (err)
		return err;
	k->kpti = hv_kernel_arch_of(&k->core)->has_kpti(&k->core);
	/* A kernel that is booting has not patched its thunks yet. */
	k->jumps_bare = !k->is_starting && hv_kernel_arch_of(&k->core)->jumps_bare(&k->core);
	drop_bss(&k->core);
	return depth == DEPTH_MODULES ? hv_kernel_refresh(k) : NULL;
}

/* The kernel was found with the page tables of running tasks. If a task exits, its tables are
 * freed, and reads may fail or return garbage. *RET: no vCPU still has its previous root, so the
 * error proves nothing. */
static struct hv_err *roots_are_gone(struct hv_guest *g, struct hv_vcpu_regs *regs, bool *ret)
{
	unsigned nr = hv_guest_info(g)->nr_vcpus;
	HV_AUTO_FREE struct hv_vcpu_regs *before = hv_alloc(nr * sizeof(*before));
	struct hv_err *err;

	memcpy(before, regs, nr * sizeof(*before));
	err = hv_guest_registers(g, regs, nr);
	*ret = true;
	for (unsigned i = 0; i < nr; i++)
		*ret &= before[i].root != regs[i].root;
	return err;
}

static struct hv_err *try_open(struct hv_guest *g, const struct hv_vcpu_regs *regs,
			       const struct hv_vmlinux_file *file, enum depth depth,
			       struct hv_kernel **ret)
{
	hv_cleanup(hv_vmlinux_deinit) struct hv_vmlinux v = {0};
	struct hv_kernel *k = hv_alloc(sizeof(*k));
	struct hv_err *err = file ? hv_vmlinux_open(file, &v) : NULL;

	k->guest = g;
	if (!err)
		err = open_with(k, regs, file ? &v : NULL, file ? file->path : NULL, depth);
	if (err)
		hv_kernel_free(k);
	else
		*ret = k;
	return err;
}

static struct hv_err *open_to(struct hv_guest *g, const struct hv_vmlinux_file *file,
			      enum depth depth, struct hv_kernel **ret)
{
	unsigned nr = hv_guest_info(g)->nr_vcpus;
	HV_AUTO_FREE struct hv_vcpu_regs *regs = hv_alloc(nr * sizeof(*regs));
	struct hv_err *err = hv_guest_registers(g, regs, nr);

	for (unsigned tries = 1; !err; tries++) {
		bool gone = false;
		HV_AUTO_ERR struct hv_err *unread = NULL;

		err = try_open(g, regs, file, depth, ret);
		if (!err)
			return NULL;
		unread = roots_are_gone(g, regs, &gone);
		if (unread || !gone || tries == OPEN_TRIES_MAX)
			return err;
		hv_err_free(err);
		err = NULL;
	}
	return err;
}

struct hv_err *hv_kernel_open(struct hv_guest *g, const struct hv_vmlinux_file *vmlinux,
			      struct hv_kernel **ret)
{
	return open_to(g, vmlinux, DEPTH_MODULES, ret);
}

struct hv_err *hv_kernel_open_core(struct hv_guest *g, struct hv_kernel **ret)
{
	return open_to(g, NULL, DEPTH_CORE, ret);
}

void hv_kernel_free(struct hv_kernel *k)
{
	if (!k)
		return;
	hv_sites_deinit(&k->sites);
	hv_modules_deinit(&k->modules);
	hv_core_deinit(&k->core);
	free(k->banner);
	free(k->release);
	free(k);
}

struct hv_err *hv_kernel_refresh(struct hv_kernel *k)
{
	struct hv_gva_range left_out = {0};
	struct hv_modules modules = {0};
	struct hv_sites sites = {0};
	uint64_t signature = 0;
	HV_AUTO_ERR struct hv_err *unknown = hv_modules_signature(&k->core, &signature);
	struct hv_err *err = hv_modules_read(&k->core, &modules);

	if (err)
		return err;
	/* A kernel that is booting will free its init code, and hvtrace's changes with it. */
	if (!k->has_init_sites)
		left_out = hv_kernel_init_text(k);
	err = hv_sites_read(&k->core, &modules, left_out, &sites);
	if (err) {
		hv_modules_deinit(&modules);
		return err;
	}
	hv_modules_deinit(&k->modules);
	hv_sites_deinit(&k->sites);
	k->modules = modules;
	k->sites = sites;
	k->modules_signature = unknown ? 0 : signature;
	k->symbols_version++;
	return NULL;
}

bool hv_kernel_symbol_at(const struct hv_kernel *k, struct hv_gva addr, const char **ret_name,
			 const char **ret_module, uint64_t *ret_off)
{
	return hv_kallsyms_lookup(&k->core, &k->modules, addr, ret_name, ret_module, ret_off);
}

bool hv_kernel_code_at(const struct hv_kernel *k, struct hv_gva addr, struct hv_gva_range *ret_text,
		       const struct hv_symbols **ret_symbols)
{
	const struct hv_module *module;

	if (hv_gva_in(addr, k->text)) {
		*ret_text = k->text;
		*ret_symbols = &k->core.symbols;
		return true;
	}
	module = hv_module_at(&k->modules, addr);
	if (!module)
		return false;
	*ret_text = module->text;
	*ret_symbols = &module->symbols;
	return true;
}

uint64_t hv_kernel_symbol_size(const struct hv_kernel *k, struct hv_gva addr)
{
	return hv_kallsyms_lookup_size(&k->core, &k->modules, addr);
}

struct hv_err *hv_kernel_percpu(const struct hv_kernel *k, uint64_t percpu, unsigned cpu,
				struct hv_gva *ret)
{
	if (cpu >= k->layout.nr_cpus)
		return hv_err_new(EINVAL, "cpu %u of %u", cpu, k->layout.nr_cpus);
	return hv_core_percpu(&k->core, percpu, cpu, ret);
}

struct hv_err *hv_kernel_need_irq_stack(const struct hv_kernel *k)
{
	uint64_t percpu;

	return hv_kernel_arch_of(&k->core)->find_irq_stack(&k->core, &percpu);
}

struct hv_err *hv_kernel_need_exception_stacks(const struct hv_kernel *k)
{
	return hv_kernel_arch_of(&k->core)->check_exception_stacks(&k->core);
}

/* KVM increments the version twice whenever a vCPU resumes after it was descheduled by the host. So
 * it is 0 only if KVM does not write the record. */
struct hv_err *hv_kernel_need_steal_time(const struct hv_kernel *k)
{
	struct hv_gva at;
	uint32_t version = 0;
	struct hv_err *err;

	if (!k->layout.has_steal_time)
		return hv_err_new(EOPNOTSUPP,
				  "the kernel has no steal time (struct kvm_steal_time): the host "
				  "cannot report how long a vCPU did not run");
	err = hv_kernel_percpu(k, k->layout.steal_version_percpu, 0, &at);
	if (!err)
		err = hv_read_u32(&k->core.as, at, &version);
	if (!err && !version)
		err = hv_err_new(EOPNOTSUPP,
				 "the host does not report steal time to the guest: TCG has none, "
				 "and under KVM the VMM can switch it off");
	return err;
}
