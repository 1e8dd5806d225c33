#include "base/err.h"

#include <assert.h>
#include <stdarg.h>

static char *format(const char *fmt, va_list args)
{
	char *text = hv_vformat(fmt, args);

	for (unsigned char *c = (unsigned char *)text; *c; c++)
		if (*c < 0x20 || *c == 0x7f)
			*c = '?';
	return text;
}

struct hv_err *hv_err_new(int code, const char *fmt, ...)
{
	struct hv_err *err = hv_alloc(sizeof(*err));
	va_list args;

	assert(code > 0);
	va_start(args, fmt);
	err->code = code;
	err->message = format(fmt, args);
	va_end(args);
	return err;
}

struct hv_err *hv_err_in(struct hv_err *err, const char *fmt, ...)
{
	HV_AUTO_FREE char *context = NULL;
	char *joined;
	va_list args;

	if (!err)
		return NULL;
	va_start(args, fmt);
	context = format(fmt, args);
	va_end(args);
	joined = hv_format("%s: %s", context, err->message);
	free(err->message);
	err->message = joined;
	return err;
}

void hv_err_free(struct hv_err *err)
{
	if (!err)
		return;
	free(err->message);
	free(err);
}
