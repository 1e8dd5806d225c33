/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/events/decoder.h"

#include <string.h>

#include "base/guard.h"
#include "kernel/kernel.h"

/* -- texts of markers -------------------------------------------------------------------------- */

static struct hv_marker_text *at(const struct hv_marker_texts *m, uint64_t id)
{
	return &m->list[id % HV_MARKER_TEXTS_MAX];
}

static void forget_first(struct hv_marker_texts *m)
{
	struct hv_marker_text *text = at(m, m->first++);

	m->nr_bytes -= text->len_bytes;
	free(text->bytes);
	*text = (struct hv_marker_text){0};
}

void hv_marker_texts_deinit(struct hv_marker_texts *m)
{
	while (m->first < m->next)
		forget_first(m);
	free(m->list);
	*m = (struct hv_marker_texts){0};
}

uint64_t hv_marker_texts_add(struct hv_marker_texts *m, unsigned kind, const char *bytes,
			     size_t len_bytes)
{
	struct hv_marker_text *text;

	if (!m->list)
		m->list = hv_alloc(HV_MARKER_TEXTS_MAX * sizeof(*m->list));
	while (m->first < m->next && (m->next - m->first == HV_MARKER_TEXTS_MAX ||
				      m->nr_bytes + len_bytes > HV_MARKER_TEXTS_BYTES_MAX))
		forget_first(m);
	text = at(m, m->next);
	*text = (struct hv_marker_text){
		.id = m->next, .kind = kind, .bytes = hv_alloc(len_bytes), .len_bytes = len_bytes};
	if (len_bytes)
		memcpy(text->bytes, bytes, len_bytes);
	m->nr_bytes += len_bytes;
	return m->next++;
}

const struct hv_marker_text *hv_marker_texts_find(const struct hv_marker_texts *m, uint64_t id)
{
	return id >= m->first && id < m->next ? at(m, id) : NULL;
}

/* -- the decoder ------------------------------------------------------------------------------- */

struct hv_decoder *hv_decoder_new(const struct hv_kernel *k, struct hv_clocks *clocks,
				  struct hv_names *names, struct hv_callers *callers)
{
	struct hv_decoder *d = hv_alloc(sizeof(*d));

	*d = (struct hv_decoder){
		.kernel = k,
		.clocks = clocks,
		.names = names,
		.callers = callers,
		.decode = {.arch = k->core.as.arch,
			   .text_base = hv_reach_of(&k->core).text_base,
			   .context_bits = k->layout.context_bits,
			   .callback_preempt_depth = hv_kernel_is_preemptible(k),
			   .lazy_count_off = k->layout.has_lazy ? HV_ENTRY_HEADER_LEN : 0},
	};
	return d;
}

void hv_decoder_free(struct hv_decoder *d)
{
	if (!d)
		return;
	hv_marker_texts_deinit(&d->marker_texts);
	free(d);
}

void hv_decoder_marker(const struct hv_decoder *d, const struct hv_record *record,
		       struct hv_event *ret)
{
	const struct hv_marker_text *text = hv_marker_texts_find(&d->marker_texts, record->word[1]);

	*ret = (struct hv_event){.kind = HV_EVENT_PRINT, .comm = "hvtrace"};
	hv_kernel_symbol(d->kernel, "tracing_mark_write", &ret->ip);
	if (!text)
		return;
	ret->kind = text->kind;
	ret->text = text->bytes;
	ret->text_len = text->len_bytes;
}

void hv_decoder_note_old_task(struct hv_decoder *d, const struct hv_record *record)
{
	char comm[HV_COMM_LEN];
	uint32_t pid;

	hv_decode_task(record, &pid, comm);
	if (!hv_names_has(d->names, pid))
		hv_names_add(d->names, pid, hv_record_tgid(record), comm);
}

void hv_decoder_note_task(struct hv_decoder *d, const struct hv_record *record)
{
	char comm[HV_COMM_LEN];
	uint32_t pid;

	hv_decode_task(record, &pid, comm);
	hv_names_add(d->names, pid, hv_record_tgid(record), comm);
}

void hv_decoder_name_task(struct hv_decoder *d, struct hv_event *event)
{
	struct hv_named_task *t = &d->named[event->pid & (HV_NR_NAMED - 1)];
	const char *comm;

	if (t->pid == event->pid && t->pid && t->version == hv_names_version(d->names)) {
		memcpy(event->comm, t->comm, sizeof(event->comm));
		event->tgid = t->tgid;
		return;
	}
	comm = event->pid ? hv_names_find(d->names, event->pid) : NULL;
	hv_event_set_comm(event, comm);
	event->tgid = hv_names_tgid(d->names, event->pid);
	if (!comm) /* the name may become known without a new version */
		return;
	t->pid = event->pid;
	t->tgid = event->tgid;
	t->version = hv_names_version(d->names);
	memcpy(t->comm, event->comm, sizeof(t->comm));
}

/* The stack words at the end of a section start below the words of the function that it is in. If
 * the trampoline was called from there, the return address of that call is still on the stack,
 * which the unwind rules of the function do not count. */
static void locate_words(const struct hv_decoder *d, const struct hv_event *event,
			 struct hv_stack_words *words)
{
	uint32_t behind = (uint32_t)(event->ip.v + d->decode.arch->site_len_bytes);

	words->ip = event->ip;
	words->sp += (uint32_t)d->decode.arch->trampolines.section_stack_bytes;
	for (size_t i = 0; i < words->nr; i++) {
		if (words->list[i].at != words->sp || !words->list[i].is_text ||
		    (words->list[i].value | HV_TEXT_BIT) != behind)
			continue;
		words->sp += 8;
		break;
	}
}

/* Like the kernel, does not list the function that contains the event as a caller. */
static void section_callers(struct hv_decoder *d, const struct hv_parts *words, struct hv_gva *list,
			    struct hv_event *event)
{
	struct hv_stack_words decoded;
	bool early = true;
	size_t nr = 0;

	if (words && event->ip.v) {
		hv_decode_words(&d->decode, words->list, words->nr, &decoded);
		locate_words(d, event, &decoded);
		nr = hv_callers_find(d->callers, &decoded, list, HV_CALLERS_MAX, &early);
	}
	for (size_t i = 1; i < nr; i++)
		list[i - 1] = list[i];
	nr -= nr != 0;
	if (!nr && event->parent_ip.v)
		list[nr++] = event->parent_ip;
	event->callers = list;
	event->nr_callers = nr;
	event->callers_end_early = early;
}

void hv_decoder_callers(struct hv_decoder *d, const struct hv_parts *words, struct hv_gva *list,
			struct hv_event *event)
{
	struct hv_stack_words decoded;
	bool early = true;
	size_t nr = 0;

	if (event->of_section) {
		section_callers(d, words, list, event);
		return;
	}
	if (!event->of_event)
		list[nr++] = hv_gva_add(event->ip, d->decode.arch->site_len_bytes);
	if (words) {
		hv_decode_words(&d->decode, words->list, words->nr, &decoded);
		nr += hv_callers_find(d->callers, &decoded, list + nr, HV_CALLERS_MAX - nr, &early);
	}
	if (event->of_event)
		nr = hv_callers_leave_callback(d->callers, list, nr);
	else if (nr == 1 && event->parent_ip.v)
		list[nr++] = event->parent_ip;
	event->callers = list;
	event->nr_callers = nr;
	event->callers_end_early = early;
}
