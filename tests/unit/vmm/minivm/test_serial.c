/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The serial port. The test acts as the guest on one side, and uses the pipes on the other. */
#include <check.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/guard.h"
#include "tests/lib/run_suite.h"
#include "vmm/minivm/serial.h"

enum { DATA, IER, IIR, LCR, MCR, LSR, MSR, SCRATCH, FCR = IIR };

#define PATIENCE_MS 20000

static struct hv_minivm_serial *s;
static int in[2], out[2];
static unsigned level;

static void on_irq(void *ctx, unsigned now)
{
	(void)ctx;
	__atomic_store_n(&level, now, __ATOMIC_SEQ_CST);
}

static unsigned irq(void)
{
	return __atomic_load_n(&level, __ATOMIC_SEQ_CST);
}

static void setup(void)
{
	struct hv_err *err;

	level = 0;
	signal(SIGPIPE, SIG_IGN);
	ck_assert(pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0);
	err = hv_minivm_serial_new(in[0], out[1], on_irq, NULL, &s);
	ck_assert_ptr_null(err);
	ck_assert_ptr_null(hv_minivm_serial_start(s));
}

static void teardown(void)
{
	hv_minivm_serial_free(s);
	for (unsigned i = 0; i < 2; i++) {
		close(in[i]);
		close(out[i]);
	}
}

static void until(unsigned reg, uint8_t mask, uint8_t value)
{
	for (unsigned i = 0; i < PATIENCE_MS; i++) {
		if ((hv_minivm_serial_read(s, reg) & mask) == value)
			return;
		poll(NULL, 0, 1);
	}
	ck_abort_msg("register %u has 0x%x", reg, hv_minivm_serial_read(s, reg));
}

static void until_irq(unsigned wanted)
{
	for (unsigned i = 0; i < PATIENCE_MS && irq() != wanted; i++)
		poll(NULL, 0, 1);
	ck_assert_uint_eq(irq(), wanted);
}

START_TEST(output_arrives_in_order)
{
	char got[6] = "";

	for (const char *c = "hello"; *c; c++)
		hv_minivm_serial_write(s, DATA, (uint8_t)*c);
	for (size_t n = 0; n < 5;) {
		ssize_t more = read(out[0], got + n, 5 - n);

		ck_assert_int_gt(more, 0);
		n += (size_t)more;
	}
	ck_assert_str_eq(got, "hello");
}
END_TEST

START_TEST(input_interrupts)
{
	hv_minivm_serial_write(s, IER, 1);
	ck_assert_uint_eq(irq(), 0);
	ck_assert_int_eq(write(in[1], "ab", 2), 2);
	until_irq(1);
	ck_assert_uint_eq(hv_minivm_serial_read(s, IIR) & 0xf, 4);
	until(LSR, 1, 1);
	ck_assert_uint_eq(hv_minivm_serial_read(s, DATA), 'a');
	ck_assert_uint_eq(hv_minivm_serial_read(s, DATA), 'b');
	ck_assert_uint_eq(irq(), 0);
	ck_assert_uint_eq(hv_minivm_serial_read(s, IIR) & 0xf, 1);
	ck_assert_uint_eq(hv_minivm_serial_read(s, DATA), 0);
}
END_TEST

START_TEST(much_input_is_not_lost)
{
	uint8_t byte;

	hv_minivm_serial_write(s, IER, 1);
	for (unsigned i = 0; i < 1000; i++) {
		byte = (uint8_t)i;
		ck_assert_int_eq(write(in[1], &byte, 1), 1);
	}
	for (unsigned i = 0; i < 1000; i++) {
		until(LSR, 1, 1);
		ck_assert_uint_eq(hv_minivm_serial_read(s, DATA), (uint8_t)i);
	}
}
END_TEST

/* Sets the registers as Linux does before it reads input (autoconfig, serial8250_do_startup), with
 * a pause. */
static void open_port(void)
{
	hv_minivm_serial_write(s, IER, 0xf);
	poll(NULL, 0, 20);
	hv_minivm_serial_write(s, IER, 0);
	hv_minivm_serial_write(s, FCR, 1);
	hv_minivm_serial_write(s, FCR, 7);
	hv_minivm_serial_write(s, FCR, 0);
	hv_minivm_serial_read(s, LSR);
	hv_minivm_serial_read(s, DATA);
	hv_minivm_serial_write(s, IER, 5);
	hv_minivm_serial_write(s, FCR, 1);
}

