/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/guest/trampolines.h"

#include <string.h>

#include "arch/preempt_count.h"
#include "kernel/arch/kernel_arch.h"
#include "kernel/code/nofault.h"
#include "ringbuf/ring.h"
#include "tracer/guest/tracee.h"

/* -- veneers ----------------------------------------------------------------------------------- */

/* Index of the first veneer of each kind of trampoline. */
enum { VENEER_FUNCTION, VENEER_STACK, VENEER_GRAPH, VENEER_PROFILE, VENEER_CALLS };
#define VENEER_ACTIONS (VENEER_CALLS + HV_NR_CALL_ENTRIES)
#define NR_VENEERS     (VENEER_ACTIONS + HV_NR_ACTION_GROUPS)

#define JUMP_LEN       4u /* of a veneer at a fixed offset in a page */
#define WRITES_PER_ONE (HV_VENEER_LEN / HV_SITE_LEN_MAX)
_Static_assert(WRITES_PER_ONE *HV_SITE_LEN_MAX == HV_VENEER_LEN, "whole writes");

/* Offsets from the start of the range. */
#define FIRST_OFF (HV_REGION_DETOURS_OFF - HV_REGION_TRAMPOLINES_OFF)
#define END_OFF	  (HV_REGION_TRAMPOLINES_END - HV_REGION_TRAMPOLINES_OFF)
_Static_assert(NR_VENEERS *HV_VENEER_LEN <= END_OFF - FIRST_OFF, "there is room for veneers");

static const struct hv_trampoline_image *trampolines_of(const struct hv_tracee *t)
{
	return &t->kernel->core.as.arch->trampolines;
}

/* Finds the trampoline of veneer N. Returns false if the architecture lacks that trampoline. */
static bool trampoline_of_veneer(const struct hv_trampoline_image *trampolines, size_t n,
				 size_t *ret)
{
	switch (n) {
	case VENEER_FUNCTION:
		*ret = trampolines->function_off;
		return true;
	case VENEER_STACK:
		*ret = trampolines->function_stack_off;
		return *ret;
	case VENEER_GRAPH:
		*ret = trampolines->graph_off;
		return *ret;
	case VENEER_PROFILE:
		*ret = trampolines->profile_off;
		return *ret;
	default:
		break;
	}
	if (n < VENEER_ACTIONS) {
		*ret = trampolines->calls_off + (n - VENEER_CALLS) * trampolines->call_len_bytes;
		return trampolines->calls_off;
	}
	*ret = trampolines->actions_off + (n - VENEER_ACTIONS) * trampolines->action_len_bytes;
	return trampolines->actions_off;
}

static size_t veneer_of_trampoline(const struct hv_trampoline_image *trampolines, size_t off)
{
	size_t calls_len = HV_NR_CALL_ENTRIES * trampolines->call_len_bytes;

	if (off == trampolines->function_off)
		return VENEER_FUNCTION;
	if (off == trampolines->function_stack_off)
		return VENEER_STACK;
	if (off == trampolines->graph_off)
		return VENEER_GRAPH;
	if (off == trampolines->profile_off)
		return VENEER_PROFILE;
	if (off >= trampolines->calls_off && off < trampolines->calls_off + calls_len)
		return VENEER_CALLS + (off - trampolines->calls_off) / trampolines->call_len_bytes;
	return VENEER_ACTIONS + (off - trampolines->actions_off) / trampolines->action_len_bytes;
}

/* For veneers at a fixed offset in a page: returns the offset of veneer N from the start of the
 * range. */
static uint64_t veneer_off(const struct hv_tracee *t, size_t n)
{
	struct hv_reach reach = hv_reach_of(&t->kernel->core);
	uint64_t first = FIRST_OFF;

	first += (reach.entry_off - (t->range.start.v + first)) % reach.entry_bytes;
	return first + n * reach.entry_bytes;
}

static bool plan_jump(const struct hv_tracee *t, size_t n, struct hv_gva trampoline,
		      struct hv_hold_write *w)
{
	uint64_t off = veneer_off(t, n);

	*w = (struct hv_hold_write){
		.gpa = hv_gpa_add(t->region.gpa, HV_REGION_TRAMPOLINES_OFF + off),
		.len_bytes = JUMP_LEN,
		.is_text = true};
	return off + JUMP_LEN <= END_OFF &&
	       t->kernel->core.as.arch->encode_jump_site(hv_gva_add(t->range.start, off),
							 trampoline, JUMP_LEN, w->bytes);
}

