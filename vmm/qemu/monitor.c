/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/qemu/monitor.h"

#include <string.h>

struct hv_monitor {
	const struct hv_monitor_ops *ops;
	void *self;
};

struct hv_monitor *hv_monitor_new(const struct hv_monitor_ops *ops, void *self)
{
	struct hv_monitor *m = hv_alloc(sizeof(*m));

	m->ops = ops;
	m->self = self;
	return m;
}

void hv_monitor_free(struct hv_monitor *m)
{
	if (!m)
		return;
	m->ops->free(m->self);
	free(m);
}

bool hv_monitor_is_paused_by_other(struct hv_monitor *m)
{
	return m->ops->is_paused_by_other && m->ops->is_paused_by_other(m->self);
}

struct hv_err *hv_monitor_transact(struct hv_monitor *m, const char *request, char **ret)
{
	return m->ops->transact(m->self, request, ret);
}

const char *hv_json_string(struct json_object *o, const char *key)
{
	struct json_object *member = NULL;

	if (!json_object_is_type(o, json_type_object) ||
	    !json_object_object_get_ex(o, key, &member) ||
	    !json_object_is_type(member, json_type_string))
		return NULL;
	return json_object_get_string(member);
}

int64_t hv_json_int(struct json_object *o, const char *key, int64_t fallback)
{
	struct json_object *member = NULL;

	if (!json_object_is_type(o, json_type_object) ||
	    !json_object_object_get_ex(o, key, &member) ||
	    !json_object_is_type(member, json_type_int))
		return fallback;
	return json_object_get_int64(member);
}

bool hv_json_true(struct json_object *o, const char *key)
{
	struct json_object *member = NULL;

	return json_object_is_type(o, json_type_object) &&
	       json_object_object_get_ex(o, key, &member) &&
	       json_object_is_type(member, json_type_boolean) && json_object_get_boolean(member);
}

size_t hv_json_len(struct json_object *o)
{
	return json_object_is_type(o, json_type_array) ? json_object_array_length(o) : 0;
}

/* "error": {"class": "CommandNotFound", "desc": "The command x has not been found"} */
static struct hv_err *refused(const char *command, struct json_object *error)
{
	const char *class = hv_json_string(error, "class");
	const char *desc = hv_json_string(error, "desc");
	int code = class && !strcmp(class, "CommandNotFound") ? ENOTSUP : EIO;

	return hv_err_new(code, "monitor: %s: %s", command, desc ? desc : "refused");
}

struct hv_err *hv_monitor_execute(struct hv_monitor *m, const char *command,
				  struct json_object *args, struct json_object **ret)
{
	HV_AUTO_JSON struct json_object *request = json_object_new_object();
	HV_AUTO_JSON struct json_object *answer = NULL;
	HV_AUTO_FREE char *text = NULL;
	struct json_object *member = NULL;
	struct hv_err *err;

	json_object_object_add(request, "execute", json_object_new_string(command));
	if (args)
		json_object_object_add(request, "arguments", args);
	err = m->ops->transact(
		m->self, json_object_to_json_string_ext(request, JSON_C_TO_STRING_PLAIN), &text);
	if (err)
		return hv_err_in(err, "monitor: %s", command);
	answer = json_tokener_parse(text);
	if (json_object_is_type(answer, json_type_object) &&
	    json_object_object_get_ex(answer, "error", &member))
		return refused(command, member);
	if (!json_object_is_type(answer, json_type_object) ||
	    !json_object_object_get_ex(answer, "return", &member))
		return hv_err_new(EPROTO, "monitor: %s: answer is neither return nor error",
				  command);
	*ret = json_object_get(member);
	return NULL;
}

static struct hv_err *human_command(struct hv_monitor *m, const char *line,
				    struct json_object *args, char **ret)
{
	HV_AUTO_JSON struct json_object *answer = NULL;
	struct hv_err *err;

	json_object_object_add(args, "command-line", json_object_new_string(line));
	err = hv_monitor_execute(m, "human-monitor-command", args, &answer);
	if (err)
		return hv_err_in(err, "'%s'", line);
	if (!json_object_is_type(answer, json_type_string))
		return hv_err_new(EPROTO, "monitor: '%s': answer is not text", line);
	*ret = hv_strdup(json_object_get_string(answer));
	return NULL;
}

struct hv_err *hv_monitor_hmp(struct hv_monitor *m, const char *line, char **ret)
{
	return human_command(m, line, json_object_new_object(), ret);
}

struct hv_err *hv_monitor_hmp_on(struct hv_monitor *m, unsigned vcpu, const char *line, char **ret)
{
	struct json_object *args = json_object_new_object();

	json_object_object_add(args, "cpu-index", json_object_new_int64(vcpu));
	return human_command(m, line, args, ret);
}
