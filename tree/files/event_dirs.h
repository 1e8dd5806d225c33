/* SPDX-License-Identifier: GPL-2.0-or-later */
/* events/SYSTEM/EVENT/: what the guest's catalogue of event types has there. Modules of the guest
 * come and go while files are open, so an open file remembers its type as struct hv_event_ref. */
#pragma once

#include "kernel/events/catalogue.h"
#include "tree/files/file.h"
#include "tree/format/raw_layout.h"
#include "tree/instance/events/events.h"

/* The guest's catalogue, or that of the tracers alone if it cannot be read. Borrowed until the next
 * hv_tree_refresh(). */
const struct hv_catalogue *hv_place_catalogue(const struct hv_place *at);
/* The records of trace_pipe_raw. True: with HOST, which the instance's option funcgraph-host adds
 * to the returns of function_graph. */
bool hv_place_raw_layout(const struct hv_place *at, struct hv_raw_layout *ret,
			 struct hv_event_field *host);
/* The type of a place below events/SYSTEM/EVENT/; NULL: the guest does not have it any more. */
const struct hv_event_type *hv_place_event_type(const struct hv_place *at);

/* ENODEV: the guest does not have it any more. */
struct hv_err *hv_event_ref_find(const struct hv_event_ref *ref, const struct hv_catalogue *c,
				 const struct hv_event_type **ret) hv_must_use;

/* The operation open() of a file of one event, whose state is a struct hv_event_ref. */
struct hv_err *hv_event_ref_open(struct hv_file *f) hv_must_use;

/* The state of a file of a system: its name, since its place changes when modules come and go. */
struct hv_event_system_state {
	char *name; /* owned */
};
/* The operations open() and release() of such a file. */
struct hv_err *hv_event_system_open(struct hv_file *f) hv_must_use;
void hv_event_system_release(struct hv_file *f);
/* Whether TYPE is of SYSTEM, or of any of the guest's if that is NULL, and can be switched. */
bool hv_event_is_of(const struct hv_event_type *type, const char *system);

/* Adds TYPE to those that CHANGE switches. CHANGE owns the list and the results:
 * hv_event_switch_deinit(). */
void hv_event_switch_add(struct hv_event_switch *change, const struct hv_event_type *type);
void hv_event_switch_deinit(struct hv_event_switch *change);
/* Carries CHANGE out for F. What was left out is told in error_log; BUF is what was written. */
struct hv_err *hv_event_switch_for(struct hv_file *f, struct hv_event_switch *change,
				   const char *buf, size_t len_bytes) hv_must_use;

/* Which of the files of events/SYSTEM/ and events/SYSTEM/EVENT/ a directory has. */
bool hv_event_system_can_switch(const struct hv_place *dir);
bool hv_event_can_switch(const struct hv_place *dir);
bool hv_event_has_id(const struct hv_place *dir);
bool hv_event_has_trigger(const struct hv_place *dir);
