/* Interface between translated HIVM, the machine that executes it, and its host program. */
#ifndef KERNELMILL_HIVM_H
#define KERNELMILL_HIVM_H

#include <stdbool.h>
#include <stdint.h>

#define MAX_RANK 8
#define EVENTS 16
#define BLOCK_FLAGS 16
#define QUEUED 16
#define MESSAGE_BYTES 240

enum { F32, F16, BF16, F64, I64, I32, I16, I8, I1, DTYPES };
enum { PIPE_S, PIPE_V, PIPE_MTE1, PIPE_MTE2, PIPE_MTE3, PIPE_M, PIPE_FIX, PIPES };
enum { UB, CBUF, CC, SPACES };
enum { AIV, AIC };
enum { NO_ERROR, OUT_OF_BOUNDS, DEADLOCK, UNSUPPORTED };

/* A tensor in global memory, or a memory of a core. Elements of type i1 are stored apart. */
typedef struct {
    const char *name;
    uint8_t *data;
    int64_t size;
    uint8_t *bits;
    bool global;
} Memory;

/* A strided view of a memory. All but the rank count elements; `base` is where its buffer begins. */
typedef struct {
    Memory *memory;
    int32_t dtype;
    int32_t rank;
    int64_t base;
    int64_t offset;
    int64_t shape[MAX_RANK];
    int64_t strides[MAX_RANK];
} View;

/* An operand of a library operation: a view or a number. */
typedef struct {
    const View *view;
    double real;
    int64_t whole;
} Operand;

typedef struct {
    View view;
    double real;
    int64_t whole;
} Argument;

typedef struct {
    double time[PIPES];
    double busy[PIPES];
    int64_t flags;
    double set[PIPES][PIPES][EVENTS][2];
    int32_t count[PIPES][PIPES][EVENTS];
} Pipes;

/* When a flag between a cube core and a vector core was set and not yet waited for. */
typedef struct {
    double set[QUEUED];
    int32_t count;
} BlockFlag;

typedef struct Group Group;

/* One core that runs one program. */
typedef struct {
    int32_t kind;
    int64_t block;
    int64_t sub_block;
    Pipes pipes;
    Memory spaces[SPACES];
    int64_t bytes;
    int64_t outside; /* scalar loads from outside of a tensor */
    Group *group;
    BlockFlag from_cube[BLOCK_FLAGS];
    BlockFlag to_cube[BLOCK_FLAGS];
} Core;

typedef void (*Program)(Core *core, const Argument *arguments);

/* What Python asks for, and what it gets. */
typedef struct {
    Program cube;
    Program vector;
    const Argument *arguments;
    int64_t programs;
    int64_t cores;
    int64_t local_bytes[SPACES];
    double cycles;
    double busy[PIPES];
    int64_t bytes;
    int64_t flags;
    int64_t outside;
    int32_t error;
    char message[MESSAGE_BYTES];
} Launch;

