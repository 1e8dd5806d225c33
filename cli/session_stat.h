/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The counts of a session as its service tells them (WIRE_STAT): a JSON object. A path like
 * "holds.count" names a member of a member.
 * A service that was taken over sends what it wants: each member may be missing, have any type and
 * any value. It is good for showing, and for nothing else (client.h has what is to be relied on).
 * Leaves to others: which members there are (service/requests.c), showing them. */
#pragma once

#include <json-c/json.h>

#include "cli/client.h"

/* The caller releases *RET with session_stat_put(). */
struct hv_err *session_stat_get(struct client *c, json_object **ret) hv_must_use;
/* As session_stat_get, but returns the text of the object, which the caller frees. */
struct hv_err *session_stat_text(struct client *c, char **ret) hv_must_use;
/* Says that C only watches: the session may end for idleness meanwhile, and the stat has what
 * tracing takes of the guest's time. A service of an older version goes on as before. */
struct hv_err *session_watch(struct client *c) hv_must_use;
void session_stat_put(json_object **o);
#define AUTO_SESSION_STAT hv_cleanup(session_stat_put)

/* Returns the member PATH of O. NULL: there is none. */
json_object *session_stat_member(json_object *o, const char *path);
/* Returns "?" if there is no such member. O owns the text. */
const char *session_stat_string(json_object *o, const char *path);
/* The number of elements of the array PATH. 0: there is no such array. */
size_t session_stat_count(json_object *o, const char *path);
/* Returns element I, below session_stat_count(), of the array PATH. May be NULL. */
json_object *session_stat_element(json_object *o, const char *path, size_t i);
/* Returns element I as text, "?" if it is none. O owns it. */
const char *session_stat_text_at(json_object *o, const char *path, size_t i);
/* Adds the first of the functions that were refused, with the reason; nothing if none was. */
void session_stat_refused(json_object *o, struct hv_text *ret);
/* Returns 0 if there is no such member. */
uint64_t session_stat_number(json_object *o, const char *path);
