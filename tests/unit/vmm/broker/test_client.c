/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Both ends of the broker's protocol in two processes: requests are executed, errors arrive
 * complete, and requests that no service sends are refused. */
#include <check.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "tests/lib/expect.h"
#include "tests/lib/failing_call.h"
#include "tests/lib/run_suite.h"
#include "tests/unit/vmm/broker/small_guest.h"
#include "vmm/broker/kept.h"
#include "vmm/broker/server.h"
#include "vmm/broker/client.h"

#define KEPT_AT	   (HV_REGION_KEPT_BYTES - 1)
#define MANY_VCPUS 5000 /* more than a guest can have */
#define FEW_VCPUS  2

static struct small_guest small;
static int ours;
static pid_t broker;

static bool has_ended; /* the VMM of the guest */

/* Replaces the function of the C library: this host has tracefs. */
int access(const char *path, int mode)
{
	return strcmp(path, "/sys/kernel/tracing/instances")
		       ? (int)syscall(SYS_faccessat, AT_FDCWD, path, mode)
		       : 0;
}

/* Answers requests until an error, and returns it. */
static struct hv_err *answer_all(int socket, struct hv_guest *guest)
{
	struct hv_broker_server *server = hv_broker_server_new(guest, HV_ADOPTS_NOTHING);
	struct hv_err *err = NULL;

	while (!err) {
		HV_AUTO_MESSAGE struct hv_message m = {0};

		err = hv_channel_receive(socket, &m);
		if (!err)
			err = hv_broker_server_answer(server, socket, &m);
	}
	hv_broker_server_free(server);
	return err;
}

static void serve(int socket)
{
	struct hv_guest *guest = small_guest_open(&small);
	struct hv_err *err;

	memcpy(small.ram + 0x1010, "\x0f\x1f\x44\x00\x00", 5);
	memcpy(small.region.host, "left", 5);
	small.region.host[KEPT_AT] = 7;
	small.has_threads = has_ended;
	small.exit_fd = has_ended ? eventfd(1, 0) : -1;
	err = answer_all(socket, guest);
	/* the server must have ended an abandoned hold */
	_exit(small.held || err->code != EPIPE);
}

/* Acts as the broker of a machine of `hvtrace run`, which another process runs. */
static void serve_machine(int socket)
{
	struct hv_guest *machine = NULL;
	struct hv_err *err;
	int ends[2], status;
	pid_t vmm;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
		_exit(1);
	vmm = fork();
	if (vmm == 0) {
		close(socket);
		close(ends[0]);
		serve(ends[1]);
	}
	close(ends[1]);
	if (hv_broker_client_machine(ends[0], "small", &machine))
		_exit(2);
	err = answer_all(socket, machine);
	hv_guest_free(machine);
	close(ends[0]);
	waitpid(vmm, &status, 0);
	_exit(status != 0 || err->code != EPIPE);
}

static const char *claimed_arch = "x86_64";

/* A VMM taken over by its guest: it claims to be another domain and another process, and to have 2
 * vCPUs, and later MANY_VCPUS. */
static void lie(int socket)
{
	HV_AUTO_FREE uint8_t *many = hv_alloc(MANY_VCPUS * sizeof(struct hv_vcpu_regs));
	struct hv_err *err = NULL;

	while (!err) {
		struct hv_broker_info info = {.pid = 1, .nr_vcpus = FEW_VCPUS};
		struct hv_message answer = {.args = {MANY_VCPUS, MANY_VCPUS}, .bytes = many};
		HV_AUTO_MESSAGE struct hv_message m = {0};

		err = hv_channel_receive(socket, &m);
		if (err)
			break;
		if (m.kind == HV_ASK_OPEN) {
			answer.args[0] = answer.args[1] = 0;
			/* without its NUL if it is long */
			memcpy(info.arch, claimed_arch, strnlen(claimed_arch, sizeof(info.arch)));
			memcpy(many, &info, sizeof(info));
			memcpy(many + sizeof(info), "web1\0web1\0\0", 11);
			answer.len_bytes = sizeof(info) + 11;
		} else if (m.kind == HV_ASK_REGISTERS || m.kind == HV_ASK_HOLD_REGISTERS) {
			answer.len_bytes = MANY_VCPUS * sizeof(struct hv_vcpu_regs);
		}
		err = hv_channel_answer(socket, NULL, &answer);
	}
	hv_err_free(err);
	_exit(0);
}

