/* Attaching: from a region and a kernel to stubs that the guest can reach. */
#include "tracer/init_code.h"

#include <string.h>

static void write_params(struct hv_session *s)
{
	const struct hv_layout *layout = &s->kernel->layout;
	struct hv_params params = {
		.nr_cpus = s->plan.nr_cpus,
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
		.states_gva = s->range.start.v + HV_REGION_STATES_OFF - HV_REGION_STUBS_OFF,
		.rings_gva = s->range.start.v + s->plan.rings_off - HV_REGION_STUBS_OFF,
		.slot_mask = s->plan.nr_slots - 1,
		.ring_shift = (uint32_t)__builtin_ctzll(s->plan.ring_bytes),
		.lap_shift = (uint32_t)__builtin_ctzll(s->plan.nr_slots),
		.counts_gva = s->range.start.v + s->plan.counts_off - HV_REGION_STUBS_OFF,
		.nr_counts = s->plan.nr_counts,
		.control_gva = s->range.start.v + HV_REGION_CONTROL_OFF - HV_REGION_STUBS_OFF,
		.pids_gva = s->range.start.v + HV_REGION_PIDS_OFF - HV_REGION_STUBS_OFF,
		.nr_pids = HV_REGION_NR_PIDS,
		.max_depth = UINT32_MAX,
		.stacks_gva = s->range.start.v + HV_REGION_STACKS_OFF - HV_REGION_STUBS_OFF,
		.nr_homes = s->plan.nr_stacks - HV_STACK_PROBES + 1,
		.stack_bytes = layout->stack_bytes,
		.irq_stack_percpu = layout->irq_stack_percpu,
		.task_stack_off = layout->task_stack_off,
		.skip_start_gva = s->kernel->core.as.arch->exception_stacks.start.v,
		.skip_len_bytes = s->kernel->core.as.arch->exception_stacks.end.v -
				  s->kernel->core.as.arch->exception_stacks.start.v,
	};

	*hv_region_params(&s->region) = params;
}

static void write_header(struct hv_session *s)
{
	struct hv_region_header *header = hv_region_header(&s->region);

	*header = (struct hv_region_header){
		.version = HV_REGION_VERSION,
		.nr_cpus = s->plan.nr_cpus,
		.gpa = s->region.gpa.v,
		.map_gva = s->range.start.v,
		.map_len_bytes = s->range.end.v - s->range.start.v,
		.text_gva = s->kernel->text.start.v,
		.handler_gva = s->decode.handler.v,
		.build_id_len_bytes = (uint32_t)s->kernel->build_id_len_bytes,
	};
	memcpy(header->build_id, s->kernel->build_id, sizeof(header->build_id));
	__atomic_thread_fence(__ATOMIC_RELEASE);
	memcpy(header->magic, HV_REGION_MAGIC, sizeof(HV_REGION_MAGIC));
}

/* The stubs' code with its return slots filled, as text writes. Under TCG the place may have been
 * executed in an earlier session, so it is written as text. */
static struct hv_err *place_stubs(struct hv_hold *hold, void *ctx)
{
	struct hv_session *s = ctx;
	const struct hv_arch *arch = s->kernel->core.as.arch;
	const struct hv_stub_image *stubs = &arch->stubs;
	size_t nr = (stubs->len_bytes + HV_SITE_LEN_MAX - 1) / HV_SITE_LEN_MAX;
	HV_AUTO_FREE uint8_t *code = hv_alloc(nr * HV_SITE_LEN_MAX);
	HV_AUTO_FREE struct hv_text_write *writes = hv_alloc(nr * sizeof(*writes));
	struct hv_gpa gpa = hv_gpa_add(s->region.gpa, HV_REGION_STUBS_OFF + HV_STUBS_CODE_OFF);

	memcpy(code, stubs->code, stubs->len_bytes);
	for (size_t i = 0; i < stubs->nr_returns; i++) {
		uint32_t off = stubs->return_offs[i];

		if (!arch->place_return(code + off, hv_gva_add(hv_session_code(s), off),
					s->kernel->return_thunk))
			return hv_err_new(ERANGE, "return thunk at 0x%llx: out of a stub's reach",
					  (unsigned long long)s->kernel->return_thunk.v);
	}
	for (size_t i = 0; i < nr; i++) {
		writes[i].gpa = hv_gpa_add(gpa, i * HV_SITE_LEN_MAX);
		writes[i].len_bytes = HV_SITE_LEN_MAX;
		memcpy(writes[i].bytes, code + i * HV_SITE_LEN_MAX, HV_SITE_LEN_MAX);
	}
	return hv_hold_write_text(hold, writes, nr);
}

