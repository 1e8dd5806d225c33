/* Errors as objects: what could not be done, with the object, the number and the errno.
 * A function that can fail returns `struct hv_err *`: NULL is success, the caller owns the rest.
 * Messages are lower case, name the object and the number, and have no full stop:
 *     domain 'web1': kallsyms: no RAM at guest physical 0x1000 (8 bytes)
 * Messages are for people. Callers decide by the code and by the facts; nobody looks for words in a
 * message. No message below cli/ names a command or an option of hvtrace: a fact says what is
 * needed, and cli/ says how to get it (cli/explain.h).
 * Leaves to others: printing (cli/). An expected outcome is a value, not an error. */
#pragma once

#include <errno.h>

#include "base/guard.h"

/* What callers decide by where the code does not tell it. */
enum hv_err_fact {
	HV_ERR_NAMES_DOMAIN = 1 << 0,	/* the message says which machine it is about */
	HV_ERR_NEEDS_RECOVERY = 1 << 1, /* changes of ours stand in the guest, and stay there */
	HV_ERR_NEEDS_VMLINUX = 1 << 2,	/* the kernel's vmlinux would tell what is missing */
	HV_ERR_NEEDS_MONITOR = 1 << 3,	/* injection is impossible; the monitor is another way */
};

struct hv_err {
	int code;	/* errno value; what a write(2) to a tracefs file returns */
	unsigned facts; /* of enum hv_err_fact */
	char *message;	/* owned, one line, safe to print: no control characters */
	/* The part of MESSAGE behind the context that was put before it last; MESSAGE without one.
	 */
	const char *reason;
};

/* Makes an error; guest-given strings in the arguments are made safe to print. Never NULL. */
struct hv_err *hv_err_new(int code, const char *fmt, ...) hv_printf(2, 3) hv_must_use;
struct hv_err *hv_err_copy(const struct hv_err *err) hv_must_use;
void hv_err_free(struct hv_err *err);

/* These take ERR, which may be NULL: then they return NULL. */

/* Puts "CONTEXT: " before the message. */
struct hv_err *hv_err_in(struct hv_err *err, const char *fmt, ...) hv_printf(2, 3) hv_must_use;
/* Puts text behind the message. */
struct hv_err *hv_err_add(struct hv_err *err, const char *fmt, ...) hv_printf(2, 3) hv_must_use;
/* Adds FACTS to those that it has. */
struct hv_err *hv_err_mark(struct hv_err *err, unsigned facts) hv_must_use;

/* For several steps of which each is tried whatever the others say: *FIRST becomes ERR if it is
 * NULL; else ERR is freed. Takes ERR, which may be NULL. */
void hv_err_keep_first(struct hv_err **first, struct hv_err *err);

static inline void hv_err_free_at(struct hv_err **err)
{
	hv_err_free(*err);
}

#define HV_AUTO_ERR hv_cleanup(hv_err_free_at)
