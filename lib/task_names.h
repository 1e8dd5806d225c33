/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of the guest's tasks, parsed from the service's saved_cmdlines, which can contain
 * anything. */
#pragma once

#include <stdint.h>

#include "lib/conn.h"

#define TASK_NAME_BYTES 16

struct task_names;

void task_names_free(struct task_names *names);
/* Copies the name of task PID. *NAMES is what was read last, owned by the caller; NULL before the
 * first call. The service is asked again if that is older than 100 ms. */
struct hvt_error *task_names_find(struct task_names **names, struct conn *c, uint32_t pid,
				  char ret[TASK_NAME_BYTES]) hv_must_use;
