/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Properties of a VMM and its guest, as values of fixed size. An unprivileged process derives them
 * from the monitor's answers (parser_run.c). The process that accesses the guest receives only
 * these values (parser.h) and checks them against the host kernel. */
#pragma once

#include <stdint.h>

#include "base/addr.h"

#define HV_VMM_WORD_BYTES 32  /* size of a text, including the NUL */
#define HV_VMM_TEXT_BYTES 200 /* size of a longer text, including the NUL */
#define HV_VMM_RANGES_MAX 1024

struct hv_vmm_kind {
	uint32_t has_kvm;
	char arch[HV_VMM_WORD_BYTES];
};

struct hv_vmm_status {
	uint32_t is_running;
	uint32_t is_suspended; /* S3 */
	uint32_t is_paused;
	char word[HV_VMM_WORD_BYTES]; /* "": the VMM does not report it */
};

struct hv_vmm_migration {
	uint32_t is_under_way;
	char word[HV_VMM_WORD_BYTES];
};

#define HV_STUB_SOCKET "hvtrace-gdb.sock" /* the last component of its path */
enum hv_vmm_stub_state {
	HV_STUB_NONE,
	HV_STUB_OURS,	 /* has the name of hvtrace's socket and no client */
	HV_STUB_IN_USE,	 /* has the name of hvtrace's socket and a client */
	HV_STUB_ANOTHER, /* a debugger's */
	HV_NR_STUB_STATES,
};
struct hv_vmm_stub {
	uint32_t state;
	char where[HV_VMM_TEXT_BYTES];
};

/* BAR 2 of the ivshmem device. */
struct hv_vmm_ivshmem {
	uint32_t nr; /* number of such devices; the rest is set if it is 1 */
	uint32_t has_bus;
	uint32_t is_on; /* it has an address */
	char where[HV_VMM_WORD_BYTES];
	struct hv_gpa start;
	uint64_t len_bytes;
};

/* RAM that is contiguous in the guest and in the VMM. */
struct hv_vmm_range {
	struct hv_gpa start;
	uint64_t len_bytes;
	uint64_t hva; /* in the VMM */
};

enum hv_vmm_device {
	HV_VMM_NO_DEVICE,
	HV_VMM_VFIO,
	HV_VMM_VHOST_USER,
	HV_VMM_VDPA,
	HV_NR_VMM_DEVICES,
};
