/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes the same events in several formats, so that tests can compare how other programs read
 * them: each kind of a tracer's event, every kind of field, names that are not identifiers, control
 * characters, losses, a field that exceeds its event, and a clock that goes back.
 *
 *       make_traces DIR     DIR/t.jsonl, DIR/t.ctf, DIR/t.dat, DIR/t.pftrace
 *
 * The last two also have task switches. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/text.h"
#include "export/export.h"
#include "tree/format/event_format.h"
#include "tree/format/raw_page.h"

#define NR_CPUS	   2
#define OWN_ID	   300
#define EMPTY_ID   301
#define SWITCH_ID  302
#define EVENTS_MAX 16

#define COMMON                                                                                     \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"                     \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"                     \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"             \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

static const char own_format[] =
	"name: all\"kinds\\\nID: 300\nformat:\n" COMMON
	"\tfield:s8 int;\toffset:8;\tsize:1;\tsigned:1;\n"
	"\tfield:u8 small;\toffset:9;\tsize:1;\tsigned:0;\n"
	"\tfield:u16 a-b;\toffset:10;\tsize:2;\tsigned:0;\n"
	"\tfield:int twice;\toffset:12;\tsize:4;\tsigned:1;\n"
	"\tfield:s64 big;\toffset:16;\tsize:8;\tsigned:1;\n"
	"\tfield:void * where;\toffset:24;\tsize:8;\tsigned:0;\n"
	"\tfield:char name[8];\toffset:32;\tsize:8;\tsigned:0;\n"
	"\tfield:unsigned long args[2];\toffset:40;\tsize:16;\tsigned:0;\n"
	"\tfield:u8 mac[6];\toffset:56;\tsize:6;\tsigned:0;\n"
	"\tfield:unsigned short mac_length;\toffset:62;\tsize:2;\tsigned:0;\n"
	"\tfield:u8 list_length;\toffset:9;\tsize:1;\tsigned:0;\n"
	"\tfield:__data_loc char[] text;\toffset:64;\tsize:4;\tsigned:0;\n"
	"\tfield:__data_loc u32[] list;\toffset:68;\tsize:4;\tsigned:0;\n"
	"\tfield:__data_loc uint8_t[] raw;\toffset:96;\tsize:4;\tsigned:0;\n"
	"\tfield:u32 _hidden;\toffset:72;\tsize:4;\tsigned:0;\n"
	"\tfield:u32 twice;\toffset:76;\tsize:4;\tsigned:0;\n"
	"\nprint fmt: \"\"\n";
static const char empty_format[] = "name: empty\nID: 301\nformat:\n" COMMON "\nprint fmt: \"\"\n";

static const char switch_format[] = "name: sched_switch\nID: 302\nformat:\n" COMMON
				    "\tfield:char next_comm[8];\toffset:8;\tsize:8;\tsigned:0;\n"
				    "\tfield:pid_t next_pid;\toffset:16;\tsize:4;\tsigned:1;\n"
				    "\nprint fmt: \"\"\n";

static const char header_page[] = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
				  "\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
				  "\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
				  "\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n";

struct own_entry {
	uint16_t type;
	uint8_t flags, preempt;
	int32_t pid;
	int8_t number8;
	uint8_t small;
	uint16_t a_b;
	int32_t twice;
	int64_t big;
	uint64_t where;
	char name[8];
	uint64_t args[2];
	uint8_t mac[6];
	uint16_t mac_length;
	uint32_t text, list;
	uint32_t hidden, twice_again;
	char text_bytes[8];
	uint32_t list_words[2];
	uint32_t raw;
	uint8_t raw_bytes[4];
} __attribute__((packed));

