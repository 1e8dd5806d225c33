/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads BTF. Types and their names are indexed once; every lookup is bounded. Source:
 * Documentation/bpf/btf.rst, include/uapi/linux/btf.h. */
#include "kernel/types/btf.h"

#include <string.h>

#include "base/cancel.h"
#include "kernel/types/btf_kinds.h"
#include "kernel/types/btf_memo.h"

struct btf_type {
	enum hv_btf_kind kind;
	uint32_t vlen;
	bool kind_flag;
	uint32_t name_off;
	uint32_t size_or_type;
	struct hv_span in; /* the types of the BTF that contains it */
	size_t extra_off;  /* offset in IN of the data after struct btf_type */
};

/* A named type, function or enumerator. The entries of a bucket are chained by ascending type
 * id. */
struct btf_entry {
	uint32_t type_id;
	uint32_t index; /* of the enumerator */
	uint32_t next;	/* entry number + 1; 0 ends the chain */
};

struct btf_names {
	struct btf_entry *entries;
	uint32_t nr;
	uint32_t cap;
	uint32_t *buckets; /* entry number + 1 */
	uint32_t mask;
};

struct hv_btf {
	const uint8_t *bytes;
	uint8_t *copy; /* owned; BYTES point here. NULL: BYTES are borrowed */
	struct hv_span types;
	struct hv_span strings;	   /* not empty, NUL-terminated */
	const struct hv_btf *base; /* borrowed; NULL: not a module's BTF */
	uint32_t *offs; /* offset in types of each own type; ids continue those of BASE */
	uint32_t nr;	/* number of own types */
	struct btf_names type_names;
	struct btf_names enumerators;
	bool (*load)(void *ctx); /* makes BYTES readable; NULL: they always are */
	void *ctx;
	struct hv_btf_memo *memo; /* owned; NULL: results are not kept */
};

/* A member of a structure or union. */
struct btf_part {
	uint32_t type_id;
	uint32_t bit_off;
	uint32_t bit_len; /* 0: not a bit-field */
};

enum { BTF_MAGIC = 0xeb9f, HEADER_BYTES = 24, TYPE_BYTES = 12, MEMBER_BYTES = 12 };

/* The vmlinux of a big configuration has some 200,000 types in 8 MiB. */
#define BTF_BYTES_MAX (64u << 20)
/* Lookups use names from the kernel's source, which are short. Hostile names can be as long as the
 * string section and can all have the same hash. */
#define HASHED_MAX    64    /* bytes of a name */
#define CHAIN_MAX     65536 /* names that a lookup compares */

/* Real kernels stay below 10 levels of typedefs, qualifiers and nesting. */
#define DEPTH_MAX   32
/* Limit of members that one lookup visits. Without it, anonymous structures that share parts could
 * make a lookup take exponential time. task_struct with all its parts has some hundreds. */
#define MEMBERS_MAX 65536

/* Size of the data after struct btf_type: a fixed part, and a part for each of its vlen
 * elements. */
static const struct {
	uint8_t fixed;
	uint8_t each;
} extra_bytes[HV_NR_BTF_KINDS] = {
	[HV_BTF_KIND_INT] = {4, 0},
	[HV_BTF_KIND_ARRAY] = {12, 0},
	[HV_BTF_KIND_STRUCT] = {0, MEMBER_BYTES},
	[HV_BTF_KIND_UNION] = {0, MEMBER_BYTES},
	[HV_BTF_KIND_ENUM] = {0, 8},
	[HV_BTF_KIND_FUNC_PROTO] = {0, 8},
	[HV_BTF_KIND_VAR] = {4, 0},
	[HV_BTF_KIND_DATASEC] = {0, 12},
	[HV_BTF_KIND_DECL_TAG] = {4, 0},
	[HV_BTF_KIND_ENUM64] = {0, 12},
};

static bool is_loaded(const struct hv_btf *btf)
{
	return !btf->load || btf->load(btf->ctx);
}

/* Returns the string at OFF, or "" if not found. */
static const char *btf_string(const struct hv_btf *btf, uint32_t off)
{
	size_t base_len = btf->base ? btf->base->strings.len_bytes : 0;

	if (!is_loaded(off < base_len ? btf->base : btf))
		return "";
	if (off < base_len)
		return (const char *)btf->base->strings.data + off;
	off -= (uint32_t)base_len;
	return off < btf->strings.len_bytes ? (const char *)btf->strings.data + off : "";
}

