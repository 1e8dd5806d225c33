/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Derives members of struct ftrace_event_field and struct trace_event_fields, and struct
 * trace_entry. If the kernel creates the fields of each class from templates, both must agree.
 * Private to kernel/. */
#pragma once

#include "kernel/derive/members.h"
#include "kernel/derive/objects.h"

#define HV_EVENT_TEXT_BYTES 64u

/* Reads the string at AT, at most HV_EVENT_TEXT_BYTES - 1 bytes of it. Returns false if AT is not
 * an address of the kernel's memory. */
bool hv_event_text_read(const struct hv_kernel_core *core, uint64_t at,
			char ret[HV_EVENT_TEXT_BYTES]);

/* Adds what is found to D->facts. CLASSES are structures trace_event_class whose list of fields is
 * at FIELDS_OFF. HAS_TEMPLATES: the kernel creates the fields from templates; otherwise functions of
 * the classes created them while the kernel started. */
void hv_event_fields_derive(struct hv_deriving *d, const struct hv_objects *classes,
			    uint32_t fields_off, bool has_templates);
