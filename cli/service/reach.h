/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes a session's socket reachable for the users and groups whom the policy names, by access
 * control lists (acl(5)): to list the run directory, to pass the session's directory, to read its
 * info, and to connect to its socket; not its log, lock and dump. Everything else stays root's.
 * This only keeps strangers away: who may do what is decided by access.h. Leaves to others: the
 * rules (policy.h). */
#pragma once

struct service;

/* Sets the rights that follow from the policy; without one, root's alone. A file system without
 * access control lists leaves everything to root, which is logged. */
void reach_allow(struct service *s);
