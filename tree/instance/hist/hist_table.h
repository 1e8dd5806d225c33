/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The entries of a histogram, like the kernel's tracing_map: for each key the number of hits, the
 * sums of the values, and the variables. The size is fixed by the trigger; events with keys that do
 * not fit are dropped and counted. Keys are untrusted, so a lookup takes a bounded number of steps
 * and then drops the event. tree/settings/hist/hist_spec.h defines keys and values. Pure. */
#pragma once

#include "base/text.h"
#include "tree/format/hist_text.h"

struct hv_hist_table;

/* Creates a table with the keys, values and variables of S, which it does not keep. The caller owns
 * one reference. */
struct hv_hist_table *hv_hist_table_new(const struct hv_hist_spec *s) hv_must_use;
struct hv_hist_table *hv_hist_table_ref(struct hv_hist_table *t) hv_must_use;
void hv_hist_table_unref(struct hv_hist_table *t);
/* Returns the maximum memory of a table of S, in bytes. */
uint64_t hv_hist_table_bytes(const struct hv_hist_spec *s);

/* Removes all entries and resets the counts. */
void hv_hist_table_clear(struct hv_hist_table *t);
/* No entry. */
#define HV_HIST_NOWHERE UINT32_MAX

/* Adds RECORD, an event of task COMM (HV_COMM_LEN bytes), to the entry of KEY, and sets the
 * variables that each hit sets. Returns the entry, valid until the table is cleared.
 * HV_HIST_NOWHERE: the event was dropped. */
uint32_t hv_hist_table_add(struct hv_hist_table *t, const struct hv_hist_spec *s,
			   const uint8_t *key, const struct hv_hist_record *record,
			   const char *comm);
/* Sets the save() variables of entry AT. */
void hv_hist_table_save(struct hv_hist_table *t, const struct hv_hist_spec *s, uint32_t at,
			const struct hv_hist_record *record);

/* Returns the entry with the key at KEY. KEY_BYTES may exceed the length of this table's key: as in
 * the kernel, another event's table may have fewer keys. */
uint32_t hv_hist_table_find(const struct hv_hist_table *t, const uint8_t *key, uint32_t key_bytes);
/* Returns the name of the task that first hit the entry, HV_COMM_LEN bytes. */
const char *hv_hist_table_comm(const struct hv_hist_table *t, uint32_t at);
enum hv_hist_reading { HV_HIST_READ_AGAIN, HV_HIST_READ_ONCE };
/* Reads a variable of entry AT. Copies a string to TEXT, HV_HIST_TEXT_BYTES long. Returns false if
 * the variable is unset. HV_HIST_READ_ONCE unsets it. */
bool hv_hist_table_read(struct hv_hist_table *t, uint32_t at, unsigned variable,
			enum hv_hist_reading how, char *text, struct hv_hist_value *ret);
/* Returns the number in a variable, 0 if it was never set. */
uint64_t hv_hist_table_number(const struct hv_hist_table *t, uint32_t at, unsigned variable);
void hv_hist_table_set_number(struct hv_hist_table *t, uint32_t at, unsigned variable,
			      uint64_t number);

/* Adds the text of the entries in the order of S, then SHOT, which may be NULL, and the totals.
 * Modifies NAMES. */
void hv_hist_table_text(const struct hv_hist_table *t, const struct hv_hist_spec *s,
			const struct hv_hist_shot *shot, struct hv_hist_names *names,
			struct hv_text *ret);

/* Returns the number of stack addresses that the guest's kernel stores, at most
 * HV_HIST_STACK_MAX. */
unsigned hv_hist_stack_depth(const struct hv_kernel *k);
