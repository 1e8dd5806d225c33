/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/format/format.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "kernel/events/catalogue.h"
#include "kernel/kernel.h"
#include "tracer/events/event.h"
#include "tracer/events/names.h"
#include "tree/format/event_texts.h"
#include "tree/format/style.h"
#include "tree/format/symbol.h"
#include "tree/format/user_objects.h"

/* -- line starts ------------------------------------------------------------------------------- */

#define NR_KEPT	     256 /* a power of two */
#define HASH_SHIFT   (64 - 8)
#define SECOND_MAX   24
#define SECOND_WIDTH 5

/* Everything that the text depends on, except options. */
struct key {
	char comm[16];
	uint64_t ids; /* pid and cpu */
	uint32_t context;
};

struct kept {
	struct key key;
	uint8_t len; /* 0: unused */
	char text[HV_LINE_PART_MAX];
};

struct hv_line_texts {
	uint64_t options;
	uint64_t second;
	uint8_t second_len; /* 0: unused */
	char second_text[SECOND_MAX];
	struct kept list[NR_KEPT];
};

_Static_assert(SECOND_MAX >= HV_DIGITS_MAX && SECOND_MAX + 7 <= HV_LINE_PART_MAX, "room");
_Static_assert(NR_KEPT == UINT64_C(1) << (64 - HASH_SHIFT), "as many as the hash has values");

struct hv_line_texts *hv_line_texts_new(void)
{
	return hv_alloc(sizeof(struct hv_line_texts));
}

void hv_line_texts_free(struct hv_line_texts *t)
{
	free(t);
}

void hv_line_texts_of(struct hv_line_texts *t, uint64_t options)
{
	if (t->options != options)
		memset(t, 0, sizeof(*t));
	t->options = options;
}

static inline uint64_t ids_of(const struct hv_event *e)
{
	return e->pid | (uint64_t)e->cpu << 32;
}

static inline uint32_t context_of(const struct hv_event *e)
{
	return e->flags | (uint32_t)e->preempt_depth << 8 | (uint32_t)e->migrate_depth << 16 |
	       (uint32_t)e->lazy_depth << 24;
}

static inline size_t bucket_of(const struct hv_event *e)
{
	uint64_t mixed = ids_of(e) ^ (uint64_t)context_of(e) << 24;

	return (size_t)(mixed * UINT64_C(0x9e3779b97f4a7c15) >> HASH_SHIFT);
}

char *hv_line_texts_put_context(const struct hv_line_texts *t, const struct hv_event *e, char *at)
{
	const struct kept *k = &t->list[bucket_of(e)];

	if (!k->len || k->key.ids != ids_of(e) || k->key.context != context_of(e) ||
	    memcmp(k->key.comm, e->comm, sizeof(e->comm)) != 0)
		return NULL;
	memcpy(at, k->text, HV_LINE_PART_MAX);
	return at + k->len;
}

void hv_line_texts_keep_context(struct hv_line_texts *t, const struct hv_text *out, size_t start,
				const struct hv_event *e)
{
	size_t len = out->len_bytes - start;
	struct kept *k = &t->list[bucket_of(e)];

	if (len > HV_LINE_PART_MAX)
		return;
	memcpy(k->key.comm, e->comm, sizeof(k->key.comm));
	k->key.ids = ids_of(e);
	k->key.context = context_of(e);
	k->len = (uint8_t)len;
	memcpy(k->text, out->data + start, len);
}

static void keep_second(struct hv_line_texts *t, uint64_t second)
{
	char *end = hv_put_number(t->second_text, second, SECOND_WIDTH);

	t->second = second;
	t->second_len = (uint8_t)(end - t->second_text);
}

static inline char *put_pair(char *at, unsigned value)
{
	static const char pairs[] = "00010203040506070809101112131415161718192021222324"
				    "25262728293031323334353637383940414243444546474849"
				    "50515253545556575859606162636465666768697071727374"
				    "75767778798081828384858687888990919293949596979899";

	memcpy(at, pairs + (size_t)2 * value, 2);
	return at + 2;
}