static bool type_parse(struct hv_span types, size_t off, struct btf_type *ret)
{
	uint32_t info;

	if (!hv_span_u32(types, off, &ret->name_off) || !hv_span_u32(types, off + 4, &info) ||
	    !hv_span_u32(types, off + 8, &ret->size_or_type))
		return false;
	ret->kind = (info >> 24) & 0x1f;
	ret->vlen = info & 0xffff;
	ret->kind_flag = info >> 31;
	ret->in = types;
	ret->extra_off = off + TYPE_BYTES;
	return true;
}

static size_t type_extra_bytes(const struct btf_type *t)
{
	return extra_bytes[t->kind].fixed + (size_t)extra_bytes[t->kind].each * t->vlen;
}

/* Ids of a module's types continue those of the kernel. */
static uint32_t nr_of_base(const struct hv_btf *btf)
{
	return btf->base ? btf->base->nr : 0;
}

/* Returns false if there is no type ID or it is 0 (void). */
static bool btf_type_get(const struct hv_btf *btf, uint32_t id, struct btf_type *ret)
{
	uint32_t nr_base = nr_of_base(btf);

	if (id <= nr_base)
		return id && is_loaded(btf->base) &&
		       type_parse(btf->base->types, btf->base->offs[id - 1], ret);
	id -= nr_base;
	return id <= btf->nr && id && is_loaded(btf) &&
	       type_parse(btf->types, btf->offs[id - 1], ret);
}

static uint32_t name_hash(const char *name)
{
	uint32_t hash = 2166136261u;

	for (size_t i = 0; i < HASHED_MAX && name[i]; i++)
		hash = (hash ^ (uint8_t)name[i]) * 16777619u;
	return hash;
}

/* Until names_chain() runs, `next` of each entry contains the hash of its name. */
static void names_add(struct btf_names *n, uint32_t type_id, uint32_t index, const char *name)
{
	if (n->nr == n->cap) {
		n->cap = n->cap ? n->cap * 2 : 1024;
		n->entries = hv_realloc_array(n->entries, n->cap, sizeof(*n->entries));
	}
	n->entries[n->nr++] = (struct btf_entry){type_id, index, name_hash(name)};
}

/* Returns the name of the enumerator or type of E. */
static const char *entry_name(const struct hv_btf *btf, const struct btf_entry *e)
{
	struct btf_type t;
	uint32_t name_off = 0;

	if (!btf_type_get(btf, e->type_id, &t))
		return "";
	if (t.kind != HV_BTF_KIND_ENUM && t.kind != HV_BTF_KIND_ENUM64)
		return btf_string(btf, t.name_off);
	hv_span_u32(t.in, t.extra_off + (size_t)extra_bytes[t.kind].each * e->index, &name_off);
	return btf_string(btf, name_off);
}

/* Builds the chains from the last entry to the first, so that each is sorted by id. */
static void names_chain(struct btf_names *n)
{
	uint32_t nr_buckets = 16;

	while (nr_buckets < n->nr)
		nr_buckets *= 2;
	n->mask = nr_buckets - 1;
	if (n->nr) /* the table is complete: release spare memory */
		n->entries = hv_realloc_array(n->entries, n->nr, sizeof(*n->entries));
	n->cap = n->nr;
	n->buckets = hv_alloc(nr_buckets * sizeof(*n->buckets));
	for (uint32_t i = n->nr; i-- > 0;) {
		uint32_t *bucket = &n->buckets[n->entries[i].next & n->mask];

		n->entries[i].next = *bucket;
		*bucket = i + 1;
	}
}

/* Returns the first entry with NAME in a chain, starting at LINK (an entry number + 1). */
static const struct btf_entry *names_next(const struct hv_btf *btf, const struct btf_names *n,
					  uint32_t link, const char *name)
{
	for (size_t i = 0; link && i < CHAIN_MAX; link = n->entries[link - 1].next, i++)
		if (strcmp(entry_name(btf, &n->entries[link - 1]), name) == 0)
			return &n->entries[link - 1];
	return NULL;
}

static const struct btf_entry *names_first(const struct hv_btf *btf, const struct btf_names *n,
					   const char *name)
{
	if (!*name)
		return NULL;
	return names_next(btf, n, n->buckets[name_hash(name) & n->mask], name);
}

/* Returns the first type or function NAME by ascending id, or NULL if not found. */
static const struct btf_entry *btf_first_type(const struct hv_btf *btf, const char *name)
{
	return names_first(btf, &btf->type_names, name);
}

/* Returns the type or function NAME after E, or NULL if not found. */
static const struct btf_entry *btf_next_type(const struct hv_btf *btf, const struct btf_entry *e,
					     const char *name)
{
	return names_next(btf, &btf->type_names, e->next, name);
}

