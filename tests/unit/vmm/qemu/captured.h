/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads texts that were captured from a real VMM (tests/unit/vmm/qemu/fixtures/). */
#pragma once

#include <check.h>
#include <stdio.h>

#include "base/text.h"

/* Returns the text of a file. The caller frees it. */
static inline char *captured(const char *name)
{
	struct hv_text t = {0};
	char path[512], buf[4096];
	size_t nr;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", FIXTURES, name);
	f = fopen(path, "r");
	ck_assert_ptr_nonnull(f);
	while ((nr = fread(buf, 1, sizeof(buf), f)))
		hv_text_add_bytes(&t, buf, nr);
	fclose(f);
	return hv_text_take(&t);
}
