/* Counts what a call executes: a plug-in of the emulator, which the guest cannot see.
 *
 * From the moment the call begins until the process ends, every instruction counts, whoever runs
 * it. Every access to memory is looked at: inputs and state are for reading, outputs for both, and
 * nothing that is not the guest's may be touched. The only system calls are those of malloc.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "manifest.h"

/* The part of the emulator's plug-in interface (version 1) that is used here. */
typedef uint64_t qemu_plugin_id_t;
typedef uint32_t qemu_plugin_meminfo_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
typedef struct qemu_info_t qemu_info_t;
enum { QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW = 3, QEMU_PLUGIN_INLINE_ADD_U64 = 0 };
typedef void (*on_translation)(qemu_plugin_id_t, struct qemu_plugin_tb*);
typedef void (*on_execution)(unsigned, void*);
typedef void (*on_access)(unsigned, qemu_plugin_meminfo_t, uint64_t, void*);
typedef void (*on_system_call)(qemu_plugin_id_t, unsigned, int64_t, uint64_t, uint64_t, uint64_t,
                               uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t, on_translation);
void qemu_plugin_register_vcpu_syscall_cb(qemu_plugin_id_t, on_system_call);
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb*, int, void*, uint64_t);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn*, on_execution, int, void*);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn*, on_access, int, int, void*);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb*);
struct qemu_plugin_insn* qemu_plugin_tb_get_insn(const struct qemu_plugin_tb*, size_t);
const void* qemu_plugin_insn_data(const struct qemu_plugin_insn*);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn*);
unsigned qemu_plugin_mem_size_shift(qemu_plugin_meminfo_t);
bool qemu_plugin_mem_is_store(qemu_plugin_meminfo_t);
#define EXPORTED __attribute__((visibility("default")))
EXPORTED int qemu_plugin_version = 1;

/* What is counted: cycles by kind of instruction, as the backend states its model, then plainly. */
enum count { SCALAR, CONFIGURE, ARITHMETIC, LOAD, STORE, ELEMENTS, INSTRUCTIONS, BYTES, COUNTS };
static const char* const names[COUNTS] = {"scalar", "configure", "arithmetic",   "load",
                                          "store",  "elements",  "instructions", "bytes"};
static uint64_t counted[COUNTS], before[COUNTS];
static bool begun;
static struct manifest told;
static int report = -1;

static void answer(const char* text) {
    ssize_t written = write(report, text, strlen(text));
    _exit(written < 0);
}

static void say_counts(void) {
    char text[512];
    int length = 0;
    for (int i = 0; i < COUNTS; i++)
        length += snprintf(text + length, sizeof text - (size_t)length, "%s\"%s\":%" PRIu64,
                           i ? "," : "{\"counts\":{", names[i], counted[i] - before[i]);
    snprintf(text + length, sizeof text - (size_t)length, "}}");
    answer(text);
}

static void refuse(const char* kind, const char* what, int64_t number, int64_t at) {
    char text[256];
    snprintf(text, sizeof text,
             "{\"refused\":\"%s\",\"what\":\"%s\",\"number\":%" PRId64 ",\"at\":%" PRId64 "}", kind,
             what, number, at);
    answer(text);
}

/* Memory. */

static const struct record* tensor_at(uint64_t address, int64_t* index) {
    static int64_t last; /* accesses come in runs */
    int64_t all = told.inputs + told.state + told.outputs;
    if (address - told.tensors[last].address >= told.tensors[last].bytes)
        for (last = 0; last + 1 < all && told.tensors[last + 1].address - PAGE <= address;) last++;
    *index = last;
    return &told.tensors[last];
}

