/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "patcher/state.h"

#include <assert.h>
#include <string.h>

#include "base/retry.h"
#include "patcher/patcher.h"
#include "patcher/probed.h"

/* -- changes ----------------------------------------------------------------------------------- */

/* Returns whether changes of KIND overwrite instructions. */
static bool change_is_text(enum hv_change_kind kind)
{
	return kind == HV_CHANGE_TEXT || kind == HV_CHANGE_FTRACE_READER ||
	       kind == HV_CHANGE_HIBERNATION || kind == HV_CHANGE_DETOUR ||
	       kind == HV_CHANGE_PROBE_SITE || kind == HV_CHANGE_KEY ||
	       kind == HV_CHANGE_EVENT_CALL || kind == HV_CHANGE_STATIC_CALL ||
	       kind == HV_CHANGE_RENAME;
}

/* Returns whether CHANGE only switches a site between its forms. No vCPU can be in the middle of
 * such a change: a site is one instruction, or two between which execution continues correctly
 * (tracer/sites/site_trampolines.h). */
static bool change_is_of_site(const struct hv_arch *arch, const struct hv_change *change)
{
	return change->kind == HV_CHANGE_TEXT && change->len_bytes == arch->site_len_bytes;
}

/* Returns whether a vCPU at IP would resume in the middle of an instruction that CHANGE writes.
 * Between the two instructions of a site, it resumes correctly
 * (tracer/sites/site_trampolines.h). */
static bool change_has_inside(const struct hv_arch *arch, const struct hv_change *change,
			      struct hv_gva ip)
{
	uint64_t off = ip.v - change->gva.v;

	if (!change_is_text(change->kind) || off == 0 || off >= change->len_bytes)
		return false;
	return change->kind != HV_CHANGE_TEXT || off != arch->site_first_bytes;
}

/* Returns whether NOW, the bytes at CHANGE's site, and the bytes that CHANGE writes are both an
 * unused site that begins with the first instruction of a call. On riscv64, the guest's ftrace can
 * remove the second instruction and leave our first one, whose result is not used. */
static bool change_is_half_gone(const struct hv_arch *arch, const struct hv_change *change,
				const uint8_t *now)
{
	struct hv_gva before = {0}, after = {0};

	return change->kind == HV_CHANGE_TEXT && change->len_bytes == arch->site_len_bytes &&
	       arch->classify_site(now, change->gva, &before) == HV_SITE_NOP && before.v &&
	       arch->classify_site(change->to, change->gva, &after) == HV_SITE_NOP && after.v;
}

/* -- the patcher ------------------------------------------------------------------------------- */

/* A hold ends after HOLD_MAX_NS at the latest. Batches are sized to take about HOLD_AIM_NS. */
#define HOLD_MAX_NS    (2000ULL * 1000 * 1000)
#define HOLD_AIM_NS    (600ULL * 1000)
#define BATCH_MIN      64
#define BATCH_MAX      (64 * 1024)
#define BATCH_AT_FIRST 256

struct hv_patcher *hv_patcher_new(const struct hv_address_space *as, struct hv_gva_range fixed,
				  struct hv_region *region)
{
	struct hv_patcher *p = hv_alloc(sizeof(*p));

	p->as = as;
	p->guest = as->guest;
	p->fixed = fixed;
	p->batch = BATCH_AT_FIRST;
	p->patience_ns = HV_RETRY_FOR_NS;
	hv_journal_init(&p->journal, region);
	return p;
}

void hv_patcher_bind(struct hv_patcher *p, struct hv_gva gva, struct hv_gpa gpa)
{
	p->bound_gva = gva;
	p->bound_gpa = gpa;
}

void hv_patcher_heed_kprobes(struct hv_patcher *p, const struct hv_own_kprobes_layout *layout)
{
	p->kprobes = *layout;
}

void hv_patcher_adopt(struct hv_patcher *p, const struct hv_journal_entry *entries, uint32_t nr)
{
	hv_journal_adopt(&p->journal, entries, nr);
}

void hv_patcher_free(struct hv_patcher *p)
{
	if (!p)
		return;
	hv_journal_deinit(&p->journal);
	free(p);
}

