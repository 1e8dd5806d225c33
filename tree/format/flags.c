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

/* trace_print_lat_fmt. Where a kernel has columns for lazy preemption, a request for it is shown
 * there and not in need-resched. */
void hv_flags_letters(struct hv_text *out, const struct hv_style *style, const struct hv_event *e)
{
	uint8_t usual = e->flags;
	const char *asked = "";
	char lazy_depth[4] = "";

	if (style->kernel->layout.has_lazy) {
		usual &= (uint8_t)~HV_TRACE_NEED_RESCHED_LAZY;
		asked = e->flags == usual ? "." : "L";
		snprintf(lazy_depth, sizeof(lazy_depth), e->lazy_depth ? "%x" : ".", e->lazy_depth);
	}
	hv_text_printf(out, "%c%c%s%c%c%s%c", irqs_char(usual), resched_char(usual), asked,
		       context_char(usual), depth_char(e->preempt_depth), lazy_depth,
		       depth_char(e->migrate_depth));
}
