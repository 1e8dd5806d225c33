#include "tracer/events/decoder.h"

#include "base/guard.h"
#include "kernel/kernel.h"

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
			   .text_base = k->core.as.arch->text_base,
			   .resched = k->layout.resched},
	};
	return d;
}

void hv_decoder_free(struct hv_decoder *d)
{
	if (!d)
		return;
	hv_marks_deinit(&d->marks);
	free(d);
}

static void decode_mark(const struct hv_decoder *d, const struct hv_record *record,
			struct hv_event *ret)
{
	uint64_t id = record->word[1] & ~(UINT64_C(1) << HV_LAP_BIT);
	const struct hv_mark *mark = hv_marks_find(&d->marks, id);

	*ret = (struct hv_event){.kind = HV_EVENT_PRINT, .comm = "hvtrace"};
	hv_kernel_symbol(d->kernel, "tracing_mark_write", &ret->ip);
	if (!mark)
		return;
	ret->kind = mark->kind;
	ret->text = mark->bytes;
	ret->text_len = mark->len_bytes;
}

void hv_decoder_event(const struct hv_decoder *d, const struct hv_record *record,
		      const struct hv_parts *parts, struct hv_event *ret)
{
	if (hv_record_kind(record) == HV_RECORD_MARK)
		decode_mark(d, record, ret);
	else
		hv_decode_event(&d->decode, record, parts ? parts->list : NULL, ret);
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
	hv_event_set_comm(event, event->pid ? hv_names_find(d->names, event->pid) : NULL);
	event->tgid = hv_names_tgid(d->names, event->pid);
}

size_t hv_decoder_callers(struct hv_decoder *d, const struct hv_event *event,
			  const struct hv_parts *words, struct hv_gva *ret)
{
	struct hv_stack_words decoded;
	size_t nr = 0;

	ret[nr++] = hv_gva_add(event->ip, d->decode.arch->site_len_bytes);
	if (words) {
		hv_decode_words(&d->decode, words->list, words->nr, &decoded);
		nr += hv_callers_find(d->callers, &decoded, ret + nr, HV_CALLERS_MAX - nr);
	}
	if (nr == 1 && event->parent_ip.v)
		ret[nr++] = event->parent_ip;
	return nr;
}
