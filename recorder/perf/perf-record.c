// SPDX-License-Identifier: GPL-2.0-only
#include "recorder/perf/perf-record.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/sysmacros.h>

/*
 * Records have the byte order of the machine that made them. Recorder and importer read records of
 * little-endian machines only.
 */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "records are read as little-endian");
_Static_assert((int)PERF_TYPE_KSYMBOL == (int)PERF_RECORD_KSYMBOL, "the kernel's numbers");
_Static_assert(PERF_CHAIN_MARKS == (uint64_t)PERF_CONTEXT_MAX, "the kernel's marks");

#define MISC_COMM_EXEC (1 << 13)
#define MISC_MMAP_BUILD_ID (1 << 14)

#define SAMPLE_ID_FIELDS                                                               \
	(PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | \
	 PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER)

/* Reads a field that a sample and a trailing id have in common; each such field has 8 bytes. */
static void perf_record_read_tid(struct reader *reader, struct perf_record *record)
{
	record->pid = (int32_t)reader_u32(reader);
	record->tid = (int32_t)reader_u32(reader);
}

static void perf_record_read_cpu(struct reader *reader, struct perf_record *record)
{
	record->cpu = reader_u32(reader);
	reader_u32(reader);
}

/* Reads the id at the end of every record that is not a sample, and removes it from the body. */
static void perf_record_read_sample_id(const struct perf_layout *layout, struct reader *body,
				       struct perf_record *record)
{
	size_t size = 8 * __builtin_popcountll(layout->sample_type & SAMPLE_ID_FIELDS);
	struct reader tail;

	if (!layout->sample_id_all || size > body->size)
		return;
	reader_init(&tail, body->data + body->size - size, size);
	body->size -= size;
	if (layout->sample_type & PERF_SAMPLE_TID)
		perf_record_read_tid(&tail, record);
	if (layout->sample_type & PERF_SAMPLE_TIME)
		record->time_ns = reader_u64(&tail);
	if (layout->sample_type & PERF_SAMPLE_ID)
		record->id = reader_u64(&tail);
	if (layout->sample_type & PERF_SAMPLE_STREAM_ID)
		reader_u64(&tail);
	if (layout->sample_type & PERF_SAMPLE_CPU)
		perf_record_read_cpu(&tail, record);
	if (layout->sample_type & PERF_SAMPLE_IDENTIFIER)
		record->id = reader_u64(&tail);
}

static void perf_record_skip_read_values(const struct perf_layout *layout, struct reader *body)
{
	uint64_t format = layout->read_format;
	uint64_t values = 1, each = 1;

	if (format & PERF_FORMAT_GROUP)
		values = reader_u64(body);
	else
		reader_take(body, 8);
	if (format & PERF_FORMAT_TOTAL_TIME_ENABLED)
		reader_take(body, 8);
	if (format & PERF_FORMAT_TOTAL_TIME_RUNNING)
		reader_take(body, 8);
	each = !!(format & PERF_FORMAT_GROUP) + !!(format & PERF_FORMAT_ID) +
	       !!(format & PERF_FORMAT_LOST);
	if (values > reader_left(body) / 8)
		reader_take(body, SIZE_MAX);
	else
		reader_take(body, values * each * 8);
}

static void perf_record_read_chain(struct reader *body, struct perf_record *record)
{
	uint64_t count = reader_u64(body);

	record->sample.chain_count = count <= reader_left(body) / 8 ? count : 0;
	record->sample.chain =
		reader_take(body, count <= reader_left(body) / 8 ? count * 8 : SIZE_MAX);
}

static void perf_record_read_raw(struct reader *body, struct perf_record *record)
{
	record->sample.raw_size = reader_u32(body);
	record->sample.raw = reader_take(body, record->sample.raw_size);
}

static void perf_record_read_registers(const struct perf_layout *layout, struct reader *body,
				       struct perf_user *user)
{
	user->abi = reader_u64(body);
	if (user->abi == PERF_SAMPLE_REGS_ABI_NONE)
		return;
	user->regs = reader_take(body, 8 * __builtin_popcountll(layout->regs_user));
	user->regs_mask = user->regs ? layout->regs_user : 0;
}

