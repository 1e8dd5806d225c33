/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Source: the DWARF 5 standard; DW_AT_bit_offset is from DWARF 3. */
#include "kernel/types/dwarf.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdlib.h>
#include <string.h>

#include "base/cancel.h"
#include "base/grow.h"
#include "base/map.h"
#include "base/prefix.h"
#include "kernel/types/btf_kinds.h"
#include "kernel/types/btf_writer.h"

#define WORDS_MAX   (32u << 20)
#define STRINGS_MAX (128u << 20)
#define STEPS_MAX   400000000u
#define ITEMS_MAX   0xffffu /* the field of BTF has 16 bits */
#define DEPTH_MAX   64u
#define BITS_MAX    (1u << 24) /* offsets of members beside a bit-field have 24 bits */

/* Kinds of keys that are not kinds of types. */
enum { KEY_DEFINED = 64, KEY_ANONYMOUS_ENUM };

struct type {
	uint32_t name, kind, size; /* size: or the id of a type */
	uint32_t first_word, nr_words;
};

/* The values in which a type equals one of another compilation unit. */
struct key {
	uint32_t kind, name, a, b;
	uint32_t id;
};

/* A structure, union or enum whose members are not read yet. */
struct waiting {
	Dwarf_Die die;
	uint32_t id;
};

struct making {
	struct type *types; /* owned; id n is in n - 1 */
	size_t nr_types, types_cap;
	uint32_t *words; /* owned; of all types */
	size_t nr_words, words_cap;
	struct key *keys; /* owned */
	size_t nr_keys, keys_cap;
	struct waiting *waiting; /* owned */
	size_t nr_waiting, waiting_cap;
	uint32_t *items; /* owned; words of the type that is being read */
	size_t nr_items, items_cap;
	struct hv_btf_writer out; /* has the strings already */
	uint32_t *die_ids;	  /* owned; of one compilation unit; 0: void, or being read */
	size_t nr_die_ids, die_ids_cap;
	/* The values are indexes plus 1: of strings, keys and die_ids. The keys of DIES are
	 * addresses of entries. */
	struct hv_map strings, by_key, dies;
	size_t nr_steps;
	uint32_t index_id; /* the type of arrays' indexes; 0: not needed yet */
	size_t types_max;
	bool is_full;
};

static void making_deinit(struct making *m)
{
	free(m->types);
	free(m->words);
	free(m->keys);
	free(m->waiting);
	free(m->items);
	free(m->die_ids);
	hv_btf_writer_deinit(&m->out);
	hv_map_deinit(&m->strings);
	hv_map_deinit(&m->by_key);
	hv_map_deinit(&m->dies);
}

static bool must_stop(struct making *m)
{
	m->is_full |= m->nr_types > m->types_max || m->nr_words > WORDS_MAX ||
		      m->out.strings.nr > STRINGS_MAX || m->nr_steps > STEPS_MAX;
	return m->is_full || hv_cancel_now(m->nr_steps++);
}

/* -- tables ------------------------------------------------------------------------------------ */

static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 29;
}

static void *from_index(size_t index)
{
	return (void *)(uintptr_t)(index + 1);
}

static size_t to_index(const void *value)
{
	return (size_t)(uintptr_t)value - 1;
}

static uint32_t string(struct making *m, const char *text)
{
	uint64_t hash = 1;
	void *at;

	if (!text || !*text)
		return 0;
	for (const char *c = text; *c; c++)
		hash = mix(hash, (unsigned char)*c);
	for (hash |= 1; (at = hv_map_find(&m->strings, hash)); hash += 2)
		if (!strcmp((const char *)m->out.strings.list + to_index(at), text))
			return (uint32_t)to_index(at);
	hv_map_add(&m->strings, hash, from_index(m->out.strings.nr));
	return hv_btf_write_string(&m->out, text);
}

/* Finds the entry of the key of KIND, NAME, A and B, or adds one with the id 0. */
static struct key *key_of(struct making *m, uint32_t kind, uint32_t name, uint32_t a, uint32_t b)
{
	uint64_t hash = mix(mix(mix(mix(1, kind), name), a), b) | 1;
	void *at;

	for (; (at = hv_map_find(&m->by_key, hash)); hash += 2) {
		struct key *k = &m->keys[to_index(at)];

		if (k->kind == kind && k->name == name && k->a == a && k->b == b)
			return k;
	}
	hv_map_add(&m->by_key, hash, from_index(m->nr_keys));
	m->keys = hv_grow(m->keys, m->nr_keys, &m->keys_cap, 4096, sizeof(*m->keys));
	m->keys[m->nr_keys] = (struct key){kind, name, a, b, 0};
	return &m->keys[m->nr_keys++];
}

