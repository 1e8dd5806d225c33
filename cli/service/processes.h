/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The processes of a session and their rights, as the kernel tells them: the service and its
 * helpers, or, for a machine of our own, its VMM, which has started the service.
 * docs/operators/security.md says why they have them. */
#pragma once

#include <json-c/json.h>

/* Returns an array of objects: pid, name, uid, capabilities ("all", "none" or a mask), seccomp
 * (there is a filter) and no_new_privs. The caller owns it. */
json_object *processes_list(pid_t first);
