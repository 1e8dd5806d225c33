/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Completes an error for the user: adds the domain, and the command of hvtrace that the flags of
 * the error (base/err.h) call for. The layers below cli/ do not know the commands. SPEC is the
 * user's name for the domain. All functions take ERR, which may be NULL. */
#pragma once

#include "base/err.h"

/* Puts "domain 'SPEC': " before a message that does not name its domain. */
struct hv_err *in_domain(struct hv_err *err, const char *spec) hv_must_use;

/* Append the remedy to the message: advise() for a domain without a session, advise_in_session()
 * for a domain with one. */
struct hv_err *advise(struct hv_err *err, const char *spec) hv_must_use;
struct hv_err *advise_in_session(struct hv_err *err, const char *spec) hv_must_use;

/* Calls in_domain() and advise(). */
struct hv_err *explain(struct hv_err *err, const char *spec) hv_must_use;