static void index_enumerators(struct hv_btf *btf, uint32_t id, const struct btf_type *t)
{
	for (uint32_t i = 0; i < t->vlen; i++) {
		uint32_t name_off = 0;

		hv_span_u32(t->in, t->extra_off + (size_t)extra_bytes[t->kind].each * i, &name_off);
		names_add(&btf->enumerators, id, i, btf_string(btf, name_off));
	}
}

static void index_type(struct hv_btf *btf, uint32_t id, const struct btf_type *t)
{
	const char *name = btf_string(btf, t->name_off);

	switch (t->kind) {
	case HV_BTF_KIND_STRUCT:
	case HV_BTF_KIND_UNION:
	case HV_BTF_KIND_TYPEDEF:
	case HV_BTF_KIND_INT:
	case HV_BTF_KIND_FLOAT:
	case HV_BTF_KIND_FUNC:
		if (*name)
			names_add(&btf->type_names, id, 0, name);
		break;
	case HV_BTF_KIND_ENUM:
	case HV_BTF_KIND_ENUM64:
		index_enumerators(btf, id, t);
		break;
	default:
		break;
	}
}

/* The size of an unknown kind is unknown: types before it are usable, types after it cannot be
 * found. */
static struct hv_err *index_types(struct hv_btf *btf)
{
	HV_AUTO_FREE uint32_t *offs = hv_alloc(btf->types.len_bytes / TYPE_BYTES * sizeof(*offs));
	struct btf_type t;

	for (size_t off = 0; off < btf->types.len_bytes;) {
		if (!type_parse(btf->types, off, &t))
			return hv_err_new(EINVAL, "BTF: type %u ends outside the section",
					  btf->nr + 1);
		if (t.kind == HV_BTF_KIND_VOID || t.kind >= HV_NR_BTF_KINDS)
			break;
		if (!hv_span_has(btf->types, t.extra_off, type_extra_bytes(&t)))
			return hv_err_new(EINVAL, "BTF: type %u ends outside the section",
					  btf->nr + 1);
		if (hv_cancel_now(btf->nr))
			return hv_cancel_check();
		offs[btf->nr++] = (uint32_t)off;
		index_type(btf, nr_of_base(btf) + btf->nr, &t);
		off = t.extra_off + type_extra_bytes(&t);
	}
	btf->offs = hv_realloc_array(hv_take(offs), btf->nr, sizeof(*offs));
	names_chain(&btf->type_names);
	names_chain(&btf->enumerators);
	return NULL;
}

static bool section(struct hv_span all, uint32_t hdr_len, size_t field_off, struct hv_span *ret)
{
	uint32_t off, len;

	if (!hv_span_u32(all, field_off, &off) || !hv_span_u32(all, field_off + 4, &len))
		return false;
	if (!hv_span_has(all, (size_t)hdr_len + off, len))
		return false;
	*ret = (struct hv_span){all.data + hdr_len + off, len};
	return true;
}

static struct hv_err *parse_header(struct hv_btf *btf, size_t len_bytes)
{
	struct hv_span all = {btf->bytes, len_bytes};
	uint16_t magic = 0;
	uint32_t hdr_len = 0;

	if (!hv_span_u16(all, 0, &magic) || magic != BTF_MAGIC)
		return hv_err_new(EINVAL, "BTF: no magic (0x%x) in %zu bytes", magic, len_bytes);
	if (all.len_bytes < HEADER_BYTES || btf->bytes[2] != 1)
		return hv_err_new(EINVAL, "BTF: unknown version %u in %zu bytes",
				  len_bytes > 2 ? btf->bytes[2] : 0u, len_bytes);
	hv_span_u32(all, 4, &hdr_len);
	if (hdr_len < HEADER_BYTES || !section(all, hdr_len, 8, &btf->types) ||
	    !section(all, hdr_len, 16, &btf->strings))
		return hv_err_new(EINVAL, "BTF: sections end outside its %zu bytes", len_bytes);
	if (!btf->strings.len_bytes || btf->strings.data[btf->strings.len_bytes - 1])
		return hv_err_new(EINVAL, "BTF: strings (%zu bytes) do not end with a NUL",
				  btf->strings.len_bytes);
	return NULL;
}

static void btf_free_at(struct hv_btf **btf)
{
	hv_btf_free(*btf);
}

