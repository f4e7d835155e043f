/* Stands between a program and MPI, and tells where the time of each rank goes.
 *
 *     LD_PRELOAD=libmpitime.so PROGRAM
 *
 * Calls from C and from Fortran are caught each by itself: Debian's Fortran bindings go on to
 * PMPI_*, past whatever stands before MPI_*. In MPI_Finalize rank 0 writes mpi_time.csv with a row
 * for each rank: seconds in MPI_Init, from its end to MPI_Finalize, and those of them in MPI; sent
 * messages and their bytes by size; collective calls and what the rank gave to them. A last row has
 * the sums.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { OTHER, MESSAGE, COLLECTIVE };
/* The last class has no upper end. */
static const double largest[] = {64, 1024, 16384, 262144, 4194304};
enum { CLASSES = sizeof largest / sizeof *largest + 1 };

/* All are doubles, so that one MPI call gathers them. */
static struct {
    double init, whole, mpi, messages[CLASSES], bytes[CLASSES], collectives, given;
} mine;
enum { VALUES = sizeof mine / sizeof(double) };
static double begun;
static int depth;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Only the outermost call counts, should MPI call itself by its public names. */
static double enter(void)
{
    depth++;
    return now();
}

static void leave(double since, int kind, double bytes)
{
    if (--depth)
        return;
    mine.mpi += now() - since;
    int class = 0;
    while (class < CLASSES - 1 && bytes > largest[class])
        class++;
    if (kind == MESSAGE)
        mine.messages[class]++, mine.bytes[class] += bytes;
    if (kind == COLLECTIVE)
        mine.collectives++, mine.given += bytes;
}

static void initialised(double since)
{
    depth--;
    begun = now();
    mine.init = begun - since;
}

static void write_row(FILE *file, const char *rank, const double *values)
{
    fputs(rank, file);
    for (int column = 0; column < VALUES; column++)
        fprintf(file, column < 3 ? ",%.9f" : ",%.0f", values[column]);
    fputc('\n', file);
}

