/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Memory of the library. Unlike base/guard.h, a failed allocation returns NULL: a library must not
 * end the process. tests/unit/lib/failing_alloc.c replaces alloc.c. */
#pragma once

#include <stddef.h>

#include "base/guard.h"

/* Returns zeroed memory. */
void *lib_alloc(size_t len_bytes) hv_must_use;
/* Like reallocarray(3). P stays valid on failure. */
void *lib_realloc_array(void *p, size_t nr, size_t size) hv_must_use;
/* Copies LEN_BYTES and adds a NUL. */
char *lib_strndup(const char *s, size_t len_bytes) hv_must_use;
char *lib_strdup(const char *s) hv_must_use;
