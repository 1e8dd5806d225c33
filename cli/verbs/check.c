/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hvtrace check: examines a guest as attach would, and changes nothing. */
#include <json-c/json.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/domain_state.h"
#include "cli/explain.h"
#include "cli/service/btf_files.h"
#include "cli/service/unprivileged.h"
#include "cli/spec.h"
#include "cli/terminal.h"
#include "cli/verbs/verb.h"
#include "kernel/clock/clock.h"
#include "kernel/code/section_sites.h"
#include "kernel/core/btf_members.h"
#include "kernel/types/facts.h"
#include "kernel/kernel.h"
#include "kernel/sites/ftrace_users.h"
#include "kernel/sites/integrity.h"
#include "patcher/mapping.h"
#include "tracer/guest/trampolines.h"
#include "tracer/hooks/kernel_calls.h"
#include "tracer/hooks/guest_ftrace.h"
#include "tracer/sections/section_tracer.h"
#include "tracer/session.h"
#include "vmm/open.h"

#define VMCOREINFO_MAX_BYTES 4096
#define VALUE_COLUMN	     13

/* Facts about the domain from before the examination. */
struct known {
	enum domain_state state;
	struct rundir_info info; /* zero-initialised: unknown */
};

static void known_deinit(struct known *k)
{
	rundir_info_deinit(&k->info);
}

static void known_init(struct known *k, const struct cli *cli, const char *id)
{
	bool found = false;

	known_deinit(k);
	k->state = DOMAIN_FREE;
	hv_err_free(domain_state_find(cli->run_dir, id, NULL, &k->state, &found, &k->info));
}

/* Findings, as text for people and as JSON for programs. */
struct findings {
	const char *spec;
	struct hv_text table;
	json_object *json;
	json_object *blockers;
	size_t nr_blockers;
};

static void findings_deinit(struct findings *f)
{
	hv_text_deinit(&f->table);
	json_object_put(f->json);
}

static void findings_init(struct findings *f, const char *spec)
{
	*f = (struct findings){.spec = spec, .json = json_object_new_object()};
	f->blockers = json_object_new_array();
}

/* Adds a row. If VALUE is NULL, the JSON has the row's text. */
static void add(struct findings *f, const char *key, json_object *value, const char *fmt, ...)
	hv_printf(4, 5);
static void add(struct findings *f, const char *key, json_object *value, const char *fmt, ...)
{
	HV_AUTO_FREE char *text = NULL;
	va_list args;

	va_start(args, fmt);
	text = hv_vformat(fmt, args);
	va_end(args);
	hv_text_printf(&f->table, "%-12s %s\n", key, text);
	json_object_object_add(f->json, key, value ? value : json_object_new_string(text));
}

/* Adds a row whose JSON value is null. */
static void add_unknown(struct findings *f, const char *key, const char *text)
{
	hv_text_printf(&f->table, "%-12s %s\n", key, text);
	json_object_object_add(f->json, key, NULL);
}

/* Takes ERR. */
static void block(struct findings *f, struct hv_err *err)
{
	err = advise(err, f->spec);
	json_object_array_add(f->blockers, json_object_new_string(err->message));
	hv_text_printf(&f->table, "%-12s %s\n", "PREVENTS", err->message);
	f->nr_blockers++;
	hv_err_free(err);
}

static json_object *number(uint64_t value)
{
	return json_object_new_uint64(value);
}

static void check_machine(struct findings *f, struct hv_guest *guest, const struct known *known)
{
	const struct hv_guest_info *info = hv_guest_info(guest);
	bool is_attached = known->state == DOMAIN_ATTACHED;
	struct hv_region region;
	struct hv_err *err;

	add(f, "domain", NULL, "%s", info->name);
	add(f, "id", NULL, "%s", info->id);
	add(f, "vmm_pid", number((uint64_t)info->pid), "%d", (int)info->pid);
	add(f, "accel", NULL, "%s", info->accel == HV_ACCEL_KVM ? "kvm" : "tcg");
	add(f, "arch", NULL, "%s", info->arch ? info->arch->name : "unknown");
	add(f, "vcpus", number(info->nr_vcpus), "%u", info->nr_vcpus);
	add(f, "ram_bytes", number(info->ram_bytes), "%llu MiB",
	    (unsigned long long)(info->ram_bytes >> 20));
	add(f, "transport", NULL, "%s", info->transport);
	add(f, "attached", json_object_new_boolean(is_attached), "%s", is_attached ? "yes" : "no");
	/* The gdb stub of an attached guest is in use by its service. */
	err = known->info.live ? NULL : hv_guest_refusal(guest);
	if (err)
		block(f, err);
	if (info->region_to_make_bytes) {
		add(f, "region_bytes", number(info->region_to_make_bytes),
		    "%llu MiB, made at the first attach",
		    (unsigned long long)(info->region_to_make_bytes >> 20));
		return;
	}
	err = hv_guest_region(guest, &region);
	if (err) {
		block(f, err);
		return;
	}
	add(f, "region_bytes", number(region.len_bytes), "%llu MiB at guest physical 0x%llx",
	    (unsigned long long)(region.len_bytes >> 20), (unsigned long long)region.gpa.v);
}

