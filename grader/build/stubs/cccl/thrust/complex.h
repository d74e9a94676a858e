// Precompiled with torch's own complex numbers: host/thrust/complex.h.
#pragma once