const struct hv_hold_stat *hv_patcher_holds(const struct hv_patcher *p)
{
	return &p->holds;
}

static int by_gpa(const void *a, const void *b)
{
	uint64_t x = ((const struct hv_change *)a)->gpa.v;
	uint64_t y = ((const struct hv_change *)b)->gpa.v;

	return x < y ? -1 : x > y;
}

/* Returns whether the vCPUs may be executing nested guests, so that REGS belong to these: paging is
 * on in every vCPU, and the guest kernel's page tables still map bound_gva to bound_gpa. */
static bool may_run_guests(const struct hv_patcher *p, const struct hv_vcpu_regs *regs,
			   unsigned nr_vcpus)
{
	for (unsigned cpu = 0; cpu < nr_vcpus; cpu++)
		if (!hv_arch_levels(p->as->arch, &regs[cpu]))
			return false;
	return hv_entry_leads_to(p->as, p->bound_gva, p->bound_gpa);
}

static struct hv_err *check_boot(const struct hv_patcher *p, const struct hv_vcpu_regs *regs,
				 unsigned nr_vcpus)
{
	for (unsigned cpu = 0; cpu < nr_vcpus; cpu++)
		if (!p->bound_gva.v ||
		    hv_vcpu_entry_leads_to(p->as, &regs[cpu], p->bound_gva, p->bound_gpa))
			return NULL;
	if (may_run_guests(p, regs, nr_vcpus))
		return hv_err_new(EBUSY,
				  "no vCPU is executing the guest's own kernel: they may be "
				  "executing nested guests, or the guest was rebooted; retry");
	return hv_err_new(ECONNRESET,
			  "the guest was rebooted: no vCPU's page tables lead to 0x%llx",
			  (unsigned long long)p->bound_gva.v);
}

static struct hv_err *refuse_under_vcpus(struct hv_patcher *p, struct hv_hold *hold,
					 struct hv_change *changes, size_t nr)
{
	unsigned nr_vcpus = hv_guest_info(p->guest)->nr_vcpus;
	HV_AUTO_FREE struct hv_vcpu_regs *regs = hv_alloc(nr_vcpus * sizeof(*regs));
	uint64_t start_ns = hv_hold_age_ns(hold);
	struct hv_err *err = hv_hold_registers(hold, regs, nr_vcpus);

	p->registers_ns = hv_hold_age_ns(hold) - start_ns;
	if (!err)
		err = check_boot(p, regs, nr_vcpus);
	if (err)
		return err;
	for (size_t i = 0; i < nr; i++)
		for (unsigned cpu = 0; cpu < nr_vcpus; cpu++)
			if (change_has_inside(p->as->arch, &changes[i], regs[cpu].ip))
				changes[i].refused = 1;
	return NULL;
}

/* Refuses CHANGE if the guest can free its text and the text is no longer mapped at the planned
 * address. */
static struct hv_err *refuse_moved(struct hv_patcher *p, struct hv_change *change)
{
	struct hv_mapping m;
	struct hv_err *err;

	if (!change_is_text(change->kind) || hv_gva_in(change->gva, p->fixed))
		return NULL;
	err = hv_walk(p->as, change->gva, &m);
	if (!err && (!m.present || m.gpa.v != change->gpa.v))
		change->refused = 1;
	return err;
}

static struct hv_err *refuse_changed(struct hv_patcher *p, struct hv_change *changes, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		uint8_t now[8];
		struct hv_err *err = refuse_moved(p, &changes[i]);

		if (!err)
			err = hv_guest_read(p->guest, changes[i].gpa, now, changes[i].len_bytes);
		if (err)
			return err;
		/* Bytes equal to `to` are accepted: undo also covers changes that a failed call did
		 * not make. */
		if (memcmp(now, changes[i].from, changes[i].len_bytes) != 0 &&
		    memcmp(now, changes[i].to, changes[i].len_bytes) != 0 &&
		    !change_is_half_gone(p->as->arch, &changes[i], now))
			changes[i].refused = 1;
	}
	return NULL;
}

