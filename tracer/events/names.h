/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The names of a guest's tasks by pid: from records, and otherwise from the guest's task list,
 * which is read at most once a second.
 *
 * comms.h stores the recorded names; decode.h adds "<idle>" and "<...>". One thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hv_kernel;
struct hv_names;

/* Borrows K, which must outlive it. Keeps HV_COMMS_MAX names (comms.h). */
struct hv_names *hv_names_new(struct hv_kernel *k);
void hv_names_free(struct hv_names *n);

/* Adds the name and thread group from a task record. COMM has HV_COMM_LEN bytes and is copied. TGID
 * 0: unknown. */
void hv_names_add(struct hv_names *n, uint32_t pid, uint32_t tgid, const char *comm);
/* Switches adding names and reading the task list; both are on at first. Known names remain. */
void hv_names_follow(struct hv_names *n, unsigned on);

/* Returns HV_COMM_LEN bytes with a NUL, untrusted and valid until the next call, or NULL if
 * unknown. */
const char *hv_names_find(struct hv_names *n, uint32_t pid);
/* Returns a number that changes when a name or thread group that was returned may be outdated. */
uint64_t hv_names_version(const struct hv_names *n);
/* Returns whether a task has a recorded name. */
bool hv_names_has(const struct hv_names *n, uint32_t pid);
/* Returns the recorded thread group of a task; 0: unknown. */
uint32_t hv_names_tgid(const struct hv_names *n, uint32_t pid);
/* Finds recorded name INDEX, in arbitrary order. Returns false after the last one. */
bool hv_names_at(const struct hv_names *n, size_t index, uint32_t *ret_pid, const char **ret_comm);

/* The maximum number of recorded names, from 1 to HV_COMMS_MAX. The most recently recorded ones are
 * kept. */
size_t hv_names_max(const struct hv_names *n);
void hv_names_set_max(struct hv_names *n, size_t nr_max);
