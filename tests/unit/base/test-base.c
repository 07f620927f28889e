// SPDX-License-Identifier: GPL-2.0-only
#include "tests/check.h"

#include <errno.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/number.h"
#include "base/size.h"
#include "base/sort.h"
#include "base/intern.h"
#include "base/table.h"

static void test_reader_stays_inside(void)
{
	const uint8_t bytes[] = { 1, 2, 3, 4, 5 };
	struct reader reader;

	reader_init(&reader, bytes, sizeof(bytes));
	CHECK_EQ(reader_u32(&reader), 0x04030201);
	CHECK_EQ(reader_left(&reader), 1);
	CHECK_EQ(reader_u16(&reader), 0);
	CHECK(reader_failed(&reader));
	CHECK_EQ(reader.failed_at, 4);
	CHECK_EQ(reader_u8(&reader), 0);
	CHECK_EQ(reader_left(&reader), 0);
	CHECK(!reader_take(&reader, 0));
}

static void test_reader_huge_take(void)
{
	struct reader reader;

	reader_init(&reader, "abc", 3);
	CHECK_EQ(reader_u8(&reader), 'a');
	CHECK(!reader_take(&reader, SIZE_MAX));
	CHECK(reader_failed(&reader));
}

static void test_reader_text(void)
{
	struct reader reader;

	reader_init(&reader, "ab\0cd", 5);
	CHECK_STR(reader_text(&reader, 3), "ab");
	CHECK(!reader_text(&reader, 2));
	CHECK(reader_failed(&reader));
	CHECK_EQ(reader.failed_at, 3);
}

static void test_varint_round_trip(void)
{
	static const uint64_t values[] = {
		0, 1, 127, 128, 300, UINT32_MAX, 1ull << 62, UINT64_MAX
	};
	_cleanup_(buffer_done) struct buffer buffer = { 0 };
	struct reader reader;

	for (size_t i = 0; i < ARRAY_SIZE(values); i++)
		buffer_varint(&buffer, values[i]);
	reader_init(&reader, buffer.data, buffer.size);
	for (size_t i = 0; i < ARRAY_SIZE(values); i++)
		CHECK(reader_varint(&reader) == values[i]);
	CHECK(!reader_failed(&reader));
	CHECK_EQ(reader_left(&reader), 0);
}

static void test_varint_too_long(void)
{
	uint8_t bytes[11];
	struct reader reader;

	memset(bytes, 0xff, sizeof(bytes));
	reader_init(&reader, bytes, sizeof(bytes));
	CHECK_EQ(reader_varint(&reader), 0);
	CHECK(reader_failed(&reader));
}

static void test_zigzag(void)
{
	static const int64_t values[] = { 0, -1, 1, INT64_MIN, INT64_MAX, -300 };

	for (size_t i = 0; i < ARRAY_SIZE(values); i++)
		CHECK(unzigzag(zigzag(values[i])) == values[i]);
	CHECK_EQ(zigzag(-1), 1);
}

static void test_crc32c(void)
{
	uint8_t zeros[32] = { 0 };

	CHECK_EQ(crc32c(0, "123456789", 9), 0xe3069283);
	CHECK_EQ(crc32c(0, zeros, 32), 0x8a9136aa);
	CHECK_EQ(crc32c(crc32c(0, "1234", 4), "56789", 5), 0xe3069283);
}

static void test_array(void)
{
	array_of(int) array = { 0 };

	for (int i = 0; i < 1000; i++)
		CHECK_EQ(array_push(&array, i * 2), 0);
	CHECK_EQ(array.count, 1000);
	CHECK_EQ(array.items[999], 1998);
	CHECK_EQ(array_grow(&array.items, &array.capacity, SIZE_MAX / 2, sizeof(int)), -ENOMEM);
	CHECK_EQ(array.items[0], 0);
	array_done(&array);
	CHECK(!array.items);
}

static bool number_equal(const void *context, uint32_t value, const void *key)
{
	return ((const uint64_t *)context)[value] == *(const uint64_t *)key;
}

