// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/run/capabilities.h"

#include <errno.h>
#include <linux/capability.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

bool capabilities_come_from_file(void)
{
	return getauxval(AT_SECURE) != 0;
}

int capabilities_permitted(uint64_t *ret_permitted)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { 0 };

	if (syscall(SYS_capget, &header, data) < 0)
		return -errno;
	*ret_permitted = (uint64_t)data[1].permitted << 32 | data[0].permitted;
	return 0;
}

/* A capability that is no longer inheritable also leaves the ambient set; the kernel removes it. */
int capabilities_set(uint64_t permitted, uint64_t effective)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = {
		{ .permitted = permitted, .effective = effective },
		{ .permitted = permitted >> 32, .effective = effective >> 32 },
	};

	return syscall(SYS_capset, &header, data) < 0 ? -errno : 0;
}

/* Makes all permitted capabilities effective, or none. */
static int use_permitted(bool use)
{
	uint64_t permitted = 0;
	int r;

	if (geteuid() == 0)
		return 0;
	r = capabilities_permitted(&permitted);
	return r < 0 ? r : capabilities_set(permitted, use ? permitted : 0);
}

int capabilities_lower(void)
{
	return use_permitted(false);
}

int capabilities_raise(void)
{
	return use_permitted(true);
}

int capabilities_drop(void)
{
	gid_t group = getgid();
	uid_t user = getuid();

	if (getegid() != group && setresgid(group, group, group) < 0)
		return -errno;
	if (geteuid() != user && setresuid(user, user, user) < 0)
		return -errno;
	return geteuid() == 0 ? 0 : capabilities_set(0, 0);
}
