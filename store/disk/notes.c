// SPDX-License-Identifier: GPL-2.0-only
/*
 * A record, little-endian:
 *
 *   0   4  "\x9fnot"
 *   4   4  size of the body
 *   8   4  CRC-32C of the size and the body
 *   12     the body: u32 kind, u64 wall clock, u32 number of fields, then name and value of each
 *          field, with their NULs
 *
 * A writer that is killed may leave a part of a record, and the next writer appends behind it. So
 * readers skip bytes that are not a sound record, up to the next magic.
 */
#include "store/disk/notes.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#include "store/disk/beneath.h"
#include "base/clock.h"
#include "base/file.h"
#include "store/disk/files.h"

#define MAGIC "\x9fnot"
#define HEAD_SIZE 12
#define BODY_HEAD_SIZE 16
#define TEXTS_MAX 65536
#define BODY_MAX (BODY_HEAD_SIZE + TEXTS_MAX)

const char *note_field(const struct note *note, const char *name)
{
	for (size_t i = 0; i < note->field_count; i++)
		if (strcmp(note->fields[i].name, name) == 0)
			return note->fields[i].value;
	return "";
}

uint64_t note_u64(const struct note *note, const char *name, uint64_t fallback)
{
	const char *text = note_field(note, name);

	return *text ? strtoull(text, NULL, 10) : fallback;
}

/*
 * Returns the checksum of a record. The checksum covers the bytes of the size in the record, and
 * the body.
 */
static uint32_t record_crc(const uint8_t *size_at, const void *body, size_t size)
{
	return crc32c(crc32c(0, size_at, 4), body, size);
}

int notes_encode(const struct note *note, struct buffer *bytes)
{
	_cleanup_(buffer_done) struct buffer body = { 0 };
	uint8_t size[4];

	buffer_u32(&body, note->kind);
	buffer_u64(&body, note->realtime_ns);
	buffer_u32(&body, note->field_count);
	for (size_t i = 0; i < note->field_count; i++) {
		buffer_bytes(&body, note->fields[i].name, strlen(note->fields[i].name) + 1);
		buffer_bytes(&body, note->fields[i].value, strlen(note->fields[i].value) + 1);
	}
	if (buffer_failed(&body))
		return -ENOMEM;
	if (body.size > BODY_MAX)
		return -E2BIG;
	memcpy(size, &(uint32_t){ htole32(body.size) }, sizeof(size));
	buffer_bytes(bytes, MAGIC, 4);
	buffer_bytes(bytes, size, sizeof(size));
	buffer_u32(bytes, record_crc(size, body.data, body.size));
	buffer_bytes(bytes, body.data, body.size);
	return buffer_failed(bytes) ? -ENOMEM : 0;
}

struct notes_fields {
	array_of(struct notes_field) list;
};

/*
 * Reads the fields of a body whose checksum is right. Returns -EBADMSG if the fields do not fill
 * the body exactly.
 */
static int read_fields(struct reader *reader, uint32_t count, struct notes_fields *fields)
{
	fields->list.count = 0;
	for (uint32_t i = 0; i < count; i++) {
		struct notes_field field = { .name = reader_string(reader) };

		field.value = reader_string(reader);
		if (!field.value)
			return -EBADMSG;
		if (array_push(&fields->list, field) < 0)
			return -ENOMEM;
	}
	return reader_left(reader) ? -EBADMSG : 0;
}

/* Reads a record and advances behind it. Returns -EBADMSG if the record is not sound. */
static int read_record(struct reader *reader, struct notes_fields *fields, struct note *ret_note)
{
	struct reader body;
	const uint8_t *magic = reader_take(reader, 4), *size_at, *data;
	uint32_t size, crc, count;
	int r;

	if (!magic || memcmp(magic, MAGIC, 4) != 0)
		return -EBADMSG;
	size_at = reader->data + reader->position;
	size = reader_u32(reader);
	crc = reader_u32(reader);
	if (reader_failed(reader) || size > BODY_MAX)
		return -EBADMSG;
	data = reader_take(reader, size);
	if (!data || record_crc(size_at, data, size) != crc)
		return -EBADMSG;
	reader_init(&body, data, size);
	*ret_note = (struct note){ .kind = reader_u32(&body), .realtime_ns = reader_u64(&body) };
	count = reader_u32(&body);
	if (reader_failed(&body))
		return -EBADMSG;
	r = read_fields(&body, count, fields);
	ret_note->fields = fields->list.items;
	ret_note->field_count = fields->list.count;
	return r;
}

/* Returns the first place behind `at` where a record may begin. */
static size_t next_magic(const uint8_t *data, size_t size, size_t at)
{
	const uint8_t *found =
		at + 1 < size ? memmem(data + at + 1, size - at - 1, MAGIC, 4) : NULL;

	return found ? found - data : size;
}

