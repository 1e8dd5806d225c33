/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/unnamed.h"

#include <string.h>

#include "base/cancel.h"
#include "base/prefix.h"
#include "kernel/arch/generic.h"
#include "kernel/arch/kernel_arch.h"
#include "kernel/core/fields.h"
#include "kernel/image/exports.h"
#include "kernel/sites/modules.h"
#include "kernel/sites/sites.h"

/* Finds a private variable from the functions that use it. Their code yields candidates; the
 * contents of the candidates decide. */

#define CANDIDATES_MAX	   512
#define FUNCTION_MAX_BYTES 4096u
#define LOOKED_AT_MAX	   32u /* limit of candidates with enough functions */

struct candidate {
	struct hv_gva at;
	unsigned functions; /* a bit for each function that uses it */
};

struct search {
	const struct hv_kernel_core *core;
	const struct hv_unnamed *u;
	struct hv_gva called;
	unsigned function; /* the bit of the current function */
	struct candidate list[CANDIDATES_MAX];
	size_t nr;
};

static bool is_use(const struct search *s, const struct hv_data_use *use)
{
	const struct hv_unnamed *u = s->u;

	if ((unsigned)use->kind != u->kind)
		return false;
	if (u->kind == HV_DATA_PASS)
		return use->argument == u->argument && use->called.v == s->called.v;
	return u->kind == HV_DATA_ADDRESS || use->len_bytes == u->len_bytes;
}

static void note(void *ctx, const struct hv_data_use *use)
{
	struct search *s = ctx;
	const struct hv_image *image = &s->core->image;

	if (!is_use(s, use) || !hv_gva_in(use->at, image->all) || hv_gva_in(use->at, image->text))
		return;
	for (size_t i = 0; i < s->nr; i++)
		if (s->list[i].at.v == use->at.v) {
			s->list[i].functions |= s->function;
			return;
		}
	if (s->nr < CANDIDATES_MAX)
		s->list[s->nr++] = (struct candidate){use->at, s->function};
}

/* Returns the code from a function's symbol to the next symbol. */
static struct hv_span code_of(const struct hv_kernel_core *core, struct hv_gva at)
{
	const struct hv_symbols *s = &core->symbols;
	const struct hv_symbol *symbol = hv_symbols_at(s, at), *end = s->by_addr + s->nr;
	struct hv_span code = hv_image_part(&core->image, at, FUNCTION_MAX_BYTES);

	while (symbol && symbol < end && symbol->addr.v == at.v)
		symbol++;
	if (symbol && symbol < end && symbol->addr.v - at.v < code.len_bytes)
		code.len_bytes = symbol->addr.v - at.v;
	return code;
}

bool hv_unnamed_search(const struct hv_kernel_core *core, const struct hv_unnamed *u,
		       struct hv_gva *ret)
{
	HV_AUTO_FREE struct search *s = hv_alloc(sizeof(*s));
	struct hv_gva found = {0};
	unsigned nr_found = 0, nr_looked_at = 0;

	s->core = core;
	s->u = u;
	if (u->called && !hv_symbols_find(&core->symbols, u->called, &s->called))
		return false;
	for (size_t i = 0; i < HV_UNNAMED_FUNCTIONS && u->functions[i]; i++) {
		struct hv_gva at;

		s->function = 1u << i;
		if (hv_symbols_find(&core->symbols, u->functions[i], &at) &&
		    hv_gva_in(at, core->image.text))
			core->as.arch->follow_data(code_of(core, at), at, note, s);
	}
	/* If candidates may be missing, no candidate is known to be the only one. */
	if (s->nr == CANDIDATES_MAX)
		return false;
	for (size_t i = 0; i < s->nr; i++) {
		HV_AUTO_ERR struct hv_err *cancelled = hv_cancel_check();

		if ((unsigned)__builtin_popcount(s->list[i].functions) < u->functions_min)
			continue;
		if (cancelled || nr_looked_at++ == LOOKED_AT_MAX)
			return false;
		if (!u->is_at(core, s->list[i].at))
			continue;
		found = s->list[i].at;
		nr_found++;
	}
	if (nr_found == 1)
		*ret = found;
	return nr_found == 1;
}