char *hv_line_texts_put_time(struct hv_line_texts *t, uint64_t time_ns, char *at)
{
	uint64_t usecs = time_ns / 1000 + (time_ns % 1000 >= 500), second = usecs / 1000000;
	unsigned rest = (unsigned)(usecs % 1000000);

	if (second != t->second || !t->second_len)
		keep_second(t, second);
	memcpy(at, t->second_text, SECOND_MAX);
	at += t->second_len;
	*at++ = '.';
	at = put_pair(at, rest / 10000);
	at = put_pair(at, rest / 100 % 100);
	return put_pair(at, rest % 100);
}

/* -- user stacks ------------------------------------------------------------------------------- */

/* The record ftrace:user_stack of the option userstacktrace, which the kernel prints without its
 * print_fmt (trace_user_stack_print, seq_print_user_ip in kernel/trace/trace_output.c):
 *
 *	<user stack trace>
 *	 =>  <00007f3a5c1e2f10>
 *	 => /usr/bin/frames[+0x1234]		with the option sym-userobj
 */

#define WORD 8u

static bool read_field(const struct hv_event_type *type, const char *name, struct hv_span entry,
		       void *ret, size_t len_bytes);

static bool is_user_stack(const struct hv_event_type *type)
{
	return type && strcmp(type->system, "ftrace") == 0 && strcmp(type->name, "user_stack") == 0;
}

static void add_user_address(struct hv_text *out, const struct hv_style *style, uint32_t tgid,
			     uint64_t address)
{
	bool named = style->user_objects && hv_style_is_on(style, HV_OPT_SYM_USEROBJ) &&
		     hv_user_objects_add(style->user_objects, out, tgid, address);

	if (!named || hv_style_is_on(style, HV_OPT_SYM_ADDR))
		hv_text_printf(out, " <%016" PRIx64 ">", address);
}

/* The addresses end at a 0. */
static void add_user_stack(struct hv_text *out, const struct hv_style *style,
			   const struct hv_event_type *type, const struct hv_event *e)
{
	const struct hv_event_field *callers = NULL;
	uint64_t address;
	uint32_t tgid = 0;

	for (size_t i = 0; i < type->fields.nr; i++)
		if (strcmp(type->fields.list[i].name, "caller") == 0)
			callers = &type->fields.list[i];
	(void)read_field(type, "tgid", e->entry, &tgid, sizeof(tgid));
	hv_text_add(out, "<user stack trace>\n");
	for (uint32_t at = 0; callers && at + WORD <= callers->size_bytes; at += WORD) {
		if (!hv_span_u64(e->entry, (size_t)callers->off + at, &address) || !address)
			return;
		hv_text_add(out, " => ");
		add_user_address(out, style, tgid, address);
		hv_text_add(out, "\n");
	}
}

/* -- wakeups and context switches -------------------------------------------------------------- */

/* The records ftrace:wakeup and ftrace:context_switch of the wakeup tracers, which the kernel
 * prints without their print_fmt (trace_ctxwake_print and others in kernel/trace/trace_output.c):
 *
 *       0:120:R   + [003]   312:100:R kworker/3:1H	pid, priority, state
 *       0:120:R ==> [003]   312:100:R kworker/3:1H
 */

struct context_switch {
	bool is_wakeup;
	uint32_t prev_pid, next_pid, next_cpu;
	uint8_t prev_prio, next_prio;
	uint8_t prev_state, next_state; /* indices into the state letters */
};

#define COMM_LEN 16

static bool read_field(const struct hv_event_type *type, const char *name, struct hv_span entry,
		       void *ret, size_t len_bytes)
{
	for (size_t i = 0; i < type->fields.nr; i++)
		if (strcmp(type->fields.list[i].name, name) == 0)
			return type->fields.list[i].size_bytes == len_bytes &&
			       hv_span_copy(entry, type->fields.list[i].off, ret, len_bytes);
	return false;
}

