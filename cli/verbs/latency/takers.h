/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What threads of the host are that had the CPU of a vCPU: of this guest's VMM, of another guest's,
 * or something else, by /proc. Needs no rights. Leaves to others: who they are (latency/takers.h).
 */
#pragma once

#include "latency/takers.h"

/* Whether PROGRAM, a path, is one of those that are nothing but VMMs on KVM. */
bool latency_is_vmm(const char *program);
/* Looks at each thread of T once that took a millisecond or more; one that has gone stays
 * unknown. */
void latency_takers_look(struct hv_takers *t, uint64_t vmm_pid);
