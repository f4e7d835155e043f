#!/bin/sh
# Makes a Python program of many files: imports.sh FOLDER. It is imports in that folder, and its
# 5000 modules, in fifty packages, are in imports.modules, with their bytecode as pip installs it.
set -e
folder=$1 modules=$1/imports.modules
rm -rf "$modules"
mkdir -p "$modules"
package=10
while [ $package -lt 60 ]; do
  mkdir "$modules/p$package"
  echo "TOTAL = 1" > "$modules/p$package/__init__.py"
  module=101
  while [ $module -lt 200 ]; do
    printf '"""A module of some functions."""\n\n\ndef first(value):\n    return value + %s\n\n\ndef second(value):\n    return [first(each) for each in range(value)]\n\n\nTOTAL = first(0) - %s + 1\n' \
      $module $module > "$modules/p$package/m$module.py"
    module=$((module + 1))
  done
  package=$((package + 1))
done
# What Python checks of bytecode by a file's time would change with each copy.
/usr/bin/python3 -S -m compileall -q --invalidation-mode unchecked-hash "$modules"
cat > "$folder/.part" << 'PYTHON'
import sys
from importlib import import_module
from time import perf_counter_ns

sys.path.insert(0, sys.argv[0] + ".modules")
begin = perf_counter_ns()
total = 0
for package in range(10, 60):
    total += import_module(f"p{package}").TOTAL
    for module in range(101, 200):
        total += import_module(f"p{package}.m{module}").TOTAL
print(f"imported {total} modules in {perf_counter_ns() - begin} ns")
PYTHON
chmod 755 "$folder/.part"
mv "$folder/.part" "$folder/imports"
