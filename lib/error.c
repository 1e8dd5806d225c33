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
	char message[];
};

/* Never freed, so that it needs no memory. */
static struct hvt_error no_memory = {ENOMEM, {"out of memory"}};

struct hvt_error *error_no_memory(void)
{
	return &no_memory;
}

static void make_safe(char *text)
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

struct hvt_error *error_new(int code, const char *fmt, ...)
{
	char text[LIB_MESSAGE_MAX];
	struct hvt_error *error;
	va_list args;
	int len;

	va_start(args, fmt);
	len = vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (len < 0)
		text[0] = '\0';
	make_safe(text);
	error = lib_alloc(sizeof(*error) + strlen(text) + 1);
	if (!error)
		return error_no_memory();
	error->code = code;
	strcpy(error->message, text);
	return error;
}

struct hvt_error *error_received(const struct wire_frame *answer)
{
	int len = answer->data.len_bytes < LIB_MESSAGE_MAX ? (int)answer->data.len_bytes
							   : LIB_MESSAGE_MAX;

	return error_new(hv_err_code(answer->arg), "%.*s", len, (const char *)answer->data.data);
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

void hvt_error_free(struct hvt_error *error)
{
	if (error != &no_memory)
		free(error);
}

void hvt_free(void *memory)
{
	free(memory);
}
