/* A 16550 serial port between a guest and two files of the host. Output waits in the port while the
 * host's file takes none; the guest is told so, as by a slow line, and does not stop. Input is
 * on the line until the guest looks for it, by wanting interrupts of it or reading the line's
 * status again and again, and leaves the line when it is read: what a driver reads and clears while
 * it probes or opens the port is not what the user has typed. Threads: any; one of them pumps.
 * Leaves to others: what the files are (cli/). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct hv_minivm_serial;

/* IN_FD may be -1. ON_IRQ is told the interrupt's level, with the port's lock held. */
struct hv_err *hv_minivm_serial_new(int in_fd, int out_fd,
				    void (*on_irq)(void *ctx, unsigned level), void *ctx,
				    struct hv_minivm_serial **ret) hv_must_use;
/* Writes what waits, for at most a second, and ends the pump. */
void hv_minivm_serial_free(struct hv_minivm_serial *s);

uint8_t hv_minivm_serial_read(struct hv_minivm_serial *s, unsigned reg);
void hv_minivm_serial_write(struct hv_minivm_serial *s, unsigned reg, uint8_t value);
