/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/cli/fake_raw.h"

#include <string.h>

#include "kernel/events/catalogue.h"
#include "tracer/events/host_event.h"
#include "tree/format/event_format.h"
#include "tree/format/raw_page.h"

#define FORMATS "events/ftrace"

#define PROBE_FORMAT(name, id)                                                                     \
	"name: " name "\nID: " id "\nformat:\n"                                                    \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"                     \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"                                 \
	"\nprint fmt: \"\"\n"

static const struct {
	const char *path, *text;
} files[] = {
	{"events/header_page", "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
			       "\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
			       "\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
			       "\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n"},
	{"events/header_event", "# compressed entry header\n"
				"\ttype_len    :    5 bits\n"
				"\ttime_delta  :   27 bits\n"
				"\tarray       :   32 bits\n"
				"\n"
				"\tpadding     : type == 29\n"
				"\ttime_extend : type == 30\n"
				"\ttime_stamp : type == 31\n"
				"\tdata max type_len  == 28\n"},
	{"printk_formats", ""},
	{"available_events", "sched:sched_switch\nsched:sched_wakeup\nsched:sched_waking\n"
			     "host:sched_waking\n"
			     "irq:irq_handler_entry\nirq_vectors:local_timer_entry\n"
			     "hvtrace:sample\n"},
	{"events/sched/sched_switch/format",
	 "name: sched_switch\nID: 300\nformat:\n"
	 "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	 "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
	 "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
	 "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"
	 "\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
	 "\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n"
	 "\tfield:int prev_prio;\toffset:28;\tsize:4;\tsigned:1;\n"
	 "\tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n"
	 "\tfield:char next_comm[16];\toffset:40;\tsize:16;\tsigned:0;\n"
	 "\tfield:pid_t next_pid;\toffset:56;\tsize:4;\tsigned:1;\n"
	 "\tfield:int next_prio;\toffset:60;\tsize:4;\tsigned:1;\n"
	 "\nprint fmt: \"\"\n"},
	{"events/sched/sched_waking/format",
	 "name: sched_waking\nID: 301\nformat:\n"
	 "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	 "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
	 "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
	 "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"
	 "\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
	 "\tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n"
	 "\tfield:int prio;\toffset:28;\tsize:4;\tsigned:1;\n"
	 "\tfield:int target_cpu;\toffset:32;\tsize:4;\tsigned:1;\n"
	 "\nprint fmt: \"\"\n"},
	{"events/sched/sched_wakeup_new/format",
	 "name: sched_wakeup_new\nID: 307\nformat:\n"
	 "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	 "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
	 "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
	 "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"
	 "\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
	 "\tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n"
	 "\tfield:int prio;\toffset:28;\tsize:4;\tsigned:1;\n"
	 "\tfield:int target_cpu;\toffset:32;\tsize:4;\tsigned:1;\n"
	 "\nprint fmt: \"\"\n"},
	{"events/irq/irq_handler_entry/format",
	 "name: irq_handler_entry\nID: 302\nformat:\n"
	 "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	 "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
	 "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
	 "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"
	 "\tfield:int irq;\toffset:8;\tsize:4;\tsigned:1;\n"
	 "\tfield:__data_loc char[] name;\toffset:12;\tsize:4;\tsigned:0;\n"
	 "\nprint fmt: \"\"\n"},
	{"events/irq_vectors/local_timer_entry/format",
	 "name: local_timer_entry\nID: 303\nformat:\n"
	 "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	 "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
	 "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
	 "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"
	 "\tfield:int vector;\toffset:8;\tsize:4;\tsigned:1;\n"
	 "\nprint fmt: \"\"\n"},
	{"events/host/sched_waking/format",
	 "name: sched_waking\nID: 61440\nformat:\n"
	 "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	 "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
	 "\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
	 "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
	 "\tfield:pid_t pid;\toffset:8;\tsize:4;\tsigned:1;\n"
	 "\nprint fmt: \"pid=%d\", REC->pid\n"},
	{"events/kprobes/mine/format", PROBE_FORMAT("mine", "303")},
	{"events/hvtrace/mark/format", PROBE_FORMAT("mark", "304")},
	{"events/hvtrace/sample/format", PROBE_FORMAT("sample", "305")},
	{"events/hvtrace/sample_rest/format", PROBE_FORMAT("sample_rest", "308")},
	{"events/hvtrace/sample_copy/format", PROBE_FORMAT("sample_copy", "307")},
	{"events/hvtrace/block/format", PROBE_FORMAT("block", "306")},
	{"saved_cmdlines", "61 cat\n62 a \"b\\\n"},
	{"trace_clock", "[local] x86-tsc\n"},
};

