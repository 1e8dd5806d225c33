/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/programs/program.h"

#include <stdlib.h>
#include <string.h>

#include "base/cancel.h"
#include "base/grow.h"
#include "base/text.h"
#include "kernel/core/fields.h"
#include "kernel/kernel.h"
#include "kernel/programs/cgroup.h"
#include "kernel/programs/page_cache.h"
#include "kernel/tasks/tasks.h"

/* Limits on guest data */
#define MAPS_MAX       4096u /* with code */
#define VMAS_MAX       65536u
#define NODES_MAX      65536u /* of the maple tree */
#define DEPTH_MAX      10u    /* of the maple tree */
#define COMPONENTS_MAX 64u
#define NAME_MAX_BYTES 255u
#define STRUCT_MAX     2048u
#define WALKS_MAX      3u

#define VM_EXEC	   4u
#define PAGE_SHIFT 12u

/* Nodes of the maple tree (include/linux/maple_tree.h). */
#define NODE_MASK      255u
#define TYPE_SHIFT     3u
#define TYPE_MASK      15u
#define LEAF_64	       1u
#define RANGE_64       2u
#define ARANGE_64      3u
#define SLOTS_MAX      16u
#define ENTRY_INTERNAL 2u
#define ENTRIES_MIN    4096u

struct layout {
	struct hv_page_cache cache;
	uint32_t mm;				   /* in struct task_struct */
	uint32_t tree, vdso;			   /* in struct mm_struct */
	uint32_t first;				   /* in struct mm_struct; kernels with a list */
	bool has_tree;				   /* mappings are in a maple tree */
	uint32_t pivots[4], slots[4], nr_slots[4]; /* of nodes, by type */
	uint32_t vm_start, vm_end, vm_pgoff, vm_flags, vm_file, vm_mm, vm_next;
	uint32_t vma_len;
	uint32_t dentry, mnt, mapping;		   /* in struct file */
	uint32_t parent, name, name_len, hashed;   /* in struct dentry */
	uint32_t in_mount, mnt_parent, mountpoint; /* in struct mount */
	uint32_t mnt_root;			   /* in struct vfsmount */
};

static void note_end(struct layout *l, uint32_t off, uint32_t len)
{
	if (off + len > l->vma_len)
		l->vma_len = off + len;
}

static struct hv_err *find_vma(const struct hv_kernel_core *core, struct layout *l)
{
	const struct hv_field vma[] = {
		{"vm_start", 8, &l->vm_start}, {"vm_end", 8, &l->vm_end},
		{"vm_pgoff", 8, &l->vm_pgoff}, {"vm_flags", 8, &l->vm_flags},
		{"vm_file", 8, &l->vm_file},   {"vm_mm", 8, &l->vm_mm},
	};
	const struct hv_field next[] = {{"vm_next", 8, &l->vm_next}};
	const struct hv_field list[] = {{"mmap", 8, &l->first}};
	struct hv_err *err = hv_fields_find(core, "vm_area_struct", vma, HV_ARRAY_LEN(vma));

	for (size_t i = 0; !err && i < HV_ARRAY_LEN(vma); i++)
		note_end(l, *vma[i].off, 8);
	if (!err && !l->has_tree)
		err = hv_fields_find(core, "vm_area_struct", next, 1);
	if (!err && !l->has_tree)
		err = hv_fields_find(core, "mm_struct", list, 1);
	if (!err && !l->has_tree)
		note_end(l, l->vm_next, 8);
	return err;
}

static struct hv_err *find_nodes(const struct hv_kernel_core *core, struct layout *l)
{
	const struct hv_field range[] = {{"pivot", 8 * 15, &l->pivots[RANGE_64]},
					 {"slot", 8 * 16, &l->slots[RANGE_64]}};
	const struct hv_field arange[] = {{"pivot", 8 * 9, &l->pivots[ARANGE_64]},
					  {"slot", 8 * 10, &l->slots[ARANGE_64]}};
	struct hv_err *err = hv_fields_find(core, "maple_range_64", range, HV_ARRAY_LEN(range));

