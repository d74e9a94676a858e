// The precompiled header holds the part of it that answers use.
#pragma once
