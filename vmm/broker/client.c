/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A guest of an unprivileged process: the RAM that it reads itself, and its requests. */
#include "vmm/broker/client.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "vmm/guest.h"
#include "vmm/shared_memory.h"
#include "vmm/tsc.h"
#include "vmm/broker/channel.h"
#include "vmm/broker/kept.h"
#include "vmm/broker/wire.h"

/* -- readable RAM ------------------------------------------------------------------------------ */

static bool map(struct hv_readable_part *part, int fd)
{
	HV_AUTO_ERR struct hv_err *err = NULL;
	uint8_t *host = NULL;

	err = hv_shared_map(fd, part->off, part->len_bytes, PROT_READ, &host);
	part->host = host;
	return !err;
}

/* Opens the RAM that ANSWER, the reply to HV_ASK_RAM, allows. Skips parts that cannot be opened. */
static void readable_ram_open(struct hv_readable_ram *r, struct hv_message *answer)
{
	size_t nr = answer->len_bytes / sizeof(struct hv_broker_ram);

	*r = HV_READABLE_RAM_NONE;
	for (size_t i = 0; i < nr && r->nr < HV_BROKER_RAM_MAX; i++) {
		struct hv_readable_part *part = &r->list[r->nr];
		struct hv_broker_ram ram;

		memcpy(&ram, answer->bytes + i * sizeof(ram), sizeof(ram));
		if (ram.file >= answer->nr_fds)
			continue;
		*part = (struct hv_readable_part){hv_gpa(ram.start), ram.len_bytes, ram.off, NULL};
		if (ram.is_memory && r->memory_fd < 0)
			r->memory_fd =
				fcntl(answer->fds[ram.file], F_DUPFD_CLOEXEC, HV_READABLE_FD_MIN);
		if (ram.is_memory && r->memory_fd < 0)
			continue;
		r->nr += ram.is_memory || map(part, answer->fds[ram.file]);
	}
}

void hv_readable_ram_close(struct hv_readable_ram *r)
{
	for (size_t i = 0; i < r->nr; i++)
		hv_shared_unmap(r->list[i].host, r->list[i].len_bytes);
	hv_close_at(&r->memory_fd);
	*r = HV_READABLE_RAM_NONE;
}

static const struct hv_readable_part *find(const struct hv_readable_ram *r, struct hv_gpa gpa,
					   size_t len_bytes)
{
	for (size_t i = 0; i < r->nr; i++) {
		uint64_t off = gpa.v - r->list[i].start.v;

		if (off < r->list[i].len_bytes && len_bytes <= r->list[i].len_bytes - off)
			return &r->list[i];
	}
	return NULL;
}

static bool read_memory(int fd, uint64_t off, uint8_t *to, size_t len_bytes)
{
	while (len_bytes) {
		size_t piece =
			len_bytes < HV_READABLE_BYTES_MAX ? len_bytes : HV_READABLE_BYTES_MAX;

		if (pread(fd, to, piece, (off_t)off) != (ssize_t)piece)
			return false;
		off += piece;
		to += piece;
		len_bytes -= piece;
	}
	return true;
}

/* Returns false if the range is not in a part or cannot be read; BUF may be partly written. */
static bool readable_ram_read(const struct hv_readable_ram *r, struct hv_gpa gpa, void *buf,
			      size_t len_bytes)
{
	const struct hv_readable_part *part = find(r, gpa, len_bytes);
	struct hv_err *err;

	if (!part)
		return false;
	if (!part->host)
		return read_memory(r->memory_fd, part->off + (gpa.v - part->start.v), buf,
				   len_bytes);
	err = hv_shared_read(buf, part->host + (gpa.v - part->start.v), len_bytes);
	hv_err_free(err);
	return err == NULL;
}

/* -- the guest --------------------------------------------------------------------------------- */

#define READ_PIECE_BYTES (1u << 20)