	if (!err)
		err = hv_fields_find(core, "maple_arange_64", arange, HV_ARRAY_LEN(arange));
	l->pivots[LEAF_64] = l->pivots[RANGE_64];
	l->slots[LEAF_64] = l->slots[RANGE_64];
	l->nr_slots[LEAF_64] = l->nr_slots[RANGE_64] = 16;
	l->nr_slots[ARANGE_64] = 10;
	return err;
}

static struct hv_err *find_layout(const struct hv_kernel_core *core, struct layout *l)
{
	const struct hv_field task[] = {{"mm", 8, &l->mm}};
	const struct hv_field file[] = {{"f_path.dentry", 8, &l->dentry},
					{"f_path.mnt", 8, &l->mnt},
					{"f_mapping", 8, &l->mapping}};
	const struct hv_field dentry[] = {{"d_parent", 8, &l->parent},
					  {"d_name.name", 8, &l->name},
					  {"d_name.len", 4, &l->name_len},
					  {"d_hash.pprev", 8, &l->hashed}};
	const struct hv_field mount[] = {{"mnt", 8, &l->in_mount},
					 {"mnt_parent", 8, &l->mnt_parent},
					 {"mnt_mountpoint", 8, &l->mountpoint}};
	const struct hv_field vfs[] = {{"mnt_root", 8, &l->mnt_root}};
	struct hv_err *err = hv_page_cache_find(core, &l->cache);

	if (!err)
		err = hv_fields_find(core, "task_struct", task, 1);
	if (!err)
		err = hv_fields_find(core, "file", file, HV_ARRAY_LEN(file));
	if (!err)
		err = hv_fields_find(core, "dentry", dentry, HV_ARRAY_LEN(dentry));
	if (!err)
		err = hv_fields_find(core, "mount", mount, HV_ARRAY_LEN(mount));
	if (!err)
		err = hv_fields_find(core, "vfsmount", vfs, 1);
	if (err)
		return err;
	l->has_tree = hv_btf_member(core->btf, "mm_struct", "mm_mt.ma_root", &l->tree, NULL);
	if (!hv_btf_member(core->btf, "mm_struct", "context.vdso", &l->vdso, NULL))
		l->vdso = 0;
	if (l->has_tree)
		err = find_nodes(core, l);
	return err ? err : find_vma(core, l);
}

/* -- paths -------------------------------------------------------------------------------------- */

struct reading {
	const struct hv_kernel_core *core;
	const struct layout *l;
	uint64_t mm, vdso;
	struct hv_program program;
	size_t cap, nr_vmas, nr_nodes;
};

static bool word(const struct reading *r, uint64_t at, uint64_t *ret)
{
	return hv_err_is_none(hv_read_u64(&r->core->as, hv_gva(at), ret));
}

static bool bytes_at(const struct reading *r, uint64_t at, void *ret, size_t len)
{
	return hv_err_is_none(hv_read(&r->core->as, hv_gva(at), ret, len));
}

/* Reads the name of DENTRY, with a slash before it. */
static bool read_name(const struct reading *r, uint64_t dentry, char *ret)
{
	uint64_t name;
	uint32_t len;

	if (!word(r, dentry + r->l->name, &name) ||
	    !bytes_at(r, dentry + r->l->name_len, &len, sizeof(len)) || !len ||
	    len > NAME_MAX_BYTES)
		return false;
	ret[0] = '/';
	ret[1 + len] = '\0';
	return bytes_at(r, name, ret + 1, len);
}

/* Moves *DENTRY and *VFS up to the place where VFS is mounted. False: it is mounted nowhere. */
static bool cross_mount(const struct reading *r, uint64_t *dentry, uint64_t *vfs)
{
	uint64_t mount = *vfs - r->l->in_mount, parent, point;

	if (!word(r, mount + r->l->mnt_parent, &parent) ||
	    !word(r, mount + r->l->mountpoint, &point) || parent == mount)
		return false;
	*dentry = point;
	*vfs = parent + r->l->in_mount;
	return true;
}

/* Reads the path of FILE, as it is below the root of its mount namespace. Returns NULL if it cannot be
 * read. */
