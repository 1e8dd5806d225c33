/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/cancel.h"

static _Thread_local bool (*ask)(void *ctx);
static _Thread_local void *ask_ctx;

void hv_cancel_when(bool (*is_cancelled)(void *ctx), void *ctx)
{
	ask = is_cancelled;
	ask_ctx = ctx;
}

struct hv_err *hv_cancel_check(void)
{
	return ask && ask(ask_ctx) ? hv_err_new(ECANCELED, "interrupted") : NULL;
}

bool hv_cancel_now(size_t step)
{
	return step % HV_CANCEL_STEPS == 0 && ask && ask(ask_ctx);
}
