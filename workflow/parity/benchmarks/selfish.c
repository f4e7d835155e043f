/* Looks at nothing but the clock, and writes down whenever it was kept from doing so.
 *
 *     selfish detours|fwq SECONDS THRESHOLD_NS MULTIPLE QUANTUM CAPACITY FILE
 *
 * detours: a tight loop over the time stamp counter. What passes between two looks beyond the
 *     shortest time between two is a detour, if it is more than THRESHOLD_NS plus MULTIPLE times
 *     that shortest time, which is found first. (After Beckman et al., CLUSTER 2006.)
 * fwq: the same work, QUANTUM dependent multiplications, again and again; each quantum is
 *     written down with the time that it took. THRESHOLD_NS alone is for whoever reads them.
 *     (After Sottile and Minnich, CLUSTER 2004.)
 *
 * It ends by time. More than CAPACITY entries are an error, since a trace that is cut off would
 * look quieter than it was. Nothing is written before the end: entries go to memory that is
 * there from the beginning, locked if that is allowed.
 *
 * What its own control group, of version 1 or 2, lets it have of the CPUs is read from inside, and
 * how often a limit was enforced, and what CPU time it got, while entries were written down.
 *
 * FILE is little-endian: struct head, CAPACITY or fewer entries, CRC-32 (as zlib's) of both.
 */
#define _GNU_SOURCE
#include <cpuid.h>
#include <errno.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <x86intrin.h>

#ifndef __x86_64__
#error selfish measures by the time stamp counter of x86-64, which this processor does not have
#endif

#define FIND_NS 100000000u /* how long the shortest time is looked for */
#define LOOKS 10000        /* at the counter, before the clock is asked */
enum { DETOURS = 1, FWQ = 2 };
enum { WRONG_WORDS = 2, NO_COUNTER, NO_MEMORY, FULL, NOT_WRITTEN };

struct entry { uint64_t start, length; }; /* since the begin of the measurement; ticks, later ns */
struct head {
    char magic[8]; /* begins with a byte that no text begins with, as PNG does */
    uint32_t version, mode;
    double hz, minimum_ns, threshold_ns;
    uint64_t duration_ns, quantum, locked, count;
    int64_t quota_us; /* -1 without a limit, 0 where it is not to be seen */
    uint64_t period_us, periods, throttled;
    uint64_t burst_us, shares, weight, cpus, cpu_ns; /* shares of version 1, weight of version 2 */
};
struct moment { uint64_t ticks, ns; };

/* The counter, when all before it is done: unordered, two looks may overtake each other. */
static inline uint64_t tick(void)
{
    _mm_lfence();
    return __rdtsc();
}

static void stop(int status, const char *why)
{
    fprintf(stderr, "selfish: %s\n", why);
    exit(status);
}

/* The text of a file of our control group in the CPU's hierarchy; empty if there is none. */
static void read_group(const char *name, char *text, size_t size)
{
    char line[4096], path[8192], *fields, *controllers, *group;
    FILE *groups = fopen("/proc/self/cgroup", "r"), *file = NULL;
    while (!file && groups && fgets(line, sizeof line, groups)) {
        line[strcspn(line, "\n")] = 0;
        fields = line;
        strsep(&fields, ":");
        controllers = strsep(&fields, ":");
        group = fields;
        if (!group)
            continue;
        /* Version 2 has no controllers here, and may lie beside version 1. */
        const char *version_2[] = {"", "unified"}, *version_1[] = {controllers, "cpu"};
        const char **folders = *controllers ? version_1 : version_2;
        if (*controllers && strcmp(controllers, "cpu") && strncmp(controllers, "cpu,", 4)
            && !strstr(controllers, ",cpu,"))
            continue;
        /* A container may see its own group as the root of the hierarchy. */
        for (int choice = 0; choice < 4 && !file; choice++) {
            snprintf(path, sizeof path, "/sys/fs/cgroup/%s/%s/%s", folders[choice % 2],
                     choice < 2 ? group : "", name);
            file = fopen(path, "r");
        }
    }
    text[file ? fread(text, 1, size - 1, file) : 0] = 0;
    if (file)
        fclose(file);
    if (groups)
        fclose(groups);
}

