/* The guest's trace clock "local": sched_clock() as the guest computes it from the tsc - cyc2ns on
 * bare clocks, pvclock under KVM - with its parameters read from guest memory (hostile: any value
 * gives some number, never a fault). */
#pragma once

#include <stdint.h>

#include "base/err.h"

struct hv_kernel;

enum hv_clock_kind {
	HV_CLOCK_TSC,	  /* native_sched_clock with cyc2ns */
	HV_CLOCK_PVCLOCK, /* kvm_sched_clock_read */
	HV_CLOCK_RAW,  /* the guest's clock cannot be computed from the tsc: tsc units are shown as
			  they are */
	HV_CLOCK_HOST, /* not the guest's: the host's was chosen instead, in ns */
};

#define HV_CLOCK_CPUS_MAX 1024

struct hv_clock;

struct hv_err *hv_clock_new(struct hv_kernel *k, struct hv_clock **ret) hv_must_use;
void hv_clock_free(struct hv_clock *c);
enum hv_clock_kind hv_clock_kind(const struct hv_clock *c);
/* Reads the parameters again; call now and then (each second) while tracing. */
struct hv_err *hv_clock_refresh(struct hv_clock *c) hv_must_use;
/* ns (HV_CLOCK_RAW: tsc units) of a tsc value that CPU read. */
uint64_t hv_clock_ns(const struct hv_clock *c, unsigned cpu, uint64_t tsc);
/* The ns (HV_CLOCK_RAW: tsc units) that TICKS take. */
uint64_t hv_clock_span_ns(const struct hv_clock *c, uint64_t ticks);
/* The least number of tsc units that take NS (HV_CLOCK_RAW: NS itself). */
uint64_t hv_clock_ticks(const struct hv_clock *c, uint64_t ns);
