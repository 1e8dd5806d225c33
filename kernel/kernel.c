/* The kernel in a machine, put together: registers -> image -> symbols -> who it is -> BTF, layout,
 * modules, sites. */
#include "kernel/kernel.h"

#include <string.h>

#include "kernel/early.h"
#include "kernel/identity.h"
#include "kernel/kallsyms.h"
#include "kernel/layout.h"
#include "kernel/vmlinux.h"

#define OPEN_TRIES_MAX 16

/* Bytes looked at of the function that does nothing but return. */
#define RETURN_CODE_BYTES 64

/* x86: NCAPINTS is 22 in 6.12. */
#define CPU_FLAGS_MAX 2048

bool hv_kernel_symbol(const struct hv_kernel *k, const char *name, struct hv_gva *ret)
{
	return hv_symbols_find(&k->symbols, name, ret);
}

struct hv_err *hv_kernel_need(const struct hv_kernel *k, const char *name, struct hv_gva *ret)
{
	struct hv_gva data;

	if (hv_kernel_symbol(k, name, ret))
		return NULL;
	/* A variable of every kernel ever. */
	if (!hv_kernel_symbol(k, "linux_banner", &data))
		return hv_err_mark(hv_err_new(ENOENT,
					      "kernel has no symbol %s: it was built without "
					      "CONFIG_KALLSYMS_ALL",
					      name),
				   HV_ERR_NEEDS_VMLINUX);
	return hv_err_new(ENOENT, "kernel has no symbol %s", name);
}

struct hv_gva_range hv_kernel_init_text(const struct hv_kernel *k)
{
	struct hv_gva_range r;

	if (!hv_kernel_symbol(k, "_sinittext", &r.start) ||
	    !hv_kernel_symbol(k, "_einittext", &r.end))
		return (struct hv_gva_range){0};
	return r;
}

static struct hv_err *find_image(struct hv_kernel *k, const struct hv_vcpu_regs *regs)
{
	return hv_image_find(k->guest, regs, hv_guest_info(k->guest)->nr_vcpus, &k->as, &k->image);
}

static bool banner_at(const struct hv_image *image, struct hv_gva at)
{
	static const char banner[] = "Linux version ";
	struct hv_span s = hv_image_at(image, at);

	return hv_span_has(s, 0, strlen(banner)) && !memcmp(s.data, banner, strlen(banner));
}

/* How far KASLR moved the image from where V was linked: the text of one starts where that of the
 * other does, and the banner shows whether it is that kernel at all. */
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

/* Takes V's symbols, moved to where the kernel is. Per-CPU offsets and constants, all below the
 * image, stay what they are. */
static struct hv_err *take_vmlinux_symbols(struct hv_kernel *k, struct hv_vmlinux *v)
{
	uint64_t offset;
	struct hv_gva linked;

	if (!find_kaslr_offset(&k->image, v, &offset, &linked))
		return hv_err_new(EINVAL,
				  "another kernel's: no banner at its linux_banner in the guest");
	for (size_t i = 0; i < v->symbols.nr; i++)
		if (v->symbols.by_addr[i].addr.v >= linked.v)
			v->symbols.by_addr[i].addr.v += offset;
	hv_symbols_index(&v->symbols);
	hv_symbols_deinit(&k->symbols);
	k->symbols = v->symbols;
	v->symbols = (struct hv_symbols){0};
	return NULL;
}

/* From memory; the file's where the kernel has none, or only functions. */
static struct hv_err *find_symbols(struct hv_kernel *k, struct hv_vmlinux *v, const char *path)
{
	struct hv_err *err = hv_kallsyms_read(&k->image, &k->symbols);
	struct hv_gva data;

	if (!v || (!err && hv_kernel_symbol(k, "linux_banner", &data)))
		return err;
	hv_err_free(err);
	return hv_err_in(take_vmlinux_symbols(k, v), "%s", path);
}

static struct hv_err *check_build_id(const struct hv_kernel *k, const struct hv_vmlinux *v)
{
	HV_AUTO_FREE char *guest = hv_build_id_text(k->build_id, k->build_id_len_bytes);
	HV_AUTO_FREE char *file = hv_build_id_text(v->build_id, v->build_id_len_bytes);

	if (k->build_id_len_bytes && k->build_id_len_bytes == v->build_id_len_bytes &&
	    !memcmp(k->build_id, v->build_id, k->build_id_len_bytes))
		return NULL;
	return hv_err_new(EINVAL, "another kernel's: build id %s, the guest's is %s", file, guest);
}

