/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Golden transcripts of the tree: a little shell over a session with no guest. Lines of an .in:
 *
 *   # comment                        blank lines and comments are dropped
 *
 *   site IP NAME [MODULE|invalid]    a traceable function (and symbol), in place of one at IP
 *   event WHERE IP PARENT [LOST]     a call; WHERE: CPU NS PID COMM FLAGS PREEMPT MIGRATE
 *   entry WHERE IP DEPTH [LOST]
 *   exit WHERE IP DEPTH CALL_NS OVERRUN [RETVAL|- [LOST]]
 *   stack WHERE IP [CALLER...]       a CALLER of 0: those beyond are unknown
 *   command WHERE IP [CALLER...]     a stack that a command asked for
 *   guests WHERE ID [TEXT]           one of the guest's own events; TEXT: its field comm, or =NR
 *                                    ARGUMENT... of raw_syscalls:*, ~NR of a 32-bit program,
 *                                    =WORD... of the scheduler's
 *   behind WHERE IP [CALLER...]      the stack of the last event there that has none yet
 *   called WHERE IP                  a call of a function whose commands the host obeys
 *   count CPU SITE HITS TIME_NS SPREAD    calls of the SITEth site, for the profile
 *   overrun NR                       events that were overwritten
 *   comm PID COMM                    a task's name
 *   task PID TGID COMM               likewise, with its thread group; before its events
 *   fork PID CHILD
 *   type ID SYSTEM EVENT [off]       a type of the guest's own events; off: cannot be switched on
 *   syscall ID NR NAME ARGUMENT...   the types of a system call: ID its sys_enter, ID + 1 its
 *                                    sys_exit; raw_syscalls:* have 20 and 21
 *   scheduler                        the types that tracers of wakeups need (fake_session.h)
 *   forks                            the types that event-fork needs (fake_session.h)
 *   notypes                          the guest has no types any more
 *   string ADDRESS TEXT              a string of printk_formats; at most four
 *   cpus NR                          of another guest, for which the tree begins anew
 *   begins WHERE IP PARENT           a section begins there
 *   ends WHERE IP PARENT
 *   section WHERE IP PARENT [STOLEN_NS], WHERE IP PARENT[, WHERE IP PARENT [LOST]]...
 *                                    the one that is kept: its two ends, and the calls in it, each
 *                                    of which may also be an `entry ...` or an `exit ...`
 *   ends_in UID NICE POLICY RT_PRIO [CALLER...]    that section: its task, the stack at its end
 *   clock raw|host
 *   steal                            the host tells the guest its steal time
 *   lazy                             the kernel counts lazy preemption: MIGRATE may be MIGRATE:LAZY
 *   btf                              the kernel has BTF, of fake_btf.c
 *   switch 0|1                       a command in the guest switches recording
 *
 *   ls [DIR], stat PATH, mkdir DIR, rmdir DIR
 *   cat FILE
 *   echo TEXT > FILE                 or >> FILE; printf, too
 *   open HANDLE MODE FILE            MODE: letters of r, w, t (truncate), n (non-blocking)
 *   read HANDLE LEN, hex HANDLE LEN, write HANDLE TEXT, ready HANDLE, close HANDLE
 *   fail ERRNO                       the next change of the guest fails
 *   dump                             reads the dumps that wait to their end
 *   second                           does what is done each second
 *   guest                            shows what the guest was made to be: sites, pids, recording
 *
 * The lines from ls on are shown after a '$', followed by what came of them. TEXT knows \n, \t, \\,
 * \0 and \xNN. HANDLE is a digit. */
#include <ctype.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/kernel.h"
#include "ringbuf/abi.h"
#include "tests/golden/golden.h"
#include "tests/lib/fake_session.h"
#include "tests/lib/script.h"
#include "tracer/actions.h"
#include "tracer/call_counts.h"
#include "tracer/events/names.h"
#include "tracer/graph_tracer.h"
#include "tracer/scope.h"
#include "tracer/site_stubs.h"
#include "tracer/stubs.h"
#include "tree/tree.h"

struct shell {
	struct hv_session *session;
	struct hv_tree *tree;
	struct hv_file *handles[10];
	struct hv_section *section; /* the last one; borrowed */
	FILE *out;
};

