/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The scope of a fake session (fake_session.h). It remembers the tasks and vCPUs that it was set
 * to. */
#pragma once

struct hv_scope;

/* *FAIL (borrowed) is the errno of the next change; 0: it succeeds. */
struct hv_scope *fake_scope_new(int *fail);
void fake_scope_free(struct hv_scope *scope);
void fake_scope_set_cpus(struct hv_scope *scope, unsigned nr);