static const struct own_entry own = {
	.type = OWN_ID,
	.flags = 4,
	.pid = 62,
	.number8 = -5,
	.small = 200,
	.a_b = 0xabcd,
	.twice = -1,
	.big = -(INT64_C(1) << 40),
	.where = UINT64_C(0xffff888000001000),
	.name = "a\033[m",
	.args = {1, 1ull << 33},
	.mac = {2, 0, 0, 0, 0, 0xfe},
	.mac_length = 7,
	.text = 7u << 16 | 80,
	.list = 8u << 16 | 88,
	.hidden = 9,
	.twice_again = 3,
	.text_bytes = "s\xc3\xb6\xff\n.",
	.list_words = {4, 5},
	.raw = 3u << 16 | 100,
	.raw_bytes = {7, 8, 9},
};

static struct hv_event with_entry(uint64_t time_ns, const void *entry, size_t len_bytes,
				  uint16_t id)
{
	return (struct hv_event){
		.kind = HV_EVENT_GUESTS, .time_ns = time_ns, .entry = {entry, len_bytes}, .id = id};
}

static void add_page(struct hv_export *x, unsigned cpu, const struct hv_event *events, size_t nr)
{
	uint8_t page[HV_RAW_PAGE_LEN] = {0};
	struct hv_raw_page p;
	struct hv_err *err;

	hv_raw_page_init(&p, &hv_raw_layout_known, page, HV_RAW_DATA_LEN);
	for (size_t i = 0; i < nr; i++)
		if (!hv_raw_page_add(&p, &events[i]))
			abort();
	hv_raw_page_finish(&p);
	err = hv_export_add(x, cpu, (struct hv_span){page, sizeof(page)});
	if (!err)
		err = hv_export_turn(x);
	if (err)
		abort();
}

static void add_tracers(struct hv_export *x)
{
	static const struct hv_gva callers[] = {
		{0xffffffff81000010}, {0xffffffff81000110}, {0x1234}};
	const struct hv_event first = {
		.kind = HV_EVENT_FUNCTION,
		.time_ns = 1000,
		.pid = 61,
		.ip = {0xffffffff81000008},
		.parent_ip = {0x77},
		.flags = HV_TRACE_IRQS_OFF,
		.preempt_depth = 2,
		.migrate_depth = 1,
	};
	struct hv_event rest[] = {
		{.kind = HV_EVENT_GRAPH_ENTRY, .depth = 3, .ip = {0xffffffff81000100}},
		{.kind = HV_EVENT_GRAPH_EXIT,
		 .depth = 3,
		 .ip = {0xffffffff81000100},
		 .call_ns = 1500,
		 .overrun = 4},
		{.kind = HV_EVENT_PRINT, .text = "a \"mark\"\033[31m\n", .text_len = 14},
		{.kind = HV_EVENT_RAW_DATA, .text = "\1\2\3\4\xff\0\0\0", .text_len = 8},
		{.kind = HV_EVENT_STACK, .callers = callers, .nr_callers = HV_ARRAY_LEN(callers)},
	};

	for (size_t i = 0; i < HV_ARRAY_LEN(rest); i++) {
		rest[i].time_ns = 2000 + i;
		rest[i].pid = 62;
	}
	rest[0].lost_before = 7;
	add_page(x, 0, &first, 1);
	add_page(x, 0, rest, HV_ARRAY_LEN(rest));
}

static void add_own(struct hv_export *x)
{
	static const uint32_t empty[2] = {EMPTY_ID, 61};
	const struct hv_event whole = with_entry(1100, &own, sizeof(own), OWN_ID);
	const struct hv_event cut = with_entry(1200, &own, 56, OWN_ID);
	const struct hv_event bare = with_entry(1150, empty, sizeof(empty), EMPTY_ID);

	add_page(x, 1, &whole, 1);
	add_page(x, 1, &cut, 1);
	add_page(x, 1, &bare, 1); /* earlier than the previous event */
}

/* At US, CPU switches from task PID to NEXT. */
static void add_switch(struct hv_export *x, unsigned cpu, uint64_t us, uint32_t pid, uint32_t next)
{
	const uint32_t entry[] = {SWITCH_ID, pid, 0x61, 0, next};
	const struct hv_event e = with_entry(us * 1000, entry, sizeof(entry), SWITCH_ID);

	add_page(x, cpu, &e, 1);
}

