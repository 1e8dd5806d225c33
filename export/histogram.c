/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Histograms of durations in powers of two: of calls by function, and between two trace events
 * (event_pairs.h). The output is bars for people, or a JSON line for each. Events are not kept. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/bisect.h"
#include "export/event_pairs.h"
#include "export/export.h"
#include "export/page_decode.h"
#include "export/output.h"

#define NR_BUCKETS     65 /* 0, 1, 2 to 3, 4 to 7, ... */
#define SUBJECTS_MAX   1024
#define BAR_WIDTH      40
#define WAITING_BYTES  (64u << 20) /* of pages waiting to be sorted */
#define NAME_MAX_BYTES 128
#define JSON_VERSION   1

/* The subject of a histogram. */
struct subject {
	const struct hv_event_pair *pair; /* NULL: calls of a function */
	uint64_t value; /* address of the function, or value of the pair's field OF */
};

struct counts {
	struct subject of;
	uint64_t calls, total, shortest, longest; /* durations are in units of the clock */
	uint64_t buckets[NR_BUCKETS];
	uint64_t host[NR_BUCKETS]; /* ns of these calls in which the host did not run the vCPU */
};

struct histogram {
	struct hv_export base;
	struct hv_output output;
	struct hv_page_decode decode;
	struct hv_page_merge merge; /* used if there are pairs of events */
	struct hv_event_pairs pairs;
	bool is_json;
	bool in_ns;	     /* the clock is in ns; otherwise in ticks */
	struct counts *list; /* owned; sorted by OF */
	size_t nr;
	uint64_t nr_skipped; /* durations beyond SUBJECTS_MAX */
	uint64_t nr_losses;  /* number of times that events were lost */
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

static bool is_before(const struct subject *a, const struct subject *b)
{
	return a->pair != b->pair ? a->pair < b->pair : a->value < b->value;
}

/* Returns NULL if there is no room. */
static struct counts *counts_of(struct histogram *h, const struct subject *of)
{
	size_t at = HV_BISECT(i, h->nr, is_before(&h->list[i].of, of));

