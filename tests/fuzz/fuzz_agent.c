/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parses reports of a hostile guest agent. Every index in a report must be in bounds, names must
 * not contain control characters, and the result must not depend on how the bytes are split. The
 * first byte of the input chooses the length of the pieces; the rest follows the first line of a
 * report. */
#include <stdlib.h>
#include <string.h>

#include "cli/agent.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char begin[] = "hvtrace-agent 1\n", end[] = "\nend\n";

static void hear(const char *bytes, size_t len, size_t step, struct agent_round *ret)
{
	struct agent_hearing *h = hv_alloc(sizeof(*h));

	agent_hearing_take(h, begin, strlen(begin), 1);
	for (size_t at = 0; at < len; at += step)
		agent_hearing_take(h, bytes + at, len - at < step ? len - at : step, 1);
	agent_hearing_take(h, end, strlen(end), 1);
	agent_hearing_finish(h, ret);
	agent_hearing_deinit(h);
	free(h);
}

static void check_name(const char *name)
{
	if (strlen(name) > 4 * AGENT_NAME_MAX)
		abort();
	for (; *name; name++)
		if ((unsigned char)*name < 0x20 || *name == 0x7f)
			abort();
}

static void check(const struct agent_round *r)
{
	if (r->nr > AGENT_TASKS_MAX || r->nr_files > AGENT_FILES_MAX || r->nr_maps > AGENT_MAPS_MAX)
		abort();
	for (size_t i = 0; i < r->nr; i++)
		check_name(r->tasks[i].cgroup);
	for (size_t i = 0; i < r->nr_files; i++) {
		check_name(r->files[i].path);
		if (r->files[i].build_id_len > AGENT_BUILD_ID_MAX)
			abort();
	}
	for (size_t i = 0; i < r->nr_maps; i++)
		if (r->maps[i].file >= r->nr_files || r->maps[i].start >= r->maps[i].end ||
		    !r->maps[i].pid)
			abort();
	if (r->has_clock && (!*r->clock.counter || r->clock.realtime_ns > INT64_MAX ||
			     !memchr(r->clock.counter, '\0', AGENT_COUNTER_MAX)))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct agent_round whole, parts;

	if (!size)
		return 0;
	hear((const char *)data + 1, size - 1, size, &whole);
	hear((const char *)data + 1, size - 1, 1 + data[0] % 64, &parts);
	check(&whole);
	if (whole.nr != parts.nr || whole.nr_files != parts.nr_files ||
	    whole.nr_maps != parts.nr_maps || whole.has_clock != parts.has_clock)
		abort();
	agent_round_deinit(&whole);
	agent_round_deinit(&parts);
	return 0;
}
