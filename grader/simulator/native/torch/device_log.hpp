// The log of torch operators that a submission ran, on any device.
#pragma once

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

// Starts to watch every call that goes through torch's dispatcher, from Python or C++.
void watch_operators();

}  // namespace kgsim
