// The device's memory as torch's CPU kernels use it: tensors and storages over the same bytes.
#pragma once

#include <ATen/core/Tensor.h>

#include <utility>
#include <vector>

#include "guard_alloc.hpp"

namespace kgsim {

inline const c10::Device kCuda(c10::kCUDA, 0);

inline void copy_geometry(const at::Tensor& from, const at::Tensor& to) {
  to.unsafeGetTensorImpl()->set_sizes_and_strides(from.sizes(), from.strides(),
                                                  from.storage_offset());
  to._set_conj(from.is_conj());
  to._set_neg(from.is_neg());
}

inline at::Tensor over(c10::Storage storage, c10::DispatchKey key, const at::Tensor& like) {
  auto result = at::detail::make_tensor<c10::TensorImpl>(std::move(storage),
                                                         c10::DispatchKeySet(key), like.dtype());
  copy_geometry(like, result);
  if (like.unsafeGetTensorImpl()->is_wrapped_number())
    result.unsafeGetTensorImpl()->set_wrapped_number(true);
  return result;
}

// A view as torch makes one: an inference tensor if its base is, whatever the mode.
inline at::Tensor view_of(const at::Tensor& base, const at::Tensor& like) {
  auto result = at::detail::make_tensor<c10::TensorImpl>(
      c10::TensorImpl::VIEW, c10::Storage(like.storage()), base.key_set(), like.dtype());
  copy_geometry(like, result);
  return result;
}

// The device's storages of one call, each with a CPU storage over the same memory. (CPU tensors over
// the device's own storage won't do: torch takes the device of every view from the storage.)
class Storages {
 public:
  c10::Storage alias(const c10::Storage& storage) {
    for (auto& [original, alias] : pairs_)
      if (original.is_alias_of(storage)) return alias;
    auto* impl = storage.unsafeGetStorageImpl();
    kgsim_note_read(impl->data());
    pairs_.emplace_back(storage, c10::make_intrusive<c10::StorageImpl>(
                                     c10::StorageImpl::use_byte_size_t(), impl->sym_nbytes(),
                                     c10::DataPtr(impl->mutable_data(), c10::Device(c10::kCPU)),
                                     c10::GetAllocator(c10::kCPU), true));
    return pairs_.back().second;
  }

  // The device's storage for one of the CPU's: the one that it aliases, or itself made the device's.
  c10::Storage device(const c10::Storage& storage, bool written) {
    for (auto& [original, alias] : pairs_)
      if (alias.is_alias_of(storage)) return original;
    give_to_device(storage, written);
    return storage;
  }

  // An operator may have given an alias other memory (resize_, out=).
  void write_back(bool written) {
    for (auto& [original, alias] : pairs_) {
      if (alias.data() == original.data() && alias.nbytes() == original.nbytes()) continue;
      auto* impl = original.unsafeGetStorageImpl();
      if (alias.data() != original.data()) {
        give_to_device(alias, written);
        impl->set_data_ptr_noswap(
            std::move(alias.unsafeGetStorageImpl()->_mutable_data_ptr_no_checks()));
      }
      impl->set_nbytes(alias.nbytes());
    }
  }

 private:
  static void give_to_device(const c10::Storage& storage, bool written) {
    auto* impl = storage.unsafeGetStorageImpl();
    kgsim_to_device(impl->mutable_data(), written);
    impl->_mutable_data_ptr_no_checks().unsafe_set_device(kCuda);
    impl->set_allocator(c10::GetAllocator(c10::kCUDA));
  }

  std::vector<std::pair<c10::Storage, c10::Storage>> pairs_;
};

// Tells the simulator which bytes an operator wrote: each run of adjacent elements.
inline void note_written(const at::Tensor& tensor, const char* data, int64_t dim = 0) {
  if (tensor.numel() == 0) return;
  const auto size = static_cast<int64_t>(tensor.itemsize());
  if (dim == 0 && tensor.is_non_overlapping_and_dense()) {
    kgsim_written(data, tensor.numel() * size);
  } else if (dim == tensor.dim()) {
    kgsim_written(data, size);
  } else {
    for (int64_t i = 0; i < tensor.size(dim); ++i)
      note_written(tensor, data + i * tensor.stride(dim) * size, dim + 1);
  }
}

inline void note_written(const at::Tensor& tensor) {
  if (tensor.defined() && tensor.is_cuda())
    note_written(tensor, static_cast<const char*>(tensor.const_data_ptr()));
}

}  // namespace kgsim
