/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/instance/core/dump.h"

#include "tracer/events/buffer.h"

#define NAME_LEN_MAX 512 /* KSYM_NAME_LEN */

/* Returns "FUNC:dump on CPU 1 by task PID". */
static char *reason(const struct hv_sites *sites, enum hv_probe_command command,
		    const struct hv_event *event)
{
	HV_AUTO_TEXT struct hv_text text = {0};
	const char *name = NULL;

	for (size_t i = 0; i < sites->nr && !name; i++)
		if (sites->list[i].ip.v == event->ip.v)
			name = sites->list[i].name;
	hv_text_add_guest(&text, name ? name : "?", NAME_LEN_MAX);
	hv_text_printf(&text, ":%s on CPU %u by task %u", hv_probe_command_name(command),
		       event->cpu, event->pid);
	return hv_text_take(&text);
}

void hv_dump_begin(struct hv_dump *dump, const struct hv_sites *sites, struct hv_buffer *buffer,
		   const struct hv_tracer_ops *tracer, enum hv_probe_command command,
		   const struct hv_event *event)
{
	int cpu = command == HV_PROBE_DUMP ? -1 : (int)event->cpu;

	if (dump->state != HV_DUMP_NONE)
		return;
	hv_buffer_note_names(buffer);
	*dump = (struct hv_dump){
		.state = HV_DUMP_WAITS,
		.cpu = cpu,
		.tracer = tracer,
		.why = reason(sites, command, event),
		.buffer = buffer,
		.cursor = hv_cursor_new(buffer, cpu, HV_CURSOR_DUMP),
	};
}

void hv_dump_end(struct hv_dump *dump)
{
	hv_cursor_free(dump->cursor);
	free(dump->why);
	*dump = (struct hv_dump){0};
}
