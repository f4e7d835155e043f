/* Bulk-synchronous steps in simulated time: simgrid_steps FLOP STEPS prints the mean step in s. */
#include <mpi.h>
#include <smpi/smpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **words)
{
    int rank;
    MPI_Init(&argc, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    double work = atof(words[1]);
    int steps = atoi(words[2]);
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime();
    for (int step = 0; step < steps; step++) {
        smpi_execute_flops(work);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    if (!rank)
        printf("mean step %.12f\n", (MPI_Wtime() - begin) / steps);
    MPI_Finalize();
    return 0;
}
