/* SPDX-License-Identifier: GPL-2.0-or-later */
/* trace_clock and timestamp_mode: the clock of the events' times, and how pages store them. */
#include <string.h>

#include "kernel/kernel.h"
#include "tree/files/files.h"
#include "tree/instance/core/sharing.h"
#include "tree/settings/token.h"

#define CLOCK_NAME_MAX 64

static const char *const names[] = {
	[HV_TRACE_CLOCK_GUEST] = "local",
	[HV_TRACE_CLOCK_TSC] = NULL, /* counter_name of the architecture */
	[HV_TRACE_CLOCK_HOST] = "host-mono",
	[HV_TRACE_CLOCK_MONO] = "mono",
	[HV_TRACE_CLOCK_BOOT] = "boot",
	[HV_TRACE_CLOCK_TAI] = "tai",
	[HV_TRACE_CLOCK_GLOBAL] = "global",
};

static bool has_clock(struct hv_session *s, enum hv_trace_clock clock)
{
	return !hv_clocks_why_not(s->clocks, clock);
}

static const char *name_of(struct hv_session *s, enum hv_trace_clock clock)
{
	return names[clock] ? names[clock] : s->kernel->core.as.arch->counter_name;
}

/* If hvtrace cannot compute the guest's own clock, times are raw counter values. */
static bool is_chosen(const struct hv_buffers *b, enum hv_trace_clock clock)
{
	if (clock == HV_TRACE_CLOCK_TSC)
		return hv_buffers_clock_kind(b) == HV_CLOCK_RAW;
	return b->clock == clock;
}

static void show_clock(struct hv_file *f)
{
	const char *blank = "";

	for (size_t i = 0; i < HV_ARRAY_LEN(names); i++) {
		const char *form =
			is_chosen(hv_instance_buffers(f->at.instance), i) ? "%s[%s]" : "%s%s";

		if (!has_clock(hv_file_session(f), i))
			continue;
		hv_text_printf(&f->text, form, blank, name_of(hv_file_session(f), i));
		blank = " ";
	}
	hv_text_add(&f->text, "\n");
}

/* Setting a clock clears the buffer, even if the clock does not change (tracing_set_clock). */
static struct hv_err *write_clock(struct hv_file *f, const char *buf, size_t len_bytes,
				  size_t *ret_len)
{
	HV_AUTO_FREE char *name = NULL;

	if (len_bytes >= CLOCK_NAME_MAX)
		return hv_err_new(EINVAL, "the name of a clock has at most %d bytes, not %zu",
				  CLOCK_NAME_MAX - 1, len_bytes);
	name = hv_name_written(buf, len_bytes);
	for (size_t i = 0; i < HV_ARRAY_LEN(names); i++) {
		const char *why_not = hv_clocks_why_not(hv_file_session(f)->clocks, i);

		if (strcmp(name, name_of(hv_file_session(f), i)) != 0)
			continue;
		if (why_not)
			return hv_err_new(EINVAL, "there is no clock '%s': %s", name, why_not);
		hv_instance_use_clock(f->at.instance, i);
		*ret_len = len_bytes;
		return NULL;
	}
	return hv_err_new(EINVAL, "there is no clock '%s'", name);
}

/* In pages of trace_pipe_raw an event stores the time since the previous event. */
static void show_timestamps(struct hv_file *f)
{
	hv_text_add(&f->text, "[delta] absolute\n");
}

const struct hv_node hv_clock_node = {
	.reads = HV_RIGHT_READ,
	.writes = HV_NEEDS_SETTING,
	.help = "the clock of the time stamps; a write clears the buffer",
	.show = show_clock,
	.write = write_clock,
};

const struct hv_node hv_timestamps_node = {
	.reads = HV_RIGHT_READ,
	.help = "how times are stored in the pages of trace_pipe_raw",
	.show = show_timestamps,
};
