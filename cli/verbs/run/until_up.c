/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/verbs/run/until_up.h"

#include <poll.h>
#include <stdbool.h>

#include "base/clock.h"
#include "kernel/early.h"
#include "kernel/kernel.h"

#define LOOK_FIRST_MS 100 /* delay before the first check for a kernel; doubles with each check */
#define LOOK_LAST_MS  1600
#define SILENT_NS     (30 * HV_NS_PER_S)

struct wait {
	struct hv_guest *guest;
	int end_fd;
	uint64_t silent_until_ns;
	struct hv_err *last; /* why the kernel could not be opened; owned */
	void (*say)(void *ctx, const char *line);
	void *ctx;
};

static bool has_ended(const struct wait *w, int wait_ms)
{
	struct pollfd fd = {w->end_fd, POLLIN, 0};

	return poll(&fd, 1, wait_ms) > 0;
}

static void keep_last(struct wait *w, struct hv_err *err)
{
	hv_err_free(w->last);
	w->last = err;
}

/* Reports once that the kernel is not up, after a delay. */
static void say_if_late(struct wait *w)
{
	HV_AUTO_FREE char *line = NULL;

	if (hv_now_ns() < w->silent_until_ns)
		return;
	w->silent_until_ns = UINT64_MAX;
	line = hv_format("domain '%s': its kernel is not up after %llu s; still waiting%s%s",
			 hv_guest_info(w->guest)->name,
			 (unsigned long long)(SILENT_NS / HV_NS_PER_S), w->last ? ": " : "",
			 w->last ? w->last->message : "");
	w->say(w->ctx, line);
}

/* Returns false if the machine ended first. */
static bool wait_for_kernel(struct wait *w)
{
	HV_AUTO_KERNEL struct hv_kernel *kernel = NULL;
	int look_ms = LOOK_FIRST_MS;

	while (!has_ended(w, kernel ? LOOK_FIRST_MS : look_ms)) {
		if (kernel && hv_early_is_up(&kernel->core))
			return true;
		say_if_late(w);
		if (kernel || !hv_early_in_kernel(w->guest))
			continue;
		keep_last(w, hv_kernel_open(w->guest, NULL, &kernel));
		if (look_ms < LOOK_LAST_MS)
			look_ms *= 2;
	}
	return false;
}

static struct hv_err *run_to_ftrace(struct hv_guest *guest)
{
	struct hv_gva at;
	struct hv_err *err = hv_early_symbol(guest, "ftrace_init", &at);

	if (!err)
		err = hv_guest_run_to(guest, at);
	if (!err)
		err = hv_early_return(guest, &at);
	if (!err)
		err = hv_guest_run_to(guest, at);
	return err;
}

struct hv_err *run_until_up(struct hv_guest *guest, const struct service_machine *machine,
			    void (*say)(void *ctx, const char *line), void *ctx)
{
	struct wait w = {guest, machine->end_fd, hv_now_ns() + SILENT_NS, NULL, say, ctx};
	bool is_up;

	if (machine->from_boot)
		return run_to_ftrace(guest);
	is_up = wait_for_kernel(&w);
	if (!is_up && w.last)
		return w.last;
	hv_err_free(w.last);
	return is_up ? NULL : hv_err_new(ECANCELED, "the machine ended before its kernel was up");
}