/* Reads the kernel's offset from the KERNELOFFSET of its VMCOREINFO. */
static bool kaslr_offset(struct hv_kernel *k, uint64_t *ret)
{
	char note[VMCOREINFO_MAX_BYTES + 1] = {0};
	struct hv_gva symbol;
	struct hv_gva text;
	const char *at;
	struct hv_err *err;
	char *end;

	if (!hv_kernel_symbol(k, "vmcoreinfo_data", &symbol))
		return false;
	err = hv_read_u64(&k->core.as, symbol, &text.v);
	if (!err)
		err = hv_read(&k->core.as, text, note, VMCOREINFO_MAX_BYTES);
	if (err) {
		hv_err_free(err);
		return false;
	}
	at = strstr(note, "KERNELOFFSET=");
	if (!at)
		return false;
	*ret = strtoull(at + strlen("KERNELOFFSET="), &end, 16);
	return *end == '\n';
}

static void check_addresses(struct findings *f, struct hv_kernel *k)
{
	uint64_t offset;

	add(f, "text", NULL, "0x%llx-0x%llx", (unsigned long long)k->text.start.v,
	    (unsigned long long)k->text.end.v);
	add(f, "image", NULL, "0x%llx-0x%llx", (unsigned long long)k->core.image.all.start.v,
	    (unsigned long long)k->core.image.all.end.v);
	if (kaslr_offset(k, &offset))
		add(f, "kaslr_offset", number(offset), "0x%llx", (unsigned long long)offset);
	else
		add_unknown(f, "kaslr_offset", "unknown (no VMCOREINFO)");
	add(f, "kpti", json_object_new_boolean(k->kpti), "%s", k->kpti ? "on" : "off");
	add(f, "page_levels", number(k->core.as.levels), "%u", k->core.as.levels);
}

static void check_build_id(struct findings *f, const struct hv_kernel *k)
{
	char hex[2 * sizeof(k->build_id) + 1] = "none";

	for (size_t i = 0; i < k->build_id_len_bytes && i < sizeof(k->build_id); i++)
		snprintf(hex + 2 * i, 3, "%02x", k->build_id[i]);
	add(f, "build_id", NULL, "%s", hex);
}

/* The functions of a kernel without ftrace, and why the others cannot be traced. */
static void check_entries(struct findings *f, const struct hv_sites *sites, bool is_patched)
{
	const struct hv_function_entries *e = sites->entries;
	json_object *o, *reasons;

	if (is_patched) {
		add_unknown(f, "sites", "unknown while hvtrace's changes are in the guest");
		return;
	}
	o = json_object_new_object();
	reasons = json_object_new_object();
	for (size_t i = 0; i < e->nr_reasons; i++)
		json_object_object_add(reasons, e->reasons[i].why, number(e->reasons[i].nr));
	json_object_object_add(o, "total", number(sites->nr));
	json_object_object_add(o, "busy", number(0));
	json_object_object_add(o, "joinable", number(0));
	json_object_object_add(o, "invalid", number(0));
	json_object_object_add(o, "functions", number(e->nr_functions));
	json_object_object_add(o, "untraceable", reasons);
	add(f, "sites", o, "%zu of %zu functions, by detours: the kernel has no ftrace%s",
	    sites->nr, e->nr_functions, sites->nr ? "" : ", so no function can be traced");
	for (size_t i = 0; i < e->nr_reasons; i++)
		hv_text_printf(&f->table, "%-12s %zu function%s: %s\n", "untraceable",
			       e->reasons[i].nr, hv_plural(e->reasons[i].nr), e->reasons[i].why);
}

