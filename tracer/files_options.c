/* trace_options and options/. */
#include <string.h>

#include "tracer/node.h"

#define OPTION_TEXT_MAX 64 /* tracing_trace_options_write */

struct hv_err *hv_option_set(struct hv_instance *in, enum hv_option option, bool on)
{
	hv_options_set(&in->options, option, on);
	return NULL;
}

void hv_options_show(struct hv_file *f)
{
	hv_options_text(&f->instance->options, hv_tracer_name(f->instance->tracer), &f->text);
}

struct hv_err *hv_options_write(struct hv_file *f, const char *buf, size_t len_bytes,
				size_t *ret_len)
{
	const char *tracer = hv_tracer_name(f->instance->tracer);
	char text[OPTION_TEXT_MAX];
	enum hv_option option;
	struct hv_err *err;
	bool on;

	if (len_bytes >= sizeof(text))
		return hv_err_new(EINVAL, "an option of %zu bytes", len_bytes);
	memcpy(text, buf, len_bytes);
	text[len_bytes] = '\0';
	if (!hv_options_parse(text, tracer, &option, &on))
		return hv_err_new(EINVAL, "there is no option '%s' with tracer '%s'", text, tracer);
	err = hv_option_set(f->instance, option, on);
	if (!err)
		*ret_len = len_bytes;
	return err;
}
