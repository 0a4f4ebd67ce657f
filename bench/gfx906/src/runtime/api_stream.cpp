// Streams, events, stream memory operations, and capture control.
#include <algorithm>
#include <chrono>
#include <set>

#include "api.hpp"
#include "memory.hpp"
#include "trace.hpp"

namespace gfx906::rt {

std::atomic<int> active_captures{0};

namespace {

thread_local int capture_mode = 0;
std::atomic<uint64_t> next_capture_id{1};
constexpr int kLeastPriority = 1, kGreatestPriority = -1;

std::set<std::shared_ptr<Capture>>& captures() {
  static auto* set = new std::set<std::shared_ptr<Capture>>;
  return *set;
}

hipStream_t per_thread(hipStream_t stream) {
  return stream == nullptr ? reinterpret_cast<hipStream_t>(kStreamPerThreadHandle) : stream;
}

hipError_t make_stream(hipStream_t* out, unsigned flags, int priority) {
  return api([&] {
    if (out == nullptr || (flags & ~hipStreamNonBlocking) != 0) return hipErrorInvalidValue;
    *out = Stream::create(current_card(), flags,
                          std::clamp(priority, kGreatestPriority, kLeastPriority), false);
    return hipSuccess;
  });
}

hipError_t begin_capture(Stream& stream, int mode, Graph* graph, std::vector<GraphNode*> front) {
  if (mode < 0 || mode > 2) return hipErrorInvalidValue;
  // The null stream itself cannot capture.
  if (stream.is_null()) return hipErrorStreamCaptureUnsupported;
  const std::lock_guard lock(capture_mutex());
  if (stream.capture) return hipErrorIllegalState;
  auto capture = std::make_shared<Capture>();
  if (graph == nullptr) {
    capture->owned = std::make_unique<Graph>();
    graph = capture->owned.get();
  }
  capture->graph = graph;
  capture->origin = &stream;
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  capture->id = next_capture_id++;
  capture->frontier[&stream] = std::move(front);
  stream.capture = capture;
  captures().insert(std::move(capture));
  ++active_captures;
  return hipSuccess;
}

// True when every stream that took part leads into the origin's last nodes.
bool joined(const Capture& capture) {
  std::set<const GraphNode*> reached;
  std::vector<const GraphNode*> open;
  for (const GraphNode* node : capture.frontier.at(capture.origin)) open.push_back(node);
  while (!open.empty()) {
    const GraphNode* node = open.back();
    open.pop_back();
    if (!reached.insert(node).second) continue;
    open.insert(open.end(), node->needs.begin(), node->needs.end());
  }
  for (const auto& [stream, nodes] : capture.frontier) {
    for (const GraphNode* node : nodes) {
      if (reached.count(node) == 0) return false;
    }
  }
  return true;
}

hipError_t end_capture(Stream& stream, hipGraph_t* out) {
  if (out == nullptr) return hipErrorInvalidValue;
  *out = nullptr;
  const std::lock_guard lock(capture_mutex());
  if (!stream.capture) return hipErrorIllegalState;
  const std::shared_ptr<Capture> capture = stream.capture;
  if (capture->origin != &stream) return hipErrorStreamCaptureUnmatched;
  if (capture->mode != 2 && capture->thread != std::this_thread::get_id())
    return hipErrorStreamCaptureWrongThread;
  for (auto& [member, nodes] : capture->frontier) member->capture.reset();
  captures().erase(capture);
  --active_captures;
  if (capture->invalid) return hipErrorStreamCaptureInvalidated;
  if (!joined(*capture)) return hipErrorStreamCaptureUnjoined;
  *out = capture->graph;
  if (capture->owned) add_graph(capture->owned.release());
  return hipSuccess;
}

hipError_t capture_info(Stream& stream, int* status, unsigned long long* id, hipGraph_t* graph,
                        const hipGraphNode_t** nodes, size_t* count) {
  if (status == nullptr) return hipErrorInvalidValue;
  const std::lock_guard lock(capture_mutex());
  *status = 0;
  if (!stream.capture) return hipSuccess;
  Capture& capture = *stream.capture;
  *status = capture.invalid ? 2 : 1;
  if (id != nullptr) *id = capture.id;
  if (graph != nullptr) *graph = capture.graph;
  const auto& front = capture.frontier[&stream];
  if (nodes != nullptr) *nodes = front.data();
  if (count != nullptr) *count = front.size();
  return hipSuccess;
}

// hipStreamWaitEvent of an event last recorded in a capture: the waiting stream joins it.
hipError_t wait_captured(Stream& stream, Event& event) {
  if (!stream.capture) {
    if (stream.is_null()) return hipErrorStreamCaptureImplicit;
    stream.capture = event.capture;
    event.capture->frontier[&stream] = event.captured_nodes;
    return hipSuccess;
  }
  if (stream.capture != event.capture) {
    stream.capture->invalid = event.capture->invalid = true;
    return hipErrorStreamCaptureMerge;
  }
  auto& front = stream.capture->frontier[&stream];
  for (GraphNode* node : event.captured_nodes) {
    if (std::find(front.begin(), front.end(), node) == front.end()) front.push_back(node);
  }
  return hipSuccess;
}

hipError_t wait_event(Stream& stream, Event* event) {
  if (!Event::alive(event)) return hipErrorInvalidHandle;
  Ticket ticket;
  {
    const std::lock_guard capture_lock(capture_mutex());
    const std::lock_guard lock(event->mutex);
    // A finished capture leaves its event behind; waiting for that is waiting for nothing.
    if (event->capture && captures().count(event->capture) != 0)
      return wait_captured(stream, *event);
    if (stream.capture) {
      stream.capture->invalid = true;
      return hipErrorStreamCaptureIsolation;
    }
    if (!event->record) return hipSuccess;
    ticket = event->record->ticket;
  }
  if (ticket.queue == stream.queue() || ticket.done()) return hipSuccess;
  auto work = std::make_shared<EventWaitWork>();
  work->card = stream.card().index();
  stream.push(std::move(work), {ticket}, 0);
  return hipSuccess;
}

hipError_t record(Event* event, Stream& stream, unsigned flags) {
  if (!Event::alive(event)) return hipErrorInvalidHandle;
  if (flags > 1) return hipErrorInvalidValue;
  {
    const std::lock_guard capture_lock(capture_mutex());
    if (stream.capture) {
      Capture& capture = *stream.capture;
      if (capture.invalid) return hipErrorStreamCaptureInvalidated;
      auto& front = capture.frontier[&stream];
      if (flags == 1) {  // external: a node that records at each replay
        auto work = std::make_shared<EventRecordWork>();
        work->card = stream.card().index();
        work->event = event;
        front = {capture.graph->add(std::move(work), front)};
        return hipSuccess;
      }
      const std::lock_guard lock(event->mutex);
      event->capture = stream.capture;
      event->captured_nodes = front;
      return hipSuccess;
    }
  }
  if (event->card != stream.card().index()) return hipErrorInvalidHandle;
  return record_event(*event, stream);
}

hipError_t check_memory_op(void* address, unsigned bytes, unsigned flags, bool wait) {
  if (address == nullptr || reinterpret_cast<uintptr_t>(address) % bytes != 0)
    return hipErrorInvalidValue;
  return wait && flags > 3 ? hipErrorInvalidValue : hipSuccess;
}

hipError_t memory_op(hipStream_t handle, MemOpWork::Op op) {
  return api([&] {
    Stream* stream = Stream::resolve(handle);
    if (stream == nullptr) return hipErrorInvalidHandle;
    const hipError_t error = check_memory_op(op.address, op.bytes, op.flags, op.wait);
    if (error != hipSuccess) return error;
    auto work = std::make_shared<MemOpWork>();
    work->ops = {op};
    return submit(*stream, std::move(work));
  });
}

template <class Body>
hipError_t with_stream(hipStream_t handle, Body&& body) {
  return api([&]() -> hipError_t {
    Stream* stream = Stream::resolve(handle);
    return stream == nullptr ? hipErrorInvalidHandle : body(*stream);
  });
}

}  // namespace

int exchange_capture_mode(int mode) {
  const int before = capture_mode;
  capture_mode = mode;
  return before;
}

hipError_t check_no_capture() {
  if (active_captures.load() == 0 || capture_mode == 2) return hipSuccess;
  const std::lock_guard lock(capture_mutex());
  for (const auto& capture : captures()) {
    const bool mine = capture->thread == std::this_thread::get_id();
    const bool global = capture->mode == 0 && capture_mode == 0;
    if (capture->mode == 2 || (!mine && !global)) continue;
    capture->invalid = true;
    return hipErrorStreamCaptureUnsupported;
  }
  return hipSuccess;
}

}  // namespace gfx906::rt

