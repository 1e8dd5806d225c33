#include "tracer/format.h"

#include <inttypes.h>

#include "kernel/kernel.h"

#define NAME_LEN_MAX 512 /* KSYM_NAME_LEN */

static const char irq_columns[] = "#                                _-----=> irqs-off/BH-disabled\n"
				  "#                               / _----=> need-resched\n"
				  "#                              | / _---=> hardirq/softirq\n"
				  "#                              || / _--=> preempt-depth\n"
				  "#                              ||| / _-=> migrate-disable\n"
				  "#                              |||| /     delay\n"
				  "#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION\n"
				  "#              | |         |   |||||     |         |\n";
static const char columns[] = "#           TASK-PID     CPU#     TIMESTAMP  FUNCTION\n"
			      "#              | |         |         |         |\n";

static bool is_on(const struct hv_style *style, enum hv_option option)
{
	return hv_options_on(style->options, option);
}

/* trace_default_header */
void hv_format_header(struct hv_text *out, const struct hv_style *style, const char *tracer,
		      uint64_t in_buffer, uint64_t written, unsigned nr_cpus)
{
	hv_text_printf(out, "# tracer: %s\n#\n", tracer);
	if (!is_on(style, HV_OPT_CONTEXT_INFO) || is_on(style, HV_OPT_VERBOSE))
		return;
	hv_text_printf(out,
		       "# entries-in-buffer/entries-written: %" PRIu64 "/%" PRIu64 "   #P:%u\n#\n",
		       in_buffer, written, nr_cpus);
	hv_text_add(out, is_on(style, HV_OPT_IRQ_INFO) ? irq_columns : columns);
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

static char irqs_char(uint8_t flags)
{
	if (flags & HV_TRACE_IRQS_OFF)
		return flags & HV_TRACE_BH_OFF ? 'D' : 'd';
	return flags & HV_TRACE_BH_OFF ? 'b' : '.';
}

static char resched_char(uint8_t flags)
{
	if (flags & HV_TRACE_NEED_RESCHED)
		return flags & HV_TRACE_PREEMPT_RESCHED ? 'N' : 'n';
	return flags & HV_TRACE_PREEMPT_RESCHED ? 'p' : '.';
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

static void add_time(struct hv_text *out, enum hv_clock_kind clock, uint64_t time)
{
	uint64_t usecs = time / 1000 + (time % 1000 >= 500);

	if (clock == HV_CLOCK_RAW)
		hv_text_printf(out, " %12" PRIu64 ": ", time);
	else
		hv_text_printf(out, " %5" PRIu64 ".%06" PRIu64 ": ", usecs / 1000000,
			       usecs % 1000000);
}

void hv_format_context(struct hv_text *out, const struct hv_style *style, const struct hv_event *e)
{
	HV_AUTO_TEXT struct hv_text comm = {0};

	hv_text_add_guest(&comm, e->comm, sizeof(e->comm));
	hv_text_printf(out, "%16s-%-7d ", comm.data ? comm.data : "", (int)e->pid);
	hv_text_printf(out, "[%03u] ", e->cpu);
	if (is_on(style, HV_OPT_IRQ_INFO))
		hv_text_printf(out, "%c%c%c%c%c", irqs_char(e->flags), resched_char(e->flags),
			       context_char(e->flags), depth_char(e->preempt_depth),
			       depth_char(e->migrate_depth));
	add_time(out, style->clock, e->time_ns);
}

/* sprint_symbol(): with the offset comes the module; trace_seq_print_sym(): without it not. */
void hv_format_symbol(struct hv_text *out, const struct hv_style *style, struct hv_gva addr)
{
	const char *name, *module;
	uint64_t off;

	if (!addr.v) {
		hv_text_add(out, "0");
		return;
	}
	if (!hv_kernel_symbol_at(style->kernel, addr, &name, &module, &off) || !name[0]) {
		hv_text_printf(out, "0x%08" PRIx64, addr.v);
	} else {
		hv_text_add_guest(out, name, NAME_LEN_MAX);
		if (is_on(style, HV_OPT_SYM_OFFSET))
			hv_text_printf(out, "+0x%" PRIx64 "/0x%" PRIx64, off,
				       hv_kernel_symbol_size(style->kernel, addr));
		if (is_on(style, HV_OPT_SYM_OFFSET) && module) {
			hv_text_add(out, " [");
			hv_text_add_guest(out, module, NAME_LEN_MAX);
			hv_text_add(out, "]");
		}
	}
	if (is_on(style, HV_OPT_SYM_ADDR))
		hv_text_printf(out, " <%016" PRIx64 ">", addr.v);
}

/* print_bin_fmt, trace_fn_bin */
static void format_bin(struct hv_text *out, const struct hv_style *style, const struct hv_event *e)
{
	int32_t ids[2] = {(int32_t)e->pid, (int32_t)e->cpu};

	if (is_on(style, HV_OPT_CONTEXT_INFO)) {
		hv_text_add_bytes(out, ids, sizeof(ids));
		hv_text_add_bytes(out, &e->time_ns, sizeof(e->time_ns));
	}
	hv_text_add_bytes(out, &e->ip.v, sizeof(e->ip.v));
	hv_text_add_bytes(out, &e->parent_ip.v, sizeof(e->parent_ip.v));
}

/* print_hex_fmt, trace_fn_hex */
static void format_hex(struct hv_text *out, const struct hv_style *style, const struct hv_event *e)
{
	if (is_on(style, HV_OPT_CONTEXT_INFO))
		hv_text_printf(out, "%08" PRIx32 " %08x %016" PRIx64 " ", e->pid, e->cpu,
			       e->time_ns);
	hv_text_printf(out, "%016" PRIx64 " %016" PRIx64 " \n", e->ip.v, e->parent_ip.v);
}

/* print_raw_fmt, trace_fn_raw */
static void format_raw(struct hv_text *out, const struct hv_style *style, const struct hv_event *e)
{
	if (is_on(style, HV_OPT_CONTEXT_INFO))
		hv_text_printf(out, "%d %u %" PRIu64 " ", (int)e->pid, e->cpu, e->time_ns);
	hv_text_printf(out, "%" PRIx64 " %" PRIx64 "\n", e->ip.v, e->parent_ip.v);
}

static void format_text(struct hv_text *out, const struct hv_style *style, const struct hv_event *e)
{
	if (is_on(style, HV_OPT_CONTEXT_INFO))
		hv_format_context(out, style, e);
	hv_format_symbol(out, style, e->ip);
	if (is_on(style, HV_OPT_PRINT_PARENT) && e->parent_ip.v) {
		hv_text_add(out, " <-");
		hv_format_symbol(out, style, e->parent_ip);
	}
	hv_text_add(out, "\n");
}

void hv_format_event(struct hv_text *out, const struct hv_style *style,
		     const struct hv_event *event)
{
	if (is_on(style, HV_OPT_BIN))
		format_bin(out, style, event);
	else if (is_on(style, HV_OPT_HEX))
		format_hex(out, style, event);
	else if (is_on(style, HV_OPT_RAW))
		format_raw(out, style, event);
	else
		format_text(out, style, event);
}
