/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/inject/place.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "vmm/inject/shadow.h"
#include "vmm/qemu/text_line.h"

#define GIB	    (1ull << 30)
#define BITS_MIN    36
#define BITS_MAX    52
#define SPACE_BYTES (1ull << 51)
#define HT_BYTES    (16 * GIB) /* the size of HyperTransport's hole, rounded up */
#define REGION_WORD "memfd:hvtrace-region-"

void hv_taken_add(struct hv_taken_list *t, uint64_t start, uint64_t end)
{
	t->list = hv_grow(t->list, t->nr, &t->cap, 256, sizeof(*t->list));
	t->list[t->nr++] = (struct hv_taken){start, end};
}

void hv_taken_deinit(struct hv_taken_list *t)
{
	free(t->list);
	*t = (struct hv_taken_list){0};
}

bool hv_taken_parse(struct hv_taken_list *t, const char *text)
{
	struct hv_text_line line;

	while (hv_text_line_next(&text, &line)) {
		uint64_t start, last;

		if (sscanf(line.bytes, " %16" SCNx64 "-%16" SCNx64 " (prio", &start, &last) != 2 ||
		    last < start || last - start >= SPACE_BYTES)
			continue;
		if (t->nr == HV_TAKEN_MAX)
			return false;
		hv_taken_add(t, start, last + 1);
	}
	return true;
}

static int by_end_descending(const void *a, const void *b)
{
	const struct hv_taken *one = a, *other = b;

	return one->end > other->end ? -1 : one->end < other->end;
}

/* Moves *AT down until LEN bytes there overlap none of the NR ranges of T. False: there is no room.
 */
static bool move_down(struct hv_taken *t, size_t nr, uint64_t len_bytes, uint64_t *at)
{
	qsort(t, nr, sizeof(*t), by_end_descending);
	for (size_t i = 0; i < nr && *at < t[i].end; i++) {
		if (t[i].start >= *at + len_bytes)
			continue;
		if (t[i].start < len_bytes)
			return false;
		*at = (t[i].start - len_bytes) & ~(HV_PLACE_UNIT - 1);
	}
	return true;
}

bool hv_place_choose(const struct hv_taken_list *taken, unsigned phys_bits, uint64_t floor,
		     uint64_t len_bytes, struct hv_gpa *ret)
{
	HV_AUTO_FREE struct hv_taken *sorted = hv_alloc((taken->nr + 1) * sizeof(*sorted));
	uint64_t at;

	if (phys_bits < BITS_MIN || !len_bytes || len_bytes > GIB)
		return false;
	if (phys_bits > BITS_MAX)
		phys_bits = BITS_MAX;
	if (floor < 4 * GIB)
		floor = 4 * GIB;
	at = ((3ull << (phys_bits - 2)) - HT_BYTES - len_bytes) & ~(HV_PLACE_UNIT - 1);
	if (taken->nr)
		memcpy(sorted, taken->list, taken->nr * sizeof(*sorted));
	if (!move_down(sorted, taken->nr, len_bytes, &at) || at < floor)
		return false;
	*ret = hv_gpa(at);
	return true;
}

bool hv_size_parse(const char *text, uint64_t *ret)
{
	static const char units[] = "bkmgtpe";
	char *end;
	uint64_t number = strtoull(text, &end, 0);
	unsigned shift = 20;

	if (end == text)
		return false;
	if (*end) {
		const char *unit = strchr(units, *end | 0x20);

		if (!unit)
			return false;
		shift = 10 * (unsigned)(unit - units);
	}
	if (number > UINT64_MAX >> shift)
		return false;
	*ret = number << shift;
	return true;
}

struct hv_fd_link hv_fd_link_parse(const char *target)
{
	struct hv_fd_link link = {0};
	const char *at = strstr(target, REGION_WORD);

	if (!strncmp(target, "anon_inode:kvm-vm", 17) && !target[17])
		link.kind = HV_FD_VM;
	else if (sscanf(target, "anon_inode:kvm-vcpu:%u", &link.vcpu) == 1)
		link.kind = HV_FD_VCPU;
	else if (at && sscanf(at + strlen(REGION_WORD), "%" SCNu32 "-%" SCNx64, &link.slot,
			      &link.gpa.v) == 2)
		link.kind = HV_FD_REGION;
	else if (!strcmp(target, "/memfd:" HV_PIN_FILE " (deleted)"))
		link.kind = HV_FD_PIN;
	return link;
}

void hv_region_name(uint32_t slot, struct hv_gpa gpa, char ret[HV_REGION_NAME_LEN])
{
	snprintf(ret, HV_REGION_NAME_LEN, "hvtrace-region-%" PRIu32 "-%" PRIx64, slot, gpa.v);
}

void hv_shadow_name(const struct hv_shadow *s, char ret[HV_SHADOW_NAME_LEN])
{
	snprintf(ret, HV_SHADOW_NAME_LEN,
		 HV_SHADOW_FILE "%" PRIx64 "-%" PRIx64 "-%" PRIx64 "-%d-%" PRIx64, s->start.v,
		 s->len_bytes, s->hva, s->ram_fd, s->ram_off);
}

bool hv_shadow_parse(const char *target, struct hv_shadow *ret)
{
	struct hv_shadow s = *ret;
	const char *at = strstr(target, "memfd:" HV_SHADOW_FILE);

	if (!at || sscanf(at + strlen("memfd:" HV_SHADOW_FILE),
			  "%" SCNx64 "-%" SCNx64 "-%" SCNx64 "-%d-%" SCNx64, &s.start.v,
			  &s.len_bytes, &s.hva, &s.ram_fd, &s.ram_off) != 5)
		return false;
	*ret = s;
	return true;
}
