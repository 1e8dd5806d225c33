/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profile/read.h"

#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#define KERNEL_MARK "_[k]" /* of hv_flame_folded() */
#define JSON_DEPTH  8

static const char *const kinds[] = {
	[HV_CHAIN_GROUP] = "group", [HV_CHAIN_KERNEL] = "kernel", [HV_CHAIN_USER] = "user"};

void hv_read_deinit(struct hv_read *r)
{
	hv_text_deinit(&r->rest);
}

static struct hv_err *wrong(const struct hv_read *r)
{
	return hv_err_new(EINVAL,
			  "%s: line %" PRIu64 ": neither a folded stack nor a stack in JSON",
			  r->path, r->nr_lines);
}

/* A chain under construction. */
struct chain {
	uint32_t node;
	unsigned depth;
	bool is_cut;
};

static bool add_frame(struct hv_read *r, struct chain *c, enum hv_chain_kind kind, const char *name)
{
	uint32_t frame;

	if (++c->depth > HV_READ_DEPTH_MAX)
		return false;
	c->is_cut = c->is_cut || !hv_chains_named(r->chains, kind, name, &frame) ||
		    !hv_chains_child(r->chains, c->node, frame, &c->node);
	return true;
}

static struct hv_err *count(struct hv_read *r, const struct chain *c, uint64_t nr)
{
	struct hv_chain_node *node;

	if (nr > INT64_MAX - r->sum)
		return hv_err_new(E2BIG,
				  "%s: line %" PRIu64 ": the sum of the numbers is too large",
				  r->path, r->nr_lines);
	r->sum += nr;
	r->is_cut = r->is_cut || c->is_cut;
	if (c->is_cut || c->node == HV_CHAINS_ROOT)
		return NULL;
	node = &r->chains->nodes[c->node];
	*(r->is_before ? &node->before : &node->self) += nr;
	return NULL;
}

/* -- folded ------------------------------------------------------------------------------------- */

/* The first name is a group. The format does not show whether others are. */
static bool add_folded_name(struct hv_read *r, struct chain *c, char *name)
{
	size_t len = strlen(name), mark = sizeof(KERNEL_MARK) - 1;
	enum hv_chain_kind kind = c->depth ? HV_CHAIN_USER : HV_CHAIN_GROUP;

	if (len >= mark && strcmp(name + len - mark, KERNEL_MARK) == 0) {
		name[len - mark] = '\0';
		kind = HV_CHAIN_KERNEL;
	}
	return add_frame(r, c, kind, name);
}

static bool parse_number(const char *text, uint64_t *ret)
{
	char *end;

	errno = 0;
	*ret = strtoull(text, &end, 10);
	return *text >= '0' && *text <= '9' && !*end && !errno;
}

static struct hv_err *read_folded(struct hv_read *r, char *line)
{
	char *number = strrchr(line, ' '), *name;
	struct chain c = {.node = HV_CHAINS_ROOT};
	uint64_t nr;

	if (!number || number == line || !parse_number(number + 1, &nr))
		return wrong(r);
	*number = '\0';
	while ((name = strsep(&line, ";")))
		if (!add_folded_name(r, &c, name))
			return wrong(r);
	return count(r, &c, nr);
}

/* -- JSON lines --------------------------------------------------------------------------------- */

static bool kind_of(const char *text, enum hv_chain_kind *ret)
{
	for (size_t i = 0; i < HV_ARRAY_LEN(kinds); i++) {
		*ret = (enum hv_chain_kind)i;
		if (strcmp(text, kinds[i]) == 0)
			return true;
	}
	return false;
}

/* Returns the string MEMBER of OBJECT, or NULL. */
static const char *string_of(struct json_object *object, const char *member)
{
	struct json_object *value;

	return json_object_object_get_ex(object, member, &value) &&
			       json_object_is_type(value, json_type_string)
		       ? json_object_get_string(value)
		       : NULL;
}

static bool add_json_frame(struct hv_read *r, struct chain *c, struct json_object *frame)
{
	const char *name = string_of(frame, "name"), *text = string_of(frame, "kind");
	enum hv_chain_kind kind;

	return name && text && kind_of(text, &kind) && add_frame(r, c, kind, name);
}

/* Finds the number of samples or of nanoseconds. All lines of a file have the same unit. */
static bool find_number(struct hv_read *r, struct json_object *object, struct json_object **ret)
{
	bool is_timed = json_object_object_get_ex(object, "ns", ret);

	if (r->nr_lines > 1 && is_timed != r->is_timed)
		return false;
	r->is_timed = is_timed;
	return (is_timed || json_object_object_get_ex(object, "samples", ret)) &&
	       json_object_is_type(*ret, json_type_int) && json_object_get_int64(*ret) >= 0;
}

static struct hv_err *add_object(struct hv_read *r, struct json_object *object)
{
	struct json_object *number, *frames;
	struct chain c = {.node = HV_CHAINS_ROOT};

	if (!find_number(r, object, &number) ||
	    !json_object_object_get_ex(object, "frames", &frames) ||
	    !json_object_is_type(frames, json_type_array))
		return wrong(r);
	for (size_t i = 0; i < json_object_array_length(frames); i++)
		if (!add_json_frame(r, &c, json_object_array_get_idx(frames, i)))
			return wrong(r);
	return count(r, &c, (uint64_t)json_object_get_int64(number));
}

static struct hv_err *read_json(struct hv_read *r, const char *line, size_t len)
{
	struct json_tokener *t = json_tokener_new_ex(JSON_DEPTH);
	struct json_object *object = t ? json_tokener_parse_ex(t, line, (int)len + 1) : NULL;
	struct hv_err *err = object && json_object_is_type(object, json_type_object)
				     ? add_object(r, object)
				     : wrong(r);

	json_object_put(object);
	json_tokener_free(t);
	return err;
}

/* -- lines -------------------------------------------------------------------------------------- */

/* The line is in REST. */
static struct hv_err *read_line(struct hv_read *r)
{
	struct hv_err *err = NULL;

	r->nr_lines++;
	hv_text_add(&r->rest, "");
	if (strlen(r->rest.data) != r->rest.len_bytes)
		err = wrong(r);
	else if (*r->rest.data == '{')
		err = read_json(r, r->rest.data, r->rest.len_bytes);
	else if (*r->rest.data)
		err = read_folded(r, r->rest.data);
	hv_text_clear(&r->rest);
	return err;
}

struct hv_err *hv_read_add(struct hv_read *r, const char *bytes, size_t len_bytes)
{
	struct hv_err *err = NULL;

	while (!err && len_bytes) {
		const char *end = memchr(bytes, '\n', len_bytes);
		size_t part = end ? (size_t)(end - bytes) : len_bytes;

		if (r->rest.len_bytes + part > HV_READ_LINE_MAX)
			return hv_err_new(E2BIG, "%s: line %" PRIu64 " is longer than 1 MiB",
					  r->path, r->nr_lines + 1);
		hv_text_add_bytes(&r->rest, bytes, part);
		if (end)
			err = read_line(r);
		part += end ? 1 : 0;
		bytes += part;
		len_bytes -= part;
	}
	return err;
}

struct hv_err *hv_read_end(struct hv_read *r)
{
	return r->rest.len_bytes ? read_line(r) : NULL;
}