using namespace gfx906::rt;

GFX906_HIP hipError_t hipStreamCreate(hipStream_t* out) {
  return make_stream(out, 0, 0);
}
GFX906_HIP hipError_t hipStreamCreateWithFlags(hipStream_t* out, unsigned flags) {
  return make_stream(out, flags, 0);
}
GFX906_HIP hipError_t hipStreamCreateWithPriority(hipStream_t* out, unsigned flags, int priority) {
  return make_stream(out, flags, priority);
}
GFX906_HIP hipError_t hipExtStreamCreateWithCUMask(hipStream_t* out, uint32_t words,
                                                   const uint32_t* mask) {
  if (words == 0 || mask == nullptr) return finish(hipErrorInvalidValue);
  const hipError_t error = make_stream(out, 0, 0);
  if (error == hipSuccess) (*out)->cu_mask.assign(mask, mask + words);
  return error;
}
GFX906_HIP hipError_t hipExtStreamGetCUMask(hipStream_t handle, uint32_t words, uint32_t* mask) {
  return with_stream(handle, [&](Stream& stream) {
    if (words < 2 || mask == nullptr) return hipErrorInvalidValue;
    constexpr uint64_t kAll = (uint64_t{1} << 60) - 1;
    for (uint32_t i = 0; i < words; ++i) {
      const uint64_t all = i < 2 ? (kAll >> (32 * i)) & 0xffffffffu : 0;
      mask[i] = stream.cu_mask.empty()      ? static_cast<uint32_t>(all)
                : i < stream.cu_mask.size() ? stream.cu_mask[i]
                                            : 0;
    }
    return hipSuccess;
  });
}
GFX906_HIP hipError_t hipStreamDestroy(hipStream_t handle) {
  return with_stream(handle, [&](Stream& stream) {
    // The built-in streams belong to the runtime.
    if (&stream != handle) return hipErrorInvalidHandle;
    {
      const std::lock_guard lock(capture_mutex());
      if (stream.capture) {
        stream.capture->invalid = true;
        stream.capture->frontier.erase(&stream);
      }
    }
    Stream::destroy(&stream);
    return hipSuccess;
  });
}
GFX906_HIP hipError_t hipStreamSynchronize(hipStream_t handle) {
  return with_stream(handle, [&](Stream& stream) {
    if (const hipError_t error = forbid_capture(stream); error != hipSuccess) return error;
    return stream.synchronize();
  });
}
GFX906_HIP hipError_t hipStreamSynchronize_spt(hipStream_t handle) {
  return hipStreamSynchronize(per_thread(handle));
}
GFX906_HIP hipError_t hipStreamQuery(hipStream_t handle) {
  return with_stream(handle, [&](Stream& stream) {
    if (const hipError_t error = forbid_capture(stream); error != hipSuccess) return error;
    const bool idle = stream.is_null() ? pending_of(stream.card(), true).empty() : stream.idle();
    return idle ? stream.card().fault.load() : hipErrorNotReady;
  });
}
GFX906_HIP hipError_t hipStreamQuery_spt(hipStream_t handle) {
  return hipStreamQuery(per_thread(handle));
}
GFX906_HIP hipError_t hipStreamGetFlags(hipStream_t handle, unsigned* flags) {
  return with_stream(handle, [&](Stream& stream) {
    if (flags == nullptr) return hipErrorInvalidValue;
    *flags = stream.flags();
    return hipSuccess;
  });
}
GFX906_HIP hipError_t hipStreamGetFlags_spt(hipStream_t handle, unsigned* flags) {
  return hipStreamGetFlags(per_thread(handle), flags);
}
GFX906_HIP hipError_t hipStreamGetPriority(hipStream_t handle, int* priority) {
  return with_stream(handle, [&](Stream& stream) {
    if (priority == nullptr) return hipErrorInvalidValue;
    *priority = stream.priority();
    return hipSuccess;
  });
}
GFX906_HIP hipError_t hipStreamGetPriority_spt(hipStream_t handle, int* priority) {
  return hipStreamGetPriority(per_thread(handle), priority);
}
GFX906_HIP hipError_t hipStreamGetDevice(hipStream_t handle, hipDevice_t* device) {
  return with_stream(handle, [&](Stream& stream) {
    if (device == nullptr) return hipErrorInvalidValue;
    *device = stream.card().index();
    return hipSuccess;
  });
}
GFX906_HIP int hipGetStreamDeviceId(hipStream_t handle) {
  Stream* stream = Stream::resolve(handle);
  return stream == nullptr ? -1 : stream->card().index();
}
GFX906_HIP hipError_t hipStreamWaitEvent(hipStream_t handle, hipEvent_t event, unsigned flags) {
  return with_stream(handle, [&](Stream& stream) {
    return flags > 1 ? hipErrorInvalidValue : wait_event(stream, event);
  });
}
GFX906_HIP hipError_t hipStreamWaitEvent_spt(hipStream_t handle, hipEvent_t event, unsigned flags) {
  return hipStreamWaitEvent(per_thread(handle), event, flags);
}
GFX906_HIP hipError_t hipStreamAddCallback(hipStream_t handle,
                                           void (*callback)(hipStream_t, hipError_t, void*),
                                           void* data, unsigned flags) {
  return with_stream(handle, [&](Stream& stream) {
    if (callback == nullptr || flags != 0) return hipErrorInvalidValue;
    auto work = std::make_shared<HostWork>();
    work->callback = callback;
    work->params.userData = data;
    work->stream = handle;
    return submit(stream, std::move(work));
  });
}
GFX906_HIP hipError_t hipStreamAddCallback_spt(hipStream_t handle,
                                               void (*callback)(hipStream_t, hipError_t, void*),
                                               void* data, unsigned flags) {
  return hipStreamAddCallback(per_thread(handle), callback, data, flags);
}
GFX906_HIP hipError_t hipLaunchHostFunc(hipStream_t handle, hipHostFn_t function, void* data) {
  return with_stream(handle, [&](Stream& stream) {
    if (function == nullptr) return hipErrorInvalidValue;
    auto work = std::make_shared<HostWork>();
    work->params = {function, data};
    return submit(stream, std::move(work));
  });
}
GFX906_HIP hipError_t hipLaunchHostFunc_spt(hipStream_t handle, hipHostFn_t function, void* data) {
  return hipLaunchHostFunc(per_thread(handle), function, data);
}