/* A walk over records. Bytes that are not a record begin or continue a damaged stretch. */
struct walk {
	int (*see)(void *context, const struct note *note);
	void *context;
	/* Receive copies of the sound and of the damaged bytes. NULL: no copy. */
	struct buffer *sound, *broken;
	/* The number of damaged stretches. */
	uint64_t damaged;
};

/*
 * Bytes of false records of which the checksum is tried, for each byte of the file. A forged file
 * has a false record at every eighth byte, and each costs a checksum of 64 KB.
 */
#define FALSE_BYTES_EACH 16

/*
 * Returns where a damaged stretch may end, which begins at `at`. *false_bytes is the number of
 * bytes of false records so far; beyond the limit, all the rest is damaged.
 */
static size_t notes_skip_damage(const uint8_t *data, size_t size, size_t at, size_t tried,
				uint64_t *false_bytes)
{
	*false_bytes += tried;
	if (*false_bytes > (uint64_t)size * FALSE_BYTES_EACH + BODY_MAX)
		return size;
	return next_magic(data, size, at);
}

static int notes_walk_records(const void *data, size_t size, struct walk *walk)
{
	struct notes_fields fields = { 0 };
	uint64_t false_bytes = 0;
	bool in_damage = false;
	int r = 0;

	for (size_t at = 0; r >= 0 && at < size;) {
		const uint8_t *from = (const uint8_t *)data + at;
		struct reader reader;
		struct note note;

		reader_init(&reader, from, size - at);
		r = read_record(&reader, &fields, &note);
		if (r == 0) {
			in_damage = false;
			at += reader.position;
			if (walk->sound)
				buffer_bytes(walk->sound, from, reader.position);
			r = walk->see ? walk->see(walk->context, &note) : 0;
		} else if (r == -EBADMSG) {
			size_t next =
				notes_skip_damage(data, size, at, reader.position, &false_bytes);

			walk->damaged += !in_damage;
			in_damage = true;
			if (walk->broken)
				buffer_bytes(walk->broken, from, next - at);
			at = next;
			r = 0;
		}
	}
	array_done(&fields.list);
	return MIN(r, 0);
}

int notes_decode(const void *data, size_t size, int (*see)(void *context, const struct note *note),
		 void *context, uint64_t *ret_damaged)
{
	struct walk walk = { .see = see, .context = context };
	int r = notes_walk_records(data, size, &walk);

	if (r < 0)
		return r;
	*ret_damaged = walk.damaged;
	return 0;
}

static int notes_write(const char *store, int fd, const struct buffer *bytes, bool is_new)
{
	int r = file_write_all(fd, bytes->data, bytes->size);

	if (r < 0)
		return r;
	if (fdatasync(fd) < 0)
		return -errno;
	return is_new ? file_sync_dir(store) : 0;
}

/* Appends the bytes, and truncates the file again after a failure. The caller holds the lock. */
static int notes_append_locked(const char *store, int fd, const struct buffer *bytes)
{
	struct stat about;
	int r;

	if (fstat(fd, &about) < 0)
		return -errno;
	r = notes_write(store, fd, bytes, !about.st_size);
	/* if truncating fails, too, readers still find the next record behind the incomplete one */
	if (r < 0 && ftruncate(fd, about.st_size) < 0)
		return r;
	return r;
}

static int notes_encode_one(const struct note *note, struct buffer *bytes, struct error *error)
{
	int r = notes_encode(note, bytes);

	return r == -E2BIG ? error_set(error, r, STORE_NOTES ": the note exceeds 64 KB") : r;
}

/*
 * The limit of time to wait for the lock. Every user who can read the notes can lock them, and that
 * must not stop the recorder. An append takes much less time.
 */
#define LOCK_TIMEOUT_NS (10 * NSEC_PER_SEC)
#define LOCK_RETRY_NS (10 * NSEC_PER_MSEC)

static int lock_with_timeout(int fd)
{
	const struct timespec pause = { .tv_nsec = LOCK_RETRY_NS };
	uint64_t until_ns = clock_ns(CLOCK_MONOTONIC) + LOCK_TIMEOUT_NS;

	while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return -errno;
		if (clock_ns(CLOCK_MONOTONIC) > until_ns)
			return -EBUSY;
		nanosleep(&pause, NULL);
	}
	return 0;
}

/* Returns 1 if the file was replaced while we waited for its lock. */
static int notes_lock_file(int fd, const char *file)
{
	struct stat ours, there;
	int r = lock_with_timeout(fd);

	if (r < 0)
		return r;
	if (fstat(fd, &ours) < 0)
		return -errno;
	return stat(file, &there) < 0 || ours.st_dev != there.st_dev || ours.st_ino != there.st_ino;
}

/*
 * Takes the lock of the notes. The lock is on a separate file that only the owner can open, because
 * every user who can read a file can lock it.
 */