struct client {
	int socket;  /* borrowed */
	int exit_fd; /* -1: the end of the VMM cannot be polled */
	int stop_fd; /* -1: the VMM cannot stop at an instruction */
	pid_t pid;   /* of the VMM */
	unsigned nr_vcpus;
	bool is_held;
	struct hv_readable_ram readable;
	struct hv_region region; /* host is NULL until it is mapped */
	struct hv_kept kept;
	/* Keeps the RAM's files open after they are mapped, in order to pass them to another
	 * client. */
	bool keeps_files;
	struct hv_ram_file ram[HV_BROKER_RAM_MAX];
	size_t nr_ram;
	int region_fd;
	uint64_t held_from_ns;
	uint64_t held_ns; /* duration of the last hold */
};

static void client_free(void *self)
{
	struct client *c = self;

	hv_shared_unmap(c->region.host, c->region.len_bytes);
	hv_kept_close(&c->kept);
	hv_readable_ram_close(&c->readable);
	hv_close_at(&c->exit_fd);
	hv_close_at(&c->stop_fd);
	hv_close_at(&c->region_fd);
	for (size_t i = 0; i < c->nr_ram; i++)
		hv_close_at(&c->ram[i].fd);
	free(c);
}

static struct hv_err *ask(struct client *c, const struct hv_message *question,
			  struct hv_message *ret)
{
	return hv_channel_ask(c->socket, question, ret);
}

/* Sends a request without payload. Copies the numbers of the reply to RET unless it is NULL. */
static struct hv_err *ask_numbers(struct client *c, uint32_t kind, uint64_t a, uint64_t b,
				  uint64_t ret[4])
{
	struct hv_message question = {.kind = kind, .args = {a, b}};
	HV_AUTO_MESSAGE struct hv_message answer = {0};
	struct hv_err *err = ask(c, &question, &answer);

	if (!err && ret)
		memcpy(ret, answer.args, sizeof(answer.args));
	return err;
}

/* Sends a request and expects a payload of LEN_BYTES. */
static struct hv_err *ask_bytes(struct client *c, uint32_t kind, uint64_t a, uint64_t b, void *ret,
				size_t len_bytes)
{
	struct hv_message question = {.kind = kind, .args = {a, b}};
	HV_AUTO_MESSAGE struct hv_message answer = {0};
	struct hv_err *err = ask(c, &question, &answer);

	if (!err && answer.len_bytes != len_bytes)
		err = hv_err_new(EAGAIN,
				 "the privileged process returned %zu bytes instead of %zu; retry",
				 answer.len_bytes, len_bytes);
	if (!err)
		memcpy(ret, answer.bytes, len_bytes);
	return err;
}

static struct hv_err *client_read(void *self, struct hv_gpa gpa, void *buf, size_t len)
{
	struct client *c = self;
	uint8_t *to = buf;

	if (readable_ram_read(&c->readable, gpa, buf, len))
		return NULL;
	while (len) {
		size_t piece = len < READ_PIECE_BYTES ? len : READ_PIECE_BYTES;
		struct hv_err *err = ask_bytes(self, HV_ASK_READ, gpa.v, piece, to, piece);

		if (err)
			return err;
		gpa = hv_gpa_add(gpa, piece);
		to += piece;
		len -= piece;
	}
	return NULL;
}

static struct hv_err *client_count_vcpus(void *self, unsigned *ret)
{
	struct client *c = self;
	uint64_t numbers[4] = {c->nr_vcpus}; /* from the answer of HV_ASK_HOLD_BEGIN */
	struct hv_err *err = c->is_held ? NULL : ask_numbers(c, HV_ASK_COUNT, 0, 0, numbers);

	if (!err)
		err = hv_vcpus_check(numbers[0]);
	if (!err)
		*ret = c->nr_vcpus = (unsigned)numbers[0];
	return err;
}

