/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The entries of a histogram, as the kernel's tracing_map has them: for each key how often it was
 * hit, the sums of the values, and the values of variables. It has room for as many entries as its
 * trigger says. Events with other keys than those are dropped, and counted. Keys are the guest's,
 * so a search ends after a number of steps that is bounded; then, too, the event is dropped. Leaves
 * to others: what keys and values are (tree/settings/hist_spec.h). Pure. */
#pragma once

#include "base/text.h"
#include "tree/format/hist_text.h"

struct hv_hist_table;

/* The table has the keys, values and variables of S, which it does not keep. The caller owns one
 * reference. */
struct hv_hist_table *hv_hist_table_new(const struct hv_hist_spec *s) hv_must_use;
struct hv_hist_table *hv_hist_table_ref(struct hv_hist_table *t) hv_must_use;
void hv_hist_table_unref(struct hv_hist_table *t);
/* How many bytes a table of S may need at most. */
uint64_t hv_hist_table_bytes(const struct hv_hist_spec *s);

/* Removes all entries, and begins to count at 0. */
void hv_hist_table_clear(struct hv_hist_table *t);
/* No entry. */
#define HV_HIST_NOWHERE UINT32_MAX

/* Adds RECORD, an event of a task called COMM, of HV_COMM_LEN bytes, to the entry of KEY, and sets
 * the variables that a hit sets. Returns where the entry is until the table is cleared;
 * HV_HIST_NOWHERE: the event is dropped. */
uint32_t hv_hist_table_add(struct hv_hist_table *t, const struct hv_hist_spec *s,
			   const uint8_t *key, const struct hv_hist_record *record,
			   const char *comm);
/* Sets the variables of the entry AT that save() sets. */
void hv_hist_table_save(struct hv_hist_table *t, const struct hv_hist_spec *s, uint32_t at,
			const struct hv_hist_record *record);

/* The entry whose key is at KEY, which has KEY_BYTES, or more than it needs. As in the kernel, the
 * table of another event may have fewer keys. */
uint32_t hv_hist_table_find(const struct hv_hist_table *t, const uint8_t *key, uint32_t key_bytes);
/* The name of the task that has hit the entry first; HV_COMM_LEN bytes. */
const char *hv_hist_table_comm(const struct hv_hist_table *t, uint32_t at);
enum hv_hist_reading { HV_HIST_READ_AGAIN, HV_HIST_READ_ONCE };
/* Reads a variable of the entry AT. Its text is copied to TEXT, of HV_HIST_TEXT_BYTES. False: it
 * is not set. If it is read once, it is not set afterwards. */
bool hv_hist_table_read(struct hv_hist_table *t, uint32_t at, unsigned variable,
			enum hv_hist_reading how, char *text, struct hv_hist_value *ret);
/* The number in a variable; 0: it was never set. */
uint64_t hv_hist_table_number(const struct hv_hist_table *t, uint32_t at, unsigned variable);
void hv_hist_table_set_number(struct hv_hist_table *t, uint32_t at, unsigned variable,
			      uint64_t number);

/* Adds the text of the entries in the order of S, then SHOT, which may be NULL, and the totals.
 * NAMES is changed. */
void hv_hist_table_text(const struct hv_hist_table *t, const struct hv_hist_spec *s,
			const struct hv_hist_shot *shot, struct hv_hist_names *names,
			struct hv_text *ret);

/* How many addresses of a stack the guest's kernel takes, at most HV_HIST_STACK_MAX. */
unsigned hv_hist_stack_depth(const struct hv_kernel *k);
