/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A string that grows. Functions that render tracefs text and messages write into one.
 * A zero-initialised text is empty and valid. It ends in a NUL once anything was added. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/guard.h"

struct hv_text {
	char *data; /* owned; NULL when empty */
	size_t len_bytes;
	size_t cap_bytes;
};

void hv_text_deinit(struct hv_text *t);
void hv_text_clear(struct hv_text *t); /* empties it and keeps the memory */
void hv_text_add(struct hv_text *t, const char *s);
void hv_text_add_bytes(struct hv_text *t, const void *bytes, size_t len_bytes);
void hv_text_printf(struct hv_text *t, const char *fmt, ...) hv_printf(2, 3);

/* For lines that are made for each event, where hv_text_printf would take most of the time. */
void hv_text_add_char(struct hv_text *t, char c);
void hv_text_add_fill(struct hv_text *t, char c, size_t nr);
/* Adds VALUE in decimal, after as many blanks as make it WIDTH characters. */
void hv_text_add_number(struct hv_text *t, uint64_t value, unsigned width);

/* Makes room for LEN_BYTES and returns where they go. What was put there counts when hv_text_end is
 * told where it ends; nothing else is added before. */
char *hv_text_room(struct hv_text *t, size_t len_bytes) hv_must_use;
void hv_text_end(struct hv_text *t, char *end);

/* Adds a name that the guest gave: at most MAX_BYTES of it, up to its NUL. Bytes that a terminal
 * would act on become '?'. */
void hv_text_add_guest(struct hv_text *t, const char *name, size_t max_bytes);
/* Likewise, for those who read UTF-8 only (JSON): what is not UTF-8 becomes '?', too. */
void hv_text_add_utf8(struct hv_text *t, const char *name, size_t max_bytes);
/* Adds lines in UTF-8 that a process without rights wrote. Control characters become '?'. */
void hv_text_add_lines(struct hv_text *t, const char *lines);

/* Passes the string to the caller, who frees it. Never NULL. The text is empty afterwards. */
char *hv_text_take(struct hv_text *t) hv_must_use;

/* Returns what a noun needs after the number NR: "s", or nothing after 1. */
static inline const char *hv_plural(unsigned long long nr)
{
	return nr == 1 ? "" : "s";
}

#define HV_AUTO_TEXT hv_cleanup(hv_text_deinit)
