/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Starts a keeper for a process that acts as the VMM. */
#pragma once

#include "vmm/inject/keeper.h"

static inline struct hv_err *start_keeper_of(pid_t pid, int pidfd, const struct hv_call_code *code,
					     struct hv_keeper **ret)
{
	struct hv_process process = {0};
	struct hv_err *err = hv_process_open(pid, &process);

	if (!err)
		err = hv_keeper_start(&process, pidfd, code, ret);
	hv_process_close(&process);
	return err;
}
