/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/verbs/latency/vmm_limits.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/guard.h"
#include "base/prefix.h"
#include "base/text.h"

#define TEXT_LEN  4096
#define NS_PER_US 1000
#define CPU	  "cpu"

/* -- paths ------------------------------------------------------------------------------------- */

/* Whether the comma-separated list WORDS contains WORD. */
static bool has_word(const char *words, size_t len, const char *word)
{
	for (const char *end = words + len; words < end;) {
		size_t n = strcspn(words, ", :\n");

		if (n == strlen(word) && strncmp(words, word, n) == 0)
			return true;
		words += n + 1;
	}
	return false;
}

char *vmm_limits_find_root(const char *mounts, bool *ret_is_v1)
{
	HV_AUTO_FREE char *copy = hv_strdup(mounts), *v2 = NULL;
	char *rest = copy;

	for (char *line; (line = strsep(&rest, "\n"));) {
		const char *words[4] = {0};

		for (size_t i = 0; i < HV_ARRAY_LEN(words); i++)
			words[i] = strsep(&line, " ");
		if (!words[3])
			continue;
		if (strcmp(words[2], "cgroup2") == 0 && !v2)
			v2 = hv_strdup(words[1]);
		if (strcmp(words[2], "cgroup") != 0 || !has_word(words[3], strlen(words[3]), CPU))
			continue;
		*ret_is_v1 = true;
		return hv_strdup(words[1]);
	}
	*ret_is_v1 = false;
	return hv_take(v2);
}

char *vmm_limits_find_path(const char *cgroups, bool is_v1)
{
	for (const char *line = cgroups; *line;
	     line += strcspn(line, "\n") + (strchr(line, '\n') != NULL)) {
		const char *words = line + strcspn(line, ":\n");
		const char *path = *words == ':' ? words + 1 + strcspn(words + 1, ":\n") : words;
		size_t len = *path == ':' ? strcspn(path + 1, "\n") : 0;
		bool is_v2s = *words == ':' && path == words + 1;

		if (!len || path[1] != '/')
			continue;
		if (is_v1 ? is_v2s || !has_word(words + 1, (size_t)(path - words - 1), CPU)
			  : !is_v2s)
			continue;
		if (len >= 3 && hv_starts_with(path + 1, "/.."))
			return NULL;
		return hv_format("%.*s", (int)len, path + 1);
	}
	return NULL;
}

/* -- files ------------------------------------------------------------------------------------- */

static bool read_fd(int fd, char *text, size_t size)
{
	ssize_t len = fd < 0 ? -1 : pread(fd, text, size - 1, 0);

	if (len < 0)
		return false;
	text[len] = '\0';
	return true;
}

static bool read_path(const char *path, char *text, size_t size)
{
	HV_AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);

	return read_fd(fd, text, size);
}

static int open_in(const struct vmm_limits *l, const char *path, const char *name)
{
	HV_AUTO_FREE char *file = hv_format("%s%s/%s", l->root, path, name);

	return open(file, O_RDONLY | O_CLOEXEC);
}

static bool is_open(const struct vmm_limits *l, const char *path)
{
	for (size_t i = 0; i < l->nr; i++)
		if (strcmp(l->list[i].path, path) == 0)
			return true;
	return false;
}

/* A group without the limit file, such as the root, has no limit. */
static void open_group(struct vmm_limits *l, const char *path)
{
	struct vmm_limit *g = &l->list[l->nr];

	if (l->nr == VMM_LIMITS_MAX || is_open(l, path))
		return;
	*g = (struct vmm_limit){.stat = open_in(l, path, "cpu.stat"), .max = -1, .period = -1};
	if (g->stat < 0)
		return;
	g->path = hv_strdup(path);
	g->max = open_in(l, path, l->is_v1 ? "cpu.cfs_quota_us" : "cpu.max");
	if (l->is_v1)
		g->period = open_in(l, path, "cpu.cfs_period_us");
	l->nr++;
}

