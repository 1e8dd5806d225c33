/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A table of names and thread groups of tasks by pid, collected from records. Its size is bounded:
 * the least recently set entry is evicted first.
 *
 * kernel/tasks/tasks.h reads names that are in no record; decode.h adds "<idle>" and "<...>". */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
