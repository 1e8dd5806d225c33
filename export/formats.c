/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/export.h"

#include <string.h>

#define ZSTD_SUFFIX ".zst"

const struct hv_export_format *const hv_export_formats[] = {
	&hv_export_dat,
	&hv_export_perfetto,
	&hv_export_ctf,
	&hv_export_jsonl,
	&hv_export_txt,
	&hv_export_histogram,
	&hv_export_histogram_json,
};
const size_t hv_nr_export_formats = HV_ARRAY_LEN(hv_export_formats);

const struct hv_export_format *hv_export_find(const char *name)
{
	for (size_t i = 0; i < hv_nr_export_formats; i++)
		if (strcmp(hv_export_formats[i]->name, name) == 0)
			return hv_export_formats[i];
	return NULL;
}

static bool ends_with(const char *path, size_t len, const char *suffix)
{
	size_t suffix_len = suffix ? strlen(suffix) : 0;

	return suffix_len && len > suffix_len &&
	       strncmp(path + len - suffix_len, suffix, suffix_len) == 0;
}

const struct hv_export_format *hv_export_of_path(const char *path, enum hv_compression *ret)
{
	size_t len = strlen(path);

	*ret = HV_COMPRESSION_NONE;
	if (ends_with(path, len, ZSTD_SUFFIX)) {
		*ret = HV_COMPRESSION_ZSTD;
		len -= strlen(ZSTD_SUFFIX);
	}
	for (size_t i = 0; i < hv_nr_export_formats; i++)
		if (ends_with(path, len, hv_export_formats[i]->suffix) ||
		    ends_with(path, len, hv_export_formats[i]->other_suffix))
			return hv_export_formats[i];
	return NULL;
}