/* Does not refuse a guest whose ftrace uses all sites: it may release them, and recording events
 * needs no sites. */
static void check_sites(struct findings *f, const struct hv_kernel *k)
{
	json_object *o = json_object_new_object();
	size_t invalid = 0, busy = 0, joinable = 0;

	hv_err_free(hv_ftrace_users_count(&k->core, &k->sites, &joinable));
	for (size_t i = 0; i < k->sites.nr; i++) {
		invalid += k->sites.list[i].invalid;
		busy += k->sites.list[i].busy;
	}
	json_object_object_add(o, "total", number(k->sites.nr));
	json_object_object_add(o, "busy", number(busy));
	json_object_object_add(o, "joinable", number(joinable));
	json_object_object_add(o, "invalid", number(invalid));
	add(f, "sites", o,
	    "%zu, with %zu in use by the guest (%zu can be traced, too), %zu invalid%s",
	    k->sites.nr, busy, joinable, invalid,
	    k->sites.nr == busy + invalid && !joinable ? ": no function can be traced now" : "");
}

static void check_clock(struct findings *f, struct hv_kernel *k)
{
	struct hv_clock *clock;
	struct hv_err *err = hv_clock_new(k, &clock);

	if (err) {
		block(f, hv_err_in(err, "clock"));
		return;
	}
	add(f, "clock", NULL, "%s", hv_clock_kind_name(hv_clock_kind(clock)));
	hv_clock_free(clock);
}

/* The answer is unknown while a session's changes are in the guest. */
static void check_guest_ftrace(struct findings *f, const struct hv_kernel *k, bool is_patched)
{
	HV_AUTO_TEXT struct hv_text reasons = {0};
	HV_AUTO_ERR struct hv_err *err = hv_guest_ftrace_look(k, &reasons);
	json_object *o;

	if (!err && reasons.len_bytes && is_patched) {
		add_unknown(f, "guest_ftrace", "unknown while hvtrace's changes are in the guest");
		return;
	}
	if (err)
		hv_text_add(&reasons, err->message);
	o = json_object_new_object();
	json_object_object_add(o, "protected", json_object_new_boolean(!reasons.len_bytes));
	json_object_object_add(o, "reason",
			       reasons.len_bytes ? json_object_new_string(reasons.data) : NULL);
	if (reasons.len_bytes)
		add(f, "guest_ftrace", o, "must not begin on traced functions: %s", reasons.data);
	else
		add(f, "guest_ftrace", o, "may begin on traced functions");
}

static json_object *uncovered(const struct hv_kernel *k, struct hv_gva at, const char *reason)
{
	json_object *o = json_object_new_object();
	const char *name, *module;
	char address[24];
	uint64_t off;

	snprintf(address, sizeof(address), "0x%llx", (unsigned long long)at.v);
	json_object_object_add(o, "address", json_object_new_string(address));
	if (hv_kernel_symbol_at(k, at, &name, &module, &off))
		json_object_object_add(o, "function", json_object_new_string(name));
	json_object_object_add(o, "reason", json_object_new_string(reason));
	return o;
}

/* Returns a remark if the coverage is so low that the tracer refuses the kernel without --force. */
static const char *too_few(size_t nr_covered, size_t nr)
{
	return hv_sections_cover_enough(nr_covered, nr) ? ""
							: ", too few to trust: only with --force";
}

/* Reports how much of the kernel the tracer preemptoff covers. */
static struct hv_err *look_at_preempt(struct findings *f, const struct hv_kernel *k)
{
	hv_cleanup(hv_preempt_sites_deinit) struct hv_preempt_sites sites = {0};
	struct hv_err *err = hv_preempt_sites_read(k, &sites);
	json_object *o, *list;

	if (err)
		return err;
	o = json_object_new_object();
	list = json_object_new_array();
	for (size_t i = 0; i < sites.nr; i++)
		if (sites.list[i].cover != HV_PREEMPT_COVERED)
			json_object_array_add(
				list, uncovered(k, sites.list[i].at,
						hv_preempt_cover_reason(sites.list[i].cover)));
	json_object_object_add(o, "places", number(sites.nr));
	json_object_object_add(o, "covered", number(sites.nr_of[HV_PREEMPT_COVERED]));
	json_object_object_add(o, "not_covered", list);
	add(f, "preemptoff", o, "covers %zu of %zu places%s", sites.nr_of[HV_PREEMPT_COVERED],
	    sites.nr,
	    too_few(sites.nr_of[HV_PREEMPT_COVERED], sites.nr - sites.nr_of[HV_PREEMPT_OF_NMIS]));
	return NULL;
}

