/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The requests of the client, which parses guest data, to the broker, which accesses the guest
 * (client.h, server.h). Each request is an operation of vmm/operations.h. Numbers are in the args
 * of the message, structures in its bytes:
 *
 *   CALL  nothing
 *   FLAG  -> bool
 *   AT    gva
 *   LIST  array of its type, in as many messages as it takes
 *
 *   OPEN            -> whether there is a file for the VMM's end, and one for its stop at an
 *                   instruction; struct hv_broker_info, three strings; these files
 *   READ            gpa, length -> bytes
 *   RAM             -> array of struct hv_broker_ram; their files
 *   COUNT           -> number of vCPUs
 *   REGISTERS, HOLD_REGISTERS  -> struct hv_vcpu_regs for each vCPU
 *   REGION          -> gpa, length, offset in the file; the file, and the file of kept.h
 *   TSC             vCPU -> struct hv_tsc
 *   HOLD_BEGIN      max_ns, 1: anywhere -> when it began, number of vCPUs
 *   HOLD_FLUSH      offset, length
 *   HOLD_END        -> how long it was held
 *   HOST_FORMATS    -> texts, each with a NUL
 *   HOST_TRACE      mask of hv_host_event_names -> how many are vCPUs; array of pid_t
 *   HOST_PIPES      first CPU -> the next one, or 0; files
 *   END_STOP        nothing
 *
 * Both sides are the same program: the processes of a session are forks of one. */
#pragma once

#include <stdint.h>

#include "vmm/operations.h"

/* clang-format off */
enum hv_broker_question {
	HV_BROKER_ANSWERS = 1, /* the highest kind of an answer (channel.c); requests have higher kinds */
#define QUESTION(id, ...) HV_ASK_##id,
	HV_GUEST_OPERATIONS(QUESTION, QUESTION, QUESTION, QUESTION, QUESTION, QUESTION)
#undef QUESTION
	HV_NR_QUESTIONS,
};
/* clang-format on */

/* A struct hv_ram_file; FILE is its index among the files of the answer. */
struct hv_broker_ram {
	uint64_t start;
	uint64_t len_bytes;
	uint64_t off;
	uint32_t file;
	uint32_t is_memory;
};
#define HV_BROKER_RAM_MAX 16

/* The numbers of struct hv_guest_info. */
struct hv_broker_info {
	int32_t pid;
	uint32_t accel;
	uint32_t nr_vcpus;
	uint32_t injected;
	uint32_t has_other_region;
	uint32_t can_be_saved;
	uint64_t ram_bytes;
	uint64_t region_to_make_bytes;
	char arch[16];
};
