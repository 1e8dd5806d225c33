/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/verbs/top/screen.h"

bool top_screen_open(struct top_screen **ret hv_unused)
{
	return false;
}

void top_screen_close(struct top_screen *s hv_unused)
{
}

unsigned top_screen_lines(const struct top_screen *s hv_unused)
{
	return 0;
}

void top_screen_show(struct top_screen *s hv_unused, const char *title hv_unused,
		     const struct hv_text *text hv_unused)
{
}

int top_screen_key(struct top_screen *s hv_unused, int wait_ms hv_unused)
{
	return TOP_KEY_NONE;
}
