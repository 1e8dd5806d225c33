/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The text of a histogram, as the kernel shows it in the files trigger and hist
 * (event_hist_trigger_print, hist_trigger_entry_print).
 * Leaves to others: which entries there are, and their order (tree/instance/hist/hist_table.h). */
#pragma once

#include "base/text.h"
#include "tree/settings/hist_spec.h"

struct hv_kernel;

enum hv_hist_state { HV_HIST_IS_ACTIVE, HV_HIST_IS_PAUSED };

/* Adds the line of the trigger, with a newline. */
void hv_hist_text_spec(const struct hv_hist_spec *s, enum hv_hist_state state, struct hv_text *ret);

/* One entry. All is borrowed; KEY and COMM are hostile. */
struct hv_hist_entry {
	const uint8_t *key;	   /* s->key_bytes */
	const char *comm;	   /* of the task that hit it first; HV_COMM_LEN bytes */
	const uint64_t *sums;	   /* of each value */
	const uint64_t *variables; /* the number of each; NULL: there are none */
	const char *texts;	   /* of those that are texts, HV_HIST_TEXT_BYTES each */
};

/* What has made onmax().snapshot() or onchange().snapshot() take the snapshot. */
struct hv_hist_shot {
	const struct hv_hist_action *action;
	uint64_t value;
	struct hv_hist_entry entry; /* its key and its task */
};

/* Numbers of system calls with a name are below. */
#define HV_HIST_SYSCALLS_MAX 1024

/* What the texts of entries depend on. */
struct hv_hist_names {
	const struct hv_kernel *kernel;	      /* borrowed; for symbols */
	const struct hv_catalogue *catalogue; /* borrowed; for names of system calls */
	/* Of all entries, for each value: the largest, and the sum. */
	uint64_t max[HV_HIST_VALUES_MAX], total[HV_HIST_VALUES_MAX];
	const char *syscalls[HV_HIST_SYSCALLS_MAX]; /* borrowed from CATALOGUE; by number */
};

/* Finds the system calls of N->catalogue. Entries, and the guest's types, may be very many, so they
 * are not looked for at each entry. */
void hv_hist_names_find_syscalls(struct hv_hist_names *n);

/* Adds the line of E, which may be several. */
void hv_hist_text_entry(const struct hv_hist_spec *s, const struct hv_hist_names *names,
			const struct hv_hist_entry *e, struct hv_text *ret);
void hv_hist_text_shot(const struct hv_hist_spec *s, const struct hv_hist_names *names,
		       const struct hv_hist_shot *shot, struct hv_text *ret);