static int by_written_gpa(const void *a, const void *b)
{
	uint64_t x = ((const struct hv_hold_write *)a)->gpa.v;
	uint64_t y = ((const struct hv_hold_write *)b)->gpa.v;

	return x < y ? -1 : x > y;
}

static struct hv_err *write_all(struct hv_patcher *p, struct hv_hold *hold,
				const struct hv_change *changes, size_t nr)
{
	HV_AUTO_FREE struct hv_hold_write *writes = hv_alloc(nr * sizeof(*writes));
	size_t nr_writes = 0;

	for (size_t i = 0; i < nr; i++) {
		if (changes[i].refused)
			continue;
		writes[nr_writes].gpa = changes[i].gpa;
		writes[nr_writes].gva = changes[i].gva;
		writes[nr_writes].len_bytes = changes[i].len_bytes;
		writes[nr_writes].is_text = change_is_text(changes[i].kind);
		memcpy(writes[nr_writes++].bytes, changes[i].to, changes[i].len_bytes);
		p->holds.bytes += changes[i].len_bytes;
	}
	if (!nr_writes)
		return NULL;
	qsort(writes, nr_writes, sizeof(*writes), by_written_gpa);
	return hv_hold_write(hold, writes, nr_writes);
}

static struct hv_err *read_back(struct hv_patcher *p, const struct hv_change *changes, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		uint8_t now[8];
		struct hv_err *err;

		if (changes[i].refused)
			continue;
		err = hv_guest_read(p->guest, changes[i].gpa, now, changes[i].len_bytes);
		if (err)
			return err;
		if (memcmp(now, changes[i].to, changes[i].len_bytes) != 0)
			return hv_err_new(
				EIO, "0x%llx: %u bytes read back differ from those written",
				(unsigned long long)changes[i].gva.v, changes[i].len_bytes);
	}
	return NULL;
}

/* Updates the journal to the bytes that are present, because the next undo has to expect them.
 * After an error, a site that was moved from one trampoline to another can have either's bytes.
 * Entries that cannot be read are left unchanged. */
static void note_present(struct hv_patcher *p, const struct hv_change *changes, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		const struct hv_journal_entry *entry = hv_journal_find(&p->journal, changes[i].gpa);
		struct hv_change present = changes[i];
		HV_AUTO_ERR struct hv_err *err = NULL;

		if (!entry || !change_is_text(changes[i].kind))
			continue;
		err = hv_guest_read(p->guest, present.gpa, present.to, present.len_bytes);
		if (!err && (memcmp(present.to, changes[i].from, present.len_bytes) == 0 ||
			     memcmp(present.to, changes[i].to, present.len_bytes) == 0))
			err = hv_journal_note(&p->journal, &present);
	}
}

/* Updates the journal after a write: keeps what is patched and removes what was restored. */
static void settle(struct hv_patcher *p, const struct hv_change *changes, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		const struct hv_journal_entry *entry = hv_journal_find(&p->journal, changes[i].gpa);
		const uint8_t *present = changes[i].refused ? changes[i].from : changes[i].to;

		/* If an undo was refused, its old bytes are not back, so its entry stays. */
		if (entry && memcmp(entry->old_bytes, present, changes[i].len_bytes) == 0)
			hv_journal_forget(&p->journal, changes[i].gpa);
		else if (changes[i].refused)
			note_present(p, &changes[i], 1);
	}
}

static struct hv_err *note_all(struct hv_patcher *p, const struct hv_change *changes, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		struct hv_err *err;

		if (changes[i].kind == HV_CHANGE_RETURN)
			continue;
		err = hv_journal_note(&p->journal, &changes[i]);
		if (err)
			return err;
	}
	return NULL;
}

static struct hv_err *change_held(struct hv_patcher *p, struct hv_hold *hold,
				  struct hv_change *changes, size_t nr)
{
	struct hv_err *err = refuse_under_vcpus(p, hold, changes, nr);

