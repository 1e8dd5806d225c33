/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The processes of this host that hold a KVM machine. A VMM under attack chooses its arguments and
 * the names of its files and threads, so an id is only a claim: it is bounded, has only harmless
 * characters, and names a process only if no other process claims it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

#define HV_VMM_ID_MAX	64
#define HV_VMM_NAME_MAX 32

struct hv_vmm_process {
	pid_t pid;
	char id[HV_VMM_ID_MAX + 1];	/* "": it claims none */
	char name[HV_VMM_NAME_MAX + 1]; /* of the VMM's program; for display */
	bool is_shared;			/* another process claims the id, too */
};

/* Lists processes in all pid and mount namespaces that this process sees, by pid. Processes of other
 * users are missing without permission to inspect them. The caller frees *RET with free(). */
struct hv_err *hv_vmm_processes(struct hv_vmm_process **ret, size_t *ret_nr) hv_must_use;

/* Finds the process with ID. Fails with ENOENT if there is none, or ENOTUNIQ if several claim it. */
struct hv_err *hv_vmm_process_find(const char *id, pid_t *ret) hv_must_use;

/* Finds the id that the arguments of a VMM claim: --id, --name, --api-sock, --api-socket. Returns
 * false if there is none, or it is too long or has other characters than letters, digits and
 * "-_.:+@/". */
bool hv_vmm_id_of(char *const *args, size_t nr_args, char ret[HV_VMM_ID_MAX + 1]);
