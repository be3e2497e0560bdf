#!/bin/sh
# copy_object.sh COMPILER ARGUMENTS...: in the place of a compiler, copies the object from the build of the same sources in
# $STRATUM_OBJECTS, where that has it. Static and shared libraries are made of the same objects.
object=
for argument; do
  [ "$object" != -o ] || break
  object=$argument
done
if [ "$object" = -o ] && [ -e "$STRATUM_OBJECTS/$argument" ]; then
  exec cp "$STRATUM_OBJECTS/$argument" "$argument"
fi
exec "$@"
