/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Directories with one entry per vCPU. A name is a word and a number: "cpu7". */
#pragma once

#include "tree/files/node.h"

/* Implement name and find of struct hv_entries, for entries whose names begin with WORD. */
bool hv_cpu_name(const struct hv_place *dir, const char *word, size_t index, struct hv_text *ret);
bool hv_cpu_find(struct hv_place *at, const char *word, const char *name);