#define ARRAYS_MAX 1024u /* trace arrays: the guest's instances */
#define FILES	   64u	 /* number of files to check */
#define FIELDS_MIN 3u
#define FIELDS_MAX 16u
#define PREFIX	   "common_"
#define NAME_BYTES 32u

/* Offsets in struct list_head. */
struct links {
	uint32_t next, prev;
};

static struct hv_err *find_links(const struct hv_kernel_core *core, struct links *ret)
{
	const struct hv_field fields[] = {{"next", 8, &ret->next}, {"prev", 8, &ret->prev}};

	return hv_fields_find(core, "list_head", fields, HV_ARRAY_LEN(fields));
}

/* Returns the entry after AT in a list, if it links back to AT; otherwise 0. */
static uint64_t next_of(const struct hv_kernel_core *core, const struct links *l, uint64_t at)
{
	uint64_t next = 0, back = 0;
	HV_AUTO_ERR struct hv_err *err = hv_read_u64(&core->as, hv_gva(at + l->next), &next);

	if (!err)
		err = hv_read_u64(&core->as, hv_gva(next + l->prev), &back);
	return !err && back == at ? next : 0;
}

/* Returns the last entry of the list at HEAD, if all entries link back; 0 if it is empty or not a
 * list. */
static uint64_t last_of(const struct hv_kernel_core *core, const struct links *l,
			struct hv_gva head)
{
	uint64_t at = next_of(core, l, head.v), last = 0;

	for (unsigned i = 0; i < ARRAYS_MAX && at && at != head.v; i++) {
		last = at;
		at = next_of(core, l, at);
	}
	return at == head.v ? last : 0;
}

/* Offsets in struct trace_event_file, struct trace_event_call and its class. */
struct file_layout {
	uint32_t list, tr, call;
	uint32_t class, reg;
};

static struct hv_err *find_file(const struct hv_kernel_core *core, struct file_layout *ret)
{
	const struct hv_field file[] = {
		{"list", 16, &ret->list}, {"tr", 8, &ret->tr}, {"event_call", 8, &ret->call}};
	const struct hv_field call = {"class", 8, &ret->class}, class = {"reg", 8, &ret->reg};
	struct hv_err *err = hv_fields_find(core, "trace_event_file", file, HV_ARRAY_LEN(file));

	if (!err)
		err = hv_fields_find(core, "trace_event_call", &call, 1);
	if (!err)
		err = hv_fields_find(core, "trace_event_class", &class, 1);
	return err;
}

/* Returns whether the file whose links are at AT belongs to ARRAY. *RET_NR counts files of kernel
 * events, which have kernel functions. */
static bool is_file_of(const struct hv_kernel_core *core, const struct file_layout *l, uint64_t at,
		       uint64_t array, unsigned *ret_nr)
{
	uint64_t file = at - l->list, owner = 0, call = 0, class = 0, reg = 0;
	HV_AUTO_ERR struct hv_err *err = hv_read_u64(&core->as, hv_gva(file + l->tr), &owner);

	if (!err)
		err = hv_read_u64(&core->as, hv_gva(file + l->call), &call);
	if (err || owner != array)
		return false;
	if (!hv_gva_in(hv_gva(call), core->image.all))
		return true;
	err = hv_read_u64(&core->as, hv_gva(call + l->class), &class);
	if (!err)
		err = hv_read_u64(&core->as, hv_gva(class + l->reg), &reg);
	*ret_nr += !err && hv_gva_in(hv_gva(class), core->image.all) &&
		   hv_gva_in(hv_gva(reg), core->image.text);
	return !err;
}

