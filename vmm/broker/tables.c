/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/broker/tables.h"

#include <string.h>

#include "base/bisect.h"
#include "base/grow.h"

/* -- the kernel's tables ----------------------------------------------------------------------- */

#define ANCHORS	  8
#define ROOTS_MAX 4
#define TRIES_MAX 64 /* limit for roots tried in one search; other vCPUs run the same kernel */
#define ENTRIES	  256

/* A vCPU executed the kernel at this address. */
struct anchor {
	struct hv_gva gva;
	struct hv_gpa gpa; /* 0: unknown */
};

struct cached_entry {
	struct hv_gpa at;
	uint64_t value;
	bool is_set;
};

struct hv_tables {
	struct hv_guest *guest; /* borrowed */
	const struct hv_arch *arch;
	bool has_format;
	struct anchor anchors[ANCHORS]; /* the most recent ones */
	unsigned nr_anchors, next_anchor;
	struct hv_page_tables roots[ROOTS_MAX]; /* proven roots */
	size_t nr_roots;
	struct cached_entry entries[ENTRIES];
	struct hv_gva last_gva; /* of the last successful walk */
	struct hv_mapping last; /* its result; len_bytes 0: none */
};

struct hv_tables *hv_tables_new(struct hv_guest *g)
{
	struct hv_tables *t = hv_alloc(sizeof(*t));

	t->guest = g;
	t->arch = hv_guest_info(g)->arch;
	t->has_format = !t->arch->formats;
	return t;
}

void hv_tables_free(struct hv_tables *t)
{
	free(t);
}

static bool is_known_anchor(const struct hv_tables *t, struct hv_gva at)
{
	for (unsigned i = 0; i < t->nr_anchors; i++)
		if (t->anchors[i].gva.v == at.v)
			return true;
	return false;
}

/* If the format is not known yet, an address helps to find it only together with its physical
 * address. */
static bool is_anchor(const struct hv_tables *t, const struct hv_vcpu_regs *regs)
{
	return regs->hidden == HV_HIDDEN_NO && regs->ip.v >> 63 &&
	       (!t->arch->formats || regs->ip_gpa.v) && !is_known_anchor(t, regs->ip);
}

void hv_tables_see(struct hv_tables *t, const struct hv_vcpu_regs *regs, unsigned nr,
		   bool (*is_ours)(void *ctx, struct hv_gva at), void *ctx)
{
	for (unsigned i = 0; i < nr; i++) {
		if (!is_anchor(t, &regs[i]) || is_ours(ctx, regs[i].ip))
			continue;
		t->anchors[t->next_anchor] = (struct anchor){regs[i].ip, regs[i].ip_gpa};
		t->next_anchor = (t->next_anchor + 1) % ANCHORS;
		t->nr_anchors += t->nr_anchors < ANCHORS;
	}
}

static struct hv_err *read_entry(void *ctx, struct hv_gpa at, uint64_t *ret)
{
	struct hv_tables *t = ctx;
	struct cached_entry *c = &t->entries[(at.v >> 3 ^ at.v >> 12) % ENTRIES];
	struct hv_err *err = NULL;

	if (!c->is_set || c->at.v != at.v) {
		c->is_set = false;
		err = hv_guest_read(t->guest, at, &c->value, sizeof(c->value));
	}
	if (err)
		return err;
	c->is_set = true;
	c->at = at;
	*ret = c->value;
	return NULL;
}

static bool walk_by(struct hv_tables *t, const struct hv_page_tables *tables, struct hv_gva gva,
		    unsigned entry_level, struct hv_mapping *ret)
{
	HV_AUTO_ERR struct hv_err *err = hv_page_walk(tables, gva, entry_level, read_entry, t, ret);

	return !err;
}

static bool proves(struct hv_tables *t, const struct hv_page_tables *tables,
		   const struct hv_table_proof *proof)
{
	struct hv_mapping m;

	return walk_by(t, tables, proof->gva,
		       tables->arch->make_table ? tables->arch->map_level : 0, &m) &&
	       m.present && m.gpa.v == proof->gpa.v;
}

/* Whether TABLES map at least half of the anchors as code. Not all of them, because a module may
 * have been unloaded. Under KPTI the tables of user mode map only the kernel's entry code. */
