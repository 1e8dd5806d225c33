/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/derive/objects.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/prefix.h"
#include "kernel/core/fields.h"

#define OBJECTS_MAX 4096u

void hv_objects_deinit(struct hv_objects *o)
{
	free(o->list);
	*o = (struct hv_objects){0};
}

uint64_t hv_object_u64(const struct hv_object *o, uint32_t off)
{
	return hv_copy_u64((struct hv_span){o->bytes, sizeof(o->bytes)}, off);
}

uint32_t hv_object_u32(const struct hv_object *o, uint32_t off)
{
	return hv_copy_u32((struct hv_span){o->bytes, sizeof(o->bytes)}, off);
}

uint64_t hv_symbol_of(const struct hv_kernel_core *core, const char *prefix, const char *name)
{
	char all[HV_SYMBOL_NAME_MAX];
	struct hv_gva at;

	if (snprintf(all, sizeof(all), "%s%s", prefix, name) >= (int)sizeof(all))
		return 0;
	return hv_core_symbol(core, all, &at) ? at.v : 0;
}

static int by_value(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static uint32_t room_of(const struct hv_kernel_core *core, struct hv_gva at)
{
	uint64_t room = hv_symbols_room(&core->symbols, at);

	return room > HV_OBJECT_BYTES ? HV_OBJECT_BYTES : (uint32_t)room & ~7u;
}

/* Chooses the greatest length that three quarters of the objects have room for, and drops the
 * objects with less room. */
static void limit_length(const struct hv_kernel_core *core, struct hv_objects *o)
{
	HV_AUTO_FREE uint32_t *rooms = hv_alloc((o->nr + 1) * sizeof(*rooms));
	size_t nr = 0;

	for (size_t i = 0; i < o->nr; i++)
		rooms[i] = room_of(core, o->list[i].at);
	qsort(rooms, o->nr, sizeof(*rooms), by_value);
	o->len_bytes = o->nr ? rooms[o->nr / 4] : 0;
	for (size_t i = 0; i < o->nr; i++) {
		struct hv_object *object = &o->list[i];
		HV_AUTO_ERR struct hv_err *err = NULL;

		if (room_of(core, object->at) < o->len_bytes)
			continue;
		err = hv_read(&core->as, object->at, object->bytes, o->len_bytes);
		if (!err)
			o->list[nr++] = *object;
	}
	o->nr = nr;
}

void hv_objects_read(const struct hv_kernel_core *core, const char *prefix, const char *partner,
		     struct hv_objects *ret)
{
	const struct hv_symbols *symbols = &core->symbols;
	struct hv_objects o = {0};
	size_t cap = 0;

	for (size_t i = 0; i < symbols->nr && o.nr < OBJECTS_MAX; i++) {
		const struct hv_symbol *s = &symbols->by_addr[i];
		const char *name = s->name + strlen(prefix);

		if (!hv_starts_with(s->name, prefix) || hv_gva_in(s->addr, core->image.text) ||
		    (partner && !hv_symbol_of(core, partner, name)))
			continue;
		o.list = hv_grow(o.list, o.nr, &cap, 256, sizeof(*o.list));
		o.list[o.nr++] = (struct hv_object){.at = s->addr, .name = name};
	}
	limit_length(core, &o);
	*ret = o;
}

bool hv_objects_find(const struct hv_objects *o, uint32_t len_bytes, hv_object_fn fn, void *ctx,
		     uint32_t *ret_off)
{
	unsigned nr_found = 0;

	for (uint32_t off = 0; off + len_bytes <= o->len_bytes; off += len_bytes) {
		size_t nr = 0;

		for (size_t i = 0; i < o->nr; i++)
			nr += fn(ctx, &o->list[i],
				 len_bytes == 8 ? hv_object_u64(&o->list[i], off)
						: hv_object_u32(&o->list[i], off));
		if (nr < HV_OBJECTS_MIN || nr < o->nr - o->nr / 8)
			continue;
		*ret_off = off;
		nr_found++;
	}
	return nr_found == 1;
}

bool hv_objects_find_pointers(const struct hv_kernel_core *core, const struct hv_objects *o,
			      const char *prefix, uint32_t *ret_off)
{
	HV_AUTO_FREE uint64_t *expected = hv_alloc((o->nr + 1) * sizeof(*expected));
	size_t nr_expected = 0;
	unsigned nr_found = 0;

	for (size_t i = 0; i < o->nr; i++) {
		expected[i] = hv_symbol_of(core, prefix, o->list[i].name);
		nr_expected += expected[i] != 0;
	}
	if (nr_expected < HV_OBJECTS_MIN)
		return false;
	for (uint32_t off = 0; off + 8 <= o->len_bytes; off += 8) {
		size_t nr = 0;

		for (size_t i = 0; i < o->nr; i++)
			nr += expected[i] && hv_object_u64(&o->list[i], off) == expected[i];
		if (nr < nr_expected - nr_expected / 8)
			continue;
		*ret_off = off;
		nr_found++;
	}
	return nr_found == 1;
}
