/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/instance/core/buffers.h"

#include "tracer/events/buffer.h"
#include "tracer/events/host_buffer.h"
#include "tracer/session.h"

#define FILL_PERCENT_DEFAULT 50

void hv_buffers_init(struct hv_buffers *b, struct hv_session *session, unsigned nr_cpus)
{
	*b = (struct hv_buffers){
		.session = session,
		.nr_cpus = nr_cpus,
		.page_bytes = HV_PAGE_BYTES_MIN,
		.fill_percent = FILL_PERCENT_DEFAULT,
	};
}

void hv_buffers_deinit(struct hv_buffers *b)
{
	hv_buffer_unref(b->host);
	hv_buffer_unref(b->snapshot);
}

struct hv_buffer *hv_buffers_live(const struct hv_buffers *b)
{
	return b->host ? b->host : b->session->buffer;
}

void hv_buffers_set_host(struct hv_buffers *b, struct hv_buffer *host)
{
	hv_buffer_when_full(host, b->when_full);
	hv_buffer_use_clock(host, b->clock);
	b->host = host;
}

void hv_buffers_when_full(struct hv_buffers *b, enum hv_when_full what)
{
	b->when_full = what;
	if (b->host)
		hv_buffer_when_full(b->host, what);
}

void hv_buffers_use_clock(struct hv_buffers *b, enum hv_trace_clock clock)
{
	b->clock = clock;
	if (b->host)
		hv_buffer_use_clock(b->host, clock);
	if (!b->snapshot)
		return;
	hv_buffer_use_clock(b->snapshot, clock);
	hv_buffer_clear(b->snapshot, HV_ALL_CPUS);
}

enum hv_clock_kind hv_buffers_clock_kind(const struct hv_buffers *b)
{
	if (b->clock == HV_TRACE_CLOCK_TSC)
		return HV_CLOCK_RAW;
	if (b->clock == HV_TRACE_CLOCK_HOST)
		return HV_CLOCK_HOST;
	return hv_clocks_guest_kind(b->session->clocks);
}

uint64_t hv_buffers_size(const struct hv_buffers *b, unsigned cpu)
{
	return hv_buffer_size(hv_buffers_live(b), cpu);
}

uint64_t *hv_buffers_sizes(const struct hv_buffers *b)
{
	uint64_t *sizes_bytes = hv_alloc(b->nr_cpus * sizeof(*sizes_bytes));

	for (unsigned cpu = 0; cpu < b->nr_cpus; cpu++)
		sizes_bytes[cpu] = hv_buffers_size(b, cpu);
	return sizes_bytes;
}

struct hv_err *hv_buffers_resize_live(struct hv_buffers *b, const uint64_t *sizes_bytes)
{
	struct hv_buffer *resized;
	struct hv_err *err = hv_buffer_new(b->session->buffer, sizes_bytes, &resized);

	if (err)
		return err;
	hv_buffer_move(hv_buffers_live(b), HV_ALL_CPUS, resized);
	hv_buffer_unref(b->host);
	hv_buffers_set_host(b, resized);
	return NULL;
}

static struct hv_err *new_snapshot(const struct hv_buffers *b, const uint64_t *sizes_bytes,
				   struct hv_buffer **ret)
{
	struct hv_err *err = hv_buffer_new(b->session->buffer, sizes_bytes, ret);

	if (!err)
		hv_buffer_use_clock(*ret, b->clock);
	return err;
}

struct hv_err *hv_buffers_resize(struct hv_buffers *b, const uint64_t *sizes_bytes)
{
	struct hv_buffer *resized;
	struct hv_err *err;

	if (!b->snapshot)
		return hv_buffers_resize_live(b, sizes_bytes);
	err = new_snapshot(b, sizes_bytes, &resized);
	if (err)
		return err;
	err = hv_buffers_resize_live(b, sizes_bytes);
	if (err) {
		hv_buffer_unref(resized);
		return err;
	}
	hv_buffer_move(b->snapshot, HV_ALL_CPUS, resized);
	hv_buffer_unref(b->snapshot);
	b->snapshot = resized;
	return NULL;
}

struct hv_err *hv_buffers_need_snapshot(struct hv_buffers *b)
{
	HV_AUTO_FREE uint64_t *sizes_bytes = hv_buffers_sizes(b);

	return b->snapshot ? NULL : new_snapshot(b, sizes_bytes, &b->snapshot);
}

