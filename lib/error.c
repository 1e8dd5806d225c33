/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/text.h"
#include "lib/alloc.h"

struct hvt_error {
	int code;
	size_t reason_off; /* where the reason starts in the message */
	char message[];
};

/* Never freed, so that it needs no memory. */
static struct hvt_error no_memory = {ENOMEM, 0, {"out of memory"}};

struct hvt_error *error_no_memory(void)
{
	return &no_memory;
}

void error_make_safe(char *text)
{
	size_t left = strlen(text);

	while (left) {
		size_t safe_len = hv_utf8_safe(text, left);

		if (!safe_len)
			*text = '?';
		text += safe_len ? safe_len : 1;
		left -= safe_len ? safe_len : 1;
	}
}

/* Copies LEN_BYTES of TEXT, which can be unsafe. */
static struct hvt_error *with_text(int code, const char *text, size_t len_bytes)
{
	struct hvt_error *error = lib_alloc(sizeof(*error) + len_bytes + 1);

	if (!error)
		return error_no_memory();
	error->code = code;
	memcpy(error->message, text, len_bytes);
	error_make_safe(error->message);
	return error;
}

struct hvt_error *error_new(int code, const char *fmt, ...)
{
	char text[LIB_MESSAGE_MAX];
	va_list args;
	int len;

	va_start(args, fmt);
	len = vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	return with_text(code, text, len < 0 ? 0 : strlen(text));
}

struct hvt_error *error_received(const struct wire_frame *answer)
{
	const char *text = (const char *)answer->data.data;
	size_t len = strnlen(text, answer->data.len_bytes);
	struct hvt_error *error = with_text(hv_err_code(answer->arg), text, len);

	if (error != &no_memory && answer->handle <= len)
		error->reason_off = answer->handle;
	return error;
}

struct hvt_error *error_null(const char *name)
{
	return error_new(EINVAL, "argument '%s' is missing", name);
}

int hvt_error_errno(const struct hvt_error *error)
{
	return error ? error->code : 0;
}

const char *hvt_error_message(const struct hvt_error *error)
{
	return error ? error->message : "";
}

const char *hvt_error_reason(const struct hvt_error *error)
{
	return error ? error->message + error->reason_off : "";
}

void hvt_error_free(struct hvt_error *error)
{
	if (error != &no_memory)
		free(error);
}

void hvt_free(void *memory)
{
	free(memory);
}