/* Returns whether there are veneers in the second mapping. */
static bool has_second_mapping(const struct hv_tracee *t)
{
	return t->kernel->core.as.arch->encode_veneer && t->veneers.start.v != t->veneers.end.v;
}

static uint64_t second_off(size_t n)
{
	return FIRST_OFF + n * HV_VENEER_LEN;
}

static bool plan_veneer(const struct hv_tracee *t, size_t n, struct hv_gva trampoline,
			struct hv_hold_write *writes)
{
	uint64_t off = second_off(n);
	uint8_t code[HV_VENEER_LEN];

	if (!t->kernel->core.as.arch->encode_veneer(hv_gva_add(t->veneers.start, off), trampoline,
						    code))
		return false;
	for (size_t i = 0; i < WRITES_PER_ONE; i++) {
		uint64_t at = HV_REGION_TRAMPOLINES_OFF + off + i * HV_SITE_LEN_MAX;

		writes[i] = (struct hv_hold_write){.gpa = hv_gpa_add(t->region.gpa, at),
						   .len_bytes = HV_SITE_LEN_MAX,
						   .is_text = true};
		memcpy(writes[i].bytes, code + i * HV_SITE_LEN_MAX, HV_SITE_LEN_MAX);
	}
	return true;
}

/* Returns the maximum number of writes of veneers_plan(). */
static size_t veneers_max(void)
{
	return NR_VENEERS * WRITES_PER_ONE;
}

/* Plans the code of all veneers of T, ordered by address. CODE is the address of the
 * trampolines. */
static struct hv_err *veneers_plan(const struct hv_tracee *t, struct hv_gva code,
				   struct hv_hold_write *writes, size_t *ret_nr)
{
	bool in_entries = hv_reach_of(&t->kernel->core).entry_bytes;
	size_t nr = 0;

	for (size_t n = 0; n < NR_VENEERS && (in_entries || has_second_mapping(t)); n++) {
		size_t off;
		bool fits;

		if (!trampoline_of_veneer(trampolines_of(t), n, &off) ||
		    (in_entries && n == VENEER_FUNCTION))
			continue;
		if (in_entries)
			fits = plan_jump(t, n, hv_gva_add(code, off), &writes[nr]);
		else
			fits = plan_veneer(t, n, hv_gva_add(code, off), &writes[nr]);
		if (!fits)
			return hv_err_new(ERANGE, "the region is out of reach of the veneers "
						  "that sites call");
		nr += in_entries ? 1 : WRITES_PER_ONE;
	}
	*ret_nr = nr;
	return NULL;
}

/* Returns the address that sites in reach call for the trampoline at offset OFF of the code at
 * CODE. */
static struct hv_gva veneer_or_trampoline(const struct hv_tracee *t, struct hv_gva code, size_t off)
{
	const struct hv_trampoline_image *trampolines = trampolines_of(t);

	if (!hv_reach_of(&t->kernel->core).entry_bytes || off == trampolines->function_off)
		return hv_gva_add(code, off);
	return hv_gva_add(t->range.start, veneer_off(t, veneer_of_trampoline(trampolines, off)));
}

struct hv_gva hv_veneer_from(const struct hv_tracee *t, struct hv_gva at, struct hv_gva trampoline)
{
	struct hv_gva code = hv_gva_add(t->range.start, HV_TRAMPOLINES_CODE_OFF);
	uint8_t unused[HV_SITE_LEN_MAX];

	if (!has_second_mapping(t) || t->kernel->core.as.arch->encode_call(at, trampoline, unused))
		return trampoline;
	return hv_gva_add(t->veneers.start, second_off(veneer_of_trampoline(
						    trampolines_of(t), trampoline.v - code.v)));
}

struct hv_gva hv_veneer_leads_to(const struct hv_tracee *t, struct hv_gva target)
{
	struct hv_gva code = hv_gva_add(t->range.start, HV_TRAMPOLINES_CODE_OFF);
	uint64_t off = target.v - t->veneers.start.v - FIRST_OFF;
	size_t trampoline;

	if (!has_second_mapping(t) || off % HV_VENEER_LEN || off / HV_VENEER_LEN >= NR_VENEERS ||
	    !trampoline_of_veneer(trampolines_of(t), off / HV_VENEER_LEN, &trampoline))
		return target;
	return hv_gva_add(code, trampoline);
}