/* Shows ERR as its errno. Returns whether there was one. */
static bool failed(struct shell *sh, struct hv_err *err)
{
	if (!err)
		return false;
	fprintf(sh->out, "= %s: %s\n", strerrorname_np(err->code), err->message);
	hv_err_free(err);
	return true;
}

static uint64_t next_number(char **line)
{
	return strtoull(next_word(line), NULL, 0);
}

static void do_site(struct shell *sh, char *args)
{
	uint64_t ip = strtoull(next_word(&args), NULL, 16);
	char *name = next_word(&args);
	char *module = next_word(&args);
	bool invalid = strcmp(module, "invalid") == 0;

	unescape(name);
	unescape(module);
	hv_fake_site(sh->session, ip, name, *module && !invalid ? module : NULL, invalid);
}

static void do_type(struct shell *sh, char *args)
{
	uint32_t id = (uint32_t)next_number(&args);
	char *system = next_word(&args);
	char *name = next_word(&args);
	uint64_t reg = strcmp(next_word(&args), "off") == 0 ? 0 : 0xffffffff81111110;

	hv_fake_event_type(sh->session, system, name, id, reg);
}

/* ID NR NAME, and its arguments. */
static void do_syscall(struct shell *sh, char *args)
{
	uint32_t id = (uint32_t)next_number(&args);
	int32_t nr = (int32_t)next_number(&args);
	char *name = next_word(&args), *words[8] = {0};
	unsigned nr_words = 0;

	for (char *word = next_word(&args); *word && nr_words < 8; word = next_word(&args))
		words[nr_words++] = word;
	hv_fake_syscall(sh->session, id, nr, name, words, nr_words);
}

static void do_string(struct shell *sh, char *args)
{
	uint64_t at = strtoull(next_word(&args), NULL, 16);

	unescape(args);
	hv_fake_print_string(sh->session, at, args);
}

static void do_count(struct shell *sh, char *args)
{
	unsigned cpu = (unsigned)next_number(&args);
	struct hv_profile_count count = {.site = next_number(&args)};

	count.hits = next_number(&args);
	count.time_ns = next_number(&args);
	count.spread_ns2 = next_number(&args);
	count.host_ns = next_number(&args);
	hv_fake_count(sh->session, cpu, &count);
}

static void do_graph(struct hv_event *e, char *args)
{
	const char *retval;

	e->depth = (uint16_t)next_number(&args);
	if (e->kind == HV_EVENT_GRAPH_EXIT) {
		e->call_ns = next_number(&args);
		e->overrun = (uint32_t)next_number(&args);
		retval = next_word(&args);
		e->has_retval = *retval && *retval != '-';
		e->retval = strtoull(retval, NULL, 0);
	}
	e->lost_before = next_number(&args);
	if (e->kind == HV_EVENT_GRAPH_EXIT)
		e->host_ns = next_number(&args);
}

static void do_callers(struct hv_event *e, char *args)
{
	static struct hv_gva callers[8]; /* copied by the caller */

	callers[0] = hv_gva_add(e->ip, 5);
	e->callers = callers;
	e->nr_callers = !e->of_event;
	for (const char *word = next_word(&args); *word && e->nr_callers < 8;
	     word = next_word(&args)) {
		callers[e->nr_callers] = hv_gva(strtoull(word, NULL, 16));
		e->callers_end_early = !callers[e->nr_callers].v;
		e->nr_callers += !e->callers_end_early;
	}
}

/* The entry of raw_syscalls:*, or of a call with registers, from numbers of 8 bytes each. */
static void do_words(struct hv_event *e, uint32_t id, char *text)
{
	static uint8_t entry[HV_ENTRY_HEADER_LEN + 8 * 64]; /* copied by the caller */
	size_t len = HV_ENTRY_HEADER_LEN;

	memset(entry, 0, sizeof(entry));
	memcpy(entry, &id, 2);
	memcpy(entry + 4, &e->pid, sizeof(e->pid));
	for (const char *word = next_word(&text); *word && len < sizeof(entry);
	     word = next_word(&text), len += 8) {
		uint64_t number = strtoull(word, NULL, 0);

		memcpy(entry + len, &number, sizeof(number));
	}
	e->id = (uint16_t)id;
	e->entry = (struct hv_span){entry, len};
}

