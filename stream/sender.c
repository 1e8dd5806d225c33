/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "stream/sender.h"

#include <poll.h>
#include <string.h>
#include <zstd.h>

#include "base/clock.h"
#include "stream/budget.h"
#include "stream/split.h"
#include "stream/table.h"

#define COUNTS_NS	HV_NS_PER_S
#define NAMES_NS	(5 * HV_NS_PER_S)  /* interval for resending unchanged names */
#define ROUND_NS	(10 * HV_NS_PER_S) /* time to resend all parts of the head */
#define QUICK_ROUND_NS	HV_NS_PER_S	   /* time for each of the first NR_QUICK_ROUNDS rounds */
#define NR_QUICK_ROUNDS 3
#define PACE_PARTS	32 /* parts sent before a pause of 1 ms */
#define NR_ENDS		3
#define LEVEL		1
#define PAGE_MIN	256 /* minimum size of a page to compress */
#define BAD_NOTE_NS	HV_NS_PER_S

struct sender {
	struct hv_export base;
	const struct hv_stream_to *to;
	struct hv_stream_out *out;
	enum hv_compression compression;
	uint64_t session;
	uint64_t sequence; /* number of the next frame */
	unsigned nr_cpus;
	uint64_t *sent; /* owned; number of events per vCPU */
	struct hv_stream_parts head;
	struct hv_stream_parts names;
	struct hv_text names_text;
	uint64_t began_ns, names_ns, counted_ns, noted_ns;
	uint64_t nr_parts; /* parts of the head sent since began_ns */
	size_t page_bytes; /* estimate of the page size that fits into a frame after compression */
	uint8_t *page;	   /* owned; page before compression */
	ZSTD_CCtx *zstd;   /* owned */
	int noted_code;
};

static struct sender *sender_of(struct hv_export *x)
{
	return (struct sender *)x;
}

static void sender_free(struct hv_export *x)
{
	struct sender *s = sender_of(x);

	hv_stream_parts_deinit(&s->head);
	hv_stream_parts_deinit(&s->names);
	hv_text_deinit(&s->names_text);
	ZSTD_freeCCtx(s->zstd);
	free(s->sent);
	free(s->page);
	free(s);
}

/* Completes and sends the frame with the body at BODY, which body_room() returned. */
static void put(struct sender *s, uint8_t *body, enum hv_stream_kind kind, unsigned flags,
		size_t len_bytes, size_t raw_bytes)
{
	struct hv_stream_frame f = {
		.kind = (uint8_t)kind,
		.flags = (uint8_t)flags,
		.session = s->session,
		.sequence = s->sequence++,
		.raw_bytes = (uint32_t)raw_bytes,
	};

	hv_stream_out_put(s->out,
			  hv_stream_encode(body - HV_STREAM_HEAD_LEN, &f, len_bytes, &s->to->key));
}

static uint8_t *body_room(struct sender *s)
{
	return hv_stream_out_room(s->out) + HV_STREAM_HEAD_LEN;
}

static void put_part(struct sender *s, struct hv_stream_parts *parts)
{
	struct hv_stream_part p = hv_stream_parts_next(parts);
	uint8_t *at = body_room(s);
	size_t len = HV_STREAM_PART_LEN + p.bytes.len_bytes;

	hv_stream_part_encode(at, &p);
	memcpy(at + HV_STREAM_PART_LEN, p.bytes.data, p.bytes.len_bytes);
	put(s, at, HV_STREAM_TABLE, 0, len, len);
}

/* Sends all parts once, with pauses so that the socket buffer does not overflow. */
static void put_round(struct sender *s, struct hv_stream_parts *parts)
{
	unsigned round = parts->nr_rounds;

	for (unsigned nr = 1; parts->nr_rounds == round; nr++) {
		put_part(s, parts);
		if (nr % PACE_PARTS)
			continue;
		hv_stream_out_flush(s->out);
		poll(NULL, 0, 1);
	}
	hv_stream_out_flush(s->out);
}

static uint16_t part_bytes(const struct sender *s)
{
	return (uint16_t)(s->out->want_bytes - HV_STREAM_FRAME_LEN - HV_STREAM_PART_LEN);
}

static struct hv_err *put_head(struct sender *s, const struct hv_export_head *head)
{
	HV_AUTO_TEXT struct hv_text text = {0};
	struct hv_err *err;