static char *read_path(const struct reading *r, uint64_t file)
{
	char names[COMPONENTS_MAX][NAME_MAX_BYTES + 2];
	uint64_t dentry, vfs, root, parent, hashed;
	HV_AUTO_TEXT struct hv_text path = {0};
	unsigned nr = 0;

	if (!word(r, file + r->l->dentry, &dentry) || !word(r, file + r->l->mnt, &vfs) ||
	    !word(r, dentry + r->l->hashed, &hashed))
		return NULL;
	for (unsigned step = 0; nr < COMPONENTS_MAX && step < 2 * COMPONENTS_MAX; step++) {
		if (!word(r, vfs + r->l->mnt_root, &root))
			return NULL;
		if (dentry == root) {
			if (!cross_mount(r, &dentry, &vfs))
				break;
			continue;
		}
		if (!word(r, dentry + r->l->parent, &parent) ||
		    (parent != dentry && !read_name(r, dentry, names[nr])))
			return NULL;
		if (parent == dentry)
			break;
		nr++;
		dentry = parent;
	}
	hv_text_add(&path, nr == COMPONENTS_MAX ? "..." : nr ? "" : "/");
	while (nr-- > 0)
		hv_text_add(&path, names[nr]);
	hv_text_add(&path, hashed ? "" : " (deleted)");
	return hv_text_take(&path);
}

/* -- mappings ----------------------------------------------------------------------------------- */

static void read_file(const struct reading *r, uint64_t file, struct hv_program_map *map)
{
	struct hv_cached_file cached;
	struct hv_elf_file elf;
	uint64_t mapping;

	map->path = read_path(r, file);
	if (!map->path || !word(r, file + r->l->mapping, &mapping) ||
	    !hv_cached_file_open(&r->l->cache, hv_gva(mapping), &cached))
		return;
	map->file = (struct hv_program_file_id){cached.mapping, cached.ino, cached.len_bytes};
	elf = hv_cached_file_elf(&cached);
	map->build_id_len = hv_elf_build_id(&elf, map->build_id);
}

/* The parts of a vma, copied once. */
struct vma {
	uint64_t start, end, off_pages, flags, file, next;
};

/* Returns false if there is no mapping of the process at AT. */
static bool read_vma(struct reading *r, uint64_t at, struct vma *ret)
{
	uint8_t bytes[STRUCT_MAX];
	const struct layout *l = r->l;
	struct hv_span copy = {bytes, l->vma_len};

	if (l->vma_len > STRUCT_MAX || !bytes_at(r, at, bytes, l->vma_len))
		return false;
	*ret = (struct vma){
		.start = hv_copy_u64(copy, l->vm_start),
		.end = hv_copy_u64(copy, l->vm_end),
		.off_pages = hv_copy_u64(copy, l->vm_pgoff),
		.flags = hv_copy_u64(copy, l->vm_flags),
		.file = hv_copy_u64(copy, l->vm_file),
		.next = l->has_tree ? 0 : hv_copy_u64(copy, l->vm_next),
	};
	return hv_copy_u64(copy, l->vm_mm) == r->mm && ret->start < ret->end &&
	       ++r->nr_vmas <= VMAS_MAX;
}

static bool add_vma(struct reading *r, const struct vma *v)
{
	struct hv_program_map map = {
		.start = v->start, .end = v->end, .off = v->off_pages << PAGE_SHIFT};

	if (!(v->flags & VM_EXEC))
		return true;
	if (r->program.nr == MAPS_MAX || !hv_err_is_none(hv_cancel_check()))
		return false;
	if (v->file)
		read_file(r, v->file, &map);
	if (!map.path)
		map.path = hv_strdup(v->start == r->vdso ? "[vdso]" : "");
	r->program.maps =
		hv_grow(r->program.maps, r->program.nr, &r->cap, 16, sizeof(*r->program.maps));
	r->program.maps[r->program.nr++] = map;
	return true;
}

static bool walk_list(struct reading *r)
{
	uint64_t at, last = 0;

	if (!word(r, r->mm + r->l->first, &at))
		return false;
	while (at) {
		struct vma v;

		if (!read_vma(r, at, &v) || v.start < last || !add_vma(r, &v))
			return false;
		last = v.end;
		at = v.next;
	}
	return true;
}