/* Compares the table with a plain array. Its hashes are bad enough to collide. */
static void test_table_against_model(void)
{
	enum { KEYS = 4000 };
	static uint64_t keys[KEYS];
	static bool there[KEYS];
	struct table table = { 0 };
	uint64_t state = 7;
	size_t count = 0;

	for (uint64_t i = 0; i < KEYS; i++)
		keys[i] = i;
	for (int step = 0; step < 60000; step++) {
		uint32_t key = (state = state * 6364136223846793005ull + 1) >> 33;
		uint64_t hash;

		key %= KEYS;
		hash = hash_u64(keys[key] % 512);
		CHECK_EQ(table_find(&table, hash, number_equal, keys, &keys[key]),
			 there[key] ? key : TABLE_NONE);
		if (there[key]) {
			table_remove(&table, hash, key);
			count--;
		} else {
			CHECK_EQ(table_add(&table, hash, key), 0);
			count++;
		}
		there[key] = !there[key];
		CHECK_EQ(table.count, count);
	}
	for (uint32_t key = 0; key < KEYS; key++)
		CHECK_EQ(table_find(&table, hash_u64(keys[key] % 512), number_equal, keys,
				    &keys[key]),
			 there[key] ? key : TABLE_NONE);
	table_clear(&table);
	CHECK_EQ(table_find(&table, hash_u64(1), number_equal, keys, &keys[1]), TABLE_NONE);
	table_done(&table);
}

/*
 * The first two keys are those of PYTHONHASHSEED=0 and 1: the hash() of bytes of CPython 3.11 is
 * SipHash-1-3, made without this code.
 */
static void test_sip_hash(void)
{
	static const struct {
		uint64_t key[2];
		size_t size;
		uint64_t hash;
	} known[] = {
		{ { 0, 0 }, 7, 0x2f098ab0c751325a },
		{ { 0, 0 }, 8, 0xead411e67ebe2eea },
		{ { 0, 0 }, 15, 0xf30eb725bb91c9ea },
		{ { 0, 0 }, 16, 0x8972188433a5c5b7 },
		{ { 0, 0 }, 63, 0x385d3e39e5f37359 },
		{ { 0xaed66ce184be2329, 0xebe9bbf1f1499052 }, 1, 0xecd3e5afcecda4b9 },
		{ { 0xaed66ce184be2329, 0xebe9bbf1f1499052 }, 15, 0xfa87985f39e97a53 },
		{ { 0xaed66ce184be2329, 0xebe9bbf1f1499052 }, 16, 0x12e9d283f9f37002 },
		{ { 0xaed66ce184be2329, 0xebe9bbf1f1499052 }, 63, 0x542052345bc68274 },
	};
	uint8_t bytes[64];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = i;
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		CHECK_EQ(hash_sip13(known[i].key, bytes, known[i].size), known[i].hash);
	CHECK(hash_secret[0] && hash_secret[1] && hash_secret[0] != hash_secret[1]);
}

/*
 * Flipping bit 63 of a word, and bits 63 and 31 of the next one, does not change hash_bytes(). A
 * process can name as many such texts as it likes.
 */
static void test_chosen_texts(void)
{
	uint64_t words[2] = { 0x6161616161616161, 0x6161616161616161 };
	uint64_t other[2] = { words[0] ^ 1ull << 63, words[1] ^ 1ull << 63 ^ 1ull << 31 };

	CHECK_EQ(hash_bytes(words, sizeof(words)), hash_bytes(other, sizeof(other)));
	CHECK(hash_text(words, sizeof(words)) != hash_text(other, sizeof(other)));
}

/* Returns how many of 4096 numbers share the most popular of 4096 slots. */
static size_t most_in_a_slot(uint64_t (*hash)(uint64_t number), const uint64_t *numbers)
{
	static size_t slots[4096];
	size_t most = 0;

	memset(slots, 0, sizeof(slots));
	for (size_t i = 0; i < 4096; i++)
		slots[table_fold(hash(numbers[i])) % 4096]++;
	for (size_t i = 0; i < 4096; i++)
		most = MAX(most, slots[i]);
	return most;
}