static struct hv_err *identify(struct hv_kernel *k)
{
	struct hv_identity id;
	struct hv_err *err = hv_identity_read(&k->image, &k->symbols, &id);

	if (err)
		return err;
	k->banner = id.banner;
	k->release = id.release;
	memcpy(k->build_id, id.build_id, sizeof(k->build_id));
	k->build_id_len_bytes = id.build_id_len_bytes;
	return NULL;
}

static struct hv_err *find_text(struct hv_kernel *k)
{
	struct hv_err *err = hv_kernel_need(k, "_stext", &k->text.start);

	if (!err)
		err = hv_kernel_need(k, "_etext", &k->text.end);
	if (err)
		return err;
	if (!hv_gva_in(k->text.start, k->image.all) || k->text.end.v <= k->text.start.v ||
	    k->text.end.v > k->image.all.end.v)
		return hv_err_new(
			EINVAL, "text 0x%llx..0x%llx is not inside the image 0x%llx..0x%llx",
			(unsigned long long)k->text.start.v, (unsigned long long)k->text.end.v,
			(unsigned long long)k->image.all.start.v,
			(unsigned long long)k->image.all.end.v);
	return NULL;
}

static struct hv_err *find_btf(struct hv_kernel *k, const struct hv_vmlinux *v)
{
	struct hv_gva start, stop;
	struct hv_span btf = {0};

	if (hv_kernel_symbol(k, "__start_BTF", &start) &&
	    hv_kernel_symbol(k, "__stop_BTF", &stop) && stop.v > start.v)
		btf = hv_image_at(&k->image, start);
	if (btf.len_bytes && stop.v - start.v <= btf.len_bytes)
		return hv_btf_new((struct hv_span){btf.data, stop.v - start.v}, &k->btf);
	if (v && v->btf)
		return hv_btf_new((struct hv_span){v->btf, v->btf_len_bytes}, &k->btf);
	return NULL;
}

/* Whether the guest's kernel calls FLAG a feature of its CPUs, by its own table of their names: x86
 * only, false elsewhere. */
static bool has_cpu_flag(const struct hv_kernel *k, const char *flag)
{
	struct hv_gva names_at, data_at;
	struct hv_span names, bits;
	uint32_t off, len;

	if (!k->btf || !hv_kernel_symbol(k, "x86_cap_flags", &names_at) ||
	    !hv_kernel_symbol(k, "boot_cpu_data", &data_at) ||
	    !hv_btf_member(k->btf, "cpuinfo_x86", "x86_capability", &off, &len))
		return false;
	names = hv_image_at(&k->image, names_at);
	bits = hv_image_at(&k->image, hv_gva_add(data_at, off));
	for (size_t i = 0; i < len * 8ull && i < CPU_FLAGS_MAX; i++) {
		struct hv_span name;
		uint64_t at;
		uint8_t byte;

		if (!hv_span_u64(names, i * sizeof(at), &at))
			return false;
		name = hv_image_at(&k->image, hv_gva(at));
		if (!hv_span_has(name, 0, strlen(flag) + 1) ||
		    memcmp(name.data, flag, strlen(flag) + 1))
			continue;
		return hv_span_u8(bits, i / 8, &byte) && byte & 1u << i % 8;
	}
	return false;
}

static struct hv_err *classify_return(const struct hv_kernel *k, struct hv_span code,
				      struct hv_gva at, struct hv_gva *ret)
{
	if (code.len_bytes > RETURN_CODE_BYTES)
		code.len_bytes = RETURN_CODE_BYTES;
	if (!k->as.arch->classify_return(code, at, ret))
		return hv_err_new(ENOTSUP,
				  "cannot tell how this kernel returns from ftrace_stub 0x%llx",
				  (unsigned long long)at.v);
	return NULL;
}

/* A kernel that is starting has yet to choose: x86 patches its returns in
 * alternative_instructions(), and from then on the thunk they led to before may warn of whoever
 * uses it (warn_thunk_thunk, 6.9, 4461438a8405). A bare return is right on both sides of that
 * moment. */
static struct hv_err *find_return_thunk(struct hv_kernel *k)
{
	struct hv_gva at;
	struct hv_err *err = hv_kernel_need(k, "ftrace_stub", &at);

