#include "tracer/stubs.h"

#include <string.h>

#include "tracer/tracee.h"

void hv_stubs_set_params(const struct hv_tracee *t)
{
	const struct hv_layout *layout = &t->kernel->layout;
	struct hv_params params = {
		.nr_cpus = t->plan.nr_cpus,
		.cpu_number_percpu = layout->cpu_number_percpu,
		.current_percpu = layout->current_percpu,
		.preempt_count_percpu = layout->preempt_count_percpu,
		.task_pid_off = layout->task_pid_off,
		.task_tgid_off = layout->task_tgid_off,
		.task_comm_off = layout->task_comm_off,
		.task_flags_off = layout->task_flags_off,
		.task_migrate_off =
			layout->has_migrate ? layout->task_migrate_off : layout->task_pid_off,
		.migrate_mask = layout->has_migrate ? 0xff : 0,
		.task_lazy_off = layout->has_lazy ? layout->task_lazy_off : 0,
		.lazy_mask = layout->lazy_mask,
		.states_gva = t->range.start.v + HV_REGION_STATES_OFF - HV_REGION_STUBS_OFF,
		.rings_gva = t->range.start.v + t->plan.rings_off - HV_REGION_STUBS_OFF,
		.slot_mask = t->plan.nr_slots - 1,
		.ring_shift = (uint32_t)__builtin_ctzll(t->plan.ring_bytes),
		.lap_shift = (uint32_t)__builtin_ctzll(t->plan.nr_slots),
		.counts_gva = t->range.start.v + t->plan.counts_off - HV_REGION_STUBS_OFF,
		.nr_counts = t->plan.nr_counts,
		.control_gva = t->range.start.v + HV_REGION_CONTROL_OFF - HV_REGION_STUBS_OFF,
		.pids_gva = t->range.start.v + HV_REGION_PIDS_OFF - HV_REGION_STUBS_OFF,
		.nr_pids = HV_REGION_NR_PIDS,
		.max_depth = UINT32_MAX,
		.stacks_gva = t->range.start.v + HV_REGION_STACKS_OFF - HV_REGION_STUBS_OFF,
		.nr_homes = t->plan.nr_stacks - HV_STACK_PROBES + 1,
		.stack_bytes = layout->stack_bytes,
		.irq_stack_percpu = layout->irq_stack_percpu,
		.task_stack_off = layout->task_stack_off,
		.skip_start_gva = t->kernel->core.as.arch->exception_stacks.start.v,
		.skip_len_bytes = t->kernel->core.as.arch->exception_stacks.end.v -
				  t->kernel->core.as.arch->exception_stacks.start.v,
	};

	*hv_region_params(&t->region) = params;
}

static struct hv_gva code_of(const struct hv_tracee *t)
{
	return hv_gva_add(t->range.start, HV_STUBS_CODE_OFF);
}

/* The stubs' code with its return slots filled, as text writes. Under TCG the place may have been
 * executed in an earlier session, so it is written as text. */
static struct hv_err *place_stubs(struct hv_hold *hold, void *ctx)
{
	struct hv_tracee *t = ctx;
	const struct hv_arch *arch = t->kernel->core.as.arch;
	const struct hv_stub_image *stubs = &arch->stubs;
	size_t nr = (stubs->len_bytes + HV_SITE_LEN_MAX - 1) / HV_SITE_LEN_MAX;
	HV_AUTO_FREE uint8_t *code = hv_alloc(nr * HV_SITE_LEN_MAX);
	HV_AUTO_FREE struct hv_text_write *writes = hv_alloc(nr * sizeof(*writes));
	struct hv_gpa gpa = hv_gpa_add(t->region.gpa, HV_REGION_STUBS_OFF + HV_STUBS_CODE_OFF);

	memcpy(code, stubs->code, stubs->len_bytes);
	for (size_t i = 0; i < stubs->nr_returns; i++) {
		uint32_t off = stubs->return_offs[i];

		if (!arch->place_return(code + off, hv_gva_add(code_of(t), off),
					t->kernel->return_thunk))
			return hv_err_new(ERANGE, "return thunk at 0x%llx: out of a stub's reach",
					  (unsigned long long)t->kernel->return_thunk.v);
	}
	for (size_t i = 0; i < nr; i++) {
		writes[i].gpa = hv_gpa_add(gpa, i * HV_SITE_LEN_MAX);
		writes[i].len_bytes = HV_SITE_LEN_MAX;
		memcpy(writes[i].bytes, code + i * HV_SITE_LEN_MAX, HV_SITE_LEN_MAX);
	}
	return hv_hold_write_text(hold, writes, nr);
}

struct hv_err *hv_stubs_place(struct hv_tracee *t)
{
	return hv_patcher_held(t->patcher, place_stubs, t);
}

static const enum hv_call_trace traces[] = {
	[HV_STUB_NONE] = HV_TRACE_NOTHING,
	[HV_STUB_FUNCTION] = HV_TRACE_FUNCTION,
	[HV_STUB_FUNCTION_STACK] = HV_TRACE_FUNCTION, /* has its own */
	[HV_STUB_GRAPH] = HV_TRACE_GRAPH,
	[HV_STUB_GRAPH_ROOT] = HV_TRACE_GRAPH_ROOT,
	[HV_STUB_GRAPH_NOTRACE] = HV_TRACE_GRAPH_NOTRACE,
};

struct hv_gva hv_stubs_call(const struct hv_tracee *t, unsigned stub, enum hv_call_role role)
{
	const struct hv_stub_image *stubs = &t->kernel->core.as.arch->stubs;
	unsigned entry = hv_call_entry(role, traces[stub & ~(unsigned)HV_STUB_PROFILED],
				       stub & HV_STUB_PROFILED);

	if (stub == HV_STUB_FUNCTION_STACK)
		return hv_gva_add(code_of(t), stubs->function_stack_off);
	if (stub == HV_STUB_FUNCTION && role == HV_ROLE_NONE)
		return hv_gva_add(code_of(t), stubs->function_off);
	return hv_gva_add(code_of(t), stubs->calls_off + entry * stubs->call_len_bytes);
}

unsigned hv_stubs_called_at(const struct hv_tracee *t, struct hv_gva at)
{
	for (unsigned profiled = 0; profiled <= HV_STUB_PROFILED; profiled += HV_STUB_PROFILED)
		for (unsigned stub = HV_STUB_NONE; stub < HV_ARRAY_LEN(traces); stub++)
			for (unsigned role = HV_ROLE_NONE; role < HV_NR_ROLES; role++)
				if (hv_stubs_call(t, stub | profiled, role).v == at.v)
					return stub | profiled;
	return HV_STUB_NONE;
}

struct hv_gva hv_stubs_action(const struct hv_tracee *t, unsigned slot)
{
	const struct hv_stub_image *stubs = &t->kernel->core.as.arch->stubs;

	return hv_gva_add(code_of(t), stubs->actions_off + slot * stubs->action_len_bytes);
}

struct hv_gva hv_stubs_yield(const struct hv_tracee *t, size_t nr)
{
	const struct hv_stub_image *stubs = &t->kernel->core.as.arch->stubs;

	return hv_gva_add(code_of(t), stubs->yields_off + nr * stubs->yield_len_bytes);
}

struct hv_gva hv_stubs_handler(const struct hv_tracee *t)
{
	return hv_gva_add(code_of(t), t->kernel->core.as.arch->stubs.handler_off);
}