/* -- trampolines ------------------------------------------------------------------------------- */

/* Returns the guest address of offset OFF of the region. */
static uint64_t gva_of(const struct hv_tracee *t, uint64_t off)
{
	return t->range.start.v + off - HV_REGION_TRAMPOLINES_OFF;
}

/* Some guests need the trampoline that sites call at a fixed offset in a page. */
static uint64_t code_off(const struct hv_tracee *t)
{
	struct hv_reach reach = hv_reach_of(&t->kernel->core);
	uint64_t entry = t->range.start.v + HV_TRAMPOLINES_CODE_OFF +
			 t->kernel->core.as.arch->trampolines.function_off;

	if (!reach.entry_bytes)
		return HV_TRAMPOLINES_CODE_OFF;
	return HV_TRAMPOLINES_CODE_OFF + (reach.entry_off - entry) % reach.entry_bytes;
}

static struct hv_gva code_of(const struct hv_tracee *t)
{
	return hv_gva_add(t->range.start, code_off(t));
}

/* Returns the address that a site calls to reach the trampoline at OFF of the code. */
static struct hv_gva entry_of(const struct hv_tracee *t, size_t off)
{
	return veneer_or_trampoline(t, code_of(t), off);
}

#define STACK_ALIGNMENT 16u

/* If these values are unknown, stacks end at exceptions. */
static void set_entry_values(const struct hv_kernel *k, uint64_t *hole)
{
	const char *const *bounds = hv_kernel_arch_of(&k->core)->hides_return;
	struct hv_gva start, end;
	uint32_t len = 0;

	hole[HV_HOLE_entry_code] = k->text.start.v;
	if (bounds[0] && hv_kernel_symbol(k, bounds[0], &start) &&
	    hv_kernel_symbol(k, bounds[1], &end) && start.v < end.v) {
		hole[HV_HOLE_entry_code] = start.v;
		hole[HV_HOLE_entry_code_len] = end.v - start.v;
	}
	hv_btf_size(k->core.btf, "pt_regs", &len);
	hole[HV_HOLE_regs_bytes] = (len + STACK_ALIGNMENT - 1) / STACK_ALIGNMENT * STACK_ALIGNMENT;
}