/* Reports how much of the kernel the tracer irqsoff covers. */
static struct hv_err *look_at_irqs(struct findings *f, const struct hv_kernel *k)
{
	hv_cleanup(hv_irq_sites_deinit) struct hv_irq_sites sites = {0};
	struct hv_err *err = hv_irq_sites_read(k, &sites);
	json_object *o, *list;

	if (err)
		return err;
	o = json_object_new_object();
	list = json_object_new_array();
	for (size_t i = 0; i < sites.nr; i++)
		if (!hv_irq_is_covered(&sites.list[i]))
			json_object_array_add(list,
					      uncovered(k, sites.list[i].at,
							hv_irq_cover_reason(sites.list[i].cover)));
	json_object_object_add(o, "places", number(sites.nr));
	json_object_object_add(o, "relocated", number(sites.nr_of[HV_IRQ_RELOCATED]));
	json_object_object_add(o, "retargeted", number(sites.nr_of[HV_IRQ_RETARGETED]));
	json_object_object_add(o, "not_covered", list);
	json_object_object_add(o, "entries_not_covered", number(sites.nr_entries_left));
	add(f, "irqsoff", o, "covers %zu of %zu places%s", hv_irq_nr_covered(&sites), sites.nr,
	    sites.nr_entries_left ? ", too few of the kernel's entries: only with --force"
				  : too_few(hv_irq_nr_covered(&sites), sites.nr));
	return NULL;
}

/* The answer is unknown while a session's changes are in the guest. */
static void check_sections(struct findings *f, const struct hv_kernel *k, bool is_patched)
{
	static const struct {
		const char *name;
		struct hv_err *(*look)(struct findings *f, const struct hv_kernel *k);
	} tracers[] = {{"preemptoff", look_at_preempt}, {"irqsoff", look_at_irqs}};

	for (size_t i = 0; i < HV_ARRAY_LEN(tracers); i++) {
		HV_AUTO_ERR struct hv_err *err = is_patched ? NULL : tracers[i].look(f, k);

		if (is_patched)
			add_unknown(f, tracers[i].name,
				    "unknown while hvtrace's changes are in the guest");
		else if (err)
			add_unknown(f, tracers[i].name, err->message);
	}
}

/* Adds a row only if some calls of the guest's kernel cannot be redirected. */
static void check_calls(struct findings *f, const struct hv_kernel *k, bool is_patched)
{
	static const struct {
		const char *name;
		struct hv_err *(*look)(const struct hv_kernel *k, struct hv_text *ret_reason);
		const char *words;
	} calls[] = {
		{"hibernation", hv_hibernation_look, "the guest must not hibernate while attached"},
		{"task_names", hv_renames_look, "events keep the name before an exec or rename"},
	};

	for (size_t i = 0; i < HV_ARRAY_LEN(calls) && !is_patched; i++) {
		HV_AUTO_TEXT struct hv_text reason = {0};
		HV_AUTO_ERR struct hv_err *err = calls[i].look(k, &reason);

		if (err)
			hv_text_add(&reason, err->message);
		if (reason.len_bytes)
			add(f, calls[i].name, NULL, "%s: %s", calls[i].words, reason.data);
	}
}

/* Corrects KNOWN from the guest's memory, as attach would. K NULL: its kernel is unknown, and KNOWN
 * stays unchanged. */
static struct hv_err *look_for_changes(struct hv_guest *guest, struct hv_kernel *k,
				       struct known *known)
{
	bool has_left = false;
	struct hv_err *err = NULL;

	if (known->info.live || !k)
		return NULL;
	if (!hv_guest_info(guest)->region_to_make_bytes)
		err = hv_session_has_left(guest, k, &has_left);
	if (err && err->code == ENODEV) { /* no region, so no changes; reported above */
		hv_err_free(err);
		err = NULL;
	}
	if (!err)
		known->state = has_left ? DOMAIN_LEFT : DOMAIN_FREE;
	return err;
}

static void check_state(struct findings *f, struct hv_guest *guest, struct hv_kernel *k,
			struct known *known)
{
	struct hv_err *err = look_for_changes(guest, k, known);