/* Reads E, an HV_EVENT_GUESTS of TYPE. Returns false if it is another record or too short. */
static bool read_context_switch(const struct hv_event_type *type, const struct hv_event *e,
				struct context_switch *ret)
{
	struct context_switch s;

	if (!type || strcmp(type->system, "ftrace") != 0)
		return false;
	s.is_wakeup = strcmp(type->name, "wakeup") == 0;
	if (!s.is_wakeup && strcmp(type->name, "context_switch") != 0)
		return false;
	if (!read_field(type, "prev_pid", e->entry, &s.prev_pid, sizeof(s.prev_pid)) ||
	    !read_field(type, "next_pid", e->entry, &s.next_pid, sizeof(s.next_pid)) ||
	    !read_field(type, "next_cpu", e->entry, &s.next_cpu, sizeof(s.next_cpu)) ||
	    !read_field(type, "prev_prio", e->entry, &s.prev_prio, sizeof(s.prev_prio)) ||
	    !read_field(type, "next_prio", e->entry, &s.next_prio, sizeof(s.next_prio)) ||
	    !read_field(type, "prev_state", e->entry, &s.prev_state, sizeof(s.prev_state)) ||
	    !read_field(type, "next_state", e->entry, &s.next_state, sizeof(s.next_state)))
		return false;
	*ret = s;
	return true;
}

/* task_index_to_char() */
static char letter(uint8_t state)
{
	static const char letters[] = "RSDTtXZPI";

	return state < sizeof(letters) - 1 ? letters[state] : '?';
}

/* trace_find_cmdline() */
static void add_switched_comm(struct hv_text *out, const struct hv_style *style, uint32_t pid)
{
	const char *comm = style->names ? hv_names_find(style->names, pid) : NULL;

	if (!pid)
		hv_text_add(out, "<idle>");
	else if (comm)
		hv_text_add_guest(out, comm, COMM_LEN);
	else
		hv_text_add(out, HV_COMM_UNKNOWN);
}

/* Add the record without a newline: as text, and in the formats of the options raw, hex and bin. */
static void add_context_switch(struct hv_text *out, const struct hv_style *style,
			       const struct context_switch *s)
{
	hv_text_printf(out, " %7d:%3d:%c %s [%03u] %7d:%3d:%c ", (int)s->prev_pid, s->prev_prio,
		       letter(s->prev_state), s->is_wakeup ? "  +" : "==>", s->next_cpu,
		       (int)s->next_pid, s->next_prio, letter(s->next_state));
	add_switched_comm(out, style, s->next_pid);
}

static char first_letter(const struct context_switch *s)
{
	return s->is_wakeup ? '+' : letter(s->prev_state);
}

static void add_context_switch_raw(struct hv_text *out, const struct context_switch *s)
{
	hv_text_printf(out, "%d %d %c %u %d %d %c", (int)s->prev_pid, s->prev_prio, first_letter(s),
		       s->next_cpu, (int)s->next_pid, s->next_prio, letter(s->next_state));
}

static void add_context_switch_hex(struct hv_text *out, const struct context_switch *s)
{
	hv_text_printf(out, "%08x %02x %08x %08x %08x %02x %08x ", s->prev_pid, s->prev_prio,
		       (unsigned)first_letter(s), s->next_cpu, s->next_pid, s->next_prio,
		       (unsigned)letter(s->next_state));
}

static void add_context_switch_bin(struct hv_text *out, const struct context_switch *s)
{
	hv_text_add_bytes(out, &s->prev_pid, sizeof(s->prev_pid));
	hv_text_add_bytes(out, &s->prev_prio, sizeof(s->prev_prio));
	hv_text_add_bytes(out, &s->prev_state, sizeof(s->prev_state));
	hv_text_add_bytes(out, &s->next_cpu, sizeof(s->next_cpu));
	hv_text_add_bytes(out, &s->next_pid, sizeof(s->next_pid));
	hv_text_add_bytes(out, &s->next_prio, sizeof(s->next_prio));
	hv_text_add_bytes(out, &s->next_state, sizeof(s->next_state));
}

