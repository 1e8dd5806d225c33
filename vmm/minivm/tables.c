/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/minivm/tables.h"

#include <assert.h>
#include <string.h>

#define LOCAL_APIC 0xfee00000u
#define IO_APIC	   0xfec00000u

struct header {
	char signature[4];
	uint32_t len_bytes;
	uint8_t revision;
	uint8_t checksum;
	char oem[6];
	char oem_table[8];
	uint32_t oem_revision;
	char creator[4];
	uint32_t creator_revision;
} __attribute__((packed));

struct address {
	uint8_t space; /* 1: ports */
	uint8_t nr_bits;
	uint8_t bit_off;
	uint8_t access;
	uint64_t at;
} __attribute__((packed));

struct root_pointer {
	char signature[8];
	uint8_t checksum; /* of the first 20 bytes */
	char oem[6];
	uint8_t revision;
	uint32_t rsdt;
	uint32_t len_bytes;
	uint64_t xsdt;
	uint8_t checksum_all;
	uint8_t reserved[3];
} __attribute__((packed));

struct fadt {
	struct header h;
	uint32_t facs, dsdt;
	uint8_t reserved, profile;
	uint16_t sci;
	uint32_t smi_cmd;
	uint8_t enable, disable, s4, pstate;
	uint32_t pm1a_event, pm1b_event, pm1a_control, pm1b_control, pm2_control, pm_timer, gpe0,
		gpe1;
	uint8_t pm1_event_len, pm1_control_len, pm2_control_len, pm_timer_len, gpe0_len, gpe1_len,
		gpe1_base, cst;
	uint16_t c2_us, c3_us, flush_size, flush_stride;
	uint8_t duty_off, duty_width, day_alarm, month_alarm, century;
	uint16_t boot_flags;
	uint8_t reserved2;
	uint32_t flags;
	struct address reset;
	uint8_t reset_value;
	uint16_t arm_flags;
	uint8_t minor;
	uint64_t x_facs, x_dsdt;
	struct address x_pm1a_event, x_pm1b_event, x_pm1a_control, x_pm1b_control, x_pm2_control,
		x_pm_timer, x_gpe0, x_gpe1, sleep_control, sleep_status;
	uint64_t hypervisor;
} __attribute__((packed));

_Static_assert(sizeof(struct header) == 36, "ACPI 5.2.6");
_Static_assert(sizeof(struct root_pointer) == 36, "ACPI 5.2.5.3");
_Static_assert(sizeof(struct fadt) == 276, "ACPI 5.2.9");

/* the object \_S5, which describes power-off */
static const uint8_t aml[] = {0x08, '_', 'S', '5', '_', 0x12, 4, 1, 0x0a, HV_MINIVM_OFF_TYPE};

struct tables {
	uint8_t *bytes;
	uint64_t gpa;
	size_t len_bytes;
};

static uint8_t checksum(const void *bytes, size_t len)
{
	uint8_t sum = 0;

	for (size_t i = 0; i < len; i++)
		sum += ((const uint8_t *)bytes)[i];
	return (uint8_t)-sum;
}

/* Adds a table. Returns its address in guest memory. */
static uint64_t add_table(struct tables *t, const char *signature, uint8_t revision,
			  const void *body, size_t len)
{
	struct header h = {
		.len_bytes = (uint32_t)(sizeof(h) + len),
		.revision = revision,
		.oem = "HVTRAC",
		.oem_table = "HVTRACE ",
		.oem_revision = 1,
		.creator = "HVTR",
		.creator_revision = 1,
	};
	uint8_t *at = t->bytes + t->len_bytes;
	uint64_t gpa = t->gpa + t->len_bytes;

	assert(t->len_bytes + sizeof(h) + len <= HV_MINIVM_TABLES_MAX);
	memcpy(h.signature, signature, 4);
	memcpy(at, &h, sizeof(h));
	memcpy(at + sizeof(h), body, len);
	((struct header *)(void *)at)->checksum = checksum(at, sizeof(h) + len);
	t->len_bytes = (t->len_bytes + sizeof(h) + len + 15) & ~(size_t)15;
	return gpa;
}