static void look(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t address, void* element) {
    (void)cpu;
    if (!begun) return;
    uint64_t size = UINT64_C(1) << qemu_plugin_mem_size_shift(info);
    counted[BYTES] += size;
    if (element) counted[ELEMENTS]++;
    if (address < TENSORS_BEGIN) return;
    bool stores = qemu_plugin_mem_is_store(info);
    if (address >= GUEST_END) refuse("foreign-memory", stores ? "writes" : "reads", 0, 0);
    if (address >= TENSORS_END) return;
    int64_t index;
    const struct record* tensor = tensor_at(address, &index);
    uint64_t at = address - tensor->address;
    if (at >= tensor->bytes || size > tensor->bytes - at)
        refuse("out-of-bounds", stores ? "writes" : "reads", index, (int64_t)at);
    if (stores && index < told.inputs + told.state) refuse("mutation", "writes", index, (int64_t)at);
}

/* System calls. */

enum { BRK = 214, MUNMAP = 215, MREMAP = 216, MMAP = 222, MADVISE = 233, EXIT = 93, EXIT_GROUP = 94 };
enum { PROT_EXECUTE = 4, MAP_SHARED_OR_FIXED = 0x11, MREMAP_MAY_MOVE = 1 };

static void called(qemu_plugin_id_t id, unsigned cpu, int64_t number, uint64_t a1, uint64_t a2,
                   uint64_t a3, uint64_t a4, uint64_t a5, uint64_t a6, uint64_t a7, uint64_t a8) {
    (void)id, (void)cpu, (void)a1, (void)a2, (void)a5, (void)a6, (void)a7, (void)a8;
    if (!begun) {
        begun = number == CALL_BEGINS;
        memcpy(before, counted, sizeof before);
        return;
    }
    switch (number) {
        case EXIT:
        case EXIT_GROUP:
            say_counts();
            return;
        case BRK:
        case MUNMAP:
        case MADVISE:
            return;
        case MMAP:
            if (!(a3 & PROT_EXECUTE) && !(a4 & MAP_SHARED_OR_FIXED)) return;
            break;
        case MREMAP:
            if (!(a4 & ~(uint64_t)MREMAP_MAY_MOVE)) return;
            break;
        default:
            break;
    }
    refuse("system-call", "makes", number, 0);
}

/* Instructions. */

enum { OP_VECTOR = 0x57, LOAD_FLOAT = 0x07, STORE_FLOAT = 0x27, SYSTEM = 0x73 };
enum { OPFVV = 1, OPMVV = 2, OPIVI = 3, OPCFG = 7 };

static unsigned field(uint32_t word, unsigned high, unsigned low) {
    return word >> low & ((UINT32_C(2) << (high - low)) - 1);
}

/* The vector configuration: blocks are translated anew for each, right before they run under it. */
static unsigned group_eighths = 8, element_bits = 8, register_bits;

static unsigned registers(unsigned eighths) { return eighths > 8 ? eighths / 8 : 1; }

static void configure(unsigned cpu, void* type) {
    static const unsigned eighths[] = {8, 16, 32, 64, 64, 1, 2, 4};
    (void)cpu;
    group_eighths = eighths[(uintptr_t)type & 7];
    element_bits = 8u << ((uintptr_t)type >> 3 & 3);
}

static uintptr_t configured_type(uint32_t word) {
    if (!field(word, 31, 31)) return field(word, 30, 20);
    if (field(word, 31, 30) == 3) return field(word, 29, 20);
    return 3; /* out of a register, which cannot be read here: the most it may be */
}

static bool is_vector_access(uint32_t word) {
    unsigned width = field(word, 14, 12);
    return width == 0 || width >= 5;
}

static bool by_element(uint32_t word) { return field(word, 27, 26) != 0; }

static unsigned access_cycles(uint32_t word) {
    static const unsigned bits[] = {8, 0, 0, 0, 0, 16, 32, 64};
    enum { WHOLE_REGISTERS = 8, MASK = 11 };
    unsigned fields = field(word, 31, 29) + 1, how = field(word, 24, 20);
    if (by_element(word)) return 0; /* counted when it happens */
    if (how == WHOLE_REGISTERS) return fields;
    if (how == MASK) return 1;
    return fields * registers(group_eighths * bits[field(word, 14, 12)] / element_bits);
}

