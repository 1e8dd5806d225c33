/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The statistics that a service reports for its session (client_stat()): a JSON object. A path such as
 * "holds.count" names a nested member. service/requests.c defines the members.
 *
 * The service may be compromised, so each member may be missing or have any type and value. Use
 * them only for display; client.h has the trusted facts. */
#pragma once

#include <json-c/json.h>

#include "cli/client.h"

/* The caller releases *RET with session_stat_put(). */
struct hv_err *session_stat_get(struct client *c, json_object **ret) hv_must_use;
/* Declares that C only watches: it does not keep an idle session alive, and the stat includes the
 * time that tracing costs the guest. Older services ignore the request. */
struct hv_err *session_watch(struct client *c) hv_must_use;
void session_stat_put(json_object **o);
#define AUTO_SESSION_STAT hv_cleanup(session_stat_put)

/* Returns the member PATH of O, or NULL. */
json_object *session_stat_member(json_object *o, const char *path);
/* Returns "?" if there is no such member. O owns the text. */
const char *session_stat_string(json_object *o, const char *path);
/* Returns the number of elements of the array PATH; 0 if there is no such array. */
size_t session_stat_count(json_object *o, const char *path);
/* Returns element I of the array PATH; I is below session_stat_count(). May be NULL. */
json_object *session_stat_element(json_object *o, const char *path, size_t i);
/* Returns element I as text, or "?" if it is not a string. O owns it. */
const char *session_stat_text_at(json_object *o, const char *path, size_t i);
/* Appends the first refused function and the reason, if there is one. */
void session_stat_refused(json_object *o, struct hv_text *ret);
/* Returns 0 if there is no such member. */
uint64_t session_stat_number(json_object *o, const char *path);
