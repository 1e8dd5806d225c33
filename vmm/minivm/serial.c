/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Source: data sheet of the PC16550D. */
#include "vmm/minivm/serial.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/guard.h"
#include "base/clock.h"

#define OUT_BYTES 65536u
#define IN_BYTES  64u
/* This many consecutive reads of a status with room for output count as polling for input. */
#define LOOKS	  16u

enum { REG_DATA, REG_IER, REG_IIR, REG_LCR, REG_MCR, REG_LSR, REG_MSR, REG_SCRATCH };

#define IER_IN	     1
#define IER_OUT	     2
#define IIR_NONE     1
#define IIR_OUT	     2
#define IIR_IN	     4
#define IIR_FIFO     0xc0
#define LCR_DIVISOR  0x80
#define MCR_LOOP     0x10
#define LSR_IN	     1
#define LSR_OUT	     0x60 /* holding register and transmitter are empty */
#define MSR_PRESENT  0xb0 /* carrier detect, data set ready, clear to send */
#define FCR_ENABLE   1
#define FCR_CLEAR_IN 2

struct fifo {
	uint8_t bytes[IN_BYTES];
	unsigned at, nr;
};

struct hv_minivm_serial {
	pthread_mutex_t lock;
	pthread_t pump;
	bool pumping;
	bool ends;
	int in_fd, out_fd; /* borrowed */
	int wake_fd;
	void (*on_irq)(void *ctx, unsigned level);
	void *ctx;
	unsigned irq;

	uint8_t ier, lcr, mcr, fcr, scratch, divisor[2];
	bool out_done;	   /* the interrupt for completed output is pending */
	unsigned nr_looks; /* consecutive polls for input; stays at LOOKS until the port is set up
			      again */
	bool is_shown;	   /* the guest saw in the status that there is input, and has not read or
			      cleared it */
	struct fifo in; /* input on the line; the port receives it when the guest reads or polls for
			   input */
	struct fifo looped;
	uint8_t out[OUT_BYTES];
	unsigned out_at, out_nr;
};

static void wake(struct hv_minivm_serial *s)
{
	uint64_t one = 1;
	ssize_t n = write(s->wake_fd, &one, sizeof(one));

	(void)n; /* if the counter is full, the pump thread is awake already */
}

static bool has_room(const struct hv_minivm_serial *s)
{
	return s->out_nr < OUT_BYTES;
}

static void put(struct fifo *f, uint8_t byte)
{
	if (f->nr < IN_BYTES)
		f->bytes[(f->at + f->nr++) % IN_BYTES] = byte;
}

static uint8_t take(struct fifo *f)
{
	uint8_t byte = f->bytes[f->at];

	f->at = (f->at + 1) % IN_BYTES;
	f->nr--;
	return byte;
}

/* In loopback the port receives only its own output, nothing from the line. */
static bool has_in(const struct hv_minivm_serial *s)
{
	if (s->mcr & MCR_LOOP)
		return s->looped.nr;
	return s->in.nr && (s->ier & IER_IN || s->nr_looks == LOOKS || s->is_shown);
}

static uint8_t take_in(struct hv_minivm_serial *s)
{
	if (!has_in(s))
		return 0;
	if (s->mcr & MCR_LOOP)
		return take(&s->looped);
	if (s->in.nr == IN_BYTES)
		wake(s);
	s->is_shown = false;
	return take(&s->in);
}

static void update_irq(struct hv_minivm_serial *s)
{
	unsigned level = (s->ier & IER_IN && has_in(s)) || (s->ier & IER_OUT && s->out_done);

	if (level != s->irq)
		s->on_irq(s->ctx, level);
	s->irq = level;
}

static uint8_t identify(struct hv_minivm_serial *s)
{
	uint8_t fifo = s->fcr & FCR_ENABLE ? IIR_FIFO : 0;

	if (s->ier & IER_IN && has_in(s))
		return IIR_IN | fifo;
	if (!(s->ier & IER_OUT) || !s->out_done)
		return IIR_NONE | fifo;
	s->out_done = false;
	return IIR_OUT | fifo;
}

