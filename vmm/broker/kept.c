/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/broker/kept.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

static struct hv_err *failed(const char *what)
{
	return hv_err_new(errno, "the journal that the host keeps: %s: %s", what, strerror(errno));
}

struct hv_err *hv_kept_map(int fd, struct hv_kept *ret)
{
	void *host = mmap(NULL, HV_REGION_KEPT_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (host == MAP_FAILED) {
		close(fd);
		return failed("mmap");
	}
	*ret = (struct hv_kept){fd, host};
	return NULL;
}

static bool has_room(const struct hv_region *region)
{
	return region->host && region->len_bytes >= HV_REGION_KEPT_BYTES;
}

/* Whether the region is in use. Reads only the header, because reading unused memory would allocate
 * it. */
static bool has_header(const struct hv_region *region)
{
	static const uint8_t none[8];

	return memcmp(region->host, none, sizeof(none)) != 0;
}

struct hv_err *hv_kept_make(const struct hv_region *region, struct hv_kept *ret)
{
	int fd = memfd_create("hvtrace-journal", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	struct hv_err *err;

	if (fd < 0)
		return failed("memfd_create");
	/* Sealed so that a service cannot shrink it and crash the broker. */
	if (ftruncate(fd, HV_REGION_KEPT_BYTES) != 0 || fcntl(fd, F_ADD_SEALS, SEALS) != 0) {
		close(fd);
		return failed("its length");
	}
	err = hv_kept_map(fd, ret);
	if (!err && has_room(region) && has_header(region))
		memcpy(ret->host, region->host, HV_REGION_KEPT_BYTES);
	return err;
}

void hv_kept_close(struct hv_kept *k)
{
	if (k->host)
		munmap(k->host, HV_REGION_KEPT_BYTES);
	hv_close_at(&k->fd);
	*k = HV_KEPT_NONE;
}

void hv_kept_put_back(const struct hv_kept *k, const struct hv_region *region)
{
	if (k->host && has_room(region))
		memcpy(region->host, k->host, HV_REGION_KEPT_BYTES);
}
