/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Does random operations on every file of the tree, with changes to the guest that sometimes fail.
 * Errnos must be those that tracefs documents, lengths must not exceed the request, text must be
 * safe for a terminal, and nothing may stay open or leak. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/input.h"
#include "tests/lib/fake_session.h"
#include "tree/tree.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NR_FILES 4

static const char *const paths[] = {
	"README",
	"available_filter_functions",
	"available_filter_functions_addrs",
	"available_tracers",
	"buffer_percent",
	"buffer_size_kb",
	"buffer_total_size_kb",
	"current_tracer",
	"enabled_functions",
	"function_profile_enabled",
	"max_graph_depth",
	"printk_formats",
	"saved_cmdlines",
	"saved_cmdlines_size",
	"saved_tgids",
	"set_event",
	"set_ftrace_filter",
	"set_ftrace_notrace",
	"set_ftrace_pid",
	"set_ftrace_notrace_pid",
	"set_graph_function",
	"set_graph_notrace",
	"tracing_thresh",
	"error_log",
	"timestamp_mode",
	"options",
	"options/bin",
	"options/pause-on-trace",
	"options/block",
	"options/func_stack_trace",
	"options/function-fork",
	"options/event-fork",
	"options/latency-format",
	"options/overwrite",
	"options/record-cmd",
	"options/record-tgid",
	"options/verbose",
	"options/nosuch",
	"trace",
	"trace_clock",
	"trace_marker",
	"trace_marker_raw",
	"trace_options",
	"trace_pipe",
	"trace_stat/function0",
	"tracing_cpumask",
	"tracing_on",
	"",
	"nothing",
	"buffer_subbuf_size_kb",
	"free_buffer",
	"snapshot",
	"per_cpu/cpu0/snapshot",
	"per_cpu/cpu1/buffer_size_kb",
	"instances",
	"instances/a",
	"instances/b",
	"instances/a/current_tracer",
	"instances/a/set_ftrace_filter",
	"instances/a/set_ftrace_pid",
	"instances/a/trace",
	"instances/a/tracing_on",
	"instances/a/tracing_cpumask",
	"instances/a/options/function-fork",
	"instances/a/options/record-cmd",
	"instances/b/current_tracer",
	"instances/b/trace_pipe",
	"instances/b/per_cpu/cpu0/trace_pipe_raw",
	"events",
	"events/enable",
	"events/ftrace/function/format",
	"events/ftrace/function/id",
	"events/header_page",
	"per_cpu",
	"per_cpu/cpu0/stats",
	"per_cpu/cpu0/trace_pipe_raw",
	"per_cpu/cpu0/trace",
	"per_cpu/cpu1/trace_pipe",
	"per_cpu/cpu255/trace",
	"trace/x",
};

#define INJECTED ETIMEDOUT /* the errno of a failed change; no file returns it otherwise */

static bool check(struct hv_err *err)
{
	static const int documented[] = {EINVAL, ERANGE, EPERM,	    EBUSY,	EAGAIN,
					 EBADF,	 ENODEV, ENOENT,    EISDIR,	ENOTDIR,
					 EEXIST, ENOMEM, EOVERFLOW, EOPNOTSUPP, INJECTED};
	bool known = !err;

	for (size_t i = 0; err && i < HV_ARRAY_LEN(documented); i++)
		known |= err->code == documented[i];
	if (!known)
		abort();
	hv_err_free(err);
	return err == NULL;
}

