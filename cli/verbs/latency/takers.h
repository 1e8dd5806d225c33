/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Classifies host threads that had a vCPU's CPU, by /proc: threads of this guest's VMM, of another
 * guest's, or other threads. Needs no rights. latency/takers.h finds the threads. */
#pragma once

#include "latency/takers.h"

/* Whether PROGRAM, a path, is a program whose only purpose is to be a VMM on KVM. */
bool latency_is_vmm(const char *program);
/* Examines each thread of T that took at least a millisecond, once; a thread that has ended stays
 * unknown. */
void latency_takers_look(struct hv_takers *t, uint64_t vmm_pid);
