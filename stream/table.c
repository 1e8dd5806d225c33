/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "stream/budget.h"
#include "stream/table.h"

#include <string.h>
#include <zstd.h>

/* -- the parts of a table --------------------------------------------------------------------- */

#define LEVEL 3

/* Appends a skippable zstd frame if the text compresses better than a collector accepts. */
static void pad(struct hv_text *packed, size_t raw_bytes)
{
	size_t want = raw_bytes / HV_STREAM_GROWTH + 1;
	uint32_t head[2] = {ZSTD_MAGIC_SKIPPABLE_START, 0};

	if (hv_stream_may_grow(packed->len_bytes, raw_bytes, HV_STREAM_TABLE_GROWTH_FREE))
		return;
	if (want > packed->len_bytes + sizeof(head))
		head[1] = (uint32_t)(want - packed->len_bytes - sizeof(head));
	hv_text_add_bytes(packed, head, sizeof(head));
	hv_text_add_fill(packed, '\0', head[1]);
}

struct hv_err *hv_stream_parts_set(struct hv_stream_parts *p, enum hv_stream_table_id id,
				   struct hv_span text, uint16_t part_bytes)
{
	size_t bound = ZSTD_compressBound(text.len_bytes);
	HV_AUTO_FREE char *packed = hv_alloc(bound);
	size_t len = ZSTD_compress(packed, bound, text.data, text.len_bytes, LEVEL);

	if (ZSTD_isError(len))
		return hv_err_new(EIO, "zstd: %s", ZSTD_getErrorName(len));
	if (len > HV_STREAM_TABLE_MAX || text.len_bytes > HV_STREAM_TABLE_RAW_MAX)
		return hv_err_new(EFBIG,
				  "the guest's symbols and formats are too long for a stream: %zu "
				  "bytes",
				  text.len_bytes);
	hv_text_clear(&p->packed);
	hv_text_add_bytes(&p->packed, packed, len);
	pad(&p->packed, text.len_bytes);
	p->next = (struct hv_stream_part){
		.table = (uint8_t)id,
		.part_bytes = part_bytes,
		.generation = p->next.generation + 1,
		.total_bytes = (uint32_t)p->packed.len_bytes,
		.raw_bytes = (uint32_t)text.len_bytes,
	};
	p->nr_rounds = 0;
	return NULL;
}

void hv_stream_parts_deinit(struct hv_stream_parts *p)
{
	hv_text_deinit(&p->packed);
}

static size_t part_len(const struct hv_stream_part *p)
{
	size_t left = p->total_bytes - p->off;

	return left < p->part_bytes ? left : p->part_bytes;
}

struct hv_stream_part hv_stream_parts_next(struct hv_stream_parts *p)
{
	struct hv_stream_part part = p->next;

	part.bytes = (struct hv_span){(uint8_t *)p->packed.data + part.off, part_len(&part)};
	p->next.off += (uint32_t)part.bytes.len_bytes;
	if (p->next.off == p->next.total_bytes) {
		p->next.off = 0;
		p->nr_rounds++;
	}
	return part;
}

void hv_stream_table_deinit(struct hv_stream_table *t)
{
	free(t->packed);
	free(t->has);
	*t = (struct hv_stream_table){0};
}

static bool is_like(const struct hv_stream_part *a, const struct hv_stream_part *b)
{
	return a->generation == b->generation && a->part_bytes == b->part_bytes &&
	       a->total_bytes == b->total_bytes && a->raw_bytes == b->raw_bytes;
}

size_t hv_stream_part_memory(const struct hv_stream_part *p)
{
	if (!p->part_bytes || p->total_bytes > HV_STREAM_TABLE_MAX)
		return 0;
	return p->total_bytes + p->total_bytes / p->part_bytes + 1;
}

size_t hv_stream_table_memory(const struct hv_stream_table *t)
{
	return t->packed ? hv_stream_part_memory(&t->like) : 0;
}

/* Allocates the sizes that the part claims; the caller has checked the budget. */
static void begin(struct hv_stream_table *t, const struct hv_stream_part *p)
{
	hv_stream_table_deinit(t);
	t->like = *p;
	t->like.bytes = (struct hv_span){0};
	t->nr_missing = (p->total_bytes + p->part_bytes - 1) / p->part_bytes;
	t->packed = hv_alloc(p->total_bytes);
	t->has = hv_alloc(t->nr_missing);
}

static bool is_possible(const struct hv_stream_part *p)
{
	return p->part_bytes >= HV_STREAM_PART_MIN && p->total_bytes &&
	       p->total_bytes <= HV_STREAM_TABLE_MAX && p->raw_bytes &&
	       p->raw_bytes <= HV_STREAM_TABLE_RAW_MAX &&
	       hv_stream_may_grow(p->total_bytes, p->raw_bytes, HV_STREAM_TABLE_GROWTH_FREE) &&
	       p->off < p->total_bytes && p->off % p->part_bytes == 0 &&
	       p->bytes.len_bytes == part_len(p);
}