/* The number that follows a key in a file of our control group; 0 where it is not to be seen. */
static uint64_t told(const char *name, const char *key)
{
    char text[4096];
    read_group(name, text, sizeof text);
    const char *at = strstr(text, key);
    return at ? strtoull(at + strlen(key), NULL, 10) : 0; /* -1 becomes itself */
}

/* Adds how often the limit was looked at, and how often enforced, `times` 1 or -1. */
static void count_throttling(struct head *head, uint64_t times)
{
    head->periods += times * told("cpu.stat", "nr_periods ");
    head->throttled += times * told("cpu.stat", "nr_throttled ");
}

static void read_limit(struct head *head)
{
    cpu_set_t allowed;
    uint64_t quota = told("cpu.max", ""), period = told("cpu.max", " "); /* or "max", for none */
    head->quota_us = (int64_t)(!period ? told("cpu.cfs_quota_us", "") : quota ? quota : UINT64_MAX);
    head->period_us = period ? period : told("cpu.cfs_period_us", "");
    head->burst_us = told(period ? "cpu.max.burst" : "cpu.cfs_burst_us", "");
    head->shares = told("cpu.shares", "");
    head->weight = told("cpu.weight", "");
    head->cpus = sched_getaffinity(0, sizeof allowed, &allowed) ? 0 : (uint64_t)CPU_COUNT(&allowed);
}

static uint64_t ns_of(clockid_t clock)
{
    struct timespec at;
    clock_gettime(clock, &at);
    return (uint64_t)at.tv_sec * 1000000000u + (uint64_t)at.tv_nsec;
}

/* Counter and clock at the same moment: of several looks the one with the least in between. */
static struct moment now(void)
{
    struct moment best = {0, 0};
    uint64_t least = UINT64_MAX;
    for (int look = 0; look < 100; look++) {
        uint64_t before = tick(), ns = ns_of(CLOCK_MONOTONIC_RAW), between = tick() - before;
        if (between < least) {
            least = between;
            best = (struct moment){before + between / 2, ns};
        }
    }
    return best;
}

static double ticks_per_ns(struct moment from, struct moment to)
{
    return (double)(to.ticks - from.ticks) / (double)(to.ns - from.ns);
}

/* Each multiplication waits for the one before it, so the compiler can leave out none. */
static uint64_t work(uint64_t quantum, uint64_t x)
{
    for (uint64_t step = 0; step < quantum; step++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        __asm__ volatile("" : "+r"(x));
    }
    return x;
}

static uint64_t shortest_look(void)
{
    uint64_t least = UINT64_MAX, last = tick();
    for (int look = 0; look < LOOKS; look++) {
        uint64_t at = tick(), gap = at - last;
        least = gap < least ? gap : least;
        last = at;
    }
    return least;
}

static uint64_t shortest_quantum(uint64_t quantum)
{
    uint64_t last = tick();
    work(quantum, last);
    return tick() - last;
}

/* Fills entries until the counter is at `end`; the number of them, or one more than fit. */
static uint64_t detours(struct entry *entries, uint64_t capacity, uint64_t least,
                        uint64_t threshold, uint64_t *last, uint64_t end)
{
    uint64_t begin = *last, before = begin, count = 0;
    while (before < end) {
        uint64_t at = tick(), gap = at - before;
        if (__builtin_expect(gap > threshold + least, 0)) {
            if (count == capacity)
                return capacity + 1;
            entries[count++] = (struct entry){before - begin, gap - least};
            at = tick(); /* writing it down is no detour */
        }
        before = at;
    }
    *last = before;
    return count;
}

static uint64_t quanta(struct entry *entries, uint64_t capacity, uint64_t quantum,
                       uint64_t *last, uint64_t end)
{
    uint64_t begin = *last, before = begin, count = 0, x = begin;
    while (before < end) {
        if (count == capacity)
            return capacity + 1;
        x = work(quantum, x);
        uint64_t at = tick();
        entries[count++] = (struct entry){before - begin, at - before};
        before = tick();
    }
    *last = before;
    return count;
}

