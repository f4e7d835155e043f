#include <stdio.h>
#include <stdlib.h>
int main(int words, char **word) {
  double sum = 0;
  for (long i = 1; i <= atol(word[1]); i++) sum += 1.0 / ((double)i * i);
  printf("sum %.12f\n", sum);
}
