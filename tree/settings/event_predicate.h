/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One comparison in an event filter: a field, an operator and a value (parse_pred,
 * filter_pred_fn_call). Comparisons reproduce the kernel's behavior, even if it is odd: "*x" on a
 * character array tests the end of the array, not of the string. event_filter.h combines
 * comparisons. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/bytes.h"
#include "kernel/events/catalogue.h"
#include "tracer/events/names.h"
#include "tree/settings/glob.h"

struct hv_kernel;

/* Context for names in a filter. All pointers are borrowed. */
struct hv_filter_scope {
	const struct hv_kernel *kernel; /* for names of functions */
	const struct hv_catalogue *catalogue;
	const struct hv_event_type *type;
	unsigned nr_cpus; /* nonzero */
};

/* An error in a filter, as the kernel reports it. */
struct hv_filter_fault {
	int code;	 /* errno */
	const char *why; /* static; NULL: the kernel has no message for it */
	size_t at;	 /* offset in the filter that the kernel marks */
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
	HV_PREDICATE_NEVER,    /* never true: a number of an unsupported size */
	HV_PREDICATE_NUMBER,   /* compares a field with VALUE */
	HV_PREDICATE_OF_CPUS,  /* compares a field that is a CPU number with CPUS */
	HV_PREDICATE_RANGE,    /* tests whether a field is an address in [VALUE, END) */
	HV_PREDICATE_ARRAY,    /* string stored in the field */
	HV_PREDICATE_DYNAMIC,  /* string that a __data_loc field refers to */
	HV_PREDICATE_RELATIVE, /* string that a __rel_loc field refers to */
	HV_PREDICATE_POINTER,  /* string in guest memory that the field points to */
	HV_PREDICATE_COMM,     /* compares the task's name */
	HV_PREDICATE_CPU,      /* compares the event's CPU with VALUE */
	HV_PREDICATE_CPU_OF,   /* compares the event's CPU with CPUS */
	HV_PREDICATE_CPUMASK,  /* compares a __data_loc cpumask_t with CPUS */
};

struct hv_predicate {
	enum hv_predicate_kind kind;
	enum hv_filter_op op;
	uint32_t off, size_bytes; /* of the field */
	bool is_signed;
	bool negated; /* for strings: invert the result */
	uint64_t value, end;
	struct hv_glob glob; /* for strings; points into TEXT */
	char *text;	     /* owned */
	uint64_t *cpus;	     /* owned */
	unsigned nr_cpus;
};

/* Parses the predicate at FILTER + AT and sets *RET_LEN to its length. On error returns false and
 * sets *RET_FAULT. */
bool hv_predicate_parse(const struct hv_filter_scope *scope, const char *filter, size_t at,
			struct hv_predicate *ret, size_t *ret_len,
			struct hv_filter_fault *ret_fault);
void hv_predicate_deinit(struct hv_predicate *p);

/* One record. Untrusted. */
struct hv_filter_record {
	struct hv_span entry;
	unsigned cpu;
	const char *comm;		/* HV_COMM_LEN bytes */
	const struct hv_kernel *kernel; /* reads strings that fields point to */
};
/* Returns whether P is true for RECORD. A predicate that cannot be evaluated is false. */
bool hv_predicate_holds(const struct hv_predicate *p, const struct hv_filter_record *record);

/* -- lists of CPUs ----------------------------------------------------------------------------- */

/* Sets of CPUs as masks of bits, and lists of CPUs as the kernel reads them (bitmap_parselist):
 * "0-3,8", "0-7:2/4" (of each four CPUs the first two), "N" for the last CPU, "all". Pure. */

static inline size_t hv_cpumask_words(unsigned nr_cpus)
{
	return (nr_cpus + 63) / 64;
}

static inline bool hv_cpumask_has(const uint64_t *mask, uint64_t cpu)
{
	return mask[cpu / 64] >> cpu % 64 & 1;
}

/* Parses LIST, a list of CPUs below NR_CPUS, into a mask of hv_cpumask_words(NR_CPUS) words, which
 * the caller frees. Returns NULL if LIST is malformed or names a CPU that does not exist. */
uint64_t *hv_cpulist_parse(const char *list, unsigned nr_cpus);