	if (!err)
		err = refuse_changed(p, changes, nr);
	if (!err)
		err = hv_probed_refuse(p->as, &p->kprobes, &p->journal, changes, nr);
	if (!err)
		err = hv_hold_check(hold);
	if (!err)
		err = write_all(p, hold, changes, nr);
	if (!err)
		err = read_back(p, changes, nr);
	return err;
}

struct hv_err *hv_patcher_apply_held(struct hv_patcher *p, struct hv_hold *hold,
				     struct hv_change *changes, size_t nr)
{
	struct hv_err *err = note_all(p, changes, nr);

	if (!err)
		err = change_held(p, hold, changes, nr);
	if (!err)
		settle(p, changes, nr);
	return err;
}

static struct hv_err *end_hold(struct hv_patcher *p, struct hv_hold *hold)
{
	uint64_t held_ns = 0;
	struct hv_err *err = hv_hold_end(hold, &held_ns);

	p->holds.nr++;
	p->holds.total_ns += held_ns;
	p->holds.last_ns = held_ns;
	if (held_ns > p->holds.max_ns)
		p->holds.max_ns = held_ns;
	if (held_ns > HV_LONG_HOLD_NS) {
		p->holds.nr_long++;
		p->holds.last_long_ns = held_ns;
	}
	return err;
}

typedef struct hv_err *(*begin_fn)(struct hv_guest *g, uint64_t max_ns, struct hv_hold **ret);

static struct hv_err *held(struct hv_patcher *p, begin_fn begin, hv_held_fn fn, void *ctx)
{
	struct hv_hold *hold;
	uint64_t start_ns;
	struct hv_err *err;

	if (p->before_hold)
		p->before_hold(p->before_hold_ctx);
	err = begin(p->guest, HOLD_MAX_NS, &hold);
	if (err)
		return err;
	p->registers_ns = 0;
	start_ns = hv_hold_age_ns(hold);
	err = fn(hold, ctx);
	p->work_ns = hv_hold_age_ns(hold) - start_ns - p->registers_ns;
	hv_err_keep_first(&err, end_hold(p, hold));
	return err;
}

struct hv_err *hv_patcher_held(struct hv_patcher *p, hv_held_fn fn, void *ctx)
{
	return held(p, hv_hold_begin, fn, ctx);
}

struct region_writes {
	const struct hv_hold_write *list;
	size_t nr;
};

static struct hv_err *write_region(struct hv_hold *hold, void *ctx)
{
	const struct region_writes *writes = ctx;

	return hv_hold_write(hold, writes->list, writes->nr);
}

struct hv_err *hv_patcher_write(struct hv_patcher *p, const struct hv_hold_write *writes, size_t nr)
{
	struct region_writes all = {writes, nr};

	return hv_patcher_held(p, write_region, &all);
}

struct batch {
	struct hv_patcher *patcher;
	struct hv_change *changes;
	size_t nr;
	bool has_begun; /* in a hold; some changes may have been made */
};

static struct hv_err *change_batch(struct hv_hold *hold, void *ctx)
{
	struct batch *b = ctx;

	b->has_begun = true;
	return change_held(b->patcher, hold, b->changes, b->nr);
}

/* Returns whether a vCPU may be inside a change. If not, the changes are safe even for vCPUs whose
 * kernel instruction pointer is unknown. */
static bool may_have_inside(const struct hv_patcher *p, const struct batch *b)
{
	for (size_t i = 0; i < b->nr; i++)
		if (!change_is_of_site(p->as->arch, &b->changes[i]))
			return true;
	return false;
}

/* Applies B in a hold. Retries while the guest registers or removes kprobes. */
static struct hv_err *change_soon(struct hv_patcher *p, struct batch *b)
{
	begin_fn begin = may_have_inside(p, b) ? hv_hold_begin : hv_hold_begin_anywhere;
	unsigned nr_tries = 0;
	struct hv_err *err;

	do
		err = held(p, begin, change_batch, b);
	while (hv_probed_waits(&err, &nr_tries));
	return err;
}

static void reverse(struct hv_change *c)
{
	uint8_t back[8];

	memcpy(back, c->from, sizeof(back));
	memcpy(c->from, c->to, sizeof(back));
	memcpy(c->to, back, sizeof(back));
}

