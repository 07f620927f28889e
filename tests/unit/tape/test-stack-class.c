// SPDX-License-Identifier: GPL-2.0-only
/* The class of a stack says how the CPU spent its time. */
#include "tests/check.h"

#include "tape/stack-class.h"
#include "tests/tapes.h"

static enum stack_class_kind kind_of(struct tape *tape, uint32_t stack, bool idle)
{
	const struct tape_stack *leaf = &tape->stacks.items[stack];
	struct stack_class_marks marks = { 0 };
	enum stack_class_kind kind;

	CHECK_EQ(stack_class_marks_make(&marks, tape), 0);
	kind = stack_class_kind(&marks, idle, leaf->parent, leaf->frame);
	stack_class_marks_done(&marks);
	return kind;
}

static void check_kind(const char *functions, bool idle, enum stack_class_kind expected)
{
	_cleanup_(cleanup_tape) struct tape *tape = tapes_new(0, 1);
	enum stack_class_kind kind = kind_of(tape, tapes_kernel(tape, functions), idle);

	if (kind != expected)
		CHECK_FAIL("%s is %d, not %d", functions, kind, expected);
}

static void test_threads(void)
{
	static const struct {
		const char *functions;
		enum stack_class_kind kind;
	} cases[] = {
		{ "do_syscall_64;vfs_read;clear_user_erms", STACK_CLASS_KERNEL },
		{ "asm_exc_page_fault;handle_mm_fault", STACK_CLASS_KERNEL },
		{ "asm_common_interrupt;common_interrupt;handle_edge_irq", STACK_CLASS_IRQ },
		{ "asm_sysvec_apic_timer_interrupt;sysvec_apic_timer_interrupt;__irq_exit_rcu;"
		  "handle_softirqs;net_rx_action;ena_io_poll",
		  STACK_CLASS_IRQ },
		{ "apic_timer_interrupt;smp_apic_timer_interrupt;irq_exit;__softirqentry_text_"
		  "start",
		  STACK_CLASS_IRQ },
		{ "do_syscall_64;tcp_sendmsg;__local_bh_enable_ip;do_softirq.part.0;__do_softirq;"
		  "net_tx_action.constprop.0",
		  STACK_CLASS_IRQ },
		{ "kthread;smpboot_thread_fn;run_ksoftirqd;handle_softirqs;rcu_core",
		  STACK_CLASS_IRQ },
		{ "kthread;smpboot_thread_fn;schedule", STACK_CLASS_KERNEL },
		{ "kthread;irq_thread;irq_thread_fn;nvme_irq", STACK_CLASS_IRQ },
		{ "el0t_64_irq;el0t_64_irq_handler;el0_interrupt;call_on_irq_stack;gic_handle_irq",
		  STACK_CLASS_IRQ },
		{ "el1_irq;gic_handle_irq;irq_exit;__do_softirq", STACK_CLASS_IRQ },
		/* the interrupt is over, and the thread continues */
		{ "asm_sysvec_apic_timer_interrupt;irqentry_exit_to_user_mode;"
		  "exit_to_user_mode_loop;schedule;__schedule;finish_task_switch.isra.0",
		  STACK_CLASS_KERNEL },
		{ "asm_sysvec_reschedule_ipi;irqentry_exit;preempt_schedule_irq;__schedule",
		  STACK_CLASS_KERNEL },
		{ "retint_user;prepare_exit_to_usermode;exit_to_usermode_loop;schedule",
		  STACK_CLASS_KERNEL },
		{ "el0_irq;gic_handle_irq", STACK_CLASS_IRQ },
		{ "el0_irq;do_notify_resume;schedule", STACK_CLASS_KERNEL },
		/* an interrupt inside a softirq returns to the softirq */
		{ "asm_common_interrupt;__do_softirq;asm_sysvec_call_function;irqentry_exit",
		  STACK_CLASS_IRQ },
		/* the sampler's own interrupt does not count */
		{ "hrtimer_interrupt;perf_swevent_hrtimer", STACK_CLASS_KERNEL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		check_kind(cases[i].functions, false, cases[i].kind);
}

static void test_idle(void)
{
	check_kind("cpu_startup_entry;do_idle;pv_native_safe_halt", true, STACK_CLASS_IDLE);
	check_kind("do_idle;asm_common_interrupt;handle_edge_irq", true, STACK_CLASS_IRQ);
	check_kind("do_idle;asm_sysvec_apic_timer_interrupt;irq_exit_rcu", true, STACK_CLASS_IDLE);
	check_kind("do_idle;asm_sysvec_apic_timer_interrupt;handle_softirqs", true,
		   STACK_CLASS_IRQ);
	check_kind("do_idle;asm_sysvec_xen_hvm_callback;hrtimer_interrupt", true, STACK_CLASS_IDLE);
	check_kind("do_idle;flush_smp_call_function_queue;__do_softirq", true, STACK_CLASS_IRQ);
	CHECK(stack_class_is_idle_comm("swapper") && stack_class_is_idle_comm("swapper/12"));
	CHECK(!stack_class_is_idle_comm("swapper/") && !stack_class_is_idle_comm("swapper/x") &&
	      !stack_class_is_idle_comm("swapped"));
}

/* A program's function is not classified by its name, whatever that name is. */
static void test_programs(void)
{
	_cleanup_(cleanup_tape) struct tape *tape = tapes_new(0, 1);
	uint32_t program = tapes_module(tape, "/usr/bin/x", TAPE_MODULE_ELF);
	uint32_t stack = tapes_call(tape, 0, program, 16, "__do_softirq");

	CHECK_EQ(kind_of(tape, stack, false), STACK_CLASS_USER);
	stack = tapes_call(tape, stack, tapes_module(tape, "[vdso]", TAPE_MODULE_VDSO), 16, "");
	CHECK_EQ(kind_of(tape, stack, false), STACK_CLASS_USER);
}

static void test_sample_ns(void)
{
	_cleanup_(cleanup_tape) struct tape *tape = tapes_new(0, 1);

	CHECK_EQ(stack_class_sample_ns(tape, 10), NSEC_PER_SEC / 97);
	tape->facts.items[4].key = tapes_string(tape, "period");
	tape->facts.items[4].value = tapes_string(tape, "1000000");
	CHECK_EQ(stack_class_sample_ns(tape, 10), 1000000);
	tape->facts.items[3].value = tapes_string(tape, "cycles");
	CHECK_EQ(tape_add_fact(tape, "cpus", "4"), 0);
	CHECK_EQ(stack_class_sample_ns(tape, 10), 4 * NSEC_PER_SEC / 10);
	CHECK_EQ(stack_class_sample_ns(tape, 0), 0);
}

CHECK_MAIN({ "classes of threads' stacks", test_threads },
	   { "classes of the idle thread's stacks", test_idle },
	   { "functions of programs have no class", test_programs },
	   { "the time that a sample stands for", test_sample_ns })
