/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profile/container.h"

#include <stdbool.h>
#include <string.h>

#include "base/text.h"

#define ID_LEN	  64
#define SHOWN_LEN 12 /* as docker ps shows */

/* Part of a path between two slashes. */
struct part {
	const char *at;
	size_t len;
};

static bool ends_with(struct part p, const char *end)
{
	size_t len = strlen(end);

	return p.len > len && memcmp(p.at + p.len - len, end, len) == 0;
}

/* Returns the offset of a container's id in P, or P's length. */
static size_t find_id(struct part p)
{
	size_t end = ends_with(p, ".scope") ? p.len - strlen(".scope") : p.len;
	size_t at = end - ID_LEN;

	if (end < ID_LEN || strspn(p.at + at, "0123456789abcdef") < ID_LEN ||
	    (at && p.at[at - 1] != '-' && p.at[at - 1] != ':'))
		return p.len;
	return at;
}

/* If no word precedes the id in its part of the path, as in /docker/ID, the part before it, OUTER,
 * is the word. */
static char *container(struct part p, size_t id, struct part outer)
{
	struct part word = id ? (struct part){p.at, id - 1} : outer;

	return hv_format("%.*s:%.*s", (int)word.len, word.at, SHOWN_LEN, p.at + id);
}

char *hv_container_name(const char *path)
{
	struct part part = {path, 0}, outer, service = {NULL, 0};

	for (const char *at = path; *at;) {
		size_t id;

		at += strspn(at, "/");
		outer = part;
		part = (struct part){at, strcspn(at, "/")};
		at += part.len;
		id = find_id(part);
		if (id < part.len)
			return container(part, id, outer);
		if (ends_with(part, ".service") || ends_with(part, ".scope"))
			service = part;
	}
	return service.at ? hv_format("%.*s", (int)service.len, service.at) : hv_strdup(path);
}
