// SPDX-License-Identifier: GPL-2.0-only
/* Tapes that wait in the spool, because memory is short. */
#include "recorder/sink/sealer-internal.h"

#include <string.h>

#include "recorder/sink/unsaved.h"

/*
 * Notes that the oldest deferred tape is sealed, or is left to the next recorder. `gone`: its spool
 * does not exist any more.
 */
static void sealer_finish_deferred(struct sealer *sealer, bool sealed, bool gone, uint64_t bytes)
{
	const struct tape_loss *samples;

	pthread_mutex_lock(&sealer->lock);
	samples = &sealer->deferred.items[0].samples;
	if (gone) {
		unsaved_add(&sealer->unsaved, samples->from_ns, samples->to_ns, samples->count);
		sealer->status.unsaved_samples += samples->count;
	}
	sealer->deferred.count--;
	memmove(sealer->deferred.items, sealer->deferred.items + 1,
		sealer->deferred.count * sizeof(*sealer->deferred.items));
	sealer_count_waiting(sealer);
	sealer->status.segments += sealed;
	sealer->status.bytes += bytes;
	pthread_cond_broadcast(&sealer->changed);
	pthread_mutex_unlock(&sealer->lock);
	tape_free(sealer->resumed.tape);
	sealer->resumed = (struct waiting_tape){ 0 };
}

static bool sealer_take_deferred(struct sealer *sealer, uint64_t *ret_sequence, bool *ret_ending)
{
	bool there;

	pthread_mutex_lock(&sealer->lock);
	there = sealer->deferred.count;
	if (there)
		*ret_sequence = sealer->deferred.items[0].sequence;
	*ret_ending = sealer->ending;
	pthread_mutex_unlock(&sealer->lock);
	return there;
}

/* Loads and names the oldest tape that waits in the spool, unless an earlier try has done this. */
static int sealer_resume(struct sealer *sealer, uint64_t sequence, struct error *error)
{
	struct waiting_tape *resumed = &sealer->resumed;
	int r = 0;

	if (!resumed->tape)
		r = store_writer_load_spool(sealer->writer, sequence, &resumed->tape, error);
	return r < 0 ? r : sealer_name(sealer, resumed, error);
}

int sealer_seal_deferred(struct sealer *sealer, struct error *error)
{
	uint64_t sequence, bytes = 0;
	bool ending, unread;
	int r;

	if (!sealer_take_deferred(sealer, &sequence, &ending))
		return 0;
	r = sealer_resume(sealer, sequence, error);
	unread = r < 0 && r != -ENOMEM && !sealer->resumed.tape;
	if (r == 0)
		r = store_writer_seal(sealer->writer, sealer->resumed.tape, SEGMENT_HASTY, &bytes,
				      error);
	/* Try again later, unless the tape is too large for a segment: that will not change. */
	if (r < 0 && !ending && !unread && r != -EFBIG)
		return r;
	if (r != 0)
		sealer_warn(sealer, error);
	sealer_finish_deferred(sealer, r >= 0, unread && r == -ENOENT, bytes);
	if (!unread)
		sealer_retain(sealer);
	return 1;
}
