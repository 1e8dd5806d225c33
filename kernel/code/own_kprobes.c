/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/code/own_kprobes.h"

#include <stdlib.h>

#include "base/bisect.h"
#include "base/grow.h"
#include "kernel/core/fields.h"

#define NR_HEADS     64	   /* KPROBE_HASH_BITS is 6 in every kernel */
#define OF_FTRACE    8u	   /* KPROBE_FLAG_FTRACE, include/linux/kprobes.h */
#define KPROBE_MAX   1024u /* maximum size of struct kprobe */
#define KPROBES_MAX  65536u
#define FIRST_SYMBOL "register_kprobe"

static struct hv_err *find_kprobe(const struct hv_kernel_core *core,
				  struct hv_own_kprobes_layout *l)
{
	const struct hv_field kprobe[] = {
		{"hlist.next", 8, &l->next},
		{"addr", 8, &l->addr},
		{"flags", 4, &l->flags},
	};
	struct hv_err *err = hv_fields_find(core, "kprobe", kprobe, HV_ARRAY_LEN(kprobe));

	if (err)
		return err;
	for (size_t i = 0; i < HV_ARRAY_LEN(kprobe); i++)
		if (*kprobe[i].off + kprobe[i].len_bytes > l->len_bytes)
			l->len_bytes = *kprobe[i].off + kprobe[i].len_bytes;
	if (l->len_bytes > KPROBE_MAX)
		return hv_err_new(ENOENT, "BTF: struct kprobe has members up to %u", l->len_bytes);
	return NULL;
}

static struct hv_err *find_lock(const struct hv_kernel_core *core, struct hv_own_kprobes_layout *l)
{
	struct hv_err *err = hv_core_need(core, "kprobe_mutex", &l->lock);
	uint32_t off = 0;

	if (!err)
		err = hv_mutex_owner_find(core, &off);
	if (!err)
		l->lock = hv_gva_add(l->lock, off);
	return err;
}

struct hv_err *hv_own_kprobes_find(const struct hv_kernel_core *core,
				   struct hv_own_kprobes_layout *ret)
{
	struct hv_own_kprobes_layout l = {.exists = true};
	struct hv_gva first;
	struct hv_err *err;

	if (!hv_core_symbol(core, FIRST_SYMBOL, &first)) {
		*ret = (struct hv_own_kprobes_layout){.exists = false};
		return NULL;
	}
	err = hv_core_need(core, "kprobe_table", &l.table);
	if (!err)
		err = find_kprobe(core, &l);
	if (!err)
		err = find_lock(core, &l);
	if (!err)
		*ret = l;
	return err;
}

struct reading {
	const struct hv_address_space *as;
	const struct hv_own_kprobes_layout *l;
	struct hv_own_kprobes found;
	size_t cap;
	size_t nr_read;
};

static void add(struct reading *r, uint64_t at)
{
	struct hv_own_kprobes *found = &r->found;

	found->list = hv_grow(found->list, found->nr, &r->cap, 64, sizeof(*found->list));
	found->list[found->nr++] = hv_gva(at);
}

/* AT is the address of the member `hlist` of the list's first kprobe. */
static struct hv_err *read_list(struct reading *r, uint64_t at)
{
	const struct hv_own_kprobes_layout *l = r->l;
	uint8_t bytes[KPROBE_MAX];
	struct hv_span copy = {bytes, l->len_bytes};

	while (at) {
		struct hv_err *err;

		if (r->nr_read++ == KPROBES_MAX)
			return hv_err_new(E2BIG, "the list does not end after %u entries",
					  KPROBES_MAX);
		err = hv_read(r->as, hv_gva(at - l->next), bytes, l->len_bytes);
		if (err)
			return err;
		if (!(hv_copy_u32(copy, l->flags) & OF_FTRACE))
			add(r, hv_copy_u64(copy, l->addr));
		at = hv_copy_u64(copy, l->next);
	}
	return NULL;
}

static int by_address(const void *a, const void *b)
{
	uint64_t x = ((const struct hv_gva *)a)->v, y = ((const struct hv_gva *)b)->v;

	return x < y ? -1 : x > y;
}

struct hv_err *hv_own_kprobes_read(const struct hv_address_space *as,
				   const struct hv_own_kprobes_layout *layout,
				   struct hv_own_kprobes *ret)
{
	struct reading r = {.as = as, .l = layout};
	uint64_t heads[NR_HEADS], owner = 0;
	struct hv_err *err = NULL;

	if (layout->exists) {
		err = hv_read_u64(as, layout->lock, &owner);
		if (!err)
			err = hv_read(as, layout->table, heads, sizeof(heads));
		for (size_t i = 0; !err && i < NR_HEADS; i++)
			err = read_list(&r, heads[i]);
	}
	if (err) {
		hv_own_kprobes_deinit(&r.found);
		return hv_err_in(err, "the guest's kprobes");
	}
	if (r.found.nr)
		qsort(r.found.list, r.found.nr, sizeof(*r.found.list), by_address);
	r.found.are_locked = owner;
	*ret = r.found;
	return NULL;
}

void hv_own_kprobes_deinit(struct hv_own_kprobes *p)
{
	free(p->list);
	*p = (struct hv_own_kprobes){0};
}

bool hv_own_kprobes_any(const struct hv_own_kprobes *p, struct hv_gva_range range)
{
	size_t first = HV_BISECT(i, p->nr, p->list[i].v < range.start.v);

	return first < p->nr && p->list[first].v < range.end.v;
}