/* COPY, the memory at BYTES, is passed to the BTF. NULL: BYTES are borrowed. */
static struct hv_err *btf_make(struct hv_span bytes, uint8_t *copy, const struct hv_btf *base,
			       struct hv_btf **ret)
{
	hv_cleanup(btf_free_at) struct hv_btf *btf = hv_alloc(sizeof(*btf));
	struct hv_err *err;

	btf->base = base;
	btf->bytes = bytes.data;
	btf->copy = copy;
	err = parse_header(btf, bytes.len_bytes);
	if (!err)
		err = index_types(btf);
	if (err)
		return err;
	*ret = hv_take(btf);
	return NULL;
}

static struct hv_err *check_length(struct hv_span bytes)
{
	return bytes.len_bytes > BTF_BYTES_MAX
		       ? hv_err_new(EINVAL, "BTF: %zu bytes are too many", bytes.len_bytes)
		       : NULL;
}

struct hv_err *hv_btf_new(struct hv_span bytes, const struct hv_btf *base, struct hv_btf **ret)
{
	struct hv_err *err = check_length(bytes);
	uint8_t *copy;

	if (err)
		return err;
	copy = hv_alloc(bytes.len_bytes);
	if (bytes.len_bytes)
		memcpy(copy, bytes.data, bytes.len_bytes);
	return btf_make((struct hv_span){copy, bytes.len_bytes}, copy, base, ret);
}

struct hv_err *hv_btf_new_take(uint8_t *bytes, size_t len_bytes, struct hv_btf **ret)
{
	struct hv_err *err = check_length((struct hv_span){bytes, len_bytes});

	if (!err)
		return btf_make((struct hv_span){bytes, len_bytes}, bytes, NULL, ret);
	free(bytes);
	return err;
}

struct hv_err *hv_btf_new_over(struct hv_span bytes, struct hv_btf **ret)
{
	struct hv_err *err = check_length(bytes);

	return err ? err : btf_make(bytes, NULL, NULL, ret);
}

void hv_btf_load_with(struct hv_btf *btf, bool (*fn)(void *ctx), void *ctx)
{
	btf->load = fn;
	btf->ctx = ctx;
	if (!btf->memo)
		btf->memo = hv_btf_memo_new();
}

void hv_btf_free(struct hv_btf *btf)
{
	if (!btf)
		return;
	free(btf->type_names.entries);
	free(btf->type_names.buckets);
	free(btf->enumerators.entries);
	free(btf->enumerators.buckets);
	free(btf->offs);
	hv_btf_memo_free(btf->memo);
	free(btf->copy);
	free(btf);
}

/* Resolves typedefs and qualifiers of ID. Returns false if the result is void or does not exist. */
static bool btf_resolve(const struct hv_btf *btf, uint32_t id, struct btf_type *ret)
{
	for (unsigned depth = 0; depth < DEPTH_MAX; depth++) {
		if (!btf_type_get(btf, id, ret))
			return false;
		switch (ret->kind) {
		case HV_BTF_KIND_TYPEDEF:
		case HV_BTF_KIND_VOLATILE:
		case HV_BTF_KIND_CONST:
		case HV_BTF_KIND_RESTRICT:
		case HV_BTF_KIND_TYPE_TAG:
			id = ret->size_or_type;
			break;
		default:
			return true;
		}
	}
	return false;
}

static bool resolve_size(const struct hv_btf *btf, uint32_t id, uint32_t *ret)
{
	uint64_t nr = 1;
	uint32_t nr_elems;
	struct btf_type t;

	for (unsigned depth = 0; depth < DEPTH_MAX; depth++) {
		if (!btf_resolve(btf, id, &t))
			return false;
		switch (t.kind) {
		case HV_BTF_KIND_ARRAY:
			if (!hv_span_u32(t.in, t.extra_off, &id) ||
			    !hv_span_u32(t.in, t.extra_off + 8, &nr_elems))
				return false;
			nr *= nr_elems;
			break;
		case HV_BTF_KIND_INT:
		case HV_BTF_KIND_FLOAT:
		case HV_BTF_KIND_STRUCT:
		case HV_BTF_KIND_UNION:
		case HV_BTF_KIND_ENUM:
		case HV_BTF_KIND_ENUM64:
			nr *= t.size_or_type;
			break;
		case HV_BTF_KIND_PTR:
			nr *= 8;
			break;
		default:
			return false;
		}
		if (nr > UINT32_MAX)
			return false;
		if (t.kind != HV_BTF_KIND_ARRAY) {
			*ret = (uint32_t)nr;
			return true;
		}
	}
	return false;
}

