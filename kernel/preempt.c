/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's preemption model and its spin-lock functions. */
#include <string.h>

#include "kernel/kernel.h"

/* preempt_dynamic_mode of kernel/sched/core.c (826bfeb37bb4, 5.12; lazy: 7c70cb94d29c, 6.13) is an
 * index into the four MODELS. */
static const char *dynamic_model(const struct hv_kernel *k, struct hv_gva at,
				 const char *const *models)
{
	uint32_t mode;
	HV_AUTO_ERR struct hv_err *err = hv_read_u32(&k->core.as, at, &mode);

	return !err && mode < 4 ? models[mode] : "unknown";
}

/* Returns the text of print_trace_header() since it uses preempt_model_str() (8bdc5daaa01e,
 * 6.15). */
static const char *model_str(const struct hv_kernel *k)
{
	static const char *const models[] = {"PREEMPT(none)", "PREEMPT(voluntary)", "PREEMPT(full)",
					     "PREEMPT(lazy)"};
	static const char *const models_of_rt[] = {"PREEMPT_{RT,(none)}",
						   "PREEMPT_{RT,(voluntary)}",
						   "PREEMPT_{RT,(full)}", "PREEMPT_{RT,(lazy)}"};
	bool is_rt = strstr(k->banner, " PREEMPT_RT ");
	struct hv_gva at;

	if (hv_kernel_symbol(k, "preempt_dynamic_mode", &at))
		return dynamic_model(k, at, is_rt ? models_of_rt : models);
	if (is_rt)
		return "PREEMPT_RT";
	if (strstr(k->banner, " PREEMPT_LAZY "))
		return "PREEMPTLAZY";
	return strstr(k->banner, " PREEMPT ") ? "PREEMPT" : "unknown";
}

/* The version string distinguishes all models except "server" and "desktop" (scripts/mkcompile_h),
 * which have no visible difference. */
const char *hv_kernel_preempt_model(const struct hv_kernel *k)
{
	static const char *const models[] = {"server", "desktop", "preempt", "lazy"};
	struct hv_gva at;

	if (hv_kernel_symbol(k, "preempt_model_str", &at))
		return model_str(k);
	if (strstr(k->banner, " PREEMPT_RT "))
		return "preempt_rt";
	if (hv_kernel_symbol(k, "preempt_dynamic_mode", &at))
		return dynamic_model(k, at, models);
	if (strstr(k->banner, " PREEMPT_LAZY "))
		return "lazy";
	return strstr(k->banner, " PREEMPT ") ? "preempt" : "unknown";
}

/* The version string contains PREEMPT in every model with preemption. */
bool hv_kernel_is_preemptible(const struct hv_kernel *k)
{
	return k->banner && strstr(k->banner, " PREEMPT");
}

/* The kernel preempts a task on return from an interrupt. If this is configurable at run time, it
 * is a static call (irqentry_exit_cond_resched, 40607ee97e4e, 5.12), whose function is NULL while
 * preemption is disabled. */
bool hv_kernel_preempts(const struct hv_kernel *k)
{
	struct hv_gva at;
	uint64_t function = 0;
	HV_AUTO_ERR struct hv_err *err = NULL;

	if (k->banner && !hv_kernel_is_preemptible(k) &&
	    !hv_kernel_symbol(k, "preempt_schedule", &at))
		return false;
	if (!hv_kernel_symbol(k, "__SCK__irqentry_exit_cond_resched", &at))
		return true;
	err = hv_read_u64(&k->core.as, at, &function);
	return err || function;
}

bool hv_kernel_in_lock_functions(const struct hv_kernel *k, struct hv_gva at)
{
	struct hv_gva_range text;

	return hv_kernel_symbol(k, "__lock_text_start", &text.start) &&
	       hv_kernel_symbol(k, "__lock_text_end", &text.end) && hv_gva_in(at, text);
}
