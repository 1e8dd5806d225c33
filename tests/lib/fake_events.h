/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The guest's own events of a fake session (fake_session.h). The test adds the types. Types with
 * "never" or "busy" in their names cannot be recorded. Of the kernel's data that texts refer to,
 * only the strings of printk_formats exist. */
#pragma once

struct hv_event_tracer;
struct hv_event_types;

struct hv_event_types *fake_event_types_new(void);
void fake_event_types_free(struct hv_event_types *t);

/* *FAIL (borrowed) is the errno of the next change; 0: it succeeds. */
struct hv_event_tracer *fake_event_tracer_new(int *fail);
void fake_event_tracer_free(struct hv_event_tracer *e);