/* -- all events -------------------------------------------------------------------------------- */

#define COMM_WIDTH 16
#define PID_WIDTH  7
#define TIME_MAX   (2 * HV_DIGITS_MAX)

/* TGID: there is a thread group column. */
static void add_irq_columns(struct hv_text *out, bool has_lazy, bool tgid)
{
	const struct hv_flag_columns columns = {.has_lazy = has_lazy, .indent = tgid ? 40 : 30};

	hv_flags_titles(out, &columns);
	hv_text_printf(out, "#           TASK-PID  %s CPU#  %s  TIMESTAMP  FUNCTION\n",
		       tgid ? "     TGID   " : "  ", has_lazy ? "|||||||" : "|||||");
	hv_text_printf(out, "#              | |    %s   |   %s     |         |\n",
		       tgid ? "       |    " : "  ", has_lazy ? "||||||| " : "|||||");
}

static void add_columns(struct hv_text *out, bool tgid)
{
	hv_text_printf(out, "#           TASK-PID    %s CPU#     TIMESTAMP  FUNCTION\n",
		       tgid ? "   TGID   " : "");
	hv_text_printf(out, "#              | |      %s   |         |         |\n",
		       tgid ? "     |    " : "");
}

/* trace_default_header. The latency format has no header for an empty buffer. */
void hv_format_header(struct hv_text *out, const struct hv_style *style,
		      const struct hv_header *header)
{
	bool tgid = hv_style_is_on(style, HV_OPT_RECORD_TGID);

	hv_text_printf(out, "# tracer: %s\n#\n", header->tracer);
	if (!hv_style_is_on(style, HV_OPT_CONTEXT_INFO))
		return;
	if (style->latency && header->entries) {
		hv_latency_header(out, style, header);
		hv_latency_columns(out, style);
	}
	if (style->latency || hv_style_is_on(style, HV_OPT_VERBOSE))
		return;
	hv_text_printf(out,
		       "# entries-in-buffer/entries-written: %" PRIu64 "/%" PRIu64 "   #P:%u\n#\n",
		       header->entries, header->written, header->nr_cpus);
	if (hv_style_is_on(style, HV_OPT_IRQ_INFO))
		add_irq_columns(out, style->kernel->layout.has_lazy, tgid);
	else
		add_columns(out, tgid);
}

void hv_format_lost(struct hv_text *out, unsigned cpu, uint64_t lost)
{
	if (lost)
		hv_text_printf(out, "CPU:%u [LOST %" PRIu64 " EVENTS]\n", cpu, lost);
	else
		hv_text_printf(out, "CPU:%u [LOST EVENTS]\n", cpu);
}

void hv_format_started(struct hv_text *out, unsigned cpu)
{
	hv_text_printf(out, "##### CPU %u buffer started ####\n", cpu);
}

static void add_time(struct hv_text *out, enum hv_clock_kind clock, uint64_t time)
{
	uint64_t usecs = time / 1000 + (time % 1000 >= 500);
	char text[TIME_MAX], *at = text;

	*at++ = ' ';
	if (clock == HV_CLOCK_RAW) {
		at = hv_put_number(at, time, 12);
	} else {
		at = hv_put_number(at, usecs / 1000000, 5);
		*at++ = '.';
		at = hv_put_digits(at, usecs % 1000000, 6);
	}
	*at++ = ':';
	*at++ = ' ';
	hv_text_add_bytes(out, text, (size_t)(at - text));
}

/* "%16s" */
static void add_comm(struct hv_text *out, const char *comm)
{
	static const char blanks[COMM_WIDTH + 1] = "                ";
	size_t len = strnlen(comm, COMM_WIDTH);

	hv_text_add_bytes(out, blanks, COMM_WIDTH - len);
	hv_text_add_guest(out, comm, len);
}