static void set_kernel_values(const struct hv_kernel *k, struct hv_trampoline_values *values)
{
	const struct hv_layout *l = &k->layout;
	struct hv_gva_range skip = k->core.as.arch->exception_stacks;
	uint64_t *hole = values->hole;
	struct hv_gva renamed = {0};

	hv_kernel_symbol(k, HV_RENAMES_CALLEE, &renamed);
	hole[HV_HOLE_cpu_number] = l->cpu_number_percpu;
	hole[HV_HOLE_current] = l->current_percpu;
	hole[HV_HOLE_preempt_count] = l->preempt_count_percpu;
	hole[HV_HOLE_steal_time] = l->steal_time_percpu;
	hole[HV_HOLE_irq_stack] = l->irq_stack_percpu;
	hole[HV_HOLE_task_pid] = l->task_pid_off;
	hole[HV_HOLE_task_tgid] = l->task_tgid_off;
	hole[HV_HOLE_task_comm] = l->task_comm_off;
	hole[HV_HOLE_task_prio] = l->task_prio_off;
	hole[HV_HOLE_task_policy] = l->task_policy_off;
	hole[HV_HOLE_task_rt_prio] = l->task_rt_prio_off;
	hole[HV_HOLE_task_cred] = l->task_cred_off;
	hole[HV_HOLE_cred_uid] = l->cred_uid_off;
	hole[HV_HOLE_task_flags] = l->task_flags_off + hv_resched_shift(l->context_bits) / 8;
	hole[HV_HOLE_task_migrate] = l->task_migrate_off;
	hole[HV_HOLE_task_stack] = l->task_stack_off;
	hole[HV_HOLE_task_pf] = l->task_pf_off;
	hole[HV_HOLE_task_lazy] = l->task_lazy_off;
	hole[HV_HOLE_task_lazy_flags] = l->task_flags_off;
	hole[HV_HOLE_lazy_mask] = l->lazy_mask;
	hole[HV_HOLE_task_softirqs] = l->task_softirqs_off;
	hole[HV_HOLE_hardirq_bits] = hv_hardirq_mask(l->context_bits);
	hole[HV_HOLE_irq_bits] = hv_irq_mask(l->context_bits);
	hole[HV_HOLE_context_bits] = hv_context_mask(l->context_bits);
	hole[HV_HOLE_stack_bytes] = l->stack_bytes;
	hole[HV_HOLE_stack_mask] = -(uint64_t)l->stack_bytes;
	hole[HV_HOLE_skip_start] = skip.start.v;
	hole[HV_HOLE_skip_len] = skip.end.v - skip.start.v;
	hole[HV_HOLE_text_base] = hv_reach_of(&k->core).text_base.v;
	hole[HV_HOLE_kernel_start] = k->core.as.arch->kernel_start(k->core.as.levels).v;
	hole[HV_HOLE_copy_kernel] = hv_nofault_address(k, HV_NOFAULT_COPY_KERNEL).v;
	hole[HV_HOLE_copy_user] = hv_nofault_address(k, HV_NOFAULT_COPY_USER).v;
	hole[HV_HOLE_string_kernel] = hv_nofault_address(k, HV_NOFAULT_STRING_KERNEL).v;
	hole[HV_HOLE_string_user] = hv_nofault_address(k, HV_NOFAULT_STRING_USER).v;
	hole[HV_HOLE_renamed] = renamed.v;
	set_entry_values(k, hole);
	values->alternatives |= l->has_steal_time ? 0 : 1u << HV_ALT_NO_STEAL;
	values->alternatives |= l->has_migrate ? 0 : 1u << HV_ALT_NO_MIGRATE;
	values->alternatives |= l->has_lazy ? 1u << HV_ALT_LAZY : 0;
	values->alternatives |= l->has_wide_count ? 1u << HV_ALT_WIDE_COUNT : 0;
	values->alternatives |= l->has_task_softirqs ? 1u << HV_ALT_TASK_SOFTIRQS : 0;
	values->alternatives |= l->may_host ? 1u << HV_ALT_HOST_CLOCK : 0;
	values->alternatives |= l->by_hypervisor ? 1u << HV_ALT_HYPERVISOR : 0;
	values->alternatives |= k->jumps_bare ? 1u << HV_ALT_JUMP : 0;
	values->return_thunk = k->return_thunk;
}

static void set_event_values(const struct hv_event_symbols *symbols,
			     struct hv_trampoline_values *values)
{
	uint64_t *hole = values->hole;

	hole[HV_HOLE_event_reserve] = symbols->reserve.v;
	hole[HV_HOLE_event_commit] = symbols->commit.v;
	hole[HV_HOLE_event_release] = symbols->release.v;
	hole[HV_HOLE_event_release_other] = symbols->release_other.v;
	hole[HV_HOLE_fbuffer_file] = symbols->buffer_file;
	hole[HV_HOLE_fbuffer_event] = symbols->buffer_event;
	hole[HV_HOLE_fbuffer_entry] = symbols->buffer_entry;
	hole[HV_HOLE_task_status] = symbols->task_status;
}

static bool needs_locks(const struct hv_tracee *t)
{
	return t->plan.nr_cpus > 1 && hv_kernel_preempts(t->kernel);
}

bool hv_trampolines_lack_locks(const struct hv_tracee *t)
{
	return !t->locks && needs_locks(t);
}

