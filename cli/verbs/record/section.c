/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/verbs/record/section.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/client.h"
#include "cli/verbs/verb.h"
#include "tree/settings/tracer_names.h"

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
