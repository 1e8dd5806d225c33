#include "tree/instance/share.h"

#include "tree/instance/commands.h"

static bool is_alone(const struct hv_instance *in)
{
	for (const struct hv_instance *i = &in->tree->top; i; i = i->next)
		if (i != in && i->tracer != HV_TRACER_NOP)
			return false;
	return true;
}

/* Whether what no command asked for is IN's. Who traces alone gets all: the guest has judged
 * already, and may have switched recording itself, unless the host does that. */
static bool wants(const struct hv_instance *in, const struct hv_event *event)
{
	if (in->tracer == HV_TRACER_NOP)
		return false;
	if (!is_alone(in))
		return hv_instance_wants(in, event);
	return !in->tree->host_obeys || (in->recording && !in->nr_pauses);
}

static void take(struct hv_sink *sink, const struct hv_cursor *cursor, const struct hv_event *event)
{
	struct hv_instance *in = sink->ctx;

	if (event->kind == HV_EVENT_COMMAND)
		hv_commands_obey(in, event);
	else if (event->of_command ? hv_commands_take_stack(in, event) : wants(in, event))
		hv_buffer_put(in->host, cursor, event);
}

void hv_share_add(struct hv_instance *in)
{
	in->sink = (struct hv_sink){.ctx = in, .take = take};
	if (in->tree->drain)
		hv_drain_add(in->tree->drain, &in->sink);
}

void hv_share_remove(struct hv_instance *in)
{
	if (in->tree->drain)
		hv_drain_remove(in->tree->drain, &in->sink);
}

struct hv_err *hv_share_begin(struct hv_tree *tree, const uint64_t *sizes_bytes)
{
	struct hv_buffer *guests = hv_session_buffer(tree->session);
	struct hv_buffer *host;
	struct hv_err *err;

	if (hv_share_is(tree))
		return NULL;
	err = hv_buffer_new(tree->session, sizes_bytes, &host);
	if (err)
		return err;
	hv_buffer_move(guests, HV_ALL_CPUS, host);
	hv_instance_set_host(&tree->top, host);
	tree->drain = hv_drain_new(tree->session);
	for (struct hv_instance *in = &tree->top; in; in = in->next)
		hv_share_add(in);
	return NULL;
}

static bool has_first_sizes(const struct hv_instance *top)
{
	const struct hv_buffer *guests = hv_session_buffer(top->tree->session);

	for (unsigned cpu = 0; cpu < top->tree->nr_cpus; cpu++)
		if (hv_instance_size(top, cpu) != hv_buffer_size(guests, cpu))
			return false;
	return true;
}

static bool is_needed(const struct hv_tree *tree)
{
	const struct hv_instance *top = &tree->top;

	if (!is_alone(top) || !hv_options_on(&top->options, HV_OPT_OVERWRITE) || tree->host_obeys ||
	    hv_probes_have(&top->probes, HV_PROBE_SNAPSHOT))
		return true;
	return !has_first_sizes(top);
}

void hv_share_end(struct hv_tree *tree)
{
	if (!hv_share_is(tree) || is_needed(tree))
		return;
	hv_drain_free(tree->drain);
	tree->drain = NULL;
	hv_buffer_clear(hv_session_buffer(tree->session), HV_ALL_CPUS);
	hv_buffer_unref(tree->top.host);
	tree->top.host = NULL;
}