/* Reverses changes that were made, and records them again because settle() removed those that
 * restored old bytes. */
static struct hv_err *reverse_made(struct hv_patcher *p, struct hv_change *changes, size_t nr)
{
	struct hv_err *err = NULL;

	for (size_t i = 0; i < nr && !err; i++) {
		reverse(&changes[i]);
		if (!changes[i].refused)
			err = hv_journal_note(&p->journal, &changes[i]);
	}
	return err;
}

/* Halves the batch after NR changes took too long. */
static void shrink_batch(struct hv_patcher *p, size_t nr)
{
	p->batch = nr / 2 > BATCH_MIN ? nr / 2 : BATCH_MIN;
}

/* Undoes CHANGES: the first NR_MADE were made, those up to NR_BEGUN may have been made, the others
 * were only recorded. Each ends with its FROM bytes. */
static struct hv_err *undo(struct hv_patcher *p, struct hv_change *changes, size_t nr_made,
			   size_t nr_begun, size_t nr, struct hv_err *why)
{
	struct hv_err *failed = reverse_made(p, changes, nr_made);
	struct hv_retry retry = hv_retry_begin(p->patience_ns);

	for (size_t i = nr_made; i < nr; i++)
		reverse(&changes[i]);
	for (size_t i = 0; i < nr; i++)
		changes[i].refused = 0;
	for (size_t done = 0; done < nr_begun && !failed;) {
		size_t n = nr_begun - done < p->batch ? nr_begun - done : p->batch;
		struct batch b = {.patcher = p, .changes = changes + done, .nr = n};

		failed = change_soon(p, &b);
		if (failed && failed->code == ETIMEDOUT &&
		    (n > BATCH_MIN || hv_retry_again(&retry))) {
			hv_err_free(hv_take(failed));
			shrink_batch(p, n);
			hv_retry_wait(&retry);
			continue;
		}
		if (!failed)
			settle(p, b.changes, n);
		done += n;
	}
	settle(p, changes + nr_begun, nr - nr_begun);
	note_present(p, changes, nr);
	if (!failed)
		return hv_err_in(why, "nothing was changed");
	why = hv_err_in(why, "could not be undone (%s)", failed->message);
	hv_err_free(failed);
	return hv_err_mark(why, HV_ERR_NEEDS_RECOVERY);
}

/* Adapts the batch size so that a hold takes about HOLD_AIM_NS. The last hold may have waited for a
 * CPU on a busy host, so the size changes at most by a factor of two.
 *
 * Stopping and resuming the vCPUs has a fixed cost (15 ms with the gdb stub of a nested QEMU). If
 * that exceeds the aim, smaller batches would only increase the total time of holds. */
static void adapt_batch(struct hv_patcher *p, size_t nr)
{
	uint64_t work_ns = p->work_ns ? p->work_ns : 1;
	uint64_t fixed_ns = p->holds.last_ns > work_ns ? p->holds.last_ns - work_ns : 0;
	uint64_t aim_ns = fixed_ns > HOLD_AIM_NS ? fixed_ns : HOLD_AIM_NS;
	uint64_t batch;

	if (nr < p->batch && work_ns < aim_ns)
		return;
	batch = nr * aim_ns / work_ns;
	if (batch > p->batch * 2)
		batch = p->batch * 2;
	if (batch < p->batch / 2)
		batch = p->batch / 2;
	if (batch < BATCH_MIN)
		batch = BATCH_MIN;
	p->batch = batch < BATCH_MAX ? batch : BATCH_MAX;
}

static int by_address(const void *a, const void *b)
{
	uint64_t x = ((const struct hv_gpa *)a)->v, y = ((const struct hv_gpa *)b)->v;

	return x < y ? -1 : x > y;
}

/* Prepares only text that the guest cannot free: freed memory may next be used for DMA or other
 * accesses that do not go through the guest's CPUs. */
struct hv_err *hv_patcher_prepare(struct hv_patcher *p, const struct hv_change *changes, size_t nr)
{
	HV_AUTO_FREE struct hv_gpa *gpas = hv_alloc((nr + 1) * sizeof(*gpas));
	size_t nr_text = 0;

