/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/qemu/options.h"

#include <string.h>

#include "base/prefix.h"
#include "base/text.h"

/* Limit for the monitors that are tried. Each costs the time of parsing all chardevs, and the VMM
 * may have changed its arguments. */
#define MONITORS_MAX 16

/* Copies one part, up to a single comma, and advances *AT past the comma. */
static char *take_part(const char **at)
{
	struct hv_text part = {0};

	for (; **at; (*at)++) {
		if (**at == ',') {
			(*at)++;
			if (**at != ',')
				break;
		}
		hv_text_add_bytes(&part, *at, 1);
	}
	return hv_text_take(&part);
}

char *hv_option_value(const char *option, const char *key, const char *implied)
{
	size_t key_len = strlen(key);
	bool first = true;

	while (*option) {
		HV_AUTO_FREE char *part = take_part(&option);

		if (!strncmp(part, key, key_len) && part[key_len] == '=')
			return hv_strdup(part + key_len + 1);
		if (first && implied && !strcmp(implied, key) && !strchr(part, '='))
			return hv_take(part);
		first = false;
	}
	return NULL;
}

bool hv_size_parse(const char *text, uint64_t *ret)
{
	static const char units[] = "bkmgtpe";
	char *end;
	uint64_t number = strtoull(text, &end, 0);
	unsigned shift = 20;

	/* strtoull(3) also accepts blanks and signs. */
	if (text[0] < '0' || text[0] > '9')
		return false;
	if (*end) {
		const char *unit = strchr(units, *end | 0x20);

		if (!unit || end[1])
			return false;
		shift = 10 * (unsigned)(unit - units);
	}
	if (number > UINT64_MAX >> shift)
		return false;
	*ret = number << shift;
	return true;
}

static char *absolute(const struct hv_process *p, char *path)
{
	HV_AUTO_FREE char *given = path;

	if (given[0] == '/')
		return hv_take(given);
	return hv_format("/proc/%d/cwd/%s", (int)p->pid, given);
}

/* -qmp unix:PATH,server=on,wait=off */
static char *short_qmp(const struct hv_process *p, const char *option)
{
	const char *value;

	for (size_t i = 0; (i = hv_process_arg(p, option, i, &value));) {
		const char *at = value + 5;

		if (!hv_starts_with(value, "unix:"))
			continue;
		return absolute(p, take_part(&at));
	}
	return NULL;
}

/* -chardev socket,id=ID,path=PATH,.. */
static char *chardev_path(const struct hv_process *p, const char *id)
{
	const char *value;

	for (size_t i = 0; (i = hv_process_arg(p, "-chardev", i, &value));) {
		HV_AUTO_FREE char *its_id = hv_option_value(value, "id", NULL);
		HV_AUTO_FREE char *abstract = hv_option_value(value, "abstract", NULL);
		char *path = hv_option_value(value, "path", NULL);

		if (path && (!abstract || !strcmp(abstract, "off")) && its_id &&
		    !strcmp(its_id, id))
			return absolute(p, path);
		free(path);
	}
	return NULL;
}

/* -mon chardev=ID,mode=control */
static char *long_qmp(const struct hv_process *p)
{
	unsigned nr = 0;
	const char *value;

	for (size_t i = 0; nr < MONITORS_MAX && (i = hv_process_arg(p, "-mon", i, &value));) {
		HV_AUTO_FREE char *mode = hv_option_value(value, "mode", NULL);
		HV_AUTO_FREE char *id = hv_option_value(value, "chardev", "chardev");
		char *path;

		if (!mode || !id || strcmp(mode, "control"))
			continue;
		nr++;
		path = chardev_path(p, id);
		if (path)
			return path;
	}
	return NULL;
}

char *hv_process_qmp_path(const struct hv_process *p)
{
	char *path = short_qmp(p, "-qmp");

	if (!path)
		path = short_qmp(p, "-qmp-pretty");
	return path ? path : long_qmp(p);
}
