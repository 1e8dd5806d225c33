/* The buffer of an instance: where it is, its size, its snapshot. */
#include "tree/instance/share.h"

struct hv_buffer *hv_instance_buffer(struct hv_instance *in)
{
	hv_tree_drain(in->tree);
	return in->host ? in->host : hv_session_buffer(in->tree->session);
}

void hv_instance_clear(struct hv_instance *in, int cpu)
{
	hv_buffer_clear(hv_instance_buffer(in), cpu);
	if (cpu < 0 && !hv_session_now_ns(in->tree->session, in->clock, &in->start_ns))
		in->start_ns = 0;
	if (cpu < 0 && in == &in->tree->top)
		hv_share_end(in->tree);
}

struct hv_err *hv_instance_need_host(struct hv_instance *in)
{
	HV_AUTO_FREE uint64_t *sizes_bytes = hv_instance_sizes(in);

	return in->host ? NULL : hv_share_begin(in->tree, sizes_bytes);
}

void hv_instance_set_host(struct hv_instance *in, struct hv_buffer *host)
{
	bool overwrites = hv_options_on(&in->options, HV_OPT_OVERWRITE);

	hv_buffer_when_full(host, overwrites ? HV_FULL_OVERWRITES : HV_FULL_DROPS);
	hv_buffer_use_clock(host, in->clock);
	in->host = host;
}

void hv_instance_use_clock(struct hv_instance *in, enum hv_trace_clock clock)
{
	in->clock = clock;
	if (in == &in->tree->top)
		hv_buffer_use_clock(hv_session_buffer(in->tree->session), clock);
	if (in->host)
		hv_buffer_use_clock(in->host, clock);
	if (in->snapshot) {
		hv_buffer_use_clock(in->snapshot, clock);
		hv_buffer_clear(in->snapshot, HV_ALL_CPUS);
	}
	hv_instance_clear(in, HV_ALL_CPUS);
}

enum hv_clock_kind hv_instance_clock(const struct hv_instance *in)
{
	if (in->clock == HV_TRACE_CLOCK_TSC)
		return HV_CLOCK_RAW;
	if (in->clock == HV_TRACE_CLOCK_HOST)
		return HV_CLOCK_HOST;
	return hv_session_guest_clock(in->tree->session);
}

uint64_t hv_instance_size(const struct hv_instance *in, unsigned cpu)
{
	return hv_buffer_size(in->host ? in->host : hv_session_buffer(in->tree->session), cpu);
}

uint64_t *hv_instance_sizes(const struct hv_instance *in)
{
	uint64_t *sizes_bytes = hv_alloc(in->tree->nr_cpus * sizeof(*sizes_bytes));

	for (unsigned cpu = 0; cpu < in->tree->nr_cpus; cpu++)
		sizes_bytes[cpu] = hv_instance_size(in, cpu);
	return sizes_bytes;
}

static struct hv_err *resize_live(struct hv_instance *in, const uint64_t *sizes_bytes)
{
	struct hv_buffer *resized;
	struct hv_err *err;

	if (!in->host)
		return hv_share_begin(in->tree, sizes_bytes);
	err = hv_buffer_new(in->tree->session, sizes_bytes, &resized);
	if (err)
		return err;
	hv_buffer_move(in->host, HV_ALL_CPUS, resized);
	hv_buffer_unref(in->host);
	hv_instance_set_host(in, resized);
	return NULL;
}

static struct hv_err *new_snapshot(const struct hv_instance *in, const uint64_t *sizes_bytes,
				   struct hv_buffer **ret)
{
	struct hv_err *err = hv_buffer_new(in->tree->session, sizes_bytes, ret);

	if (!err)
		hv_buffer_use_clock(*ret, in->clock);
	return err;
}

/* The live buffer and the snapshot, or neither. */
static struct hv_err *resize_both(struct hv_instance *in, const uint64_t *sizes_bytes)
{
	struct hv_buffer *resized;
	struct hv_err *err;

	if (!in->snapshot)
		return resize_live(in, sizes_bytes);
	err = new_snapshot(in, sizes_bytes, &resized);
	if (err)
		return err;
	err = resize_live(in, sizes_bytes);
	if (err) {
		hv_buffer_unref(resized);
		return err;
	}
	hv_buffer_move(in->snapshot, HV_ALL_CPUS, resized);
	hv_buffer_unref(in->snapshot);
	in->snapshot = resized;
	return NULL;
}

struct hv_err *hv_instance_resize(struct hv_instance *in, int cpu, uint64_t size_bytes)
{
	HV_AUTO_FREE uint64_t *sizes_bytes = hv_instance_sizes(in);
	bool is_other = false;

	for (unsigned i = 0; i < in->tree->nr_cpus; i++) {
		if (cpu >= 0 && i != (unsigned)cpu)
			continue;
		is_other |= sizes_bytes[i] != size_bytes;
		sizes_bytes[i] = size_bytes;
	}
	if (!is_other)
		return NULL;
	hv_tree_drain(in->tree);
	return resize_both(in, sizes_bytes);
}

struct hv_err *hv_instance_need_snapshot(struct hv_instance *in)
{
	HV_AUTO_FREE uint64_t *sizes_bytes = hv_instance_sizes(in);

	return in->snapshot ? NULL : new_snapshot(in, sizes_bytes, &in->snapshot);
}

void hv_instance_swap_snapshot(struct hv_instance *in)
{
	struct hv_buffer *taken = in->host;

	if (!in->snapshot || !in->host)
		return;
	hv_buffer_clear(in->snapshot, HV_ALL_CPUS);
	hv_instance_set_host(in, in->snapshot);
	in->snapshot = taken;
	hv_buffer_when_full(taken, HV_FULL_OVERWRITES);
}

struct hv_err *hv_instance_take_snapshot(struct hv_instance *in, int cpu)
{
	struct hv_buffer *buffer = hv_instance_buffer(in);
	struct hv_err *err = hv_instance_need_snapshot(in);

	if (err)
		return err;
	hv_buffer_clear(in->snapshot, cpu);
	hv_buffer_move(buffer, cpu, in->snapshot);
	return NULL;
}

void hv_instance_free_snapshot(struct hv_instance *in)
{
	hv_buffer_unref(in->snapshot);
	in->snapshot = NULL;
}