static uint32_t add_type(struct making *m, uint32_t name, uint32_t kind, uint32_t size)
{
	m->types = hv_grow(m->types, m->nr_types, &m->types_cap, 4096, sizeof(*m->types));
	m->types[m->nr_types++] = (struct type){name, kind, size, 0, 0};
	return (uint32_t)m->nr_types;
}

/* Returns an equal type, or adds one like add_type(). The type has no words. */
static uint32_t add_once(struct making *m, uint32_t name, uint32_t kind, uint32_t size)
{
	struct key *key = key_of(m, kind, name, size, 0);

	if (!key->id)
		key->id = add_type(m, name, kind, size);
	return key->id;
}

static void add_item(struct making *m, uint32_t word)
{
	m->items = hv_grow(m->items, m->nr_items, &m->items_cap, 256, sizeof(*m->items));
	m->items[m->nr_items++] = word;
}

/* Makes the items from FIRST on the words of the type ID. */
static void take_items(struct making *m, uint32_t id, size_t first)
{
	struct type *t = &m->types[id - 1];

	t->first_word = (uint32_t)m->nr_words;
	t->nr_words = (uint32_t)(m->nr_items - first);
	for (size_t i = first; i < m->nr_items; i++) {
		m->words = hv_grow(m->words, m->nr_words, &m->words_cap, 4096, sizeof(*m->words));
		m->words[m->nr_words++] = m->items[i];
	}
	m->nr_items = first;
}

/* -- attributes -------------------------------------------------------------------------------- */

static bool has(Dwarf_Die *die, unsigned name)
{
	return dwarf_hasattr(die, name) == 1;
}

static bool number(Dwarf_Die *die, unsigned name, uint64_t *ret)
{
	Dwarf_Attribute attr;
	Dwarf_Word word;

	if (!dwarf_attr(die, name, &attr) || dwarf_formudata(&attr, &word) != 0)
		return false;
	*ret = word;
	return true;
}

/* Returns the number of an attribute, which is signed if its form is. */
static int64_t signed_number(Dwarf_Die *die, unsigned name, bool *ret_negative)
{
	Dwarf_Attribute attr;
	Dwarf_Sword value = 0;
	Dwarf_Word word = 0;

	*ret_negative = false;
	if (!dwarf_attr(die, name, &attr))
		return 0;
	if (dwarf_whatform(&attr) != DW_FORM_sdata &&
	    dwarf_whatform(&attr) != DW_FORM_implicit_const)
		return dwarf_formudata(&attr, &word) == 0 ? (int64_t)word : 0;
	if (dwarf_formsdata(&attr, &value) != 0)
		return 0;
	*ret_negative = value < 0;
	return value;
}

static uint32_t bytes_of(Dwarf_Die *die)
{
	uint64_t bytes;

	return number(die, DW_AT_byte_size, &bytes) && bytes <= UINT32_MAX ? (uint32_t)bytes : 0;
}

static bool target_of(Dwarf_Die *die, Dwarf_Die *ret)
{
	Dwarf_Attribute attr;

	return dwarf_attr_integrate(die, DW_AT_type, &attr) && dwarf_formref_die(&attr, ret);
}

/* Returns the offset of a member in bytes: a number, or an expression that adds one. */
static uint64_t location(Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	Dwarf_Word word;
	Dwarf_Op *ops;
	size_t nr;

	if (!dwarf_attr(die, DW_AT_data_member_location, &attr))
		return 0;
	if (dwarf_formudata(&attr, &word) == 0)
		return word;
	if (dwarf_getlocation(&attr, &ops, &nr) == 0 && nr == 1 && ops[0].atom == DW_OP_plus_uconst)
		return ops[0].number;
	return 0;
}

/* -- types ------------------------------------------------------------------------------------- */

static uint32_t type_of(struct making *m, Dwarf_Die *die, unsigned depth);

/* Returns the id of the type that DIE refers to; 0: void. */
static uint32_t target_id(struct making *m, Dwarf_Die *die, unsigned depth)
{
	Dwarf_Die target;

	return target_of(die, &target) ? type_of(m, &target, depth + 1) : 0;
}

