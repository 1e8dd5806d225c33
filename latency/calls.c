/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "latency/calls.h"

#include <stdlib.h>
#include <string.h>

#include "base/guard.h"
#include "export/page_decode.h"

#define WAITING_BYTES (16u << 20) /* of pages waiting to be sorted */

struct call_export {
	struct hv_export base;
	struct hv_page_decode decode;
	struct hv_page_merge merge;
	struct hv_calls calls;
};

static struct call_export *of(struct hv_export *x)
{
	return (struct call_export *)x;
}

bool hv_calls_have_host(struct hv_export *x)
{
	return hv_page_decode_has_host(&of(x)->decode);
}

struct hv_calls *hv_calls_of(struct hv_export *x)
{
	return &of(x)->calls;
}

const char *hv_calls_symbol(struct hv_export *x, uint64_t addr)
{
	const struct hv_symbol *s = hv_page_decode_symbol(&of(x)->decode, hv_gva(addr));

	return s ? s->name : NULL;
}

/* -- calls ------------------------------------------------------------------------------------- */

static uint64_t length_of(const struct hv_call *c)
{
	return c->to_ns - c->from_ns;
}

/* BY returns now. Calls inside it have returned before. */
static void add_caller(struct hv_call *c, const struct hv_call *by)
{
	if (c->task.pid == by->task.pid && c->nr_callers < HV_CALL_CALLERS &&
	    c->from_ns >= by->from_ns && c->to_ns <= by->to_ns)
		c->callers[c->nr_callers++] = by->function;
}

static struct hv_call *find(struct hv_calls *c, uint64_t function)
{
	for (unsigned i = 0; i < c->nr; i++)
		if (c->list[i].function == function)
			return &c->list[i];
	return NULL;
}

/* Returns NULL if all calls in the table are at least LENGTH_NS long. */
static struct hv_call *make_room(struct hv_calls *c, uint64_t length_ns)
{
	struct hv_call *shortest = &c->list[0];

	if (c->nr < HV_CALLS_MAX)
		return &c->list[c->nr++];
	for (unsigned i = 1; i < c->nr; i++)
		if (length_of(&c->list[i]) < length_of(shortest))
			shortest = &c->list[i];
	c->nr_skipped += length_of(shortest) < length_ns ? shortest->nr : 1;
	return length_of(shortest) < length_ns ? shortest : NULL;
}

void hv_calls_see(struct hv_calls *c, const struct hv_call *call)
{
	struct hv_call *known;

	c->nr_seen++;
	if (call->to_ns < call->from_ns)
		return; /* the guest's clock went backwards */
	for (unsigned i = 0; i < c->nr; i++)
		add_caller(&c->list[i], call);
	known = find(c, call->function);
	if (known && ++known->nr && length_of(call) <= length_of(known))
		return;
	if (known) {
		uint64_t nr = known->nr;

		*known = *call;
		known->nr = nr;
		return;
	}
	known = make_room(c, length_of(call));
	if (!known)
		return;
	*known = *call;
	known->nr = 1;
}

static int longer_first(const void *a, const void *b)
{
	const struct hv_call *x = a, *y = b;

	if (length_of(x) != length_of(y))
		return length_of(x) > length_of(y) ? -1 : 1;
	return x->from_ns < y->from_ns ? -1 : x->from_ns > y->from_ns;
}

void hv_calls_sort(struct hv_calls *c)
{
	qsort(c->list, c->nr, sizeof(c->list[0]), longer_first);
}

/* -- the export -------------------------------------------------------------------------------- */

static struct hv_err *call_open(const struct hv_export_config *config hv_unused,
				const struct hv_export_head *head, struct hv_export **ret)
{
	struct call_export *x = hv_alloc(sizeof(*x));

	hv_page_decode_init(&x->decode, head);
	hv_page_merge_init(&x->merge, head->nr_cpus, head->page_bytes);
	x->merge.max_bytes = WAITING_BYTES;
	*ret = &x->base;
	return NULL;
}

static void call_free(struct hv_export *x)
{
	hv_page_merge_deinit(&of(x)->merge);
	hv_page_decode_deinit(&of(x)->decode);
	free(x);
}

static struct hv_err *call_add(struct hv_export *x, unsigned cpu, struct hv_span page)
{
	hv_page_merge_add(&of(x)->merge, cpu, page);
	if (!x->wants_names)
		x->wants_names = hv_page_decode_lacks_names(&of(x)->decode, page);
	return NULL;
}

static struct hv_err *call_name_tasks(struct hv_export *x, struct hv_export_text names)
{
	hv_page_decode_name_tasks(&of(x)->decode, names);
	return NULL;
}

static void take(struct call_export *x)
{
	struct hv_merged m;
	struct hv_event e;

	while (hv_page_merge_next(&x->merge, &m)) {
		if (m.has_lost)
			x->calls.nr_lost += m.lost ? m.lost : 1;
		if (!hv_page_decode_event(&x->decode, &m, &e) || e.kind != HV_EVENT_GRAPH_EXIT)
			continue;
		hv_calls_see(&x->calls, &(struct hv_call){
						.function = e.ip.v,
						.from_ns = e.call_ns,
						.to_ns = e.time_ns,
						.host_ns = e.host_ns,
						.cpu = e.cpu,
						.task = hv_stall_task(e.pid, e.comm),
					});
	}
}

static struct hv_err *call_turn(struct hv_export *x)
{
	take(of(x));
	hv_page_merge_turn(&of(x)->merge);
	return NULL;
}

static struct hv_err *call_end(struct hv_export *x)
{
	hv_page_merge_end(&of(x)->merge);
	take(of(x));
	return NULL;
}

const struct hv_export_format hv_calls_format = {
	.name = "calls",
	.input = HV_EXPORT_PAGES,
	.open = call_open,
	.add = call_add,
	.name_tasks = call_name_tasks,
	.turn = call_turn,
	.end = call_end,
	.free = call_free,
};
