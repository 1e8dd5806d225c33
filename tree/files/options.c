/* trace_options and options/. */
#include <string.h>

#include "tracer/events/names.h"
#include "tree/node.h"

#define OPTION_TEXT_MAX 64 /* tracing_trace_options_write */

/* What the guest has to be told, or the host to get ready, before OPTION can be ON. */
static struct hv_err *prepare(struct hv_instance *in, enum hv_option option, bool on)
{
	switch (option) {
	case HV_OPT_OVERWRITE: /* the guest's rings do */
		return on ? NULL : hv_instance_need_host(in);
	case HV_OPT_FUNCTION_FORK:
		return hv_instance_follow_forks(in, on);
	case HV_OPT_RECORD_CMD:
		hv_names_follow(in->tree->session->names, on);
		return NULL;
	case HV_OPT_RECORD_TGID:
		in->tree->shows_tgids |= on;
		return NULL;
	default:
		return NULL;
	}
}

struct hv_err *hv_option_set(struct hv_instance *in, enum hv_option option, bool on)
{
	struct hv_options before = in->options;
	struct hv_err *err = prepare(in, option, on);

	if (err)
		return err;
	hv_options_set(&in->options, option, on);
	if (in->host)
		hv_instance_set_host(in, in->host);
	hv_instance_graph(in, in->lists);
	if (option == HV_OPT_FUNC_STACK_TRACE && in->tracer == HV_TRACER_FUNCTION)
		err = hv_instance_trace(in, in->tracer, in->lists);
	/* The functions in which tasks leave the CPU and come back tell it, or need not. */
	if (option == HV_OPT_SLEEP_TIME && hv_instance_is_live(in))
		err = hv_instance_trace(in, in->tracer, in->lists);
	if (err) {
		in->options = before;
		hv_instance_graph(in, in->lists);
	}
	return err;
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
	if (!hv_options_parse(&f->instance->options, text, tracer, &option, &on))
		return hv_err_new(EINVAL, "there is no option '%s' with tracer '%s'", text, tracer);
	err = hv_option_set(f->instance, option, on);
	if (!err)
		*ret_len = len_bytes;
	return err;
}

static bool is_in(const struct hv_place *dir, enum hv_option option)
{
	return hv_options_have(&dir->instance->options, option) &&
	       (!hv_option_infos[option].only_top || dir->instance == &dir->tree->top);
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
		err = hv_option_set(f->instance, f->arg, value);
	if (!err)
		*ret_len = len_bytes;
	return err;
}
