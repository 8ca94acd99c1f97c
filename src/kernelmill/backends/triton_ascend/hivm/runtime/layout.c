/* Library operations that move elements without changing them. */
#include "hivm.h"

#include <string.h>

#define CHUNK 1024

static void move_row(const View *source, int64_t from, int64_t stride, const View *target, int64_t to,
                     int64_t target_stride, int64_t count) {
    for (int64_t done = 0; done < count; done += CHUNK) {
        int64_t part = count - done < CHUNK ? count - done : CHUNK;
        if (is_real(target->dtype)) {
            float row[CHUNK];
            read_reals(source, from + done * stride, stride, part, row);
            write_reals(target, to + done * target_stride, target_stride, part, row);
        } else {
            int64_t row[CHUNK];
            read_wholes(source, from + done * stride, stride, part, row);
            write_wholes(target, to + done * target_stride, target_stride, part, row);
        }
    }
}

/* Dimension d of the target is dimension axes[d] of the source. */
void transpose(Core *core, const View *source, const View *target, const int *axes) {
    View turned = *source;
    if (source->rank != target->rank) fail(core, UNSUPPORTED, "a transpose from rank %d to %d", source->rank, target->rank);
    for (int d = 0; d < source->rank; d++) turned.shape[d] = source->shape[axes[d]], turned.strides[d] = source->strides[axes[d]];
    copy(core, PIPE_V, &turned, target, NO_ATOMIC);
    vector_work(core, bytes_of(target), 3);
}

void count_up(Core *core, const View *target, int64_t start, const int64_t *steps) {
    demand_inside(core, target);
    int64_t total = elements(target);
    for (int64_t number = 0; number < total; number++) {
        int64_t at = target->offset, value = start, left = number;
        for (int d = target->rank - 1; d >= 0; d--) {
            int64_t index = left % target->shape[d];
            left /= target->shape[d];
            at += index * target->strides[d], value += index * steps[d];
        }
        write_wholes(target, at, 1, 1, &value);
    }
    vector_work(core, bytes_of(target), 1);
}

/* Elements of a row by their numbers, along the last dimension. */
void gather(Core *core, const View *source, const View *places, const View *target) {
    demand_inside(core, source);
    demand_inside(core, places);
    demand_inside(core, target);
    if (source->rank != 1 || places->rank != 1 || target->rank != 1) fail(core, UNSUPPORTED, "a gather of rank %d", source->rank);
    for (int64_t i = 0; i < target->shape[0]; i++) {
        int64_t number;
        read_wholes(places, places->offset + i * places->strides[0], 1, 1, &number);
        if (number < 0 || number >= source->shape[0])
            fail(core, OUT_OF_BOUNDS, "element %lld of a row of %lld", (long long)number, (long long)source->shape[0]);
        move_row(source, source->offset + number * source->strides[0], 1, target, target->offset + i * target->strides[0], 1, 1);
    }
    vector_work(core, bytes_of(target), 8);
}

/* One of every few neighbours. */
void pick_channel(Core *core, int64_t channel, const View *source, const View *target) {
    demand_inside(core, source);
    demand_inside(core, target);
    int64_t count = elements(target), channels = count ? elements(source) / count : 1;
    View picked = *source;
    int last = source->rank - 1;
    if (last < 0 || channel >= channels || source->shape[last] % channels)
        fail(core, UNSUPPORTED, "channel %lld of %lld", (long long)channel, (long long)channels);
    picked.offset += channel * source->strides[last];
    picked.shape[last] /= channels, picked.strides[last] *= channels;
    copy(core, PIPE_V, &picked, target, NO_ATOMIC);
    vector_work(core, bytes_of(source), 1);
}