static void add_switches(struct hv_export *x)
{
	add_switch(x, 0, 10, 62, 61);
	add_switch(x, 1, 11, 61, 62);
	add_switch(x, 0, 12, 61, 0);
	add_switch(x, 1, 13, 62, 0);
	add_switch(x, 0, 14, 0, 61);
}

static int write_format(const struct hv_export_head *head, const char *name, const char *path,
			int fd)
{
	const struct hv_export_config config = {.path = path, .fd = fd};
	static const char names[] = "61 cat\n62 \033]0;x\xff\n";
	struct hv_export *x = NULL;
	struct hv_err *err = hv_export_open(hv_export_find(name), &config, head, &x);

	if (!err)
		err = hv_export_name_tasks(x, (struct hv_export_text){names, sizeof(names) - 1});
	if (!err) {
		add_tracers(x);
		add_own(x);
		if (strcmp(name, "perfetto") == 0 || strcmp(name, "trace.dat") == 0)
			add_switches(x);
		err = hv_export_end(x);
	}
	if (err)
		fprintf(stderr, "%s\n", err->message);
	hv_export_free(x);
	hv_close_at(&fd);
	return err != NULL;
}

int main(int argc, char **argv)
{
	static const char kallsyms[] = "ffffffff81000000 T vfs_read\nffffffff81000100 T vfs_write\n"
				       "ffffffff81000200 T ksys_read\n";
	const struct hv_catalogue *c = hv_tracer_types();
	struct hv_text formats[EVENTS_MAX] = {0};
	struct hv_export_event events[EVENTS_MAX + 3];
	struct hv_export_head head = {
		.nr_cpus = NR_CPUS,
		.page_bytes = HV_RAW_PAGE_LEN,
		.clock = "mono",
		.clock_epoch_ns = UINT64_C(1700000000) * 1000000000 + 5,
		.kernel = "Linux \"6.1\"",
		.program = "make_traces",
		.trace_clock = {"[mono]\n", 7},
		.header_page = {header_page, sizeof(header_page) - 1},
		.header_event = {"\n", 1},
		.kallsyms = {kallsyms, sizeof(kallsyms) - 1},
		.events = events,
	};
	HV_AUTO_FREE char *jsonl = NULL, *ctf = NULL, *dat = NULL, *pftrace = NULL;
	int bad;

	if (argc != 2 || c->nr > EVENTS_MAX)
		return 2;
	for (size_t i = 0; i < c->nr; i++) {
		hv_event_format_add(&formats[i], c, &c->types[i], NULL, 0);
		events[head.nr_events++] =
			(struct hv_export_event){"ftrace", {formats[i].data, formats[i].len_bytes}};
	}
	events[head.nr_events++] =
		(struct hv_export_event){"own", {own_format, sizeof(own_format) - 1}};
	events[head.nr_events++] =
		(struct hv_export_event){"own", {empty_format, sizeof(empty_format) - 1}};
	events[head.nr_events++] =
		(struct hv_export_event){"sched", {switch_format, sizeof(switch_format) - 1}};
	jsonl = hv_format("%s/t.jsonl", argv[1]);
	ctf = hv_format("%s/t.ctf", argv[1]);
	pftrace = hv_format("%s/t.pftrace", argv[1]);
	dat = hv_format("%s/t.dat", argv[1]);
	mkdir(ctf, 0700);
	bad = write_format(&head, "jsonl", jsonl, open(jsonl, O_RDWR | O_CREAT | O_TRUNC, 0600)) |
	      write_format(&head, "ctf", ctf, open(ctf, O_RDONLY | O_DIRECTORY)) |
	      write_format(&head, "trace.dat", dat, open(dat, O_RDWR | O_CREAT | O_TRUNC, 0600)) |
	      write_format(&head, "perfetto", pftrace,
			   open(pftrace, O_RDWR | O_CREAT | O_TRUNC, 0600));
	for (size_t i = 0; i < c->nr; i++)
		hv_text_deinit(&formats[i]);
	return bad;
}
