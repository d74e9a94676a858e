#pragma once
#include "kg_extension.h"
