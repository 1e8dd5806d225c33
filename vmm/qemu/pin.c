/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/qemu/pin.h"

#include <string.h>

#define FOOTER_BYTES  512
#define DATA_BYTES    (HV_PIN_IMAGE_BYTES - FOOTER_BYTES)
#define TYPE_FIXED    2
#define CHECKSUM_OFF  64
#define REASONS_SINCE 6 /* first major version of QEMU that lists the blockers of a migration */

static void put_be(uint8_t *to, uint64_t value, unsigned len)
{
	while (len--) {
		to[len] = (uint8_t)value;
		value >>= 8;
	}
}

/* Source: Microsoft, "Virtual Hard Disk Image Format Specification" 1.0. A fixed disk is its data
 * and a footer. The checksum is the complement of the sum of the footer's other bytes. */
void hv_pin_image(uint8_t ret[HV_PIN_IMAGE_BYTES])
{
	uint8_t *footer = ret + DATA_BYTES;
	uint32_t sum = 0;

	memset(ret, 0, HV_PIN_IMAGE_BYTES);
	memcpy(footer, "conectix", 8);
	put_be(footer + 8, 2, 4);	    /* features: the bit that is always set */
	put_be(footer + 12, 0x10000, 4);    /* format version */
	put_be(footer + 16, UINT64_MAX, 8); /* fixed disk: no other header */
	memcpy(footer + 28, "hvtr", 4);	    /* creator */
	memcpy(footer + 36, "Wi2k", 4);	    /* creator's host system */
	put_be(footer + 40, DATA_BYTES, 8); /* original size */
	put_be(footer + 48, DATA_BYTES, 8); /* current size */
	put_be(footer + 56, 2, 2);	    /* cylinders */
	footer[58] = 4;			    /* heads */
	footer[59] = 1;			    /* sectors per track */
	put_be(footer + 60, TYPE_FIXED, 4);
	for (unsigned i = 0; i < FOOTER_BYTES; i++)
		sum += footer[i];
	put_be(footer + CHECKSUM_OFF, ~sum, 4);
}

static struct json_object *node(const char *path)
{
	struct json_object *file = json_object_new_object();
	struct json_object *args = json_object_new_object();

	json_object_object_add(file, "driver", json_object_new_string("file"));
	json_object_object_add(file, "filename", json_object_new_string(path));
	json_object_object_add(file, "locking", json_object_new_string("off"));
	json_object_object_add(args, "driver", json_object_new_string("vpc"));
	json_object_object_add(args, "node-name", json_object_new_string(HV_PIN_NODE));
	json_object_object_add(args, "read-only", json_object_new_boolean(1));
	json_object_object_add(args, "file", file);
	return args;
}

/* Sets *RET if QEMU lists the node as a migration blocker, and *RET_SAYS if QEMU lists blockers at
 * all. The list contains sentences; that for the node contains its name. */
static struct hv_err *is_pinned(struct hv_monitor *m, bool *ret, bool *ret_says)
{
	HV_AUTO_JSON struct json_object *answer = NULL;
	struct json_object *reasons = NULL;
	struct hv_err *err = hv_monitor_execute(m, "query-migrate", NULL, &answer);

	if (err)
		return err;
	*ret = false;
	*ret_says = json_object_is_type(answer, json_type_object) &&
		    json_object_object_get_ex(answer, "blocked-reasons", &reasons);
	for (size_t i = 0; i < hv_json_len(reasons); i++) {
		const char *reason = json_object_get_string(json_object_array_get_idx(reasons, i));

		*ret = *ret || (reason && strstr(reason, HV_PIN_NODE));
	}
	return NULL;
}

struct hv_err *hv_pin_is_set(struct hv_monitor *m, bool *ret)
{
	bool says;

	return is_pinned(m, ret, &says);
}

/* QEMU lists migration blockers since 6.0 (commit 3af8554bd068). The image format blocked migration
 * long before. */
static struct hv_err *is_older(struct hv_monitor *m, bool *ret)
{
	HV_AUTO_JSON struct json_object *answer = NULL;
	struct json_object *qemu = NULL;
	struct hv_err *err = hv_monitor_execute(m, "query-version", NULL, &answer);

	if (err)
		return err;
	*ret = json_object_is_type(answer, json_type_object) &&
	       json_object_object_get_ex(answer, "qemu", &qemu) &&
	       hv_json_int(qemu, "major", REASONS_SINCE) < REASONS_SINCE;
	return NULL;
}

struct hv_err *hv_pin_set(struct hv_monitor *m, const char *path)
{
	HV_AUTO_JSON struct json_object *done = NULL;
	bool kept = false, says = false, older = false;
	struct hv_err *err = hv_monitor_execute(m, "blockdev-add", node(path), &done);

	if (err)
		return err;
	err = is_pinned(m, &kept, &says);
	if (!err && !says)
		err = is_older(m, &older);
	if (!err && !kept && !older)
		err = hv_err_new(ENOTSUP, "the node '" HV_PIN_NODE "' does not block migrations");
	if (err)
		hv_err_free(hv_pin_clear(m));
	return err;
}

/* QEMU has no error class for a missing node, so this lists the nodes. The query does not read
 * their images. */
static struct hv_err *has_node(struct hv_monitor *m, bool *ret)
{
	HV_AUTO_JSON struct json_object *nodes = NULL;
	struct json_object *args = json_object_new_object();
	struct hv_err *err;

	json_object_object_add(args, "query-nodes", json_object_new_boolean(1));
	err = hv_monitor_execute(m, "query-blockstats", args, &nodes);
	if (err)
		return err;
	*ret = false;
	for (size_t i = 0; i < hv_json_len(nodes); i++) {
		const char *name = hv_json_string(json_object_array_get_idx(nodes, i), "node-name");

		*ret = *ret || (name && strcmp(name, HV_PIN_NODE) == 0);
	}
	return NULL;
}

struct hv_err *hv_pin_clear(struct hv_monitor *m)
{
	HV_AUTO_JSON struct json_object *done = NULL;
	struct json_object *args = json_object_new_object();
	bool is_there = true;
	struct hv_err *err;

	json_object_object_add(args, "node-name", json_object_new_string(HV_PIN_NODE));
	err = hv_monitor_execute(m, "blockdev-del", args, &done);
	if (!err)
		return NULL;
	hv_err_free(has_node(m, &is_there));
	if (is_there)
		return err;
	hv_err_free(err);
	return NULL;
}