	add(f, "state", NULL, "%s", domain_state_words(known->state));
	if (!err && known->state == DOMAIN_LEFT)
		err = hv_err_mark(
			hv_err_new(EEXIST, "a session died and left changes in the guest"),
			HV_ERR_NEEDS_RECOVERY);
	if (!err && known->state != DOMAIN_ATTACHED && known->info.live)
		err = domain_state_is_taken(&known->info, f->spec);
	if (err)
		block(f, err);
}

/* Adds the variables that were found without their names, because the kernel's symbols are only
 * functions. */
static void check_unnamed(struct findings *f, const struct hv_symbols *found)
{
	HV_AUTO_TEXT struct hv_text names = {0};
	json_object *list;

	if (!found->nr)
		return;
	list = json_object_new_array();
	for (size_t i = 0; i < found->nr; i++) {
		hv_text_printf(&names, " %s", found->by_addr[i].name);
		json_object_array_add(list, json_object_new_string(found->by_addr[i].name));
	}
	add(f, "unnamed_data", list, "%zu variables, found without their names:%s", found->nr,
	    names.data);
}

/* Returns the names of members that are not proved, and adds them to TEXT. */
static json_object *unproved_members(const struct hv_types *types, struct hv_text *text)
{
	json_object *list = json_object_new_array();

	for (unsigned i = 0; i < HV_BTF_MEMBERS_MAX; i++) {
		const struct hv_btf_member_row *row = hv_btf_member_row(i);
		HV_AUTO_FREE char *name = NULL;

		if (!row || !(types->unproved >> i & 1))
			continue;
		name = hv_format("%s.%s", row->type, row->member);
		hv_text_printf(text, " %s", name);
		json_object_array_add(list, json_object_new_string(name));
	}
	return list;
}

static json_object *proofs_of(const struct hv_fact *fact)
{
	static const char *const names[] = {"code", "other code", "memory", "other memory",
					    "interface"};
	json_object *list = json_object_new_array();

	for (size_t i = 0; i < HV_ARRAY_LEN(names); i++)
		if (fact->proofs >> i & 1)
			json_object_array_add(list, json_object_new_string(names[i]));
	return list;
}

static void check_derived(struct findings *f, const struct hv_types *types, json_object *o)
{
	HV_AUTO_TEXT struct hv_text unproved = {0};
	json_object *list = json_object_new_array();

	for (size_t i = 0; i < types->facts->nr; i++) {
		const struct hv_fact *fact = &types->facts->list[i];
		HV_AUTO_FREE char *name = hv_format("%s.%s", fact->type, fact->member);
		json_object *member = json_object_new_object();

		json_object_object_add(member, "member", json_object_new_string(name));
		json_object_object_add(member, "offset", number(fact->off));
		json_object_object_add(member, "proofs", proofs_of(fact));
		json_object_array_add(list, member);
	}
	json_object_object_add(o, "members", list);
	json_object_object_add(o, "unproved", unproved_members(types, &unproved));
	add(f, "types", o,
	    "%zu members of structures, derived from the guest's code and memory; not proved "
	    "twice, and so not used to change the guest:%s",
	    types->facts->nr, unproved.data ? unproved.data : " nothing");
}

/* The source of the kernel's types. */
static void check_types(struct findings *f, const struct hv_types *types)
{
	static const char *const sources[] = {
		[HV_TYPES_NONE] = "none",	   [HV_TYPES_IN_MEMORY] = "guest",
		[HV_TYPES_IN_VMLINUX] = "vmlinux", [HV_TYPES_IN_DWARF] = "dwarf",
		[HV_TYPES_IN_FILE] = "file",	   [HV_TYPES_DERIVED] = "derived",
	};
	static const char *const texts[] = {
		[HV_TYPES_NONE] = "none",
		[HV_TYPES_IN_MEMORY] = "BTF in the guest's memory",
		[HV_TYPES_IN_VMLINUX] = "BTF of the vmlinux",
		[HV_TYPES_IN_DWARF] = "DWARF of the vmlinux",
	};
	const struct hv_btf_proof *proof = &types->proof;
	HV_AUTO_TEXT struct hv_text unproved = {0};
	json_object *o = json_object_new_object();

	json_object_object_add(o, "source", json_object_new_string(sources[types->from]));
	if (types->from == HV_TYPES_DERIVED) {
		check_derived(f, types, o);
		return;
	}
	if (types->from != HV_TYPES_IN_FILE) {
		add(f, "types", o, "%s", texts[types->from]);
		return;
	}
	json_object_object_add(o, "file", json_object_new_string(types->path));
	json_object_object_add(o, "percpu_variables_equal", number(proof->nr_percpu));
	json_object_object_add(o, "functions_equal", number(proof->nr_functions));
	json_object_object_add(o, "sizes_equal", number(proof->nr_sizes));
	json_object_object_add(o, "values_equal", number(proof->nr_values));
	json_object_object_add(o, "guest_functions", number(proof->nr_guest_functions));
	json_object_object_add(o, "guest_functions_missing", number(proof->nr_missing));
	json_object_object_add(o, "build_id_equal", json_object_new_boolean(proof->build_id_equal));
	json_object_object_add(o, "unproved", unproved_members(types, &unproved));
	add(f, "types", o,
	    "BTF of %s: %s%u per-CPU variables, %u functions, %u sizes and %u values agree with "
	    "the guest; it lacks %u of the guest's %u functions; not proved, and so not used to "
	    "change the guest:%s",
	    types->path, proof->build_id_equal ? "the build id, " : "", proof->nr_percpu,
	    proof->nr_functions, proof->nr_sizes, proof->nr_values, proof->nr_missing,
	    proof->nr_guest_functions, unproved.data ? unproved.data : " nothing");
}

