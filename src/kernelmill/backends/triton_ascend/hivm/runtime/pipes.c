/* Timing model of a core's pipes: each executes in order, and flags synchronise them.
 *
 * docs/ascend-pipe-model.md says where the rates come from and what they leave out. */
#include <math.h>

#include "hivm.h"

#define VECTOR_BYTES 256   /* bytes per repeat of a vector instruction */
#define VECTOR_START 14.0  /* cycles before its first repeat */
#define COPY_BYTES 64.0    /* bytes per cycle of a copy engine alone on global memory */
#define COPY_START 300.0
#define BURST_CYCLES 4.0   /* least cycles for each contiguous run of elements */
#define LOCAL_BYTES 256.0  /* bytes per cycle between L1 and L0 */
#define CUBE_START 20.0
#define CUBE_BLOCK 16      /* products are computed in blocks of this size */

static double most(double a, double b) { return a > b ? a : b; }

void scalar_work(Core *core, double cycles) {
    core->pipes.time[PIPE_S] += cycles;
    core->pipes.busy[PIPE_S] += cycles;
}

/* Starts when the pipe is free and the scalar unit has issued the instruction. */
void pipe_work(Core *core, int pipe, double cycles) {
    Pipes *pipes = &core->pipes;
    pipes->time[pipe] = most(pipes->time[pipe], pipes->time[PIPE_S]) + cycles;
    pipes->busy[pipe] += cycles;
    scalar_work(core, 1);
}

void vector_work(Core *core, int64_t bytes, double cost) {
    int64_t repeats = (bytes + VECTOR_BYTES - 1) / VECTOR_BYTES;
    pipe_work(core, PIPE_V, VECTOR_START + cost * (double)(repeats < 1 ? 1 : repeats));
}

void copy_work(Core *core, int pipe, int64_t bytes, int64_t runs) {
    pipe_work(core, pipe, COPY_START + most((double)bytes / COPY_BYTES, (double)runs * BURST_CYCLES));
}

static double macs_per_cycle(int dtype) {
    return dtype == F16 || dtype == BF16 ? 4096 : dtype == I8 ? 8192 : 1024;
}

static int64_t in_blocks(int64_t extent) { return (extent + CUBE_BLOCK - 1) / CUBE_BLOCK * CUBE_BLOCK; }

void cube_work(Core *core, int64_t m, int64_t k, int64_t n, int dtype, int64_t bytes) {
    pipe_work(core, PIPE_MTE1, CUBE_START + (double)bytes / LOCAL_BYTES);
    core->pipes.time[PIPE_M] = most(core->pipes.time[PIPE_M], core->pipes.time[PIPE_MTE1]);
    double macs = (double)(in_blocks(m) * in_blocks(k) * in_blocks(n));
    pipe_work(core, PIPE_M, CUBE_START + macs / macs_per_cycle(dtype));
}

static const char *PIPE_NAMES[PIPES] = {"S", "V", "MTE1", "MTE2", "MTE3", "M", "FIX"};

void set_flag(Core *core, int setter, int waiter, int64_t event) {
    if (event < 0 || event >= EVENTS) fail(core, UNSUPPORTED, "event %lld", (long long)event);
    Pipes *pipes = &core->pipes;
    int32_t *count = &pipes->count[setter][waiter][event];
    if (*count == 2) fail(core, DEADLOCK, "%s sets flag %lld for %s a third time unread",
                          PIPE_NAMES[setter], (long long)event, PIPE_NAMES[waiter]);
    pipes->flags++;
    pipes->set[setter][waiter][event][(*count)++] = most(pipes->time[setter], pipes->time[PIPE_S]);
}

void wait_flag(Core *core, int setter, int waiter, int64_t event) {
    if (event < 0 || event >= EVENTS) fail(core, UNSUPPORTED, "event %lld", (long long)event);
    Pipes *pipes = &core->pipes;
    int32_t *count = &pipes->count[setter][waiter][event];
    double *set = pipes->set[setter][waiter][event];
    if (*count == 0) fail(core, DEADLOCK, "%s waits for %s, which sets no flag %lld",
                          PIPE_NAMES[waiter], PIPE_NAMES[setter], (long long)event);
    pipes->time[waiter] = most(pipes->time[waiter], set[0]);
    set[0] = set[1];
    --*count;
}

void pipe_barrier(Core *core, int pipe) {
    if (pipe != ALL_PIPES) return; /* a pipe executes in order anyway */
    double last = 0;
    for (int p = 0; p < PIPES; p++) last = most(last, core->pipes.time[p]);
    for (int p = 0; p < PIPES; p++) core->pipes.time[p] = last;
}