/* In loopback the four modem outputs are connected to the four inputs. */
static uint8_t modem_status(const struct hv_minivm_serial *s)
{
	if (!(s->mcr & MCR_LOOP))
		return MSR_PRESENT;
	return (uint8_t)((s->mcr & 2) << 3 | (s->mcr & 1) << 5 | (s->mcr & 4) << 4 |
			 (s->mcr & 8) << 4);
}

static uint8_t line_status(struct hv_minivm_serial *s)
{
	bool room = has_room(s), in;

	if (room && s->nr_looks < LOOKS)
		s->nr_looks++;
	in = has_in(s);
	s->is_shown |= in && !(s->mcr & MCR_LOOP);
	return (uint8_t)((in ? LSR_IN : 0) | (room ? LSR_OUT : 0));
}

static uint8_t read_register(struct hv_minivm_serial *s, unsigned reg)
{
	if (s->lcr & LCR_DIVISOR && reg <= REG_IER)
		return s->divisor[reg];
	switch (reg) {
	case REG_DATA:
		return take_in(s);
	case REG_IER:
		return s->ier;
	case REG_IIR:
		return identify(s);
	case REG_LCR:
		return s->lcr;
	case REG_MCR:
		return s->mcr;
	case REG_LSR:
		return line_status(s);
	case REG_MSR:
		return modem_status(s);
	default:
		return s->scratch;
	}
}

static void put_out(struct hv_minivm_serial *s, uint8_t value)
{
	if (!has_room(s))
		return;
	s->out[(s->out_at + s->out_nr++) % OUT_BYTES] = value;
	s->out_done = has_room(s);
	if (s->out_nr == 1)
		wake(s);
}

static void set_ier(struct hv_minivm_serial *s, uint8_t value)
{
	if (value & IER_OUT && !(s->ier & IER_OUT))
		s->out_done = has_room(s);
	s->ier = value & 0xf;
}

/* Clearing the FIFO resets is_shown. Unread input stays on the line. */
static void set_fcr(struct hv_minivm_serial *s, uint8_t value)
{
	s->fcr = value;
	if (!(value & FCR_CLEAR_IN))
		return;
	s->is_shown = false;
	s->looped.nr = 0;
}

static void write_register(struct hv_minivm_serial *s, unsigned reg, uint8_t value)
{
	if (s->lcr & LCR_DIVISOR && reg <= REG_IER) {
		s->divisor[reg] = value;
		return;
	}
	switch (reg) {
	case REG_DATA:
		if (s->mcr & MCR_LOOP)
			put(&s->looped, value);
		else
			put_out(s, value);
		break;
	case REG_IER:
		set_ier(s, value);
		break;
	case REG_IIR: /* the FIFO control register when written */
		set_fcr(s, value);
		break;
	case REG_LCR:
		s->lcr = value;
		break;
	case REG_MCR:
		s->mcr = value & 0x1f;
		if (!(value & MCR_LOOP))
			s->looped.nr = 0;
		break;
	case REG_SCRATCH:
		s->scratch = value;
		break;
	default:
		break;
	}
}

uint8_t hv_minivm_serial_read(struct hv_minivm_serial *s, unsigned reg)
{
	uint8_t value;

	pthread_mutex_lock(&s->lock);
	if (reg != REG_LSR && s->nr_looks < LOOKS)
		s->nr_looks = 0;
	value = read_register(s, reg);
	update_irq(s);
	pthread_mutex_unlock(&s->lock);
	return value;
}

void hv_minivm_serial_write(struct hv_minivm_serial *s, unsigned reg, uint8_t value)
{
	pthread_mutex_lock(&s->lock);
	if (s->nr_looks < LOOKS || reg == REG_IER || reg == REG_IIR)
		s->nr_looks = 0;
	write_register(s, reg, value);
	update_irq(s);
	pthread_mutex_unlock(&s->lock);
}

