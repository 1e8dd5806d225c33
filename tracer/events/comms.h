/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names and thread groups of tasks by pid, from records. Their number is bounded: the entry that
 * was set longest ago is forgotten first.
 * Leaves to others: names that are in no record (kernel/tasks.h), "<idle>" and "<...>"
 * (decode.h). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HV_COMM_LEN  16	   /* with the NUL; the bytes are the guest's and hostile */
#define HV_COMMS_MAX 32768 /* PID_MAX_DEFAULT: what saved_cmdlines_size takes */

struct hv_comms;

struct hv_comms *hv_comms_new(size_t nr_max); /* 1 .. HV_COMMS_MAX */
void hv_comms_free(struct hv_comms *c);
size_t hv_comms_max(const struct hv_comms *c);
/* Makes a new table with the entries of C. If they do not fit, those that were set longest ago are
 * left out. */
struct hv_comms *hv_comms_resized(const struct hv_comms *c, size_t nr_max);

/* COMM has HV_COMM_LEN bytes, is copied, and its last byte is taken as NUL. TGID 0: unknown. */
void hv_comms_set(struct hv_comms *c, uint32_t pid, uint32_t tgid, const char *comm);
/* Likewise, unless the table has a name of a later TSC. All of its entries are set by this. */
void hv_comms_set_newest(struct hv_comms *c, uint64_t tsc, uint32_t pid, uint32_t tgid,
			 const char *comm);

/* Returns HV_COMM_LEN bytes, NUL-terminated, valid until the next set; NULL: unknown. */
const char *hv_comms_find(const struct hv_comms *c, uint32_t pid);
/* 0: unknown. */
uint32_t hv_comms_tgid(const struct hv_comms *c, uint32_t pid);
/* Finds the INDEXth entry, in an order without meaning. False: there are no more. */
bool hv_comms_at(const struct hv_comms *c, size_t index, uint32_t *ret_pid, const char **ret_comm);