	for (size_t i = 0; i < nr; i++)
		if (change_is_text(changes[i].kind) && hv_gva_in(changes[i].gva, p->fixed))
			gpas[nr_text++] = changes[i].gpa;
	qsort(gpas, nr_text, sizeof(*gpas), by_address);
	return hv_guest_prepare_text(p->guest, gpas, nr_text);
}

void hv_patcher_set_stops(struct hv_patcher *p, bool (*stops)(void *ctx), void *ctx)
{
	p->stops = stops;
	p->stops_ctx = ctx;
}

void hv_patcher_set_before_hold(struct hv_patcher *p, void (*fn)(void *ctx), void *ctx)
{
	p->before_hold = fn;
	p->before_hold_ctx = ctx;
}

static struct hv_err *check_stop(const struct hv_patcher *p)
{
	if (!p->stops || !p->stops(p->stops_ctx))
		return NULL;
	return hv_err_new(EINTR, "interrupted");
}

void hv_patcher_set_patience(struct hv_patcher *p, uint64_t patience_ns)
{
	p->patience_ns = patience_ns;
}

/* If the hold of B timed out and time is left, waits and returns true for another try. Each site
 * then has the FROM or the TO bytes of its change, and the next try accepts both. Refused changes
 * stay refused. */
static bool waits_for_hold(struct hv_patcher *p, struct hv_retry *retry, struct batch *b,
			   struct hv_err **err)
{
	if ((*err)->code != ETIMEDOUT)
		return false;
	if (!hv_retry_again(retry)) {
		uint64_t took_ms = (hv_now_ns() - retry->began_ns) / HV_NS_PER_MS;

		*err = hv_err_in(*err, "tried %u time%s in %llu.%llu s", retry->nr_failed,
				 hv_plural(retry->nr_failed), (unsigned long long)(took_ms / 1000),
				 (unsigned long long)(took_ms / 100 % 10));
		return false;
	}
	hv_err_free(hv_take(*err));
	shrink_batch(p, b->nr);
	hv_retry_wait(retry);
	return true;
}

static size_t count_refused(const struct hv_change *changes, size_t nr)
{
	size_t nr_refused = 0;

	for (size_t i = 0; i < nr; i++)
		nr_refused += changes[i].refused;
	return nr_refused;
}

/* Applies B. An earlier try may have written its first NR_TRIED changes. Fails with EBUSY if the
 * guest modified one of these since: our bytes may be part of the result, so it cannot be treated
 * as refused, which would remove it from the journal. */
static struct hv_err *apply_batch(struct hv_patcher *p, struct batch *b, size_t nr_tried)
{
	size_t nr_refused = count_refused(b->changes, nr_tried);
	struct hv_err *err = note_all(p, b->changes, b->nr);

	if (!err)
		err = check_stop(p);
	if (!err)
		err = hv_patcher_prepare(p, b->changes, b->nr);
	if (!err)
		err = change_soon(p, b);
	if (!err && count_refused(b->changes, nr_tried) != nr_refused)
		err = hv_err_new(EBUSY, "the guest overwrote a change whose pause had timed out");
	return err;
}

struct hv_err *hv_patcher_apply(struct hv_patcher *p, struct hv_change *changes, size_t nr)
{
	struct hv_retry retry = hv_retry_begin(p->patience_ns);
	size_t done = 0, begun = 0, noted = 0; /* by any try */

	qsort(changes, nr, sizeof(*changes), by_gpa);
	while (done < nr) {
		size_t n = nr - done < p->batch ? nr - done : p->batch;
		struct batch b = {.patcher = p, .changes = changes + done, .nr = n};
		size_t nr_tried = begun > done ? begun - done : 0;
		struct hv_err *err = apply_batch(p, &b, nr_tried < n ? nr_tried : n);

		if (done + n > noted)
			noted = done + n;
		if (b.has_begun && done + n > begun)
			begun = done + n;
		if (err && waits_for_hold(p, &retry, &b, &err))
			continue;
		if (err)
			return undo(p, changes, done, begun > done ? begun : done, noted, err);
		done += n;
		settle(p, b.changes, n);
		adapt_batch(p, n);
	}
	return NULL;
}

