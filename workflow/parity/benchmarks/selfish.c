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
 * look quieter than it was. Nothing is written before the end; FILE is as trace.h says.
 */
#define _GNU_SOURCE
#include "trace.h"
#include <cpuid.h>
#include <x86intrin.h>

#ifndef __x86_64__
#error selfish measures by the time stamp counter of x86-64, which this processor does not have
#endif

#define FIND_NS 100000000u /* how long the shortest time is looked for */
#define LOOKS 10000        /* at the counter, before the clock is asked */
enum { DETOURS = 1, FWQ = 2 };

struct head {
    char magic[8]; /* begins with a byte that no text begins with, as PNG does */
    uint32_t version, mode;
    double hz, minimum_ns, threshold_ns;
    uint64_t duration_ns, quantum, locked, count;
    struct limit limit;
};

struct moment { uint64_t ticks, ns; };

/* The counter, when all before it is done: unordered, two looks may overtake each other. */
static inline uint64_t tick(void)
{
    _mm_lfence();
    return __rdtsc();
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
    struct head head = {.magic = "\x89" "selfish", .version = 3, .mode = fwq ? FWQ : DETOURS,
                        .quantum = quantum};
    struct entry *entries = room_for(capacity, &head.locked);

    struct moment first = now(), found;
    uint64_t least = UINT64_MAX;
    do {
        uint64_t found_here = fwq ? shortest_quantum(quantum) : shortest_look();
        least = found_here < least ? found_here : least;
        found = now();
    } while (found.ns - first.ns < FIND_NS);
    double pace = ticks_per_ns(first, found);
    uint64_t threshold = (uint64_t)(floor_ns * pace + (fwq ? 0 : multiple * (double)least));

    read_limit(&head.limit);
    count_throttling(&head.limit, (uint64_t)-1);
    uint64_t cpu_before = ns_of(CLOCK_THREAD_CPUTIME_ID);
    uint64_t begin = tick(), last = begin, end = begin + (uint64_t)(seconds * 1e9 * pace);
    head.count = fwq ? quanta(entries, capacity, quantum, &last, end)
                     : detours(entries, capacity, least, threshold, &last, end);
    head.limit.cpu_ns = ns_of(CLOCK_THREAD_CPUTIME_ID) - cpu_before;
    if (head.count > capacity)
        stop(FULL, "more entries than there is room for; give it more room, or less to write down");
    count_throttling(&head.limit, 1);
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
    write_all(words[7], &head, sizeof head, entries, head.count);
    return 0;
}
