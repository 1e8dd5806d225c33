/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Error objects. A function that can fail returns `struct hv_err *`: NULL on success, otherwise an
 * error that the caller owns. An expected outcome is not an error but a return value.
 *
 * Messages are lower case without a full stop, and name the object and the number:
 *
 *   domain 'web1': kallsyms: no RAM at guest physical 0x1000 (8 bytes)
 *
 * Messages are for people. Callers act on the code and the facts, and never parse messages. Only
 * cli/ prints errors, and only cli/ names commands and options: below it, a fact states what is
 * needed, and cli/explain.h adds the command. */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/guard.h"

/* Flags that callers act on in addition to the errno. */
enum hv_err_fact {
	HV_ERR_NAMES_DOMAIN = 1 << 0,	/* the message names the domain */
	HV_ERR_NEEDS_RECOVERY = 1 << 1, /* the guest is still patched and must be recovered */
	HV_ERR_NEEDS_VMLINUX = 1 << 2,	/* retry with the kernel's vmlinux file */
	HV_ERR_NEEDS_MONITOR = 1 << 3,	/* cannot inject; retry with the monitor */
	HV_ERR_NEEDS_FORCE =
		1 << 4,		   /* possible with force, at a risk for the guest or the result */
	HV_ERR_NEEDS_BTF = 1 << 5, /* retry with the kernel's BTF in a file */
	HV_ERR_FACTS = (1 << 6) - 1, /* mask of all flags */
};

struct hv_err {
	int code;	/* errno value; also the result of write(2) to a tracefs file */
	unsigned facts; /* of enum hv_err_fact */
	char *message;	/* owned; one line of UTF-8 without control characters, safe to print */
	/* The part of the message after the context that hv_err_in() added last; without context,
	 * all of it. */
	const char *reason;
};

/* Creates an error; never returns NULL. Control characters and invalid UTF-8, which can come from
 * the guest, become '?'. */
struct hv_err *hv_err_new(int code, const char *fmt, ...) hv_printf(2, 3) hv_must_use;
struct hv_err *hv_err_copy(const struct hv_err *err) hv_must_use;

/* Returns NUMBER, received from another process, if it is a valid errno, else EPROTO. */
int hv_err_code(uint64_t number);

/* An error received from another process. All fields are untrusted. */
struct hv_err_sent {
	uint64_t code;
	uint64_t facts;
	uint64_t reason_off; /* offset of the reason in the text */
	const void *text;    /* ends at len_bytes or at a NUL */
	size_t len_bytes;
};
struct hv_err *hv_err_received(const struct hv_err_sent *sent) hv_must_use;
void hv_err_free(struct hv_err *err);

/* The functions below take ownership of ERR and return it. If ERR is NULL, they return NULL. */

/* Prepends "CONTEXT: " to the message. */
struct hv_err *hv_err_in(struct hv_err *err, const char *fmt, ...) hv_printf(2, 3) hv_must_use;
/* Appends to the message. */
struct hv_err *hv_err_add(struct hv_err *err, const char *fmt, ...) hv_printf(2, 3) hv_must_use;
struct hv_err *hv_err_mark(struct hv_err *err, unsigned facts) hv_must_use;

/* Collects errors of independent steps: stores ERR in *FIRST if that is NULL, else frees ERR. ERR
 * can be NULL. */
void hv_err_keep_first(struct hv_err **first, struct hv_err *err);

/* Frees ERR. Returns whether it is NULL. For callers to whom the reason does not matter. */
static inline bool hv_err_is_none(struct hv_err *err)
{
	bool is_none = !err;

	hv_err_free(err);
	return is_none;
}

static inline void hv_err_free_at(struct hv_err **err)
{
	hv_err_free(*err);
}

#define HV_AUTO_ERR hv_cleanup(hv_err_free_at)
