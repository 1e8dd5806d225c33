/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/qemu/injected.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/prefix.h"
#include "vmm/qemu/memory_tree.h"
#include "vmm/qemu/options.h"
#include "vmm/qemu/pin.h"

#define GIB (1ull << 30)

/* Returns the end of the addresses that memory hotplug may use. Each DIMM is aligned to 1 GiB
 * (hw/i386/pc.c). */
static uint64_t hotplug_end(const struct hv_machine *m)
{
	const char *value = "";
	uint64_t bytes = 0;

	for (size_t i = 0; (i = hv_process_arg(&m->process, "-m", i, &value));) {
		HV_AUTO_FREE char *max = hv_option_value(value, "maxmem", NULL);
		HV_AUTO_FREE char *slots = hv_option_value(value, "slots", NULL);

		if (max && hv_size_parse(max, &bytes))
			bytes += (slots ? strtoul(slots, NULL, 10) + 2 : 258) * GIB;
	}
	return 4 * GIB + bytes;
}

/* Checks the address that the VMM reports as free: it must not overlap memory that hvtrace reads as
 * RAM. A wrong answer can otherwise harm only the VMM's own guest. */
static struct hv_err *check_place(const struct hv_machine *m, struct hv_gpa gpa, uint64_t len_bytes,
				  unsigned bits, uint64_t floor)
{
	const struct hv_ram *ram = &m->ram;
	uint64_t end = gpa.v + len_bytes;
	bool is_free = gpa.v >= floor && end > gpa.v && bits < 64 && end <= 1ull << bits &&
		       gpa.v % HV_PLACE_UNIT == 0;

	for (size_t i = 0; is_free && i < ram->nr_ranges; i++)
		is_free = ram->ranges[i].start.v >= end ||
			  ram->ranges[i].start.v + ram->ranges[i].len_bytes <= gpa.v;
	return is_free ? NULL
		       : hv_err_new(EPROTO,
				    "inject: the VMM reports that guest physical 0x%" PRIx64
				    " is free, but it is in use",
				    gpa.v);
}

static struct hv_err *find_place(void *self, unsigned phys_bits, uint64_t len_bytes,
				 struct hv_gpa *ret)
{
	struct hv_machine *m = self;
	uint64_t floor = hotplug_end(m);
	struct hv_err *err = hv_parser_place(m->monitor, phys_bits, floor, len_bytes, ret);

	return err ? err : check_place(m, *ret, len_bytes, phys_bits, floor);
}

static void machine_free(void *self)
{
	hv_machine_free(self);
}

static struct hv_err *refusal(void *self)
{
	return hv_machine_refusal(self);
}

static struct hv_err *is_running(void *self)
{
	return hv_machine_is_running(self);
}

static struct hv_err *count_vcpus(void *self, unsigned *ret)
{
	return hv_machine_count_vcpus(self, ret);
}

static struct hv_err *vcpu_threads(void *self, pid_t *ret, size_t max, size_t *ret_nr)
{
	return hv_machine_first_threads(self, ret, max, ret_nr);
}

static struct hv_err *registers(void *self, struct hv_vcpu_regs *ret, size_t nr)
{
	return hv_machine_registers(self, ret, nr);
}

static struct hv_err *read_ram(void *self, struct hv_gpa gpa, void *buf, size_t len)
{
	return hv_machine_read(self, gpa, buf, len);
}

static struct hv_err *look_at_ram(void *self)
{
	return hv_machine_look_at_ram(self);
}

static void held(void *self)
{
	((struct hv_machine *)self)->held = true;
}

static void released(void *self)
{
	((struct hv_machine *)self)->held = false;
}

static struct hv_err *pages_are_its_own(void *self)
{
	return hv_machine_pages_are_its_own(self);
}

/* Resets m->region, because injection creates its own region. */
static bool has_region(void *self)
{
	struct hv_machine *m = self;
	struct hv_region region;
	HV_AUTO_ERR struct hv_err *err = hv_machine_region(m, &region);

	m->region = (struct hv_region){.fd = -1};
	return !err;
}

_Static_assert(HV_PIN_IMAGE_BYTES <= HV_VMM_PIN_BYTES_MAX, "there is room for it");

static size_t pin_image(uint8_t ret[HV_VMM_PIN_BYTES_MAX])
{
	hv_pin_image(ret);
	return HV_PIN_IMAGE_BYTES;
}

static struct hv_err *pin_is_set(void *self, bool *ret)
{
	return hv_parser_pin_is_set(((struct hv_machine *)self)->monitor, ret);
}

static struct hv_err *pin_set(void *self, const char *path)
{
	return hv_parser_pin_set(((struct hv_machine *)self)->monitor, path);
}

static struct hv_err *pin_clear(void *self)
{
	return hv_parser_pin_clear(((struct hv_machine *)self)->monitor);
}

/* QEMU's sandbox is one filter. */
static bool has_sandbox(const struct hv_machine *m)
{
	const char *sandbox = "";

	hv_process_arg(&m->process, "-sandbox", 0, &sandbox);
	return hv_starts_with(sandbox, "on");
}

struct hv_vmm hv_machine_vmm(struct hv_machine *m)
{
	static const struct hv_vmm_ops ops = {
		.free = machine_free,
		.refusal = refusal,
		.is_running = is_running,
		.count_vcpus = count_vcpus,
		.vcpu_threads = vcpu_threads,
		.registers = registers,
		.read = read_ram,
		.look_at_ram = look_at_ram,
		.held = held,
		.released = released,
		.pages_are_its_own = pages_are_its_own,
		.has_region = has_region,
		.find_place = find_place,
		.pin_image = pin_image,
		.pin_is_set = pin_is_set,
		.pin_set = pin_set,
		.pin_clear = pin_clear,
	};

	return (struct hv_vmm){
		.ops = &ops,
		.self = m,
		.name = m->name,
		.id = m->id,
		.accel = m->accel,
		.arch = m->arch,
		.nr_vcpus = m->nr_vcpus,
		.monitor = m->monitor_kind,
		.process = &m->process,
		.pidfd = m->pidfd,
		.memory = m->memory,
		.ram = &m->ram,
		.stays_migratable = hv_process_arg(&m->process, "-only-migratable", 0, NULL) != 0,
		.has_own_filter = has_sandbox(m),
	};
}
