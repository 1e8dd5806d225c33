/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One comparison in a filter of events: a field, an operator and a value (parse_pred,
 * filter_pred_fn_call). What a comparison means is what the kernel does, also where that is odd:
 * "*x" on an array of characters looks at the end of the array, not of the string.
 * Leaves to others: how comparisons are combined (event_filter.h). */
#pragma once

#include "base/addr.h"
#include "base/bytes.h"
#include "kernel/events/catalogue.h"
#include "tracer/events/comms.h"
#include "tree/settings/glob.h"

struct hv_kernel;

/* What the names in a filter mean. Borrowed. */
struct hv_filter_scope {
	const struct hv_kernel *kernel; /* for names of functions */
	const struct hv_catalogue *catalogue;
	const struct hv_event_type *type;
	unsigned nr_cpus; /* not 0 */
};

/* What is wrong with a filter, as the kernel says it. */
struct hv_filter_fault {
	int code;	 /* errno */
	const char *why; /* static; NULL: the kernel has no words for it */
	size_t at;	 /* the character of the filter that the kernel marks */
};

enum hv_filter_op {
	HV_FILTER_GLOB,
	HV_FILTER_NE,
	HV_FILTER_EQ,
	HV_FILTER_LE,
	HV_FILTER_LT,
	HV_FILTER_GE,
	HV_FILTER_GT,
	HV_FILTER_AND, /* & */
};
#define HV_NR_FILTER_OPS 8

enum hv_predicate_kind {
	HV_PREDICATE_NEVER,    /* no record has it: a number of an odd size */
	HV_PREDICATE_NUMBER,   /* a field is compared with VALUE */
	HV_PREDICATE_OF_CPUS,  /* a field, the number of a CPU, with CPUS */
	HV_PREDICATE_RANGE,    /* a field is an address from VALUE to before END */
	HV_PREDICATE_ARRAY,    /* the text in the field itself */
	HV_PREDICATE_DYNAMIC,  /* the text that a __data_loc field tells */
	HV_PREDICATE_RELATIVE, /* the text that a __rel_loc field tells */
	HV_PREDICATE_POINTER,  /* the text in the guest's memory to which the field points */
	HV_PREDICATE_COMM,     /* the name of the task */
	HV_PREDICATE_CPU,      /* the CPU of the event is compared with VALUE */
	HV_PREDICATE_CPU_OF,   /* and with CPUS */
	HV_PREDICATE_CPUMASK,  /* a __data_loc cpumask_t is compared with CPUS */
};

struct hv_predicate {
	enum hv_predicate_kind kind;
	enum hv_filter_op op;
	uint32_t off, size_bytes; /* of the field */
	bool is_signed;
	bool negated; /* of texts: the result is the opposite */
	uint64_t value, end;
	struct hv_glob glob; /* of texts; points into TEXT */
	char *text;	     /* owned */
	uint64_t *cpus;	     /* owned */
	unsigned nr_cpus;
};

/* Parses the predicate at FILTER + AT. *RET_LEN is its length. Returns false with the fault
 * otherwise. */
bool hv_predicate_parse(const struct hv_filter_scope *scope, const char *filter, size_t at,
			struct hv_predicate *ret, size_t *ret_len,
			struct hv_filter_fault *ret_fault);
void hv_predicate_deinit(struct hv_predicate *p);

/* One record, which is hostile. */
struct hv_filter_record {
	struct hv_span entry;
	unsigned cpu;
	const char *comm;		/* HV_COMM_LEN bytes */
	const struct hv_kernel *kernel; /* for texts to which fields point */
};
/* Returns whether RECORD has what P says. A predicate that cannot be looked at is false. */
bool hv_predicate_holds(const struct hv_predicate *p, const struct hv_filter_record *record);