/* "-%-7d " */
static char *put_pid(char *at, uint32_t pid)
{
	char *start;

	*at++ = '-';
	start = at;
	if ((int32_t)pid < 0) {
		*at++ = '-';
		pid = -pid;
	}
	for (at = hv_put_number(at, pid, 0); at < start + PID_WIDTH;)
		*at++ = ' ';
	*at++ = ' ';
	return at;
}

/* "[%03u] " */
static char *put_cpu(char *at, unsigned cpu)
{
	*at++ = '[';
	at = cpu < 1000 ? hv_put_digits(at, cpu, 3) : hv_put_number(at, cpu, 0);
	*at++ = ']';
	*at++ = ' ';
	return at;
}

static void add_text_context(struct hv_text *out, const struct hv_style *style,
			     const struct hv_event *e)
{
	char text[2 * HV_DIGITS_MAX + PID_WIDTH], *at = put_pid(text, e->pid);
	size_t start = out->len_bytes;

	add_comm(out, e->comm);
	if (hv_style_is_on(style, HV_OPT_RECORD_TGID)) {
		hv_text_add_bytes(out, text, (size_t)(at - text));
		at = text;
		if (e->tgid)
			hv_text_printf(out, "(%7u) ", e->tgid);
		else
			hv_text_add(out, "(-------) ");
	}
	at = put_cpu(at, e->cpu);
	hv_text_add_bytes(out, text, (size_t)(at - text));
	if (hv_style_is_on(style, HV_OPT_IRQ_INFO))
		hv_flags_letters(out, style, e);
	if (style->line_texts && !hv_style_is_on(style, HV_OPT_RECORD_TGID))
		hv_line_texts_keep_context(style->line_texts, out, start, e);
	add_time(out, style->clock, e->time_ns);
}

/* The ways to show an event. If several options are set, the first of these wins. */
enum shape { SHAPE_BIN, SHAPE_HEX, SHAPE_RAW, SHAPE_TEXT };

static enum shape shape_of(const struct hv_style *style)
{
	if (hv_style_is_on(style, HV_OPT_BIN))
		return SHAPE_BIN;
	if (hv_style_is_on(style, HV_OPT_HEX))
		return SHAPE_HEX;
	return hv_style_is_on(style, HV_OPT_RAW) ? SHAPE_RAW : SHAPE_TEXT;
}

/* print_bin_fmt, print_hex_fmt, print_raw_fmt, print_trace_fmt */
static void add_context(struct hv_text *out, const struct hv_style *style, enum shape shape,
			const struct hv_event *e)
{
	int32_t ids[2] = {(int32_t)e->pid, (int32_t)e->cpu};

	switch (shape) {
	case SHAPE_BIN:
		hv_text_add_bytes(out, ids, sizeof(ids));
		hv_text_add_bytes(out, &e->time_ns, sizeof(e->time_ns));
		return;
	case SHAPE_HEX:
		hv_text_printf(out, "%08" PRIx32 " %08x %016" PRIx64 " ", e->pid, e->cpu,
			       e->time_ns);
		return;
	case SHAPE_RAW:
		hv_text_printf(out, "%d %u %" PRIu64 " ", (int)e->pid, e->cpu, e->time_ns);
		return;
	case SHAPE_TEXT:
		if (style->latency)
			hv_latency_context(out, style, e);
		else
			add_text_context(out, style, e);
	}
}

/* trace_fn_bin, trace_fn_hex, trace_fn_raw, trace_fn_trace */
static void add_function(struct hv_text *out, const struct hv_style *style, enum shape shape,
			 const struct hv_event *e)
{
	switch (shape) {
	case SHAPE_BIN:
		hv_text_add_bytes(out, &e->ip.v, sizeof(e->ip.v));
		hv_text_add_bytes(out, &e->parent_ip.v, sizeof(e->parent_ip.v));
		return;
	case SHAPE_HEX:
		hv_text_printf(out, "%016" PRIx64 " %016" PRIx64 " \n", e->ip.v, e->parent_ip.v);
		return;
	case SHAPE_RAW:
		hv_text_printf(out, "%" PRIx64 " %" PRIx64 "\n", e->ip.v, e->parent_ip.v);
		return;
	case SHAPE_TEXT:
		break;
	}
	hv_format_address(out, style, e->ip);
	if (hv_style_is_on(style, HV_OPT_PRINT_PARENT) && e->parent_ip.v) {
		hv_text_add_bytes(out, " <-", 3);
		hv_format_address(out, style, e->parent_ip);
	}
	hv_text_add_char(out, '\n');
}