	if (!err)
		err = classify_return(k, hv_image_at(&k->image, at), at, &k->return_thunk);
	if (!err && !hv_early_is_up(k)) {
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
	if (!k->is_starting || !hv_early_is_up(k))
		return NULL;
	err = hv_kernel_need(k, "ftrace_stub", &at);
	if (!err)
		err = hv_read(&k->as, at, code, sizeof(code));
	if (!err)
		err = classify_return(k, (struct hv_span){code, sizeof(code)}, at, &thunk);
	if (err)
		return err;
	*ret_changed = thunk.v != k->return_thunk.v;
	k->return_thunk = thunk;
	k->is_starting = false;
	return NULL;
}

/* Where init_mm keeps its tables: they live as long as the kernel, where those of the task that ran
 * when we looked are freed with it. */
static struct hv_err *find_root_table(struct hv_kernel *k, struct hv_gva *ret)
{
	struct hv_gva init_mm;
	uint32_t off;

	if (k->btf && hv_kernel_symbol(k, "init_mm", &init_mm) &&
	    hv_btf_member(k->btf, "mm_struct", "pgd", &off, NULL) &&
	    hv_span_u64(hv_image_at(&k->image, init_mm), off, &ret->v))
		return NULL;
	if (hv_kernel_symbol(k, "init_top_pgt", ret))
		return NULL;
	return hv_kernel_need(k, "swapper_pg_dir", ret);
}

/* By where the image lies, not by a walk: the tables it was found by may be gone already. */
static struct hv_err *settle_root(struct hv_kernel *k)
{
	struct hv_gva table;
	struct hv_err *err = find_root_table(k, &table);

	if (err)
		return err;
	if (!hv_gva_in(table, k->image.all))
		return hv_err_new(EFAULT,
				  "the kernel's page tables at 0x%llx are outside its image",
				  (unsigned long long)table.v);
	k->as.root = hv_gpa_add(k->image.gpa, table.v - k->image.all.start.v);
	return NULL;
}

static struct hv_err *open_with(struct hv_kernel *k, const struct hv_vcpu_regs *regs,
				struct hv_vmlinux *v, const char *path)
{
	struct hv_err *err = find_image(k, regs);

	if (!err)
		err = find_symbols(k, v, path);
	if (!err)
		err = identify(k);
	if (!err && v)
		err = hv_err_in(check_build_id(k, v), "%s", path);
	if (!err)
		err = find_text(k);
	if (!err)
		err = find_btf(k, v);
	if (!err)
		err = settle_root(k);
	if (!err)
		err = hv_layout_read(k, &k->layout);
	if (!err)
		err = find_return_thunk(k);
	if (err)
		return err;
	k->kpti = has_cpu_flag(k, "pti");
	return hv_kernel_refresh(k);
}

/* The tables we walked by belonged to tasks that ran: once those are gone, what was read through
 * them proves nothing. *RET: no vCPU has the root it had. */
static struct hv_err *roots_are_gone(struct hv_guest *g, struct hv_vcpu_regs *regs, bool *ret)
{
	unsigned nr = hv_guest_info(g)->nr_vcpus;
	HV_AUTO_FREE struct hv_vcpu_regs *before = hv_alloc(nr * sizeof(*before));
	struct hv_err *err;

	memcpy(before, regs, nr * sizeof(*before));
	err = hv_guest_registers(g, regs);
	*ret = true;
	for (unsigned i = 0; i < nr; i++)
		*ret &= before[i].root != regs[i].root;
	return err;
}

static struct hv_err *try_open(struct hv_guest *g, const struct hv_vcpu_regs *regs,
			       const char *path, struct hv_kernel **ret)
{
	hv_cleanup(hv_vmlinux_deinit) struct hv_vmlinux v = {0};
	struct hv_kernel *k = hv_alloc(sizeof(*k));
	struct hv_err *err = path ? hv_vmlinux_open(path, &v) : NULL;

	k->guest = g;
	if (!err)
		err = open_with(k, regs, path ? &v : NULL, path);
	if (err)
		hv_kernel_free(k);
	else
		*ret = k;
	return err;
}

struct hv_err *hv_kernel_open(struct hv_guest *g, const char *vmlinux_path, struct hv_kernel **ret)
{
	unsigned nr = hv_guest_info(g)->nr_vcpus;
	HV_AUTO_FREE struct hv_vcpu_regs *regs = hv_alloc(nr * sizeof(*regs));
	struct hv_err *err = hv_guest_registers(g, regs);