/* Its entry has the 16 bytes of the field that types have here, or as many as there are of TEXT. */
static void do_entry(struct hv_event *e, uint32_t id, char *text)
{
	static uint8_t entry[HV_ENTRY_HEADER_LEN + 256]; /* copied by the caller */
	size_t len = unescape(text);

	memset(entry, 0, sizeof(entry));
	memcpy(entry, &id, 2);
	memcpy(entry + 4, &e->pid, sizeof(e->pid));
	memcpy(entry + HV_ENTRY_HEADER_LEN, text, len < 256 ? len : 256);
	e->id = (uint16_t)id;
	e->entry = (struct hv_span){entry, HV_ENTRY_HEADER_LEN + (len < 16 ? 16 : len)};
}

static struct hv_event event_of(struct shell *sh, struct hv_event e, char *args)
{
	char *bytes, *end;
	size_t len;

	e.cpu = (unsigned)next_number(&args);
	e.time_ns = next_number(&args);
	e.pid = (uint32_t)next_number(&args);
	e.tgid = hv_names_tgid(sh->session->names, e.pid);
	bytes = hv_strdup(next_word(&args));
	len = unescape(bytes);
	memcpy(e.comm, bytes, len < sizeof(e.comm) ? len : sizeof(e.comm) - 1);
	free(bytes);
	e.flags = (uint8_t)next_number(&args);
	e.preempt_depth = (uint8_t)next_number(&args);
	e.migrate_depth = (uint8_t)strtoul(next_word(&args), &end, 0);
	e.lazy_depth = *end == ':' ? (uint8_t)strtoul(end + 1, NULL, 0) : 0;
	if (e.kind == HV_EVENT_GUESTS) {
		uint32_t id = (uint32_t)next_number(&args);

		e.is_compat = *args == '~';
		if (*args == '=' || *args == '~')
			do_words(&e, id, args + 1);
		else
			do_entry(&e, id, args);
		return e;
	}
	e.ip = hv_gva(strtoull(next_word(&args), NULL, 16));
	if (e.kind == HV_EVENT_STACK) {
		do_callers(&e, args);
	} else if (e.kind == HV_EVENT_FUNCTION) {
		e.parent_ip = hv_gva(strtoull(next_word(&args), NULL, 16));
		e.lost_before = next_number(&args);
	} else {
		do_graph(&e, args);
	}
	return e;
}

static void do_event(struct shell *sh, struct hv_event e, char *args)
{
	e = event_of(sh, e, args);
	hv_fake_event(sh->session, &e);
}

/* Cuts ARGS at the next comma. Returns what follows; NULL: nothing. */
static char *cut(char *args)
{
	char *comma = args ? strchr(args, ',') : NULL;

	if (comma)
		*comma++ = '\0';
	return comma;
}

/* As the words event, entry and exit, the first of which is left out. */
static struct hv_event call_of(struct shell *sh, char *args)
{
	static const struct {
		const char *word;
		enum hv_event_kind kind;
	} kinds[] = {{" entry ", HV_EVENT_GRAPH_ENTRY}, {" exit ", HV_EVENT_GRAPH_EXIT}};

	for (size_t i = 0; i < HV_ARRAY_LEN(kinds); i++)
		if (strncmp(args, kinds[i].word, strlen(kinds[i].word)) == 0)
			return event_of(sh, (struct hv_event){.kind = kinds[i].kind},
					args + strlen(kinds[i].word));
	return event_of(sh, (struct hv_event){.kind = HV_EVENT_FUNCTION}, args);
}

/* Where it begins and where it ends, then what is called in it, as events with commas between them;
 * without them: none. */
static void do_section(struct shell *sh, char *args)
{
	const struct hv_event call = {.kind = HV_EVENT_FUNCTION};
	struct hv_section *section;
	char *to = cut(args), *calls = cut(to);

	if (!to) {
		hv_fake_section(sh->session, NULL);
		return;
	}
	section = hv_alloc(sizeof(*section));
	*section = (struct hv_section){
		.nr_refs = 1, .from = event_of(sh, call, args), .to = event_of(sh, call, to)};
	section->cpu = section->to.cpu;
	section->stolen_ns = section->from.lost_before;
	section->from.lost_before = 0;
	section->ns = section->to.time_ns - section->from.time_ns - section->stolen_ns;
	section->calls = hv_alloc(8 * sizeof(*section->calls));
	while (calls && section->nr_calls < 8) {
		char *next = cut(calls);

		section->calls[section->nr_calls++] = call_of(sh, calls);
		calls = next;
	}
	section->nr_lost = section->nr_calls ? section->calls[0].lost_before : 0;
	hv_fake_section(sh->session, section);
	sh->section = section;
}

