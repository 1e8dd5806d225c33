/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/broker/server.h"

#include <fcntl.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "vmm/hosttrace/instance.h"
#include "vmm/broker/kept.h"
#include "vmm/broker/rules.h"
#include "vmm/broker/wire.h"

#define READ_BYTES_MAX	HV_MESSAGE_BYTES_MAX
#define THREADS_MAX	(2 * HV_VCPUS_MAX) /* vCPU threads and other threads of the VMM */
#define FLUSH_BYTES_MAX (8u << 20)
#define PAGE_BYTES	4096
#define HOLD_MAX_NS	(10 * HV_NS_PER_S)

struct hv_broker_server {
	struct hv_guest *guest; /* borrowed */
	struct hv_hold *hold;	/* the current hold, or NULL */
	struct hv_rules *rules;
	/* The registers during the hold, which do not change; NULL until they are read. Owned. */
	struct hv_vcpu_regs *held_regs;
	unsigned nr_held_regs;
	unsigned nr_refused;
	bool has_given_ram; /* sent once per client: its sandbox restricts reads only of the
			       files that it has when it enters */
	struct hv_region region;
	struct hv_kept kept;
};

/* When a request is allowed. */
enum when { ALWAYS, HELD, FREE };

struct answer {
	enum when when;
	/* Answers request Q in R. */
	struct hv_err *(*fn)(struct hv_broker_server *s, const struct hv_message *q,
			     struct hv_message *r);
};

struct hv_broker_server *hv_broker_server_new(struct hv_guest *g, enum hv_adopts adopts)
{
	struct hv_broker_server *s = hv_alloc(sizeof(*s));

	s->guest = g;
	s->kept = HV_KEPT_NONE;
	s->rules = hv_rules_new(g, adopts);
	return s;
}

static struct hv_hold *take_hold(struct hv_broker_server *s)
{
	struct hv_hold *hold = s->hold;

	free(s->held_regs);
	s->held_regs = NULL;
	s->nr_held_regs = 0;
	s->hold = NULL;
	return hold;
}

void hv_broker_server_renew(struct hv_broker_server *s)
{
	struct hv_hold *hold = take_hold(s);

	if (hold)
		hv_err_free(hv_hold_end(hold, NULL));
	s->has_given_ram = false;
}

void hv_broker_server_free(struct hv_broker_server *s)
{
	if (!s)
		return;
	hv_broker_server_renew(s);
	hv_kept_close(&s->kept);
	hv_rules_free(s->rules);
	free(s);
}

void hv_broker_server_put_journal_back(const struct hv_broker_server *s)
{
	hv_kept_put_back(&s->kept, &s->region);
}

unsigned hv_broker_server_nr_refused(const struct hv_broker_server *s)
{
	return s->nr_refused;
}

static void *room_for(struct hv_message *r, size_t len_bytes)
{
	r->bytes = hv_alloc(len_bytes ? len_bytes : 1);
	r->len_bytes = len_bytes;
	return r->bytes;
}

static struct hv_err *bad(const char *what)
{
	return hv_err_new(EPROTO, "the service asks for %s", what);
}

static struct hv_err *answer_open(struct hv_broker_server *s, const struct hv_message *q hv_unused,
				  struct hv_message *r)
{
	const struct hv_guest_info *info = hv_guest_info(s->guest);
	struct hv_broker_info numbers = {
		.pid = info->pid,
		.accel = info->accel,
		.nr_vcpus = info->nr_vcpus,
		.injected = info->injected,
		.has_other_region = info->has_other_region,
		.can_be_saved = info->can_be_saved,
		.ram_bytes = info->ram_bytes,
		.region_to_make_bytes = info->region_to_make_bytes,
	};
	struct hv_text text = {0};

