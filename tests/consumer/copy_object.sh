#!/bin/sh
# copy_object.sh BUILD COMPILER ARGUMENTS...: in the place of a compiler, copies the object from a build of the same sources,
# where that has it. Static and shared libraries are made of the same objects.
build=$1 object=
shift
for argument; do
  [ "$object" != -o ] || break
  object=$argument
done
if [ "$object" = -o ] && [ -e "$build/$argument" ]; then
  exec cp "$build/$argument" "$argument"
fi
exec "$@"
