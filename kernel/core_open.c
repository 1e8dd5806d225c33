/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the core kernel: registers -> image -> symbols -> identity -> BTF -> its own page
 * tables. */
#include "kernel/core/core.h"

#include <string.h>

#include "kernel/image/identity.h"
#include "kernel/image/kallsyms.h"
#include "kernel/unnamed.h"
#include "kernel/image/vmlinux.h"

static bool banner_at(const struct hv_image *image, struct hv_gva at)
{
	static const char banner[] = "Linux version ";
	struct hv_span s = hv_image_at(image, at);

	return hv_span_has(s, 0, strlen(banner)) && !memcmp(s.data, banner, strlen(banner));
}

/* Computes the KASLR offset between the image and the addresses in V from the start of their text.
 * The offset is valid only if the guest's banner is where V places it. */
static bool find_kaslr_offset(const struct hv_image *image, const struct hv_vmlinux *v,
			      uint64_t *ret_offset, struct hv_gva *ret_linked)
{
	static const char *const starts[] = {"_text", "_stext"};
	struct hv_gva start, banner;

	if (!hv_symbols_find(&v->symbols, "linux_banner", &banner))
		return false;
	for (size_t i = 0; i < HV_ARRAY_LEN(starts); i++) {
		uint64_t offset;

		if (!hv_symbols_find(&v->symbols, starts[i], &start))
			continue;
		offset = image->text.start.v - start.v;
		if (!banner_at(image, hv_gva_add(banner, offset)))
			continue;
		*ret_offset = offset;
		*ret_linked = start;
		return true;
	}
	return false;
}

/* Takes V's symbols, relocated to the kernel's address. Per-CPU offsets and constants are below the
 * image and stay unchanged. */
static struct hv_err *take_vmlinux_symbols(struct hv_kernel_core *core, struct hv_vmlinux *v)
{
	uint64_t offset;
	struct hv_gva linked;

	if (!find_kaslr_offset(&core->image, v, &offset, &linked))
		return hv_err_new(
			EINVAL,
			"it is of another kernel: the guest has no banner at its linux_banner");
	for (size_t i = 0; i < v->symbols.nr; i++)
		if (v->symbols.by_addr[i].addr.v >= linked.v)
			v->symbols.by_addr[i].addr.v += offset;
	hv_symbols_index(&v->symbols);
	hv_symbols_deinit(&core->symbols);
	core->symbols = v->symbols;
	v->symbols = (struct hv_symbols){0};
	return NULL;
}

/* Symbols are normally in the first part of an image. Searches the rest only if none are found
 * there. */
static struct hv_err *read_symbols(struct hv_guest *g, struct hv_kernel_core *core)
{
	struct hv_err *err = hv_kallsyms_read(&core->image, &core->symbols);

	if (!err || !hv_image_has_rest(&core->image))
		return err;
	hv_err_free(err);
	err = hv_image_copy_rest(&core->image, g, core->image.all.end, (struct hv_gva_range){0});
	return err ? err : hv_kallsyms_read(&core->image, &core->symbols);
}

/* Copies the rest of the image, except bss and the init memory that the kernel frees after boot,
 * because no code reads the copy there. A kernel without symbols for their bounds also lacks other
 * symbols, which unnamed.h searches for in the whole copy. */
static struct hv_err *complete_image(struct hv_guest *g, struct hv_kernel_core *core)
{
	struct hv_gva end = core->image.all.end;
	struct hv_gva_range init = {0};

	(void)hv_symbols_find(&core->symbols, "__bss_start", &end);
	if (!hv_symbols_find(&core->symbols, "__init_begin", &init.start) ||
	    !hv_symbols_find(&core->symbols, "__init_end", &init.end))
		init = (struct hv_gva_range){0};
	return hv_image_copy_rest(&core->image, g, end, init);
}

/* Reads the symbols from memory. Uses the file's symbols if memory contains no symbols, or only
 * functions. */
static struct hv_err *find_symbols(struct hv_guest *g, struct hv_kernel_core *core,
				   struct hv_vmlinux *v, const char *path)
{
	struct hv_err *err = read_symbols(g, core);
	struct hv_gva data;

	if (!v || (!err && hv_core_symbol(core, "linux_banner", &data)))
		return err;
	hv_err_free(err);
	return hv_err_in(take_vmlinux_symbols(core, v), "%s", path);
}

static struct hv_err *check_build_id(const struct hv_identity *guest, const struct hv_vmlinux *v)
{
	HV_AUTO_FREE char *guest_id = hv_build_id_text(guest->build_id, guest->build_id_len_bytes);
	HV_AUTO_FREE char *file_id = hv_build_id_text(v->build_id, v->build_id_len_bytes);