static void set_region_values(const struct hv_tracee *t, struct hv_trampoline_values *values)
{
	const struct hv_ring_plan *plan = &t->plan;
	uint64_t *hole = values->hole;

	hole[HV_HOLE_params] = gva_of(t, HV_REGION_TRAMPOLINES_OFF);
	hole[HV_HOLE_control] = gva_of(t, HV_REGION_CONTROL_OFF);
	hole[HV_HOLE_vcpus] = gva_of(t, HV_REGION_VCPUS_OFF);
	hole[HV_HOLE_pids] = gva_of(t, HV_REGION_PIDS_OFF);
	hole[HV_HOLE_nr_pids] = HV_REGION_NR_PIDS;
	hole[HV_HOLE_stacks] = gva_of(t, HV_REGION_STACKS_OFF);
	hole[HV_HOLE_programs] = gva_of(t, HV_REGION_PROGRAMS_OFF);
	hole[HV_HOLE_event_programs] = gva_of(t, HV_REGION_READS_OFF);
	hole[HV_HOLE_filters] = gva_of(t, HV_REGION_FILTERS_OFF);
	hole[HV_HOLE_chains] = gva_of(t, HV_REGION_CHAINS_OFF);
	hole[HV_HOLE_chains_len] = HV_REGION_CHAINS_END - HV_REGION_CHAINS_OFF;
	hole[HV_HOLE_event_files] = gva_of(t, HV_REGION_FILES_OFF);
	hole[HV_HOLE_event_files_len] = HV_REGION_NR_EVENTS * sizeof(struct hv_event_file);
	hole[HV_HOLE_event_callbacks] = gva_of(t, HV_REGION_CALLBACKS_OFF);
	hole[HV_HOLE_event_callbacks_len] = HV_REGION_STACKS_OFF - HV_REGION_CALLBACKS_OFF;
	hole[HV_HOLE_drafts] =
		gva_of(t, plan->drafts_off ? plan->drafts_off : HV_REGION_TRAMPOLINES_OFF);
	hole[HV_HOLE_nr_cpus] = plan->nr_cpus;
	hole[HV_HOLE_nr_drafts] = plan->drafts_off ? plan->nr_cpus * HV_NR_DRAFTS : 0;
	hole[HV_HOLE_ring_mask] = hv_ring_mask(plan->nr_slots);
	hole[HV_HOLE_key_shift] = hv_key_shift(plan->nr_slots);
	hole[HV_HOLE_key_step] = hv_ring_key_step(plan->nr_slots);
	hole[HV_HOLE_entry_records] = hv_ring_entry_records(plan->nr_slots);
	hole[HV_HOLE_entry_len] = hv_ring_entry_len(plan->nr_slots);
	hole[HV_HOLE_home_shift] = 32 - plan->homes_shift;
	hole[HV_HOLE_count_shift] = 32 - plan->counts_shift;
}

struct hv_err *hv_trampolines_refusal(const struct hv_arch *arch)
{
	if (arch->trampolines.code)
		return NULL;
	return hv_err_new(ENOTSUP, "function tracing is not supported yet for %s guests",
			  arch->name);
}

/* Plain stores suffice, because the guest does not see the region yet. */
void hv_trampolines_prepare(const struct hv_tracee *t)
{
	const struct hv_region *r = &t->region;
	const struct hv_ring_plan *plan = &t->plan;

	*hv_region_params(r) = (struct hv_params){.max_depth = UINT32_MAX};
	for (unsigned cpu = 0; cpu < plan->nr_cpus; cpu++) {
		*hv_region_state(r, plan, cpu) = (struct hv_state){
			.head = hv_ring_head_at(0, plan->nr_slots),
			.counts_gva = gva_of(t, hv_plan_counts_off(plan, cpu)),
		};
		hv_region_vcpus(r)[cpu] = gva_of(t, hv_plan_state_off(plan, cpu));
	}
}

void hv_trampolines_prepare_stacks(const struct hv_tracee *t)
{
	for (unsigned i = 0; i < t->plan.nr_stacks; i++)
		hv_region_stack(&t->region, i)->depth = HV_STACK_DEPTH_0;
}

/* Turns CODE, a copy of the assembled trampolines, into the code for this guest. */
static struct hv_err *link_trampolines(const struct hv_tracee *t, bool locks, uint8_t *code)
{
	const struct hv_arch *arch = t->kernel->core.as.arch;
	struct hv_trampoline_values values = {0};
	const char *misfit;

	set_kernel_values(t->kernel, &values);
	set_event_values(&t->event_symbols, &values);
	set_region_values(t, &values);
	values.alternatives |= locks ? 0 : 1u << HV_ALT_UNLOCKED;
	values.alternatives |= t->chains ? 1u << HV_ALT_CHAINS : 0;
	misfit = arch->link(&arch->trampolines, &values, code_of(t), code);
	if (misfit)
		return hv_err_new(ERANGE,
				  "the trampolines cannot be made for this kernel: the value of"
				  " %s does not fit into an instruction",
				  misfit);
	return NULL;
}

/* Written as text, because under TCG the guest may have executed these pages in an earlier
 * session. */
struct hv_err *hv_trampolines_link(struct hv_tracee *t)
{
	const struct hv_trampoline_image *trampolines = &t->kernel->core.as.arch->trampolines;
	size_t nr = (trampolines->len_bytes + HV_SITE_LEN_MAX - 1) / HV_SITE_LEN_MAX;
	size_t nr_veneers = 0;
	HV_AUTO_FREE uint8_t *code = hv_alloc(nr * HV_SITE_LEN_MAX);
	HV_AUTO_FREE struct hv_hold_write *writes =
		hv_alloc((nr + veneers_max()) * sizeof(*writes));
	struct hv_gpa gpa = hv_gpa_add(t->region.gpa, HV_REGION_TRAMPOLINES_OFF + code_off(t));
	bool locks = t->locks || needs_locks(t);
	struct hv_err *err;