	hv_stream_head_encode(head, s->to->guest, s->to->host, &text);
	err = hv_stream_parts_set(&s->head, HV_STREAM_HEAD,
				  (struct hv_span){(uint8_t *)text.data, text.len_bytes},
				  part_bytes(s));
	if (!err)
		put_round(s, &s->head);
	return err;
}

static struct hv_err *sender_open(const struct hv_export_config *config,
				  const struct hv_export_head *head, struct hv_export **ret)
{
	struct sender *s = hv_alloc(sizeof(*s));
	struct hv_err *err;

	s->to = config->to;
	s->out = config->to->out;
	s->compression = config->compression;
	s->session = hv_stream_random();
	s->nr_cpus = head->nr_cpus;
	s->sent = hv_alloc(head->nr_cpus * sizeof(*s->sent));
	s->page_bytes = head->page_bytes;
	s->page = hv_alloc(HV_STREAM_RAW_MAX);
	s->zstd = ZSTD_createCCtx();
	s->began_ns = hv_now_ns();
	err = put_head(s, head);
	if (err) {
		sender_free(&s->base);
		return err;
	}
	*ret = &s->base;
	return NULL;
}

static void put_events_head(struct sender *s, uint8_t *at, unsigned cpu,
			    const struct hv_stream_piece *piece)
{
	struct hv_stream_events e = {cpu, piece->nr, s->sent[cpu] + piece->nr_skipped, {0}};

	hv_stream_events_encode(at, &e);
}

static void count(struct sender *s, unsigned cpu, const struct hv_stream_piece *piece)
{
	s->sent[cpu] += piece->nr_skipped + piece->nr;
}

/* Sends the next events uncompressed. Returns false if there are no more. */
static bool put_plain(struct sender *s, unsigned cpu, struct hv_stream_split *split)
{
	size_t less = HV_STREAM_FRAME_LEN + HV_STREAM_EVENTS_LEN;
	uint8_t *at = body_room(s);
	struct hv_stream_piece piece =
		hv_stream_split_next(split, at + HV_STREAM_EVENTS_LEN, s->out->want_bytes - less,
				     s->out->max_bytes - less);
	size_t len = HV_STREAM_EVENTS_LEN + piece.len_bytes;

	if (piece.nr) {
		put_events_head(s, at, cpu, &piece);
		put(s, at, HV_STREAM_EVENTS, 0, len, len);
	}
	count(s, cpu, &piece);
	return piece.nr;
}

/* Sends the next events compressed. Adapts page_bytes so that a page fills a frame. Returns false
 * if there are no more. */
static bool put_packed(struct sender *s, unsigned cpu, struct hv_stream_split *split)
{
	size_t want = s->out->want_bytes - HV_STREAM_FRAME_LEN;
	struct hv_stream_split next = *split;
	uint8_t *at = body_room(s);
	struct hv_stream_piece piece;
	size_t raw, len;

	if (s->page_bytes < PAGE_MIN)
		s->page_bytes = PAGE_MIN;
	piece = hv_stream_split_next(&next, s->page + HV_STREAM_EVENTS_LEN, s->page_bytes,
				     s->out->max_bytes - HV_STREAM_FRAME_LEN -
					     HV_STREAM_EVENTS_LEN);
	if (piece.nr) {
		raw = HV_STREAM_EVENTS_LEN + piece.len_bytes;
		put_events_head(s, s->page, cpu, &piece);
		len = ZSTD_compressCCtx(s->zstd, at, want, s->page, raw, LEVEL);
		if (ZSTD_isError(len)) { /* exceeds `want` */
			s->page_bytes = s->page_bytes / 4 * 3;
			return s->page_bytes >= PAGE_MIN || put_plain(s, cpu, split);
		}
		if (!hv_stream_may_grow(len, raw, HV_STREAM_FRAME_GROWTH_FREE))
			return put_plain(s, cpu, split);
		put(s, at, HV_STREAM_EVENTS, HV_STREAM_ZSTD, len, raw);
		if (len < want / 2 && s->page_bytes < HV_STREAM_RAW_MAX / 4)
			s->page_bytes += s->page_bytes / 8;
	}
	count(s, cpu, &piece);
	*split = next;
	return piece.nr;
}

static struct hv_err *sender_add(struct hv_export *x, unsigned cpu, struct hv_span page)
{
	struct sender *s = sender_of(x);
	struct hv_stream_split split;
	bool more = cpu < s->nr_cpus && hv_stream_split_begin(&split, page);

	while (more && s->compression == HV_COMPRESSION_NONE)
		more = put_plain(s, cpu, &split);
	while (more)
		more = put_packed(s, cpu, &split);
	return NULL;
}