GFX906_HIP hipError_t hipStreamWaitValue32(hipStream_t handle, void* address, uint32_t value,
                                           unsigned flags, uint32_t mask) {
  return memory_op(handle, {true, 4, address, value, mask, flags});
}
GFX906_HIP hipError_t hipStreamWaitValue64(hipStream_t handle, void* address, uint64_t value,
                                           unsigned flags, uint64_t mask) {
  return memory_op(handle, {true, 8, address, value, mask, flags});
}
GFX906_HIP hipError_t hipStreamWriteValue32(hipStream_t handle, void* address, uint32_t value,
                                            unsigned flags) {
  return memory_op(handle, {false, 4, address, value, ~uint64_t{0}, flags});
}
GFX906_HIP hipError_t hipStreamWriteValue64(hipStream_t handle, void* address, uint64_t value,
                                            unsigned flags) {
  return memory_op(handle, {false, 8, address, value, ~uint64_t{0}, flags});
}
GFX906_HIP hipError_t hipStreamBatchMemOp(hipStream_t handle, unsigned count,
                                          hipStreamBatchMemOpParams* list, unsigned) {
  return with_stream(handle, [&](Stream& stream) {
    if (list == nullptr || count == 0 || count > 256) return hipErrorInvalidValue;
    auto work = std::make_shared<MemOpWork>();
    for (unsigned i = 0; i < count; ++i) {
      // Operations: 1 and 4 wait for 32 and 64 bits, 2 and 5 write them.
      const auto& p = list[i].value;
      if (p.operation != 1 && p.operation != 2 && p.operation != 4 && p.operation != 5)
        return hipErrorNotSupported;
      const bool wait = p.operation == 1 || p.operation == 4;
      const unsigned bytes = p.operation >= 4 ? 8 : 4;
      const hipError_t error = check_memory_op(p.address, bytes, p.flags, wait);
      if (error != hipSuccess) return error;
      work->ops.push_back({wait, bytes, p.address, p.value64, ~uint64_t{0}, p.flags});
    }
    return submit(stream, std::move(work));
  });
}