/* Of the section: UID NICE POLICY RT_PRIO, and the addresses of the stack at its end; 0 ends it
 * early. */
static void do_ends_in(struct shell *sh, char *args)
{
	struct hv_section *section = sh->section;

	section->uid = (uint32_t)next_number(&args);
	section->nice = atoi(next_word(&args));
	section->policy = (uint32_t)next_number(&args);
	section->rt_priority = (uint32_t)next_number(&args);
	free(section->callers);
	section->callers = hv_alloc(8 * sizeof(*section->callers));
	section->nr_callers = 0;
	for (const char *word = next_word(&args); *word && section->nr_callers < 8;
	     word = next_word(&args)) {
		struct hv_gva at = hv_gva(strtoull(word, NULL, 16));

		section->callers[section->nr_callers] = at;
		section->callers_end_early = !at.v;
		section->nr_callers += at.v != 0;
	}
}

/* raw: the guest has no trace clock that can be computed; host: the host's clock can be chosen */
static void do_clock(struct shell *sh, const char *kind)
{
	if (strcmp(kind, "raw") == 0)
		hv_fake_clock(sh->session, HV_CLOCK_RAW);
	else
		hv_fake_host_clock(sh->session);
}

/* Begins the tree again, as of another guest. */
static void do_cpus(struct shell *sh, unsigned nr)
{
	hv_fake_cpus(sh->session, nr);
	hv_tree_free(sh->tree);
	if (hv_tree_new(sh->session, &sh->tree))
		abort();
}

static bool do_setup(struct shell *sh, const char *command, char *args)
{
	if (strcmp(command, "site") == 0)
		do_site(sh, args);
	else if (strcmp(command, "section") == 0)
		do_section(sh, args);
	else if (strcmp(command, "ends_in") == 0)
		do_ends_in(sh, args);
	else if (strcmp(command, "event") == 0)
		do_event(sh, (struct hv_event){.kind = HV_EVENT_FUNCTION}, args);
	else if (strcmp(command, "begins") == 0)
		do_event(sh,
			 (struct hv_event){.kind = HV_EVENT_FUNCTION,
					   .of_section = HV_SECTION_BEGINS},
			 args);
	else if (strcmp(command, "ends") == 0)
		do_event(
			sh,
			(struct hv_event){.kind = HV_EVENT_FUNCTION, .of_section = HV_SECTION_ENDS},
			args);
	else if (strcmp(command, "entry") == 0)
		do_event(sh, (struct hv_event){.kind = HV_EVENT_GRAPH_ENTRY}, args);
	else if (strcmp(command, "exit") == 0)
		do_event(sh, (struct hv_event){.kind = HV_EVENT_GRAPH_EXIT}, args);
	else if (strcmp(command, "stack") == 0)
		do_event(sh, (struct hv_event){.kind = HV_EVENT_STACK}, args);
	else if (strcmp(command, "command") == 0)
		do_event(sh, (struct hv_event){.kind = HV_EVENT_STACK, .of_command = 1}, args);
	else if (strcmp(command, "behind") == 0)
		do_event(sh, (struct hv_event){.kind = HV_EVENT_STACK, .of_event = 1}, args);
	else if (strcmp(command, "guests") == 0)
		do_event(sh, (struct hv_event){.kind = HV_EVENT_GUESTS}, args);
	else if (strcmp(command, "called") == 0)
		do_event(sh, (struct hv_event){.kind = HV_EVENT_COMMAND}, args);
	else if (strcmp(command, "count") == 0)
		do_count(sh, args);
	else if (strcmp(command, "overrun") == 0)
		hv_fake_overrun(sh->session, next_number(&args));
	else if (strcmp(command, "cpus") == 0)
		do_cpus(sh, (unsigned)next_number(&args));
	else if (strcmp(command, "type") == 0)
		do_type(sh, args);
	else if (strcmp(command, "syscall") == 0)
		do_syscall(sh, args);
	else if (strcmp(command, "syscalls_sleep") == 0)
		hv_fake_syscalls_sleep(sh->session);
	else if (strcmp(command, "scheduler") == 0)
		hv_fake_scheduler(sh->session);
	else if (strcmp(command, "forks") == 0)
		hv_fake_event_forks(sh->session);
	else if (strcmp(command, "notypes") == 0)
		hv_fake_forget_event_types(sh->session);
	else if (strcmp(command, "string") == 0)
		do_string(sh, args);
	else if (strcmp(command, "steal") == 0)
		hv_fake_steal_time(sh->session);
	else if (strcmp(command, "switch") == 0)
		hv_fake_switch(sh->session, (unsigned)next_number(&args));
	else if (strcmp(command, "btf") == 0)
		hv_fake_types(sh->session);
	else if (strcmp(command, "lazy") == 0)
		hv_fake_lazy(sh->session);
	else if (strcmp(command, "clock") == 0)
		do_clock(sh, args);
	else if (strcmp(command, "comm") == 0) {
		uint32_t pid = (uint32_t)next_number(&args);

		unescape(args);
		hv_fake_comm(sh->session, pid, 0, args);
	} else if (strcmp(command, "task") == 0) {
		uint32_t pid = (uint32_t)next_number(&args), tgid = (uint32_t)next_number(&args);

		hv_fake_comm(sh->session, pid, tgid, args);
	} else if (strcmp(command, "fork") == 0) {
		uint32_t pid = (uint32_t)next_number(&args);

		hv_fake_fork(sh->session, pid, (uint32_t)next_number(&args));
	} else
		return false;
	return true;
}

