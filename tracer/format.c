#include "tracer/format.h"

#include <inttypes.h>

#include "kernel/kernel.h"

#define NAME_LEN_MAX 512 /* KSYM_NAME_LEN */

static const char columns[] = "#                                _-----=> irqs-off/BH-disabled\n"
			      "#                               / _----=> need-resched\n"
			      "#                              | / _---=> hardirq/softirq\n"
			      "#                              || / _--=> preempt-depth\n"
			      "#                              ||| / _-=> migrate-disable\n"
			      "#                              |||| /     delay\n"
			      "#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION\n"
			      "#              | |         |   |||||     |         |\n";

void hv_format_header(struct hv_text *out, const char *tracer, uint64_t in_buffer, uint64_t written,
		      unsigned nr_cpus)
{
	hv_text_printf(out, "# tracer: %s\n#\n", tracer);
	hv_text_printf(out,
		       "# entries-in-buffer/entries-written: %" PRIu64 "/%" PRIu64 "   #P:%u\n#\n",
		       in_buffer, written, nr_cpus);
	hv_text_add(out, columns);
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

static void add_prefix(struct hv_text *out, enum hv_clock_kind clock, const struct hv_event *e)
{
	HV_AUTO_TEXT struct hv_text comm = {0};

	hv_text_add_guest(&comm, e->comm, sizeof(e->comm));
	hv_text_printf(out, "%16s-%-7d ", comm.data ? comm.data : "", (int)e->pid);
	hv_text_printf(out, "[%03u] %c%c%c%c%c", e->cpu, irqs_char(e->flags),
		       resched_char(e->flags), context_char(e->flags), depth_char(e->preempt_depth),
		       depth_char(e->migrate_depth));
	add_time(out, clock, e->time_ns);
}

static void add_symbol(struct hv_text *out, const struct hv_kernel *kernel, struct hv_gva addr)
{
	const char *name, *module;
	uint64_t off;

	if (!addr.v)
		hv_text_add(out, "0");
	else if (hv_kernel_symbol_at(kernel, addr, &name, &module, &off) && name[0])
		hv_text_add_guest(out, name, NAME_LEN_MAX);
	else
		hv_text_printf(out, "0x%08" PRIx64, addr.v);
}

void hv_format_event(struct hv_text *out, const struct hv_kernel *kernel, enum hv_clock_kind clock,
		     const struct hv_event *event)
{
	add_prefix(out, clock, event);
	add_symbol(out, kernel, event->ip);
	if (event->parent_ip.v) {
		hv_text_add(out, " <-");
		add_symbol(out, kernel, event->parent_ip);
	}
	hv_text_add(out, "\n");
}
