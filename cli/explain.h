/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Completes an error for the user: adds the domain, and the command of hvtrace that provides what
 * the error's facts (base/err.h) say is needed. The layers below cli/ know no commands.
 * Leaves to others: printing the error (verbs/verb.h), sending it (service/peer.h).
 * SPEC is the user's name for the domain. All functions take ERR, which may be NULL. */
#pragma once

#include "base/err.h"

/* Puts "domain 'SPEC': " before a message that does not name its domain. */
struct hv_err *in_domain(struct hv_err *err, const char *spec) hv_must_use;

/* Add what to do after the message: advise() for a domain without a session, advise_in_session()
 * for one with a session. */
struct hv_err *advise(struct hv_err *err, const char *spec) hv_must_use;
struct hv_err *advise_in_session(struct hv_err *err, const char *spec) hv_must_use;

/* Does both in_domain() and advise(). */
struct hv_err *explain(struct hv_err *err, const char *spec) hv_must_use;