/* Returns the structure or union in which a path continues; for an array, its element type. */
static bool resolve_compound(const struct hv_btf *btf, uint32_t id, struct btf_type *ret)
{
	for (unsigned depth = 0; depth < DEPTH_MAX; depth++) {
		if (!btf_resolve(btf, id, ret))
			return false;
		if (ret->kind != HV_BTF_KIND_ARRAY)
			return ret->kind == HV_BTF_KIND_STRUCT || ret->kind == HV_BTF_KIND_UNION;
		if (!hv_span_u32(ret->in, ret->extra_off, &id))
			return false;
	}
	return false;
}

struct search {
	const struct hv_btf *btf;
	const char *name;
	size_t name_len;
	unsigned budget; /* members that may still be visited */
};

static const char *member_get(const struct hv_btf *btf, const struct btf_type *t, uint32_t index,
			      struct btf_part *ret)
{
	size_t off = t->extra_off + (size_t)MEMBER_BYTES * index;
	uint32_t name_off = 0, bits = 0;

	hv_span_u32(t->in, off, &name_off);
	hv_span_u32(t->in, off + 4, &ret->type_id);
	hv_span_u32(t->in, off + 8, &bits);
	ret->bit_off = t->kind_flag ? bits & 0xffffff : bits;
	ret->bit_len = t->kind_flag ? bits >> 24 : 0;
	return btf_string(btf, name_off);
}

/* RET->bit_off is from the start of T. */
static bool find_member(struct search *s, const struct btf_type *t, unsigned depth,
			struct btf_part *ret)
{
	struct btf_type inner;
	struct btf_part m = {0};

	for (uint32_t i = 0; i < t->vlen; i++) {
		const char *name = member_get(s->btf, t, i, &m);

		if (!s->budget)
			return false;
		s->budget--;
		if (strncmp(name, s->name, s->name_len) == 0 && !name[s->name_len]) {
			*ret = m;
			return true;
		}
		if (*name || depth == DEPTH_MAX || !resolve_compound(s->btf, m.type_id, &inner))
			continue;
		if (find_member(s, &inner, depth + 1, ret) &&
		    !__builtin_add_overflow(ret->bit_off, m.bit_off, &ret->bit_off))
			return true;
	}
	return false;
}

/* Finds the member NAME (LEN bytes) in T or its anonymous members. Bit offsets count from the start
 * of T. */
static bool btf_find_part(const struct hv_btf *btf, const struct btf_type *t, const char *name,
			  size_t len, struct btf_part *ret)
{
	struct search s = {btf, name, len, MEMBERS_MAX};

	return find_member(&s, t, 0, ret);
}

static bool find_path(const struct hv_btf *btf, uint32_t id, const char *path, uint32_t *ret_off,
		      uint32_t *ret_size)
{
	struct search s = {.btf = btf, .budget = MEMBERS_MAX};
	struct btf_part m = {.type_id = id};
	uint64_t off = 0;
	uint32_t size;

	for (const char *at = path; at; at = at[s.name_len] ? at + s.name_len + 1 : NULL) {
		struct btf_type t;

		s.name = at;
		s.name_len = strcspn(at, ".");
		if (!s.name_len || !resolve_compound(btf, m.type_id, &t) ||
		    !find_member(&s, &t, 0, &m))
			return false;
		off += m.bit_off / 8;
	}
	if (m.bit_len)
		size = (m.bit_off % 8 + m.bit_len + 7) / 8;
	else if (!resolve_size(btf, m.type_id, &size))
		return false;
	if (off > UINT32_MAX)
		return false;
	*ret_off = (uint32_t)off;
	if (ret_size)
		*ret_size = size;
	return true;
}

/* Whether the result of a lookup may be kept. Ask before it: without the bytes it finds nothing. */
static bool may_keep(const struct hv_btf *btf)
{
	return btf->memo && is_loaded(btf);
}

static bool look_up_member(const struct hv_btf *btf, const char *type, const char *path,
			   uint32_t *ret_off, uint32_t *ret_size)
{
	const struct btf_entry *e = names_first(btf, &btf->type_names, type);

	/* Drivers can have structures with the same name: use the first that has the member. */
	for (; e; e = names_next(btf, &btf->type_names, e->next, type))
		if (find_path(btf, e->type_id, path, ret_off, ret_size))
			return true;
	return false;
}