static void do_ls(struct shell *sh, const char *dir)
{
	HV_AUTO_TEXT struct hv_text text = {0};

	if (!failed(sh, hv_tree_list(sh->tree, dir, &text)))
		fprintf(sh->out, "%s", text.data ? text.data : "");
}

static void do_stat(struct shell *sh, const char *path)
{
	struct hv_tree_stat stat;

	if (!failed(sh, hv_tree_stat(sh->tree, path, &stat)))
		fprintf(sh->out, "= %s %04o\n", stat.kind == HV_TREE_DIR ? "directory" : "file",
			stat.mode);
}

static void do_cat(struct shell *sh, char *path)
{
	struct hv_file *f;
	char buf[8192];
	size_t len;

	unescape(path);
	if (failed(sh, hv_tree_open(sh->tree, path, O_RDONLY, &f)))
		return;
	while (!failed(sh, hv_file_read(f, buf, sizeof(buf), &len)) && len)
		fwrite(buf, 1, len, sh->out);
	failed(sh, hv_file_close(f));
}

/* Writes like a shell's echo and printf: goes on after a short count, and ends at an error. ARGS:
 * TEXT > FILE. */
static void do_redirect(struct shell *sh, char *args, const char *end)
{
	char *arrow = strstr(args, "> ");
	bool append = arrow > args && arrow[-1] == '>';
	HV_AUTO_TEXT struct hv_text text = {0};
	size_t done = 0, used, len;
	struct hv_file *f;

	*(append ? arrow - 1 : arrow) = '\0';
	len = strlen(args);
	if (len && args[len - 1] == ' ')
		args[len - 1] = '\0';
	len = unescape(args);
	hv_text_add_bytes(&text, args, len);
	hv_text_add(&text, end);
	if (failed(sh, hv_tree_open(sh->tree, arrow + 2, O_WRONLY | (append ? 0 : O_TRUNC), &f)))
		return;
	while (done < text.len_bytes) {
		if (failed(sh, hv_file_write(f, text.data + done, text.len_bytes - done, &used)))
			break;
		done += used;
	}
	failed(sh, hv_file_close(f));
}

static void do_open(struct shell *sh, char *args)
{
	unsigned handle = (unsigned)next_number(&args) % 10;
	const char *mode = next_word(&args);
	int flags = strchr(mode, 'r') ? strchr(mode, 'w') ? O_RDWR : O_RDONLY : O_WRONLY;

	flags |= strchr(mode, 't') ? O_TRUNC : 0;
	flags |= strchr(mode, 'n') ? O_NONBLOCK : 0;
	failed(sh, hv_tree_open(sh->tree, args, flags, &sh->handles[handle]));
}

/* Without the zeros at the end. */
static void show_hex(struct shell *sh, const char *buf, size_t len)
{
	fprintf(sh->out, "= %zu", len);
	while (len && !buf[len - 1])
		len--;
	for (size_t i = 0; i < len; i++)
		fprintf(sh->out, "%s%02x", i % 4 ? "" : i % 32 ? " " : "\n  ", (uint8_t)buf[i]);
	fprintf(sh->out, "\n");
}

