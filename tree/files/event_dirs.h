/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The directories events/SYSTEM/EVENT/, from the guest's catalogue of event types. The guest may
 * load and remove modules while files are open, so an open file stores its type as struct
 * hv_event_ref. */
#pragma once

#include "kernel/events/catalogue.h"
#include "tree/files/file.h"
#include "tree/format/raw_page.h"
#include "tree/instance/publish.h"

/* Returns the guest's catalogue, or only the tracers' types if it cannot be read. Borrowed until
 * the next hv_tree_refresh(). */
const struct hv_catalogue *hv_path_catalogue(const struct hv_path *at);
/* Fills in the record layout of trace_pipe_raw, and the fields that the instance's options
 * funcgraph-retval (if the kernel's format lacks it) and funcgraph-host add to function_graph
 * returns. */
void hv_path_raw_layout(const struct hv_path *at, struct hv_raw_layout *ret,
			struct hv_raw_more *ret_more);
/* Returns the type of a path below events/SYSTEM/EVENT/, or NULL if the guest no longer has it. */
const struct hv_event_type *hv_path_event_type(const struct hv_path *at);

/* ENODEV: the guest no longer has it. */
struct hv_err *hv_event_ref_find(const struct hv_event_ref *ref, const struct hv_catalogue *c,
				 const struct hv_event_type **ret) hv_must_use;

/* Implements open() for files of one event. The file state is a struct hv_event_ref. */
struct hv_err *hv_event_ref_open(struct hv_file *f) hv_must_use;

/* The state of a file of a system: the name, because its index changes when modules are loaded or
 * removed. */
struct hv_event_system_state {
	char *name; /* owned */
};
/* Implement open() and release() for such files. */
struct hv_err *hv_event_system_open(struct hv_file *f) hv_must_use;
void hv_event_system_release(struct hv_file *f);
/* Returns whether TYPE can be switched and belongs to SYSTEM, or to any system if SYSTEM is
 * NULL. */
bool hv_event_is_of(const struct hv_event_type *type, const char *system);

/* Adds TYPE to CHANGE. CHANGE owns the list and the results until hv_event_switch_deinit(). */
void hv_event_switch_add(struct hv_event_switch *change, const struct hv_event_type *type);
void hv_event_switch_deinit(struct hv_event_switch *change);
/* Applies CHANGE for F. Reports skipped events in error_log; BUF is the written text. */
struct hv_err *hv_event_switch_for(struct hv_file *f, struct hv_event_switch *change,
				   const char *buf, size_t len_bytes) hv_must_use;

/* Return whether the directory has a file: enable (events/SYSTEM/, events/SYSTEM/EVENT/), id or
 * trigger (events/SYSTEM/EVENT/). */
bool hv_event_system_can_switch(const struct hv_path *dir);
bool hv_event_can_switch(const struct hv_path *dir);
bool hv_event_has_id(const struct hv_path *dir);
bool hv_event_has_trigger(const struct hv_path *dir);
