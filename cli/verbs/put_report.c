/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/verbs/put_report.h"

#include <string.h>

#include "cli/verbs/verb.h"
#include "export/json_string.h"

#define VERSION 1

int put_report(const char *spec, const char *text, size_t len_bytes)
{
	const char *end = text ? text + len_bytes : NULL, *between = "";
	HV_AUTO_TEXT struct hv_text out = {0};

	hv_text_printf(&out, "{\"version\":%d,\"domain\":", VERSION);
	hv_json_add_string(&out, spec, strlen(spec));
	hv_text_add(&out, ",\"report\":[");
	for (const char *line = text; line < end; between = ",") {
		const char *stop = memchr(line, '\n', (size_t)(end - line));
		size_t len = (size_t)((stop ? stop : end) - line);

		hv_text_add(&out, between);
		hv_json_add_string(&out, line, len);
		line += len + 1;
	}
	hv_text_add(&out, "]}\n");
	return put_out(out.data, out.len_bytes);
}