char *vmm_limits_open(struct vmm_limits *l, uint64_t pid, uint32_t tid)
{
	HV_AUTO_FREE char *file = hv_format("/proc/%" PRIu64 "/task/%" PRIu32 "/cgroup", pid, tid);
	HV_AUTO_FREE char *path = NULL, *up = NULL;
	HV_AUTO_FREE char *text = hv_alloc(4 * TEXT_LEN);

	if (!l->root && read_path("/proc/self/mounts", text, 4 * TEXT_LEN))
		l->root = vmm_limits_find_root(text, &l->is_v1);
	if (!l->root || !read_path(file, text, 4 * TEXT_LEN))
		return NULL;
	path = vmm_limits_find_path(text, l->is_v1);
	up = hv_strdup(path ? path : "");
	for (; up[0] && up[1]; *strrchr(up, '/') = '\0')
		open_group(l, up);
	return hv_take(path);
}

void vmm_limits_deinit(struct vmm_limits *l)
{
	for (size_t i = 0; i < l->nr; i++) {
		hv_close_at(&l->list[i].stat);
		hv_close_at(&l->list[i].max);
		hv_close_at(&l->list[i].period);
		free(l->list[i].path);
	}
	free(l->root);
	*l = (struct vmm_limits){0};
}

/* -- counters ---------------------------------------------------------------------------------- */

static uint64_t number_after(const char *text, const char *key)
{
	size_t len = strlen(key);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, key, len) == 0 && line[len] == ' ')
			return strtoull(line + len, NULL, 10);
	}
	return 0;
}

static void read_stat(const struct vmm_limits *l, const struct vmm_limit *g, uint64_t *ret_nr,
		      uint64_t *ret_ns)
{
	char text[TEXT_LEN];

	*ret_nr = *ret_ns = 0;
	if (!read_fd(g->stat, text, sizeof(text)))
		return;
	*ret_nr = number_after(text, "nr_throttled");
	*ret_ns = l->is_v1 ? number_after(text, "throttled_time")
			   : NS_PER_US * number_after(text, "throttled_usec");
}

void vmm_limits_begin(struct vmm_limits *l)
{
	for (size_t i = 0; i < l->nr; i++)
		read_stat(l, &l->list[i], &l->list[i].first_nr, &l->list[i].first_ns);
}

/* "max 100000" means no quota. */
static void read_limit(struct vmm_limit *g)
{
	char text[TEXT_LEN];

	if (read_fd(g->max, text, sizeof(text)) && text[0] != '-')
		sscanf(text, "%" SCNu64 " %" SCNu64, &g->quota_us, &g->period_us);
	if (read_fd(g->period, text, sizeof(text)))
		g->period_us = strtoull(text, NULL, 10);
}

void vmm_limits_end(struct vmm_limits *l)
{
	for (size_t i = 0; i < l->nr; i++) {
		struct vmm_limit *g = &l->list[i];

		read_stat(l, g, &g->nr, &g->throttled_ns);
		g->nr = g->nr > g->first_nr ? g->nr - g->first_nr : 0;
		g->throttled_ns = g->throttled_ns > g->first_ns ? g->throttled_ns - g->first_ns : 0;
		read_limit(g);
	}
}

static bool is_in(const char *path, const char *group)
{
	size_t len = strlen(group);

	return strncmp(path, group, len) == 0 && (!path[len] || path[len] == '/');
}

const struct vmm_limit *vmm_limits_worst(const struct vmm_limits *l, const char *path)
{
	const struct vmm_limit *worst = NULL;

	for (size_t i = 0; path && i < l->nr; i++)
		if (is_in(path, l->list[i].path) && l->list[i].throttled_ns &&
		    (!worst || l->list[i].throttled_ns > worst->throttled_ns))
			worst = &l->list[i];
	return worst;
}