static int notes_lock(const char *store, int *ret_lock, struct error *error)
{
	char file[PATH_MAX];
	int r = store_file(store, STORE_NOTES_LOCK, file, error);

	if (r < 0)
		return r;
	do {
		_cleanup_close_ int fd =
			beneath_open(store, STORE_NOTES_LOCK, O_RDWR | O_CREAT, STORE_LOCK_MODE);

		r = fd < 0 ? fd : notes_lock_file(fd, file);
		if (r == 0)
			*ret_lock = take_fd(fd);
	} while (r > 0);
	if (r == -EBUSY)
		return error_set(error, r, "%s: another process holds its lock", file);
	return r < 0 ? error_set(error, r, "%s: %s", file, strerror(-r)) : 0;
}

/* Opens the notes for appending, under their lock. */
static int open_for_append(const char *store, char file[PATH_MAX], int *ret_lock, int *ret_fd,
			   struct error *error)
{
	int r = store_check_file(store, error), fd;

	if (r < 0)
		return r;
	r = store_file(store, STORE_NOTES, file, error);
	if (r < 0)
		return r;
	r = notes_lock(store, ret_lock, error);
	if (r < 0)
		return r;
	fd = beneath_open(store, STORE_NOTES, O_RDWR | O_CREAT | O_APPEND, STORE_FILE_MODE);
	if (fd < 0)
		return error_set(error, fd, "%s: %s", file, strerror(-fd));
	*ret_fd = fd;
	return 0;
}

/* Appends the bytes to the bytes that earlier repairs set aside. */
static int notes_set_aside(const char *store, const struct buffer *broken, struct error *error)
{
	_cleanup_close_ int fd = -1;
	char file[PATH_MAX];
	int r = store_file(store, STORE_NOTES_DAMAGED, file, error);

	if (r < 0)
		return r;
	fd = beneath_open(store, STORE_NOTES_DAMAGED, O_WRONLY | O_CREAT | O_APPEND,
			  STORE_FILE_MODE);
	r = fd < 0 ? fd : file_write_all(fd, broken->data, broken->size);
	if (r == 0 && fsync(fd) < 0)
		r = -errno;
	return r < 0 ? error_set(error, r, "%s: %s", file, strerror(-r)) : 0;
}

/* Copies the sound records and the broken bytes of the notes. */
static int notes_divide(int fd, struct walk *walk)
{
	_cleanup_free_ char *data = NULL;
	size_t size;
	int r = file_read_fd(fd, NOTES_MAX, &data, &size);

	if (r < 0)
		return r;
	r = notes_walk_records(data, size, walk);
	if (r < 0)
		return r;
	return buffer_failed(walk->sound) || buffer_failed(walk->broken) ? -ENOMEM : 0;
}

int notes_repair(const char *store, uint64_t *ret_bytes, struct error *error)
{
	_cleanup_(buffer_done) struct buffer sound = { 0 }, broken = { 0 };
	struct walk walk = { .sound = &sound, .broken = &broken };
	_cleanup_close_ int lock = -1;
	_cleanup_close_ int fd = -1;
	char file[PATH_MAX];
	int r = open_for_append(store, file, &lock, &fd, error);

	if (r < 0)
		return r;
	r = notes_divide(fd, &walk);
	if (r < 0)
		return error_set(error, r, "%s: %s", file, strerror(-r));
	*ret_bytes = broken.size;
	if (!walk.damaged)
		return 0;
	r = notes_set_aside(store, &broken, error);
	if (r < 0)
		return r;
	r = file_replace(store, STORE_NOTES, sound.data, sound.size);
	return r < 0 ? error_set(error, r, "%s: %s", file, strerror(-r)) : 0;
}

/* Reads the sound records at the end of the file. */
static int notes_read_end(int fd, uint64_t file_size, struct buffer *sound)
{
	struct walk walk = { .sound = sound };
	_cleanup_(buffer_done) struct buffer end = { 0 };
	uint8_t *room = buffer_room(&end, NOTES_MAX / 2);
	ssize_t got;
	int r;

	if (!room)
		return -ENOMEM;
	got = pread(fd, room, NOTES_MAX / 2, file_size - NOTES_MAX / 2);
	if (got < 0)
		return -errno;
	r = notes_walk_records(room, got, &walk);
	return r == 0 && buffer_failed(sound) ? -ENOMEM : r;
}

static int notes_keep_long(const char *store, const char *file, struct error *error)
{
	char aside[PATH_MAX];
	int r = store_file(store, STORE_NOTES_LONG, aside, error);

	if (r < 0)
		return r;
	/*
	 * with a link, the notes are never absent; rename where the file system does not support
	 * links
	 */
	unlink(aside);
	if (link(file, aside) < 0 && rename(file, aside) < 0)
		return error_set(error, -errno, "%s: %s", aside, strerror(errno));
	return 0;
}

