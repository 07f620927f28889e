/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * Visible ownership: the declaration of a local variable shows that the variable owns something.
 * take_ptr() and take_fd() pass the ownership on. All destructors of the project accept NULL.
 */

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define _cleanup_(function) __attribute__((cleanup(function)))

static inline void cleanup_free(void *pointer)
{
	free(*(void **)pointer);
}

static inline void cleanup_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void cleanup_fclose(FILE **file)
{
	if (*file)
		fclose(*file);
}

#define _cleanup_free_ _cleanup_(cleanup_free)
#define _cleanup_close_ _cleanup_(cleanup_close)
#define _cleanup_fclose_ _cleanup_(cleanup_fclose)

/*
 * Defines cleanup_NAME() for variables of type TYPE; it calls FUNCTION with the variable's value.
 */
#define DEFINE_CLEANUP(name, type, function)           \
	static inline void cleanup_##name(type *owned) \
	{                                              \
		function(*owned);                      \
	}

#define take_ptr(pointer)                     \
	({                                    \
		__auto_type _at = &(pointer); \
		__auto_type _taken = *_at;    \
		*_at = NULL;                  \
		_taken;                       \
	})

#define take_fd(fd)                \
	({                         \
		int *_at = &(fd);  \
		int _taken = *_at; \
		*_at = -1;         \
		_taken;            \
	})

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