bool hv_trace_arrays_are_at(const struct hv_kernel_core *core, struct hv_gva head)
{
	uint32_t list, events;
	const struct hv_field array_fields[] = {{"list", 16, &list}, {"events", 16, &events}};
	struct file_layout l;
	struct links links;
	unsigned nr = 0, nr_of_kernel = 0;
	uint64_t last, array, at;
	HV_AUTO_ERR struct hv_err *err = find_links(core, &links);

	if (!err)
		err = hv_fields_find(core, "trace_array", array_fields, HV_ARRAY_LEN(array_fields));
	if (!err)
		err = find_file(core, &l);
	last = err ? 0 : last_of(core, &links, head);
	if (!last || !hv_gva_in(hv_gva(last), core->image.all))
		return false;
	array = last - list;
	for (at = next_of(core, &links, array + events); at && nr < FILES; nr++) {
		if (at == array + events || !is_file_of(core, &l, at, array, &nr_of_kernel))
			return false;
		at = next_of(core, &links, at);
	}
	return nr == FILES && nr_of_kernel > FILES / 2;
}

/* Offsets in struct ftrace_event_field. */
struct field_layout {
	uint32_t link, name, off, size;
};

static struct hv_err *find_field(const struct hv_kernel_core *core, struct field_layout *ret)
{
	const struct hv_field fields[] = {
		{"link", 16, &ret->link},
		{"name", 8, &ret->name},
		{"offset", 4, &ret->off},
		{"size", 4, &ret->size},
	};

	return hv_fields_find(core, "ftrace_event_field", fields, HV_ARRAY_LEN(fields));
}

/* Returns whether the field whose links are at AT is a member of every record. */
static bool is_common(const struct hv_kernel_core *core, const struct field_layout *l, uint64_t at)
{
	uint64_t field = at - l->link, name_at = 0;
	uint32_t off = 0, size = 0, true_off = 0, true_size = 0;
	char name[NAME_BYTES + 1] = "";
	HV_AUTO_ERR struct hv_err *err = hv_read_u64(&core->as, hv_gva(field + l->name), &name_at);

	if (!err)
		err = hv_read_u32(&core->as, hv_gva(field + l->off), &off);
	if (!err)
		err = hv_read_u32(&core->as, hv_gva(field + l->size), &size);
	if (!err)
		err = hv_read(&core->as, hv_gva(name_at), name, NAME_BYTES);
	return !err && hv_starts_with(name, PREFIX) &&
	       hv_btf_member(core->btf, "trace_entry", name + strlen(PREFIX), &true_off,
			     &true_size) &&
	       off == true_off && size == true_size;
}

bool hv_common_fields_are_at(const struct hv_kernel_core *core, struct hv_gva head)
{
	struct field_layout l;
	struct links links;
	unsigned nr = 0;
	uint64_t at;
	HV_AUTO_ERR struct hv_err *err = find_links(core, &links);

	if (!err)
		err = find_field(core, &l);
	for (at = err ? 0 : next_of(core, &links, head.v); at && at != head.v && nr < FIELDS_MAX;
	     nr++) {
		if (!is_common(core, &l, at))
			return false;
		at = next_of(core, &links, at);
	}
	return at == head.v && nr >= FIELDS_MIN;
}

#define BANNER		 "Linux version "
#define BANNER_MAX_BYTES 1024u
#define UTS_BYTES	 65u /* __NEW_UTS_LEN and a NUL */
#define PERCPU		 ".data..percpu"
#define PERCPU_MAX	 1024u
#define NAMES_MAX	 32u

static const char btf_header[] = {'\x9f', '\xeb', 1, 0, 24, 0, 0, 0};
#define BTF_HEADER_BYTES 24u

/* Private variables that kernels of all architectures have. */
static const struct hv_unnamed private[] = {
	{.name = "modules",
	 .functions = {"find_module_all", "module_get_kallsym", "print_modules",
		       "module_kallsyms_on_each_symbol"},
	 .functions_min = 3,
	 .kind = HV_DATA_READ,
	 .len_bytes = 8,
	 .is_at = hv_modules_are_at},
	{.name = "ftrace_pages_start",
	 .functions = {"ftrace_location_range", "lookup_rec", "ftrace_replace_code"},
	 .functions_min = 1,
	 .kind = HV_DATA_READ,
	 .len_bytes = 8,
	 .is_at = hv_sites_are_at},
	{.name = "cd",
	 .functions = {"sched_clock", "sched_clock_noinstr"},
	 .functions_min = 1,
	 .kind = HV_DATA_ADDRESS,
	 .is_at = hv_clock_data_is_at},
	{.name = "ftrace_trace_arrays",
	 .functions = {"trace_array_find", "trace_array_get", "trace_array_get_by_name",
		       "tracing_reset_all_online_cpus", "trace_set_clr_event"},
	 .functions_min = 2,
	 .kind = HV_DATA_READ,
	 .len_bytes = 8,
	 .is_at = hv_trace_arrays_are_at},
	{.name = "ftrace_common_fields",
	 .functions = {"trace_find_event_field"},
	 .functions_min = 1,
	 .kind = HV_DATA_ADDRESS,
	 .is_at = hv_common_fields_are_at},
};

