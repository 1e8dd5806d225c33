#include "tree/format/flag_columns.h"

#include <stddef.h>

#include "base/guard.h"

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

void hv_flag_columns(struct hv_text *out, const struct hv_flag_columns *c)
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
