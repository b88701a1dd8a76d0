# SPDX-License-Identifier: MIT
# install: libraries, headers, pkg-config and CMake package files.
include(CMakePackageConfigHelpers)
