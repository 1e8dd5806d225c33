/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A setting that is on or off. A function takes it instead of a bool, so that its calls say which. */
#pragma once

enum hv_switch { HV_OFF, HV_ON };
