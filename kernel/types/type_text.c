/* SPDX-License-Identifier: GPL-2.0-or-later */
/* BTF is untrusted: its types can contain themselves and share parts, so depth, members and text are
 * limited. */
#include "kernel/types/type_text.h"

#include "kernel/types/btf_kinds.h"

#define DEPTH_MAX   32	  /* as in btf.c */
#define MEMBERS_MAX 65536 /* lines */
#define NAME_MAX    512	  /* KSYM_NAME_LEN */

struct description {
	const struct hv_btf *btf;
	struct hv_text *out;
	unsigned nr_members;
};

static bool is_qualifier(unsigned kind)
{
	return kind == HV_BTF_KIND_CONST || kind == HV_BTF_KIND_VOLATILE ||
	       kind == HV_BTF_KIND_RESTRICT || kind == HV_BTF_KIND_TYPE_TAG;
}

static bool is_compound(unsigned kind)
{
	return kind == HV_BTF_KIND_STRUCT || kind == HV_BTF_KIND_UNION;
}

/* -- the type in C ---------------------------------------------------------------------------- */

/* Replaces TEXT by BEFORE TEXT AFTER. */
static void wrap(struct hv_text *text, const char *before, const char *after)
{
	HV_AUTO_FREE char *old = hv_text_take(text);

	hv_text_printf(text, "%s%s%s", before, old, after);
}

/* Adds a step from a declared name towards the type on its left, as C reads declarations: "*" for a
 * pointer, "[N]" and "()" with parentheses around pointers. */
static void add_declarator(struct hv_text *declarator, const struct hv_btf_node *n)
{
	bool is_pointer = declarator->len_bytes && declarator->data[0] == '*';

	if (n->kind == HV_BTF_KIND_PTR) {
		wrap(declarator, "*", "");
		return;
	}
	if (is_pointer)
		wrap(declarator, "(", ")");
	if (n->kind == HV_BTF_KIND_ARRAY)
		hv_text_printf(declarator, "[%u]", n->nr);
	else
		hv_text_add(declarator, "()");
}

static const char *keyword(const struct hv_btf_node *n)
{
	switch (n->kind) {
	case HV_BTF_KIND_STRUCT:
		return "struct";
	case HV_BTF_KIND_UNION:
		return "union";
	case HV_BTF_KIND_FWD:
		return n->is_of_union ? "union" : "struct";
	case HV_BTF_KIND_ENUM:
	case HV_BTF_KIND_ENUM64:
		return "enum";
	default:
		return "";
	}
}

static void add_base(struct hv_text *out, const struct hv_btf_node *n)
{
	const char *word = keyword(n);

	hv_text_add(out, word);
	if (*word && *n->name)
		hv_text_add(out, " ");
	if (*n->name)
		hv_text_add_guest(out, n->name, NAME_MAX);
	else if (!*word)
		hv_text_add(out, "?");
}

/* Qualifiers are left out: they do not change how a value is read. */
static void add_c_type(struct hv_text *out, const struct hv_btf *btf, uint32_t id)
{
	HV_AUTO_TEXT struct hv_text declarator = {0};
	struct hv_btf_node n = {.kind = HV_BTF_KIND_VOID, .name = "void"};

	for (unsigned depth = 0; id && depth < DEPTH_MAX; depth++, id = n.to) {
		if (!hv_btf_node(btf, id, &n)) {
			n = (struct hv_btf_node){.name = ""};
			break;
		}
		if (n.kind == HV_BTF_KIND_PTR || n.kind == HV_BTF_KIND_ARRAY ||
		    n.kind == HV_BTF_KIND_FUNC_PROTO)
			add_declarator(&declarator, &n);
		else if (!is_qualifier(n.kind))
			break;
		if (!n.to)
			n = (struct hv_btf_node){.name = "void"};
	}
	add_base(out, &n);
	if (declarator.len_bytes)
		hv_text_printf(out, "%s%s", declarator.data[0] == '[' ? "" : " ", declarator.data);
}

/* -- members ---------------------------------------------------------------------------------- */

/* A member, or an element of it if it is an array. */
struct element {
	struct hv_btf_node node; /* without typedefs and qualifiers */
	uint32_t id;
	bool is_array;
	uint64_t nr;
	const char *typedef_name; /* of an anonymous structure, or "" */
};

/* Returns false if there is no such type. */
static bool find_element(const struct hv_btf *btf, uint32_t id, struct element *ret)
{
	*ret = (struct element){.nr = 1, .typedef_name = ""};
	for (unsigned depth = 0; depth < DEPTH_MAX; depth++, id = ret->node.to) {
		ret->id = id;
		if (!hv_btf_node(btf, id, &ret->node))
			return false;
		if (ret->node.kind == HV_BTF_KIND_TYPEDEF) {
			ret->typedef_name = ret->node.name;
		} else if (ret->node.kind == HV_BTF_KIND_ARRAY) {
			ret->is_array = true;
			ret->typedef_name = "";
			if (__builtin_mul_overflow(ret->nr, ret->node.nr, &ret->nr) ||
			    ret->nr > UINT32_MAX)
				return false;
		} else if (!is_qualifier(ret->node.kind)) {
			return true;
		}
	}
	return false;
}

