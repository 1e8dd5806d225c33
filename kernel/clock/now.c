/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Source: kernel/sched/core.c (update_rq_clock), kernel/sched/clock.c (sched_clock_cpu). */
#include "kernel/clock/now.h"

#include "kernel/core/fields.h"

void hv_now_init(struct hv_now *n, struct hv_kernel *k)
{
	uint32_t off;
	const struct hv_field clock = {"clock", 8, &off};
	struct hv_gva queues;

	*n = (struct hv_now){.k = k};
	n->has_offset = hv_kernel_symbol(k, "__sched_clock_offset", &n->offset_at);
	if (k->core.btf && hv_kernel_symbol(k, "runqueues", &queues)) {
		HV_AUTO_ERR struct hv_err *err = hv_fields_find(&k->core, "rq", &clock, 1);

		if (!err)
			n->clock_percpu = queues.v + off;
	}
}

/* Returns the newest clock of all CPUs' run queues. */
static bool read_clock(const struct hv_now *n, uint64_t *ret)
{
	uint64_t newest = 0, offset = 0;

	if (n->has_offset) {
		HV_AUTO_ERR struct hv_err *err = hv_read_u64(&n->k->core.as, n->offset_at, &offset);

		if (err)
			return false;
	}
	for (unsigned cpu = 0; cpu < n->k->layout.nr_cpus; cpu++) {
		struct hv_gva at;
		uint64_t clock = 0;
		struct hv_err *err = NULL;

		if (!hv_cpu_in(&n->k->core, "__cpu_online_mask", cpu))
			continue;
		err = hv_kernel_percpu(n->k, n->clock_percpu, cpu, &at);
		if (!err)
			err = hv_read_u64(&n->k->core.as, at, &clock);
		hv_err_free(err);
		if (clock > newest)
			newest = clock;
	}
	*ret = newest - offset;
	return newest != 0;
}

void hv_now_sample(struct hv_now *n, uint64_t host_ns)
{
	uint64_t guest_ns;
	int64_t lead_ns;

	if (!n->clock_percpu || !read_clock(n, &guest_ns))
		return;
	lead_ns = (int64_t)(guest_ns - host_ns);
	if (!n->windows[0].valid || host_ns - n->windows[0].begun_ns >= HV_NOW_WINDOW_NS) {
		n->windows[1] = n->windows[0];
		n->windows[0].valid = true;
		n->windows[0].begun_ns = host_ns;
		n->windows[0].lead_ns = lead_ns;
	}
	if (lead_ns > n->windows[0].lead_ns)
		n->windows[0].lead_ns = lead_ns;
}

void hv_now_restart(struct hv_now *n)
{
	n->windows[0].valid = n->windows[1].valid = false;
}

bool hv_now_at(const struct hv_now *n, uint64_t host_ns, uint64_t *ret)
{
	int64_t lead_ns = n->windows[0].lead_ns;

	if (!n->windows[0].valid)
		return false;
	if (n->windows[1].valid && n->windows[1].lead_ns > lead_ns)
		lead_ns = n->windows[1].lead_ns;
	*ret = host_ns + (uint64_t)lead_ns;
	return true;
}
