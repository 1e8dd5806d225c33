/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The terminal on which `hvtrace top` shows lines and takes keys. Built without ncurses, there is
 * none (top_screen_none.c).
 * Leaves to others: what is shown (top_text.h), what keys mean. */
#pragma once

#include <stdbool.h>

#include "base/text.h"

struct top_screen;

/* False: standard input and output are not a terminal on which this is possible. From here to
 * top_screen_close() nothing else may write to it. Whatever ends the process, the terminal is put
 * back. */
bool top_screen_open(struct top_screen **ret);
void top_screen_close(struct top_screen *s);

/* Lines that there is room for. */
unsigned top_screen_lines(const struct top_screen *s);
/* Shows TITLE and as much of the lines of TEXT as there is room for. */
void top_screen_show(struct top_screen *s, const char *title, const struct hv_text *text);

#define TOP_KEY_NONE 0	/* no key within the time, or a signal came */
#define TOP_KEY_SHOW -1 /* the terminal has another size, or must be shown again */
#define TOP_KEY_GONE -2 /* there is no terminal any more */
/* Waits for a key, at most WAIT_MS. Returns its character. */
int top_screen_key(struct top_screen *s, int wait_ms);