GFX906_HIP hipError_t hipStreamBeginCapture(hipStream_t handle, int mode) {
  return with_stream(handle,
                     [&](Stream& stream) { return begin_capture(stream, mode, nullptr, {}); });
}
GFX906_HIP hipError_t hipStreamBeginCapture_spt(hipStream_t handle, int mode) {
  return hipStreamBeginCapture(per_thread(handle), mode);
}
GFX906_HIP hipError_t hipStreamBeginCaptureToGraph(hipStream_t handle, hipGraph_t graph,
                                                   const hipGraphNode_t* nodes, const void*,
                                                   size_t count, int mode) {
  return with_stream(handle, [&](Stream& stream) {
    if (!is_graph(graph) || (count != 0 && nodes == nullptr)) return hipErrorInvalidValue;
    std::vector<GraphNode*> front(nodes, nodes + count);
    for (const GraphNode* node : front) {
      if (!graph->contains(node)) return hipErrorInvalidValue;
    }
    return begin_capture(stream, mode, graph, std::move(front));
  });
}
GFX906_HIP hipError_t hipStreamEndCapture(hipStream_t handle, hipGraph_t* out) {
  return with_stream(handle, [&](Stream& stream) { return end_capture(stream, out); });
}
GFX906_HIP hipError_t hipStreamEndCapture_spt(hipStream_t handle, hipGraph_t* out) {
  return hipStreamEndCapture(per_thread(handle), out);
}
GFX906_HIP hipError_t hipStreamIsCapturing(hipStream_t handle, int* status) {
  return with_stream(handle, [&](Stream& s) {
    return capture_info(s, status, nullptr, nullptr, nullptr, nullptr);
  });
}
GFX906_HIP hipError_t hipStreamIsCapturing_spt(hipStream_t handle, int* status) {
  return hipStreamIsCapturing(per_thread(handle), status);
}
GFX906_HIP hipError_t hipStreamGetCaptureInfo(hipStream_t handle, int* status,
                                              unsigned long long* id) {
  return with_stream(
      handle, [&](Stream& s) { return capture_info(s, status, id, nullptr, nullptr, nullptr); });
}
GFX906_HIP hipError_t hipStreamGetCaptureInfo_spt(hipStream_t handle, int* status,
                                                  unsigned long long* id) {
  return hipStreamGetCaptureInfo(per_thread(handle), status, id);
}
GFX906_HIP hipError_t hipStreamGetCaptureInfo_v2(hipStream_t handle, int* status,
                                                 unsigned long long* id, hipGraph_t* graph,
                                                 const hipGraphNode_t** nodes, size_t* count) {
  return with_stream(handle,
                     [&](Stream& s) { return capture_info(s, status, id, graph, nodes, count); });
}
GFX906_HIP hipError_t hipStreamGetCaptureInfo_v2_spt(hipStream_t handle, int* status,
                                                     unsigned long long* id, hipGraph_t* graph,
                                                     const hipGraphNode_t** nodes, size_t* count) {
  return hipStreamGetCaptureInfo_v2(per_thread(handle), status, id, graph, nodes, count);
}
GFX906_HIP hipError_t hipStreamUpdateCaptureDependencies(hipStream_t handle, hipGraphNode_t* nodes,
                                                         size_t count, unsigned flags) {
  return with_stream(handle, [&](Stream& stream) {
    const std::lock_guard lock(capture_mutex());
    if (!stream.capture) return hipErrorIllegalState;
    if (flags > 1 || (count != 0 && nodes == nullptr)) return hipErrorInvalidValue;
    auto& front = stream.capture->frontier[&stream];
    if (flags == 1) front.clear();
    for (size_t i = 0; i < count; ++i) {
      if (!stream.capture->graph->contains(nodes[i])) return hipErrorInvalidValue;
      front.push_back(nodes[i]);
    }
    return hipSuccess;
  });
}
GFX906_HIP hipError_t hipThreadExchangeStreamCaptureMode(int* mode) {
  return api([&] {
    if (mode == nullptr || *mode < 0 || *mode > 2) return hipErrorInvalidValue;
    *mode = exchange_capture_mode(*mode);
    return hipSuccess;
  });
}

