/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Examines and stops a machine with every call of vmm/guest.h: `vmm_probe SPEC [VERB]..`. Not part
 * of a suite; leaves the guest unchanged. Executes the verbs in order: info, regs, region, hold,
 * hregs, flush, text N, expire, sleep N. `vmm_probe list` lists the domains. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "vmm/domains.h"
#include "vmm/open.h"

static int failed(struct hv_err *err)
{
	if (!err)
		return 0;
	printf("error %d (%s): %s\n", err->code, strerror(err->code), err->message);
	hv_err_free(err);
	return 1;
}

static void show_regs(const struct hv_vcpu_regs *regs, unsigned nr)
{
	for (unsigned i = 0; i < nr; i++)
		printf("vcpu %u ip %016" PRIx64 " sp %016" PRIx64 " root %" PRIx64
		       " levels %u trap %016" PRIx64 "\n",
		       i, regs[i].ip.v, regs[i].sp.v, regs[i].root, regs[i].levels,
		       regs[i].trap_table.v);
}

static int do_info(struct hv_guest *g)
{
	const struct hv_guest_info *i = hv_guest_info(g);
	static uint8_t buf[1 << 20];
	struct hv_gpa top = hv_gpa(i->ram_bytes > 0xc0000000ull ? 0x100000000ull : 0x2000000);
	uint64_t sum = 0;

	printf("name %s id %s pid %d accel %s vcpus %u arch %s ram %" PRIu64 " MiB\n%s\n", i->name,
	       i->id, (int)i->pid, i->accel == HV_ACCEL_KVM ? "kvm" : "tcg", i->nr_vcpus,
	       i->arch->name, i->ram_bytes >> 20, i->transport);
	if (failed(hv_guest_read(g, top, buf, sizeof(buf))))
		return 1;
	for (size_t k = 0; k < sizeof(buf); k++)
		sum += buf[k];
	printf("1 MiB at 0x%" PRIx64 " read, sum %" PRIu64 "\n", top.v, sum);
	return failed(hv_guest_refusal(g));
}

static int do_regs(struct hv_guest *g)
{
	unsigned nr = hv_guest_info(g)->nr_vcpus;
	HV_AUTO_FREE struct hv_vcpu_regs *regs = hv_alloc(nr * sizeof(*regs));

	if (failed(hv_guest_registers(g, regs, nr)))
		return 1;
	show_regs(regs, nr);
	return 0;
}

static int do_region(struct hv_guest *g)
{
	struct hv_region r;

	if (failed(hv_guest_region(g, &r)))
		return 1;
	printf("region gpa 0x%" PRIx64 " %" PRIu64 " MiB at %p\n", r.gpa.v, r.len_bytes >> 20,
	       (void *)r.host);
	return 0;
}

static int show_held_regs(struct hv_guest *g, struct hv_hold *h)
{
	unsigned nr = hv_guest_info(g)->nr_vcpus;
	HV_AUTO_FREE struct hv_vcpu_regs *regs = hv_alloc(nr * sizeof(*regs));

	if (failed(hv_hold_registers(h, regs, nr)))
		return 1;
	show_regs(regs, nr);
	return 0;
}

/* Makes NR writes of five bytes, 160 bytes apart in RAM. Each writes the existing bytes. */
static struct hv_hold_write *pieces(struct hv_guest *g, size_t nr)
{
	struct hv_hold_write *writes = hv_alloc(nr * sizeof(*writes));
	uint64_t start = hv_guest_info(g)->ram_bytes / 2 & ~0xfffull;

	for (size_t i = 0; i < nr; i++) {
		writes[i].gpa = hv_gpa(start + i * 160);
		writes[i].len_bytes = 5;
		hv_err_free(hv_guest_read(g, writes[i].gpa, writes[i].bytes, 5));
	}
	return writes;
}

static int do_hold(struct hv_guest *g, const char *verb, size_t nr)
{
	uint64_t max_ns = !strcmp(verb, "expire") ? 200 * HV_NS_PER_MS : 10 * HV_NS_PER_S;
	HV_AUTO_FREE struct hv_hold_write *writes = pieces(g, nr);
	struct hv_hold *h = NULL;
	uint64_t held_ns = 0, start_ns;
	int bad;

	if (failed(hv_guest_prepare_hold(g)))
		return 1;
	start_ns = hv_now_ns();
	if (failed(hv_hold_begin(g, max_ns, &h)))
		return 1;
	printf("%s: stopped after %" PRIu64 " us\n", verb, (hv_now_ns() - start_ns) / 1000);
	start_ns = hv_now_ns();
	bad = 0;
	if (!strcmp(verb, "hregs"))
		bad = show_held_regs(g, h);
	if (!strcmp(verb, "flush"))
		bad = failed(hv_hold_flush_translations(h, 0, 1 << 20));
	if (!strcmp(verb, "text"))
		bad = failed(hv_hold_write(h, writes, nr));
	if (!strcmp(verb, "expire") || !strcmp(verb, "sleep"))
		usleep((useconds_t)(nr * 1000));
	printf("%s: %" PRIu64 " us\n", verb, (hv_now_ns() - start_ns) / 1000);
	if (nr)
		printf("%s: %" PRIu64 " ns each\n", verb, (hv_now_ns() - start_ns) / nr);
	bad |= failed(hv_hold_end(h, &held_ns));
	printf("%s: held %" PRIu64 " us\n", verb, held_ns / 1000);
	return bad;
}

static int do_list(void)
{
	struct hv_domain *all;
	size_t nr;

	if (failed(hv_domain_list(NULL, &all, &nr)))
		return 1;
	for (size_t i = 0; i < nr; i++)
		printf("%d %s %s %s: %s\n", all[i].id, all[i].name, all[i].uuid, all[i].state,
		       all[i].reason ? all[i].reason : "can be traced");
	hv_domain_list_free(all, nr);
	return 0;
}

static int run(struct hv_guest *g, const char *verb, size_t nr)
{
	if (!strcmp(verb, "info"))
		return do_info(g);
	if (!strcmp(verb, "regs"))
		return do_regs(g);
	if (!strcmp(verb, "region"))
		return do_region(g);
	return do_hold(g, verb, nr);
}

int main(int argc, char **argv)
{
	HV_AUTO_GUEST struct hv_guest *g = NULL;
	int bad = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc > 1 && !strcmp(argv[1], "list"))
		return do_list();
	if (argc < 2 || failed(hv_guest_open(argv[1], NULL, HV_VIA_AUTO, &g)))
		return 1;
	for (int i = 2; i < argc; i++) {
		bool number = i + 1 < argc && argv[i + 1][0] >= '0' && argv[i + 1][0] <= '9';

		bad |= run(g, argv[i], number ? strtoul(argv[i + 1], NULL, 10) : 0);
		i += number;
	}
	return bad;
}