/* Variables exported to modules that hvtrace needs. */
static const char *const exported[] = {
	"nr_cpu_ids",	    "__cpu_possible_mask",   "__cpu_online_mask",
	"__per_cpu_offset", "arm64_use_ng_mappings", "system_state",
};

static const char *const percpu[] = {
	"runqueues", "irq_stack_ptr", "overflow_stack", "idle_threads", "irq_stack",
};

/* Adds a symbol. NAME must be static. */
static void add(struct hv_symbols *s, const char *name, struct hv_gva at)
{
	if (!s->by_addr)
		s->by_addr = hv_alloc(NAMES_MAX * sizeof(*s->by_addr));
	if (s->nr < NAMES_MAX)
		s->by_addr[s->nr++] = (struct hv_symbol){at, name, 'd'};
	hv_symbols_index(s);
}

static bool is_wanted(const struct hv_kernel_core *core)
{
	struct hv_gva at;

	return core->as.arch->follow_data && !hv_symbols_find(&core->symbols, "linux_banner", &at);
}

/* Returns the size of the BTF whose header is at OFF of the image, or 0 if it is invalid. */
static size_t types_bytes(struct hv_span all, size_t off)
{
	uint32_t type_off, type_len, string_off, string_len;
	uint64_t types_end, strings_end;

	if (!hv_span_u32(all, off + 8, &type_off) || !hv_span_u32(all, off + 12, &type_len) ||
	    !hv_span_u32(all, off + 16, &string_off) || !hv_span_u32(all, off + 20, &string_len))
		return 0;
	types_end = (uint64_t)BTF_HEADER_BYTES + type_off + type_len;
	strings_end = (uint64_t)BTF_HEADER_BYTES + string_off + string_len;
	if (!type_len || !string_len || types_end > strings_end ||
	    !hv_span_has(all, off, strings_end) || all.data[off + strings_end - 1])
		return 0;
	return strings_end;
}

static bool find_types(const struct hv_image *image, size_t from, size_t *ret_off, size_t *ret_len)
{
	struct hv_span all = {image->bytes, image->len_bytes};
	unsigned nr_found = 0;

	for (size_t off = from & ~(size_t)3; hv_span_has(all, off, BTF_HEADER_BYTES); off += 4) {
		size_t len;

		if (memcmp(all.data + off, btf_header, sizeof(btf_header)) != 0)
			continue;
		len = types_bytes(all, off);
		if (!len)
			continue;
		*ret_off = off;
		*ret_len = len;
		nr_found++;
	}
	return nr_found == 1;
}

bool hv_unnamed_find_types(struct hv_kernel_core *core)
{
	const struct hv_image *image = &core->image;
	size_t constants = image->text.end.v - image->all.start.v, types, len;

	if (!is_wanted(core) || constants > image->len_bytes ||
	    !find_types(image, constants, &types, &len))
		return false;
	add(&core->unnamed, "__start_BTF", hv_gva_add(image->all.start, types));
	add(&core->unnamed, "__stop_BTF", hv_gva_add(image->all.start, types + len));
	return true;
}

/* The kernel's names in the exported variable init_uts_ns. */
struct uts {
	char release[UTS_BYTES + 1];
	char version[UTS_BYTES + 1];
};

static struct hv_err *read_uts(const struct hv_kernel_core *core, const struct hv_exports *e,
			       struct uts *ret)
{
	uint32_t release, version;
	const struct hv_field fields[] = {{"name.release", UTS_BYTES, &release},
					  {"name.version", UTS_BYTES, &version}};
	struct hv_gva at;
	struct hv_err *err = hv_fields_find(core, "uts_namespace", fields, HV_ARRAY_LEN(fields));