/* Adds the mapping of ENTRY, the slot of a leaf for the addresses [MIN, MAX]. */
static bool add_entry(struct reading *r, uint64_t entry, uint64_t min, uint64_t max)
{
	struct vma v;

	if (!entry || (entry & 3))
		return true;
	return read_vma(r, entry, &v) && v.start == min && v.end - 1 == max && add_vma(r, &v);
}

/* Adds the mappings in [MIN, MAX] of the node ENCODED. */
static bool walk_node(struct reading *r, uint64_t encoded, uint64_t min, uint64_t max,
		      unsigned depth)
{
	unsigned type = encoded >> TYPE_SHIFT & TYPE_MASK, nr_slots;
	uint64_t node = encoded & ~(uint64_t)NODE_MASK, pivots[SLOTS_MAX], slots[SLOTS_MAX];

	if (type < LEAF_64 || type > ARANGE_64 || depth == DEPTH_MAX || ++r->nr_nodes > NODES_MAX ||
	    hv_cancel_now(r->nr_nodes))
		return false;
	nr_slots = r->l->nr_slots[type];
	if (!bytes_at(r, node + r->l->pivots[type], pivots, 8 * (nr_slots - 1)) ||
	    !bytes_at(r, node + r->l->slots[type], slots, 8 * nr_slots))
		return false;
	for (unsigned i = 0; i < nr_slots; i++) {
		bool is_last = i + 1 == nr_slots || !pivots[i] || pivots[i] >= max;
		uint64_t end = is_last ? max : pivots[i];

		if (end < min)
			return false;
		if (type == LEAF_64 ? !add_entry(r, slots[i], min, end)
				    : !walk_node(r, slots[i], min, end, depth + 1))
			return false;
		if (is_last)
			break;
		min = end + 1;
	}
	return true;
}

static bool walk_tree(struct reading *r)
{
	uint64_t root;

	if (!word(r, r->mm + r->l->tree, &root))
		return false;
	if (!root)
		return true;
	return (root & 3) == ENTRY_INTERNAL && root > ENTRIES_MIN &&
	       walk_node(r, root, 0, UINT64_MAX, 0);
}

static void forget(struct reading *r)
{
	uint32_t tgid = r->program.tgid;

	hv_program_deinit(&r->program);
	r->program.tgid = tgid;
	r->cap = r->nr_vmas = r->nr_nodes = 0;
}

static bool find_task(struct hv_kernel *k, uint32_t pid, struct hv_task *ret)
{
	struct hv_tasks tasks;
	bool found = false;

	if (!hv_err_is_none(hv_tasks_read(k, &tasks)))
		return false;
	for (size_t i = 0; i < tasks.nr && !found; i++) {
		found = pid && tasks.list[i].pid == pid;
		if (found)
			*ret = tasks.list[i];
	}
	hv_tasks_deinit(&tasks);
	return found;
}

bool hv_program_read(struct hv_kernel *k, uint32_t pid, struct hv_program *ret)
{
	struct layout l = {0};
	struct reading r = {.core = &k->core, .l = &l};
	struct hv_task task;

	if (!k->core.btf || !hv_err_is_none(find_layout(&k->core, &l)) ||
	    !find_task(k, pid, &task) || !word(&r, task.task.v + l.mm, &r.mm) || !r.mm ||
	    (l.vdso && !word(&r, r.mm + l.vdso, &r.vdso)))
		return false;
	r.program.tgid = task.tgid;
	for (unsigned i = 0; i < WALKS_MAX; i++) {
		forget(&r);
		if (l.has_tree ? walk_tree(&r) : walk_list(&r)) {
			r.program.cgroup = hv_cgroup_path(&k->core, task.task);
			*ret = r.program;
			return true;
		}
	}
	hv_program_deinit(&r.program);
	return false;
}

void hv_program_deinit(struct hv_program *p)
{
	for (size_t i = 0; i < p->nr; i++)
		free(p->maps[i].path);
	free(p->maps);
	free(p->cgroup);
	*p = (struct hv_program){0};
}

/* -- files -------------------------------------------------------------------------------------- */

static bool open_file(const struct hv_kernel *k, const struct hv_program_file_id *id,
		      struct hv_page_cache *cache, struct hv_cached_file *ret)
{
	return k->core.btf && hv_err_is_none(hv_page_cache_find(&k->core, cache)) &&
	       hv_cached_file_open(cache, id->mapping, ret) && ret->ino == id->ino &&
	       ret->len_bytes == id->len_bytes;
}

