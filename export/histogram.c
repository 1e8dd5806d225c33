/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Durations of calls, counted by function in powers of two: for people as bars, or a line of JSON
 * for each function. The events themselves are not kept. */
#include <inttypes.h>
#include <stdlib.h>

#include "export/formats.h"
#include "export/page_decode.h"
#include "export/sink.h"

#define NR_BUCKETS    65 /* 0, 1, 2 to 3, 4 to 7, ... */
#define FUNCTIONS_MAX 1024
#define BAR_WIDTH     40
#define JSON_VERSION  1

struct function {
	struct hv_gva ip;
	uint64_t calls, total, shortest, longest; /* in units of the clock */
	uint64_t buckets[NR_BUCKETS];
};

struct histogram {
	struct hv_export base;
	struct hv_sink sink;
	struct hv_page_decode decode;
	bool is_json;
	bool in_ns;		    /* the clock's unit; otherwise ticks */
	struct function *functions; /* owned; sorted by IP */
	size_t nr;
	uint64_t nr_left_out; /* calls of functions beyond FUNCTIONS_MAX */
};

static struct histogram *histogram_of(struct hv_export *x)
{
	return (struct histogram *)x;
}

static unsigned bucket_of(uint64_t duration)
{
	return duration ? 64 - (unsigned)__builtin_clzll(duration) : 0;
}

static uint64_t bucket_begin(unsigned bucket)
{
	return bucket ? 1ull << (bucket - 1) : 0;
}

/* NULL: there is no room. */
static struct function *function_at(struct histogram *h, struct hv_gva ip)
{
	size_t low = 0, high = h->nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (h->functions[middle].ip.v < ip.v)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < h->nr && h->functions[low].ip.v == ip.v)
		return &h->functions[low];
	if (h->nr == FUNCTIONS_MAX)
		return NULL;
	h->functions = hv_realloc_array(h->functions, h->nr + 1, sizeof(*h->functions));
	memmove(&h->functions[low + 1], &h->functions[low], (h->nr - low) * sizeof(*h->functions));
	h->nr++;
	h->functions[low] = (struct function){.ip = ip, .shortest = UINT64_MAX};
	return &h->functions[low];
}

static void count(struct histogram *h, const struct hv_event *e)
{
	uint64_t duration = e->time_ns > e->call_ns ? e->time_ns - e->call_ns : 0;
	struct function *f = function_at(h, e->ip);

	if (!f) {
		h->nr_left_out++;
		return;
	}
	f->calls++;
	f->total += duration;
	f->shortest = duration < f->shortest ? duration : f->shortest;
	f->longest = duration > f->longest ? duration : f->longest;
	f->buckets[bucket_of(duration)]++;
}

/* Text. */

static void add_duration(struct hv_text *out, const struct histogram *h, uint64_t duration)
{
	static const char *const units[] = {"ns", "us", "ms", "s"};
	double value = (double)duration;
	size_t unit = 0;

	if (!h->in_ns) {
		hv_text_printf(out, "%" PRIu64 " ticks", duration);
		return;
	}
	while (value >= 1000 && unit < HV_ARRAY_LEN(units) - 1) {
		value /= 1000;
		unit++;
	}
	hv_text_printf(out, unit ? "%.3g %s" : "%.0f %s", value, units[unit]);
}

static const char *name_of(const struct histogram *h, const struct function *f)
{
	const struct hv_symbol *symbol = hv_page_decode_symbol(&h->decode, f->ip);

	return symbol ? symbol->name : NULL;
}

static void add_name(struct hv_text *out, const struct histogram *h, const struct function *f)
{
	const char *name = name_of(h, f);

	if (name)
		hv_text_add(out, name);
	else
		hv_text_printf(out, "0x%" PRIx64, f->ip.v);
}

static void add_row(struct hv_text *out, const struct histogram *h, const struct function *f,
		    unsigned bucket, uint64_t most)
{
	HV_AUTO_TEXT struct hv_text from = {0}, to = {0};
	uint64_t calls = f->buckets[bucket];
	int len = (int)((double)calls * BAR_WIDTH / (double)most + 0.5);

	add_duration(&from, h, bucket_begin(bucket));
	add_duration(&to, h, bucket == NR_BUCKETS - 1 ? UINT64_MAX : bucket_begin(bucket + 1));
	hv_text_printf(out, "%12s .. %-12s %10" PRIu64 " |%.*s%*s|\n", from.data, to.data, calls,
		       len, "@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@", BAR_WIDTH - len, "");
}

static void add_bars(struct hv_text *out, const struct histogram *h, const struct function *f)
{
	unsigned first = bucket_of(f->shortest), last = bucket_of(f->longest);
	uint64_t most = 0;

	for (unsigned i = first; i <= last; i++)
		most = f->buckets[i] > most ? f->buckets[i] : most;
	add_name(out, h, f);
	hv_text_printf(out, ": %" PRIu64 " call%s, average ", f->calls, hv_plural(f->calls));
	add_duration(out, h, f->total / f->calls);
	hv_text_add(out, ", shortest ");
	add_duration(out, h, f->shortest);
	hv_text_add(out, ", longest ");
	add_duration(out, h, f->longest);
	hv_text_add(out, ", in all ");
	add_duration(out, h, f->total);
	hv_text_add(out, "\n");
	for (unsigned i = first; i <= last; i++)
		add_row(out, h, f, i, most);
	hv_text_add(out, "\n");
}

