/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/verbs/record/recording.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/guard.h"
#include "cli/client.h"
#include "cli/verbs/verb.h"
#include "tree/settings/tracer_names.h"

#define BUFFER "buffer_size_kb"
#define CLOCK  "trace_clock"

void recording_init(struct recording *r, const struct record_target *target)
{
	*r = (struct recording)RECORDING_NONE;
	r->file.target = *target;
}

void recording_deinit(struct recording *r)
{
	record_file_deinit(&r->file);
	free(hv_take(r->dir));
}

struct hv_err *recording_set(const struct recording *r, const char *file, const char *text)
{
	HV_AUTO_FREE char *path = hv_format("%s/%s", r->dir, file);

	return client_echo(r->client, path, text);
}

/* Returns the contents of FILE in the top directory; empty if it cannot be read. */
static char *of_top(const struct recording *r, const char *file)
{
	HV_AUTO_TEXT struct hv_text text = {0};

	hv_err_free(client_get(r->client, file, &text));
	hv_text_add(&text, "");
	return hv_text_take(&text);
}

static void set_buffer(const struct recording *r, const char *buffer_kb)
{
	HV_AUTO_FREE char *size = buffer_kb ? hv_strdup(buffer_kb) : of_top(r, BUFFER);

	size[strcspn(size, " \n")] = '\0';
	/* fails harmlessly if the host lacks the memory */
	if (*size)
		hv_err_free(recording_set(r, BUFFER, size));
}

/* The file shows the current clock in brackets. */
static void follow_clock(const struct recording *r)
{
	HV_AUTO_FREE char *clocks = of_top(r, CLOCK);
	char *begin = strchr(clocks, '['), *end = strchr(clocks, ']');

	if (!begin || !end)
		return;
	*end = '\0';
	hv_err_free(recording_set(r, CLOCK, begin + 1));
}

static struct hv_err *set_clock(const struct recording *r, const char *clock)
{
	if (clock && strcmp(clock, RECORD_CLOCK_OF_TOP) == 0)
		follow_clock(r);
	else if (clock)
		return recording_set(r, CLOCK, clock);
	return NULL;
}

struct hv_err *recording_begin(struct recording *r, struct client *c,
			       const struct record_request *q)
{
	HV_AUTO_FREE char *dir = q->instance ? hv_format("instances/%s", q->instance)
					     : hv_format("instances/record-%d", (int)getpid());
	struct hv_err *err = client_mkdir(c, dir, CLIENT_DIR_OURS);

	if (err)
		return err;
	r->client = c;
	r->dir = hv_take(dir);
	err = recording_stop(r);
	if (err)
		return err;
	set_buffer(r, q->buffer_kb);
	return set_clock(r, q->clock);
}

struct hv_err *recording_open(struct recording *r)
{
	return record_file_begin(&r->file, r->client, r->dir);
}

struct hv_err *recording_start(const struct recording *r)
{
	return recording_set(r, "tracing_on", "1");
}

struct hv_err *recording_take(struct recording *r, uint32_t wait_ms, bool *ret_more)
{
	return record_file_take(&r->file, r->client, wait_ms, ret_more);
}

struct hv_err *recording_stop(const struct recording *r)
{
	return recording_set(r, "tracing_on", "0");
}

struct hv_err *recording_close(struct recording *r)
{
	return record_file_close(&r->file, r->client);
}

struct hv_err *recording_remove(struct recording *r)
{
	HV_AUTO_FREE char *dir = hv_take(r->dir);

	return dir ? client_rmdir(r->client, dir) : NULL;
}

/* -- the longest section or wait -------------------------------------------------------------- */

bool record_section_has(const char *tracer)
{
	enum hv_tracer found = HV_TRACER_NOP;

	if (tracer)
		hv_err_free(hv_tracer_find(tracer, &found));
	return hv_tracer_measures(found) != HV_MEASURES_NOTHING;
}

const char *record_section_noun(const char *tracer)
{
	enum hv_tracer found = HV_TRACER_NOP;

	hv_err_free(hv_tracer_find(tracer, &found));
	return hv_tracer_measures(found) == HV_MEASURES_WAITS ? "wait" : "section";
}

/* Like put_out. Errors of standard error are ignored, as for other lines there. */
static int put(int fd, struct hv_span data)
{
	if (fd == STDOUT_FILENO)
		return put_out(data.data, data.len_bytes);
	fwrite(data.data, 1, data.len_bytes, stderr);
	return 0;
}

struct hv_err *record_section_print(struct client *c, const char *dir, int fd, int *ret_out_error)
{
	HV_AUTO_FREE char *path = hv_format("%s/trace", dir);
	struct hv_span data = {NULL, 1};
	uint32_t handle;
	struct hv_err *err = client_open(c, path, O_RDONLY, &handle);

	*ret_out_error = 0;
	if (err)
		return client_error(path, err);
	while (!err && data.len_bytes && !*ret_out_error) {
		err = client_read(c, handle, 0, &data);
		if (!err)
			*ret_out_error = put(fd, data);
	}
	hv_err_keep_first(&err, client_close_file(c, handle));
	return err;
}

struct hv_err *record_section_longest_us(struct client *c, const char *dir, uint64_t *ret)
{
	HV_AUTO_FREE char *path = hv_format("%s/tracing_max_latency", dir);
	HV_AUTO_TEXT struct hv_text text = {0};
	struct hv_err *err = client_get(c, path, &text);

	if (err)
		return client_error(path, err);
	hv_text_add(&text, "");
	*ret = strtoull(text.data, NULL, 10);
	return NULL;
}
