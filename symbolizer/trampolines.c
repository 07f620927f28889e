// SPDX-License-Identifier: GPL-2.0-only
#include "symbolizer/trampolines.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define GO_SIGNAL "runtime.sigreturn"

/* Names in glibc, musl, bionic and the vdso. Sorted as by strcmp(). */
static const char *const signals[] = {
	"__default_rt_sa_restorer",
	"__default_sa_restorer",
	"__kernel_rt_sigreturn",
	"__kernel_rt_sigreturn_v2",
	"__kernel_sigreturn",
	"__kernel_sigreturn_v2",
	"__kernel_sigtramp_rt64",
	"__restore",
	"__restore_rt",
	"__vdso_rt_sigreturn",
};

/* Names on x86 before 5.8, and on arm64 before and since 5.14. Sorted as by strcmp(). */
static const char *const interrupts[] = {
	"alignment_check",
	"apic_timer_interrupt",
	"asm_common_interrupt",
	"asm_spurious_interrupt",
	"async_page_fault",
	"call_function_interrupt",
	"call_function_single_interrupt",
	"common_interrupt",
	"debug",
	"divide_error",
	"double_fault",
	"el1_error",
	"el1_irq",
	"el1_sync",
	"el1h_64_error",
	"el1h_64_fiq",
	"el1h_64_irq",
	"el1h_64_sync",
	"end_repeat_nmi",
	"general_protection",
	"hyperv_callback_vector",
	"int3",
	"invalid_op",
	"irq_work_interrupt",
	"nmi",
	"page_fault",
	"reschedule_interrupt",
	"ret_from_intr",
	"stack_segment",
	"xen_hvm_callback_vector",
};

static int trampoline_compare(const void *name, const void *item)
{
	return strcmp(name, *(const char *const *)item);
}

static bool trampoline_begins(const char *name, const char *with)
{
	return strncmp(name, with, strlen(with)) == 0;
}

static bool trampoline_ends(const char *name, const char *with)
{
	size_t size = strlen(name), end = strlen(with);

	return size >= end && strcmp(name + size - end, with) == 0;
}

bool trampoline_is_signal(const char *name)
{
	return bsearch(name, signals, ARRAY_SIZE(signals), sizeof(*signals), trampoline_compare) ||
	       trampoline_begins(name, GO_SIGNAL) ||
	       (name[0] == '[' && trampoline_ends(name, TRAMPOLINE_LABEL));
}

bool trampoline_is_interrupt(const char *name)
{
	return trampoline_begins(name, "asm_exc_") || trampoline_begins(name, "asm_sysvec_") ||
	       bsearch(name, interrupts, ARRAY_SIZE(interrupts), sizeof(*interrupts),
		       trampoline_compare);
}
