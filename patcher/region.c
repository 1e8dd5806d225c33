/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "patcher/region.h"

#include <string.h>
#include <sys/mman.h>

/* Limits as fractions of the region: return stacks 1/5, counts 1/8. */
#define STACKS_SHARE 5
#define COUNTS_SHARE 8

#define HOMES_SHIFT_MAX 31
#define SLOTS_MIN	128

static struct hv_err *check_region(const struct hv_region *r, unsigned nr_cpus)
{
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
	return NULL;
}

/* Returns the size of the largest hash table in ROOM_BYTES: 2^*RET_SHIFT home buckets plus
 * NR_LOOKUPS - 1 entries of ITEM_BYTES. Returns 0 if there is no room for two home buckets. */
static unsigned buckets_in(uint64_t room_bytes, size_t item_bytes, unsigned nr_lookups,
			   unsigned *ret_shift)
{
	uint64_t nr = room_bytes / item_bytes;
	unsigned shift;

	if (nr <= nr_lookups)
		return 0;
	shift = 63 - (unsigned)__builtin_clzll(nr - nr_lookups + 1);
	*ret_shift = shift < HOMES_SHIFT_MAX ? shift : HOMES_SHIFT_MAX;
	return (1u << *ret_shift) + nr_lookups - 1;
}

/* Rounds up to a page boundary. */
static uint64_t next_page(uint64_t off)
{
	return (off + 0xfff) & ~0xfffULL;
}

struct hv_err *hv_region_plan_rings(const struct hv_region *r, unsigned nr_cpus,
				    struct hv_ring_plan *ret)
{
	struct hv_ring_plan plan = {.nr_cpus = nr_cpus, .part_bytes = r->len_bytes};
	struct hv_err *err = check_region(r, nr_cpus);
	uint64_t room;

	if (err)
		return err;
	plan.nr_stacks = buckets_in(r->len_bytes / STACKS_SHARE, sizeof(struct hv_stack),
				    HV_STACK_LOOKUPS, &plan.homes_shift);
	plan.counts_off =
		next_page(HV_REGION_STACKS_OFF + plan.nr_stacks * sizeof(struct hv_stack));
	plan.nr_counts = buckets_in(r->len_bytes / COUNTS_SHARE / nr_cpus, sizeof(struct hv_count),
				    HV_COUNT_LOOKUPS, &plan.counts_shift);
	plan.vcpus_off = next_page(hv_plan_counts_off(&plan, nr_cpus));
	room = (r->len_bytes - plan.vcpus_off) / nr_cpus;
	if (room < sizeof(struct hv_state) + SLOTS_MIN * sizeof(struct hv_record) ||
	    !plan.nr_counts)
		return hv_err_new(ENOSPC, "region: %llu MiB is too small for rings of %u vCPUs",
				  (unsigned long long)(r->len_bytes >> 20), nr_cpus);
	room = (room - sizeof(struct hv_state)) / sizeof(struct hv_record);
	plan.nr_slots = 1ULL << (63 - __builtin_clzll(room));
	plan.drafts_off = next_page(hv_plan_state_off(&plan, nr_cpus));
	if (plan.drafts_off + hv_plan_drafts_bytes(&plan) > r->len_bytes)
		plan.drafts_off = 0;
	*ret = plan;
	return NULL;
}

struct hv_err *hv_region_clear(struct hv_region *r)
{
	/* This frees the pages of a shared file or memfd. Other memory, such as a device's, is
	 * zeroed. */
	if (madvise(r->host, r->len_bytes, MADV_REMOVE) < 0)
		memset(r->host, 0, r->len_bytes);
	if (r->kept && madvise(r->kept, HV_REGION_KEPT_BYTES, MADV_REMOVE) < 0)
		memset(r->kept, 0, HV_REGION_KEPT_BYTES);
	return NULL;
}