static struct hv_err *ask_registers(struct client *c, uint32_t kind, struct hv_vcpu_regs *ret,
				    size_t nr)
{
	struct hv_err *err = hv_vcpus_check_room(c->nr_vcpus, nr);

	if (!err)
		err = ask_bytes(c, kind, 0, 0, ret, nr * sizeof(*ret));
	if (!err && !hv_vcpu_regs_are_sane(ret, nr))
		err = hv_err_new(EPROTO,
				 "the privileged process reports registers that no vCPU has");
	return err;
}

static struct hv_err *client_registers(void *self, struct hv_vcpu_regs *ret, size_t nr)
{
	return ask_registers(self, HV_ASK_REGISTERS, ret, nr);
}

static struct hv_err *map_region(struct client *c, struct hv_message *answer)
{
	struct hv_region r = {.gpa = hv_gpa(answer->args[0]),
			      .len_bytes = answer->args[1],
			      .fd = -1,
			      .file_off = answer->args[2]};
	struct hv_err *err;

	if (answer->nr_fds != 2)
		return hv_err_new(EPROTO, "the region: %zu files arrived instead of two",
				  answer->nr_fds);
	err = hv_kept_map(hv_take_fd(&answer->fds[1]), &c->kept);
	if (!err)
		err = hv_shared_map(answer->fds[0], r.file_off, r.len_bytes, PROT_READ | PROT_WRITE,
				    &r.host);
	if (err) {
		hv_kept_close(&c->kept);
		return hv_err_in(err, "mapping the region");
	}
	/* Helpers, which can outlive this process, do not need the mapping. */
	madvise(r.host, r.len_bytes, MADV_DONTFORK);
	r.kept = c->kept.host;
	if (c->keeps_files)
		r.fd = c->region_fd = hv_take_fd(&answer->fds[0]);
	c->region = r;
	return NULL;
}

static struct hv_err *client_region(void *self, struct hv_region *ret)
{
	struct client *c = self;
	struct hv_message question = {.kind = HV_ASK_REGION};
	HV_AUTO_MESSAGE struct hv_message answer = {0};
	struct hv_err *err = ask(c, &question, &answer);

	if (!err && !c->region.host)
		err = map_region(c, &answer);
	if (err)
		return err;
	c->region.gpa = hv_gpa(answer.args[0]); /* the guest can move it */
	*ret = c->region;
	return NULL;
}

static struct hv_err *ask_bool(struct client *c, uint32_t kind, bool *ret)
{
	uint64_t numbers[4] = {0};
	struct hv_err *err = ask_numbers(c, kind, 0, 0, numbers);

	*ret = numbers[0] != 0;
	return err;
}

static struct hv_err *client_tsc(void *self, unsigned vcpu, struct hv_tsc *ret)
{
	return ask_bytes(self, HV_ASK_TSC, vcpu, 0, ret, sizeof(*ret));
}

static struct hv_err *client_host_formats(void *self, struct hv_text *ret)
{
	struct hv_message question = {.kind = HV_ASK_HOST_FORMATS};
	HV_AUTO_MESSAGE struct hv_message answer = {0};
	struct hv_err *err = ask(self, &question, &answer);

	if (!err)
		hv_text_add_bytes(ret, (const char *)answer.bytes, answer.len_bytes);
	return err;
}

static struct hv_err *client_host_trace(void *self, uint32_t mask, struct hv_host_threads *ret)
{
	struct hv_message question = {.kind = HV_ASK_HOST_TRACE, .args = {mask}};
	HV_AUTO_MESSAGE struct hv_message answer = {0};
	struct hv_err *err = ask(self, &question, &answer);
	size_t nr = answer.len_bytes / sizeof(*ret->tids);

	if (err)
		return err;
	ret->nr = nr < ret->max ? nr : ret->max;
	ret->nr_vcpus = answer.args[0] < ret->nr ? (size_t)answer.args[0] : ret->nr;
	if (ret->nr)
		memcpy(ret->tids, answer.bytes, ret->nr * sizeof(*ret->tids));
	return NULL;
}

