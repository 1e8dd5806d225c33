/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The names that people know containers and services by, from the paths of their cgroups. Pure. */
#pragma once

#define HV_CONTAINER_UNKNOWN "[unknown container]"

/* Returns the name for the cgroup PATH, which is untrusted:
 *
 *   docker:0123456789ab     the container whose id of 64 hexadecimal digits is in the path, with the
 *                           word before it: docker, libpod, cri-containerd, crio
 *   nginx.service           else the innermost service or scope of systemd
 *   /lxc/web                else the path
 *
 * The caller frees it. */
char *hv_container_name(const char *path);