static uint64_t hash_secreted(uint64_t number)
{
	return hash_numbers(number, 7);
}

/* An attacker can compute the fixed hash, and so choose numbers of one slot. */
static void test_chosen_numbers(void)
{
	static uint64_t numbers[4096];
	uint64_t key[2] = { hash_secret[0], hash_secret[1] };
	size_t count = 0;

	for (uint64_t number = 0; count < 4096; number++)
		if (table_fold(hash_u64(number)) % 4096 == 5)
			numbers[count++] = number;
	CHECK_EQ(most_in_a_slot(hash_u64, numbers), 4096);
	for (uint64_t i = 0; i < 16; i++) {
		hash_secret[0] = hash_u64(2 * i + 1);
		hash_secret[1] = hash_u64(2 * i + 2);
		CHECK(most_in_a_slot(hash_secreted, numbers) < 16);
		/* numbers that differ in their high bits alone */
		for (size_t k = 0; k < 4096; k++)
			numbers[k] = k << 52;
		CHECK(most_in_a_slot(hash_secreted, numbers) < 16);
	}
	hash_secret[0] = key[0];
	hash_secret[1] = key[1];
}

static void test_strings(void)
{
	_cleanup_(strings_done) struct strings strings = { 0 };
	uint32_t a, b, c, empty, cut;

	CHECK_EQ(strings_add(&strings, "kubelet", 7, &a), 0);
	CHECK_EQ(strings_add(&strings, "kube", 4, &b), 0);
	CHECK_EQ(strings_add(&strings, "kubelet!", 7, &c), 0);
	CHECK_EQ(strings_add(&strings, "", 0, &empty), 0);
	CHECK_EQ(strings_add(&strings, "kube\0let", 8, &cut), 0);
	CHECK_EQ(a, 1);
	CHECK_EQ(b, 2);
	CHECK_EQ(c, a);
	CHECK_EQ(empty, 0);
	CHECK_EQ(cut, b);
	CHECK_EQ(strings_count(&strings), 3);
	CHECK_STR(strings_at(&strings, a), "kubelet");
	CHECK_STR(strings_at(&strings, 0), "");
	CHECK_STR(strings_at(&strings, 77), "");
}

/* A string that strings_fill() added is found, and keeps its number while others are added. */
static void test_filled_strings(void)
{
	static const char texts[] = "kubelet\0kube\0bash";
	_cleanup_(strings_done) struct strings strings = { 0 }, none = { 0 }, open = { 0 },
					       empty = { 0 };
	uint32_t a, b;

	CHECK_EQ(strings_fill(&strings, texts, sizeof(texts)), 0);
	CHECK_EQ(strings_count(&strings), 4);
	CHECK_STR(strings_at(&strings, 2), "kube");
	CHECK_EQ(strings_find(&strings, "bash", 4), 3);
	CHECK_EQ(strings_find(&strings, "ssh", 3), 0);
	CHECK_EQ(strings_add(&strings, "ssh", 3, &a), 0);
	CHECK_EQ(strings_add(&strings, "kubelet", 7, &b), 0);
	CHECK_EQ(a, 4);
	CHECK_EQ(b, 1);
	CHECK_EQ(strings_find(&strings, "ssh", 3), 4);
	CHECK_EQ(strings_fill(&none, "", 0), 0);
	CHECK_EQ(strings_count(&none), 1);
	CHECK_EQ(strings_fill(&open, texts, sizeof(texts) - 1), -EBADMSG);
	CHECK_EQ(strings_fill(&empty, "kube\0\0", 6), -EBADMSG);
}

