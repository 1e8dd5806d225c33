/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Assembles struct hv_kernel: the core kernel, the layout of its structures, modules and sites. The
 * core kernel is found in this order: registers, image, symbols, identity, BTF, its own page
 * tables. */
#include "kernel/kernel.h"

#include <string.h>

#include "base/cancel.h"
#include "kernel/arch/kernel_arch.h"
#include "kernel/core/core.h"
#include "kernel/core/orc_form.h"
#include "kernel/core/type_sources.h"
#include "kernel/derive/derive.h"
#include "kernel/early.h"
#include "kernel/entries.h"
#include "kernel/image/identity.h"
#include "kernel/image/kallsyms.h"
#include "kernel/image/vmlinux.h"
#include "kernel/sites/modules.h"
#include "kernel/types/kept_facts.h"
#include "kernel/unnamed.h"

static bool banner_at(const struct hv_image *image, struct hv_gva at)
{
	static const char banner[] = "Linux version ";
	struct hv_span s = hv_image_part(image, at, strlen(banner));

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
		return hv_err_new(EINVAL, "it belongs to another kernel: the guest has no banner "
					  "at its linux_banner");
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
	return hv_err_new(EINVAL,
			  "it belongs to another kernel: its build id is %s, the guest's is %s",
			  file_id, guest_id);
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
	err = hv_types_read_memory(core);
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

/* A line that identifies the build of the kernel. */
static char *build_of(const struct hv_identity *id)
{
	HV_AUTO_FREE char *build_id = hv_build_id_text(id->build_id, id->build_id_len_bytes);

	return hv_format("%s, build id %s", id->banner, build_id);
}

/* Uses the facts that the session that died kept. Leaves core->btf at NULL if it kept none, or if
 * they cannot be used, such as after the guest has booted another kernel. */
static struct hv_err *use_kept_facts(struct hv_kernel_core *core, const struct hv_identity *id,
				     const struct hv_btf_files *files)
{
	HV_AUTO_FREE char *build = build_of(id);
	HV_AUTO_FREE uint8_t *text = NULL;
	HV_AUTO_ERR struct hv_err *unusable = NULL;
	struct hv_facts facts = {0};
	size_t len_bytes = 0;
	struct hv_err *err = files->kept_facts(files->ctx, &text, &len_bytes);

	if (err || !text)
		return err;
	unusable = hv_kept_facts_read((struct hv_span){text, len_bytes}, build, &facts);
	if (!unusable)
		unusable = hv_types_use(core, &facts);
	return unusable ? NULL : hv_types_derive_rest(core);
}

static struct hv_err *keep_facts(const struct hv_kernel_core *core, const struct hv_identity *id,
				 const struct hv_btf_files *files)
{
	HV_AUTO_FREE char *build = build_of(id);
	HV_AUTO_TEXT struct hv_text text = {0};

	hv_kept_facts_write(core->types.facts, build, &text);
	return files->keep_facts(files->ctx,
				 (struct hv_span){(const uint8_t *)text.data, text.len_bytes});
}

/* Derives the types if no source has them. A failure is added to core->no_types and is no error. */
static struct hv_err *derive_types(struct hv_kernel_core *core, const struct hv_identity *id,
				   const struct hv_btf_files *files)
{
	struct hv_err *err = NULL;

	if (files && files->kept_facts)
		err = use_kept_facts(core, id, files);
	if (err || core->btf)
		return err;
	err = hv_types_derive(core, id->banner);
	if (!err && files && files->keep_facts)
		return keep_facts(core, id, files);
	if (!err || (err->code != ENOENT && err->code != ENOTSUP))
		return err;
	if (core->no_types)
		core->no_types = hv_err_add(core->no_types, "; %s", err->message);
	else
		core->no_types = hv_take(err);
	hv_err_free(err);
	return NULL;
}

static struct hv_err *open_core(struct hv_guest *g, const struct hv_vcpu_regs *regs,
				struct hv_vmlinux *v, const char *path,
				const struct hv_btf_files *files, struct hv_kernel_core *core,
				struct hv_identity *id)
{
	const struct hv_type_files types = {v, files};
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
	/* The proof of a BTF file reads live memory, for which the tables of a task are
	 * unreliable. */
	if (!err && !core->btf)
		hv_err_free(settle_root(core));
	if (!err)
		err = hv_types_find(core, &types, id);
	if (!err && !core->btf)
		err = derive_types(core, id, files);
	return err ? err : settle_root(core);
}

/* Finds the core kernel. REGS are the registers of all vCPUs. V supplies symbols and types that the
 * image lacks and may be NULL; the file is rejected if it belongs to another kernel. PATH is its
 * path, for messages. FILES, which may be NULL, supplies BTF. RET_ID identifies the kernel. */
static struct hv_err *core_open(struct hv_guest *g, const struct hv_vcpu_regs *regs,
				struct hv_vmlinux *v, const char *path,
				const struct hv_btf_files *files, struct hv_kernel_core *ret,
				struct hv_identity *ret_id)
{
	struct hv_kernel_core core = {0};
	struct hv_identity id = {0};
	struct hv_err *err = open_core(g, regs, v, path, files, &core, &id);

	if (err) {
		hv_identity_deinit(&id);
		hv_core_deinit(&core);
		return err;
	}
	*ret = core;
	*ret_id = id;
	return NULL;
}

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

/* How often functions return in one way: to the thunk at AT, or with a bare return (0). */
struct returns {
	struct hv_gva at;
	size_t nr;
};

#define RETURNS_MAX 8 /* ways */

static void count_return(struct returns *ways, struct hv_gva at)
{
	for (size_t i = 0; i < RETURNS_MAX; i++) {
		if (ways[i].nr && ways[i].at.v != at.v)
			continue;
		ways[i].at = at;
		ways[i].nr++;
		return;
	}
}

/* A kernel without ftrace has no ftrace_stub. Its other empty functions return in the same way,
 * apart from a few thunks. A jump counts only if it leads to a thunk. */
static struct hv_err *find_common_return(const struct hv_kernel *k, struct hv_gva *ret)
{
	const struct hv_symbols *s = &k->core.symbols;
	struct returns ways[RETURNS_MAX] = {0}, best = {0};

	for (size_t i = 0; i < s->nr; i++) {
		struct hv_span code =
			hv_image_part(&k->core.image, s->by_addr[i].addr, RETURN_CODE_BYTES);
		const char *name, *module;
		struct hv_gva thunk = {0};
		uint64_t off;

		if (!hv_gva_in(s->by_addr[i].addr, k->text) || !code.len_bytes)
			continue;
		if (!k->core.as.arch->classify_return(code, s->by_addr[i].addr, &thunk))
			continue;
		if (!thunk.v || (hv_kernel_symbol_at(k, thunk, &name, &module, &off) && !off &&
				 strstr(name, "return_thunk")))
			count_return(ways, thunk);
	}
	for (size_t i = 0; i < RETURNS_MAX; i++)
		if (ways[i].nr > best.nr)
			best = ways[i];
	if (!best.nr)
		return hv_err_new(ENOTSUP, "no function of this kernel shows how functions return");
	*ret = best.at;
	return NULL;
}

static struct hv_err *classify_return(const struct hv_kernel *k, struct hv_span code,
				      struct hv_gva at, struct hv_gva *ret)
{
	if (!k->core.as.arch->classify_return(code, at, ret))
		return hv_err_new(ENOTSUP,
				  "unknown return instructions in this kernel's ftrace_stub 0x%llx",
				  (unsigned long long)at.v);
	return NULL;
}

static struct hv_err *read_return(const struct hv_kernel *k, struct hv_gva *ret)
{
	uint8_t code[RETURN_CODE_BYTES];
	struct hv_gva at;
	struct hv_err *err;

	if (!hv_sites_have_records(&k->core))
		return find_common_return(k, ret);
	err = hv_core_need(&k->core, "ftrace_stub", &at);
	if (!err)
		err = hv_read(&k->core.as, at, code, sizeof(code));
	return err ? err : classify_return(k, (struct hv_span){code, sizeof(code)}, at, ret);
}

/* A kernel that is booting has not patched its returns yet. x86 patches them in
 * alternative_instructions(); afterwards the thunk that they used before may warn about its use
 * (warn_thunk_thunk, 6.9, 4461438a8405). A plain return works before and after that moment. */
static struct hv_err *find_return_thunk(struct hv_kernel *k)
{
	struct hv_err *err = read_return(k, &k->return_thunk);

	if (!err && !hv_early_is_up(&k->core)) {
		k->is_starting = true;
		k->return_thunk = hv_gva(0);
	}
	return err;
}

struct hv_err *hv_kernel_settle(struct hv_kernel *k, bool *ret_changed)
{
	struct hv_gva thunk;
	struct hv_err *err;

	*ret_changed = false;
	if (!k->is_starting || !hv_early_is_up(&k->core))
		return NULL;
	err = read_return(k, &thunk);
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
				struct hv_vmlinux *v, const char *path,
				const struct hv_btf_files *files, enum depth depth)
{
	struct hv_identity id;
	struct hv_err *err = core_open(k->guest, regs, v, path, files, &k->core, &id);

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
	k->core.invalid_sites = hv_sites_lists_invalid(&k->core);
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
			       const struct hv_vmlinux_file *file, const struct hv_btf_files *files,
			       enum depth depth, struct hv_kernel **ret)
{
	hv_cleanup(hv_vmlinux_deinit) struct hv_vmlinux v = {0};
	struct hv_kernel *k = hv_alloc(sizeof(*k));
	struct hv_err *err = file ? hv_vmlinux_open(file, &v) : NULL;

	k->guest = g;
	if (!err)
		err = open_with(k, regs, file ? &v : NULL, file ? file->path : NULL, files, depth);
	if (err)
		hv_kernel_free(k);
	else
		*ret = k;
	return err;
}

static struct hv_err *open_to(struct hv_guest *g, const struct hv_vmlinux_file *file,
			      const struct hv_btf_files *files, enum depth depth,
			      struct hv_kernel **ret)
{
	unsigned nr = hv_guest_info(g)->nr_vcpus;
	HV_AUTO_FREE struct hv_vcpu_regs *regs = hv_alloc(nr * sizeof(*regs));
	struct hv_err *err = hv_guest_registers(g, regs, nr);

	for (unsigned tries = 1; !err; tries++) {
		bool gone = false;
		HV_AUTO_ERR struct hv_err *unread = NULL;

		err = try_open(g, regs, file, files, depth, ret);
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
			      const struct hv_btf_files *files, struct hv_kernel **ret)
{
	return open_to(g, vmlinux, files, DEPTH_MODULES, ret);
}

struct hv_err *hv_kernel_open_core(struct hv_guest *g, const struct hv_btf_files *files,
				   struct hv_kernel **ret)
{
	return open_to(g, NULL, files, DEPTH_CORE, ret);
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
	struct hv_gva_range excluded = {0};
	struct hv_modules modules = {0};
	struct hv_sites sites = {0};
	uint64_t signature = 0;
	HV_AUTO_ERR struct hv_err *unknown = hv_modules_signature(&k->core, &signature);
	struct hv_err *err = hv_types_derive_rest(&k->core);

	if (!err)
		err = hv_modules_read(&k->core, &modules);
	if (err)
		return err;
	/* A kernel that is booting will free its init code, and hvtrace's changes with it. */
	if (!k->has_init_sites)
		excluded = hv_kernel_init_text(k);
	if (hv_sites_have_records(&k->core))
		err = hv_sites_read(&k->core, &modules, excluded, &sites);
	else if (!k->sites.entries) /* modules cannot change the sites of such a kernel */
		err = hv_entries_read(k, excluded, &sites);
	if (err) {
		hv_modules_deinit(&modules);
		return err;
	}
	hv_modules_deinit(&k->modules);
	k->modules = modules;
	if (sites.list) {
		hv_sites_deinit(&k->sites);
		k->sites = sites;
	}
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
		return hv_err_new(EINVAL, "CPU %u does not exist: the guest has %u", cpu,
				  k->layout.nr_cpus);
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

/* The kernel's preemption model and its spin-lock functions. */

/* preempt_dynamic_mode of kernel/sched/core.c (826bfeb37bb4, 5.12; lazy: 7c70cb94d29c, 6.13) is an
 * index into the four MODELS. */
static const char *dynamic_model(const struct hv_kernel *k, struct hv_gva at,
				 const char *const *models)
{
	uint32_t mode;
	HV_AUTO_ERR struct hv_err *err = hv_read_u32(&k->core.as, at, &mode);

	return !err && mode < 4 ? models[mode] : "unknown";
}

/* Returns the text of print_trace_header() since it uses preempt_model_str() (8bdc5daaa01e,
 * 6.15). */
static const char *model_str(const struct hv_kernel *k)
{
	static const char *const models[] = {"PREEMPT(none)", "PREEMPT(voluntary)", "PREEMPT(full)",
					     "PREEMPT(lazy)"};
	static const char *const models_of_rt[] = {"PREEMPT_{RT,(none)}",
						   "PREEMPT_{RT,(voluntary)}",
						   "PREEMPT_{RT,(full)}", "PREEMPT_{RT,(lazy)}"};
	bool is_rt = strstr(k->banner, " PREEMPT_RT ");
	struct hv_gva at;

	if (hv_kernel_symbol(k, "preempt_dynamic_mode", &at))
		return dynamic_model(k, at, is_rt ? models_of_rt : models);
	if (is_rt)
		return "PREEMPT_RT";
	if (strstr(k->banner, " PREEMPT_LAZY "))
		return "PREEMPTLAZY";
	return strstr(k->banner, " PREEMPT ") ? "PREEMPT" : "unknown";
}

/* The version string distinguishes all models except "server" and "desktop" (scripts/mkcompile_h),
 * which have no visible difference. */
const char *hv_kernel_preempt_model(const struct hv_kernel *k)
{
	static const char *const models[] = {"server", "desktop", "preempt", "lazy"};
	struct hv_gva at;

	if (hv_kernel_symbol(k, "preempt_model_str", &at))
		return model_str(k);
	if (strstr(k->banner, " PREEMPT_RT "))
		return "preempt_rt";
	if (hv_kernel_symbol(k, "preempt_dynamic_mode", &at))
		return dynamic_model(k, at, models);
	if (strstr(k->banner, " PREEMPT_LAZY "))
		return "lazy";
	return strstr(k->banner, " PREEMPT ") ? "preempt" : "unknown";
}

/* The version string contains PREEMPT in every model with preemption. */
bool hv_kernel_is_preemptible(const struct hv_kernel *k)
{
	return k->banner && strstr(k->banner, " PREEMPT");
}

/* The kernel preempts a task on return from an interrupt. If this is configurable at run time, it
 * is a static call (irqentry_exit_cond_resched, 40607ee97e4e, 5.12), whose function is NULL while
 * preemption is disabled. */
bool hv_kernel_preempts(const struct hv_kernel *k)
{
	struct hv_gva at;
	uint64_t function = 0;
	HV_AUTO_ERR struct hv_err *err = NULL;

	if (k->banner && !hv_kernel_is_preemptible(k) &&
	    !hv_kernel_symbol(k, "preempt_schedule", &at))
		return false;
	if (!hv_kernel_symbol(k, "__SCK__irqentry_exit_cond_resched", &at))
		return true;
	err = hv_read_u64(&k->core.as, at, &function);
	return err || function;
}

bool hv_kernel_in_lock_functions(const struct hv_kernel *k, struct hv_gva at)
{
	struct hv_gva_range text;

	return hv_kernel_symbol(k, "__lock_text_start", &text.start) &&
	       hv_kernel_symbol(k, "__lock_text_end", &text.end) && hv_gva_in(at, text);
}