static struct address port(uint16_t at, uint8_t len_bytes)
{
	return (struct address){1, (uint8_t)(len_bytes * 8), 0, len_bytes == 4 ? 3 : len_bytes, at};
}

static uint64_t add_fadt(struct tables *t, uint64_t dsdt)
{
	struct fadt f = {
		.dsdt = (uint32_t)dsdt,
		.sci = HV_MINIVM_SCI,
		.pm1a_event = HV_MINIVM_PM_EVENT,
		.pm1a_control = HV_MINIVM_PM_CONTROL,
		.pm_timer = HV_MINIVM_PM_TIMER,
		.pm1_event_len = 4,
		.pm1_control_len = 2,
		.pm_timer_len = 4,
		.c2_us = 0xffff,
		.c3_us = 0xffff,
		.boot_flags = 1 << 2 | 1 << 5,		/* no VGA, no clock in CMOS */
		.flags = 1 | 1 << 4 | 1 << 5 | 1 << 10, /* wbinvd, no buttons, a reset register */
		.reset = port(HV_MINIVM_RESET, 1),
		.reset_value = HV_MINIVM_RESET_VALUE,
		.minor = 5,
		.x_dsdt = dsdt,
		.x_pm1a_event = port(HV_MINIVM_PM_EVENT, 4),
		.x_pm1a_control = port(HV_MINIVM_PM_CONTROL, 2),
		.x_pm_timer = port(HV_MINIVM_PM_TIMER, 4),
	};

	return add_table(t, "FACP", 6, (uint8_t *)&f + sizeof(f.h), sizeof(f) - sizeof(f.h));
}

static uint8_t *put(uint8_t *at, const uint8_t *bytes, size_t len)
{
	memcpy(at, bytes, len);
	return at + len;
}

static uint64_t add_madt(struct tables *t, unsigned nr_cpus)
{
	uint8_t body[8 + HV_MINIVM_CPUS_MAX * 8 + 12 + 10 + 6];
	const uint32_t start[2] = {LOCAL_APIC, 1 /* PC-AT compatible */};
	const uint32_t io_apic[2] = {IO_APIC, 0};
	uint8_t *at = put(body, (const uint8_t *)start, 8);

	for (unsigned i = 0; i < nr_cpus; i++)
		at = put(at, (uint8_t[]){0, 8, (uint8_t)i, (uint8_t)i, 1, 0, 0, 0}, 8);
	at = put(at, (uint8_t[]){1, 12, (uint8_t)nr_cpus, 0}, 4);
	at = put(at, (const uint8_t *)io_apic, 8);
	/* active high, level triggered */
	at = put(at, (uint8_t[]){2, 10, 0, HV_MINIVM_SCI, HV_MINIVM_SCI, 0, 0, 0, 0x0d, 0}, 10);
	/* NMI on pin 1 of every local APIC */
	at = put(at, (uint8_t[]){4, 6, 0xff, 0, 0, 1}, 6);
	return add_table(t, "APIC", 4, body, (size_t)(at - body));
}

size_t hv_minivm_tables(uint8_t ret[HV_MINIVM_TABLES_MAX], struct hv_gpa gpa, unsigned nr_cpus)
{
	struct tables t = {ret, gpa.v, 48};
	struct root_pointer root = {
		.signature = "RSD PTR ",
		.oem = "HVTRAC",
		.revision = 2,
		.len_bytes = sizeof(root),
	};
	uint64_t list[2];

	assert(nr_cpus && nr_cpus <= HV_MINIVM_CPUS_MAX);
	memset(ret, 0, HV_MINIVM_TABLES_MAX);
	list[0] = add_fadt(&t, add_table(&t, "DSDT", 2, aml, sizeof(aml)));
	list[1] = add_madt(&t, nr_cpus);
	root.xsdt = add_table(&t, "XSDT", 1, list, sizeof(list));
	root.checksum = checksum(&root, 20);
	root.checksum_all = checksum(&root, sizeof(root));
	memcpy(ret, &root, sizeof(root));
	return t.len_bytes;
}