bool hv_btf_member(const struct hv_btf *btf, const char *type, const char *path, uint32_t *ret_off,
		   uint32_t *ret_size)
{
	const struct hv_btf_result *kept =
		hv_btf_memo_find(btf->memo, HV_BTF_LOOKUP_MEMBER, type, path);
	struct hv_btf_result r = {0};

	if (kept) {
		r = *kept;
	} else {
		bool is_kept = may_keep(btf);

		r.is_found = look_up_member(btf, type, path, &r.off, &r.size);
		if (is_kept)
			hv_btf_memo_keep(btf->memo, HV_BTF_LOOKUP_MEMBER, type, path, &r);
	}
	if (!r.is_found)
		return false;
	*ret_off = r.off;
	if (ret_size)
		*ret_size = r.size;
	return true;
}

bool hv_btf_bits(const struct hv_btf *btf, const char *type, const char *member, uint32_t *ret_off,
		 uint32_t *ret_nr)
{
	const struct btf_entry *e = names_first(btf, &btf->type_names, type);

	for (; e; e = names_next(btf, &btf->type_names, e->next, type)) {
		struct search s = {btf, member, strlen(member), MEMBERS_MAX};
		uint32_t size = 0;
		struct btf_part m;
		struct btf_type t;

		if (!resolve_compound(btf, e->type_id, &t) || !find_member(&s, &t, 0, &m) ||
		    (!m.bit_len && !resolve_size(btf, m.type_id, &size)) || size > UINT32_MAX / 8)
			continue;
		*ret_off = m.bit_off;
		*ret_nr = m.bit_len ? m.bit_len : size * 8;
		return true;
	}
	return false;
}

static bool look_up_size(const struct hv_btf *btf, const char *type, uint32_t *ret_size)
{
	const struct btf_entry *e = names_first(btf, &btf->type_names, type);

	for (; e; e = names_next(btf, &btf->type_names, e->next, type))
		if (resolve_size(btf, e->type_id, ret_size))
			return true;
	return false;
}

bool hv_btf_size(const struct hv_btf *btf, const char *type, uint32_t *ret_size)
{
	const struct hv_btf_result *kept =
		hv_btf_memo_find(btf->memo, HV_BTF_LOOKUP_SIZE, type, "");
	struct hv_btf_result r = {0};

	if (kept) {
		r = *kept;
	} else {
		bool is_kept = may_keep(btf);

		r.is_found = look_up_size(btf, type, &r.size);
		if (is_kept)
			hv_btf_memo_keep(btf->memo, HV_BTF_LOOKUP_SIZE, type, "", &r);
	}
	if (r.is_found)
		*ret_size = r.size;
	return r.is_found;
}

static bool look_up_enumerator(const struct hv_btf *btf, const char *name, int64_t *ret)
{
	const struct btf_entry *e = names_first(btf, &btf->enumerators, name);
	uint32_t low = 0, high = 0;
	struct btf_type t;
	size_t off;

	if (!e || !btf_type_get(btf, e->type_id, &t))
		return false;
	off = t.extra_off + (size_t)extra_bytes[t.kind].each * e->index;
	hv_span_u32(t.in, off + 4, &low);
	if (t.kind == HV_BTF_KIND_ENUM64) {
		hv_span_u32(t.in, off + 8, &high);
		*ret = (int64_t)((uint64_t)high << 32 | low);
	} else {
		*ret = t.kind_flag ? (int64_t)(int32_t)low : (int64_t)low;
	}
	return true;
}

bool hv_btf_enumerator(const struct hv_btf *btf, const char *name, int64_t *ret)
{
	const struct hv_btf_result *kept =
		hv_btf_memo_find(btf->memo, HV_BTF_LOOKUP_ENUMERATOR, name, "");
	struct hv_btf_result r = {0};

	if (kept) {
		r = *kept;
	} else {
		bool is_kept = may_keep(btf);

		r.is_found = look_up_enumerator(btf, name, &r.value);
		if (is_kept)
			hv_btf_memo_keep(btf->memo, HV_BTF_LOOKUP_ENUMERATOR, name, "", &r);
	}
	if (r.is_found)
		*ret = r.value;
	return r.is_found;
}

size_t hv_btf_nr_types(const struct hv_btf *btf)
{
	return btf->nr;
}

size_t hv_btf_strings_bytes(const struct hv_btf *btf)
{
	return btf->strings.len_bytes;
}

/* Variables in sections. pahole describes only those in the per-CPU section. */

#define VARIABLE_BYTES 12u /* struct btf_var_secinfo: type, offset, size */

/* Sections are among the last types. */
uint32_t hv_btf_section(const struct hv_btf *btf, const char *name)
{
	struct btf_type t;
	uint32_t id = btf->nr;

	while (id && !(btf_type_get(btf, id, &t) && t.kind == HV_BTF_KIND_DATASEC &&
		       !strcmp(btf_string(btf, t.name_off), name)))
		id--;
	return id;
}