static bool is_number(const struct hv_btf_node *n)
{
	bool has_kind = n->kind == HV_BTF_KIND_INT || n->kind == HV_BTF_KIND_ENUM ||
			n->kind == HV_BTF_KIND_ENUM64;

	return has_kind && (n->size == 1 || n->size == 2 || n->size == 4 || n->size == 8);
}

static char kind_of(const struct hv_btf_node *n)
{
	if (n->kind == HV_BTF_KIND_PTR)
		return 'p';
	if (n->kind == HV_BTF_KIND_STRUCT)
		return 's';
	if (n->kind == HV_BTF_KIND_UNION)
		return 'n';
	if (!is_number(n))
		return 'o';
	if (n->size == 1 && strcmp(n->name, "char") == 0)
		return 'c';
	return n->is_signed ? 'i' : 'u';
}

/* Returns the name of the structure or union that E is or points to, or "". */
static const char *target_of(const struct hv_btf *btf, const struct element *e)
{
	struct element to = *e;

	if (e->node.kind == HV_BTF_KIND_PTR && (!find_element(btf, e->node.to, &to) || to.is_array))
		return "";
	if (!is_compound(to.node.kind) && to.node.kind != HV_BTF_KIND_FWD)
		return "";
	return *to.node.name ? to.node.name : to.typedef_name;
}

/* A number whose type has fewer bits than its bytes is a bit-field of an old compiler. */
static struct hv_btf_field position_of(const struct hv_btf_field *field, const struct element *e)
{
	struct hv_btf_field position = *field;

	if (!field->bit_len && !e->is_array && e->node.kind == HV_BTF_KIND_INT && e->node.bits &&
	    e->node.bits < e->node.size * 8) {
		position.bit_len = e->node.bits;
		position.bit_off += e->node.bit_off;
	}
	return position;
}

static void add_member(struct description *d, unsigned depth, uint64_t base_bits,
		       const struct hv_btf_field *field, const struct element *e, const char *name)
{
	struct hv_btf_field at = position_of(field, e);
	const char *target = target_of(d->btf, e);

	hv_text_printf(d->out, "%u\t%llu\t%u\t%u\t%c\t", depth,
		       (unsigned long long)(base_bits + at.bit_off), at.bit_len, e->node.size,
		       kind_of(&e->node));
	if (e->is_array)
		hv_text_printf(d->out, "%llu\t", (unsigned long long)e->nr);
	else
		hv_text_add(d->out, "-\t");
	add_c_type(d->out, d->btf, field->id);
	hv_text_add(d->out, "\t");
	hv_text_add_guest(d->out, *target ? target : "-", NAME_MAX);
	hv_text_add(d->out, "\t");
	hv_text_add_guest(d->out, name, NAME_MAX);
	hv_text_add(d->out, "\n");
}

static bool is_full(const struct description *d)
{
	return d->nr_members == MEMBERS_MAX || d->out->len_bytes > HV_TYPE_TEXT_MAX;
}

/* Members of an unknown type, which no compiler makes, are left out. An array without elements has
 * no members, because they would lie outside the type. Returns false if the text is too long. */
static bool add_members(struct description *d, uint32_t id, unsigned depth, uint64_t base_bits)
{
	struct hv_btf_field field;
	struct element e;
	const char *name;

	for (uint32_t i = 0; (name = hv_btf_part(d->btf, id, i, &field)); i++) {
		if (is_full(d))
			return false;
		if (!find_element(d->btf, field.id, &e))
			continue;
		if (!*name && !is_compound(e.node.kind))
			continue; /* padding */
		add_member(d, depth, base_bits, &field, &e, name);
		d->nr_members++;
		if (is_compound(e.node.kind) && e.nr &&
		    (depth + 1 == DEPTH_MAX ||
		     !add_members(d, e.id, depth + 1, base_bits + field.bit_off)))
			return false;
	}
	return true;
}

struct hv_err *hv_type_text(const struct hv_btf *btf, const char *name, bool is_whole,
			    struct hv_text *ret)
{
	struct description d = {.btf = btf, .out = ret};
	uint32_t id = btf ? hv_btf_compound(btf, name) : 0;
	struct hv_btf_node n;

	if (!id || !hv_btf_node(btf, id, &n))
		return hv_err_new(ENOENT, "%s: the kernel has no structure or union of this name",
				  name);
	hv_text_printf(ret, "%s\t%u\t%s\t", keyword(&n), n.size, is_whole ? "whole" : "part");
	hv_text_add_guest(ret, name, NAME_MAX);
	hv_text_add(ret, "\n");
	if (!add_members(&d, id, 0, 0))
		return hv_err_new(E2BIG, "%s: the type has too many members", name);
	return NULL;
}