	memcpy(numbers.arch, info->arch->name, strnlen(info->arch->name, sizeof(numbers.arch) - 1));
	hv_text_add_bytes(&text, (const char *)&numbers, sizeof(numbers));
	hv_text_add_bytes(&text, info->name, strlen(info->name) + 1);
	hv_text_add_bytes(&text, info->id, strlen(info->id) + 1);
	hv_text_add_bytes(&text, info->transport, strlen(info->transport) + 1);
	r->bytes = (uint8_t *)text.data;
	r->len_bytes = text.len_bytes;
	hv_message_add_fd(r, hv_guest_exit_fd(s->guest));
	r->args[0] = r->nr_fds;
	hv_message_add_fd(r, hv_guest_stop_fd(s->guest));
	r->args[1] = r->nr_fds - r->args[0];
	return NULL;
}

static struct hv_err *answer_read(struct hv_broker_server *s, const struct hv_message *q,
				  struct hv_message *r)
{
	if (q->args[1] > READ_BYTES_MAX)
		return bad("too many bytes");
	return hv_guest_read(s->guest, hv_gpa(q->args[0]), room_for(r, q->args[1]), q->args[1]);
}

/* Opens the file of FD for reading only. An unprivileged VMM cannot reopen files, but its
 * descriptor is read-only already. */