int notes_shorten(const char *store, struct error *error)
{
	_cleanup_(buffer_done) struct buffer sound = { 0 };
	_cleanup_close_ int lock = -1;
	_cleanup_close_ int fd = -1;
	char file[PATH_MAX];
	struct stat about;
	int r = store_file(store, STORE_NOTES, file, error);

	if (r < 0)
		return r;
	if (lstat(file, &about) < 0 || !S_ISREG(about.st_mode) || about.st_size <= NOTES_MAX)
		return 0;
	r = open_for_append(store, file, &lock, &fd, error);
	if (r < 0)
		return r;
	r = notes_read_end(fd, about.st_size, &sound);
	if (r < 0)
		return error_set(error, r, "%s: %s", file, strerror(-r));
	r = notes_keep_long(store, file, error);
	if (r < 0)
		return r;
	r = file_replace(store, STORE_NOTES, sound.data, sound.size);
	return r < 0 ? error_set(error, r, "%s: %s", file, strerror(-r)) : 1;
}

int notes_append_encoded(const char *store, const struct buffer *records, struct error *error)
{
	_cleanup_close_ int lock = -1;
	_cleanup_close_ int fd = -1;
	char file[PATH_MAX];
	int r = open_for_append(store, file, &lock, &fd, error);

	if (r < 0)
		return r;
	r = notes_append_locked(store, fd, records);
	return r < 0 ? error_set(error, r, "%s: %s", file, strerror(-r)) : 0;
}

int notes_append(const char *store, const struct note *note, struct error *error)
{
	_cleanup_(buffer_done) struct buffer bytes = { 0 };
	int r = notes_encode_one(note, &bytes, error);

	return r < 0 ? r : notes_append_encoded(store, &bytes, error);
}

/*
 * Reads the notes, or the last NOTES_MAX bytes of longer ones. *ret_from is the first place where a
 * record may begin. The caller frees *ret_data.
 */
static int notes_read_newest(int fd, char **ret_data, size_t *ret_from, size_t *ret_size)
{
	_cleanup_free_ char *data = NULL;
	struct stat about;
	ssize_t got;

	*ret_from = 0;
	if (fstat(fd, &about) < 0)
		return -errno;
	if (about.st_size <= NOTES_MAX)
		return file_read_fd(fd, NOTES_MAX, ret_data, ret_size);
	data = malloc(NOTES_MAX);
	if (!data)
		return -ENOMEM;
	got = pread(fd, data, NOTES_MAX, about.st_size - NOTES_MAX);
	if (got < 0)
		return -errno;
	*ret_from = got ? next_magic((uint8_t *)data, got, 0) : 0;
	*ret_size = got;
	*ret_data = take_ptr(data);
	return 0;
}

int notes_append_after(const char *store, int (*see)(void *context, const struct note *note),
		       void (*make)(void *context, struct note *ret_note), void *context,
		       struct error *error)
{
	_cleanup_(buffer_done) struct buffer bytes = { 0 };
	_cleanup_free_ char *data = NULL;
	_cleanup_close_ int lock = -1;
	_cleanup_close_ int fd = -1;
	struct note note = { 0 };
	char file[PATH_MAX];
	uint64_t damaged;
	size_t from, size;
	int r = open_for_append(store, file, &lock, &fd, error);

	if (r < 0)
		return r;
	r = notes_read_newest(fd, &data, &from, &size);
	if (r == 0)
		r = notes_decode(data + from, size - from, see, context, &damaged);
	if (r < 0)
		return error_set(error, r, "%s: %s", file, strerror(-r));
	make(context, &note);
	r = notes_encode_one(&note, &bytes, error);
	if (r < 0)
		return r;
	r = notes_append_locked(store, fd, &bytes);
	return r < 0 ? error_set(error, r, "%s: %s", file, strerror(-r)) : 0;
}

int notes_read_file(const char *store, const char *name,
		    int (*see)(void *context, const struct note *note), void *context,
		    uint64_t *ret_damaged, struct error *error)
{
	_cleanup_free_ char *data = NULL;
	_cleanup_close_ int fd = -1;
	size_t from, size;
	int r = store_open_file(store, ".", name, &fd, error);

	*ret_damaged = 0;
	if (r < 0)
		return r == -ENOENT ? error_forget(error) : r;
	r = notes_read_newest(fd, &data, &from, &size);
	if (r < 0)
		return error_set(error, r, "%s/%s: %s", store, name, strerror(-r));
	return notes_decode(data + from, size - from, see, context, ret_damaged);
}

int notes_read(const char *store, int (*see)(void *context, const struct note *note), void *context,
	       uint64_t *ret_damaged, struct error *error)
{
	return notes_read_file(store, STORE_NOTES, see, context, ret_damaged, error);
}
