/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/format/flags.h"

#include <stdio.h>

#include "kernel/kernel.h"

enum when { ALWAYS, WITH_CPU, WITH_LAZY };

static const struct {
	enum when when;
	const char *title;
} titles[] = {
	{WITH_CPU, "CPU#"},
	{ALWAYS, "irqs-off/BH-disabled"},
	{ALWAYS, "need-resched"},
	{WITH_LAZY, "need-resched-lazy"},
	{ALWAYS, "hardirq/softirq"},
	{ALWAYS, "preempt-depth"},
	{WITH_LAZY, "preempt-lazy-depth"},
	{ALWAYS, "migrate-disable"},
};

#define LETTERS_MAX 10

static const char bars[HV_ARRAY_LEN(titles) + 1] = "||||||||";
static const char dashes[HV_ARRAY_LEN(titles) + 1] = "--------";

static bool is_there(const struct hv_flag_columns *c, enum when when)
{
	switch (when) {
	case ALWAYS:
		return true;
	case WITH_CPU:
		return c->has_cpu;
	case WITH_LAZY:
		return c->has_lazy;
	}
	return false;
}

void hv_flags_titles(struct hv_text *out, const struct hv_flag_columns *c)
{
	int nr_left = 0, nr_done = 0;

	for (size_t i = 0; i < HV_ARRAY_LEN(titles); i++)
		nr_left += is_there(c, titles[i].when);
	for (size_t i = 0; i < HV_ARRAY_LEN(titles); i++) {
		if (!is_there(c, titles[i].when))
			continue;
		hv_text_printf(out, "#%*s%.*s%s_%.*s=> %-*s\n", c->indent, "",
			       nr_done ? nr_done - 1 : 0, bars, nr_done ? " / " : "  ", nr_left,
			       dashes, c->title_width, titles[i].title);
		nr_done++;
		nr_left--;
	}
	hv_text_printf(out, "#%*s%.*s /     %-*s\n", c->indent, "", nr_done - 1, bars,
		       c->title_width, "delay");
}

static char irqs_char(uint8_t flags)
{
	if (flags & HV_TRACE_IRQS_OFF)
		return flags & HV_TRACE_BH_OFF ? 'D' : 'd';
	return flags & HV_TRACE_BH_OFF ? 'b' : '.';
}

static char resched_char(uint8_t flags)
{
	bool preempt = flags & HV_TRACE_PREEMPT_RESCHED;

	switch (flags & (HV_TRACE_NEED_RESCHED | HV_TRACE_NEED_RESCHED_LAZY)) {
	case HV_TRACE_NEED_RESCHED | HV_TRACE_NEED_RESCHED_LAZY:
		return preempt ? 'B' : 'b';
	case HV_TRACE_NEED_RESCHED:
		return preempt ? 'N' : 'n';
	case HV_TRACE_NEED_RESCHED_LAZY:
		return preempt ? 'L' : 'l';
	default:
		return preempt ? 'p' : '.';
	}
}

static char context_char(uint8_t flags)
{
	if (flags & HV_TRACE_NMI)
		return flags & HV_TRACE_HARDIRQ ? 'Z' : 'z';
	if (flags & HV_TRACE_HARDIRQ)
		return flags & HV_TRACE_SOFTIRQ ? 'H' : 'h';
	return flags & HV_TRACE_SOFTIRQ ? 's' : '.';
}

static char depth_char(uint8_t depth)
{
	return ".123456789abcdef"[depth & 15];
}

/* trace_print_lat_fmt. If a kernel has columns for lazy preemption, a lazy request is shown there
 * and not in need-resched. */
void hv_flags_letters(struct hv_text *out, const struct hv_style *style, const struct hv_event *e)
{
	bool has_lazy = style->kernel->layout.has_lazy;
	uint8_t usual = e->flags;
	char letters[LETTERS_MAX];
	size_t nr = 0;

	if (has_lazy)
		usual &= (uint8_t)~HV_TRACE_NEED_RESCHED_LAZY;
	letters[nr++] = irqs_char(usual);
	letters[nr++] = resched_char(usual);
	if (has_lazy)
		letters[nr++] = e->flags == usual ? '.' : 'L';
	letters[nr++] = context_char(usual);
	letters[nr++] = depth_char(e->preempt_depth);
	if (has_lazy && e->lazy_depth)
		nr += (size_t)snprintf(letters + nr, sizeof(letters) - nr, "%x", e->lazy_depth);
	else if (has_lazy)
		letters[nr++] = '.';
	letters[nr++] = depth_char(e->migrate_depth);
	hv_text_add_bytes(out, letters, nr);
}