static int reopen(int fd)
{
	HV_AUTO_FREE char *path = hv_format("/proc/self/fd/%d", fd);

	if ((fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY)
		return fcntl(fd, F_DUPFD_CLOEXEC, 0);
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* Adds the file of F to R. Returns its index there, or UINT32_MAX if it could not be added. */
static uint32_t add_file(struct hv_message *r, const struct hv_ram_file *f)
{
	HV_AUTO_FD int fd = f->is_memory ? -1 : reopen(f->fd);
	size_t nr = r->nr_fds;

	hv_message_add_fd(r, f->is_memory ? f->fd : fd);
	return r->nr_fds > nr ? (uint32_t)nr : UINT32_MAX;
}

/* Ranges that are read from the VMM's memory share one file. */
static struct hv_err *answer_ram_files(struct hv_broker_server *s,
				       const struct hv_message *q hv_unused, struct hv_message *r)
{
	struct hv_ram_file files[HV_BROKER_RAM_MAX];
	struct hv_broker_ram *list;
	uint32_t memory = UINT32_MAX;
	size_t nr = 0;
	struct hv_err *err = s->has_given_ram
				     ? bad("the RAM's files again")
				     : hv_guest_ram_files(s->guest, files, HV_BROKER_RAM_MAX, &nr);

	if (err)
		return err;
	s->has_given_ram = true;
	list = room_for(r, nr * sizeof(*list));
	for (size_t i = 0; i < nr; i++) {
		uint32_t file = files[i].is_memory ? memory : UINT32_MAX;

		if (file == UINT32_MAX)
			file = add_file(r, &files[i]);
		if (files[i].is_memory)
			memory = file;
		list[i] = (struct hv_broker_ram){files[i].start.v, files[i].len_bytes, files[i].off,
						 file, files[i].is_memory};
	}
	return NULL;
}

static struct hv_err *answer_count_vcpus(struct hv_broker_server *s,
					 const struct hv_message *q hv_unused, struct hv_message *r)
{
	struct hv_err *err = hv_guest_count_vcpus(s->guest);

	r->args[0] = hv_guest_info(s->guest)->nr_vcpus;
	return err;
}

_Static_assert(HV_VCPUS_MAX * sizeof(struct hv_vcpu_regs) <= HV_MESSAGE_BYTES_MAX,
	       "the registers of all vCPUs are one message");

static struct hv_err *answer_registers(struct hv_broker_server *s,
				       const struct hv_message *q hv_unused, struct hv_message *r)
{
	unsigned nr = hv_guest_info(s->guest)->nr_vcpus;
	struct hv_vcpu_regs *regs = room_for(r, nr * sizeof(*regs));
	struct hv_err *err = hv_guest_registers(s->guest, regs, nr);

	if (!err)
		hv_rules_see(s->rules, regs, nr);
	return err;
}

static struct hv_err *answer_region(struct hv_broker_server *s,
				    const struct hv_message *q hv_unused, struct hv_message *r)
{
	struct hv_region region;
	struct hv_err *err = hv_guest_region(s->guest, &region);

	if (!err && !s->kept.host)
		err = hv_kept_make(&region, &s->kept);
	if (err)
		return err;
	s->region = region;
	hv_rules_set_region(s->rules, &region);
	r->args[0] = region.gpa.v;
	r->args[1] = region.len_bytes;
	r->args[2] = region.file_off;
	hv_message_add_fd(r, region.fd);
	hv_message_add_fd(r, s->kept.fd);
	return NULL;
}

static struct hv_err *answer_tsc(struct hv_broker_server *s, const struct hv_message *q,
				 struct hv_message *r)
{
	if (q->args[0] >= HV_VCPUS_MAX)
		return bad("the clock of a vCPU that is not there");
	return hv_guest_tsc(s->guest, (unsigned)q->args[0], room_for(r, sizeof(struct hv_tsc)));
}

static struct hv_err *take_prepare_text(struct hv_broker_server *s, const struct hv_gpa *gpas,
					size_t nr)
{
	for (size_t i = 1; i < nr; i++)
		if (gpas[i].v < gpas[i - 1].v)
			return bad("text that is not in order");
	return hv_guest_prepare_text(s->guest, gpas, nr);
}

static struct hv_err *answer_hold_begin(struct hv_broker_server *s, const struct hv_message *q,
					struct hv_message *r)
{
	struct hv_err *err;

	if (s->hold || q->args[0] > HOLD_MAX_NS)
		return bad("a second hold, or too long a one");
	hv_rules_prepare(s->rules);
	err = q->args[1] ? hv_hold_begin_anywhere(s->guest, q->args[0], &s->hold)
			 : hv_hold_begin(s->guest, q->args[0], &s->hold);
	if (err)
		return err;
	r->args[0] = hv_now_ns() - hv_hold_age_ns(s->hold);
	r->args[1] = hv_guest_info(s->guest)->nr_vcpus;
	return NULL;
}

static struct hv_err *read_held_registers(struct hv_broker_server *s)
{
	unsigned nr = hv_guest_info(s->guest)->nr_vcpus;
	HV_AUTO_FREE struct hv_vcpu_regs *regs = NULL;
	struct hv_err *err;

	if (s->held_regs)
		return NULL;
	regs = hv_alloc((nr + 1) * sizeof(*regs));
	err = hv_hold_registers(s->hold, regs, nr);
	if (err)
		return err;
	s->held_regs = hv_take(regs);
	s->nr_held_regs = nr;
	return NULL;
}

static struct hv_err *answer_hold_registers(struct hv_broker_server *s,
					    const struct hv_message *q hv_unused,
					    struct hv_message *r)
{
	size_t len_bytes;
	struct hv_err *err = read_held_registers(s);

	if (err)
		return err;
	len_bytes = s->nr_held_regs * sizeof(*s->held_regs);
	memcpy(room_for(r, len_bytes), s->held_regs, len_bytes);
	return NULL;
}

static struct hv_err *check_writes(const struct hv_hold_write *writes, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		uint8_t is_text;

		memcpy(&is_text, &writes[i].is_text, 1);
		if (is_text > 1)
			return bad("a write of no known kind");
		if (!writes[i].len_bytes || writes[i].len_bytes > HV_SITE_LEN_MAX)
			return bad("a write of too many bytes");
		if (i && writes[i].gpa.v < writes[i - 1].gpa.v)
			return bad("writes that are not in order");
	}
	return NULL;
}

static struct hv_err *take_hold_write(struct hv_broker_server *s,
				      const struct hv_hold_write *writes, size_t nr)
{
	struct hv_err *err = check_writes(writes, nr);

	if (!err && hv_rules_need_registers(s->rules, writes, nr))
		err = read_held_registers(s);
	if (!err)
		err = hv_rules_check(s->rules, s->held_regs, s->nr_held_regs, writes, nr);
	s->nr_refused += err && err->code != EBUSY;
	return err ? err : hv_hold_write(s->hold, writes, nr);
}

static struct hv_err *answer_hold_flush_translations(struct hv_broker_server *s,
						     const struct hv_message *q,
						     struct hv_message *r hv_unused)
{
	uint64_t off = q->args[0], len_bytes = q->args[1];

	if (off > s->region.len_bytes || len_bytes > s->region.len_bytes - off ||
	    len_bytes > FLUSH_BYTES_MAX || (off | len_bytes) % PAGE_BYTES)
		return bad("a flush outside the region");
	return hv_hold_flush_translations(s->hold, q->args[0], q->args[1]);
}

static struct hv_err *answer_hold_end(struct hv_broker_server *s,
				      const struct hv_message *q hv_unused, struct hv_message *r)
{
	return hv_hold_end(take_hold(s), &r->args[0]);
}

static struct hv_err *answer_host_formats(struct hv_broker_server *s,
					  const struct hv_message *q hv_unused,
					  struct hv_message *r)
{
	HV_AUTO_TEXT struct hv_text texts = {0};
	HV_AUTO_FREE pid_t *tids = hv_alloc(HV_VCPUS_MAX * sizeof(*tids));
	const char *tracefs;
	size_t nr;
	/* Fail early: nothing can be recorded without threads. */
	struct hv_err *err = hv_guest_vcpu_threads(s->guest, tids, HV_VCPUS_MAX, &nr);

	if (!err)
		err = hv_host_tracefs(&tracefs);
	if (!err)
		err = hv_host_trace_formats(tracefs, &texts);
	if (!err)
		memcpy(room_for(r, texts.len_bytes), texts.data, texts.len_bytes);
	return err;
}

/* The service chooses only from the known events. The threads are the vCPUs', according to the
 * monitor, and the VMM's other threads. */
static struct hv_err *answer_host_trace(struct hv_broker_server *s, const struct hv_message *q,
					struct hv_message *r)
{
	const char *id = hv_guest_info(s->guest)->id, *tracefs;
	pid_t *tids = room_for(r, THREADS_MAX * sizeof(*tids));
	size_t nr = 0;
	struct hv_err *err =
		q->args[0] >> HV_NR_HOST_EVENTS ? bad("unknown events") : hv_host_tracefs(&tracefs);

	if (!err && !q->args[0])
		err = hv_host_trace_remove(tracefs, id);
	else if (!err)
		err = hv_guest_vcpu_threads(s->guest, tids, HV_VCPUS_MAX, &nr);
	r->args[0] = nr;
	if (!err && q->args[0])
		hv_host_trace_add_threads(hv_guest_info(s->guest)->pid, tids, THREADS_MAX, &nr);
	/* If the VMM has ended, its pid may belong to another process. */
	if (!err && hv_guest_has_ended(s->guest))
		err = hv_err_new(ESRCH, "events of the host: the VMM, process %d, has ended",
				 (int)hv_guest_info(s->guest)->pid);
	if (!err && q->args[0])
		err = hv_host_trace_switch(tracefs, id, (uint32_t)q->args[0], tids, nr);
	r->len_bytes = nr * sizeof(*tids);
	return err;
}

static struct hv_err *answer_host_pipes(struct hv_broker_server *s, const struct hv_message *q,
					struct hv_message *r)
{
	const char *tracefs;
	unsigned next = 0;
	struct hv_err *err = q->args[0] > UINT16_MAX ? bad("CPUs that are not there")
						     : hv_host_tracefs(&tracefs);

	if (!err)
		err = hv_host_trace_open(tracefs, hv_guest_info(s->guest)->id, (unsigned)q->args[0],
					 r->fds, HV_MESSAGE_FDS_MAX, &r->nr_fds, &next);
	r->args[0] = next;
	return err;
}

static struct hv_err *answer_end_stop(struct hv_broker_server *s,
				      const struct hv_message *q hv_unused,
				      struct hv_message *r hv_unused)
{
	hv_guest_end_stop(s->guest);
	return NULL;
}

/* Answers that only call a function of vmm/guest.h. */

typedef struct hv_err *(*flag_fn)(struct hv_guest *g, bool *ret);

static struct hv_err *answer_flag(struct hv_broker_server *s, flag_fn flag, struct hv_message *r)
{
	bool is_set = false;
	struct hv_err *err = flag(s->guest, &is_set);

	r->args[0] = is_set;
	return err;
}

typedef struct hv_err *(*at_fn)(struct hv_guest *g, struct hv_gva at);

/* Calls FN with the address in Q if it can be in a kernel's image, because FN may put a breakpoint
 * there. */
static struct hv_err *answer_at(struct hv_broker_server *s, at_fn fn, const struct hv_message *q)
{
	struct hv_gva at = hv_gva(q->args[0]);

	if (!hv_gva_in(at, hv_guest_info(s->guest)->arch->image_range))
		return bad("a stop where no kernel's image is");
	return fn(s->guest, at);
}

/* Copies the complete elements of SIZE bytes in Q. The caller frees the result. */
static void *list_of(const struct hv_message *q, size_t size, size_t *ret_nr)
{
	size_t nr = q->len_bytes / size;
	void *list = hv_alloc(q->len_bytes + 1);

	if (nr)
		memcpy(list, q->bytes, nr * size);
	*ret_nr = nr;
	return list;
}

#define CALL(id, op, ...)                                                                          \
	static struct hv_err *answer_##op(struct hv_broker_server *s,                              \
					  const struct hv_message *q hv_unused,                    \
					  struct hv_message *r hv_unused)                          \
	{                                                                                          \
		return hv_guest_##op(s->guest);                                                    \
	}