bool hv_program_find_functions(struct hv_kernel *k, const struct hv_program_file_id *id,
			       struct hv_elf_place *list, size_t nr)
{
	struct hv_page_cache cache;
	struct hv_cached_file file;
	struct hv_elf_file elf;

	if (!open_file(k, id, &cache, &file))
		return false;
	elf = hv_cached_file_elf(&file);
	hv_elf_find_functions(&elf, list, nr);
	return true;
}

/* The kernel's image of a vDSO (struct vdso_image). */
struct image {
	const struct hv_kernel_core *core;
	uint64_t data;
};

static bool read_image(void *ctx, uint64_t off, void *buf, size_t len_bytes)
{
	const struct image *i = ctx;

	return hv_err_is_none(hv_read(&i->core->as, hv_gva(i->data + off), buf, len_bytes));
}

/* Finds the image that task PID has mapped, as all tasks of its kind have. */
static bool find_image(struct hv_kernel *k, uint32_t pid, struct image *ret, uint64_t *ret_len)
{
	const struct hv_address_space *as = &k->core.as;
	uint32_t in_task, in_mm, in_data, in_size;
	const struct hv_field mm[] = {{"context.vdso_image", 8, &in_mm}};
	const struct hv_field task[] = {{"mm", 8, &in_task}};
	const struct hv_field image[] = {{"data", 8, &in_data}, {"size", 8, &in_size}};
	struct hv_task found;
	uint64_t at;

	*ret = (struct image){.core = &k->core};
	return k->core.btf && hv_err_is_none(hv_fields_find(&k->core, "mm_struct", mm, 1)) &&
	       hv_err_is_none(hv_fields_find(&k->core, "task_struct", task, 1)) &&
	       hv_err_is_none(hv_fields_find(&k->core, "vdso_image", image, HV_ARRAY_LEN(image))) &&
	       find_task(k, pid, &found) &&
	       hv_err_is_none(hv_read_u64(as, hv_gva(found.task.v + in_task), &at)) && at &&
	       hv_err_is_none(hv_read_u64(as, hv_gva(at + in_mm), &at)) &&
	       hv_err_is_none(hv_read_u64(as, hv_gva(at + in_data), &ret->data)) &&
	       hv_err_is_none(hv_read_u64(as, hv_gva(at + in_size), ret_len));
}

static uint64_t copy_pages(const struct hv_elf_file *f, uint64_t first, unsigned nr, uint8_t *buf)
{
	uint64_t present = 0, nr_pages = f->len_bytes / HV_PROGRAM_PAGE_BYTES + 1;

	memset(buf, 0, (size_t)nr * HV_PROGRAM_PAGE_BYTES);
	for (unsigned i = 0; i < nr && first < nr_pages && i < nr_pages - first; i++) {
		uint64_t off = (first + i) * HV_PROGRAM_PAGE_BYTES, len = HV_PROGRAM_PAGE_BYTES;

		if (off >= f->len_bytes)
			break;
		if (len > f->len_bytes - off)
			len = f->len_bytes - off;
		if (f->read(f->ctx, off, buf + i * HV_PROGRAM_PAGE_BYTES, (size_t)len))
			present |= UINT64_C(1) << i;
		else
			memset(buf + i * HV_PROGRAM_PAGE_BYTES, 0, HV_PROGRAM_PAGE_BYTES);
	}
	return present;
}

uint64_t hv_program_read_pages(struct hv_kernel *k, uint32_t pid,
			       const struct hv_program_file_id *id, uint64_t first, unsigned nr,
			       void *buf)
{
	struct hv_page_cache cache;
	struct hv_cached_file file;
	struct image image;
	struct hv_elf_file elf = {.read = read_image, .ctx = &image};

	if (id->mapping.v && open_file(k, id, &cache, &file))
		elf = hv_cached_file_elf(&file);
	else if (id->mapping.v || !find_image(k, pid, &image, &elf.len_bytes))
		elf.len_bytes = 0;
	return copy_pages(&elf, first, nr, buf);
}