	memcpy(code, trampolines->code, trampolines->len_bytes);
	err = link_trampolines(t, locks, code);
	if (!err)
		err = veneers_plan(t, code_of(t), writes + nr, &nr_veneers);
	if (err)
		return err;
	for (size_t i = 0; i < nr; i++) {
		writes[i].gpa = hv_gpa_add(gpa, i * HV_SITE_LEN_MAX);
		writes[i].len_bytes = HV_SITE_LEN_MAX;
		writes[i].is_text = true;
		memcpy(writes[i].bytes, code + i * HV_SITE_LEN_MAX, HV_SITE_LEN_MAX);
	}
	err = hv_patcher_write(t->patcher, writes, nr + nr_veneers);
	if (!err)
		t->locks = locks;
	return err;
}

static const enum hv_call_trace traces[] = {
	[HV_TRAMPOLINE_NONE] = HV_TRACE_NOTHING,
	/* Has its own entry if it has no role and no profile. The other entries also record outside
	 * of sections. */
	[HV_TRAMPOLINE_SECTION_FUNCTION] = HV_TRACE_FUNCTION,
	[HV_TRAMPOLINE_FUNCTION] = HV_TRACE_FUNCTION,
	[HV_TRAMPOLINE_FUNCTION_STACK] = HV_TRACE_FUNCTION, /* has its own entry */
	[HV_TRAMPOLINE_SECTION_GRAPH] = HV_TRACE_GRAPH,	    /* has its own entry */
	[HV_TRAMPOLINE_GRAPH] = HV_TRACE_GRAPH,
	[HV_TRAMPOLINE_GRAPH_ROOT] = HV_TRACE_GRAPH_ROOT,
	[HV_TRAMPOLINE_GRAPH_NOTRACE] = HV_TRACE_GRAPH_NOTRACE,
	[HV_TRAMPOLINE_FUNCTION_AND_GRAPH] = HV_TRACE_FUNCTION_AND_GRAPH,
};

static size_t call_off(const struct hv_trampoline_image *trampolines, unsigned trampoline,
		       enum hv_call_role role)
{
	enum hv_call_trace trace = traces[trampoline & ~(unsigned)HV_TRAMPOLINE_PROFILED];

	if (trampoline == HV_TRAMPOLINE_FUNCTION_STACK)
		return trampolines->function_stack_off;
	if (trampoline == HV_TRAMPOLINE_SECTION_FUNCTION && role == HV_ROLE_NONE)
		return trampolines->section_function_off;
	if (trampoline == HV_TRAMPOLINE_SECTION_GRAPH && role == HV_ROLE_NONE)
		return trampolines->section_graph_off;
	return hv_call_off(trampolines, role, trace, trampoline & HV_TRAMPOLINE_PROFILED);
}

static bool image_has(const struct hv_arch *arch, unsigned trampoline)
{
	return trampoline == HV_TRAMPOLINE_FUNCTION ||
	       call_off(&arch->trampolines, trampoline, HV_ROLE_NONE) != 0;
}

bool hv_trampolines_have(const struct hv_kernel *k, unsigned trampoline)
{
	if (k->sites.entries)
		return trampoline == HV_TRAMPOLINE_FUNCTION;
	return image_has(k->core.as.arch, trampoline);
}

/* WHAT is a feature that K does not have. */
static struct hv_err *refuse(const struct hv_kernel *k, const char *what)
{
	if (k->sites.entries)
		return hv_err_new(EOPNOTSUPP, "%s: not supported yet for kernels without ftrace",
				  what);
	return hv_err_new(EOPNOTSUPP, "%s: not supported yet for %s guests", what,
			  k->core.as.arch->name);
}

struct hv_err *hv_trampolines_check(const struct hv_kernel *k, unsigned trampoline)
{
	const char *what = "function_graph";