static void reads(const char *text)
{
	for (; *text; text++) {
		until(LSR, 1, 1);
		ck_assert_uint_eq(hv_minivm_serial_read(s, DATA), (uint8_t)*text);
	}
}

START_TEST(input_waits_for_the_port_to_be_opened)
{
	char early[150];

	memset(early, 'e', sizeof(early) - 1);
	early[sizeof(early) - 1] = '\0';
	ck_assert_int_eq(write(in[1], early, sizeof(early) - 1), sizeof(early) - 1);
	poll(NULL, 0, 20);
	ck_assert_uint_eq(hv_minivm_serial_read(s, LSR) & 1, 0);
	open_port();
	reads(early);
	hv_minivm_serial_write(s, IER, 0); /* closed: input from now on is for the next opener */
	hv_minivm_serial_write(s, FCR, 0);
	ck_assert_int_eq(write(in[1], "again", 5), 5);
	poll(NULL, 0, 20);
	open_port();
	reads("again");
}
END_TEST

START_TEST(a_clear_loses_nothing)
{
	ck_assert_int_eq(write(in[1], "ab", 2), 2);
	hv_minivm_serial_write(s, IER, 1);
	until(LSR, 1, 1);
	hv_minivm_serial_write(s, IER, 0);
	hv_minivm_serial_write(s, FCR, 3);
	ck_assert_uint_eq(hv_minivm_serial_read(s, LSR) & 1, 0);
	ck_assert_uint_eq(hv_minivm_serial_read(s, DATA), 0);
	hv_minivm_serial_write(s, IER, 1);
	hv_minivm_serial_write(s, FCR, 3);
	reads("ab");
}
END_TEST

START_TEST(input_stays_readable)
{
	ck_assert_int_eq(write(in[1], "ab", 2), 2);
	hv_minivm_serial_write(s, IER, 1);
	until(LSR, 1, 1);
	hv_minivm_serial_write(s, IER, 0);
	ck_assert_uint_eq(hv_minivm_serial_read(s, LSR) & 1, 1);
	ck_assert_uint_eq(hv_minivm_serial_read(s, DATA), 'a');
	ck_assert_uint_eq(hv_minivm_serial_read(s, DATA), 0);
}
END_TEST

/* Polls for input as a boot loader or kgdb does. */
START_TEST(polling_gets_input)
{
	ck_assert_int_eq(write(in[1], "abc", 3), 3);
	reads("ab");
	hv_minivm_serial_write(s, DATA, 'x'); /* an echo */
	ck_assert_uint_eq(hv_minivm_serial_read(s, LSR) & 1, 1);
	hv_minivm_serial_write(s, FCR, 7); /* opened again */
	ck_assert_uint_eq(hv_minivm_serial_read(s, LSR) & 1, 0);
	ck_assert_uint_eq(hv_minivm_serial_read(s, DATA), 0);
	reads("c");
}
END_TEST

START_TEST(waiting_for_room_is_not_polling)
{
	ck_assert_int_eq(write(in[1], "a", 1), 1);
	poll(NULL, 0, 20);
	for (unsigned i = 0; i < 1000; i++) {
		ck_assert_uint_eq(hv_minivm_serial_read(s, LSR) & 1, 0);
		hv_minivm_serial_write(s, DATA, 'x');
	}
	ck_assert_uint_eq(hv_minivm_serial_read(s, DATA), 0);
	reads("a");
}
END_TEST

START_TEST(loopback_ignores_input)
{
	ck_assert_int_eq(write(in[1], "line", 4), 4);
	hv_minivm_serial_write(s, IER, 1);
	until_irq(1);
	hv_minivm_serial_write(s, MCR, 0x10);
	ck_assert_uint_eq(irq(), 0);
	ck_assert_uint_eq(hv_minivm_serial_read(s, LSR) & 1, 0);
	hv_minivm_serial_write(s, DATA, 'l');
	hv_minivm_serial_write(s, DATA, 'm');
	ck_assert_uint_eq(irq(), 1);
	ck_assert_uint_eq(hv_minivm_serial_read(s, DATA), 'l');
	hv_minivm_serial_write(s, MCR, 0);
	reads("line");
	hv_minivm_serial_write(s, MCR, 0x10);
	ck_assert_uint_eq(hv_minivm_serial_read(s, LSR) & 1, 0);
}
END_TEST

