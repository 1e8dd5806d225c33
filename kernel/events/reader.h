/* SPDX-License-Identifier: GPL-2.0-or-later */
/* State shared by the sources that read a catalogue. Private to kernel/events/. */
#pragma once

#include "kernel/events/catalogue.h"
#include "kernel/events/event_layout.h"
#include "kernel/events/strings.h"
#include "kernel/kernel.h"

/* Limits on guest data. A kernel with all its modules has 4,000 events with 40,000 fields. */
#define HV_EVENT_TYPES_MAX  65536u /* ids have 16 bits */
#define HV_EVENT_FIELDS_MAX 1000u  /* of one event */
#define HV_ALL_FIELDS_MAX   500000u
#define HV_EVENT_NAME_MAX   255u  /* as for file names */
#define HV_EVENT_WORD_MAX   4096u /* names and types of fields */
#define HV_EVENT_PRINT_MAX  65535u

struct hv_event_reader {
	const struct hv_kernel *k;
	struct hv_event_layout layout;
	struct hv_pages pages;
	struct hv_strings strings;
	struct hv_gva_map field_lists; /* struct hv_event_fields by address of the guest's list */
	struct hv_gva_map syscalls;    /* struct hv_syscall by address of the guest's metadata */
	size_t nr_fields;	       /* in all lists */
	struct hv_catalogue *c;	       /* the catalogue being read */
	/* Addresses of kernel functions; 0 if the kernel lacks the function. */
	struct hv_gva reg_tracepoint, reg_syscall_enter, reg_syscall_exit, get_enter_fields;
};

/* Reads the fields in LIST, the list of a class, in the order in which the kernel added them. The
 * kernel fills the list at its first use; until then *RET contains the fields that the kernel will
 * create from TEMPLATES (0: no fields). If a kernel function will create them, *RET_KNOWN becomes
 * false and *RET is unchanged. */
struct hv_err *hv_event_fields_read(struct hv_event_reader *r, struct hv_gva list,
				    struct hv_gva templates, struct hv_event_fields *ret,
				    bool *ret_known) hv_must_use;
/* Reads the struct syscall_metadata at METADATA. */
struct hv_err *hv_syscall_read(struct hv_event_reader *r, struct hv_gva metadata,
			       const struct hv_syscall **ret) hv_must_use;
/* Reads the struct tracepoint at AT. *RET_NAME is the address of its name. */
struct hv_err *hv_tracepoint_read(struct hv_event_reader *r, struct hv_gva at,
				  struct hv_tracepoint *ret, struct hv_gva *ret_name) hv_must_use;
