// SPDX-License-Identifier: GPL-2.0-only
#include "audit/systemd.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include "base/bytes.h"
#include "base/clock.h"

/*
 * Bounds for one call, and for all calls together, so that the audit does not hang when systemd
 * hangs.
 */
#define WAIT_S 2
#define WAIT_ALL_NS (3 * NSEC_PER_SEC)
#define MESSAGE_MAX (4u << 20)
/* The most signals to skip before the answer. */
#define SIGNALS_MAX 1000

/*
 * The header of a message: byte order, type, flags, version; length of the body, serial, length of
 * the fields after it.
 */
#define HEADER_SIZE 16
#define TYPE_CALL 1
#define TYPE_ANSWER 2
#define TYPE_ERROR 3

enum field { FIELD_PATH = 1, FIELD_INTERFACE = 2, FIELD_MEMBER = 3, FIELD_TO = 6, FIELD_TYPES = 8 };

#define SYSTEMD_NAME "org.freedesktop.systemd1"
#define SYSTEMD_PATH "/org/freedesktop/systemd1"

struct systemd {
	int fd;
	uint32_t serial;
	/* when all calls must be done, on CLOCK_MONOTONIC */
	uint64_t until_ns;
};

struct call {
	const char *to, *path, *interface, *member, *types;
	struct buffer body;
};

static void systemd_align(struct buffer *to, size_t unit)
{
	while (to->size % unit)
		buffer_u8(to, 0);
}

static void systemd_put_string(struct buffer *to, const char *text)
{
	systemd_align(to, 4);
	buffer_u32(to, strlen(text));
	buffer_text(to, text);
	buffer_u8(to, 0);
}

static void put_signature(struct buffer *to, const char *types)
{
	buffer_u8(to, strlen(types));
	buffer_text(to, types);
	buffer_u8(to, 0);
}

static void systemd_put_field(struct buffer *to, enum field field, char type, const char *value)
{
	const char types[] = { type, 0 };

	if (!value)
		return;
	systemd_align(to, 8);
	buffer_u8(to, field);
	put_signature(to, types);
	if (type == 'g')
		put_signature(to, value);
	else
		systemd_put_string(to, value);
}

static int write_all(int fd, const void *data, size_t size)
{
	while (size) {
		ssize_t written = send(fd, data, size, MSG_NOSIGNAL);

		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return -errno;
		data = (const char *)data + written;
		size -= written;
	}
	return 0;
}

static int wait_for_bytes(const struct systemd *systemd)
{
	struct pollfd wait = { .fd = systemd->fd, .events = POLLIN };
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
	int ready;

	if (now_ns >= systemd->until_ns)
		return -ETIMEDOUT;
	ready = poll(&wait, 1, (systemd->until_ns - now_ns) / NSEC_PER_MSEC + 1);
	return ready < 0 && errno != EINTR ? -errno : ready == 0 ? -ETIMEDOUT : 0;
}

