/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/verbs/record/recording.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/guard.h"

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
