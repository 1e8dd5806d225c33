/* Names of tasks by pid, and whose threads they are, as records told them: bounded, the longest
 * unheard of is forgotten first.
 * Leaves to others: names that no record told (kernel/tasks.h), "<idle>" and "<...>" (decode.h). */
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
/* With what C knows, but for the longest unheard of where there is no room. */
struct hv_comms *hv_comms_resized(const struct hv_comms *c, size_t nr_max);

/* COMM: HV_COMM_LEN bytes, copied; the last one is taken as NUL. TGID 0: not told. */
void hv_comms_set(struct hv_comms *c, uint32_t pid, uint32_t tgid, const char *comm);

/* HV_COMM_LEN bytes, NUL-terminated, valid until the next set; NULL: unknown. */
const char *hv_comms_find(const struct hv_comms *c, uint32_t pid);
/* 0: unknown. */
uint32_t hv_comms_tgid(const struct hv_comms *c, uint32_t pid);
/* The INDEXth of those known, in no order that means anything. False: there are no more. */
bool hv_comms_at(const struct hv_comms *c, size_t index, uint32_t *ret_pid, const char **ret_comm);