/*
 * The record always has the requested number of bytes. Behind them is the number that the kernel
 * really copied.
 */
static void perf_record_read_stack(struct reader *body, struct perf_user *user)
{
	uint64_t size = reader_u64(body), copied;

	if (!size)
		return;
	user->stack = reader_take(body, size);
	copied = reader_u64(body);
	user->stack_size = user->stack && !reader_failed(body) ? MIN(copied, size) : 0;
}

/*
 * Fields whose size depends on more than the layout; the decoder does not read any field behind
 * them.
 */
#define AFTER_RAW PERF_SAMPLE_BRANCH_STACK
/*
 * Fields between the stack and the cgroup. Our own events do not have these fields, so the decoder
 * reads the cgroup only without them.
 */
#define BEFORE_CGROUP                                                               \
	(PERF_SAMPLE_WEIGHT_TYPE | PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_TRANSACTION | \
	 PERF_SAMPLE_REGS_INTR | PERF_SAMPLE_PHYS_ADDR)

static void perf_record_read_after_raw(const struct perf_layout *layout, struct reader *body,
				       struct perf_record *record)
{
	uint64_t type = layout->sample_type;

	if (type & AFTER_RAW)
		return;
	if (type & PERF_SAMPLE_REGS_USER)
		perf_record_read_registers(layout, body, &record->sample.user);
	if (type & PERF_SAMPLE_STACK_USER)
		perf_record_read_stack(body, &record->sample.user);
	if ((type & PERF_SAMPLE_CGROUP) && !(type & BEFORE_CGROUP))
		record->sample.cgroup = reader_u64(body);
}

/* Reads the fields in the kernel's order. Fields after the cgroup are not needed. */
static void perf_record_read_sample(const struct perf_layout *layout, struct reader *body,
				    struct perf_record *record)
{
	uint64_t type = layout->sample_type;

	if (type & PERF_SAMPLE_IDENTIFIER)
		record->id = reader_u64(body);
	if (type & PERF_SAMPLE_IP)
		record->sample.ip = reader_u64(body);
	if (type & PERF_SAMPLE_TID)
		perf_record_read_tid(body, record);
	if (type & PERF_SAMPLE_TIME)
		record->time_ns = reader_u64(body);
	if (type & PERF_SAMPLE_ADDR)
		reader_u64(body);
	if (type & PERF_SAMPLE_ID)
		record->id = reader_u64(body);
	if (type & PERF_SAMPLE_STREAM_ID)
		reader_u64(body);
	if (type & PERF_SAMPLE_CPU)
		perf_record_read_cpu(body, record);
	record->sample.period = 1;
	if (type & PERF_SAMPLE_PERIOD)
		record->sample.period = reader_u64(body);
	if (type & PERF_SAMPLE_READ)
		perf_record_skip_read_values(layout, body);
	if (type & PERF_SAMPLE_CALLCHAIN)
		perf_record_read_chain(body, record);
	if (type & PERF_SAMPLE_RAW)
		perf_record_read_raw(body, record);
	perf_record_read_after_raw(layout, body, record);
}

static void perf_record_read_comm(struct reader *body, struct perf_record *record)
{
	record->comm.pid = (int32_t)reader_u32(body);
	record->comm.tid = (int32_t)reader_u32(body);
	record->comm.exec = record->misc & MISC_COMM_EXEC;
	record->comm.comm = reader_text(body, reader_left(body));
}

static void perf_record_read_task(struct reader *body, struct perf_record *record)
{
	record->task.pid = (int32_t)reader_u32(body);
	record->task.parent_pid = (int32_t)reader_u32(body);
	record->task.tid = (int32_t)reader_u32(body);
	record->task.parent_tid = (int32_t)reader_u32(body);
	/*
	 * The time of the event itself equals that of the trailing id, and also exists in a record
	 * without a trailing id.
	 */
	record->time_ns = reader_u64(body);
}

static void perf_record_read_build_id(struct reader *body, struct perf_record *record)
{
	const uint8_t *field = reader_take(body, 24);

	if (!field || field[0] > TAPE_BUILD_ID_MAX)
		return;
	record->mmap.build_id_size = field[0];
	__builtin_memcpy(record->mmap.build_id, field + 4, field[0]);
}

