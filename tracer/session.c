/* Attaching: from a region and a kernel to stubs that the guest can reach. */
#include <string.h>

#include "tracer/events/host_clock.h"
#include "tracer/init_code.h"
#include "tracer/session_state.h"
#include "tracer/stubs.h"

static void write_header(struct hv_session *s)
{
	struct hv_region_header *header = hv_region_header(&s->tracee->region);

	*header = (struct hv_region_header){
		.version = HV_REGION_VERSION,
		.nr_cpus = s->tracee->plan.nr_cpus,
		.gpa = s->tracee->region.gpa.v,
		.map_gva = s->tracee->range.start.v,
		.map_len_bytes = s->tracee->range.end.v - s->tracee->range.start.v,
		.text_gva = s->tracee->kernel->text.start.v,
		.handler_gva = s->tracee->handler.v,
		.build_id_len_bytes = (uint32_t)s->tracee->kernel->build_id_len_bytes,
	};
	memcpy(header->build_id, s->tracee->kernel->build_id, sizeof(header->build_id));
	__atomic_thread_fence(__ATOMIC_RELEASE);
	memcpy(header->magic, HV_REGION_MAGIC, sizeof(HV_REGION_MAGIC));
}

static struct hv_err *map_region(struct hv_session *s, struct hv_mapping_plan *plan)
{
	bool stands = false;
	struct hv_err *err = hv_patcher_apply(s->tracee->patcher, plan->changes, plan->nr);

	if (!err)
		err = hv_tracee_is_mapped(s->tracee, &stands);
	if (!err && !stands)
		err = hv_err_new(EBUSY, "kernel page tables: the slots at 0x%llx are in use",
				 (unsigned long long)s->tracee->range.start.v);
	return err;
}

/* Page-table slots back to what they were, after an error of attach. */
static struct hv_err *unmap_after(struct hv_session *s, struct hv_err *err)
{
	HV_AUTO_FREE struct hv_change *undo = NULL;
	size_t nr = hv_patcher_undo_plan(s->tracee->patcher, HV_CHANGE_ENTRY, &undo);
	HV_AUTO_ERR struct hv_err *failed = nr ? hv_patcher_apply(s->tracee->patcher, undo, nr)
					       : hv_region_clear(&s->tracee->region);

	if (failed)
		return hv_err_in(err, "could not be undone (%s)", failed->message);
	hv_err_free(hv_guest_unpin(s->tracee->guest));
	return err;
}

static void init_buffer(struct hv_session *s)
{
	const uint8_t *rings = s->tracee->region.host + s->tracee->plan.rings_off;
	uint64_t ring_bytes = s->tracee->plan.ring_bytes;

	s->buffer = hv_buffer_over(s->decoder, s->tracee->plan.nr_cpus,
				   hv_region_state(&s->tracee->region, 0));
	for (unsigned cpu = 0; cpu < s->tracee->plan.nr_cpus; cpu++)
		hv_buffer_set_ring(s->buffer, cpu, rings + cpu * ring_bytes, ring_bytes,
				   ring_bytes);
}

struct hv_err *hv_session_new(struct hv_guest *guest, struct hv_kernel *kernel,
			      struct hv_session **ret)
{
	struct hv_session *s = hv_alloc(sizeof(*s));
	struct hv_err *err = hv_tracee_new(guest, kernel, &s->tracee);

	if (!err)
		err = hv_clock_new(kernel, &s->clock);
	if (err) {
		hv_session_free(s);
		return err;
	}
	s->clocks = hv_clocks_new(s->clock, hv_host_clock_new(guest), kernel,
				  hv_patcher_holds(s->tracee->patcher));
	s->names = hv_names_new(kernel);
	s->callers = hv_callers_new(kernel, &s->tracee->range);
	s->decoder = hv_decoder_new(kernel, s->clocks, s->names, s->callers);
	init_buffer(s);
	s->patched = hv_alloc(kernel->sites.nr);
	*ret = s;
	return NULL;
}

void hv_session_free(struct hv_session *s)
{
	if (!s)
		return;
	free(s->patched);
	free(s->actions);
	hv_buffer_unref(s->buffer);
	hv_decoder_free(s->decoder);
	hv_callers_free(s->callers);
	hv_names_free(s->names);
	hv_clocks_free(s->clocks);
	hv_tracee_free(s->tracee);
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
	struct hv_err *err = hv_region_use(s->tracee->kernel, &s->tracee->region, &header, &use);

	if (err)
		return err;
	if (use == HV_REGION_LIVE)
		return hv_err_new(EEXIST, "region: an hvtrace that died left changes in the guest;"
					  " run 'hvtrace recover' first");
	s->stale = use == HV_REGION_STALE;
	err = s->stale ? hv_guest_unpin(s->tracee->guest) : NULL;
	return err ? err : hv_region_clear(&s->tracee->region);
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
		err = hv_mapping_plan(kernel, &s->tracee->region,
				      s->tracee->plan.rings_off - HV_REGION_STUBS_OFF +
					      s->tracee->plan.nr_cpus * s->tracee->plan.ring_bytes,
				      &plan);
	if (err)
		return err;
	s->tracee->range = plan.range;
	s->tracee->handler = hv_stubs_handler(s->tracee);
	s->decoder->decode.handler = s->tracee->handler;
	err = hv_guest_prepare_hold(guest);
	if (!err)
		err = hv_guest_pin(guest);
	if (err)
		return err;
	write_header(s);
	hv_stubs_set_params(s->tracee);
	err = hv_stubs_place(s->tracee);
	if (!err)
		err = map_region(s, &plan);
	if (err)
		return unmap_after(s, err);
	hv_tracee_bind(s->tracee);
	hv_session_refresh(s);
	*ret = hv_take(s);
	return NULL;
}

