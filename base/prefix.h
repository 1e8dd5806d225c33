/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prefixes and suffixes of strings. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static inline bool hv_starts_with(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* Returns TEXT without PREFIX, or NULL if it does not start with PREFIX. */
static inline const char *hv_after_prefix(const char *text, const char *prefix)
{
	return hv_starts_with(text, prefix) ? text + strlen(prefix) : NULL;
}

static inline bool hv_ends_with(const char *text, const char *suffix)
{
	size_t len = strlen(text), end = strlen(suffix);

	return len >= end && strcmp(text + len - end, suffix) == 0;
}
