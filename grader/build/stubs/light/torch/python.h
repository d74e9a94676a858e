// torch/types.h alone is read in a third of the time; what it lacks, the full header decides.
#pragma once
#include <torch/types.h>