static bool leads_to_kernel(struct hv_tables *t, const struct hv_page_tables *tables)
{
	unsigned nr = 0;

	for (unsigned i = 0; i < t->nr_anchors; i++) {
		const struct anchor *a = &t->anchors[i];
		struct hv_mapping m;

		nr += walk_by(t, tables, a->gva, 0, &m) && m.present && m.executable &&
		      (!a->gpa.v || a->gpa.v == m.gpa.v);
	}
	return nr && 2 * nr >= t->nr_anchors;
}

static bool is_proved(struct hv_tables *t, const struct hv_page_tables *tables,
		      const struct hv_table_proof *proofs, size_t nr_proofs)
{
	for (size_t i = 0; i < nr_proofs; i++)
		if (proves(t, tables, &proofs[i]))
			return true;
	return !nr_proofs && (leads_to_kernel(t, tables) || (!t->nr_anchors && t->has_format));
}

/* Whether ROOT may be the root of user mode under KPTI. A vCPU can be held in the few kernel
 * instructions that use it. */
static bool may_be_users(struct hv_tables *t, const struct hv_arch *arch, unsigned levels,
			 struct hv_gpa root)
{
	uint64_t at = arch->entry_at(root, levels, arch->kernel_start(levels)).v;
	uint64_t last = arch->entry_at(root, levels, hv_gva(UINT64_MAX)).v, entry;
	unsigned nr = 0;

	for (; at <= last && nr <= arch->users_entries_max; at += sizeof(entry)) {
		HV_AUTO_ERR struct hv_err *err = read_entry(t, hv_gpa(at), &entry);

		nr += !err && arch->decode_entry(levels, entry).present;
	}
	return nr <= arch->users_entries_max;
}

struct beginning {
	const struct hv_vcpu_regs *regs;
	unsigned nr;
	const struct hv_table_proof *proofs;
	size_t nr_proofs;
};

static bool was_tried(const struct hv_gpa *tried, size_t nr, struct hv_gpa root)
{
	for (size_t i = 0; i < nr; i++)
		if (tried[i].v == root.v)
			return true;
	return false;
}

/* Finds roots in the format ARCH. WHICH is 0 for roots in registers, 1 for derived roots. */
static void find_roots(struct hv_tables *t, const struct hv_arch *arch, unsigned which,
		       const struct beginning *b)
{
	struct hv_gpa tried[TRIES_MAX];
	size_t nr_tried = 0, max = ROOTS_MAX / 2 * (which + 1);

	for (unsigned i = 0; i < b->nr && nr_tried < TRIES_MAX && t->nr_roots < max; i++) {
		unsigned levels = hv_arch_levels(arch, &b->regs[i]);
		struct hv_page_tables tables = {.arch = arch, .levels = levels};
		struct hv_gpa roots[2];
		unsigned nr_roots = arch->roots(&b->regs[i], roots);

		if (!levels || levels > HV_PAGE_LEVELS_MAX ||
		    (b->regs[i].hidden == HV_HIDDEN_YES && !arch->hidden_keeps_root) ||
		    nr_roots <= which || was_tried(tried, nr_tried, roots[which]))
			continue;
		tried[nr_tried++] = tables.root = roots[which];
		/* Without proofs: if the register's root has so few entries that it may be user
		 * mode's, only the derived root is used, otherwise only the register's. If no other
		 * root is derived from it, it is not user mode's: the kernel's root has as few
		 * entries in older kernels, such as 5.4. */
		if (is_proved(t, &tables, b->proofs, b->nr_proofs) &&
		    (b->nr_proofs || nr_roots == 1 ||
		     may_be_users(t, arch, levels, roots[0]) == which))
			t->roots[t->nr_roots++] = tables;
	}
}

static void find_in(struct hv_tables *t, const struct hv_arch *arch, const struct beginning *b)
{
	bool is_proof = b->nr_proofs || t->nr_anchors;

	for (unsigned which = 0; which < 2 && (!t->nr_roots || !is_proof); which++)
		find_roots(t, arch, which, b);
}

