/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/service/watch.h"

#include <string.h>

#include "cli/explain.h"
#include "cli/service/host_client.h"
#include "cli/service/ending.h"
#include "cli/service/files.h"
#include "kernel/kernel.h"
#include "tracer/events/clocks.h"
#include "tracer/graph/graph_tracer.h"

#define ALIVE_NS    100000000ull
#define SECOND_NS   1000000000ull /* interval for clocks, modules and boot checks */
#define QUIET_NS    5000000000ull /* interval of all checks while nothing is traced */
#define OTHER_BOOTS 3		  /* successive checks before a reboot is believed */

static void check_alive(struct service *s)
{
	struct hv_err *err = hv_session_alive(s->session);

	if (!err)
		return;
	err = in_domain(err, service_name(s));
	if (err->code == ECONNRESET) {
		s->stays_known = true;
		ending_because(s, err);
		return;
	}
	if (!s->alive_message || strcmp(s->alive_message, err->message) != 0) {
		audit_log(&s->audit, "%s", err->message);
		free(s->alive_message);
		s->alive_message = hv_strdup(err->message);
	}
	hv_err_free(err);
}

static void check_sleep(struct service *s)
{
	bool sleeps = false;

	hv_err_free(hv_guest_sleeps(s->guest, &sleeps));
	if (!sleeps)
		return;
	s->fell_asleep = true;
	audit_log(&s->audit, "the guest sleeps (S3): detaching");
	ending_begin_detach(s, NULL);
	s->detach.must_end = false;
}

/* Retries a failed detach as long as the guest waits. */
static void check_hibernation(struct service *s)
{
	if (!hv_session_delays_hibernation(s->session))
		return;
	s->hibernates = true;
	audit_log(&s->audit, "the guest is about to hibernate (S4): detaching");
	ending_begin_detach(s, NULL);
	s->detach.must_end = false;
}

/* Runs once: a failed detach also ends the session. */
static void check_region(struct service *s)
{
	if (s->lost_region || !hv_session_region_is_lost(s->session))
		return;
	s->lost_region = true;
	audit_log(&s->audit, "memory of the region is gone: detaching");
	ending_begin_detach(s, NULL);
}

static void watch_livepatch(struct service *s)
{
	struct hv_err *err = hv_tree_step_aside(s->tree);

	if (err && !s->stepped_aside)
		audit_log(&s->audit, "function_graph steps aside: %s", err->message);
	if (!err && s->stepped_aside)
		audit_log(&s->audit, "function_graph no longer has to step aside for a livepatch");
	s->stepped_aside = err != NULL;
	hv_err_free(err);
}

enum boot_state {
	BOOT_SAME,
	BOOT_OTHER,   /* no vCPU uses page tables that lead to the attached kernel's text */
	BOOT_UNKNOWN, /* the registers of the vCPUs could not be read */
};

/* For architectures whose page-table root is unknown, uses the physical address of each vCPU's next
 * instruction, which may be in a trampoline. A vCPU in a nested guest proves nothing. */
static enum boot_state look_at_vcpus(const struct hv_session *s, const struct hv_kernel *k,
				     const struct hv_vcpu_regs *regs, unsigned nr)
{
	enum boot_state state = BOOT_UNKNOWN;

	for (unsigned i = 0; i < nr; i++) {
		if (!regs[i].ip_gpa.v)
			continue;
		if (hv_session_maps(s, regs[i].ip, regs[i].ip_gpa) ||
		    hv_leads_to(&k->core.as, regs[i].ip, regs[i].ip_gpa))
			return BOOT_SAME;
		if (regs[i].is_hypervisor || !k->layout.may_host)
			state = BOOT_OTHER;
	}
	return state;
}

/* After a reset, the old boot's memory and page tables can stay readable for minutes, so only the
 * vCPUs are evidence. Does not stop the guest. */
static enum boot_state boot_look(const struct hv_session *s, struct hv_kernel *k)
{
	struct hv_err *err = hv_guest_count_vcpus(k->guest);
	unsigned nr = hv_guest_info(k->guest)->nr_vcpus;
	HV_AUTO_FREE struct hv_vcpu_regs *regs = hv_alloc(nr * sizeof(*regs));
	struct hv_mapping text = {0};

	if (!err)
		err = hv_guest_registers(k->guest, regs, nr);
	if (err) {
		hv_err_free(err);
		return BOOT_UNKNOWN;
	}
	err = hv_walk(&k->core.as, k->text.start, &text);
	if (err || !text.present) {
		hv_err_free(err);
		return BOOT_OTHER;
	}
	if (k->core.as.arch->format_levels)
		return look_at_vcpus(s, k, regs, nr);
	for (unsigned i = 0; i < nr; i++)
		if (hv_vcpu_leads_to(&k->core.as, &regs[i], k->text.start, text.gpa))
			return BOOT_SAME;
	return BOOT_OTHER;
}

/* The registers of running vCPUs are not a consistent snapshot, so one deviating check is not a
 * reboot. */
static void check_boot(struct service *s, struct watch *w)
{
	enum boot_state boot = boot_look(s->session, s->kernel);

	w->nr_other_boot = boot == BOOT_OTHER ? w->nr_other_boot + 1 : 0;
	if (w->nr_other_boot < OTHER_BOOTS)
		return;
	s->stays_known = true;
	ending_because(s, hv_err_new(ECONNRESET, "the guest was rebooted"));
}

static void follow_guest(struct service *s)
{
	hv_clocks_refresh(s->session->clocks);
	hv_graph_tracer_sweep(s->session->graph);
	watch_livepatch(s);
	hv_tree_refresh(s->tree);
	hv_tree_retire(s->tree);
	made_things_retry(s);
}

void watch_release_memory(struct service *s, struct watch *w)
{
	bool released = w->has_released;

	if (s->state != SERVE_RUNS || !w->releases)
		return;
	w->releases = w->has_released = hv_session_release_memory(s->session);
	if (released && !w->releases)
		hv_trim_memory();
}

void watch_guest(struct service *s, struct watch *w, uint64_t now_ns)
{
	if (now_ns >= w->alive_ns) {
		w->alive_ns = now_ns + ALIVE_NS;
		check_alive(s);
		if (s->state == SERVE_RUNS)
			check_sleep(s);
		if (s->state == SERVE_RUNS)
			check_hibernation(s);
		if (s->state == SERVE_RUNS)
			check_region(s);
	}
	if (s->state != SERVE_RUNS || (now_ns < w->second_ns && !w->nr_other_boot))
		return;
	w->releases = true;
	w->second_ns = now_ns + SECOND_NS;
	host_keep_rundir(s);
	access_refresh(s);
	check_boot(s, w);
	if (!w->nr_other_boot)
		follow_guest(s);
}

/* While nothing is traced, no check is urgent, unless the guest loses the region when it wakes up
 * from S3 (a region that is not injected may be a device) or the session's time is limited. */
uint64_t watch_next_ns(const struct service *s, const struct watch *w)
{
	if (s->state != SERVE_RUNS || w->nr_other_boot || s->config->for_ns || s->config->idle_ns ||
	    !hv_guest_info(s->guest)->injected || !hv_session_is_quiet(s->session))
		return w->alive_ns;
	return w->second_ns - SECOND_NS + QUIET_NS;
}