static void perf_record_read_file_id(struct reader *body, struct perf_record *record)
{
	uint32_t major = reader_u32(body), minor = reader_u32(body);

	record->mmap.device = makedev(major, minor);
	record->mmap.inode = reader_u64(body);
	record->mmap.generation = reader_u64(body);
}

/*
 * The flag in misc alone does not prove a build-id. If another listener asks for build-ids, kernels
 * (6.18) also set the flag in our records, which still have device and inode in that place.
 */
static void perf_record_read_mmap(const struct perf_layout *layout, struct reader *body,
				  struct perf_record *record)
{
	record->mmap.pid = (int32_t)reader_u32(body);
	record->mmap.tid = (int32_t)reader_u32(body);
	record->mmap.start = reader_u64(body);
	record->mmap.size = reader_u64(body);
	record->mmap.offset = reader_u64(body);
	if (record->type == PERF_TYPE_MMAP2) {
		if (layout->build_id && (record->misc & MISC_MMAP_BUILD_ID))
			perf_record_read_build_id(body, record);
		else
			perf_record_read_file_id(body, record);
		reader_u64(body); /* PROT_ and MAP_ flags */
	}
	record->mmap.path = reader_text(body, reader_left(body));
}

static void perf_record_read_cgroup(struct reader *body, struct perf_record *record)
{
	record->cgroup.id = reader_u64(body);
	record->cgroup.path = reader_text(body, reader_left(body));
}

static void perf_record_read_ksymbol(struct reader *body, struct perf_record *record)
{
	record->ksymbol.start = reader_u64(body);
	record->ksymbol.size = reader_u32(body);
	reader_u16(body); /* type: BPF or out of line */
	record->ksymbol.removed = reader_u16(body) & 1;
	record->ksymbol.name = reader_text(body, reader_left(body));
}

/* Reads the header into the struct, and sets `ret_body` to the rest of the record. */
static int perf_record_open_record(const uint8_t *bytes, size_t size, struct reader *ret_body,
				   struct perf_record *record)
{
	struct reader reader;
	uint64_t header;

	reader_init(&reader, bytes, size);
	header = reader_u64(&reader);
	*record = (struct perf_record){
		.type = header, .misc = header >> 32, .cpu = UINT32_MAX, .pid = -1, .tid = -1
	};
	if (reader_failed(&reader) || header >> 48 != size)
		return -EBADMSG;
	reader_init(ret_body, bytes + PERF_HEADER_SIZE, size - PERF_HEADER_SIZE);
	return 0;
}

/* Fast path for samples; the local reader stays in registers. */
static int perf_record_decode_sample(const struct perf_layout *layout, const uint8_t *bytes,
				     size_t size, struct perf_record *record)
{
	struct reader body;

	reader_init(&body, bytes + PERF_HEADER_SIZE, size - PERF_HEADER_SIZE);
	perf_record_read_sample(layout, &body, record);
	return reader_failed(&body) ? -EBADMSG : 0;
}

int perf_record_decode(const struct perf_layout *layout, const uint8_t *bytes, size_t size,
		       struct perf_record *ret_record)
{
	struct reader body;
	int r = perf_record_open_record(bytes, size, &body, ret_record);

	if (r < 0)
		return r;
	if (ret_record->type == PERF_TYPE_SAMPLE)
		return perf_record_decode_sample(layout, bytes, size, ret_record);
	perf_record_read_sample_id(layout, &body, ret_record);
	switch (ret_record->type) {
	case PERF_TYPE_COMM:
		perf_record_read_comm(&body, ret_record);
		break;
	case PERF_TYPE_FORK:
	case PERF_TYPE_EXIT:
		perf_record_read_task(&body, ret_record);
		break;
	case PERF_TYPE_MMAP:
	case PERF_TYPE_MMAP2:
		perf_record_read_mmap(layout, &body, ret_record);
		break;
	case PERF_TYPE_KSYMBOL:
		perf_record_read_ksymbol(&body, ret_record);
		break;
	case PERF_TYPE_CGROUP:
		perf_record_read_cgroup(&body, ret_record);
		break;
	case PERF_TYPE_LOST:
		ret_record->id = reader_u64(&body);
		ret_record->lost = reader_u64(&body);
		break;
	case PERF_TYPE_LOST_SAMPLES:
		ret_record->lost = reader_u64(&body);
		break;
	case PERF_TYPE_THROTTLE:
	case PERF_TYPE_UNTHROTTLE:
		ret_record->time_ns = reader_u64(&body);
		break;
	default:
		r = 1;
	}
	return reader_failed(&body) ? -EBADMSG : r;
}