static uint32_t integer(struct making *m, uint32_t name, uint32_t bytes, uint32_t encoding)
{
	struct key *key = key_of(m, HV_BTF_KIND_INT, name, bytes, encoding);

	if (key->id)
		return key->id;
	key->id = add_type(m, name, HV_BTF_KIND_INT, bytes);
	add_item(m, encoding << 24 | bytes * 8);
	take_items(m, key->id, m->nr_items - 1);
	return key->id;
}

static uint32_t base_type(struct making *m, Dwarf_Die *die)
{
	enum { IS_SIGNED = 1, IS_BOOL = 4 };
	uint32_t name = string(m, dwarf_diename(die)), bytes = bytes_of(die);
	uint64_t encoding = 0;

	number(die, DW_AT_encoding, &encoding);
	if (encoding == DW_ATE_float)
		return add_once(m, name, HV_BTF_KIND_FLOAT, bytes);
	if (!bytes || bytes > 16)
		return 0;
	if (encoding == DW_ATE_boolean)
		return integer(m, name, bytes, IS_BOOL);
	return integer(m, name, bytes,
		       encoding == DW_ATE_signed || encoding == DW_ATE_signed_char ? IS_SIGNED : 0);
}

static uint32_t array(struct making *m, Dwarf_Die *die, unsigned depth)
{
	uint32_t element = target_id(m, die, depth), id;
	size_t first = m->nr_items;
	Dwarf_Die child;

	if (!m->index_id)
		m->index_id = integer(m, string(m, "__ARRAY_SIZE_TYPE__"), 4, 0);
	for (int end = dwarf_child(die, &child); !end && !must_stop(m);
	     end = dwarf_siblingof(&child, &child)) {
		uint64_t nr = 0;

		if (dwarf_tag(&child) != DW_TAG_subrange_type)
			continue;
		if (!number(&child, DW_AT_count, &nr) && number(&child, DW_AT_upper_bound, &nr))
			nr++;
		add_item(m, nr <= UINT32_MAX ? (uint32_t)nr : 0);
	}
	/* The last dimension is the innermost array. */
	while (m->nr_items > first) {
		uint32_t nr = m->items[--m->nr_items];
		struct key *key = key_of(m, HV_BTF_KIND_ARRAY, 0, element, nr);

		if (!key->id) {
			size_t own = m->nr_items;

			key->id = add_type(m, 0, HV_BTF_KIND_ARRAY, 0);
			id = key->id;
			add_item(m, element);
			add_item(m, m->index_id);
			add_item(m, nr);
			take_items(m, id, own);
		} else {
			id = key->id;
		}
		element = id;
	}
	return element;
}

static uint32_t prototype(struct making *m, Dwarf_Die *die, unsigned depth)
{
	uint32_t id, ret = target_id(m, die, depth);
	size_t first = m->nr_items;
	Dwarf_Die child;

	for (int end = dwarf_child(die, &child); !end && !must_stop(m);
	     end = dwarf_siblingof(&child, &child)) {
		int tag = dwarf_tag(&child);

		if (m->nr_items - first == 2 * ITEMS_MAX)
			break;
		if (tag == DW_TAG_formal_parameter) {
			uint32_t type = target_id(m, &child, depth);

			add_item(m, string(m, dwarf_diename(&child)));
			add_item(m, type);
		} else if (tag == DW_TAG_unspecified_parameters) {
			add_item(m, 0);
			add_item(m, 0);
		}
	}
	id = add_type(m, 0, HV_BTF_KIND_FUNC_PROTO, ret);
	take_items(m, id, first);
	return id;
}

static void let_wait(struct making *m, Dwarf_Die *die, uint32_t id)
{
	m->waiting = hv_grow(m->waiting, m->nr_waiting, &m->waiting_cap, 256, sizeof(*m->waiting));
	m->waiting[m->nr_waiting++] = (struct waiting){*die, id};
}

static uint32_t compound(struct making *m, Dwarf_Die *die, uint32_t kind)
{
	uint32_t name = string(m, dwarf_diename(die)), bytes = bytes_of(die), id;
	struct key *key;

	if (has(die, DW_AT_declaration))
		return name ? add_once(m, name,
				       HV_BTF_KIND_FWD |
					       (kind == HV_BTF_KIND_UNION ? HV_BTF_KIND_FLAG : 0),
				       0)
			    : 0;
	if (name && (id = key_of(m, kind, name, bytes, 1)->id))
		return id;
	id = add_type(m, name, kind, bytes);
	let_wait(m, die, id);
	if (!name)
		return id;
	key_of(m, kind, name, bytes, 1)->id = id;
	key = key_of(m, KEY_DEFINED, name, kind, 0);
	if (!key->id)
		key->id = id;
	return id;
}

