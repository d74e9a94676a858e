// Device code only: nvcc sees the real one, and device bodies are blank in the host pass.
#pragma once
namespace cub {}
