/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files that `hvtrace profile -o` writes. */
#pragma once

#include "base/err.h"
#include "base/text.h"

/* Replaces the contents of the file FD. PATH names it in errors. */
struct hv_err *profile_write(const char *path, int fd, const struct hv_text *text) hv_must_use;