static bool first_child(Dwarf_Die *die, int tag, Dwarf_Die *ret)
{
	return dwarf_child(die, ret) == 0 && dwarf_tag(ret) == tag;
}

static uint32_t enumeration(struct making *m, Dwarf_Die *die)
{
	uint32_t name = string(m, dwarf_diename(die)), bytes = bytes_of(die);
	struct key *key;
	Dwarf_Die first;

	if (has(die, DW_AT_declaration) || (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8))
		return 0;
	if (name)
		key = key_of(m, HV_BTF_KIND_ENUM, name, bytes, 0);
	else if (first_child(die, DW_TAG_enumerator, &first))
		key = key_of(m, KEY_ANONYMOUS_ENUM, string(m, dwarf_diename(&first)), bytes, 0);
	else
		return 0;
	if (!key->id) {
		key->id = add_type(m, name, HV_BTF_KIND_ENUM, bytes);
		let_wait(m, die, key->id);
	}
	return key->id;
}

/* Assumes that a name for a kind of type has one meaning in the whole kernel. Otherwise a typedef
 * of an anonymous structure would be repeated for each compilation unit. */
static uint32_t type_definition(struct making *m, Dwarf_Die *die, unsigned depth)
{
	uint32_t name = string(m, dwarf_diename(die)), to, id;
	Dwarf_Die target;
	int tag = target_of(die, &target) ? dwarf_tag(&target) : 0;

	id = key_of(m, HV_BTF_KIND_TYPEDEF, name, (uint32_t)tag, 0)->id;
	if (id)
		return id;
	to = tag ? type_of(m, &target, depth + 1) : 0;
	id = add_type(m, name, HV_BTF_KIND_TYPEDEF, to);
	key_of(m, HV_BTF_KIND_TYPEDEF, name, (uint32_t)tag, 0)->id = id;
	return id;
}

static uint32_t read_type(struct making *m, Dwarf_Die *die, unsigned depth)
{
	switch (dwarf_tag(die)) {
	case DW_TAG_base_type:
		return base_type(m, die);
	case DW_TAG_pointer_type:
		return add_once(m, 0, HV_BTF_KIND_PTR, target_id(m, die, depth));
	case DW_TAG_const_type:
		return add_once(m, 0, HV_BTF_KIND_CONST, target_id(m, die, depth));
	case DW_TAG_volatile_type:
		return add_once(m, 0, HV_BTF_KIND_VOLATILE, target_id(m, die, depth));
	case DW_TAG_restrict_type:
		return add_once(m, 0, HV_BTF_KIND_RESTRICT, target_id(m, die, depth));
	case DW_TAG_atomic_type:
		return target_id(m, die, depth);
	case DW_TAG_typedef:
		return type_definition(m, die, depth);
	case DW_TAG_array_type:
		return array(m, die, depth);
	case DW_TAG_structure_type:
		return compound(m, die, HV_BTF_KIND_STRUCT);
	case DW_TAG_union_type:
		return compound(m, die, HV_BTF_KIND_UNION);
	case DW_TAG_enumeration_type:
		return enumeration(m, die);
	case DW_TAG_subroutine_type:
		return prototype(m, die, depth);
	default:
		return 0;
	}
}

static uint32_t type_of(struct making *m, Dwarf_Die *die, unsigned depth)
{
	uint64_t key = (uint64_t)(uintptr_t)die->addr;
	void *known = hv_map_find(&m->dies, key);
	size_t index;
	uint32_t id;

	if (known)
		return m->die_ids[to_index(known)];
	if (depth == DEPTH_MAX || must_stop(m))
		return 0;
	index = m->nr_die_ids;
	hv_map_add(&m->dies, key, from_index(index));
	m->die_ids = hv_grow(m->die_ids, index, &m->die_ids_cap, 1024, sizeof(*m->die_ids));
	m->die_ids[m->nr_die_ids++] = 0;
	id = read_type(m, die, depth);
	m->die_ids[index] = id;
	return id;
}

/* -- members ----------------------------------------------------------------------------------- */

