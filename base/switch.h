/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A setting that is on or off. Functions take it instead of a bool, so that a call reads HV_ON or
 * HV_OFF. */
#pragma once

enum hv_switch { HV_OFF, HV_ON };