	if (at < h->nr && !is_before(of, &h->list[at].of))
		return &h->list[at];
	if (h->nr == SUBJECTS_MAX)
		return NULL;
	h->list = hv_realloc_array(h->list, h->nr + 1, sizeof(*h->list));
	memmove(&h->list[at + 1], &h->list[at], (h->nr - at) * sizeof(*h->list));
	h->nr++;
	h->list[at] = (struct counts){.of = *of, .shortest = UINT64_MAX};
	return &h->list[at];
}

static void count(struct histogram *h, const struct subject *of, uint64_t duration,
		  uint64_t host_ns)
{
	struct counts *c = counts_of(h, of);

	if (!c) {
		h->nr_skipped++;
		return;
	}
	c->calls++;
	c->total += duration;
	c->shortest = duration < c->shortest ? duration : c->shortest;
	c->longest = duration > c->longest ? duration : c->longest;
	c->buckets[bucket_of(duration)]++;
	c->host[bucket_of(duration)] += host_ns;
}

static void count_event(struct histogram *h, const struct hv_event *e)
{
	struct hv_event_duration ended[HV_EVENT_PAIRS_ENDS_MAX];
	unsigned nr = 0;

	if (e->kind == HV_EVENT_GRAPH_EXIT)
		count(h, &(struct subject){NULL, e->ip.v},
		      e->time_ns > e->call_ns ? e->time_ns - e->call_ns : 0, e->host_ns);
	else if (e->kind == HV_EVENT_GUESTS)
		nr = hv_event_pairs_see(&h->pairs, e, ended);
	for (unsigned i = 0; i < nr; i++)
		count(h, &(struct subject){ended[i].pair, ended[i].of}, ended[i].passed, 0);
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

/* Returns whether F has the time that the host took. It is in ns, so it cannot be compared with
 * ticks. */
static bool has_host(const struct histogram *h, const struct counts *f)
{
	return h->in_ns && !f->of.pair && hv_page_decode_has_host(&h->decode);
}

static uint64_t host_of(const struct counts *f)
{
	uint64_t ns = 0;

	for (unsigned i = 0; i < NR_BUCKETS; i++)
		ns += f->host[i];
	return ns;
}

static const char *function_name(const struct histogram *h, const struct counts *c)
{
	const struct hv_symbol *symbol =
		c->of.pair ? NULL : hv_page_decode_symbol(&h->decode, hv_gva(c->of.value));

	return symbol ? symbol->name : NULL;
}

/* Names from a file can contain anything. */
static void add_event_name(struct hv_text *out, const struct hv_event_type *type)
{
	hv_text_add_guest(out, type->system, NAME_MAX_BYTES);
	hv_text_add(out, ":");
	hv_text_add_guest(out, type->name, NAME_MAX_BYTES);
}

static void add_of(struct hv_text *out, const struct counts *c, const char *format_signed,
		   const char *format_unsigned)
{
	if (c->of.pair->of->is_signed)
		hv_text_printf(out, format_signed, (int64_t)c->of.value);
	else
		hv_text_printf(out, format_unsigned, c->of.value);
}

static void add_name(struct hv_text *out, const struct histogram *h, const struct counts *c)
{
	const struct hv_event_pair *pair = c->of.pair;
	const char *name = function_name(h, c);

	if (name) {
		hv_text_add(out, name);
	} else if (!pair) {
		hv_text_printf(out, "0x%" PRIx64, c->of.value);
	} else {
		add_event_name(out, pair->begin);
		if (pair->of) {
			hv_text_printf(out, " %s=", pair->of->name);
			add_of(out, c, "%" PRId64, "%" PRIu64);
		}
		hv_text_add(out, " until ");
		hv_text_add_guest(out, pair->end->name, NAME_MAX_BYTES);
	}
}

static void add_row(struct hv_text *out, const struct histogram *h, const struct counts *f,
		    unsigned bucket, uint64_t most)
{
	HV_AUTO_TEXT struct hv_text from = {0}, to = {0};
	uint64_t calls = f->buckets[bucket];
	int len = (int)((double)calls * BAR_WIDTH / (double)most + 0.5);

	add_duration(&from, h, bucket_begin(bucket));
	add_duration(&to, h, bucket == NR_BUCKETS - 1 ? UINT64_MAX : bucket_begin(bucket + 1));
	hv_text_printf(out, "%12s .. %-12s %10" PRIu64 " |%.*s%*s|", from.data, to.data, calls, len,
		       "@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@", BAR_WIDTH - len, "");
	if (has_host(h, f) && f->host[bucket]) {
		hv_text_add(out, " host ");
		add_duration(out, h, f->host[bucket]);
	}
	hv_text_add(out, "\n");
}

static void add_bars(struct hv_text *out, const struct histogram *h, const struct counts *f)
{
	unsigned first = bucket_of(f->shortest), last = bucket_of(f->longest);
	uint64_t most = 0;

	for (unsigned i = first; i <= last; i++)
		most = f->buckets[i] > most ? f->buckets[i] : most;
	add_name(out, h, f);
	hv_text_printf(out, ": %" PRIu64 " %s%s, average ", f->calls, f->of.pair ? "time" : "call",
		       hv_plural(f->calls));
	add_duration(out, h, f->total / f->calls);
	hv_text_add(out, ", shortest ");
	add_duration(out, h, f->shortest);
	hv_text_add(out, ", longest ");
	add_duration(out, h, f->longest);
	hv_text_add(out, ", in all ");
	add_duration(out, h, f->total);
	if (has_host(h, f)) {
		hv_text_add(out, ", the host's part ");
		add_duration(out, h, host_of(f));
	}
	hv_text_add(out, "\n");
	for (unsigned i = first; i <= last; i++)
		add_row(out, h, f, i, most);
	hv_text_add(out, "\n");
}

/* JSON. Names are the guest's. */

static void add_json_text(struct hv_text *out, const char *key, const char *text)
{
	hv_text_printf(out, ",\"%s\":\"", key);
	for (const char *c = text; *c; c++) {
		if (*c == '"' || *c == '\\')
			hv_text_add(out, "\\");
		if (*c >= ' ' && *c <= '~')
			hv_text_add_bytes(out, c, 1);
		else
			hv_text_printf(out, "\\u%04x", (unsigned char)*c);
	}
	hv_text_add(out, "\"");
}

static void add_json_name(struct hv_text *out, const struct histogram *h, const struct counts *f)
{
	HV_AUTO_TEXT struct hv_text name = {0}, end = {0};

	if (!f->of.pair) {
		add_name(&name, h, f);
		add_json_text(out, "function", name.data);
		return;
	}
	add_event_name(&name, f->of.pair->begin);
	add_event_name(&end, f->of.pair->end);
	add_json_text(out, "event", name.data);
	add_json_text(out, "until", end.data);
	if (!f->of.pair->of)
		return;
	hv_text_printf(out, ",\"of\":{\"%s\":", f->of.pair->of->name);
	add_of(out, f, "%" PRId64 "}", "%" PRIu64 "}");
}

static void add_object(struct hv_text *out, const struct histogram *h, const struct counts *f)
{
	bool is_first = true;

	hv_text_printf(out, "{\"version\":%d", JSON_VERSION);
	add_json_name(out, h, f);
	hv_text_printf(out,
		       ",\"unit\":\"%s\",\"calls\":%" PRIu64 ",\"total\":%" PRIu64
		       ",\"shortest\":%" PRIu64 ",\"longest\":%" PRIu64,
		       h->in_ns ? "ns" : "ticks", f->calls, f->total, f->shortest, f->longest);
	if (has_host(h, f))
		hv_text_printf(out, ",\"host\":%" PRIu64, host_of(f));
	hv_text_add(out, ",\"buckets\":[");
	for (unsigned i = 0; i < NR_BUCKETS; i++) {
		if (!f->buckets[i])
			continue;
		hv_text_printf(out, "%s{\"from\":%" PRIu64 ",\"calls\":%" PRIu64,
			       is_first ? "" : ",", bucket_begin(i), f->buckets[i]);
		if (has_host(h, f))
			hv_text_printf(out, ",\"host\":%" PRIu64, f->host[i]);
		hv_text_add(out, "}");
		is_first = false;
	}
	hv_text_add(out, "]}\n");
}

/* The format. */

static void histogram_free(struct hv_export *x)
{
	struct histogram *h = histogram_of(x);

	hv_output_deinit(&h->output);
	hv_page_merge_deinit(&h->merge);
	hv_event_pairs_deinit(&h->pairs);
	hv_page_decode_deinit(&h->decode);
	free(h->list);
	free(h);
}

static struct hv_err *begin(const struct hv_export_config *config,
			    const struct hv_export_head *head, bool is_json, struct hv_export **ret)
{
	struct histogram *h = hv_alloc(sizeof(*h));

	hv_output_init(&h->output, config);
	hv_page_decode_init(&h->decode, head);
	hv_page_merge_init(&h->merge, head->nr_cpus, head->page_bytes);
	h->merge.max_bytes = WAITING_BYTES;
	hv_event_pairs_init(&h->pairs, &h->decode.catalogue);
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

static void see(struct histogram *h, const struct hv_merged *m)
{
	struct hv_event e;

	if (m->has_lost) {
		h->nr_losses++;
		hv_event_pairs_lose(&h->pairs);
	}
	if (hv_page_decode_event(&h->decode, m, &e))
		count_event(h, &e);
}

static void take(struct histogram *h)
{
	struct hv_merged m;

	while (hv_page_merge_next(&h->merge, &m))
		see(h, &m);
}

/* Counts of calls do not depend on the order of events, so pages are counted as they arrive. Pairs
 * of events need the order, because they can be on two vCPUs. */
static struct hv_err *histogram_add(struct hv_export *x, unsigned cpu, struct hv_span page)
{
	struct histogram *h = histogram_of(x);
	struct hv_merged m = {.cpu = cpu};
	struct hv_raw_events events;

	if (h->pairs.nr) {
		hv_page_merge_add(&h->merge, cpu, page);
		return NULL;
	}
	if (!hv_raw_events_begin(&events, page))
		return NULL;
	while (hv_raw_events_next(&events, &m.event))
		see(h, &m);
	return NULL;
}

static struct hv_err *histogram_turn(struct hv_export *x)
{
	struct histogram *h = histogram_of(x);

	take(h);
	hv_page_merge_turn(&h->merge);
	return NULL;
}

static int by_total(const void *pa, const void *pb)
{
	const struct counts *a = pa, *b = pb;

	if (a->total != b->total)
		return a->total < b->total ? 1 : -1;
	return is_before(&b->of, &a->of) - is_before(&a->of, &b->of);
}

static struct hv_err *histogram_end(struct hv_export *x)
{
	struct histogram *h = histogram_of(x);
	struct hv_err *err;

	hv_page_merge_end(&h->merge);
	take(h);
	if (h->nr)
		qsort(h->list, h->nr, sizeof(*h->list), by_total);
	for (size_t i = 0; i < h->nr; i++)
		(h->is_json ? add_object : add_bars)(&h->output.pending, h, &h->list[i]);
	if (h->nr_skipped && !h->is_json)
		hv_text_printf(&h->output.pending, "%" PRIu64 " calls of other functions\n",
			       h->nr_skipped);
	if (h->nr_losses && h->pairs.nr && !h->is_json)
		hv_text_printf(
			&h->output.pending,
			"%" PRIu64
			" time%s, events were lost: calls in progress then are not counted\n",
			h->nr_losses, hv_plural(h->nr_losses));
	err = hv_output_mark(&h->output);
	return err ? err : hv_output_end(&h->output);
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