	*ret = (struct uts){0};
	if (!err && !hv_exports_lookup(&core->image, e, "init_uts_ns", &at))
		err = hv_err_new(ENOENT, "no table of exported symbols with init_uts_ns");
	if (!err)
		err = hv_read(&core->as, hv_gva_add(at, release), ret->release, UTS_BYTES);
	if (!err)
		err = hv_read(&core->as, hv_gva_add(at, version), ret->version, UTS_BYTES);
	if (!err && (!*ret->release || !*ret->version))
		err = hv_err_new(ENOENT, "init_uts_ns is empty");
	return err;
}

/* Returns whether TEXT is the line "Linux version RELEASE ... VERSION". */
static bool is_banner(struct hv_span text, const struct uts *uts)
{
	size_t max = text.len_bytes < BANNER_MAX_BYTES ? text.len_bytes : BANNER_MAX_BYTES;
	size_t release = strlen(uts->release), version = strlen(uts->version), len;
	const uint8_t *end = memchr(text.data, '\n', max), *at = text.data + strlen(BANNER);

	if (!end)
		return false;
	len = (size_t)(end - at);
	return len > release + version + 1 && !memcmp(at, uts->release, release) &&
	       at[release] == ' ' && !memcmp(end - version, uts->version, version) &&
	       end[-(ptrdiff_t)version - 1] == ' ';
}

/* The banner is a constant, so it precedes the types; the log, after them, contains it again. */
static struct hv_err *find_banner(struct hv_kernel_core *core, const struct hv_exports *e)
{
	const struct hv_image *image = &core->image;
	struct hv_gva types = {0};
	const uint8_t *at, *end, *found = NULL;
	unsigned nr_found = 0;
	struct uts uts;
	struct hv_err *err = read_uts(core, e, &uts);

	if (err)
		return err;
	hv_core_symbol(core, "__start_BTF", &types);
	at = hv_image_at(image, image->text.end).data;
	end = hv_image_at(image, types).data;
	while ((at = memmem(at, (size_t)(end - at), BANNER, strlen(BANNER)))) {
		if (is_banner((struct hv_span){at, (size_t)(end - at)}, &uts)) {
			found = at;
			nr_found++;
		}
		at += strlen(BANNER);
	}
	if (nr_found != 1)
		return hv_err_new(
			ENOENT,
			"%u texts match the banner of init_uts_ns's release; exactly one must",
			nr_found);
	add(&core->unnamed, "linux_banner",
	    hv_gva_add(image->all.start, (uint64_t)(found - image->bytes)));
	return NULL;
}

/* The table was found through an address that it maps. The kernel's mm_struct contains the table's
 * address next to the end and the start of the text (with arm64's 6.12, the start of the image). */
static bool find_init_mm(const struct hv_kernel_core *core, struct hv_gva *ret)
{
	const struct hv_image *image = &core->image;
	uint64_t root_off = core->as.root.v - image->gpa.v;
	struct hv_span all = {image->bytes, image->len_bytes};
	uint32_t pgd, start, end;
	const struct hv_field fields[] = {
		{"pgd", 8, &pgd}, {"start_code", 8, &start}, {"end_code", 8, &end}};
	HV_AUTO_ERR struct hv_err *err = NULL;
	struct hv_gva text, text_end;
	unsigned nr_found = 0;

	if (root_off >= image->len_bytes || !hv_core_symbol(core, "_stext", &text) ||
	    !hv_core_symbol(core, "_etext", &text_end))
		return false;
	err = hv_fields_find(core, "mm_struct", fields, HV_ARRAY_LEN(fields));
	for (size_t off = 0; !err && hv_span_has(all, off, 8); off += 8) {
		uint64_t table = hv_copy_u64((struct hv_span){all.data + off, 8}, 0), begins, ends;

		if (table != image->all.start.v + root_off || off < pgd ||
		    !hv_span_u64(all, off - pgd + start, &begins) ||
		    !hv_span_u64(all, off - pgd + end, &ends) || ends != text_end.v ||
		    (begins != text.v && begins != image->all.start.v))
			continue;
		*ret = hv_gva(image->all.start.v + off - pgd);
		nr_found++;
	}
	return nr_found == 1;
}