static void test_sizes(void)
{
	static const struct {
		const char *text;
		int result;
		uint64_t bytes;
		const char *shown;
	} rows[] = {
		{ "999B", 0, 999, "999 B" },
		{ "20G", 0, 20000000000, "20.0 GB" },
		{ "1.5tb", 0, 1500000000000, "1.5 TB" },
		{ "64MiB", 0, 64 << 20, "67.1 MB" },
		{ "2Ki", 0, 2048, "2.0 kB" },
		{ "12B", 0, 12, "12 B" },
		{ "999950B", 0, 999950, "1.0 MB" },
		{ "0", 0, 0, "0 B" },
		{ "20", -EDOM, 0, NULL },
		{ "1.5", -EDOM, 0, NULL },
		{ "", -EINVAL, 0, NULL },
		{ "G", -EINVAL, 0, NULL },
		{ ".5G", -EINVAL, 0, NULL },
		{ "1..5G", -EINVAL, 0, NULL },
		{ "-1", -EINVAL, 0, NULL },
		{ "1 G", -EINVAL, 0, NULL },
		{ "1Gx", -EINVAL, 0, NULL },
		{ "1iB", -EINVAL, 0, NULL },
		{ "1GG", -EINVAL, 0, NULL },
		{ "5%", -EINVAL, 0, NULL },
		{ "1001P", -ERANGE, 0, NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t bytes = 0;
		char shown[32];

		printf("# \"%s\"\n", rows[i].text);
		CHECK_EQ(size_parse(rows[i].text, &bytes), rows[i].result);
		CHECK_EQ(bytes, rows[i].bytes);
		if (rows[i].shown)
			CHECK_STR(size_format(bytes, shown, sizeof(shown)), rows[i].shown);
	}
}

static void test_durations(void)
{
	static const struct {
		const char *text;
		int result;
		uint64_t ns;
	} rows[] = {
		{ "250ms", 0, 250000000 },
		{ "5s", 0, 5 * NSEC_PER_SEC },
		{ "2m", 0, 120 * NSEC_PER_SEC },
		{ "12h", 0, 43200 * NSEC_PER_SEC },
		{ "7d", 0, 604800 * NSEC_PER_SEC },
		{ "1h30m", 0, 5400 * NSEC_PER_SEC },
		{ "1.5h", 0, 5400 * NSEC_PER_SEC },
		{ "0s", 0, 0 },
		{ "0", 0, 0 },
		{ "90", -EDOM, 0 },
		{ "1.5", -EDOM, 0 },
		{ "", -EINVAL, 0 },
		{ "s", -EINVAL, 0 },
		{ "5x", -EINVAL, 0 },
		{ "5 s", -EINVAL, 0 },
		{ "-5s", -EINVAL, 0 },
		{ "1h30", -EINVAL, 0 },
		{ "1.2.3s", -EINVAL, 0 },
		{ ".5s", -EINVAL, 0 },
		{ "999999d", -ERANGE, 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t ns = 0;

		printf("# %s\n", rows[i].text);
		CHECK_EQ(duration_parse(rows[i].text, &ns), rows[i].result);
		CHECK_EQ(ns, rows[i].ns);
	}
}

static void test_duration_format(void)
{
	static const struct {
		uint64_t ns;
		const char *text;
	} rows[] = {
		{ 1499, "1 us" },
		{ 999600, "1 ms" },
		{ 999500000, "1 s" },
		{ 6499999999, "6.5 s" },
		{ 6440000000, "6.4 s" },
		{ 59949999999, "59.9 s" },
		{ 59950000000, "1 min 0 s" },
		{ 89750000000, "1 min 30 s" },
		{ 3599600000000, "1 h 0 min" },
		{ 3600 * NSEC_PER_SEC, "1 h 0 min" },
	};
	char text[32];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		CHECK_STR(duration_format(rows[i].ns, text, sizeof(text)), rows[i].text);
}

static void test_number_format(void)
{
	static const struct {
		double share;
		const char *text, *cell;
	} rows[] = {
		{ 0, "0.0 %", "0.0" },		{ 0.0002, "<0.1 %", "0.0" },
		{ 0.01, "1.0 %", "1.0" },	{ 0.801, "80.1 %", "80.1" },
		{ 0.99996, "99.9 %", "100.0" }, { 1, "100 %", "100.0" },
		{ 4.5, "450.0 %", "450.0" },
	};
	char text[64];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CHECK_STR(share_format(rows[i].share, text), rows[i].text);
		CHECK_STR(share_cell(rows[i].share, text), rows[i].cell);
	}
	CHECK_STR(cost_format(0, text), "0.00 %");
	CHECK_STR(cost_format(0.00001, text), "<0.01 %");
	CHECK_STR(cost_format(0.00141, text), "0.14 %");
	CHECK_STR(cost_format(2, text), "200.00 %");
	CHECK_STR(plural(0), "s");
	CHECK_STR(plural(1), "");
	CHECK_STR(plural(2), "s");
	CHECK_STR(age_format(0, text, sizeof(text)), "just now");
	CHECK_STR(age_format(NSEC_PER_SEC - 1, text, sizeof(text)), "just now");
	CHECK_STR(age_format(5 * NSEC_PER_SEC, text, sizeof(text)), "5 s ago");
}

static void test_time_format(void)
{
	char text[TIME_TEXT_SIZE];

	setenv("TZ", "America/St_Johns", 1);
	tzset();
	CHECK_STR(time_format(1762918327250999999, true, 3, text), "2025-11-12T03:32:07.250Z");
	CHECK_STR(time_format(1762918327250999999, false, 0, text), "2025-11-12T00:02:07-03:30");
	setenv("TZ", "UTC", 1);
	tzset();
}

static void test_files(void)
{
	char dir[] = "/tmp/perftape-test.XXXXXX", path[256];
	_cleanup_free_ char *data = NULL;
	struct stat about;
	size_t size;

	CHECK(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/a b/c", dir);
	CHECK_EQ(file_make_dirs(path, 0755), 0);
	CHECK_EQ(file_make_dirs(path, 0755), 0);
	CHECK_EQ(file_replace(path, "x", "one", 3), 0);
	CHECK_EQ(file_replace(path, "x", "two!", 4), 0);
	snprintf(path, sizeof(path), "%s/a b/c/x", dir);
	CHECK_EQ(file_read(path, 100, &data, &size), 0);
	CHECK_EQ(size, 4);
	CHECK_STR(data, "two!");
	CHECK_EQ(file_read(path, 3, &data, &size), -EFBIG);
	unlink(path);
	snprintf(path, sizeof(path), "%s/a b/c/.x.new", dir);
	CHECK(stat(path, &about) < 0);
	snprintf(path, sizeof(path), "%s/a b/c", dir);
	CHECK_EQ(rmdir(path), 0);
	snprintf(path, sizeof(path), "%s/a b", dir);
	CHECK_EQ(rmdir(path), 0);
	CHECK_EQ(rmdir(dir), 0);
	CHECK_EQ(file_read(path, 100, &data, &size), -ENOENT);
}

/* A file of another user at the temporary name, here with a second name, gets nothing of ours. */
static void test_replace_planted(void)
{
	char dir[] = "/tmp/perftape-test.XXXXXX", planted[256], kept[256], path[256];
	_cleanup_free_ char *data = NULL, *theirs = NULL;

	CHECK(mkdtemp(dir));
	snprintf(planted, sizeof(planted), "%s/.x.new", dir);
	snprintf(kept, sizeof(kept), "%s/kept", dir);
	snprintf(path, sizeof(path), "%s/x", dir);
	CHECK_EQ(file_replace(dir, "kept", "theirs", 6), 0);
	CHECK_EQ(link(kept, planted), 0);
	CHECK_EQ(file_replace(dir, "x", "ours", 4), 0);
	CHECK_EQ(file_read(path, 100, &data, NULL), 0);
	CHECK_STR(data, "ours");
	CHECK_EQ(file_read(kept, 100, &theirs, NULL), 0);
	CHECK_STR(theirs, "theirs");
	unlink(path);
	unlink(kept);
	CHECK_EQ(rmdir(dir), 0);
}

/* In a folder of others, only a regular file of our own is read, and a pipe does not make us wait.
 */
static void test_read_own(void)
{
	char dir[] = "/tmp/perftape-test.XXXXXX", path[256], other[256];
	_cleanup_free_ char *data = NULL;
	size_t size;

	CHECK(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/x", dir);
	snprintf(other, sizeof(other), "%s/other", dir);
	CHECK_EQ(file_replace(dir, "x", "ours", 4), 0);
	CHECK_EQ(file_read_own(path, 100, &data, &size), 0);
	CHECK_STR(data, "ours");
	CHECK_EQ(symlink(path, other), 0);
	CHECK_EQ(file_read_own(other, 100, &data, &size), -ELOOP);
	unlink(other);
	CHECK_EQ(mkfifo(other, 0600), 0);
	CHECK_EQ(file_read_own(other, 100, &data, &size), -EPERM);
	unlink(other);
	CHECK_EQ(file_read_own(other, 100, &data, &size), -ENOENT);
	if (chown(path, 65534, 65534) == 0)
		CHECK_EQ(file_read_own(path, 100, &data, &size), -EPERM);
	unlink(path);
	CHECK_EQ(rmdir(dir), 0);
}

static void test_error(void)
{
	struct error error = { 0 };

	CHECK_EQ(error_set(&error, -EINVAL, "row %d", 7), -EINVAL);
	CHECK_EQ(error_prefix(&error, -EINVAL, "%s", "file"), -EINVAL);
	CHECK_STR(error.text, "file: row 7");
	error.text[0] = 0;
	error_prefix(&error, -ENOENT, "x");
	CHECK_STR(error.text, "x: No such file or directory");
	CHECK_EQ(error_set(NULL, -EIO, "nobody reads"), -EIO);
}

struct numbered {
	uint32_t before;
	uint64_t key;
	uint32_t after;
};

/* Sorts input with few runs, many runs, one run, and none. Equal keys keep their order. */
static void test_sort(void)
{
	static const uint64_t wraps[] = { 1, 2, 3, 7, 100, 1000, UINT64_MAX };
	struct numbered items[1000], scratch[1000];

	for (size_t count = 0; count <= ARRAY_SIZE(items); count = count * 2 + (count < 3 ? 1 : 13))
		for (size_t w = 0; w < ARRAY_SIZE(wraps); w++) {
			uint64_t state = 1;

			for (size_t i = 0; i < count; i++) {
				state = state * 6364136223846793005ull + 1442695040888963407ull;
				items[i].before = i;
				items[i].key = w % 2 ? (state >> 8) % wraps[w] : i % wraps[w];
				items[i].after = ~i;
			}
			sort_by_number(items, scratch, count, sizeof(*items),
				       offsetof(struct numbered, key));
			CHECK(sort_is_sorted(items, count, sizeof(*items),
					     offsetof(struct numbered, key)));
			for (size_t i = 0; i < count; i++) {
				CHECK_EQ(items[i].after, ~items[i].before);
				CHECK(i == 0 || items[i - 1].key < items[i].key ||
				      (items[i - 1].key == items[i].key &&
				       items[i - 1].before < items[i].before));
			}
		}
}

CHECK_MAIN({ "sort is stable", test_sort },
	   { "a reader stays inside its bytes", test_reader_stays_inside },
	   { "a reader refuses a huge size", test_reader_huge_take },
	   { "a reader takes text from a field", test_reader_text },
	   { "varints survive encoding", test_varint_round_trip },
	   { "a varint without an end is refused", test_varint_too_long },
	   { "zigzag numbers survive encoding", test_zigzag },
	   { "crc32c matches known values", test_crc32c },
	   { "arrays grow and keep their items", test_array },
	   { "the hash table agrees with a plain array", test_table_against_model },
	   { "SipHash-1-3 matches known values", test_sip_hash },
	   { "texts that were chosen to collide do not", test_chosen_texts },
	   { "numbers that were chosen to collide do not", test_chosen_numbers },
	   { "equal strings get one number", test_strings },
	   { "strings that are filled in are found", test_filled_strings },
	   { "durations are parsed", test_durations }, { "sizes are parsed", test_sizes },
	   { "times are formatted", test_time_format },
	   { "durations are formatted", test_duration_format },
	   { "shares, plurals and ages are formatted", test_number_format },
	   { "files are read, written and replaced", test_files },
	   { "a planted file is not written into", test_replace_planted },
	   { "a file of others is not read in place of ours", test_read_own },
	   { "errors keep their code and text", test_error })