/* Sets *RET_NR to the length of a bit-field, or 0. Returns the offset in bits. */
static uint64_t bit_offset(Dwarf_Die *member, uint64_t *ret_nr)
{
	uint64_t at = location(member) * 8, from_top, bytes = 0;
	Dwarf_Die type;

	*ret_nr = 0;
	number(member, DW_AT_bit_size, ret_nr);
	if (number(member, DW_AT_data_bit_offset, &at) ||
	    !number(member, DW_AT_bit_offset, &from_top))
		return at;
	if (!number(member, DW_AT_byte_size, &bytes) && target_of(member, &type)) {
		Dwarf_Die peeled;

		if (dwarf_peel_type(&type, &peeled) == 0)
			bytes = bytes_of(&peeled);
	}
	return at + bytes * 8 - from_top - *ret_nr;
}

static bool has_bit_fields(struct making *m, Dwarf_Die *die)
{
	Dwarf_Die child;

	for (int end = dwarf_child(die, &child); !end && !must_stop(m);
	     end = dwarf_siblingof(&child, &child))
		if (has(&child, DW_AT_bit_size))
			return true;
	return false;
}

/* Leaves out members whose offset is too large for a structure with a bit-field. */
static void read_members(struct making *m, struct waiting *w)
{
	bool has_bits = has_bit_fields(m, &w->die);
	uint64_t bits_max = has_bits ? BITS_MAX : UINT64_C(1) << 32;
	size_t first = m->nr_items;
	Dwarf_Die child;

	for (int end = dwarf_child(&w->die, &child); !end && !must_stop(m);
	     end = dwarf_siblingof(&child, &child)) {
		uint64_t nr, at;
		uint32_t type;

		if (dwarf_tag(&child) != DW_TAG_member || m->nr_items - first == 3 * ITEMS_MAX)
			continue;
		type = target_id(m, &child, 0);
		at = bit_offset(&child, &nr);
		if (at >= bits_max || nr > 64)
			continue;
		add_item(m, string(m, dwarf_diename(&child)));
		add_item(m, type);
		add_item(m, (uint32_t)at | (uint32_t)nr << 24);
	}
	if (has_bits)
		m->types[w->id - 1].kind |= HV_BTF_KIND_FLAG;
	take_items(m, w->id, first);
}

static void read_enumerators(struct making *m, struct waiting *w)
{
	bool is_signed = false, is_wide = m->types[w->id - 1].size == 8;
	size_t first = m->nr_items;
	Dwarf_Die child;

	for (int end = dwarf_child(&w->die, &child); !end && !must_stop(m);
	     end = dwarf_siblingof(&child, &child)) {
		bool is_negative;
		int64_t value;

		if (dwarf_tag(&child) != DW_TAG_enumerator ||
		    m->nr_items - first >= (2u + is_wide) * ITEMS_MAX)
			continue;
		value = signed_number(&child, DW_AT_const_value, &is_negative);
		is_signed |= is_negative;
		add_item(m, string(m, dwarf_diename(&child)));
		add_item(m, (uint32_t)value);
		if (is_wide)
			add_item(m, (uint32_t)((uint64_t)value >> 32));
	}
	m->types[w->id - 1].kind = (is_wide ? HV_BTF_KIND_ENUM64 : HV_BTF_KIND_ENUM) |
				   (is_signed ? HV_BTF_KIND_FLAG : 0);
	take_items(m, w->id, first);
}

/* Members may refer to further structures, which then wait, too. */
static void read_waiting(struct making *m)
{
	while (m->nr_waiting && !must_stop(m)) {
		struct waiting w = m->waiting[--m->nr_waiting];

		if (m->types[w.id - 1].kind == HV_BTF_KIND_ENUM)
			read_enumerators(m, &w);
		else
			read_members(m, &w);
	}
}

static void add_function(struct making *m, Dwarf_Die *die)
{
	const char *text = dwarf_diename(die);
	uint32_t name, type;

	if (has(die, DW_AT_declaration) || !text || !*text ||
	    !(has(die, DW_AT_low_pc) || has(die, DW_AT_ranges)))
		return;
	name = string(m, text);
	if (key_of(m, HV_BTF_KIND_FUNC, name, 0, 0)->id)
		return;
	type = prototype(m, die, 0);
	key_of(m, HV_BTF_KIND_FUNC, name, 0, 0)->id = add_type(m, name, HV_BTF_KIND_FUNC, type);
}

static void read_unit(struct making *m, Dwarf_Die *unit)
{
	Dwarf_Die child;

	for (int end = dwarf_child(unit, &child); !end && !must_stop(m);
	     end = dwarf_siblingof(&child, &child)) {
		switch (dwarf_tag(&child)) {
		case DW_TAG_structure_type:
		case DW_TAG_union_type:
		case DW_TAG_enumeration_type:
			type_of(m, &child, 0);
			break;
		case DW_TAG_subprogram:
			add_function(m, &child);
			break;
		default:
			break;
		}
	}
	read_waiting(m);
	m->nr_waiting = 0;
	m->nr_die_ids = 0;
	hv_map_deinit(&m->dies);
}

