/* Errors as objects: what could not be done, with the object, the number and the errno.
 * A function that can fail returns `struct hv_err *`: NULL is success, the caller owns the rest.
 * Messages are lower case, name the object and the number, and have no full stop:
 *     domain 'web1': kallsyms: no RAM at guest physical 0x1000 (8 bytes)
 * Leaves to others: printing (cli/). An expected outcome is a value, not an error. */
#pragma once

#include <errno.h>

#include "base/guard.h"

struct hv_err {
	int code;      /* errno value; what a write(2) to a tracefs file returns */
	char *message; /* owned, one line, safe to print: no control characters */
};

/* Makes an error; guest-given strings in the arguments are made safe to print. Never NULL. */
struct hv_err *hv_err_new(int code, const char *fmt, ...) hv_printf(2, 3) hv_must_use;

/* Puts "CONTEXT: " before the message. Takes ERR, which may be NULL: then NULL. */
struct hv_err *hv_err_in(struct hv_err *err, const char *fmt, ...) hv_printf(2, 3) hv_must_use;

void hv_err_free(struct hv_err *err);

static inline void hv_err_free_at(struct hv_err **err)
{
	hv_err_free(*err);
}

#define HV_AUTO_ERR hv_cleanup(hv_err_free_at)
