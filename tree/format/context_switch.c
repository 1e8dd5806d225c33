/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/format/context_switch.h"

#include <string.h>

#include "kernel/events/catalogue.h"
#include "tracer/events/names.h"
#include "tree/format/event_texts.h"

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

bool hv_context_switch_read(const struct hv_style *style, const struct hv_event *e,
			    struct hv_context_switch *ret)
{
	const struct hv_event_type *type = hv_event_texts_type(style->events, e->id);
	struct hv_context_switch s;

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
static void add_comm(struct hv_text *out, const struct hv_style *style, uint32_t pid)
{
	const char *comm = style->names ? hv_names_find(style->names, pid) : NULL;

	if (!pid)
		hv_text_add(out, "<idle>");
	else if (comm)
		hv_text_add_guest(out, comm, COMM_LEN);
	else
		hv_text_add(out, HV_COMM_UNKNOWN);
}

void hv_context_switch_text(struct hv_text *out, const struct hv_style *style,
			    const struct hv_context_switch *s)
{
	hv_text_printf(out, " %7d:%3d:%c %s [%03u] %7d:%3d:%c ", (int)s->prev_pid, s->prev_prio,
		       letter(s->prev_state), s->is_wakeup ? "  +" : "==>", s->next_cpu,
		       (int)s->next_pid, s->next_prio, letter(s->next_state));
	add_comm(out, style, s->next_pid);
}

static char first_letter(const struct hv_context_switch *s)
{
	return s->is_wakeup ? '+' : letter(s->prev_state);
}

void hv_context_switch_raw(struct hv_text *out, const struct hv_context_switch *s)
{
	hv_text_printf(out, "%d %d %c %u %d %d %c", (int)s->prev_pid, s->prev_prio, first_letter(s),
		       s->next_cpu, (int)s->next_pid, s->next_prio, letter(s->next_state));
}

void hv_context_switch_hex(struct hv_text *out, const struct hv_context_switch *s)
{
	hv_text_printf(out, "%08x %02x %08x %08x %08x %02x %08x ", s->prev_pid, s->prev_prio,
		       (unsigned)first_letter(s), s->next_cpu, s->next_pid, s->next_prio,
		       (unsigned)letter(s->next_state));
}

void hv_context_switch_bin(struct hv_text *out, const struct hv_context_switch *s)
{
	hv_text_add_bytes(out, &s->prev_pid, sizeof(s->prev_pid));
	hv_text_add_bytes(out, &s->prev_prio, sizeof(s->prev_prio));
	hv_text_add_bytes(out, &s->prev_state, sizeof(s->prev_state));
	hv_text_add_bytes(out, &s->next_cpu, sizeof(s->next_cpu));
	hv_text_add_bytes(out, &s->next_pid, sizeof(s->next_pid));
	hv_text_add_bytes(out, &s->next_prio, sizeof(s->next_prio));
	hv_text_add_bytes(out, &s->next_state, sizeof(s->next_state));
}
