/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The file "control" of a tree of fake_tree.c. Writes to it are commands:
 *
 *     emit N     N lines into trace_pipe
 *     busy N     the next N detaches fail
 *     lose       memory of the region is gone
 *     reboot     the session finds another boot
 *     off        the VMM process ends
 *     dump N     N dumps wait, dump K with K lines
 *     flood      a dump of 96 MiB waits
 *     overrun N  N events were lost
 *     refuse N   N sites were refused
 *     raw N      N events on each vCPU for trace_pipe_raw
 *     calls      these events are calls and returns
 *     host       every second event is the host's
 *     steal      the guest has steal time; funcgraph-host reports 600 ns per call
 *     switches   the guest has the functions in which tasks leave the CPU
 *     section N  every directory has a recorded section of N us
 *     load N     trampolines take N ppm of the guest's time; a quarter of N without vfs_read
 *     events N   each query counts N more events
 *     wakeup N   enabling sched:sched_wakeup fails with errno N
 *     stacks     nothing can be profiled
 *     livepatch N  the guest is being livepatched; 0: no longer
 *     stuck      costly functions cannot be put back
 *     omit       sched:sched_switch cannot be enabled
 *     odd        the pages of trace_pipe_raw have 116 bytes
 *     sleep      the guest sleeps
 *     grow       the top directory's profile grows, too; an instance's grows while it is on */
#include <stdio.h>
#include <string.h>

#include "tests/unit/cli/fake_tree.h"

static void keep_section(struct hv_tree *t, unsigned us)
{
	for (unsigned i = 0; i < FAKE_DIRS_MAX; i++) {
		snprintf(t->dirs[i].values[FAKE_MAX_LATENCY], sizeof(t->dirs[i].values[0]), "%u\n",
			 us);
		snprintf(t->dirs[i].values[FAKE_TRACE], sizeof(t->dirs[i].values[0]),
			 "# latency: %u us, #3/3, CPU#1 | (M:fake)\n#    | task: a\x1b[31mb-61 "
			 "(uid:0)\n"
			 "#  => started at: vfs_read\n#  => ended at:   vfs_write\n"
			 "a-61 0d..1. : <stack trace>\n => ksys_read\n => do_syscall_64\n",
			 us);
	}
}

void fake_tree_control(struct hv_tree *t, const char *text)
{
	unsigned n = 0;

	if (sscanf(text, "emit %u", &n) == 1) {
		for (unsigned i = 0; i < n; i++)
			hv_text_printf(&t->pipe, "line %u\n", i);
	} else if (sscanf(text, "busy %u", &n) == 1) {
		fake_session_of(t->session)->busy = n;
	} else if (sscanf(text, "dump %u", &n) == 1) {
		t->nr_dumps += n;
	} else if (sscanf(text, "overrun %u", &n) == 1) {
		t->nr_lost = n;
	} else if (sscanf(text, "section %u", &n) == 1) {
		keep_section(t, n);
	} else if (sscanf(text, "load %u", &n) == 1) {
		t->load_ppm = n;
	} else if (sscanf(text, "events %u", &n) == 1) {
		fake_session_of(t->session)->nr_events_more = n;
	} else if (sscanf(text, "refuse %u", &n) == 1) {
		fake_session_of(t->session)->nr_refused = n;
	} else if (sscanf(text, "wakeup %u", &n) == 1) {
		t->wakeup_errno = n;
	} else if (sscanf(text, "livepatch %u", &n) == 1) {
		t->is_patched = n;
	} else if (strncmp(text, "stuck", 5) == 0) {
		t->is_stuck = true;
	} else if (strncmp(text, "omit", 4) == 0) {
		t->lacks_switch = true;
	} else if (strncmp(text, "odd", 3) == 0) {
		t->has_odd_pages = true;
	} else if (strncmp(text, "sleep", 5) == 0) {
		fake_guest_sleeps(fake_session_of(t->session)->guest);
	} else if (strncmp(text, "hold", 4) == 0) {
		fake_session_of(t->session)->holds_modules = true;
	} else if (strncmp(text, "grow", 4) == 0) {
		t->dirs[0].grows = true;
	} else if (strncmp(text, "stacks", 6) == 0) {
		t->has_stacks = true;
	} else if (strncmp(text, "calls", 5) == 0) {
		t->raw_kinds |= FAKE_RAW_CALLS;
	} else if (strncmp(text, "host", 4) == 0) {
		t->raw_kinds |= FAKE_RAW_HOST;
	} else if (strncmp(text, "tasks", 5) == 0) {
		t->raw_kinds |= FAKE_RAW_TASKS;
	} else if (strncmp(text, "steal", 5) == 0) {
		t->has_steal = true;
	} else if (strncmp(text, "switches", 8) == 0) {
		t->has_switches = true;
	} else if (sscanf(text, "raw %u", &n) == 1) {
		t->nr_raw += n;
	} else if (strncmp(text, "flood", 5) == 0) {
		t->floods = true;
	} else if (strncmp(text, "reboot", 6) == 0) {
		fake_session_of(t->session)->rebooted = true;
	} else if (strncmp(text, "torn", 4) == 0) {
		fake_session_of(t->session)->is_torn = true;
	} else if (strncmp(text, "hibernate", 9) == 0) {
		fake_session_of(t->session)->hibernates = true;
	} else if (strncmp(text, "lose", 4) == 0) {
		fake_session_of(t->session)->lost_region = true;
	} else if (strncmp(text, "off", 3) == 0) {
		fake_guest_ends(fake_session_of(t->session)->guest);
	}
}
