/* The names of a guest's tasks by pid: those that records told, and for all others those of the
 * guest's task list, which is read once a second at most.
 * Leaves to others: what is kept of the recorded ones (comms.h), "<idle>" and "<...>" (decode.h).
 * One thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hv_kernel;
struct hv_names;

/* Borrows K, which outlives it. HV_COMMS_MAX names are kept (comms.h). */
struct hv_names *hv_names_new(struct hv_kernel *k);
void hv_names_free(struct hv_names *n);

/* What a record told of a task. COMM: HV_COMM_LEN bytes, copied. TGID 0: not told. */
void hv_names_add(struct hv_names *n, uint32_t pid, uint32_t tgid, const char *comm);
/* Whether names are added and the task list is read; at first they are. Names that are known stay.
 */
void hv_names_follow(struct hv_names *n, unsigned on);

/* HV_COMM_LEN bytes, NUL-terminated, hostile, valid until the next call; NULL: unknown. */
const char *hv_names_find(struct hv_names *n, uint32_t pid);
/* The thread group of a task, as recorded; 0: unknown. */
uint32_t hv_names_tgid(const struct hv_names *n, uint32_t pid);
/* The INDEXth of the recorded names, in no order that means anything. False: there are no more. */
bool hv_names_at(const struct hv_names *n, size_t index, uint32_t *ret_pid, const char **ret_comm);

/* How many recorded names are kept, 1 .. HV_COMMS_MAX; those that were recorded last stay. */
size_t hv_names_max(const struct hv_names *n);
void hv_names_set_max(struct hv_names *n, size_t nr_max);