/* -- contents of the journal ------------------------------------------------------------------- */

/* These functions use only the journal and do not write to the guest. */

bool hv_patcher_old_bytes(const struct hv_patcher *p, struct hv_gpa gpa, uint8_t ret[8])
{
	const struct hv_journal_entry *entry = hv_journal_find(&p->journal, gpa);

	if (entry)
		memcpy(ret, entry->old_bytes, sizeof(entry->old_bytes));
	return entry;
}

size_t hv_patcher_nr_patched(const struct hv_patcher *p, enum hv_change_kind kind)
{
	return p->journal.nr_used[kind];
}

size_t hv_patcher_undo_plan(const struct hv_patcher *p, enum hv_change_kind kind,
			    struct hv_change **ret)
{
	struct hv_change *plan = hv_alloc(p->journal.nr_used[kind] * sizeof(*plan));
	size_t nr = 0;

	for (uint32_t i = 0; i < p->journal.nr_entries; i++) {
		const struct hv_journal_entry *entry = &p->journal.entries[i];
		struct hv_change *change;

		if (entry->state != HV_JOURNAL_USED || entry->kind != kind)
			continue;
		change = &plan[nr++];
		*change = (struct hv_change){
			.gva = {entry->gva},
			.gpa = {entry->gpa},
			.kind = kind,
			.len_bytes = entry->len_bytes,
		};
		memcpy(change->from, entry->new_bytes, entry->len_bytes);
		memcpy(change->to, entry->old_bytes, entry->len_bytes);
	}
	assert(nr == p->journal.nr_used[kind]);
	*ret = plan;
	return nr;
}

void hv_patcher_put_back_copy(const struct hv_patcher *p, struct hv_gva at, uint8_t *bytes,
			      size_t len_bytes)
{
	for (uint32_t i = 0; i < p->journal.nr_entries; i++) {
		const struct hv_journal_entry *entry = &p->journal.entries[i];

		if (entry->state != HV_JOURNAL_USED || entry->gva + entry->len_bytes <= at.v ||
		    entry->gva >= at.v + len_bytes)
			continue;
		for (uint32_t byte = 0; byte < entry->len_bytes; byte++)
			if (entry->gva + byte - at.v < len_bytes)
				bytes[entry->gva + byte - at.v] = entry->old_bytes[byte];
	}
}

/* Returns false if the text cannot be read, because it may still be there. */
static bool is_gone(struct hv_patcher *p, const struct hv_journal_entry *entry)
{
	uint8_t now[8];
	struct hv_mapping m;
	HV_AUTO_ERR struct hv_err *err = hv_walk(p->as, hv_gva(entry->gva), &m);

	if (err)
		return false;
	if (!m.present || m.gpa.v != entry->gpa)
		return true;
	err = hv_guest_read(p->guest, m.gpa, now, entry->len_bytes);
	return !err && memcmp(now, entry->old_bytes, entry->len_bytes) == 0;
}

void hv_patcher_forget_gone(struct hv_patcher *p)
{
	for (uint32_t i = 0; i < p->journal.nr_entries; i++) {
		const struct hv_journal_entry *entry = &p->journal.entries[i];

		if (entry->state == HV_JOURNAL_USED && change_is_text(entry->kind) &&
		    !hv_gva_in(hv_gva(entry->gva), p->fixed) && is_gone(p, entry))
			hv_journal_forget(&p->journal, hv_gpa(entry->gpa));
	}
}

const struct hv_own_kprobes_layout *hv_patcher_kprobes(const struct hv_patcher *p)
{
	return &p->kprobes;
}

void hv_patcher_forget_at(struct hv_patcher *p, struct hv_gpa gpa)
{
	hv_journal_forget(&p->journal, gpa);
}