static struct hv_err *client_host_pipes(void *self, unsigned first, int *ret_fds, size_t max,
					size_t *ret_nr, unsigned *ret_next)
{
	struct hv_message question = {.kind = HV_ASK_HOST_PIPES, .args = {first}};
	HV_AUTO_MESSAGE struct hv_message answer = {0};
	struct hv_err *err = ask(self, &question, &answer);

	if (err)
		return err;
	*ret_next = (unsigned)answer.args[0];
	for (*ret_nr = 0; *ret_nr < answer.nr_fds && *ret_nr < max; ++*ret_nr)
		ret_fds[*ret_nr] = hv_take_fd(&answer.fds[*ret_nr]);
	return NULL;
}

static struct hv_err *client_ram_files(void *self, struct hv_ram_file *ret, size_t max,
				       size_t *ret_nr)
{
	const struct client *c = self;

	for (*ret_nr = 0; *ret_nr < c->nr_ram && *ret_nr < max; ++*ret_nr)
		ret[*ret_nr] = c->ram[*ret_nr];
	return NULL;
}

static struct hv_err *machine_tsc(void *self, unsigned vcpu, struct hv_tsc *ret)
{
	return hv_kvm_tsc(HV_KVM_DEBUGFS, ((struct client *)self)->pid, vcpu, ret);
}

static int client_stop_fd(void *self)
{
	return ((struct client *)self)->stop_fd;
}

static void client_end_stop(void *self)
{
	struct client *c = self;

	if (c->stop_fd >= 0)
		hv_err_free(ask_numbers(c, HV_ASK_END_STOP, 0, 0, NULL));
}

static int client_exit_fd(void *self)
{
	return ((struct client *)self)->exit_fd;
}

/* Sends an array of NR elements of SIZE bytes, split into as many messages as necessary. */
static struct hv_err *send_list(struct client *c, uint32_t kind, const void *list, size_t nr,
				size_t size)
{
	const size_t most = HV_MESSAGE_BYTES_MAX / size;
	const uint8_t *at = list;

	for (size_t some; nr; nr -= some, at += some * size) {
		HV_AUTO_MESSAGE struct hv_message answer = {0};
		struct hv_message question = {.kind = kind};
		struct hv_err *err;

		some = nr < most ? nr : most;
		question.bytes = (uint8_t *)at;
		question.len_bytes = some * size;
		err = ask(c, &question, &answer);
		if (err)
			return err;
	}
	return NULL;
}