/* Returns whether AT is the boot CPU's idle task, the first task. */
static bool is_init_task(const struct hv_kernel_core *core, struct hv_gva at)
{
	static const char name[] = "swapper";
	uint32_t pid_off, comm_off, pid = 1;
	const struct hv_field fields[] = {{"pid", 4, &pid_off}, {"comm", sizeof(name), &comm_off}};
	char comm[sizeof(name)] = "";
	HV_AUTO_ERR struct hv_err *err =
		hv_fields_find(core, "task_struct", fields, HV_ARRAY_LEN(fields));

	if (!err)
		err = hv_read_u32(&core->as, hv_gva_add(at, pid_off), &pid);
	if (!err)
		err = hv_read(&core->as, hv_gva_add(at, comm_off), comm, sizeof(comm));
	return !err && !pid && hv_starts_with(comm, name);
}

static void find_exported(struct hv_kernel_core *core, const struct hv_exports *e)
{
	struct hv_gva at;

	for (size_t i = 0; i < HV_ARRAY_LEN(exported); i++)
		if (hv_exports_lookup(&core->image, e, exported[i], &at))
			add(&core->unnamed, exported[i], at);
	if (hv_exports_lookup(&core->image, e, "init_task", &at) && is_init_task(core, at))
		add(&core->unnamed, "init_task", at);
}

/* Computes the start of the per-CPU section from every exported variable in it; all must agree. */
static bool find_percpu_start(const struct hv_kernel_core *core, const struct hv_exports *e,
			      uint64_t *ret)
{
	const uint32_t section = hv_btf_section(core->btf, PERCPU);
	const char *name;
	uint32_t off;
	unsigned nr = 0;

	for (uint32_t i = 0; i < PERCPU_MAX && hv_btf_variable(core->btf, section, i, &name, &off);
	     i++) {
		struct hv_gva at;

		if (!hv_exports_lookup(&core->image, e, name, &at))
			continue;
		if (nr++ && at.v - off != *ret)
			return false;
		*ret = at.v - off;
	}
	return nr > 1;
}

static void find_percpu(struct hv_kernel_core *core, uint64_t start)
{
	const uint32_t section = hv_btf_section(core->btf, PERCPU);

	for (size_t i = 0; i < HV_ARRAY_LEN(percpu); i++) {
		const char *name;
		uint32_t off, found = 0;
		unsigned nr = 0;

		for (uint32_t at = 0;
		     at < PERCPU_MAX && hv_btf_variable(core->btf, section, at, &name, &off); at++)
			if (!strcmp(name, percpu[i])) {
				found = off;
				nr++;
			}
		if (nr == 1)
			add(&core->unnamed, percpu[i], hv_gva(start + found));
	}
}

static void find_private(struct hv_kernel_core *core, const struct hv_unnamed *list, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		struct hv_gva at;

		if (hv_unnamed_search(core, &list[i], &at))
			add(&core->unnamed, list[i].name, at);
	}
}

struct hv_err *hv_unnamed_find(struct hv_kernel_core *core)
{
	const struct hv_kernel_arch *arch;
	struct hv_exports exports;
	uint64_t start;
	struct hv_gva at;
	struct hv_err *err;

	arch = hv_kernel_arch_of(core);
	exports = hv_exports_find(&core->image);
	err = hv_cancel_check();
	if (!err)
		err = find_banner(core, &exports);
	if (err)
		return hv_err_mark(hv_err_in(err, "kernel without CONFIG_KALLSYMS_ALL"),
				   HV_ERR_NEEDS_VMLINUX);
	if (find_init_mm(core, &at))
		add(&core->unnamed, "init_mm", at);
	find_exported(core, &exports);
	if (find_percpu_start(core, &exports, &start))
		find_percpu(core, start);
	find_private(core, private, HV_ARRAY_LEN(private));
	find_private(core, arch->unnamed, arch->nr_unnamed);
	return hv_cancel_check();
}
