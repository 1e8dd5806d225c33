/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The guest's trace clock "local": sched_clock(), computed from a CPU's counter as the guest does
 * it. The parameters are read from guest memory and are hostile: any values give some number, never
 * a fault.
 * Leaves to others: where a kernel has the parameters (clock_source.h). */
#pragma once

#include "kernel/clock_source.h"

struct hv_kernel;

#define HV_CLOCK_CPUS_MAX 1024

struct hv_clock;

struct hv_err *hv_clock_new(struct hv_kernel *k, struct hv_clock **ret) hv_must_use;
void hv_clock_free(struct hv_clock *c);
enum hv_clock_kind hv_clock_kind(const struct hv_clock *c);
/* Reads the parameters again; call now and then (each second) while tracing. */
struct hv_err *hv_clock_refresh(struct hv_clock *c) hv_must_use;
/* The guest's time of day, in ns since 1970, when its clock was 0, by what both show now. False: it
 * is not known, since the guest keeps the time by another counter, or in a way that is not known.
 */
bool hv_clock_epoch_ns(const struct hv_clock *c, uint64_t *ret);
/* The ns (HV_CLOCK_RAW: tsc units) of a tsc value that CPU read. */
uint64_t hv_clock_ns(const struct hv_clock *c, unsigned cpu, uint64_t tsc);
/* The same of NR values in TIMES, which become ns. */
void hv_clock_all_ns(const struct hv_clock *c, unsigned cpu, uint64_t *times, size_t nr);
/* The ns (HV_CLOCK_RAW: tsc units) that TICKS take. */
uint64_t hv_clock_span_ns(const struct hv_clock *c, uint64_t ticks);
/* The least number of tsc units that take NS (HV_CLOCK_RAW: NS itself). */
uint64_t hv_clock_ticks(const struct hv_clock *c, uint64_t ns);
