/* The program around a kernel: maps the tensors, calls it once, ends. Runs in the emulator. */
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernelmill.h"
#include "manifest.h"

enum { FAILED = 70 };

static struct manifest told;
static struct Tensor tensors[MOST_TENSORS];

static void map(const struct record* tensor, int file, int sharing) {
    /* A page more on either side: a step over the edge is seen by the meter, not by the MMU. */
    size_t length = (tensor->bytes + PAGE - 1) / PAGE * PAGE;
    char* start = (char*)tensor->address;
    mmap(start - PAGE, length + 2 * PAGE, PROT_READ | PROT_WRITE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    if (length && mmap(start, length, PROT_READ | PROT_WRITE, sharing | MAP_FIXED, file,
                       (off_t)tensor->offset) != start)
        _exit(FAILED);
}

int main(void) {
    if (read(STDIN_FILENO, &told, sizeof told) != sizeof told) _exit(FAILED);
    int64_t given = told.inputs + told.state, all = given + told.outputs;
    for (int64_t i = 0; i < all; i++) {
        const struct record* tensor = &told.tensors[i];
        if (i < given)
            map(tensor, (int)told.given_file, MAP_PRIVATE);
        else
            map(tensor, (int)told.output_file, MAP_SHARED);
        tensors[i] = (struct Tensor){(void*)tensor->address, tensor->rank, tensor->sizes};
    }
    free(malloc(1)); /* its first call asks the system for random numbers */
    syscall(CALL_BEGINS);
    model_new(tensors, tensors + told.inputs, tensors + given);
    syscall(SYS_exit_group, 0);
}
