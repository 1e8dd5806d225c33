/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/settings/options.h"

#include <ctype.h>
#include <string.h>

#include "base/prefix.h"

#define OF_FUNCTION .tracer = "function", .need = 1u << HV_TRACER_FUNCTION
#define OF_GRAPH    .tracer = "function_graph", .need = HV_RIGHT_GRAPH

const struct hv_option_info hv_option_infos[HV_NR_OPTIONS] = {
	[HV_OPT_PRINT_PARENT] = {.name = "print-parent", .on = 1},
	[HV_OPT_SYM_OFFSET] = {.name = "sym-offset"},
	[HV_OPT_SYM_ADDR] = {.name = "sym-addr"},
	[HV_OPT_VERBOSE] = {.name = "verbose"},
	[HV_OPT_RAW] = {.name = "raw"},
	[HV_OPT_HEX] = {.name = "hex"},
	[HV_OPT_BIN] = {.name = "bin"},
	[HV_OPT_BLOCK] = {.name = "block"},
	[HV_OPT_ANNOTATE] = {.name = "annotate", .on = 1},
	[HV_OPT_USERSTACKTRACE] = {.name = "userstacktrace", .need = HV_RIGHT_EVENTS},
	[HV_OPT_SYM_USEROBJ] = {.name = "sym-userobj", .need = HV_RIGHT_ROOT},
	[HV_OPT_CONTEXT_INFO] = {.name = "context-info", .on = 1},
	[HV_OPT_LATENCY_FORMAT] = {.name = "latency-format"},
	[HV_OPT_RECORD_CMD] = {.name = "record-cmd", .on = 1, .only_top = 1},
	[HV_OPT_RECORD_TGID] = {.name = "record-tgid"},
	[HV_OPT_OVERWRITE] = {.name = "overwrite", .on = 1},
	[HV_OPT_DISABLE_ON_FREE] = {.name = "disable_on_free"},
	[HV_OPT_IRQ_INFO] = {.name = "irq-info", .on = 1},
	[HV_OPT_MARKERS] = {.name = "markers", .on = 1},
	[HV_OPT_EVENT_FORK] = {.name = "event-fork", .need = HV_RIGHT_EVENTS, .is_zeroed = 1},
	[HV_OPT_PAUSE_ON_TRACE] = {.name = "pause-on-trace"},
	[HV_OPT_FUNCTION_TRACE] = {.name = "function-trace", .need = HV_RIGHT_FUNCTIONS},
	[HV_OPT_FUNCTION_FORK] = {.name = "function-fork",
				  .need = HV_RIGHT_FUNCTIONS,
				  .is_zeroed = 1},
	[HV_OPT_DISPLAY_GRAPH] = {.name = "display-graph", .need = HV_RIGHT_GRAPH},
	[HV_OPT_STACKTRACE] = {.name = "stacktrace", .need = HV_RIGHT_EVENTS},
	[HV_OPT_FUNC_STACK_TRACE] = {.name = "func_stack_trace", OF_FUNCTION},
	[HV_OPT_FUNCGRAPH_OVERRUN] = {.name = "funcgraph-overrun", OF_GRAPH},
	[HV_OPT_FUNCGRAPH_CPU] = {.name = "funcgraph-cpu", OF_GRAPH, .on = 1},
	[HV_OPT_FUNCGRAPH_OVERHEAD] = {.name = "funcgraph-overhead", OF_GRAPH, .on = 1},
	[HV_OPT_FUNCGRAPH_PROC] = {.name = "funcgraph-proc", OF_GRAPH},
	[HV_OPT_FUNCGRAPH_DURATION] = {.name = "funcgraph-duration", OF_GRAPH, .on = 1},
	[HV_OPT_FUNCGRAPH_ABSTIME] = {.name = "funcgraph-abstime", OF_GRAPH},
	[HV_OPT_FUNCGRAPH_IRQS] = {.name = "funcgraph-irqs", OF_GRAPH, .on = 1},
	[HV_OPT_FUNCGRAPH_TAIL] = {.name = "funcgraph-tail", OF_GRAPH},
	[HV_OPT_FUNCGRAPH_RETVAL] = {.name = "funcgraph-retval", OF_GRAPH},
	[HV_OPT_FUNCGRAPH_RETVAL_HEX] = {.name = "funcgraph-retval-hex", OF_GRAPH},
	[HV_OPT_SLEEP_TIME] = {.name = "sleep-time", OF_GRAPH, .on = 1},
	[HV_OPT_GRAPH_TIME] = {.name = "graph-time", OF_GRAPH, .on = 1},
	[HV_OPT_FUNCGRAPH_HOST] = {.name = "funcgraph-host", OF_GRAPH},
};

_Static_assert(HV_NR_OPTIONS <= 64, "a bit for each option");

struct hv_options hv_options_default(void)
{
	struct hv_options o = {0};

	for (unsigned i = 0; i < HV_NR_OPTIONS; i++)
		hv_options_set(&o, i, hv_option_infos[i].on);
	return o;
}

struct hv_options hv_options_inherited(const struct hv_options *top)
{
	struct hv_options o = *top;

	for (unsigned i = 0; i < HV_NR_OPTIONS; i++)
		if (hv_option_infos[i].is_zeroed)
			hv_options_set(&o, i, HV_OFF);
	return o;
}

bool hv_option_find(const char *name, enum hv_option *ret)
{
	for (unsigned i = 0; i < HV_NR_OPTIONS; i++) {
		if (strcmp(hv_option_infos[i].name, name) != 0)
			continue;
		*ret = i;
		return true;
	}
	return false;
}

static bool is_shown(const struct hv_option_info *info, const char *tracer)
{
	return !info->tracer || strcmp(info->tracer, tracer) == 0;
}

void hv_options_text(const struct hv_options *o, const char *tracer, struct hv_text *ret)
{
	for (unsigned i = 0; i < HV_NR_OPTIONS; i++) {
		const struct hv_option_info *info = &hv_option_infos[i];

		if (is_shown(info, tracer) && hv_options_have(o, i))
			hv_text_printf(ret, "%s%s\n", hv_options_on(o, i) ? "" : "no", info->name);
	}
}

static char *strip(char *text)
{
	size_t len;

	while (isspace((unsigned char)*text))
		text++;
	len = strlen(text);
	while (len && isspace((unsigned char)text[len - 1]))
		len--;
	text[len] = '\0';
	return text;
}

bool hv_options_parse(const struct hv_options *o, char *text, const char *tracer,
		      enum hv_option *ret, bool *ret_on)
{
	char *name = strip(text);
	bool negated = hv_starts_with(name, "no");
	enum hv_option option;

	if (!hv_option_find(name + (negated ? 2 : 0), &option) || !hv_options_have(o, option))
		return false;
	if (!is_shown(&hv_option_infos[option], tracer))
		return false;
	*ret = option;
	*ret_on = !negated;
	return true;
}