START_TEST(room_for_output_interrupts_once)
{
	hv_minivm_serial_write(s, IER, 2);
	ck_assert_uint_eq(irq(), 1);
	ck_assert_uint_eq(hv_minivm_serial_read(s, IIR) & 0xf, 2);
	ck_assert_uint_eq(irq(), 0);
	hv_minivm_serial_write(s, DATA, 'x');
	ck_assert_uint_eq(irq(), 1);
}
END_TEST

static bool line_is_full(void)
{
	return poll(&(struct pollfd){.fd = out[1], .events = POLLOUT}, 1, 0) == 0;
}

/* On a loaded host the thread that forwards the bytes may be late. The line status must then show a
 * full line, so that nothing is lost. */
START_TEST(a_full_line_is_reported)
{
	char drop[65536];
	unsigned nr = 0, idle_ms = 0;

	while (idle_ms < (line_is_full() ? 200 : 20000) && nr < 1000000) {
		if (!(hv_minivm_serial_read(s, LSR) & 0x20)) {
			usleep(1000);
			idle_ms++;
			continue;
		}
		hv_minivm_serial_write(s, DATA, 'x');
		nr++;
		idle_ms = 0;
	}
	ck_assert_uint_gt(nr, 65536);
	ck_assert_uint_lt(nr, 1000000);
	hv_minivm_serial_write(s, IER, 2);
	ck_assert_uint_eq(irq(), 0);
	ck_assert_int_gt(read(out[0], drop, sizeof(drop)), 0);
	until_irq(1);
	until(LSR, 0x60, 0x60);
}
END_TEST

START_TEST(registers_that_drivers_probe)
{
	hv_minivm_serial_write(s, LCR, 0x80);
	hv_minivm_serial_write(s, DATA, 12);
	hv_minivm_serial_write(s, IER, 34);
	ck_assert_uint_eq(hv_minivm_serial_read(s, DATA), 12);
	ck_assert_uint_eq(hv_minivm_serial_read(s, IER), 34);
	hv_minivm_serial_write(s, LCR, 3);
	ck_assert_uint_eq(hv_minivm_serial_read(s, LCR), 3);
	ck_assert_uint_eq(hv_minivm_serial_read(s, IER), 0);
	hv_minivm_serial_write(s, SCRATCH, 0x5a);
	ck_assert_uint_eq(hv_minivm_serial_read(s, SCRATCH), 0x5a);
	hv_minivm_serial_write(s, MCR, 0x1a); /* loopback, RTS, OUT2 */
	ck_assert_uint_eq(hv_minivm_serial_read(s, MSR) & 0xf0, 0x90);
	hv_minivm_serial_write(s, DATA, 'l');
	ck_assert_uint_eq(hv_minivm_serial_read(s, DATA), 'l');
	hv_minivm_serial_write(s, IIR, 1);
	ck_assert_uint_eq(hv_minivm_serial_read(s, IIR) & 0xc0, 0xc0);
}
END_TEST

START_TEST(output_continues_without_a_reader)
{
	close(out[0]);
	for (unsigned i = 0; i < 100; i++)
		hv_minivm_serial_write(s, DATA, 'x');
	until(LSR, 0x60, 0x60);
	out[0] = dup(out[1]);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_set_timeout(tc, 30);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, output_arrives_in_order);
	tcase_add_test(tc, input_interrupts);
	tcase_add_test(tc, much_input_is_not_lost);
	tcase_add_test(tc, input_waits_for_the_port_to_be_opened);
	tcase_add_test(tc, a_clear_loses_nothing);
	tcase_add_test(tc, input_stays_readable);
	tcase_add_test(tc, polling_gets_input);
	tcase_add_test(tc, waiting_for_room_is_not_polling);
	tcase_add_test(tc, loopback_ignores_input);
	tcase_add_test(tc, room_for_output_interrupts_once);
	tcase_add_test(tc, a_full_line_is_reported);
	tcase_add_test(tc, registers_that_drivers_probe);
	tcase_add_test(tc, output_continues_without_a_reader);
}

int main(void)
{
	return run_suite("minivm_serial", add_tests);
}