int hivm_launch(Launch *launch);
_Noreturn void fail(Core *core, int error, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Views. */
View local_view(Core *core, int space, int dtype, int64_t address, int rank, const int64_t *shape,
                const int64_t *strides);
View reinterpret_view(const View *view, int64_t offset, int rank, const int64_t *shape,
                      const int64_t *strides);
View typed_view(const View *view, int64_t byte_offset, int dtype, int rank, const int64_t *shape);
View sub_view(const View *view, const int64_t *offsets, const int64_t *shape, const int64_t *steps);
View base_view(const View *view);
View keep_axes(View view, int rank, const int *axes);
View collapse_view(const View *view, int groups, const int *sizes);
View expand_view(const View *view, int rank, const int64_t *shape, const int *group_of);
void demand_inside(Core *core, const View *view);
int64_t elements(const View *view);
int64_t place(const View *view, int64_t number);
void load_masked(Core *core, const View *source, const View *target);
int64_t bytes_of(const View *view);
int64_t contiguous_runs(const View *view);
double load_real(Core *core, const View *view, const int64_t *index);
int64_t load_whole(Core *core, const View *view, const int64_t *index);
void store_real(Core *core, double value, const View *view, const int64_t *index);
void store_whole(Core *core, int64_t value, const View *view, const int64_t *index);

/* Rows of elements, converted from and to their types. */
void read_reals(const View *view, int64_t at, int64_t stride, int64_t count, float *out);
void read_wholes(const View *view, int64_t at, int64_t stride, int64_t count, int64_t *out);
void write_reals(const View *view, int64_t at, int64_t stride, int64_t count, const float *in);
void write_wholes(const View *view, int64_t at, int64_t stride, int64_t count, const int64_t *in);
bool is_real(int dtype);
int64_t item_bytes(int dtype);

/* Pipes. */
void scalar_work(Core *core, double cycles);
void pipe_work(Core *core, int pipe, double cycles);
void vector_work(Core *core, int64_t bytes, double cost);
void copy_work(Core *core, int pipe, int64_t bytes, int64_t runs);
void cube_work(Core *core, int64_t m, int64_t k, int64_t n, int dtype, int64_t bytes);
void set_flag(Core *core, int setter, int waiter, int64_t event);
void wait_flag(Core *core, int setter, int waiter, int64_t event);
void pipe_barrier(Core *core, int pipe);
#define ALL_PIPES (-1)
void set_block_flag(Core *core, int pipe, int64_t flag);
void wait_block_flag(Core *core, int pipe, int64_t flag);

/* Library operations. */
enum { EXP, LN, SQRT, ABS, NOT, RSQRT, REC, RELU, TANH, SIN, COS, ERF, NEG, FLOOR, CEIL, ROUND, TRUNC };
enum { ADD, SUB, MUL, DIV, MAX, MIN, AND, OR, XOR, POW, SHL, SHR, MOD };
enum { EQ, NE, LT, LE, GT, GE };
enum { NO_ATOMIC, ATOMIC_ADD, ATOMIC_MAX, ATOMIC_MIN };

void copy(Core *core, int pipe, const View *source, const View *target, int64_t atomic);
void unary(Core *core, int op, double cost, const View *source, const View *target);
void binary(Core *core, int op, double cost, Operand left, Operand right, const View *target);
void compare(Core *core, int op, Operand left, Operand right, const View *target);
void choose(Core *core, const View *condition, Operand left, Operand right, const View *target);
void cast(Core *core, int64_t mode, const View *source, const View *target);
void broadcast(Core *core, Operand source, const View *target);
void reduce(Core *core, int op, unsigned axes, const View *source, const View *target, Operand start);
void reduce_place(Core *core, int op, unsigned axes, const View *source, const View *target,
                  const View *place);
void running(Core *core, int op, unsigned axes, bool reverse, const View *source, const View *target);
void count_up(Core *core, const View *target, int64_t start, const int64_t *steps);
void transpose(Core *core, const View *source, const View *target, const int *axes);
void gather(Core *core, const View *source, const View *places, const View *target);
void pick_channel(Core *core, int64_t channel, const View *source, const View *target);
void fill_l1(Core *core, Operand value, const View *target);
void to_blocks(Core *core, const View *source, const View *target);
void multiply(Core *core, bool left_turned, bool right_turned, const View *left, const View *right,
              bool first, int64_t m, int64_t k, int64_t n, const View *target, int64_t wait_left,
              int64_t wait_right, int64_t set_left, int64_t set_right);
void write_out(Core *core, const View *source, const View *target);

/* Scalars. */
#define VIEW(v) ((Operand){&(v), 0, 0})
#define REAL(x) ((Operand){0, (double)(x), 0})
#define WHOLE(x) ((Operand){0, (double)(x), (int64_t)(x)})
static inline int64_t floor_quotient(int64_t a, int64_t b) { return b ? a / b - (a % b && (a < 0) != (b < 0)) : 0; }
static inline int64_t ceiling(int64_t a, int64_t b) { return b ? a / b + (a % b && (a < 0) == (b < 0)) : 0; }
static inline int64_t quotient(int64_t a, int64_t b) { return b ? a / b : 0; }
static inline int64_t remainder_of(int64_t a, int64_t b) { return b ? a % b : 0; }
static inline int64_t modulus(int64_t a, int64_t b) { return a - b * floor_quotient(a, b); }
static inline int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }
static inline int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
static inline float larger_real(float a, float b) { return a > b || a != a ? a : b; }
static inline float smaller_real(float a, float b) { return a < b || a != a ? a : b; }
static inline float real_of_bits(uint32_t bits) { union { uint32_t u; float f; } x = {bits}; return x.f; }
float rounded(float value, int dtype);

#endif