enum hv_stream_added hv_stream_table_add(struct hv_stream_table *t, const struct hv_stream_part *p)
{
	size_t i;

	if (!is_possible(p))
		return HV_STREAM_PART_WRONG;
	if (!t->packed || t->like.generation != p->generation)
		begin(t, p);
	else if (!is_like(&t->like, p))
		return HV_STREAM_PART_WRONG;
	i = p->off / p->part_bytes;
	if (t->has[i])
		return HV_STREAM_PART_TAKEN;
	memcpy(t->packed + p->off, p->bytes.data, p->bytes.len_bytes);
	t->has[i] = 1;
	t->nr_missing--;
	t->is_whole = t->nr_missing == 0;
	return t->is_whole ? HV_STREAM_PART_LAST : HV_STREAM_PART_TAKEN;
}

bool hv_stream_table_text(const struct hv_stream_table *t, struct hv_text *ret)
{
	HV_AUTO_FREE char *raw = hv_alloc((size_t)t->like.raw_bytes + 1);
	size_t len = ZSTD_decompress(raw, t->like.raw_bytes, t->packed, t->like.total_bytes);

	if (ZSTD_isError(len) || len != t->like.raw_bytes)
		return false;
	*ret = (struct hv_text){.data = hv_take(raw), .len_bytes = len, .cap_bytes = len + 1};
	return true;
}

/* -- the head --------------------------------------------------------------------------------- */

#define RECORD_LEN 8 /* length before the bytes */

enum kind {
	NUMBERS = 1, /* u32 number of vCPUs, u32 page size in bytes */
	GUEST = 2,
	HOST = 3,
	CLOCK = 4,
	KERNEL = 5,
	PROGRAM = 6,
	TRACE_CLOCK = 7,
	HEADER_PAGE = 8,
	HEADER_EVENT = 9,
	KALLSYMS = 10,
	PRINTK_FORMATS = 11,
	EVENT = 12, /* name of the event system, newline, format */
	DATE = 13,  /* u64 wall clock time of trace clock 0, ns since the epoch; optional */
	NR_KINDS
};

static void add(struct hv_text *out, enum kind kind, const void *bytes, size_t len_bytes)
{
	uint16_t head[2] = {(uint16_t)kind, 0};
	uint32_t len = (uint32_t)len_bytes;

	hv_text_add_bytes(out, head, sizeof(head));
	hv_text_add_bytes(out, &len, sizeof(len));
	hv_text_add_bytes(out, bytes ? bytes : "", len_bytes);
	hv_text_add_bytes(out, "", 1);
}

static void add_string(struct hv_text *out, enum kind kind, const char *s)
{
	add(out, kind, s, strlen(s));
}

static void add_text(struct hv_text *out, enum kind kind, struct hv_export_text text)
{
	add(out, kind, text.text, text.len_bytes);
}

static void add_event(struct hv_text *out, const struct hv_export_event *e)
{
	HV_AUTO_TEXT struct hv_text text = {0};

	hv_text_printf(&text, "%s\n", e->system);
	hv_text_add_bytes(&text, e->format.text, e->format.len_bytes);
	add(out, EVENT, text.data, text.len_bytes);
}

void hv_stream_head_encode(const struct hv_export_head *head, const char *guest, const char *host,
			   struct hv_text *ret)
{
	uint32_t numbers[2] = {head->nr_cpus, (uint32_t)head->page_bytes};

	add(ret, NUMBERS, numbers, sizeof(numbers));
	add_string(ret, GUEST, guest);
	add_string(ret, HOST, host);
	add_string(ret, CLOCK, head->clock);
	add_string(ret, KERNEL, head->kernel);
	add_string(ret, PROGRAM, head->program);
	add_text(ret, TRACE_CLOCK, head->trace_clock);
	add_text(ret, HEADER_PAGE, head->header_page);
	add_text(ret, HEADER_EVENT, head->header_event);
	add_text(ret, KALLSYMS, head->kallsyms);
	add_text(ret, PRINTK_FORMATS, head->printk_formats);
	if (head->has_date)
		add(ret, DATE, &head->clock_epoch_ns, sizeof(head->clock_epoch_ns));
	for (size_t i = 0; i < head->nr_events; i++)
		add_event(ret, &head->events[i]);
}

struct reading {
	struct hv_stream_head *h;
	unsigned seen; /* bit mask of kinds */
};

