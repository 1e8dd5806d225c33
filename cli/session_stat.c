/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/session_stat.h"

#include <stdio.h>
#include <string.h>

struct hv_err *session_stat_get(struct client *c, json_object **ret)
{
	HV_AUTO_FREE char *text = NULL;
	struct hv_err *err = client_stat(c, &text);

	if (err)
		return err;
	*ret = json_tokener_parse(text);
	if (json_object_is_type(*ret, json_type_object))
		return NULL;
	json_object_put(*ret);
	*ret = NULL;
	return hv_err_new(EPROTO, "stat: the service's answer is not an object of JSON");
}

struct hv_err *session_watch(struct client *c)
{
	struct hv_err *err = client_watch(c);

	if (client_is_gone(err))
		return err;
	hv_err_free(err);
	return NULL;
}

void session_stat_put(json_object **o)
{
	json_object_put(*o);
}

json_object *session_stat_member(json_object *o, const char *path)
{
	char key[64];

	while (o && *path) {
		size_t len = strcspn(path, ".");

		snprintf(key, sizeof(key), "%.*s", (int)len, path);
		if (!json_object_object_get_ex(o, key, &o))
			return NULL;
		path += len + (path[len] == '.');
	}
	return o;
}

const char *session_stat_string(json_object *o, const char *path)
{
	json_object *m = session_stat_member(o, path);

	return m ? json_object_get_string(m) : "?";
}

uint64_t session_stat_number(json_object *o, const char *path)
{
	json_object *m = session_stat_member(o, path);

	return m ? json_object_get_uint64(m) : 0;
}

/* json-c's array functions accept only arrays. */
static json_object *array_at(json_object *o, const char *path)
{
	json_object *m = session_stat_member(o, path);

	return json_object_is_type(m, json_type_array) ? m : NULL;
}

size_t session_stat_count(json_object *o, const char *path)
{
	json_object *list = array_at(o, path);

	return list ? json_object_array_length(list) : 0;
}

json_object *session_stat_element(json_object *o, const char *path, size_t i)
{
	json_object *list = array_at(o, path);

	return list ? json_object_array_get_idx(list, i) : NULL;
}

const char *session_stat_text_at(json_object *o, const char *path, size_t i)
{
	json_object *element = session_stat_element(o, path, i);

	return element ? json_object_get_string(element) : "?";
}

void session_stat_refused(json_object *o, struct hv_text *ret)
{
	const char *path = "sites.refused_first";
	size_t nr = session_stat_count(o, path);
	uint64_t nr_refused = session_stat_number(o, "sites.refused");

	for (size_t i = 0; i < nr; i++)
		hv_text_printf(ret, "%s%s", i ? ", " : "", session_stat_text_at(o, path, i));
	if (nr && nr_refused > nr)
		hv_text_printf(ret, " and %llu more", (unsigned long long)(nr_refused - nr));
}
