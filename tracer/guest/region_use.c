/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/guest/region_use.h"

#include <string.h>

#include "patcher/mapping.h"
#include "tracer/guest/tracee.h"

static void write_header(const struct hv_tracee *t, uint8_t *start)
{
	struct hv_region_header *header = (struct hv_region_header *)start;

	*header = (struct hv_region_header){
		.version = HV_REGION_VERSION,
		.nr_cpus = t->plan.nr_cpus,
		.gpa = t->region.gpa.v,
		.map_gva = t->range.start.v,
		.map_len_bytes = t->range.end.v - t->range.start.v,
		.landings_gva = t->landings.start.v,
		.text_gva = t->kernel->text.start.v,
		.handler_gva = t->handler.v,
		.build_id_len_bytes = (uint32_t)t->kernel->build_id_len_bytes,
	};
	memcpy(header->build_id, t->kernel->build_id, sizeof(header->build_id));
	memset(start + HV_REGION_RELEASE_OFF, 0, HV_REGION_RELEASE_LEN);
	memcpy(start + HV_REGION_RELEASE_OFF, HVTRACE_VERSION, sizeof(HVTRACE_VERSION));
	__atomic_thread_fence(__ATOMIC_RELEASE);
	memcpy(header->magic, HV_REGION_MAGIC, sizeof(HV_REGION_MAGIC));
}

void hv_region_write_header(const struct hv_tracee *t)
{
	if (t->region.kept)
		write_header(t, t->region.kept);
	write_header(t, t->region.host);
}

/* Does not check whether our mapping still exists: the guest's page tables show that. */
static bool header_is_sane(const struct hv_tracee *t, const struct hv_region_header *h)
{
	const uint64_t unit = HV_REGION_UNIT;
	struct hv_reach reach = hv_reach_of(&t->kernel->core);
	struct hv_gva_range window = reach.free_window; /* empty if nothing can be traced */

	if (h->landings_gva &&
	    (h->landings_gva % unit != 0 || !hv_gva_in(hv_gva(h->landings_gva), reach.landings)))
		return false;
	return h->gpa == t->region.gpa.v && h->nr_entries <= HV_JOURNAL_CAP &&
	       h->map_gva % unit == 0 && h->map_len_bytes && h->map_len_bytes % unit == 0 &&
	       h->map_len_bytes <= t->region.len_bytes - HV_REGION_STUBS_OFF &&
	       h->handler_gva - h->map_gva < h->map_len_bytes &&
	       h->map_len_bytes <= window.end.v - window.start.v && h->map_gva >= window.start.v &&
	       h->map_gva <= window.end.v - h->map_len_bytes;
}

static bool same_boot(const struct hv_kernel *k, const struct hv_region_header *h)
{
	return h->text_gva == k->text.start.v && h->build_id_len_bytes == k->build_id_len_bytes &&
	       memcmp(h->build_id, k->build_id, k->build_id_len_bytes) == 0;
}

/* Sets *RET to whether a slot of RANGE leads into the region. If so, our stubs may be mapped. */
static struct hv_err *any_slot_present(const struct hv_tracee *t, struct hv_gva_range range,
				       bool *ret)
{
	return hv_mapping_any_present(t->kernel, &t->region, range, ret);
}

struct hv_gva_range hv_region_range(const struct hv_region_header *h)
{
	return (struct hv_gva_range){hv_gva(h->map_gva), hv_gva(h->map_gva + h->map_len_bytes)};
}

struct hv_gva_range hv_region_landings(const struct hv_region_header *h)
{
	struct hv_gva start = hv_gva(h->landings_gva);

	return (struct hv_gva_range){start, hv_gva_add(start, start.v ? HV_REGION_UNIT : 0)};
}

/* Like any_slot_present(), for all addresses at which our slots can be. */
static struct hv_err *any_slot_left(const struct hv_tracee *t, bool *ret)
{
	struct hv_reach reach = hv_reach_of(&t->kernel->core);
	struct hv_err *err = any_slot_present(t, reach.free_window, ret);

	return err || *ret ? err : any_slot_present(t, reach.landings, ret);
}

struct hv_err *hv_region_check_not_mapped(const struct hv_tracee *t)
{
	bool present;
	struct hv_err *err = any_slot_left(t, &present);

	if (!err && present)
		err = hv_err_new(EUCLEAN,
				 "region: the guest's page tables lead into it, but its journal"
				 " is gone: only a reboot of the guest frees it");
	return err;
}

/* RET is the release that created the region, with invalid characters replaced. */
static void read_release(const struct hv_region *region, char ret[HV_REGION_RELEASE_LEN])
{
	memcpy(ret, hv_region_release(region), HV_REGION_RELEASE_LEN);
	ret[HV_REGION_RELEASE_LEN - 1] = '\0';
	for (char *c = ret; *c; c++)
		if (!strchr("0123456789.abcdefghijklmnopqrstuvwxyz~+-", *c))
			*c = '?';
}

/* Another release wrote the header, in a different format and possibly with different stubs. */
static struct hv_err *other_release(const struct hv_tracee *t, uint32_t version,
				    enum hv_region_use *ret_use)
{
	char release[HV_REGION_RELEASE_LEN];
	bool present;
	struct hv_err *err = any_slot_left(t, &present);

	*ret_use = HV_REGION_STALE;
	if (err || !present)
		return err;
	read_release(&t->region, release);
	return hv_err_new(EUCLEAN,
			  "region: hvtrace %s left changes in the guest, in a region of version "
			  "%u: only that release can take them back (this is " HVTRACE_VERSION ")",
			  release[0] ? release : "before 0.2.0", version);
}

struct hv_err *hv_region_use(const struct hv_tracee *t, struct hv_region_header *ret,
			     enum hv_region_use *ret_use)
{
	bool present;
	struct hv_err *err;

	*ret = *hv_region_header(&t->region);
	if (memcmp(ret->magic, HV_REGION_MAGIC, sizeof(HV_REGION_MAGIC)) != 0) {
		*ret_use = HV_REGION_UNUSED;
		return hv_region_check_not_mapped(t);
	}
	if (ret->version != HV_REGION_VERSION)
		return other_release(t, ret->version, ret_use);
	if (!header_is_sane(t, ret) || !same_boot(t->kernel, ret)) {
		*ret_use = HV_REGION_STALE;
		return hv_region_check_not_mapped(t);
	}
	err = any_slot_present(t, hv_region_range(ret), &present);
	if (!err && !present)
		err = any_slot_present(t, hv_region_landings(ret), &present);
	if (err)
		return err;
	*ret_use = present ? HV_REGION_LIVE : HV_REGION_STALE;
	return present ? NULL : hv_region_check_not_mapped(t);
}