static void add_event(struct hv_session *s, struct input *in)
{
	static const enum hv_event_kind kinds[] = {HV_EVENT_FUNCTION,	HV_EVENT_GRAPH_ENTRY,
						   HV_EVENT_GRAPH_EXIT, HV_EVENT_STACK,
						   HV_EVENT_COMMAND,	HV_EVENT_GUESTS};
	uint8_t entry[64];
	struct hv_event e = {.cpu = next_byte(in) % 2, .pid = next_byte(in) * 0x1010101u};
	unsigned how = next_byte(in);

	e.kind = kinds[how % HV_ARRAY_LEN(kinds)];
	e.of_command = e.kind == HV_EVENT_STACK && how >> 7;
	e.depth = (uint16_t)(how >> 2);
	e.overrun = how;
	e.call_ns = (uint64_t)how << (how % 57);
	e.has_retval = how >> 7;
	e.retval = 0 - (uint64_t)how;

	for (unsigned i = 0; i < sizeof(e.comm); i++)
		e.comm[i] = (char)next_byte(in);
	e.flags = (uint8_t)next_byte(in);
	e.preempt_depth = (uint8_t)next_byte(in);
	e.migrate_depth = (uint8_t)next_byte(in);
	e.time_ns = (uint64_t)next_byte(in) << (next_byte(in) % 57);
	e.lost_before = next_byte(in) & 3;
	e.ip = hv_gva(next_byte(in) << 6);
	e.parent_ip = hv_gva(next_byte(in) << 6);
	if (e.kind == HV_EVENT_GUESTS) {
		e.id = (uint16_t)(310 + how % 8);
		e.entry = (struct hv_span){entry, HV_ENTRY_HEADER_LEN + how % 57};
		for (size_t i = 0; i < e.entry.len_bytes; i++)
			entry[i] = (uint8_t)next_byte(in);
	}
	hv_fake_event(s, &e);
}

struct handle {
	struct hv_file *file;
	bool is_text;
};

static bool asked_for_bytes;

static void do_open(struct hv_tree *tree, struct input *in, struct handle *h)
{
	static const int flags[] = {O_RDONLY,		O_WRONLY,	  O_RDWR,
				    O_WRONLY | O_TRUNC, O_RDWR | O_TRUNC, O_RDONLY | O_NONBLOCK};
	const char *path = paths[next_byte(in) % HV_ARRAY_LEN(paths)];

	if (h->file)
		return;
	h->is_text = !strstr(path, "_raw");
	check(hv_tree_open(tree, &hv_root_rights, path, flags[next_byte(in) % HV_ARRAY_LEN(flags)],
			   &h->file));
	/* Markers are shown unfiltered. */
	asked_for_bytes |= strncmp(path, "trace_marker", 12) == 0;
}

static void note_bin(struct hv_tree *tree)
{
	struct hv_file *f;
	char bin = '0';
	size_t n;

	if (hv_tree_open(tree, &hv_root_rights, "options/bin", O_RDONLY, &f) ||
	    hv_file_read(f, &bin, 1, &n) || hv_file_close(f))
		abort();
	asked_for_bytes |= bin == '1';
}

static void do_read(struct input *in, const struct handle *h)
{
	size_t len = next_byte(in) * 16, got = 0;
	char buf[4096];

	if (!check(hv_file_read(h->file, buf, len, &got)))
		return;
	if (got > len)
		abort();
	for (size_t i = 0; h->is_text && !asked_for_bytes && i < got; i++)
		if ((buf[i] & 0x7f) < 0x20 && buf[i] != '\n' && buf[i] != '\t')
			abort();
}

static void do_directory(struct hv_tree *tree, struct input *in)
{
	const char *path = paths[next_byte(in) % HV_ARRAY_LEN(paths)];
	HV_AUTO_TEXT struct hv_text names = {0};
	struct hv_tree_stat stat;

	switch (next_byte(in) % 4) {
	case 0:
		check(hv_tree_stat(tree, path, &stat));
		break;
	case 1:
		check(hv_tree_mkdir(tree, &hv_root_rights, path));
		break;
	case 2:
		check(hv_tree_rmdir(tree, &hv_root_rights, path));
		break;
	default:
		check(hv_tree_list(tree, path, &names));
	}
}

