/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the near side, which parses what the guest wrote, asks the far side, which reaches the guest
 * (near.h, far.h). Each question stands for the function of vmm/guest.h that it is named after;
 * numbers are in the args of the message in the order that is given here, structures in its bytes.
 * Both sides are the same program: the processes of a session are forks of one. */
#pragma once

#include <stdint.h>

enum hv_warden_question {
	HV_ASK_OPEN = 2, /* -> whether there is a file for the VMM's end, and one for its stop at an
			    instruction; struct hv_warden_info, three strings; these files */
	HV_ASK_READ,	 /* gpa, length -> bytes */
	HV_ASK_RAM,	 /* -> array of struct hv_warden_ram; their files */
	HV_ASK_COUNT,	 /* -> number of vCPUs */
	HV_ASK_REGISTERS, /* -> struct hv_vcpu_regs for each vCPU */
	HV_ASK_REGION,	  /* -> gpa, length, offset in the file; the file, and that of kept.h */
	HV_ASK_PIN,
	HV_ASK_UNPIN,
	HV_ASK_REFUSAL,
	HV_ASK_LET_RUN, /* -> whether it was stopped */
	HV_ASK_TSC,	/* vCPU -> struct hv_tsc */
	HV_ASK_SLEEPS,	/* -> bool */
	HV_ASK_PREPARE_HOLD,
	HV_ASK_PREPARE_TEXT,   /* array of addresses */
	HV_ASK_HOLD_BEGIN,     /* max_ns, 1: anywhere -> when it began, number of vCPUs */
	HV_ASK_HOLD_REGISTERS, /* -> struct hv_vcpu_regs for each vCPU */
	HV_ASK_HOLD_WRITE,     /* array of struct hv_hold_write */
	HV_ASK_HOLD_FLUSH,     /* offset, length */
	HV_ASK_HOLD_END,       /* -> how long it was held */
	HV_ASK_HOST_FORMATS,   /* -> texts, each with a NUL */
	HV_ASK_HOST_TRACE, /* mask of hv_host_event_names -> how many are vCPUs; array of pid_t */
	HV_ASK_HOST_PIPES, /* first CPU -> the next one, or 0; files */
	HV_ASK_STOP_AT,	   /* gva */
	HV_ASK_IS_AT_STOP, /* -> bool */
	HV_ASK_END_STOP,
	HV_ASK_RUN_TO, /* gva */
	HV_NR_QUESTIONS,
};

/* A struct hv_ram_file; FILE is its number among the files of the answer. */
struct hv_warden_ram {
	uint64_t start;
	uint64_t len_bytes;
	uint64_t off;
	uint32_t file;
	uint32_t is_memory;
};
#define HV_WARDEN_RAM_MAX 16

/* The numbers of struct hv_guest_info. */
struct hv_warden_info {
	int32_t pid;
	uint32_t accel;
	uint32_t nr_vcpus;
	uint32_t injected;
	uint32_t has_ivshmem;
	uint64_t ram_bytes;
	uint64_t region_to_make_bytes;
	char arch[16];
};