static void add_names(struct hv_text *ret)
{
	const struct hv_catalogue *c = hv_tracer_types();

	for (size_t i = 0; i < c->nr; i++)
		hv_text_printf(ret, "%s/\n", c->types[i].name);
}

static struct hv_raw_layout layout_of(unsigned kinds, struct hv_raw_more *ret)
{
	struct hv_raw_layout layout = hv_raw_layout_known;

	*ret = (struct hv_raw_more){0};
	if (kinds & FAKE_RAW_RETVALS)
		hv_raw_layout_add(&layout, HV_RAW_RETVAL, ret);
	if (kinds & FAKE_RAW_STEAL)
		hv_raw_layout_add(&layout, HV_RAW_HOST, ret);
	return layout;
}

static bool add_format(const char *path, unsigned kinds, struct hv_text *ret)
{
	const struct hv_catalogue *c = hv_tracer_types();
	struct hv_raw_more more;

	(void)layout_of(kinds, &more);

	for (size_t i = 0; i < c->nr; i++) {
		HV_AUTO_FREE char *own = hv_format(FORMATS "/%s/format", c->types[i].name);

		if (strcmp(own, path) != 0)
			continue;
		if (strcmp(c->types[i].name, "funcgraph_exit") != 0)
			more.nr = 0;
		hv_event_format_add(ret, c, &c->types[i], more.list, more.nr);
		return true;
	}
	return false;
}

bool fake_raw_text(const char *path, unsigned kinds, struct hv_text *ret)
{
	/* Instances have the files of the top directory. */
	const char *own = strstr(path, "trace_clock"), *events = strstr(path, "events/");
	const char *name = own ? own : events ? events : path;

	for (size_t i = 0; i < HV_ARRAY_LEN(files); i++) {
		if (strcmp(files[i].path, name) != 0)
			continue;
		hv_text_add(ret, files[i].text);
		return true;
	}
	if (strcmp(path, FORMATS) == 0) {
		add_names(ret);
		return true;
	}
	return add_format(name, kinds, ret);
}

/* The host's thread 61 wakes its thread I. The event borrows ENTRY. */
static struct hv_event host_event(unsigned i, uint32_t entry[3])
{
	entry[0] = HV_HOST_ID_FIRST;
	entry[1] = 61;
	entry[2] = i;
	return (struct hv_event){
		.kind = HV_EVENT_GUESTS,
		.id = HV_HOST_ID_FIRST,
		.entry = {(const uint8_t *)entry, 3 * sizeof(*entry)},
	};
}

static struct hv_event event_at(unsigned cpu, unsigned i, unsigned kinds, uint32_t entry[3])
{
	uint64_t time_ns = 1000000000ull + i * 1000ull + cpu * 500ull;
	struct hv_event e = {
		.kind = HV_EVENT_FUNCTION,
		.cpu = cpu,
		.time_ns = time_ns,
		.pid = kinds & FAKE_RAW_TASKS ? FAKE_RAW_FIRST + i : 61 + i / 2 % 2,
		.flags = HV_TRACE_IRQS_OFF,
	};

	if (kinds & FAKE_RAW_HOST && i % 2) {
		e = host_event(i, entry);
		e.time_ns = time_ns;
		return e;
	}
	e.ip = hv_gva(0xffffffff81000000 + (i % 2) * 0x100 + 8);
	e.parent_ip = hv_gva(0xffffffff81000204);
	if (kinds & FAKE_RAW_CALLS) {
		e.kind = i % 2 ? HV_EVENT_GRAPH_EXIT : HV_EVENT_GRAPH_ENTRY;
		e.ip = hv_gva(0xffffffff81000000);
		e.call_ns = e.time_ns - 1000;
		e.host_ns = 600;
		e.retval = i;
		e.has_retval = true;
	}
	return e;
}

unsigned fake_raw_page(unsigned cpu, unsigned from, unsigned to, unsigned kinds, uint8_t *page)
{
	struct hv_raw_more more;
	const struct hv_raw_layout layout = layout_of(kinds, &more);
	struct hv_raw_page made;
	unsigned nr = 0;

	memset(page, 0, FAKE_PAGE_BYTES);
	hv_raw_page_init(&made, &layout, page, HV_RAW_DATA_LEN);
	for (; from + nr < to; nr++) {
		uint32_t entry[3];
		struct hv_event e = event_at(cpu, from + nr, kinds, entry);

		if (!hv_raw_page_add(&made, &e))
			break;
	}
	hv_raw_page_finish(&made);
	return nr;
}
