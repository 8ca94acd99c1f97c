/* The description of one call that the program and the meter read, as 64-bit numbers: a header, then
   a record for every tensor, in the order inputs, state, outputs. */
#ifndef MANIFEST_H
#define MANIFEST_H

#include <stdint.h>

enum { PAGE = 4096, MOST_TENSORS = 256, MOST_RANK = 16 };

/* The program makes this system call, which no kernel knows, when the call begins. */
enum { CALL_BEGINS = 0x6b6d };

/* Where things lie in the guest: its image and heap below the tensors, its stack and what it maps
   above. From the end on, everything is the emulator's own. */
#define TENSORS_BEGIN UINT64_C(0x2000000000)
#define TENSORS_END UINT64_C(0x4000000000)
#define GUEST_END UINT64_C(0x5000000000)

struct record {
    uint64_t address; /* where in the guest */
    uint64_t bytes;
    uint64_t offset; /* where in its file, page-aligned */
    int64_t rank;
    int64_t sizes[MOST_RANK];
};

struct manifest {
    int64_t given_file, output_file;
    int64_t inputs, state, outputs;
    struct record tensors[MOST_TENSORS];
};

#endif
