/* trace_options and options/. */
#include <string.h>

#include "tree/node.h"

#define OPTION_TEXT_MAX 64 /* tracing_trace_options_write */

void hv_options_show(struct hv_file *f)
{
	hv_options_text(&f->instance->options, hv_tracer_name(f->instance->selection.tracer),
			&f->text);
}

struct hv_err *hv_options_write(struct hv_file *f, const char *buf, size_t len_bytes,
				size_t *ret_len)
{
	const char *tracer = hv_tracer_name(f->instance->selection.tracer);
	char text[OPTION_TEXT_MAX];
	enum hv_option option;
	struct hv_err *err;
	bool on;

	if (len_bytes >= sizeof(text))
		return hv_err_new(EINVAL, "an option of %zu bytes", len_bytes);
	memcpy(text, buf, len_bytes);
	text[len_bytes] = '\0';
	if (!hv_options_parse(&f->instance->options, text, tracer, &option, &on))
		return hv_err_new(EINVAL, "there is no option '%s' with tracer '%s'", text, tracer);
	err = hv_instance_set_option(f->instance, option, on);
	if (!err)
		*ret_len = len_bytes;
	return err;
}

static bool is_in(const struct hv_place *dir, enum hv_option option)
{
	return hv_options_have(&dir->instance->options, option) &&
	       (!hv_option_infos[option].only_top || dir->instance == &dir->tree->instances.top);
}

bool hv_option_name(const struct hv_place *dir, size_t index, struct hv_text *ret)
{
	for (unsigned i = 0; i < HV_NR_OPTIONS; i++) {
		if (!is_in(dir, i) || index--)
			continue;
		hv_text_add(ret, hv_option_infos[i].name);
		return true;
	}
	return false;
}

bool hv_option_find_entry(struct hv_place *at, const char *name)
{
	enum hv_option option;

	if (!hv_option_find(name, &option) || !is_in(at, option))
		return false;
	at->arg = option;
	return true;
}

void hv_option_show(struct hv_file *f)
{
	hv_text_printf(&f->text, "%u\n", hv_options_on(&f->instance->options, f->arg) ? 1 : 0);
}

struct hv_err *hv_option_write(struct hv_file *f, const char *buf, size_t len_bytes,
			       size_t *ret_len)
{
	uint64_t value;
	struct hv_err *err = hv_number_written(buf, len_bytes, &value);

	if (!err && value > 1)
		err = hv_err_new(EINVAL, "an option is 0 or 1");
	if (!err && hv_options_on(&f->instance->options, f->arg) != value)
		err = hv_instance_set_option(f->instance, f->arg, value);
	if (!err)
		*ret_len = len_bytes;
	return err;
}
