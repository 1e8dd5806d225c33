/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The names of a guest's tasks by pid: those from records, and for all others those of the guest's
 * task list, which is read once a second at most.
 * Leaves to others: keeping the recorded names (comms.h), "<idle>" and "<...>" (decode.h). One
 * thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hv_kernel;
struct hv_names;

/* Borrows K, which outlives it. Keeps HV_COMMS_MAX names (comms.h). */
struct hv_names *hv_names_new(struct hv_kernel *k);
void hv_names_free(struct hv_names *n);

/* Adds what a record says about a task. COMM has HV_COMM_LEN bytes and is copied. TGID 0:
 * unknown. */
void hv_names_add(struct hv_names *n, uint32_t pid, uint32_t tgid, const char *comm);
/* Switches whether names are added and the task list is read; they are at first. Known names
 * stay. */
void hv_names_follow(struct hv_names *n, unsigned on);

/* Returns HV_COMM_LEN bytes, NUL-terminated, hostile, valid until the next call; NULL: unknown. */
const char *hv_names_find(struct hv_names *n, uint32_t pid);
/* Changes when a name or a thread group that was returned may be another one now. */
uint64_t hv_names_version(const struct hv_names *n);
/* Whether there is a recorded name of a task. */
bool hv_names_has(const struct hv_names *n, uint32_t pid);
/* Returns the recorded thread group of a task; 0: unknown. */
uint32_t hv_names_tgid(const struct hv_names *n, uint32_t pid);
/* Finds the INDEXth recorded name, in an order without meaning. False: there are no more. */
bool hv_names_at(const struct hv_names *n, size_t index, uint32_t *ret_pid, const char **ret_comm);

/* The number of recorded names that are kept, 1 .. HV_COMMS_MAX; those that were recorded last
 * stay. */
size_t hv_names_max(const struct hv_names *n);
void hv_names_set_max(struct hv_names *n, size_t nr_max);
