/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/settings/pidlist.h"

#include <string.h>

#include "base/bisect.h"
#include "tree/settings/token.h"

#define PID_BUF_SIZE 127

void hv_pidlist_deinit(struct hv_pidlist *l)
{
	free(l->pids);
	*l = (struct hv_pidlist){0};
}

/* Returns the index of PID in L, or where it would be inserted. */
static size_t find(const struct hv_pidlist *l, uint32_t pid)
{
	return HV_BISECT(i, l->nr, l->pids[i] < pid);
}

bool hv_pidlist_has(const struct hv_pidlist *l, uint32_t pid)
{
	size_t at = find(l, pid);

	return at < l->nr && l->pids[at] == pid;
}

static void insert(struct hv_pidlist *l, uint32_t pid)
{
	size_t at = find(l, pid);

	if (at < l->nr && l->pids[at] == pid)
		return;
	l->pids = hv_realloc_array(l->pids, l->nr + 1, sizeof(*l->pids));
	memmove(l->pids + at + 1, l->pids + at, (l->nr - at) * sizeof(*l->pids));
	l->pids[at] = pid;
	l->nr++;
}

void hv_pidlist_insert(struct hv_pidlist *l, uint32_t pid)
{
	if (pid < HV_PIDLIST_PID_MAX && l->nr < HV_PIDLIST_FOLLOWED_MAX)
		insert(l, pid);
}

void hv_pidlist_remove(struct hv_pidlist *l, uint32_t pid)
{
	size_t at = find(l, pid);

	if (at == l->nr || l->pids[at] != pid)
		return;
	l->nr--;
	memmove(l->pids + at, l->pids + at + 1, (l->nr - at) * sizeof(*l->pids));
	l->is_spent = !l->nr;
}

static struct hv_err *insert_word(struct hv_pidlist *l, const char *word)
{
	struct hv_err *err;
	uint64_t value;

	/* The kernel returns EINVAL even if kstrtoul returns ERANGE. */
	err = hv_number_parse(word, 0, &value);
	if (err) {
		hv_err_free(err);
		return hv_err_new(EINVAL, "'%s' is not a pid", word);
	}
	if ((uint32_t)value >= HV_PIDLIST_PID_MAX)
		return hv_err_new(EPERM, "'%s' is larger than any pid", word);
	insert(l, (uint32_t)value);
	return NULL;
}

struct hv_err *hv_pidlist_add(const struct hv_pidlist *old, const char *buf, size_t len_bytes,
			      struct hv_pidlist *ret, size_t *ret_used)
{
	struct hv_pidlist list = {.nr = old->nr};
	struct hv_err *err = NULL;
	size_t done = 0;

	list.pids = hv_realloc_array(NULL, old->nr, sizeof(*old->pids));
	if (old->nr)
		memcpy(list.pids, old->pids, old->nr * sizeof(*old->pids));
	while (!err && done < len_bytes) {
		struct hv_token token = {0};
		size_t used = 0;

		err = hv_token_take(&token, PID_BUF_SIZE + 1, buf + done, len_bytes - done, &used);
		done += used;
		if (!err && !token.len_bytes)
			break;
		if (!err)
			err = insert_word(&list, token.text);
	}
	if (err) {
		hv_pidlist_deinit(&list);
		return err;
	}
	*ret = list;
	*ret_used = done;
	return NULL;
}

void hv_pidlist_text(const struct hv_pidlist *l, struct hv_text *ret)
{
	if (!l->nr)
		hv_text_add(ret, "no pid\n");
	for (size_t i = 0; i < l->nr; i++)
		hv_text_printf(ret, "%u\n", l->pids[i]);
}
