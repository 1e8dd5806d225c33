/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Formats the verdict of `hvtrace latency` as text and as JSON. latency/verdict.h computes the
 * verdict. */
#pragma once

#include <json-c/json.h>

#include "base/text.h"
#include "cli/verbs/latency/host.h"
#include "cli/verbs/latency/neighbours.h"
#include "latency/calls.h"
#include "latency/latency.h"

/* The function of a program in which most samples of a cause are. */
struct latency_function {
	const char
		*name; /* untrusted; the address if the function is not known; NULL: no samples */
	const char *file; /* untrusted path; NULL: unknown */
	unsigned nr, nr_samples;
};

struct latency_report {
	const char *domain;
	const struct hv_latency *latency;
	const struct hv_verdict *verdict;
	uint64_t measured_ns;
	uint64_t threshold_ns;
	unsigned nr_cpus;
	uint64_t vmm_pid;
	uint64_t load_ppm;		   /* the part of a vCPU's time that tracing took */
	bool reports_before;		   /* show the task that ran before the worst stall */
	bool reports_all;		   /* show more causes than LATENCY_CAUSES */
	const struct vmm_limit *vmm_limit; /* the limit that held longest; NULL: no limit held */
	const struct latency_neighbours *neighbours; /* NULL: unknown */
	const struct latency_function *functions; /* of each cause of the verdict; NULL: unknown */
	struct hv_export *calls;    /* of hv_calls_format, whose calls are sorted; NULL: no calls */
	const struct hv_text *gaps; /* things that could not be measured, a line each */
};

/* Shared by both formats. Returned texts are constant; names of the guest are sanitised. */
const char *latency_word_kind(const struct hv_stall *s); /* one word, for programs */
const char *latency_word_fault(enum hv_fault fault);	 /* one word, for programs */
const char *latency_phrase_fault(enum hv_fault fault);	 /* for people */
/* Adds one or two sentences that explain why the guest is slow, and the part that caused it. */
void latency_add_answer(struct hv_text *out, const struct latency_report *r);
/* Adds the limit of a cgroup of the VMM. */
void latency_add_vmm_limit(struct hv_text *out, const struct vmm_limit *limit);
void latency_add_cause(struct hv_text *out, const struct hv_latency *l, const struct hv_cause *c);
/* Adds the name of a system call, or its number. */
void latency_add_syscall(struct hv_text *out, const struct hv_stall *s);
void latency_add_task(struct hv_text *out, const struct hv_stall_task *task);
void latency_add_time(struct hv_text *out, uint64_t ns);
#define LATENCY_CALLS  8 /* limit for the longest calls */
#define LATENCY_CAUSES 5 /* limit for causes */
#define LATENCY_VCPUS  8 /* limit for vCPUs in the list of shares */
/* Adds the command that shows more, if there is one. */
void latency_add_command(struct hv_text *out, const struct latency_report *r,
			 const struct hv_cause *c);

/* Add or return the thread that had the CPU while the host did not run the vCPU. Add nothing, or
 * return NULL, if it is unknown. S has the kind HV_STALL_HOST. */
void latency_add_taker(struct hv_text *out, const struct hv_latency *l, const struct hv_stall *s);
json_object *latency_json_taker(const struct hv_latency *l, const struct hv_stall *s);
/* Adds exits by reason, and the delay of vCPUs after wakeups. Adds nothing without events of the
 * host. */
void latency_add_exits(struct hv_text *out, const struct hv_latency *l);
json_object *latency_json_host(const struct hv_latency *l);

void latency_text(struct hv_text *out, const struct latency_report *r);
/* One line. */
void latency_json(struct hv_text *out, const struct latency_report *r);