static uint32_t crc32_of(uint32_t crc, const void *data, size_t bytes)
{
    const unsigned char *at = data;
    for (crc = ~crc; bytes; bytes--) {
        crc ^= *at++;
        for (int bit = 0; bit < 8; bit++)
            crc = (crc >> 1) ^ (0xedb88320u & -(crc & 1));
    }
    return ~crc;
}

static void write_all(const char *path, struct head *head, struct entry *entries)
{
    size_t bytes = head->count * sizeof *entries;
    uint32_t crc = crc32_of(crc32_of(0, head, sizeof *head), entries, bytes);
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(head, sizeof *head, 1, file) != 1
        || fwrite(entries, 1, bytes, file) != bytes || fwrite(&crc, sizeof crc, 1, file) != 1
        || fclose(file) != 0)
        stop(NOT_WRITTEN, strerror(errno));
}

/* A counter that neither stops nor changes its pace: CPUID 80000007h, EDX, bit 8. */
static void require_invariant_counter(void)
{
    unsigned a, b, c, d;
    if (!__get_cpuid(0x80000007, &a, &b, &c, &d) || !(d >> 8 & 1))
        stop(NO_COUNTER, "the time stamp counter of this processor is not invariant");
}

int main(int argc, char **words)
{
    int fwq = argc == 8 && !strcmp(words[1], "fwq");
    if (argc != 8 || (!fwq && strcmp(words[1], "detours")))
        stop(WRONG_WORDS, "detours|fwq SECONDS THRESHOLD_NS MULTIPLE QUANTUM CAPACITY FILE");
    double seconds = strtod(words[2], NULL), floor_ns = strtod(words[3], NULL);
    double multiple = strtod(words[4], NULL);
    uint64_t quantum = strtoull(words[5], NULL, 10), capacity = strtoull(words[6], NULL, 10);
    if (!(seconds > 0) || !(floor_ns >= 0) || !(multiple >= 0) || !quantum || !capacity
        || capacity > SIZE_MAX / sizeof(struct entry))
        stop(WRONG_WORDS, "a number is none, or out of range");
    require_invariant_counter();
    size_t bytes = capacity * sizeof(struct entry);
    struct entry *entries = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (entries == MAP_FAILED)
        stop(NO_MEMORY, "there is no memory for so many entries");
    struct head head = {.magic = "\x89" "selfish", .version = 2, .mode = fwq ? FWQ : DETOURS,
                        .quantum = quantum, .locked = mlock(entries, bytes) == 0};

    struct moment first = now(), found;
    uint64_t least = UINT64_MAX;
    do {
        uint64_t found_here = fwq ? shortest_quantum(quantum) : shortest_look();
        least = found_here < least ? found_here : least;
        found = now();
    } while (found.ns - first.ns < FIND_NS);
    double pace = ticks_per_ns(first, found);
    uint64_t threshold = (uint64_t)(floor_ns * pace + (fwq ? 0 : multiple * (double)least));

    read_limit(&head);
    count_throttling(&head, (uint64_t)-1);
    uint64_t cpu_before = ns_of(CLOCK_THREAD_CPUTIME_ID);
    uint64_t begin = tick(), last = begin, end = begin + (uint64_t)(seconds * 1e9 * pace);
    head.count = fwq ? quanta(entries, capacity, quantum, &last, end)
                     : detours(entries, capacity, least, threshold, &last, end);
    head.cpu_ns = ns_of(CLOCK_THREAD_CPUTIME_ID) - cpu_before;
    if (head.count > capacity)
        stop(FULL, "more entries than there is room for; give it more room, or less to write down");
    count_throttling(&head, 1);
    /* The whole run is the longest time there is to compare counter and clock over. */
    pace = ticks_per_ns(first, now());
    for (uint64_t number = 0; number < head.count; number++) {
        entries[number].start = (uint64_t)((double)entries[number].start / pace);
        entries[number].length = (uint64_t)((double)entries[number].length / pace);
    }
    head.hz = 1e9 * pace;
    head.minimum_ns = (double)least / pace;
    head.threshold_ns = (double)threshold / pace;
    head.duration_ns = (uint64_t)((double)(last - begin) / pace);
    write_all(words[7], &head, entries);
    return 0;
}
