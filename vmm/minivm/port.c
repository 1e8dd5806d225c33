/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The devices with I/O ports that KVM does not emulate: a serial port, power management, and a PC's
 * reset. */
#include <string.h>

#include "base/clock.h"
#include "vmm/minivm/machine.h"
#include "vmm/minivm/tables.h"

#define KEYBOARD       0x64u
#define KEYBOARD_RESET 0xfe
#define CMOS_DATA      0x71u
#define RESET_NOW      4
#define PM_TIMER_HZ    3579545u
#define PM_OFF	       (1u << 13) /* SLP_EN */
#define PM_TYPE(c)     ((c) >> 10 & 7)
#define PM_ACPI_MODE   1

static uint32_t pm_timer(void)
{
	return (uint32_t)((unsigned __int128)hv_now_ns() * PM_TIMER_HZ / HV_NS_PER_S) & 0xffffff;
}

static uint32_t read_port(struct hv_minivm *o, unsigned port)
{
	switch (port) {
	case HV_MINIVM_PM_EVENT:
		return (uint32_t)o->pm_enable << 16;
	case HV_MINIVM_PM_EVENT + 2:
		return o->pm_enable;
	case HV_MINIVM_PM_CONTROL:
		return PM_ACPI_MODE;
	case HV_MINIVM_PM_TIMER:
		return pm_timer();
	case CMOS_DATA:
	case HV_MINIVM_RESET:
		return 0;
	default:
		return UINT32_MAX;
	}
}

/* Returns whether the write ends the machine. */
static bool write_port(struct hv_minivm *o, unsigned port, uint32_t value)
{
	switch (port) {
	case HV_MINIVM_PM_EVENT + 2:
		o->pm_enable = (uint16_t)value;
		return false;
	case HV_MINIVM_PM_CONTROL:
		return value & PM_OFF && PM_TYPE(value) == HV_MINIVM_OFF_TYPE;
	case KEYBOARD:
		return (value & 0xff) == KEYBOARD_RESET;
	case HV_MINIVM_RESET:
		return value & RESET_NOW;
	default:
		return false;
	}
}

void hv_minivm_port(struct hv_minivm *o, unsigned port, unsigned len_bytes, uint8_t *data,
		    bool is_write, bool *ret_ends)
{
	bool is_serial = port >= HV_MINIVM_SERIAL_PORT && port < HV_MINIVM_SERIAL_PORT + 8;
	uint32_t value = 0;

	*ret_ends = false;
	if (is_serial && is_write) {
		hv_minivm_serial_write(o->serial, port - HV_MINIVM_SERIAL_PORT, data[0]);
	} else if (is_serial) {
		memset(data, 0, len_bytes);
		data[0] = hv_minivm_serial_read(o->serial, port - HV_MINIVM_SERIAL_PORT);
	} else if (is_write) {
		memcpy(&value, data, len_bytes);
		*ret_ends = write_port(o, port, value);
	} else {
		value = read_port(o, port);
		memcpy(data, &value, len_bytes);
	}
}
