/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/sites/module_use.h"

#include "kernel/core/fields.h"

struct hv_err *hv_module_use_find(const struct hv_kernel_core *core, struct hv_module_use *ret)
{
	struct hv_module_use u = {0};
	const struct hv_field module[] = {
		{"state", 4, &u.state}, {"list", 16, &u.node}, {"refcnt", 4, &u.count}};
	const struct hv_field list[] = {{"next", 8, &u.next}, {"prev", 8, &u.prev}};
	int64_t live;
	struct hv_err *err;

	/* Kernels without CONFIG_MODULE_UNLOAD do not count uses. */
	u.can_go = hv_btf_member(core->btf, "module", "refcnt", &u.count, NULL);
	if (!u.can_go) {
		*ret = u;
		return NULL;
	}
	if (!hv_btf_enumerator(core->btf, "MODULE_STATE_LIVE", &live))
		return hv_err_new(ENOENT, "btf: no enumerator MODULE_STATE_LIVE");
	u.live = (uint32_t)live;
	err = hv_fields_find(core, "module", module, HV_ARRAY_LEN(module));
	if (!err)
		err = hv_fields_find(core, "list_head", list, HV_ARRAY_LEN(list));
	if (!err)
		*ret = u;
	return err;
}

struct hv_err *hv_module_use_read(const struct hv_kernel_core *core, const struct hv_module_use *u,
				  struct hv_gva module, uint32_t *ret)
{
	return hv_read_u32(&core->as, hv_gva_add(module, u->count), ret);
}

struct hv_err *hv_module_is_live(const struct hv_kernel_core *core, const struct hv_module_use *u,
				 struct hv_gva module, bool *ret)
{
	struct hv_gva node = hv_gva_add(module, u->node);
	uint64_t prev, next = 0;
	uint32_t state = 0;
	struct hv_err *err = hv_read_u64(&core->as, hv_gva_add(node, u->prev), &prev);

	if (!err)
		err = hv_read_u64(&core->as, hv_gva(prev + u->next), &next);
	if (!err)
		err = hv_read_u32(&core->as, hv_gva_add(module, u->state), &state);
	if (!err)
		*ret = next == node.v && state == u->live;
	return err;
}