/* The broker of such a VMM's machine. */
static void serve_liar(int socket)
{
	struct hv_guest *machine = NULL;
	struct hv_err *err;
	int ends[2];
	pid_t vmm;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
		_exit(1);
	vmm = fork();
	if (vmm == 0) {
		close(socket);
		close(ends[0]);
		lie(ends[1]);
	}
	close(ends[1]);
	err = hv_broker_client_machine(ends[0], "mine", &machine);
	if (err)
		err = hv_channel_answer(socket, err, &(struct hv_message){0});
	if (!err && machine)
		err = answer_all(socket, machine);
	hv_guest_free(machine);
	close(ends[0]);
	waitpid(vmm, NULL, 0);
	if (!err)
		_exit(0);
	_exit(err->code != EPIPE);
}

static void begin(void (*broker_main)(int socket))
{
	int ends[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	ours = ends[0];
	broker = fork();
	if (broker == 0) {
		close(ours);
		broker_main(ends[1]);
	}
	close(ends[1]);
}

static void end(struct hv_guest *g)
{
	int status;

	hv_guest_free(g);
	close(ours);
	ck_assert_int_eq(waitpid(broker, &status, 0), broker);
	ck_assert_int_eq(status, 0);
}

static struct hv_guest *open_client(void)
{
	struct hv_guest *g = NULL;

	begin(serve);
	ck_assert_ptr_null(hv_broker_client_guest(ours, &g));
	return g;
}

START_TEST(the_client_sees_the_guest)
{
	struct hv_guest *g = open_client();
	const struct hv_guest_info *info = hv_guest_info(g);
	struct hv_vcpu_regs regs[2];
	struct hv_region region;

	ck_assert_str_eq(info->name, "small");
	ck_assert_str_eq(info->id, "small-1");
	ck_assert_str_eq(info->transport, "a test");
	ck_assert_str_eq(info->arch->name, "x86_64");
	ck_assert(info->pid == 7 && info->nr_vcpus == 2 && info->injected);
	ck_assert_ptr_null(hv_guest_registers(g, regs, 2));
	ck_assert(regs[0].root == (SMALL_TABLES | 11) && regs[1].root == (SMALL_TABLES | 22));
	ck_assert_ptr_null(hv_guest_region(g, &region));
	ck_assert(region.gpa.v == SMALL_REGION && region.len_bytes == 4u << 20);
	region.host[5] = 1; /* the region is writable */
	end(g);
}
END_TEST

/* A copy of what an earlier session may have left there. */
START_TEST(the_start_of_the_region_is_copied)
{
	struct hv_guest *g = open_client();
	struct hv_region region;

	ck_assert_ptr_null(hv_guest_region(g, &region));
	ck_assert_str_eq((char *)region.kept, "left");
	ck_assert_uint_eq(region.kept[KEPT_AT], 7);
	region.host[KEPT_AT] = 8;
	ck_assert_uint_eq(region.kept[KEPT_AT], 7);
	end(g);
}
END_TEST

START_TEST(ram_is_read_with_and_without_a_window)
{
	struct hv_guest *g = open_client();
	uint8_t bytes[5];

	ck_assert_uint_eq(hv_broker_client_readable_ram(g)->nr, 1);
	ck_assert_ptr_null(hv_guest_read(g, hv_gpa(0x1010), bytes, 5));
	ck_assert_mem_eq(bytes, "\x0f\x1f\x44\x00\x00", 5);
	hv_readable_ram_close((struct hv_readable_ram *)hv_broker_client_readable_ram(g));
	memset(bytes, 0, sizeof(bytes));
	ck_assert_ptr_null(hv_guest_read(g, hv_gpa(0x1010), bytes, 5));
	ck_assert_mem_eq(bytes, "\x0f\x1f\x44\x00\x00", 5);
	end(g);
}
END_TEST

START_TEST(errors_arrive_complete)
{
	struct hv_guest *g = open_client();
	uint8_t byte;
	struct hv_err *err = hv_guest_read(g, hv_gpa(SMALL_RAM), &byte, 1);

	ck_assert_int_eq(err->code, EFAULT);
	ck_assert_str_eq(err->message, "small: no RAM");
	ck_assert_str_eq(err->reason, "no RAM");
	ck_assert_uint_eq(err->facts, HV_ERR_NEEDS_MONITOR);
	hv_err_free(err);
	end(g);
}
END_TEST

START_TEST(writes_need_a_hold_and_pass_the_rules)
{
	struct hv_guest *g = open_client();
	struct hv_hold_write w = {.gpa = hv_gpa(0x2000), .len_bytes = 8, .bytes = {1, 2, 3}};
	struct hv_message bare = {
		.kind = HV_ASK_HOLD_WRITE, .bytes = (uint8_t *)&w, .len_bytes = sizeof(w)};
	HV_AUTO_MESSAGE struct hv_message answer = {0};
	struct hv_region region;
	struct hv_hold *hold;
	struct hv_err *err;
	uint8_t now[8];

	ck_assert_ptr_null(hv_guest_region(g, &region));
	err = hv_channel_ask(ours, &bare, &answer);
	ck_assert_int_eq(err->code, EPROTO);
	hv_err_free(err);
	ck_assert_ptr_null(hv_hold_begin(g, HV_NS_PER_S, &hold));
	err = hv_hold_write(hold, &w, 1);
	ck_assert_int_eq(err->code, EPERM);
	hv_err_free(err);
	ck_assert_ptr_null(hv_guest_read(g, w.gpa, now, 8));
	ck_assert_mem_eq(now, "\0\0\0\0\0\0\0\0", 8);
	w.gpa = hv_gpa(SMALL_REGION + 64);
	ck_assert_ptr_null(hv_hold_write(hold, &w, 1));
	ck_assert_mem_eq(region.host + 64, "\1\2\3\0\0\0\0\0", 8);
	ck_assert_ptr_null(hv_hold_end(hold, NULL));
	end(g);
}
END_TEST

START_TEST(a_hold_may_allow_hidden_vcpus)
{
	struct hv_guest *g = open_client();
	struct hv_hold *hold;
	uint8_t anywhere;

	ck_assert_ptr_null(hv_hold_begin(g, HV_NS_PER_S, &hold));
	ck_assert_ptr_null(hv_hold_end(hold, NULL));
	ck_assert_ptr_null(hv_guest_read(g, hv_gpa(SMALL_RAM - 1), &anywhere, 1));
	ck_assert_uint_eq(anywhere, 0);
	ck_assert_ptr_null(hv_hold_begin_anywhere(g, HV_NS_PER_S, &hold));
	ck_assert_ptr_null(hv_hold_end(hold, NULL));
	ck_assert_ptr_null(hv_guest_read(g, hv_gpa(SMALL_RAM - 1), &anywhere, 1));
	ck_assert_uint_eq(anywhere, 1);
	end(g);
}
END_TEST

START_TEST(a_hold_that_is_left_ends)
{
	struct hv_guest *g = open_client();
	struct hv_message question = {.kind = HV_ASK_HOLD_BEGIN, .args = {HV_NS_PER_S}};
	HV_AUTO_MESSAGE struct hv_message answer = {0};

	ck_assert_ptr_null(hv_channel_ask(ours, &question, &answer));
	end(g); /* serve() checks that the hold has ended */
}
END_TEST

/* Asks QUESTION, which the broker must refuse with MESSAGE. */
static void check_question(const struct hv_message *question, const char *message)
{
	HV_AUTO_MESSAGE struct hv_message answer = {0};

	expect_error(hv_channel_ask(ours, question, &answer), EPROTO, message);
}

#define WRITES(list)                                                                               \
	{                                                                                          \
		.kind = HV_ASK_HOLD_WRITE, .bytes = (uint8_t *)(list), .len_bytes = sizeof(list)   \
	}

START_TEST(invalid_questions_are_refused)
{
	static struct hv_gpa descending[] = {{0x2000}, {0x1000}};
	static const struct {
		struct hv_message question;
		const char *message;
	} rows[] = {
		{{.kind = HV_ASK_READ, .args = {0, UINT64_MAX}},
		 "the service asks for too many bytes"},
		{{.kind = HV_ASK_TSC, .args = {UINT64_MAX}},
		 "the service asks for the clock of a vCPU that is not there"},
		{{.kind = HV_ASK_HOLD_BEGIN, .args = {UINT64_MAX}},
		 "the service asks for a second hold, or too long a one"},
		{{.kind = HV_ASK_HOLD_END},
		 "the service asks for a request that is allowed only in a hold"},
		{{.kind = HV_ASK_HOLD_REGISTERS},
		 "the service asks for a request that is allowed only in a hold"},
		{{.kind = HV_ASK_HOLD_FLUSH, .args = {1, 2}},
		 "the service asks for a request that is allowed only in a hold"},
		{{.kind = HV_ASK_STOP_AT, .args = {0x1000}},
		 "the service asks for a stop where no kernel's image is"},
		{{.kind = HV_ASK_RUN_TO, .args = {0x1000}},
		 "the service asks for a stop where no kernel's image is"},
		{{.kind = HV_ASK_PREPARE_TEXT,
		  .bytes = (uint8_t *)descending,
		  .len_bytes = sizeof(descending)},
		 "the service asks for text that is not in order"},
		{{.kind = HV_ASK_HOST_TRACE, .args = {UINT64_MAX}},
		 "the service asks for unknown events"},
		{{.kind = HV_ASK_HOST_PIPES, .args = {UINT16_MAX + 1}},
		 "the service asks for CPUs that are not there"},
	};
	struct hv_guest *g = open_client();

	for (size_t i = 0; i < HV_ARRAY_LEN(rows); i++)
		check_question(&rows[i].question, rows[i].message);
	end(g);
}
END_TEST

/* The service speaks another protocol, or was taken over: this ends the broker. */
START_TEST(an_unknown_question_ends_the_broker)
{
	struct hv_guest *guest = small_guest_open(&small);
	struct hv_broker_server *server = hv_broker_server_new(guest, HV_ADOPTS_NOTHING);
	const struct hv_message unknown = {.kind = 999};

	expect_error(hv_broker_server_answer(server, -1, &unknown), ENOSYS, "unknown question 999");
	hv_broker_server_free(server);
	hv_guest_free(guest);
}
END_TEST

START_TEST(invalid_writes_are_refused)
{
	static struct hv_hold_write unknown[] = {{.gpa = {0x2000}, .len_bytes = 1}};
	static struct hv_hold_write empty[] = {{.gpa = {0x2000}}};
	static struct hv_hold_write long_one[] = {
		{.gpa = {0x2000}, .len_bytes = HV_SITE_LEN_MAX + 1}};
	static struct hv_hold_write descending[] = {{.gpa = {0x2000}, .len_bytes = 1},
						    {.gpa = {0x1000}, .len_bytes = 1}};
	struct hv_guest *g = open_client();
	struct hv_hold *hold;

	memset(&unknown[0].is_text, 2, 1);
	expect_success(hv_hold_begin(g, HV_NS_PER_S, &hold));
	check_question(&(struct hv_message)WRITES(unknown),
		       "the service asks for a write of no known kind");
	check_question(&(struct hv_message)WRITES(empty),
		       "the service asks for a write of too many bytes");
	check_question(&(struct hv_message)WRITES(long_one),
		       "the service asks for a write of too many bytes");
	check_question(&(struct hv_message)WRITES(descending),
		       "the service asks for writes that are not in order");
	expect_success(hv_hold_end(hold, NULL));
	end(g);
}
END_TEST

/* Sends request KIND with the numbers A and B, which the broker must refuse. */
static void check_refused(uint32_t kind, uint64_t a, uint64_t b, const char *words)
{
	check_question(&(struct hv_message){.kind = kind, .args = {a, b}}, words);
}

START_TEST(the_files_of_the_ram_are_given_once)
{
	struct hv_guest *g = open_client(); /* has requested them already */

	check_refused(HV_ASK_RAM, 0, 0, "the service asks for the RAM's files again");
	end(g);
}
END_TEST

START_TEST(questions_that_need_or_exclude_a_hold)
{
	struct hv_guest *g = open_client();
	struct hv_region region;
	struct hv_hold *hold;

	ck_assert_ptr_null(hv_guest_region(g, &region));
	ck_assert_ptr_null(hv_hold_begin(g, HV_NS_PER_S, &hold));
	check_refused(HV_ASK_HOLD_FLUSH, region.len_bytes, 4096, "a flush outside the region");
	check_refused(HV_ASK_HOLD_FLUSH, UINT64_MAX - 4095, 8192, "a flush outside the region");
	check_refused(HV_ASK_HOLD_FLUSH, 0, 4095, "a flush outside the region");
	check_refused(HV_ASK_REGION, 0, 0, "a request that is not allowed in a hold");
	check_refused(HV_ASK_LET_RUN, 0, 0, "a request that is not allowed in a hold");
	check_refused(HV_ASK_PREPARE_HOLD, 0, 0, "a request that is not allowed in a hold");
	check_refused(HV_ASK_STOP_AT, SMALL_TEXT, 0, "a request that is not allowed in a hold");
	check_refused(HV_ASK_END_STOP, 0, 0, "a request that is not allowed in a hold");
	check_refused(HV_ASK_RUN_TO, SMALL_TEXT, 0, "a request that is not allowed in a hold");
	ck_assert_ptr_null(hv_hold_end(hold, NULL));
	end(g);
}
END_TEST

/* Another process may have the VMM's pid, and must not be traced. */
START_TEST(a_vmm_that_has_ended_is_not_traced)
{
	struct hv_host_threads threads = {0};
	struct hv_guest *g;

	has_ended = true;
	g = open_client();
	expect_error(hv_guest_host_trace(g, 1, &threads), ESRCH,
		     "events of the host: the VMM, process 7, has ended");
	end(g);
	has_ended = false;
}
END_TEST

START_TEST(a_guest_is_stopped_at_an_instruction)
{
	struct hv_guest *g = open_client();
	struct pollfd stopped = {hv_guest_stop_fd(g), POLLIN, 0};
	bool is_at_stop = true;
	struct hv_err *err;

	ck_assert_int_eq(hv_guest_exit_fd(g), -1);
	ck_assert_int_eq(poll(&stopped, 1, 0), 0);
	ck_assert_ptr_null(hv_guest_is_at_stop(g, &is_at_stop));
	ck_assert(!is_at_stop);
	ck_assert_ptr_null(hv_guest_stop_at(g, hv_gva(SMALL_TEXT)));
	ck_assert_int_eq(poll(&stopped, 1, 0), 1);
	ck_assert_ptr_null(hv_guest_is_at_stop(g, &is_at_stop));
	ck_assert(is_at_stop);
	err = hv_guest_stop_at(g, hv_gva(SMALL_TEXT));
	ck_assert_int_eq(err->code, EBUSY);
	hv_err_free(err);
	hv_guest_end_stop(g);
	ck_assert_ptr_null(hv_guest_is_at_stop(g, &is_at_stop));
	ck_assert(!is_at_stop);
	ck_assert_ptr_null(hv_guest_run_to(g, hv_gva(SMALL_TEXT)));
	err = hv_guest_run_to(g, hv_gva(SMALL_TEXT + 1));
	ck_assert_int_eq(err->code, ECANCELED);
	hv_err_free(err);
	end(g);
}
END_TEST

/* The broker of an `hvtrace run` machine reaches it as a service reaches a broker, and forwards the
 * files of RAM and region. */
START_TEST(a_broker_forwards_a_machine)
{
	struct hv_hold_write w = {
		.gpa = hv_gpa(SMALL_REGION + 64), .len_bytes = 4, .bytes = {1, 2, 3, 4}};
	struct hv_guest *g = NULL;
	struct hv_region region;
	struct hv_hold *hold;
	struct hv_err *err;
	uint8_t bytes[5];

	begin(serve_machine);
	ck_assert_ptr_null(hv_broker_client_guest(ours, &g));
	ck_assert_uint_eq(hv_broker_client_readable_ram(g)->nr, 1);
	ck_assert_ptr_null(hv_guest_read(g, hv_gpa(0x1010), bytes, 5));
	ck_assert_mem_eq(bytes, "\x0f\x1f\x44\x00\x00", 5);
	ck_assert_ptr_null(hv_guest_region(g, &region));
	ck_assert_int_eq(region.fd, -1);
	ck_assert_ptr_null(hv_hold_begin(g, HV_NS_PER_S, &hold));
	ck_assert_ptr_null(hv_hold_write(hold, &w, 1));
	ck_assert_mem_eq(region.host + 64, w.bytes, 4);
	w.gpa = hv_gpa(0x2000);
	err = hv_hold_write(hold, &w, 1);
	ck_assert_int_eq(err->code, EPERM);
	hv_err_free(err);
	ck_assert_ptr_null(hv_hold_end(hold, NULL));
	ck_assert_ptr_null(hv_guest_stop_at(g, hv_gva(SMALL_TEXT)));
	ck_assert_int_eq(poll(&(struct pollfd){hv_guest_stop_fd(g), POLLIN, 0}, 1, 0), 1);
	end(g);
}
END_TEST

static void check_code(struct hv_err *err, int code)
{
	ck_assert_ptr_nonnull(err);
	ck_assert_msg(err->code == code, "%s: %s", strerror(err->code), err->message);
	hv_err_free(err);
}

/* The broker's buffer for the registers of all vCPUs must not overflow. */
START_TEST(a_vmm_cannot_have_too_many_vcpus)
{
	struct hv_message open = {.kind = HV_ASK_OPEN}, count = {.kind = HV_ASK_COUNT};
	struct hv_message hold = {.kind = HV_ASK_HOLD_BEGIN};
	struct hv_message registers = {.kind = HV_ASK_REGISTERS};
	HV_AUTO_MESSAGE struct hv_message answer = {0};

	begin(serve_liar);
	ck_assert_ptr_null(hv_channel_ask(ours, &open, &answer));
	hv_message_deinit(&answer);
	check_code(hv_channel_ask(ours, &count, &answer), E2BIG);
	check_code(hv_channel_ask(ours, &registers, &answer), EAGAIN);
	check_code(hv_channel_ask(ours, &hold, &answer), E2BIG);
	registers.kind = HV_ASK_HOLD_REGISTERS;
	check_code(hv_channel_ask(ours, &registers, &answer), EPROTO);
	end(NULL);
}
END_TEST

/* The VMM's claims about its identity are not trusted: the id is a path in the run directory. */
START_TEST(a_vmm_cannot_choose_its_identity)
{
	struct hv_guest *g = NULL;

	begin(serve_liar);
	ck_assert_ptr_null(hv_broker_client_guest(ours, &g));
	ck_assert_str_eq(hv_guest_info(g)->name, "mine");
	ck_assert_str_eq(hv_guest_info(g)->id, "mine");
	ck_assert_int_eq(hv_guest_info(g)->pid, broker); /* which created the VMM's socket */
	end(g);
}
END_TEST

START_TEST(a_vmm_has_a_known_architecture)
{
	static const char *const names[] = {"", "vax", "x86_64x86_64x86_64"};
	struct hv_guest *g = NULL;

	claimed_arch = names[_i];
	begin(serve_liar);
	expect_error(hv_broker_client_guest(ours, &g), EPROTO,
		     "the privileged process reports an unknown architecture or accelerator");
	end(NULL);
}
END_TEST

/* Host events require the threads of all vCPUs. */
START_TEST(all_vcpus_are_asked_for)
{
	struct hv_guest *g = open_client();
	HV_AUTO_TEXT struct hv_text formats = {0};
	HV_AUTO_ERR struct hv_err *err = hv_guest_host_formats(g, &formats);

	ck_assert_ptr_nonnull(err);
	ck_assert_int_eq(err->code, ESRCH);
	end(g);
}
END_TEST

START_TEST(messages_are_bounded)
{
	static const uint64_t huge[6] = {HV_ASK_READ, 1ull << 40};
	HV_AUTO_MESSAGE struct hv_message m = {0};
	HV_AUTO_ERR struct hv_err *err = NULL;
	int ends[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	ck_assert_int_eq(send(ends[0], huge, sizeof(huge), 0), sizeof(huge));
	err = hv_channel_receive(ends[1], &m);
	ck_assert_int_eq(err->code, EPROTO);
	ck_assert_str_eq(err->message, "a message of 1099511627776 bytes and 0 files is malformed; "
				       "0 files arrived");
	ck_assert(!m.bytes && !m.nr_fds);
	close(ends[0]);
	close(ends[1]);
}
END_TEST

/* Returns the error that a client makes of an answer with these values. */
static struct hv_err *error_for(uint64_t code, uint64_t facts, uint64_t reason_off)
{
	const uint64_t answer[6] = {1, 4, code, facts, reason_off};
	HV_AUTO_MESSAGE struct hv_message got = {0};
	struct hv_err *err;
	int ends[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	ck_assert_int_eq(send(ends[1], answer, sizeof(answer), 0), sizeof(answer));
	ck_assert_int_eq(send(ends[1], "a\033b", 4, 0), 4);
	err = hv_channel_ask(ends[0], &(struct hv_message){.kind = HV_ASK_OPEN}, &got);
	close(ends[0]);
	close(ends[1]);
	return err;
}

START_TEST(any_error_number_is_accepted)
{
	static const uint64_t codes[] = {0,	     1ull << 32, 1ull << 31, UINT32_MAX,
					 UINT64_MAX, 4096,	 134};

	for (size_t i = 0; i < HV_ARRAY_LEN(codes); i++) {
		HV_AUTO_ERR struct hv_err *err = error_for(codes[i], UINT64_MAX, UINT64_MAX);

		ck_assert_int_eq(err->code, EPROTO);
		ck_assert_uint_eq(err->facts, HV_ERR_FACTS);
		ck_assert_str_eq(err->message, "a?b");
		ck_assert_ptr_eq(err->reason, err->message);
	}
}
END_TEST

START_TEST(a_message_has_a_deadline)
{
	HV_AUTO_MESSAGE struct hv_message m = {0};
	HV_AUTO_ERR struct hv_err *err = NULL;
	int ends[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	ck_assert_int_eq(send(ends[0], "part", 4, 0), 4);
	err = hv_channel_receive_by(ends[1], hv_now_ns() + 20 * HV_NS_PER_MS, &m);
	ck_assert_int_eq(err->code, ETIMEDOUT);
	ck_assert_str_eq(err->message, "the other process of the session does not answer in time");
	close(ends[0]);
	close(ends[1]);
}
END_TEST

START_TEST(an_answer_is_bounded)
{
	const struct hv_message too_long = {.len_bytes = HV_MESSAGE_BYTES_MAX + 1};
	HV_AUTO_MESSAGE struct hv_message got = {0};
	int ends[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	expect_success(hv_channel_answer(ends[1], NULL, &too_long));
	expect_error(hv_channel_ask(ends[0], &(struct hv_message){.kind = HV_ASK_OPEN}, &got),
		     EMSGSIZE, "an answer of 4194305 bytes is too long");
	close(ends[0]);
	close(ends[1]);
}
END_TEST

/* -- a privileged process that was taken over --------------------------------------------------- */

static int its;

/* Opens a guest with two vCPUs. The answers are sent before the requests. */
static struct hv_guest *open_taken(void)
{
	struct hv_broker_info info = {
		.pid = 7, .accel = HV_ACCEL_KVM, .nr_vcpus = 2, .arch = "x86_64"};
	uint8_t bytes[sizeof(info) + 6] = {0};
	struct hv_message open = {.bytes = bytes, .len_bytes = sizeof(bytes)};
	struct hv_guest *g = NULL;
	int ends[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	ours = ends[0];
	its = ends[1];
	memcpy(bytes, &info, sizeof(info));
	memcpy(bytes + sizeof(info), "g\0g\0", 4);
	expect_success(hv_channel_answer(its, NULL, &open));
	expect_success(hv_channel_answer(its, hv_err_new(ENOTSUP, "no files"), &open));
	expect_success(hv_broker_client_guest(ours, &g));
	return g;
}

static void close_taken(struct hv_guest *g)
{
	hv_guest_free(g);
	close(ours);
	close(its);
}

START_TEST(invalid_answers_are_refused)
{
	struct hv_guest *g = open_taken();
	struct hv_vcpu_regs regs[2];
	struct hv_message answer = {.bytes = (uint8_t *)regs, .len_bytes = 3};
	uint8_t bytes[5];

	expect_success(hv_channel_answer(its, NULL, &answer));
	expect_error(hv_guest_read(g, hv_gpa(0), bytes, sizeof(bytes)), EAGAIN,
		     "the privileged process returned 3 bytes instead of 5; retry");
	memset(regs, 0xff, sizeof(regs));
	answer.len_bytes = sizeof(regs);
	expect_success(hv_channel_answer(its, NULL, &answer));
	expect_error(hv_guest_registers(g, regs, 2), EPROTO,
		     "the privileged process reports registers that no vCPU has");
	answer.len_bytes = sizeof(struct hv_broker_info);
	expect_success(hv_channel_answer(its, NULL, &answer));
	expect_error(hv_broker_client_guest(ours, &g), EPROTO,
		     "the answer of the privileged process is too short");
	close_taken(g);
}
END_TEST

START_TEST(an_invalid_region_is_refused)
{
	struct hv_guest *g = open_taken();
	HV_AUTO_FD int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct hv_message answer = {.args = {SMALL_REGION, 4096}};
	struct hv_region region;

	expect_success(hv_channel_answer(its, NULL, &answer));
	expect_error(hv_guest_region(g, &region), EPROTO,
		     "the region: 0 files arrived instead of two");
	answer.fds[0] = answer.fds[1] = null;
	answer.nr_fds = 2;
	expect_success(hv_channel_answer(its, NULL, &answer));
	expect_error(hv_guest_region(g, &region), ENODEV,
		     "mapping the region: the journal that the host keeps: mmap: No such device");
	close_taken(g);
}
END_TEST

static struct hv_err *keep_journal(void *ctx)
{
	return hv_kept_make(&(struct hv_region){0}, ctx);
}

START_TEST(a_journal_that_cannot_be_kept)
{
	static const struct failing_call no_file[] = {{SCMP_SYS(memfd_create), EMFILE}, {0}};
	static const struct failing_call no_room[] = {{SCMP_SYS(ftruncate), ENOSPC}, {0}};
	struct hv_kept kept = HV_KEPT_NONE;

	expect_failure(no_file, keep_journal, &kept, EMFILE,
		       "the journal that the host keeps: memfd_create: Too many open files");
	expect_failure(no_room, keep_journal, &kept, ENOSPC,
		       "the journal that the host keeps: its length: No space left on device");
}
END_TEST

static struct hv_err *open_machine(void *ctx)
{
	return hv_broker_client_machine(ours, "mine", ctx);
}

START_TEST(a_socket_without_a_peer)
{
	static const struct failing_call no_peer[] = {{SCMP_SYS(getsockopt), ENOBUFS}, {0}};
	struct hv_broker_info info = {.accel = HV_ACCEL_KVM, .nr_vcpus = 2, .arch = "x86_64"};
	struct hv_guest *g = open_taken(), *machine = NULL;
	uint8_t bytes[sizeof(info) + 3] = {0};
	struct hv_message open = {.bytes = bytes, .len_bytes = sizeof(bytes)};

	memcpy(bytes, &info, sizeof(info));
	expect_success(hv_channel_answer(its, NULL, &open));
	expect_failure(no_peer, open_machine, &machine, ENOBUFS,
		       "the VMM's socket: No buffer space available");
	close_taken(g);
}
END_TEST

static void add(TCase *tc)
{
	tcase_add_test(tc, the_client_sees_the_guest);
	tcase_add_test(tc, the_start_of_the_region_is_copied);
	tcase_add_test(tc, ram_is_read_with_and_without_a_window);
	tcase_add_test(tc, errors_arrive_complete);
	tcase_add_test(tc, writes_need_a_hold_and_pass_the_rules);
	tcase_add_test(tc, a_hold_may_allow_hidden_vcpus);
	tcase_add_test(tc, a_hold_that_is_left_ends);
	tcase_add_test(tc, invalid_questions_are_refused);
	tcase_add_test(tc, an_unknown_question_ends_the_broker);
	tcase_add_test(tc, invalid_writes_are_refused);
	tcase_add_test(tc, invalid_answers_are_refused);
	tcase_add_test(tc, an_invalid_region_is_refused);
	tcase_add_test(tc, a_journal_that_cannot_be_kept);
	tcase_add_test(tc, a_socket_without_a_peer);
	tcase_add_test(tc, the_files_of_the_ram_are_given_once);
	tcase_add_test(tc, questions_that_need_or_exclude_a_hold);
	tcase_add_test(tc, a_vmm_that_has_ended_is_not_traced);
	tcase_add_test(tc, a_guest_is_stopped_at_an_instruction);
	tcase_add_test(tc, a_broker_forwards_a_machine);
	tcase_add_test(tc, a_vmm_cannot_have_too_many_vcpus);
	tcase_add_test(tc, a_vmm_cannot_choose_its_identity);
	tcase_add_loop_test(tc, a_vmm_has_a_known_architecture, 0, 3);
	tcase_add_test(tc, all_vcpus_are_asked_for);
	tcase_add_test(tc, messages_are_bounded);
	tcase_add_test(tc, any_error_number_is_accepted);
	tcase_add_test(tc, a_message_has_a_deadline);
	tcase_add_test(tc, an_answer_is_bounded);
}

int main(void)
{
	return run_suite("client", add);
}