GFX906_HIP hipError_t hipEventCreateWithFlags(hipEvent_t* out, unsigned flags) {
  return api([&] {
    constexpr unsigned kKnown = 0x7 | 0xe0000000u;
    if (out == nullptr || (flags & ~kKnown) != 0) return hipErrorInvalidValue;
    // An event for other processes must not keep time, and there are no other processes here.
    if ((flags & hipEventInterprocess) != 0) {
      return (flags & hipEventDisableTiming) == 0 ? hipErrorInvalidValue : hipErrorNotSupported;
    }
    *out = Event::create(current_card_index(), flags);
    return hipSuccess;
  });
}
GFX906_HIP hipError_t hipEventCreate(hipEvent_t* out) {
  return hipEventCreateWithFlags(out, 0);
}
GFX906_HIP hipError_t hipEventDestroy(hipEvent_t event) {
  return api([&] { return Event::destroy(event) ? hipSuccess : hipErrorInvalidHandle; });
}
GFX906_HIP hipError_t hipEventRecord(hipEvent_t event, hipStream_t handle) {
  return with_stream(handle, [&](Stream& stream) { return record(event, stream, 0); });
}
GFX906_HIP hipError_t hipEventRecord_spt(hipEvent_t event, hipStream_t handle) {
  return hipEventRecord(event, per_thread(handle));
}
GFX906_HIP hipError_t hipEventRecordWithFlags(hipEvent_t event, hipStream_t handle,
                                              unsigned flags) {
  return with_stream(handle, [&](Stream& stream) { return record(event, stream, flags); });
}

