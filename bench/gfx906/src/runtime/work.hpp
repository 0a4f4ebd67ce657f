// What can be put into a stream or made a graph node: kernels, copies, fills, host calls, events,
// memory. A Work carries its own copy of every argument, so the same object can run now or at each
// replay of a graph.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "hip_abi.hpp"

namespace gfx906::rt {

class EventRecord;

// What the timeline shows of a finished piece of work.
struct WorkReport {
  std::string name;
  const char* category = "other";  // "kernel", "copy", "fill", "host", "sync"
  double model_seconds = -1;       // time on the card by the model; negative: unknown
  uint64_t bytes = 0;
  int source_card = -1, target_card = -1;  // of a copy; -1 is host memory
  std::string detail;                      // JSON members without braces, may be empty
};

class Work {
 public:
  virtual ~Work() = default;
  virtual hipGraphNodeType type() const = 0;
  // Does it; called on the worker thread of `stream`'s queue. An error becomes the card's sticky
  // error.
  virtual hipError_t run(WorkReport& report) = 0;
  virtual std::shared_ptr<Work> clone() const = 0;
  int card = 0;
  bool in_graph = false;  // it is a graph's node
};

template <class Self, hipGraphNodeType kType>
class WorkOf : public Work {
 public:
  hipGraphNodeType type() const override { return kType; }
  std::shared_ptr<Work> clone() const override {
    return std::make_shared<Self>(static_cast<const Self&>(*this));
  }
};

// A block of rows and slices between two linear places. Sizes and pitches in bytes.
class CopyWork : public WorkOf<CopyWork, hipGraphNodeTypeMemcpy> {
 public:
  void* target = nullptr;
  const void* source = nullptr;
  size_t width = 0, height = 1, depth = 1;
  size_t target_pitch = 0, source_pitch = 0;  // row to row
  size_t target_slice = 0, source_slice = 0;  // slice to slice
  hipMemcpyKind kind = hipMemcpyDefault;
  hipMemcpy3DParms params{};  // as the graph API gave them, for its getters
  hipError_t run(WorkReport& report) override;
};

class FillWork : public WorkOf<FillWork, hipGraphNodeTypeMemset> {
 public:
  void* target = nullptr;
  uint32_t value = 0;
  unsigned element = 1;                     // bytes: 1, 2 or 4
  size_t width = 0, height = 1, depth = 1;  // elements, rows, slices
  size_t pitch = 0, slice = 0;              // bytes
  hipError_t run(WorkReport& report) override;
};

class HostWork : public WorkOf<HostWork, hipGraphNodeTypeHost> {
 public:
  hipHostNodeParams params{};
  // hipStreamAddCallback's form; used instead of params when set.
  void (*callback)(hipStream_t, hipError_t, void*) = nullptr;
  hipStream_t stream = nullptr;
  hipError_t run(WorkReport& report) override;
};

class EmptyWork : public WorkOf<EmptyWork, hipGraphNodeTypeEmpty> {
 public:
  hipError_t run(WorkReport&) override { return hipSuccess; }
};

class EventRecordWork : public WorkOf<EventRecordWork, hipGraphNodeTypeEventRecord> {
 public:
  hipEvent_t event = nullptr;
  std::shared_ptr<EventRecord> record;  // of this recording; made when submitted
  hipError_t run(WorkReport&) override;
};

class EventWaitWork : public WorkOf<EventWaitWork, hipGraphNodeTypeWaitEvent> {
 public:
  hipEvent_t event = nullptr;
  hipError_t run(WorkReport&) override { return hipSuccess; }  // its tickets are the wait
};

// Memory of a graph: the address is fixed when the node is made, so running it is only
// book-keeping.
class AllocWork : public WorkOf<AllocWork, hipGraphNodeTypeMemAlloc> {
 public:
  hipMemAllocNodeParams params{};
  hipError_t run(WorkReport&) override { return hipSuccess; }
};

class FreeWork : public WorkOf<FreeWork, hipGraphNodeTypeMemFree> {
 public:
  void* pointer = nullptr;
  bool keep = false;  // in a graph the memory stays with the graph
  hipError_t run(WorkReport&) override;
};

// hipStreamWaitValue / WriteValue and their batches.
class MemOpWork : public WorkOf<MemOpWork, hipGraphNodeTypeBatchMemOp> {
 public:
  struct Op {
    bool wait = false;
    unsigned bytes = 4;
    void* address = nullptr;
    uint64_t value = 0, mask = ~uint64_t{0};
    unsigned flags = 0;
  };
  std::vector<Op> ops;
  hipError_t run(WorkReport& report) override;
};

}  // namespace gfx906::rt
