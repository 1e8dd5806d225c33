/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Injects calls into one QEMU/KVM machine, for tests:
 *
 *   inject_probe SPEC registers | region | hold N | flush N | expire
 *   inject_probe SPEC die N
 *
 * die: makes a region and flushes in a hold, and kills the keeper at its step N. If STEP_FD is set,
 * prints the step's name on stderr. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "vmm/open.h"
#include "vmm/inject/threads.h"

static pid_t started_by;
static long steps_left;

static void count_down(const char *where)
{
	if (getpid() == started_by || --steps_left)
		return;
	if (getenv("STEP_FD"))
		dprintf(2, "%s\n", where);
	kill(getpid(), SIGKILL);
}

static struct hv_err *print_registers(struct hv_guest *g)
{
	unsigned nr = hv_guest_info(g)->nr_vcpus;
	HV_AUTO_FREE struct hv_vcpu_regs *regs = hv_alloc(nr * sizeof(*regs));
	struct hv_err *err = hv_guest_registers(g, regs, nr);

	for (unsigned i = 0; !err && i < nr; i++)
		printf("vcpu %u ip 0x%" PRIx64 " sp 0x%" PRIx64 " root 0x%" PRIx64
		       " levels %u trap_table 0x%" PRIx64 "\n",
		       i, regs[i].ip.v, regs[i].sp.v, regs[i].root, regs[i].levels,
		       regs[i].trap_table.v);
	return err;
}

static struct hv_err *print_region(struct hv_guest *g)
{
	struct hv_region r;
	struct hv_err *err = hv_guest_region(g, &r);

	if (err)
		return err;
	printf("region 0x%" PRIx64 " %" PRIu64 " bytes, first byte %u\n", r.gpa.v, r.len_bytes,
	       r.host[0]);
	r.host[0]++;
	return NULL;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static struct hv_err *holds(struct hv_guest *g, long nr, bool flush)
{
	HV_AUTO_FREE struct hv_vcpu_regs *regs = NULL;
	HV_AUTO_FREE uint64_t *held_ns = hv_alloc((size_t)nr * sizeof(*held_ns));
	uint64_t begun_ns = hv_now_ns();
	unsigned nr_vcpus = 0;
	struct hv_err *err = hv_guest_prepare_hold(g);

	for (long i = 0; !err && i < nr; i++) {
		struct hv_err *end;
		struct hv_hold *h;
		uint64_t ns = 0;

		err = hv_hold_begin(g, HV_NS_PER_S, &h);
		if (err)
			break;
		nr_vcpus = hv_guest_info(g)->nr_vcpus;
		regs = hv_realloc_array(regs, nr_vcpus, sizeof(*regs));
		err = hv_hold_registers(h, regs, nr_vcpus);
		if (!err && flush)
			err = hv_hold_flush_translations(h, 4 << 20, 1 << 20);
		end = hv_hold_end(h, &ns);
		if (!err)
			err = end;
		else
			hv_err_free(end);
		held_ns[i] = ns;
	}
	if (err)
		return err;
	qsort(held_ns, (size_t)nr, sizeof(*held_ns), by_value);
	printf("%ld holds, the last of %u vCPUs: median %" PRIu64 " us, least %" PRIu64
	       " us, longest %" PRIu64 " us, each %" PRIu64 " us in total\n",
	       nr, hv_guest_info(g)->nr_vcpus, held_ns[nr / 2] / 1000, held_ns[0] / 1000,
	       held_ns[nr - 1] / 1000, (hv_now_ns() - begun_ns) / 1000 / (uint64_t)nr);
	return NULL;
}

static struct hv_err *expire(struct hv_guest *g)
{
	struct hv_hold *h;
	struct hv_err *err = hv_hold_begin(g, 100 * HV_NS_PER_MS, &h);
	uint64_t ns = 0;

	if (err)
		return err;
	usleep(300000);
	err = hv_hold_end(h, &ns);
	printf("held %" PRIu64 " ms: %s\n", ns / 1000000, err ? err->message : "no error");
	hv_err_free(err);
	return NULL;
}

static struct hv_err *run(struct hv_guest *g, const char *what, long nr)
{
	struct hv_err *err;

	if (!strcmp(what, "registers"))
		return print_registers(g);
	if (!strcmp(what, "region"))
		return print_region(g);
	if (!strcmp(what, "hold"))
		return holds(g, nr, false);
	if (!strcmp(what, "expire"))
		return expire(g);
	err = print_region(g);
	return err ? err : holds(g, nr, true);
}

int main(int argc, char **argv)
{
	HV_AUTO_GUEST struct hv_guest *g = NULL;
	HV_AUTO_ERR struct hv_err *err = NULL;
	long nr = argc > 3 ? atol(argv[3]) : 1;

	if (argc < 3)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	err = hv_guest_open(argv[1], NULL, HV_VIA_INJECT, &g);
	started_by = getpid();
	if (!err && !strcmp(argv[2], "die")) {
		steps_left = nr;
		hv_inject_step = count_down;
		nr = 1;
	}
	if (!err)
		err = run(g, argv[2], nr);
	if (err)
		printf("error: %s\n", err->message);
	return err ? 1 : 0;
}
