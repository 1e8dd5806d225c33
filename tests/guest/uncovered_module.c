/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A module with many instructions that switch interrupts off or on and leave no room for a jump, so
 * that hvtrace cannot cover them. While it is loaded, too little of the kernel is covered. The
 * function is never called. */
#include <linux/module.h>

static noinline __used void never_called(void)
{
	asm volatile(".rept 200\n\tcli\n\tsti\n\t.endr");
}

static int __init uncovered_init(void)
{
	return 0;
}

static void __exit uncovered_exit(void)
{
}

module_init(uncovered_init);
module_exit(uncovered_exit);

MODULE_DESCRIPTION("Instructions that cannot be covered, for tests");
MODULE_LICENSE("GPL");