	for (unsigned tries = 1; !err; tries++) {
		bool gone = false;
		HV_AUTO_ERR struct hv_err *unread = NULL;

		err = try_open(g, regs, vmlinux_path, ret);
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

void hv_kernel_free(struct hv_kernel *k)
{
	if (!k)
		return;
	hv_sites_deinit(&k->sites);
	hv_modules_deinit(&k->modules);
	hv_btf_free(k->btf);
	hv_symbols_deinit(&k->symbols);
	hv_image_deinit(&k->image);
	free(k->banner);
	free(k->release);
	free(k);
}

struct hv_err *hv_kernel_refresh(struct hv_kernel *k)
{
	struct hv_modules old = k->modules, modules = {0};
	struct hv_sites sites = {0};
	struct hv_err *err = hv_modules_read(k, &modules);

	if (err)
		return err;
	/* Sites take names and text bounds from the modules. */
	k->modules = modules;
	err = hv_sites_read(k, &sites);
	if (err) {
		hv_modules_deinit(&k->modules);
		k->modules = old;
		return err;
	}
	hv_modules_deinit(&old);
	hv_sites_deinit(&k->sites);
	k->sites = sites;
	return NULL;
}

/* NULL: no module's text. */
static const struct hv_module *module_at(const struct hv_modules *m, struct hv_gva addr)
{
	size_t low = 0, high = m->nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (m->list[middle].text.start.v <= addr.v)
			low = middle + 1;
		else
			high = middle;
	}
	return low && hv_gva_in(addr, m->list[low - 1].text) ? &m->list[low - 1] : NULL;
}

/* The table that knows ADDR, and where its last symbol ends. No module is ever inside the image;
 * like is_kernel(), its init part counts. */
static const struct hv_symbols *symbols_of(const struct hv_kernel *k, struct hv_gva addr,
					   const struct hv_module **ret_module, uint64_t *ret_end)
{
	*ret_module = NULL;
	*ret_end = k->image.all.end.v;
	if (hv_gva_in(addr, k->image.all))
		return &k->symbols;
	*ret_module = module_at(&k->modules, addr);
	if (!*ret_module)
		return NULL;
	*ret_end = (*ret_module)->text.end.v;
	return &(*ret_module)->symbols;
}

bool hv_kernel_symbol_at(const struct hv_kernel *k, struct hv_gva addr, const char **ret_name,
			 const char **ret_module, uint64_t *ret_off)
{
	const struct hv_symbol *symbol = NULL;
	const struct hv_symbols *symbols;
	const struct hv_module *module;
	uint64_t end;

	symbols = symbols_of(k, addr, &module, &end);
	if (symbols)
		symbol = hv_symbols_at(symbols, addr);
	if (!symbol)
		return false;
	*ret_name = symbol->name;
	*ret_module = module ? module->name : NULL;
	*ret_off = addr.v - symbol->addr.v;
	return true;
}

uint64_t hv_kernel_symbol_size(const struct hv_kernel *k, struct hv_gva addr)
{
	const struct hv_symbol *symbol = NULL, *last;
	const struct hv_symbols *symbols;
	const struct hv_module *module;
	uint64_t end;

	symbols = symbols_of(k, addr, &module, &end);
	if (symbols)
		symbol = hv_symbols_at(symbols, addr);
	if (!symbol)
		return 0;
	last = symbols->by_addr + symbols->nr;
	for (const struct hv_symbol *next = symbol + 1; next < last; next++)
		if (next->addr.v > symbol->addr.v)
			return next->addr.v - symbol->addr.v;
	return end - symbol->addr.v;
}

struct hv_err *hv_kernel_percpu(const struct hv_kernel *k, uint64_t percpu, unsigned cpu,
				struct hv_gva *ret)
{
	struct hv_gva offsets;
	uint64_t offset;
	struct hv_err *err;

	if (cpu >= k->layout.nr_cpus)
		return hv_err_new(EINVAL, "cpu %u of %u", cpu, k->layout.nr_cpus);
	err = hv_kernel_need(k, "__per_cpu_offset", &offsets);
	if (!err)
		err = hv_read_u64(&k->as, hv_gva_add(offsets, 8ull * cpu), &offset);
	if (!err)
		*ret = hv_gva(percpu + offset);
	return err;
}