/* Data that is sent repeatedly. */

static struct hv_err *sender_name_tasks(struct hv_export *x, struct hv_export_text names)
{
	struct sender *s = sender_of(x);
	struct hv_err *err;

	if (!names.len_bytes || (names.len_bytes == s->names_text.len_bytes &&
				 memcmp(names.text, s->names_text.data, names.len_bytes) == 0))
		return NULL;
	hv_text_clear(&s->names_text);
	hv_text_add_bytes(&s->names_text, names.text, names.len_bytes);
	err = hv_stream_parts_set(&s->names, HV_STREAM_NAMES,
				  (struct hv_span){(const uint8_t *)names.text, names.len_bytes},
				  part_bytes(s));
	if (err)
		return err;
	s->names_ns = hv_now_ns();
	put_round(s, &s->names);
	return NULL;
}

static void put_counts(struct sender *s, enum hv_stream_kind kind)
{
	size_t room = s->out->want_bytes - HV_STREAM_FRAME_LEN - HV_STREAM_COUNTS_LEN;
	uint32_t max = (uint32_t)(room / sizeof(uint64_t));

	for (uint32_t cpu = 0; cpu < s->nr_cpus;) {
		struct hv_stream_counts c = {cpu, s->nr_cpus - cpu, {0}};
		uint8_t *at = body_room(s);
		size_t len;

		if (c.nr > max)
			c.nr = max;
		len = HV_STREAM_COUNTS_LEN + c.nr * sizeof(uint64_t);
		hv_stream_counts_encode(at, &c);
		memcpy(at + HV_STREAM_COUNTS_LEN, s->sent + cpu, c.nr * sizeof(uint64_t));
		cpu += c.nr;
		/* HV_STREAM_END is only for the last frame. */
		put(s, at, cpu < s->nr_cpus ? HV_STREAM_COUNTS : kind, 0, len, len);
	}
}

/* Sends the parts of the head that are due, spreading them over the interval. */
static void put_due_parts(struct sender *s, uint64_t now)
{
	uint64_t round_ns = s->head.nr_rounds < NR_QUICK_ROUNDS ? QUICK_ROUND_NS : ROUND_NS;
	uint64_t nr =
		(s->head.next.total_bytes + s->head.next.part_bytes - 1) / s->head.next.part_bytes;
	uint64_t due = (now - s->began_ns) * nr / round_ns;
	unsigned round = s->head.nr_rounds;

	for (unsigned i = 0; s->nr_parts < due && i < PACE_PARTS; i++, s->nr_parts++)
		put_part(s, &s->head);
	if (s->head.nr_rounds != round || s->nr_parts < due) {
		s->began_ns = now;
		s->nr_parts = 0;
	}
}

static void note_code(struct sender *s, uint64_t now)
{
	HV_AUTO_FREE char *line = NULL;

	if (s->out->code == s->noted_code || now - s->noted_ns < BAD_NOTE_NS)
		return;
	s->noted_ns = now;
	s->noted_code = s->out->code;
	if (s->out->code)
		line = hv_format("%s: cannot deliver events, still trying: %s", s->to->where,
				 strerror(s->out->code));
	else
		line = hv_format("%s: sending events works again", s->to->where);
	s->to->note(line);
}

static struct hv_err *sender_turn(struct hv_export *x)
{
	struct sender *s = sender_of(x);
	uint64_t now = hv_now_ns();

	put_due_parts(s, now);
	if (s->names.packed.len_bytes && now - s->names_ns >= NAMES_NS) {
		s->names_ns = now;
		put_round(s, &s->names);
	}
	if (now - s->counted_ns >= COUNTS_NS) {
		s->counted_ns = now;
		put_counts(s, HV_STREAM_COUNTS);
	}
	hv_stream_out_flush(s->out);
	note_code(s, now);
	return NULL;
}

/* Repeats the end because a frame can be lost. */
static struct hv_err *sender_end(struct hv_export *x)
{
	struct sender *s = sender_of(x);

	for (unsigned i = 0; i < NR_ENDS; i++)
		put_counts(s, HV_STREAM_END);
	hv_stream_out_drain(s->out);
	return NULL;
}

const struct hv_export_format hv_stream_format = {
	.name = "stream",
	.input = HV_EXPORT_PAGES,
	.has_date = 1,
	.open = sender_open,
	.add = sender_add,
	.name_tasks = sender_name_tasks,
	.turn = sender_turn,
	.end = sender_end,
	.free = sender_free,
};
