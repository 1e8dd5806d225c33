/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "latency/stall.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/guard.h"
#include "base/prefix.h"

/* -- stalls ------------------------------------------------------------------------------------ */

static int longer_first(const void *a, const void *b)
{
	const struct hv_stall *x = a, *y = b;

	if (x->length_ns != y->length_ns)
		return x->length_ns > y->length_ns ? -1 : 1;
	return x->from_ns < y->from_ns ? -1 : x->from_ns > y->from_ns;
}

void hv_stalls_add(struct hv_stalls *s, const struct hv_stall *stall)
{
	if (!s->list)
		s->list = hv_realloc_array(NULL, HV_STALLS_MAX, sizeof(*s->list));
	if (s->nr == HV_STALLS_MAX) {
		qsort(s->list, s->nr, sizeof(*s->list), longer_first);
		s->nr_dropped += s->nr - HV_STALLS_MAX / 2;
		s->nr = HV_STALLS_MAX / 2;
	}
	s->list[s->nr++] = *stall;
}

void hv_stalls_clear(struct hv_stalls *s)
{
	s->nr = 0;
	s->nr_dropped = 0;
}

void hv_stalls_deinit(struct hv_stalls *s)
{
	free(s->list);
}

struct hv_stall_task hv_stall_task(uint32_t pid, const char *comm)
{
	struct hv_stall_task task = {.pid = pid};

	memcpy(task.comm, comm, strnlen(comm, sizeof(task.comm) - 1));
	return task;
}

const struct hv_stall_task *hv_stall_program(const struct hv_stall *s)
{
	switch (s->kind) {
	case HV_STALL_RUNQUEUE:
		return &s->by;
	case HV_STALL_EXITS:
	case HV_STALL_RECLAIM:
	case HV_STALL_FAULTS:
		return &s->task;
	default:
		return NULL;
	}
}

uint64_t hv_stall_overlap(const struct hv_stall *a, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t from = a->from_ns > from_ns ? a->from_ns : from_ns;
	uint64_t to = a->to_ns < to_ns ? a->to_ns : to_ns;

	return to > from ? to - from : 0;
}

/* -- sections ---------------------------------------------------------------------------------- */

#define NS_PER_US 1000

static void copy_line(char *to, size_t size, const char *from)
{
	size_t len = strcspn(from, "\n");

	snprintf(to, size, "%.*s", (int)(len < size ? len : size - 1), from);
}

static void line_after(const char *text, const char *label, char *to, size_t size)
{
	const char *at = strstr(text, label);

	if (at)
		copy_line(to, size, at + strlen(label));
}

/* "NAME-PID (uid:..."; NAME may contain any character. */
static void read_task(const char *text, struct hv_stall_task *ret)
{
	char line[128] = "";
	char *end, *dash;

	line_after(text, "| task: ", line, sizeof(line));
	end = strstr(line, " (uid:");
	if (!end)
		return;
	*end = '\0';
	dash = strrchr(line, '-');
	if (!dash)
		return;
	*dash = '\0';
	*ret = hv_stall_task((uint32_t)strtoul(dash + 1, NULL, 10), line);
}

static void read_callers(const char *text, struct hv_stall *ret)
{
	const char *at = strstr(text, "<stack trace>\n");
	unsigned nr = 0;

	while (at && nr < HV_STALL_CALLERS && (at = strchr(at, '\n')) &&
	       hv_starts_with(at + 1, " => ")) {
		at += 5;
		copy_line(ret->callers[nr++], HV_STALL_NAME_LEN, at);
	}
}

/* Reads the time in which the host did not run the vCPU, as the guest reported it. */
static uint64_t read_not_run_us(const char *text)
{
	const char *at = strstr(text, "\n#  => not run by the host: ");
	uint64_t us;

	if (!at || sscanf(at, "\n#  => not run by the host: %" SCNu64 " us more", &us) != 1)
		return 0;
	return us;
}

bool hv_section_text_read(const char *text, struct hv_stall *ret)
{
	const char *at = strstr(text, "# latency: ");
	uint64_t us, not_run_us = read_not_run_us(text);

	*ret = (struct hv_stall){.kind = HV_STALL_SECTION};
	if (!at || sscanf(at, "# latency: %" SCNu64 " us,", &us) != 1 ||
	    us > UINT64_MAX / NS_PER_US || not_run_us > UINT64_MAX / NS_PER_US - us)
		return false;
	ret->length_ns = us * NS_PER_US;
	ret->to_ns = (us + not_run_us) * NS_PER_US;
	at = strstr(at, "CPU#");
	if (!at || sscanf(at, "CPU#%u", &ret->cpu) != 1)
		return false;
	read_task(text, &ret->task);
	line_after(text, "=> started at: ", ret->name, sizeof(ret->name));
	line_after(text, "=> ended at:   ", ret->end, sizeof(ret->end));
	read_callers(text, ret);
	return true;
}
