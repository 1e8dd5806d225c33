/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/err.h"

#include <assert.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

#include "base/text.h"

static char *format(const char *fmt, va_list args)
{
	HV_AUTO_FREE char *text = hv_vformat(fmt, args);
	HV_AUTO_TEXT struct hv_text safe = {0};

	hv_text_add_utf8(&safe, text, strlen(text));
	return hv_text_take(&safe);
}

/* Takes ownership of MESSAGE. The reason starts at REASON_OFF. */
static void set_message(struct hv_err *err, char *message, size_t reason_off)
{
	free(err->message);
	err->message = message;
	err->reason = message + reason_off;
}

struct hv_err *hv_err_new(int code, const char *fmt, ...)
{
	struct hv_err *err = hv_alloc(sizeof(*err));
	va_list args;

	assert(code > 0);
	err->code = code;
	va_start(args, fmt);
	set_message(err, format(fmt, args), 0);
	va_end(args);
	return err;
}

int hv_err_code(uint64_t number)
{
	bool is_errno = number && number <= INT_MAX && strerrorname_np((int)number);

	return is_errno ? (int)number : EPROTO;
}

struct hv_err *hv_err_received(const struct hv_err_sent *sent)
{
	int len = sent->len_bytes < INT_MAX ? (int)sent->len_bytes : INT_MAX;
	struct hv_err *err = hv_err_new(hv_err_code(sent->code), "%.*s", len,
					sent->text ? (const char *)sent->text : "");

	err->facts = (unsigned)sent->facts & HV_ERR_FACTS;
	if (sent->reason_off <= strlen(err->message))
		err->reason = err->message + sent->reason_off;
	return err;
}

struct hv_err *hv_err_copy(const struct hv_err *err)
{
	struct hv_err *copy = hv_alloc(sizeof(*copy));

	copy->code = err->code;
	copy->facts = err->facts;
	set_message(copy, hv_strdup(err->message), (size_t)(err->reason - err->message));
	return copy;
}

struct hv_err *hv_err_in(struct hv_err *err, const char *fmt, ...)
{
	HV_AUTO_FREE char *context = NULL;
	va_list args;

	if (!err)
		return NULL;
	va_start(args, fmt);
	context = format(fmt, args);
	va_end(args);
	set_message(err, hv_format("%s: %s", context, err->message), strlen(context) + 2);
	return err;
}

struct hv_err *hv_err_add(struct hv_err *err, const char *fmt, ...)
{
	HV_AUTO_FREE char *more = NULL;
	va_list args;

	if (!err)
		return NULL;
	va_start(args, fmt);
	more = format(fmt, args);
	va_end(args);
	set_message(err, hv_format("%s%s", err->message, more),
		    (size_t)(err->reason - err->message));
	return err;
}

struct hv_err *hv_err_mark(struct hv_err *err, unsigned facts)
{
	if (err)
		err->facts |= facts;
	return err;
}

void hv_err_keep_first(struct hv_err **first, struct hv_err *err)
{
	if (*first)
		hv_err_free(err);
	else
		*first = err;
}

void hv_err_free(struct hv_err *err)
{
	if (!err)
		return;
	free(err->message);
	free(err);
}