static void do_handle(struct shell *sh, const char *command, char *args)
{
	unsigned handle = (unsigned)next_number(&args) % 10;
	struct hv_file *f = sh->handles[handle];
	char buf[4096];
	size_t len;

	if (strcmp(command, "write") == 0) {
		len = unescape(args);
		if (!failed(sh, hv_file_write(f, args, len, &len)))
			fprintf(sh->out, "= %zu\n", len);
	} else if (strcmp(command, "read") == 0) {
		len = next_number(&args);
		if (!failed(sh, hv_file_read(f, buf, len < 4096 ? len : 4096, &len)))
			fprintf(sh->out, "= %zu '%.*s'\n", len, (int)len, buf);
	} else if (strcmp(command, "hex") == 0) {
		len = next_number(&args);
		if (!failed(sh, hv_file_read(f, buf, len < 4096 ? len : 4096, &len)))
			show_hex(sh, buf, len);
	} else if (strcmp(command, "ready") == 0) {
		if (!failed(sh, hv_file_ready(f)))
			fprintf(sh->out, "= ready\n");
	} else {
		sh->handles[handle] = NULL;
		failed(sh, hv_file_close(f));
	}
}

static void show_site(struct shell *sh, const char *name, unsigned stub)
{
	static const char *const stubs[] = {
		[HV_STUB_NONE] = "",
		[HV_STUB_SECTION_FUNCTION] = ":section",
		[HV_STUB_FUNCTION] = "",
		[HV_STUB_FUNCTION_STACK] = ":stack",
		[HV_STUB_SECTION_GRAPH] = ":section-graph",
		[HV_STUB_GRAPH] = ":graph",
		[HV_STUB_GRAPH_ROOT] = ":root",
		[HV_STUB_GRAPH_NOTRACE] = ":notrace",
		[HV_STUB_FUNCTION_AND_GRAPH] = ":both",
		[HV_STUB_ACTIONS] = ":actions",
	};

	fprintf(sh->out, " %s", name);
	if (stub == HV_STUB_LATER) {
		fputs(":later", sh->out);
		return;
	}
	if (!(stub & HV_STUB_PROFILED)) {
		fputs(stubs[stub], sh->out);
		return;
	}
	stub &= ~(unsigned)HV_STUB_PROFILED;
	fprintf(sh->out, "%s:profile", stub == HV_STUB_FUNCTION ? ":function" : stubs[stub]);
}

static void show_actions(struct shell *sh, const struct hv_site_actions *actions)
{
	fprintf(sh->out, "at %llx: %x, %lld %lld\n", (unsigned long long)actions->ip, actions->bits,
		(long long)actions->left[HV_ACTION_ON_COUNTED],
		(long long)actions->left[HV_ACTION_OFF_COUNTED]);
	for (size_t i = 0; i < actions->nr_steps; i++)
		fprintf(sh->out, "  %x: %u, %u, 0x%llx\n", actions->program[i].tag,
			actions->program[i].does, actions->program[i].len_bytes,
			(unsigned long long)actions->program[i].value);
}

static void do_guest(struct shell *sh)
{
	const struct hv_sites *sites = &sh->session->kernel->sites;
	const uint8_t *patched = hv_site_stubs_now(sh->session->stubs);
	const struct hv_site_actions *actions;
	const struct hv_graph_options *graph = hv_fake_graph(sh->session);
	const uint32_t *pids;
	size_t nr;

	fprintf(sh->out, "sites:");
	for (size_t i = 0; i < sites->nr; i++)
		if (patched[i])
			show_site(sh, sites->list[i].name, patched[i]);
	if (graph->flags & HV_GRAPH_NO_SLEEP)
		fprintf(sh->out, "\nwithout sleep");
	if (graph->flags || graph->max_depth || graph->thresh_ns)
		fprintf(sh->out, "\ngraph: flags %u, depth %u, thresh %" PRIu64 " ns", graph->flags,
			graph->max_depth, graph->thresh_ns);
	if (hv_fake_logs(sh->session))
		fprintf(sh->out, "\nsections are logged");
	pids = hv_fake_pids(sh->session, &nr);
	fprintf(sh->out, "\npids:");
	for (size_t i = 0; i < nr; i++)
		fprintf(sh->out, " %u", pids[i]);
	pids = hv_fake_not_pids(sh->session, &nr);
	if (nr)
		fprintf(sh->out, "\nnot:");
	for (size_t i = 0; i < nr; i++)
		fprintf(sh->out, " %u", pids[i]);
	if (*hv_fake_events_on(sh->session))
		fprintf(sh->out, "\nevents:%s", hv_fake_events_on(sh->session));
	if (hv_fake_forks(sh->session) != HV_FORKS_NOT)
		fprintf(sh->out, "\nforks: %s",
			hv_fake_forks(sh->session) == HV_FORKS_OF_ONLY ? "only" : "others");
	for (unsigned cpu = 0; cpu < 16; cpu++)
		if (hv_fake_muted(sh->session)[cpu])
			fprintf(sh->out, "\nmuted: %u", cpu);
	fprintf(sh->out, "\nrecording: %u%s\n", hv_fake_recording(sh->session),
		hv_fake_paused(sh->session) ? ", paused" : "");
	actions = hv_fake_actions(sh->session, &nr);
	for (size_t i = 0; i < nr; i++)
		show_actions(sh, &actions[i]);
}

