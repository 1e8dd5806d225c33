/* An error as the user is told it: with the domain that it is about, and with the command of
 * hvtrace that gets what its facts (base/err.h) say is needed. The layers below know no commands.
 * Leaves to others: printing it (verbs/verb.h), sending it (service/peer.h).
 * SPEC is what the user calls the domain. All of these take ERR, which may be NULL. */
#pragma once

#include "base/err.h"

/* "domain 'SPEC': " before a message that does not name its domain. */
struct hv_err *in_domain(struct hv_err *err, const char *spec) hv_must_use;

/* What to do, behind the message: for a domain without a session, and in a session. */
struct hv_err *advise(struct hv_err *err, const char *spec) hv_must_use;
struct hv_err *advise_in_session(struct hv_err *err, const char *spec) hv_must_use;

/* in_domain() and advise(). */
struct hv_err *explain(struct hv_err *err, const char *spec) hv_must_use;
