/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads two profiles from one input, with a zero byte between them, and compares them. */
#include <stdlib.h>
#include <string.h>

#include "profile/diff.h"
#include "profile/read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_part(struct hv_chains *chains, bool is_before, const uint8_t *data, size_t size)
{
	struct hv_read r = {.path = "x", .chains = chains, .is_before = is_before};
	size_t half = size / 2;
	struct hv_err *err = hv_read_add(&r, (const char *)data, half);

	if (!err)
		err = hv_read_add(&r, (const char *)data + half, size - half);
	if (!err)
		err = hv_read_end(&r);
	hv_err_free(err);
	hv_read_deinit(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	hv_cleanup(hv_chains_deinit) struct hv_chains chains = {0};
	hv_cleanup(hv_diff_deinit) struct hv_diff diff = {0};
	HV_AUTO_TEXT struct hv_text out = {0};
	const uint8_t *middle = size ? memchr(data, 0, size) : NULL;
	size_t first = middle ? (size_t)(middle - data) : size;

	read_part(&chains, true, data, first);
	if (middle)
		read_part(&chains, false, middle + 1, size - first - 1);
	hv_diff_make(&chains, &diff);
	hv_diff_text(&diff, 0, &out);
	hv_diff_changed(&diff, 10, &out);
	if (!hv_diff_folded(&diff, SIZE_MAX, &out) ||
	    !hv_flame_svg(&diff.flame, "x", SIZE_MAX, &out))
		abort();
	return 0;
}