static void check_kernel(struct findings *f, struct hv_guest *guest, const struct hv_btf_files *btf,
			 struct known *known)
{
	HV_AUTO_KERNEL struct hv_kernel *k = NULL;
	struct hv_err *err = hv_kernel_open(guest, NULL, btf, &k);
	bool is_patched;

	check_state(f, guest, k, known);
	if (err) {
		block(f, err);
		return;
	}
	add(f, "banner", NULL, "%s", k->banner);
	add(f, "release", NULL, "%s", k->release);
	check_build_id(f, k);
	check_addresses(f, k);
	add(f, "symbols", number(k->core.symbols.nr), "%zu", k->core.symbols.nr);
	check_unnamed(f, &k->core.unnamed);
	is_patched = known->state != DOMAIN_FREE && known->state != DOMAIN_GONE;
	if (k->sites.entries)
		check_entries(f, &k->sites, is_patched);
	else
		check_sites(f, k);
	add(f, "modules", number(k->modules.nr), "%zu", k->modules.nr);
	if (k->core.btf && k->core.types.from != HV_TYPES_DERIVED)
		add(f, "btf_types", number(hv_btf_nr_types(k->core.btf)), "%zu",
		    hv_btf_nr_types(k->core.btf));
	else
		add_unknown(f, "btf_types", "none");
	check_types(f, &k->core.types);
	err = hv_integrity_refusal(&k->modules);
	if (err)
		block(f, err);
	err = hv_trampolines_refusal(k->core.as.arch);
	if (!err)
		err = hv_mapping_refusal(&k->core);
	if (err)
		block(f, err);
	if (!k->sites.entries)
		check_guest_ftrace(f, k, is_patched);
	check_calls(f, k, is_patched);
	check_sections(f, k, is_patched);
	check_clock(f, k);
}

/* Appends the findings and a newline to RET. */
static void render(struct findings *f, bool json, struct hv_text *ret)
{
	json_object_object_add(f->json, "blockers", f->blockers);
	json_object_object_add(f->json, "traceable", json_object_new_boolean(!f->nr_blockers));
	if (json)
		hv_text_printf(ret, "%s\n",
			       json_object_to_json_string_ext(
				       f->json, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED |
							JSON_C_TO_STRING_NOSLASHESCAPE));
	else
		hv_text_printf(ret, "%s%-12s %s\n", f->table.data ? f->table.data : "", "traceable",
			       f->nr_blockers ? "no" : "yes");
}

/* The examination of the guest, in an unprivileged process (unprivileged.h). */
struct look {
	const char *spec;
	bool json;
	struct known *known;
	struct hv_text text;
	bool is_blocked;
};

static void look(struct hv_guest *guest, int socket, void *ctx)
{
	const struct look *l = ctx;
	hv_cleanup(findings_deinit) struct findings f = {0};
	HV_AUTO_TEXT struct hv_text text = {0};
	struct hv_message m = {.kind = UNPRIVILEGED_FIRST};
	const struct hv_btf_files btf = {unprivileged_open_btf, &socket};

	findings_init(&f, l->spec);
	check_machine(&f, guest, l->known);
	check_kernel(&f, guest, &btf, l->known);
	render(&f, l->json, &text);
	m.args[0] = f.nr_blockers != 0;
	m.bytes = (uint8_t *)text.data;
	m.len_bytes = text.len_bytes;
	hv_err_free(hv_channel_send(socket, &m));
}

