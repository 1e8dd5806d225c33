/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/metrics/profile.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"

#define BYTES_MAX (8 << 20) /* per vCPU: more than a line for each function of a kernel */
#define VCPUS_MAX 4096
#define ALL_NS	  (60 * HV_NS_PER_S) /* for all vCPUs; the session chooses their number */
#define TIME_MAX  1e16		     /* in us: 300 years */

/* Reads all of FILE, at most BYTES_MAX. */
static struct hv_err *read_file(struct client *c, const char *file, uint32_t wait_ms,
				uint64_t until_ns, struct hv_text *ret)
{
	uint32_t handle;
	struct hv_err *err = client_open(c, file, O_RDONLY, &handle);
	struct hv_span data = {.len_bytes = 1};

	if (err)
		return err;
	while (!err && data.len_bytes && ret->len_bytes < BYTES_MAX) {
		err = client_read(c, handle, wait_ms, &data);
		if (!err && hv_now_ns() >= until_ns)
			err = hv_err_new(ETIMEDOUT, "%s: the session took too long to send it",
					 file);
		if (!err)
			hv_text_add_bytes(ret, data.data, data.len_bytes);
	}
	hv_text_add(ret, "");
	hv_err_keep_first(&err, client_close_file(c, handle));
	return err;
}

/* Parses a line of trace_stat/functionN: name, hits, time and its unit, ... The service sanitises
 * names but may be compromised, so this sanitises them again. */
static void take_line(const char *line, profile_fn *fn, void *ctx)
{
	HV_AUTO_TEXT struct hv_text shown = {0};
	char name[PROFILE_NAME_MAX + 1];
	uint64_t hits;
	double time_us;

	if (sscanf(line, "%30s %" SCNu64 " %lf us", name, &hits, &time_us) != 3 ||
	    !(time_us >= 0 && time_us <= TIME_MAX)) /* also rejects NaN */
		return;
	hv_text_add_guest(&shown, name, PROFILE_NAME_MAX);
	fn(ctx, shown.data, hits, time_us);
}

struct hv_err *profile_read(struct client *c, const char *dir, uint64_t nr_vcpus, uint32_t wait_ms,
			    profile_fn *fn, void *ctx)
{
	uint64_t until_ns = hv_now_ns() + ALL_NS;

	for (unsigned cpu = 0; cpu < nr_vcpus && cpu < VCPUS_MAX; cpu++) {
		HV_AUTO_TEXT struct hv_text text = {0};
		HV_AUTO_FREE char *file =
			hv_format("%s%strace_stat/function%u", dir, *dir ? "/" : "", cpu);
		struct hv_err *err = read_file(c, file, wait_ms, until_ns, &text);
		char *rest = NULL;

		if (err)
			return err;
		for (char *line = strtok_r(text.data, "\n", &rest); line;
		     line = strtok_r(NULL, "\n", &rest))
			take_line(line, fn, ctx);
	}
	return NULL;
}