uint32_t hv_btf_section_len(const struct hv_btf *btf, uint32_t section)
{
	struct btf_type t;

	return btf_type_get(btf, section, &t) && t.kind == HV_BTF_KIND_DATASEC ? t.vlen : 0;
}

bool hv_btf_variable(const struct hv_btf *btf, uint32_t section, uint32_t index,
		     const char **ret_name, uint32_t *ret_off)
{
	struct btf_type in, variable;
	size_t at;
	uint32_t id;

	if (!btf_type_get(btf, section, &in) || in.kind != HV_BTF_KIND_DATASEC || index >= in.vlen)
		return false;
	at = in.extra_off + (size_t)VARIABLE_BYTES * index;
	if (!hv_span_u32(in.in, at, &id) || !hv_span_u32(in.in, at + 4, ret_off) ||
	    !btf_type_get(btf, id, &variable) || variable.kind != HV_BTF_KIND_VAR)
		return false;
	*ret_name = btf_string(btf, variable.name_off);
	return true;
}

#define PARAM_BYTES 8	/* struct btf_param */
#define PARAMS_MAX  256 /* twice the number that C compilers must support; BTF allows 65535 */

/* The encoding of an integer, after its struct btf_type. */
#define INT_IS_SIGNED  (1u << 24)
#define INT_OFF(data)  ((uint8_t)((data) >> 16))
#define INT_BITS(data) ((uint8_t)(data))

static bool func_of_proto(const struct hv_btf *btf, uint32_t id, struct hv_btf_func *ret)
{
	struct btf_type t;

	if (!btf_type_get(btf, id, &t) || t.kind != HV_BTF_KIND_FUNC_PROTO || t.vlen > PARAMS_MAX)
		return false;
	*ret = (struct hv_btf_func){id, t.vlen, t.size_or_type};
	return true;
}

bool hv_btf_func_find(const struct hv_btf *btf, const char *name, struct hv_btf_func *ret)
{
	const struct btf_entry *e = btf_first_type(btf, name);
	struct btf_type t;

	for (; e; e = btf_next_type(btf, e, name))
		if (btf_type_get(btf, e->type_id, &t) && t.kind == HV_BTF_KIND_FUNC)
			return func_of_proto(btf, t.size_or_type, ret);
	return false;
}

const char *hv_btf_func_name(const struct hv_btf *btf, uint32_t id)
{
	struct btf_type t;

	if (!btf_type_get(btf, id, &t) || t.kind != HV_BTF_KIND_FUNC)
		return NULL;
	return btf_string(btf, t.name_off);
}

const char *hv_btf_param(const struct hv_btf *btf, const struct hv_btf_func *func, uint32_t index,
			 uint32_t *ret_id)
{
	struct btf_type t;
	uint32_t name_off = 0;
	size_t off;

	*ret_id = 0;
	if (!btf_type_get(btf, func->proto_id, &t) || index >= t.vlen)
		return "";
	off = t.extra_off + (size_t)PARAM_BYTES * index;
	hv_span_u32(t.in, off, &name_off);
	hv_span_u32(t.in, off + 4, ret_id);
	return btf_string(btf, name_off);
}

static bool is_modifier(enum hv_btf_kind kind)
{
	return kind == HV_BTF_KIND_TYPEDEF || kind == HV_BTF_KIND_VOLATILE ||
	       kind == HV_BTF_KIND_CONST || kind == HV_BTF_KIND_RESTRICT ||
	       kind == HV_BTF_KIND_TYPE_TAG;
}

static enum hv_btf_form form_of(enum hv_btf_kind kind)
{
	switch (kind) {
	case HV_BTF_KIND_INT:
		return HV_BTF_INT;
	case HV_BTF_KIND_ENUM:
		return HV_BTF_ENUM;
	case HV_BTF_KIND_ENUM64:
		return HV_BTF_ENUM64;
	case HV_BTF_KIND_PTR:
		return HV_BTF_POINTER;
	case HV_BTF_KIND_ARRAY:
		return HV_BTF_ARRAY;
	case HV_BTF_KIND_STRUCT:
	case HV_BTF_KIND_UNION:
		return HV_BTF_COMPOUND;
	default:
		return HV_BTF_OTHER;
	}
}

