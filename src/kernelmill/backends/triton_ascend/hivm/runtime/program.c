/* Programs of a grid, one after the other; the cores of a group take turns where they wait. */
#define _GNU_SOURCE
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "hivm.h"

#define POISON 0xFF /* of memory that nobody wrote: NaN in every floating-point type */
#define STACK_BYTES (64 << 20)
#define GROUP_CORES 3 /* a cube core and two vector cores */
#define MAX_CORES 64

static const char *SPACE_NAMES[SPACES] = {"ub", "cbuf", "cc"};
static const int64_t CAPACITY[SPACES] = {192 << 10, 512 << 10, 128 << 10};

struct Group {
    Core cores[GROUP_CORES];
    ucontext_t contexts[GROUP_CORES];
    bool done[GROUP_CORES];
    int count;
    int current;
    bool progressed;
    ucontext_t scheduler;
    Launch *launch;
    uint8_t *stacks[GROUP_CORES];
};

_Noreturn void fail(Core *core, int error, const char *format, ...) {
    Launch *launch = core->group->launch;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(launch->message, MESSAGE_BYTES, format, arguments);
    va_end(arguments);
    launch->error = error;
    setcontext(&core->group->scheduler);
    abort();
}

static void demand_flag(Core *core, int64_t flag) {
    if (flag < 0 || flag >= BLOCK_FLAGS) fail(core, UNSUPPORTED, "block flag %lld", (long long)flag);
}

static void push(Core *core, BlockFlag *flag, double when) {
    if (flag->count == QUEUED) fail(core, DEADLOCK, "a block flag is set %d times unread", QUEUED + 1);
    flag->set[flag->count++] = when;
}

static double pop(BlockFlag *flag) {
    double when = flag->set[0];
    memmove(flag->set, flag->set + 1, sizeof flag->set - sizeof flag->set[0]);
    flag->count--;
    return when;
}

/* The cube core sets a flag for both vector cores, and waits for one of both. */
void set_block_flag(Core *core, int pipe, int64_t flag) {
    demand_flag(core, flag);
    Group *group = core->group;
    double when = fmax(core->pipes.time[pipe], core->pipes.time[PIPE_S]);
    core->pipes.flags++;
    group->progressed = true;
    if (core->kind == AIV) push(core, &core->to_cube[flag], when);
    else
        for (int i = 1; i < group->count; i++) push(core, &group->cores[i].from_cube[flag], when);
}

static double wait_for(Core *core, BlockFlag *flag) {
    while (flag->count == 0) {
        Group *group = core->group;
        swapcontext(&group->contexts[group->current], &group->scheduler);
    }
    return pop(flag);
}

void wait_block_flag(Core *core, int pipe, int64_t flag) {
    demand_flag(core, flag);
    Group *group = core->group;
    double latest = core->pipes.time[pipe];
    if (core->kind == AIV) latest = fmax(latest, wait_for(core, &core->from_cube[flag]));
    else
        for (int i = 1; i < group->count; i++)
            latest = fmax(latest, wait_for(core, &group->cores[i].to_cube[flag]));
    group->progressed = true;
    core->pipes.time[pipe] = latest;
}

static void enter(unsigned high, unsigned low) {
    Group *group = (Group *)((uintptr_t)high << 32 | low);
    int own = group->current;
    Core *core = &group->cores[own];
    Program program = core->kind == AIC ? group->launch->cube : group->launch->vector;
    program(core, group->launch->arguments);
    group->done[own] = true;
    group->progressed = true;
    setcontext(&group->scheduler);
}

