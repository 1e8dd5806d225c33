/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The verdict of `hvtrace latency` in words, for people and as JSON. Leaves to others: the verdict
 * itself (latency/verdict.h). */
#pragma once

#include <json-c/json.h>

#include "base/text.h"
#include "cli/verbs/latency/neighbours.h"
#include "cli/verbs/latency/vmm_limits.h"
#include "latency/calls.h"
#include "latency/latency.h"

struct latency_report {
	const char *domain;
	const struct hv_latency *latency;
	const struct hv_verdict *verdict;
	uint64_t measured_ns;
	uint64_t threshold_ns;
	unsigned nr_cpus;
	uint64_t vmm_pid;
	uint64_t load_ppm;		   /* the part of a vCPU's time that tracing took */
	bool tells_before;		   /* what ran before the worst stall */
	bool tells_all;			   /* more causes than LATENCY_CAUSES */
	const struct vmm_limit *vmm_limit; /* that held for longest; NULL: none did */
	const struct latency_neighbours *neighbours; /* NULL: not known */
	struct hv_export *calls;    /* of hv_calls_format, whose calls are sorted; NULL: none */
	const struct hv_text *gaps; /* what could not be measured, a line each */
};

/* What both say. Texts that are returned are constant; names of the guest are sanitised. */
const char *latency_word_kind(const struct hv_stall *s); /* one word, for programs */
const char *latency_word_fault(enum hv_fault fault);	 /* likewise */
const char *latency_phrase_fault(enum hv_fault fault);	 /* for people */
/* One or two sentences that answer why the guest is slow, and whose fault it is (answer.c). */
void latency_add_answer(struct hv_text *out, const struct latency_report *r);
/* What the host's scheduler did with each vCPU, a line each. Adds nothing if that is not known. */
void latency_add_shares(struct hv_text *out, const struct latency_report *r);
/* NULL: not known. */
json_object *latency_json_shares(const struct latency_report *r);
/* The limit of a cgroup of the guest, or of a class of tasks. */
void latency_add_limit(struct hv_text *out, const struct hv_latency *l, const struct hv_stall *s);
void latency_add_vmm_limit(struct hv_text *out, const struct vmm_limit *limit);
void latency_add_cause(struct hv_text *out, const struct hv_latency *l, const struct hv_cause *c);
/* The name of a system call, or its number. */
void latency_add_syscall(struct hv_text *out, const struct hv_stall *s);
void latency_add_task(struct hv_text *out, const struct hv_stall_task *task);
void latency_add_time(struct hv_text *out, uint64_t ns);
#define LATENCY_CALLS  8 /* of the longest calls, so many are printed */
#define LATENCY_CAUSES 5 /* of the causes, likewise */
#define LATENCY_VCPUS  8 /* of the vCPUs' shares, likewise */
/* The command that shows more; adds nothing if there is none. */
void latency_add_command(struct hv_text *out, const struct latency_report *r,
			 const struct hv_cause *c);

/* Who had the CPU while the host did not run the vCPU: adds nothing, or returns NULL, if it is not
 * known. S is of kind HV_STALL_HOST. */
void latency_add_taker(struct hv_text *out, const struct hv_latency *l, const struct hv_stall *s);
json_object *latency_json_taker(const struct hv_latency *l, const struct hv_stall *s);
/* Exits by reason, and how late vCPUs ran when they were woken. Adds nothing if there are no events
 * of the host. */
void latency_add_exits(struct hv_text *out, const struct hv_latency *l);
json_object *latency_json_host(const struct hv_latency *l);

void latency_text(struct hv_text *out, const struct latency_report *r);
/* One line. */
void latency_json(struct hv_text *out, const struct latency_report *r);