// The recording to ask about; empty when never recorded.
static hipError_t last_record(hipEvent_t event, std::shared_ptr<EventRecord>& record) {
  if (!Event::alive(event)) return hipErrorInvalidHandle;
  const std::lock_guard capture_lock(capture_mutex());
  const std::lock_guard lock(event->mutex);
  if (event->capture && captures().count(event->capture) != 0) return hipErrorCapturedEvent;
  record = event->record;
  return hipSuccess;
}
GFX906_HIP hipError_t hipEventQuery(hipEvent_t event) {
  return api([&] {
    std::shared_ptr<EventRecord> record;
    if (const hipError_t error = last_record(event, record); error != hipSuccess) return error;
    return !record || record->ticket.done() ? hipSuccess : hipErrorNotReady;
  });
}
GFX906_HIP hipError_t hipEventSynchronize(hipEvent_t event) {
  return api([&] {
    std::shared_ptr<EventRecord> record;
    if (const hipError_t error = last_record(event, record); error != hipSuccess) return error;
    if (!record) return hipSuccess;
    record->ticket.wait();
    host_waits_until(record->model_time);
    return card(event->card)->fault.load();
  });
}
GFX906_HIP hipError_t hipEventElapsedTime(float* ms, hipEvent_t start, hipEvent_t stop) {
  return api([&] {
    if (ms == nullptr) return hipErrorInvalidValue;
    std::shared_ptr<EventRecord> from, to;
    if (const hipError_t error = last_record(start, from); error != hipSuccess) return error;
    if (const hipError_t error = last_record(stop, to); error != hipSuccess) return error;
    if (((start->flags | stop->flags) & hipEventDisableTiming) != 0 || !from || !to)
      return hipErrorInvalidHandle;
    if (!from->ticket.done() || !to->ticket.done()) return hipErrorNotReady;
    if (modelled_time()) {
      *ms = static_cast<float>((to->model_time - from->model_time) * 1e3);
    } else {
      *ms = std::chrono::duration<float, std::milli>(to->host_time - from->host_time).count();
    }
    return hipSuccess;
  });
}
