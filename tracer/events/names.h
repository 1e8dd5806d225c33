/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The names of a guest's tasks by pid: from records, and otherwise from the guest's task list.
 *
 * decode.h adds "<idle>" and "<...>". One thread. */
#pragma once

#include "base/switch.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hv_kernel;
struct hv_names;

/* -- names from records ------------------------------------------------------------------------ */

/* A table of names and thread groups of tasks by pid, collected from records. Its size is bounded:
 * the least recently set entry is evicted first. */

#define HV_COMM_LEN  16	   /* including the NUL; the bytes come from the guest and are untrusted */
#define HV_COMMS_MAX 32768 /* PID_MAX_DEFAULT: limit of saved_cmdlines_size */

struct hv_comms;

struct hv_comms *hv_comms_new(size_t nr_max); /* from 1 to HV_COMMS_MAX */
void hv_comms_free(struct hv_comms *c);
size_t hv_comms_max(const struct hv_comms *c);
/* Creates a table with the entries of C. If they do not fit, drops the least recently set ones. */
struct hv_comms *hv_comms_resized(const struct hv_comms *c, size_t nr_max);

/* Copies COMM, which has HV_COMM_LEN bytes; the last one is treated as NUL. TGID 0: unknown. */
void hv_comms_set(struct hv_comms *c, uint32_t pid, uint32_t tgid, const char *comm);
/* Like hv_comms_set(), but keeps an entry with a later TSC. All entries of the table must be set
 * with this function. */
void hv_comms_set_newest(struct hv_comms *c, uint64_t tsc, uint32_t pid, uint32_t tgid,
			 const char *comm);

/* Returns HV_COMM_LEN bytes with a NUL, valid until the next set, or NULL if unknown. */
const char *hv_comms_find(const struct hv_comms *c, uint32_t pid);
/* Returns 0 if unknown. */
uint32_t hv_comms_tgid(const struct hv_comms *c, uint32_t pid);
/* Finds entry INDEX, in arbitrary order. Returns false after the last one. */
bool hv_comms_at(const struct hv_comms *c, size_t index, uint32_t *ret_pid, const char **ret_comm);

/* -- names of all tasks ------------------------------------------------------------------------ */

/* Names from records, and of other tasks from the guest's task list (kernel/tasks/tasks.h), which
 * is read at most once a second. */

/* Borrows K, which must outlive it. Keeps HV_COMMS_MAX names. */
struct hv_names *hv_names_new(struct hv_kernel *k);
void hv_names_free(struct hv_names *n);

/* Adds the name and thread group from a task record. COMM has HV_COMM_LEN bytes and is copied. TGID
 * 0: unknown. */
void hv_names_add(struct hv_names *n, uint32_t pid, uint32_t tgid, const char *comm);
/* Switches adding names and reading the task list; both are on at first. Known names remain. */
void hv_names_follow(struct hv_names *n, enum hv_switch to);

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