static void write_rows(void)
{
    mine.whole = now() - begun;
    int rank, ranks;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
    double *rows = rank ? NULL : calloc((size_t)ranks + 1, sizeof mine);
    PMPI_Gather(&mine, VALUES, MPI_DOUBLE, rows, VALUES, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    FILE *file = rows ? fopen("mpi_time.csv", "w") : NULL;
    if (!file)
        return;
    fprintf(file, "rank,init,whole,mpi");
    for (int what = 0; what < 2; what++)
        for (int class = 0; class < CLASSES; class++) {
            fprintf(file, what ? ",bytes_" : ",messages_");
            fprintf(file, class < CLASSES - 1 ? "%.0f" : "more", largest[class % (CLASSES - 1)]);
        }
    fprintf(file, ",collectives,given\n");
    double *const all = rows + ranks * VALUES;
    for (int row = 0; row < ranks; row++) {
        char name[16];
        snprintf(name, sizeof name, "%d", row);
        write_row(file, name, rows + row * VALUES);
        for (int column = 0; column < VALUES; column++)
            all[column] += rows[row * VALUES + column];
    }
    write_row(file, "all", all);
    fclose(file);
}

static double bytes_of(int count, MPI_Datatype type)
{
    int size = 0;
    PMPI_Type_size(type, &size);
    return (double)count * size;
}

static int members(MPI_Comm group)
{
    int size = 0;
    PMPI_Comm_size(group, &size);
    return size;
}

static int sum(const int *counts, MPI_Comm group)
{
    int all = 0;
    for (int rank = members(group); rank--;)
        all += counts[rank];
    return all;
}

/* CALL of C, with what it counts as; the bytes are worked out before the clock is read. */
#define C_CALL(NAME, PARAMETERS, WORDS, KIND, BYTES)                                               \
    int MPI_##NAME PARAMETERS                                                                      \
    {                                                                                              \
        const double bytes = BYTES, since = enter();                                               \
        const int status = PMPI_##NAME WORDS;                                                      \
        leave(since, KIND, bytes);                                                                 \
        return status;                                                                             \
    }
/* The same of Fortran, which hands over nothing but addresses. A program in C has no such entry,
 * so the reference is weak. */
#define F_CALL(NAME, PARAMETERS, WORDS, KIND, BYTES)                                               \
    extern __attribute__((weak)) void pmpi_##NAME##_ PARAMETERS;                                   \
    void mpi_##NAME##_ PARAMETERS                                                                  \
    {                                                                                              \
        const double bytes = BYTES, since = enter();                                               \
        pmpi_##NAME##_ WORDS;                                                                      \
        leave(since, KIND, bytes);                                                                 \
    }
#define N MPI_Fint *
#define P void *
#define F_BYTES bytes_of(*count, PMPI_Type_f2c(*type))
#define F_GROUP PMPI_Comm_f2c(*group)

C_CALL(Send, (const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm group),
       (data, count, type, to, tag, group), MESSAGE, bytes_of(count, type))
C_CALL(Isend, (const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm group,
               MPI_Request *request),
       (data, count, type, to, tag, group, request), MESSAGE, bytes_of(count, type))
C_CALL(Recv, (void *data, int count, MPI_Datatype type, int from, int tag, MPI_Comm group,
              MPI_Status *status_of),
       (data, count, type, from, tag, group, status_of), OTHER, 0)
C_CALL(Irecv, (void *data, int count, MPI_Datatype type, int from, int tag, MPI_Comm group,
               MPI_Request *request),
       (data, count, type, from, tag, group, request), OTHER, 0)
C_CALL(Wait, (MPI_Request *request, MPI_Status *status_of), (request, status_of), OTHER, 0)
C_CALL(Waitall, (int count, MPI_Request requests[], MPI_Status *status_of),
       (count, requests, status_of), OTHER, 0)
C_CALL(Barrier, (MPI_Comm group), (group), COLLECTIVE, 0)
C_CALL(Bcast, (void *data, int count, MPI_Datatype type, int root, MPI_Comm group),
       (data, count, type, root, group), COLLECTIVE, bytes_of(count, type))
C_CALL(Reduce, (const void *data, void *result, int count, MPI_Datatype type, MPI_Op operation,
                int root, MPI_Comm group),
       (data, result, count, type, operation, root, group), COLLECTIVE, bytes_of(count, type))
C_CALL(Allreduce, (const void *data, void *result, int count, MPI_Datatype type,
                   MPI_Op operation, MPI_Comm group),
       (data, result, count, type, operation, group), COLLECTIVE, bytes_of(count, type))
C_CALL(Alltoall, (const void *data, int count, MPI_Datatype type, void *result, int their_count,
                  MPI_Datatype their_type, MPI_Comm group),
       (data, count, type, result, their_count, their_type, group), COLLECTIVE,
       members(group) * bytes_of(count, type))
C_CALL(Alltoallv, (const void *data, const int *counts, const int *places, MPI_Datatype type,
                   void *result, const int *their_counts, const int *their_places,
                   MPI_Datatype their_type, MPI_Comm group),
       (data, counts, places, type, result, their_counts, their_places, their_type, group),
       COLLECTIVE, bytes_of(sum(counts, group), type))
C_CALL(Comm_split, (MPI_Comm group, int colour, int key, MPI_Comm *part),
       (group, colour, key, part), COLLECTIVE, 0)
C_CALL(Comm_dup, (MPI_Comm group, MPI_Comm *copy), (group, copy), COLLECTIVE, 0)

F_CALL(send, (P data, N count, N type, N to, N tag, N group, N error),
       (data, count, type, to, tag, group, error), MESSAGE, F_BYTES)
F_CALL(isend, (P data, N count, N type, N to, N tag, N group, N request, N error),
       (data, count, type, to, tag, group, request, error), MESSAGE, F_BYTES)
F_CALL(recv, (P data, N count, N type, N from, N tag, N group, N status_of, N error),
       (data, count, type, from, tag, group, status_of, error), OTHER, 0)
F_CALL(irecv, (P data, N count, N type, N from, N tag, N group, N request, N error),
       (data, count, type, from, tag, group, request, error), OTHER, 0)
F_CALL(wait, (N request, N status_of, N error), (request, status_of, error), OTHER, 0)
F_CALL(waitall, (N count, N requests, N status_of, N error), (count, requests, status_of, error),
       OTHER, 0)
F_CALL(barrier, (N group, N error), (group, error), COLLECTIVE, 0)
F_CALL(bcast, (P data, N count, N type, N root, N group, N error),
       (data, count, type, root, group, error), COLLECTIVE, F_BYTES)
F_CALL(reduce, (P data, P result, N count, N type, N operation, N root, N group, N error),
       (data, result, count, type, operation, root, group, error), COLLECTIVE, F_BYTES)
F_CALL(allreduce, (P data, P result, N count, N type, N operation, N group, N error),
       (data, result, count, type, operation, group, error), COLLECTIVE, F_BYTES)
F_CALL(alltoall, (P data, N count, N type, P result, N their_count, N their_type, N group, N error),
       (data, count, type, result, their_count, their_type, group, error), COLLECTIVE,
       members(F_GROUP) * F_BYTES)
F_CALL(comm_split, (N group, N colour, N key, N part, N error), (group, colour, key, part, error),
       COLLECTIVE, 0)
F_CALL(comm_dup, (N group, N copy, N error), (group, copy, error), COLLECTIVE, 0)

int MPI_Init(int *count, char ***words)
{
    const double since = enter();
    const int status = PMPI_Init(count, words);
    initialised(since);
    return status;
}

int MPI_Finalize(void)
{
    write_rows();
    return PMPI_Finalize();
}

extern __attribute__((weak)) void pmpi_init_(N error), pmpi_finalize_(N error);

void mpi_init_(N error)
{
    const double since = enter();
    pmpi_init_(error);
    initialised(since);
}

void mpi_finalize_(N error)
{
    write_rows();
    pmpi_finalize_(error);
}