/* Operations that only forward their arguments. */
#define CALL(id, op, ...)                                                                          \
	static struct hv_err *client_##op(void *self)                                              \
	{                                                                                          \
		return ask_numbers(self, HV_ASK_##id, 0, 0, NULL);                                 \
	}
#define FLAG(id, op, ...)                                                                          \
	static struct hv_err *client_##op(void *self, bool *ret)                                   \
	{                                                                                          \
		return ask_bool(self, HV_ASK_##id, ret);                                           \
	}
#define AT(id, op, ...)                                                                            \
	static struct hv_err *client_##op(void *self, struct hv_gva at)                            \
	{                                                                                          \
		return ask_numbers(self, HV_ASK_##id, at.v, 0, NULL);                              \
	}
#define LIST(id, op, when, type)                                                                   \
	static struct hv_err *client_##op(void *self, const type *list, size_t nr)                 \
	{                                                                                          \
		return send_list(self, HV_ASK_##id, list, nr, sizeof(*list));                      \
	}
HV_GUEST_OPERATIONS(CALL, FLAG, AT, LIST, HV_NO_OPERATION, HV_NO_OPERATION)

static struct hv_err *client_hold_end(void *self)
{
	struct client *c = self;
	uint64_t numbers[4] = {0};
	struct hv_err *err = ask_numbers(c, HV_ASK_HOLD_END, 0, 0, numbers);

	c->is_held = false;
	c->held_ns = err ? hv_now_ns() - c->held_from_ns : numbers[0];
	return err;
}

static struct hv_err *begin_hold(struct client *c, uint64_t max_ns, uint64_t anywhere)
{
	uint64_t numbers[4];
	struct hv_err *err = ask_numbers(c, HV_ASK_HOLD_BEGIN, max_ns, anywhere, numbers);

	if (err)
		return err;
	c->held_from_ns = numbers[0];
	c->is_held = true;
	err = hv_vcpus_check(numbers[1]);
	if (!err)
		c->nr_vcpus = (unsigned)numbers[1];
	else
		hv_err_free(client_hold_end(c));
	return err;
}

static struct hv_err *client_hold_begin(void *self, uint64_t max_ns)
{
	return begin_hold(self, max_ns, 0);
}

static struct hv_err *client_hold_begin_anywhere(void *self, uint64_t max_ns)
{
	return begin_hold(self, max_ns, 1);
}

static struct hv_err *client_hold_registers(void *self, struct hv_vcpu_regs *ret, size_t nr)
{
	return ask_registers(self, HV_ASK_HOLD_REGISTERS, ret, nr);
}

static struct hv_err *client_hold_flush_translations(void *self, uint64_t off, uint64_t len_bytes)
{
	return ask_numbers(self, HV_ASK_HOLD_FLUSH, off, len_bytes, NULL);
}

static uint64_t client_held_ns(void *self)
{
	return ((struct client *)self)->held_ns;
}

static uint64_t client_held_from_ns(void *self)
{
	return ((struct client *)self)->held_from_ns;
}

static const struct hv_guest_ops client_ops = {
	.free = client_free,
	.exit_fd = client_exit_fd,
	.stop_fd = client_stop_fd,
	.hold_begin_anywhere = client_hold_begin_anywhere,
	.held_ns = client_held_ns,
	.held_from_ns = client_held_from_ns,
#define ASKED(id, op, ...) .op = client_##op,
	HV_GUEST_OPERATIONS(ASKED, ASKED, ASKED, ASKED, ASKED, HV_NO_OPERATION)
#undef ASKED
};

/* Returns the next string in [*AT, END), or "". */
static const char *next_string(const char **at, const char *end)
{
	const char *string = *at < end ? *at : "";

	*at += strlen(string) + 1;
	return string;
}

static void keep_files(struct client *c, const struct hv_message *answer)
{
	size_t nr = answer->len_bytes / sizeof(struct hv_broker_ram);

	for (size_t i = 0; i < nr && c->nr_ram < HV_BROKER_RAM_MAX; i++) {
		struct hv_broker_ram ram;
		int fd;

		memcpy(&ram, answer->bytes + i * sizeof(ram), sizeof(ram));
		if (ram.file >= answer->nr_fds)
			continue;
		fd = fcntl(answer->fds[ram.file], F_DUPFD_CLOEXEC, 0);
		if (fd >= 0)
			c->ram[c->nr_ram++] = (struct hv_ram_file){hv_gpa(ram.start), ram.len_bytes,
								   ram.off, fd, ram.is_memory != 0};
	}
}

/* Opens the readable RAM. On error, all memory is read through the broker. */
static void open_readable_ram(struct client *c)
{
	struct hv_message question = {.kind = HV_ASK_RAM};
	HV_AUTO_MESSAGE struct hv_message answer = {0};
	HV_AUTO_ERR struct hv_err *err = ask(c, &question, &answer);

	if (!err && c->keeps_files)
		keep_files(c, &answer);
	if (!err)
		readable_ram_open(&c->readable, &answer);
}

static void take_file(struct hv_message *answer, uint64_t is_there, size_t *at, int *ret)
{
	*ret = is_there && *at < answer->nr_fds ? hv_take_fd(&answer->fds[(*at)++]) : -1;
}

/* Decodes the broker's description of the guest. Fails with EPROTO or E2BIG if it is impossible. */
static struct hv_err *info_of(const struct hv_message *answer, struct hv_guest_info *ret)
{
	struct hv_broker_info numbers;
	const char *at = (char *)answer->bytes + sizeof(numbers);
	const char *end = (char *)answer->bytes + answer->len_bytes;
	const struct hv_arch *arch;

	if (answer->len_bytes <= sizeof(numbers))
		return hv_err_new(EPROTO, "the answer of the privileged process is too short");
	memcpy(&numbers, answer->bytes, sizeof(numbers));
	numbers.arch[sizeof(numbers.arch) - 1] = '\0';
	arch = hv_arch_find(numbers.arch);
	if (!arch || (numbers.accel != HV_ACCEL_TCG && numbers.accel != HV_ACCEL_KVM))
		return hv_err_new(EPROTO, "the privileged process reports an unknown "
					  "architecture or accelerator");
	*ret = (struct hv_guest_info){
		.pid = numbers.pid,
		.accel = (enum hv_accel)numbers.accel,
		.nr_vcpus = numbers.nr_vcpus,
		.arch = arch,
		.ram_bytes = numbers.ram_bytes,
		.region_to_make_bytes = numbers.region_to_make_bytes,
		.injected = numbers.injected != 0,
		.has_other_region = numbers.has_other_region != 0,
		.can_be_saved = numbers.can_be_saved != 0,
	};
	ret->name = next_string(&at, end);
	ret->id = next_string(&at, end);
	ret->transport = next_string(&at, end);
	return hv_vcpus_check(numbers.nr_vcpus);
}

static struct hv_guest *guest_of(int socket, const struct hv_guest_ops *ops,
				 const struct hv_guest_info *info, struct hv_message *answer)
{
	struct client *c = hv_alloc(sizeof(*c));
	size_t file = 0;

	c->socket = socket;
	c->pid = info->pid;
	c->kept = HV_KEPT_NONE;
	c->region_fd = -1;
	c->keeps_files = ops->ram_files != NULL;
	c->nr_vcpus = info->nr_vcpus;
	c->readable = HV_READABLE_RAM_NONE;
	open_readable_ram(c);
	take_file(answer, answer->args[0], &file, &c->exit_fd);
	take_file(answer, answer->args[1], &file, &c->stop_fd);
	return hv_guest_new(ops, c, info);
}

static struct hv_err *ask_who(int socket, struct hv_message *answer, struct hv_guest_info *ret)
{
	struct hv_message question = {.kind = HV_ASK_OPEN};
	struct hv_err *err = hv_channel_ask(socket, &question, answer);

	return err ? err : info_of(answer, ret);
}

struct hv_err *hv_broker_client_guest(int socket, struct hv_guest **ret)
{
	HV_AUTO_MESSAGE struct hv_message answer = {0};
	struct hv_guest_info info = {0};
	struct hv_err *err = ask_who(socket, &answer, &info);

	if (!err)
		*ret = guest_of(socket, &client_ops, &info, &answer);
	return err;
}

struct hv_err *hv_broker_client_machine(int socket, const char *name, struct hv_guest **ret)
{
	static struct hv_guest_ops ops;
	HV_AUTO_MESSAGE struct hv_message answer = {0};
	struct hv_guest_info info = {0};
	struct ucred vmm = {0};
	socklen_t len = sizeof(vmm);
	struct hv_err *err = ask_who(socket, &answer, &info);

	if (!err && getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &vmm, &len) != 0)
		err = hv_err_new(errno, "the VMM's socket: %s", strerror(errno));
	if (err)
		return err;
	ops = client_ops;
	ops.ram_files = client_ram_files;
	ops.tsc = machine_tsc;
	info.name = info.id = name;
	info.pid = vmm.pid;
	*ret = guest_of(socket, &ops, &info, &answer);
	return NULL;
}

const struct hv_readable_ram *hv_broker_client_readable_ram(const struct hv_guest *g)
{
	return &((struct client *)hv_guest_self(g))->readable;
}
