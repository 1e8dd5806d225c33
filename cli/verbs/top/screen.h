/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The terminal on which `hvtrace top` shows lines and reads keys. Builds without ncurses use
 * top/screen_none.c, which has no screen. The caller formats the lines and interprets the keys. */
#pragma once

#include <stdbool.h>

#include "base/text.h"

struct top_screen;

/* False: standard input and output are not a suitable terminal. Until top_screen_close(), no other
 * code may write to it. The terminal is restored when the process ends for any reason. */
bool top_screen_open(struct top_screen **ret);
void top_screen_close(struct top_screen *s);

/* Returns the number of lines that fit. */
unsigned top_screen_lines(const struct top_screen *s);
/* Shows TITLE and as many lines of TEXT as fit. */
void top_screen_show(struct top_screen *s, const char *title, const struct hv_text *text);

#define TOP_KEY_NONE 0	/* no key within the time, or a signal arrived */
#define TOP_KEY_SHOW -1 /* the terminal was resized or must be redrawn */
#define TOP_KEY_GONE -2 /* the terminal is gone */
/* Waits for a key, at most WAIT_MS. Returns its character. */
int top_screen_key(struct top_screen *s, int wait_ms);