/* Reads only the header, because the decoder calls this for every record. */
static bool perf_record_is_sample(const uint8_t *bytes, size_t size)
{
	struct reader reader;
	uint64_t header;

	reader_init(&reader, bytes, size);
	header = reader_u64(&reader);
	return (uint32_t)header == PERF_TYPE_SAMPLE && header >> 48 == size;
}

/* Reads the fields at the beginning of a sample, in the kernel's order. */
static void perf_record_sample_place(const struct perf_layout *layout, struct reader *body,
				     struct perf_record_place *place)
{
	uint64_t type = layout->sample_type;

	if (type & PERF_SAMPLE_IDENTIFIER)
		place->id = reader_u64(body);
	reader_take(body, 8 * (!!(type & PERF_SAMPLE_IP) + !!(type & PERF_SAMPLE_TID)));
	if (type & PERF_SAMPLE_TIME)
		place->time_ns = reader_u64(body);
	if (type & PERF_SAMPLE_ADDR)
		reader_take(body, 8);
	if (type & PERF_SAMPLE_ID)
		place->id = reader_u64(body);
	if (type & PERF_SAMPLE_STREAM_ID)
		reader_take(body, 8);
	if (type & PERF_SAMPLE_CPU)
		place->cpu = reader_u32(body);
	if (reader_failed(body))
		place->cpu = UINT32_MAX;
}

struct perf_record_place perf_record_place(const struct perf_layout *layout, const uint8_t *bytes,
					   size_t size)
{
	struct perf_record_place place = { .cpu = UINT32_MAX };
	struct perf_record record;
	struct reader body;

	place.sample = perf_record_is_sample(bytes, size);
	if (place.sample) {
		reader_init(&body, bytes + PERF_HEADER_SIZE, size - PERF_HEADER_SIZE);
		perf_record_sample_place(layout, &body, &place);
	} else if (perf_record_open_record(bytes, size, &body, &record) == 0) {
		perf_record_read_sample_id(layout, &body, &record);
		place.time_ns = record.time_ns;
		place.id = record.id;
		place.cpu = record.cpu;
	}
	return place;
}

/* The first process in a FORK record is the child; its parent follows, and is the actor. */
int32_t perf_record_actor(const uint8_t *bytes, size_t size)
{
	struct reader reader;
	uint32_t type, pid, parent;
	uint16_t misc;

	reader_init(&reader, bytes, size);
	type = reader_u32(&reader);
	misc = reader_u16(&reader);
	reader_u16(&reader);
	pid = reader_u32(&reader);
	parent = reader_u32(&reader);
	if (reader_failed(&reader))
		return 0;
	switch (type) {
	case PERF_TYPE_MMAP:
	case PERF_TYPE_MMAP2:
		return MAX((int32_t)pid, 0);
	case PERF_TYPE_COMM:
		return misc & PERF_RECORD_MISC_COMM_EXEC ? 0 : MAX((int32_t)pid, 0);
	case PERF_TYPE_FORK:
		return MAX((int32_t)parent, 0);
	default:
		return 0;
	}
}

bool perf_user_register(const struct perf_user *user, unsigned int number, uint64_t *ret_value)
{
	uint64_t mask = user->regs_mask, below;

	if (number >= 64 || !(mask >> number & 1))
		return false;
	below = mask & ((1ull << number) - 1);
	memcpy(ret_value, user->regs + 8 * __builtin_popcountll(below), sizeof(*ret_value));
	return true;
}
