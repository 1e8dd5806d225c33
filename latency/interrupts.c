/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How long handlers of interrupts and softirqs keep a vCPU. A softirq is interrupted by interrupts;
 * what these take is theirs, too: the verdict tells them apart. */
#include "latency/finders.h"

#include <string.h>

static void begin(struct hv_handler *h, const struct hv_moment *m)
{
	*h = (struct hv_handler){.from_ns = m->time_ns, .number = m->number};
	memcpy(h->name, m->text, sizeof(h->name));
}

static void end(struct hv_finders *f, enum hv_stall_kind kind, struct hv_handler *h,
		const struct hv_moment *m)
{
	struct hv_stall stall = {
		.kind = kind,
		.cpu = m->cpu,
		.from_ns = h->from_ns,
		.to_ns = m->time_ns,
		.number = h->number,
		.task = hv_stall_task(m->pid, m->comm),
	};

	memcpy(stall.name, h->name, sizeof(h->name));
	if (h->from_ns && h->number == m->number)
		hv_finders_add(f, &stall);
	h->from_ns = 0;
}

void hv_interrupts_see(struct hv_finders *f, const struct hv_moment *m)
{
	if (m->kind == HV_MOMENT_IRQ)
		begin(&f->irqs[m->cpu], m);
	else if (m->kind == HV_MOMENT_IRQ_END)
		end(f, HV_STALL_IRQ, &f->irqs[m->cpu], m);
	else if (m->kind == HV_MOMENT_SOFTIRQ)
		begin(&f->softirqs[m->cpu], m);
	else if (m->kind == HV_MOMENT_SOFTIRQ_END)
		end(f, HV_STALL_SOFTIRQ, &f->softirqs[m->cpu], m);
}