	if (guest->build_id_len_bytes && guest->build_id_len_bytes == v->build_id_len_bytes &&
	    !memcmp(guest->build_id, v->build_id, guest->build_id_len_bytes))
		return NULL;
	return hv_err_new(EINVAL, "it is of another kernel: its build id is %s, the guest's is %s",
			  file_id, guest_id);
}

static struct hv_err *find_btf(struct hv_kernel_core *core, const struct hv_vmlinux *v)
{
	struct hv_gva start, stop;
	struct hv_span btf = {0};

	if (hv_core_symbol(core, "__start_BTF", &start) &&
	    hv_core_symbol(core, "__stop_BTF", &stop) && stop.v > start.v)
		btf = hv_image_at(&core->image, start);
	if (btf.len_bytes && stop.v - start.v <= btf.len_bytes)
		return hv_btf_new_over((struct hv_span){btf.data, stop.v - start.v}, &core->btf);
	if (v && v->btf)
		return hv_btf_new((struct hv_span){v->btf, v->btf_len_bytes}, NULL, &core->btf);
	return NULL;
}

/* Finds the page tables of init_mm, which always exist. The tables that a vCPU used when its
 * registers were read are freed with their task. */
static struct hv_err *find_root_table(struct hv_kernel_core *core, struct hv_gva *ret)
{
	struct hv_gva init_mm;
	uint32_t off;

	if (core->btf && hv_core_symbol(core, "init_mm", &init_mm) &&
	    hv_btf_member(core->btf, "mm_struct", "pgd", &off, NULL) &&
	    hv_span_u64(hv_image_at(&core->image, init_mm), off, &ret->v))
		return NULL;
	if (hv_core_symbol(core, "init_top_pgt", ret))
		return NULL;
	return hv_core_need(core, "swapper_pg_dir", ret);
}

/* Computes the tables' physical address from the image's. A page-table walk would need the tables
 * that were used to find the image, and they may have been freed. */
static struct hv_err *settle_root(struct hv_kernel_core *core)
{
	struct hv_gva table;
	struct hv_err *err = find_root_table(core, &table);

	if (err)
		return err;
	if (!hv_gva_in(table, core->image.all))
		return hv_err_new(EFAULT,
				  "the kernel's page tables at 0x%llx are outside its image",
				  (unsigned long long)table.v);
	core->as.root = hv_gpa_add(core->image.gpa, table.v - core->image.all.start.v);
	return NULL;
}

/* Finds variables without symbols; types first. */
static struct hv_err *open_unnamed(struct hv_kernel_core *core)
{
	struct hv_err *err;

	if (!hv_unnamed_find_types(core))
		return NULL;
	err = find_btf(core, NULL);
	return err ? hv_err_mark(err, HV_ERR_NEEDS_VMLINUX) : hv_unnamed_find(core);
}

/* One vCPU with NX enabled is enough: others may not have enabled it yet. */
struct hv_err *hv_core_check_nx(const struct hv_vcpu_regs *regs, unsigned nr)
{
	bool executes_all = false;

	for (unsigned i = 0; i < nr; i++) {
		if (regs[i].levels && !regs[i].executes_all)
			return NULL;
		executes_all |= regs[i].executes_all && regs[i].levels;
	}
	if (!executes_all)
		return NULL;
	return hv_err_new(ENOTSUP, "its CPU is without NX: pages of the region that the guest can "
				   "write could not be kept from being executed");
}

static struct hv_err *open_core(struct hv_guest *g, const struct hv_vcpu_regs *regs,
				struct hv_vmlinux *v, const char *path, struct hv_kernel_core *core,
				struct hv_identity *id)
{
	unsigned nr = hv_guest_info(g)->nr_vcpus;
	struct hv_err *err = hv_core_check_nx(regs, nr);

	if (!err)
		err = hv_image_find_first(g, regs, nr, &core->as, &core->image);
	if (!err)
		err = find_symbols(g, core, v, path);
	if (!err)
		err = complete_image(g, core);
	if (!err)
		err = open_unnamed(core);
	if (!err)
		err = hv_identity_read(&core->image,
				       core->unnamed.nr ? &core->unnamed : &core->symbols, id);
	if (!err && v)
		err = hv_err_in(check_build_id(id, v), "%s", path);
	if (!err && !core->btf)
		err = find_btf(core, v);
	return err ? err : settle_root(core);
}

struct hv_err *hv_core_open(struct hv_guest *g, const struct hv_vcpu_regs *regs,
			    struct hv_vmlinux *v, const char *path, struct hv_kernel_core *ret,
			    struct hv_identity *ret_id)
{
	struct hv_kernel_core core = {0};
	struct hv_identity id = {0};
	struct hv_err *err = open_core(g, regs, v, path, &core, &id);

	if (err) {
		hv_identity_deinit(&id);
		hv_core_deinit(&core);
		return err;
	}
	*ret = core;
	*ret_id = id;
	return NULL;
}
