// The log of torch operators that a submission ran, on any device.
#pragma once
#include <string>

namespace kgsim {

// While one lives, operators are the backend's own and not the submission's.
class InsideOperator {
 public:
  InsideOperator() { ++depth(); }
  ~InsideOperator() { --depth(); }
  InsideOperator(const InsideOperator&) = delete;
  InsideOperator& operator=(const InsideOperator&) = delete;
  static int& depth();
};

// An operator has reached the backend: it is logged unless its call was already. (Calls can be
// dispatched again by hand, or made with torch's observers switched off.)
void note_call(const std::string& name);

// Operands of an operator lose digits here: `how` is "tf32", "float16" or "bfloat16".
void note_narrowed(const std::string& how, const std::string& name);

// Starts to log every call through torch's dispatcher, from Python or C++.
void watch_operators();

}  // namespace kgsim
