/* SPDX-License-Identifier: GPL-2.0-or-later */
/* trace_options, and options/ with one file per option. */
#include <string.h>

#include "base/nearest.h"
#include "base/prefix.h"
#include "tree/files/files.h"
#include "tree/instance/trace.h"
#include "tree/settings/token.h"

#define TEXT_MAX 64 /* tracing_trace_options_write */

static void show_options(struct hv_file *f)
{
	const struct hv_instance *in = f->at.instance;

	hv_options_text(hv_instance_options(in), hv_instance_tracer(in)->name, &f->text);
}

static struct hv_err *no_option(const struct hv_instance *in, const char *text, const char *tracer)
{
	struct hv_nearest nearest = hv_nearest_to(hv_starts_with(text, "no") ? text + 2 : text);
	HV_AUTO_FREE char *question = NULL;

	for (unsigned i = 0; i < HV_NR_OPTIONS; i++)
		if (hv_options_have(hv_instance_options(in), i))
			hv_nearest_try(&nearest, hv_option_infos[i].name);
	question = hv_nearest_question(&nearest);
	return hv_err_new(EINVAL, "there is no option '%s' with tracer '%s'%s", text, tracer,
			  question);
}

static struct hv_err *write_options(struct hv_file *f, const char *buf, size_t len_bytes,
				    size_t *ret_len)
{
	struct hv_instance *in = f->at.instance;
	const char *tracer = hv_instance_tracer(in)->name;
	char text[TEXT_MAX];
	enum hv_option option;
	struct hv_err *err;
	bool on;

	if (len_bytes >= sizeof(text))
		return hv_err_new(EINVAL, "an option has at most %zu bytes, not %zu",
				  sizeof(text) - 1, len_bytes);
	memcpy(text, buf, len_bytes);
	text[len_bytes] = '\0';
	if (!hv_options_parse(hv_instance_options(in), text, tracer, &option, &on))
		return no_option(in, text, tracer);
	err = hv_file_check(f, HV_NEEDS_SETTING | hv_option_infos[option].need);
	if (!err)
		err = hv_instance_set_option(in, option, on);
	if (!err)
		*ret_len = len_bytes;
	return err;
}

static bool is_in(const struct hv_path *dir, enum hv_option option)
{
	return hv_options_have(hv_instance_options(dir->instance), option) &&
	       (!hv_option_infos[option].only_top || hv_instance_is_top(dir->instance));
}

static bool option_name(const struct hv_path *dir, size_t index, struct hv_text *ret)
{
	for (unsigned i = 0; i < HV_NR_OPTIONS; i++) {
		if (!is_in(dir, i) || index--)
			continue;
		hv_text_add(ret, hv_option_infos[i].name);
		return true;
	}
	return false;
}

static bool find_option(struct hv_path *at, const char *name)
{
	enum hv_option option;

	if (!hv_option_find(name, &option) || !is_in(at, option))
		return false;
	at->entry = option;
	return true;
}

static void show_option(struct hv_file *f)
{
	hv_text_printf(&f->text, "%u\n",
		       hv_options_on(hv_instance_options(f->at.instance), f->at.entry) ? 1 : 0);
}

static struct hv_err *write_option(struct hv_file *f, const char *buf, size_t len_bytes,
				   size_t *ret_len)
{
	struct hv_instance *in = f->at.instance;
	uint64_t value;
	struct hv_err *err = hv_number_written(buf, len_bytes, &value);

	if (!err && value > 1)
		err = hv_err_new(EINVAL, "an option is 0 or 1");
	if (!err)
		err = hv_file_check(f, HV_NEEDS_SETTING | hv_option_infos[f->at.entry].need);
	if (!err && hv_options_on(hv_instance_options(in), f->at.entry) != value)
		err = hv_instance_set_option(in, f->at.entry, (unsigned)value);
	if (!err)
		*ret_len = len_bytes;
	return err;
}

const struct hv_node hv_options_node = {
	.reads = HV_RIGHT_READ,
	.writes = HV_NEEDS_SETTING | HV_NEED_WRITTEN,
	.help = "options, one a line; write NAME or noNAME",
	.show = show_options,
	.write = write_options,
};

const struct hv_node hv_option_node = {
	.reads = HV_RIGHT_READ,
	.writes = HV_NEEDS_SETTING | HV_NEED_WRITTEN,
	.help = "1 if the option is on, else 0; write 0 or 1",
	.show = show_option,
	.write = write_option,
};

const struct hv_entries hv_option_entries = {
	.shown_as = "OPTION",
	.name = option_name,
	.find = find_option,
};
