#!/bin/sh
# The same words natively and in the image: compile.sh FOLDER SOURCE…, in the sources' folder.
# A program that runs keeps its file: each new one takes the place of the old one. A source that is
# a script makes its program itself.
set -e
folder=$1
shift
mkdir -p "$folder"
for source in "$@"; do
  case $source in *.sh) sh "$source" "$folder"; continue ;; esac
  compiler=gcc
  if grep -q '^#include <mpi.h>' "$source"; then compiler=mpicc; fi
  $compiler -std=gnu11 -O2 -Wall -Wextra -o "$folder/.part" "$source"
  mv "$folder/.part" "$folder/${source%.c}"
done