/* trace_print_print, trace_print_raw, trace_nop_print. The kernel ends a text at a NUL and adds a
 * missing newline. */
static void add_print(struct hv_text *out, enum shape shape, const struct hv_event *e)
{
	size_t len = e->text ? strnlen(e->text, e->text_len) : 0;

	if (shape == SHAPE_BIN || shape == SHAPE_HEX) {
		hv_text_add(out, shape == SHAPE_HEX ? "type: 5\n\n" : "type: 5\n");
		return;
	}
	if (shape == SHAPE_RAW)
		hv_text_printf(out, "# %" PRIx64 " ", e->ip.v);
	else
		hv_text_add(out, "tracing_mark_write: ");
	hv_text_add_bytes(out, e->text ? e->text : "", len);
	if (len == e->text_len && (!len || e->text[len - 1] != '\n'))
		hv_text_add(out, "\n");
}

/* trace_raw_data. The kernel's record consists of units of four bytes. */
static void add_raw_data(struct hv_text *out, enum shape shape, const struct hv_event *e)
{
	size_t len = (e->text_len + 3) / 4 * 4;
	uint32_t id = 0;

	if (shape == SHAPE_BIN || shape == SHAPE_HEX) {
		hv_text_add(out, shape == SHAPE_HEX ? "type: 18\n\n" : "type: 18\n");
		return;
	}
	if (e->text && e->text_len >= sizeof(id))
		memcpy(&id, e->text, sizeof(id));
	hv_text_printf(out, "# %x buf:", id);
	for (size_t i = sizeof(id); i < len; i++)
		hv_text_printf(out, " %02x",
			       e->text && i < e->text_len ? (unsigned char)e->text[i] : 0);
	hv_text_add(out, "\n");
}

/* trace_stack_print, trace_nop_print */
static void add_stack(struct hv_text *out, const struct hv_style *style, enum shape shape,
		      const struct hv_event *e)
{
	if (shape != SHAPE_TEXT) {
		hv_text_add(out, shape == SHAPE_HEX ? "type: 4\n\n" : "type: 4\n");
		return;
	}
	hv_text_add(out, "<stack trace>\n");
	for (size_t i = 0; i < e->nr_callers; i++) {
		hv_text_add(out, " => ");
		hv_format_address(out, style, e->callers[i]);
		hv_text_add(out, "\n");
	}
	/* The kernel adds no such line when its unwinder stops early. */
	if (e->callers_end_early)
		hv_text_add(out, " => [callers beyond are unknown]\n");
}

/* trace_ctx_print, trace_ctx_raw and others */
static void add_switch(struct hv_text *out, const struct hv_style *style, enum shape shape,
		       const struct context_switch *s)
{
	switch (shape) {
	case SHAPE_BIN:
		add_context_switch_bin(out, s);
		return;
	case SHAPE_HEX:
		add_context_switch_hex(out, s);
		break;
	case SHAPE_RAW:
		add_context_switch_raw(out, s);
		break;
	case SHAPE_TEXT:
		add_context_switch(out, style, s);
	}
	hv_text_add(out, "\n");
}

/* trace_nop_print in all shapes but the first */
static void add_guests(struct hv_text *out, const struct hv_style *style, enum shape shape,
		       const struct hv_event *e)
{
	const struct hv_event_type *type = hv_event_texts_type(style->events, e->id);
	struct context_switch found;

	if (read_context_switch(type, e, &found)) {
		add_switch(out, style, shape, &found);
		return;
	}
	if (shape == SHAPE_TEXT && is_user_stack(type)) {
		add_user_stack(out, style, type, e);
		return;
	}
	if (shape == SHAPE_TEXT)
		hv_event_texts_add(style->events, out, style->options, e);
	else
		hv_text_printf(out, "type: %u", e->id);
	hv_text_add(out, shape == SHAPE_HEX ? "\n\n" : "\n");
}