static bool hear_findings(const struct hv_message *m, void *ctx)
{
	struct look *l = ctx;

	hv_text_add_lines(&l->text, (const char *)m->bytes);
	l->is_blocked = m->args[0] != 0;
	return true;
}

/* A QMP socket serves one client, so it is busy if the domain has a session. Takes ERR. */
static struct hv_err *explain_busy(const struct cli *cli, const char *spec, struct hv_err *err)
{
	hv_cleanup(known_deinit) struct known known = {0};
	HV_AUTO_FREE char *given = spec_absolute(spec);

	if (!err)
		return NULL;
	known_init(&known, cli, given);
	if (!known.info.live && known.state != DOMAIN_GONE)
		return err;
	hv_err_free(err);
	if (known.state != DOMAIN_ATTACHED)
		return domain_state_lacks_session(&known.info, spec);
	return hv_err_new(
		EBUSY,
		"attached, and its service uses the monitor: `hvtrace stat %s%s` shows the session",
		spec_dashes(spec), spec);
}

/* Returns the exit status. */
static int say_blocked(const char *spec, struct hv_err *err)
{
	hv_cleanup(findings_deinit) struct findings f = {0};
	HV_AUTO_TEXT struct hv_text text = {0};

	findings_init(&f, spec);
	block(&f, in_domain(err, spec));
	render(&f, true, &text);
	put_out(text.data, text.len_bytes);
	return EXIT_FAILED;
}

/* Returns like put_out(). */
static int put_findings(const struct look *l)
{
	static const struct terminal_mark marks[] = {
		{"PREVENTS", TERMINAL_RED, 0, 0},
		{"traceable    no", TERMINAL_RED, VALUE_COLUMN, 0},
		{"traceable    yes", TERMINAL_GREEN, VALUE_COLUMN, 0},
	};

	return l->json ? put_out(l->text.data, l->text.len_bytes)
		       : put_lines(l->text.data, VALUE_COLUMN, marks, HV_ARRAY_LEN(marks));
}

static int check(const struct cli *cli, const char *spec, const char *btf_path, bool json)
{
	HV_AUTO_GUEST struct hv_guest *guest = NULL;
	hv_cleanup(known_deinit) struct known known = {0};
	AUTO_BTF_FILES struct btf_files btf = BTF_FILES_NONE;
	struct look l = {.spec = spec, .json = json, .known = &known};
	const struct unprivileged d = {
		"hvtrace:check", HV_ADOPTS_NOTHING, look, hear_findings, &l, &btf};
	struct progress progress = {0};
	struct hv_err *err;
	int out_error;

	progress_begin(&progress, 0, "looking at", spec);
	err = btf_files_open(&btf, btf_path, btf_files_packaged, BTF_FILES_DIRS_MAX);
	if (!err)
		err = explain_busy(cli, spec,
				   hv_guest_open(spec, cli->libvirt_uri, HV_VIA_AUTO, &guest));
	if (!err) {
		known_init(&known, cli, hv_guest_info(guest)->id);
		err = unprivileged_run(guest, NULL, &d);
	}
	progress_end(&progress);
	if (err)
		return json ? say_blocked(spec, err) : fail(explain(err, spec));
	out_error = put_findings(&l);
	hv_text_deinit(&l.text);
	return l.is_blocked || out_error ? EXIT_FAILED : EXIT_OK;
}

static int run(struct cli *cli, int argc, char **argv)
{
	const char *btf_path;
	bool json;
	int exit_code;
	const char *spec = verb_shown_kernel(cli, argc, argv, &json, &btf_path, &exit_code);

	if (!spec)
		return exit_code;
	return have_root(cli) ? check(cli, spec, btf_path, json) : EXIT_FAILED;
}

static const char help[] = "Shows its findings and all obstacles to tracing; exit status 1 if "
			   "there is an obstacle.\n\n" VERB_BTF_HELP VERB_SHOWN_HELP;

const struct verb verb_check = {
	.name = "check",
	.args = "[--btf=FILE|DIR] [--json] DOMAIN",
	.summary = "Examine a guest like attach, but change and stop nothing",
	.help = help,
	.run = run,
};