void hv_tables_begin(struct hv_tables *t, const struct hv_vcpu_regs *regs, unsigned nr,
		     const struct hv_table_proof *proofs, size_t nr_proofs)
{
	const struct beginning b = {regs, nr, proofs, nr_proofs};
	const struct hv_arch *const *f = hv_guest_info(t->guest)->arch->formats;

	memset(t->entries, 0, sizeof(t->entries));
	t->last.len_bytes = 0;
	t->nr_roots = 0;
	if (t->has_format)
		find_in(t, t->arch, &b);
	for (; !t->has_format && *f && !t->nr_roots; f++) {
		find_in(t, *f, &b);
		if (t->nr_roots)
			t->arch = *f;
	}
}

bool hv_tables_are_known(const struct hv_tables *t)
{
	return t->nr_roots != 0;
}

void hv_tables_keep_format(struct hv_tables *t)
{
	t->has_format |= t->nr_roots != 0;
}

const struct hv_arch *hv_tables_arch(const struct hv_tables *t)
{
	return t->arch;
}

/* Whether GVA is in the kernel's half of the address space. */
static bool tables_is_kernel(const struct hv_tables *t, struct hv_gva gva)
{
	return t->nr_roots && gva.v >= t->arch->kernel_start(t->roots[0].levels).v;
}

static bool take_last(const struct hv_tables *t, struct hv_gva gva, struct hv_mapping *ret)
{
	uint64_t off = gva.v - t->last_gva.v;

	if (gva.v < t->last_gva.v || off >= t->last.len_bytes)
		return false;
	*ret = t->last;
	ret->gpa = hv_gpa_add(t->last.gpa, off);
	ret->len_bytes -= off;
	return true;
}

bool hv_tables_walk(struct hv_tables *t, struct hv_gva gva, struct hv_mapping *ret)
{
	if (!tables_is_kernel(t, gva))
		return false;
	if (take_last(t, gva, ret))
		return true;
	for (size_t i = 0; i < t->nr_roots; i++)
		if (walk_by(t, &t->roots[i], gva, 0, ret) && ret->present) {
			t->last_gva = gva;
			t->last = *ret;
			return true;
		}
	return false;
}

bool hv_tables_walk_to_entry(struct hv_tables *t, struct hv_gva gva, struct hv_mapping *ret)
{
	for (size_t i = 0; i < t->nr_roots && tables_is_kernel(t, gva); i++)
		if (walk_by(t, &t->roots[i], gva, t->arch->map_level, ret) &&
		    ret->level == t->arch->map_level)
			return true;
	return false;
}

/* -- entries that map the region --------------------------------------------------------------- */

void hv_leaves_deinit(struct hv_leaves *l)
{
	free(l->list);
	*l = (struct hv_leaves){0};
}

/* Returns the index of the first leaf that ends after AT. */
static size_t first_after(const struct hv_leaves *l, struct hv_gva at)
{
	return HV_BISECT(i, l->nr,
			 at.v >= l->list[i].gva.v &&
				 at.v - l->list[i].gva.v >= l->list[i].len_bytes);
}

const struct hv_leaf *hv_leaves_at(const struct hv_leaves *l, struct hv_gva at)
{
	size_t i = first_after(l, at);

	return i < l->nr && at.v >= l->list[i].gva.v ? &l->list[i] : NULL;
}

static void remove_number(struct hv_leaves *l, size_t i)
{
	memmove(l->list + i, l->list + i + 1, (l->nr - i - 1) * sizeof(*l->list));
	l->nr--;
}

void hv_leaves_remove(struct hv_leaves *l, struct hv_gva gva)
{
	size_t i = first_after(l, gva);

	if (i < l->nr && gva.v >= l->list[i].gva.v)
		remove_number(l, i);
}

void hv_leaves_add(struct hv_leaves *l, const struct hv_leaf *leaf)
{
	size_t i = first_after(l, leaf->gva);

	if (i < l->nr && l->list[i].gva.v < leaf->gva.v)
		remove_number(l, i);
	while (i < l->nr && l->list[i].gva.v - leaf->gva.v < leaf->len_bytes)
		remove_number(l, i);
	l->list = hv_grow(l->list, l->nr, &l->cap, 64, sizeof(*l->list));
	memmove(l->list + i + 1, l->list + i, (l->nr - i) * sizeof(*l->list));
	l->list[i] = *leaf;
	l->nr++;
}
