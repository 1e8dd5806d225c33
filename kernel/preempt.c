/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's preemption model. */
#include <string.h>

#include "kernel/kernel.h"

/* preempt_dynamic_mode of kernel/sched/core.c (826bfeb37bb4, 5.12; lazy: 7c70cb94d29c, 6.13). */
static const char *dynamic_model(const struct hv_kernel *k, struct hv_gva at)
{
	static const char *const models[] = {"server", "desktop", "preempt", "lazy"};
	uint32_t mode;
	HV_AUTO_ERR struct hv_err *err = hv_read_u32(&k->core.as, at, &mode);

	return !err && mode < HV_ARRAY_LEN(models) ? models[mode] : "unknown";
}

/* The version string names all but "server" and "desktop" (scripts/mkcompile_h), which do not
 * differ in anything that can be seen. */
const char *hv_kernel_preempt_model(const struct hv_kernel *k)
{
	struct hv_gva at;

	if (strstr(k->banner, " PREEMPT_RT "))
		return "preempt_rt";
	if (hv_kernel_symbol(k, "preempt_dynamic_mode", &at))
		return dynamic_model(k, at);
	if (strstr(k->banner, " PREEMPT_LAZY "))
		return "lazy";
	return strstr(k->banner, " PREEMPT ") ? "preempt" : "unknown";
}

/* Every model that is built with preemption is in the version string. */
bool hv_kernel_is_preemptible(const struct hv_kernel *k)
{
	return k->banner && strstr(k->banner, " PREEMPT");
}