/* Writes bytes of the input, or a meaningful word. */
static void do_write(struct input *in, struct hv_file *f)
{
	static const char *const words[] = {"vfs_*\n",
					    "!vfs_read ",
					    "2 ",
					    "function",
					    "function_graph",
					    "funcgraph-proc",
					    "funcgraph-retval",
					    "funcgraph-overrun",
					    "nofuncgraph-irqs",
					    "funcgraph-host",
					    "nocontext-info",
					    "nop",
					    "1\n",
					    "0",
					    "local",
					    ":mod:m\n",
					    "*r?a[d]",
					    "f:mod:x ",
					    "!f:mod:x ",
					    "vfs_read:traceoff:3\n",
					    "*:traceon ",
					    "!*:traceoff:0 ",
					    "bin",
					    "nobin",
					    "raw",
					    "sym-offset",
					    "latency-format",
					    "record-tgid",
					    "function-fork",
					    "ffffffff,3\n",
					    "verbose\n"};
	unsigned pick = next_byte(in);
	const char *word = words[pick % HV_ARRAY_LEN(words)];
	size_t len = strlen(word), done = 0, n;
	HV_AUTO_FREE char *buf = NULL;

	if (pick & 0x80) {
		word = (const char *)in->at;
		len = pick & 0x7f;
		if (len > (size_t)(in->end - in->at))
			len = (size_t)(in->end - in->at);
		in->at += len;
	}
	buf = hv_alloc(len + 1);
	if (len)
		memcpy(buf, word, len);
	do {
		if (!check(hv_file_write(f, buf + done, len - done, &n)))
			return;
		if (n > len - done || (n == 0 && done < len))
			abort();
		done += n;
	} while (done < len);
}

static void do_dump(struct hv_tree *tree)
{
	struct hv_file *f;
	const char *why;
	char buf[512];
	size_t n;

	hv_tree_drain(tree);
	f = hv_tree_next_dump(tree, &why);
	if (!f)
		return;
	if (strlen(why) == 0)
		abort();
	while (check(hv_file_read(f, buf, sizeof(buf), &n)) && n)
		;
	check(hv_file_close(f));
}

static void step(struct hv_session *s, struct hv_tree *tree, struct input *in,
		 struct handle *handles)
{
	struct handle *h = &handles[next_byte(in) % NR_FILES];

	switch (next_byte(in) % 11) {
	case 0:
		add_event(s, in);
		break;
	case 1:
		hv_fake_fail(s, next_byte(in) & 1 ? INJECTED : 0);
		break;
	case 2:
		if (!h->file)
			break;
		if (next_byte(in) & 1)
			hv_file_abandon(h->file);
		else
			check(hv_file_close(h->file));
		h->file = NULL;
		break;
	case 3:
	case 4:
		do_open(tree, in, h);
		break;
	case 5:
		if (h->file)
			do_read(in, h);
		break;
	case 6:
		do_directory(tree, in);
		break;
	case 9:
		do_dump(tree);
		break;
	case 10:
		hv_tree_retire(tree);
		break;
	default:
		if (h->file)
			do_write(in, h->file);
		note_bin(tree);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, data + size};
	struct hv_session *s = hv_fake_new();
	struct handle handles[NR_FILES] = {0};
	struct hv_tree *tree;

	asked_for_bytes = false;
	hv_fake_site(s, 0x100, "vfs_open", NULL, 0);
	hv_fake_site(s, 0x200, "vfs_read", NULL, 0);
	hv_fake_site(s, 0x300, "__ftrace_invalid_address___16", NULL, 1);
	hv_fake_site(s, 0x400, "\x1b[31m\x9b", "m\x07", 0);
	hv_fake_site(s, 0x500, "m_read", "m", 0);
	hv_fake_site(s, 0x600, "__irqentry_text_start", NULL, 1);
	hv_fake_site(s, 0x640, "timer", NULL, 0);
	hv_fake_site(s, 0x800, "__irqentry_text_end", NULL, 1);
	hv_fake_comm(s, 7, 7, "\x1b[2J");
	if (hv_tree_new(s, &tree))
		abort();
	while (in.at < in.end)
		step(s, tree, &in, handles);
	for (unsigned i = 0; i < NR_FILES; i++)
		if (handles[i].file)
			check(hv_file_close(handles[i].file));
	hv_tree_free(tree);
	hv_fake_free(s);
	return 0;
}