void hv_patcher_forget(struct hv_patcher *p, struct hv_gva_range range)
{
	for (uint32_t i = 0; i < p->journal.nr_entries; i++) {
		const struct hv_journal_entry *entry = &p->journal.entries[i];

		if (entry->state == HV_JOURNAL_USED && entry->kind == HV_CHANGE_TEXT &&
		    hv_gva_in(hv_gva(entry->gva), range))
			hv_journal_forget(&p->journal, hv_gpa(entry->gpa));
	}
}

/* -- exchanging -------------------------------------------------------------------------------- */

/* Overlays on BYTES the bytes that UNDO will restore in CHANGE. */
static void put_own(const struct hv_change *undo, size_t nr_undo, const struct hv_change *change,
		    uint8_t *bytes)
{
	for (size_t i = 0; i < nr_undo; i++)
		for (uint32_t n = 0; n < undo[i].len_bytes; n++) {
			uint64_t off = undo[i].gpa.v + n - change->gpa.v;

			if (off < change->len_bytes)
				bytes[off] = undo[i].to[n];
		}
}

static struct hv_err *refuse_unexpected(struct hv_patcher *p, const struct hv_change *undo,
					size_t nr_undo, struct hv_change *changes, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		uint8_t now[8];
		struct hv_err *err =
			hv_guest_read(p->guest, changes[i].gpa, now, changes[i].len_bytes);

		if (err)
			return err;
		put_own(undo, nr_undo, &changes[i], now);
		if (memcmp(now, changes[i].from, changes[i].len_bytes) != 0)
			changes[i].refused = 1;
	}
	return NULL;
}

static struct hv_err *refuse_inside_vcpus(struct hv_patcher *p, struct hv_hold *hold,
					  struct hv_change *changes, size_t nr)
{
	unsigned nr_vcpus = hv_guest_info(p->guest)->nr_vcpus;
	HV_AUTO_FREE struct hv_vcpu_regs *regs = hv_alloc(nr_vcpus * sizeof(*regs));
	struct hv_err *err = hv_hold_registers(hold, regs, nr_vcpus);

	for (size_t i = 0; !err && i < nr; i++)
		for (unsigned cpu = 0; cpu < nr_vcpus; cpu++)
			if (change_has_inside(p->as->arch, &changes[i], regs[cpu].ip))
				changes[i].refused = 1;
	return err;
}

static bool any_refused(const struct hv_change *changes, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (changes[i].refused)
			return true;
	return false;
}

/* Checks everything before the first write. The results stay valid during the hold. */
static struct hv_err *look_first(struct hv_patcher *p, struct hv_hold *hold, struct hv_change *undo,
				 size_t nr_undo, struct hv_change *changes, size_t nr,
				 bool *ret_refused)
{
	struct hv_err *err = refuse_unexpected(p, NULL, 0, undo, nr_undo);

	if (!err)
		err = refuse_unexpected(p, undo, nr_undo, changes, nr);
	if (!err)
		err = refuse_inside_vcpus(p, hold, changes, nr);
	if (!err)
		err = hv_probed_refuse(p->as, &p->kprobes, &p->journal, undo, nr_undo);
	if (!err)
		err = hv_probed_refuse(p->as, &p->kprobes, &p->journal, changes, nr);
	*ret_refused = any_refused(undo, nr_undo) || any_refused(changes, nr);
	return err;
}

struct hv_err *hv_patcher_exchange_held(struct hv_patcher *p, struct hv_hold *hold,
					struct hv_change *undo, size_t nr_undo,
					struct hv_change *changes, size_t nr, bool *ret_refused)
{
	struct hv_err *err = look_first(p, hold, undo, nr_undo, changes, nr, ret_refused);

	if (err || *ret_refused)
		return err;
	if (nr_undo)
		err = hv_patcher_apply_held(p, hold, undo, nr_undo);
	if (!err && !any_refused(undo, nr_undo))
		err = hv_patcher_apply_held(p, hold, changes, nr);
	if (!err && (any_refused(undo, nr_undo) || any_refused(changes, nr)))
		err = hv_err_new(EBUSY, "0x%llx: the guest modified these instructions",
				 (unsigned long long)changes[0].gva.v);
	return err;
}