struct hv_err *hv_buffers_take_snapshot(struct hv_buffers *b, int cpu)
{
	struct hv_err *err;

	if (b->snapshot_use == HV_SNAPSHOT_KEPT)
		return hv_err_new(EBUSY, "the tracer keeps its worst latency in the snapshot");
	err = hv_buffers_need_snapshot(b);
	if (err)
		return err;
	hv_buffer_clear(b->snapshot, cpu);
	hv_buffer_move(hv_buffers_live(b), cpu, b->snapshot);
	return NULL;
}

void hv_buffers_keep_snapshot(struct hv_buffers *b, enum hv_snapshot_use use)
{
	b->snapshot_use = use;
}

static void swap(struct hv_buffers *b)
{
	struct hv_buffer *taken = b->host;

	hv_buffers_set_host(b, b->snapshot);
	b->snapshot = taken;
	hv_buffer_when_full(taken, HV_FULL_OVERWRITES);
}

void hv_buffers_swap_snapshot(struct hv_buffers *b)
{
	if (b->snapshot_use == HV_SNAPSHOT_FREE && b->snapshot && b->host)
		swap(b);
}

void hv_buffers_swap_kept(struct hv_buffers *b)
{
	if (!b->snapshot || !b->host)
		return;
	hv_buffer_clear(b->snapshot, HV_ALL_CPUS);
	swap(b);
}

void hv_buffers_free_snapshot(struct hv_buffers *b)
{
	hv_buffer_unref(b->snapshot);
	b->snapshot = NULL;
}

/* -- readers of trace_pipe --------------------------------------------------------------------- */

void hv_pipes_init(struct hv_pipes *pipes, unsigned nr_cpus)
{
	*pipes = (struct hv_pipes){.nr_cpus = nr_cpus, .of_cpu = hv_alloc(nr_cpus)};
}

void hv_pipes_deinit(struct hv_pipes *pipes)
{
	free(pipes->of_cpu);
}

struct hv_err *hv_pipes_take(struct hv_pipes *pipes, int cpu)
{
	if (pipes->all || (cpu < 0 ? pipes->nr > 0 : pipes->of_cpu[cpu]))
		return hv_err_new(EBUSY, "another reader has it open");
	if (cpu < 0)
		pipes->all = 1;
	else
		pipes->of_cpu[cpu] = 1;
	pipes->nr++;
	return NULL;
}

void hv_pipes_give_back(struct hv_pipes *pipes, int cpu)
{
	if (cpu < 0)
		pipes->all = 0;
	else
		pipes->of_cpu[cpu] = 0;
	pipes->nr--;
}

/* -- dumps ------------------------------------------------------------------------------------- */

#define NAME_LEN_MAX 512 /* KSYM_NAME_LEN */

/* Returns "FUNC:dump on CPU 1 by task PID". */
static char *reason(const struct hv_sites *sites, enum hv_func_command_kind command,
		    const struct hv_event *event)
{
	HV_AUTO_TEXT struct hv_text text = {0};
	const char *name = NULL;

	for (size_t i = 0; i < sites->nr && !name; i++)
		if (sites->list[i].ip.v == event->ip.v)
			name = sites->list[i].name;
	hv_text_add_guest(&text, name ? name : "?", NAME_LEN_MAX);
	hv_text_printf(&text, ":%s on CPU %u by task %u", hv_func_command_name(command), event->cpu,
		       event->pid);
	return hv_text_take(&text);
}

void hv_dump_begin(struct hv_dump *dump, const struct hv_sites *sites, struct hv_buffer *buffer,
		   const struct hv_tracer_ops *tracer, enum hv_func_command_kind command,
		   const struct hv_event *event)
{
	int cpu = command == HV_FUNC_COMMAND_DUMP ? -1 : (int)event->cpu;

	if (dump->state != HV_DUMP_NONE)
		return;
	hv_buffer_note_names(buffer);
	*dump = (struct hv_dump){
		.state = HV_DUMP_WAITS,
		.cpu = cpu,
		.tracer = tracer,
		.why = reason(sites, command, event),
		.buffer = buffer,
		.cursor = hv_cursor_new(buffer, cpu, HV_CURSOR_DUMP),
	};
}

void hv_dump_end(struct hv_dump *dump)
{
	hv_cursor_free(dump->cursor);
	free(dump->why);
	*dump = (struct hv_dump){0};
}
