/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A 16550 serial port between a guest and two files of the host.
 *
 * Output waits in the port while the host's file accepts none; the guest sees a slow line and is
 * not stopped. Input stays on the line until the guest waits for it, by enabling its interrupt or
 * by reading the line status many times in a row, and leaves the line when it is read. So a driver
 * that reads and clears the port while it probes or opens it does not lose the user's input. Any
 * thread may call the functions; the port has a thread that reads and writes the files. cli/ opens
 * the files. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct hv_minivm_serial;

/* IN_FD may be -1. ON_IRQ gets the level of the interrupt line; it is called with the port's lock
 * held. */
struct hv_err *hv_minivm_serial_new(int in_fd, int out_fd,
				    void (*on_irq)(void *ctx, unsigned level), void *ctx,
				    struct hv_minivm_serial **ret) hv_must_use;
/* Starts the thread. The files are not used before. */
struct hv_err *hv_minivm_serial_start(struct hv_minivm_serial *s) hv_must_use;
/* Writes pending output, for at most a second, and ends the thread. */
void hv_minivm_serial_free(struct hv_minivm_serial *s);

uint8_t hv_minivm_serial_read(struct hv_minivm_serial *s, unsigned reg);
void hv_minivm_serial_write(struct hv_minivm_serial *s, unsigned reg, uint8_t value);
