/* A growing string: what renders tracefs text and messages writes into one of these.
 * Zero-initialised is empty and valid. Always NUL-terminated once anything was added. */
#pragma once

#include <stddef.h>

#include "base/guard.h"

struct hv_text {
	char *data; /* owned; NULL when empty */
	size_t len_bytes;
	size_t cap_bytes;
};

void hv_text_deinit(struct hv_text *t);
void hv_text_clear(struct hv_text *t); /* empties, keeps the memory */
void hv_text_add(struct hv_text *t, const char *s);
void hv_text_add_bytes(struct hv_text *t, const void *bytes, size_t len_bytes);
void hv_text_printf(struct hv_text *t, const char *fmt, ...) hv_printf(2, 3);

/* Adds at most MAX bytes of a guest-given name up to its NUL; bytes that a terminal would act on
 * become '?'. */
void hv_text_add_guest(struct hv_text *t, const char *name, size_t max_bytes);

/* Gives the string away (caller frees; never NULL); the text is empty after. */
char *hv_text_take(struct hv_text *t) hv_must_use;

#define HV_AUTO_TEXT hv_cleanup(hv_text_deinit)