struct hv_err *hv_session_place_stubs(struct hv_session *s)
{
	return hv_patcher_held(s->patcher, place_stubs, s);
}

static struct hv_err *map_region(struct hv_session *s, struct hv_mapping_plan *plan)
{
	bool stands = false;
	struct hv_err *err = hv_patcher_apply(s->patcher, plan->changes, plan->nr);

	if (!err)
		err = hv_mapping_stands(s->kernel, &s->region, s->range, &stands);
	if (!err && !stands)
		err = hv_err_new(EBUSY, "kernel page tables: the slots at 0x%llx are in use",
				 (unsigned long long)s->range.start.v);
	return err;
}

/* Page-table slots back to what they were, after an error of attach. */
static struct hv_err *unmap_after(struct hv_session *s, struct hv_err *err)
{
	HV_AUTO_FREE struct hv_change *undo = NULL;
	size_t nr = hv_patcher_undo_plan(s->patcher, HV_CHANGE_ENTRY, &undo);
	HV_AUTO_ERR struct hv_err *failed =
		nr ? hv_patcher_apply(s->patcher, undo, nr) : hv_region_clear(&s->region);

	if (failed)
		return hv_err_mark(hv_err_in(err, "could not be undone (%s)", failed->message),
				   HV_ERR_NEEDS_RECOVERY);
	hv_err_free(hv_guest_unpin(s->guest));
	return err;
}

static void init_buffer(struct hv_session *s)
{
	const uint8_t *rings = s->region.host + s->plan.rings_off;
	uint64_t ring_bytes = s->plan.ring_bytes;

	hv_buffer_init(&s->buffer, s, s->plan.nr_cpus, hv_region_state(&s->region, 0));
	for (unsigned cpu = 0; cpu < s->plan.nr_cpus; cpu++)
		hv_buffer_set_ring(&s->buffer, cpu, rings + cpu * ring_bytes, ring_bytes,
				   ring_bytes);
}

struct hv_err *hv_session_new(struct hv_guest *guest, struct hv_kernel *kernel,
			      struct hv_session **ret)
{
	struct hv_session *s = hv_alloc(sizeof(*s));
	struct hv_err *err;

	s->guest = guest;
	s->kernel = kernel;
	err = hv_guest_region(guest, &s->region);
	if (!err)
		err = hv_region_plan_rings(&s->region, kernel->layout.nr_cpus, &s->plan);
	if (!err)
		err = hv_clock_new(kernel, &s->clock);
	if (err) {
		hv_session_free(s);
		return err;
	}
	hv_now_init(&s->now, kernel);
	s->host_clock = hv_host_clock_new(guest);
	s->decode = (struct hv_decode){
		.arch = kernel->core.as.arch,
		.text_base = kernel->core.as.arch->text_base,
		.resched = kernel->layout.resched,
	};
	s->comms = hv_comms_new(HV_COMMS_MAX);
	init_buffer(s);
	s->patched = hv_alloc(kernel->sites.nr);
	s->patcher = hv_patcher_new(&kernel->core.as, kernel->core.image.all, &s->region);
	*ret = s;
	return NULL;
}

void hv_session_free(struct hv_session *s)
{
	if (!s)
		return;
	hv_patcher_free(s->patcher);
	hv_clock_free(s->clock);
	hv_host_clock_free(s->host_clock);
	hv_comms_free(s->comms);
	hv_marks_deinit(&s->marks);
	hv_tasks_deinit(&s->tasks);
	hv_buffer_deinit(&s->buffer);
	free(s->patched);
	free(s->actions);
	hv_orc_free(s->orc);
	free(s);
}

static void free_session_at(struct hv_session **s)
{
	hv_session_free(*s);
}

/* A region that is in use by nobody: what a dead service left is the user's to recover. */
static struct hv_err *claim_region(struct hv_session *s)
{
	struct hv_region_header header;
	enum hv_region_use use;
	struct hv_err *err = hv_region_use(s->kernel, &s->region, &header, &use);