static bool read_numbers(struct hv_export_head *head, struct hv_span s)
{
	uint32_t nr_cpus, page_bytes;

	if (!hv_span_u32(s, 0, &nr_cpus) || !hv_span_u32(s, 4, &page_bytes) || !nr_cpus ||
	    nr_cpus > HV_STREAM_CPUS_MAX || page_bytes < 256 ||
	    page_bytes > HV_STREAM_PAGE_BYTES_MAX || (page_bytes & (page_bytes - 1)))
		return false;
	head->nr_cpus = nr_cpus;
	head->page_bytes = page_bytes;
	return true;
}

static bool read_date(struct hv_export_head *head, struct hv_span s)
{
	head->has_date =
		hv_span_u64(s, 0, &head->clock_epoch_ns) && head->clock_epoch_ns <= INT64_MAX;
	return head->has_date;
}

/* Replaces the newline after the system name with a NUL. */
static bool read_event(struct hv_stream_head *h, char *text, size_t len_bytes)
{
	char *end = memchr(text, '\n', len_bytes);
	size_t nr = h->head.nr_events;

	if (!end || end == text || nr == HV_STREAM_EVENTS_MAX)
		return false;
	*end++ = '\0';
	if ((nr & (nr - 1)) == 0)
		h->events = hv_realloc_array(h->events, nr ? 2 * nr : 1, sizeof(*h->events));
	h->events[nr] = (struct hv_export_event){text, {end, len_bytes - (size_t)(end - text)}};
	h->head.nr_events++;
	return true;
}

static struct hv_export_text *text_of(struct hv_export_head *head, enum kind kind)
{
	if (kind == TRACE_CLOCK)
		return &head->trace_clock;
	if (kind == HEADER_PAGE)
		return &head->header_page;
	if (kind == HEADER_EVENT)
		return &head->header_event;
	if (kind == KALLSYMS)
		return &head->kallsyms;
	return kind == PRINTK_FORMATS ? &head->printk_formats : NULL;
}

static const char **string_of(struct hv_stream_head *h, enum kind kind)
{
	if (kind == GUEST)
		return &h->guest;
	if (kind == HOST)
		return &h->host;
	if (kind == CLOCK)
		return &h->head.clock;
	if (kind == KERNEL)
		return &h->head.kernel;
	return kind == PROGRAM ? &h->head.program : NULL;
}

/* A NUL follows the LEN_BYTES of BYTES. */
static bool read_record(struct reading *r, unsigned kind, char *bytes, size_t len_bytes)
{
	struct hv_export_text *text;
	const char **string;

	if (kind >= NR_KINDS)
		return true;
	if (kind != EVENT && r->seen & 1u << kind)
		return false;
	r->seen |= 1u << kind;
	if (kind == NUMBERS)
		return read_numbers(&r->h->head, (struct hv_span){(uint8_t *)bytes, len_bytes});
	if (kind == DATE)
		return read_date(&r->h->head, (struct hv_span){(uint8_t *)bytes, len_bytes});
	if (memchr(bytes, '\0', len_bytes))
		return false;
	if (kind == EVENT)
		return read_event(r->h, bytes, len_bytes);
	string = string_of(r->h, kind);
	text = text_of(&r->h->head, kind);
	if (string)
		*string = bytes;
	else if (text)
		*text = (struct hv_export_text){bytes, len_bytes};
	return true;
}

static bool read_all(struct reading *r, char *data, size_t len_bytes)
{
	struct hv_span in = {(uint8_t *)data, len_bytes};
	size_t at = 0;
	uint32_t len;
	uint16_t kind;

	while (at < len_bytes) {
		if (!hv_span_u16(in, at, &kind) || !hv_span_u32(in, at + 4, &len) ||
		    !hv_span_has(in, at + RECORD_LEN, (size_t)len + 1) ||
		    data[at + RECORD_LEN + len] != '\0' ||
		    !read_record(r, kind, data + at + RECORD_LEN, len))
			return false;
		at += RECORD_LEN + (size_t)len + 1;
	}
	return (r->seen | 1u << EVENT | 1u << DATE) == (1u << NR_KINDS) - 2;
}

bool hv_stream_head_decode(struct hv_text *text, struct hv_stream_head *ret)
{
	struct hv_stream_head h = {.text = *text};
	struct reading r = {.h = &h};

	*text = (struct hv_text){0};
	if (!h.text.len_bytes || !read_all(&r, h.text.data, h.text.len_bytes)) {
		hv_stream_head_deinit(&h);
		return false;
	}
	h.head.events = h.events;
	*ret = h;
	return true;
}

void hv_stream_head_deinit(struct hv_stream_head *h)
{
	hv_text_deinit(&h->text);
	free(h->events);
	*h = (struct hv_stream_head){0};
}