/* JSON. Names are the guest's. */

static void add_object(struct hv_text *out, const struct histogram *h, const struct function *f)
{
	bool is_first = true;

	hv_text_printf(out, "{\"version\":%d,\"function\":\"", JSON_VERSION);
	for (const char *c = name_of(h, f); c && *c; c++) {
		if (*c == '"' || *c == '\\')
			hv_text_add(out, "\\");
		if (*c >= ' ' && *c <= '~')
			hv_text_add_bytes(out, c, 1);
		else
			hv_text_printf(out, "\\u%04x", (unsigned char)*c);
	}
	if (!name_of(h, f))
		add_name(out, h, f);
	hv_text_printf(out,
		       "\",\"unit\":\"%s\",\"calls\":%" PRIu64 ",\"total\":%" PRIu64
		       ",\"shortest\":%" PRIu64 ",\"longest\":%" PRIu64 ",\"buckets\":[",
		       h->in_ns ? "ns" : "ticks", f->calls, f->total, f->shortest, f->longest);
	for (unsigned i = 0; i < NR_BUCKETS; i++) {
		if (!f->buckets[i])
			continue;
		hv_text_printf(out, "%s{\"from\":%" PRIu64 ",\"calls\":%" PRIu64 "}",
			       is_first ? "" : ",", bucket_begin(i), f->buckets[i]);
		is_first = false;
	}
	hv_text_add(out, "]}\n");
}

/* The format. */

static void histogram_free(struct hv_export *x)
{
	struct histogram *h = histogram_of(x);

	hv_sink_deinit(&h->sink);
	hv_page_decode_deinit(&h->decode);
	free(h->functions);
	free(h);
}

static struct hv_err *begin(const struct hv_export_config *config,
			    const struct hv_export_head *head, bool is_json, struct hv_export **ret)
{
	struct histogram *h = hv_alloc(sizeof(*h));

	hv_sink_init(&h->sink, config);
	hv_page_decode_init(&h->decode, head);
	h->is_json = is_json;
	h->in_ns = strcmp(head->clock, "x86-tsc") != 0;
	*ret = &h->base;
	return NULL;
}

static struct hv_err *text_open(const struct hv_export_config *config,
				const struct hv_export_head *head, struct hv_export **ret)
{
	return begin(config, head, false, ret);
}

static struct hv_err *json_open(const struct hv_export_config *config,
				const struct hv_export_head *head, struct hv_export **ret)
{
	return begin(config, head, true, ret);
}

/* Counts do not depend on the order of events, so pages are counted as they come. */
static struct hv_err *histogram_add(struct hv_export *x, unsigned cpu, struct hv_span page)
{
	struct histogram *h = histogram_of(x);
	struct hv_merged m = {.cpu = cpu};
	struct hv_raw_events events;
	struct hv_event e;

	if (!hv_raw_events_begin(&events, page))
		return NULL;
	while (hv_raw_events_next(&events, &m.event))
		if (hv_page_decode_event(&h->decode, &m, &e) && e.kind == HV_EVENT_GRAPH_EXIT)
			count(h, &e);
	return NULL;
}

static struct hv_err *histogram_turn(struct hv_export *x hv_unused)
{
	return NULL;
}

static int by_total(const void *pa, const void *pb)
{
	const struct function *a = pa, *b = pb;

	if (a->total != b->total)
		return a->total < b->total ? 1 : -1;
	return (a->ip.v > b->ip.v) - (a->ip.v < b->ip.v);
}

static struct hv_err *histogram_end(struct hv_export *x)
{
	struct histogram *h = histogram_of(x);
	struct hv_err *err;

	if (h->nr)
		qsort(h->functions, h->nr, sizeof(*h->functions), by_total);
	for (size_t i = 0; i < h->nr; i++)
		(h->is_json ? add_object : add_bars)(&h->sink.pending, h, &h->functions[i]);
	if (h->nr_left_out && !h->is_json)
		hv_text_printf(&h->sink.pending, "%" PRIu64 " calls of other functions\n",
			       h->nr_left_out);
	err = hv_sink_mark(&h->sink);
	return err ? err : hv_sink_end(&h->sink);
}

const struct hv_export_format hv_export_histogram = {
	.name = "histogram",
	.input = HV_EXPORT_PAGES,
	.open = text_open,
	.add = histogram_add,
	.turn = histogram_turn,
	.end = histogram_end,
	.free = histogram_free,
};

const struct hv_export_format hv_export_histogram_json = {
	.name = "histogram-json",
	.input = HV_EXPORT_PAGES,
	.open = json_open,
	.add = histogram_add,
	.turn = histogram_turn,
	.end = histogram_end,
	.free = histogram_free,
};