struct hv_buffer *hv_session_buffer(struct hv_session *s)
{
	return s->buffer;
}

struct hv_err *hv_session_can_unwind(struct hv_session *s)
{
	return hv_callers_prepare(s->callers);
}

enum hv_clock_kind hv_session_guest_clock(const struct hv_session *s)
{
	return hv_clocks_guest_kind(s->clocks);
}

bool hv_session_has_host_clock(const struct hv_session *s)
{
	return hv_clocks_has_host(s->clocks);
}

void hv_session_refresh_clock(struct hv_session *s)
{
	hv_clocks_refresh(s->clocks);
}

bool hv_session_now_ns(struct hv_session *s, enum hv_trace_clock clock, uint64_t *ret)
{
	return hv_clocks_now_ns(s->clocks, clock, ret);
}

const char *hv_session_comm(struct hv_session *s, uint32_t pid)
{
	return hv_names_find(s->names, pid);
}

uint32_t hv_session_tgid(const struct hv_session *s, uint32_t pid)
{
	return hv_names_tgid(s->names, pid);
}

void hv_session_note_comms(struct hv_session *s, unsigned on)
{
	hv_names_follow(s->names, on);
}

size_t hv_session_comms_max(const struct hv_session *s)
{
	return hv_names_max(s->names);
}

void hv_session_keep_comms(struct hv_session *s, size_t nr_max)
{
	hv_names_set_max(s->names, nr_max);
}

bool hv_session_comm_at(struct hv_session *s, size_t index, uint32_t *ret_pid,
			const char **ret_comm)
{
	return hv_names_at(s->names, index, ret_pid, ret_comm);
}

struct hv_kernel *hv_session_kernel(struct hv_session *s)
{
	return s->tracee->kernel;
}

bool hv_session_found_stale(const struct hv_session *s)
{
	return s->stale;
}

struct hv_err *hv_session_alive(struct hv_session *s)
{
	bool stands;
	struct hv_err *err;

	hv_clocks_sample(s->clocks);
	err = hv_tracee_is_mapped(s->tracee, &stands);

	if (err || stands)
		return err;
	return hv_err_new(ECONNRESET,
			  "the guest was rebooted: nothing of the session is left in it");
}

static uint64_t head_of(const struct hv_session *s, unsigned cpu)
{
	return __atomic_load_n(&hv_region_state(&s->tracee->region, cpu)->head, __ATOMIC_RELAXED);
}

void hv_session_stat(struct hv_session *s, struct hv_session_stat *ret)
{
	const struct hv_hold_stat *holds = hv_patcher_holds(s->tracee->patcher);

	*ret = (struct hv_session_stat){
		.nr_patched = hv_patcher_nr_standing(s->tracee->patcher, HV_CHANGE_TEXT),
		.nr_refused = s->nr_refused,
		.nr_lost = s->decoder->nr_lost,
		.nr_holds = holds->nr,
		.hold_last_ns = holds->last_ns,
		.hold_max_ns = holds->max_ns,
		.region_bytes = s->tracee->region.len_bytes,
		.ring_bytes = s->tracee->plan.nr_cpus * s->tracee->plan.ring_bytes,
		.nr_cpus = s->tracee->plan.nr_cpus,
	};
	for (size_t i = 0; i < s->tracee->kernel->sites.nr; i++)
		ret->nr_sites += !s->tracee->kernel->sites.list[i].invalid;
	for (unsigned cpu = 0; cpu < s->tracee->plan.nr_cpus; cpu++) {
		const struct hv_state *state = hv_region_state(&s->tracee->region, cpu);

		ret->nr_events += head_of(s, cpu);
		ret->nr_lost += hv_buffer_overwritten(s->buffer, cpu);
		ret->nr_no_stack += __atomic_load_n(&state->nr_no_stack, __ATOMIC_RELAXED);
		ret->nr_no_room += __atomic_load_n(&state->nr_no_room, __ATOMIC_RELAXED);
		ret->nr_no_count += __atomic_load_n(&state->nr_no_count, __ATOMIC_RELAXED);
	}
}