/* -- output ------------------------------------------------------------------------------------ */

/* Returns the definition of a forward declaration, if there is one. */
static uint32_t resolve(struct making *m, uint32_t id)
{
	const struct type *t = id ? &m->types[id - 1] : NULL;
	uint32_t defined;

	if (!t || (t->kind & ~HV_BTF_KIND_FLAG) != HV_BTF_KIND_FWD)
		return id;
	defined = key_of(m, KEY_DEFINED, t->name,
			 t->kind & HV_BTF_KIND_FLAG ? HV_BTF_KIND_UNION : HV_BTF_KIND_STRUCT, 0)
			  ->id;
	return defined ? defined : id;
}

/* The layout of a type's words: how many an item has, and which of them are types. */
static const struct {
	uint8_t nr, types; /* types: a bit for each word */
	bool refers;	   /* the size is a type */
} forms[] = {
	[HV_BTF_KIND_INT] = {0, 0, false},	 [HV_BTF_KIND_PTR] = {0, 0, true},
	[HV_BTF_KIND_ARRAY] = {0, 1 | 2, false}, [HV_BTF_KIND_STRUCT] = {3, 2, false},
	[HV_BTF_KIND_UNION] = {3, 2, false},	 [HV_BTF_KIND_ENUM] = {2, 0, false},
	[HV_BTF_KIND_TYPEDEF] = {0, 0, true},	 [HV_BTF_KIND_VOLATILE] = {0, 0, true},
	[HV_BTF_KIND_CONST] = {0, 0, true},	 [HV_BTF_KIND_RESTRICT] = {0, 0, true},
	[HV_BTF_KIND_FUNC] = {0, 0, true},	 [HV_BTF_KIND_FUNC_PROTO] = {2, 2, true},
	[HV_BTF_KIND_ENUM64] = {3, 0, false},
};

static void write_types(struct making *m)
{
	for (size_t i = 0; i < m->nr_types; i++) {
		const struct type t = m->types[i];
		uint32_t kind = t.kind & ~HV_BTF_KIND_FLAG;
		bool has_items = kind < HV_ARRAY_LEN(forms) && forms[kind].nr;
		bool refers = kind < HV_ARRAY_LEN(forms) && forms[kind].refers;

		hv_btf_write_type(&m->out, t.name, t.kind,
				  has_items ? t.nr_words / forms[kind].nr : 0,
				  refers ? resolve(m, t.size) : t.size);
		for (uint32_t w = 0; w < t.nr_words; w++) {
			uint32_t word = m->words[t.first_word + w];
			unsigned of = has_items ? w % forms[kind].nr : w;

			hv_btf_write_word(&m->out,
					  forms[kind].types >> of & 1 ? resolve(m, word) : word);
		}
	}
}

static void dwarf_close(Dwarf **dwarf)
{
	dwarf_end(*dwarf);
}

struct hv_err *hv_dwarf_to_btf(int fd, size_t types_max, uint8_t **ret, size_t *ret_len_bytes)
{
	hv_cleanup(making_deinit) struct making m = {.types_max = types_max};
	hv_cleanup(dwarf_close) Dwarf *dwarf = dwarf_begin(fd, DWARF_C_READ);
	Dwarf_CU *unit = NULL;
	Dwarf_Die die;
	int end = 0;
	struct hv_err *err;

	if (!dwarf)
		return hv_err_new(ENOEXEC, "its DWARF is damaged: %s", dwarf_errmsg(-1));
	hv_btf_write_string(&m.out, "");
	while (!must_stop(&m) &&
	       !(end = dwarf_get_units(dwarf, unit, &unit, NULL, NULL, &die, NULL)))
		read_unit(&m, &die);
	err = hv_cancel_check();
	if (err)
		return err;
	if (end < 0)
		return hv_err_new(ENOEXEC, "its DWARF is damaged: %s", dwarf_errmsg(-1));
	if (m.is_full)
		return hv_err_new(ENOEXEC, "its DWARF has too many types");
	if (!m.nr_types)
		return hv_err_new(ENOEXEC, "its DWARF has no types");
	write_types(&m);
	*ret = hv_btf_write_end(&m.out, ret_len_bytes);
	return NULL;
}
