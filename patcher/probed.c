/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "patcher/probed.h"

#include <string.h>
#include <time.h>

#include "patcher/journal.h"

/* Wait up to 10 s, plus the holds. */
#define WAIT_NS	  (20L * 1000 * 1000)
#define WAITS_MAX 500

static bool is_of_interest(const struct hv_change *change)
{
	return change->kind == HV_CHANGE_DETOUR || change->kind == HV_CHANGE_PROBE_SITE ||
	       change->kind == HV_CHANGE_RENAME;
}

static bool any_of_interest(const struct hv_change *changes, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (is_of_interest(&changes[i]))
			return true;
	return false;
}

static bool puts_back(const struct hv_journal *j, const struct hv_change *change)
{
	const struct hv_journal_entry *entry = hv_journal_find(j, change->gpa);

	return entry && memcmp(entry->old_bytes, change->to, change->len_bytes) == 0;
}

static struct hv_gva_range range_of(const struct hv_journal *j, const struct hv_change *change)
{
	uint64_t before = puts_back(j, change) ? 0 : HV_PROBED_COPIED_MAX;

	return (struct hv_gva_range){hv_gva(change->gva.v - before),
				     hv_gva_add(change->gva, change->len_bytes)};
}

/* Ignores ERR if all changes restore bytes. An unreadable kprobe list must not keep our changes in
 * the guest. */
static struct hv_err *forgive(struct hv_err *err, const struct hv_journal *j,
			      const struct hv_change *changes, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (is_of_interest(&changes[i]) && !puts_back(j, &changes[i]))
			return err;
	hv_err_free(err);
	return NULL;
}

struct hv_err *hv_probed_refuse(const struct hv_address_space *as,
				const struct hv_own_kprobes_layout *layout,
				const struct hv_journal *j, struct hv_change *changes, size_t nr)
{
	struct hv_own_kprobes probes = {0};
	struct hv_err *err;

	if (!any_of_interest(changes, nr))
		return NULL;
	err = hv_own_kprobes_read(as, layout, &probes);
	if (err)
		return forgive(err, j, changes, nr);
	if (probes.are_locked)
		err = hv_err_new(EALREADY, "the guest is registering or removing kprobes; retry");
	for (size_t i = 0; !err && i < nr; i++)
		if (is_of_interest(&changes[i]) &&
		    hv_own_kprobes_any(&probes, range_of(j, &changes[i])))
			changes[i].refused = 1;
	hv_own_kprobes_deinit(&probes);
	return err;
}

bool hv_probed_waits(struct hv_err **err, unsigned *nr_tries)
{
	if (!*err || (*err)->code != EALREADY)
		return false;
	if (++*nr_tries == WAITS_MAX) {
		(*err)->code = EBUSY;
		return false;
	}
	hv_err_free(*err);
	*err = NULL;
	nanosleep(&(struct timespec){.tv_nsec = WAIT_NS}, NULL);
	return true;
}