static int systemd_read_all(const struct systemd *systemd, void *data, size_t size)
{
	while (size) {
		int r = wait_for_bytes(systemd);
		ssize_t got = r < 0 ? r : recv(systemd->fd, data, size, MSG_DONTWAIT);

		if (r < 0)
			return r;
		if (got < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (got <= 0)
			return got < 0 ? -errno : -ECONNRESET;
		data = (char *)data + got;
		size -= got;
	}
	return 0;
}

static int send_call(struct systemd *systemd, const struct call *call)
{
	_cleanup_(buffer_done) struct buffer message = { 0 }, fields = { 0 };

	systemd_put_field(&fields, FIELD_PATH, 'o', call->path);
	systemd_put_field(&fields, FIELD_INTERFACE, 's', call->interface);
	systemd_put_field(&fields, FIELD_MEMBER, 's', call->member);
	systemd_put_field(&fields, FIELD_TO, 's', call->to);
	systemd_put_field(&fields, FIELD_TYPES, 'g', call->types);
	buffer_u8(&message, 'l');
	buffer_u8(&message, TYPE_CALL);
	buffer_u8(&message, 0);
	buffer_u8(&message, 1);
	buffer_u32(&message, call->body.size);
	buffer_u32(&message, ++systemd->serial);
	buffer_u32(&message, fields.size);
	buffer_bytes(&message, fields.data, fields.size);
	systemd_align(&message, 8);
	buffer_bytes(&message, call->body.data, call->body.size);
	if (buffer_failed(&message) || buffer_failed(&fields) || buffer_failed(&call->body))
		return -ENOMEM;
	return write_all(systemd->fd, message.data, message.size);
}

/* Reads a message, and its body into the empty buffer. Returns its type or a negative errno. */
static int read_message(struct systemd *systemd, struct buffer *body)
{
	uint8_t header[HEADER_SIZE], *at;
	uint32_t body_size, fields_size;
	struct reader reader;
	uint64_t padded;
	int r = systemd_read_all(systemd, header, sizeof(header));

	if (r < 0)
		return r;
	if (header[0] != 'l')
		return -EPROTONOSUPPORT;
	reader_init(&reader, header + 4, sizeof(header) - 4);
	body_size = reader_u32(&reader);
	reader_u32(&reader);
	fields_size = reader_u32(&reader);
	padded = ((uint64_t)fields_size + 7) / 8 * 8;
	if (padded + body_size > MESSAGE_MAX)
		return -EFBIG;
	at = buffer_room(body, padded + body_size);
	if (!at)
		return -ENOMEM;
	r = systemd_read_all(systemd, at, padded + body_size);
	memmove(at, at + padded, body_size);
	body->size = body_size;
	return r < 0 ? r : header[1];
}

static int systemd_ask(struct systemd *systemd, const struct call *call, struct buffer *body)
{
	int r = send_call(systemd, call);

	for (int i = 0; r == 0 && i < SIGNALS_MAX; i++) {
		int type = read_message(systemd, body);

		if (type < 0 || type == TYPE_ANSWER)
			return MIN(type, 0);
		if (type == TYPE_ERROR)
			return -EOPNOTSUPP;
		body->size = 0;
	}
	return r < 0 ? r : -ETIMEDOUT;
}

/* Sends a NUL and our uid; expects the server's "OK ...". */
static int systemd_introduce(const struct systemd *systemd)
{
	char hello[64], digits[16], answer[256];
	size_t size = 0;
	int r;

	snprintf(digits, sizeof(digits), "%u", geteuid());
	size = snprintf(hello, sizeof(hello), "%cAUTH EXTERNAL ", 0);
	for (const char *at = digits; *at; at++)
		size += snprintf(hello + size, sizeof(hello) - size, "%02x", *at);
	size += snprintf(hello + size, sizeof(hello) - size, "\r\n");
	r = write_all(systemd->fd, hello, size);
	for (size = 0; r == 0 && size < sizeof(answer) - 1; size++) {
		r = systemd_read_all(systemd, answer + size, 1);
		if (r == 0 && answer[size] == '\n')
			break;
	}
	if (r < 0)
		return r;
	if (strncmp(answer, "OK ", 3) != 0)
		return -EACCES;
	return write_all(systemd->fd, "BEGIN\r\n", strlen("BEGIN\r\n"));
}

static int connect_to(struct systemd *systemd, const char *root, const char *path)
{
	const struct timeval wait = { .tv_sec = WAIT_S };
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int r = 0;

	if (snprintf(address.sun_path, sizeof(address.sun_path), "%s%s", root, path) >=
	    (int)sizeof(address.sun_path))
		return -ENAMETOOLONG;
	systemd->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (systemd->fd < 0)
		return -errno;
	if (setsockopt(systemd->fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait)) < 0 ||
	    connect(systemd->fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		r = -errno;
	if (r == 0)
		r = systemd_introduce(systemd);
	if (r < 0) {
		close(systemd->fd);
		systemd->fd = -1;
	}
	return r;
}

/* The system bus, unlike systemd's own socket, requires a greeting. */
static int systemd_greet(struct systemd *systemd)
{
	const struct call call = { .to = "org.freedesktop.DBus",
				   .path = "/org/freedesktop/DBus",
				   .interface = "org.freedesktop.DBus",
				   .member = "Hello" };
	_cleanup_(buffer_done) struct buffer body = { 0 };

	return systemd_ask(systemd, &call, &body);
}

int systemd_open(const char *root, struct systemd **ret_systemd)
{
	_cleanup_(cleanup_systemd) struct systemd *systemd = calloc(1, sizeof(*systemd));
	int r;

	if (!systemd)
		return -ENOMEM;
	systemd->fd = -1;
	systemd->until_ns = clock_ns(CLOCK_MONOTONIC) + WAIT_ALL_NS;
	r = connect_to(systemd, root, "/run/systemd/private");
	if (r < 0) {
		r = connect_to(systemd, root, "/run/dbus/system_bus_socket");
		if (r < 0)
			return r;
		r = systemd_greet(systemd);
	}
	if (r < 0)
		return r;
	*ret_systemd = take_ptr(systemd);
	return 0;
}

struct systemd *systemd_close(struct systemd *systemd)
{
	if (systemd && systemd->fd >= 0)
		close(systemd->fd);
	free(systemd);
	return NULL;
}

static void skip_to(struct reader *reader, size_t unit)
{
	if (!reader_failed(reader) && reader->position % unit)
		reader_take(reader, unit - reader->position % unit);
}

/* Reads a string. Returns NULL when the bytes are not a string. */
static const char *systemd_take_string(struct reader *reader)
{
	const char *text;
	uint32_t size;

	skip_to(reader, 4);
	size = reader_u32(reader);
	if (size >= MESSAGE_MAX)
		reader_fail(reader);
	text = reader_take(reader, (size_t)size + 1);
	if (!text || text[size] || memchr(text, 0, size))
		reader_fail(reader);
	return reader_failed(reader) ? NULL : text;
}

/* "a(ssssssouso)": name, description, load, active and sub state, following unit, path, job. */
int systemd_parse_units(const void *body, size_t size,
			int (*see)(void *context, const char *name, const char *active,
				   const char *sub),
			void *context)
{
	struct reader reader;
	const char *texts[7];
	uint32_t array_size;
	int r = 0;

	reader_init(&reader, body, size);
	array_size = reader_u32(&reader);
	skip_to(&reader, 8);
	/* the array must end with the body */
	if (array_size && array_size != reader_left(&reader))
		return -EBADMSG;
	while (r == 0 && array_size && reader_left(&reader)) {
		skip_to(&reader, 8);
		for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
			texts[i] = systemd_take_string(&reader);
		skip_to(&reader, 4);
		reader_u32(&reader);
		systemd_take_string(&reader);
		systemd_take_string(&reader);
		if (reader_failed(&reader))
			return -EBADMSG;
		r = see(context, texts[0], texts[3], texts[4]);
	}
	return r < 0 ? r : reader_failed(&reader) ? -EBADMSG : 0;
}

/* "v" that contains a "u". */
int systemd_parse_number(const void *body, size_t size, uint32_t *ret_number)
{
	struct reader reader;
	const char *types;
	uint32_t number;

	reader_init(&reader, body, size);
	types = reader_take(&reader, 3);
	if (!types || memcmp(types, "\1u", 3) != 0)
		return -EBADMSG;
	skip_to(&reader, 4);
	number = reader_u32(&reader);
	if (reader_failed(&reader))
		return -EBADMSG;
	*ret_number = number;
	return 0;
}

int systemd_each_troubled(struct systemd *systemd,
			  int (*see)(void *context, const char *name, const char *active,
				     const char *sub),
			  void *context)
{
	static const char *const states[] = { "failed", "auto-restart", "auto-restart-queued" };
	_cleanup_(buffer_done) struct buffer body = { 0 }, list = { 0 };
	struct call call = { .to = SYSTEMD_NAME,
			     .path = SYSTEMD_PATH,
			     .interface = SYSTEMD_NAME ".Manager",
			     .member = "ListUnitsFiltered",
			     .types = "as" };
	int r;

	for (size_t i = 0; i < ARRAY_SIZE(states); i++)
		systemd_put_string(&list, states[i]);
	buffer_u32(&call.body, list.size);
	buffer_bytes(&call.body, list.data, list.size);
	r = buffer_failed(&list) ? -ENOMEM : systemd_ask(systemd, &call, &body);
	buffer_done(&call.body);
	return r < 0 ? r : systemd_parse_units(body.data, body.size, see, context);
}

/* Appends the path of a unit's object: ".../unit/ecs_2eservice" for "ecs.service". */
static void put_unit_path(struct buffer *path, const char *unit)
{
	buffer_text(path, SYSTEMD_PATH "/unit/");
	for (const char *at = unit; *at; at++)
		if (isalpha((unsigned char)*at) || (isdigit((unsigned char)*at) && at > unit))
			buffer_u8(path, *at);
		else
			buffer_printf(path, "_%02x", (unsigned char)*at);
	buffer_u8(path, 0);
}

int systemd_restarts(struct systemd *systemd, const char *unit, uint32_t *ret_count)
{
	_cleanup_(buffer_done) struct buffer body = { 0 }, path = { 0 };
	struct call call = { .to = SYSTEMD_NAME,
			     .interface = "org.freedesktop.DBus.Properties",
			     .member = "Get",
			     .types = "ss" };
	int r;

	put_unit_path(&path, unit);
	call.path = (const char *)path.data;
	systemd_put_string(&call.body, SYSTEMD_NAME ".Service");
	systemd_put_string(&call.body, "NRestarts");
	r = buffer_failed(&path) ? -ENOMEM : systemd_ask(systemd, &call, &body);
	buffer_done(&call.body);
	return r < 0 ? r : systemd_parse_number(body.data, body.size, ret_count);
}