	if (err)
		return err;
	if (use == HV_REGION_LIVE)
		return hv_err_mark(hv_err_new(EEXIST,
					      "region: an hvtrace that died left changes in "
					      "the guest"),
				   HV_ERR_NEEDS_RECOVERY);
	s->stale = use == HV_REGION_STALE;
	err = s->stale ? hv_guest_unpin(s->guest) : NULL;
	return err ? err : hv_region_clear(&s->region);
}

void hv_session_bind(struct hv_session *s)
{
	hv_patcher_bind(s->patcher, s->range.start, hv_gpa_add(s->region.gpa, HV_REGION_STUBS_OFF));
}

struct hv_err *hv_session_attach(struct hv_guest *guest, struct hv_kernel *kernel,
				 struct hv_session **ret)
{
	hv_cleanup(free_session_at) struct hv_session *s = NULL;
	hv_cleanup(hv_mapping_plan_deinit) struct hv_mapping_plan plan = {0};
	struct hv_err *err = hv_init_code_begin(guest, kernel);

	if (!err)
		err = hv_session_new(guest, kernel, &s);
	if (!err)
		err = claim_region(s);
	if (!err)
		err = hv_mapping_plan(kernel, &s->region,
				      s->plan.rings_off - HV_REGION_STUBS_OFF +
					      s->plan.nr_cpus * s->plan.ring_bytes,
				      &plan);
	if (err)
		return err;
	s->range = plan.range;
	s->decode.handler = hv_gva_add(hv_session_code(s), kernel->core.as.arch->stubs.handler_off);
	err = hv_guest_prepare_hold(guest);
	if (!err)
		err = hv_guest_pin(guest);
	if (err)
		return err;
	write_header(s);
	write_params(s);
	err = hv_session_place_stubs(s);
	if (!err)
		err = map_region(s, &plan);
	if (err)
		return unmap_after(s, err);
	hv_session_bind(s);
	hv_session_refresh(s);
	*ret = hv_take(s);
	return NULL;
}

struct hv_kernel *hv_session_kernel(struct hv_session *s)
{
	return s->kernel;
}

bool hv_session_found_stale(const struct hv_session *s)
{
	return s->stale;
}

struct hv_err *hv_session_alive(struct hv_session *s)
{
	bool stands;
	struct hv_err *err;

	hv_session_sample_now(s);
	err = hv_mapping_stands(s->kernel, &s->region, s->range, &stands);

	if (err || stands)
		return err;
	return hv_err_new(ECONNRESET,
			  "the guest was rebooted: nothing of the session is left in it");
}

static uint64_t head_of(const struct hv_session *s, unsigned cpu)
{
	return __atomic_load_n(&hv_region_state(&s->region, cpu)->head, __ATOMIC_RELAXED);
}

void hv_session_stat(struct hv_session *s, struct hv_session_stat *ret)
{
	const struct hv_hold_stat *holds = hv_patcher_holds(s->patcher);

	*ret = (struct hv_session_stat){
		.nr_patched = hv_patcher_nr_standing(s->patcher, HV_CHANGE_TEXT),
		.nr_refused = s->nr_refused,
		.nr_lost = s->nr_lost,
		.nr_holds = holds->nr,
		.hold_last_ns = holds->last_ns,
		.hold_max_ns = holds->max_ns,
		.region_bytes = s->region.len_bytes,
		.ring_bytes = s->plan.nr_cpus * s->plan.ring_bytes,
		.nr_cpus = s->plan.nr_cpus,
	};
	for (size_t i = 0; i < s->kernel->sites.nr; i++)
		ret->nr_sites += !s->kernel->sites.list[i].invalid;
	for (unsigned cpu = 0; cpu < s->plan.nr_cpus; cpu++) {
		const struct hv_state *state = hv_region_state(&s->region, cpu);

		ret->nr_events += head_of(s, cpu);
		ret->nr_lost += hv_buffer_overwritten(&s->buffer, cpu);
		ret->nr_no_stack += __atomic_load_n(&state->nr_no_stack, __ATOMIC_RELAXED);
		ret->nr_no_room += __atomic_load_n(&state->nr_no_room, __ATOMIC_RELAXED);
		ret->nr_no_count += __atomic_load_n(&state->nr_no_count, __ATOMIC_RELAXED);
	}
}
