#pragma once
#include "kg_torch.h"