	if (!(trampoline & ~(unsigned)HV_TRAMPOLINE_LATER) ||
	    hv_trampolines_have(k, trampoline & ~(unsigned)HV_TRAMPOLINE_LATER))
		return NULL;
	if (trampoline & HV_TRAMPOLINE_PROFILED)
		what = "function_profile_enabled";
	else if (trampoline == HV_TRAMPOLINE_FUNCTION_STACK)
		what = "func_stack_trace";
	else if (trampoline == HV_TRAMPOLINE_SECTION_FUNCTION ||
		 trampoline == HV_TRAMPOLINE_SECTION_GRAPH)
		what = "functions in the tracers of latencies";
	return refuse(k, what);
}

struct hv_err *hv_trampolines_check_actions(const struct hv_kernel *k, uint32_t does)
{
	const struct hv_arch *arch = k->core.as.arch;
	const char *what = "probes";

	if (!arch->trampolines.action_len_bytes || k->sites.entries)
		what = "commands, probes and pids that follow forks";
	else if (!(arch->lacks_actions & does))
		return NULL;
	else if (arch->lacks_actions & does & HV_DOES_DEEPEST)
		what = "stack tracers";
	else if (arch->lacks_actions & does & (HV_DOES_STACK | HV_DOES_STACK_COUNTED))
		what = "stacks by commands";
	return refuse(k, what);
}

struct hv_gva hv_trampolines_call(const struct hv_tracee *t, unsigned trampoline,
				  enum hv_call_role role)
{
	return entry_of(t, call_off(&t->kernel->core.as.arch->trampolines, trampoline, role));
}

unsigned hv_trampolines_called_at(const struct hv_tracee *t, struct hv_gva at)
{
	const struct hv_arch *arch = t->kernel->core.as.arch;

	if (image_has(arch, HV_TRAMPOLINE_SECTION_FUNCTION) &&
	    hv_trampolines_call(t, HV_TRAMPOLINE_SECTION_FUNCTION, HV_ROLE_NONE).v == at.v)
		return HV_TRAMPOLINE_SECTION_FUNCTION;
	if (image_has(arch, HV_TRAMPOLINE_SECTION_GRAPH) &&
	    hv_trampolines_call(t, HV_TRAMPOLINE_SECTION_GRAPH, HV_ROLE_NONE).v == at.v)
		return HV_TRAMPOLINE_SECTION_GRAPH;
	for (unsigned profiled = 0; profiled <= HV_TRAMPOLINE_PROFILED;
	     profiled += HV_TRAMPOLINE_PROFILED)
		for (unsigned trampoline = HV_TRAMPOLINE_NONE; trampoline < HV_ARRAY_LEN(traces);
		     trampoline++)
			for (unsigned role = HV_ROLE_NONE; role < HV_NR_ROLES; role++)
				if (trampoline != HV_TRAMPOLINE_SECTION_FUNCTION &&
				    trampoline != HV_TRAMPOLINE_SECTION_GRAPH &&
				    image_has(arch, trampoline | profiled) &&
				    hv_trampolines_call(t, trampoline | profiled, role).v == at.v)
					return trampoline | profiled;
	return HV_TRAMPOLINE_NONE;
}

/* Finds the kind of the calls that go to the entry AT of the graph, the profile or both. */
static bool kind_of(const struct hv_tracee *t, struct hv_gva at, uint32_t *ret)
{
	const struct hv_trampoline_image *trampolines = trampolines_of(t);

	for (enum hv_call_role role = HV_ROLE_NONE; role < HV_NR_ROLES; role++)
		for (unsigned n = 0; n < 2 * HV_NR_TRACES; n++) {
			enum hv_call_trace trace = n / 2;

			if (entry_of(t, hv_call_off(trampolines, role, trace, n % 2)).v != at.v)
				continue;
			*ret = hv_call_kind(role, trace, n % 2);
			return true;
		}
	return false;
}

/* Returns whether AT is one of the entries of action groups at offset OFF of the code. */
static bool group_of(const struct hv_tracee *t, struct hv_gva at, size_t off, size_t len_bytes,
		     uint32_t *ret)
{
	uint64_t from = at.v - entry_of(t, off).v;

	if (!off || from % len_bytes || from / len_bytes >= HV_NR_ACTION_GROUPS)
		return false;
	*ret = (uint32_t)(from / len_bytes);
	return true;
}

