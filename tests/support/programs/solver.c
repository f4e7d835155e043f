#include <stdio.h>
#include <time.h>
int main(int argc, char **argv) {
  long steps = argc < 2 ? 0 : argv[1][0] == 's' ? 20000000 : 60000000;
  struct timespec a, b;
  double x = 1;
  clock_gettime(CLOCK_MONOTONIC, &a);
  for (long i = 0; i < steps; i++) x = x * 1.0000001 + 1e-9;
  clock_gettime(CLOCK_MONOTONIC, &b);
  printf("x = %g\nsolved in %.6f s\n", x, b.tv_sec - a.tv_sec + 1e-9 * (b.tv_nsec - a.tv_nsec));
  return steps == 0;
}