static unsigned arithmetic_cycles(uint32_t word) {
    enum { TO_AND_FROM_SCALAR = 0x10, MASK_FIRST = 0x18, MASK_LAST = 0x1f, MOVE_WHOLE = 0x27 };
    enum { ORDERED_SUM = 0x03, WIDE_ORDERED_SUM = 0x33 };
    unsigned form = field(word, 14, 12), what = field(word, 31, 26);
    if (what == TO_AND_FROM_SCALAR && form != 0 && form != OPIVI) return 1;
    if (form == OPMVV && what >= MASK_FIRST && what <= MASK_LAST) return 1;
    if (form == OPIVI && what == MOVE_WHOLE) return field(word, 19, 15) + 1;
    unsigned group = registers(group_eighths);
    if (form == OPFVV && (what == ORDERED_SUM || what == WIDE_ORDERED_SUM))
        return group * register_bits / element_bits;
    return group;
}

static void read_counter(unsigned cpu, void* number) {
    (void)cpu;
    if (begun) refuse("counter", "reads", (int64_t)(uintptr_t)number, 0);
}

static void watch_system(struct qemu_plugin_insn* instruction, uint32_t word) {
    enum { FIRST_COUNTER = 0xc00, LAST_COUNTER = 0xc1f };
    unsigned number = field(word, 31, 20);
    if (field(word, 14, 12) && number >= FIRST_COUNTER && number <= LAST_COUNTER)
        qemu_plugin_register_vcpu_insn_exec_cb(instruction, read_counter, QEMU_PLUGIN_CB_NO_REGS,
                                               (void*)(uintptr_t)number);
}

/* Adds what an instruction counts to what its block does. */
static void weigh(struct qemu_plugin_insn* instruction, uint64_t* block) {
    uint32_t word = 0;
    memcpy(&word, qemu_plugin_insn_data(instruction), qemu_plugin_insn_size(instruction));
    unsigned code = field(word, 6, 0);
    bool vector = false;
    block[INSTRUCTIONS]++;
    if (code == OP_VECTOR && field(word, 14, 12) == OPCFG) {
        block[CONFIGURE]++;
        qemu_plugin_register_vcpu_insn_exec_cb(instruction, configure, QEMU_PLUGIN_CB_NO_REGS,
                                               (void*)configured_type(word));
    } else if (code == OP_VECTOR) {
        block[ARITHMETIC] += arithmetic_cycles(word);
    } else if ((code == LOAD_FLOAT || code == STORE_FLOAT) && is_vector_access(word)) {
        vector = true;
        block[code == LOAD_FLOAT ? LOAD : STORE] += access_cycles(word);
    } else {
        block[SCALAR]++;
        if (code == SYSTEM) watch_system(instruction, word);
    }
    bool element = vector && by_element(word);
    qemu_plugin_register_vcpu_mem_cb(instruction, look, QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW,
                                     element ? &counted : NULL);
}

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb* block) {
    (void)id;
    uint64_t counts[COUNTS] = {0};
    for (size_t i = 0; i < qemu_plugin_tb_n_insns(block); i++)
        weigh(qemu_plugin_tb_get_insn(block, i), counts);
    for (int i = 0; i < COUNTS; i++)
        if (counts[i])
            qemu_plugin_register_vcpu_tb_exec_inline(block, QEMU_PLUGIN_INLINE_ADD_U64, &counted[i],
                                                     counts[i]);
}

/* Arguments: manifest=PATH, report=PATH, bits=VLEN. */
EXPORTED int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t* info, int count,
                                 char** arguments) {
    (void)info;
    int manifest = -1;
    for (int i = 0; i < count; i++) {
        char* value = strchr(arguments[i], '=');
        if (!value++) return -1;
        if (!strncmp(arguments[i], "manifest=", 9)) manifest = open(value, O_RDONLY);
        if (!strncmp(arguments[i], "report=", 7)) report = open(value, O_WRONLY | O_CREAT, 0600);
        if (!strncmp(arguments[i], "bits=", 5)) register_bits = (unsigned)atoi(value);
    }
    if (read(manifest, &told, sizeof told) != sizeof told || report < 0 || !register_bits) return -1;
    close(manifest);
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    qemu_plugin_register_vcpu_syscall_cb(id, called);
    return 0;
}
