// What nearly every file includes; CMakeLists.txt has it parsed once. Files include what they use all the same.
#pragma once

#include "base/arrays.hpp"
#include "base/hashing.hpp"
#include "base/parallel.hpp"
#include "base/records.hpp"
#include "base/rows.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <stdexcept>
#include <tuple>
#include <vector>