static void pump_out(struct hv_minivm_serial *s)
{
	uint8_t chunk[4096];
	unsigned nr = 0;
	ssize_t n;

	pthread_mutex_lock(&s->lock);
	while (nr < s->out_nr && nr < sizeof(chunk)) {
		chunk[nr] = s->out[(s->out_at + nr) % OUT_BYTES];
		nr++;
	}
	pthread_mutex_unlock(&s->lock);
	n = write(s->out_fd, chunk, nr);
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	pthread_mutex_lock(&s->lock);
	if (n < 0) {
		s->out_nr = 0; /* the reader is gone */
	} else {
		s->out_at = (s->out_at + (unsigned)n) % OUT_BYTES;
		s->out_nr -= (unsigned)n;
	}
	s->out_done = true;
	update_irq(s);
	pthread_mutex_unlock(&s->lock);
}

static void pump_in(struct hv_minivm_serial *s)
{
	uint8_t chunk[IN_BYTES];
	ssize_t n;

	pthread_mutex_lock(&s->lock);
	n = read(s->in_fd, chunk, IN_BYTES - s->in.nr);
	for (ssize_t i = 0; i < n; i++)
		put(&s->in, chunk[i]);
	if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN))
		s->in_fd = -1;
	update_irq(s);
	pthread_mutex_unlock(&s->lock);
}

static void *pump(void *arg)
{
	struct hv_minivm_serial *s = arg;
	uint64_t until_ns = UINT64_MAX, count;

	for (;;) {
		struct pollfd fds[3] = {{s->wake_fd, POLLIN, 0}, {-1, POLLIN, 0}, {-1, POLLOUT, 0}};
		bool ends;

		pthread_mutex_lock(&s->lock);
		ends = s->ends;
		if (s->in.nr < IN_BYTES)
			fds[1].fd = s->in_fd;
		if (s->out_nr)
			fds[2].fd = s->out_fd;
		pthread_mutex_unlock(&s->lock);
		if (ends && until_ns == UINT64_MAX)
			until_ns = hv_now_ns() + HV_NS_PER_S;
		if (ends && (fds[2].fd < 0 || hv_now_ns() >= until_ns))
			return NULL;
		poll(fds, 3, ends ? hv_left_ms(until_ns) : -1);
		if (fds[0].revents && read(s->wake_fd, &count, sizeof(count)) < 0)
			continue;
		if (fds[1].revents)
			pump_in(s);
		if (fds[2].revents)
			pump_out(s);
	}
}

struct hv_err *hv_minivm_serial_new(int in_fd, int out_fd,
				    void (*on_irq)(void *ctx, unsigned level), void *ctx,
				    struct hv_minivm_serial **ret)
{
	struct hv_minivm_serial *s = hv_alloc(sizeof(*s));

	pthread_mutex_init(&s->lock, NULL);
	s->in_fd = in_fd;
	s->out_fd = out_fd;
	s->on_irq = on_irq;
	s->ctx = ctx;
	s->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->wake_fd < 0) {
		struct hv_err *err = hv_err_new(errno, "serial port: %s", strerror(errno));

		hv_minivm_serial_free(s);
		return err;
	}
	*ret = s;
	return NULL;
}

struct hv_err *hv_minivm_serial_start(struct hv_minivm_serial *s)
{
	int code = pthread_create(&s->pump, NULL, pump, s);

	s->pumping = !code;
	return code ? hv_err_new(code, "serial port: %s", strerror(code)) : NULL;
}

void hv_minivm_serial_free(struct hv_minivm_serial *s)
{
	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	s->ends = true;
	pthread_mutex_unlock(&s->lock);
	if (s->pumping) {
		wake(s);
		pthread_join(s->pump, NULL);
	}
	if (s->wake_fd >= 0)
		close(s->wake_fd);
	pthread_mutex_destroy(&s->lock);
	free(s);
}
