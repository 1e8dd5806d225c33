/* SPDX-License-Identifier: GPL-2.0-or-later */
/* trigger in events/SYSTEM/EVENT/: actions on each of these events (event_trigger_regex_write,
 * trigger_show). */
#include <string.h>

#include "kernel/events/print_values.h"
#include "tree/files/event_dirs.h"
#include "tree/files/files.h"
#include "tree/instance/events/triggers.h"
#include "tree/instance/hist/hists.h"
#include "tree/settings/token.h"

#define TRIGGER_MAX 4095 /* PAGE_SIZE - 1 */

static struct hv_err *fill_trigger(struct hv_file *f)
{
	const struct hv_event_type *type;
	struct hv_err *err;

	if (f->nr_fills)
		return NULL;
	err = hv_event_ref_find(f->state, hv_place_catalogue(&f->at), &type);
	if (!err)
		hv_instance_triggers_text(f->at.instance, type, &f->text);
	return err;
}

static struct hv_err *open_trigger(struct hv_file *f)
{
	const struct hv_event_type *type = hv_place_event_type(&f->at);
	struct hv_err *err = hv_event_ref_open(f);

	if (err || !hv_file_truncates(f))
		return err;
	return hv_instance_truncate_triggers(f->at.instance, type);
}

static void log_filter(struct hv_file *f, const char *text, const struct hv_filter_fault *fault)
{
	const char *filter = strstr(text, " if ");

	if (fault->code && filter)
		hv_file_log_fault(f, "event filter parse error", fault->why ? fault->why : "Error",
				  filter + strlen(" if "), fault->at);
}

static struct hv_err *obey_hist(struct hv_file *f, const struct hv_event_type *type,
				const char *text)
{
	HV_AUTO_FREE char *where = hv_format("hist:%s:%s", type->system, type->name);
	HV_AUTO_FREE char *command = hv_hist_spec_command(text);
	struct hv_hist_refusal why;
	struct hv_err *err = hv_instance_write_hist(f->at.instance, type, text, &why);

	if (err)
		log_filter(f, text, &why.filter);
	for (unsigned i = 0; i < why.hist.nr; i++)
		hv_file_log_fault(f, where, why.hist.list[i].why, command, why.hist.list[i].at);
	return err;
}

static struct hv_err *obey(struct hv_file *f, const struct hv_event_type *type, const char *text)
{
	struct hv_filter_fault fault;
	struct hv_err *err;

	if (hv_hist_spec_is(text))
		return obey_hist(f, type, text);
	err = hv_instance_write_trigger(f->at.instance, type, text, &fault);
	if (err)
		log_filter(f, text, &fault);
	return err;
}

static struct hv_err *write_trigger(struct hv_file *f, const char *buf, size_t len_bytes,
				    size_t *ret_len)
{
	HV_AUTO_FREE char *text = hv_name_written(buf, len_bytes);
	const struct hv_event_type *type;
	struct hv_err *err;

	if (len_bytes > TRIGGER_MAX)
		return hv_err_new(EINVAL, "a trigger of %zu bytes is too long", len_bytes);
	err = hv_event_ref_find(f->state, hv_place_catalogue(&f->at), &type);
	if (!err && len_bytes)
		err = obey(f, type, text);
	if (!err)
		*ret_len = len_bytes;
	return err;
}

/* Programs search README for the features of the kernel, so some phrases are the kernel's own:
 * libtracefs needs "trace(<synthetic_event>,param list)" to use this form of the action. */
static const char *more_of_keys(const struct hv_kernel *kernel)
{
	int64_t unused;

	return hv_print_value_enumerator(kernel, "FILTER_STACKTRACE", &unused)
		       ? ";\na key can be any field, or the special string 'common_stacktrace'"
		       : "";
}

const struct hv_node hv_event_trigger_node = {
	.reads = HV_RIGHT_READ,
	.writes = HV_NEEDS_EVENTS,
	.help = "the action that each of these events triggers: traceon, traceoff, snapshot,\n"
		"enable_event:SYSTEM:EVENT, disable_event:SYSTEM:EVENT, enable_hist:SYSTEM:EVENT,\n"
		"disable_hist:SYSTEM:EVENT; then :COUNT, 'if FILTER';\n"
		"hist:keys=FIELD[,FIELD...][:values=FIELD[,FIELD]][:<var1>=<field|var_ref|"
		"numeric_literal>,...]\n"
		"[:sort=FIELD[.descending][,FIELD]][:size=N][:name=NAME][:clock=CLOCK]"
		"[:nohitcount]\n"
		"[:pause|:cont|:clear][:<handler>.<action>...] [if FILTER];\n"
		"FIELD is a field, hitcount, common_timestamp, common_cpu, or an expression of "
		"these,\n"
		"numbers and $VAR (+ - * /), with a modifier: .hex .sym .sym-offset .syscall "
		".execname\n"
		".log2 .buckets=N .usecs .percent .graph;\n"
		"handlers: onmatch(SYSTEM.EVENT), onmax(var), onchange(var); actions:\n"
		"trace(<synthetic_event>,param list), <synthetic_event>(param list), "
		"save(FIELD,...),\n"
		"snapshot(); a param is $VAR, SYSTEM.EVENT.$VAR, FIELD or SYSTEM.EVENT.FIELD;\n"
		"a '!' before it removes it",
	.more_help = more_of_keys,
	.state_bytes = sizeof(struct hv_event_ref),
	.open = open_trigger,
	.fill = fill_trigger,
	.write = write_trigger,
};
