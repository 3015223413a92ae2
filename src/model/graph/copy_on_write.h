// CopyOnWrite<T>: a value that copies share until one of them is written to.
//
// Once shared, a box is never written again, whatever holds it: a count of holders would have to be read with
// an ordering that std::shared_ptr does not promise; a flag that only ever rises needs none.
#pragma once

#include <atomic>
#include <memory>

namespace isomer {

template <class T>
class CopyOnWrite {
 public:
  CopyOnWrite() : box_(std::make_shared<Box>()) {}
  CopyOnWrite(const CopyOnWrite& other) : box_(other.box_) {
    box_->shared.store(true, std::memory_order_relaxed);
  }
  CopyOnWrite& operator=(const CopyOnWrite& other) {
    if (this == &other) return *this;
    other.box_->shared.store(true, std::memory_order_relaxed);
    box_ = other.box_;
    return *this;
  }
  CopyOnWrite(CopyOnWrite&&) noexcept = default;  // leaves nothing to read
  CopyOnWrite& operator=(CopyOnWrite&&) noexcept = default;
  ~CopyOnWrite() = default;

  const T& operator*() const { return box_->value; }
  const T* operator->() const { return &box_->value; }
  T& write() {
    if (box_->shared.load(std::memory_order_relaxed)) box_ = std::make_shared<Box>(box_->value);
    return box_->value;
  }

 private:
  struct Box {
    Box() = default;
    explicit Box(const T& v) : value(v) {}
    T value;
    std::atomic<bool> shared = false;
  };
  std::shared_ptr<Box> box_;
};

}  // namespace isomer