void hv_format_comment(struct hv_text *out, const struct hv_style *style, const struct hv_event *e)
{
	hv_text_add(out, "");
	if (e->kind == HV_EVENT_GUESTS)
		add_guests(out, style, SHAPE_TEXT, e);
	else if (e->kind == HV_EVENT_RAW_DATA)
		add_raw_data(out, SHAPE_TEXT, e);
	else if (e->text_len)
		hv_text_add_bytes(out, e->text, strnlen(e->text, e->text_len));
	if (out->len_bytes && out->data[out->len_bytes - 1] == '\n')
		out->data[--out->len_bytes] = '\0';
}

#define BIT(option) (UINT64_C(1) << (option))

/* The options with which lines consist almost entirely of cached text. */
#define USUALLY_ON (BIT(HV_OPT_CONTEXT_INFO) | BIT(HV_OPT_PRINT_PARENT))
#define USUALLY_OFF                                                                                \
	(BIT(HV_OPT_BIN) | BIT(HV_OPT_HEX) | BIT(HV_OPT_RAW) | BIT(HV_OPT_RECORD_TGID) |           \
	 BIT(HV_OPT_SYM_OFFSET) | BIT(HV_OPT_SYM_ADDR))

#define USUAL_MAX (2 * HV_LINE_PART_MAX + 2 * HV_SYMBOL_TEXT_MAX + 16)

static bool is_usual(const struct hv_style *style)
{
	return (style->options->bits & (USUALLY_ON | USUALLY_OFF)) == USUALLY_ON &&
	       style->line_texts && style->symbols && !style->latency &&
	       style->clock != HV_CLOCK_RAW;
}

/* Adds the line of a call if all its parts are cached, with the same result as the other functions.
 * Returns false and adds nothing for other events or uncached parts. */
static bool add_usual(struct hv_text *out, const struct hv_style *style, const struct hv_event *e)
{
	char *at;

	if (e->kind != HV_EVENT_FUNCTION || !is_usual(style))
		return false;
	at = hv_line_texts_put_context(style->line_texts, e, hv_text_room(out, USUAL_MAX));
	if (!at)
		return false;
	*at++ = ' ';
	at = hv_line_texts_put_time(style->line_texts, e->time_ns, at);
	*at++ = ':';
	*at++ = ' ';
	at = hv_symbol_texts_put(style->symbols, e->ip, HV_SYMBOL_PLAIN, at);
	if (at && e->parent_ip.v) {
		memcpy(at, " <-", 3);
		at = hv_symbol_texts_put(style->symbols, e->parent_ip, HV_SYMBOL_PLAIN, at + 3);
	}
	if (!at)
		return false;
	*at++ = '\n';
	hv_text_end(out, at);
	return true;
}

void hv_format_event(struct hv_text *out, const struct hv_style *style,
		     const struct hv_event *event)
{
	enum shape shape = shape_of(style);

	if (add_usual(out, style, event))
		return;
	if (hv_style_is_on(style, HV_OPT_CONTEXT_INFO))
		add_context(out, style, shape, event);
	switch (event->kind) {
	case HV_EVENT_PRINT:
		add_print(out, shape, event);
		return;
	case HV_EVENT_RAW_DATA:
		add_raw_data(out, shape, event);
		return;
	case HV_EVENT_STACK:
		add_stack(out, style, shape, event);
		return;
	case HV_EVENT_GUESTS:
		add_guests(out, style, shape, event);
		return;
	case HV_EVENT_COMMAND:
		return;
	case HV_EVENT_FUNCTION:
	case HV_EVENT_GRAPH_ENTRY:
	case HV_EVENT_GRAPH_EXIT:
		add_function(out, style, shape, event);
	}
}
