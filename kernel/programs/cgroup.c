/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/programs/cgroup.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "kernel/core/fields.h"

#define DEPTH_MAX      32u
#define SUBSYS_MAX     32u
#define NAME_MAX_BYTES 255u
#define PAGE_BYTES     4096u

/* Offsets of members. */
struct layout {
	uint32_t cgroups;	   /* in struct task_struct */
	uint32_t dfl_cgrp, subsys; /* in struct css_set */
	uint32_t nr_subsys;
	uint32_t cgroup; /* in struct cgroup_subsys_state */
	uint32_t kn;	 /* in struct cgroup */
	uint32_t parent, name;
};

static bool find_layout(const struct hv_kernel_core *core, struct layout *l)
{
	const struct hv_field task[] = {{"cgroups", 8, &l->cgroups}};
	const struct hv_field set[] = {{"dfl_cgrp", 8, &l->dfl_cgrp}};
	const struct hv_field state[] = {{"cgroup", 8, &l->cgroup}};
	const struct hv_field group[] = {{"kn", 8, &l->kn}};
	const struct hv_field node[] = {{"name", 8, &l->name}};
	uint32_t len_bytes = 0;

	if (!hv_err_is_none(hv_fields_find(core, "task_struct", task, 1)) ||
	    !hv_err_is_none(hv_fields_find(core, "css_set", set, 1)) ||
	    !hv_err_is_none(hv_fields_find(core, "cgroup_subsys_state", state, 1)) ||
	    !hv_err_is_none(hv_fields_find(core, "cgroup", group, 1)) ||
	    !hv_err_is_none(hv_fields_find(core, "kernfs_node", node, 1)))
		return false;
	if (hv_btf_member(core->btf, "css_set", "subsys", &l->subsys, &len_bytes))
		l->nr_subsys = len_bytes / 8 < SUBSYS_MAX ? len_bytes / 8 : SUBSYS_MAX;
	/* Since 6.15 (633488947ef6) the member is "__parent". */
	return hv_btf_member(core->btf, "kernfs_node", "parent", &l->parent, NULL) ||
	       hv_btf_member(core->btf, "kernfs_node", "__parent", &l->parent, NULL);
}

static bool word(const struct hv_kernel_core *core, uint64_t at, uint64_t *ret)
{
	return hv_err_is_none(hv_read_u64(&core->as, hv_gva(at), ret));
}

/* Reads the name of a node. Memory after its page may not exist. */
static bool read_name(const struct hv_kernel_core *core, const struct layout *l, uint64_t node,
		      char ret[NAME_MAX_BYTES + 1])
{
	size_t len = 0;
	uint64_t at;

	if (!word(core, node + l->name, &at) || !at)
		return false;
	while (len <= NAME_MAX_BYTES) {
		size_t part = PAGE_BYTES - (at + len) % PAGE_BYTES;

		if (part > NAME_MAX_BYTES + 1 - len)
			part = NAME_MAX_BYTES + 1 - len;
		if (!hv_err_is_none(hv_read(&core->as, hv_gva(at + len), ret + len, part)))
			return false;
		if (memchr(ret + len, '\0', part))
			return true;
		len += part;
	}
	return false;
}

/* Returns the path of the cgroup at GROUP. The root has an empty name, and no parent. */
static char *path_of(const struct hv_kernel_core *core, const struct layout *l, uint64_t group)
{
	char names[DEPTH_MAX][NAME_MAX_BYTES + 1];
	HV_AUTO_TEXT struct hv_text path = {0};
	uint64_t node, parent;
	unsigned nr = 0;

	if (!group || !word(core, group + l->kn, &node) || !node)
		return NULL;
	for (;;) {
		if (!word(core, node + l->parent, &parent))
			return NULL;
		if (!parent)
			break;
		if (nr == DEPTH_MAX || !read_name(core, l, node, names[nr]))
			return NULL;
		nr++;
		node = parent;
	}
	hv_text_add(&path, nr ? "" : "/");
	while (nr-- > 0) {
		hv_text_add(&path, "/");
		hv_text_add(&path, names[nr]);
	}
	return hv_text_take(&path);
}

char *hv_cgroup_path(const struct hv_kernel_core *core, struct hv_gva task)
{
	struct layout l = {0};
	uint64_t set, group;
	char *path;

	if (!core->btf || !find_layout(core, &l) || !word(core, task.v + l.cgroups, &set) || !set ||
	    !word(core, set + l.dfl_cgrp, &group))
		return NULL;
	path = path_of(core, &l, group);
	for (unsigned i = 0; path && strcmp(path, "/") == 0 && i < l.nr_subsys; i++) {
		uint64_t state;
		char *other = NULL;

		if (word(core, set + l.subsys + 8 * i, &state) && state &&
		    word(core, state + l.cgroup, &group))
			other = path_of(core, &l, group);
		if (!other)
			continue;
		free(path);
		path = other;
	}
	return path;
}
