/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The text of a histogram, as in the kernel's files trigger and hist (event_hist_trigger_print,
 * hist_trigger_entry_print). tree/instance/hist/hist_table.h has the entries and their order. */
#pragma once

#include "base/text.h"
#include "tree/settings/hist/hist_spec.h"

struct hv_kernel;

enum hv_hist_state { HV_HIST_IS_ACTIVE, HV_HIST_IS_PAUSED };

/* Adds the trigger's line, with a newline. */
void hv_hist_text_spec(const struct hv_hist_spec *s, enum hv_hist_state state, struct hv_text *ret);

/* One entry. All pointers are borrowed; KEY and COMM are untrusted. */
struct hv_hist_entry {
	const uint8_t *key;	   /* s->key_bytes */
	const char *comm;	   /* the task that first hit it; HV_COMM_LEN bytes */
	const uint64_t *sums;	   /* one per value */
	const uint64_t *variables; /* one number per variable; NULL: no variables */
	const char *texts;	   /* for string variables, HV_HIST_TEXT_BYTES each */
};

/* The hit that made onmax().snapshot() or onchange().snapshot() take the snapshot. */
struct hv_hist_shot {
	const struct hv_hist_action *action;
	uint64_t value;
	struct hv_hist_entry entry; /* its key and task */
};

/* Named system calls have numbers below this. */
#define HV_HIST_SYSCALLS_MAX 1024

/* Context for the text of entries. */
struct hv_hist_names {
	const struct hv_kernel *kernel;	      /* borrowed; for symbols */
	const struct hv_catalogue *catalogue; /* borrowed; for system call names */
	/* Maximum and sum of each value over all entries. */
	uint64_t max[HV_HIST_VALUES_MAX], total[HV_HIST_VALUES_MAX];
	const char *syscalls[HV_HIST_SYSCALLS_MAX]; /* borrowed from CATALOGUE; by number */
};

/* Fills N->syscalls from N->catalogue. Done once because there can be many entries and types. */
void hv_hist_names_find_syscalls(struct hv_hist_names *n);

/* Adds the text of E, one or more lines. */
void hv_hist_text_entry(const struct hv_hist_spec *s, const struct hv_hist_names *names,
			const struct hv_hist_entry *e, struct hv_text *ret);
void hv_hist_text_shot(const struct hv_hist_spec *s, const struct hv_hist_names *names,
		       const struct hv_hist_shot *shot, struct hv_text *ret);