bool hv_trampolines_replace_return(const struct hv_tracee *t, struct hv_gva trampoline)
{
	const struct hv_trampoline_image *image = trampolines_of(t);
	uint32_t kind = 0;

	if (trampoline.v == entry_of(t, image->function_off).v)
		return false;
	if (group_of(t, trampoline, image->probed_off, image->probed_len_bytes, &kind))
		return true;
	return kind_of(t, trampoline, &kind) &&
	       (!(kind & HV_KIND_UNTRACED) || kind & HV_FRAME_PROFILED);
}

bool hv_trampolines_chain(const struct hv_tracee *t, struct hv_gva trampoline, struct hv_gva target,
			  struct hv_chain *ret)
{
	const struct hv_trampoline_image *image = trampolines_of(t);
	size_t off;
	uint32_t group;

	*ret = (struct hv_chain){.trampoline = trampoline, .target = target};
	if (!image->chain_function_off)
		return false;
	if (!trampoline.v)
		ret->trampoline = target;
	if (!trampoline.v ||
	    group_of(t, trampoline, image->actions_off, image->action_len_bytes, &group) ||
	    group_of(t, trampoline, image->entry_regs_off, image->entry_regs_len_bytes, &group)) {
		ret->how = HV_CHAIN_JUMPS;
		return true;
	}
	if (trampoline.v == entry_of(t, image->function_off).v)
		off = image->chain_function_off;
	else if (trampoline.v == entry_of(t, image->function_stack_off).v)
		off = image->chain_function_stack_off;
	else if (group_of(t, trampoline, image->probed_off, image->probed_len_bytes, &group)) {
		off = image->chain_probed_off;
		ret->kind = HV_FRAME_PROBED | group << HV_KIND_GROUP_SHIFT;
		ret->has_kind = true;
	} else if (kind_of(t, trampoline, &ret->kind)) {
		off = image->chain_call_off;
		ret->has_kind = true;
	} else
		return false;
	ret->trampoline = hv_gva_add(code_of(t), off);
	return true;
}

struct hv_err *hv_trampolines_link_chains(struct hv_tracee *t)
{
	struct hv_err *err;

	if (t->chains)
		return NULL;
	t->chains = true;
	err = hv_trampolines_link(t);
	if (err)
		t->chains = false;
	return err;
}

struct hv_gva hv_trampolines_action(const struct hv_tracee *t, unsigned group)
{
	const struct hv_trampoline_image *trampolines = &t->kernel->core.as.arch->trampolines;

	return entry_of(t, trampolines->actions_off + group * trampolines->action_len_bytes);
}

struct hv_gva hv_trampolines_entry_regs(const struct hv_tracee *t, unsigned group)
{
	const struct hv_trampoline_image *trampolines = &t->kernel->core.as.arch->trampolines;

	return hv_gva_add(code_of(t),
			  trampolines->entry_regs_off + group * trampolines->entry_regs_len_bytes);
}

struct hv_gva hv_trampolines_probed(const struct hv_tracee *t, unsigned group)
{
	const struct hv_trampoline_image *trampolines = &t->kernel->core.as.arch->trampolines;

	return hv_gva_add(code_of(t),
			  trampolines->probed_off + group * trampolines->probed_len_bytes);
}

uint32_t hv_trampolines_kind(unsigned trampoline, enum hv_call_role role)
{
	return hv_call_kind(role, traces[trampoline & ~(unsigned)HV_TRAMPOLINE_PROFILED],
			    trampoline & HV_TRAMPOLINE_PROFILED);
}

struct hv_gva hv_trampolines_ftrace_reader(const struct hv_tracee *t, size_t nr)
{
	const struct hv_trampoline_image *trampolines = &t->kernel->core.as.arch->trampolines;

	return hv_gva_add(code_of(t), trampolines->ftrace_readers_off +
					      nr * trampolines->ftrace_reader_len_bytes);
}

static struct hv_gva trampoline_at(const struct hv_tracee *t, size_t off)
{
	return off ? hv_gva_add(code_of(t), off) : hv_gva(0);
}

struct hv_gva hv_trampolines_hibernation(const struct hv_tracee *t)
{
	return trampoline_at(t, t->kernel->core.as.arch->trampolines.hibernation_off);
}

struct hv_gva hv_trampolines_rename(const struct hv_tracee *t)
{
	return trampoline_at(t, t->kernel->core.as.arch->trampolines.rename_off);
}

struct hv_gva hv_trampolines_handler(const struct hv_tracee *t)
{
	return hv_gva_add(code_of(t), t->kernel->core.as.arch->trampolines.handler_off);
}
