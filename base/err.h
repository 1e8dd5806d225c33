/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An error is an object that says what could not be done, with the thing concerned, the number and
 * the errno. A function that can fail returns `struct hv_err *`: NULL is success, and the caller
 * owns any other result. Messages are lower case, name the object and the number, and have no full
 * stop: domain 'web1': kallsyms: no RAM at guest physical 0x1000 (8 bytes) Messages are for people.
 * Callers decide by the code and by the facts and never look for words in a message. No message
 * below cli/ names a command or an option of hvtrace: a fact says what is needed, and cli/explain.h
 * says how to get it. An expected outcome is a value, not an error. Only cli/ prints errors. */
#pragma once

#include <errno.h>
#include <stddef.h>
#include <stdint.h>

#include "base/guard.h"

/* What callers need to know and the code does not tell. */
enum hv_err_fact {
	HV_ERR_NAMES_DOMAIN = 1 << 0,	/* the message names the domain */
	HV_ERR_NEEDS_RECOVERY = 1 << 1, /* the guest is still patched, and nobody puts it back */
	HV_ERR_NEEDS_VMLINUX = 1 << 2,	/* the kernel's vmlinux would tell what is missing */
	HV_ERR_NEEDS_MONITOR = 1 << 3,	/* injection is impossible; the monitor is another way */
	HV_ERR_NEEDS_FORCE = 1 << 4,	/* possible, but the guest or the result may suffer */
	HV_ERR_FACTS = (1 << 5) - 1,	/* all of them */
};

struct hv_err {
	int code;	/* errno value; what a write(2) to a tracefs file returns */
	unsigned facts; /* of enum hv_err_fact */
	char *message;	/* owned, one line of UTF-8, safe to print: no control characters */
	/* The part of MESSAGE after the context that hv_err_in added last; all of MESSAGE if none
	 * was added. */
	const char *reason;
};

/* Makes an error, never NULL. Control characters and what is not UTF-8, which strings of the guest
 * may contain, become '?'. */
struct hv_err *hv_err_new(int code, const char *fmt, ...) hv_printf(2, 3) hv_must_use;
struct hv_err *hv_err_copy(const struct hv_err *err) hv_must_use;

/* Returns NUMBER, which another process sent, if it is an errno value. EPROTO: it is none. */
int hv_err_code(uint64_t number);

/* An error as another process sent it: every part may be anything. */
struct hv_err_sent {
	uint64_t code;
	uint64_t facts;
	uint64_t reason_off; /* where the reason begins in the text */
	const void *text;    /* LEN_BYTES, or up to a NUL within them */
	size_t len_bytes;
};
struct hv_err *hv_err_received(const struct hv_err_sent *sent) hv_must_use;
void hv_err_free(struct hv_err *err);

/* The following take ERR. Where it is NULL they return NULL. */

/* Puts "CONTEXT: " before the message. */
struct hv_err *hv_err_in(struct hv_err *err, const char *fmt, ...) hv_printf(2, 3) hv_must_use;
/* Adds text at the end of the message. */
struct hv_err *hv_err_add(struct hv_err *err, const char *fmt, ...) hv_printf(2, 3) hv_must_use;
/* Adds FACTS to those of ERR. */
struct hv_err *hv_err_mark(struct hv_err *err, unsigned facts) hv_must_use;

/* For several steps of which each is tried even when another one fails: keeps the first error and
 * frees the others. *FIRST becomes ERR if it was NULL; otherwise ERR is freed. Takes ERR, which may
 * be NULL. */
void hv_err_keep_first(struct hv_err **first, struct hv_err *err);

static inline void hv_err_free_at(struct hv_err **err)
{
	hv_err_free(*err);
}

#define HV_AUTO_ERR hv_cleanup(hv_err_free_at)