static void begin(Group *group, int64_t block) {
    for (int i = 0; i < group->count; i++) {
        Core *core = &group->cores[i];
        core->block = block;
        memset(&core->pipes, 0, sizeof core->pipes);
        memset(core->from_cube, 0, sizeof core->from_cube);
        memset(core->to_cube, 0, sizeof core->to_cube);
        for (int s = 0; s < SPACES; s++)
            if (core->spaces[s].data && group->launch->local_bytes[s])
                memset(core->spaces[s].data, POISON, (size_t)group->launch->local_bytes[s]);
        group->done[i] = false;
        getcontext(&group->contexts[i]);
        group->contexts[i].uc_stack.ss_sp = group->stacks[i];
        group->contexts[i].uc_stack.ss_size = STACK_BYTES;
        uintptr_t address = (uintptr_t)group;
        makecontext(&group->contexts[i], (void (*)(void))enter, 2, (unsigned)(address >> 32), (unsigned)address);
    }
}

/* Every core in turn until it waits; if all of them wait, nobody will ever set a flag. */
static void run_group(Group *group) {
    for (;;) {
        bool all_done = true;
        group->progressed = false;
        for (group->current = 0; group->current < group->count; group->current++) {
            if (group->done[group->current]) continue;
            all_done = false;
            swapcontext(&group->scheduler, &group->contexts[group->current]);
            if (group->launch->error) return;
        }
        if (all_done) return;
        if (!group->progressed) {
            snprintf(group->launch->message, MESSAGE_BYTES, "cube and vector cores wait for each other");
            group->launch->error = DEADLOCK;
            return;
        }
    }
}

static Group *open_group(Launch *launch) {
    Group *group = calloc(1, sizeof *group);
    bool mixed = launch->cube && launch->vector;
    group->launch = launch;
    group->count = mixed ? GROUP_CORES : 1;
    for (int i = 0; i < group->count; i++) {
        Core *core = &group->cores[i];
        core->group = group;
        core->kind = launch->cube && i == 0 ? AIC : AIV;
        core->sub_block = mixed && i > 0 ? i - 1 : 0;
        for (int s = 0; s < SPACES; s++) {
            if ((s == UB) != (core->kind == AIV)) continue;
            core->spaces[s] = (Memory){SPACE_NAMES[s], malloc((size_t)CAPACITY[s]), CAPACITY[s],
                                       calloc(8, (size_t)CAPACITY[s]), false};
            memset(core->spaces[s].data, POISON, (size_t)CAPACITY[s]);
        }
        group->stacks[i] = mmap(0, STACK_BYTES, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    }
    return group;
}

static void close_group(Group *group) {
    for (int i = 0; i < group->count; i++) {
        for (int s = 0; s < SPACES; s++) free(group->cores[i].spaces[s].data), free(group->cores[i].spaces[s].bits);
        munmap(group->stacks[i], STACK_BYTES);
    }
    free(group);
}

int hivm_launch(Launch *launch) {
    Group *group = open_group(launch);
    double cycles[MAX_CORES] = {0}, busy[MAX_CORES][PIPES] = {{0}};
    for (int64_t block = 0; block < launch->programs && !launch->error; block++) {
        int64_t place = block % launch->cores;
        double last = 0;
        begin(group, block);
        run_group(group);
        launch->flags = 0;
        for (int i = 0; i < group->count; i++) {
            Pipes *pipes = &group->cores[i].pipes;
            launch->flags += pipes->flags;
            for (int p = 0; p < PIPES; p++) {
                last = fmax(last, pipes->time[p]);
                /* Of two vector cores that do the same, the busier one counts. */
                if (i < 2) busy[place][p] += pipes->busy[p];
            }
        }
        cycles[place] += ceil(last);
    }
    int64_t slowest = 0;
    for (int64_t i = 1; i < launch->cores; i++)
        if (cycles[i] > cycles[slowest]) slowest = i;
    launch->cycles = cycles[slowest];
    memcpy(launch->busy, busy[slowest], sizeof launch->busy);
    for (int i = 0; i < group->count; i++) {
        launch->bytes += group->cores[i].bytes;
        launch->outside += group->cores[i].outside;
    }
    close_group(group);
    return launch->error;
}
