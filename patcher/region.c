#include "patcher/region.h"

#include <string.h>
#include <sys/mman.h>

/* Of the region, one part of so many for return stacks, and for counts */
#define STACKS_SHARE 8
#define COUNTS_SHARE 8

struct hv_err *hv_region_plan_rings(const struct hv_region *r, unsigned nr_cpus,
				    struct hv_ring_plan *ret)
{
	struct hv_ring_plan plan = {.nr_cpus = nr_cpus};
	uint64_t room, stacks_bytes, counts_bytes;

	if (nr_cpus == 0 || nr_cpus > HV_REGION_CPUS_MAX)
		return hv_err_new(EINVAL, "region: rings for %u vCPUs: at most %llu", nr_cpus,
				  (unsigned long long)HV_REGION_CPUS_MAX);
	if (r->len_bytes < HV_REGION_LEN_MIN || r->gpa.v % HV_REGION_UNIT)
		return hv_err_new(
			EINVAL,
			"region: %llu MiB at guest physical 0x%llx: needs at least %llu MiB,"
			" aligned to 2 MiB",
			(unsigned long long)(r->len_bytes >> 20), (unsigned long long)r->gpa.v,
			(unsigned long long)(HV_REGION_LEN_MIN >> 20));
	stacks_bytes = r->len_bytes / STACKS_SHARE / HV_REGION_UNIT * HV_REGION_UNIT;
	plan.nr_stacks = (unsigned)(stacks_bytes / sizeof(struct hv_stack));
	plan.counts_off = HV_REGION_STACKS_OFF + stacks_bytes;
	counts_bytes = r->len_bytes / COUNTS_SHARE / HV_REGION_UNIT * HV_REGION_UNIT;
	plan.nr_counts = (unsigned)(counts_bytes / nr_cpus / sizeof(struct hv_count));
	plan.rings_off = plan.counts_off + counts_bytes;
	room = (r->len_bytes - plan.rings_off) / nr_cpus;
	plan.ring_bytes = 1ULL << (63 - __builtin_clzll(room));
	plan.nr_slots = plan.ring_bytes / sizeof(struct hv_record);
	if (plan.ring_bytes < 4096 || plan.nr_counts < HV_COUNT_PROBES)
		return hv_err_new(ENOSPC, "region: %llu MiB is too small for rings of %u vCPUs",
				  (unsigned long long)(r->len_bytes >> 20), nr_cpus);
	*ret = plan;
	return NULL;
}

struct hv_err *hv_region_clear(struct hv_region *r)
{
	/* A shared file or memfd gives its pages back; what cannot (a device) is zeroed. */
	if (madvise(r->host, r->len_bytes, MADV_REMOVE) < 0)
		memset(r->host, 0, r->len_bytes);
	return NULL;
}