static void do_missing(struct shell *sh)
{
	HV_AUTO_TEXT struct hv_text text = {0};

	hv_tree_missing_tasks(sh->tree, &text);
	fprintf(sh->out, "%s", text.data ? text.data : "");
}

static void do_dumps(struct shell *sh)
{
	struct hv_file *f;
	const char *why;
	char buf[8192];
	size_t len;

	hv_tree_drain(sh->tree);
	while ((f = hv_tree_next_dump(sh->tree, &why))) {
		fprintf(sh->out, "= %s\n", why);
		while (!failed(sh, hv_file_read(f, buf, sizeof(buf), &len)) && len)
			fwrite(buf, 1, len, sh->out);
		failed(sh, hv_file_close(f));
	}
}

static void do_line(struct shell *sh, char *line)
{
	HV_AUTO_FREE char *shown = hv_strdup(line);
	const char *command = next_word(&line);

	if (do_setup(sh, command, line))
		return;
	fprintf(sh->out, "$ %s\n", shown);
	if (strcmp(command, "ls") == 0)
		do_ls(sh, line);
	else if (strcmp(command, "stat") == 0)
		do_stat(sh, line);
	else if (strcmp(command, "mkdir") == 0)
		failed(sh, hv_tree_mkdir(sh->tree, line));
	else if (strcmp(command, "rmdir") == 0)
		failed(sh, hv_tree_rmdir(sh->tree, line));
	else if (strcmp(command, "cat") == 0)
		do_cat(sh, line);
	else if (strcmp(command, "echo") == 0)
		do_redirect(sh, line, "\n");
	else if (strcmp(command, "printf") == 0)
		do_redirect(sh, line, "");
	else if (strcmp(command, "open") == 0)
		do_open(sh, line);
	else if (strcmp(command, "guest") == 0)
		do_guest(sh);
	else if (strcmp(command, "dump") == 0)
		do_dumps(sh);
	else if (strcmp(command, "missing") == 0)
		do_missing(sh);
	else if (strcmp(command, "second") == 0)
		hv_tree_retire(sh->tree);
	else if (strcmp(command, "fail") == 0)
		hv_fake_fail(sh->session, (int)next_number(&line));
	else if (strcmp(command, "write") == 0 || strcmp(command, "read") == 0 ||
		 strcmp(command, "hex") == 0 || strcmp(command, "ready") == 0 ||
		 strcmp(command, "close") == 0)
		do_handle(sh, command, line);
	else
		fprintf(sh->out, "= what is '%s'?\n", command);
}

static void run(FILE *in, FILE *out)
{
	struct shell sh = {.session = hv_fake_new(), .out = out};
	char line[8192];

	if (hv_tree_new(sh.session, &sh.tree))
		abort();
	while (fgets(line, sizeof(line), in)) {
		line[strcspn(line, "\n")] = '\0';
		if (line[0] && line[0] != '#')
			do_line(&sh, line);
	}
	for (unsigned i = 0; i < 10; i++)
		if (sh.handles[i])
			failed(&sh, hv_file_close(sh.handles[i]));
	hv_tree_free(sh.tree);
	hv_fake_free(sh.session);
}

int main(int argc, char **argv)
{
	return hv_golden_main(argc, argv, run);
}