#define FLAG(id, op, ...)                                                                          \
	static struct hv_err *answer_##op(struct hv_broker_server *s,                              \
					  const struct hv_message *q hv_unused,                    \
					  struct hv_message *r)                                    \
	{                                                                                          \
		return answer_flag(s, hv_guest_##op, r);                                           \
	}
#define AT(id, op, ...)                                                                            \
	static struct hv_err *answer_##op(struct hv_broker_server *s, const struct hv_message *q,  \
					  struct hv_message *r hv_unused)                          \
	{                                                                                          \
		return answer_at(s, hv_guest_##op, q);                                             \
	}
#define LIST(id, op, when, type)                                                                   \
	static struct hv_err *answer_##op(struct hv_broker_server *s, const struct hv_message *q,  \
					  struct hv_message *r hv_unused)                          \
	{                                                                                          \
		size_t nr;                                                                         \
		HV_AUTO_FREE type *list = list_of(q, sizeof(*list), &nr);                          \
                                                                                                   \
		return take_##op(s, list, nr);                                                     \
	}
HV_GUEST_OPERATIONS(CALL, FLAG, AT, LIST, HV_NO_OPERATION, HV_NO_OPERATION)

static const struct answer answers[HV_NR_QUESTIONS] = {
#define ANSWER(id, op, when, ...) [HV_ASK_##id] = {when, answer_##op},
	HV_GUEST_OPERATIONS(ANSWER, ANSWER, ANSWER, ANSWER, ANSWER, ANSWER)
#undef ANSWER
};

static struct hv_err *check_when(const struct hv_broker_server *s, enum when when)
{
	if (when == HELD && !s->hold)
		return bad("a request that is allowed only in a hold");
	if (when == FREE && s->hold)
		return bad("a request that is not allowed in a hold");
	return NULL;
}

struct hv_err *hv_broker_server_answer(struct hv_broker_server *s, int socket,
				       const struct hv_message *question)
{
	HV_AUTO_MESSAGE struct hv_message r = {0};
	struct hv_err *err;

	if (question->kind >= HV_NR_QUESTIONS || !answers[question->kind].fn)
		return hv_err_new(ENOSYS, "unknown question %u", question->kind);
	err = check_when(s, answers[question->kind].when);
	if (!err)
		err = answers[question->kind].fn(s, question, &r);
	return hv_channel_answer(socket, err, &r);
}