bool hv_btf_value(const struct hv_btf *btf, uint32_t id, struct hv_btf_value *ret)
{
	struct btf_type t = {.kind = HV_BTF_KIND_VOID};
	uint32_t extra = 0;

	for (unsigned depth = 0; id; depth++, id = t.size_or_type) {
		if (depth == DEPTH_MAX || !btf_type_get(btf, id, &t))
			return false;
		if (!is_modifier(t.kind))
			break;
	}
	if (!id) {
		*ret = (struct hv_btf_value){.form = HV_BTF_VOID};
		return true;
	}
	*ret = (struct hv_btf_value){.form = form_of(t.kind), .id = id};
	hv_span_u32(t.in, t.extra_off, &extra);
	if (ret->form == HV_BTF_POINTER)
		ret->to = t.size_or_type;
	if (ret->form == HV_BTF_ARRAY)
		ret->to = extra;
	if (ret->form == HV_BTF_INT) {
		ret->is_signed = extra & INT_IS_SIGNED;
		ret->bits = INT_BITS(extra);
		ret->bit_off = INT_OFF(extra);
		ret->is_letter =
			ret->bits == 8 &&
			(!ret->is_signed || strcmp(btf_string(btf, t.name_off), "char") == 0);
	}
	return true;
}

bool hv_btf_struct(const struct hv_btf *btf, const char *name, struct hv_btf_value *ret)
{
	const struct btf_entry *e = btf_first_type(btf, name);
	struct btf_type t;

	for (; e; e = btf_next_type(btf, e, name))
		if (btf_type_get(btf, e->type_id, &t) && t.kind == HV_BTF_KIND_STRUCT)
			return hv_btf_value(btf, e->type_id, ret);
	return false;
}

bool hv_btf_field(const struct hv_btf *btf, const struct hv_btf_value *compound, const char *name,
		  size_t len, struct hv_btf_field *ret)
{
	struct btf_type t;
	struct btf_part part;

	if (!len || compound->form != HV_BTF_COMPOUND || !btf_type_get(btf, compound->id, &t) ||
	    !btf_find_part(btf, &t, name, len, &part))
		return false;
	*ret = (struct hv_btf_field){part.type_id, part.bit_off, part.bit_len};
	return true;
}

static bool node_has_size(enum hv_btf_kind kind)
{
	return kind == HV_BTF_KIND_INT || kind == HV_BTF_KIND_FLOAT || kind == HV_BTF_KIND_STRUCT ||
	       kind == HV_BTF_KIND_UNION || kind == HV_BTF_KIND_ENUM || kind == HV_BTF_KIND_ENUM64;
}

bool hv_btf_node(const struct hv_btf *btf, uint32_t id, struct hv_btf_node *ret)
{
	struct hv_btf_node n = {0};
	struct btf_type t;
	uint32_t extra = 0;

	if (!btf_type_get(btf, id, &t))
		return false;
	n.kind = t.kind;
	n.name = btf_string(btf, t.name_off);
	*(node_has_size(t.kind) ? &n.size : &n.to) = t.size_or_type;
	if (t.kind == HV_BTF_KIND_PTR)
		n.size = 8;
	n.is_signed = t.kind_flag && node_has_size(t.kind);
	n.is_of_union = t.kind_flag && t.kind == HV_BTF_KIND_FWD;
	hv_span_u32(t.in, t.extra_off, &extra);
	if (t.kind == HV_BTF_KIND_ARRAY) {
		n.to = extra;
		hv_span_u32(t.in, t.extra_off + 8, &n.nr);
	} else if (t.kind == HV_BTF_KIND_INT) {
		n.is_signed = extra & INT_IS_SIGNED;
		n.bits = INT_BITS(extra);
		n.bit_off = INT_OFF(extra);
	}
	*ret = n;
	return true;
}

uint32_t hv_btf_compound(const struct hv_btf *btf, const char *name)
{
	const struct btf_entry *e = btf_first_type(btf, name);
	struct hv_btf_value value;

	for (; e; e = btf_next_type(btf, e, name))
		if (hv_btf_value(btf, e->type_id, &value) && value.form == HV_BTF_COMPOUND)
			return value.id;
	return 0;
}

const char *hv_btf_part(const struct hv_btf *btf, uint32_t id, uint32_t index,
			struct hv_btf_field *ret)
{
	struct btf_part part;
	struct btf_type t;
	const char *name;

	if (!btf_type_get(btf, id, &t) || index >= t.vlen ||
	    (t.kind != HV_BTF_KIND_STRUCT && t.kind != HV_BTF_KIND_UNION))
		return NULL;
	name = member_get(btf, &t, index, &part);
	*ret = (struct hv_btf_field){part.type_id, part.bit_off, part.bit_len};
	return name;
}
